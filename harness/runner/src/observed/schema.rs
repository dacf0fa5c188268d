//! Writes the shapes as a JSON Schema (draft 2020-12).
//!
//! An object that has a `type` or a `subtype` is described by its kind: `allOf` has an `if` for each kind that was
//! seen, so that an unknown kind is valid. A field that was seen in every object of its kind is required. Annotations
//! have the facts for which JSON Schema has no keyword: `x-versions` (those in which a kind was seen), `x-seen` (in how
//! many objects of how many), `x-since` and `x-until` (the first and the last version with a field, where others with
//! its kind lack it).

use clitape_recording::text::{Keep, truncate};
use serde_json::{Map, Value, json};

use super::shape::{ObjectShape, Shape, Sightings, Tag};

/// The most columns of an example.
const LONGEST: usize = 60;
/// The description of the items of a list that was always empty.
const NOTHING: &str = "No item was seen.";
/// The description of a field that was always null.
const ONLY_NULL: &str = "Only null was seen.";

/// Returns the schema of all records.
pub(super) fn document(records: &Shape) -> Value {
    let name = |tag: &Tag| tag.name().replace('/', ".");
    let defs = records.objects.iter().map(|(tag, object)| {
        let mut schema = object_schema(object);
        schema.insert("x-seen".to_owned(), json!([object.seen.count, records.seen.count]));
        schema.insert("x-versions".to_owned(), json!(object.seen.versions));
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
            not wrong; `clitape conform` tells both.",
        "x-versions": records.seen.versions,
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

fn shape_schema(shape: &Shape) -> Map<String, Value> {
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
        schema.insert("items".to_owned(), Value::Object(shape_schema(items)));
    }
    if let Some(values) = &shape.values {
        schema.insert("additionalProperties".to_owned(), Value::Object(shape_schema(values)));
    }
    let is_tagged = shape.objects.keys().any(Tag::is_some);
    if is_tagged {
        let case = |(tag, object): (&Tag, &ObjectShape)| {
            let then = object_schema(object);
            json!({ "if": condition(tag, shape.objects.keys()), "then": then })
        };
        let tagged = shape.objects.iter().filter(|(tag, _)| tag.is_some());
        schema.insert("allOf".to_owned(), tagged.map(case).collect());
        if shape.objects.keys().all(|tag| tag.kind.is_some()) {
            schema.insert("properties".to_owned(), json!({ "type": { "type": "string" } }));
            schema.insert("required".to_owned(), json!(["type"]));
        }
    } else if let Some(object) = shape.objects.values().next() {
        schema.extend(object_schema(object));
    }
    if let Some(example) = &shape.example {
        schema.insert("examples".to_owned(), json!([shortened(example)]));
    }
    schema
}

fn object_schema(object: &ObjectShape) -> Map<String, Value> {
    let always = object.fields.iter().filter(|(_, field)| field.seen.count == object.seen.count);
    let required: Vec<&str> = always.map(|(name, _)| name.as_str()).collect();
    let fields = object.fields.iter().map(|(name, field)| {
        let mut schema = shape_schema(field);
        if !required.contains(&name.as_str()) {
            annotate(&mut schema, &field.seen, &object.seen);
        }
        (name.clone(), Value::Object(schema))
    });
    let mut schema = Map::new();
    schema.insert("properties".to_owned(), Value::Object(fields.collect()));
    schema.insert("required".to_owned(), json!(required));
    schema
}

/// Adds how often something was seen, and its first and last version, where other versions have its parent.
fn annotate(schema: &mut Map<String, Value>, seen: &Sightings, of: &Sightings) {
    schema.insert("x-seen".to_owned(), json!([seen.count, of.count]));
    let (own, all) = (&seen.versions, &of.versions);
    for (key, end, of_all) in
        [("x-since", own.first(), all.first()), ("x-until", own.last(), all.last())]
    {
        if end != of_all {
            schema.insert(key.to_owned(), json!(end));
        }
    }
}

/// Shortens an example that is a text.
fn shortened(example: &Value) -> Value {
    let cut = |text| json!(truncate(text, LONGEST, Keep::Start));
    example.as_str().map_or_else(|| example.clone(), cut)
}
