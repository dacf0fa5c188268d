//! The faults on the agent's side of a plan, and at the lines of its host.
//!
//! Faults of the agent's side are the outputs of a CLI when something goes wrong with it, with its terminal or with the
//! pipe, and callbacks of a channel that fail. A plan lists them under `agent`. They change the bytes that the plan
//! plays, so that one recording gives many outputs: `7:cut:120` ends the output after 120 bytes of line 7.
//! [`AGENT_FAULTS`] says of each kind how it changes the bytes and what a person must still see; `docs/faults.md` is
//! the same table.
//!
//! A [`HostStep`] is the moment at which a line of the host is handed over, with what goes wrong with an answer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kinds of faults of the agent's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentFaultKind {
    /// The output ends too early.
    Cut,
    /// A line of a log, a banner or an empty line comes between two records.
    LogLine,
    /// A line of a log comes inside a record, which is in two pieces then.
    LogInside,
    /// Lines end with CR and LF.
    Crlf,
    /// A line begins with a byte order mark.
    Bom,
    /// A record comes twice.
    Twice,
    /// Two records come in the other order.
    Swapped,
    /// A record of a kind that no version of the CLI prints.
    UnknownKind,
    /// A field that no version of the CLI prints.
    UnknownField,
    /// A byte that is not UTF-8.
    BadUtf8,
    /// A record that is longer than a line may be.
    LongLine,
    /// A callback of the chat's channel fails.
    CallbackFails,
    /// A callback of the chat's channel never settles.
    CallbackHangs,
}

/// The part of a run that a person must see although there is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MustSee {
    /// The same as without the fault.
    Same,
    /// The same events in another order, and the same answer.
    SameEnd,
    /// The output before the fault, and then a note that the answer may be cut off.
    CutOff,
    /// The output before the fault, and the answer of every result that came whole.
    Answer,
}

impl MustSee {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Same, Self::SameEnd, Self::CutOff, Self::Answer];

    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::SameEnd => "same end",
            Self::CutOff => "cut off",
            Self::Answer => "answer",
        }
    }

    /// The rule in words, as `docs/faults.md` has it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Same => {
                "Every event of the parser, of the bus, of an editor and of an event stream is that of the run without \
                 the fault; times, diagnostics and unknown records are left out. The chat ends with the same text."
            }
            Self::SameEnd => {
                "The chat ends with the same text. The parser gives the same events, some of them in another order."
            }
            Self::CutOff => {
                "The events of the lines before are the same. A turn without a result says that it was cut off: in the \
                 chat, after every word of the turn, in the editor, on the bus and in the event stream. A turn with a \
                 result ends as without the fault."
            }
            Self::Answer => {
                "The events of the lines before are the same, and the chat ends with every word of each result that is \
                 whole. If the last turn has no result any more, it was cut off, and says so."
            }
        }
    }
}

/// A kind of fault: how it is written, what it does, and what a person must see.
#[derive(Debug, Clone, Copy)]
pub struct AgentFaultRow {
    /// The kind.
    pub kind: AgentFaultKind,
    /// Its word in a plan.
    pub word: &'static str,
    /// Set if a number of bytes follows the word.
    pub has_byte: bool,
    /// The change, in a sentence.
    pub change: &'static str,
    /// The part that a person must see.
    pub seen: MustSee,
}

const fn row(
    kind: AgentFaultKind,
    word: &'static str,
    has_byte: bool,
    change: &'static str,
    seen: MustSee,
) -> AgentFaultRow {
    AgentFaultRow { kind, word, has_byte, change, seen }
}

/// Every kind, in the order in which they are drawn.
pub const AGENT_FAULTS: [AgentFaultRow; 13] = [
    row(
        AgentFaultKind::Cut,
        "cut",
        true,
        "The output ends after BYTE bytes of line LINE.",
        MustSee::CutOff,
    ),
    row(
        AgentFaultKind::LogLine,
        "log-line",
        false,
        "A line that is no record comes before line LINE: a banner, a line of a log, `null`, or a blank line.",
        MustSee::Same,
    ),
    row(
        AgentFaultKind::LogInside,
        "log-inside",
        true,
        "A line of a log comes after BYTE bytes of line LINE, so that the record is in two pieces.",
        MustSee::Answer,
    ),
    row(
        AgentFaultKind::Crlf,
        "crlf",
        false,
        "Each line from LINE on ends with CR and LF.",
        MustSee::Same,
    ),
    row(
        AgentFaultKind::Bom,
        "bom",
        false,
        "Line LINE begins with a byte order mark.",
        MustSee::Same,
    ),
    row(AgentFaultKind::Twice, "twice", false, "Line LINE comes twice.", MustSee::Same),
    row(
        AgentFaultKind::Swapped,
        "swapped",
        false,
        "Line LINE comes after the line that follows it.",
        MustSee::SameEnd,
    ),
    row(
        AgentFaultKind::UnknownKind,
        "unknown-kind",
        false,
        "A record of an unknown type, subtype, event or delta comes before line LINE.",
        MustSee::Same,
    ),
    row(
        AgentFaultKind::UnknownField,
        "unknown-field",
        true,
        "An object of line LINE, whose first byte is the one before BYTE, gets an unknown field.",
        MustSee::Same,
    ),
    row(
        AgentFaultKind::BadUtf8,
        "bad-utf8",
        true,
        "A byte that is no UTF-8 comes after BYTE bytes of line LINE.",
        MustSee::Answer,
    ),
    row(
        AgentFaultKind::LongLine,
        "long-line",
        false,
        "A record comes before line LINE that is longer than the limit of a line, which is that of the longest line here, \
         but at least 64 KiB.",
        MustSee::Same,
    ),
    row(
        AgentFaultKind::CallbackFails,
        "callback-fails",
        false,
        "Callback LINE of the channel of the chat's first turn fails; typing and the final message are none.",
        MustSee::Same,
    ),
    row(
        AgentFaultKind::CallbackHangs,
        "callback-hangs",
        false,
        "Callback LINE of the channel of the chat's first turn never settles.",
        MustSee::Same,
    ),
];

impl AgentFaultKind {
    /// The row of the kind.
    #[allow(clippy::expect_used, reason = "a test reads the table")]
    pub fn row(self) -> &'static AgentFaultRow {
        AGENT_FAULTS.iter().find(|row| row.kind == self).expect("each kind has a row")
    }

    /// Returns whether the fault is one of a channel, which changes no byte.
    pub(crate) fn is_of_channel(self) -> bool {
        matches!(self, Self::CallbackFails | Self::CallbackHangs)
    }
}

/// A fault of the agent's side, written `7:cut:120` or `7:twice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentFault {
    /// The number of the line of stdout, or of the callback, from 1.
    pub number: u64,
    /// The kind.
    pub kind: AgentFaultKind,
    /// The number of bytes of the line before the fault; 0 for kinds that have none.
    pub byte: u64,
}

/// The reason why a word is not a fault of the agent's side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentFaultError {
    /// It is not written as a fault is.
    #[error(
        "`{0}` is no fault of the agent's side; write the number of a line and what goes wrong with it, such as \
         7:twice, or 7:cut:120 with a number of bytes"
    )]
    Form(String),
    /// The kind of the fault is unknown.
    #[error("there is no fault `{0}` of the agent's side; write {list}", list = words())]
    Kind(String),
}

/// The words of all kinds.
fn words() -> String {
    let words: Vec<&str> = AGENT_FAULTS.iter().map(|row| row.word).collect();
    words.join(", ")
}

impl fmt::Display for AgentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, kind, byte } = self;
        let row = kind.row();
        write!(f, "{number}:{}", row.word)?;
        if row.has_byte { write!(f, ":{byte}") } else { Ok(()) }
    }
}

impl FromStr for AgentFault {
    type Err = AgentFaultError;

    fn from_str(text: &str) -> Result<Self, AgentFaultError> {
        let form = || AgentFaultError::Form(text.to_owned());
        let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        let number = |word: &str| Some(word).filter(is_number)?.parse::<u64>().ok();
        let mut parts = text.split(':');
        let line = parts.next().and_then(number).filter(|line| *line > 0).ok_or_else(form)?;
        let word = parts.next().ok_or_else(form)?;
        let row = AGENT_FAULTS.iter().find(|row| row.word == word);
        let row = row.ok_or_else(|| AgentFaultError::Kind(word.to_owned()))?;
        let byte = match (row.has_byte, parts.next()) {
            (true, Some(byte)) => number(byte).ok_or_else(form)?,
            (false, None) => 0,
            _ => return Err(form()),
        };
        if parts.next().is_some() {
            return Err(form());
        }
        Ok(Self { number: line, kind: row.kind, byte })
    }
}

impl TryFrom<String> for AgentFault {
    type Error = AgentFaultError;

    fn try_from(text: String) -> Result<Self, AgentFaultError> {
        text.parse()
    }
}

impl From<AgentFault> for String {
    fn from(fault: AgentFault) -> Self {
        fault.to_string()
    }
}

/// The moment at which a line of the host is handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostStep {
    /// The number of the line in `stdin.jsonl`, from 1.
    pub line: u64,
    /// The number of bytes of stdout that have been read before.
    pub at: u64,
    /// Milliseconds from then on; the bytes that follow come later by as much.
    #[serde(default)]
    pub after_ms: u64,
    /// Set if the line, an answer, names a request that the CLI never made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrong_id: bool,
}

/// The faults of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFault {
    /// It comes before its question.
    Early,
    /// It comes this number of lines of stdout too late.
    Late(usize),
    /// It comes after the last line of stdout.
    Last,
    /// It comes twice.
    Twice,
    /// It never comes.
    Never,
    /// It names a request that the CLI never made.
    WrongId,
    /// First one that names no request comes, then the right one.
    WrongIdFirst,
}

impl AnswerFault {
    /// All faults, in the order in which they are enumerated and drawn.
    pub(super) const ALL: [Self; 8] = [
        Self::Early,
        Self::Late(1),
        Self::Late(3),
        Self::Last,
        Self::Twice,
        Self::Never,
        Self::WrongId,
        Self::WrongIdFirst,
    ];
}
