//! How the time and the memory of a replay grow: `cargo bench --bench scale` prints the table of docs/performance.md.
//!
//! Each row is a run that has much of one thing, which is replayed in every channel with 1, 10 and 100 MB, each in a
//! process of its own, so that its peak of memory is its own. The process reads the run from a file while it replays it. The
//! fastest of three counts, because other programs may be at work. The power of a row is that by which the time of its longest
//! run grows with the bytes, beside the run before. Three more rows are whole commands on long input.
//! `cargo bench --bench scale -- Calls Text` measures some, and `cargo bench --bench scale -- --gigabyte Session` with 1 GB as
//! well, which takes minutes for each. Last come the seeded plans of the suite, `-- Plans` alone.

#[path = "scale/commands.rs"]
mod commands;
#[path = "scale/plans.rs"]
mod plans;
#[path = "../tests/scale/shapes.rs"]
mod shapes;
#[path = "../tests/scale/transcript.rs"]
mod transcript;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use commands::CommandRow;
use shapes::{Shape, entries_of};
use strum::IntoEnumIterator as _;

/// The megabytes of the runs.
const SIZES: [usize; 3] = [1, 10, 100];
/// The megabytes of the run that `--gigabyte` adds.
const GIGABYTE: usize = 1_000;
const MEGABYTE: usize = 1_000_000;
/// Each measurement is made this many times, and the fastest counts. Those that take minutes are made once.
const TIMES: usize = 3;
/// The word that asks for the plans.
const PLANS: &str = "Plans";
/// The variables that make this program measure one run: the name of its row, and its file.
const ROW: &str = "CLITAPE_SCALE_ROW";
const RUN: &str = "CLITAPE_SCALE_RUN";

/// What a run took.
struct Measured {
    seconds: f64,
    /// The peak of the memory.
    mib: u64,
}

/// A row of the table.
#[derive(Clone, Copy)]
enum Row {
    /// A replay of a run.
    Replay(Shape),
    /// A whole command.
    Command(CommandRow),
}

impl Row {
    fn all() -> impl Iterator<Item = Self> {
        Shape::iter().map(Self::Replay).chain(CommandRow::iter().map(Self::Command))
    }

    fn name(self) -> String {
        match self {
            Self::Replay(shape) => shape.to_string(),
            Self::Command(command) => command.to_string(),
        }
    }

    /// The megabytes from which a run takes minutes.
    fn measured_once_from(self) -> usize {
        match self {
            Self::Command(command) => command.most_megabytes().min(GIGABYTE),
            Self::Replay(_) => GIGABYTE,
        }
    }

    /// Measures it with a file.
    fn measured(self, run: &Path) -> Result<Measured> {
        match self {
            Self::Replay(_) => replayed(run),
            Self::Command(command) => command.measured(run),
        }
    }

    /// Measures it with a run of about so many megabytes in a process of its own, and returns the bytes of the run, too; none
    /// where these are too many for it.
    fn measured_apart(self, megabytes: usize) -> Result<Option<(u64, Measured)>> {
        let run = tempfile::NamedTempFile::new()?;
        let mut out = BufWriter::new(run.as_file());
        match self {
            Self::Replay(shape) => shape.print(megabytes * MEGABYTE, &mut out),
            Self::Command(command) if megabytes > command.most_megabytes() => return Ok(None),
            Self::Command(command) => command.print(megabytes * MEGABYTE, &mut out)?,
        }
        out.flush()?;
        let output = Command::new(std::env::current_exe()?)
            .env(ROW, self.name())
            .env(RUN, run.path())
            .output()
            .context("this program can call itself")?;
        let (said, words) =
            (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr));
        let name = self.name();
        ensure!(output.status.success(), "{name} with {megabytes} MB: {} {words}", output.status);
        let (seconds, mib) = said.trim().split_once(' ').context("it prints two numbers")?;
        let measured = Measured { seconds: seconds.parse()?, mib: mib.parse()? };
        Ok(Some((run.as_file().metadata()?.len(), measured)))
    }
}

fn main() -> ExitCode {
    let done = match (std::env::var(ROW), std::env::var_os(RUN)) {
        (Ok(row), Some(run)) => measured(&row, Path::new(&run)),
        _ => print(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The fastest of so many measurements, by the time of each.
fn fastest<M, T: Ord>(
    times: usize,
    measure: impl Fn() -> Result<M>,
    time: impl Fn(&M) -> T,
) -> Result<M> {
    let all = (0..times).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    all.into_iter().min_by_key(time).context("it is measured at least once")
}

/// Prints what is asked for, or everything.
fn print() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let with_gigabyte = args.iter().any(|arg| arg == "--gigabyte");
    let asked: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|it| *it == name);
    let rows: Vec<Row> = Row::all().filter(|row| is_asked(&row.name())).collect();
    if !rows.is_empty() {
        table(&rows, with_gigabyte)?;
    }
    if is_asked(PLANS) { plans::print() } else { Ok(()) }
}

/// Prints these rows.
fn table(rows: &[Row], with_gigabyte: bool) -> Result<()> {
    let sizes: Vec<usize> = SIZES.into_iter().chain(with_gigabyte.then_some(GIGABYTE)).collect();
    let heads: Vec<String> = sizes.iter().map(|size| format!("{size} MB")).collect();
    println!("| much of | {} | time grows by the power of |", heads.join(" | "));
    println!("|---{}|---|", "|---".repeat(sizes.len()));
    for row in rows {
        let mut cells = Vec::new();
        let mut last_two = [None; 2];
        for &size in &sizes {
            let times = if size >= row.measured_once_from() { 1 } else { TIMES };
            let time = |run: &Option<(u64, Measured)>| {
                run.as_ref().map(|(_, run)| Duration::from_secs_f64(run.seconds))
            };
            let Some((bytes, run)) = fastest(times, || row.measured_apart(size), time)? else {
                cells.push("not measured".to_owned());
                continue;
            };
            cells.push(format!("{:.2} s, {} MiB", run.seconds, run.mib));
            last_two = [last_two[1], Some((bytes as f64, run.seconds))];
        }
        let [Some((fewer, sooner)), Some((more, later))] = last_two else {
            bail!("{} was measured with fewer than two sizes", row.name());
        };
        let power = (later / sooner).ln() / (more / fewer).ln();
        println!("| {} | {} | {power:.2} |", row.name(), cells.join(" | "));
    }
    Ok(())
}

/// Measures the run of a row, and prints its seconds and the most MiB that there were.
fn measured(row: &str, run: &Path) -> Result<()> {
    let row = Row::all().find(|it| it.name() == row).context("there is such a row")?;
    let Measured { seconds, mib } = row.measured(run)?;
    println!("{seconds} {mib}");
    Ok(())
}

/// Replays a run in this process.
fn replayed(run: &Path) -> Result<Measured> {
    let begun = Instant::now();
    let shown = entries_of(File::open(run)?);
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(shown > 1, "the run shows something");
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak.context("Linux says the peak")?.trim().trim_end_matches(" kB").parse()?;
    Ok(Measured { seconds, mib: kib / 1_024 })
}
