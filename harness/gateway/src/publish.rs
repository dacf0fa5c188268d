//! Turns lifecycle events into bus events: selects those that belong on the bus, and sanitises them.

mod asked;
mod input;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use clitape_stream::{Event, Fields, ToolArguments};
use serde_json::Value;

use asked::AskedQuestions;
pub(crate) use asked::MovedQuestion;
use input::CallInput;

use crate::bus::{Bus, BusData, Tool};
use crate::display;
use crate::notice::Notice;
use crate::question::{Closing, Question, closing};
use crate::sanitise::{Masked, redact, sanitise};

/// Publishes a run's lifecycle events on its bus.
#[derive(Debug)]
pub(crate) struct Publisher {
    bus: Bus,
    /// The input of each open call, by the call's id.
    inputs: HashMap<String, CallInput>,
    /// The questions that wait for an answer.
    pub(crate) questions: AskedQuestions,
    /// What was masked of arguments and results.
    masked: Masked,
}

impl Publisher {
    /// Makes the publisher of the run that `bus` belongs to.
    pub(crate) fn new(bus: Bus) -> Self {
        let questions = AskedQuestions::new(bus.clone());
        Self { bus, inputs: HashMap::new(), questions, masked: Masked::default() }
    }

    /// What was masked of arguments and results so far (B2).
    pub(crate) fn masked(&self) -> &Masked {
        &self.masked
    }

    /// Publishes `event` if the bus has a place for it. What a subagent says and does has one,
    /// with the parent's id (T3, U5).
    pub(crate) fn publish(&mut self, event: &Event<'_>) {
        let own = |parent: &Option<Cow<'_, str>>| parent.as_deref().map(str::to_owned);
        let data = match event {
            Event::Text { message_id, delta, length, parent, .. } => BusData::Assistant {
                message_id: message_id.to_string(),
                delta: delta.to_string(),
                length: *length,
                parent: own(parent),
            },
            Event::Thinking { message_id, delta, length, parent, .. } => BusData::Thinking {
                message_id: message_id.to_string(),
                delta: delta.to_string(),
                length: *length,
                parent: own(parent),
            },
            Event::Retract { text, length, thinking, thinking_length, calls, parent, .. } => {
                for call in calls.iter() {
                    self.inputs.remove(call);
                }
                BusData::Retract {
                    text: (*text).to_owned(),
                    length: *length,
                    thinking: (*thinking).to_owned(),
                    thinking_length: *thinking_length,
                    calls: calls.to_vec(),
                    parent: own(parent),
                }
            }
            Event::ToolInput { id, name, args, parent } => {
                let Some(tool) = self.update(id, name, args, own(parent)) else { return };
                BusData::Tool(tool)
            }
            Event::ToolStart { id, name, args, parent, .. } => {
                let (tool, input) = start(id, name, args, parent.as_deref(), &mut self.masked);
                self.inputs.insert(id.to_string(), input);
                BusData::Tool(tool)
            }
            Event::ToolResult { id, name, is_error, result, incomplete, parent } => {
                self.inputs.remove(&**id);
                self.questions.close_all(Some(id), &Closing::Settled);
                BusData::Tool(Tool::Result {
                    id: id.to_string(),
                    name: name.to_string(),
                    is_error: *is_error,
                    result: sanitise(&result.value(), &mut self.masked),
                    incomplete: *incomplete,
                    parent: own(parent),
                })
            }
            Event::Question { call, .. } => {
                let input = call.as_deref().and_then(|call| self.inputs.get(call));
                let fields = input.and_then(CallInput::fields);
                let question = Question::of(event, fields, &mut self.masked);
                return question.into_iter().for_each(|question| self.questions.ask(question));
            }
            Event::QuestionWithdrawn { id } => {
                return self.questions.close(id, Closing::Withdrawn, None);
            }
            Event::Answered { id, .. } => {
                let Some(closing) = closing(event) else { return };
                return self.questions.close(id, closing, None);
            }
            Event::Heard { id, text, folded: true } => {
                BusData::Heard { id: id.as_deref().map(str::to_owned), text: text.to_string() }
            }
            Event::Notice { kind, subtype, detail } => {
                BusData::Notice(Notice::new(kind, subtype.as_deref(), detail))
            }
            _ => return,
        };
        self.bus.publish(data);
    }

    /// Returns the fields of a call's input that can be shown and were not published yet (U2).
    fn update(
        &mut self,
        id: &str,
        name: &str,
        args: &Fields<'_>,
        parent: Option<String>,
    ) -> Option<Tool> {
        let mut input = self.inputs.remove(id).map(CallInput::growing).unwrap_or_default();
        let new = input.take(args);
        let update = (!new.is_empty()).then(|| Tool::Update {
            id: id.to_owned(),
            name: name.to_owned(),
            title: input.title(name),
            args: new,
            parent,
        });
        self.inputs.insert(id.to_owned(), CallInput::Growing(input));
        update
    }
}

/// The start of a call, and its input.
fn start(
    id: &str,
    name: &str,
    args: &ToolArguments<'_>,
    parent: Option<&str>,
    masked: &mut Masked,
) -> (Tool, CallInput) {
    let (whole, truncated) = match args {
        ToolArguments::Complete(json) => (json.value(), None),
        ToolArguments::Truncated(raw) => (Value::Null, Some(redact(raw, masked).into_owned())),
    };
    let whole = Arc::new(whole);
    let sanitised = sanitise(&whole, masked);
    // In most calls there is nothing to mask.
    let args = if sanitised == *whole { whole.clone() } else { Arc::new(sanitised) };
    let tool = Tool::Start {
        id: id.to_owned(),
        name: name.to_owned(),
        title: display::title(name, &whole),
        args: args.clone(),
        truncated,
        parent: parent.map(str::to_owned),
    };
    (tool, CallInput::Whole { args: whole, published: args })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use clitape_stream::{Incomplete, ToolKind};
    use serde_json::json;

    use super::*;
    use crate::bus::lock;
    use crate::run::tests::text;

    fn check(events: &[Event<'_>], expect: &[BusData]) {
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

    #[test]
    pub(crate) fn t3_text_of_a_subagent_bears_its_parent() {
        let said = |delta: &str, length, parent: Option<&str>| BusData::Assistant {
            message_id: "m".into(),
            delta: delta.into(),
            length,
            parent: parent.map(Into::into),
        };
        check(
            &[text("añ", None), text("child", Some("t1")), text("b", None)],
            &[said("añ", 2, None), said("child", 5, Some("t1")), said("b", 1, None)],
        );
    }

    #[test]
    fn u2_fields_are_published_once_when_they_can_be_shown() {
        let input = |fields: &[(&str, Value)]| {
            let mut args = Fields::new();
            for (key, value) in fields {
                args.push(key.to_string(), value.into());
            }
            Event::ToolInput { id: "t1".into(), name: "Read".into(), args, parent: None }
        };
        let update = |title: &str, args: Value| {
            let Value::Object(args) = args else { panic!("{args}") };
            BusData::Tool(Tool::Update {
                id: "t1".into(),
                name: "Read".into(),
                title: title.into(),
                args,
                parent: None,
            })
        };
        check(
            &[
                input(&[("token", json!("hunter2"))]),
                input(&[("token", json!("hunter22"))]),
                input(&[("file_path", json!("/a")), ("limit", json!(1))]),
            ],
            &[
                update("📖 Read", json!({"token": "***"})),
                update("📖 Read: first line of /a", json!({"file_path": "/a", "limit": 1})),
            ],
        );
    }

    #[test]
    pub(crate) fn b2_tool_events_are_sanitised() {
        let args = json!({"file_path": "/a", "token": "hunter2"});
        let result = json!("TOKEN=abcdefghijklmnopqrstuvwxyz012345");
        check(
            &[
                Event::ToolStart {
                    id: "t1".into(),
                    name: "Read".into(),
                    kind: ToolKind::ToolUse,
                    args: ToolArguments::Complete((&args).into()),
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
                BusData::Tool(Tool::Start {
                    id: "t1".into(),
                    name: "Read".into(),
                    title: "📖 Read: from /a".into(),
                    args: json!({"file_path": "/a", "token": "***"}).into(),
                    truncated: None,
                    parent: Some("p".into()),
                }),
                BusData::Tool(Tool::Result {
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
    fn u2_the_input_of_a_call_that_starts_is_whole_and_published() {
        let (whole, shown) = (json!({"a": 1, "token": "hunter2"}), json!({"a": 1, "token": "***"}));
        let list = json!([1]);
        let complete = |value: &Value| ToolArguments::Complete(value.into()).into_owned();
        let cut = ToolArguments::Truncated("{".into());
        for (args, fields, published) in [
            (complete(&whole), whole.clone(), shown),
            (complete(&list), json!({}), json!({})),
            (cut, json!({}), json!({})),
        ] {
            let (_, input) = start("t1", "Read", &args, None, &mut Masked::default());
            let input = input.growing();
            assert_eq!((Value::Object(input.fields), input.open), (fields, None), "{args:?}");
            assert_eq!(Value::Object(input.published), published, "{args:?}");
        }
    }

    #[test]
    fn b2_what_was_masked_is_counted_by_rule() {
        let mut publisher = Publisher::new(Bus::new("r1"));
        let input = json!({"token": "hunter2", "command": "ls"});
        let cut = ToolArguments::Truncated("{\"password\": \"hunter2".into());
        for (id, args) in [("t1", ToolArguments::Complete((&input).into())), ("t2", cut)] {
            let (id, name, kind) = (id.into(), "Bash".into(), ToolKind::ToolUse);
            publisher.publish(&Event::ToolStart { id, name, kind, args, parent: None });
        }
        let counts: Vec<_> = publisher.masked().iter().collect();
        assert_eq!(counts, [("json", 1), ("secret-name", 1)]);
    }

    #[test]
    pub(crate) fn u1_truncated_args_are_never_an_empty_object() {
        check(
            &[Event::ToolStart {
                id: "t1".into(),
                name: "Bash".into(),
                kind: ToolKind::ToolUse,
                args: ToolArguments::Truncated("{\"password\": \"hunter2".into()),
                parent: None,
            }],
            &[BusData::Tool(Tool::Start {
                id: "t1".into(),
                name: "Bash".into(),
                title: "🛠️ Bash".into(),
                args: Value::Null.into(),
                truncated: Some("{\"password\": \"***".into()),
                parent: None,
            })],
        );
    }
}
