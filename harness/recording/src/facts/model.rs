//! The facts of a recording: messages, calls, questions, results.

use std::collections::{HashMap, HashSet};

use crate::text::solid_chars;
use serde_json::{Map, Value};

use super::json;

/// The sign for a character that was spoilt.
const SPOILT: &str = "\u{fffd}";
/// The beginning of the tag around reasoning in a text.
const THINK: &str = "<think";

/// The facts that stdout and stdin state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The lines that are one JSON object.
    pub objects: u64,
    /// The messages of the model, in the order in which they begin.
    pub messages: Vec<RecordedMessage>,
    /// The calls of tools, in the order in which they begin.
    pub calls: Vec<RecordedCall>,
    /// The results, each of which ends a turn.
    pub turns: Vec<RecordedTurn>,
    /// The numbers, from 0, of the turns in which the CLI compacts the conversation.
    pub compactions: Vec<usize>,
    /// The requests for an answer, in their order.
    pub questions: Vec<RecordedQuestion>,
    /// The ids of the requests for an answer that the CLI takes back.
    pub withdrawn: Vec<String>,
    /// The messages of the host, as it wrote them and as the CLI repeats them.
    pub host_messages: Vec<HostMessage>,
    /// The texts that the CLI itself prints for a person, outside the conversation.
    pub notices: Vec<String>,
    /// Whether stdout ends within a turn.
    pub is_cut_off: bool,
}

/// A message of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMessage {
    /// Its text.
    pub text: String,
    /// The number of bytes of stdout that the host had read when it wrote the message; `None` where the CLI repeats it.
    pub offset: Option<u64>,
}

/// A request for an answer, which holds a call of a tool back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedQuestion {
    /// The id of the request.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The id of the call that waits, by the request or else by its input; `None` where neither says which it is.
    pub call: Option<String>,
    /// The input that is asked about.
    pub input: Value,
    /// The number, from 0, of the turn in which it is asked.
    pub turn: usize,
}

/// A message of the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedMessage {
    /// Its id; empty where stdout names none.
    pub id: String,
    /// The call of the subagent that says it; none for the main conversation.
    pub parent: Option<String>,
    /// The number, from 0, of the turn in which it begins.
    pub turn: usize,
    /// Whether it is what the CLI itself says, of an error of the API in most cases.
    pub is_error: bool,
    /// Whether nothing says that what the CLI itself says is of an error: "Not enough messages to compact." is none, and
    /// "Credit balance is too low" is one.
    pub is_doubtful: bool,
    /// Whether the CLI takes it back, because the API stopped it.
    pub is_refused: bool,
    /// Whether it came before the result of the turn before its own.
    pub is_early: bool,
    /// Its blocks of text.
    pub texts: Vec<RecordedBlock>,
    /// Its blocks of reasoning; one that the API withholds is none.
    pub reasoning: Vec<RecordedBlock>,
}

/// A block of text or of reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedBlock {
    /// What came in pieces.
    pub streamed: String,
    /// What the whole message says; none if stdout never has the whole of it.
    pub whole: Option<String>,
    /// The number of calls of the main conversation that began before it.
    pub calls_before: usize,
    /// Whether the CLI takes it back.
    pub is_retracted: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The call of the subagent that makes it; none for the main conversation.
    pub parent: Option<String>,
    /// The number, from 0, of the turn in which it begins.
    pub turn: usize,
    /// Its input as it came in pieces.
    pub streamed: String,
    /// The sizes of `streamed` in bytes after each piece.
    pub pieces: Vec<usize>,
    /// Its input as the whole message says it.
    pub whole: Option<Value>,
    /// Its result, and whether that is an error; none if stdout has none.
    pub result: Option<(Value, bool)>,
    /// The number of the message that it is part of.
    pub message: usize,
    /// Whether the CLI takes its message back before the input is whole, so that the call never starts.
    pub is_retracted: bool,
}

/// A result, which ends a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedTurn {
    /// Whether it is a failure; none where the record leaves it open.
    pub is_failure: Option<bool>,
    /// Its text.
    pub text: String,
    /// The part of the text that answers a person.
    pub answer: String,
    /// Why it failed; `None` where it went well. In contrast to `is_failure`, this takes what came before the result into
    /// account.
    pub failure: Option<RecordedFailure>,
    /// The kind of its origin, if the turn answers no message of a person.
    pub origin: Option<String>,
}

/// The reason why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedFailure {
    /// A person interrupted it.
    Interrupted,
    /// It failed by itself; the words of the CLI, or where it gave none, the name by which it calls the failure.
    Failed(String),
}

impl RecordedMessage {
    /// Whether it says a text to a person.
    pub(super) fn has_text(&self) -> bool {
        let is_said =
            |block: &RecordedBlock| !block.is_retracted && !block.text().trim().is_empty();
        (!self.is_error || self.is_doubtful) && self.texts.iter().any(is_said)
    }

    /// Whether stdout has a text of it that never became whole.
    pub fn has_open_text(&self) -> bool {
        self.texts.iter().any(|block| block.whole.is_none())
    }

    /// Whether it has text, and nothing of it came in pieces.
    pub fn comes_whole(&self) -> bool {
        !self.texts.is_empty() && self.texts.iter().all(|block| block.streamed.is_empty())
    }
}

impl RecordedBlock {
    /// The text of the block as far as stdout has it. A CLI may leave what came in pieces out of the whole message.
    pub fn text(&self) -> &str {
        self.whole.as_deref().filter(|whole| !whole.is_empty()).unwrap_or(&self.streamed)
    }

    /// The same, or what came in pieces where the CLI has spoilt more characters in the whole message.
    pub(super) fn unspoilt_text(&self) -> &str {
        let spoilt = |text: &str| text.matches(SPOILT).count();
        match spoilt(self.text()) <= spoilt(&self.streamed) || self.streamed.is_empty() {
            true => self.text(),
            false => &self.streamed,
        }
    }

    /// Whether stdout leaves no doubt about the text: a CLI may spoil a character, the whole message may say something
    /// else than its pieces, and a model may write its reasoning into a text.
    pub fn is_plain(&self) -> bool {
        let [streamed, text] = [self.streamed.as_str(), self.text()];
        let agrees = streamed.is_empty() || solid_chars(streamed).eq(solid_chars(text));
        agrees && ![SPOILT, THINK].iter().any(|sign| streamed.contains(sign) || text.contains(sign))
    }
}

impl Facts {
    /// The calls whose id no other call has, by their ids. Of an id that several have, nobody knows which is meant.
    pub fn single_calls_by_id(&self) -> HashMap<&str, &RecordedCall> {
        let mut calls: HashMap<&str, Option<&RecordedCall>> = HashMap::new();
        for call in &self.calls {
            calls.entry(&call.id).and_modify(|known| *known = None).or_insert(Some(call));
        }
        calls.into_iter().filter_map(|(id, call)| Some((id, call?))).collect()
    }

    /// The calls whose id no other call has, in the order in which they begin.
    pub fn single_calls(&self) -> impl Iterator<Item = &RecordedCall> {
        let single = self.single_calls_by_id();
        self.calls.iter().filter(move |call| single.contains_key(call.id.as_str()))
    }

    /// The input that a question is about: that of the request, or of the call that waits where the request has none.
    pub fn asked_input(&self, question: &RecordedQuestion) -> Option<Value> {
        let is_any = |input: &Value| input.as_object().is_none_or(|fields| !fields.is_empty());
        let of_call = || {
            let id = question.call.as_deref()?;
            self.single_calls_by_id().get(id)?.whole.clone()
        };
        let own = Some(&question.input).filter(|input| !input.is_null()).cloned();
        own.filter(is_any).or_else(of_call).filter(is_any)
    }

    /// The numbers of the messages that broke off: stdout has a block of them that never became whole.
    pub fn broken_off(&self) -> HashSet<usize> {
        let cut = self.calls.iter().filter(|call| call.whole.is_none()).map(|call| call.message);
        let open = (0..).zip(&self.messages).filter(|(_, message)| message.has_open_text());
        cut.chain(open.map(|(number, _)| number)).collect()
    }
}

impl RecordedCall {
    /// The text of its input, whole or as far as it came.
    pub(super) fn input_text(&self) -> String {
        self.input().map_or_else(|| self.streamed.clone(), |input| input.to_string())
    }

    /// Its input: that of the whole message, or else that of the pieces. None where the pieces are no JSON: the CLI
    /// then says what it likes.
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
