//! The trace: one ordered list of entries, in the schema that all parts of the harness share.
//!
//! `schemas/trace.json` defines it. It has one JSON object a line, with the keys in the order `at`, `lane`, `kind`,
//! `data`. An [`Entry`] has a headline for timelines, sentences and diffs. [`Entries`] index the entries of each lane,
//! because the rules ask for lanes again and again.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::map_bytes;
use crate::text::{Keep, plain, shortened, truncate, width};

/// One event of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "EntryLine")]
pub struct Entry {
    /// Virtual milliseconds since the replay began.
    pub at: u64,
    /// The lane of the event.
    pub lane: Lane,
    /// The kind of the event; each lane has its own kinds.
    pub kind: Cow<'static, str>,
    /// The fields of the event. Equal fields are shared between traces.
    pub data: Arc<Map<String, Value>>,
    /// The turn in the fields, because many rules ask for it.
    #[serde(skip)]
    turn: u32,
}

/// An entry in the form of a line of a trace.
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
    /// Makes the entry of an event at `at`, in virtual milliseconds since the replay began.
    pub fn new(
        at: u64,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: impl Into<Arc<Map<String, Value>>>,
    ) -> Self {
        let data = data.into();
        // The entries of a bus have the id of their run; any other one has the turn itself, from the second on.
        let said = data.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("turn", Value::Number(turn)) => turn.as_u64(),
            ("run_id", Value::String(id)) => id.strip_prefix("run-")?.parse().ok(),
            _ => None,
        });
        let turn = said.map_or(1, |turn| u32::try_from(turn).unwrap_or(u32::MAX));
        Self { at, lane, kind: kind.into(), data, turn }
    }

    /// Returns the entry at another time.
    #[must_use]
    pub fn at_time(&self, at: u64) -> Self {
        Self { at, ..self.clone() }
    }

    /// Returns the entry as one line of JSON, without LF.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("maps with string keys and plain values serialise")
    }

    /// Returns the turn to which an entry of the bus, of a chat or of an event stream belongs, from 1.
    pub fn turn(&self) -> u64 {
        self.turn.into()
    }

    /// Returns the fields, to be changed; entries that shared them keep theirs. The turn stays the same.
    pub fn data_mut(&mut self) -> &mut Map<String, Value> {
        Arc::make_mut(&mut self.data)
    }

    /// Returns a copy of the fields as a JSON value.
    pub fn value(&self) -> Value {
        Value::Object(Map::clone(&self.data))
    }

    /// Returns a field; `None` if it is missing.
    pub fn field(&self, key: &str) -> Option<&Value> {
        // A linear search over the few fields of an entry is faster than a lookup by hash.
        self.data.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns a field that is text; empty if it is missing or has another type.
    pub fn text(&self, key: &str) -> &str {
        self.field(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether two entries are equal except for their times.
    pub fn same_but_time(&self, other: &Self) -> bool {
        self.lane == other.lane && self.kind == other.kind && self.data == other.data
    }
}

/// Sorts entries by their turns, because a turn may begin while the chat still delivers the one before.
pub fn sort_by_turn(entries: &mut [&Entry]) {
    entries.sort_by_key(|entry| entry.turn());
}

/// Returns the map of a value made with `json!({…})`; empty for another value.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Converts a time to the whole milliseconds of an entry.
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
    /// All lanes, in the order in which data passes them.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Lifecycle,
        Self::Bus,
        Self::Telegram,
        Self::Acp,
        Self::Sse,
        Self::Session,
    ];

    /// Returns the word in the trace.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The entries of a trace, in order.
#[derive(Debug, Clone)]
pub struct Entries {
    all: Vec<Entry>,
    /// The indexes of the entries of each lane, computed at the first request after a change.
    by_lane: OnceLock<[Vec<usize>; Lane::ALL.len()]>,
}

impl Entries {
    /// Returns the entries of one lane, in order.
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = &Entry> {
        let by_lane = self.by_lane.get_or_init(|| {
            let mut by_lane = [const { Vec::new() }; Lane::ALL.len()];
            for (index, entry) in self.all.iter().enumerate() {
                by_lane[entry.lane as usize].push(index);
            }
            by_lane
        });
        by_lane[lane as usize].iter().map(|index| &self.all[*index])
    }
}

impl Deref for Entries {
    type Target = Vec<Entry>;

    fn deref(&self) -> &Vec<Entry> {
        &self.all
    }
}

impl DerefMut for Entries {
    fn deref_mut(&mut self) -> &mut Vec<Entry> {
        self.by_lane.take();
        &mut self.all
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl From<Vec<Entry>> for Entries {
    fn from(all: Vec<Entry>) -> Self {
        Self { all, by_lane: OnceLock::new() }
    }
}

impl From<Entries> for Vec<Entry> {
    fn from(entries: Entries) -> Self {
        entries.all
    }
}

impl IntoIterator for Entries {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl<'e> IntoIterator for &'e Entries {
    type Item = &'e Entry;
    type IntoIter = std::slice::Iter<'e, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

/// The most useful fields of each kind, in the order in which they are shown. Strings of a key with `"` are quoted; `?`
/// shows the key's name if the value is true.
const FIELDS: [(&str, &[&str]); 52] = [
    ("chunk", &["bytes"]),
    ("written", &["bytes"]),
    ("session", &["session_id", "model", "cli_version"]),
    ("text", &["delta\""]),
    ("thinking", &["delta\""]),
    ("assistant", &["delta\""]),
    ("tool_start", &["name", "id", "args", "truncated\""]),
    ("tool_input", &["name", "id", "args"]),
    ("retract", &["message_id", "length", "thinking_length", "calls"]),
    ("tool_result", &["name", "id", "is_error?", "incomplete", "result"]),
    ("tool", &["phase", "name", "id", "is_error?", "incomplete", "args", "truncated\"", "result"]),
    ("usage", &["input", "output", "cache_read", "cache_write", "final?"]),
    ("notice", &["type", "subtype"]),
    ("unknown", &["type", "subtype", "raw\""]),
    ("diagnostic", &["code", "message"]),
    ("outcome", &["status", "text\"", "error"]),
    ("start", &[]),
    ("lifecycle", &["phase", "text\"", "error"]),
    ("sendMessage", &["message_id", "final?", "answer", "text\"", "buttons"]),
    ("editMessageText", &["message_id", "final?", "answer", "text\"", "buttons"]),
    ("sendDocument", &["message_id", "answer", "text\"", "file"]),
    ("sendMediaGroup", &["answer", "text\"", "album"]),
    ("sendRichMessage", &["message_id", "answer", "text\"", "buttons"]),
    ("sendMessageDraft", &["draft_id", "answer", "text\""]),
    ("sendRichMessageDraft", &["draft_id", "answer", "text\""]),
    ("(stop)", &["draft_id", "topic", "kept?"]),
    ("sendChatAction", &["action"]),
    ("final", &["delivery", "message_ids", "reason", "first_failure"]),
    ("agent_message_chunk", &["content"]),
    ("agent_thought_chunk", &["content"]),
    ("tool_call", &["toolCallId", "kind", "title\""]),
    ("tool_call_update", &["toolCallId", "status", "title\""]),
    ("response", &["stopReason", "error"]),
    ("failed", &["method", "error"]),
    ("verdict", &["run", "reason", "orphans"]),
    ("resume", &["run", "how", "went_on?", "session", "status", "words\"", "calls"]),
    ("disagreement", &["run", "sentence\""]),
    ("output", &["type", "content\""]),
    ("tool_use", &["name", "toolCallId", "isError?", "input", "result_summary"]),
    ("error", &["kind", "error\""]),
    ("complete", &["text\""]),
    ("status", &["text\""]),
    ("collected", &["output\"", "error\"", "metadata"]),
    ("question", &["id", "name", "call", "input", "asked", "waits", "closed"]),
    ("question_withdrawn", &["id"]),
    ("answered", &["id", "decision", "message\"", "decided", "answer"]),
    ("control", &["id", "subtype", "error"]),
    ("request", &["id", "subtype"]),
    ("host_message", &["type", "id", "text\""]),
    ("heard", &["id", "text\"", "folded?"]),
    ("request_permission", &["id", "toolCall", "options"]),
    ("cancel_request", &["requestId"]),
];

impl Entry {
    /// Describes the entry in a few words, on one line, safe to be printed.
    pub fn headline(&self) -> String {
        self.words() + &self.refusal()
    }

    /// Returns the headline on lines of at most `columns`: its words are cut, and the sentence of a refusal is whole.
    pub fn headline_lines(&self, columns: usize) -> Vec<String> {
        let words = truncate(&self.words(), columns, Keep::Start).into_owned();
        [vec![words], self.refusal_lines(columns)].concat()
    }

    /// Returns the mark of a refused call on lines of at most `columns`, unless a word is longer; empty for other
    /// entries.
    pub fn refusal_lines(&self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in self.refusal().split_whitespace() {
            match lines.last_mut() {
                Some(last) if width(last) + 1 + width(word) <= columns => {
                    last.push(' ');
                    last.push_str(word);
                }
                _ => lines.push(format!("  {word}")),
            }
        }
        lines
    }

    /// Returns whether the chat's server refused the call.
    pub fn is_refused(&self) -> bool {
        self.lane == Lane::Telegram && !self.text("refused").is_empty()
    }

    /// Returns the mark of a call that the chat's server refused, with the server's whole sentence; empty for other
    /// entries.
    pub fn refusal(&self) -> String {
        match self.is_refused() {
            true => format!(" → refused: {}", plain(self.text("refused"))),
            false => String::new(),
        }
    }

    /// Describes the entry in a few words, without the sentence of a refusal.
    fn words(&self) -> String {
        let kind = self.kind.as_ref();
        let fields = FIELDS.iter().find(|(name, _)| *name == kind).map(|(_, fields)| *fields);
        let mut words = vec![plain(kind)];
        match fields {
            Some(fields) => words.extend(fields.iter().filter_map(|field| self.word(field))),
            None => {
                let mut value = self.value();
                if let Some(data) = value.as_object_mut().filter(|_| self.is_refused()) {
                    data.retain(|key, _| !matches!(key.as_str(), "refused" | "shown" | "took_ms"));
                }
                words.push(quote(&value.to_string(), false));
            }
        }
        // A notice has other fields each time.
        if kind == "notice" {
            let rest =
                self.data.iter().filter(|(key, _)| !matches!(key.as_str(), "type" | "subtype"));
            words.extend(rest.map(|(key, value)| format!("{}={}", plain(key), short(value))));
        }
        if let Some(parent) = self.field("parent").and_then(Value::as_str) {
            words.push(format!("(under {})", plain(parent)));
        }
        words.join(" ")
    }

    fn word(&self, field: &str) -> Option<String> {
        let name = field.trim_end_matches(['"', '?']);
        let value = self.field(name).filter(|value| !value.is_null())?;
        if field.ends_with('?') {
            return (value == &Value::Bool(true)).then(|| name.to_owned());
        }
        if field.ends_with('"') {
            return Some(quote(value.as_str()?, true));
        }
        if self.lane == Lane::Telegram && name == "message_id" {
            return Some(format!("#{value}"));
        }
        Some(short(value))
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text, false),
        other => quote(&other.to_string(), false),
    }
}

/// Returns the text on one line, cut in the middle; in quotes, or with blanks for its line breaks.
fn quote(text: &str, quoted: bool) -> String {
    let cut = shortened(text);
    if quoted {
        return format!("\"{}\"", plain(&cut.replace('\\', r"\\").replace('"', "\\\"")));
    }
    plain(&cut.replace(['\n', '\r', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

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

    #[test]
    fn a_lane_has_what_was_changed_since_it_was_asked_for() {
        let entry = |at, lane| Entry::new(at, lane, "text", Map::new());
        let mut entries = Entries::from(vec![entry(1, Lane::Bus), entry(2, Lane::Read)]);
        let times = |entries: &Entries, lane| -> Vec<u64> {
            entries.lane(lane).map(|entry| entry.at).collect()
        };
        for lane in Lane::ALL {
            let expect: Vec<u64> =
                entries.iter().filter(|entry| entry.lane == lane).map(|entry| entry.at).collect();
            assert_eq!(times(&entries, lane), expect, "{lane}");
        }
        entries.insert(0, entry(0, Lane::Bus));
        assert_eq!(times(&entries, Lane::Bus), [0, 1]);
        entries.retain(|entry| entry.at != 1);
        assert_eq!(times(&entries, Lane::Bus), [0]);
    }

    fn check(line: &str, expect: &str) {
        let entry: Entry = serde_json::from_str(line).unwrap();
        assert_eq!(entry.headline(), expect);
    }

    #[test]
    fn a_headline_is_one_short_line() {
        check(
            r#"{"at":0,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"a\nb","final":true}}"#,
            r#"editMessageText #1 final "a\nb""#,
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"tool_result","data":{"id":"t","name":"Bash","is_error":false,"result":"x\ny","parent":"p"}}"#,
            "tool_result Bash t x y (under p)",
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"notice","data":{"type":"system","subtype":"api_retry","attempt":1}}"#,
            "notice system api_retry attempt=1",
        );
        check(r#"{"at":0,"lane":"bus","kind":"new","data":{"a":1}}"#, r#"new {"a":1}"#);
        check(
            r#"{"at":0,"lane":"telegram","kind":"editMessageText","data":{"message_id":2,"text":"\n","refused":"Bad Request: message text is empty","shown":false}}"#,
            r#"editMessageText #2 "\n" → refused: Bad Request: message text is empty"#,
        );
        check(
            r#"{"at":0,"lane":"telegram","kind":"sendDice","data":{"refused":"Not Found","shown":false}}"#,
            "sendDice {} → refused: Not Found",
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"k\u001b","data":{"a":"\u202e\u200b","parent":"p\n::x"}}"#,
            r#"k\u{1b} {"a":"\u{202e}\u{200b}","parent":"p\n::x"} (under p\n::x)"#,
        );
        check(
            r#"{"at":0,"lane":"lifecycle","kind":"text","data":{"delta":"\\\"\u009b👩‍👩‍👧"}}"#,
            r#"text "\\\"\u{9b}👩‍👩‍👧""#,
        );
        let data = r#""text":"a","refused":"Bad Request: message text is empty""#;
        let line =
            format!(r#"{{"at":0,"lane":"telegram","kind":"sendMessage","data":{{{data}}}}}"#);
        let entry: Entry = serde_json::from_str(&line).unwrap();
        let lines =
            ["sendMessage \"a\"", "  → refused: Bad", "  Request: message", "  text is empty"];
        assert_eq!(entry.headline_lines(18), lines);
        let long = "é".repeat(200);
        let line =
            format!(r#"{{"at":0,"lane":"lifecycle","kind":"text","data":{{"delta":"{long}"}}}}"#);
        check(&line, &format!("text \"{}…{}\"", "é".repeat(48), "é".repeat(23)));
    }
}
