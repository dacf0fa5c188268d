//! The tool calls of a run: each call starts once and ends once (U1, U3, U4, U5).

use std::collections::{BTreeMap, BTreeSet};

use crate::emitter::Emitter;
use crate::event::{DiagnosticCode, Event, Incomplete, ToolKind};
use crate::id_index::IdIndex;
use crate::json;
use crate::payload::Json;
use crate::record::RecordBlock;
use crate::tool_args::SourceArguments;

/// Number of subagents inside each other up to which the parser looks for one that runs on.
const NESTED_SUBAGENTS: usize = 64;

/// The side of the conversation a result block comes from. The assistant prints its block twice,
/// streamed and as a snapshot, so that a repetition is expected from it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultSource {
    /// A `tool_result` block of a user record.
    User,
    /// A `…_tool_result` block of the assistant.
    Assistant,
}

/// The kind of record that announces a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOrigin {
    Stream,
    Snapshot,
}

/// The place at which a call is announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSite<'a> {
    /// Id of the subagent's tool call; `None` on the main thread.
    pub(crate) parent: Option<&'a str>,
    /// Id of the message.
    pub(crate) message: &'a str,
    /// Set if the message came as stream events, so that a snapshot repeats it.
    pub(crate) streamed: bool,
}

/// A call. A run has many, of which few are open: one that has ended is small.
#[derive(Debug)]
struct CallState {
    id: Box<str>,
    parent: Option<Box<str>>,
    message: Box<str>,
    progress: CallProgress,
}

/// The progress of a call: open or ended.
#[derive(Debug)]
enum CallProgress {
    Open(Box<OpenCall>),
    /// It has its result, from here.
    Ended(ResultSource),
}

/// A call without a result.
#[derive(Debug)]
struct OpenCall {
    name: String,
    kind: ToolKind,
    arguments: SourceArguments<'static>,
    /// Set while only the stream has provided the arguments.
    is_streamed: bool,
    /// Set once the CLI has asked its host about the call.
    is_asked: bool,
}

impl CallState {
    /// Returns the facts of the call as long as it is open.
    fn open(&self) -> Option<&OpenCall> {
        match &self.progress {
            CallProgress::Open(open) => Some(open),
            CallProgress::Ended(_) => None,
        }
    }

    /// Ends it, unless it has ended, and returns what was known of it.
    fn end(&mut self, by: ResultSource) -> Option<Box<OpenCall>> {
        self.open()?;
        match std::mem::replace(&mut self.progress, CallProgress::Ended(by)) {
            CallProgress::Open(open) => Some(open),
            CallProgress::Ended(_) => None,
        }
    }

    /// Returns whether an announcement at `place` repeats this call instead of making a new one (U4).
    fn is_repeated(&self, place: CallSite<'_>) -> bool {
        let same_message =
            *self.message == *place.message || self.message.is_empty() || place.message.is_empty();
        self.parent.as_deref() == place.parent
            && same_message
            && (self.open().is_some() || place.streamed)
    }
}

/// A result that came before the start of its call.
#[derive(Debug)]
struct EarlyResult {
    side: ResultSource,
    is_error: bool,
    result: Json<'static>,
    raw: String,
}

/// A call of a tool by its names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallName<'a> {
    pub(crate) id: &'a str,
    /// The name of the tool.
    pub(crate) name: &'a str,
    pub(crate) kind: ToolKind,
}

/// All calls of a run.
#[derive(Debug, Default)]
pub(crate) struct CallTable {
    list: Vec<CallState>,
    /// Finds the newest call for each id.
    latest: IdIndex,
    /// Indexes of the calls without a result.
    open: BTreeSet<usize>,
    early: Vec<Option<EarlyResult>>,
    early_by_id: BTreeMap<String, usize>,
}

impl CallTable {
    /// Returns whether the newest call with this id was announced at `place`.
    pub(crate) fn has_call_at(&self, id: &str, place: CallSite<'_>) -> bool {
        self.newest(id).is_some_and(|at| self.list[at].is_repeated(place))
    }

    /// Emits the start of a call, unless it was emitted before, and then the early result of the
    /// call, if there is one.
    pub(crate) fn start(
        &mut self,
        CallName { id, name, kind }: CallName<'_>,
        arguments: &SourceArguments<'_>,
        from: CallOrigin,
        place: CallSite<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        if let Some(at) = self.newest(id) {
            if self.list[at].is_repeated(place) {
                if from == CallOrigin::Snapshot {
                    self.list[at].correct(arguments, emitter);
                }
                return;
            }
            self.abandon(at, emitter);
        }
        emitter.emit(Event::ToolStart {
            id: id.into(),
            name: name.into(),
            kind,
            args: arguments.args(),
            parent: place.parent.map(Into::into),
        });
        let open = OpenCall {
            name: name.to_owned(),
            kind,
            arguments: arguments.clone().into_owned(),
            is_streamed: from == CallOrigin::Stream,
            is_asked: false,
        };
        let at = self.list.len();
        self.list.push(CallState {
            id: id.into(),
            parent: place.parent.map(Into::into),
            message: place.message.into(),
            progress: CallProgress::Open(Box::new(open)),
        });
        self.latest.insert(at, |at| &self.list[at].id);
        self.open.insert(at);
        let early = self.early_by_id.remove(id).and_then(|at| self.early[at].take());
        if let Some(early) = early {
            self.end(at, early.side, early.is_error, early.result, emitter);
        }
    }

    /// Ends the call with this id without a result, if it is open, because the CLI has retracted
    /// it.
    pub(crate) fn give_up(&mut self, id: &str, emitter: &mut Emitter<'_>) {
        if let Some(at) = self.newest(id) {
            self.abandon(at, emitter);
        }
    }

    /// Returns whether a result for this id has no open call, so that it must be retained.
    pub(crate) fn has_no_open_call(&self, id: &str) -> bool {
        self.newest(id).is_none_or(|at| self.list[at].open().is_none())
    }

    /// The subagent that has made the call with this id, or `None` on the main thread; `None` if
    /// there is no such call.
    pub(crate) fn parent_of(&self, id: &str) -> Option<Option<&str>> {
        self.newest(id).map(|at| self.list[at].parent.as_deref())
    }

    /// Records that the CLI asks its host about the call with this id.
    pub(crate) fn ask(&mut self, id: &str) {
        let newest = self.newest(id);
        if let Some(CallProgress::Open(call)) = newest.map(|at| &mut self.list[at].progress) {
            call.is_asked = true;
        }
    }

    /// The call that a question without an id is about: the open one with this name and input. Of several in
    /// one message it is the first that was not asked about, because the CLI asks in their order. `None` if
    /// there is none, or if calls of different askers are equal.
    pub(crate) fn asked_about(&self, name: &str, input: &Json<'_>) -> Option<&str> {
        let calls = self.open.iter().map(|at| &self.list[*at]);
        let calls = calls.filter_map(|call| Some((call, call.open()?)));
        let equal: Vec<_> = calls.filter(|(_, open)| open.is_of(name, input)).collect();
        let (last, _) = equal.last()?;
        if equal.iter().any(|(call, _)| call.parent != last.parent) {
            return None;
        }
        let mut of_message = equal.iter().filter(|(call, _)| call.message == last.message);
        let not_asked = of_message.find(|(_, open)| !open.is_asked);
        Some(not_asked.map_or(&last.id, |(call, _)| &call.id))
    }

    /// Emits a result, retains it until its call starts, or reports it as a duplicate.
    pub(crate) fn result(
        &mut self,
        id: &str,
        block: &RecordBlock<'_>,
        side: ResultSource,
        emitter: &mut Emitter<'_>,
    ) {
        let is_error =
            json::is_true(block.is_error) || side == ResultSource::Assistant && names_error(block);
        let result = block.content.map_or(Json::NULL, Json::from);
        let earlier = match self.newest(id) {
            Some(at) => match self.list[at].progress {
                CallProgress::Open(_) => return self.end(at, side, is_error, result, emitter),
                CallProgress::Ended(earlier) => Some(earlier),
            },
            None => {
                let at = self.early_by_id.get(id).copied();
                at.and_then(|at| self.early[at].as_ref()).map(|early| early.side)
            }
        };
        match earlier {
            Some(ResultSource::Assistant) if side == ResultSource::Assistant => {}
            Some(_) => emitter.diagnostic(
                DiagnosticCode::DuplicateResult,
                "A tool call that has its result got another, which is left out",
                block.raw.get(),
            ),
            None => {
                self.early_by_id.insert(id.to_owned(), self.early.len());
                self.early.push(Some(EarlyResult {
                    side,
                    is_error,
                    result: result.into_owned(),
                    raw: block.raw.get().to_owned(),
                }));
            }
        }
    }

    /// Ends a turn (U3): an open call gets an incomplete result, unless it belongs to the next turn
    /// or a subagent that runs on in the background has made it. `next` are the ids of messages of
    /// the next turn.
    pub(crate) fn end_turn(&mut self, next: &[String], emitter: &mut Emitter<'_>) {
        let ends = |at: &usize| !self.outlives(*at, next);
        let ended: Vec<_> = self.open.iter().copied().filter(ends).collect();
        for at in ended {
            self.abandon(at, emitter);
        }
        self.report_early(emitter);
    }

    /// Returns whether an open call goes on after the end of the turn.
    fn outlives(&self, at: usize, next: &[String]) -> bool {
        match &self.list[at].parent {
            Some(parent) => self.runs_on(parent, next),
            None => is_among(next, &self.list[at].message),
        }
    }

    /// Returns whether the call with this id is open and goes on after the end of the turn.
    pub(crate) fn is_next(&self, id: &str, next: &[String]) -> bool {
        self.newest(id).is_some_and(|at| self.list[at].open().is_some() && self.outlives(at, next))
    }

    /// Returns whether the subagent of the call `parent` outlives the turn: the call has its result already,
    /// or goes on itself.
    pub(crate) fn runs_on(&self, parent: &str, next: &[String]) -> bool {
        let mut asked = parent;
        for _ in 0..NESTED_SUBAGENTS {
            let Some(call) = self.newest(asked).map(|at| &self.list[at]) else { return false };
            match &call.parent {
                _ if call.open().is_none() => return true,
                Some(parent) => asked = parent,
                None => return is_among(next, &call.message),
            }
        }
        false
    }

    /// Ends the run: every open call gets an incomplete result (U3).
    pub(crate) fn finish(&mut self, emitter: &mut Emitter<'_>) {
        for at in self.open.clone() {
            self.abandon(at, emitter);
        }
        self.report_early(emitter);
    }

    /// Reports each result without a call as it came.
    fn report_early(&mut self, emitter: &mut Emitter<'_>) {
        self.early_by_id.clear();
        for early in self.early.drain(..).flatten() {
            let kind = match early.side {
                ResultSource::User => "user/tool_result",
                ResultSource::Assistant => "assistant/tool_result",
            };
            emitter.unknown(kind, None, &early.raw);
        }
    }

    /// Number of calls that have started.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    fn newest(&self, id: &str) -> Option<usize> {
        self.latest.get(id, |at| &self.list[at].id)
    }

    fn abandon(&mut self, at: usize, emitter: &mut Emitter<'_>) {
        let call = &mut self.list[at];
        if let Some(open) = call.end(ResultSource::User) {
            self.open.remove(&at);
            let incomplete = match open.kind {
                ToolKind::ToolUse => Incomplete::Incomplete,
                ToolKind::ServerToolUse | ToolKind::McpToolUse => Incomplete::Ambiguous,
            };
            emitter.emit(call.result(&open, false, Json::NULL, Some(incomplete)));
        }
    }

    fn end(
        &mut self,
        at: usize,
        side: ResultSource,
        is_error: bool,
        result: Json<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        let call = &mut self.list[at];
        self.open.remove(&at);
        if let Some(open) = call.end(side) {
            emitter.emit(call.result(&open, is_error, result, None));
        }
    }
}

/// Returns whether an id is among others.
fn is_among(ids: &[String], id: &str) -> bool {
    ids.iter().any(|other| other == id)
}

/// Returns whether the type of the content of a result marks an error.
fn names_error(block: &RecordBlock<'_>) -> bool {
    let [kind] = json::inner(block.content, &["type"]);
    json::string(kind).is_some_and(|kind| kind.ends_with("_error"))
}

impl CallState {
    fn result<'a>(
        &'a self,
        call: &'a OpenCall,
        is_error: bool,
        result: Json<'a>,
        incomplete: Option<Incomplete>,
    ) -> Event<'a> {
        Event::ToolResult {
            id: (&*self.id).into(),
            name: call.name.as_str().into(),
            is_error,
            result,
            incomplete,
            parent: self.parent.as_deref().map(Into::into),
        }
    }

    /// Compares the arguments of a snapshot with those of the stream. The snapshot wins, and a
    /// difference is reported (U1).
    fn correct(&mut self, arguments: &SourceArguments<'_>, emitter: &mut Emitter<'_>) {
        let CallProgress::Open(call) = &mut self.progress else { return };
        if !std::mem::take(&mut call.is_streamed) {
            return;
        }
        let streamed = std::mem::replace(&mut call.arguments, arguments.clone().into_owned());
        let Some((new, what)) = streamed.difference(arguments) else { return };
        emitter.differs(&call.name, &what);
        if !new.is_empty() {
            emitter.emit(Event::ToolInput {
                id: (&*self.id).into(),
                name: call.name.as_str().into(),
                args: new,
                parent: self.parent.as_deref().map(Into::into),
            });
        }
    }
}

impl OpenCall {
    /// Returns whether the CLI runs this tool with this input.
    fn is_of(&self, name: &str, input: &Json<'_>) -> bool {
        self.name == name && self.kind == ToolKind::ToolUse && self.arguments.is_same(input)
    }
}
