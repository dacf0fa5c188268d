//! Runs the scenarios, and then the unit tests, with one mutant on.

use std::fmt;
use std::io::{Read as _, Seek as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::copy::{Program, SWITCH};
use super::tree::Programs;

/// The variable that makes this program judge the scenarios.
pub(crate) const ROLE: &str = "CLITAPE_MUTANT_SUITE";
/// How many times as long as the sound code a mutant may take.
const PATIENCE: u32 = 4;
/// The time that the sound code may take.
const LONGEST: Duration = Duration::from_secs(3600);
/// The shortest limit, and how often a run is looked at.
const LEAST: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(20);
/// The memory that a run may ask for, in KiB.
const MEMORY_KIB: u64 = 6 << 20;

/// What catches a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caught {
    /// The finding of a scenario, or how the run ends that has none.
    Scenario(String),
    /// The program of unit tests that fails.
    Tests(String),
    Nothing,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(finding) => write!(f, "scenario {finding}"),
            Self::Tests(program) => write!(f, "tests {program}"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

/// The programs, each with the time that it may take.
pub(crate) struct Trials {
    suite: (Program, Duration),
    tests: Vec<(Program, Duration)>,
}

impl Trials {
    /// Runs everything with the sound code, which has to hold, to know how long it takes.
    pub(crate) fn new(programs: Programs) -> Result<Self> {
        let timed = |program: Program| {
            let begun = Instant::now();
            let failure = run(&program, 0, LONGEST)?;
            ensure!(failure.is_none(), "without a mutant, {} fails: {failure:?}", program.name);
            eprintln!("{} takes {:?} without a mutant", program.name, begun.elapsed());
            Ok((program, (begun.elapsed() * PATIENCE).max(LEAST)))
        };
        let suite = timed(programs.suite)?;
        Ok(Self { suite, tests: programs.tests.into_iter().map(timed).collect::<Result<_>>()? })
    }

    /// What catches the mutant of a number.
    pub(crate) fn run(&self, number: usize) -> Result<Caught> {
        if let Some(finding) = run(&self.suite.0, number, self.suite.1)? {
            return Ok(Caught::Scenario(finding));
        }
        for (program, limit) in &self.tests {
            if run(program, number, *limit)?.is_some() {
                return Ok(Caught::Tests(program.name.clone()));
            }
        }
        Ok(Caught::Nothing)
    }
}

/// Runs a program with a mutant on. What it prints last, or how it ends, unless it succeeds.
fn run(program: &Program, number: usize, limit: Duration) -> Result<Option<String>> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\"")]).arg(&program.path);
    command.env(SWITCH, number.to_string()).env(ROLE, "1").env("RUST_TEST_THREADS", "1");
    command.env("RUST_BACKTRACE", "0").current_dir(&program.folder);
    // A file, as a program that outlives its parent would keep a pipe open.
    let mut printed = tempfile::tempfile()?;
    let stdout = printed.try_clone()?;
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn()?;
    let ended = wait(&mut child, limit)?;
    let mut text = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(match ended {
        None => Some("it hangs".to_owned()),
        Some(status) if status.success() => None,
        Some(status) if status.code() == Some(1) => {
            Some(text.lines().last().unwrap_or_default().to_owned())
        }
        Some(status) => Some(format!("it ends with {status}")),
    })
}

/// How a program ends; nothing when it takes longer than its limit, and is killed.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}
