//! Checks stream-json against the observed schema, and lists what is wrong and what is new.
//!
//! Only the keywords that [`super::schema`] writes are read. A type that was never seen at its place and a missing
//! required field are wrong. An unknown kind or field, and a line that is not a record, are new: a reader of the stream
//! has to pass over them.

use std::collections::BTreeMap;

use clitape_recording::facts::read_record;
use clitape_recording::text::{Keep, truncate};
use serde::Serialize;
use serde_json::{Map, Value};

use super::shape::{JsonType, Tag};

/// The most columns of a value in a sentence.
const LONGEST: usize = 60;
/// The sentence about an object without a type, at a place where every object has one.
const NO_TYPE: &str = "has no `type` that is a text";
/// The sign for the number of an array's item, where all items count as one place.
const ANY_ITEM: &str = "*";

/// A place where a line violates the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// The place in the record, as a JSON Pointer (RFC 6901); empty for the whole record.
    pub pointer: String,
    /// The kind of the record, such as `result/success`.
    pub record: String,
    /// The violation, in a sentence without the place.
    pub sentence: String,
}

/// A kind, a field or a line that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct New {
    /// The first line with it, from 1.
    pub line: usize,
    /// Its place there, as a JSON Pointer.
    pub pointer: String,
    /// The kind of the record.
    pub record: String,
    /// The description, in a sentence without the place.
    pub sentence: String,
    /// The number of times that it was seen.
    pub count: usize,
}

/// The differences of a file from the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// The number of records.
    pub records: usize,
    /// The violations, in the order of the lines.
    pub wrong: Vec<Wrong>,
    /// The new kinds, fields and lines, in the order in which they came.
    pub new: Vec<New>,
}

/// Checks the lines of `bytes` against the observed schema.
pub fn conform(schema: &Value, bytes: &[u8]) -> Conformance {
    let mut reader = Reader {
        schema,
        line: 0,
        record: String::new(),
        found: Conformance::default(),
        seen: BTreeMap::new(),
    };
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        reader.line = number;
        reader.record.clear();
        if !line.trim_ascii().is_empty() {
            reader.read(line);
        }
    }
    reader.found
}

struct Reader<'a> {
    schema: &'a Value,
    line: usize,
    record: String,
    found: Conformance,
    /// The index of each new thing in the list, by its record, its place and its description.
    seen: BTreeMap<(String, String, String), usize>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &[u8]) {
        let Some(Value::Object(record)) = read_record(line) else {
            self.tell_new("", "is no record".to_owned());
            return;
        };
        self.found.records += 1;
        let tag = Tag::of(&record);
        self.record = tag.name();
        if tag.kind.is_none() {
            self.wrong("", NO_TYPE.to_owned());
            return;
        }
        let mut cases = cases(self.schema, &record).peekable();
        if cases.peek().is_none() {
            self.tell_new("", "is a kind of record that was never seen".to_owned());
        }
        for case in cases {
            self.object(self.definition(case), &record, "");
        }
    }

    /// Returns the schema that a `$ref` names, or the schema itself.
    fn definition(&self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| &self.schema["$defs"][name])
    }

    fn value(&mut self, schema: &'a Value, value: &Value, pointer: &str) {
        let word = JsonType::of(value).word();
        let (fits, expected) = match &schema["type"] {
            Value::String(one) => (one == word, one.clone()),
            Value::Array(several) => {
                let words: Vec<_> = several.iter().filter_map(Value::as_str).collect();
                (words.contains(&word), words.join(" or "))
            }
            _ => (true, String::new()),
        };
        if !fits {
            self.wrong(pointer, format!("is {}, where only {expected} was seen", excerpt(value)));
            return;
        }
        match value {
            Value::Array(items) if schema["items"].is_object() => {
                for (at, item) in items.iter().enumerate() {
                    self.value(&schema["items"], item, &format!("{pointer}/{at}"));
                }
            }
            Value::Object(object) if schema["additionalProperties"].is_object() => {
                for (key, value) in object {
                    self.value(
                        &schema["additionalProperties"],
                        value,
                        &format!("{pointer}/{}", escaped(key)),
                    );
                }
            }
            Value::Object(object) if schema["allOf"].is_array() => {
                if Tag::of(object).kind.is_none() && schema["required"].is_array() {
                    self.wrong(pointer, NO_TYPE.to_owned());
                    return;
                }
                let mut cases = cases(schema, object).peekable();
                let tag = Tag::of(object);
                if cases.peek().is_none() && tag.is_some() {
                    self.tell_new(
                        pointer,
                        format!("is a `{}`, which was never seen there", tag.name()),
                    );
                }
                for case in cases {
                    self.object(case, object, pointer);
                }
            }
            Value::Object(object) if schema["properties"].is_object() => {
                self.object(schema, object, pointer);
            }
            _ => {}
        }
    }

    fn object(&mut self, schema: &'a Value, object: &Map<String, Value>, pointer: &str) {
        let required =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for missing in required.filter(|name| !object.contains_key(*name)) {
            self.wrong(pointer, format!("has no `{missing}`, which was always there"));
        }
        for (key, value) in object {
            let pointer = format!("{pointer}/{}", escaped(key));
            match schema["properties"].get(key) {
                Some(field) => self.value(field, value, &pointer),
                None => self.tell_new(
                    &pointer,
                    format!("is a field that was never seen: {}", excerpt(value)),
                ),
            }
        }
    }

    fn wrong(&mut self, pointer: &str, sentence: String) {
        let (line, record) = (self.line, self.record.clone());
        self.found.wrong.push(Wrong { line, pointer: pointer.to_owned(), record, sentence });
    }

    /// Adds a new thing; if it is known at the same place of the same kind of record, counts it.
    fn tell_new(&mut self, pointer: &str, sentence: String) {
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let place: Vec<&str> =
            pointer.split('/').map(|part| if is_number(part) { ANY_ITEM } else { part }).collect();
        let what = sentence.split(':').next().unwrap_or_default().to_owned();
        let key = (self.record.clone(), place.join("/"), what);
        if let Some(at) = self.seen.get(&key) {
            self.found.new[*at].count += 1;
            return;
        }
        self.seen.insert(key, self.found.new.len());
        let (line, record) = (self.line, self.record.clone());
        self.found.new.push(New { line, pointer: pointer.to_owned(), record, sentence, count: 1 });
    }
}

/// Returns the schemas of the kinds that an object has.
fn cases<'a>(schema: &'a Value, object: &Map<String, Value>) -> impl Iterator<Item = &'a Value> {
    let cases = schema["allOf"].as_array().into_iter().flatten();
    cases.filter(|case| applies(&case["if"], object)).map(|case| &case["then"])
}

/// Returns whether an object meets a condition.
fn applies(condition: &Value, object: &Map<String, Value>) -> bool {
    let constants = condition["properties"].as_object().into_iter().flatten();
    let absent = condition["not"]["required"].as_array().into_iter().flatten();
    constants.into_iter().all(|(key, value)| object.get(key) == Some(&value["const"]))
        && !absent.filter_map(Value::as_str).any(|key| object.contains_key(key))
}

/// Escapes a key for a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns the beginning of a value.
fn excerpt(value: &Value) -> String {
    truncate(&value.to_string(), LONGEST, Keep::Start).into_owned()
}
