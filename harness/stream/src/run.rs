//! The state of a run: it routes each record to its conversation, its calls and the outcome.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::body::MessageBody;
use crate::calls::{CallTable, ResultSource};
use crate::conversation::ConversationState;
use crate::diagnostic::DiagnosticCode;
use crate::emitter::Emitter;
use crate::ending::OutcomeBuilder;
use crate::event::Event;
use crate::head::{ApiEvent, RecordHead};
use crate::json::{self, JsonField};
use crate::notices;
use crate::result_record::ResultRecord;
use crate::session::SessionFacts;
use crate::snapshot::{self, ShownBlocks, SyntheticMessage};
use crate::stream::{self, BAD_ID, EventEffect, MessageEnd, NAMELESS_RESULT};

/// Number of recent records that a later record can retract by their uuid.
const NAMED: usize = 256;

/// Beginning of the text by which the CLI reports an interrupted turn.
const INTERRUPTED: &str = "[Request interrupted by user";

/// Part of the text by which the CLI asks the model to continue in the middle of a sentence
/// (2.1.100 and later).
const GO_ON: &str = "Output token limit hit";

/// Part of the text by which the CLI asks the model to go on after a broken stream. The complete
/// blocks stay (2.1.329).
const BROKE_OFF: &str = "cut off mid-stream";

/// The state of one run.
#[derive(Debug)]
pub(crate) struct RunState {
    /// The main thread first, then each subagent.
    conversations: Vec<ConversationState>,
    subagents: BTreeMap<String, usize>,
    /// Recent records by uuid, with the index of their conversation and the blocks they showed.
    named: VecDeque<(String, usize, ShownBlocks)>,
    calls: CallTable,
    session: SessionFacts,
    ending: OutcomeBuilder,
}

impl Default for RunState {
    fn default() -> Self {
        Self {
            conversations: vec![ConversationState::default()],
            subagents: BTreeMap::new(),
            named: VecDeque::new(),
            calls: CallTable::default(),
            session: SessionFacts::default(),
            ending: OutcomeBuilder::default(),
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
        self.ending.limit = Some(why.to_owned());
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
        self.session.see(head.session, init, emitter);
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
            _ if is_init => {
                emitter.record(&kind, subtype.as_deref());
                notices::pass(&kind, subtype.as_deref(), record, emitter);
            }
            _ => {
                if kind == "error" {
                    let [message] = json::inner(head.error, &["message"]);
                    self.ending.api_error = json::trimmed(message).map(|text| text.into_owned());
                }
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
        let conversation = &mut self.conversations[at];
        snapshot::release_withheld(conversation, emitter);
        if abandoned.is_some() {
            abandon(conversation, abandoned, emitter);
        }
        match stream::event(conversation, &mut self.calls, event, emitter) {
            EventEffect::Start if at == 0 => {
                (self.ending.open, self.ending.stop) = (true, MessageEnd::Done);
            }
            EventEffect::End(stop, usage) => {
                if stop == MessageEnd::MaxTokens {
                    conversation.transcript.continue_next();
                }
                if at == 0 {
                    self.ending.stop = stop;
                    if let Some(usage) = usage {
                        emitter.emit(Event::Usage { usage, is_final: false });
                    }
                }
            }
            _ => {}
        }
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
                    self.ending.api_error = Some(text);
                }
            }
            Some(SyntheticMessage::NoResponse) => self.ending.no_response |= at == 0,
            None => {
                self.ending.open |= at == 0;
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
            self.ending.interrupted |= at == 0;
        }
    }

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
            return notices::pass("user", None, head.raw.get(), emitter);
        }
        let mut text = json::string(content);
        let mut is_used = content.is_none();
        for part in message.parts().into_iter().flatten() {
            let kind = json::string(part.kind).unwrap_or_default();
            match (&*kind, json::trimmed(part.call)) {
                ("tool_result", Some(id)) => {
                    is_used = true;
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
        self.ending.interrupted |= at == 0 && text.starts_with(INTERRUPTED);
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

    fn result(&mut self, head: &RecordHead<'_>, emitter: &mut Emitter<'_>) {
        let record = ResultRecord::read(head);
        let main = &mut self.conversations[0];
        if record.failed {
            main.withheld = None;
        }
        snapshot::release_withheld(main, emitter);
        stream::message_end(main, &mut self.calls, emitter);
        if let Some(usage) = record.usage {
            emitter.emit(Event::Usage { usage, is_final: true });
        }
        self.ending.add_result(&record, &mut main.transcript, self.calls.count());
    }

    /// Ends the run and emits the outcome. `silent` is true if there was no output at all.
    pub(crate) fn finish(mut self, silent: bool, emitter: &mut Emitter<'_>) {
        for (at, conversation) in self.conversations.iter_mut().enumerate() {
            if let (0, Some((_, text))) = (at, conversation.withheld.take()) {
                self.ending.api_error = Some(text);
            }
            stream::message_end(conversation, &mut self.calls, emitter);
        }
        self.calls.finish(emitter);
        let outcome =
            self.ending.outcome(&self.conversations[0].transcript, self.session.into_id(), silent);
        emitter.emit(Event::Outcome(std::borrow::Cow::Owned(outcome)));
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
        let Some(parent) = json::trimmed(parent) else { return 0 };
        if let Some(at) = self.subagents.get(&*parent) {
            return *at;
        }
        self.subagents.insert(parent.clone().into_owned(), self.conversations.len());
        self.conversations.push(ConversationState::new(Some(parent.into_owned())));
        self.conversations.len() - 1
    }
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
