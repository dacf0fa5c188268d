//! The fields of a tool's input while its JSON text still streams (U2).
//!
//! A scanner looks at each byte once and finds where top-level members begin and end. A complete
//! member is parsed once. The open member at the end is parsed as far as it goes, but only after it
//! has grown by a share of its length, so that all parsing together is linear in the text.
//!
//! An emitted value stays valid: it contains no number or literal that could continue and no half
//! of an escape, and it never withdraws what an earlier event contained.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use jiter::{JsonValue, PartialMode};
use serde_json::{Number, Value};

use crate::json;
use crate::payload::{Fields, Json, lenient_value};

/// Length in bytes at which an open value is parsed first. An opening quote alone has no content,
/// and parsing it would delay the next parse.
const FIRST: usize = 2;

/// Bytes by which an open value must grow before it is parsed again. This is one or two deltas of
/// the CLI, so that a short value is not emitted letter by letter.
const STEP: usize = 16;

/// Divisor for the share of its length by which an open value must grow before it is parsed again.
/// With one half, the parses of a value that stays open to its end add up to three times its
/// length, and a value of 512 KB causes about 25 updates.
const SHARE: usize = 2;

/// Depth below which open arrays and objects wait for their end, because [`lenient_value`] keeps
/// very deep ones as raw text and an emitted array must not turn into text.
const MAX_DEPTH: usize = 64;

/// The top-level fields of a tool's input while its JSON text streams (U2).
#[derive(Debug, Default)]
pub(crate) struct PartialInput {
    scanner: MemberScanner,
    /// The member whose key was read last, until its value ends.
    member: Option<OpenMember>,
    /// The part of each member that was last emitted, by key.
    emitted: BTreeMap<String, Emitted>,
}

/// A member whose value has not ended yet.
#[derive(Debug)]
struct OpenMember {
    /// Span of the key with its quotes.
    key: Range<usize>,
    /// Length in bytes at which the value is parsed next.
    next_size: usize,
    /// The member waits for its end: its key is a repetition, or its beginning cannot be emitted.
    is_withheld: bool,
    /// An earlier member has the same key.
    is_repeated: bool,
}

/// The emitted part of a member: the span of its text, or the value if the span alone does not give
/// it.
#[derive(Debug, PartialEq)]
enum Emitted {
    /// Span of a complete value.
    Whole(Range<usize>),
    /// Span of the beginning of a string, without quotes.
    Beginning(Range<usize>),
    /// An open array or object as far as it went.
    SoFar(Value),
}

impl PartialInput {
    /// Returns the top-level fields that are new or have changed since the last call, or `None` if
    /// there are none.
    ///
    /// `text` is the whole JSON text so far; it only ever grows.
    pub(crate) fn update<'t>(&mut self, text: &'t str) -> Option<Fields<'t>> {
        let mut fresh = Fields::new();
        let mut before = Vec::new();
        while let Some(found) = self.scanner.next(text) {
            match found {
                MemberPart::Key(range) => {
                    let key = text.get(range.clone()).and_then(|text| json::whole(text).ok());
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
                    let raw = text.get(range.clone()).and_then(|text| json::whole(text).ok());
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
        // A repeated key whose final value equals the emitted one does not count as a change.
        for (key, emitted) in &before {
            fresh.retain(|of, value| {
                of != key
                    || !emitted.as_ref().is_some_and(|emitted| emitted.equals(text, value.get()))
            });
        }
        if let Some((key, value)) = self.open(text) {
            fresh.push_open(key, value);
        }
        (!fresh.is_empty()).then_some(fresh)
    }

    /// Returns whether the fields are complete, because the object has ended or the text is not an
    /// object.
    pub(crate) fn is_over(&self) -> bool {
        self.scanner.is_over()
    }

    /// Stores what is emitted for a key, and returns what was emitted before.
    fn remember(&mut self, key: &str, emitted: Emitted) -> Option<Emitted> {
        if let Some(known) = self.emitted.get_mut(key) {
            return Some(std::mem::replace(known, emitted));
        }
        self.emitted.insert(key.to_owned(), emitted)
    }

    /// Returns the key and the open value as far as it goes, if it is due and has more content than
    /// before.
    fn open<'t>(&mut self, text: &'t str) -> Option<(Cow<'t, str>, Json<'t>)> {
        let range = self.scanner.open()?;
        let member = self.member.as_mut().filter(|member| !member.is_withheld)?;
        if range.len() < member.next_size {
            return None;
        }
        let json = text.get(range.clone())?;
        member.next_size = json.len() + STEP.max(json.len() / SHARE);
        let key = key(text, &member.key);
        let before = self.emitted.get(&*key);
        let (emitted, value) = if json.starts_with('"') {
            let known = match before {
                Some(Emitted::Beginning(emitted)) => emitted.len(),
                _ => 0,
            };
            let Some(inside) = json::stable_prefix(json, known) else {
                // Text that cannot be emitted now never can: later text does not change it.
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

/// Returns the key at `range`, which includes its quotes and was validated before.
fn key<'t>(text: &'t str, range: &Range<usize>) -> Cow<'t, str> {
    json::unescape(json::quoted(&text[range.clone()]))
}

impl Emitted {
    /// Returns whether the part that was emitted while the member was open is its whole value.
    fn is_all(&self, range: &Range<usize>, json: &str) -> bool {
        match self {
            Self::Beginning(emitted) => emitted.end + 1 == range.end,
            Self::SoFar(value) => lenient_value(json).as_ref() == Ok(value),
            Self::Whole(emitted) => emitted == range,
        }
    }

    /// Returns whether the emitted value equals `json`, which is a valid value.
    fn equals(&self, text: &str, json: &str) -> bool {
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

/// Parses the beginning of a JSON text.
fn parse_so_far(json: &str) -> Option<Value> {
    JsonValue::parse_with_config(json.as_bytes(), false, PartialMode::TrailingStrings)
        .ok()
        .and_then(|parsed| value(&parsed, 0))
}

/// Converts a parsed value, or returns `None` if [`lenient_value`] could read it differently.
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

/// Returns whether `new` contains everything that `old` contains.
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

/// A complete part of a top-level member, with its span in the text.
#[derive(Debug)]
enum MemberPart {
    /// A key, with its quotes.
    Key(Range<usize>),
    /// The value of the key that was found last.
    Value(Range<usize>),
}

/// The role of the next byte. Keys, members and values are those of the top level.
#[derive(Debug, Default, Clone, Copy)]
enum ScanState {
    /// Before the object; only blanks so far.
    #[default]
    Start,
    /// After the opening brace or a comma.
    Member,
    /// In a key.
    Key,
    /// After a key.
    Colon,
    /// After a colon.
    Value,
    /// In a number or a literal.
    Scalar,
    /// In a string that is a value.
    Text,
    /// In an array or object, outside its strings.
    Nested,
    /// In a string, key or value, inside an array or object.
    NestedText,
    /// After a value.
    After,
    /// The object has ended or its structure is broken: no further part is found.
    Over,
}

#[derive(Debug, Default)]
struct MemberScanner {
    state: ScanState,
    /// Number of bytes that were scanned.
    position: usize,
    /// Position at which the current key or value begins.
    start: usize,
    /// In a string: the previous byte is a backslash.
    escaped: bool,
    /// Position of a number or literal at the end of the open array or object.
    scalar: Option<usize>,
    /// The open array or object contains `-0`, which partial JSON parsers read as an integer.
    minus_zero: bool,
    /// The brackets that will close the open containers of the value, innermost last.
    closers: Vec<u8>,
}

impl MemberScanner {
    /// Scans on in `text`, which is the whole text so far, up to the next end of a key or value.
    fn next(&mut self, text: &str) -> Option<MemberPart> {
        let bytes = text.as_bytes();
        while self.position < bytes.len() {
            let in_string =
                matches!(self.state, ScanState::Key | ScanState::Text | ScanState::NestedText);
            if in_string && !self.escaped {
                // Other bytes inside a string do not matter here.
                self.position = json::string_end(bytes, self.position);
            }
            let Some(byte) = bytes.get(self.position) else { break };
            let found = self.step(text, *byte);
            self.position += 1;
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns the span of the unfinished string, array or object, without a number or literal at
    /// its end that could continue.
    fn open(&self) -> Option<Range<usize>> {
        let is_open =
            matches!(self.state, ScanState::Text | ScanState::Nested | ScanState::NestedText);
        (is_open && !self.minus_zero).then(|| self.start..self.scalar.unwrap_or(self.position))
    }

    /// Returns whether the object has ended or the text is not an object.
    fn is_over(&self) -> bool {
        matches!(self.state, ScanState::Over)
    }

    #[inline]
    fn step(&mut self, text: &str, byte: u8) -> Option<MemberPart> {
        use ScanState::{
            After, Colon, Key, Member, Nested, NestedText, Over, Scalar, Start, Text, Value,
        };
        let (from, at) = (self.start, self.position);
        let mut found = None;
        self.state = match (self.state, byte) {
            (Over, _) => Over,
            (state @ (Key | Text | NestedText), _) if self.escaped => {
                self.escaped = false;
                state
            }
            (state @ (Key | Text | NestedText), b'\\') => {
                self.escaped = true;
                state
            }
            (Key, b'"') => {
                found = Some(MemberPart::Key(from..at + 1));
                Colon
            }
            (Text, b'"') => {
                found = Some(MemberPart::Value(from..at + 1));
                After
            }
            (NestedText, b'"') => Nested,
            (state @ (Key | Text | NestedText), _) => state,
            (Nested, _) => {
                let state = self.nested(text, byte);
                if matches!(state, After) {
                    found = Some(MemberPart::Value(from..at + 1));
                }
                state
            }
            (Scalar, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'}') => {
                found = Some(MemberPart::Value(from..at));
                match byte {
                    b',' => Member,
                    b'}' => Over,
                    _ => After,
                }
            }
            (Scalar, b'"' | b':' | b'[' | b']' | b'{') => Over,
            (Scalar, _) => Scalar,
            (state, b' ' | b'\t' | b'\r' | b'\n') => state,
            (Start, b'{') => Member,
            (Member, b'"') => self.begin(Key),
            (Colon, b':') => Value,
            (Value, b'"') => self.begin(Text),
            (Value, b'[' | b'{') => {
                self.minus_zero = false;
                self.begin(Nested);
                self.nested(text, byte)
            }
            (Value, b',' | b':' | b']' | b'}') => Over,
            (Value, _) => self.begin(Scalar),
            (After, b',') => Member,
            (Start | Member | Colon | After, _) => Over,
        };
        found
    }

    /// Starts a key or value at the next byte.
    fn begin(&mut self, state: ScanState) -> ScanState {
        self.start = self.position;
        state
    }

    /// Processes a byte of an array or object outside its strings.
    fn nested(&mut self, text: &str, byte: u8) -> ScanState {
        if !b" \t\r\n\",:[]{}".contains(&byte) {
            self.scalar.get_or_insert(self.position);
            return ScanState::Nested;
        }
        if let Some(from) = self.scalar.take() {
            self.minus_zero |= text.get(from..self.position) == Some("-0");
        }
        match byte {
            b'"' => return ScanState::NestedText,
            b'[' => self.closers.push(b']'),
            b'{' => self.closers.push(b'}'),
            b']' | b'}' if self.closers.pop() != Some(byte) => return ScanState::Over,
            b']' | b'}' if self.closers.is_empty() => return ScanState::After,
            _ => {}
        }
        ScanState::Nested
    }
}

#[cfg(test)]
mod tests;
