//! The entries that were seen of one recording at one subject, and the end of the run.

use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use clitape_gateway::RunReport;
use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::{AcpClient, Chat, ChatMode, RunSpec, Setup};
use clitape_recording::trace::{Entries, Entry, Lane};
use clitape_stream::Stats;
use serde_json::Value;

use crate::neighbours::Neighbours;

/// The entries of one recording at one subject, and the end of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The setup of the run.
    pub setup: Setup,
    /// The entries of every lane, in order: for another gateway the calls of the Bot API and the acts of the person,
    /// for an agent the updates of the editor. `at` counts milliseconds from the person's first message.
    pub entries: Entries,
    /// The facts of the recording that was played.
    pub facts: Arc<LazyFacts>,
    /// The turns that the stand-in played, in order, on the clock of the entries. If it is empty, their times are
    /// unknown: the rules that need them are skipped, and all turns of the recording count as played.
    pub turns: Vec<PlayedTurn>,
    /// The sessions of these turns, in the same order; empty if they are unknown.
    pub sessions: Vec<TurnSession>,
    /// The time at which the process of the last turn ended, in milliseconds on the clock of the entries; `None` if it
    /// still ran, or if that is unknown.
    pub exited_ms: Option<u64>,
    /// The end of the run.
    pub ending: ObservedEnding,
    /// The promises of the subject.
    pub traits: SubjectTraits,
    /// The events of its bus that belong to this chat, in order; `None` if the subject has no bus.
    pub bus: Option<Vec<SubjectEvent>>,
    /// The reports of clitape's own gateway; `None` for another subject.
    pub own: Option<OwnReports>,
    /// The other recordings that the subject was given in the same run; `None` if it had no other conversation.
    pub neighbours: Option<Neighbours>,
    /// The interlude in the midst of the recording; `None` if it ran through.
    pub interlude: Option<Interlude>,
}

impl Observation {
    /// Makes the observation of a complete run, of a subject with the default traits.
    pub fn new(setup: Setup, entries: impl Into<Entries>, facts: Arc<LazyFacts>) -> Self {
        Self {
            setup,
            entries: entries.into(),
            facts,
            turns: Vec::new(),
            sessions: Vec::new(),
            exited_ms: None,
            ending: ObservedEnding::Over,
            traits: SubjectTraits::default(),
            bus: None,
            own: None,
            neighbours: None,
            interlude: None,
        }
    }

    /// Makes the observation of another gateway's chat.
    pub fn of_chat(facts: Arc<LazyFacts>, entries: impl Into<Entries>) -> Self {
        let chat = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: RunSpec::default(), channel: chat, acp: None };
        Self::new(setup, entries, facts)
    }

    /// Makes the observation of another agent's editor.
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

/// The reports of clitape's own gateway, and of the replay around it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnReports {
    /// The parser's counts of the lines.
    pub stats: Stats,
    /// The replay's own counts, which a check can compare with those of the parser and the gateway.
    pub counted: ReplayCounts,
    /// The gateway's reports of the runs, one for each turn.
    pub reports: Vec<RunReport>,
    /// True if the host's side is as it was recorded; a plan may change its answers.
    pub is_faithful: bool,
    /// The time that the replay's chat server takes to answer a call, in ms.
    pub latency_ms: u64,
    /// The transcripts of the session after each run; empty if none is judged.
    pub transcripts: Vec<Vec<u8>>,
}

/// The counts that a replay makes itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// The number of bytes of stdout that the parser got.
    pub bytes: u64,
    /// The number of line feeds among them.
    pub line_feeds: u64,
    /// True if the last bytes had no line feed after them.
    pub is_line_open: bool,
    /// The number of listeners on the buses after the runs, without those of the harness.
    pub listeners_left: u64,
    /// The numbers, from 1, of the calls of the chat that began while another one was in progress.
    pub overlapping_calls: Vec<u64>,
    /// A sentence for each recorded answer that the chat's buttons and replies turned into another one.
    pub misunderstood: Vec<String>,
}

impl ReplayCounts {
    /// Returns the number of lines that the parser got; a last one without a line feed counts.
    pub fn lines(&self) -> u64 {
        self.line_feeds + u64::from(self.is_line_open)
    }
}

/// An event on a subject's own event bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectEvent {
    /// The kind of the event, such as `tool` or `text`.
    pub kind: String,
    /// The phase of a tool: `start` or `result`.
    pub phase: Option<String>,
    /// The id of the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// The arguments of the call.
    pub args: Option<Value>,
}

/// An event in the midst of a recording that was not recorded. Then the person plays another recording in the same chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterludeKind {
    /// The subject is killed and started again.
    Restart(RestartMoment),
    /// The person does more than the recorded one.
    Person(FurtherAct),
}

/// The moment at which a subject is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum RestartMoment {
    /// Once the answer is in the chat; the person writes the next message while the gateway is down
    AfterAnswer,
    /// In the middle of what claude prints
    MidTurn,
    /// Once a question has its buttons; the person presses one when the gateway runs again
    MidQuestion,
    /// Once the answer is in the chat; claude has lost its sessions when the gateway runs again
    SessionGone,
}

/// An act of the person that the recorded one did not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum FurtherAct {
    /// The prompt has 9,000 characters, which a client of Telegram sends as three messages, one right after the other
    LongPrompt,
    /// The prompt of another recording, in the middle of a turn
    MessageInTurn,
    /// The prompt of another recording, while a question is open; three seconds later its button is pressed, if it is there
    MessageAtQuestion,
    /// The `stop` of the gateway, right behind the prompt
    StopAtOnce,
    /// Two photos with the prompt as their caption, which come as two messages
    Album,
    /// The next prompt as a reply to the last answer
    Reply,
    /// An edit of the prompt, in the middle of its turn
    Edit,
    /// A text that answers a question, in place of a press; five seconds later a button is pressed, if it is needed
    AnswerByText,
    /// A press of the button that allows the like from now on, and then the same prompt again
    AllowAlways,
}

impl InterludeKind {
    /// Returns whether a restart breaks a turn off.
    pub fn breaks_off(self) -> bool {
        matches!(self, Self::Restart(RestartMoment::MidTurn | RestartMoment::MidQuestion))
    }

    /// Returns the words about the time after it.
    pub fn after(self) -> &'static str {
        match self {
            Self::Restart(_) => "after the restart",
            Self::Person(act) => act.after(),
        }
    }

    /// Returns whether it begins in the middle of a turn, which is left as it is.
    pub fn is_in_turn(self) -> bool {
        self.breaks_off()
            || self.is_further_message()
            || self == Self::Person(FurtherAct::StopAtOnce)
    }

    /// Returns whether the person writes the next message while a turn is open.
    pub fn is_further_message(self) -> bool {
        let acts = [FurtherAct::MessageInTurn, FurtherAct::MessageAtQuestion];
        acts.map(Self::Person).contains(&self)
    }

    /// Returns the option of `clitape` that asks for it.
    pub fn option(self) -> String {
        match self {
            Self::Restart(moment) => format!("--restart {moment}"),
            Self::Person(act) => format!("--person {act}"),
        }
    }
}

impl fmt::Display for InterludeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restart(moment) => moment.fmt(f),
            Self::Person(act) => act.fmt(f),
        }
    }
}

impl FurtherAct {
    /// Returns the words about the time after it.
    fn after(self) -> &'static str {
        match self {
            Self::LongPrompt => "after the long prompt",
            Self::MessageInTurn => "after the message during the turn",
            Self::MessageAtQuestion => "after the message at the question",
            Self::StopAtOnce => "after the stop",
            Self::Album => "after the album",
            Self::Reply => "after the answer",
            Self::Edit => "after the edit",
            Self::AnswerByText => "after the answer by text",
            Self::AllowAlways => "after the yes from now on",
        }
    }
}

/// An interlude in the midst of a recording. Times are milliseconds on the clock of the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interlude {
    /// The kind of the interlude.
    pub kind: InterludeKind,
    /// The time at which the subject was killed, or the person acted.
    pub began_ms: u64,
    /// The time at which the subject ran again, or at which the person pressed a button because a text did not answer the
    /// question; otherwise that of the beginning.
    pub over_ms: u64,
    /// The number of times that it started `claude` for the recording's message once more.
    pub starts_again: u64,
    /// The button that the person pressed when it ran again, or some time after a text.
    pub pressed: Option<String>,
    /// The words for what the person wrote and `claude` never got, if the chat does not mention it.
    pub unheard: Option<String>,
    /// The words about a `claude` that went on although the person had asked to stop.
    pub went_on: Option<String>,
    /// The sentence about the person's next message, if `claude` was not started for it.
    pub left: Option<String>,
    /// The button that the person pressed to allow the like from now on, if the same call was asked about again although
    /// `claude` had got no rule.
    pub forgotten: Option<String>,
    /// The session that the next message resumed.
    pub resumed: Option<String>,
    /// The sessions of the chat before, the newest last.
    pub sessions: Vec<String>,
}

/// The time at which the stand-in played a turn, in milliseconds on the clock of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayedTurn {
    /// The time of its first byte.
    pub began_ms: u64,
    /// The time of its last byte; `None` if that never came.
    pub ended_ms: Option<u64>,
}

/// The session of a turn that the stand-in played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSession {
    /// The id of the session.
    pub id: String,
    /// The conversation with which the turn goes on.
    pub from: SessionOrigin,
}

/// The conversation with which a turn goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionOrigin {
    /// That of the turn before it in the same process.
    Process,
    /// That of a session, which the process resumed.
    Resumed {
        /// The id of the session.
        id: String,
        /// The recording whose chat began the session, if that is another chat.
        of_other: Option<String>,
    },
    /// The last one of the folder, by `--continue`.
    Folder,
    /// The messages before it, which the gateway put into the prompt.
    Prompt,
    /// None: the process began a session.
    New,
}

/// The beginning of the sentence about a `claude` that refused its arguments.
pub const ARGUMENTS_REFUSED: &str = "claude refuses its arguments: ";

/// The words of the sentence about a `claude` that waited in vain, before and behind the line for which it waited; then
/// comes the time.
pub const WAITED_IN_VAIN: [&str; 2] = ["expected ", ", got no line in "];

/// The beginning of the words for a line that answers a question; then comes which.
pub const ANSWER_TO_QUESTION: &str = "the answer to question ";

/// The beginning of the marker in a prompt of the person that names what is played. What the person asks of the gateway
/// itself, such as to stop, has none.
pub const MARK: &str = "[[clitape:";

/// The words around an answer with which the stand-in says that it got a no in the place of a yes.
pub const DENIED_INSTEAD: [&str; 2] = ["expected `allow` as ", ", got `deny`"];

/// The words for a line that interrupts a turn.
pub const INTERRUPT: &str = "an interrupt";

/// The beginning of what the stand-in for `claude` prints about a failure of its own.
pub const STAND_IN: &str = "clitape stand-in: ";

/// The end of a subject's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedEnding {
    /// The stand-in printed its last byte, and the chat was quiet for the subject's quiet time.
    Over,
    /// The stand-in was never started, or waited in vain for a line of the host.
    Hung {
        /// The time that the run was given, in seconds.
        waited_s: u64,
        /// The line that the stand-in waited for, or the fact that it was never started.
        waited_for: String,
        /// The last lines that the subject printed.
        last_words: String,
    },
    /// The stand-in got arguments, or a line, that the CLI refuses; the sentence about it.
    Refused(String),
    /// The subject ended during the run.
    Died {
        /// The exit code or the signal, in words.
        how: String,
        /// The last lines of its output.
        last_words: String,
    },
    /// The subject served only one other person; the sentence about it, which is empty until that is certain.
    NotServed(String),
    /// The subject made more calls, or printed more, than a run may; the sentence about it.
    Flooded(String),
}

impl ObservedEnding {
    /// Returns the line for which `claude` waited in vain, and for how long; `None` for another ending.
    pub(crate) fn waited_for(&self) -> Option<(&str, &str)> {
        let Self::Refused(sentence) = self else { return None };
        let [before, behind] = WAITED_IN_VAIN;
        sentence.strip_prefix(before)?.split_once(behind)
    }

    /// Returns whether the subject said no where the recorded person said yes.
    pub fn denies_instead(&self) -> bool {
        let Self::Refused(sentence) = self else { return false };
        let [before, behind] = DENIED_INSTEAD;
        sentence.starts_with(before) && sentence.ends_with(behind)
    }

    /// Returns the time for which `claude` waited in vain for an interrupt; `None` for another ending.
    pub fn ignored_stop(&self) -> Option<&str> {
        self.waited_for().and_then(|(line, time)| (line == INTERRUPT).then_some(time))
    }
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

/// The properties of a subject's design, which decide the rules that apply to it.
///
/// Gateways differ in all of these, and each choice is valid. A rule demands only what the subject promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a promise of its own")]
pub struct SubjectTraits {
    /// True if the chat shows the tools that run.
    pub shows_tools: bool,
    /// True if the chat shows that the agent works, or the answer while it grows.
    pub shows_progress: bool,
    /// True if the subject passes the questions of the CLI on to the person.
    pub asks_questions: bool,
    /// True if its `claude` can ask, because it was started with `--permission-prompt-tool`. It is observed in a run
    /// rather than promised.
    pub lets_claude_ask: bool,
    /// True if a turn leaves one message in the chat, besides the pages of a long answer and the questions.
    pub one_message: bool,
    /// True if the answers `NO_REPLY` and `HEARTBEAT_OK` stay out of the chat.
    pub keeps_silence: bool,
    /// True if the message with the answer may have the model's reasoning too.
    pub shows_reasoning: bool,
    /// True if the message with the answer may have what subagents said.
    pub shows_subagents: bool,
    /// True if a message goes on with the conversation of the messages before it.
    pub resumes_sessions: bool,
}

impl Default for SubjectTraits {
    /// Returns the traits of most gateways: tools and progress are shown, a chat is one conversation, and the rest is not
    /// promised.
    fn default() -> Self {
        Self {
            shows_tools: true,
            shows_progress: true,
            asks_questions: false,
            lets_claude_ask: true,
            one_message: false,
            keeps_silence: false,
            shows_reasoning: false,
            shows_subagents: false,
            resumes_sessions: true,
        }
    }
}
