//! How the time and the memory of a replay grow: `cargo bench --bench scale` prints the table of docs/performance.md.
//!
//! Each row is a run that has much of one thing, which is replayed in every channel with 1, 10 and 100 MB, each in a
//! process of its own, so that its peak of memory is its own. The process reads the run from a file while it replays it.
//! `cargo bench --bench scale -- Calls Text` measures some, and `cargo bench --bench scale -- --gigabyte Session` with 1 GB
//! as well, which takes minutes for each. The last rows are those of the seeded plans of the suite, `-- Plans` alone.

#[path = "scale/plans.rs"]
mod plans;
#[path = "../tests/scale/shapes.rs"]
mod shapes;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use shapes::{Shape, entries_of};
use strum::IntoEnumIterator as _;

/// The megabytes of the runs.
const SIZES: [usize; 3] = [1, 10, 100];
/// The megabytes of the run that `--gigabyte` adds.
const GIGABYTE: usize = 1_000;
const MEGABYTE: usize = 1_000_000;
/// The word that asks for the plans.
const PLANS: &str = "Plans";
/// The variable that makes this program replay one run: its file.
const RUN: &str = "CLITAPE_SCALE_RUN";

fn main() -> ExitCode {
    let done = match std::env::var_os(RUN) {
        Some(run) => measured(Path::new(&run)),
        None => print(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints what is asked for, or everything.
fn print() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let with_gigabyte = args.iter().any(|arg| arg == "--gigabyte");
    let asked: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|it| *it == name);
    let shapes: Vec<Shape> = Shape::iter().filter(|it| is_asked(&it.to_string())).collect();
    if !shapes.is_empty() {
        table(&shapes, with_gigabyte)?;
    }
    if is_asked(PLANS) { plans::print() } else { Ok(()) }
}

/// Prints a row for each of these shapes.
fn table(shapes: &[Shape], with_gigabyte: bool) -> Result<()> {
    let sizes: Vec<usize> = SIZES.into_iter().chain(with_gigabyte.then_some(GIGABYTE)).collect();
    let heads: Vec<String> = sizes.iter().map(|size| format!("{size} MB")).collect();
    println!("| much of | {} | time grows by the power of |", heads.join(" | "));
    println!("|---{}|---|", "|---".repeat(sizes.len()));
    for &shape in shapes {
        let mut cells = Vec::new();
        let mut seconds = Vec::new();
        for &size in &sizes {
            let (took, peak) = in_a_process(shape, size)?;
            cells.push(format!("{took:.2} s, {peak} MiB"));
            seconds.push(took);
        }
        // Each run has ten times the bytes of the one before.
        let power = (seconds[seconds.len() - 1] / seconds[seconds.len() - 2]).log10();
        println!("| {shape} | {} | {power:.2} |", cells.join(" | "));
    }
    Ok(())
}

/// The seconds that a run takes and the MiB that it needs at most.
fn in_a_process(shape: Shape, megabytes: usize) -> Result<(f64, u64)> {
    let run = tempfile::NamedTempFile::new()?;
    let mut out = BufWriter::new(run.as_file());
    shape.print(megabytes * MEGABYTE, &mut out);
    out.flush()?;
    let output = Command::new(std::env::current_exe()?)
        .env(RUN, run.path())
        .output()
        .context("this program can call itself")?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{shape} with {megabytes} MB: {}", output.status);
    let (took, peak) = said.trim().split_once(' ').context("it prints two numbers")?;
    Ok((took.parse()?, peak.parse()?))
}

/// Replays a run, and prints its seconds and the most MiB that the process had.
fn measured(run: &Path) -> Result<()> {
    let begun = Instant::now();
    let shown = entries_of(File::open(run)?);
    let took = begun.elapsed().as_secs_f64();
    ensure!(shown > 1, "the run shows something");
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak.context("Linux says the peak")?.trim().trim_end_matches(" kB").parse()?;
    println!("{took} {}", kib / 1_024);
    Ok(())
}
