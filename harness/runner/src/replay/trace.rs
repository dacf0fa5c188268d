//! The trace: one ordered list of entries, the schema every part of the harness speaks.
//!
//! `schemas/trace.json` states it. One JSON object a line, keys in the order `at`, `lane`, `kind`,
//! `data`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Virtual milliseconds since the replay began.
    pub at: u64,
    /// Where it happened.
    pub lane: Lane,
    /// The kind of the event; each lane has its own kinds.
    pub kind: Cow<'static, str>,
    /// Its particulars.
    pub data: Map<String, Value>,
}

impl Entry {
    /// The entry as one line of JSON, without LF.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("maps with string keys and plain values serialise")
    }

    /// Whether the two entries are the same but for their times.
    pub fn same_but_time(&self, other: &Self) -> bool {
        self.lane == other.lane && self.kind == other.kind && self.data == other.data
    }
}

/// The map of a value made with `json!({…})`.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The lanes of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// Bytes that arrived.
    Read,
    /// The parser's events.
    Lifecycle,
    /// The agent events the bridge publishes.
    Bus,
    /// Calls of the Telegram Bot API.
    Telegram,
    /// Updates of the Agent Client Protocol.
    Acp,
    /// Server-sent events.
    Sse,
    /// The session on disk, after the run.
    Session,
}

impl Lane {
    /// All lanes, in the order data takes.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Lifecycle,
        Self::Bus,
        Self::Telegram,
        Self::Acp,
        Self::Sse,
        Self::Session,
    ];

    /// The word in the trace.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Lifecycle => "lifecycle",
            Self::Bus => "bus",
            Self::Telegram => "telegram",
            Self::Acp => "acp",
            Self::Sse => "sse",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Lane {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|lane| lane.as_str() == word).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|lane| lane.as_str()).collect();
            format!("there is no lane `{word}`; the lanes are {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_schema_s_order() {
        let mut data = Map::new();
        data.insert("delta".into(), "hi".into());
        let entry = Entry { at: 7, lane: Lane::Lifecycle, kind: "text".into(), data };
        let line = r#"{"at":7,"lane":"lifecycle","kind":"text","data":{"delta":"hi"}}"#;
        assert_eq!(entry.to_line(), line);
        assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), entry);
    }

    #[test]
    fn a_wrong_lane_is_told_the_right_ones() {
        let error = "telegramm".parse::<Lane>().unwrap_err();
        assert_eq!(
            error,
            "there is no lane `telegramm`; the lanes are read, lifecycle, bus, telegram, acp, sse, session"
        );
    }
}
