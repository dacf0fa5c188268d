//! Reads a line of stdout as JSON, whatever its strings contain, and removes the reasoning that a model writes between
//! tags at the beginning of its text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The mark that some programs write before UTF-8 text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Parses a line of stdout as a record; `None` if it is not a JSON object.
pub fn record(line: &[u8]) -> Option<Value> {
    value(line).filter(Value::is_object)
}

/// Parses the records of stdout; lines without a record are left out.
pub fn records(stdout: &[u8]) -> impl Iterator<Item = Value> {
    lines(stdout).filter_map(record)
}

/// Parses the records of stdout, reduced to the fields in `fields`.
pub fn records_with(stdout: &[u8], fields: &[&str]) -> impl Iterator<Item = Value> {
    lines(stdout).filter_map(|line| record_with(line, fields))
}

/// Returns the lines of stdout, without their ends.
pub(super) fn lines(stdout: &[u8]) -> impl Iterator<Item = &[u8]> {
    stdout.split(|byte| *byte == b'\n')
}

/// Parses a line of stdout as a record, reduced to the fields in `fields`; the other fields are parsed and dropped.
pub(super) fn record_with(line: &[u8], fields: &[&str]) -> Option<Value> {
    read(line, |text| {
        let mut json = serde_json::Deserializer::from_str(text);
        let record = SomeFields(fields).deserialize(&mut json)?;
        json.end().map(|()| Value::Object(record))
    })
}

/// Parses the value of a line.
pub(super) fn value(line: &[u8]) -> Option<Value> {
    read(line, |text| serde_json::from_str(text))
}

/// Returns the records of a line that is a list of records, as some programs print it; empty for another line.
pub(super) fn list(line: &[u8]) -> Vec<Value> {
    match value(line) {
        Some(Value::Array(list)) if list.iter().all(Value::is_object) => list,
        _ => Vec::new(),
    }
}

/// Returns the fields of a record with these names as they are written; of a line that is no record none.
pub(super) fn raw_fields<const N: usize>(line: &[u8], names: &[&str; N]) -> [Option<String>; N] {
    let fields = read(line, |text| serde_json::from_str::<HashMap<String, Box<RawValue>>>(text));
    let mut fields = fields.unwrap_or_default();
    names.map(|name| fields.remove(name).map(|raw| raw.get().to_owned()))
}

/// Returns a text without the blanks around it; `None` if it is empty or no text.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Returns a text; empty if the value is not a text.
pub(super) fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the texts in a value, without its keys.
pub fn texts_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts_in).collect(),
        Value::Object(map) => map.values().flat_map(texts_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Applies `parse` to a line. An escape of half a character, which JSON allows and UTF-8 can't express, becomes U+FFFD.
fn read<T>(line: &[u8], parse: impl Fn(&str) -> serde_json::Result<T>) -> Option<T> {
    let text = match str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    };
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    parse(text).ok().or_else(|| {
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        parse(&without_halves(text)).ok()
    })
}

/// The names of the fields of an object that are parsed.
struct SomeFields<'f>(&'f [&'f str]);

impl<'de> DeserializeSeed<'de> for SomeFields<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for SomeFields<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = object.next_key_seed(NameAmong(self.0))? {
            match name {
                Some(name) => drop(fields.insert(name.to_owned(), object.next_value()?)),
                None => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(fields)
    }
}

/// The names among which a key is searched.
struct NameAmong<'f>(&'f [&'f str]);

impl<'de, 'f> DeserializeSeed<'de> for NameAmong<'f> {
    type Value = Option<&'f str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'f> Visitor<'_> for NameAmong<'f> {
    type Value = Option<&'f str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|name| **name == key).copied())
    }
}

/// Replaces every `\u` escape of half a character by one of U+FFFD.
fn without_halves(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at) = (0, 0);
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        let unit = |at: usize| {
            let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let length = match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&text[from..at]);
                out.push_str("\\ufffd");
                from = at + 6;
                6
            }
            Some(_) => 6,
            None => 2,
        };
        at = (at + length).min(bytes.len());
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The names of the tags around reasoning.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "antthinking"];

/// Returns a text of the model without the reasoning at its beginning; an unclosed tag is text.
pub(super) fn without_reasoning(text: &str) -> &str {
    let rest = || {
        let inner = text.trim_start().strip_prefix('<')?;
        let (name, inner) = inner.split_once('>')?;
        let name = name.trim().to_ascii_lowercase();
        let end = format!("</{name}>");
        let at = inner.to_ascii_lowercase().find(&end).filter(|_| TAGS.contains(&name.as_str()))?;
        Some(inner[at + end.len()..].trim_start())
    };
    rest().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn halves_of_characters_are_replaced() {
        let check = |line: &str, expect: Option<&str>| {
            let read = value(line.as_bytes()).map(|value| value.as_str().unwrap().to_owned());
            assert_eq!(read.as_deref(), expect, "{line}");
        };
        check(r#""\ud83d\ude00""#, Some("😀"));
        check(r#""a\ud83db""#, Some("a\u{fffd}b"));
        check(r#""\\ud83d \ude00""#, Some("\\ud83d \u{fffd}"));
        check("\u{feff}\"a\"", Some("a"));
        check(r#""a"#, None);
    }

    #[test]
    fn a_record_with_some_fields_is_the_record_without_the_others() {
        let check = |line: &str, expect: Option<Value>| {
            assert_eq!(record_with(line.as_bytes(), &["a", "b"]), expect, "{line}");
        };
        let line = r#"{"a":{"c":[1]},"c":{"a":2,"b":["x"]},"b":null}"#;
        check(line, Some(json!({"a": {"c": [1]}, "b": null})));
        check(r#"{"\u0061":1,"a":2,"c":"\ud83d"}"#, Some(json!({"a": 2})));
        check(r#"{"a":"\ud83d","c":3}"#, Some(json!({"a": "\u{fffd}"})));
        check(r#"{"c":1}"#, Some(json!({})));
        for line in [r#"{"a":1"#, r#"{"a":1}}"#, r#"{"c":[1}"#, r#"[{"a":1}]"#, "1", "", "null"] {
            check(line, None);
        }
    }
}
