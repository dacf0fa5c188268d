//! How two texts of one lane differ as a whole: the class of the change, and what comes after the first
//! difference, grouped. Entries are matched by what they say, then by what they are (kind and id).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pairs::{EntryMark, Pair, pairs};
use crate::replay::Entry;

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

/// How two texts differ as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about, taken together.
    pub class: Class,
    /// What differs after the first difference: `3 × editMessageText with another text`.
    pub consequences: Vec<String>,
}

/// Compares two texts entry by entry; `None` when no entry differs.
pub fn change(expected: &str, got: &str) -> Option<Change> {
    let (old, new) = (entries(expected), entries(got));
    let marks = |entries: &[Result<Entry, String>]| entries.iter().map(mark).collect::<Vec<_>>();
    let differences: Vec<(Class, String)> = pairs(&marks(&old), &marks(&new))
        .into_iter()
        .filter_map(|pair| match pair {
            Pair::Both(i, j) => difference(&old[i], &new[j]),
            Pair::Old(i) => Some((Class::Contract, format!("{} missing", kind(&old[i])))),
            Pair::New(j) => Some((Class::Contract, format!("{} too many", kind(&new[j])))),
        })
        .collect();
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

/// What the lines of a text are matched by.
pub(super) fn marks(text: &str) -> Vec<EntryMark> {
    entries(text).iter().map(mark).collect()
}

/// The entries of a text; a line that is none stays a line.
fn entries(text: &str) -> Vec<Result<Entry, String>> {
    text.lines().map(|line| serde_json::from_str(line).map_err(|_| line.to_owned())).collect()
}

fn mark(entry: &Result<Entry, String>) -> EntryMark {
    match entry {
        Ok(entry) => entry_mark(entry),
        Err(line) => EntryMark { at: 0, is: kind(entry).to_owned(), says: line.clone() },
    }
}

/// What an entry is matched by: what it says leaves its number on the bus aside, which hangs on what
/// came before.
pub(crate) fn entry_mark(entry: &Entry) -> EntryMark {
    let Entry { at, lane, kind, data } = entry;
    let ids = IDS.iter().filter_map(|id| data.get(*id)).map(|id| format!(" {id}"));
    let is = format!("{lane} {kind}{}", ids.collect::<String>());
    let fields = data.iter().filter(|(key, _)| *key != "seq");
    let says = fields.map(|(key, value)| format!(" {key}={value}")).collect::<String>();
    EntryMark { at: *at, says: format!("{is}{says}"), is }
}

fn kind(entry: &Result<Entry, String>) -> &str {
    entry.as_ref().map_or("a line that is no entry", |entry| entry.kind.as_ref())
}

fn difference(old: &Result<Entry, String>, new: &Result<Entry, String>) -> Option<(Class, String)> {
    match (old, new) {
        (Ok(a), Ok(b)) => {
            let (class, how) = between(a, b)?;
            Some((class, how.map_or_else(|| instead(old, new), |how| format!("{} {how}", b.kind))))
        }
        (Err(a), Err(b)) if a == b => None,
        (Err(_), Err(_)) => Some((Class::Contract, format!("{} with other bytes", kind(new)))),
        _ => Some((Class::Contract, instead(old, new))),
    }
}

fn instead(old: &Result<Entry, String>, new: &Result<Entry, String>) -> String {
    format!("{} in place of {}", kind(new), kind(old))
}

/// How two entries differ, and in which way if they are the same one; `None` when they are equal.
pub(crate) fn between(a: &Entry, b: &Entry) -> Option<(Class, Option<&'static str>)> {
    if a == b {
        return None;
    }
    let (old, new) = (entry_mark(a), entry_mark(b));
    if old.is != new.is {
        return Some((Class::Contract, None));
    }
    if a.data == b.data {
        return Some((Class::Timing, Some("at another time")));
    }
    if old.says == new.says {
        return Some((Class::Contract, Some("with another number")));
    }
    let (a, b) = (Value::Object(a.data.clone()), Value::Object(b.data.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(at: u64, id: u64, text: &str) -> String {
        let data = format!(r#"{{"message_id":{id},"text":"{text}"}}"#);
        format!(r#"{{"at":{at},"lane":"telegram","kind":"editMessageText","data":{data}}}"#)
    }

    fn check(expected: &[String], got: &[String], class: Option<Class>, then: &[&str]) {
        let found = change(&expected.join("\n"), &got.join("\n"));
        assert_eq!(found.as_ref().map(|change| change.class), class);
        let consequences = found.map(|change| change.consequences).unwrap_or_default();
        assert_eq!(consequences, then);
    }

    #[test]
    fn a_change_has_a_class_and_consequences() {
        let before = [edit(1, 1, "a"), edit(2, 1, "b"), edit(3, 2, "c")];
        check(&before, &before, None, &[]);
        let later = [edit(1, 1, "a"), edit(4, 1, "b"), edit(5, 2, "c")];
        check(&before, &later, Some(Class::Timing), &["1 × editMessageText at another time"]);
        let other = [edit(1, 1, "A"), edit(2, 1, "B"), edit(3, 2, "C")];
        check(&before, &other, Some(Class::Text), &["2 × editMessageText with another text"]);
        let fewer = [edit(1, 1, "a"), edit(4, 1, "b")];
        check(&before, &fewer, Some(Class::Contract), &["1 × editMessageText missing"]);
        let more = [edit(1, 1, "a"), edit(1, 7, "a"), edit(2, 1, "b"), edit(3, 2, "d")];
        check(&before, &more, Some(Class::Contract), &["1 × editMessageText with another text"]);
        let field = [edit(1, 1, "a").replace("text", "txet")];
        check(&before[..1], &field, Some(Class::Contract), &[]);
        let no_entry = ["x".to_owned(), "y".to_owned()];
        let then = "1 × editMessageText in place of a line that is no entry";
        check(&no_entry, &before[..2], Some(Class::Contract), &[then]);
    }
}
