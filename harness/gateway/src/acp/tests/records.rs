//! The CLI's records, as short as tests want them.

use serde_json::{Value, json};

/// One event of the API on the main thread.
pub(super) fn stream(event: Value) -> Value {
    json!({"type": "stream_event", "event": event, "parent_tool_use_id": null})
}

/// The record as one of the subagent that `parent` runs.
pub(super) fn under(parent: &str, mut record: Value) -> Value {
    record["parent_tool_use_id"] = parent.into();
    record
}

pub(super) fn message(id: &str) -> Value {
    stream(json!({"type": "message_start", "message": {"id": id, "content": []}}))
}

pub(super) fn block(index: u64, block: Value) -> Value {
    stream(json!({"type": "content_block_start", "index": index, "content_block": block}))
}

pub(super) fn text(index: u64) -> Value {
    block(index, json!({"type": "text", "text": ""}))
}

pub(super) fn delta(index: u64, kind: &str, key: &str, piece: &str) -> Value {
    stream(json!({
        "type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece},
    }))
}

pub(super) fn said(index: u64, piece: &str) -> Value {
    delta(index, "text_delta", "text", piece)
}

pub(super) fn input(index: u64, piece: &str) -> Value {
    delta(index, "input_json_delta", "partial_json", piece)
}

pub(super) fn stop(index: u64) -> Value {
    stream(json!({"type": "content_block_stop", "index": index}))
}

pub(super) fn over() -> Value {
    stream(json!({"type": "message_stop"}))
}

/// A block that calls a tool.
pub(super) fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// A whole message.
pub(super) fn snapshot(id: &str, content: Value) -> Value {
    json!({"type": "assistant", "message": {"id": id, "content": content}})
}

/// A message that only calls a tool.
pub(super) fn calls(id: &str, name: &str, input: Value) -> Value {
    snapshot(&format!("m-{id}"), json!([call(id, name, input)]))
}

/// The result of a call.
pub(super) fn result(id: &str, is_error: bool, content: Value) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": content},
    ]}})
}

/// The end of a turn that went well.
pub(super) fn done(text: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": text})
}
