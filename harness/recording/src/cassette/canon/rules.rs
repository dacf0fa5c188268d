//! The rules by field, for the parts of a record that differ between two runs of one script.
//!
//! A field of a table below is blanked, or its value is an id, which is then replaced wherever it occurs, also in other
//! fields and in running text. Ids that the CLI generates are recognised by their shapes. Each gets a placeholder of
//! that shape, so that every reader still accepts it as an id. Placeholders are numbered in the order of first
//! appearance. The type of the record that shows a uuid first has numbers of its own, so that one more `system` record
//! does not change the numbers of the others.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use clitape_stream::tree::{JsonBody, JsonNode};

use super::texts::{ByteEdit, Edge, Needle, SHORTEST};
use crate::wire::HOOK_CALLBACK;

/// The way in which a key is recognised.
enum KeyPattern {
    Is(&'static str),
    Starts(&'static str),
    Ends(&'static str),
}

impl KeyPattern {
    fn fits(&self, key: &str) -> bool {
        match self {
            Self::Is(whole) => key == *whole,
            Self::Starts(start) => key.starts_with(start),
            Self::Ends(end) => key.ends_with(end),
        }
    }
}

/// The fields with an id, if the value has the shape of its kind; the first match counts.
const IDS: [(KeyPattern, IdKind); 15] = [
    (KeyPattern::Is("session_id"), IdKind::Session),
    (KeyPattern::Is("sessionId"), IdKind::Session),
    (KeyPattern::Ends("uuid"), IdKind::Uuid),
    (KeyPattern::Ends("Uuid"), IdKind::Uuid),
    (KeyPattern::Ends("UUID"), IdKind::Uuid),
    (KeyPattern::Is("agent_id"), IdKind::Agent),
    (KeyPattern::Is("agentId"), IdKind::Agent),
    (KeyPattern::Is("task_id"), IdKind::Task),
    (KeyPattern::Is("backgroundTaskId"), IdKind::Task),
    (KeyPattern::Is("run_id"), IdKind::Run),
    (KeyPattern::Is("runId"), IdKind::Run),
    (KeyPattern::Ends("Hash"), IdKind::Hash),
    (KeyPattern::Ends("id"), IdKind::Uuid),
    (KeyPattern::Ends("Id"), IdKind::Uuid),
    (KeyPattern::Ends("Ref"), IdKind::Uuid),
];

/// The numbers that become `0`, each with the rule that counts them.
const NUMBERS: [(KeyPattern, &str); 11] = [
    (KeyPattern::Is("pid"), "pid"),
    (KeyPattern::Ends("_ms"), "duration"),
    (KeyPattern::Ends("Ms"), "duration"),
    (KeyPattern::Starts("duration"), "duration"),
    (KeyPattern::Starts("ttft"), "duration"),
    (KeyPattern::Is("start_time"), "time"),
    (KeyPattern::Is("startTime"), "time"),
    (KeyPattern::Is("end_time"), "time"),
    (KeyPattern::Is("endTime"), "time"),
    (KeyPattern::Ends("cost_usd"), "cost"),
    (KeyPattern::Ends("costUSD"), "cost"),
];

/// The strings that become [`TIME`] if they are a point in time.
const TIMES: [KeyPattern; 3] =
    [KeyPattern::Is("timestamp"), KeyPattern::Ends("_at"), KeyPattern::Ends("At")];

/// The time that replaces every other.
const TIME: &str = "2026-01-01T00:00:00.000Z";

/// The fields with text of the model or the user, in which no field is the CLI's.
const PAYLOADS: [&str; 4] = ["input", "tool_input", "arguments", "structured_output"];

/// The text before an id in running text, outside of id fields, and the kind of the id.
const SPOKEN: [(&[u8], IdKind); 4] = [
    (b"running in background with ID: ", IdKind::Task),
    (b"/tool-results/", IdKind::Task),
    (b"-blob-", IdKind::Blob),
    (b"/.claude/plans/", IdKind::Plan),
];

/// The version below which a CLI changes objects while they wait to be printed.
const SETTLED: [u32; 3] = [2, 1, 100];

/// The values that such a CLI prints in one of two forms: record, path, constant.
const RACING: [(&[u8], &[&str], &str); 6] = [
    (b"assistant", &["message", "stop_reason"], "null"),
    (b"assistant", &["message", "stop_sequence"], "null"),
    (b"assistant", &["message", "usage"], r#"{"input_tokens":0,"output_tokens":0}"#),
    (b"message_start", &["event", "message", "content"], "[]"),
    (b"message_start", &["event", "message", "stop_reason"], "null"),
    (b"message_start", &["event", "message", "stop_sequence"], "null"),
];

/// Collects the edits and ids of one record.
pub(super) fn record(
    raw: &[u8],
    node: &JsonNode,
    races: bool,
    ids: &mut Ids,
    edits: &mut Vec<ByteEdit>,
) {
    if races {
        racing(raw, node, edits);
    }
    let kind = node.get("type").map_or(&b""[..], |kind| kind.text(raw));
    fields(raw, node, kind, ids, edits);
    // The fields of a hook's input are the CLI's, unlike those of a tool's input.
    let subtype = node.at(&["request", "subtype"]).map(|subtype| subtype.text(raw));
    if subtype == Some(HOOK_CALLBACK.as_bytes())
        && let Some(input) = node.at(&["request", "input"])
    {
        fields(raw, input, kind, ids, edits);
    }
}

/// Collects the ids in running text.
pub(super) fn spoken(text: &[u8], ids: &mut Ids) {
    for (before, kind) in SPOKEN {
        for at in ends_of(text, before) {
            let length = text[at..].iter().take_while(|b| kind.goes_on(**b));
            ids.add(kind, b"", &text[at..at + length.count()]);
        }
    }
}

/// Returns whether this version of the CLI prints fields that race.
pub(super) fn races(version: &str) -> bool {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let found = [(); 3].map(|()| parts.next().and_then(|part| part.parse::<u32>().ok()));
    found[0].is_some() && found.map(Option::unwrap_or_default) < SETTLED
}

fn fields(raw: &[u8], node: &JsonNode, record: &[u8], ids: &mut Ids, edits: &mut Vec<ByteEdit>) {
    match &node.body {
        JsonBody::Object(members) => {
            for (key, value) in members {
                match value.body {
                    JsonBody::String => string(raw, key, value, record, ids, edits),
                    JsonBody::Other => number(raw, key, value, edits),
                    _ if PAYLOADS.contains(&key.as_str()) => {}
                    _ => fields(raw, value, record, ids, edits),
                }
            }
        }
        JsonBody::Array(items) => {
            for item in items {
                fields(raw, item, record, ids, edits);
            }
        }
        JsonBody::String | JsonBody::Other => {}
    }
}

fn string(
    raw: &[u8],
    key: &str,
    value: &JsonNode,
    record: &[u8],
    ids: &mut Ids,
    edits: &mut Vec<ByteEdit>,
) {
    let text = value.text(raw);
    if let Some((_, kind)) = IDS.iter().find(|(rule, kind)| rule.fits(key) && kind.shapes(text)) {
        ids.add(*kind, record, text);
    } else if TIMES.iter().any(|rule| rule.fits(key)) && is_time(text) {
        blank(raw, value.span.clone(), &format!("\"{TIME}\""), "time", edits);
    }
}

fn number(raw: &[u8], key: &str, value: &JsonNode, edits: &mut Vec<ByteEdit>) {
    let is_number = raw[value.span.start].is_ascii_digit() || raw[value.span.start] == b'-';
    if let Some((_, rule)) = NUMBERS.iter().find(|(rule, _)| is_number && rule.fits(key)) {
        blank(raw, value.span.clone(), "0", rule, edits);
    }
}

fn racing(raw: &[u8], node: &JsonNode, edits: &mut Vec<ByteEdit>) {
    let text = |path: &[&str]| node.at(path).map_or(&b""[..], |node| node.text(raw));
    if text(&["message", "model"]) == b"<synthetic>" {
        return;
    }
    let kinds = [text(&["type"]), text(&["event", "type"])];
    for (kind, path, with) in RACING {
        if let Some(value) = node.at(path).filter(|_| kinds.contains(&kind)) {
            blank(raw, value.span.clone(), with, "racing", edits);
        }
    }
}

fn blank(
    raw: &[u8],
    span: Range<usize>,
    with: &str,
    rule: &'static str,
    edits: &mut Vec<ByteEdit>,
) {
    if raw[span.clone()] != *with.as_bytes() {
        edits.push(ByteEdit { span, with: with.into(), rule: Some(rule) });
    }
}

/// Returns whether a text is a time such as `2026-11-20T23:26:44.865Z`, with any number of decimals.
fn is_time(text: &[u8]) -> bool {
    let Some((head, tail)) = text.split_at_checked(19) else {
        return false;
    };
    let shape = b"0000-00-00T00:00:00";
    let digit_or_same = |(a, b): (&u8, &u8)| if *b == b'0' { a.is_ascii_digit() } else { a == b };
    head.iter().zip(shape).all(digit_or_same)
        && tail.last() == Some(&b'Z')
        && tail.iter().all(|b| b.is_ascii_digit() || b".Z".contains(b))
}

/// Returns the end of each occurrence of `needle` in `text`.
pub(super) fn ends_of<'t>(text: &'t [u8], needle: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    text.windows(needle.len())
        .enumerate()
        .filter_map(move |(at, window)| (window == needle).then_some(at + needle.len()))
}

/// The objects whose members come in any order.
const UNORDERED: [&str; 2] = ["modelUsage", "model_usage_since_last_result"];

/// Sorts the members of such objects by their keys and keeps their bytes, so that the length of the line stays. Returns
/// the number of objects that changed.
pub(super) fn sort_members(raw: &mut Cow<'_, [u8]>, node: &JsonNode) -> u64 {
    let mut sorted = 0;
    for object in UNORDERED.iter().filter_map(|key| node.get(key)) {
        let members = object.members();
        let ends: Vec<usize> = members.iter().map(|(_, value)| value.span.end).collect();
        let mut start = object.span.start + 1;
        let mut parts = BTreeMap::new();
        for ((key, _), end) in members.iter().zip(ends) {
            parts.insert(key.as_str(), raw[start..end].to_vec());
            let comma = raw[end..].iter().position(|&b| b == b',').unwrap_or(0);
            start = end + comma + 1;
        }
        let inside = object.span.start + 1
            ..members.last().map_or(object.span.start + 1, |(_, v)| v.span.end);
        let joined: Vec<u8> = parts.into_values().collect::<Vec<_>>().join(&b',');
        if joined.len() == inside.len() && raw[inside.clone()] != joined {
            raw.to_mut()[inside].copy_from_slice(&joined);
            sorted += 1;
        }
    }
    sorted
}

/// The kind of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    /// The id of a session: a uuid.
    Session,
    /// The id of a record, a hook, a request or a prompt: a uuid.
    Uuid,
    /// The id of a subagent: `a` and 16 hexadecimal digits; in old versions 7 hexadecimal digits.
    Agent,
    /// The id of a background task: as [`IdKind::Agent`], or a letter for the kind of the task and 8 characters of base
    /// 36; in old versions 6 hexadecimal digits.
    Task,
    /// The id of a run of a task: characters of base 36, `-`, and 8 hexadecimal digits.
    Run,
    /// A hash of a text that contains other ids: 16 hexadecimal digits.
    Hash,
    /// The name of a file with the result of a tool: the milliseconds since 1970, `-`, and up to 6 characters
    /// of base 36.
    Blob,
    /// The name of a file with a plan, without its ending: three or more words with `-` between them, the last of
    /// which are random.
    Plan,
}

/// The fourth group of a uuid's placeholder, by the type of the record that shows the uuid first.
const GROUPS: [(&[u8], &str); 5] = [
    (b"stream_event", "8e7e"),
    (b"assistant", "8a55"),
    (b"user", "805e"),
    (b"system", "8575"),
    (b"result", "8e50"),
];

impl IdKind {
    /// Returns whether `text` has the shape of this kind of id.
    fn shapes(self, text: &[u8]) -> bool {
        let hex = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
        let base36 = |text: &[u8]| {
            let one = |b: &u8| b.is_ascii_digit() || b.is_ascii_lowercase();
            text.iter().all(one)
        };
        match (self, text) {
            (Self::Session | Self::Uuid, _) => is_uuid(text),
            (Self::Agent | Self::Task, [b'a', rest @ ..]) if rest.len() == 16 => hex(rest),
            (Self::Agent, _) => text.len() == 7 && hex(text),
            (Self::Task, [first, rest @ ..]) if rest.len() == 8 => {
                first.is_ascii_lowercase() && base36(rest)
            }
            (Self::Task, _) => matches!(text.len(), 6 | 7) && hex(text),
            (Self::Hash, _) => text.len() == 16 && hex(text),
            (Self::Blob, _) => text.split_at_checked(14).is_some_and(|(time, rest)| {
                let digits = time[..13].iter().all(u8::is_ascii_digit);
                digits && time[13] == b'-' && (1..=6).contains(&rest.len()) && base36(rest)
            }),
            (Self::Plan, _) => {
                let words = text.split(|&b| b == b'-');
                words.clone().count() >= 3 && words.into_iter().all(|w| !w.is_empty() && base36(w))
            }
            (Self::Run, _) => {
                let dash = text.iter().position(|&b| b == b'-').unwrap_or(0);
                (6..=12).contains(&dash)
                    && base36(&text[..dash])
                    && text.len() == dash + 9
                    && hex(&text[dash + 1..])
            }
        }
    }

    /// Returns whether `byte` can be part of an id of this kind in running text.
    fn goes_on(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || matches!(self, Self::Blob | Self::Plan) && byte == b'-'
    }

    /// Returns the id of the rule that counts this kind.
    fn rule(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Uuid => "uuid",
            Self::Agent | Self::Task => "task",
            Self::Run => "run",
            Self::Hash => "hash",
            Self::Blob => "blob",
            Self::Plan => "plan",
        }
    }

    /// Returns the name of the series in which an id that a record of type `record` shows first is numbered.
    fn series(self, record: &[u8]) -> &'static str {
        let group = GROUPS.iter().find(|(name, _)| *name == record);
        match self {
            Self::Session => "85e5",
            Self::Uuid => group.map_or("8000", |(_, group)| *group),
            _ => self.rule(),
        }
    }

    fn placeholder(self, series: &str, text: &[u8], number: u64) -> String {
        let width = text.len();
        match self {
            Self::Session | Self::Uuid => format!("00000000-0000-4000-{series}-{number:012}"),
            Self::Run => {
                let zeros = "0".repeat(width.saturating_sub(9));
                format!("{zeros}-{number:08}")
            }
            Self::Blob => format!("0000000000000-{number:06}"),
            Self::Plan => format!("clitape-plan-{number:06}"),
            Self::Agent | Self::Task | Self::Hash => {
                let kind = text.first().filter(|_| width == 9).unwrap_or(&b'a');
                let rest = width.saturating_sub(1);
                format!("{}{number:0rest$}", char::from(*kind))
            }
        }
    }
}

/// The ids found so far, each with its placeholder.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    known: HashMap<Vec<u8>, Needle>,
    counters: BTreeMap<&'static str, u64>,
}

impl Ids {
    /// Adds an id that a record of type `record` shows, unless it is known, too short or of another shape than its
    /// kind.
    pub(super) fn add(&mut self, kind: IdKind, record: &[u8], text: &[u8]) {
        if text.len() < SHORTEST || !kind.shapes(text) || self.known.contains_key(text) {
            return;
        }
        let series = kind.series(record);
        let counter = self.counters.entry(series).or_default();
        *counter += 1;
        let needle = Needle {
            text: text.to_vec(),
            with: kind.placeholder(series, text, *counter),
            rule: kind.rule(),
            edge: match kind {
                IdKind::Session | IdKind::Uuid => Edge::Any,
                _ => Edge::Word,
            },
        };
        self.known.insert(text.to_vec(), needle);
    }

    /// Returns a needle for each id.
    pub(super) fn needles(&self) -> impl Iterator<Item = Needle> + '_ {
        self.known.values().cloned()
    }
}

/// Returns whether a text has the form of a uuid.
pub fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
