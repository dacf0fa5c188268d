//! Writes the parser's events as entries of the `lifecycle` lane: as they serialise.

use clitape_stream::Event;
use serde_json::{Map, Value};

use super::trace::object;

/// Kind and data of the entry for `event`; none for a record without an event of its own.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(super) fn entry(event: &Event<'_>) -> Option<(String, Map<String, Value>)> {
    if matches!(event, Event::Record { .. }) {
        return None;
    }
    let event = serde_json::to_value(event).expect("strings, numbers and JSON serialise");
    let mut entry = object(event);
    let kind = entry.remove("kind")?.as_str()?.to_owned();
    Some((kind, object(entry.remove("data").unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use clitape_stream::{ToolArguments, ToolKind};

    use super::*;

    fn check(event: &Event<'_>, expect: &str) {
        let told = entry(event).map_or_else(
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
