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

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use jiter::{JsonValue, PartialMode};
use serde_json::{Number, Value};

use crate::fields::Fields;
use crate::json;
use crate::payload::Json;
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
    told: BTreeMap<String, Told>,
    /// Bytes of keys and values that were read, each time they were.
    #[cfg(test)]
    parsed: usize,
}

/// A member whose value is yet to end.
#[derive(Debug)]
struct Member {
    /// Where its key stands, with its quotes.
    key: Range<usize>,
    /// Bytes its value has when it is read next.
    due: usize,
    /// Nothing is told of it before its end: its key came before, or what was read so far can't be
    /// shown.
    waits: bool,
    /// A member of the same key came before.
    again: bool,
}

/// What was told of a member: where its text stands, or, where more was known than the text says,
/// the value.
#[derive(Debug, PartialEq)]
enum Told {
    /// A value that has ended.
    Whole(Range<usize>),
    /// The beginning of a string, without quotes.
    Beginning(Range<usize>),
    /// An array or object as far as it went.
    SoFar(Value),
}

impl Partial {
    /// The top-level fields that are new or have changed since they were last told; `None` when
    /// nothing has.
    ///
    /// `text` is all of the JSON text so far. It only ever grows.
    pub(crate) fn update<'t>(&mut self, text: &'t str) -> Option<Fields<'t>> {
        let mut fresh = Fields::new();
        let mut before = Vec::new();
        while let Some(found) = self.scanner.next(text) {
            match found {
                Found::Key(range) => {
                    let key = self.whole(text.get(range.clone()));
                    self.member = key.and_then(|raw| json::string(Some(raw))).map(|key| {
                        let again = self.told.contains_key(&*key);
                        Member { key: range, due: FIRST, waits: again, again }
                    });
                }
                Found::Value(range) => {
                    let raw = self.whole(text.get(range.clone()));
                    let (Some(Member { key, again, .. }), Some(raw)) = (self.member.take(), raw)
                    else {
                        continue;
                    };
                    let (key, value) = (self::key(text, &key), Json::from(raw));
                    if again && !fresh.has(&key) {
                        let told = self.tell(&key, Told::Whole(range));
                        before.push((key.clone(), told));
                        fresh.add(key, value);
                    } else if again {
                        self.tell(&key, Told::Whole(range));
                        fresh.push(key, value);
                    } else if !self.told.get(&*key).is_some_and(|t| t.is_all(&range, raw.get())) {
                        self.tell(&key, Told::Whole(range));
                        fresh.add(key, value);
                    }
                }
            }
        }
        // A key that came again, and ends as it was told.
        for (key, told) in &before {
            fresh.retain(|of, value| {
                of != key || !told.as_ref().is_some_and(|told| told.says(text, value.get()))
            });
        }
        if let Some((key, value)) = self.open(text) {
            fresh.push_open(key, value);
        }
        (!fresh.is_empty()).then_some(fresh)
    }

    /// Whether nothing more can be told: the object has ended, or can't be one.
    pub(crate) fn is_over(&self) -> bool {
        self.scanner.is_over()
    }

    /// Remembers what is told of a key; gives what was told of it before.
    fn tell(&mut self, key: &str, told: Told) -> Option<Told> {
        if let Some(known) = self.told.get_mut(key) {
            return Some(std::mem::replace(known, told));
        }
        self.told.insert(key.to_owned(), told)
    }

    /// A key or a value that has ended.
    fn whole<'t>(&mut self, json: Option<&'t str>) -> Option<json::Raw<'t>> {
        let json = json?;
        #[cfg(test)]
        {
            self.parsed += json.len();
        }
        json::whole(json).ok()
    }

    /// The open value as far as it goes, when it is due and says more than before.
    fn open<'t>(&mut self, text: &'t str) -> Option<(Cow<'t, str>, Json<'t>)> {
        let range = self.scanner.open()?;
        let member = self.member.as_mut().filter(|member| !member.waits)?;
        if range.len() < member.due {
            return None;
        }
        let json = text.get(range.clone())?;
        member.due = json.len() + STEP.max(json.len() / SHARE);
        #[cfg(test)]
        {
            self.parsed += json.len();
        }
        let key = key(text, &member.key);
        let before = self.told.get(&*key);
        let (told, value) = if json.starts_with('"') {
            let known = match before {
                Some(Told::Beginning(told)) => told.len(),
                _ => 0,
            };
            let Some(inside) = json::beginning(json, known) else {
                // What is not fit to show now will not be later: text that has come does not change.
                member.waits = true;
                return None;
            };
            let from = range.start + 1;
            let told = Told::Beginning(from..from + inside.len());
            if before == Some(&told) {
                return None;
            }
            let mut literal = String::with_capacity(inside.len() + 2);
            literal.extend(["\"", inside, "\""]);
            (told, Json::valid(literal))
        } else {
            let goes_on = |value: &Value| match before {
                Some(Told::SoFar(before)) => goes_on(before, value),
                _ => true,
            };
            let Some(value) = so_far(json).filter(goes_on) else {
                member.waits = true;
                return None;
            };
            if matches!(before, Some(Told::SoFar(before)) if *before == value) {
                return None;
            }
            let json = Json::from(&value);
            (Told::SoFar(value), json)
        };
        self.tell(&key, told);
        Some((key, value))
    }
}

/// The key that stands at `range`, with its quotes, and was read before.
fn key<'t>(text: &'t str, range: &Range<usize>) -> Cow<'t, str> {
    json::unescape(json::quoted(text.get(range.clone()).unwrap_or_default()))
}

impl Told {
    /// Whether what was told of the member while it was open is all of its value.
    fn is_all(&self, range: &Range<usize>, json: &str) -> bool {
        match self {
            Self::Beginning(told) => told.end + 1 == range.end,
            Self::SoFar(value) => lenient_value(json).as_ref() == Ok(value),
            Self::Whole(told) => told == range,
        }
    }

    /// Whether this is what `json`, a valid value, says.
    fn says(&self, text: &str, json: &str) -> bool {
        let part = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
        let same = |ours: &str| ours == json || lenient_value(ours) == lenient_value(json);
        match self {
            Self::Whole(range) => same(part(range)),
            Self::Beginning(range) if json.starts_with('"') => {
                let (ours, theirs) = (part(range), json::quoted(json));
                ours == theirs || json::unescape(ours) == json::unescape(theirs)
            }
            Self::Beginning(_) => false,
            Self::SoFar(value) => lenient_value(json).as_ref() == Ok(value),
        }
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
