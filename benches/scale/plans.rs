//! Measures how long 10,000 plans of the committed suite take on two cores.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clitape_runner::report;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::{TIMES, fastest};

/// The plans of the suite, at least.
const PLANS: u64 = 10_000;
/// The cores that the command uses.
const CORES: &str = "2";

/// What `clitape test` took.
struct Run {
    /// The number of seeded plans.
    plans: u64,
    wall: Duration,
    /// The time of all cores.
    cpu: Duration,
}

/// Prints a row without plans, one with them, and the difference.
pub(crate) fn print() -> Result<()> {
    let one_each = run(1)?.plans;
    let of_seeds = |seeds| fastest(TIMES, || run(seeds), |run| run.wall);
    let [without, with] = [0, PLANS.div_ceil(one_each)].map(of_seeds);
    let (without, with) = (without?, with?);
    println!("\n| `clitape test` on {CORES} cores | time | time of all cores |\n|---|---|---|");
    let row = |what: String, wall: Duration, cpu: Duration| {
        println!("| {what} | {:.2} s | {:.2} s |", wall.as_secs_f64(), cpu.as_secs_f64());
    };
    row("without plans".to_owned(), without.wall, without.cpu);
    row(format!("with {} plans", with.plans), with.wall, with.cpu);
    let more = |of: fn(&Run) -> Duration| of(&with).saturating_sub(of(&without));
    row("the plans alone".to_owned(), more(|run| run.wall), more(|run| run.cpu));
    Ok(())
}

/// Runs `clitape test` of the committed suite with so many plans of each recording.
fn run(seeds: u64) -> Result<Run> {
    let dir = tempfile::tempdir()?;
    let json = dir.path().join("report.json");
    let before = cpu_of_children()?;
    let begun = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_clitape"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--quiet", "test", "--jobs", CORES, "--plans", &seeds.to_string(), "--json"])
        .arg(&json)
        .stdout(Stdio::null())
        .status()?;
    let (wall, cpu) = (begun.elapsed(), cpu_of_children()? - before);
    ensure!(status.success(), "`clitape test --plans {seeds}` finds something: {status}");
    let report = report::read("report.json", &std::fs::read(&json)?)?;
    let plans = report.checks().map(|(_, check)| check.plans).sum();
    Ok(Run { plans, wall, cpu })
}

/// The time that the cores have given to programs that this one started and that have ended.
fn cpu_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.try_into()?))
}
