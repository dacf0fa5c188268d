//! `schemas/trace.json` states what the lifecycle events serialise to.
//!
//! The part about the `lifecycle` lane is generated from the events' types; the rest is written by
//! hand. `UPDATE_SCHEMA=1 cargo test --test schema` brings it up to date.

#![allow(clippy::expect_used, reason = "a schema that can't be read fails the test")]

#[macro_use]
mod common;
#[path = "held_by/schema.rs"]
mod held_by;

use std::path::Path;

use clitape_stream::Event;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Where the generated entries and the types they name stand in the schema.
const ENTRIES: &str = "lifecycle";
/// What the names of the types begin with, beside those of the other lanes.
const PREFIX: &str = "lifecycle.";

/// The schema with its generated part as it should be.
fn current(committed: &str) -> String {
    let mut trace: Value = serde_json::from_str(committed).expect("the schema is JSON");
    let generator = SchemaSettings::draft2020_12().into_generator();
    let events = generator.into_root_schema_for::<Event<'_>>().to_value().to_string();
    let events = events.replace("#/$defs/", &format!("#/$defs/{PREFIX}"));
    let events = without_links(&events);
    let events: Value = serde_json::from_str(&events).expect("a schema is JSON");
    let defs = trace["$defs"].as_object_mut().expect("the schema has definitions");
    defs.retain(|name, _| !name.starts_with(PREFIX));
    defs.insert(ENTRIES.to_owned(), json!({ "oneOf": events["oneOf"] }));
    for (name, schema) in events["$defs"].as_object().into_iter().flatten() {
        defs.insert(format!("{PREFIX}{name}"), schema.clone());
    }
    serde_json::to_string_pretty(&trace).expect("JSON prints") + "\n"
}

/// The text with the name alone of each item that a doc comment links to, as in ``[U4](crate::rules::U4)``.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](crate::");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let (name, rest) = (before.rfind('['), part.split_once(')'));
        let (name, (_, rest)) = (name.expect("a link begins"), rest.expect("a link ends"));
        [&before[..name], &before[name + 1..], rest].concat()
    })
}

#[test]
fn the_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/trace.json");
    let committed = std::fs::read_to_string(&path).expect("the schema is there");
    let current = current(&committed);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &current).expect("the schema can be written");
    }
    assert!(
        committed == current,
        "schemas/trace.json is out of date; run `UPDATE_SCHEMA=1 cargo test --test schema`"
    );
}

#[test]
fn every_kind_of_the_golden_traces_is_in_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema: Map<String, Value> =
        serde_json::from_slice(&std::fs::read(root.join("schemas/trace.json")).expect("there"))
            .expect("JSON");
    for (lane, kind) in [(ENTRIES, "text"), ("session", "verdict")] {
        let entries = schema["$defs"][lane]["oneOf"].as_array().expect("a list");
        let kinds: Vec<_> =
            entries.iter().map(|entry| entry["properties"]["kind"]["const"].clone()).collect();
        assert!(kinds.contains(&kind.into()), "{kinds:?}");
        let goldens = walkdir::WalkDir::new(root.join("scenarios")).into_iter().flatten();
        let of_lane = goldens.filter(|file| file.file_name().to_string_lossy().starts_with(lane));
        let mut seen = 0;
        for file in of_lane {
            let text = std::fs::read_to_string(file.path()).expect("a golden is text");
            for line in text.lines().filter(|line| line.starts_with("{\"at\"")) {
                let entry: Value = serde_json::from_str(line).expect("an entry is JSON");
                assert!(kinds.contains(&entry["kind"]), "{line}");
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen} entries seen in {lane}");
    }
}
