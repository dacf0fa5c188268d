//! Runs the CLI as a scenario says, once or several times in the same folders, in real time, and converts the result to
//! its canonical form, a take.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::host::HostPaths;
use clitape_process::{Bounds, ConfineBy, Ending, Guard, command};
use clitape_recording::cassette::canon::{
    MachineFacts, MachineFolder, Substitutions, canonical, conversation_lines,
};
use clitape_recording::cassette::{
    Cli, Confinement, Exit, FORMAT, FurtherRun, Manifest, Origin, RecordCounts, Resume, RunFacts,
    Take, Tick, TickKind, sha256, timeline,
};
use clitape_recording::clock;
use clitape_recording::limits::{MODEL_LINES, MODEL_REQUEST, OutputLimits, RECORDED_TIME};
use clitape_recording::names::{CassetteFile, CassettePart, CliVersion};
use clitape_recording::scenario::{
    Exits, HostPreset, Model, RecordSpec, Scenario, ScenarioError, SessionStep, SignalPlan,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer;
use super::attended::{Alarm, AttendedRun, AttendedScript, run_attended};
use super::claude::{self, Claude};
use super::error::{CliOutput, RecordError};
use super::host::HostScript;
use super::script::RunStage;
use super::server::ModelServer;
use super::workspace::{Folders, Sandbox, ScenarioFolder, WorkspaceLimits};

/// The limits of a recording, and the confinement of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSettings {
    /// The limits of the CLI's output.
    pub output: OutputLimits,
    /// The longest time of one run of the CLI, even if `record.timeout_s` of the scenario is longer.
    pub time: Duration,
    /// The limits of the workspace.
    pub workspace: WorkspaceLimits,
    /// The most lines that all `{{lines:N}}` of a `model.toml` may ask for together.
    pub model_lines: usize,
    /// The most bytes of a request to the scripted model.
    pub request: ByteSize,
    /// The way in which the CLI is confined to its temporary folder; `None` does not confine it.
    pub confine: Option<ConfineBy>,
}

impl Default for RecordSettings {
    fn default() -> Self {
        Self {
            output: OutputLimits::default(),
            time: RECORDED_TIME,
            workspace: WorkspaceLimits::default(),
            model_lines: MODEL_LINES,
            request: MODEL_REQUEST,
            confine: Some(ConfineBy::Any),
        }
    }
}

/// The raw result of all runs of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRecording {
    /// The CLI's version.
    version: CliVersion,
    /// SHA-256 of the CLI's program.
    cli_sha256: String,
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
    /// The turns of the script that no request asked for.
    pub(crate) unasked: Vec<String>,
    /// True if the model calls two tools in a turn.
    pub(crate) calls_at_once: bool,
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
    history: Vec<u8>,
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
    if let Some(what) = answer::overrun(&model) {
        let path = scenario.dir.join("model.toml");
        return Err(ScenarioError::Invalid { path, what }.into());
    }
    let workspace =
        ScenarioFolder::read(&scenario.dir.join("workspace"), settings.workspace, stop)?;
    let sandbox = Sandbox::new(&host.temporary, &workspace, stop)?;
    let calls_at_once = model.calls_at_once();
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
        unasked: rig.server.unasked(),
        calls_at_once,
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
        let (answered, session) = stdout_summary(&ended.stdout);
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
                _ => sent_history(&server.first_request()),
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

/// The fields of a record that the recorder reads.
#[derive(Deserialize)]
struct RecordFields<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
}

/// Returns whether a whole stdout has a `result` record, and the session's id, which is that of the first `init`
/// record, because a line before it may come from a tool server, which can write to the same pipe.
fn stdout_summary(stdout: &[u8]) -> (bool, Option<String>) {
    let plain = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let (mut is_answered, mut session) = (false, None);
    for line in stdout.split(|&byte| byte == b'\n') {
        let Ok(head) = serde_json::from_slice::<RecordFields<'_>>(line) else { continue };
        is_answered |= head.kind == "result";
        if session.is_none() && head.kind == "system" && head.subtype.as_deref() == Some("init") {
            session = head.session_id.filter(|id| plain(id)).map(Cow::into_owned);
        }
    }
    (is_answered, session)
}

/// The start of a text that the CLI adds to a user message.
const REMINDER: &str = "<system-reminder>";
/// The fields of a block that are kept; the transcript contains all of them.
const KEPT_BLOCKS: [&str; 8] =
    ["type", "text", "id", "name", "input", "tool_use_id", "is_error", "content"];

/// Returns the earlier conversation that the CLI sends to the model on resume: the messages of its first request as
/// JSON lines; empty if the body is not a request.
///
/// Reasoning, messages with the role `system`, the reminders and prompts that the CLI adds, and fields that control
/// caching are left out.
fn sent_history(body: &[u8]) -> Vec<u8> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut lines = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let Some(role) = message["role"].as_str() else { continue };
        let content = sent_blocks(&message["content"]);
        if role != "system" && !content.is_empty() {
            lines.extend(json!({ "role": role, "content": content }).to_string().into_bytes());
            lines.push(b'\n');
        }
    }
    lines
}

fn sent_blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => sent_blocks(&json!([{ "type": "text", "text": text }])),
        Value::Array(all) => all.iter().filter_map(sent_block).collect(),
        _ => Vec::new(),
    }
}

fn sent_block(block: &Value) -> Option<Value> {
    let kind = block["type"].as_str()?;
    let is_reminder = block["text"].as_str().is_some_and(|text| text.starts_with(REMINDER));
    if is_reminder || kind.contains("thinking") {
        return None;
    }
    let kept =
        KEPT_BLOCKS.iter().filter_map(|key| Some(((*key).to_owned(), block.get(*key)?.clone())));
    Some(Value::Object(kept.collect::<Map<_, _>>()))
}

/// Converts `recording` to its canonical form. A value that several runs contain gets one placeholder.
pub(crate) fn into_take(recording: &RawRecording, scenario: &Scenario) -> Take {
    let mut canonicalizer =
        Canonicalizer { substitutions: None, facts: machine_facts(recording), counts: [].into() };
    let first = canonicalizer.convert(&recording.first);
    let further = recording.further.iter().zip(&scenario.record.then);
    let further =
        further.map(|(run, step)| canonicalizer.convert(run).into_further(run, step)).collect();
    let manifest = Manifest {
        format: FORMAT,
        scenario: scenario.name.clone(),
        origin: Origin::Recorded,
        allowed_secrets: Vec::new(),
        cli: Cli {
            version: recording.version.clone(),
            sha256: Some(recording.cli_sha256.clone()),
            argv: first.argv,
            platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
            date: clock::today(),
            confined: recording.confined,
        },
        exit: Some(recording.first.exit),
        counts: RecordCounts::default(),
        made_from: BTreeMap::new(),
        canonical: canonicalizer.counts,
        redacted: BTreeMap::new(),
        sha256: (1..)
            .zip(std::iter::once(&recording.first).chain(&recording.further))
            .map(|(number, run)| {
                (CassetteFile::new(CassettePart::RawStdout, number), sha256(&run.stdout))
            })
            .collect(),
        runs: Vec::new(),
    };
    let CanonicalRun { stdout, timeline, stderr, stdin, transcript, .. } = first;
    Take { manifest, timeline, stdout, stderr, stdin, transcript, further }
}

/// The canonical form of one run.
struct CanonicalRun {
    argv: Vec<String>,
    timeline: Vec<Tick>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    stdin: Vec<u8>,
    transcript: Vec<u8>,
    history: Vec<u8>,
}

impl CanonicalRun {
    fn into_further(self, run: &RawRun, step: &SessionStep) -> FurtherRun {
        let Self { argv, timeline, stdout, stderr, transcript, history, .. } = self;
        let (resume, exit, counts) = (step.resume, run.exit, RecordCounts::default());
        let facts = RunFacts { resume, argv, exit, counts };
        FurtherRun { facts, stdout, timeline, stderr, transcript, history }
    }
}

/// Converts one run after the other to its canonical form.
struct Canonicalizer {
    facts: MachineFacts,
    substitutions: Option<Substitutions>,
    /// The number of replacements in all runs, by rule.
    counts: BTreeMap<String, u64>,
}

impl Canonicalizer {
    fn convert(&mut self, run: &RawRun) -> CanonicalRun {
        let (stdout, mut substitutions) = match self.substitutions.take() {
            None => canonical(&run.stdout, &self.facts),
            Some(mut known) => (known.apply_lines(&run.stdout), known),
        };
        let stdin = substitutions.apply_lines(&run.stdin);
        let transcript = substitutions.apply_lines(&conversation_lines(&run.transcript));
        let stderr = substitutions.apply_lines(&run.stderr);
        let history = substitutions.apply_lines(&run.history);
        for part in [&stdout, &transcript, &stdin, &stderr, &history] {
            for (rule, n) in &part.counts {
                *self.counts.entry(rule.clone()).or_default() += n;
            }
        }
        let events = run.events.iter().cloned();
        let timeline = timeline(events, |raw| stdout.map_offset(raw), |raw| stderr.map_offset(raw));
        let argv = run.argv.iter().map(|arg| substitutions.apply_text(arg)).collect();
        self.substitutions = Some(substitutions);
        CanonicalRun {
            argv,
            timeline,
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            stdin: stdin.bytes,
            transcript: transcript.bytes,
            history: history.bytes,
        }
    }
}

fn machine_facts(recording: &RawRecording) -> MachineFacts {
    let folders = &recording.folders;
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::effective());
    MachineFacts {
        paths: vec![
            (folders.project.clone(), MachineFolder::Project),
            (folders.home.clone(), MachineFolder::Home),
            (folders.tmp.clone(), MachineFolder::Tmp),
        ],
        host: nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()),
        user: user.ok().flatten().map(|user| user.name),
        address: Some(recording.address.clone()),
        cli_version: Some(recording.version.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stdout_is_summed_up() {
        let result = "{\"type\":\"result\",\"session_id\":\"b\"}\n".to_owned();
        let system = |subtype, id| {
            format!("{{\"type\":\"system\",\"subtype\":\"{subtype}\",\"session_id\":\"{id}\"}}\n")
        };
        for (stdout, expect) in [
            (String::new(), (false, None)),
            (system("init", "a-1"), (false, Some("a-1"))),
            (system("x", "transcript") + &system("init", "a-1") + &result, (true, Some("a-1"))),
            (system("init", "../x") + &system("init", "b"), (false, Some("b"))),
            (result, (true, None)),
        ] {
            let expect = (expect.0, expect.1.map(str::to_owned));
            assert_eq!(stdout_summary(stdout.as_bytes()), expect, "{stdout}");
        }
    }

    #[test]
    fn a_request_contains_the_conversation_so_far() {
        let body = br#"{"model":"m","messages":[
            {"role":"user","content":[
                {"type":"text","text":"<system-reminder>date"},
                {"type":"text","text":"Go","cache_control":{"type":"ephemeral"}}]},
            {"role":"system","content":"env"},
            {"role":"assistant","content":[
                {"type":"thinking","thinking":"hm","signature":"s"},
                {"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a","is_error":true}]},
            {"role":"user","content":"On."}]}"#;
        let expect = [
            r#"{"role":"user","content":[{"type":"text","text":"Go"}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"On."}]}"#,
        ];
        let lines = String::from_utf8(sent_history(body)).unwrap();
        assert_eq!(lines.lines().collect::<Vec<_>>(), expect);
        assert!(sent_history(b"no JSON").is_empty());
    }
}
