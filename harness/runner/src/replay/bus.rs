//! Writes bus events as entries of the `bus` lane: the envelope's `seq` and `run_id`, then the
//! event's own fields. The kind is the stream.

use clitape_gateway::{BusData, BusEvent, Notice, Phase, Tool};
use serde_json::{Map, Value, json};

use super::trace::object;

/// Data of the entry for `event`.
pub(super) fn data(event: &BusEvent) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("seq".into(), event.seq.into());
    data.insert("run_id".into(), event.run_id.as_ref().into());
    let own = match &event.data {
        BusData::Assistant { message_id, delta, length, parent }
        | BusData::Thinking { message_id, delta, length, parent } => json!({
            "message_id": message_id, "delta": delta, "length": length, "parent": parent,
        }),
        BusData::Retract { length, thinking_length, calls, parent, .. } => json!({
            "retract": true, "length": length, "thinking_length": thinking_length,
            "calls": Some(calls).filter(|calls| !calls.is_empty()), "parent": parent,
        }),
        BusData::Tool(tool) => tool_fields(tool),
        BusData::Notice(Notice { kind, subtype, detail }) => json!({
            "type": kind, "subtype": subtype, "detail": detail,
        }),
        BusData::Lifecycle(Phase::Start) => json!({ "phase": "start" }),
        BusData::Lifecycle(Phase::End { text }) => json!({ "phase": "end", "text": text }),
        BusData::Lifecycle(Phase::Error { kind, message }) => {
            json!({ "phase": "error", "error": { "kind": kind.as_str(), "message": message } })
        }
        other => json!({ "raw": format!("{other:?}") }),
    };
    data.extend(object(own).into_iter().filter(|(_, value)| !value.is_null()));
    data
}

fn tool_fields(tool: &Tool) -> Value {
    match tool {
        Tool::Update { id, name, title, args, parent } => json!({
            "phase": "update", "id": id, "name": name, "title": title, "args": args,
            "parent": parent,
        }),
        Tool::Start { id, name, title, args, truncated, parent } => json!({
            "phase": "start", "id": id, "name": name, "title": title, "args": args,
            "truncated": truncated, "parent": parent,
        }),
        Tool::Result { id, name, is_error, result, incomplete, parent } => json!({
            "phase": "result", "id": id, "name": name, "is_error": is_error, "result": result,
            "incomplete": incomplete.map(|why| why.as_str()), "parent": parent,
        }),
    }
}
