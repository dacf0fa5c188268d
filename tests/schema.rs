//! Tests that `schemas/trace.json` describes the serialised lifecycle events.
//!
//! The part about the `lifecycle` lane is generated from the events' types; the rest is written by
//! hand. `UPDATE_SCHEMA=1 cargo test --test schema` brings it up to date.

#![allow(clippy::expect_used, clippy::panic, reason = "a schema that can't be read fails the test")]

#[macro_use]
mod common;
#[path = "schema/corpus.rs"]
mod corpus;
#[path = "schema/stream_json.rs"]
mod stream_json;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use clitape_recording::trace::Entry;
use clitape_rig::chat_server::{ChatServer, ChatServerSettings, PressTarget};
use clitape_stream::{EVENT_KINDS, Event};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The key in the schema that has the generated entries and their types.
const ENTRIES: &str = "lifecycle";
/// The prefix of the generated types' names, which keeps them apart from those of the other lanes.
const PREFIX: &str = "lifecycle.";

/// Returns the schema with its generated part as it should be.
fn current(committed: &str) -> String {
    let mut trace: Value = serde_json::from_str(committed).expect("the schema is JSON");
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
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

/// Returns the text with only the name of each item that a doc comment links to, such as ``[U4](crate::rules::U4)``.
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
        assert!(lane != ENTRIES || kinds == EVENT_KINDS, "{kinds:?}");
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

/// Checks that a value fits a schema, for the keywords that this project's schemas use: constants, lists of values,
/// types, fields, references, options and conditions. The error names the misfit.
fn fits(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    if let Some(place) = schema["$ref"].as_str() {
        let place = place.strip_prefix('#').expect("a reference is within the schema");
        return fits(value, root.pointer(place).expect("it is there"), root);
    }
    let is_type = |name: &Value| match name.as_str().expect("a type has a name") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other} is not known here"),
    };
    let is_allowed = match schema.get("type") {
        None => true,
        Some(Value::Array(types)) => types.iter().any(is_type),
        Some(name) => is_type(name),
    } && schema.get("const").is_none_or(|wanted| wanted == value)
        && schema["enum"].as_array().is_none_or(|list| list.contains(value))
        && schema.get("not").is_none_or(|unwanted| fits(value, unwanted, root).is_err());
    if !is_allowed {
        return Err(schema.to_string());
    }
    let all = |key: &str| schema[key].as_array().into_iter().flatten();
    all("allOf").try_for_each(|part| fits(value, part, root))?;
    for key in ["oneOf", "anyOf"] {
        let fitting = all(key).filter(|option| fits(value, option, root).is_ok()).count();
        if schema.get(key).is_some() && (fitting == 0 || fitting > 1 && key == "oneOf") {
            return Err(format!("{fitting} options of {} {key}", all(key).count()));
        }
    }
    if schema.get("if").is_some_and(|when| fits(value, when, root).is_ok()) {
        fits(value, &schema["then"], root)?;
    }
    for item in value.as_array().into_iter().flatten().filter(|_| schema["items"].is_object()) {
        fits(item, &schema["items"], root)?;
    }
    for name in all("required") {
        value.get(name.as_str().expect("a name")).ok_or(format!("without {name}"))?;
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => fits(field, schema, root)?,
            None if schema["additionalProperties"] == false => return Err(format!("with {name}")),
            None => {}
        }
    }
    Ok(())
}

#[test]
fn every_entry_of_goldens_and_of_the_chat_server_fits_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(root.join("schemas/trace.json")).expect("there");
    let schema: Value = serde_json::from_slice(&text).expect("JSON");
    let files = walkdir::WalkDir::new(root.join("scenarios")).into_iter().flatten();
    let goldens = files.filter(|file| file.path().extension().is_some_and(|name| name == "snap"));
    let texts = goldens.map(|file| std::fs::read_to_string(file.path()).expect("a golden is text"));
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let goldens: Vec<String> = lines.filter(|line| line.starts_with("{\"at\"")).collect();
    let served = served();
    for line in goldens.iter().chain(&served) {
        let entry = serde_json::from_str(line).expect("an entry is JSON");
        fits(&entry, &schema, &schema).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    assert!(goldens.len() > 10_000 && served.len() == CALLS.len() + 3, "{served:#?}");
    let wrong = r#"{"at":1,"lane":"telegram","kind":"sendMessage","data":{"label":"of a press"}}"#;
    assert!(fits(&serde_json::from_str(wrong).expect("JSON"), &schema, &schema).is_err());
}

/// The calls of a bot in a chat whose person has written message 1. The third is refused, and the last but one has an
/// unknown method.
const CALLS: [(&str, &str); 17] = [
    ("sendChatAction", r#""action":"typing""#),
    (
        "sendMessage",
        r#""text":"<b>May I?</b>","parse_mode":"HTML","reply_parameters":{"message_id":1},"reply_markup":{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}"#,
    ),
    ("sendMessage", r#""text":"<b>","parse_mode":"HTML""#),
    (
        "editMessageText",
        r#""message_id":2,"text":"May I, please?","reply_markup":{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}"#,
    ),
    ("answerCallbackQuery", r#""callback_query_id":"1","text":"Thanks""#),
    ("editMessageReplyMarkup", r#""message_id":2"#),
    ("setMessageReaction", r#""message_id":1,"reaction":[{"type":"emoji","emoji":"👍"}]"#),
    ("sendMessageDraft", r#""draft_id":7,"text":"A draft""#),
    ("sendMessageDraft", r#""draft_id":7,"text":"A","can_stop":true,"keep_on_stop":true"#),
    ("sendRichMessageDraft", r##""draft_id":7,"rich_message":{"markdown":"# A"},"can_stop":true"##),
    ("sendRichMessage", r##""rich_message":{"markdown":"# A"}"##),
    (
        "sendMediaGroup",
        r#""media":[{"type":"photo","media":"http://127.0.0.1/a","caption":"*a*","parse_mode":"MarkdownV2"},{"type":"photo","media":"http://127.0.0.1/b"}]"#,
    ),
    ("pinChatMessage", r#""message_id":2"#),
    ("deleteMessage", r#""message_id":2"#),
    ("createForumTopic", r#""name":"News""#),
    ("sendCarrierPigeon", r#""text":"coo""#),
    ("deleteMessages", r#""message_ids":[1]"#),
];

/// Returns the entries of a chat in which a bot makes these calls; the person presses the button before
/// it is answered, and stops the last draft.
fn served() -> Vec<String> {
    let server =
        ChatServer::start(ChatServerSettings::default(), Arc::default()).expect("a server");
    server.say(5, "Hello").expect("a message");
    for (method, params) in CALLS {
        if method == "answerCallbackQuery" {
            server.press(5, PressTarget::Last, "Yes").expect("a button");
        }
        if method == "sendRichMessage" {
            server.stop_draft(5, None).expect("a draft");
        }
        let url = server.url();
        let address = url.strip_prefix("http://").expect("it is http");
        let body = format!("{{\"chat_id\":5,{params}}}");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let (token, length) = (server.token(), body.len());
        write!(
            stream,
            "POST /bot{token}/{method} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
    }
    server.entries(5).iter().map(Entry::to_line).collect()
}
