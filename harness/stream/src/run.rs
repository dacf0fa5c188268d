//! The state of a run: it routes each record to its conversation, its calls and the outcome of its
//! turn, reads `user` records, and emits the session's id, model and CLI version.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::calls::{CallTable, ResultSource};
use crate::control::Dialog;
use crate::conversation::ConversationState;
use crate::emitter::Emitter;
use crate::ending::{self, EndedTurns, OutcomeBuilder, ResultRecord};
use crate::event::{DiagnosticCode, Event};
use crate::id_index::IdIndex;
use crate::json::{self, JsonField, RawJson};
use crate::notices;
use crate::outcome::Outcome;
use crate::record::{ApiEvent, MessageBody, RecordHead};
use crate::snapshot::{self, ShownBlocks, SyntheticMessage};
use crate::stream::{self, BAD_ID, EventEffect, MessageEnd, NAMELESS_RESULT};
use crate::transcript::TextPiece;

mod control;

/// Number of recent records that a later record can retract by their uuid.
const NAMED: usize = 256;

/// The state of one run.
#[derive(Debug)]
pub(crate) struct RunState {
    /// The main thread first, then each subagent.
    conversations: Vec<ConversationState>,
    /// Finds a subagent by the id of its call.
    subagents: IdIndex,
    /// The subagents whose current message may have open blocks.
    streaming: BTreeSet<usize>,
    /// Recent records by uuid, with the index of their conversation and the blocks they showed.
    named: VecDeque<(String, usize, ShownBlocks)>,
    calls: CallTable,
    session: SessionFacts,
    dialog: Dialog,
    /// The open turn.
    turn: OutcomeBuilder,
    ended: EndedTurns,
    /// The outcome of the turn that the current record has ended, and the text of the next turn.
    outcome: Option<(Outcome, Vec<TextPiece>)>,
    /// A sentence about the limit that was reached, if one was: the rest was not read.
    limit: Option<String>,
}

impl Default for RunState {
    fn default() -> Self {
        Self {
            conversations: vec![ConversationState::default()],
            subagents: IdIndex::default(),
            streaming: BTreeSet::new(),
            named: VecDeque::new(),
            calls: CallTable::default(),
            session: SessionFacts::default(),
            dialog: Dialog::default(),
            turn: OutcomeBuilder::default(),
            ended: EndedTurns::default(),
            outcome: None,
            limit: None,
        }
    }
}

impl RunState {
    /// Reads a line; returns false if it is neither a record nor an array of records.
    pub(crate) fn records(&mut self, line: &str, emitter: &mut Emitter<'_>) -> bool {
        if !line.starts_with('[') {
            return self.record(line, emitter);
        }
        let Some(list) = json::elements(line) else { return false };
        let records = !list.is_empty() && list.iter().all(|raw| raw.get().starts_with('{'));
        records && list.iter().all(|raw| self.record(raw.get(), emitter))
    }

    /// Stores why reading stops; `why` is a sentence for the person who waits.
    pub(crate) fn stop(&mut self, why: &str) {
        self.limit = Some(why.to_owned());
    }

    fn record(&mut self, record: &str, emitter: &mut Emitter<'_>) -> bool {
        let mut head = RecordHead::default();
        if !head.fill_from(record) {
            return false;
        }
        let kind = json::string(head.kind).unwrap_or_default();
        let subtype = json::string(head.subtype);
        let is_init = kind == "system" && subtype.as_deref() == Some("init");
        let init = is_init.then_some([head.model, head.version]);
        self.emit_outcome(emitter);
        self.session.see(head.session, init, emitter);
        if is_init {
            self.turn.begin(self.conversations[0].messages.len());
        }
        if kind != "result" {
            self.ended.other_record();
        }
        match (&*kind, &head.event, &head.message) {
            ("stream_event", Some(event), _) => {
                let conversation = self.conversation(head.parent);
                self.stream_event(conversation, event, head.abandoned, emitter);
            }
            ("assistant", _, Some(message)) => self.assistant(&head, message, emitter),
            ("user", _, Some(message)) => self.user(&head, message, emitter),
            ("stream_event" | "assistant" | "user", ..) => {
                emitter.record(&kind, None);
                emitter.diagnostic(DiagnosticCode::BadRecord, "The record has no body", record);
            }
            ("result", ..) => {
                emitter.record(&kind, subtype.as_deref());
                self.result(&head, emitter);
            }
            ("control_request" | "control_response" | "control_cancel_request", ..) => {
                self.control(&kind, record, head.response, emitter);
            }
            _ if is_init => {
                emitter.record(&kind, subtype.as_deref());
                notices::pass(&kind, subtype.as_deref(), record, emitter);
            }
            _ => {
                if kind == "error" {
                    let [message] = json::inner(head.error, &["message"]);
                    self.turn.api_error = json::trimmed(message).map(|text| text.into_owned());
                }
                self.facts(&kind, subtype.as_deref(), record);
                notices::notice(&kind, subtype.as_deref(), record, emitter);
                self.retract(head.retracted, emitter);
            }
        }
        true
    }

    /// Handles a stream event of the conversation at index `at`.
    fn stream_event(
        &mut self,
        at: usize,
        event: &ApiEvent<'_>,
        abandoned: JsonField<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        if at != 0 {
            self.streaming.insert(at);
        }
        let conversation = &mut self.conversations[at];
        snapshot::release_withheld(conversation, emitter);
        if abandoned.is_some() {
            abandon(conversation, abandoned, emitter);
        }
        match stream::event(conversation, &mut self.calls, event, emitter) {
            EventEffect::Start if at == 0 => self.turn.stop = MessageEnd::Done,
            EventEffect::End(stop, usage) => {
                if stop == MessageEnd::MaxTokens {
                    conversation.transcript.continue_next();
                }
                if at == 0 {
                    self.turn.stop = stop;
                    if let Some(usage) = usage {
                        emitter.emit(Event::Usage { usage, is_final: false });
                    }
                }
            }
            _ => {}
        }
        self.turn.open |= at == 0 && self.conversations[0].current.is_some();
    }

    fn assistant(
        &mut self,
        head: &RecordHead<'_>,
        message: &MessageBody<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        emitter.record("assistant", None);
        self.retract(head.supersedes, emitter);
        let at = self.conversation(head.parent);
        let conversation = &mut self.conversations[at];
        snapshot::release_withheld(conversation, emitter);
        let late = json::trimmed(message.id).filter(|id| {
            at == 0 && conversation.lookup(id).is_none() && self.ended.has_streamed(id)
        });
        match late {
            Some(id) => conversation.add_evicted(&id),
            None => self.turn.open |= at == 0,
        }
        let marked = json::is_true(head.api_error) || json::trimmed(head.error).is_some();
        match snapshot::synthetic_message(conversation, message, marked) {
            Some(SyntheticMessage::ApiError(text)) => {
                let mut detail = Map::new();
                detail.insert("text".to_owned(), Value::String(text.clone()));
                if let Some(error) = json::trimmed(head.error) {
                    detail.insert("error".to_owned(), Value::String(error.into_owned()));
                }
                notices::of_message("api_error", detail, conversation.parent.as_deref(), emitter);
                if at == 0 {
                    self.turn.api_error = Some(text);
                }
            }
            Some(SyntheticMessage::NoResponse) => self.turn.no_response |= at == 0,
            None => {
                let shown = snapshot::assistant(conversation, &mut self.calls, message, emitter);
                if let (Some(shown), Some(uuid)) = (shown, json::trimmed(head.uuid)) {
                    self.named.push_back((uuid.into_owned(), at, shown));
                    self.named.drain(..self.named.len().saturating_sub(NAMED));
                }
            }
        }
        if json::is_true(head.aborted) {
            let id = json::trimmed(message.id)
                .map(|id| ("message_id".to_owned(), id.into_owned().into()));
            let parent = self.conversations[at].parent.as_deref();
            notices::of_message("aborted", Map::from_iter(id), parent, emitter);
            self.turn.interrupted |= at == 0;
        }
    }

    /// Reads which messages of the host a turn answers, and which call has started a task. The end
    /// of a message that comes between two turns belongs to the turn before, whose outcome has named
    /// it.
    fn facts(&mut self, kind: &str, subtype: Option<&str>, record: &str) {
        match (kind, subtype) {
            ("command_lifecycle", _) => {
                let [uuid, state] = json::pick(record, &["command_uuid", "state"]);
                let state = json::string(state);
                self.turn.announced |= state.as_deref() == Some("started");
                let is_answered = match state.as_deref() {
                    Some("started") => true,
                    Some("completed") => self.turn.open,
                    _ => false,
                };
                if let Some(uuid) = json::trimmed(uuid).filter(|_| is_answered) {
                    self.turn.answer(&uuid);
                }
            }
            ("system", Some("status")) => {
                let [uuids] = json::pick(record, &["user_message_uuids"]);
                json::strings(uuids).iter().for_each(|uuid| self.turn.answer(uuid));
            }
            ("system", Some("task_started")) => {
                let [task, call] =
                    json::pick(record, &["task_id", "tool_use_id"]).map(json::trimmed);
                if let (Some(task), Some(call)) = (task, call) {
                    self.dialog.task(&task, &call);
                }
            }
            _ => {}
        }
    }

    fn result(&mut self, head: &RecordHead<'_>, emitter: &mut Emitter<'_>) {
        let record = ResultRecord::read(head);
        if self.ended.is_repeated(head.raw.get()) {
            let what = "A result repeats the record before it, and ends no turn";
            return emitter.diagnostic(DiagnosticCode::RepeatedResult, what, head.raw.get());
        }
        if self.ended.is_late(&record) {
            let what = "A result of a turn that has ended comes again, and ends no turn";
            return emitter.diagnostic(DiagnosticCode::LateResult, what, head.raw.get());
        }
        let main = &mut self.conversations[0];
        if record.failed {
            main.withheld = None;
        }
        snapshot::release_withheld(main, emitter);
        let next = main.last_of(&record.begun).and_then(|last| self.turn.next_after(last));
        let first = next.unwrap_or(main.messages.len());
        if main.current.is_none_or(|at| at < first) {
            stream::message_end(main, &mut self.calls, emitter);
        }
        let ids: Vec<_> = main.messages[first..].iter().map(|m| m.id.to_string()).collect();
        if let Some(usage) = record.usage {
            emitter.emit(Event::Usage { usage, is_final: true });
        }
        self.end_subagents(&ids, emitter);
        self.withdraw_questions(&ids, emitter);
        self.calls.end_turn(&ids, emitter);
        let main = &mut self.conversations[0];
        record.answers.iter().for_each(|uuid| self.turn.answer(uuid));
        let messages = main.messages[..first].iter().map(|m| (&*m.id, m.streamed));
        let number = self.ended.end(&record, messages);
        self.named.retain_mut(|(_, at, shown)| *at != 0 || shown.is_in_turn_from(first));
        let calls = self.calls.count();
        let turn = self.turn.replace(calls, next, &record.answers);
        let (transcript, begun) = main.begin_turn(first, emitter);
        let outcome = turn.end(&record, transcript, &mut self.ended, calls);
        self.outcome = Some((self.finished(outcome, number), begun));
    }

    /// Ends the message of each subagent that does not outlive the turn. `next` are the ids of
    /// messages of the next turn.
    fn end_subagents(&mut self, next: &[String], emitter: &mut Emitter<'_>) {
        let (conversations, calls) = (&mut self.conversations, &mut self.calls);
        self.streaming.retain(|at| {
            let subagent = &mut conversations[*at];
            let parent = subagent.parent.as_deref();
            if !parent.is_some_and(|parent| calls.runs_on(parent, next)) {
                stream::message_end(subagent, calls, emitter);
            }
            subagent.has_open_blocks()
        });
    }

    /// Emits the outcome of the turn that the last record has ended, after all that is to be said
    /// about its line, and then the text of the next turn that has come already.
    pub(crate) fn emit_outcome(&mut self, emitter: &mut Emitter<'_>) {
        if let Some((outcome, begun)) = self.outcome.take() {
            emitter.emit(Event::Outcome(Cow::Owned(outcome)));
            self.conversations[0].emit_again(&begun, emitter);
        }
    }

    /// Ends the run. A turn without a result gets an outcome that says so. `silent` is true if there
    /// was no output at all.
    pub(crate) fn finish(mut self, silent: bool, emitter: &mut Emitter<'_>) {
        for (at, conversation) in self.conversations.iter_mut().enumerate() {
            if let (0, Some(withheld)) = (at, conversation.withheld.take()) {
                self.turn.api_error = Some(withheld.1);
            }
            stream::message_end(conversation, &mut self.calls, emitter);
        }
        self.withdraw_all_questions(emitter);
        self.calls.finish(emitter);
        // Behind a limit, there may be turns that were not read at all.
        if self.turn.lacks_outcome() || self.limit.is_some() || self.ended.count() == 0 {
            let transcript = std::mem::take(&mut self.conversations[0].transcript);
            let turn = std::mem::take(&mut self.turn);
            let outcome = turn.cut_off(&transcript, self.limit.take(), silent);
            self.outcome = Some((self.finished(outcome, self.ended.count() + 1), Vec::new()));
            self.emit_outcome(emitter);
        }
    }

    /// Adds the session and the number of the turn to an outcome.
    fn finished(&self, outcome: Outcome, turn: u64) -> Outcome {
        Outcome { session_id: self.session.id().map(str::to_owned), turn, ..outcome }
    }

    /// Retracts the records with these uuids.
    fn retract(&mut self, uuids: JsonField<'_>, emitter: &mut Emitter<'_>) {
        let uuids = uuids.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
        for uuid in uuids.into_iter().filter_map(|raw| json::trimmed(Some(raw))) {
            if let Some(found) = self.named.iter().position(|(name, ..)| *name == uuid)
                && let Some((_, at, shown)) = self.named.remove(found)
            {
                snapshot::retract(&mut self.conversations[at], &mut self.calls, &shown, emitter);
            }
        }
    }

    /// Returns the index of the record's conversation, and adds that of a subagent when it first
    /// appears (T3).
    fn conversation(&mut self, parent: JsonField<'_>) -> usize {
        let Some(parent) = json::trimmed(parent) else {
            return 0;
        };
        let Self { conversations, subagents, .. } = self;
        if let Some(at) = subagents.get(&parent, |at| parent_at(conversations, at)) {
            return at;
        }
        let at = conversations.len();
        conversations.push(ConversationState::new(Some(parent.into())));
        subagents.insert(at, |at| parent_at(conversations, at));
        at
    }
}

/// Id of the call that the subagent at this place is; empty for the main thread.
fn parent_at(conversations: &[ConversationState], at: usize) -> &str {
    conversations[at].parent.as_deref().unwrap_or_default()
}

/// Retracts the blocks of a message that will never be complete, because the CLI has made up its
/// end.
fn abandon(conversation: &mut ConversationState, blocks: JsonField<'_>, emitter: &mut Emitter<'_>) {
    let [id, from] = json::inner(blocks, &["api_message_id", "from_block_index"]);
    let known = json::trimmed(id).and_then(|id| conversation.lookup(&id));
    if let Some(at) = known.or(conversation.current) {
        let from = json::count(from);
        conversation.retract(at, |block| block >= from, emitter);
    }
}

/// Beginning of the text by which the CLI reports an interrupted turn.
const INTERRUPTED: &str = "[Request interrupted by user";

/// Part of the text by which the CLI asks the model to continue in the middle of a sentence
/// (2.1.100 and later).
const GO_ON: &str = "Output token limit hit";

/// Part of the text by which the CLI asks the model to go on after a broken stream. The complete
/// blocks stay (2.1.329).
const BROKE_OFF: &str = "cut off mid-stream";

/// Beginning of the text by which the CLI repeats what a local command printed.
const LOCAL_OUTPUT: &str = "<local-command-";

impl RunState {
    fn user(
        &mut self,
        head: &RecordHead<'_>,
        message: &MessageBody<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        emitter.record("user", None);
        let at = self.conversation(head.parent);
        snapshot::release_withheld(&mut self.conversations[at], emitter);
        let content = message.content.as_ref().map(|content| content.raw);
        if content.is_none() {
            let what = "A user record's message has no content";
            emitter.diagnostic(DiagnosticCode::BadRecord, what, message.raw.get());
        }
        if json::is_true(head.replay) {
            if at == 0 && self.heard(head, message, emitter) {
                return;
            }
            return notices::pass("user", None, head.raw.get(), emitter);
        }
        let mut text = json::string(content);
        let mut is_used = content.is_none();
        for part in message.parts().into_iter().flatten() {
            let kind = json::string(part.kind).unwrap_or_default();
            match (&*kind, json::trimmed(part.call)) {
                ("tool_result", Some(id)) => {
                    is_used = true;
                    self.turn.folds |= at == 0;
                    if self.calls.has_no_open_call(&id) {
                        for conversation in &mut self.conversations {
                            stream::settle_before_result(
                                conversation,
                                &mut self.calls,
                                &id,
                                emitter,
                            );
                        }
                    }
                    self.dialog.close_call(&id);
                    self.calls.result(&id, &part, ResultSource::User, emitter);
                }
                ("tool_result", None) => {
                    is_used = true;
                    emitter.diagnostic(BAD_ID, NAMELESS_RESULT, part.raw.get());
                }
                ("text", _) => text = text.or_else(|| json::string(part.text)),
                ("image" | "document" | "search_result" | "tool_reference", _) => {}
                (other, _) => {
                    is_used = true;
                    emitter.unknown(&format!("user/{other}"), None, part.raw.get());
                }
            }
        }
        if let Some(refused) = json::trimmed(head.refused)
            && let Some(refused) = self.conversations[at].lookup(&refused)
        {
            self.conversations[at].retract(refused, |_| true, emitter);
        }
        let text = text.unwrap_or_default();
        let is_interrupt = text.starts_with(INTERRUPTED);
        // A result of a call and the report of an interrupt belong to a turn that is open or has ended.
        self.turn.open |= at == 0 && !is_used && !is_interrupt && !text.starts_with(LOCAL_OUTPUT);
        self.turn.interrupted |= at == 0 && is_interrupt;
        if json::is_true(head.synthetic) {
            let transcript = &mut self.conversations[at].transcript;
            if text.contains(GO_ON) {
                transcript.continue_next();
            } else if text.contains(BROKE_OFF) {
                transcript.split();
            }
        }
        if !is_used {
            notices::pass("user", None, head.raw.get(), emitter);
        }
    }

    /// Reads a record that the CLI repeats. Returns whether it is a message of the host, which the
    /// turn answers, and not one that the CLI has made.
    fn heard(
        &mut self,
        head: &RecordHead<'_>,
        message: &MessageBody<'_>,
        emitter: &mut Emitter<'_>,
    ) -> bool {
        let text = message.text();
        let [origin] = json::pick(head.raw.get(), &["origin"]);
        if json::is_true(head.synthetic)
            || text.starts_with(LOCAL_OUTPUT)
            || ending::origin(origin).is_some()
        {
            return false;
        }
        self.turn.open = true;
        let id = json::trimmed(head.uuid);
        if let Some(uuid) = &id {
            self.turn.answer(uuid);
        }
        // Older versions (2.1.148) repeat the message that began the turn when its answer is under way.
        emitter.emit(Event::Heard { id, text: text.into(), folded: self.turn.folds });
        true
    }
}

/// The session as it was last emitted.
#[derive(Debug, Default)]
struct SessionFacts {
    id: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// The field as the last record printed it, to skip records that repeat it.
    printed: String,
}

impl SessionFacts {
    /// Returns the last id.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Reads the id of a record, and emits the session if it is new or has changed. `init` is the
    /// model and the version of an `init` record.
    fn see(
        &mut self,
        fields: [JsonField<'_>; 4],
        init: Option<[JsonField<'_>; 2]>,
        emitter: &mut Emitter<'_>,
    ) {
        let repeats =
            |field: Option<RawJson<'_>>| field.is_some_and(|raw| raw.get() == self.printed);
        if init.is_none() && repeats(fields[0]) {
            return;
        }
        let Some((field, id)) = fields.into_iter().find_map(|f| Some((f?, json::trimmed(f)?)))
        else {
            return;
        };
        if init.is_none() && field.get() == self.printed {
            return;
        }
        field.get().clone_into(&mut self.printed);
        let [model, version] =
            init.unwrap_or_default().map(|f| json::trimmed(f).map(|name| name.into_owned()));
        let same_id = self.id.as_deref() == Some(&*id);
        let says_more =
            model.is_some() && model != self.model || version.is_some() && version != self.version;
        if same_id && !says_more {
            return;
        }
        if same_id {
            self.model = model.or_else(|| self.model.take());
            self.version = version.or_else(|| self.version.take());
        } else {
            (self.model, self.version) = (model, version);
            self.id = Some(id.clone().into_owned());
        }
        emitter.emit(Event::Session {
            session_id: id,
            model: self.model.as_deref().map(Into::into),
            cli_version: self.version.as_deref().map(Into::into),
        });
    }
}
