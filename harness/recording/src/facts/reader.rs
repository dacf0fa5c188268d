//! Reads stdout record by record.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use serde_json::Value;

use super::json;
use super::model::{Stated, StatedBlock, StatedCall, StatedMessage, StatedQuestion, StatedTurn};

/// The fields of a record that are read. What the others contain is not kept: lists of tools and commands, the answers of
/// the host, what a tool says beside its result.
const READ: &[&str] = &[
    "type",
    "subtype",
    "parent_tool_use_id",
    "event",
    "message",
    "refused_message_id",
    "isApiErrorMessage",
    "error",
    "request_id",
    "request",
    "status",
    "result",
    "is_error",
    "stop_reason",
    "terminal_reason",
    "begun_message_ids",
];
/// The types of blocks that call a tool.
const CALLS: [&str; 3] = ["tool_use", "server_tool_use", "mcp_tool_use"];
/// What old CLIs write in place of an empty text.
const NO_CONTENT: &str = "(no content)";
/// The model's name in what the CLI says itself.
const SYNTHETIC: &str = "<synthetic>";
/// How the CLI begins what it says itself of an error of the API, and what it says where there was nothing to answer.
const OF_ERRORS: [&str; 2] = ["API Error", "No response requested."];

/// Reads what `stdout` states. A line of more than `limit` bytes states nothing, and neither does a result that is
/// said again at once.
pub(super) fn read(stdout: &[u8], limit: usize) -> Stated {
    let mut reader = Reader::default();
    let mut before: &[u8] = &[];
    for line in json::lines(stdout).filter(|line| line.len() <= limit) {
        let Some(record) = json::record_with(line, READ) else { continue };
        match record["type"] == "result" && line == before {
            true => reader.stated.objects += 1,
            false => reader.record(&record),
        }
        before = line;
    }
    reader.stated
}

/// The conversation of a record: that of a call, or the main one.
type Parent = Option<String>;

/// The place of a block that is open in a stream.
#[derive(Clone, Copy)]
enum Open {
    Text(usize, usize),
    Reasoning(usize, usize),
    Call(usize),
}

#[derive(Default)]
struct Reader {
    stated: Stated,
    /// The message that streams in each conversation.
    streams: HashMap<Parent, usize>,
    /// The open blocks of each of them, by their indexes.
    open: HashMap<Parent, HashMap<u64, Open>>,
    /// The ids of the messages of turns that have ended.
    ended: HashSet<String>,
    /// The number of messages that had begun when the last turn ended.
    begun_before: usize,
    /// The newest message of each conversation and id.
    messages: HashMap<(Parent, String), usize>,
    /// The calls of each id, the newest last.
    calls: HashMap<String, Vec<usize>>,
    /// The number of calls of the main conversation.
    main_calls: usize,
    /// What whole messages have said of the texts and of the reasoning of each message.
    texts: HashMap<usize, SaidBlocks>,
    reasoning: HashMap<usize, SaidBlocks>,
}

/// The blocks of a message that a whole message has said: the first ones.
#[derive(Default)]
struct SaidBlocks {
    count: usize,
    /// The hashes of what they say.
    hashes: HashSet<u64>,
}

impl Reader {
    fn record(&mut self, record: &Value) {
        self.stated.objects += 1;
        let parent = text(&record["parent_tool_use_id"]).map(str::to_owned);
        match record["type"].as_str().unwrap_or_default() {
            "stream_event" => self.stream_event(&record["event"], parent),
            "assistant" => self.snapshot(record, parent),
            "user" => {
                if let Some(id) = text(&record["refused_message_id"]) {
                    let mut messages = self.stated.messages.iter_mut();
                    messages.rfind(|message| message.id == id).into_iter().for_each(|refused| {
                        refused.is_refused = true;
                    });
                }
                for block in record["message"]["content"].as_array().into_iter().flatten() {
                    self.result_of_call(block);
                }
            }
            "result" => self.result(record),
            "system" => self.system(record),
            "control_request" => self.question(record),
            "control_cancel_request" => {
                self.stated.withdrawn.extend(text(&record["request_id"]).map(str::to_owned));
            }
            _ => {}
        }
    }

    fn question(&mut self, record: &Value) {
        let request = &record["request"];
        let Some(id) = text(&record["request_id"]) else { return };
        if request["subtype"] == "can_use_tool" {
            self.stated.questions.push(StatedQuestion {
                id: id.to_owned(),
                name: text(&request["tool_name"]).unwrap_or_default().to_owned(),
                call: text(&request["tool_use_id"]).map(str::to_owned),
                input: request["input"].clone(),
            });
        }
    }

    fn system(&mut self, record: &Value) {
        let is_compacting = record["subtype"] == "status" && record["status"] == "compacting";
        let turn = self.turn();
        if (is_compacting || record["subtype"] == "compact_boundary")
            && self.stated.compactions.last() != Some(&turn)
        {
            self.stated.compactions.push(turn);
        }
    }

    /// The number of the turn that goes on, from 0.
    fn turn(&self) -> usize {
        self.stated.turns.len()
    }

    fn stream_event(&mut self, event: &Value, parent: Parent) {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                let id = text(&event["message"]["id"]).unwrap_or_default().to_owned();
                let message = self.begin(id, parent.clone());
                self.open.remove(&parent);
                self.streams.insert(parent, message);
            }
            "content_block_start" => {
                let Some(message) = self.streams.get(&parent).copied() else { return };
                let block = &event["content_block"];
                if let Some(open) = self.open.get_mut(&parent) {
                    open.remove(&index);
                }
                let open = match block["type"].as_str().unwrap_or_default() {
                    "text" => {
                        let begun = self.block(string(&block["text"]));
                        let texts = &mut self.stated.messages[message].texts;
                        texts.push(begun);
                        Open::Text(message, texts.len() - 1)
                    }
                    "thinking" => {
                        let begun = self.block(string(&block["thinking"]));
                        let reasoning = &mut self.stated.messages[message].reasoning;
                        reasoning.push(begun);
                        Open::Reasoning(message, reasoning.len() - 1)
                    }
                    kind if CALLS.contains(&kind) => match self.call(block, message) {
                        Some(call) => Open::Call(call),
                        None => return,
                    },
                    _ => return self.result_of_call(block),
                };
                self.open.entry(parent).or_default().insert(index, open);
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let messages = &mut self.stated.messages;
                let open = self.open.get(&parent).and_then(|open| open.get(&index));
                match (open, string(&delta["type"])) {
                    (Some(Open::Text(message, block)), "text_delta") => {
                        messages[*message].texts[*block].streamed.push_str(string(&delta["text"]));
                    }
                    (Some(Open::Reasoning(message, block)), "thinking_delta") => {
                        let block = &mut messages[*message].reasoning[*block];
                        block.streamed.push_str(string(&delta["thinking"]));
                    }
                    (Some(Open::Call(call)), "input_json_delta") => {
                        let call = &mut self.stated.calls[*call];
                        call.streamed.push_str(string(&delta["partial_json"]));
                        call.pieces.push(call.streamed.len());
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, id: String, parent: Parent) -> usize {
        let turn = self.turn();
        let number = self.stated.messages.len();
        self.messages.insert((parent.clone(), id.clone()), number);
        self.stated.messages.push(StatedMessage { id, parent, turn, ..StatedMessage::default() });
        number
    }

    fn block(&self, streamed: &str) -> StatedBlock {
        StatedBlock { streamed: streamed.to_owned(), whole: None, calls_before: self.main_calls }
    }

    /// A call that begins, or goes on in the whole message: its number.
    fn call(&mut self, block: &Value, message: usize) -> Option<usize> {
        let id = text(&block["id"])?;
        let own = self.calls.entry(id.to_owned()).or_default();
        let is_it = |call: &&usize| {
            let call = &self.stated.calls[**call];
            call.message == message || call.result.is_none()
        };
        if let Some(known) = own.iter().rev().find(is_it) {
            return Some(*known);
        }
        own.push(self.stated.calls.len());
        let StatedMessage { parent, turn, .. } = &self.stated.messages[message];
        self.main_calls += usize::from(parent.is_none());
        let seed = Some(&block["input"])
            .filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
        self.stated.calls.push(StatedCall {
            id: id.to_owned(),
            name: text(&block["name"]).unwrap_or_default().to_owned(),
            parent: parent.clone(),
            turn: *turn,
            streamed: seed.map(Value::to_string).unwrap_or_default(),
            pieces: Vec::new(),
            whole: None,
            result: None,
            message,
        });
        Some(self.stated.calls.len() - 1)
    }

    fn snapshot(&mut self, record: &Value, parent: Parent) {
        let message = &record["message"];
        let id = text(&message["id"]).unwrap_or_default();
        let known = self.messages.get(&(parent.clone(), id.to_owned())).copied();
        let at = known.unwrap_or_else(|| self.begin(id.to_owned(), parent));
        let is_marked = record["isApiErrorMessage"] == true || !record["error"].is_null();
        let is_of_cli = message["model"] == SYNTHETIC;
        let mut parts = message["content"].as_array().into_iter().flatten();
        let of_error = |part: &Value| {
            let text = string(&part["text"]).trim();
            OF_ERRORS.iter().any(|start| text.starts_with(start))
        };
        self.stated.messages[at].is_doubtful |= is_of_cli && !is_marked && !parts.any(of_error);
        let is_error = is_marked || is_of_cli;
        self.stated.messages[at].is_error |= is_error;
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "text" => {
                    let new = self.block("");
                    let said = Some(string(&block["text"])).filter(|said| *said != NO_CONTENT);
                    let texts = &mut self.stated.messages[at].texts;
                    self.texts.entry(at).or_default().whole(texts, said.unwrap_or_default(), new);
                }
                "thinking" => {
                    let new = self.block("");
                    let reasoning = &mut self.stated.messages[at].reasoning;
                    let said = self.reasoning.entry(at).or_default();
                    said.whole(reasoning, string(&block["thinking"]), new);
                }
                kind if CALLS.contains(&kind) => {
                    if let Some(call) = self.call(block, at) {
                        self.stated.calls[call].whole = Some(block["input"].clone());
                    }
                }
                _ => self.result_of_call(block),
            }
        }
    }

    /// A block that is the result of a call.
    fn result_of_call(&mut self, block: &Value) {
        let is_one = block["type"].as_str().is_some_and(|kind| kind.ends_with("tool_result"));
        let Some(id) = text(&block["tool_use_id"]).filter(|_| is_one) else { return };
        let own = self.calls.get(id).map_or(&[][..], Vec::as_slice);
        let open = own.iter().rev().find(|call| self.stated.calls[**call].result.is_none());
        if let Some(call) = open.map(|call| &mut self.stated.calls[*call]) {
            let content = &block["content"];
            let is_error =
                block["is_error"] == true || string(&content["type"]).ends_with("_error");
            call.result = Some((content.clone(), is_error));
        }
    }

    /// Ends a turn. A result that names only messages of turns that have ended comes again, and ends none (2.1.330).
    fn result(&mut self, record: &Value) {
        let begun = record["begun_message_ids"].as_array().into_iter().flatten();
        let begun: Vec<String> = begun.filter_map(text).map(str::to_owned).collect();
        if !begun.is_empty() && begun.iter().all(|id| self.ended.contains(id)) {
            return;
        }
        match begun.is_empty() {
            true => {
                let new = &self.stated.messages[self.begun_before..];
                self.ended.extend(new.iter().map(|it| it.id.clone()));
                self.begun_before = self.stated.messages.len();
            }
            false => self.ended.extend(begun),
        }
        let said = string(&record["result"]).trim().to_owned();
        let has_failed = record["is_error"] == true
            || string(&record["subtype"]).starts_with("error_")
            || record["status"] == "error";
        let is_refused = record["stop_reason"] == "refusal";
        let is_stopped = said.is_empty() && record["terminal_reason"] == "hook_stopped";
        let is_failure = match () {
            () if has_failed || is_refused || is_stopped => Some(true),
            () if !said.is_empty() => Some(false),
            () if record["terminal_reason"] == "completed" => Some(false),
            () => None,
        };
        self.stated.turns.push(StatedTurn { is_failure, text: said });
    }
}

impl SaidBlocks {
    /// Says the whole of the next block that has none; a block that stdout says again is no other one.
    fn whole(&mut self, blocks: &mut Vec<StatedBlock>, said: &str, new: StatedBlock) {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(said);
        let is_known = !self.hashes.insert(hash);
        let whole = Some(said.to_owned());
        match blocks.get_mut(self.count) {
            Some(block) => block.whole = whole,
            None if is_known => return,
            None => blocks.push(StatedBlock { whole, ..new }),
        }
        self.count += 1;
    }
}

/// A text without the blanks around it, unless it is empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// A text; empty where there is none.
fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
