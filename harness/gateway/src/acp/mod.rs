//! The ACP channel: bus events become the `session/update` notifications of the Agent Client
//! Protocol, version 1 ([A1](crate::rules::A1)).
//!
//! [`AcpConverter`] is a state machine over the bus alone; what it is given is sanitised already,
//! and it reads no clock and no disk. Make one a session and hand it the events of each of its
//! turns: what it knows of files ([A2](crate::rules::A2)) and which ids are taken outlive a turn.
//!
//! * A chunk is what the bus tells, seams between messages included: all chunks of the main thread
//!   joined are the answer. Its `messageId` is the message's; the blank line that parts two
//!   messages opens the later one.
//! * A call is announced when its first field is known, or when it starts. What changes later is
//!   told once. A field of `rawInput` that came stays.
//! * An id that is used again for a later call gets a number, because ids are unique in a session.
//! * Each update of a subagent names the call that runs it.
//! * ACP can't take text back. Where a message that was shown is withdrawn, a sentence in it says
//!   so; withdrawn reasoning is passed over. A call that will never start ends `failed`.
//! * A TodoWrite is a `plan` and no call; so is a TaskCreate or a TaskUpdate, once it went well.
//! * A question of the CLI is a `session/request_permission` ([`AcpConverter::requests`]), which goes out
//!   after the updates of the same event: the call is announced as `pending` before it, and becomes
//!   `in_progress` only once the answer is yes ([Q6](crate::rules::Q6)).
//! * A turn's end closes what is open, says the final text if nothing of it was shown, and gives
//!   the answer to `session/prompt` ([`AcpConverter::turn_end`]).

mod calls;
pub(crate) mod files;
mod permission;
pub(crate) mod plan;
mod tools;
mod update;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use calls::{AcpCall, CallContext, CallIds};
use files::FileTable;
use permission::Permissions;
pub use permission::{
    ClientRequest, OptionKind, PermissionOption, PermissionOutcome, PermissionRequest,
};
use tools::plain;
pub use update::{
    CallContent, CallStatus, Chunk, ClaudeCode, ContentBlock, Location, Meta, PlanEntry,
    PlanStatus, PlanUpdate, Priority, StopReason, TerminalExit, TerminalInfo, TerminalOutput,
    ToolCallUpdate, TurnEnd, Update,
};

use crate::bus::{BusData, BusEvent, Phase, Tool};
pub use crate::display::ToolCategory;
use crate::question::{Answer, Question, QuestionClosed, QuestionKind};

/// The protocol's version, for the answer to `initialize`.
pub const PROTOCOL_VERSION: u16 = 1;

/// The text below a message that was withdrawn.
const WITHDRAWN: &str = "\n\n_The message above was withdrawn._\n\n";

/// The session and its client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AcpSettings {
    /// Id of the session.
    pub session_id: String,
    /// The agent's working directory: titles name the files in it without it.
    pub cwd: Option<String>,
    /// Set if the client shows terminals (`_meta.terminal_output` among its capabilities).
    pub terminal: bool,
}

/// Turns the bus events of a session's turns into its updates.
#[derive(Debug)]
pub struct AcpConverter {
    settings: AcpSettings,
    files: FileTable,
    /// Calls that are open, by the CLI's id. They are large, and the map has room for more than there are.
    open: HashMap<String, Box<AcpCall>>,
    ids: CallIds,
    /// TodoWrite calls that have started and have no result yet.
    planning: HashSet<String>,
    tasks: plan::Tasks,
    permissions: Permissions,
    /// The plan that was reported last, of each lane.
    plans: HashMap<Option<String>, Vec<PlanEntry>>,
    /// The text that was sent, by lane.
    sent: HashMap<Option<String>, SentText>,
    /// Calls announced so far.
    announced: u64,
    cancelled: bool,
    end: Option<TurnEnd>,
}

/// The text that a lane has sent in this turn.
#[derive(Debug, Default)]
struct SentText {
    /// Characters of its text that count.
    length: u64,
    /// Its last message.
    message_id: String,
}

/// A `session/update` as a JSON-RPC notification.
#[derive(Debug, Serialize)]
pub struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: UpdateParams<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateParams<'a> {
    session_id: &'a str,
    update: &'a Update,
}

/// Who speaks in a chunk.
#[derive(Clone, Copy)]
enum Voice {
    Message,
    Thought,
}

impl AcpConverter {
    /// Makes the converter of a session.
    pub fn new(settings: AcpSettings) -> Self {
        Self {
            settings,
            files: FileTable::default(),
            open: HashMap::new(),
            ids: CallIds::default(),
            planning: HashSet::new(),
            tasks: plan::Tasks::default(),
            permissions: Permissions::default(),
            plans: HashMap::new(),
            sent: HashMap::new(),
            announced: 0,
            cancelled: false,
            end: None,
        }
    }

    /// The updates that `event` makes, in order ([A1](crate::rules::A1)).
    pub fn on(&mut self, event: &BusEvent) -> Vec<Update> {
        match &event.data {
            BusData::Assistant { message_id, delta, length, parent } => {
                let sent = self.sent.entry(parent.clone()).or_default();
                sent.length = *length;
                sent.message_id.clone_from(message_id);
                self.chunk(Voice::Message, delta, message_id, parent.as_deref())
            }
            BusData::Thinking { message_id, delta, parent, .. } => {
                self.chunk(Voice::Thought, delta, message_id, parent.as_deref())
            }
            BusData::Retract { length, calls, parent, .. } => {
                let mut updates = self.withdrawn(*length, parent);
                updates.extend(calls.iter().filter_map(|id| self.give_up(id)));
                updates
            }
            BusData::Tool(tool) => self.tool(tool),
            // The protocol has no place for what the CLI does for itself.
            BusData::Notice(_) | BusData::Heard { .. } | BusData::QuestionWaits(_) => Vec::new(),
            BusData::Question(question) => self.ask(question),
            BusData::QuestionClosed(closed) => self.close(closed),
            BusData::Lifecycle(phase) => self.phase(phase),
        }
    }

    /// The requests to the client that the events so far have made and that were not taken yet. Take them
    /// after each event, and send them after its updates ([Q6](crate::rules::Q6)).
    pub fn requests(&mut self) -> Vec<ClientRequest> {
        self.permissions.take()
    }

    /// Takes the client's answer to the request `id`: the question of the CLI and the answer for
    /// [`Conversation::answer`](crate::Conversation::answer). `None` while other requests of the question
    /// wait, and for a request that is not open.
    pub fn answered(&mut self, id: &str, outcome: &PermissionOutcome) -> Option<(String, Answer)> {
        self.permissions.answer(id, outcome)
    }

    /// The client has cancelled the turn: it ends as `cancelled`, whatever becomes of it. Updates
    /// still come until then.
    pub fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// The answer to `session/prompt`; `None` while the turn goes on.
    pub fn turn_end(&self) -> Option<&TurnEnd> {
        self.end.as_ref()
    }

    /// `request` as it goes over the wire.
    pub fn request(&self, request: &ClientRequest) -> Value {
        request.message(&self.settings.session_id)
    }

    /// `update` as it goes over the wire.
    pub fn notification<'a>(&'a self, update: &'a Update) -> Notification<'a> {
        let params = UpdateParams { session_id: &self.settings.session_id, update };
        Notification { jsonrpc: "2.0", method: "session/update", params }
    }

    fn chunk(
        &self,
        voice: Voice,
        text: &str,
        message_id: &str,
        parent: Option<&str>,
    ) -> Vec<Update> {
        if text.is_empty() {
            return Vec::new();
        }
        let (name, make): (_, fn(Chunk) -> Update) = match voice {
            Voice::Message => ("__text__", Update::AgentMessageChunk),
            Voice::Thought => ("__thinking__", Update::AgentThoughtChunk),
        };
        vec![make(Chunk {
            content: ContentBlock::Text { text: text.to_owned() },
            message_id: Some(message_id).filter(|id| !id.is_empty()).map(str::to_owned),
            meta: self.meta(name, parent),
        })]
    }

    /// Makes the metadata that marks an update of a subagent; `None` for the main thread.
    fn meta(&self, name: &str, parent: Option<&str>) -> Option<Meta> {
        let parent = self.ids.on_wire(parent?);
        Some(Meta::from(ClaudeCode {
            tool_name: name.to_owned(),
            parent_tool_call_id: Some(parent),
            bash_command: None,
        }))
    }

    /// Of a lane's text only `length` characters are left.
    fn withdrawn(&mut self, length: u64, parent: &Option<String>) -> Vec<Update> {
        let Some(sent) = self.sent.get_mut(parent).filter(|sent| sent.length > length) else {
            return Vec::new();
        };
        sent.length = length;
        let message_id = sent.message_id.clone();
        self.chunk(Voice::Message, WITHDRAWN, &message_id, parent.as_deref())
    }

    fn tool(&mut self, tool: &Tool) -> Vec<Update> {
        match tool {
            Tool::Update { id, name, args, parent, .. } if name == plan::TOOL => {
                if self.planning.contains(id) { self.plan(args, parent) } else { Vec::new() }
            }
            Tool::Start { id, name, args, parent, .. } if name == plan::TOOL => {
                self.planning.insert(id.clone());
                args.as_object().map(|args| self.plan(args, parent)).unwrap_or_default()
            }
            Tool::Update { id, name, args, .. } if plan::is_task(name) => {
                self.tasks.correct(id, args);
                Vec::new()
            }
            Tool::Start { id, name, args, .. } if plan::is_task(name) => {
                self.tasks.take(id, args.as_object().unwrap_or(&Map::new()));
                Vec::new()
            }
            Tool::Result { id, name, is_error, result, incomplete: None, parent }
                if plan::is_task(name) =>
            {
                let list = self.tasks.settle(id, name, *is_error, &plain(result));
                list.map(|entries| self.report_plan(name, entries, parent)).unwrap_or_default()
            }
            Tool::Update { id, name, args, parent, .. } => {
                self.refine(id, name, parent.as_deref(), |call| call.take(args))
            }
            Tool::Start { id, name, args, truncated, parent, .. } => {
                self.refine(id, name, parent.as_deref(), |call| {
                    call.start(args, truncated.as_deref());
                })
            }
            Tool::Result { id, incomplete: Some(_), .. } => {
                self.planning.remove(id);
                self.give_up(id).into_iter().collect()
            }
            Tool::Result { id, is_error, result, .. } => {
                self.planning.remove(id);
                self.result(id, *is_error, result)
            }
        }
    }

    /// Announces a call, or reports what has changed of it.
    fn refine(
        &mut self,
        id: &str,
        name: &str,
        parent: Option<&str>,
        change: impl FnOnce(&mut AcpCall),
    ) -> Vec<Update> {
        if !self.open.contains_key(id) {
            self.ids.add(id);
            self.announced += 1;
            let parent = parent.map(|parent| self.ids.on_wire(parent));
            let call = AcpCall::new(self.ids.on_wire(id), name, parent, self.announced);
            self.open.insert(id.to_owned(), Box::new(call));
        }
        let view = view(&self.settings, &self.files);
        let update = self.open.get_mut(id).and_then(|call| {
            change(call);
            call.report(view)
        });
        update.into_iter().collect()
    }

    /// The client is asked about a call, which is announced if it was not (Q6).
    fn ask(&mut self, question: &Question) -> Vec<Update> {
        let call = question.call.as_ref().unwrap_or(&question.id);
        let is_made_up = !self.open.contains_key(call);
        let updates = if is_made_up {
            self.refine(call, &question.name, question.parent.as_deref(), |call| {
                if let QuestionKind::Permission { input } = &question.kind {
                    call.start(&Arc::new(input.clone()), None);
                }
            })
        } else {
            Vec::new()
        };
        if let Some(announced) = self.open.get(call) {
            let input = match &question.kind {
                QuestionKind::Permission { input } => Some(input),
                QuestionKind::Choices(_) => None,
            };
            let whole = announced.asked(input, view(&self.settings, &self.files));
            self.permissions.ask(question, call, is_made_up, &whole);
        }
        updates
    }

    /// A question is closed: after a yes its call is in progress (Q6).
    fn close(&mut self, closed: &QuestionClosed) -> Vec<Update> {
        let Some((id, status)) = self.permissions.close(closed) else { return Vec::new() };
        let Some(call) = self.open.get(&id) else { return Vec::new() };
        let update = call.becomes(status);
        if status == CallStatus::Failed {
            self.open.remove(&id);
        }
        vec![update]
    }

    /// A call ends with a result; one that was never announced has none (A1).
    fn result(&mut self, id: &str, is_error: bool, result: &Value) -> Vec<Update> {
        let Some(mut call) = self.open.remove(id) else { return Vec::new() };
        let updates = call.result(is_error, result, view(&self.settings, &self.files));
        if !is_error {
            call.update_files(result, &mut self.files);
        }
        updates
    }

    /// A call ends without a result.
    fn give_up(&mut self, id: &str) -> Option<Update> {
        let call = self.open.remove(id)?;
        Some(call.give_up(view(&self.settings, &self.files)))
    }

    /// The plan that a TodoWrite lists, if it is another than before.
    fn plan(&mut self, args: &Map<String, Value>, parent: &Option<String>) -> Vec<Update> {
        let entries = plan::entries(args);
        entries.map(|entries| self.report_plan(plan::TOOL, entries, parent)).unwrap_or_default()
    }

    /// Reports the plan that a call of `tool` made, if it has changed.
    fn report_plan(
        &mut self,
        tool: &str,
        entries: Vec<PlanEntry>,
        parent: &Option<String>,
    ) -> Vec<Update> {
        if self.plans.get(parent) == Some(&entries) {
            return Vec::new();
        }
        self.plans.insert(parent.clone(), entries.clone());
        let meta = self.meta(tool, parent.as_deref());
        vec![Update::Plan(PlanUpdate { entries, meta })]
    }

    /// A turn begins or ends.
    fn phase(&mut self, phase: &Phase) -> Vec<Update> {
        self.end = TurnEnd::of(phase, self.cancelled);
        if *phase == Phase::Start {
            self.sent.clear();
            return Vec::new();
        }
        let mut open: Vec<_> = self.open.drain().map(|(_, call)| call).collect();
        open.sort_by_key(|call| call.order);
        let view = view(&self.settings, &self.files);
        let mut updates: Vec<_> = open.iter().map(|call| call.give_up(view)).collect();
        let is_silent = self.sent.get(&None).is_none_or(|sent| sent.length == 0);
        if let Phase::End { text } = phase
            && is_silent
            && !text.trim().is_empty()
        {
            updates.extend(self.chunk(Voice::Message, text, "", None));
        }
        self.planning.clear();
        self.cancelled = false;
        updates
    }
}

fn view<'a>(settings: &'a AcpSettings, files: &'a FileTable) -> CallContext<'a> {
    CallContext { cwd: settings.cwd.as_deref(), terminal: settings.terminal, files }
}

#[cfg(test)]
pub(crate) mod tests;
