//! How the time and the memory of a replay grow: `cargo bench --bench scale` prints the table of docs/performance.md.
//!
//! Each row is a run that has much of one thing, which is replayed in every channel with 1, 10 and 100 MB, each in a
//! process of its own, so that its peak of memory is its own. `cargo bench --bench scale -- Calls Text` measures some.

#[path = "../tests/scale/shapes.rs"]
mod shapes;

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use shapes::{Shape, entries};
use strum::IntoEnumIterator as _;

/// The megabytes of the runs.
const SIZES: [usize; 3] = [1, 10, 100];
const MEGABYTE: usize = 1_000_000;
/// The variable that makes this program replay one run: its shape and its megabytes.
const RUN: &str = "CLITAPE_SCALE_RUN";

fn main() -> ExitCode {
    let done = match std::env::var(RUN) {
        Ok(run) => measured(&run),
        Err(_) => table(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a row for each shape.
fn table() -> Result<()> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    println!("| much of | 1 MB | 10 MB | 100 MB | time grows by the power of |");
    println!("|---|---|---|---|---|");
    for shape in Shape::iter().filter(|it| asked.is_empty() || asked.contains(&it.to_string())) {
        let mut cells = Vec::new();
        let mut seconds = Vec::new();
        for size in SIZES {
            let (took, peak) = in_a_process(shape, size)?;
            cells.push(format!("{took:.2} s, {peak} MiB"));
            seconds.push(took);
        }
        let power = (seconds[2] / seconds[1]).log10();
        println!("| {shape} | {} | {power:.2} |", cells.join(" | "));
    }
    Ok(())
}

/// The seconds that a run takes and the MiB that it needs at most.
fn in_a_process(shape: Shape, megabytes: usize) -> Result<(f64, u64)> {
    let output = Command::new(std::env::current_exe()?)
        .env(RUN, format!("{shape} {megabytes}"))
        .output()
        .context("this program can call itself")?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{shape} with {megabytes} MB: {}", output.status);
    let (took, peak) = said.trim().split_once(' ').context("it prints two numbers")?;
    Ok((took.parse()?, peak.parse()?))
}

/// Replays a run, and prints its seconds and the most MiB that the process had.
fn measured(run: &str) -> Result<()> {
    let (shape, megabytes) = run.split_once(' ').context("a shape and megabytes")?;
    let shape = Shape::iter().find(|it| it.to_string() == shape).context("no such shape")?;
    let stdout = shape.stdout(megabytes.parse::<usize>()? * MEGABYTE);
    let begun = Instant::now();
    let shown = entries(&stdout);
    let took = begun.elapsed().as_secs_f64();
    ensure!(shown > 1, "the run shows something");
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak.context("Linux says the peak")?.trim().trim_end_matches(" kB").parse()?;
    println!("{took} {}", kib / 1_024);
    Ok(())
}
