//! Runs the scenarios, and then the unit tests, with one mutant on.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::copy::{Program, run};
use super::listed::{CodePart, Mutant};
use super::tree::Programs;

/// The variable that makes this program judge the scenarios.
pub(crate) const ROLE: &str = "CLITAPE_MUTANT_SUITE";
/// How many times as long as the sound code a mutant may take.
const PATIENCE: u32 = 4;
/// The time that the sound code may take.
const LONGEST: Duration = Duration::from_secs(3600);
/// The shortest limit.
const LEAST: Duration = Duration::from_secs(20);

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
            let failure = failure(&program, 0, LONGEST)?;
            ensure!(failure.is_none(), "without a mutant, {} fails: {failure:?}", program.name);
            eprintln!("{} takes {:?} without a mutant", program.name, begun.elapsed());
            Ok((program, (begun.elapsed() * PATIENCE).max(LEAST)))
        };
        let suite = timed(programs.suite)?;
        Ok(Self { suite, tests: programs.tests.into_iter().map(timed).collect::<Result<_>>()? })
    }

    /// What catches a mutant, which has this number.
    pub(crate) fn run(&self, number: usize, mutant: &Mutant) -> Result<Caught> {
        if CodePart::of(mutant).least_by_scenarios.is_some()
            && let Some(finding) = failure(&self.suite.0, number, self.suite.1)?
        {
            return Ok(Caught::Scenario(finding));
        }
        let is_of_other = |program: &Program| !program.folder.ends_with(mutant.folder());
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by_key(|(program, _)| is_of_other(program));
        for (program, limit) in tests {
            if failure(program, number, *limit)?.is_some() {
                return Ok(Caught::Tests(program.name.clone()));
            }
        }
        Ok(Caught::Nothing)
    }
}

/// Runs a program with a mutant on. Returns what it prints last, or how it ends, unless it succeeds.
fn failure(program: &Program, number: usize, limit: Duration) -> Result<Option<String>> {
    let mut call = program.call(number);
    call.env(ROLE, "1");
    Ok(run(call, limit)?.failure())
}
