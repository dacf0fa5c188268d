//! What a tool's input says while its JSON text still comes (U2).
//!
//! A scanner looks at each byte once and tells where the top-level members begin and end. A member
//! that has ended is parsed once. The last one, while it is open, is parsed as far as it goes, but
//! only when it has grown by a share of its length: all parsing together is linear in the text.
//! What is shown holds: no number or literal that may go on, no half of an escape, and nothing that
//! would take back what was emitted before.

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
use scan::{MemberPart, MemberScanner};

/// Bytes an open value has when it is first parsed. An opening quote alone tells nothing, and
/// parsing it would put off what follows.
const FIRST: usize = 2;

/// Bytes an open value grows by, at least, before it is parsed again: one or two deltas of the
/// CLI, so that a short value is not emitted letter by letter.
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
pub(crate) struct PartialInput {
    scanner: MemberScanner,
    /// The member whose key was read last, until its value ends.
    member: Option<OpenMember>,
    /// What was last emitted of each key.
    emitted: BTreeMap<String, Emitted>,
    /// Bytes of keys and values that were read, each time they were.
    #[cfg(test)]
    parsed: usize,
}

/// A member whose value is yet to end.
#[derive(Debug)]
struct OpenMember {
    /// Where its key stands, with its quotes.
    key: Range<usize>,
    /// Bytes its value has when it is read next.
    next_size: usize,
    /// Nothing is emitted of it before its end: its key came before, or what was read so far can't be
    /// shown.
    is_withheld: bool,
    /// A member of the same key came before.
    is_repeated: bool,
}

/// What was emitted of a member: where its text stands, or, where more was known than the text says,
/// the value.
#[derive(Debug, PartialEq)]
enum Emitted {
    /// A value that has ended.
    Whole(Range<usize>),
    /// The beginning of a string, without quotes.
    Beginning(Range<usize>),
    /// An array or object as far as it went.
    SoFar(Value),
}

impl PartialInput {
    /// The top-level fields that are new or have changed since they were last emitted; `None` when
    /// nothing has.
    ///
    /// `text` is all of the JSON text so far. It only ever grows.
    pub(crate) fn update<'t>(&mut self, text: &'t str) -> Option<Fields<'t>> {
        let mut fresh = Fields::new();
        let mut before = Vec::new();
        while let Some(found) = self.scanner.next(text) {
            match found {
                MemberPart::Key(range) => {
                    let key = self.whole(text.get(range.clone()));
                    self.member = key.and_then(|raw| json::string(Some(raw))).map(|key| {
                        let again = self.emitted.contains_key(&*key);
                        OpenMember {
                            key: range,
                            next_size: FIRST,
                            is_withheld: again,
                            is_repeated: again,
                        }
                    });
                }
                MemberPart::Value(range) => {
                    let raw = self.whole(text.get(range.clone()));
                    let (Some(OpenMember { key, is_repeated: again, .. }), Some(raw)) =
                        (self.member.take(), raw)
                    else {
                        continue;
                    };
                    let (key, value) = (self::key(text, &key), Json::from(raw));
                    if again && !fresh.has(&key) {
                        let emitted = self.remember(&key, Emitted::Whole(range));
                        before.push((key.clone(), emitted));
                        fresh.add(key, value);
                    } else if again {
                        self.remember(&key, Emitted::Whole(range));
                        fresh.push(key, value);
                    } else if !self.emitted.get(&*key).is_some_and(|t| t.is_all(&range, raw.get()))
                    {
                        self.remember(&key, Emitted::Whole(range));
                        fresh.add(key, value);
                    }
                }
            }
        }
        // A key that came again, and ends as it was emitted.
        for (key, emitted) in &before {
            fresh.retain(|of, value| {
                of != key
                    || !emitted.as_ref().is_some_and(|emitted| emitted.says(text, value.get()))
            });
        }
        if let Some((key, value)) = self.open(text) {
            fresh.push_open(key, value);
        }
        (!fresh.is_empty()).then_some(fresh)
    }

    /// Whether nothing more can be emitted: the object has ended, or can't be one.
    pub(crate) fn is_over(&self) -> bool {
        self.scanner.is_over()
    }

    /// Remembers what is emitted of a key; gives what was emitted of it before.
    fn remember(&mut self, key: &str, emitted: Emitted) -> Option<Emitted> {
        if let Some(known) = self.emitted.get_mut(key) {
            return Some(std::mem::replace(known, emitted));
        }
        self.emitted.insert(key.to_owned(), emitted)
    }

    /// A key or a value that has ended.
    fn whole<'t>(&mut self, json: Option<&'t str>) -> Option<json::RawJson<'t>> {
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
        let member = self.member.as_mut().filter(|member| !member.is_withheld)?;
        if range.len() < member.next_size {
            return None;
        }
        let json = text.get(range.clone())?;
        member.next_size = json.len() + STEP.max(json.len() / SHARE);
        #[cfg(test)]
        {
            self.parsed += json.len();
        }
        let key = key(text, &member.key);
        let before = self.emitted.get(&*key);
        let (emitted, value) = if json.starts_with('"') {
            let known = match before {
                Some(Emitted::Beginning(emitted)) => emitted.len(),
                _ => 0,
            };
            let Some(inside) = json::stable_prefix(json, known) else {
                // What is not fit to show now will not be later: text that has come does not change.
                member.is_withheld = true;
                return None;
            };
            let from = range.start + 1;
            let emitted = Emitted::Beginning(from..from + inside.len());
            if before == Some(&emitted) {
                return None;
            }
            let mut literal = String::with_capacity(inside.len() + 2);
            literal.extend(["\"", inside, "\""]);
            (emitted, Json::valid(literal))
        } else {
            let goes_on = |value: &Value| match before {
                Some(Emitted::SoFar(before)) => extends(before, value),
                _ => true,
            };
            let Some(value) = parse_so_far(json).filter(goes_on) else {
                member.is_withheld = true;
                return None;
            };
            if matches!(before, Some(Emitted::SoFar(before)) if *before == value) {
                return None;
            }
            let json = Json::from(&value);
            (Emitted::SoFar(value), json)
        };
        self.remember(&key, emitted);
        Some((key, value))
    }
}

/// The key that stands at `range`, with its quotes, and was read before.
fn key<'t>(text: &'t str, range: &Range<usize>) -> Cow<'t, str> {
    json::unescape(json::quoted(&text[range.clone()]))
}

impl Emitted {
    /// Whether what was emitted of the member while it was open is all of its value.
    fn is_all(&self, range: &Range<usize>, json: &str) -> bool {
        match self {
            Self::Beginning(emitted) => emitted.end + 1 == range.end,
            Self::SoFar(value) => lenient_value(json).as_ref() == Ok(value),
            Self::Whole(emitted) => emitted == range,
        }
    }

    /// Whether this is what `json`, a valid value, says.
    fn says(&self, text: &str, json: &str) -> bool {
        let part = |range: &Range<usize>| &text[range.clone()];
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
fn parse_so_far(json: &str) -> Option<Value> {
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
fn extends(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::String(old), Value::String(new)) => new.starts_with(old),
        (Value::Array(old), Value::Array(new)) => {
            old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| extends(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(key, old)| new.get(key).is_some_and(|new| extends(old, new)))
        }
        _ => old == new,
    }
}
