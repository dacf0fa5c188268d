//! Runs the real CLI against a scripted model and keeps all it prints.
//!
//! In order: the CLI is found or installed ([`resolve`]); the scenario's `model.toml` is served on
//! loopback (`server`, which asks `script` for the answer and `answer` and `cut` for its bytes);
//! the CLI runs in fresh folders (`sandbox`) while `child` reads what it prints ([`run`]), with a
//! signal when `trigger` says so; and the canonical form of that is a take ([`record`]). Real IO,
//! real time: nothing here is for a replay.

mod answer;
mod child;
mod claude;
mod cut;
mod error;
mod paced;
mod request;
mod results;
mod sandbox;
mod script;
mod server;
mod take;
mod trigger;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use claude::{Claude, ClaudeChoice, resolve};
pub use error::{RecordError, Said};
pub use sandbox::Folders;

use crate::scenario::{Model, Scenario, ScenarioError, StdinLine};
use crate::tape::{Exit, Take, TickKind};
use child::{Ended, Note, Notes, Script, Why, drive};
use sandbox::Sandbox;
use server::Server;

/// One run of the CLI, as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRun {
    /// The CLI's version.
    pub version: String,
    /// The command line, the program as `claude`.
    pub argv: Vec<String>,
    /// All bytes of stdout.
    pub stdout: Vec<u8>,
    /// All bytes of stderr.
    pub stderr: Vec<u8>,
    /// The lines written to stdin, each with its LF.
    pub stdin: Vec<u8>,
    /// What happened, and how many milliseconds after the start, in order.
    pub events: Vec<(u64, TickKind)>,
    /// How the CLI ended.
    pub exit: Exit,
    /// The CLI's own record of the session; empty if it kept none.
    pub transcript: Vec<u8>,
    /// Where the run took place.
    pub folders: Folders,
    /// Where the model was served, `127.0.0.1:PORT`.
    pub address: String,
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

/// Records a scenario: runs the CLI once and gives the canonical form of the run.
///
/// # Errors
///
/// Those of [`run`].
pub fn record(
    scenario: &Scenario,
    claude: &Claude,
    stop: &AtomicBool,
) -> Result<Take, RecordError> {
    Ok(take::into_take(&run(scenario, claude, stop)?, scenario))
}

/// Runs the CLI once as the scenario says, in real time; setting `stop` ends the run.
///
/// # Errors
///
/// [`RecordError`] when `model.toml` can't be used, the CLI can't be started, asks what nobody
/// scripted, does not end in time, is stopped, ends without a `result`, or not as the scenario expects. Nothing it
/// started is left by then.
pub fn run(scenario: &Scenario, claude: &Claude, stop: &AtomicBool) -> Result<RawRun, RecordError> {
    let model = Model::load(&scenario.dir)?;
    let path = scenario.dir.join("model.toml");
    if let Some(what) = cut::overrun(&model) {
        return Err(ScenarioError::Invalid { path, what }.into());
    }
    let sandbox = Sandbox::new(&std::env::temp_dir(), &scenario.dir.join("workspace"))?;
    let folders = &sandbox.folders;
    let notes = Notes::new();
    let tell = notes.tell.clone();
    let server = Server::start(model, folders.clone(), move |asked| {
        // Nobody listens any more when the run is over.
        let _ = tell.send(Note::Alarm(asked));
    })?;
    let address = server.address.to_string();
    let args = args(scenario, folders);
    let stdin = stdin(scenario, folders);
    let command = command(claude, &args, folders, &address);
    let limit_s = scenario.record.timeout_s;
    let signal = scenario.record.signal.as_ref();
    let script = Script { stdin: &stdin, signal };
    let ended = drive(command, script, Duration::from_secs(limit_s), stop, &notes)?;
    drop(server);
    let said = || Said::new(&ended.stdout, &ended.stderr);
    match &ended.why {
        Why::Stopped => return Err(RecordError::Stopped),
        Why::Limit => return Err(RecordError::Timeout { limit_s, said: said() }),
        Why::Alarm(asked) => {
            return Err(RecordError::Unscripted { path, asked: asked.clone() });
        }
        Why::Itself => {}
    }
    let (answered, session) = results::summary(&ended.stdout);
    let is_sent = |(_, kind): &(u64, TickKind)| matches!(kind, TickKind::Marker(_));
    if signal.is_some() && !ended.events.iter().any(is_sent) {
        return Err(RecordError::NoSignal { exit: ended.exit, said: said() });
    }
    if !answered && signal.is_none() {
        return Err(RecordError::NoResult { exit: ended.exit, said: said() });
    }
    let expected = scenario.record.exit.of(&claude.version);
    if ended.exit != expected {
        return Err(RecordError::Exit { exit: ended.exit, expected, said: said() });
    }
    let transcript = match session {
        Some(session) => sandbox.transcript(&session)?,
        None => Vec::new(),
    };
    let Ended { stdout, stderr, events, exit, .. } = ended;
    let written = events.iter().filter(|(_, kind)| matches!(kind, TickKind::In(_)));
    let written = written.count();
    Ok(RawRun {
        version: claude.version.clone(),
        argv: std::iter::once("claude".to_owned()).chain(args).collect(),
        stdout,
        stderr,
        stdin: stdin[..written]
            .iter()
            .flat_map(|line| [line.line.as_bytes(), b"\n"].concat())
            .collect(),
        events,
        exit,
        transcript,
        folders: folders.clone(),
        address,
    })
}

fn args(scenario: &Scenario, folders: &Folders) -> Vec<String> {
    let record = &scenario.record;
    let fixed = ["--output-format", "stream-json", "--verbose"];
    std::iter::once("-p")
        .chain(record.prompt.as_deref())
        .chain(fixed)
        .chain(record.partial_messages.then_some("--include-partial-messages"))
        .chain(record.args.iter().map(String::as_str))
        .map(|arg| folders.expand(arg))
        .collect()
}

fn stdin(scenario: &Scenario, folders: &Folders) -> Vec<StdinLine> {
    let lines = scenario.record.stdin.iter();
    lines.map(|line| StdinLine { line: folders.expand(&line.line), ..line.clone() }).collect()
}

fn command(claude: &Claude, args: &[String], folders: &Folders, address: &str) -> Command {
    let mut command = Command::new(&claude.program);
    command
        .args(args)
        .current_dir(Path::new(&folders.project))
        .env_clear()
        .envs(ENVIRONMENT)
        .env("PATH", claude::search_path(&claude.program))
        .env("HOME", &folders.home)
        .env("TMPDIR", &folders.tmp)
        .env("ANTHROPIC_BASE_URL", format!("http://{address}"));
    command
}

#[cfg(test)]
mod tests;
