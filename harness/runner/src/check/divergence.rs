//! Where two texts of one lane part: when it was, and one sentence in the words of who reads the chat.
//!
//! `turn 2, +1,240 ms: expected edit #7 “Hello”, got a second message “Hello”`. The turn is counted
//! by the outcomes the parser told before; the time is that of the replay, virtual and from its start.

use serde_json::Value;

use crate::replay::{Entry, Lane, shortened};

/// Characters shown of long values, from shortly before they part.
const SHOWN: usize = 120;
/// Characters before the place where two long values part.
const BEFORE: usize = 15;
/// Events that begin a turn when they come after an outcome.
const BEGINNINGS: [&str; 6] =
    ["session", "text", "thinking", "tool_start", "tool_result", "outcome"];
/// What a message is called after those that stand in the chat already.
const FURTHER: [&str; 3] = ["a second message", "a third message", "a fourth message"];

/// Where two texts part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// When, in virtual ms since the replay began; none where the texts tell no times.
    pub at: Option<u64>,
    /// Turn, time, what was expected and what came.
    pub sentence: String,
}

/// One line of a text.
enum Line<'a> {
    Nothing,
    Entry(Entry),
    /// What a person reads, as a JSON string.
    Words(String),
    Other(&'a str),
}

/// Where two texts part; `None` when they are equal. `entries` is the trace that `got` was made of,
/// which tells turns and times; without it, the texts tell the time.
pub fn first_divergence(expected: &str, got: &str, entries: &[Entry]) -> Option<Divergence> {
    let (mut old, mut new) = (expected.lines(), got.lines());
    for number in 0.. {
        let (a, b) = match (old.next(), new.next()) {
            (None, None) => break,
            (a, b) if a == b => continue,
            pair => pair,
        };
        let sent = got.lines().take(number).filter(|line| is_sent(line)).count();
        let (a, b) = (Line::of(a), Line::of(b));
        let (at, when) = when(number, &a, &b, entries);
        return Some(Divergence { at, sentence: when + &differ(&a, &b, sent) });
    }
    // Equal line by line: only the ends of lines can differ.
    let sentence = "the texts differ in their line ends only".to_owned();
    (expected != got).then_some(Divergence { at: None, sentence })
}

/// `turn 2, +1,240 ms`, of the entry at `index`; of an entry of the session's lane, its run.
pub(super) fn moment(entries: &[Entry], index: usize) -> String {
    let Some(entry) = entries.get(index) else { return String::new() };
    if entry.lane == Lane::Session {
        let run = entry.data.get("run").and_then(Value::as_u64).unwrap_or(1);
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

/// `+1,240 ms`.
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

/// When the lines part, and the same as the beginning of a sentence.
fn when(number: usize, a: &Line<'_>, b: &Line<'_>, entries: &[Entry]) -> (Option<u64>, String) {
    let ((Line::Entry(told), _) | (_, Line::Entry(told))) = (b, a) else {
        return (None, String::new());
    };
    if entries.is_empty() {
        // 0 says nothing: it also stands where times are left aside.
        let when = if told.at == 0 { String::new() } else { format!("{}: ", time(told.at)) };
        return (Some(told.at), when);
    }
    let mut of_lane = entries.iter().enumerate().filter(|(_, entry)| entry.lane == told.lane);
    let index = match of_lane.nth(number) {
        Some((index, _)) if matches!(b, Line::Entry(_)) => index,
        // Nothing more came: the last that had come by then.
        _ => {
            let is_before = |entry: &Entry| told.at == 0 || entry.at <= told.at;
            entries.iter().rposition(is_before).unwrap_or(0)
        }
    };
    let at = entries.get(index).map(|entry| entry.at);
    (at, format!("{}: ", moment(entries, index)))
}

fn is_sent(line: &str) -> bool {
    matches!(Line::of(Some(line)), Line::Entry(entry) if entry.kind == "sendMessage" && entry.is_shown())
}

fn differ(a: &Line<'_>, b: &Line<'_>, sent: usize) -> String {
    let instead = || format!("expected {}, got {}", a.tell(sent), b.tell(sent));
    let (old, new) = match (a, b) {
        (Line::Nothing, _) => return format!("expected nothing more, got {}", b.tell(sent)),
        (_, Line::Nothing) => return format!("expected {}, got nothing more", a.tell(sent)),
        (Line::Words(a), Line::Words(b)) => {
            let (a, b) = zoom(a, b);
            return format!("expected “{a}”, got “{b}”");
        }
        (Line::Entry(old), Line::Entry(new)) => (old, new),
        _ => return instead(),
    };
    if old.lane != new.lane || old.kind != new.kind {
        return instead();
    }
    if old.same_but_time(new) {
        let (what, expected, came) = (b.tell(sent), time(old.at), time(new.at));
        return format!("{what} was expected at {expected}, it came at {came}");
    }
    let (old, data) = (Value::Object(old.data.clone()), Value::Object(new.data.clone()));
    let Some((path, a, b)) = first_difference("", &old, &data) else {
        return format!("the fields of {} stand in another order", name(new, sent));
    };
    let name = name(new, sent);
    match (new.lane, path.as_str()) {
        (Lane::Telegram, "text") => format!("expected {name} {a}, got {b}"),
        _ => format!("`{path}` of {name} should be {a}, it is {b}"),
    }
}

impl<'a> Line<'a> {
    fn of(line: Option<&'a str>) -> Self {
        let Some(line) = line else { return Self::Nothing };
        match serde_json::from_str(line) {
            Ok(entry) => Self::Entry(entry),
            Err(_) => match serde_json::from_str(line) {
                Ok(Value::String(words)) => Self::Words(words),
                _ => Self::Other(line),
            },
        }
    }

    /// In a few words; `sent` messages stand in the chat already.
    fn tell(&self, sent: usize) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Words(words) => format!("“{}”", escaped(&shortened(words))),
            Self::Other(line) => format!("{:?}, which is no trace entry", shortened(line)),
            Self::Entry(entry) => match entry.data.get("text").and_then(Value::as_str) {
                Some(text) if entry.lane == Lane::Telegram => {
                    format!("{} “{}”", name(entry, sent), escaped(&shortened(text)))
                }
                _ => entry.headline(),
            },
        }
    }
}

/// What an entry is called, without what it says.
fn name(entry: &Entry, sent: usize) -> String {
    let id = entry.data.get("message_id").map(|id| format!(" #{id}")).unwrap_or_default();
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
                entry.data.get(*key).and_then(Value::as_str).map(|word| format!(" {word}"))
            });
            kind.to_owned() + &which.unwrap_or_default()
        }
    }
}

/// The first path, in the order of the fields, at which two values differ, with both values.
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
        Some(Value::String(text)) => format!("“{}”", escaped(&clip(text))),
        Some(value) => escaped(&clip(&value.to_string())),
        None => "absent".to_owned(),
    }
}

/// Two long values from shortly before they part.
fn zoom(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = if same > BEFORE * 2 { same - BEFORE } else { 0 };
    let cut = |text: &str| {
        let rest: String = text.chars().skip(from).collect();
        let shown = escaped(&clip(&rest));
        if from > 0 { format!("…{shown}") } else { shown }
    };
    (cut(a), cut(b))
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// On one line: control characters as escapes.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut line, c| {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

#[cfg(test)]
mod tests;
