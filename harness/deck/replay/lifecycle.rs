//! Writes the parser's events as entries of the `lifecycle` lane.
//!
//! The parser lends the text so far; the trace prints deltas and lengths, so that its size stays
//! linear in the run.

use std::collections::HashMap;

use clitape_stream::{Args, Event, Outcome, Usage};
use serde_json::{Map, Value, json};

/// Turns events into entries' kinds and data; counts characters so that no text is walked twice.
#[derive(Default)]
pub(super) struct Writer {
    text: HashMap<Option<String>, usize>,
    thinking: HashMap<Option<String>, usize>,
}

impl Writer {
    /// Kind and data of `event`.
    pub(super) fn write(&mut self, event: &Event<'_>) -> (&'static str, Map<String, Value>) {
        match *event {
            Event::Session { session_id, model, cli_version } => {
                let mut data = object(json!({ "session_id": session_id }));
                put(&mut data, "model", model);
                put(&mut data, "cli_version", cli_version);
                ("session", data)
            }
            Event::Text { message_id, delta, parent, .. } => {
                let length = grow(&mut self.text, parent, delta);
                let data = json!({ "message_id": message_id, "delta": delta, "length": length });
                ("text", with_parent(data, parent))
            }
            Event::Thinking { message_id, block, delta, parent, .. } => {
                let length = grow(&mut self.thinking, parent, delta);
                let data = json!({
                    "message_id": message_id, "block": block, "delta": delta, "length": length,
                });
                ("thinking", with_parent(data, parent))
            }
            Event::ToolStart { id, name, kind, args, parent } => {
                let data = json!({ "id": id, "name": name, "type": kind.as_str() });
                let mut data = with_args(object(data), args);
                put(&mut data, "parent", parent);
                ("tool_start", data)
            }
            Event::ToolResult { id, name, is_error, result, incomplete, parent } => {
                let data =
                    json!({ "id": id, "name": name, "is_error": is_error, "result": result });
                let mut data = object(data);
                put(&mut data, "incomplete", incomplete.map(|why| why.as_str()));
                put(&mut data, "parent", parent);
                ("tool_result", data)
            }
            Event::Usage { usage, is_final } => {
                let mut data = counts(usage);
                data.insert("final".into(), is_final.into());
                ("usage", data)
            }
            Event::Notice { kind, subtype, detail } => {
                let mut data = typed(kind, subtype);
                for (key, value) in detail.iter().filter(|(key, _)| !is_head(key)) {
                    data.insert(key.clone(), value.clone());
                }
                ("notice", data)
            }
            Event::Unknown { kind, subtype, raw } => {
                let mut data = typed(kind, subtype);
                data.insert("raw".into(), raw.into());
                ("unknown", data)
            }
            Event::Diagnostic { code, message, line } => {
                let data = json!({ "code": code.as_str(), "message": message, "line": line });
                ("diagnostic", object(data))
            }
            Event::Outcome(outcome) => ("outcome", ending(outcome)),
            _ => ("unknown", object(json!({ "type": "event", "raw": format!("{event:?}") }))),
        }
    }
}

fn is_head(key: &str) -> bool {
    matches!(key, "type" | "subtype")
}

fn grow(lengths: &mut HashMap<Option<String>, usize>, parent: Option<&str>, delta: &str) -> usize {
    let length = lengths.entry(parent.map(str::to_owned)).or_default();
    *length += delta.chars().count();
    *length
}

/// The map of a value made with `json!({…})`.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn put(data: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        data.insert(key.to_owned(), value.into());
    }
}

fn with_parent(data: Value, parent: Option<&str>) -> Map<String, Value> {
    let mut data = object(data);
    put(&mut data, "parent", parent);
    data
}

fn with_args(mut data: Map<String, Value>, args: Args<'_>) -> Map<String, Value> {
    match args {
        Args::Complete(value) => data.insert("args".into(), value.clone()),
        Args::Truncated(raw) => {
            data.insert("args".into(), Value::Null);
            data.insert("truncated".into(), raw.into())
        }
    };
    data
}

fn typed(kind: &str, subtype: Option<&str>) -> Map<String, Value> {
    let mut data = object(json!({ "type": kind }));
    put(&mut data, "subtype", subtype);
    data
}

fn counts(usage: Usage) -> Map<String, Value> {
    object(json!({
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }))
}

fn ending(outcome: &Outcome) -> Map<String, Value> {
    let mut data = object(json!({ "status": outcome.status.as_str(), "text": outcome.text }));
    if let Some(error) = &outcome.error {
        let error = json!({ "kind": error.kind.as_str(), "message": error.message });
        data.insert("error".into(), error);
    }
    put(&mut data, "session_id", outcome.session_id.as_deref());
    if let Some(usage) = outcome.usage {
        data.insert("usage".into(), Value::Object(counts(usage)));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(events: &[Event<'_>], expect: &[&str]) {
        let mut writer = Writer::default();
        let lines: Vec<String> = events
            .iter()
            .map(|event| {
                let (kind, data) = writer.write(event);
                format!("{kind} {}", Value::Object(data))
            })
            .collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn lengths_count_characters_by_lane() {
        let text = |delta, parent| Event::Text { message_id: "m", delta, text: "", parent };
        check(
            &[text("añ", None), text("x", Some("t")), text("🙂", None)],
            &[
                r#"text {"message_id":"m","delta":"añ","length":2}"#,
                r#"text {"message_id":"m","delta":"x","length":1,"parent":"t"}"#,
                r#"text {"message_id":"m","delta":"🙂","length":3}"#,
            ],
        );
    }

    #[test]
    fn truncated_arguments_are_never_an_empty_object() {
        let kind = clitape_stream::ToolKind::ToolUse;
        let args = Args::Truncated("{\"command\":\"l");
        check(
            &[Event::ToolStart { id: "t", name: "Bash", kind, args, parent: None }],
            &[concat!(
                r#"tool_start {"id":"t","name":"Bash","type":"tool_use","args":null,"#,
                r#""truncated":"{\"command\":\"l"}"#
            )],
        );
    }
}
