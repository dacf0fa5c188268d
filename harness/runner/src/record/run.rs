//! Runs the CLI as a scenario says, once or several times in the same folders, in real time.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Duration;

use clitape_process::host::HostPaths;
use clitape_process::{Bounds, Ending, Guard, command};
use clitape_recording::cassette::{Confinement, Exit, Resume, TickKind};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{
    Exits, HostPreset, Model, RecordSpec, Scenario, ScenarioError, SessionStep, SignalPlan,
};

use super::attended::{Alarm, AttendedRun, AttendedScript, run_attended};
use super::claude::{self, Claude};
use super::error::{CliOutput, RecordError};
use super::host::HostScript;
use super::sandbox::{Folders, Sandbox};
use super::script::RunStage;
use super::server::ModelServer;
use super::workspace::ScenarioFolder;
use super::{RecordSettings, cut, history, results};

/// The raw result of all runs of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRecording {
    /// The CLI's version.
    pub(crate) version: CliVersion,
    /// SHA-256 of the CLI's program.
    pub(crate) cli_sha256: String,
    /// The folders in which the runs took place.
    pub(crate) folders: Folders,
    /// The address of the scripted model, `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// The way in which the CLI was confined.
    pub(crate) confined: Option<Confinement>,
    /// The first run.
    pub(crate) first: RawRun,
    /// One further run for each `[[record.then]]`.
    pub(crate) further: Vec<RawRun>,
}

/// The raw result of one run of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRun {
    /// The command line, with the program as `claude`.
    pub(crate) argv: Vec<String>,
    /// All bytes of stdout.
    pub(crate) stdout: Vec<u8>,
    /// All bytes of stderr.
    pub(crate) stderr: Vec<u8>,
    /// The lines written to stdin, each with its LF.
    pub(crate) stdin: Vec<u8>,
    /// The events with their milliseconds after the start, in order.
    pub(crate) events: Vec<(u64, TickKind)>,
    /// The exit of the CLI.
    pub(crate) exit: Exit,
    /// The CLI's transcript of the session after the run; empty if there is none.
    pub(crate) transcript: Vec<u8>,
    /// The conversation that a resumed run sent to the model; empty for a first run.
    pub(crate) history: Vec<u8>,
}

/// The fixed part of the CLI's environment. PATH, the folders, the login and the model's address are added; variables
/// of the machine are left out.
const ENVIRONMENT: [(&str, &str); 9] = [
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

/// One run that the scenario describes.
struct Wanted<'a> {
    /// Its number in the scenario, from 0.
    at: usize,
    /// The prompt; a host sends it as a message.
    prompt: Option<&'a str>,
    /// The arguments that select the session to resume.
    resume: Vec<&'a str>,
    /// The part of the scenario with the lines for stdin; `None` for a further run.
    record: Option<&'a RecordSpec>,
    signal: Option<&'a SignalPlan>,
    exit: &'a Exits,
}

impl<'a> Wanted<'a> {
    fn first(scenario: &'a Scenario) -> Self {
        let record = &scenario.record;
        Self {
            at: 0,
            prompt: record.prompt.as_deref().filter(|_| record.host.is_none()),
            resume: Vec::new(),
            record: Some(record),
            signal: record.signal.as_ref(),
            exit: &record.exit,
        }
    }

    fn host(&self) -> Option<HostPreset> {
        self.record?.host
    }

    fn further(at: usize, step: &'a SessionStep, session: &'a str) -> Self {
        Self {
            at,
            prompt: Some(&step.prompt),
            resume: resume(step.resume, session),
            record: None,
            signal: step.signal.as_ref(),
            exit: &step.exit,
        }
    }
}

/// An id that belongs to no session.
const UNKNOWN: &str = "00000000-0000-4000-8000-00000000dead";

/// Returns the arguments that select the session to resume; `session` is the id of the previous run.
fn resume(which: Resume, session: &str) -> Vec<&str> {
    match which {
        Resume::Id => vec!["--resume", session],
        Resume::Continue => vec!["--continue"],
        Resume::Fork => vec!["--resume", session, "--fork-session"],
        Resume::UnknownId => vec!["--resume", UNKNOWN],
    }
}

/// Returns the time limit of a run and the name of the setting that raises it. The limit is that of the scenario, but
/// at most `most`.
fn time(timeout_s: u64, most: Duration) -> (Duration, &'static str) {
    match Duration::from_secs(timeout_s) {
        limit if limit > most => (most, "the limit with `--max-time`"),
        limit => (limit, "`record.timeout_s` in the scenario"),
    }
}

/// The parts that all runs of a scenario share.
struct SessionRig<'a> {
    scenario: &'a Scenario,
    claude: &'a Claude,
    host: &'a HostPaths,
    sandbox: Sandbox,
    server: ModelServer,
    settings: RecordSettings,
    /// The bounds of a CLI that is confined.
    bounds: Option<Bounds>,
}

/// Runs the CLI as often as the scenario says, in real time. Setting `stop` ends the run.
///
/// # Errors
///
/// Those of [`super::record`].
pub(crate) fn run(
    scenario: &Scenario,
    claude: &Claude,
    settings: RecordSettings,
    host: &HostPaths,
    stop: &AtomicBool,
) -> Result<RawRecording, RecordError> {
    let model = Model::load_within(&scenario.dir, settings.model_lines)?;
    if let Some(what) = cut::overrun(&model) {
        let path = scenario.dir.join("model.toml");
        return Err(ScenarioError::Invalid { path, what }.into());
    }
    let workspace =
        ScenarioFolder::read(&scenario.dir.join("workspace"), settings.workspace, stop)?;
    let sandbox = Sandbox::new(&host.temporary, &workspace, stop)?;
    let server = ModelServer::start(model, sandbox.folders.clone(), settings.request)?;
    let port = Some(server.address.port());
    let bounds =
        settings.confine.map(|by| Bounds::new(&claude.program, sandbox.root(), port, by, host));
    let rig = SessionRig { scenario, claude, host, sandbox, server, settings, bounds };
    let (first, mut session, confined) = rig.run(&Wanted::first(scenario), stop)?;
    let mut further = Vec::new();
    for (at, step) in (1..).zip(&scenario.record.then) {
        // Without an id the argument is empty; the CLI refuses it, and the recording ends with its message.
        let before = session.unwrap_or_default();
        let (run, its_session, _) = rig.run(&Wanted::further(at, step, &before), stop)?;
        further.push(run);
        session = its_session.or(Some(before));
    }
    Ok(RawRecording {
        version: claude.version.clone(),
        cli_sha256: claude.sha256.clone(),
        folders: rig.sandbox.folders.clone(),
        address: rig.server.address.to_string(),
        confined,
        first,
        further,
    })
}

impl SessionRig<'_> {
    /// Runs the CLI once. Returns the result, the id of its session, and the way in which the CLI was confined.
    fn run(
        &self,
        wanted: &Wanted<'_>,
        stop: &AtomicBool,
    ) -> Result<(RawRun, Option<String>, Option<Confinement>), RecordError> {
        let Self { scenario, claude, sandbox, server, settings, bounds, .. } = self;
        let folders = &sandbox.folders;
        let (sender, alarms) = channel();
        // A run that reads its messages from stdin has no prompt on the command line.
        let prompt = folders.expand(wanted.prompt.unwrap_or_default());
        server.begin(RunStage { before: wanted.at, prompt }, move |alarm| {
            // An error means that the run is over.
            let _ = sender.send(alarm);
        });
        let args = self.args(wanted);
        let host = wanted.record.and_then(|record| HostScript::new(record, folders));
        let (limit, raise) = time(scenario.record.timeout_s, settings.time);
        let output = settings.output;
        let lock = sandbox.lock();
        let model = Some(&server.listeners);
        let guard = Guard { lock: Some(&lock), bounds: bounds.as_ref(), model, isolation: None };
        let (host, signal) = (host.as_ref(), wanted.signal);
        let script = AttendedScript { host, signal, output, time: limit, guard };
        let ended = run_attended(self.command(&args, wanted), script, &alarms, stop)?;
        let printed = || CliOutput::new(&ended.stdout, &ended.stderr);
        match &ended.why {
            Ending::Stopped => return Err(RecordError::Stopped),
            Ending::Limit => {
                let limit_s = limit.as_secs();
                let waiting = ended.unanswered.iter().chain(&ended.unfired);
                let waiting = waiting.map(|what| format!("\n  {what}")).collect();
                return Err(RecordError::Timeout { limit_s, raise, waiting, printed: printed() });
            }
            Ending::Reason(Alarm::Unscripted(asked)) => {
                let path = scenario.dir.join("model.toml");
                return Err(RecordError::Unscripted { path, asked: asked.clone() });
            }
            Ending::Reason(Alarm::ModelPanicked) => return Err(RecordError::ModelPanicked),
            Ending::Overflow(what) => {
                return Err(RecordError::Overflow { what: *what, printed: printed() });
            }
            Ending::Reason(Alarm::Host(error)) => {
                return Err(RecordError::Say { why: error.clone(), printed: printed() });
            }
            Ending::Itself => {}
        }
        if let Some(step) = &ended.unfired {
            let (step, exit) = (step.clone(), ended.exit);
            return Err(RecordError::Unsaid { step, exit, printed: printed() });
        }
        let (answered, session) = results::summary(&ended.stdout);
        let is_sent = |(_, kind): &(u64, TickKind)| matches!(kind, TickKind::Marker(_));
        if wanted.signal.is_some() && !ended.events.iter().any(is_sent) {
            return Err(RecordError::NoSignal { exit: ended.exit, printed: printed() });
        }
        let expected = wanted.exit.of(&claude.version);
        // Older CLIs print no result when a session can't be resumed.
        let may_be_mute = wanted.at > 0 && expected != Exit::Code(0);
        if !answered && wanted.signal.is_none() && !may_be_mute {
            return Err(RecordError::NoResult { exit: ended.exit, printed: printed() });
        }
        if ended.exit != expected {
            return Err(RecordError::Exit { exit: ended.exit, expected, printed: printed() });
        }
        let transcript = match &session {
            Some(session) => sandbox.transcript(session)?,
            None => Vec::new(),
        };
        let AttendedRun { stdout, stderr, stdin, events, exit, confined, .. } = ended;
        let run = RawRun {
            argv: std::iter::once("claude".to_owned()).chain(args).collect(),
            stdout,
            stderr,
            stdin,
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

    /// Returns the arguments of the CLI. A prompt that begins with `-` is the last argument, after `--`, so that
    /// the CLI does not take it for an option such as `--dangerously-skip-permissions`.
    fn args(&self, wanted: &Wanted<'_>) -> Vec<String> {
        let record = &self.scenario.record;
        let (last, first) = match wanted.prompt {
            Some(prompt) if prompt.starts_with('-') => (Some(prompt), None),
            prompt => (None, prompt),
        };
        let of_host = wanted.host().map_or(&[][..], |host| host.profile().args);
        std::iter::once("-p")
            .chain(first)
            .chain(["--output-format", "stream-json", "--verbose"])
            .chain(record.partial_messages.then_some("--include-partial-messages"))
            .chain(wanted.resume.iter().copied())
            .chain(of_host.iter().copied())
            .chain(record.args.iter().map(String::as_str))
            .chain(last.into_iter().flat_map(|prompt| ["--", prompt]))
            .map(|arg| self.sandbox.folders.expand(arg))
            .collect()
    }

    fn command(&self, args: &[String], wanted: &Wanted<'_>) -> Command {
        let of_host = wanted.host().map_or(&[][..], |host| host.profile().environment);
        let folders = &self.sandbox.folders;
        let program = &self.claude.program;
        let mut command = command(program);
        command
            .args(args)
            .current_dir(Path::new(&folders.project))
            .env_clear()
            .envs(ENVIRONMENT)
            .env(self.scenario.record.login.variable(), "clitape")
            .envs(of_host.iter().copied())
            .env("PATH", claude::search_path(program, self.host))
            .env("HOME", &folders.home)
            .env("TMPDIR", &folders.tmp)
            .env("ANTHROPIC_BASE_URL", format!("http://{}", self.server.address));
        command
    }
}
