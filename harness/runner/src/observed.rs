//! Makes a schema of the records in the cassettes.
//!
//! The CLI publishes no schema of its stream. [`observe`] makes one from the recordings of a workspace: each kind of
//! record, each field with its types, how often it was there and since which version. The module `conform` checks any
//! stream-json against it.
//!
//! The schema is a JSON Schema (draft 2020-12). An object that has a `type` or a `subtype` is described by its kind:
//! `allOf` has an `if` for each kind that was seen, so that an unknown kind is valid. A field that was seen in every
//! object of its kind is required. Annotations have the facts for which JSON Schema has no keyword: `x-versions` (those
//! in which an object was seen, if they are not those of the object around it), `x-seen` (in how many objects of how
//! many), `x-since` and `x-until` (the first and the last version with a field, where others with its kind lack it), and
//! `x-always-since` (the version from which on a field that is not required was in every object of its kind).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use clitape_recording::cassette::{Cassette, CassetteError, Origin};
use clitape_recording::facts::records;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::Workspace;
use clitape_recording::text::{Keep, truncate};
use serde_json::{Map, Value, json};

/// The reason why the recordings of a workspace can't be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A folder can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
}

/// Makes the schema of all records that the CLI itself printed in the recordings of a workspace. Captures that were
/// imported or edited by hand are left out, as are lines that are not records.
///
/// # Errors
///
/// [`ObserveError`] when a folder or a cassette can't be read.
pub fn observe(workspace: &Workspace) -> Result<Value, ObserveError> {
    let mut shape = Shape::default();
    for name in workspace.recorded_names()? {
        for version in workspace.recorded(&name)? {
            let cassette = Cassette::find(workspace, &name, &version)?;
            if cassette.manifest.origin == Origin::Recorded {
                shape.add_cassette(&cassette);
            }
        }
    }
    Ok(document(&shape))
}

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
    kind: Option<String>,
    subtype: Option<String>,
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

    /// Returns whether the object has a `type`.
    pub(crate) fn has_type(&self) -> bool {
        self.kind.is_some()
    }

    /// Returns the name of the kind, such as `result/success`.
    pub(crate) fn name(&self) -> String {
        let words = [&self.kind, &self.subtype].into_iter().flatten();
        words.map(String::as_str).collect::<Vec<_>>().join("/")
    }
}

/// The source of a record: the scenario for which it was recorded, and the version of the CLI that printed it.
#[derive(Debug, Clone, Copy)]
struct Printed<'a> {
    scenario: &'a ScenarioName,
    version: &'a CliVersion,
}

/// The number of times that something was seen, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sightings {
    pub(crate) count: u64,
    /// How often it was seen in each version.
    versions: BTreeMap<CliVersion, u64>,
    pub(crate) scenarios: BTreeSet<ScenarioName>,
}

impl Sightings {
    fn add(&mut self, of: Printed<'_>) {
        self.count += 1;
        match self.versions.get_mut(of.version) {
            Some(count) => *count += 1,
            None => drop(self.versions.insert(of.version.clone(), 1)),
        }
        insert(&mut self.scenarios, of.scenario);
    }

    /// Returns the versions, the oldest first.
    fn versions(&self) -> Vec<&CliVersion> {
        let mut versions: Vec<_> = self.versions.keys().collect();
        versions.sort_by(|one, other| one.by_number(other));
        versions
    }

    /// Returns the version of `of` from which on this was seen each time that its parent `of` was; `None` if it was
    /// missing in the newest version.
    fn always_since<'a>(&self, of: &'a Self) -> Option<&'a CliVersion> {
        let is_full = |version: &&CliVersion| {
            self.versions.get(*version).is_some_and(|count| *count == of.versions[*version])
        };
        of.versions().into_iter().rev().take_while(is_full).last()
    }
}

/// Inserts a name, with a copy only if it is new.
fn insert<T: Ord + Clone>(names: &mut BTreeSet<T>, name: &T) {
    if !names.contains(name) {
        names.insert(name.clone());
    }
}

/// The values that were seen at one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) seen: Sightings,
    pub(crate) types: BTreeSet<JsonType>,
    /// The first value that is not an array, an object or null.
    example: Option<Value>,
    /// The beginning of the first value that is not null.
    pub(crate) excerpt: String,
    pub(crate) words: SeenWords,
    /// The objects, by their kinds; empty for a field with free values.
    pub(crate) objects: BTreeMap<Tag, ObjectShape>,
    /// The items of the arrays.
    pub(crate) items: Option<Box<Shape>>,
    /// The values of an object whose keys are names.
    pub(crate) values: Option<Box<Shape>>,
}

/// The objects of one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectShape {
    pub(crate) seen: Sightings,
    /// The fields, in the order in which they first came.
    pub(crate) fields: Vec<(String, Shape)>,
    /// The orders in which the keys came.
    pub(crate) orders: BTreeSet<Vec<String>>,
    /// The beginning of the first object.
    pub(crate) excerpt: String,
}

/// The texts at one place, as far as they may be words of a closed set.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenWords {
    /// The words with the scenarios that have them.
    seen: BTreeMap<String, BTreeSet<ScenarioName>>,
    /// True if some text is not a word, or there are too many.
    is_open: bool,
}

/// The most words of a closed set; a field with more counts as open.
const WORDS: usize = 64;
/// The most characters of a word of a closed set.
const WORD: usize = 48;
/// The most columns of the beginning of a value.
const EXCERPT: usize = 100;

impl SeenWords {
    /// Adds a text, or marks the set as open.
    fn add(&mut self, text: &str, scenario: &ScenarioName) {
        if self.is_open || self.seen.len() > WORDS || !is_word(text) {
            *self = Self { is_open: true, ..Self::default() };
            return;
        }
        insert(self.seen.entry(text.to_owned()).or_default(), scenario);
    }

    /// Returns the words of a closed set; `None` for an open one.
    pub(crate) fn closed(&self) -> Option<&BTreeMap<String, BTreeSet<ScenarioName>>> {
        (!self.is_open).then_some(&self.seen)
    }
}

/// Returns whether a text may be a word of a closed set: it has no space, is short, and does not look like an id that a
/// machine made.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:*()".contains(c);
    let hex = text.chars().filter(char::is_ascii_hexdigit).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_made = digits > 6 || (text.len() >= 16 && hex * 10 > text.len() * 9);
    !text.is_empty() && text.len() <= WORD && text.chars().all(is_plain) && !is_made
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
    /// Adds the records of all runs of a cassette; a line without a `type` is left out.
    pub(crate) fn add_cassette(&mut self, cassette: &Cassette) {
        let of = Printed { scenario: &cassette.manifest.scenario, version: cassette.version() };
        for stdout in cassette.outputs() {
            let typed = records(stdout).filter(|record| record["type"].is_string());
            typed.for_each(|record| self.add(&record, of));
        }
    }

    /// Adds a record, or another value whose inside is described.
    fn add(&mut self, value: &Value, of: Printed<'_>) {
        self.add_inside(value, of, Inside::Described);
    }

    fn add_inside(&mut self, value: &Value, of: Printed<'_>, inside: Inside) {
        self.seen.add(of);
        self.types.insert(JsonType::of(value));
        if self.excerpt.is_empty() || self.excerpt == "null" {
            self.excerpt = beginning(value, EXCERPT);
        }
        if let Value::String(text) = value
            && **text != **of.version
        {
            self.words.add(text, of.scenario);
        }
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.example.get_or_insert_with(|| value.clone());
            }
            Value::Array(_) | Value::Object(_) if inside == Inside::Open => {}
            Value::Array(items) => {
                let shape = self.items.get_or_insert_default();
                items.iter().for_each(|item| shape.add(item, of));
            }
            Value::Object(object) if inside == Inside::Map => {
                let shape = self.values.get_or_insert_default();
                object.values().for_each(|value| shape.add(value, of));
            }
            Value::Object(object) => {
                let shape = self.objects.entry(Tag::of(object)).or_default();
                shape.add(object, of);
                if shape.excerpt.is_empty() {
                    shape.excerpt = beginning(value, EXCERPT);
                }
            }
        }
    }
}

impl ObjectShape {
    fn add(&mut self, object: &Map<String, Value>, of: Printed<'_>) {
        self.seen.add(of);
        self.orders.insert(object.keys().cloned().collect());
        for (key, value) in object {
            let at = self.fields.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                self.fields.push((key.clone(), Shape::default()));
                self.fields.len() - 1
            });
            self.fields[at].1.add_inside(value, of, Inside::of(key));
        }
    }
}

/// The most columns of an example, and of a value in a sentence.
pub(crate) const LONGEST: usize = 60;
/// The description of the items of a list that was always empty.
const NOTHING: &str = "No item was seen.";
/// The description of a field that was always null.
const ONLY_NULL: &str = "Only null was seen.";

/// Returns the schema of all records.
fn document(records: &Shape) -> Value {
    let name = |tag: &Tag| tag.name().replace('/', ".");
    let defs = records.objects.iter().map(|(tag, object)| {
        let mut schema = object_schema(object, None);
        schema.insert("x-seen".to_owned(), json!([object.seen.count, records.seen.count]));
        (name(tag), Value::Object(schema))
    });
    let of_kind = |tag: &Tag| format!("#/$defs/{}", name(tag));
    let cases: Vec<Value> = records
        .objects
        .keys()
        .map(|tag| {
            let case = condition(tag, records.objects.keys());
            json!({ "if": case, "then": { "$ref": of_kind(tag) } })
        })
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The records that claude prints with --output-format stream-json",
        "description": "Made from the recordings by `clitape schema`. A kind or a field that is not here is new, \
            not wrong; `clitape conform` lists both.",
        "x-versions": records.seen.versions(),
        "type": "object",
        "required": ["type"],
        "allOf": cases,
        "$defs": defs.collect::<Map<_, _>>(),
    })
}

/// Returns the condition for an object of this kind. It excludes a subtype if another kind has the same type and one.
fn condition<'a>(tag: &Tag, mut all: impl Iterator<Item = &'a Tag>) -> Value {
    let words = [("type", &tag.kind), ("subtype", &tag.subtype)];
    let has = words.iter().filter_map(|(key, word)| Some((*key, word.as_ref()?)));
    let properties: Map<String, Value> =
        has.clone().map(|(key, word)| (key.to_owned(), json!({ "const": word }))).collect();
    let required: Vec<&str> = has.map(|(key, _)| key).collect();
    let mut condition = json!({ "properties": properties, "required": required });
    if tag.subtype.is_none() && all.any(|other| other.kind == tag.kind && other != tag) {
        condition["not"] = json!({ "required": ["subtype"] });
    }
    condition
}

/// Returns the schema of the values at a place, in an object that was seen in `around`.
fn shape_schema(shape: &Shape, around: &Sightings) -> Map<String, Value> {
    let mut schema = Map::new();
    let types: Vec<&str> = shape.types.iter().map(|one| one.word()).collect();
    match types[..] {
        [] | ["null"] => {
            let description = if types.is_empty() { NOTHING } else { ONLY_NULL };
            schema.insert("description".to_owned(), json!(description));
            return schema;
        }
        [one] => schema.insert("type".to_owned(), json!(one)),
        _ => schema.insert("type".to_owned(), json!(types)),
    };
    if let Some(items) = &shape.items {
        schema.insert("items".to_owned(), Value::Object(shape_schema(items, around)));
    }
    if let Some(values) = &shape.values {
        schema
            .insert("additionalProperties".to_owned(), Value::Object(shape_schema(values, around)));
    }
    let is_tagged = shape.objects.keys().any(Tag::is_some);
    if is_tagged {
        let case = |(tag, object): (&Tag, &ObjectShape)| {
            let then = object_schema(object, Some(around));
            json!({ "if": condition(tag, shape.objects.keys()), "then": then })
        };
        let tagged = shape.objects.iter().filter(|(tag, _)| tag.is_some());
        schema.insert("allOf".to_owned(), tagged.map(case).collect());
        if shape.objects.keys().all(|tag| tag.kind.is_some()) {
            schema.insert("properties".to_owned(), json!({ "type": { "type": "string" } }));
            schema.insert("required".to_owned(), json!(["type"]));
        }
    } else if let Some(object) = shape.objects.values().next() {
        schema.extend(object_schema(object, Some(around)));
    }
    if let Some(example) = &shape.example {
        schema.insert("examples".to_owned(), json!([shortened(example)]));
    }
    schema
}

/// Returns the schema of the objects of a kind. They have their versions if these are not those of the object `around`.
fn object_schema(object: &ObjectShape, around: Option<&Sightings>) -> Map<String, Value> {
    let always = object.fields.iter().filter(|(_, field)| field.seen.count == object.seen.count);
    let required: Vec<&str> = always.map(|(name, _)| name.as_str()).collect();
    let fields = object.fields.iter().map(|(name, field)| {
        let mut schema = shape_schema(field, &object.seen);
        if !required.contains(&name.as_str()) {
            annotate(&mut schema, &field.seen, &object.seen);
        }
        (name.clone(), Value::Object(schema))
    });
    let mut schema = Map::new();
    schema.insert("properties".to_owned(), Value::Object(fields.collect()));
    schema.insert("required".to_owned(), json!(required));
    if around.is_none_or(|around| around.versions() != object.seen.versions()) {
        schema.insert("x-versions".to_owned(), json!(object.seen.versions()));
    }
    schema
}

/// Adds how often something was seen, its first and last version, where other versions have its parent, and the version
/// from which on it was always there.
fn annotate(schema: &mut Map<String, Value>, seen: &Sightings, of: &Sightings) {
    schema.insert("x-seen".to_owned(), json!([seen.count, of.count]));
    let (own, all) = (seen.versions(), of.versions());
    for (key, end, of_all) in
        [("x-since", own.first(), all.first()), ("x-until", own.last(), all.last())]
    {
        if end != of_all {
            schema.insert(key.to_owned(), json!(end));
        }
    }
    if let Some(since) = seen.always_since(of) {
        schema.insert("x-always-since".to_owned(), json!(since));
    }
}

/// Shortens an example that is a text.
fn shortened(example: &Value) -> Value {
    let cut = |text| json!(truncate(text, LONGEST, Keep::Start));
    example.as_str().map_or_else(|| example.clone(), cut)
}

/// Returns the beginning of a value, of so many columns.
pub(crate) fn beginning(value: &Value, columns: usize) -> String {
    truncate(&value.to_string(), columns, Keep::Start).into_owned()
}

#[cfg(test)]
pub(crate) mod tests;
