//! From the bus events of a run to the events of its stream ([S1](crate::rules::S1)).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clitape_stream::{IdSet, Incomplete};
use serde_json::{Map, Value, json};

use super::summary::summary;
use super::wire::SseEvent;
use crate::bus::{BusData, BusEvent, Phase, Tool};
use crate::excerpt::short;
use crate::question::{Choice, Closing, Question, QuestionClosed, QuestionKind};

/// Characters of a message that was heard.
const HEARD_LIMIT: usize = 200;

/// Turns the bus events of one run into the events of its stream; a pure state machine.
///
/// | event | data, then `timestamp` (ms since the bus was made) and `messageId` (the run) |
/// |---|---|
/// | `output` | `type` `delta` and the new `content`; or `replace` and all that is left of it |
/// | `tool_use` | `toolCallId`, `name`, `input`, `isError`, `result_summary`?, `parentToolCallId`? |
/// | `question` | `questionId`, `name`, `title`, `toolCallId`?, `input` or `choices`, `suggestions`?, `suggestionsInFull`?, `description`?, `blockedPath`?, `parentToolCallId`? |
/// | `answered` | `questionId`, `how`, `answers`?, `message`?, `by`?, `after` (ms) |
/// | `status` | `text`, a line for a person who waits: compaction, an API that is asked again, a question that waits, a message that was heard |
/// | `error` | `error`, a sentence, and `kind` |
/// | `complete` | `processedMessageIds`, and `text`, the final answer, when the run ended well |
///
/// Text is sent at once, so a `tool_use` never overtakes it. Every call that began is sent before
/// the `complete`, which is the last event, also after an `error`.
#[derive(Debug, Default)]
pub struct SseConverter {
    open: OpenCalls,
    /// Ids of calls that have ended.
    ended: IdSet,
    /// Characters of the answer that were sent.
    length: u64,
    /// The last status, if no other event was sent after it.
    status: Option<String>,
}

/// Calls that have begun and not ended.
#[derive(Debug, Default)]
struct OpenCalls {
    /// By number, which is their order.
    calls: BTreeMap<u64, StreamingCall>,
    /// The numbers, by id.
    numbers: HashMap<String, u64>,
    /// The number of the next one.
    next: u64,
}

#[derive(Debug)]
struct StreamingCall {
    id: String,
    name: String,
    input: Arc<Value>,
    parent: Option<String>,
}

impl SseConverter {
    /// Makes the converter of one run.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events that `event` gives; often none.
    pub fn on(&mut self, event: &BusEvent) -> Vec<SseEvent> {
        let mut told = match &event.data {
            BusData::Assistant { delta, length, parent: None, .. } => {
                self.length = *length;
                vec![output("delta", delta)]
            }
            // Retracted reasoning, and calls that never began, were not sent.
            BusData::Retract { text, length, parent: None, .. } if *length != self.length => {
                self.length = *length;
                vec![output("replace", text)]
            }
            BusData::Tool(tool) => self.tool(tool).into_iter().collect(),
            BusData::Question(question) => vec![asked(question)],
            BusData::QuestionClosed(closed) => vec![answered(closed)],
            BusData::QuestionWaits(waits) => return self.status(event, Some(waits.line())),
            BusData::Heard { text, .. } => {
                let line = format!("💬 Heard: {}", short(text, HEARD_LIMIT));
                return self.status(event, Some(line));
            }
            BusData::Notice(notice) => return self.status(event, notice.line()),
            BusData::Lifecycle(Phase::End { text }) => {
                let mut told = self.unanswered();
                told.push(complete(event, Some(text)));
                told
            }
            BusData::Lifecycle(Phase::Error { kind, message }) => {
                let mut told = self.unanswered();
                let error = json!({ "error": message, "kind": kind.as_str() });
                told.extend([SseEvent::new("error", error), complete(event, None)]);
                told
            }
            _ => Vec::new(),
        };
        if !told.is_empty() {
            self.status = None;
        }
        for SseEvent { data, .. } in &mut told {
            stamp(data, event);
        }
        told
    }

    /// Makes the event of a line for a person who waits, unless the last event was the same line.
    fn status(&mut self, event: &BusEvent, line: Option<String>) -> Vec<SseEvent> {
        let Some(line) = line.filter(|line| self.status.as_ref() != Some(line)) else {
            return Vec::new();
        };
        let mut told = SseEvent::new("status", json!({ "text": line }));
        stamp(&mut told.data, event);
        self.status = Some(line);
        vec![told]
    }

    fn tool(&mut self, tool: &Tool) -> Option<SseEvent> {
        match tool {
            Tool::Start { id, name, args, truncated, parent, .. } => {
                // Arguments that never became JSON are sent as they came.
                let input =
                    truncated.as_ref().map_or_else(|| args.clone(), |raw| Arc::new(json!(raw)));
                let parent = parent.clone();
                let call = StreamingCall { id: id.clone(), name: name.clone(), input, parent };
                self.open.add(call);
                None
            }
            Tool::Update { id, args, .. } => {
                self.correct(id, args);
                None
            }
            Tool::Result { id, name, is_error, result, incomplete, parent } => {
                let call = self.open.take(id);
                if call.is_none() && self.ended.contains(id) {
                    return None;
                }
                self.ended.insert(id);
                let call = call.unwrap_or_else(|| StreamingCall {
                    id: id.clone(),
                    name: name.clone(),
                    input: Arc::default(),
                    parent: parent.clone(),
                });
                Some(match incomplete {
                    Some(why) => no_result(call, *why),
                    None => {
                        let summary = summary(&call.name, *is_error, result);
                        tool_use(call, *is_error, summary)
                    }
                })
            }
        }
    }

    /// Corrects the input that the start of a call had, if the call has started.
    fn correct(&mut self, id: &str, args: &Map<String, Value>) {
        if let Some(call) = self.open.get_mut(id) {
            match Arc::make_mut(&mut call.input) {
                Value::Object(input) => input.extend(args.clone()),
                input => *input = Value::Object(args.clone()),
            }
        }
    }

    /// The calls that are open when the run ends.
    fn unanswered(&mut self) -> Vec<SseEvent> {
        let calls = std::mem::take(&mut self.open).calls;
        calls.into_values().map(|call| no_result(call, Incomplete::Incomplete)).collect()
    }
}

impl OpenCalls {
    /// Adds a call; one of the same id goes.
    fn add(&mut self, call: StreamingCall) {
        self.take(&call.id);
        self.numbers.insert(call.id.clone(), self.next);
        self.calls.insert(self.next, call);
        self.next += 1;
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut StreamingCall> {
        self.calls.get_mut(self.numbers.get(id)?)
    }

    fn take(&mut self, id: &str) -> Option<StreamingCall> {
        self.calls.remove(&self.numbers.remove(id)?)
    }
}

/// Adds the members of every event.
fn stamp(data: &mut Map<String, Value>, event: &BusEvent) {
    data.insert("timestamp".to_owned(), event.at.into());
    data.insert("messageId".to_owned(), event.run_id.as_ref().into());
}

/// A question; what it does not have is left out.
fn asked(question: &Question) -> SseEvent {
    let choice = |choice: &Choice| {
        let options = choice.options.iter().map(|option| {
            let mut fields = json!({ "label": option.label, "description": option.description });
            if let Some(preview) = &option.preview {
                fields["preview"] = json!(preview);
            }
            fields
        });
        json!({
            "question": choice.question, "header": choice.header,
            "options": options.collect::<Vec<_>>(), "multiSelect": choice.multi_select,
        })
    };
    let (input, choices) = match &question.kind {
        QuestionKind::Permission { input } => (Some(input), None),
        QuestionKind::Choices(choices) => (None, Some(choices.iter().map(choice).collect())),
    };
    let choices: Option<Vec<Value>> = choices;
    let suggestions = Some(&question.suggestions).filter(|labels| !labels.is_empty());
    let in_full = Some(&question.in_full).filter(|all| all.iter().any(Option::is_some));
    present(
        "question",
        json!({
            "questionId": question.id, "name": question.name, "title": question.title,
            "toolCallId": question.call, "input": input, "choices": choices,
            "suggestions": suggestions, "suggestionsInFull": in_full,
            "description": question.description,
            "blockedPath": question.blocked_path, "parentToolCallId": question.parent,
        }),
    )
}

/// The event for the outcome of a question.
fn answered(closed: &QuestionClosed) -> SseEvent {
    let (answers, message) = match &closed.closing {
        Closing::Allowed { answers } if !answers.is_empty() => {
            let pair = |(question, answer): &(String, String)| (question.clone(), json!(answer));
            (Some(answers.iter().map(pair).collect::<Map<_, _>>()), None)
        }
        Closing::Denied { message } if !message.is_empty() => (None, Some(message)),
        _ => (None, None),
    };
    let after = u64::try_from(closed.after.as_millis()).unwrap_or(u64::MAX);
    present(
        "answered",
        json!({
            "questionId": closed.id, "how": closed.closing.as_str(), "answers": answers,
            "message": message, "by": closed.by, "after": after,
        }),
    )
}

/// An event of the fields that are not `null`.
fn present(name: &'static str, fields: Value) -> SseEvent {
    let mut event = SseEvent::new(name, fields);
    event.data.retain(|_, value| !value.is_null());
    event
}

fn output(kind: &str, content: &str) -> SseEvent {
    SseEvent::new("output", json!({ "type": kind, "content": content }))
}

fn complete(event: &BusEvent, text: Option<&str>) -> SseEvent {
    let mut data = Map::new();
    data.insert("processedMessageIds".to_owned(), json!([event.run_id.as_ref()]));
    data.extend(text.map(|text| ("text".to_owned(), text.into())));
    SseEvent { name: "complete", data }
}

/// A call whose result never came: no success, whatever it did.
fn no_result(call: StreamingCall, why: Incomplete) -> SseEvent {
    let words = match why {
        Incomplete::Incomplete => "the run ended before the tool answered",
        Incomplete::Ambiguous => {
            "the run ended before the tool answered; whether it took effect is not known"
        }
    };
    tool_use(call, true, Some(json!({ "error": words })))
}

fn tool_use(call: StreamingCall, is_error: bool, summary: Option<Value>) -> SseEvent {
    let StreamingCall { id, name, input, parent } = call;
    let mut data = Map::new();
    data.insert("toolCallId".to_owned(), id.into());
    data.insert("name".to_owned(), name.into());
    data.insert("input".to_owned(), Arc::unwrap_or_clone(input));
    data.insert("isError".to_owned(), is_error.into());
    data.extend(summary.map(|summary| ("result_summary".to_owned(), summary)));
    data.extend(parent.map(|parent| ("parentToolCallId".to_owned(), parent.into())));
    SseEvent { name: "tool_use", data }
}

#[cfg(test)]
pub(crate) mod tests;
