//! Adapts a recording to a live host: the lines, the pieces of messages, and the ids.
//!
//! Lines that the CLI prints for this host only are added, and those that it printed for the recorded host only are
//! left out. A host that asks for the pieces of messages (`stream_event`) gets them even if the recording has none:
//! each block of a message becomes one piece. The ids of the live session take the place of recorded ones, and its folder
//! that of the recorded one if a setting says so; no other bytes change.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use clitape_recording::cassette::Cassette;
use clitape_recording::wire::{RegisteredHook, UserMessage, WireLine};
use serde_json::{Value, json};

use super::arguments::Asks;
use super::dialogue::{Dialogue, Role, contains};
use super::options::numbers;

/// The properties of a host on which the CLI's output depends.
#[derive(Debug, Default)]
pub(super) struct HostFacts {
    /// True for a host that writes lines to stdin.
    pub(super) is_live: bool,
    /// True once it has sent an `initialize`.
    pub(super) is_initialized: bool,
    /// The hooks that it registered.
    pub(super) hooks: Vec<RegisteredHook>,
    /// True if it asks for its messages to be printed again.
    pub(super) wants_replay: bool,
    /// True if it asks for the model's messages in pieces.
    pub(super) wants_pieces: bool,
    /// The side that the CLI asks for permissions.
    pub(super) asks: Asks,
    /// The id of the live session.
    pub(super) session_id: String,
    /// The folder that takes the place of the recorded one; `None` if that stays.
    pub(super) folder: Option<String>,
}

impl HostFacts {
    /// Returns the folder of this process, if every form in which a line can have it is the same: JSON inside of JSON
    /// escapes other characters twice.
    pub(super) fn own_folder() -> Option<String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
        let folder = std::env::current_dir().ok()?.into_os_string().into_string().ok()?;
        folder.chars().all(is_plain).then_some(folder)
    }
}

/// The message that the CLI works on.
#[derive(Debug, Clone)]
pub(super) struct HostTurn {
    /// The message as the host wrote it.
    pub(super) message: UserMessage,
    /// The uuid that the host gave it, or else a fresh one, as the CLI would give it.
    pub(super) uuid: String,
    /// True once the lines that announce the start of its work were added.
    is_announced: bool,
    /// True once the line that repeats the message was added.
    is_replayed: bool,
}

/// The change of a recorded line for this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineChange {
    /// The line is not printed.
    LeaveOut,
    /// The line is printed, with these lines before and after it.
    Around(Vec<u8>, Vec<u8>),
}

/// Returns the reason why a cassette can't be played in this form, and what to do; `None` if it can.
pub(super) fn unfit(dialogue: &Dialogue, host: &HostFacts) -> Option<String> {
    match (dialogue.is_live, host.is_live) {
        // Playable, because the tool of an MCP server gives the answers of the recorded host.
        (true, false) if matches!(host.asks, Asks::Tool { .. }) && dialogue.has_one_prompt() => {
            None
        }
        (true, false) => Some(
            "it is a conversation on stdin, and this host gives one prompt; start it with \
             --input-format stream-json, or take the scenario's one-shot cassette"
                .to_owned(),
        ),
        (false, true) if dialogue.is_held_back() => Some(format!(
            "it is one run with {} results: the CLI held the end back until its background tasks were \
             done, which it does not do for a host on stdin; take a cassette that was recorded live",
            dialogue.results()
        )),
        _ => None,
    }
}

impl HostTurn {
    pub(super) fn new(message: UserMessage) -> Self {
        let uuid = message.uuid.clone().unwrap_or_else(fresh_uuid);
        Self { message, uuid, is_announced: false, is_replayed: false }
    }

    fn lifecycle(&self, state: &str, host: &HostFacts) -> String {
        let line = json!({
            "type": "command_lifecycle", "command_uuid": self.uuid, "state": state,
            "uuid": fresh_uuid(), "session_id": host.session_id,
        });
        format!("{line}\n")
    }

    fn replay(&self, host: &HostFacts, is_old: bool) -> String {
        let mut line = json!({
            "type": "user", "message": self.message.message, "session_id": host.session_id,
            "parent_tool_use_id": null, "uuid": self.uuid,
        });
        if !is_old {
            line["timestamp"] = Value::from("2026-01-01T00:00:00.000Z");
            line["isReplay"] = Value::from(true);
        }
        format!("{line}\n")
    }
}

/// Returns the change of the line at this index of the dialogue.
pub(super) fn change(
    cassette: &Cassette,
    dialogue: &Dialogue,
    index: usize,
    host: &HostFacts,
    answers_initialize: bool,
    turn: Option<&mut HostTurn>,
) -> LineChange {
    let role = &dialogue.lines[index].role;
    let (mut before, mut after) = (String::new(), String::new());
    let is_registered = |event: &str, tool: &Option<String>| {
        host.hooks.iter().any(|hook| hook.is_for(event, tool.as_deref()))
    };
    match role {
        Role::Response { request_id }
            if !answers_initialize && dialogue.is_initialize(request_id) =>
        {
            return LineChange::LeaveOut;
        }
        Role::Hook { event, tool, .. } if !is_registered(event, tool) => {
            return LineChange::LeaveOut;
        }
        Role::Piece if !host.wants_pieces => return LineChange::LeaveOut,
        // The CLI asks such a tool without a line on stdout.
        Role::Question(question) if question.asks_permission && host.asks != Asks::Host => {
            return LineChange::LeaveOut;
        }
        Role::Cancel { request_id } | Role::Echo { request_id }
            if host.asks != Asks::Host && dialogue.is_permission(request_id) =>
        {
            return LineChange::LeaveOut;
        }
        Role::Echo { request_id } => {
            let hook = dialogue.lines.iter().find_map(|line| match &line.role {
                Role::Hook { request_id: id, event, tool, .. } if id == request_id => {
                    Some((event, tool))
                }
                _ => None,
            });
            if hook.is_some_and(|(event, tool)| !is_registered(event, tool)) {
                return LineChange::LeaveOut;
            }
        }
        Role::Replay if dialogue.is_live && !host.wants_replay => return LineChange::LeaveOut,
        Role::Lifecycle if turn.as_ref().is_some_and(|turn| turn.message.uuid.is_none()) => {
            return LineChange::LeaveOut;
        }
        _ => {}
    }
    if let (true, Some(turn)) = (host.is_live, turn) {
        let tells =
            dialogue.announces_lifecycle && !dialogue.has_lifecycle && turn.message.uuid.is_some();
        let is_status =
            |index: usize| dialogue.lines.get(index).is_some_and(|line| line.role == Role::Status);
        match role {
            Role::Init if tells && !turn.is_announced => {
                before = turn.lifecycle("queued", host) + &turn.lifecycle("started", host);
                turn.is_announced = true;
            }
            Role::Result if turn.is_announced => after = turn.lifecycle("completed", host),
            _ => {}
        }
        let is_place = *role == Role::Status || *role == Role::Init && !is_status(index + 1);
        if is_place && host.wants_replay && !dialogue.has_replay && !turn.is_replayed {
            after.push_str(&turn.replay(host, cassette.version().starts_with("1.")));
            turn.is_replayed = true;
        }
    }
    LineChange::Around(before.into_bytes(), after.into_bytes())
}

/// Returns the replacement of a hook's id by the one under which this host registered the hook that the line calls.
pub(super) fn hook_id(line: &[u8], role: &Role, host: &HostFacts) -> Option<Splice> {
    let Role::Hook { event, tool, callback_id, .. } = role else { return None };
    let hook = host.hooks.iter().find(|hook| hook.is_for(event, tool.as_deref()))?;
    let recorded = format!("\"callback_id\":{}", Value::from(callback_id.as_str()));
    let at = line.windows(recorded.len()).position(|part| part == recorded.as_bytes())?;
    let live = format!("\"callback_id\":{}", Value::from(hook.callback_id.as_str()));
    Some((at..at + recorded.len(), live.into_bytes()))
}

/// Returns the CLI's words for a call that it denies because it has no side to ask.
fn own_reason(tool: &str) -> String {
    match tool {
        "Bash" => "This command requires approval".to_owned(),
        tool => {
            format!("Claude requested permissions to use {tool}, but you haven't granted it yet.")
        }
    }
}

/// Returns the changes of a line about a call that the recorded host denied, for a host that is not asked about it: the
/// CLI denies the call with its own words, and prints a record of that before the call's result.
pub(super) fn denied_unasked(
    cassette: &Cassette,
    dialogue: &Dialogue,
    line: &[u8],
    host: &HostFacts,
) -> (Vec<u8>, Vec<Splice>) {
    let (mut before, mut splices) = (String::new(), Vec::new());
    let is_message = || matches!(WireLine::read(line), Some(WireLine::Message(_)));
    if host.asks != Asks::Nobody || !is_message() {
        return (Vec::new(), splices);
    }
    for (question, reason) in dialogue.denied() {
        let words = reason.filter(|reason| !reason.is_empty()).map(json_escaped);
        // Versions before 2 ask without the id of the call.
        let part = match (&question.tool_use_id, &words) {
            (Some(id), _) => format!("\"tool_use_id\":\"{id}\"").into_bytes(),
            (None, Some(words)) => words.clone(),
            (None, None) => continue,
        };
        if !contains(line, &part) {
            continue;
        }
        let own = own_reason(&question.about);
        if let Some(recorded) = words {
            let live = json_escaped(&own);
            let starts = (0..line.len()).filter(|&at| line[at..].starts_with(&recorded));
            splices.extend(starts.map(|at| (at..at + recorded.len(), live.clone())));
        }
        // Earlier versions do not print this record.
        if numbers(cassette.version()) >= numbers("2.1.329") {
            let record = json!({
                "type": "system", "subtype": "permission_denied", "tool_name": question.about,
                "tool_use_id": question.tool_use_id, "message": own, "uuid": fresh_uuid(), "session_id": host.session_id,
            });
            before.push_str(&format!("{record}\n"));
        }
    }
    (before.into_bytes(), splices)
}

/// The model of a message that the CLI wrote itself, such as a message about an error.
const SYNTHETIC: &str = "<synthetic>";

/// The message whose pieces have begun.
#[derive(Debug, Default)]
pub(super) struct MessagePieces {
    /// The id of the message; `None` between two messages.
    open: Option<String>,
    /// The number of its blocks so far.
    blocks: u64,
    /// The reason why it stops, as far as the lines so far show it.
    stop_reason: &'static str,
}

impl MessagePieces {
    /// Returns the lines before and after a line of stdout.
    pub(super) fn around(&mut self, line: &[u8], session_id: &str) -> (String, String) {
        let is_message = WireLine::read(line).is_some_and(|line| line.kind() == "assistant");
        let value: Value =
            if is_message { serde_json::from_slice(line).unwrap_or_default() } else { Value::Null };
        let message = &value["message"];
        // The CLI makes no pieces of messages that it wrote itself, nor of those of a subagent.
        let is_streamed = value["parent_tool_use_id"].is_null() && message["model"] != SYNTHETIC;
        let id = message["id"].as_str().filter(|_| is_streamed);
        let (mut before, mut after) = (String::new(), String::new());
        let print = |lines: &mut String, event: Value| {
            let line = json!({
                "type": "stream_event", "event": event, "session_id": session_id, "parent_tool_use_id": null,
                "uuid": fresh_uuid(),
            });
            lines.push_str(&format!("{line}\n"));
        };
        if self.open.is_some() && self.open.as_deref() != id {
            self.open = None;
            let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": null});
            let usage = json!({"output_tokens": 1});
            print(&mut before, json!({"type": "message_delta", "delta": delta, "usage": usage}));
            print(&mut before, json!({"type": "message_stop"}));
        }
        let Some(id) = id else { return (before, after) };
        if self.open.is_none() {
            (self.open, self.blocks, self.stop_reason) = (Some(id.to_owned()), 0, "end_turn");
            let mut start = message.clone();
            start["content"] = json!([]);
            print(&mut before, json!({"type": "message_start", "message": start}));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            let index = self.blocks;
            self.blocks += 1;
            let (empty, delta) = match block["type"].as_str() {
                Some("tool_use") => {
                    self.stop_reason = "tool_use";
                    let input = block["input"].to_string();
                    (
                        json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                        json!({"type": "input_json_delta", "partial_json": input}),
                    )
                }
                Some("thinking") => (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                ),
                Some("text") => (
                    json!({"type": "text", "text": ""}),
                    json!({"type": "text_delta", "text": block["text"]}),
                ),
                _ => continue,
            };
            print(
                &mut before,
                json!({"type": "content_block_start", "index": index, "content_block": empty}),
            );
            print(
                &mut before,
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            );
            print(&mut after, json!({"type": "content_block_stop", "index": index}));
        }
        (before, after)
    }
}

/// The beginning of the canonical uuids that a cassette has in place of random ones.
const CANONICAL: &[u8] = b"00000000-0000-4000-8";
/// The length of a uuid in bytes.
const UUID_LENGTH: usize = 36;
/// The beginnings of the ids of messages and calls in a cassette.
const NAMED_IDS: [&[u8]; 2] = [b"msg_clitape_", b"toolu_clitape_"];

/// The ids of a cassette and their replacements.
#[derive(Debug, Clone)]
pub(super) struct LiveIds {
    /// The live id by the recorded one.
    bound: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The number of cassettes that began in this session, this one included: it makes the ids of each differ, because
    /// the CLI never uses an id twice.
    round: u64,
    /// The beginning of the uuids; `None` if they stay as recorded.
    start: Option<String>,
}

/// A replacement: a range of the line, and its new bytes.
pub(super) type Splice = (Range<usize>, Vec<u8>);

impl LiveIds {
    pub(super) fn new(round: u64) -> Self {
        let start = (round > 1).then(|| format!("{round:08x}"));
        Self { bound: BTreeMap::new(), round, start }
    }

    /// Gives the uuids a beginning that depends on the session, so that two processes never print the same id, and a
    /// gateway may identify a question by it.
    pub(super) fn of_session(mut self, session_id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (session_id, self.round).hash(&mut hasher);
        self.start = Some(format!("{:08x}", hasher.finish() >> 32));
        self
    }

    /// Replaces `recorded` by `live` from now on.
    pub(super) fn bind(&mut self, recorded: &str, live: &str) {
        self.bound.insert(recorded.as_bytes().to_vec(), json_escaped(live));
    }

    /// Returns the cassette's id for a live one, and the id itself if it is not a replaced one.
    pub(super) fn recorded(&self, live: &str) -> String {
        let escaped = json_escaped(live);
        if let Some((recorded, _)) = self.bound.iter().find(|(_, live)| **live == escaped) {
            return String::from_utf8_lossy(recorded).into_owned();
        }
        match self.start.as_ref().and_then(|start| live.strip_prefix(start)) {
            Some(rest) => format!("00000000{rest}"),
            None => live.to_owned(),
        }
    }

    /// Returns the replacements in a line, in order.
    pub(super) fn splices(&self, line: &[u8]) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut at = 0;
        while at < line.len() {
            match self.at(line, at) {
                Some((length, new)) => {
                    splices.push((at..at + length, new));
                    at += length;
                }
                None => at += 1,
            }
        }
        splices
    }

    /// Returns the length of the id that begins at `at`, and its replacement; `None` if no id begins there.
    fn at(&self, line: &[u8], at: usize) -> Option<(usize, Vec<u8>)> {
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
        let rest = &line[at..];
        // A path is whole behind a letter, which may be that of an escape such as `\n`.
        let is_path = rest.starts_with(b"/");
        if at > 0 && !is_path && line.get(at - 1).is_some_and(is_inner) {
            return None;
        }
        if self.round > 1
            && let Some(name) = NAMED_IDS.iter().find(|name| rest.starts_with(name))
        {
            let mut new = name.to_vec();
            new.extend_from_slice(format!("r{}_", self.round).as_bytes());
            return Some((name.len(), new));
        }
        let is_whole = |length: usize| !rest.get(length).is_some_and(is_inner);
        let bound = self.bound.iter().find(|(id, _)| rest.starts_with(id) && is_whole(id.len()));
        if let Some((id, live)) = bound {
            return Some((id.len(), live.clone()));
        }
        let is_canonical = rest.starts_with(CANONICAL) && is_whole(UUID_LENGTH);
        let start = self.start.as_ref().filter(|_| is_canonical)?;
        Some((8, start.clone().into_bytes()))
    }

    /// Returns a text of several lines with its ids replaced.
    pub(super) fn bind_text(&self, text: &[u8]) -> Vec<u8> {
        Rendered::new(text, Vec::new(), self.splices(text), b"").bytes
    }
}

/// Returns `id` escaped for a JSON string, without the quotes.
fn json_escaped(id: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(id).to_string();
    quoted.as_bytes()[1..quoted.len() - 1].to_vec()
}

/// A line as it is printed, with the place of each recorded byte in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rendered {
    /// The bytes to print.
    pub(super) bytes: Vec<u8>,
    before: usize,
    length: usize,
    splices: Vec<(Range<usize>, usize)>,
}

impl Rendered {
    /// Renders a recorded line with lines before and after it, and with parts replaced.
    pub(super) fn new(line: &[u8], before: Vec<u8>, splices: Vec<Splice>, after: &[u8]) -> Self {
        let mut bytes = before;
        let (from, mut at, mut sizes) = (bytes.len(), 0, Vec::with_capacity(splices.len()));
        for (range, new) in splices {
            bytes.extend_from_slice(&line[at..range.start]);
            bytes.extend_from_slice(&new);
            at = range.end;
            sizes.push((range, new.len()));
        }
        bytes.extend_from_slice(&line[at..]);
        bytes.extend_from_slice(after);
        Self { bytes, before: from, length: line.len(), splices: sizes }
    }

    /// Renders a line of `length` bytes that is left out.
    pub(super) fn nothing(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    /// Returns the place in `bytes` of the recorded byte `at`. The lines before it come with the first byte, the lines
    /// after it with the last.
    pub(super) fn position(&self, at: usize) -> usize {
        if at == 0 || self.bytes.is_empty() {
            return 0;
        }
        if at >= self.length {
            return self.bytes.len();
        }
        let (mut position, mut read) = (self.before, 0);
        for (range, size) in &self.splices {
            if at <= range.start {
                break;
            }
            position += range.start - read;
            if at < range.end {
                return position + (at - range.start).min(*size);
            }
            (position, read) = (position + size, range.end);
        }
        position + at - read
    }
}

/// Returns a random uuid of version 4.
pub(super) fn fresh_uuid() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    // The keys of a `RandomState` are random and differ each time.
    let draw = || RandomState::new().build_hasher().finish();
    let (high, low) = (draw(), draw());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the kinds of the records that a host reads for these lines.
    #[track_caller]
    fn check(lines: &[Value], expect: &str) {
        let mut pieces = MessagePieces::default();
        let mut all = String::new();
        for line in lines {
            let line = format!("{line}\n");
            let (before, after) = pieces.around(line.as_bytes(), "s");
            all += &(before + &line + &after);
        }
        let kinds = all.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let event = line["event"]["type"].as_str();
            event.or(line["type"].as_str()).unwrap_or_default().to_owned()
        });
        assert_eq!(kinds.collect::<Vec<_>>().join(" "), expect);
    }

    fn message(id: &str, parent: &Value, block: &Value) -> Value {
        // Keys in the order in which the CLI writes them.
        let message = json!({"id": id, "content": [block]});
        let line =
            format!(r#"{{"type":"assistant","message":{message},"parent_tool_use_id":{parent}}}"#);
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn each_block_comes_as_a_piece_before_its_message() {
        let text = message("m1", &Value::Null, &json!({"type": "text", "text": "Hi"}));
        let tool = message(
            "m1",
            &Value::Null,
            &json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}}),
        );
        let user = json!({"type": "user"});
        let inner = message("m2", &json!("t"), &json!({"type": "text", "text": "in"}));
        let block = "content_block_start content_block_delta assistant content_block_stop";
        check(
            &[text.clone(), tool, user.clone(), json!({"type": "result"})],
            &format!("message_start {block} {block} message_delta message_stop user result"),
        );
        check(&[user, inner], "user assistant");
        check(&[text], &format!("message_start {block}"));
    }

    const SESSION: &str = "00000000-0000-4000-85e5-000000000001";

    #[track_caller]
    fn check_bind(round: u64, line: &str, expect: &str) {
        let mut ids = LiveIds::new(round);
        ids.bind(SESSION, "s");
        ids.bind("clitape-1", "req \"1\"");
        assert_eq!(String::from_utf8(ids.bind_text(line.as_bytes())).unwrap(), expect);
    }

    #[test]
    fn ids_are_replaced_and_nothing_else() {
        let line = format!(r#"{{"a":"{SESSION}","p":"/x/{SESSION}.jsonl","b":"{SESSION}1"}}"#);
        check_bind(1, &line, &format!(r#"{{"a":"s","p":"/x/s.jsonl","b":"{SESSION}1"}}"#));
        check_bind(
            1,
            r#"{"id":"clitape-1","o":"clitape-11","p":"my-clitape-1"}"#,
            r#"{"id":"req \"1\"","o":"clitape-11","p":"my-clitape-1"}"#,
        );
    }

    #[test]
    fn the_folder_is_replaced_in_every_form() {
        let mut ids = LiveIds::new(1);
        ids.bind("/clitape/project", "/srv/code");
        let line = r#"{"cwd":"/clitape/project","p":"{\"f\":\"/clitape/project/a\"}","t":"a\n/clitape/project, /clitape/projects"}"#;
        let expect = r#"{"cwd":"/srv/code","p":"{\"f\":\"/srv/code/a\"}","t":"a\n/srv/code, /clitape/projects"}"#;
        assert_eq!(String::from_utf8(ids.bind_text(line.as_bytes())).unwrap(), expect);
    }

    #[test]
    fn a_second_round_has_ids_of_its_own() {
        let line = r#"{"uuid":"00000000-0000-4000-8e7e-000000000002","id":"msg_clitape_main_1","t":"toolu_clitape_main_1_2"}"#;
        check_bind(1, line, line);
        check_bind(
            18,
            line,
            r#"{"uuid":"00000012-0000-4000-8e7e-000000000002","id":"msg_clitape_r18_main_1","t":"toolu_clitape_r18_main_1_2"}"#,
        );
        let ids = LiveIds::new(18);
        let live = "00000012-0000-4000-8000-000000000004";
        assert_eq!(ids.recorded(live), "00000000-0000-4000-8000-000000000004");
        assert_eq!(LiveIds::new(1).recorded(live), live);
    }

    #[test]
    fn cuts_of_a_line_join_up_whatever_their_place() {
        let line = format!("{{\"id\":\"{SESSION}\",\"x\":\"{SESSION}\"}}\n");
        let mut ids = LiveIds::new(1);
        for live in ["short", &"long".repeat(30), ""] {
            ids.bind(SESSION, live);
            let splices = ids.splices(line.as_bytes());
            let rendered = Rendered::new(line.as_bytes(), b"first\n".to_vec(), splices, b"last\n");
            let mut at = 0;
            for cut in 0..=line.len() {
                let position = rendered.position(cut);
                assert!(position >= at, "{live}: {cut}");
                at = position;
            }
            assert_eq!((rendered.position(0), at), (0, rendered.bytes.len()));
        }
    }

    #[test]
    fn a_fresh_uuid_is_one() {
        let (one, two) = (fresh_uuid(), fresh_uuid());
        assert_ne!(one, two);
        let shape: String = one.chars().map(|c| if c == '-' { '-' } else { 'x' }).collect();
        assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert_eq!(&one[14..15], "4");
    }
}
