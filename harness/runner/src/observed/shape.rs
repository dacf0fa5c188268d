//! Gathers the values at one place of the records: their types, their fields, how often they were seen, and in which
//! versions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use clitape_recording::names::CliVersion;

/// The fields with free values of a tool, a hook or a server, whose inside is not described.
const OPEN: [&str; 8] = [
    "_meta",
    "input",
    "json_schema",
    "structured_output",
    "tool_input",
    "tool_use_result",
    "updatedInput",
    "updated_input",
];
/// The objects whose keys are names, such as those of models or agents: every value has the same shape.
const MAPS: [&str; 3] = ["by_type", "modelUsage", "model_usage_since_last_result"];

/// A type of JSON. All numbers are one type, because a duration that was a whole number may become a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum JsonType {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl JsonType {
    /// Returns the type of a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Returns the keyword of JSON Schema.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// The kind of an object: its `type` and its `subtype`, where it has them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(super) kind: Option<String>,
    pub(super) subtype: Option<String>,
}

impl Tag {
    pub(crate) fn of(object: &Map<String, Value>) -> Self {
        let word = |key: &str| object.get(key)?.as_str().map(str::to_owned);
        Self { kind: word("type"), subtype: word("subtype") }
    }

    /// Returns whether the object has a kind at all.
    pub(crate) fn is_some(&self) -> bool {
        self.kind.is_some() || self.subtype.is_some()
    }

    /// Returns the name of the kind, such as `result/success`.
    pub(crate) fn name(&self) -> String {
        let words = [&self.kind, &self.subtype].into_iter().flatten();
        words.map(String::as_str).collect::<Vec<_>>().join("/")
    }
}

/// The number of times that something was seen, and the versions.
#[derive(Debug, Clone, Default)]
pub(super) struct Sightings {
    pub(super) count: u64,
    /// The versions, the oldest first.
    pub(super) versions: Vec<CliVersion>,
}

impl Sightings {
    fn add(&mut self, version: &CliVersion) {
        self.count += 1;
        if !self.versions.contains(version) {
            self.versions.push(version.clone());
            self.versions.sort_by(CliVersion::by_number);
        }
    }
}

/// The values that were seen at one place.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    pub(super) seen: Sightings,
    pub(super) types: BTreeSet<JsonType>,
    /// The first value that is not an array, an object or null.
    pub(super) example: Option<Value>,
    /// The objects, by their kinds; empty for a field with free values.
    pub(super) objects: BTreeMap<Tag, ObjectShape>,
    /// The items of the arrays.
    pub(super) items: Option<Box<Shape>>,
    /// The values of an object whose keys are names.
    pub(super) values: Option<Box<Shape>>,
}

/// The objects of one kind.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectShape {
    pub(super) seen: Sightings,
    /// The fields, in the order in which they first came.
    pub(super) fields: Vec<(String, Shape)>,
}

/// The way in which the inside of a value is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    Described,
    Open,
    Map,
}

impl Inside {
    pub(crate) fn of(field: &str) -> Self {
        match field {
            _ if OPEN.contains(&field) => Self::Open,
            _ if MAPS.contains(&field) => Self::Map,
            _ => Self::Described,
        }
    }
}

impl Shape {
    /// Adds a record, or another value whose inside is described.
    pub(super) fn add(&mut self, value: &Value, version: &CliVersion) {
        self.add_inside(value, version, Inside::Described);
    }

    fn add_inside(&mut self, value: &Value, version: &CliVersion, inside: Inside) {
        self.seen.add(version);
        self.types.insert(JsonType::of(value));
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.example.get_or_insert_with(|| value.clone());
            }
            Value::Array(_) | Value::Object(_) if inside == Inside::Open => {}
            Value::Array(items) => {
                let shape = self.items.get_or_insert_default();
                items.iter().for_each(|item| shape.add(item, version));
            }
            Value::Object(object) if inside == Inside::Map => {
                let shape = self.values.get_or_insert_default();
                object.values().for_each(|value| shape.add(value, version));
            }
            Value::Object(object) => {
                self.objects.entry(Tag::of(object)).or_default().add(object, version);
            }
        }
    }
}

impl ObjectShape {
    fn add(&mut self, object: &Map<String, Value>, version: &CliVersion) {
        self.seen.add(version);
        for (key, value) in object {
            let at = self.fields.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                self.fields.push((key.clone(), Shape::default()));
                self.fields.len() - 1
            });
            self.fields[at].1.add_inside(value, version, Inside::of(key));
        }
    }
}
