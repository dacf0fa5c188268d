//! How two lanes differ as a whole: the class of the change, and what comes after the first difference,
//! grouped.

use std::fmt;

use clitape_recording::trace::Entry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pairs::EntryMark;

/// What a person reads, as fields of entries; `length` counts what `delta` has said.
const TEXTS: [&str; 10] = [
    "text",
    "delta",
    "length",
    "title",
    "content",
    "message",
    "result",
    "result_summary",
    "words",
    "sentence",
];

/// Fields that say which one an entry is about.
const IDS: [&str; 5] = ["message_id", "toolCallId", "id", "block", "run"];

/// What a change of a golden is about, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Class {
    /// The same entries at other times.
    Timing,
    /// The same entries with other words in them.
    Text,
    /// Entries that are missing, new or of another kind, or fields that programs read.
    Contract,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timing => "timing",
            Self::Text => "text",
            Self::Contract => "contract",
        })
    }
}

/// How two lanes differ as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about, taken together.
    pub class: Class,
    /// What differs after the first difference: `3 × editMessageText with another text`.
    pub consequences: Vec<String>,
}

/// The differences between two lanes taken together, each with its class; `None` when there is none.
pub(crate) fn change_of(differences: impl Iterator<Item = (Class, String)>) -> Option<Change> {
    let differences: Vec<(Class, String)> = differences.collect();
    let class = differences.iter().map(|(class, _)| *class).max()?;
    let mut groups: Vec<(usize, String)> = Vec::new();
    for (_, what) in differences.into_iter().skip(1) {
        match groups.iter_mut().find(|(_, known)| *known == what) {
            Some((count, _)) => *count += 1,
            None => groups.push((1, what)),
        }
    }
    let consequences = groups.into_iter().map(|(count, what)| format!("{count} × {what}"));
    Some(Change { class, consequences: consequences.collect() })
}

/// What an entry is matched by. Its content leaves its number on the bus aside, because the number
/// depends on what came before.
pub fn entry_mark(entry: &Entry) -> EntryMark {
    let Entry { at, lane, kind, data, .. } = entry;
    let ids = IDS.iter().filter_map(|id| data.get(*id)).map(|id| format!(" {id}"));
    let identity = format!("{lane} {kind}{}", ids.collect::<String>());
    let fields = data.iter().filter(|(key, _)| *key != "seq");
    let content = fields.map(|(key, value)| format!(" {key}={value}")).collect::<String>();
    EntryMark { at: *at, content: format!("{identity}{content}"), identity }
}

/// How two entries differ, and in which way if they are the same one; `None` when they are equal.
pub fn between(a: &Entry, b: &Entry) -> Option<(Class, Option<&'static str>)> {
    if a == b {
        return None;
    }
    let (old, new) = (entry_mark(a), entry_mark(b));
    if old.identity != new.identity {
        return Some((Class::Contract, None));
    }
    if a.data == b.data {
        return Some((Class::Timing, Some("at another time")));
    }
    if old.content == new.content {
        return Some((Class::Contract, Some("with another number")));
    }
    let (a, b) = (a.value(), b.value());
    Some(match only_texts(&a, &b, false) {
        true => (Class::Text, Some("with another text")),
        false => (Class::Contract, Some("with other fields")),
    })
}

/// Whether two values differ in no more than what a person reads.
fn only_texts(a: &Value, b: &Value, in_text: bool) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| {
                    let in_text = in_text || TEXTS.contains(&key.as_str());
                    b.get(key).is_some_and(|b| only_texts(a, b, in_text))
                })
        }
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) if in_text => {
            true
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| only_texts(a, b, in_text))
        }
        _ => a == b,
    }
}
