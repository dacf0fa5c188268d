//! From lifecycle events to bus events: what belongs on the bus, and sanitised.

use clitape_stream::{Args, Event};
use serde_json::Value;

use crate::bus::{Bus, Data, Tool};
use crate::display;
use crate::sanitise::{redact_text, sanitise_args, sanitise_result};

/// Publishes a run's lifecycle events on its bus.
pub(crate) struct Publisher {
    bus: Bus,
}

impl Publisher {
    /// Makes the publisher of the run that `bus` belongs to.
    pub(crate) fn new(bus: Bus) -> Self {
        Self { bus }
    }

    /// Publishes `event` if the bus has a place for it. Text and reasoning of a subagent have none
    /// (T3); its tool calls do, with the parent's id (U5).
    pub(crate) fn publish(&mut self, event: &Event<'_>) {
        let data = match event {
            Event::Text { delta, length, parent: None, .. } => {
                Data::Assistant { delta: delta.clone().into_owned(), length: *length }
            }
            Event::Thinking { delta, length, parent: None, .. } => {
                Data::Thinking { delta: delta.clone().into_owned(), length: *length }
            }
            Event::Retract { text, length, thinking, thinking_length, parent: None, .. } => {
                Data::Retract {
                    text: (*text).to_owned(),
                    length: *length,
                    thinking: (*thinking).to_owned(),
                    thinking_length: *thinking_length,
                }
            }
            Event::ToolStart { id, name, args, parent, .. } => {
                Data::Tool(start(id, name, args, parent.as_deref()))
            }
            Event::ToolResult { id, name, is_error, result, incomplete, parent } => {
                Data::Tool(Tool::Result {
                    id: id.to_string(),
                    name: name.to_string(),
                    is_error: *is_error,
                    result: sanitise_result(&result.value()),
                    incomplete: *incomplete,
                    parent: parent.as_deref().map(str::to_owned),
                })
            }
            _ => return,
        };
        self.bus.publish(data);
    }
}

fn start(id: &str, name: &str, args: &Args<'_>, parent: Option<&str>) -> Tool {
    let (whole, truncated) = match args {
        Args::Complete(json) => (json.value(), None),
        Args::Truncated(raw) => (Value::Null, Some(redact_text(raw).into_owned())),
    };
    Tool::Start {
        id: id.to_owned(),
        name: name.to_owned(),
        title: display::title(name, &whole),
        args: sanitise_args(&whole),
        truncated,
        parent: parent.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use clitape_stream::{Incomplete, ToolKind};
    use serde_json::json;

    use super::*;
    use crate::bus::lock;

    fn check(events: &[Event<'_>], expect: &[Data]) {
        let bus = Bus::new("r1");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let _subscription = bus.subscribe(move |e| lock(&log).push(e.data.clone()));
        let mut publisher = Publisher::new(bus);
        for event in events {
            publisher.publish(event);
        }
        assert_eq!(*lock(&seen), expect);
    }

    fn text<'a>(delta: &'a str, parent: Option<&'a str>) -> Event<'a> {
        Event::Text {
            message_id: "m".into(),
            delta: delta.into(),
            length: delta.chars().count() as u64,
            text: delta,
            message_text: delta,
            parent: parent.map(Into::into),
        }
    }

    #[test]
    fn t3_no_text_of_a_subagent() {
        check(
            &[text("añ", None), text("child", Some("t1")), text("b", None)],
            &[
                Data::Assistant { delta: "añ".into(), length: 2 },
                Data::Assistant { delta: "b".into(), length: 1 },
            ],
        );
    }

    #[test]
    fn b2_tool_events_are_sanitised() {
        let args = json!({"file_path": "/a", "token": "hunter2"});
        let result = json!("TOKEN=abcdefghijklmnopqrstuvwxyz012345");
        check(
            &[
                Event::ToolStart {
                    id: "t1".into(),
                    name: "Read".into(),
                    kind: ToolKind::ToolUse,
                    args: Args::Complete((&args).into()),
                    parent: Some("p".into()),
                },
                Event::ToolResult {
                    id: "t1".into(),
                    name: "Read".into(),
                    is_error: false,
                    result: (&result).into(),
                    incomplete: Some(Incomplete::Ambiguous),
                    parent: None,
                },
            ],
            &[
                Data::Tool(Tool::Start {
                    id: "t1".into(),
                    name: "Read".into(),
                    title: "📖 Read: from /a".into(),
                    args: json!({"file_path": "/a", "token": "***"}),
                    truncated: None,
                    parent: Some("p".into()),
                }),
                Data::Tool(Tool::Result {
                    id: "t1".into(),
                    name: "Read".into(),
                    is_error: false,
                    result: json!("TOKEN=abcdef…2345"),
                    incomplete: Some(Incomplete::Ambiguous),
                    parent: None,
                }),
            ],
        );
    }

    #[test]
    fn u1_truncated_args_are_never_an_empty_object() {
        check(
            &[Event::ToolStart {
                id: "t1".into(),
                name: "Bash".into(),
                kind: ToolKind::ToolUse,
                args: Args::Truncated("{\"password\": \"hunter2".into()),
                parent: None,
            }],
            &[Data::Tool(Tool::Start {
                id: "t1".into(),
                name: "Bash".into(),
                title: "🛠️ Bash".into(),
                args: Value::Null,
                truncated: Some("{\"password\": \"***".into()),
                parent: None,
            })],
        );
    }
}
