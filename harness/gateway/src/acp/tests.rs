//! The converter as a whole: the agent's records or bus events in, updates out. Every update is
//! held against the protocol's own types.

#![allow(clippy::needless_pass_by_value, reason = "`json!` borrows what a test hands over")]

pub(crate) mod cassettes;
pub(crate) mod deltas;
mod odd;
pub(crate) mod permissions;
pub(crate) mod random;
mod records;
mod situations;

use std::sync::{Arc, Mutex};

use agent_client_protocol_schema::v1::{SessionNotification, SessionUpdate};
use clitape_stream::{Event, Parser};
use serde_json::{Value, json};

use super::*;
use crate::bus::{Bus, lock};
use crate::ending::phase;
use crate::publish::Publisher;

fn settings(terminal: bool) -> AcpSettings {
    AcpSettings { session_id: "s1".into(), cwd: Some("/repo".into()), terminal }
}

/// Gives each of `data` to a converter as the event of a bus.
fn convert(converter: &mut AcpConverter, data: impl IntoIterator<Item = BusData>) -> Vec<Update> {
    let event = |data| BusEvent { run_id: "r1".into(), seq: 1, at: 0, data };
    let updates: Vec<_> = data.into_iter().flat_map(|data| converter.on(&event(data))).collect();
    updates.iter().for_each(|update| is_protocol(converter, update));
    updates
}

/// The bus data of a run that prints `records`.
fn published(records: &[Value]) -> Vec<BusData> {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    published_bytes(lines.as_bytes())
}

/// The bus data of a run that prints `stdout`.
fn published_bytes(stdout: &[u8]) -> Vec<BusData> {
    let bus = Bus::new("r1");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let _subscription = bus.subscribe(move |event| lock(&log).push(event.data.clone()));
    bus.publish(BusData::Lifecycle(Phase::Start));
    let mut publisher = Publisher::new(bus.clone());
    let mut sink = |event: Event<'_>| match &event {
        Event::Outcome(outcome) => bus.publish(BusData::Lifecycle(phase(outcome))),
        _ => publisher.publish(&event),
    };
    let mut parser = Parser::new();
    parser.feed_with(stdout, &mut sink);
    parser.finish_with(&mut sink);
    std::mem::take(&mut *lock(&seen))
}

/// Compares the updates for a client with or without terminals, of a run that prints `records` and
/// then ends.
fn check_with(terminal: bool, mut records: Vec<Value>, expect: &[&str]) {
    records.push(records::done(""));
    let mut converter = AcpConverter::new(settings(terminal));
    let updates = convert(&mut converter, published(&records));
    assert_eq!(show_all(&updates), expect);
}

fn check(records: Vec<Value>, expect: &[&str]) {
    check_with(false, records, expect);
}

/// The update is one the protocol knows, and its types keep all of it but defaults.
fn is_protocol(converter: &AcpConverter, update: &Update) {
    let ours = json!(update);
    let parsed: SessionUpdate = serde_json::from_value(ours.clone()).unwrap();
    assert_eq!(json!(parsed), without_defaults(ours.clone()), "{ours}");
    let envelope = json!(converter.notification(update));
    assert_eq!(envelope["method"], "session/update");
    let params: SessionNotification = serde_json::from_value(envelope["params"].clone()).unwrap();
    assert_eq!(&*params.session_id.0, "s1");
    assert_eq!(params.update, parsed);
}

/// An update without what the protocol's types do not write: the kind and the status that a new
/// call has anyway, and the old text of a diff that has none.
fn without_defaults(mut update: Value) -> Value {
    let is_new = update["sessionUpdate"] == "tool_call";
    let object = update.as_object_mut().unwrap();
    let is_default = |key: &str, value: &Value| {
        [("kind", "other"), ("status", "pending")]
            .contains(&(key, value.as_str().unwrap_or_default()))
    };
    object.retain(|key, value| !(is_new && is_default(key, value)));
    for content in object.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        content.as_object_mut().unwrap().retain(|key, value| key != "oldText" || !value.is_null());
    }
    update
}

/// An update in a few words: `say "Hi"`, `call t1 title="exec" …`, `more t1 status=completed`.
fn show(update: &Update) -> String {
    let chunk = |who: &str, chunk: &Chunk| {
        let message = chunk.message_id.as_deref().unwrap_or("-");
        let ContentBlock::Text { text } = &chunk.content else {
            panic!("a chunk of text: {chunk:?}")
        };
        format!("{who} {message} {text:?}{}", from(chunk.meta.as_ref()))
    };
    match update {
        Update::AgentMessageChunk(piece) => chunk("say", piece),
        Update::AgentThoughtChunk(piece) => chunk("think", piece),
        Update::ToolCall(call) => format!("call {}", show_call(call)),
        Update::ToolCallUpdate(call) => format!("more {}", show_call(call)),
        Update::Plan(plan) => {
            let entry = |e: &PlanEntry| {
                format!(" {:?} {} {}", e.content, word(&e.priority), word(&e.status))
            };
            let entries: String = plan.entries.iter().map(entry).collect();
            format!("plan{entries}{}", from(plan.meta.as_ref()))
        }
    }
}

fn word(value: &impl serde::Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

fn show_call(call: &ToolCallUpdate) -> String {
    let mut words = call.tool_call_id.clone();
    for (key, value) in json!(call).as_object().unwrap() {
        match key.as_str() {
            "toolCallId" | "_meta" => continue,
            "kind" | "status" => words += &format!(" {}", value.as_str().unwrap()),
            "content" => {
                let content = call.content.iter().flatten().map(show_content);
                words += &format!(" [{}]", content.collect::<Vec<_>>().join(", "));
            }
            key => words += &format!(" {key}={value}"),
        }
    }
    let Meta { terminal_info, terminal_output, terminal_exit, .. } = &call.meta;
    if terminal_info.is_some() {
        words += " +terminal";
    }
    if let Some(output) = terminal_output {
        words += &format!(" +output {:?}", output.data);
    }
    if let Some(exit) = terminal_exit {
        words += &format!(" +exit {}", json!(exit.exit_code));
    }
    words + &from(Some(&call.meta))
}

fn show_content(content: &CallContent) -> String {
    match content {
        CallContent::Content { content: ContentBlock::Text { text } } => format!("{text:?}"),
        CallContent::Content { content: ContentBlock::ResourceLink { uri, .. } } => {
            format!("<{uri}>")
        }
        CallContent::Diff { path, old_text, new_text } => {
            format!("{path} {} -> {new_text:?}", json!(old_text))
        }
        CallContent::Terminal { terminal_id } => format!("terminal {terminal_id}"),
    }
}

fn from(meta: Option<&Meta>) -> String {
    let parent = meta.and_then(|meta| meta.claude_code.parent_tool_call_id.as_deref());
    parent.map(|parent| format!(" <{parent}")).unwrap_or_default()
}

fn show_all(updates: &[Update]) -> Vec<String> {
    updates.iter().map(show).collect()
}
