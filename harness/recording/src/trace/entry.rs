//! One entry of a trace, and its lane.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json_size::map_bytes;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "EntryLine")]
pub struct Entry {
    /// Virtual milliseconds since the replay began.
    pub at: u64,
    /// Where it happened.
    pub lane: Lane,
    /// The kind of the event; each lane has its own kinds.
    pub kind: Cow<'static, str>,
    /// Its particulars. Traces share those of entries that say the same.
    pub data: Arc<Map<String, Value>>,
    /// The turn that the particulars name, because many rules ask for it.
    #[serde(skip)]
    turn: u32,
}

/// An entry as a line of a trace says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryLine {
    at: u64,
    lane: Lane,
    kind: String,
    data: Map<String, Value>,
}

impl From<EntryLine> for Entry {
    fn from(line: EntryLine) -> Self {
        Self::new(line.at, line.lane, line.kind, line.data)
    }
}

/// Returns the bytes of memory that an entry of a trace takes.
pub fn entry_bytes(entry: &Entry) -> usize {
    size_of::<Entry>() + entry.kind.len() + size_of::<Map<String, Value>>() + map_bytes(&entry.data)
}

impl Entry {
    /// Something that happened at `at`, in virtual milliseconds since the replay began.
    pub fn new(
        at: u64,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: impl Into<Arc<Map<String, Value>>>,
    ) -> Self {
        let data = data.into();
        // An entry of a bus has the id of its run, and any other one the turn itself, from the second on.
        let said = data.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("turn", Value::Number(turn)) => turn.as_u64(),
            ("run_id", Value::String(id)) => id.strip_prefix("run-")?.parse().ok(),
            _ => None,
        });
        let turn = said.map_or(1, |turn| u32::try_from(turn).unwrap_or(u32::MAX));
        Self { at, lane, kind: kind.into(), data, turn }
    }

    /// The same at another time.
    #[must_use]
    pub fn at_time(&self, at: u64) -> Self {
        Self { at, ..self.clone() }
    }

    /// The entry as one line of JSON, without LF.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("maps with string keys and plain values serialise")
    }

    /// The turn to which an entry of the bus, of a chat or of an event stream belongs, from 1.
    pub fn turn(&self) -> u64 {
        self.turn.into()
    }

    /// The particulars, to be changed; entries that shared them with this one keep theirs. The turn stays the same.
    pub fn data_mut(&mut self) -> &mut Map<String, Value> {
        Arc::make_mut(&mut self.data)
    }

    /// The particulars as a value of their own.
    pub fn value(&self) -> Value {
        Value::Object(Map::clone(&self.data))
    }

    /// A field of the particulars.
    pub fn field(&self, key: &str) -> Option<&Value> {
        // The few fields of an entry are found sooner one by one than by their hashes.
        self.data.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// A field that is text; empty when it is not there.
    pub fn text(&self, key: &str) -> &str {
        self.field(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the two entries are the same but for their times.
    pub fn same_but_time(&self, other: &Self) -> bool {
        self.lane == other.lane && self.kind == other.kind && self.data == other.data
    }
}

/// Puts entries in the order of their turns: one may begin while the chat still delivers the one before.
pub fn sort_by_turn(entries: &mut [&Entry]) {
    entries.sort_by_key(|entry| entry.turn());
}

/// The map of a value made with `json!({…})`.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A time as the whole milliseconds of an entry.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The lanes of a trace.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ValueEnum,
    strum::IntoStaticStr,
    strum::Display,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Lane {
    /// Bytes that arrived
    Read,
    /// The parser's events
    Lifecycle,
    /// The agent events that the bridge publishes
    Bus,
    /// Calls of the Telegram Bot API
    Telegram,
    /// Updates of the Agent Client Protocol
    Acp,
    /// Server-sent events
    Sse,
    /// The session on disk, after the run
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
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_schema_s_order() {
        let mut data = Map::new();
        data.insert("delta".into(), "hi".into());
        let entry = Entry::new(7, Lane::Lifecycle, "text", data);
        let line = r#"{"at":7,"lane":"lifecycle","kind":"text","data":{"delta":"hi"}}"#;
        assert_eq!(entry.to_line(), line);
        assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), entry);
    }
}
