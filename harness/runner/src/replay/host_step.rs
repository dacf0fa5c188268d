//! The data of the host's side of a plan: when a line is handed over, and what can go wrong with an answer.

use serde::{Deserialize, Serialize};

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
    /// Whether the line, an answer, names a request that the CLI never made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrong_id: bool,
}

/// What goes wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFault {
    /// It comes before its question.
    Early,
    /// It comes this number of lines of stdout too late.
    Late(usize),
    /// It comes when there is nothing more to read.
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
