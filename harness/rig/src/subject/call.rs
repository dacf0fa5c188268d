//! A program that is given cassettes: which ones it gets, and how a call for one of them ends.

use std::ffi::OsString;
use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_runner::cassette::Exit;
use clitape_runner::limits::{OutputLimits, SUBJECT_MEMORY};
use clitape_runner::names::CliVersion;
use clitape_runner::record::{Program, ProgramStart, Scratch, StdoutUse};
use clitape_runner::replay::{Entry, Lane};
use clitape_runner::scenario::Scenario;
use clitape_runner::suite::select::{Selected, Selection};
use clitape_runner::text::{Keep, truncate};

use super::boot::{LAST_LINES, ended, environment};
use super::error::SubjectError;
use super::placeholders::Writing;
use super::prepare::{RigHost, prepare};
use super::spec::CallSpec;
use crate::observation::RunEnding;

/// What a program may print of one cassette.
pub(super) const OUTPUT: OutputLimits =
    OutputLimits { bytes: ByteSize::mib(64), line: ByteSize::mib(16), lines: 500_000 };
/// The characters of a line that a message shows.
const SHOWN: usize = 80;

/// A program that is ready to be called.
pub(super) struct Caller<'a> {
    spec: &'a CallSpec,
    rig: RigHost<'a>,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl<'a> Caller<'a> {
    /// Installs what the program needs. `note` is called before slow steps.
    pub(super) fn new(
        spec: &'a CallSpec,
        version: Option<&str>,
        rig: RigHost<'a>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, SubjectError> {
        let version = version.or(spec.version.as_deref());
        let places = prepare(spec.install.as_ref(), version, rig, note)?.places(rig);
        let fill = |text: &String| OsString::from(places.fill(text, Writing::Plain));
        let mut environment = environment(rig, &spec.pass_env);
        environment.push(("PATH".into(), rig.host.path.clone()));
        environment.extend(spec.env.iter().map(|(name, value)| (name.into(), fill(value))));
        Ok(Self { spec, rig, command: spec.command.iter().map(fill).collect(), environment })
    }

    /// The selected scenarios that the program gets, each with the version of its cassette.
    pub(super) fn cassettes(
        &self,
        selection: &Selection,
    ) -> Result<Vec<(Scenario, CliVersion)>, SubjectError> {
        let (spec, workspace) = (self.spec, self.rig.workspace);
        let mut chosen = Vec::new();
        for Selected { name, versions, .. } in &selection.scenarios {
            let is_chosen = spec.scenarios.is_empty() || spec.scenarios.contains(name);
            if !is_chosen || spec.except.contains_key(name) {
                continue;
            }
            let scenario = workspace.scenario_of(name)?;
            if let Some(versions) = versions {
                chosen.extend(versions.iter().map(|version| (scenario.clone(), version.clone())));
                continue;
            }
            let mut recorded = workspace.recorded(name)?;
            scenario.sort_versions(&mut recorded);
            let is_wanted =
                |version: &CliVersion| spec.cli.as_ref().is_none_or(|wanted| wanted == version);
            let version = recorded.into_iter().find(is_wanted);
            chosen.extend(version.map(|version| (scenario, version)));
        }
        Ok(chosen)
    }

    /// Whether the caller lets the test go on.
    pub(super) fn go_on(&self) -> Result<(), SubjectError> {
        match self.rig.stop.load(Ordering::Relaxed) {
            true => Err(SubjectError::Stopped),
            false => Ok(()),
        }
    }

    /// A temporary folder for a call.
    pub(super) fn scratch(&self) -> Result<Scratch, SubjectError> {
        Ok(Scratch::for_program(self.rig.host)?)
    }

    /// Starts the program with further arguments.
    pub(super) fn start(
        &self,
        arguments: Vec<OsString>,
        with_stdin: bool,
        stdout: StdoutUse,
        scratch: &Scratch,
    ) -> Result<Program, SubjectError> {
        let command = [self.command.clone(), arguments].concat();
        Ok(Program::start(ProgramStart {
            command: &command,
            environment: &self.environment,
            folder: self.rig.workspace.root(),
            scratch,
            with_stdin,
            stdout,
            output: OUTPUT,
            memory: SUBJECT_MEMORY,
        })?)
    }

    /// Calls the program with further arguments, and with these bytes on stdin, piece by piece. Returns how it ended,
    /// and what it printed on stdout.
    pub(super) fn call(
        &self,
        arguments: Vec<OsString>,
        stdin: Option<Vec<Vec<u8>>>,
        scratch: &Scratch,
    ) -> Result<(RunEnding, Vec<u8>), SubjectError> {
        let mut program = self.start(arguments, stdin.is_some(), StdoutUse::Kept, scratch)?;
        let pipe = program.take_stdin();
        // A program that prints before it has read all must not wait for this thread.
        let writing = std::thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            // A program that has ended does not read the rest.
            let _ = stdin.into_iter().flatten().try_for_each(|piece| pipe.write_all(&piece));
        });
        let waited_s = self.spec.within_s;
        let exit = program.wait(Duration::from_secs(waited_s))?;
        let ending = match (program.overflow(), exit) {
            (Some(what), _) => RunEnding::Flooded(what),
            (None, Some(Exit::Code(0))) => RunEnding::Over,
            (None, Some(exit)) => died(exit, last_words(&program)),
            (None, None) => {
                let waited_for = "it had not ended".to_owned();
                RunEnding::Hung { waited_s, waited_for, last_words: last_words(&program) }
            }
        };
        let stdout = program.stdout();
        drop(program);
        // The thread ends when the pipe is closed, and does not panic.
        let _ = writing.join();
        Ok((ending, stdout))
    }
}

/// The last lines that a program printed, as one.
pub(super) fn last_words(program: &Program) -> String {
    truncate(&program.last_lines(LAST_LINES).join(" / "), 200, Keep::End).into_owned()
}

/// The ending of a program that exited on its own, with an error or too early.
pub(super) fn died(exit: Exit, last_words: String) -> RunEnding {
    RunEnding::Died { how: ended(exit), last_words }
}

/// The entries of a lane in what a program printed, one JSON object on each line. The error is a sentence.
pub(super) fn read(stdout: &[u8], lane: Lane) -> Result<Vec<Entry>, String> {
    let text = String::from_utf8_lossy(stdout);
    // A line of JSON may have other separators of lines in its texts.
    let lines = (1..).zip(text.split('\n')).filter(|(_, line)| !line.trim().is_empty());
    let entry = |(number, line): (usize, &str)| {
        serde_json::from_str::<Entry>(line).map_err(|error| {
            let start = truncate(line, SHOWN, Keep::Start);
            format!("line {number} that it printed is no entry of a trace: {error}: {start}")
        })
    };
    let mut entries = lines.map(entry).collect::<Result<Vec<_>, _>>()?;
    entries.retain(|entry| entry.lane == lane);
    Ok(entries)
}
