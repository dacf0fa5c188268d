//! The program that finds what convicts a bug: it is built from a copy of the code that has all of them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clitape_judge::FindingKind;

use super::copy::{Ended, Program, WorkspaceCopy, run};
use super::plants::{CrateTest, Plant, planted};
use super::question::{Answer, Question};

/// The file of the program that turns bugs on.
const SWITCH: &str = "tests/history/convict/switch.rs";
/// The same file in the copy.
const SWITCH_OF_COPY: &str =
    "//! The switches of the copy.\n\npub(crate) use clitape_stream::switch::turn_on;\n";

/// The tests of the crates that rows name: those of the libraries, and those in a folder of their own.
const TESTS: [&str; 14] = [
    "test",
    "--no-run",
    "--workspace",
    "--lib",
    "--test",
    "sse",
    "--test",
    "telegram",
    "--test",
    "rules",
    "--test",
    "chat_server",
    "--test",
    "editor",
];
/// The time that a program of tests may take.
const LONGEST: Duration = Duration::from_secs(300);

/// The kinds of findings of each scenario.
pub(crate) type Found = Vec<(String, BTreeSet<FindingKind>)>;

/// The running program.
#[derive(Debug)]
pub(crate) struct Convictor {
    copy: WorkspaceCopy,
    /// The programs of the crates' tests, once a row has asked for one.
    tests: Vec<Program>,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Convictor {
    /// Builds the program and starts it. It reads the recordings of the workspace at `root`.
    pub(crate) fn start(root: &Path, plants: &[Plant]) -> Result<Self> {
        let files = planted(root, plants)?;
        let changed: BTreeSet<&str> = files.keys().map(String::as_str).chain([SWITCH]).collect();
        let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        // In the folder of the workspace, what does not belong to it is already built.
        let target = own.parent().context("the folder is in that of cargo")?.to_owned();
        let copy = WorkspaceCopy::new(root, own.join("history"), target, &changed)?;
        // A sample of the bugs runs for less time than the optimisation would take.
        let copy = copy.with("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        copy.write(SWITCH, SWITCH_OF_COPY.as_bytes())?;
        for (file, text) in &files {
            copy.write(file, text.as_bytes())?;
        }
        // All packages, so that each has the features that the tests of the workspace have built.
        let args = ["test", "--no-run", "--workspace", "--test", "convict"];
        let program = copy.executables(&args)?.pop().context("cargo builds the program")?;
        let mut child = Command::new(program.path)
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = child.stdin.take().context("stdin is a pipe")?;
        let answers = BufReader::new(child.stdout.take().context("stdout is a pipe")?);
        Ok(Self { copy, tests: Vec::new(), child, questions, answers })
    }

    /// Returns what the checks of each scenario find with a bug and not without, in at most so many of its versions.
    pub(crate) fn found(
        &mut self,
        number: usize,
        plant: &Plant,
        scenarios: &[String],
        most: usize,
    ) -> Result<Found> {
        let rules = if plant.is_off_for_rules { 0 } else { number };
        let question = Question { number, rules, scenarios: scenarios.to_vec(), most };
        let mut line = serde_json::to_string(&question)?;
        line.push('\n');
        // A program that has ended reads nothing, and gives no answer.
        let _ = self.questions.write_all(line.as_bytes());
        let mut line = String::new();
        let bytes = self.answers.read_line(&mut line)?;
        if bytes == 0 {
            let ended = self.child.wait()?;
            ensure!(bytes > 0, "the program that convicts ended with {} on: {ended}", plant.name);
        }
        let answer: Answer = serde_json::from_str(&line)?;
        let known = |(name, kinds): (String, Vec<String>)| {
            let kinds = kinds.iter().map(|kind| self::kind(kind)).collect::<Option<_>>();
            Some((name, kinds?))
        };
        answer.into_iter().map(known).collect::<Option<_>>().context("each finding has a kind")
    }
}

impl Convictor {
    /// Returns those of a bug's tests that fail with it, and pass without it.
    pub(crate) fn failing<'p>(
        &mut self,
        number: usize,
        plant: &'p Plant,
    ) -> Result<Vec<&'p CrateTest>> {
        let mut failing = Vec::new();
        for test in &plant.tests {
            let program = self.program(|program| program.name == test.program)?;
            let ended = |number: usize| -> Result<Ended> {
                let mut call = program.call(number);
                call.args(["--exact", &test.name]);
                run(call, LONGEST)
            };
            let sound = ended(0)?;
            ensure!(
                sound.failure().is_none() && sound.printed.contains("running 1 test"),
                "{} has no test {}, or it fails without a bug",
                test.program,
                test.name
            );
            if ended(number)?.failure().is_some() {
                failing.push(test);
            }
        }
        Ok(failing)
    }

    /// Returns the names of all tests of a crate's folder that fail with a bug, each behind its program.
    pub(crate) fn all_failing(&mut self, number: usize, folder: &str) -> Result<Vec<String>> {
        let is_of = |program: &Program| program.folder.ends_with(folder);
        self.program(is_of)?;
        let mut failing = Vec::new();
        for program in self.tests.iter().filter(|program| is_of(program)) {
            let ended = run(program.call(number), LONGEST)?;
            let name = |line: &str| {
                let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
                Some(format!("{} {name}", program.name))
            };
            failing.extend(ended.printed.lines().filter_map(name));
            failing.extend(ended.failure().map(|how| format!("{}: {how}", program.name)));
        }
        Ok(failing)
    }

    /// Returns the first program of the crates' tests that is meant. Builds them before the first one is asked for.
    fn program(&mut self, is_it: impl Fn(&Program) -> bool) -> Result<&Program> {
        if self.tests.is_empty() {
            self.tests = self.copy.executables(&TESTS)?;
        }
        self.tests.iter().find(|program| is_it(program)).context("no program has such tests")
    }
}

/// Returns the kind of finding with this id and name.
pub(crate) fn kind(text: &str) -> Option<FindingKind> {
    FindingKind::ALL.iter().copied().find(|kind| kind.to_string() == text)
}
