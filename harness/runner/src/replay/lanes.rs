//! Writes what the parts of the gateway say as entries of their lanes.
//!
//! - `lifecycle`: the parser's events, as they serialise.
//! - `bus`: the envelope's `seq` and `run_id`, then the event's own fields; the kind is the stream.
//! - `acp`: the kind is the `sessionUpdate` tag, the data is the rest. A request to the client has the last part
//!   of its method as the kind, such as `request_permission`. The answer to `session/prompt` comes last, as
//!   `response`.
//! - `sse`: the kind is the event's name, the data its own, without the time, which the entry says. Last comes
//!   `collected`, what the collector makes of those very events (S2). A turn with many calls has several: each has the
//!   calls that came after the one before, and the last has the answer.

use std::sync::Arc;

use clitape_gateway::acp::{AcpConverter, AcpSettings, TurnEnd, Update};
use clitape_gateway::question::{Choice, Closing, Question, QuestionKind};
use clitape_gateway::sse::{Collected, SseConverter, SseEvent};
use clitape_gateway::{BusData, BusEvent, Notice, Phase, Tool};
use clitape_recording::cassette::canon::MachineFolder;
use clitape_recording::trace::{millis, object};
use clitape_stream::Event;
use serde_json::{Map, Value, json};

use clitape_recording::scenario::AcpClient;

/// The kind of the entries with what a reader of an event stream has collected.
pub(super) const COLLECTED: &str = "collected";

/// Kind and data of the entry for `event`; none for a record without an event of its own.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(super) fn lifecycle_entry(event: &Event<'_>) -> Option<(String, Map<String, Value>)> {
    if matches!(event, Event::Record { .. }) {
        return None;
    }
    let event = serde_json::to_value(event).expect("strings, numbers and JSON serialise");
    let mut entry = object(event);
    let kind = entry.remove("kind")?.as_str()?.to_owned();
    Some((kind, object(entry.remove("data").unwrap_or_default())))
}

/// Data of the entry of what a reader of an event stream has collected.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(super) fn collected_data(collected: &Collected) -> Map<String, Value> {
    let collected = serde_json::to_value(collected);
    object(collected.expect("a struct of texts and numbers serialises"))
}

/// Data of the entry of the bus for `event`.
pub(super) fn bus_data(event: &BusEvent) -> Map<String, Value> {
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
        BusData::Question(question) => asked(question),
        BusData::QuestionWaits(waits) => json!({
            "waits": {
                "id": waits.id, "after_ms": millis(waits.after),
                "denied_in_ms": millis(waits.denied_in),
            },
        }),
        BusData::QuestionClosed(closed) => json!({
            "closed": present(json!({
                "id": closed.id, "how": closed.closing.as_str(), "answers": answers(&closed.closing),
                "message": denial(&closed.closing), "by": closed.by,
            })),
        }),
        BusData::Heard { id, text } => json!({ "id": id, "text": text }),
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

/// The fields of a question that are there.
fn asked(question: &Question) -> Value {
    let kind = match &question.kind {
        QuestionKind::Permission { input } => json!({ "input": input }),
        QuestionKind::Choices(choices) => {
            let choice = |choice: &Choice| {
                let options = choice.options.iter().map(|option| &option.label);
                json!({
                    "question": choice.question, "header": choice.header,
                    "options": options.collect::<Vec<_>>(), "multi_select": choice.multi_select,
                })
            };
            json!({ "choices": choices.iter().map(choice).collect::<Vec<_>>() })
        }
        other => json!({ "raw": format!("{other:?}") }),
    };
    let mut fields = object(json!({
        "id": question.id, "call": question.call, "name": question.name, "title": question.title,
    }));
    fields.extend(object(kind));
    fields.extend(object(json!({
        "suggestions": Some(&question.suggestions).filter(|labels| !labels.is_empty()),
        "in_full": Some(&question.in_full).filter(|all| all.iter().any(Option::is_some)),
        "description": question.description, "blocked_path": question.blocked_path,
        "parent": question.parent,
    })));
    json!({ "asked": present(Value::Object(fields)) })
}

/// The fields of `fields` that are not `null`.
fn present(fields: Value) -> Map<String, Value> {
    object(fields).into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// What was chosen; `null` where there was nothing to choose.
fn answers(closing: &Closing) -> Value {
    match closing {
        Closing::Allowed { answers } if !answers.is_empty() => {
            answers.iter().map(|(question, answer)| (question.clone(), json!(answer))).collect()
        }
        _ => Value::Null,
    }
}

/// The sentence with which a question was denied.
fn denial(closing: &Closing) -> Option<&str> {
    match closing {
        Closing::Denied { message } => Some(message),
        _ => None,
    }
}

/// The fields of a call.
fn tool_fields(tool: &Tool) -> Value {
    // What may be large is copied into its place, because `json!` writes each map anew.
    let (mut fields, key, large) = match tool {
        Tool::Update { id, name, title, args, parent } => {
            let fields = json!({
                "phase": "update", "id": id, "name": name, "title": title, "args": null,
                "parent": parent,
            });
            (fields, "args", Value::Object(args.clone()))
        }
        Tool::Start { id, name, title, args, truncated, parent } => {
            let fields = json!({
                "phase": "start", "id": id, "name": name, "title": title, "args": null,
                "truncated": truncated, "parent": parent,
            });
            (fields, "args", Value::clone(args))
        }
        Tool::Result { id, name, is_error, result, incomplete, parent } => {
            let fields = json!({
                "phase": "result", "id": id, "name": name, "is_error": is_error, "result": null,
                "incomplete": incomplete.map(|why| why.as_str()), "parent": parent,
            });
            (fields, "result", result.clone())
        }
    };
    fields[key] = large;
    fields
}

/// The id of the one session of a replay.
const SESSION_ID: &str = "session-1";

/// The session of a client.
pub(super) fn acp_session(client: AcpClient) -> AcpConverter {
    AcpConverter::new(AcpSettings {
        session_id: SESSION_ID.to_owned(),
        cwd: Some(MachineFolder::Project.path().to_owned()),
        terminal: client.terminal,
    })
}

/// Kind and data of the entry for an update.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn acp_update(mut update: Update) -> (String, Map<String, Value>) {
    // The arguments may be large, so that they are moved and not written anew.
    let raw_input = match &mut update {
        Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
            call.raw_input.as_mut().map(std::mem::take)
        }
        _ => None,
    };
    let update = serde_json::to_value(update);
    let mut data = object(update.expect("strings, numbers and JSON serialise"));
    let tag = data.shift_remove("sessionUpdate");
    let kind = tag.as_ref().and_then(Value::as_str).expect("every update has its tag");
    if let Some(raw_input) = raw_input {
        data.insert("rawInput".to_owned(), Arc::unwrap_or_clone(raw_input));
    }
    (kind.to_owned(), data)
}

/// Kinds and data of the entries of an ACP client that `event` makes.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(super) fn acp_entries(
    session: &mut AcpConverter,
    event: &BusEvent,
) -> Vec<(String, Map<String, Value>)> {
    let mut entries: Vec<_> = session.on(event).into_iter().map(acp_update).collect();
    entries.extend(session.requests().iter().map(|request| {
        let mut call = object(session.request(request));
        let kind = call.remove("method").expect("every request has its method");
        let kind = kind.as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let mut data = object(call.remove("params").unwrap_or_default());
        data.shift_remove("sessionId");
        data.extend(call.remove("id").map(|id| ("id".to_owned(), id)));
        (kind.to_owned(), data)
    }));
    let response = session.turn_end().map(|end| match end {
        TurnEnd::Stop(reason) => json!({ "stopReason": reason }),
        TurnEnd::Error { code, message } => {
            json!({ "error": { "code": code, "message": message } })
        }
    });
    entries.extend(response.map(|data| ("response".to_owned(), object(data))));
    entries
}

/// Kind and data of the entries of the event stream for `event`.
pub(super) fn sse_entries(
    converter: &mut SseConverter,
    event: &BusEvent,
) -> impl Iterator<Item = (&'static str, Map<String, Value>)> {
    converter.on(event).into_iter().map(|SseEvent { name, mut data }| {
        // The times of the entries say it.
        data.shift_remove("timestamp");
        data.shift_remove("after");
        (name, data)
    })
}

#[cfg(test)]
mod tests {
    use clitape_stream::{ToolArguments, ToolKind};

    use super::*;

    fn check(event: &Event<'_>, expect: &str) {
        let told = lifecycle_entry(event).map_or_else(
            || "nothing".to_owned(),
            |(kind, data)| format!("{kind} {}", Value::Object(data)),
        );
        assert_eq!(told, expect);
    }

    #[test]
    fn entries_are_what_events_serialise_to() {
        check(
            &Event::Text {
                message_id: "m".into(),
                delta: "añ".into(),
                length: 2,
                text: "añ",
                message_text: "añ",
                parent: Some("t".into()),
            },
            r#"text {"message_id":"m","delta":"añ","length":2,"parent":"t"}"#,
        );
        let raw = "{}".into();
        check(&Event::Record { kind: "keep_alive".into(), subtype: None, raw }, "nothing");
    }

    #[test]
    fn u1_truncated_arguments_are_never_an_empty_object() {
        check(
            &Event::ToolStart {
                id: "t".into(),
                name: "Bash".into(),
                kind: ToolKind::ToolUse,
                args: ToolArguments::Truncated("{\"command\":\"l".into()),
                parent: None,
            },
            concat!(
                r#"tool_start {"id":"t","name":"Bash","type":"tool_use","args":null,"#,
                r#""truncated":"{\"command\":\"l"}"#
            ),
        );
    }
}
