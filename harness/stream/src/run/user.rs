//! Reads `user` records: results of calls, messages of the host that the CLI repeats, and what the
//! CLI itself writes to the model.

use crate::body::MessageBody;
use crate::calls::ResultSource;
use crate::diagnostic::DiagnosticCode;
use crate::emitter::Emitter;
use crate::event::Event;
use crate::head::RecordHead;
use crate::json;
use crate::notices;
use crate::result_record;
use crate::run::RunState;
use crate::snapshot;
use crate::stream::{self, BAD_ID, NAMELESS_RESULT};

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
    pub(super) fn user(
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
            || result_record::origin(origin).is_some()
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
