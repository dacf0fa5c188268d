//! The settings of a replay: the keys of `scenario.toml` about the gateway, and about the channels in which a person
//! sees the run.
//!
//! `[run]` sets the gateway, and `[session]` its facts about the session that a scenario with several runs resumes. A
//! `[[channel]]` shows the run to a person. A `[[variant]]` is a named outcome of a chat, if timing allows several.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clitape_gateway::Watchdog;
use serde::Deserialize;

/// The settings of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The settings of the gateway's run.
    pub run: RunSpec,
    /// The chat; `None` without one.
    pub channel: Option<Chat>,
    /// The ACP client; `None` without one.
    pub acp: Option<AcpClient>,
}

impl Setup {
    /// Returns the same setup for a run that resumes a session.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { run: RunSpec { resume: true, ..self.run }, ..self }
    }

    /// Returns the watchdog of the run, which ends an agent that is silent for too long.
    pub fn watchdog(&self) -> Watchdog {
        let limit = Duration::from_secs(self.run.limit_s);
        if self.run.resume { Watchdog::resumed(limit) } else { Watchdog::fresh(limit) }
    }
}

/// A client of the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct AcpClient {
    /// Let the ACP client show terminals
    #[arg(long)]
    pub terminal: bool,
}

/// The default milliseconds between two lines in the replay that goldens are made of.
const PACE_MS: u64 = 200;
/// The default seconds that a run may take.
const LIMIT_S: u64 = 600;

/// `[run]`: how the gateway runs the scenario. The options of `clitape replay` name the same fields, except
/// for the pace, which belongs to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// Run as a heartbeat, silently
    #[arg(long)]
    pub silent: bool,
    /// How the person gets the answer
    #[arg(long, default_value_t)]
    pub delivery: DeliverySpec,
    /// Seconds that the run may take; an agent that is silent for a share of them counts as stalled
    #[arg(long = "limit", value_name = "S", default_value_t = LIMIT_S,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub limit_s: u64,
    /// Run as a run that resumes a session
    #[arg(long)]
    pub resume: bool,
    /// The number, from 1, of a callback of the chat that never settles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub stuck_callback: Option<u64>,
    /// Read the event stream of all turns with one reader whose connection breaks after event N and which comes back
    /// with the id of event M, written N:M
    #[arg(long, value_name = "N:M")]
    pub stream_break: Option<StreamBreak>,
    /// Milliseconds between two lines in the replay that goldens are made of
    #[arg(skip = PACE_MS)]
    pub pace_ms: u64,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            silent: false,
            delivery: DeliverySpec::default(),
            limit_s: LIMIT_S,
            resume: false,
            stuck_callback: None,
            stream_break: None,
            pace_ms: PACE_MS,
        }
    }
}

impl RunSpec {
    /// Returns a sentence about a number that is 0, or about a check that is never made in a scenario with or without
    /// an event stream.
    pub(super) fn complaint(&self, has_stream: bool) -> Option<String> {
        let what = if self.limit_s == 0 {
            "`run.limit_s` is 0; write the seconds that the run may take"
        } else if self.stuck_callback == Some(0) {
            "`run.stuck_callback` is 0; callbacks count from 1"
        } else if self.pace_ms == 0 {
            "`run.pace_ms` is 0; write the milliseconds between two lines"
        } else if self.stream_break.is_some() && !has_stream {
            "`run.stream_break` needs an event stream, whose connection breaks; add a [[channel]] of kind \"sse\", or \
             remove it"
        } else {
            return None;
        };
        Some(what.to_owned())
    }
}

/// The place at which the connection of an event stream's reader breaks (S2), written `4:2` in `run.stream_break`. The
/// events after the one whose id the reader comes back with are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct StreamBreak {
    /// The number of the last event before the break, from 1.
    pub after: u64,
    /// The number of the event whose id the reader comes back with; 0 if it has none.
    pub last: u64,
}

/// The error of a text that is not a [`StreamBreak`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no break of an event stream; write two numbers such as 4:2, of the event after which it breaks (1 to \
     {STREAM_EVENTS}) and of an event up to that one whose id the reader comes back with (0 for none)"
)]
pub struct StreamBreakError(String);

/// The largest number of an event.
const STREAM_EVENTS: u64 = 1_000_000;

impl FromStr for StreamBreak {
    type Err = StreamBreakError;

    fn from_str(text: &str) -> Result<Self, StreamBreakError> {
        let number = |text: &str| text.parse::<u64>().ok();
        let parts =
            text.split_once(':').and_then(|(after, last)| Some((number(after)?, number(last)?)));
        match parts {
            Some((after @ 1..=STREAM_EVENTS, last)) if last <= after => Ok(Self { after, last }),
            _ => Err(StreamBreakError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for StreamBreak {
    type Error = StreamBreakError;

    fn try_from(text: String) -> Result<Self, StreamBreakError> {
        text.parse()
    }
}

impl fmt::Display for StreamBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.after, self.last)
    }
}

/// `run.delivery`: how the answer reaches the person (G4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum DeliverySpec {
    /// The final text is delivered
    #[default]
    Automatic,
    /// The agent sends it with a tool; the final text is delivered only if the agent sent nothing
    MessageToolOnly,
}

/// The provider whose sessions are transcripts of the CLI.
const CLAUDE: &str = "claude-cli";

/// The gateway's facts about the session: `[session]` of `scenario.toml`. Without it, the lane `session` has only the
/// content of the transcripts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionSpec {
    /// The provider whose session the gateway stores after each run (X3).
    pub provider: String,
    /// The `CLAUDE_CONFIG_DIR` of the gateway and its CLI (X1); not set if absent.
    pub claude_config_dir: Option<String>,
    /// The folder in which the gateway runs the CLI (X1); the project's if absent.
    pub working_folder: Option<String>,
    /// The id under which the gateway stores the session (X3); the one that the CLI printed if absent.
    pub id: Option<String>,
    /// The settings with which the gateway starts each run, as one JSON object each (X6).
    pub fingerprints: Vec<String>,
    /// The message that begins a new session in place of one that is given up; it is sent with the history of the old
    /// one (X5).
    pub message: Option<String>,
    /// The tokens that the model takes; the history of such a session gets a share of them (X5).
    pub model_tokens: u64,
}

impl Default for SessionSpec {
    fn default() -> Self {
        Self {
            provider: CLAUDE.to_owned(),
            claude_config_dir: None,
            working_folder: None,
            id: None,
            fingerprints: Vec::new(),
            message: None,
            model_tokens: 0,
        }
    }
}

impl SessionSpec {
    /// Returns a sentence about a key that asks for a check that is never made in a scenario with this number of runs.
    pub(super) fn complaint(&self, runs: usize) -> Option<String> {
        let settings = self.fingerprints.len();
        if runs == 1 {
            let what = "`[session]` is about a session that is resumed; add a [[record.then]], or remove it";
            return Some(what.to_owned());
        }
        (settings == 1 || settings > runs).then(|| {
            format!(
                "`session.fingerprints` has {settings} settings, and the scenario {runs} runs; write those of two or \
                 more runs, or remove what is too many"
            )
        })
    }
}

/// A channel in which a person sees the run (`[[channel]]`), by its `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ChannelSpec {
    /// A chat.
    Telegram(Chat),
    /// A client of the Agent Client Protocol.
    Acp {
        /// True if it shows terminals; false by default.
        #[serde(default)]
        terminal: bool,
    },
    /// A stream of server-sent events.
    Sse {},
}

/// A chat: what it shows during the run, and how. `scenario.toml` and the options of `clitape replay` name
/// the same fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// What the chat shows during the run
    #[arg(long, default_value_t = ChatMode::Partial)]
    pub mode: ChatMode,
    /// Show the reasoning in the chat
    #[arg(long)]
    #[serde(default)]
    pub reasoning: bool,
    /// The service whose marks and limits the chat has
    #[arg(long, default_value_t)]
    #[serde(default)]
    pub profile: ChatProfile,
}

impl Chat {
    /// A Telegram chat without reasoning.
    pub fn of(mode: ChatMode) -> Self {
        Self { mode, reasoning: false, profile: ChatProfile::Telegram }
    }
}

/// Formats the end of a golden's name: `partial`, `partial-reasoning-slack`.
impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.mode)?;
        if self.reasoning {
            f.write_str("-reasoning")?;
        }
        match self.profile {
            ChatProfile::Telegram => Ok(()),
            other => write!(f, "-{other}"),
        }
    }
}

/// The part of a run that a chat shows while it goes on (V1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ChatMode {
    /// Nothing
    Off,
    /// The answer as it grows, with tool lines
    Partial,
    /// The answer block by block, with tool lines
    Block,
    /// Tool lines only
    Progress,
}

/// A chat service (V10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ChatProfile {
    /// HTML, 4,096 characters
    #[default]
    Telegram,
    /// Markdown, 2,000 characters
    Discord,
    /// Marks of its own, 4,000 characters
    Slack,
}

/// One more outcome that a chat of the scenario may have: `[[variant]]`.
///
/// Once a chat has a variant, every seeded replay of it must give its golden or one of its variants.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The name, with which its golden's name ends: `sent-whole`. It has small letters, digits and hyphens, a letter
    /// first, so that it never looks like a CLI version.
    pub name: String,
    /// The chat's view, as in the names of its goldens: `telegram-partial`.
    pub view: String,
    /// The reason why timing may give it, in one sentence.
    pub about: String,
}

/// Returns a sentence about a mistake in the variants of a scenario with these channels.
pub(super) fn variants_complaint(variants: &[Variant], channels: &[ChannelSpec]) -> Option<String> {
    let chats: Vec<String> = channels
        .iter()
        .filter_map(|channel| match channel {
            ChannelSpec::Telegram(chat) => Some(format!("telegram-{chat}")),
            ChannelSpec::Acp { .. } | ChannelSpec::Sse {} => None,
        })
        .collect();
    variants.iter().enumerate().find_map(|(i, Variant { name, view, about })| {
        let is_same = |other: &Variant| other.name == *name && other.view == *view;
        if !is_variant_name(name) {
            Some(format!(
                "`{name}` is no name of a variant; write small letters, digits and hyphens, a \
                 letter first, such as `sent-whole`"
            ))
        } else if chats.is_empty() {
            Some(format!(
                "variant `{name}` needs a chat; add a [[channel]] of kind \"telegram\", as timing \
                 changes nothing elsewhere"
            ))
        } else if !chats.contains(view) {
            Some(format!(
                "variant `{name}` is of `{view}`, which is no chat of the scenario; write {}",
                chats.join(" or ")
            ))
        } else if about.trim().is_empty() {
            Some(format!("variant `{name}` says nothing in `about`; write why timing may give it"))
        } else if variants[..i].iter().any(is_same) {
            Some(format!("variant `{name}` of `{view}` stands twice; rename or remove one"))
        } else {
            None
        }
    })
}

fn is_variant_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Chat, ChatMode};

    #[test]
    fn how_it_is_run_is_read() {
        let text = "delivery = 'message_tool_only'\nlimit_s = 60\nresume = true";
        let delivery = DeliverySpec::MessageToolOnly;
        let expect = RunSpec { delivery, limit_s: 60, resume: true, ..RunSpec::default() };
        assert_eq!(toml::from_str(text), Ok(expect));
        assert!(toml::from_str::<RunSpec>("delivery = 'by_tool'").is_err());
        assert!(toml::from_str::<RunSpec>("limit = 60").is_err());
    }

    #[test]
    fn s2_a_break_of_the_stream_has_two_numbers() {
        let break_of = |text: &str| text.parse::<StreamBreak>().ok();
        for (text, after, last) in [("4:2", 4, 2), ("1:0", 1, 0), ("9:9", 9, 9)] {
            assert_eq!(break_of(text), Some(StreamBreak { after, last }), "{text}");
            assert_eq!(StreamBreak { after, last }.to_string(), text);
            let run = toml::from_str::<RunSpec>(&format!("stream_break = '{text}'")).unwrap();
            assert_eq!(run.stream_break, break_of(text));
        }
        for text in ["", "4", "4:", "0:0", "2:4", "-1:0", "1000001:1", "4:2:1"] {
            assert_eq!(break_of(text), None, "{text}");
            assert!(toml::from_str::<RunSpec>(&format!("stream_break = '{text}'")).is_err());
        }
    }

    #[test]
    fn what_a_gateway_knows_is_read() {
        let spec = toml::from_str::<SessionSpec>("claude_config_dir = '/srv/agent'").unwrap();
        let expect =
            SessionSpec { claude_config_dir: Some("/srv/agent".into()), ..SessionSpec::default() };
        assert_eq!((spec, &*expect.provider), (expect.clone(), "claude-cli"));
        assert!(toml::from_str::<SessionSpec>("config_dir = '/srv/agent'").is_err());
    }

    #[derive(Deserialize)]
    struct File {
        channel: ChannelSpec,
    }

    fn check(keys: &str, name: &str) {
        let file: File = toml::from_str(&format!("[channel]\nkind = 'telegram'\n{keys}")).unwrap();
        let ChannelSpec::Telegram(chat) = file.channel else { panic!("{keys}") };
        assert_eq!(chat.to_string(), name);
    }

    #[test]
    fn a_chat_names_its_golden() {
        check("mode = 'off'", "off");
        check("mode = 'block'\nprofile = 'telegram'", "block");
        check("mode = 'partial'\nreasoning = true\nprofile = 'slack'", "partial-reasoning-slack");
    }

    #[track_caller]
    fn check_variant(variants: &[[&str; 3]], channels: &[ChannelSpec], expect: Option<&str>) {
        let variants: Vec<Variant> = variants
            .iter()
            .map(|text| text.map(str::to_owned))
            .map(|[view, name, about]| Variant { name, view, about })
            .collect();
        let got = variants_complaint(&variants, channels);
        match expect {
            None => assert_eq!(got, None),
            Some(part) => assert!(got.as_ref().is_some_and(|it| it.contains(part)), "{got:?}"),
        }
    }

    #[test]
    fn a_variant_has_a_name_a_chat_and_a_reason() {
        let chats = [ChatMode::Partial, ChatMode::Progress]
            .map(|mode| ChannelSpec::Telegram(Chat::of(mode)));
        let partial = "telegram-partial";
        check_variant(&[[partial, "a", "b"], [partial, "a2-b", "b"]], &chats, None);
        check_variant(&[[partial, "a", "b"], ["telegram-progress", "a", "b"]], &chats, None);
        for name in ["", "2.1.329", "2-a", "-a", "A", "a.b", "a/b", "a b", "ä"] {
            check_variant(
                &[[partial, name, "b"]],
                &chats,
                Some("is no name of a variant; write small"),
            );
        }
        let known = "no chat of the scenario; write telegram-partial or telegram-progress";
        for view in ["", "bus", "telegram-off"] {
            check_variant(&[[view, "a", "b"]], &chats, Some(known));
        }
        check_variant(
            &[["sse", "a", "b"]],
            &[ChannelSpec::Sse {}],
            Some("add a [[channel]] of kind"),
        );
        check_variant(&[[partial, "a", " "]], &chats, Some("write why timing may give it"));
        let twice = [[partial, "a", "b"], [partial, "a", "c"]];
        check_variant(&twice, &chats, Some("variant `a` of `telegram-partial` stands twice"));
    }
}
