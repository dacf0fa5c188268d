//! Turns a call's arguments into the few words of its line.

use serde_json::Value;

use super::shell;
use crate::sanitise::{redact_text, sanitise_args};

/// Characters of one value.
const VALUE_LIMIT: usize = 160;
/// Values of a tool that is not in the table.
const ANY_LIMIT: usize = 8;

/// Arguments worth showing of a tool that is not in the table.
const ANY_KEYS: &[&str] = &[
    "command",
    "path",
    "file_path",
    "filePath",
    "notebook_path",
    "url",
    "targetUrl",
    "targetId",
    "ref",
    "element",
    "node",
    "nodeId",
    "id",
    "requestId",
    "to",
    "channelId",
    "guildId",
    "userId",
    "name",
    "title",
    "query",
    "pattern",
    "messageId",
    "description",
];

/// Which words are made of the arguments. A `keys` list names one argument, the first that is
/// there counts.
pub(super) enum Detail {
    /// None.
    Nothing,
    /// `from P`, `lines 10-14 from P`, `first 5 lines of P`.
    Lines(&'static [&'static str]),
    /// Preposition, path keys, text keys: `to P (5 chars)`.
    Size(&'static str, &'static [&'static str], &'static [&'static str]),
    /// Preposition, path keys, list key, what one is: `in P (2 edits)`.
    Count(&'static str, &'static [&'static str], &'static str, &'static str),
    /// Preposition and keys: `from https://example.com`.
    First(&'static str, &'static [&'static str]),
    /// What is searched, place keys: `"TODO" in src`.
    Search(&'static str, &'static [&'static str]),
    /// A shell command, explained.
    Command,
    /// List key: `1 of 3 done, doing: Build it`.
    Todos(&'static str),
    /// Id key and what becomes of it: `#3 → completed`.
    Change(&'static str, &'static str),
    /// List key: the first question.
    Question(&'static str),
    /// Whatever is there of [`ANY_KEYS`].
    Any,
}

/// The words, redacted; empty when there is nothing to say.
pub(super) fn of(detail: &Detail, args: &Value) -> String {
    match detail {
        Detail::Nothing => String::new(),
        Detail::Lines(path) => lines(args, path),
        Detail::Size(word, path, texts) => {
            let count = texts.iter().find_map(|key| args.get(key)?.as_str());
            let size = count.map(|text| format!("{} chars", text.chars().count()));
            placed(word, args, path, size)
        }
        Detail::Count(word, path, list, one) => {
            let count = args.get(list).and_then(Value::as_array).map(Vec::len);
            let size = count.map(|n| format!("{n} {one}{}", if n == 1 { "" } else { "s" }));
            placed(word, args, path, size)
        }
        Detail::First(word, keys) => {
            first(args, keys).map_or_else(String::new, |value| format!("{word}{value}"))
        }
        Detail::Search(what, place) => search(args, what, place),
        Detail::Command => match args.get("command").and_then(Value::as_str) {
            Some(command) => shell::explain(command),
            None => first(args, &["description"]).unwrap_or_default(),
        },
        Detail::Todos(list) => todos(args, list),
        Detail::Change(id, becomes) => match (first(args, &[id]), first(args, &[becomes])) {
            (Some(id), Some(becomes)) => format!("#{id} → {becomes}"),
            (Some(id), None) => format!("#{id}"),
            (None, _) => String::new(),
        },
        Detail::Question(list) => (args.get(list))
            .and_then(|questions| first(questions.get(0)?, &["question"]))
            .unwrap_or_default(),
        Detail::Any => any(args),
    }
}

fn placed(word: &str, args: &Value, path: &[&str], size: Option<String>) -> String {
    match (first(args, path), size) {
        (Some(path), Some(size)) => format!("{word}{path} ({size})"),
        (Some(path), None) => format!("{word}{path}"),
        (None, _) => String::new(),
    }
}

fn lines(args: &Value, path: &[&str]) -> String {
    let number = |key: &str| args.get(key).and_then(Value::as_u64);
    let Some(path) = first(args, path) else {
        return String::new();
    };
    match (number("offset"), number("limit")) {
        (Some(offset), Some(1)) => format!("line {offset} from {path}"),
        (Some(offset), Some(limit)) => {
            let last = offset.saturating_add(limit).saturating_sub(1);
            format!("lines {offset}-{last} from {path}")
        }
        (Some(offset), None) => format!("from line {offset} in {path}"),
        (None, Some(limit)) => format!("first {limit} lines of {path}"),
        (None, None) => format!("from {path}"),
    }
}

fn search(args: &Value, what: &str, place: &[&str]) -> String {
    match (first(args, &[what]), first(args, place)) {
        (Some(what), Some(place)) => format!("\"{what}\" in {place}"),
        (Some(what), None) => format!("\"{what}\""),
        (None, Some(place)) => format!("in {place}"),
        (None, None) => String::new(),
    }
}

fn todos(args: &Value, list: &str) -> String {
    let Some(items) = args.get(list).and_then(Value::as_array) else {
        return String::new();
    };
    let with = |status: &'static str| {
        (items.iter())
            .filter(move |item| item.get("status").and_then(Value::as_str) == Some(status))
    };
    let doing = with("in_progress").find_map(|item| first(item, &["activeForm", "content"]));
    let done = format!("{} of {} done", with("completed").count(), items.len());
    match doing {
        Some(doing) => format!("{done}, doing: {doing}"),
        None => done,
    }
}

fn any(args: &Value) -> String {
    let found: Vec<(&str, String)> = ANY_KEYS
        .iter()
        .filter_map(|key| Some((*key, words(args.get(key)?)?)))
        .take(ANY_LIMIT)
        .collect();
    match found.as_slice() {
        [(_, value)] => value.clone(),
        _ => {
            let pairs: Vec<String> = found.iter().map(|(key, v)| format!("{key} {v}")).collect();
            pairs.join(", ")
        }
    }
}

fn first(args: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| words(args.get(key)?))
}

/// A value as words: the first line of a text, a number, the first three of a list.
fn words(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => {
            let text = redact_text(text.trim());
            text.lines().next()?.trim_end().to_owned()
        }
        Value::Bool(true) => "true".to_owned(),
        Value::Number(number) if number.as_f64() != Some(0.0) => number.to_string(),
        Value::Array(_) => {
            // As a whole: the word after `--token` is a secret because of the word before it.
            let clean = sanitise_args(value);
            let items = clean.as_array()?;
            let mut parts: Vec<String> = items.iter().filter_map(words).take(3).collect();
            if items.len() > 3 {
                parts.push("…".to_owned());
            }
            parts.join(", ")
        }
        _ => return None,
    };
    (!text.is_empty()).then(|| clip(&text, VALUE_LIMIT))
}

/// `text` in at most `limit` characters, its middle left out.
pub(super) fn clip(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let tail = limit / 2;
    let head: String = text.chars().take(limit - tail - 1).collect();
    let tail: String = text.chars().skip(count - tail).collect();
    format!("{head}…{tail}")
}
