//! Calls a program that gets cassettes: chooses the cassettes, starts the program for one of them, and reads its end.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clitape_judge::observation::ObservedEnding;
use clitape_process::{Ending, Output, OutputReader, Program, ProgramStart, Scratch};
use clitape_recording::cassette::{Cassette, Exit};
use clitape_recording::limits::OutputLimits;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::suite::select::{Selected, Selection};
use clitape_runner::suite::{
    LeftOut, Observing, RunEnd, ScenarioRun, SuiteOptions, TrialEvent, TrialNote, Trials,
    judge_each,
};

use super::boot::{LAST_LINES, ended};
use super::dialogue::Misfit;
use super::error::SubjectError;
use super::prepare::{RigHost, environment, prepare};
use super::spec::{CallSpec, Writing};
use super::suite::check_names;
use crate::limits::{Full, Held, KeptBytes, entry_bytes, parsed_bytes};

/// The characters of a line that a message quotes.
const SHOWN: usize = 80;

/// A cassette that a program gets.
#[derive(Debug)]
pub struct CalledCassette {
    pub(super) scenario: Scenario,
    pub(super) version: CliVersion,
}

/// Returns the selected scenarios that a program gets, each with the version of its cassette, and those that no CLI prints.
pub(super) fn cassettes(
    spec: &CallSpec,
    workspace: &Workspace,
    selection: &Selection,
) -> Result<Trials<CalledCassette>, SubjectError> {
    check_names(workspace, &spec.scenarios, &spec.except)?;
    let mut trials = Trials::default();
    for selected in &selection.scenarios {
        let Selected { name, versions, .. } = selected;
        let is_chosen = spec.scenarios.is_empty() || spec.scenarios.contains(name);
        if !is_chosen || spec.except.contains_key(name) {
            continue;
        }
        let scenario = workspace.scenario_of(name)?;
        if let Some(versions) = versions {
            let named = versions.iter().cloned();
            let cassette = |version| CalledCassette { scenario: scenario.clone(), version };
            trials.fit.extend(named.map(cassette));
            continue;
        }
        let mut recorded = workspace.recorded(name)?;
        scenario.sort_versions(&mut recorded);
        let is_wanted =
            |version: &CliVersion| spec.cli.as_ref().is_none_or(|wanted| wanted == version);
        let Some(version) = recorded.into_iter().find(is_wanted) else { continue };
        let origin = Cassette::manifest(&workspace.cassette(name, &version))?.origin;
        match Misfit::of_origin(origin, selected, &spec.scenarios) {
            Some(why) => trials
                .left_out
                .push(LeftOut { name: format!("{name}/{version}"), why: why.to_string() }),
            None => trials.fit.push(CalledCassette { scenario, version }),
        }
    }
    Ok(trials)
}

/// A program that is installed and ready to be called.
pub(super) struct ProgramCaller<'a> {
    spec: &'a CallSpec,
    rig: RigHost<'a>,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// The account of the memory that the program makes clitape keep.
    pub(super) kept: Arc<KeptBytes>,
}

impl<'a> ProgramCaller<'a> {
    /// Installs the packages of the program. `tell` is called before slow steps.
    pub(super) fn new(
        spec: &'a CallSpec,
        version: Option<&str>,
        rig: RigHost<'a>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<Self, SubjectError> {
        let version = version.or(spec.version.as_deref());
        let mut note = |what: &str| {
            let _ = tell(TrialEvent::Step(what).into());
        };
        let places = prepare(spec.install.as_ref(), version, rig, &mut note)?.places(rig);
        let fill = |text: &String| OsString::from(places.fill(text, Writing::Plain));
        let mut environment = environment(rig, &spec.pass_env);
        environment.push(("PATH".into(), rig.host.path.clone()));
        environment.extend(spec.env.iter().map(|(name, value)| (name.into(), fill(value))));
        let command = spec.command.iter().map(fill).collect();
        let kept = Arc::new(KeptBytes::within(rig.limits.kept));
        Ok(Self { spec, rig, command, environment, kept })
    }

    /// Returns an error if the caller has stopped the test.
    pub(super) fn go_on(&self) -> Result<(), SubjectError> {
        match self.rig.stop.load(Ordering::Relaxed) {
            true => Err(SubjectError::Stopped),
            false => Ok(()),
        }
    }

    /// Returns the flag that ends the test.
    pub(super) fn stop(&self) -> &AtomicBool {
        self.rig.stop
    }

    /// Returns the limits on the program's output for one cassette, all of which is kept.
    pub(super) fn output(&self) -> OutputLimits {
        let limits = self.rig.limits;
        let output = limits.subject.output;
        OutputLimits { bytes: output.bytes.min(limits.kept), ..output }
    }

    /// Makes a temporary folder for a call.
    pub(super) fn scratch(&self) -> Result<Scratch, SubjectError> {
        Ok(Scratch::for_program(self.rig.host)?)
    }

    /// Starts the program with further arguments.
    pub(super) fn start(
        &self,
        arguments: Vec<OsString>,
        with_stdin: bool,
        reader: OutputReader,
        scratch: &Scratch,
    ) -> Result<Program, SubjectError> {
        let command = [self.command.clone(), arguments].concat();
        Ok(Program::start(ProgramStart {
            command: &command,
            environment: &self.environment,
            folder: self.rig.workspace.root(),
            scratch,
            with_stdin,
            reader,
            output: self.output(),
            memory: self.rig.limits.subject.memory,
            isolation: None,
        })?)
    }

    /// Calls the program with further arguments, and with these pieces on stdin. Returns its ending and its stdout.
    pub(super) fn call(
        &self,
        arguments: Vec<OsString>,
        stdin: Option<Vec<Vec<u8>>>,
        scratch: &Scratch,
    ) -> Result<(ObservedEnding, Vec<u8>), SubjectError> {
        let mut program =
            self.start(arguments, stdin.is_some(), OutputReader::Attendant, scratch)?;
        // The pipe is dropped at once, so that the program reads the end of stdin after the last piece.
        if let (Some(pipe), Some(pieces)) = (program.take_stdin(), stdin) {
            // A program that has ended does not read the rest.
            let _ = pieces.into_iter().try_for_each(|piece| pipe.write(piece));
        }
        let waited_s = self.spec.within_s;
        let mut output = Output::default();
        let ending = program.attend(&mut output, Duration::from_secs(waited_s), self.rig.stop)?;
        self.go_on()?;
        let ending = match (ending, program.poll()?) {
            (Ending::Overflow(what), _) => ObservedEnding::Flooded(what.with_option()),
            (_, Some(Exit::Code(0))) => ObservedEnding::Over,
            (_, Some(exit)) => died(exit, last_words(&program)),
            (_, None) => {
                let waited_for = "it had not ended".to_owned();
                ObservedEnding::Hung { waited_s, waited_for, last_words: last_words(&program) }
            }
        };
        Ok((ending, output.stdout))
    }
}

/// Returns the last lines of a program, joined to one.
pub(super) fn last_words(program: &Program) -> String {
    truncate(&program.last_lines(LAST_LINES).join(" / "), 200, Keep::End).into_owned()
}

/// Returns the ending of a program that exited by itself, with an error or too early.
pub(super) fn died(exit: Exit, last_words: String) -> ObservedEnding {
    ObservedEnding::Died { how: ended(exit), last_words }
}

/// The entries in a program's output, with their part of the account.
#[derive(Debug, Default)]
pub(super) struct CountedEntries {
    pub(super) entries: Vec<Entry>,
    _held: Held,
}

/// The reason why a program's output can't be read, as a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// A line is not an entry.
    #[error("line {number} that it printed is no entry of a trace: {error}: {start}")]
    Line {
        /// The number of the line.
        number: usize,
        /// The error in it.
        error: serde_json::Error,
        /// The beginning of the line.
        start: String,
    },
    /// The entries take too much memory.
    #[error("of what it printed, {0}")]
    Full(#[from] Full),
}

/// Reads the entries of a lane from a program's output, one JSON object a line.
pub(super) fn read(
    stdout: &[u8],
    lane: Lane,
    kept: &Arc<KeptBytes>,
) -> Result<CountedEntries, ReadError> {
    let (mut entries, mut held, mut text) = (Vec::new(), Held::of(kept), Held::of(kept));
    text.try_keep(stdout.len())?;
    // Split at LF only, because a JSON text may contain other line separators.
    for (number, line) in (1..).zip(stdout.split(|&byte| byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let most = size_of::<Entry>() + parsed_bytes(line);
        held.try_keep(most)?;
        let line = String::from_utf8_lossy(line);
        let entry: Entry = serde_json::from_str(&line).map_err(|error| {
            let start = truncate(&line, SHOWN, Keep::Start).into_owned();
            ReadError::Line { number, error, start }
        })?;
        held.release(most);
        if entry.lane == lane {
            held.keep(entry_bytes(&entry));
            entries.push(entry);
        }
    }
    Ok(CountedEntries { entries, _held: held })
}

/// Judges cassettes, as many at a time as the caller asks for and one after another by default, and passes each result
/// on.
///
/// # Errors
///
/// The error of `judge`, except one that says that the caller stopped the test after something was judged.
pub(super) fn judge_cassettes(
    cassettes: &[CalledCassette],
    options: SuiteOptions<'_>,
    tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    judge: impl Fn(&Scenario, &CliVersion) -> Result<ScenarioRun, SubjectError> + Sync,
) -> Result<RunEnd, SubjectError> {
    let judge = |one: &CalledCassette, begins: &dyn Fn(TrialNote)| {
        let scenario = format!("{}/{}", one.scenario.name, one.version);
        begins(TrialNote { scenario, check: String::new(), replays: 0 });
        judge(&one.scenario, &one.version)
    };
    let jobs = Some(options.jobs.unwrap_or(1));
    match judge_each(cassettes, jobs, || true, judge, Some, tell) {
        (1.., Err(error)) if error.is_stop() => Ok(RunEnd::Stopped),
        (_, ended) => ended.map(|()| RunEnd::Complete),
    }
}
