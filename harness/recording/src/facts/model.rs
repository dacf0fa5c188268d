//! The facts of a recording: messages, calls, questions, results, and the end of each turn.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::json::{self, string, text, without_reasoning};
use crate::text::solid_chars;

/// The replacement of a spoilt character.
const SPOILT: &str = "\u{fffd}";
/// The beginning of the tag around reasoning in a text.
const THINK: &str = "<think";

/// The facts that stdout and stdin state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The number of lines that are one JSON object.
    pub objects: u64,
    /// The messages of the model, in the order in which they begin.
    pub messages: Vec<RecordedMessage>,
    /// The calls of tools, in the order in which they begin.
    pub calls: Vec<RecordedCall>,
    /// The results, each of which ends a turn.
    pub turns: Vec<RecordedTurn>,
    /// The numbers, from 0, of the turns in which the CLI compacts the conversation.
    pub compactions: Vec<usize>,
    /// The requests for an answer, in order.
    pub questions: Vec<RecordedQuestion>,
    /// The ids of the requests for an answer that the CLI takes back.
    pub withdrawn: Vec<String>,
    /// The messages of the host, as it wrote them and as the CLI repeats them.
    pub host_messages: Vec<HostMessage>,
    /// The texts that the CLI prints for a person outside the conversation.
    pub notices: Vec<String>,
    /// True if stdout ends within a turn.
    pub is_cut_off: bool,
}

/// A message of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMessage {
    /// The text of the message.
    pub text: String,
    /// The number of bytes of stdout that the host had read when it wrote the message; `None` if the CLI repeats it.
    pub offset: Option<u64>,
}

/// A request for an answer, during which a call of a tool waits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedQuestion {
    /// The id of the request.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The id of the waiting call, by the request or else by its input; `None` if neither identifies it.
    pub call: Option<String>,
    /// The input that the person is asked about.
    pub input: Value,
    /// The number, from 0, of the turn in which the request comes.
    pub turn: usize,
}

/// A message of the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedMessage {
    /// The id of the message; empty if stdout gives none.
    pub id: String,
    /// The call of the subagent that wrote it; `None` for the main conversation.
    pub parent: Option<String>,
    /// The number, from 0, of the turn in which it begins.
    pub turn: usize,
    /// True if the CLI itself wrote it, in most cases about an API error.
    pub is_error: bool,
    /// True if it is unclear whether the CLI's own message is about an error: "Not enough messages to compact." is not,
    /// and "Credit balance is too low" is.
    pub is_doubtful: bool,
    /// True if the CLI takes it back, because the API stopped it.
    pub is_refused: bool,
    /// True if it came before the result of the turn before its own.
    pub is_early: bool,
    /// The blocks of text.
    pub texts: Vec<RecordedBlock>,
    /// The blocks of reasoning, without those that the API withholds.
    pub reasoning: Vec<RecordedBlock>,
}

/// A block of text or of reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedBlock {
    /// The text that came in pieces.
    pub streamed: String,
    /// The text in the whole message; `None` if stdout never has the whole of it.
    pub whole: Option<String>,
    /// The number of calls of the main conversation that began before it.
    pub calls_before: usize,
    /// True if the CLI takes it back.
    pub is_retracted: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The call of the subagent that makes it; `None` for the main conversation.
    pub parent: Option<String>,
    /// The number, from 0, of the turn in which it begins.
    pub turn: usize,
    /// The input as it came in pieces.
    pub streamed: String,
    /// The sizes of `streamed` in bytes after each piece.
    pub pieces: Vec<usize>,
    /// The input in the whole message.
    pub whole: Option<Value>,
    /// The result, and true if it is an error; `None` without a result.
    pub result: Option<(Value, bool)>,
    /// The index of the message that contains it.
    pub message: usize,
    /// True if the CLI takes its message back before the input is whole, so that the call never starts.
    pub is_retracted: bool,
}

/// A result, which ends a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedTurn {
    /// True if it is a failure; `None` if the record leaves it open.
    pub is_failure: Option<bool>,
    /// The text of the result.
    pub text: String,
    /// The part of the text that answers a person.
    pub answer: String,
    /// The reason of its failure; `None` if it succeeded. Unlike `is_failure`, this considers the messages before the
    /// result.
    pub failure: Option<RecordedFailure>,
    /// The kind of its origin, if the turn answers no message of a person.
    pub origin: Option<String>,
    /// The tokens of the turn; `None` if the record gives no counts.
    pub usage: Option<RecordedUsage>,
}

/// The numbers of tokens in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RecordedUsage {
    /// Input outside the cache: `input_tokens`.
    pub input: u64,
    /// Output: `output_tokens`.
    pub output: u64,
    /// Read from the cache: `cache_read_input_tokens`.
    pub cache_read: u64,
    /// Written to the cache: `cache_creation_input_tokens`.
    pub cache_write: u64,
}

/// The reason why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedFailure {
    /// A person interrupted the turn.
    Interrupted,
    /// The turn failed by itself; the words of the CLI, or else its name for the failure.
    Failed(String),
    /// The CLI ended without a result, and a further run goes on with the conversation.
    CutOff,
}

impl RecordedMessage {
    /// Returns whether it has a text for a person.
    pub(super) fn has_text(&self) -> bool {
        let is_said =
            |block: &RecordedBlock| !block.is_retracted && !block.text().trim().is_empty();
        (!self.is_error || self.is_doubtful) && self.texts.iter().any(is_said)
    }

    /// Returns whether stdout has a text of it that never became whole.
    pub fn has_open_text(&self) -> bool {
        self.texts.iter().any(|block| block.whole.is_none())
    }

    /// Returns whether it has text, none of which came in pieces.
    pub fn comes_whole(&self) -> bool {
        !self.texts.is_empty() && self.texts.iter().all(|block| block.streamed.is_empty())
    }
}

impl RecordedBlock {
    /// Returns the text of the block as far as stdout has it. A CLI may omit streamed text from the whole message.
    pub fn text(&self) -> &str {
        self.whole.as_deref().filter(|whole| !whole.is_empty()).unwrap_or(&self.streamed)
    }

    /// Returns the text, or the streamed pieces if the CLI has spoilt more characters in the whole message.
    pub(super) fn unspoilt_text(&self) -> &str {
        let spoilt = |text: &str| text.matches(SPOILT).count();
        match spoilt(self.text()) <= spoilt(&self.streamed) || self.streamed.is_empty() {
            true => self.text(),
            false => &self.streamed,
        }
    }

    /// Returns whether the text is unambiguous: a CLI may spoil a character, the whole message may differ from its
    /// pieces, and a model may write its reasoning into a text.
    pub fn is_plain(&self) -> bool {
        let [streamed, text] = [self.streamed.as_str(), self.text()];
        let agrees = streamed.is_empty() || solid_chars(streamed).eq(solid_chars(text));
        agrees && ![SPOILT, THINK].iter().any(|sign| streamed.contains(sign) || text.contains(sign))
    }
}

impl Facts {
    /// Returns the calls with a unique id, by their ids. A repeated id is ambiguous.
    pub fn single_calls_by_id(&self) -> HashMap<&str, &RecordedCall> {
        let mut calls: HashMap<&str, Option<&RecordedCall>> = HashMap::new();
        for call in &self.calls {
            calls.entry(&call.id).and_modify(|known| *known = None).or_insert(Some(call));
        }
        calls.into_iter().filter_map(|(id, call)| Some((id, call?))).collect()
    }

    /// Returns the calls with a unique id, in the order in which they begin.
    pub fn single_calls(&self) -> impl Iterator<Item = &RecordedCall> {
        let single = self.single_calls_by_id();
        self.calls.iter().filter(move |call| single.contains_key(call.id.as_str()))
    }

    /// Returns the input of a question: that of the request, or that of the waiting call if the request has none.
    pub fn asked_input(&self, question: &RecordedQuestion) -> Option<Value> {
        let is_any = |input: &Value| input.as_object().is_none_or(|fields| !fields.is_empty());
        let of_call = || {
            let id = question.call.as_deref()?;
            self.single_calls_by_id().get(id)?.whole.clone()
        };
        let own = Some(&question.input).filter(|input| !input.is_null()).cloned();
        own.filter(is_any).or_else(of_call).filter(is_any)
    }

    /// Returns the indexes of the messages that broke off: stdout has a block of them that never became whole.
    pub fn broken_off(&self) -> HashSet<usize> {
        let cut = self.calls.iter().filter(|call| call.whole.is_none()).map(|call| call.message);
        let open = (0..).zip(&self.messages).filter(|(_, message)| message.has_open_text());
        cut.chain(open.map(|(number, _)| number)).collect()
    }
}

impl RecordedCall {
    /// Returns the text of the input, whole or as far as it came.
    pub(super) fn input_text(&self) -> String {
        self.input().map_or_else(|| self.streamed.clone(), |input| input.to_string())
    }

    /// Returns the input: that of the whole message, or else that of the pieces. `None` if the pieces are no JSON,
    /// because the whole message may then have any input.
    pub fn input(&self) -> Option<Value> {
        let streamed = json::value(self.streamed.as_bytes());
        if streamed.is_none() && !self.streamed.is_empty() {
            return None;
        }
        let is_empty = |input: &Value| input.as_object().is_none_or(Map::is_empty);
        let whole = self.whole.clone().filter(|whole| streamed.is_none() || !is_empty(whole));
        whole.or(streamed).filter(Value::is_object)
    }
}

/// The origins of messages that wait for an answer: a person, a chat, or another session.
const ANSWERED: [&str; 3] = ["human", "channel", "peer"];
/// The stop reason of messages in which the model declined to answer.
pub(super) const REFUSAL: &str = "refusal";
/// The reasons of turns that a person interrupted.
const INTERRUPTED: [&str; 2] = ["aborted_tools", "aborted_streaming"];
/// The names in a result that do not describe a failure.
const NO_REASONS: [&str; 8] = [
    "",
    "success",
    "error_during_execution",
    "completed",
    "api_error",
    "end_turn",
    "stop_sequence",
    "tool_use",
];
/// The text that old CLIs write instead of an empty one.
pub(super) const NO_CONTENT: &str = "(no content)";
/// The beginning of an error that is a note for the CLI's developers.
const NOTE: &str = "[ede_diagnostic]";

/// The parts of a turn, besides the result, that determine its end.
#[derive(Debug, Default)]
pub(super) struct BeforeResult {
    /// True if the main conversation has a text.
    pub(super) said: bool,
    /// True if it has calls of tools.
    pub(super) has_calls: bool,
    /// True if a person interrupted it.
    pub(super) is_interrupted: bool,
    /// True if the model declined to continue in its last message.
    pub(super) is_refused: bool,
    /// The words of the last message in which the CLI reports an error.
    pub(super) words: Option<String>,
}

/// Returns the kind of an `origin` whose turn answers no message of a person.
pub(super) fn answers_nobody(origin: &Value) -> Option<String> {
    text(&origin["kind"]).filter(|kind| !ANSWERED.contains(kind)).map(str::to_owned)
}

/// Reads a result.
pub(super) fn turn_of(record: &Value, before: &BeforeResult) -> RecordedTurn {
    let said = string(&record["result"]).trim().to_owned();
    let has_failed = record["is_error"] == true
        || string(&record["subtype"]).starts_with("error_")
        || record["status"] == "error";
    let is_refused = record["stop_reason"] == REFUSAL;
    let is_stopped = said.is_empty() && record["terminal_reason"] == "hook_stopped";
    let is_failure = match () {
        () if has_failed || is_refused || is_stopped => Some(true),
        () if !said.is_empty() => Some(false),
        () if record["terminal_reason"] == "completed" => Some(false),
        () => None,
    };
    let names = ["subtype", "terminal_reason", "stop_reason"].map(|field| string(&record[field]));
    let reason = names.into_iter().find(|name| !NO_REASONS.contains(name));
    let reason = reason.or(before.is_refused.then_some(REFUSAL));
    let is_interrupted = reason.is_some_and(|reason| INTERRUPTED.contains(&reason))
        || reason.is_none() && before.is_interrupted;
    let is_of_api =
        record["terminal_reason"] == "api_error" || !record["api_error_status"].is_null();
    let answer = answer_of(record);
    let has_answer = before.said || !answer.is_empty();
    let is_empty = !has_answer
        && (reason.is_some()
            || is_of_api
            || before.is_interrupted
            || before.words.is_some() && !before.has_calls);
    let failure = (has_failed || is_refused || is_empty).then(|| match is_interrupted {
        true => RecordedFailure::Interrupted,
        false => {
            let own = words(record).filter(|_| has_failed).or_else(|| before.words.clone());
            let name = reason.or(names.into_iter().find(|name| !["", "success"].contains(name)));
            RecordedFailure::Failed(own.unwrap_or_else(|| name.unwrap_or("is_error").to_owned()))
        }
    });
    RecordedTurn {
        is_failure,
        answer,
        text: said,
        failure,
        origin: answers_nobody(&record["origin"]),
        usage: RecordedUsage::of(&record["usage"]),
    }
}

impl RecordedUsage {
    /// Reads the counts; `None` if there are none. A missing count is 0.
    fn of(usage: &Value) -> Option<Self> {
        let count = |key: &str| usage[key].as_u64().unwrap_or_default();
        usage.is_object().then(|| Self {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cache_read: count("cache_read_input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
        })
    }
}

/// Returns the text of a result for a person. It may itself be the line of a result, and begin with reasoning.
fn answer_of(record: &Value) -> String {
    let result = text(&record["result"]).filter(|text| *text != NO_CONTENT).unwrap_or_default();
    let is_result = |inner: &Value| inner["type"] == "result" && inner["result"].is_string();
    let inner = json::record(result.as_bytes()).filter(is_result);
    match inner {
        Some(inner) => answer_of(&inner),
        None => without_reasoning(result).trim().to_owned(),
    }
}

/// Returns the words of the CLI about a failure.
fn words(record: &Value) -> Option<String> {
    let errors = record["errors"].as_array().into_iter().flatten();
    let named = errors.filter_map(text).find(|error| !error.starts_with(NOTE));
    let fields = ["/result", "/message", "/content", "/error", "/error/message"];
    let others = || fields.iter().find_map(|path| text(record.pointer(path)?));
    named.or_else(others).map(without_json)
}

/// Replaces the JSON in a text by the message inside it.
fn without_json(words: &str) -> String {
    let json = words.find('{').map(|at| words.split_at(at));
    let inner = json.and_then(|(before, json)| {
        let value: Value = serde_json::from_str(json).ok()?;
        let paths = ["/error/message", "/message", "/error"];
        let message = paths.iter().find_map(|path| value.pointer(path)?.as_str())?;
        Some(format!("{before}{message}"))
    });
    inner.unwrap_or_else(|| words.to_owned())
}
