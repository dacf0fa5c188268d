//! Transcripts in short, and what is said of them.

pub(crate) mod growing;
pub(crate) mod places;
pub(crate) mod random;
pub(crate) mod reading;
pub(crate) mod reseed;
pub(crate) mod rules;

use serde_json::{Value, json};

use super::*;

/// A transcript in a line or two: the tests' own shorthand of what the CLI writes.
pub(super) fn parse(lines: &[Value]) -> Transcript {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    transcript::read(text.as_bytes()).unwrap()
}

/// A line of the conversation, `uuid` after `parent`; an empty uuid is none.
fn line(uuid: &str, parent: &str, kind: &str, message: &Value) -> Value {
    let mut line = json!({"type": kind, "version": "2.1.329", "message": message});
    if !uuid.is_empty() {
        line["uuid"] = uuid.into();
        line["parentUuid"] = Some(parent).filter(|parent| !parent.is_empty()).into();
    }
    line
}

pub(super) fn prompt(uuid: &str, parent: &str, text: &str) -> Value {
    line(uuid, parent, "user", &json!({"role": "user", "content": text}))
}

/// A line of message `id` with one block.
pub(super) fn said(uuid: &str, parent: &str, id: &str, stop: Option<&str>, block: Value) -> Value {
    let mut message = json!({"role": "assistant", "stop_reason": stop});
    message["content"] = Value::Array(vec![block]);
    if !id.is_empty() {
        message["id"] = id.into();
    }
    line(uuid, parent, "assistant", &message)
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(super) fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}})
}

pub(super) fn result(uuid: &str, parent: &str, call: &str) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": call, "content": "ok"});
    line(uuid, parent, "user", &json!({"role": "user", "content": [block]}))
}
