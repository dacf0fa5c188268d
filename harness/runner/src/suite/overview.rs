//! Lists the content of a workspace without a replay: each scenario with its recordings and goldens, for `clitape list`
//! and `show`. [`script`] describes a scenario's prompts and its model's answers in words for people.

use std::io;
use std::path::PathBuf;

use clitape_judge::{Golden, View};
use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{
    Model, ModelBlock, ModelContent, ModelFailureKind, ModelStopReason, ModelTurn, Resume,
    SayAction, SayBehavior, SayStep, Scenario, ScenarioError, ToolSide, Trigger, Workspace,
};
use clitape_recording::text::{Keep, plain, quoted, truncate};
use serde::Serialize;
use serde_json::Value;

use super::pool::short_jobs;

/// The files that an overview counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// The goldens are counted, and the bytes of the recordings.
    Files,
    /// Only names are listed, so that fewer folders are read.
    Nothing,
}

/// A scenario, with its recordings and goldens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScenarioOverview {
    /// Its name.
    pub name: ScenarioName,
    /// The title, one line for people; empty if the scenario can't be read.
    pub title: String,
    /// The sentence about what it shows.
    pub about: String,
    /// The issues it guards.
    pub tracks: Vec<String>,
    /// The channels in which a person sees the run, as goldens name them: `telegram-partial`, `acp`, `sse`.
    pub channels: Vec<String>,
    /// Its recordings, the oldest version first.
    pub recordings: Vec<RecordingOverview>,
    /// The number of its goldens; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goldens: Option<usize>,
    /// The reason why the scenario can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordingOverview {
    /// The version of the CLI.
    pub version: CliVersion,
    /// The day of the recording, `YYYY-MM-DD`; absent if `cassette.toml` can't be read.
    pub date: Option<String>,
    /// The origin of its bytes; absent if `cassette.toml` can't be read.
    pub origin: Option<Origin>,
    /// The bytes of its files; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl ScenarioOverview {
    /// Reads the files of a scenario. An unreadable scenario or cassette is not an error, but shown as a part of the
    /// overview.
    ///
    /// # Errors
    ///
    /// When a folder can't be read.
    pub fn of(workspace: &Workspace, name: &ScenarioName, counting: Counting) -> io::Result<Self> {
        let counts = counting == Counting::Files;
        let mut overview = Self {
            name: name.clone(),
            title: String::new(),
            about: String::new(),
            tracks: Vec::new(),
            channels: Vec::new(),
            recordings: Vec::new(),
            goldens: counts.then(|| goldens(workspace, name)).transpose()?.map(|all| all.len()),
            problem: None,
        };
        match workspace.scenario_of(name) {
            Ok(scenario) => overview.add(&scenario),
            Err(error) => overview.problem = Some(plain(&error.to_string())),
        }
        let mut versions = workspace.recorded(name)?;
        versions.sort_by(CliVersion::by_number);
        for version in versions {
            let dir = workspace.cassette(name, &version);
            let manifest = Cassette::manifest(&dir).ok();
            overview.recordings.push(RecordingOverview {
                date: manifest.as_ref().map(|it| plain(&it.cli.date)),
                origin: manifest.as_ref().map(|it| it.origin),
                bytes: counts.then(|| files::bytes(&files::below(&dir)?)).transpose()?,
                version,
            });
        }
        Ok(overview)
    }

    fn add(&mut self, scenario: &Scenario) {
        self.title = plain(&scenario.title);
        self.about = plain(&scenario.about);
        self.tracks = scenario.tracks.iter().map(|track| plain(track)).collect();
        let is_channel = |view: &View| matches!(view, View::Telegram(_) | View::Acp(_) | View::Sse);
        let views = View::of(scenario).into_iter().filter(is_channel);
        self.channels = views.map(|view| view.to_string()).collect();
    }

    /// Returns the day of the newest recording.
    pub fn last_recorded(&self) -> Option<&str> {
        self.recordings.iter().filter_map(|it| it.date.as_deref()).max()
    }
}

/// Reads these scenarios on all cores; returns them in their order.
///
/// # Errors
///
/// When a folder can't be read.
pub fn overviews(
    workspace: &Workspace,
    names: &[ScenarioName],
    counting: Counting,
) -> io::Result<Vec<ScenarioOverview>> {
    short_jobs(names, |name| ScenarioOverview::of(workspace, name, counting))
}

/// Returns the names of a scenario's goldens, as paths below `golden/`, sorted: `bus.2.1.332.snap`.
///
/// # Errors
///
/// When a folder can't be read.
pub fn goldens(workspace: &Workspace, name: &ScenarioName) -> io::Result<Vec<String>> {
    let scenario = workspace.scenario(name);
    let dir = scenario.join("golden");
    let shown = |path: &PathBuf| Some(path.strip_prefix(&dir).ok()?.display().to_string());
    let goldens = Golden::files(&scenario)?;
    Ok(goldens.iter().filter_map(shown).collect())
}

/// The most columns of a text of the model.
const TEXT: usize = 90;

/// A heading and the lines below it.
pub type ScriptPart = (String, Vec<String>);

/// Describes the prompt, the steps of the host and the model's answers, in order.
///
/// # Errors
///
/// [`ScenarioError`] when `model.toml` can't be used.
pub fn script(scenario: &Scenario) -> Result<Vec<ScriptPart>, ScenarioError> {
    let record = &scenario.record;
    let mut parts = Vec::new();
    if let Some(prompt) = &record.prompt {
        parts.push(("prompt".to_owned(), vec![short(prompt)]));
    }
    if let Some(host) = record.host {
        parts.push(("host".to_owned(), vec![format!("drives the CLI as `{host}` does")]));
    }
    if !record.say.is_empty() {
        parts.push(("host then".to_owned(), record.say.iter().map(step).collect()));
    }
    if let Some(signal) = &record.signal {
        let when = match &signal.when {
            Trigger::Tool(tool) => format!("a call of {tool} starts"),
            Trigger::Calls(calls) => format!("{calls} calls have started"),
            Trigger::Text(text) => format!("the answer contains {}", quoted(text)),
        };
        let line = format!("{} is sent once {when}", signal.send.as_str());
        parts.push(("signal".to_owned(), vec![line]));
    }
    for (number, run) in (2..).zip(&record.then) {
        let session = match run.resume {
            Resume::Id => "resumes the session",
            Resume::Continue => "continues the last session",
            Resume::Fork => "forks the session",
            Resume::UnknownId => "resumes a session that never was",
        };
        parts.push((format!("run {number}"), vec![format!("{session}: {}", short(&run.prompt))]));
    }
    if !scenario.has_model() {
        let line = "none: the recording was imported, and can't be made again".to_owned();
        parts.push(("model".to_owned(), vec![line]));
        return Ok(parts);
    }
    let model = Model::load(&scenario.dir)?;
    for (name, turns) in model.all_turns() {
        let heading = match name {
            "main" => "model".to_owned(),
            name => match name.strip_prefix("run") {
                Some(number) if number.parse::<u64>().is_ok() => format!("model, run {number}"),
                _ => format!("model, {name}"),
            },
        };
        let lines = (1..).zip(turns).map(|(number, one)| format!("{number}. {}", turn(one)));
        parts.push((heading, lines.collect()));
    }
    Ok(parts)
}

/// Describes a message of the model.
fn turn(turn: &ModelTurn) -> String {
    let mut words: Vec<String> = turn.failures().map(failure).collect();
    words.extend(turn.blocks.iter().map(block));
    if words.is_empty() {
        words.push("says nothing".to_owned());
    }
    let reason = turn.stop_reason();
    if !matches!(reason, ModelStopReason::EndTurn | ModelStopReason::ToolUse) {
        words.push(format!("ends with `{}`", reason.as_str()));
    }
    words.join("; ")
}

fn block(block: &ModelBlock) -> String {
    let text = block.content.pieces().joined();
    match &block.content {
        ModelContent::Text { .. } => format!("says {}", quoted(&text)),
        ModelContent::Thinking { .. } => format!("thinks {}", quoted(&text)),
        ModelContent::Tool { name, side, .. } => {
            let input = match text.as_str() {
                "" | "{}" => String::new(),
                text => format!(" with {}", short(text)),
            };
            let side = if *side == ToolSide::Server { " at the API" } else { "" };
            format!("calls {}{side}{input}", plain(name))
        }
        ModelContent::Raw(raw) => {
            let kind = raw.get("type").and_then(Value::as_str).unwrap_or_default();
            format!("sends a `{}`", plain(kind))
        }
    }
}

fn failure(kind: &ModelFailureKind) -> String {
    match kind {
        ModelFailureKind::Http { status, error, .. } => {
            format!("first fails with {status} {}", quoted(&error.message))
        }
        ModelFailureKind::Event { after, error } => {
            let message = quoted(&error.message);
            format!("first fails in block {} with {message}", after.block)
        }
        ModelFailureKind::Drop { after } => {
            format!("first loses the connection in block {}", after.block)
        }
    }
}

/// Describes a step of the host.
fn step(step: &SayStep) -> String {
    let what = match &step.action {
        SayAction::Message { content: Value::String(text), .. } => {
            format!("writes {}", quoted(text))
        }
        SayAction::Message { .. } => "writes a message of blocks".to_owned(),
        SayAction::Interrupt => "interrupts".to_owned(),
        SayAction::Answer(answer) => match answer.behavior {
            SayBehavior::Allow => "allows the call".to_owned(),
            SayBehavior::Deny => "denies the call".to_owned(),
            SayBehavior::DenyAndInterrupt => "denies the call and ends the turn".to_owned(),
        },
        SayAction::Choose(_) => "answers the question".to_owned(),
        SayAction::Close => "closes stdin".to_owned(),
        other => format!("sends `{}`", other.key()),
    };
    let when = step.when.as_ref().map(|when| format!(", once there is {when}"));
    plain(&format!("{what}{}", when.unwrap_or_default()))
}

/// Returns a text on one line and safe to print.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    truncate(&plain(&words.join(" ")), TEXT, Keep::Ends).into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::scenario::Workspace;
    use fs_err as fs;

    use super::*;

    #[test]
    fn an_overview_reads_what_is_there() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let name: ScenarioName = "three-tools".parse().unwrap();
        let overview = ScenarioOverview::of(&workspace, &name, Counting::Files).unwrap();
        assert!(overview.tracks.contains(&"openclaw#80046".to_owned()));
        assert!(overview.channels.contains(&"telegram-partial".to_owned()));
        let oldest = &overview.recordings[0];
        assert_eq!((oldest.version.as_str(), oldest.origin), ("1.0.128", Some(Origin::Recorded)));
        assert!(oldest.bytes > Some(1_000), "{oldest:?}");
        assert!(overview.last_recorded() >= oldest.date.as_deref());
        assert!(overview.goldens > Some(4), "{overview:?}");
        assert_eq!(overview.problem, None);
        let mut brief = ScenarioOverview::of(&workspace, &name, Counting::Nothing).unwrap();
        assert!(brief.goldens.is_none() && brief.recordings.iter().all(|it| it.bytes.is_none()));
        brief.goldens = overview.goldens;
        for (brief, full) in brief.recordings.iter_mut().zip(&overview.recordings) {
            brief.bytes = full.bytes;
        }
        assert_eq!(brief, overview, "the rest is the same");

        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("scenarios/three-tools")).unwrap();
        let empty =
            ScenarioOverview::of(&Workspace::at(dir.path()), &name, Counting::Files).unwrap();
        assert!(empty.problem.is_some() && empty.recordings.is_empty(), "{empty:?}");
    }

    /// Checks that the description of a committed scenario contains these lines.
    #[track_caller]
    fn check(name: &str, expect: &[&str]) {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let parts = script(&workspace.load(name).unwrap()).unwrap();
        let line = |(heading, lines): &ScriptPart| format!("{heading}: {}\n", lines.join(" | "));
        let text: String = parts.iter().map(line).collect();
        for part in expect {
            assert!(text.contains(part), "{name}: no `{part}` in\n{text}");
        }
    }

    #[test]
    fn a_scenario_is_told_in_words() {
        check(
            "three-tools",
            &[
                "prompt: Do the ports in server.conf and client.conf agree?\n",
                "model: 1. says “Let me look at both files.”; calls Read with {\"file_path\"",
            ],
        );
        let answer = "host then: allows the call, once there is { asked = \"Bash\" }";
        check("permission-allow", &["host: drives the CLI as `sdk` does", answer]);
        check("api-529-then-ok", &["first fails with 529"]);
        check("sigint-mid-text", &["signal: SIGINT is sent once"]);
        check("resume-killed-mid-tool", &["run 2: ", "model, run 2: 1. "]);
        check("thinking", &["thinks “"]);
    }

    #[test]
    fn every_committed_scenario_can_be_told() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        for name in workspace.names().unwrap() {
            let parts = script(&workspace.scenario_of(&name).unwrap()).unwrap();
            assert!(parts.iter().any(|(heading, _)| heading == "model"), "{name}: {parts:?}");
        }
    }
}
