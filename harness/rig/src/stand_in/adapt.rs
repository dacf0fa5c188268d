//! Adapts a recording to a host that differs from the recorded one: adds the lines that the CLI prints for this host
//! only, and leaves out those that it printed for the recorded one only.

use clitape_recording::cassette::Cassette;
use clitape_recording::wire::{RegisteredHook, UserMessage, WireLine};
use serde_json::{Value, json};

use super::arguments::Asks;
use super::bind::{Splice, fresh_uuid, json_escaped};
use super::dialogue::Dialogue;
use super::options::numbers;
use super::printed::{Role, contains};

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
}

/// The message that the CLI works on.
#[derive(Debug, Clone)]
pub(super) struct HostTurn {
    /// The message as the host wrote it.
    pub(super) message: UserMessage,
    /// The uuid that the host gave it, or else a fresh one, as the CLI would give it.
    pub(super) uuid: String,
    /// True once the lines that announce the start of its work were added.
    pub(super) is_announced: bool,
    /// True once the line that repeats the message was added.
    pub(super) is_replayed: bool,
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
