//! What was seen of one recording at one subject: the entries, and how the run ended.

use std::fmt;
use std::sync::Arc;

use clitape_gateway::RunReport;
use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::{AcpClient, Chat, ChatMode, RunSpec, Setup};
use clitape_recording::trace::{Entries, Entry, Lane};
use clitape_stream::Stats;
use serde_json::Value;

/// The entries of one recording at one subject, and how the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The setup of the run.
    pub setup: Setup,
    /// The entries of every lane that was seen, in order: of a gateway of others the calls of the Bot API and the acts of the
    /// person, of an agent the updates of the editor; `at` counts milliseconds, from the person's first message.
    pub entries: Entries,
    /// The facts of the recording that was played.
    pub facts: Arc<LazyFacts>,
    /// The turns that the stand-in played, in order, on the clock of the entries. If it is empty, their times are not
    /// known: the rules that need them report nothing, and all turns of the recording count as played.
    pub turns: Vec<PlayedTurn>,
    /// The end of the run.
    pub ending: ObservedEnding,
    /// The promises of the subject.
    pub traits: SubjectTraits,
    /// The events of its bus that belong to this chat, in order; `None` if the subject has no bus of its own.
    pub bus: Option<Vec<SubjectEvent>>,
    /// The reports of clitape's own gateway; `None` of a subject of others.
    pub own: Option<OwnReports>,
}

impl Observation {
    /// Makes the observation of a run that came to its end, of a subject that promises what most do.
    pub fn new(setup: Setup, entries: impl Into<Entries>, facts: Arc<LazyFacts>) -> Self {
        Self {
            setup,
            entries: entries.into(),
            facts,
            turns: Vec::new(),
            ending: ObservedEnding::Over,
            traits: SubjectTraits::default(),
            bus: None,
            own: None,
        }
    }

    /// Makes the observation of the chat of a gateway of others.
    pub fn of_chat(facts: Arc<LazyFacts>, entries: impl Into<Entries>) -> Self {
        let chat = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: RunSpec::default(), channel: chat, acp: None };
        Self::new(setup, entries, facts)
    }

    /// Makes the observation of the editor of an agent of others.
    pub fn of_editor(facts: Arc<LazyFacts>, entries: impl Into<Entries>) -> Self {
        let acp = Some(AcpClient { terminal: false });
        let setup = Setup { run: RunSpec::default(), channel: None, acp };
        Self::new(setup, entries, facts)
    }

    /// Returns the entries of one lane.
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = &Entry> {
        self.entries.lane(lane)
    }
}

/// The reports of clitape's own gateway, and of the replay that drives it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnReports {
    /// The parser's counts of the lines.
    pub stats: Stats,
    /// The replay's own counts, so that a check need not believe the parser or the gateway.
    pub counted: ReplayCounts,
    /// The gateway's reports of the runs, one for each turn.
    pub reports: Vec<RunReport>,
    /// True if the host's side is as it was recorded; a plan may change its answers.
    pub is_faithful: bool,
    /// The time that the replay's chat server takes to answer a call, in ms.
    pub latency_ms: u64,
    /// The transcripts of the session after each run; empty where none is judged.
    pub transcripts: Vec<Vec<u8>>,
}

/// The counts that a replay makes itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// Bytes of stdout that were handed to the parser.
    pub bytes: u64,
    /// Line feeds among them.
    pub line_feeds: u64,
    /// Whether bytes without a line feed came last.
    pub is_line_open: bool,
    /// Listeners that are on the buses when the runs are over and the harness no longer listens.
    pub listeners_left: u64,
    /// The numbers, from 1, of the calls of the chat that were made while another one was under way.
    pub overlapping_calls: Vec<u64>,
    /// A sentence for each recorded answer that the chat's buttons and replies made another one of.
    pub misunderstood: Vec<String>,
}

impl ReplayCounts {
    /// The lines that were handed to the parser; a last one without a line feed counts.
    pub fn lines(&self) -> u64 {
        self.line_feeds + u64::from(self.is_line_open)
    }
}

/// An event of a subject's own event bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectEvent {
    /// What it is about, such as `tool` or `text`.
    pub kind: String,
    /// Where that stands: `start` or `result` of a tool.
    pub phase: Option<String>,
    /// The id of the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// The arguments of the call.
    pub args: Option<Value>,
}

/// When the stand-in played a turn, in milliseconds on the clock of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayedTurn {
    /// The time of its first byte.
    pub began_ms: u64,
    /// The time of its last byte; none if it never came.
    pub ended_ms: Option<u64>,
}

/// The beginning of the sentence of a `claude` that refused the arguments of its start.
pub const ARGUMENTS_REFUSED: &str = "claude refuses its arguments: ";

/// How a run of a subject ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedEnding {
    /// The stand-in printed its last byte and the chat was quiet for the time that the subject names.
    Over,
    /// The stand-in was never started, or never got the line that it waits for, for this number of seconds.
    Hung {
        /// The seconds that the run was given.
        waited_s: u64,
        /// What the stand-in waited for, or that it was never started.
        waited_for: String,
        /// The last lines that the subject had printed.
        last_words: String,
    },
    /// The stand-in got a line that the CLI did not get, or arguments that it refuses; its sentence.
    Refused(String),
    /// The subject ended; how, and the last lines that it printed.
    Died {
        /// The exit code or the signal in words.
        how: String,
        /// The last lines of its output.
        last_words: String,
    },
    /// The subject served one other person only; the sentence about the subject. It is empty as long as that is not sure.
    NotServed(String),
    /// The subject made more calls, or printed more, than a run may; what and how many.
    Flooded(String),
}

/// Writes the ending in words, such as "it came to its end".
impl fmt::Display for ObservedEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over => f.write_str("it came to its end"),
            Self::Hung { waited_s, waited_for, .. } => {
                write!(f, "it hung: for {waited_s} s, {waited_for}")
            }
            Self::Refused(sentence) if sentence.starts_with(ARGUMENTS_REFUSED) => {
                f.write_str(sentence)
            }
            Self::Refused(sentence) => write!(f, "claude refused a line: {sentence}"),
            Self::Died { how, last_words } if last_words.is_empty() => {
                write!(f, "the gateway {how}")
            }
            Self::Died { how, last_words } => {
                write!(f, "the gateway {how}; its last words: {last_words}")
            }
            Self::NotServed(sentence) => write!(f, "it was not played: {sentence}"),
            Self::Flooded(what) => write!(f, "the gateway flooded: {what}"),
        }
    }
}

/// What a subject shows by its design, so that the rules ask for nothing else.
///
/// Gateways differ in all of this, and none of it is wrong by itself. The rules hold a subject to what it
/// promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a promise of its own")]
pub struct SubjectTraits {
    /// Whether a person can read in the chat which tools run.
    pub shows_tools: bool,
    /// Whether the chat shows that the agent works, or the answer while it grows.
    pub shows_progress: bool,
    /// Whether the subject passes on what the CLI asks, and does not answer it itself.
    pub asks_questions: bool,
    /// Whether its `claude` can ask: it was started with `--permission-prompt-tool`. No promise, but seen in a run.
    pub lets_claude_ask: bool,
    /// Whether a turn leaves one message in the chat, but for the pages of a long answer and for questions.
    pub one_message: bool,
    /// Whether the answers `NO_REPLY` and `HEARTBEAT_OK` are kept from the chat.
    pub keeps_silence: bool,
}

impl Default for SubjectTraits {
    /// What most gateways do: they show tools and progress, and promise nothing else.
    fn default() -> Self {
        Self {
            shows_tools: true,
            shows_progress: true,
            asks_questions: false,
            lets_claude_ask: true,
            one_message: false,
            keeps_silence: false,
        }
    }
}
