//! Runs the CLI as a scenario says, once or several times in the same folders, in real time.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::child::{Ended, Note, Notes, Script, Why, drive};
use super::claude::{self, Claude};
use super::confine::Bounds;
use super::error::{CliOutput, RecordError};
use super::launch::{self, Guard};
use super::sandbox::{Folders, Sandbox};
use super::script::RunStage;
use super::server::ModelServer;
use super::workspace::ScenarioFolder;
use super::{RecordSettings, cut, history, results};
use crate::cassette::{Confinement, Exit, Resume, TickKind};
use crate::names::CliVersion;
use crate::scenario::{Exits, Model, Scenario, ScenarioError, SessionStep, SignalPlan, StdinLine};

/// The files and output of the runs of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recording {
    /// The CLI's version.
    pub(crate) version: CliVersion,
    /// SHA-256 of the CLI's program.
    pub(crate) cli_sha256: String,
    /// Where the runs took place.
    pub(crate) folders: Folders,
    /// Where the model was served, `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// How the CLI was confined.
    pub(crate) confined: Option<Confinement>,
    /// The first run.
    pub(crate) first: RawRun,
    /// One for each `[[record.then]]`.
    pub(crate) further: Vec<RawRun>,
}

/// One run of the CLI, as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRun {
    /// The command line, the program as `claude`.
    pub(crate) argv: Vec<String>,
    /// All bytes of stdout.
    pub(crate) stdout: Vec<u8>,
    /// All bytes of stderr.
    pub(crate) stderr: Vec<u8>,
    /// The lines written to stdin, each with its LF.
    pub(crate) stdin: Vec<u8>,
    /// The events with their milliseconds after the start, in order.
    pub(crate) events: Vec<(u64, TickKind)>,
    /// How the CLI ended.
    pub(crate) exit: Exit,
    /// The CLI's own record of the session after the run; empty if it kept none.
    pub(crate) transcript: Vec<u8>,
    /// The conversation as a run that resumes one sent it to the model; empty for a first run.
    pub(crate) history: Vec<u8>,
}

/// The CLI's environment, beside PATH, its folders and the model's address: nothing of the
/// machine's own.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("ANTHROPIC_API_KEY", "clitape"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("LANG", "C.UTF-8"),
    ("LOGNAME", "clitape"),
    ("SHELL", "/bin/bash"),
    ("TZ", "UTC"),
    ("USER", "clitape"),
];

/// One run as the scenario has it.
struct Wanted<'a> {
    /// Its number in the scenario, from 0.
    at: usize,
    prompt: Option<&'a str>,
    /// Arguments that say which session goes on.
    resume: Vec<&'a str>,
    stdin: &'a [StdinLine],
    signal: Option<&'a SignalPlan>,
    exit: &'a Exits,
}

impl<'a> Wanted<'a> {
    fn first(scenario: &'a Scenario) -> Self {
        let record = &scenario.record;
        Self {
            at: 0,
            prompt: record.prompt.as_deref(),
            resume: Vec::new(),
            stdin: &record.stdin,
            signal: record.signal.as_ref(),
            exit: &record.exit,
        }
    }

    fn further(at: usize, step: &'a SessionStep, session: &'a str) -> Self {
        Self {
            at,
            prompt: Some(&step.prompt),
            resume: resume(step.resume, session),
            stdin: &[],
            signal: step.signal.as_ref(),
            exit: &step.exit,
        }
    }
}

/// An id that no session has.
const UNKNOWN: &str = "00000000-0000-4000-8000-00000000dead";

/// The arguments that say which session goes on; `session` is the id of the run before.
fn resume(which: Resume, session: &str) -> Vec<&str> {
    match which {
        Resume::Id => vec!["--resume", session],
        Resume::Continue => vec!["--continue"],
        Resume::Fork => vec!["--resume", session, "--fork-session"],
        Resume::UnknownId => vec!["--resume", UNKNOWN],
    }
}

/// How long a run may take, and what says so: the scenario, unless that is more than anyone may.
fn time(timeout_s: u64, most: Duration) -> (Duration, &'static str) {
    match Duration::from_secs(timeout_s) {
        limit if limit > most => (most, "the limit with `--max-time`"),
        limit => (limit, "`record.timeout_s` in the scenario"),
    }
}

/// The parts that all runs of a scenario share.
struct Stand<'a> {
    scenario: &'a Scenario,
    claude: &'a Claude,
    sandbox: Sandbox,
    server: ModelServer,
    settings: RecordSettings,
    /// Where the CLI is confined to.
    bounds: Option<Bounds>,
}

/// Runs the CLI as often as the scenario says, in real time; setting `stop` ends the run.
///
/// # Errors
///
/// Those of [`super::record`].
pub(crate) fn run(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    stop: &AtomicBool,
) -> Result<Recording, RecordError> {
    let model = Model::load_within(&scenario.dir, settings.model_lines)?;
    if let Some(what) = cut::overrun(&model) {
        let path = scenario.dir.join("model.toml");
        return Err(ScenarioError::Invalid { path, what }.into());
    }
    let workspace =
        ScenarioFolder::read(&scenario.dir.join("workspace"), settings.workspace, stop)?;
    let sandbox = Sandbox::new(&std::env::temp_dir(), &workspace, stop)?;
    let server = ModelServer::start(model, sandbox.folders.clone(), settings.request)?;
    let port = server.address.port();
    let bounds = settings.confine.map(|by| Bounds::new(claude, sandbox.root(), port, by));
    let stand = Stand { scenario, claude, sandbox, server, settings, bounds };
    let (first, mut session, confined) = stand.run(&Wanted::first(scenario), stop)?;
    let mut further = Vec::new();
    for (at, step) in (1..).zip(&scenario.record.then) {
        let before = session.unwrap_or_default();
        let (run, its_session, _) = stand.run(&Wanted::further(at, step, &before), stop)?;
        further.push(run);
        session = its_session.or(Some(before));
    }
    Ok(Recording {
        version: claude.version.clone(),
        cli_sha256: claude.sha256.clone(),
        folders: stand.sandbox.folders.clone(),
        address: stand.server.address.to_string(),
        confined,
        first,
        further,
    })
}

impl Stand<'_> {
    /// One run, the id of its session, and how the CLI was confined.
    fn run(
        &self,
        wanted: &Wanted<'_>,
        stop: &AtomicBool,
    ) -> Result<(RawRun, Option<String>, Option<Confinement>), RecordError> {
        let Self { scenario, claude, sandbox, server, settings, bounds } = self;
        let folders = &sandbox.folders;
        let notes = Notes::new();
        let tell = notes.tell.clone();
        let prompt = folders.expand(wanted.prompt.unwrap_or_default());
        server.begin(RunStage { before: wanted.at, prompt }, move |asked| {
            // The receiver is dropped once the run is over.
            let _ = tell.send(Note::Alarm(asked));
        });
        let args = self.args(wanted);
        let stdin = wanted.stdin.iter();
        let stdin: Vec<StdinLine> = stdin
            .map(|line| StdinLine { line: folders.expand(&line.line), ..line.clone() })
            .collect();
        let (limit, raise) = time(scenario.record.timeout_s, settings.time);
        let output = settings.output;
        let lock = sandbox.lock();
        let guard = Guard { lock: Some(&lock), bounds: bounds.as_ref() };
        let script = Script { stdin: &stdin, signal: wanted.signal, output, guard };
        let ended = drive(self.command(&args), script, limit, stop, &notes)?;
        let said = || CliOutput::new(&ended.stdout, &ended.stderr);
        match &ended.why {
            Why::Stopped => return Err(RecordError::Stopped),
            Why::Limit => {
                let limit_s = limit.as_secs();
                return Err(RecordError::Timeout { limit_s, raise, said: said() });
            }
            Why::Alarm(asked) => {
                let path = scenario.dir.join("model.toml");
                return Err(RecordError::Unscripted { path, asked: asked.clone() });
            }
            Why::Overflow(what) => {
                return Err(RecordError::Overflow { what: *what, said: said() });
            }
            Why::Itself => {}
        }
        let (answered, session) = results::summary(&ended.stdout);
        let is_sent = |(_, kind): &(u64, TickKind)| matches!(kind, TickKind::Marker(_));
        if wanted.signal.is_some() && !ended.events.iter().any(is_sent) {
            return Err(RecordError::NoSignal { exit: ended.exit, said: said() });
        }
        let expected = wanted.exit.of(&claude.version);
        // A session that can't be resumed has no result in older CLIs.
        let may_be_mute = wanted.at > 0 && expected != Exit::Code(0);
        if !answered && wanted.signal.is_none() && !may_be_mute {
            return Err(RecordError::NoResult { exit: ended.exit, said: said() });
        }
        if ended.exit != expected {
            return Err(RecordError::Exit { exit: ended.exit, expected, said: said() });
        }
        let transcript = match &session {
            Some(session) => sandbox.transcript(session)?,
            None => Vec::new(),
        };
        let Ended { stdout, stderr, events, exit, confined, .. } = ended;
        let written = events.iter().filter(|(_, kind)| matches!(kind, TickKind::In(_))).count();
        let written = stdin[..written].iter();
        let run = RawRun {
            argv: std::iter::once("claude".to_owned()).chain(args).collect(),
            stdout,
            stderr,
            stdin: written.flat_map(|line| [line.line.as_bytes(), b"\n"].concat()).collect(),
            events,
            exit,
            transcript,
            history: match wanted.at {
                0 => Vec::new(),
                _ => history::history(&server.first_request()),
            },
        };
        Ok((run, session, confined))
    }

    /// The command line. A prompt that begins with `-` comes last, after `--`: the CLI would take it
    /// for an option, such as `--dangerously-skip-permissions`, where it usually is.
    fn args(&self, wanted: &Wanted<'_>) -> Vec<String> {
        let record = &self.scenario.record;
        let (last, first) = match wanted.prompt {
            Some(prompt) if prompt.starts_with('-') => (Some(prompt), None),
            prompt => (None, prompt),
        };
        std::iter::once("-p")
            .chain(first)
            .chain(["--output-format", "stream-json", "--verbose"])
            .chain(record.partial_messages.then_some("--include-partial-messages"))
            .chain(wanted.resume.iter().copied())
            .chain(record.args.iter().map(String::as_str))
            .chain(last.into_iter().flat_map(|prompt| ["--", prompt]))
            .map(|arg| self.sandbox.folders.expand(arg))
            .collect()
    }

    fn command(&self, args: &[String]) -> Command {
        let folders = &self.sandbox.folders;
        let program = &self.claude.program;
        let mut command = launch::command(program);
        command
            .args(args)
            .current_dir(Path::new(&folders.project))
            .env_clear()
            .envs(ENVIRONMENT)
            .env("PATH", claude::search_path(program))
            .env("HOME", &folders.home)
            .env("TMPDIR", &folders.tmp)
            .env("ANTHROPIC_BASE_URL", format!("http://{}", self.server.address));
        command
    }
}
