//! Turns lifecycle events into bus events: selects those that belong on the bus, and sanitises them.
//!
//! The input of an open call is kept, so that each part of it is published once ([U2](crate::rules::U2)), and so are the
//! questions that wait for an answer ([Q1](crate::rules::Q1)).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use clitape_stream::{Event, Fields, ToolArguments};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::bus::{Bus, BusData, Tool};
use crate::display;
use crate::notice::Notice;
use crate::question::{Closing, Question, QuestionClosed, QuestionWaits, closing};
use crate::sanitise::{Masked, redact, sanitise, sanitise_open_args};

/// Publishes a run's lifecycle events on its bus.
#[derive(Debug)]
pub(crate) struct Publisher {
    bus: Bus,
    /// The input of each open call, by the call's id.
    inputs: HashMap<String, CallInput>,
    /// The questions that wait for an answer.
    pub(crate) questions: AskedQuestions,
    /// The masks in arguments and results so far, by rule.
    masked: Masked,
}

impl Publisher {
    /// Makes the publisher of the run that `bus` belongs to.
    pub(crate) fn new(bus: Bus) -> Self {
        let questions = AskedQuestions::new(bus.clone());
        Self { bus, inputs: HashMap::new(), questions, masked: Masked::default() }
    }

    /// Returns the masks in arguments and results so far, by rule (B2).
    pub(crate) fn masked(&self) -> &Masked {
        &self.masked
    }

    /// Publishes `event` if the bus has a place for it. Words and calls of a subagent have one,
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
    // Most calls have no secret.
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

/// The input of an open call.
#[derive(Debug)]
enum CallInput {
    /// More of it may come.
    Growing(Box<GrowingInput>),
    /// The call has started. Its arguments may still be corrected.
    Whole {
        /// The arguments as they came.
        args: Arc<Value>,
        /// The arguments that were published.
        published: Arc<Value>,
    },
}

impl CallInput {
    /// Returns the fields so far, as they came; `None` if the arguments are not an object.
    fn fields(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Growing(input) => Some(&input.fields),
            Self::Whole { args, .. } => args.as_object(),
        }
    }

    /// The input to which more fields come.
    fn growing(self) -> Box<GrowingInput> {
        let fields = |of: Arc<Value>| match Arc::unwrap_or_clone(of) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        match self {
            Self::Growing(input) => input,
            Self::Whole { args, published } => Box::new(GrowingInput {
                fields: fields(args),
                open: None,
                published: fields(published),
            }),
        }
    }
}

/// A tool's input while it comes.
#[derive(Debug, Default)]
struct GrowingInput {
    /// The fields so far, as they came.
    fields: Map<String, Value>,
    /// The field whose value has not ended yet.
    open: Option<String>,
    /// The part of each field that was published.
    published: Map<String, Value>,
}

impl GrowingInput {
    /// Takes fields of the input. Returns the part of the input that can be shown and was not
    /// published yet.
    fn take(&mut self, args: &Fields<'_>) -> Map<String, Value> {
        let open = args.open();
        // A field that was open and is not published again has ended.
        let mut fresh = Map::new();
        if let Some(key) = self.open.take()
            && let Some(value) = self.fields.get(&key)
        {
            fresh.insert(key, value.clone());
        }
        fresh.extend(args.to_map());
        let sanitised = sanitise_open_args(&fresh, open);
        self.fields.extend(fresh);
        self.open = open.map(str::to_owned);
        let mut new = Map::new();
        for (key, value) in sanitised {
            if self.published.get(&key) != Some(&value) {
                self.published.insert(key.clone(), value.clone());
                new.insert(key, value);
            }
        }
        new
    }

    /// Returns the line that a person reads, made of the fields that have ended.
    fn title(&mut self, name: &str) -> String {
        let mut fields = std::mem::take(&mut self.fields);
        let open = self.open.as_deref().and_then(|key| fields.shift_remove_entry(key));
        let whole = Value::Object(fields);
        let title = display::title(name, &whole);
        if let Value::Object(mut fields) = whole {
            fields.extend(open);
            self.fields = fields;
        }
        title
    }
}

/// A question that waits for its answer.
#[derive(Debug)]
struct WaitingQuestion {
    question: Question,
    asked: Instant,
}

/// A question that goes on in the next run.
#[derive(Debug)]
pub(crate) struct MovedQuestion(WaitingQuestion);

/// The questions of a run that wait for an answer. Whatever asks or closes one publishes it.
#[derive(Debug)]
pub(crate) struct AskedQuestions {
    bus: Bus,
    /// The open questions, in the order in which they were asked.
    open: Vec<WaitingQuestion>,
}

impl AskedQuestions {
    fn new(bus: Bus) -> Self {
        Self { bus, open: Vec::new() }
    }

    /// Publishes a question, unless it is open already (Q1).
    fn ask(&mut self, question: Question) {
        if self.open.iter().all(|open| open.question.id != question.id) {
            self.ask_again(MovedQuestion(WaitingQuestion { question, asked: Instant::now() }));
        }
    }

    /// Returns the time at which the newest of the open questions will have waited for `time`; `None`
    /// if none is open.
    pub(crate) fn asks_until(&self, time: Duration) -> Option<Instant> {
        self.open.last().map(|question| question.asked + time)
    }

    /// Publishes that the question `id` is closed, unless it is not open (Q1).
    pub(crate) fn close(&mut self, id: &str, closing: Closing, by: Option<&str>) {
        let Some(place) = self.open.iter().position(|open| open.question.id == id) else {
            return;
        };
        let WaitingQuestion { question, asked } = self.open.remove(place);
        let (id, by, after) = (question.id, by.map(str::to_owned), asked.elapsed());
        let closed = QuestionClosed { id, closing, by, after };
        self.bus.publish(BusData::QuestionClosed(closed));
    }

    /// Publishes that every open question of `call`, or every open question, is closed (Q1).
    pub(crate) fn close_all(&mut self, call: Option<&str>, closing: &Closing) {
        let is_meant =
            |open: &&WaitingQuestion| call.is_none() || open.question.call.as_deref() == call;
        let ids = self.open.iter().filter(is_meant).map(|open| open.question.id.clone());
        for id in ids.collect::<Vec<String>>() {
            self.close(&id, closing.clone(), None);
        }
    }

    /// Publishes that the open question `id` still waits and is denied after `denied_in` (Q5).
    pub(crate) fn remind(&mut self, id: &str, denied_in: Duration) {
        if let Some(open) = self.open.iter().find(|open| open.question.id == id) {
            let (id, after) = (id.to_owned(), open.asked.elapsed());
            self.bus.publish(BusData::QuestionWaits(QuestionWaits { id, after, denied_in }));
        }
    }

    /// Closes the questions of subagents, which run on when the turn is over, and returns them for the
    /// next run (Q1).
    pub(crate) fn move_on(&mut self) -> Vec<MovedQuestion> {
        let is_of_subagent = |open: &mut WaitingQuestion| open.question.parent.is_some();
        let moved: Vec<WaitingQuestion> = self.open.extract_if(.., is_of_subagent).collect();
        for WaitingQuestion { question, asked } in &moved {
            let (id, closing, after) = (question.id.clone(), Closing::Moved, asked.elapsed());
            self.bus.publish(BusData::QuestionClosed(QuestionClosed {
                id,
                closing,
                by: None,
                after,
            }));
        }
        moved.into_iter().map(MovedQuestion).collect()
    }

    /// Asks a question of the run before, which waits since then.
    pub(crate) fn ask_again(&mut self, MovedQuestion(open): MovedQuestion) {
        let question = open.question.clone();
        self.open.push(open);
        self.bus.publish(BusData::Question(question));
    }
}

#[cfg(test)]
mod tests {
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
