//! The place where two lanes diverge: its time, and one sentence in the words of a person who reads the chat.
//!
//! An example: `turn 2, +1,240 ms: expected edit #7 “Hello”, got a second message “Hello”`. The turn is counted by the
//! outcomes before it; the time is virtual, from the start of the replay.

use std::borrow::Cow;

use clitape_recording::text::{Keep, MARK, common_start, end, plain, quoted, truncate, width};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

/// The columns shown of long values, from shortly before they diverge.
const SHOWN: usize = 120;
/// The columns shown before the place where two long values diverge.
const BEFORE: usize = 15;
/// The events that begin a turn if they follow an outcome.
const BEGINNINGS: [&str; 6] =
    ["session", "text", "thinking", "tool_start", "tool_result", "outcome"];
/// The names of a message that follows others in the chat.
const FURTHER: [&str; 3] = ["a second message", "a third message", "a fourth message"];

/// The place where two lanes diverge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The time in virtual ms since the replay began; `None` if neither side has one.
    pub at: Option<u64>,
    /// The turn, the time, the expected entry and the actual one.
    pub sentence: String,
}

/// Returns the place where an expected entry and the actual one differ.
///
/// Both have the index `number` in their lanes, and `sent` messages are in the chat before them. `trace` is the trace
/// of the actual lane; if it is empty, the entries' own times count. `time_of` gives the time of an entry, or 0 if
/// times are ignored.
pub(crate) fn divergence(
    old: Option<&Entry>,
    new: Option<&Entry>,
    number: usize,
    sent: usize,
    trace: &[Entry],
    time_of: &dyn Fn(&Entry) -> u64,
) -> Divergence {
    let (at, when) = when(old, new, number, trace, time_of);
    Divergence { at, sentence: when + &difference((old, new), sent, time_of) }
}

/// Returns the moment of the entry at `index`, such as `turn 2, +1,240 ms`; for an entry of the session's lane, its
/// run.
pub fn moment(entries: &[Entry], index: usize) -> String {
    let Some(entry) = entries.get(index) else { return String::new() };
    if entry.lane == Lane::Session {
        let run = entry.field("run").and_then(Value::as_u64).unwrap_or(1);
        return format!("run {run}");
    }
    let (mut turn, mut over) = (1, false);
    for entry in entries[..=index].iter().filter(|entry| entry.lane == Lane::Lifecycle) {
        if over && BEGINNINGS.contains(&entry.kind.as_ref()) {
            turn += 1;
            over = false;
        }
        over |= entry.kind == "outcome";
    }
    format!("turn {turn}, {}", time(entry.at))
}

/// Formats a time, such as `+1,240 ms`.
fn time(at: u64) -> String {
    let digits = at.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("+{grouped} ms")
}

/// Returns the time at which the entries diverge, as a number and as the start of a sentence.
fn when(
    old: Option<&Entry>,
    new: Option<&Entry>,
    number: usize,
    trace: &[Entry],
    time_of: &dyn Fn(&Entry) -> u64,
) -> (Option<u64>, String) {
    let Some(entry) = new.or(old) else { return (None, String::new()) };
    let own = time_of(entry);
    if trace.is_empty() {
        // The time 0 is left out, because it also stands for ignored times.
        let when = if own == 0 { String::new() } else { format!("{}: ", time(own)) };
        return (Some(own), when);
    }
    let mut of_lane = trace.iter().enumerate().filter(|(_, other)| other.lane == entry.lane);
    let index = match of_lane.nth(number) {
        Some((index, _)) if new.is_some() => index,
        // The actual lane ended early: the time is that of its last entry before the expected one.
        _ => {
            let is_before = |other: &Entry| own == 0 || other.at <= own;
            trace.iter().rposition(is_before).unwrap_or(0)
        }
    };
    let at = trace.get(index).map(|entry| entry.at);
    (at, format!("{}: ", moment(trace, index)))
}

/// Describes the expected entry and the actual one in words.
fn difference(
    pair: (Option<&Entry>, Option<&Entry>),
    sent: usize,
    time_of: &dyn Fn(&Entry) -> u64,
) -> String {
    let (old, new) = match pair {
        (Some(old), Some(new)) => (old, new),
        (Some(old), None) => return format!("expected {}, got nothing more", in_words(old, sent)),
        (None, Some(new)) => return format!("expected nothing more, got {}", in_words(new, sent)),
        (None, None) => return String::new(),
    };
    if old.lane != new.lane || old.kind != new.kind {
        return format!("expected {}, got {}", in_words(old, sent), in_words(new, sent));
    }
    let (a, b) = (old.value(), new.value());
    let Some((path, a, b)) = first_difference("", &a, &b) else {
        let (what, expected, got) = (in_words(new, sent), time(time_of(old)), time(time_of(new)));
        return format!("{what} was expected at {expected}, it came at {got}");
    };
    let name = name(new, sent);
    match (new.lane, path.as_str()) {
        (Lane::Telegram, "text") => format!("expected {name} {a}, got {b}"),
        _ => format!("`{path}` of {name} should be {a}, it is {b}"),
    }
}

/// Describes an entry in a few words; `sent` messages are in the chat before it.
fn in_words(entry: &Entry, sent: usize) -> String {
    match entry.field("text").and_then(Value::as_str) {
        Some(text) if entry.lane == Lane::Telegram => {
            format!("{} {}{}", name(entry, sent), quoted(text), entry.refusal())
        }
        _ => entry.headline(),
    }
}

/// Returns the name of an entry, without its text.
fn name(entry: &Entry, sent: usize) -> String {
    let id = entry.field("message_id").map(|id| format!(" #{id}")).unwrap_or_default();
    match entry.kind.as_ref() {
        "sendMessage" => match sent.checked_sub(1) {
            Some(further) => {
                FURTHER.get(further).map_or("one more message", |word| word).to_owned()
            }
            None => format!("message{id}"),
        },
        "editMessageText" => format!("edit{id}"),
        kind => {
            let which = ["name", "id", "toolCallId"].iter().find_map(|key| {
                entry.field(key).and_then(Value::as_str).map(|word| format!(" {word}"))
            });
            kind.to_owned() + &which.unwrap_or_default()
        }
    }
}

/// Finds the first path, in the order of the fields, at which two values differ; returns it with both values.
fn first_difference(path: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(old), Value::Object(new)) = (a, b) {
        let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let (a, b) = (old.get(key), new.get(key));
            if let (Some(a), Some(b)) = (a, b) {
                if let Some(found) = first_difference(&path, a, b) {
                    return Some(found);
                }
            } else {
                return Some((path, show(a), show(b)));
            }
        }
        return None;
    }
    if a == b {
        return None;
    }
    if let (Value::String(a), Value::String(b)) = (a, b) {
        let (a, b) = zoom(a, b);
        return Some((path.to_owned(), format!("“{a}”"), format!("“{b}”")));
    }
    let (a, b) = zoom(&a.to_string(), &b.to_string());
    Some((path.to_owned(), a, b))
}

fn show(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => format!("“{}”", plain(&clip(text))),
        Some(value) => plain(&clip(&value.to_string())),
        None => "absent".to_owned(),
    }
}

/// Cuts two long values from shortly before the place where they diverge.
pub fn zoom(a: &str, b: &str) -> (String, String) {
    let same = common_start(a, b);
    let from = if width(same) > BEFORE * 2 { same.len() - end(same, BEFORE).len() } else { 0 };
    let cut = |text: &str| {
        let shown = plain(&clip(&text[from..]));
        if from > 0 { format!("{MARK}{shown}") } else { shown }
    };
    (cut(a), cut(b))
}

fn clip(text: &str) -> Cow<'_, str> {
    truncate(text, SHOWN, Keep::Start)
}
