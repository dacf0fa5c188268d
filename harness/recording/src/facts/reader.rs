//! Reads the facts from stdout, record by record.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use serde_json::Value;

use super::json::{self, string, text, texts_in};
use super::model::{
    BeforeResult, Facts, HostMessage, NO_CONTENT, REFUSAL, RecordedBlock, RecordedCall,
    RecordedFailure, RecordedMessage, RecordedQuestion, RecordedTurn, answers_nobody, turn_of,
};
use crate::capture::{Capture, StdinLine, stdin_lines};
use crate::cassette::Cassette;

/// The fields of a record that are read. The others are dropped: lists of tools and commands, the answers of the host,
/// the extra output of a tool beside its result.
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
    "api_error_status",
    "usage",
    "uuid",
    "origin",
    "errors",
    "content",
    "is_api_error_message",
    "aborted",
    "isReplay",
    "isSynthetic",
    "abandoned_blocks",
    "supersedes",
    "retracted_message_uuids",
    "response",
    // The words of notices.
    "text",
    "description",
    "summary",
    "stderr",
    "reason",
    "compact_error",
    "cause",
    "patch",
];

/// The fields by which two results in a row are the same one.
const SAID_BY_RESULTS: [&str; 15] = [
    "subtype",
    "is_error",
    "result",
    "errors",
    "status",
    "stop_reason",
    "terminal_reason",
    "api_error_status",
    "begun_message_ids",
    "uuid",
    "session_id",
    "duration_ms",
    "duration_api_ms",
    "num_turns",
    "total_cost_usd",
];
/// The fields of a record outside the conversation that have words for a person.
const WORDS: [&str; 11] = [
    "content",
    "text",
    "message",
    "description",
    "summary",
    "error",
    "stderr",
    "reason",
    "compact_error",
    "cause",
    "patch",
];
/// The beginning of the CLI's report that a person interrupted the turn.
const INTERRUPTED: &str = "[Request interrupted by user";
/// The beginning of a record that repeats the output of a local command.
const LOCAL_OUTPUT: &str = "<local-command-";
/// The types of blocks that call a tool.
const CALLS: [&str; 3] = ["tool_use", "server_tool_use", "mcp_tool_use"];
/// The model's name in a message that the CLI itself wrote.
const SYNTHETIC: &str = "<synthetic>";
/// The beginning of the CLI's own message about an API error.
const API_ERROR: &str = "API Error";
/// The CLI's message when there was no request to answer.
const NO_RESPONSE: &str = "No response requested.";

impl Facts {
    /// Reads the facts of a cassette.
    pub fn of(cassette: &Cassette) -> Self {
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        Self::read(Capture { stdout: &cassette.stdout, stdin: &stdin }, usize::MAX)
    }

    /// Reads the facts of all runs of a cassette, as of one conversation. A turn that is open at the end of a run has no
    /// result.
    pub fn of_runs(cassette: &Cassette) -> Self {
        let mut reader = FactsReader::default();
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        stdin.iter().for_each(|line| reader.host_line(line));
        for (run, stdout) in cassette.outputs().enumerate() {
            if run > 0 {
                reader.end_run();
            }
            reader.stdout(stdout, usize::MAX);
        }
        reader.finish()
    }

    /// Reads the facts of both sides of a process. A line of stdout of more than `line_limit` bytes is ignored, and so
    /// is a result that is repeated at once.
    pub fn read(capture: Capture<'_>, line_limit: usize) -> Self {
        let mut reader = FactsReader::default();
        capture.stdin.iter().for_each(|line| reader.host_line(line));
        reader.stdout(capture.stdout, line_limit);
        reader.finish()
    }
}

/// The conversation of a record: the call of its subagent, or `None` for the main one.
type ParentId = Option<String>;

/// The place of a block in the facts.
#[derive(Debug, Clone, Copy)]
enum ContentPlace {
    Text(BlockPlace),
    Reasoning(BlockPlace),
    Call(usize),
}

/// The place of a block of text or of reasoning in its message.
#[derive(Debug, Clone, Copy)]
struct BlockPlace {
    message: usize,
    block: usize,
}

/// The state of the message that streams in a conversation.
#[derive(Default)]
struct Stream {
    /// The index of the message; `None` before the first one.
    message: Option<usize>,
    /// The newest block of each index.
    blocks: BTreeMap<u64, ContentPlace>,
    /// The indexes of blocks that have not stopped.
    open: BTreeSet<u64>,
}

#[derive(Default)]
struct FactsReader {
    facts: Facts,
    /// The message that streams in each conversation.
    streams: HashMap<ParentId, Stream>,
    /// The messages that came as stream events.
    streamed: HashSet<usize>,
    /// The ids of the messages of completed turns.
    ended: HashSet<String>,
    /// The number of messages that had begun when the last turn ended.
    begun_before: usize,
    /// The newest message of each conversation and id.
    messages: HashMap<(ParentId, String), usize>,
    /// The calls of each id, the newest last.
    calls: HashMap<String, Vec<usize>>,
    /// The ids of the requests for an answer.
    asked: HashSet<String>,
    /// The number of calls of the main conversation.
    main_calls: usize,
    /// The blocks of each message that a whole message has repeated.
    texts: HashMap<usize, SaidBlocks>,
    reasoning: HashMap<usize, SaidBlocks>,
    /// The blocks that each record of the main conversation has shown in this turn, by its uuid.
    shown: HashMap<String, BlocksOfRecord>,
    /// The blocks that each record of a subagent has shown; subagents outlive turns.
    shown_by_subagents: HashMap<String, BlocksOfRecord>,
    /// The numbers of messages and of calls that had begun before this turn.
    messages_before: usize,
    calls_before: usize,
    /// The number of turns that had ended before this run.
    turns_before: usize,
    /// True if the turn has begun, so that stdout must not end without its result.
    is_open: bool,
    /// The numbers of messages that had begun when the CLI began another turn before the result of this one.
    next_turns: Vec<usize>,
    /// The content of the turn before its result.
    before: BeforeResult,
}

/// The blocks of a message that a record has shown.
struct BlocksOfRecord {
    message: usize,
    places: Vec<ContentPlace>,
}

/// The first blocks of a message, which a whole message has repeated.
#[derive(Default)]
struct SaidBlocks {
    count: usize,
    /// The hashes of their contents.
    hashes: HashSet<u64>,
}

impl FactsReader {
    /// Reads the lines of a process's stdout, each of at most `line_limit` bytes.
    fn stdout(&mut self, stdout: &[u8], line_limit: usize) {
        let mut last_result = None;
        for line in json::lines(stdout).filter(|line| line.len() <= line_limit) {
            match json::record_with(line, READ) {
                Some(record) => {
                    self.facts.objects += 1;
                    let is_result = record["type"] == "result";
                    let result = is_result.then(|| json::raw_fields(line, &SAID_BY_RESULTS));
                    if !is_result || result != last_result {
                        self.record(&record);
                    }
                    last_result = result;
                }
                None => {
                    let list = json::list(line);
                    list.iter().for_each(|record| self.record(record));
                    if !list.is_empty() {
                        last_result = None;
                    }
                }
            }
        }
    }

    /// Returns whether the process has a turn without a result.
    fn is_cut_off(&self) -> bool {
        self.is_open || self.facts.turns.len() == self.turns_before
    }

    /// Ends the process, after which another one goes on with the conversation.
    fn end_run(&mut self) {
        if self.is_cut_off() {
            let failure = Some(RecordedFailure::CutOff);
            self.facts.turns.push(RecordedTurn { failure, ..RecordedTurn::default() });
        }
        let facts = std::mem::take(&mut self.facts);
        let (messages, main_calls) = (facts.messages.len(), self.main_calls);
        *self = Self {
            begun_before: messages,
            main_calls,
            messages_before: messages,
            calls_before: facts.calls.len(),
            turns_before: facts.turns.len(),
            facts,
            ..Self::default()
        };
    }

    fn finish(mut self) -> Facts {
        self.facts.is_cut_off = self.is_cut_off();
        self.facts
    }

    fn record(&mut self, record: &Value) {
        let parent = text(&record["parent_tool_use_id"]).map(str::to_owned);
        match record["type"].as_str().unwrap_or_default() {
            "stream_event" => self.stream_event(record, parent),
            "assistant" => self.snapshot(record, parent),
            "user" => self.user(record, &parent),
            "result" => self.result(record),
            "control_request" => self.question(record),
            "control_response" => {
                let pending = &record["response"]["pending_permission_requests"];
                for request in pending.as_array().into_iter().flatten() {
                    // A host that joins a session gets the waiting questions again.
                    let is_known = |id: &str| self.asked.contains(id);
                    if text(&request["request_id"]).is_some_and(|id| !is_known(id)) {
                        self.question(request);
                    }
                }
            }
            "control_cancel_request" => {
                self.facts.withdrawn.extend(text(&record["request_id"]).map(str::to_owned));
            }
            "system" => self.system(record),
            kind => {
                if kind == "error" {
                    let words = text(&record["error"]["message"]);
                    self.before.words = words.map(str::to_owned).or(self.before.words.take());
                }
                self.notice(record);
            }
        }
    }

    /// Reads a line of the host.
    fn host_line(&mut self, StdinLine { line, offset, .. }: &StdinLine) {
        if let Some(record) = json::record(line).filter(|record| record["type"] == "user") {
            let (text, offset) = (words_of(&record["message"]), Some(*offset));
            self.facts.host_messages.push(HostMessage { text, offset });
        }
    }

    /// Reads the words for a person in a record outside the conversation.
    fn notice(&mut self, record: &Value) {
        let words = WORDS.iter().flat_map(|field| texts_in(&record[*field])).map(str::to_owned);
        self.facts.notices.extend(words);
    }

    fn question(&mut self, record: &Value) {
        let request = &record["request"];
        let Some(id) = text(&record["request_id"]) else { return };
        if request["subtype"] == "can_use_tool" {
            let name = text(&request["tool_name"]).unwrap_or_default().to_owned();
            let input = request["input"].clone();
            let call = text(&request["tool_use_id"]).map(str::to_owned);
            let is_unnamed = call.is_none() && text(&request["agent_id"]).is_none();
            let call = call.or_else(|| is_unnamed.then(|| self.asked_about(&name, &input))?);
            let turn = self.turn();
            self.asked.insert(id.to_owned());
            self.facts.questions.push(RecordedQuestion {
                id: id.to_owned(),
                name,
                call,
                input,
                turn,
            });
        }
    }

    /// Finds the call of a question that names none (1.0.128): the open call with this name and input, and of several
    /// the first without a question; `None` if calls of different conversations match.
    fn asked_about(&self, name: &str, input: &Value) -> Option<String> {
        let is_it = |call: &&RecordedCall| {
            let is_open = call.result.is_none() && call.turn == self.turn();
            is_open && call.name == name && call.input().is_some_and(|own| is_same(&own, input))
        };
        let turn = self.turn();
        let is_asked = |call: &RecordedCall| {
            let mut of_turn = self.facts.questions.iter().rev().take_while(|it| it.turn == turn);
            of_turn.any(|asked| asked.call.as_deref() == Some(&call.id))
        };
        let of_turn = &self.facts.calls[self.calls_before..];
        let equal: Vec<&RecordedCall> = of_turn.iter().filter(is_it).collect();
        let first =
            equal.first().filter(|first| equal.iter().all(|it| it.parent == first.parent))?;
        Some(equal.iter().find(|call| !is_asked(call)).unwrap_or(first).id.clone())
    }

    fn system(&mut self, record: &Value) {
        if record["subtype"] == "init" {
            if self.is_open {
                self.next_turns.push(self.facts.messages.len());
            }
            self.is_open = true;
            return;
        }
        let is_compacting = record["subtype"] == "status" && record["status"] == "compacting";
        let turn = self.turn();
        if (is_compacting || record["subtype"] == "compact_boundary")
            && self.facts.compactions.last() != Some(&turn)
        {
            self.facts.compactions.push(turn);
        }
        self.retract_shown(&record["retracted_message_uuids"]);
        self.notice(record);
    }

    /// Returns the number of the present turn, from 0.
    fn turn(&self) -> usize {
        self.facts.turns.len()
    }

    fn user(&mut self, record: &Value, parent: &ParentId) {
        let is_main = parent.is_none();
        let message = &record["message"];
        let words = words_of(message);
        if record["isReplay"] == true {
            let is_of_host = is_main
                && record["isSynthetic"] != true
                && !words.starts_with(LOCAL_OUTPUT)
                && answers_nobody(&record["origin"]).is_none();
            if is_of_host {
                self.is_open = true;
                self.facts.host_messages.push(HostMessage { text: words, offset: None });
            }
            return;
        }
        if let Some(id) = text(&record["refused_message_id"]) {
            let mut messages = self.facts.messages.iter_mut().enumerate().rev();
            if let Some((at, refused)) = messages.find(|(_, message)| message.id == id) {
                refused.is_refused = true;
                self.retract_message(at);
            }
        }
        let content = &message["content"];
        content.as_array().into_iter().flatten().for_each(|block| self.result_of_call(block));
        let has_result = content
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
        let is_interrupt = words.starts_with(INTERRUPTED);
        let is_prompt = !has_result && !is_interrupt && !words.starts_with(LOCAL_OUTPUT);
        self.is_open |= is_main && is_prompt && !content.is_null();
        self.before.is_interrupted |= is_main && is_interrupt;
    }

    fn stream_event(&mut self, record: &Value, parent: ParentId) {
        let event = &record["event"];
        if let Some(id) = text(&record["abandoned_blocks"]["api_message_id"]) {
            let from = record["abandoned_blocks"]["from_block_index"].as_u64().unwrap_or_default();
            self.abandon(&parent, id, from);
        }
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.begin_second_try(&parent);
                let id = text(&event["message"]["id"]).unwrap_or_default().to_owned();
                self.begin_stream(id, parent);
            }
            "content_block_start" => {
                let known = self.streams.get(&parent).and_then(|stream| stream.message);
                // The start of the message may be lost, as in a log that cuts long lines.
                let message =
                    known.unwrap_or_else(|| self.begin_stream(String::new(), parent.clone()));
                let block = &event["content_block"];
                let place = match block["type"].as_str().unwrap_or_default() {
                    "text" => {
                        let begun = self.block(string(&block["text"]));
                        let texts = &mut self.facts.messages[message].texts;
                        texts.push(begun);
                        Some(ContentPlace::Text(BlockPlace { message, block: texts.len() - 1 }))
                    }
                    "thinking" => {
                        let begun = self.block(string(&block["thinking"]));
                        let reasoning = &mut self.facts.messages[message].reasoning;
                        reasoning.push(begun);
                        Some(ContentPlace::Reasoning(BlockPlace {
                            message,
                            block: reasoning.len() - 1,
                        }))
                    }
                    kind if CALLS.contains(&kind) => {
                        self.call(block, message).map(ContentPlace::Call)
                    }
                    _ => {
                        self.result_of_call(block);
                        None
                    }
                };
                let stream = self.streams.entry(parent).or_default();
                stream.open.insert(index);
                match place {
                    Some(place) => drop(stream.blocks.insert(index, place)),
                    None => drop(stream.blocks.remove(&index)),
                }
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let messages = &mut self.facts.messages;
                let stream = self.streams.get(&parent);
                match (stream.and_then(|it| it.blocks.get(&index)), string(&delta["type"])) {
                    (Some(ContentPlace::Text(at)), "text_delta") => {
                        messages[at.message].texts[at.block]
                            .streamed
                            .push_str(string(&delta["text"]));
                    }
                    (Some(ContentPlace::Reasoning(at)), "thinking_delta") => {
                        let block = &mut messages[at.message].reasoning[at.block];
                        block.streamed.push_str(string(&delta["thinking"]));
                    }
                    (Some(ContentPlace::Call(call)), "input_json_delta") => {
                        let call = &mut self.facts.calls[*call];
                        call.streamed.push_str(string(&delta["partial_json"]));
                        call.pieces.push(call.streamed.len());
                    }
                    _ => {}
                }
            }
            "content_block_stop" => {
                let stream = self.streams.entry(parent).or_default();
                stream.open.remove(&index);
            }
            "message_delta" if parent.is_none() => {
                self.before.is_refused = event["delta"]["stop_reason"] == REFUSAL;
            }
            "message_stop" => {
                let stream = self.streams.entry(parent).or_default();
                stream.open.clear();
            }
            _ => {}
        }
    }

    /// Begins a message that streams, and returns its index.
    fn begin_stream(&mut self, id: String, parent: ParentId) -> usize {
        let message = self.begin(id, parent.clone());
        self.streamed.insert(message);
        if parent.is_none() {
            (self.is_open, self.before.is_refused) = (true, false);
        }
        self.streams.insert(parent, Stream { message: Some(message), ..Stream::default() });
        message
    }

    /// Takes back the message that streams in a conversation if it broke off within a block, because the second try
    /// follows. CLIs up to 2.1.148 print no record about such a failure.
    fn begin_second_try(&mut self, parent: &ParentId) {
        let broken = self.streams.get(parent).filter(|stream| !stream.open.is_empty());
        if let Some(message) = broken.and_then(|stream| stream.message) {
            self.retract_message(message);
        }
        if let Some(stream) = self.streams.get_mut(parent) {
            stream.open.clear();
        }
    }

    /// Takes back the blocks of a message from an index on, because the CLI has replaced its end.
    fn abandon(&mut self, parent: &ParentId, id: &str, from: u64) {
        let Some(stream) = self.streams.get_mut(parent) else { return };
        let is_it = stream.message.is_some_and(|at| self.facts.messages[at].id == id);
        if is_it {
            let gone = stream.blocks.split_off(&from);
            stream.open.retain(|index| *index < from);
            gone.into_values().for_each(|place| self.retract(place));
        }
    }

    /// Takes back all blocks of a message.
    fn retract_message(&mut self, at: usize) {
        let message = &self.facts.messages[at];
        let texts = (0..message.texts.len())
            .map(|block| ContentPlace::Text(BlockPlace { message: at, block }));
        let reasoning = (0..message.reasoning.len())
            .map(|block| ContentPlace::Reasoning(BlockPlace { message: at, block }));
        let calls = (0..).zip(&self.facts.calls).skip(self.calls_before);
        let calls = calls.filter(|(_, call)| call.message == at);
        let calls = calls.map(|(call, _)| ContentPlace::Call(call));
        let all: Vec<ContentPlace> = texts.chain(reasoning).chain(calls).collect();
        all.into_iter().for_each(|place| self.retract(place));
    }

    /// Takes back the blocks that the records with these uuids have shown. Later text of such a message is new.
    fn retract_shown(&mut self, uuids: &Value) {
        for uuid in uuids.as_array().into_iter().flatten().filter_map(text) {
            let shown = self.shown.remove(uuid).or_else(|| self.shown_by_subagents.remove(uuid));
            let Some(BlocksOfRecord { message, places }) = shown else { continue };
            places.into_iter().for_each(|place| self.retract(place));
            let RecordedMessage { texts, reasoning, .. } = &self.facts.messages[message];
            let said = |count| SaidBlocks { count, hashes: HashSet::new() };
            self.texts.insert(message, said(texts.len()));
            self.reasoning.insert(message, said(reasoning.len()));
        }
    }

    fn retract(&mut self, place: ContentPlace) {
        match place {
            ContentPlace::Text(BlockPlace { message, block }) => {
                self.facts.messages[message].texts[block].is_retracted = true;
            }
            ContentPlace::Reasoning(BlockPlace { message, block }) => {
                self.facts.messages[message].reasoning[block].is_retracted = true;
            }
            // A whole call has already started.
            ContentPlace::Call(call) => {
                let call = &mut self.facts.calls[call];
                call.is_retracted = call.whole.is_none();
            }
        }
    }

    fn begin(&mut self, id: String, parent: ParentId) -> usize {
        let turn = self.turn();
        let number = self.facts.messages.len();
        self.messages.insert((parent.clone(), id.clone()), number);
        self.facts.messages.push(RecordedMessage {
            id,
            parent,
            turn,
            ..RecordedMessage::default()
        });
        number
    }

    fn block(&self, streamed: &str) -> RecordedBlock {
        let (streamed, calls_before) = (streamed.to_owned(), self.main_calls);
        RecordedBlock { streamed, calls_before, ..RecordedBlock::default() }
    }

    /// Begins a call, or continues it with the whole message; returns its index.
    fn call(&mut self, block: &Value, message: usize) -> Option<usize> {
        let id = text(&block["id"])?;
        let own = self.calls.entry(id.to_owned()).or_default();
        let is_it = |call: &&usize| {
            let call = &self.facts.calls[**call];
            let is_of_turn = call.parent.is_some() || call.turn == self.facts.turns.len();
            call.message == message || call.result.is_none() && is_of_turn
        };
        if let Some(known) = own.iter().rev().find(is_it) {
            return Some(*known);
        }
        own.push(self.facts.calls.len());
        let RecordedMessage { parent, turn, .. } = &self.facts.messages[message];
        self.main_calls += usize::from(parent.is_none());
        let seed = Some(&block["input"])
            .filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
        self.facts.calls.push(RecordedCall {
            id: id.to_owned(),
            name: text(&block["name"]).unwrap_or_default().to_owned(),
            parent: parent.clone(),
            turn: *turn,
            streamed: seed.map(Value::to_string).unwrap_or_default(),
            pieces: Vec::new(),
            whole: None,
            result: None,
            message,
            is_retracted: false,
        });
        Some(self.facts.calls.len() - 1)
    }

    fn snapshot(&mut self, record: &Value, parent: ParentId) {
        self.retract_shown(&record["supersedes"]);
        let message = &record["message"];
        let id = text(&message["id"]).unwrap_or_default();
        let is_main = parent.is_none();
        let is_marked = record["isApiErrorMessage"] == true
            || record["is_api_error_message"] == true
            || !record["error"].is_null();
        let is_of_cli = message["model"] == SYNTHETIC;
        let known = self.messages.get(&(parent.clone(), id.to_owned())).copied();
        // A turn has its own messages, but the whole message of a streamed one may come late.
        let is_known = |at: &usize| {
            let is_of_turn = self.facts.messages[*at].turn >= self.turn();
            !is_main || is_of_turn || self.streamed.contains(at)
        };
        let known = known.filter(is_known);
        if known.is_none() && !is_of_cli && !is_marked {
            self.begin_second_try(&parent);
        }
        let at = known.unwrap_or_else(|| self.begin(id.to_owned(), parent));
        let is_late = self.streamed.contains(&at) && self.facts.messages[at].turn < self.turn();
        self.is_open |= is_main && !is_late;
        self.before.is_interrupted |= is_main && record["aborted"] == true;
        let mut parts = message["content"].as_array().into_iter().flatten();
        let of_error = |part: &Value| {
            let text = string(&part["text"]).trim();
            [API_ERROR, NO_RESPONSE].iter().any(|start| text.starts_with(start))
        };
        self.facts.messages[at].is_doubtful |= is_of_cli && !is_marked && !parts.any(of_error);
        let is_error = is_marked || is_of_cli;
        self.facts.messages[at].is_error |= is_error;
        if is_error && is_main && !self.facts.messages[at].is_doubtful {
            self.before.words = Some(words_of(message).trim().to_owned());
        }
        let mut shown = Vec::new();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "text" => {
                    let new = self.block("");
                    let said = Some(string(&block["text"])).filter(|said| *said != NO_CONTENT);
                    let texts = &mut self.facts.messages[at].texts;
                    let own = self.texts.entry(at).or_default();
                    let block = own.whole(texts, said.unwrap_or_default(), new);
                    shown.extend(
                        block.map(|block| ContentPlace::Text(BlockPlace { message: at, block })),
                    );
                }
                "thinking" => {
                    let new = self.block("");
                    let reasoning = &mut self.facts.messages[at].reasoning;
                    let own = self.reasoning.entry(at).or_default();
                    let block = own.whole(reasoning, string(&block["thinking"]), new);
                    shown.extend(
                        block.map(|block| {
                            ContentPlace::Reasoning(BlockPlace { message: at, block })
                        }),
                    );
                }
                kind if CALLS.contains(&kind) => {
                    if let Some(call) = self.call(block, at) {
                        self.facts.calls[call].whole = Some(block["input"].clone());
                    }
                }
                _ => self.result_of_call(block),
            }
        }
        if let Some(uuid) = text(&record["uuid"]) {
            let map = if is_main { &mut self.shown } else { &mut self.shown_by_subagents };
            map.insert(uuid.to_owned(), BlocksOfRecord { message: at, places: shown });
        }
    }

    /// Reads a block that is the result of a call.
    fn result_of_call(&mut self, block: &Value) {
        let is_one = block["type"].as_str().is_some_and(|kind| kind.ends_with("tool_result"));
        let Some(id) = text(&block["tool_use_id"]).filter(|_| is_one) else { return };
        let own = self.calls.get(id).map_or(&[][..], Vec::as_slice);
        let open = own.iter().rev().find(|call| self.facts.calls[**call].result.is_none());
        if let Some(call) = open.map(|call| &mut self.facts.calls[*call]) {
            let content = &block["content"];
            let is_error =
                block["is_error"] == true || string(&content["type"]).ends_with("_error");
            call.result = Some((content.clone(), is_error));
        }
    }

    /// Ends a turn. A result that names only messages of completed turns is a repetition, and is ignored (2.1.330).
    fn result(&mut self, record: &Value) {
        let begun = record["begun_message_ids"].as_array().into_iter().flatten();
        let begun: Vec<String> = begun.filter_map(text).map(str::to_owned).collect();
        if !begun.is_empty() && begun.iter().all(|id| self.ended.contains(id)) {
            return;
        }
        let next = self.begin_next_turn(&begun);
        match begun.is_empty() {
            true => {
                let new = &self.facts.messages[self.begun_before..];
                self.ended.extend(new.iter().map(|it| it.id.clone()));
                self.begun_before = self.facts.messages.len();
            }
            false => self.ended.extend(begun),
        }
        let turn = self.turn();
        let Facts { messages, calls, .. } = &self.facts;
        let is_said = |message: &RecordedMessage| {
            message.turn == turn && message.parent.is_none() && message.has_text()
        };
        let said = messages[self.messages_before..].iter().any(is_said);
        let has_calls = calls[self.calls_before..].iter().any(|call| call.turn == turn);
        let before = BeforeResult { said, has_calls, ..std::mem::take(&mut self.before) };
        self.facts.turns.push(turn_of(record, &before));
        self.is_open = next.is_some();
        match next {
            Some(first) => {
                self.messages_before = first;
                self.shown.retain(|_, shown| shown.message >= first);
            }
            None => {
                self.messages_before = self.facts.messages.len();
                self.calls_before = self.facts.calls.len();
                self.shown.clear();
                if let Some(main) = self.streams.get_mut(&None) {
                    main.open.clear();
                }
            }
        }
    }

    /// Moves the messages of the next turn out of the turn that ends, if the CLI has begun another turn after the last
    /// message that the result names. Returns the index of the first one.
    fn begin_next_turn(&mut self, begun: &[String]) -> Option<usize> {
        let next = std::mem::take(&mut self.next_turns);
        let of_turn = self.facts.messages.iter().enumerate().skip(self.messages_before);
        let mut own = of_turn.rev().filter(|(_, message)| message.parent.is_none());
        let (last, _) = own.find(|(_, message)| begun.contains(&message.id))?;
        let first = next.iter().copied().find(|at| *at > last)?;
        let turn = self.turn();
        let moved = self.facts.messages[first..].iter_mut();
        moved.filter(|message| message.parent.is_none()).for_each(|message| {
            (message.turn, message.is_early) = (turn + 1, message.has_text());
        });
        let calls = self.facts.calls[self.calls_before..].iter_mut();
        calls.filter(|call| call.message >= first && call.parent.is_none()).for_each(|call| {
            call.turn = turn + 1;
        });
        self.next_turns = next.into_iter().filter(|at| *at > first).collect();
        Some(first)
    }
}

impl SaidBlocks {
    /// Sets the whole content of the next block without one, and returns its index; a repeated block is ignored.
    fn whole(
        &mut self,
        blocks: &mut Vec<RecordedBlock>,
        said: &str,
        new: RecordedBlock,
    ) -> Option<usize> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(said);
        let is_known = !self.hashes.insert(hash);
        let whole = Some(said.to_owned());
        match blocks.get_mut(self.count) {
            Some(block) => block.whole = whole,
            None if is_known => return None,
            None => blocks.push(RecordedBlock { whole, ..new }),
        }
        self.count += 1;
        Some(self.count - 1)
    }
}

/// Returns the words of a message: its content if that is a text, or else its blocks of text.
fn words_of(message: &Value) -> String {
    let content = &message["content"];
    let blocks = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    content.as_str().map_or_else(|| texts.join("\n"), str::to_owned)
}

/// Returns whether the CLI takes two inputs for the same: it writes `1.0` as `1` when it asks.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has =
                |(key, one): (&String, &Value)| other.get(key).is_some_and(|it| is_same(one, it));
            one.len() == other.len() && one.iter().all(has)
        }
        _ => one == other,
    }
}
