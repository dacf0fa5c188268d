//! The table `[record]` of `scenario.toml`: the arguments of the CLI, and the lines that its host writes.
//!
//! `host` names a host whose way to run the CLI the recording follows, and `login` sets the CLI's login to the model.
//! `signal` is sent to the CLI in the middle of its run. `[[record.then]]` are further runs after the first, in the
//! same HOME and project:
//!
//! ```toml
//! [[record.then]]
//! resume = "id"                 # --resume with the id of the run before
//! prompt = "What did it say?"
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::model::misspelt_place;
use super::say::{SayAction, SayStep};
use super::versions::{MovedVersions, VersionRange, fact_of};
use crate::names::CliVersion;

/// The settings of a recording: `[record]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// The prompt; absent if `say` contains it. A `host` sends it as its first message.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The host whose way to run the CLI the recording follows; without it, the CLI runs once for the prompt, or with
    /// `args`.
    #[serde(default)]
    pub host: Option<HostPreset>,
    /// Further arguments of the CLI, after those that every recording has.
    #[serde(default)]
    pub args: Vec<String>,
    /// The CLI's login to the model; an API key by default.
    #[serde(default)]
    pub login: Login,
    /// True if the CLI is asked for the parts of messages, `--include-partial-messages`; this is the default.
    #[serde(default = "RecordSpec::default_partial_messages")]
    pub partial_messages: bool,
    /// The expected exit of the CLI, for all versions or from a version on; code 0 by default. A run that ends in
    /// another way is not recorded.
    #[serde(default)]
    pub exit: Exits,
    /// A signal sent in the middle of the run.
    #[serde(default)]
    pub signal: Option<SignalPlan>,
    /// The exception of a scenario that is not recorded with every version of `clitape.toml`.
    #[serde(default)]
    pub only: Option<VersionRange>,
    #[serde(default, rename = "versions")]
    _moved: MovedVersions,
    /// The seconds after which a CLI that has not ended is stopped; 120 by default.
    #[serde(default = "RecordSpec::default_timeout")]
    pub timeout_s: u64,
    /// The lines that the host writes to the CLI's stdin; without it and without `host`, stdin is `/dev/null`.
    #[serde(default)]
    pub say: Vec<SayStep>,
    /// Further runs in the same HOME and project.
    #[serde(default)]
    pub then: Vec<SessionStep>,
}

impl RecordSpec {
    fn default_timeout() -> u64 {
        120
    }

    fn default_partial_messages() -> bool {
        true
    }

    /// Returns a sentence about keys that contradict each other.
    pub(super) fn complaint(&self) -> Option<String> {
        if let Some(what) = self.only.as_ref().and_then(VersionRange::complaint) {
            return Some(what);
        }
        if self.prompt.is_none() && self.say.is_empty() {
            return Some("`record` has neither `prompt` nor `say`; write what to ask".into());
        }
        let prompts = self.prompt.iter().chain(self.then.iter().map(|step| &step.prompt));
        if let Some(what) = prompts.into_iter().find_map(|prompt| misspelt_place(prompt)) {
            return Some(what);
        }
        self.odd_exit().or_else(|| self.odd_say().map(str::to_owned))
    }

    fn odd_exit(&self) -> Option<String> {
        let last = self.only.as_ref().and_then(|range| range.until.as_ref());
        let exits = self.then.iter().map(|step| ("record.then.exit", &step.exit));
        for (key, exits) in std::iter::once(("record.exit", &self.exit)).chain(exits) {
            if let (Exits::SinceVersion(codes), Some(last)) = (exits, last)
                && let Some(odd) = codes.keys().find(|version| version.by_number(last).is_gt())
            {
                return Some(format!(
                    "`{key}` names version {odd}, which is after the last one of `record.only`; remove it"
                ));
            }
        }
        None
    }

    fn odd_say(&self) -> Option<&'static str> {
        let closes = self.say.iter().position(|step| step.action == SayAction::Close);
        if closes.is_some_and(|at| at + 1 < self.say.len()) {
            return Some(
                "a step of `[[record.say]]` comes after `close = true`, so that it can't be \
                 written; make `close` the last step",
            );
        }
        let initialize = |step: &SayStep| matches!(step.action, SayAction::Initialize(_));
        match self.host {
            Some(host) => {
                if !self.then.is_empty() {
                    return Some(
                        "`[[record.then]]` runs the CLI once for each prompt, which `record.host` \
                         does not; remove one of them",
                    );
                }
                let begins = host.profile().initialize.is_some();
                (begins && self.say.iter().any(initialize)).then_some(
                    "`record.host` sends an `initialize` of its own; remove it from \
                     `[[record.say]]`, or remove `host` and write its arguments in `args`",
                )
            }
            None => {
                let reads = self.args.iter().any(|arg| arg.contains("stream-json"));
                (self.prompt.is_none() && !reads).then_some(
                    "the CLI does not read what `[[record.say]]` writes; add `\"--input-format\", \
                     \"stream-json\"` to `record.args`, or write `host = \"live\"`",
                )
            }
        }
    }
}

/// The login of the CLI. The CLI reads the limits of an account from the headers of a response only for a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// The login with an API key.
    #[default]
    Key,
    /// The login of a subscriber, with the token that `claude setup-token` makes.
    Subscription,
}

impl Login {
    /// Returns the variable of the environment that contains the key or the token. Its value is always
    /// `clitape`, because only the scripted model reads it.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Key => "ANTHROPIC_API_KEY",
            Self::Subscription => "CLAUDE_CODE_OAUTH_TOKEN",
        }
    }
}

/// One further run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionStep {
    /// The session that it resumes.
    pub resume: Resume,
    /// The prompt. It separates the turns of this run from those before: the model answers with the first turn of its
    /// `[[step]]` if no assistant message follows it.
    pub prompt: String,
    /// The expected exit of the CLI; see `record.exit`.
    #[serde(default)]
    pub exit: Exits,
    /// A signal sent in the middle of the run.
    #[serde(default)]
    pub signal: Option<SignalPlan>,
}

/// The session that a further run resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// The session of the run before, by its id.
    Id,
    /// The last session in the project.
    Continue,
    /// A copy of the session of the run before, under a new id.
    Fork,
    /// A session that does not exist.
    UnknownId,
}

/// The signal and the moment at which it is sent: `[record.signal]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalPlan {
    /// The signal.
    pub send: SignalName,
    /// The condition on the CLI's output.
    pub when: Trigger,
    /// The milliseconds from then on.
    #[serde(default)]
    pub delay_ms: u64,
}

/// The end of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// The CLI exited with this code.
    Code(i32),
    /// The CLI was ended by this signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    /// Formats the exit as `code 1` or `signal 9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "code {code}"),
            Self::Signal(number) => write!(f, "signal {number}"),
        }
    }
}

/// The signals that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum SignalName {
    /// The interrupt that Ctrl-C sends.
    #[serde(rename = "SIGINT")]
    Int,
    /// A request to end.
    #[serde(rename = "SIGTERM")]
    Term,
    /// An end at once.
    #[serde(rename = "SIGKILL")]
    Kill,
}

impl SignalName {
    /// Returns the name of the signal and its number on Linux.
    fn word(self) -> (&'static str, i32) {
        match self {
            Self::Int => ("SIGINT", 2),
            Self::Term => ("SIGTERM", 15),
            Self::Kill => ("SIGKILL", 9),
        }
    }

    /// Returns the name of the signal.
    pub fn as_str(self) -> &'static str {
        self.word().0
    }
}

/// The condition on the CLI's output for a signal, on any thread of the run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The start of a call of this tool, with complete arguments.
    Tool(String),
    /// The start of this number of calls.
    Calls(u64),
    /// A thread with this text in it.
    Text(String),
}

/// The expected exit in a scenario: `1`, or `"SIGKILL"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ExitWord {
    /// An exit with this code.
    Code(i32),
    /// An end by this signal.
    Signal(SignalName),
}

impl From<ExitWord> for Exit {
    fn from(word: ExitWord) -> Self {
        match word {
            ExitWord::Code(code) => Self::Code(code),
            ExitWord::Signal(name) => Self::Signal(name.word().1),
        }
    }
}

/// The expected exit of the CLI: `record.exit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected an exit code, the name of a signal, or a table of them such as { \"2.1.329\" = 1 }"
)]
pub enum Exits {
    /// The same exit in every version.
    Same(ExitWord),
    /// The exit from each of these versions on, until the next one; code 0 before the first.
    SinceVersion(BTreeMap<CliVersion, ExitWord>),
}

impl Default for Exits {
    fn default() -> Self {
        Self::Same(ExitWord::Code(0))
    }
}

impl Exits {
    /// Returns the expected exit of a CLI version.
    pub fn of(&self, version: &CliVersion) -> Exit {
        match self {
            Self::Same(word) => (*word).into(),
            Self::SinceVersion(words) => {
                fact_of(words, version).map_or(Exit::Code(0), |word| (*word).into())
            }
        }
    }
}

/// A host that keeps the CLI running and talks to it over stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
pub enum HostPreset {
    /// The way of gateways: an `initialize` with hooks, whose calls are answered at once, a uuid on each message.
    #[serde(rename = "live")]
    #[strum(serialize = "live")]
    Live,
    /// OpenClaw 2026.6.1: no `initialize`, no uuids, no permission questions.
    #[serde(rename = "openclaw-2026.6.1")]
    #[strum(serialize = "openclaw-2026.6.1")]
    OpenClaw2026_6_1,
    /// OpenClaw 2026.9.6: as `live`, with its own session id and arguments.
    #[serde(rename = "openclaw-2026.9.6")]
    #[strum(serialize = "openclaw-2026.9.6")]
    OpenClaw2026_9_6,
    /// The official SDK: an `initialize` without hooks, permission questions on stdout.
    #[serde(rename = "sdk")]
    #[strum(serialize = "sdk")]
    Sdk,
}

/// The way in which a host runs the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostProfile {
    /// The arguments of the host, before those of the scenario. Arguments for a model or a file of the host are left
    /// out.
    pub args: &'static [&'static str],
    /// Further variables of the environment.
    pub environment: &'static [(&'static str, &'static str)],
    /// The request with which it begins.
    pub initialize: Option<&'static str>,
    /// A message; the content and the uuid replace `null` in it.
    pub message: &'static str,
    /// True if a text is sent as a text rather than a block.
    pub plain_text: bool,
    /// True if its `PreToolUse` hook allows every call, so that the CLI asks no permission question.
    pub allows_every_call: bool,
}

/// The session id that OpenClaw 2026.9.6 sets; it is the same in every recording.
const HOST_SESSION: &str = "c11fa9e0-0000-4000-8000-5e5510000001";

/// The hooks of a gateway.
const HOOKED: &str = r#"{"subtype":"initialize","hooks":{"UserPromptSubmit":[{"hookCallbackIds":["UserPromptSubmit"]}],"PreToolUse":[{"hookCallbackIds":["PreToolUse"]}]}}"#;

/// The host of a scenario without `host`, which only takes its steps.
pub const PLAIN: HostProfile = HostProfile {
    args: &[],
    environment: &[],
    initialize: None,
    message: r#"{"type":"user","message":{"role":"user","content":null}}"#,
    plain_text: false,
    allows_every_call: false,
};

const LIVE: HostProfile = HostProfile {
    args: &[
        "--input-format",
        "stream-json",
        "--replay-user-messages",
        "--permission-prompt-tool",
        "stdio",
    ],
    environment: &[],
    initialize: Some(HOOKED),
    message: r#"{"type":"user","message":{"role":"user","content":null},"parent_tool_use_id":null,"uuid":null}"#,
    plain_text: true,
    allows_every_call: true,
};

const OPENCLAW_2026_6_1: HostProfile = HostProfile {
    args: &[
        "--setting-sources",
        "user",
        "--allowedTools",
        "mcp__openclaw__*",
        "--permission-mode",
        "bypassPermissions",
        "--strict-mcp-config",
        "--input-format",
        "stream-json",
        "--permission-prompt-tool",
        "stdio",
        "--replay-user-messages",
    ],
    // The CLI refuses `bypassPermissions` to the superuser without it.
    environment: &[("IS_SANDBOX", "1")],
    initialize: None,
    message: r#"{"type":"user","session_id":"","parent_tool_use_id":null,"message":{"role":"user","content":null}}"#,
    plain_text: true,
    allows_every_call: false,
};

const OPENCLAW_2026_9_6: HostProfile = HostProfile {
    args: &[
        "--disallowedTools",
        "ScheduleWakeup,CronCreate,Bash(run_in_background:true),Monitor",
        "--strict-mcp-config",
        "--input-format",
        "stream-json",
        "--replay-user-messages",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        "default",
        "--setting-sources",
        "user",
        "--allowedTools",
        "mcp__openclaw__*",
        "--session-id",
        HOST_SESSION,
    ],
    environment: &[],
    initialize: Some(
        r#"{"subtype":"initialize","appendSystemPrompt":"You are a personal assistant.","excludeDynamicSections":false,"hooks":{"UserPromptSubmit":[{"hookCallbackIds":["UserPromptSubmit"]}],"PreToolUse":[{"hookCallbackIds":["PreToolUse"]}]}}"#,
    ),
    message: r#"{"type":"user","message":{"role":"user","content":null},"parent_tool_use_id":null,"uuid":null,"session_id":"c11fa9e0-0000-4000-8000-5e5510000001"}"#,
    plain_text: true,
    allows_every_call: true,
};

const SDK: HostProfile = HostProfile {
    args: &["--input-format", "stream-json", "--permission-prompt-tool", "stdio"],
    environment: &[],
    initialize: Some(r#"{"subtype":"initialize","hooks":null}"#),
    message: r#"{"type":"user","session_id":"","message":{"role":"user","content":null},"parent_tool_use_id":null}"#,
    plain_text: false,
    allows_every_call: false,
};

impl HostPreset {
    /// Returns the way in which the host runs the CLI.
    pub fn profile(self) -> &'static HostProfile {
        match self {
            Self::Live => &LIVE,
            Self::OpenClaw2026_6_1 => &OPENCLAW_2026_6_1,
            Self::OpenClaw2026_9_6 => &OPENCLAW_2026_9_6,
            Self::Sdk => &SDK,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::scenario::{ExitWord, RecordSpec};

    #[track_caller]
    fn check(keys: &str, expect: Option<&str>) {
        let complaint = toml::from_str::<RecordSpec>(keys).unwrap().complaint();
        match (&complaint, expect) {
            (None, None) => {}
            (Some(what), Some(expect)) => assert!(what.contains(expect), "{what}"),
            _ => panic!("{keys}: {complaint:?}"),
        }
    }

    #[test]
    fn a_cli_is_logged_in_with_a_key_or_as_a_subscriber() {
        let login = |keys: &str| {
            let text = format!("prompt = 'p'\n{keys}");
            toml::from_str::<RecordSpec>(&text).map(|record| record.login)
        };
        assert_eq!(login(""), Ok(Login::Key));
        assert_eq!(login("login = 'key'"), Ok(Login::Key));
        assert_eq!(login("login = 'subscription'"), Ok(Login::Subscription));
        assert!(login("login = 'token'").is_err());
    }

    #[test]
    fn a_record_says_what_to_ask_and_how() {
        check("prompt = 'p'", None);
        check("", Some("has neither `prompt` nor `say`"));
        check("prompt = 'p'\nonly = { reason = 'r' }", Some("`record.only` names no version"));
        check("host = 'live'\nprompt = 'p'", None);
        check("host = 'live'", Some("has neither `prompt` nor `say`"));
        check("host = 'openclaw-2026.6.1'\n[[say]]\nmessage = 'm'", None);
        check("args = ['--input-format', 'stream-json']\n[[say]]\nmessage = 'm'", None);
        check("[[say]]\nmessage = 'm'", Some("add `\"--input-format\", \"stream-json\"`"));
        check(
            "prompt = 'p'\nhost = 'sdk'\n[[say]]\nclose = true\n[[say]]\nmessage = 'm'",
            Some("make `close` the last step"),
        );
        check(
            "prompt = 'p'\nhost = 'sdk'\n[[say]]\ninitialize = {}",
            Some("sends an `initialize` of its own"),
        );
        check(
            "prompt = 'p'\nhost = 'sdk'\n[[then]]\nresume = 'id'\nprompt = 'q'",
            Some("`[[record.then]]` runs the CLI once for each prompt"),
        );
    }

    #[test]
    fn a_step_says_which_session_goes_on() {
        let text = "prompt = 'p'\n[[then]]\nresume = 'RESUME'\nprompt = 'q'";
        for (word, resume) in [
            ("id", Resume::Id),
            ("continue", Resume::Continue),
            ("fork", Resume::Fork),
            ("unknown-id", Resume::UnknownId),
        ] {
            let text = text.replace("RESUME", word);
            let record: RecordSpec = toml::from_str(&(text + "\nexit = 1")).unwrap();
            let [step] = &record.then[..] else { panic!("{record:?}") };
            assert_eq!((step.resume, step.prompt.as_str()), (resume, "q"));
            assert_eq!(step.exit, Exits::Same(ExitWord::Code(1)));
        }
        assert!(toml::from_str::<RecordSpec>(&text.replace("RESUME", "last")).is_err());
    }

    #[derive(Deserialize)]
    struct File {
        signal: Option<SignalPlan>,
        #[serde(default)]
        exit: Exits,
    }

    #[test]
    fn a_signal_has_a_trigger() {
        for (text, expect) in [
            ("when = { tool = 'Bash' }", Trigger::Tool("Bash".into())),
            ("when = { calls = 2 }\ndelay_ms = 0", Trigger::Calls(2)),
            ("when = { text = 'half' }", Trigger::Text("half".into())),
        ] {
            let file: File = toml::from_str(&format!("[signal]\nsend = 'SIGINT'\n{text}")).unwrap();
            let expect = SignalPlan { send: SignalName::Int, when: expect, delay_ms: 0 };
            assert_eq!(file.signal, Some(expect));
        }
        assert!(toml::from_str::<File>("[signal]\nsend = 'SIGHUP'\nwhen = { calls = 1 }").is_err());
        assert!(toml::from_str::<File>("[signal]\nsend = 'SIGINT'\nwhen = { line = 1 }").is_err());
    }

    #[test]
    fn an_exit_is_a_code_or_a_signal_for_all_versions_or_from_a_version_on() {
        let codes = |codes: [i32; 4]| codes.map(Exit::Code);
        let signals = [Exit::Signal(15), Exit::Signal(15), Exit::Code(143), Exit::Code(143)];
        for (text, expect) in [
            ("", codes([0; 4])),
            ("exit = 1", codes([1; 4])),
            ("exit = { '2.1.148' = 7 }", codes([0, 0, 7, 7])),
            ("exit = { '2.1.99' = 1, '2.1.148' = 0 }", codes([0, 1, 0, 0])),
            ("exit = 'SIGKILL'", [Exit::Signal(9); 4]),
            ("exit = { '1.0.0' = 'SIGTERM', '2.1.148' = 143 }", signals),
        ] {
            let file: File = toml::from_str(text).unwrap();
            let versions = ["1.0.128", "2.1.99", "2.1.148", "2.1.331"];
            let exits = versions.map(|version| file.exit.of(&version.parse().unwrap()));
            assert_eq!(exits, expect, "{text}");
        }
    }

    #[test]
    fn every_host_has_lines_of_json_with_a_place_for_the_content() {
        for profile in [&PLAIN, &LIVE, &OPENCLAW_2026_6_1, &OPENCLAW_2026_9_6, &SDK] {
            let message: Value = serde_json::from_str(profile.message).unwrap();
            assert_eq!(message.pointer("/message/content"), Some(&Value::Null));
            if let Some(session) = message.get("session_id").and_then(Value::as_str) {
                assert!(session.is_empty() || profile.args.contains(&session), "{session}");
            }
            let request =
                profile.initialize.map(serde_json::from_str::<Value>).transpose().unwrap();
            assert!(request.is_none_or(|request| request["subtype"] == "initialize"));
            assert!(profile.args.is_empty() || profile.args.contains(&"stream-json"));
        }
    }
}
