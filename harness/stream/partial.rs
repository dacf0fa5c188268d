//! What a tool's input says while its JSON text still comes (U2).
//!
//! A scanner looks at each byte once and tells where the top-level members begin and end. A member
//! that has ended is parsed once. The last one, while it is open, is parsed as far as it goes, but
//! only when it has grown by a share of its length: all parsing together is linear in the text.
//! What is shown holds: no number or literal that may go on, no half of an escape, and nothing that
//! would take back what was told before.

mod scan;
#[cfg(test)]
mod tests;

use jiter::{JsonValue, PartialMode};
use serde_json::{Map, Number, Value};

use crate::value::lenient_value;
use scan::{Found, Scanner};

/// Bytes an open value has when it is first parsed. An opening quote alone tells nothing, and
/// parsing it would put off what follows.
const FIRST: usize = 2;

/// Bytes an open value grows by, at least, before it is parsed again: one or two deltas of the
/// CLI, so that a short value is not told letter by letter.
const STEP: usize = 16;

/// The share of its length, one in so many, that an open value grows by before it is parsed again.
/// With a half, the parses of a value that is open to its end add up to three times its length, and
/// one of 512 KB makes some 25 updates.
const SHARE: usize = 2;

/// Open arrays and objects nested deeper wait for their end: further down, [`lenient_value`] keeps
/// raw text, which no container that was shown may turn into.
const MAX_DEPTH: usize = 64;

/// The top-level fields of a tool's input while its JSON text comes (U2).
#[derive(Debug, Default)]
pub(crate) struct Partial {
    scanner: Scanner,
    /// The member whose key was read last, until its value ends.
    member: Option<Member>,
    /// What was last told of each key.
    told: Map<String, Value>,
    /// Bytes given to a JSON parser.
    #[cfg(test)]
    parsed: usize,
}

/// A member whose value is yet to end.
#[derive(Debug)]
struct Member {
    key: String,
    /// Bytes its value has when it is parsed next.
    due: usize,
    /// Nothing is told of it before its end: a member of the same key came before, or what was
    /// parsed so far can't be shown.
    waits: bool,
}

impl Partial {
    /// The top-level fields that are new or have changed since they were last told; `None` when
    /// nothing has.
    ///
    /// `text` is all of the JSON text so far. It only ever grows.
    pub(crate) fn update(&mut self, text: &str) -> Option<Map<String, Value>> {
        let mut fresh = Map::new();
        while let Some(found) = self.scanner.next(text) {
            match found {
                Found::Key(range) => {
                    self.member = match self.whole(text.get(range)) {
                        Some(Value::String(key)) => {
                            let waits = self.told.contains_key(&key) || fresh.contains_key(&key);
                            Some(Member { key, due: FIRST, waits })
                        }
                        _ => None,
                    };
                }
                Found::Value(range) => {
                    let value = self.whole(text.get(range));
                    if let (Some(member), Some(value)) = (self.member.take(), value) {
                        fresh.insert(member.key, value);
                    }
                }
            }
        }
        fresh.retain(|key, value| self.told.get(key) != Some(value));
        fresh.extend(self.open(text));
        self.told.extend(fresh.clone());
        (!fresh.is_empty()).then_some(fresh)
    }

    /// Whether nothing more can be told: the object has ended, or can't be one.
    pub(crate) fn is_over(&self) -> bool {
        self.scanner.is_over()
    }

    /// A key or a value that has ended.
    fn whole(&mut self, json: Option<&str>) -> Option<Value> {
        let json = json?;
        #[cfg(test)]
        {
            self.parsed += json.len();
        }
        lenient_value(json).ok()
    }

    /// The open value as far as it goes, when it is due and says more than before.
    fn open(&mut self, text: &str) -> Option<(String, Value)> {
        let json = text.get(self.scanner.open()?)?;
        let member = self.member.as_mut()?;
        if member.waits || json.len() < member.due {
            return None;
        }
        member.due = json.len() + STEP.max(json.len() / SHARE);
        #[cfg(test)]
        {
            self.parsed += json.len();
        }
        let told = self.told.get(&member.key);
        let value = so_far(json).filter(|value| told.is_none_or(|told| goes_on(told, value)));
        // What is not fit to show now will not be later: text that has come does not change.
        member.waits = value.is_none();
        let value = value.filter(|value| told != Some(value))?;
        Some((member.key.clone(), value))
    }
}

/// The value that the beginning of its JSON text gives.
fn so_far(json: &str) -> Option<Value> {
    JsonValue::parse_with_config(json.as_bytes(), false, PartialMode::TrailingStrings)
        .ok()
        .and_then(|parsed| value(&parsed, 0))
}

/// `None` when [`lenient_value`] may read it differently.
fn value(parsed: &JsonValue<'_>, depth: usize) -> Option<Value> {
    Some(match parsed {
        JsonValue::Null => Value::Null,
        JsonValue::Bool(flag) => Value::Bool(*flag),
        JsonValue::Int(number) => Value::from(*number),
        JsonValue::Float(number) => Value::Number(Number::from_f64(*number)?),
        JsonValue::Str(text) => Value::String(text.to_string()),
        JsonValue::Array(list) if depth < MAX_DEPTH => {
            Value::Array(list.iter().map(|item| value(item, depth + 1)).collect::<Option<_>>()?)
        }
        JsonValue::Object(members) if depth < MAX_DEPTH => {
            let read = members.iter().map(|(key, item)| {
                let value = value(item, depth + 1)?;
                Some((key.to_string(), value))
            });
            Value::Object(read.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Whether `new` takes nothing back of what `old` showed.
fn goes_on(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::String(old), Value::String(new)) => new.starts_with(old),
        (Value::Array(old), Value::Array(new)) => {
            old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| goes_on(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(key, old)| new.get(key).is_some_and(|new| goes_on(old, new)))
        }
        _ => old == new,
    }
}
