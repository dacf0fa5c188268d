//! Reads the records that the host writes to the CLI: messages, requests, and answers to what the
//! CLI asks.

use crate::diagnostic::DiagnosticCode;
use crate::dialog::AnswerFit;
use crate::emitter::Emitter;
use crate::event::{Decision, Event};
use crate::head::RecordHead;
use crate::json::{self, JsonField};
use crate::payload::Json;
use crate::run::RunState;

/// Records of the host that cause no event: they wake the CLI, change its environment, or take a
/// request of the host back.
const SILENT: [&str; 3] = ["keep_alive", "update_environment_variables", "control_cancel_request"];

impl RunState {
    /// Reads a record of the host; returns false if the text is not a record.
    pub(crate) fn host_record(&mut self, record: &str, emitter: &mut Emitter<'_>) -> bool {
        let mut head = RecordHead::default();
        if !head.fill_from(record) {
            return false;
        }
        let kind = json::string(head.kind).unwrap_or_default();
        match &*kind {
            "user" => host_message(&head, emitter),
            "control_request" => self.host_request(record, emitter),
            "control_response" => self.answer(record, head.response, emitter),
            silent if SILENT.contains(&silent) => emitter.record(silent, None),
            other => emitter.unknown(&format!("stdin/{other}"), None, record),
        }
        true
    }

    fn host_request(&mut self, record: &str, emitter: &mut Emitter<'_>) {
        let [id, request] = json::pick(record, &["request_id", "request"]);
        let [subtype] = json::inner(request, &["subtype"]);
        let (id, Some(subtype)) = (json::trimmed(id), json::trimmed(subtype)) else {
            return bad(record, emitter);
        };
        emitter.record("control_request", Some(&*subtype));
        if let Some(id) = &id {
            self.dialog.ask_cli(id, &subtype);
        }
        emitter.emit(Event::HostMessage { id, kind: subtype, text: None });
    }

    /// Reads an answer to a request of the CLI.
    fn answer(&mut self, record: &str, response: JsonField<'_>, emitter: &mut Emitter<'_>) {
        emitter.record("control_response", None);
        let [subtype, id, error, body] =
            json::inner(response, &["subtype", "request_id", "error", "response"]);
        let Some(id) = json::trimmed(id) else { return bad(record, emitter) };
        match self.dialog.fit(&id) {
            AnswerFit::Question => {}
            AnswerFit::Other => {
                self.dialog.close(&id);
                return;
            }
            AnswerFit::Nothing => {
                let what = "The host answers a question that is not open";
                let code = DiagnosticCode::AnswerWithoutQuestion;
                return emitter.diagnostic(code, what, record);
            }
        }
        let is_error = json::string(subtype).is_some_and(|subtype| subtype == "error");
        let Some((decision, message, input)) = decision(is_error, error, body) else {
            return bad(record, emitter);
        };
        self.dialog.close(&id);
        emitter.emit(Event::Answered {
            id,
            decision,
            message: json::trimmed(message),
            input: input.map_or(Json::NULL, Json::from),
        });
    }
}

/// Reads the decision of an answer, its sentence for the model, and the input with which the call
/// runs. A host that answers with an error denies. `None` if the answer is neither yes nor no.
fn decision<'a>(
    is_error: bool,
    error: JsonField<'a>,
    body: JsonField<'a>,
) -> Option<(Decision, JsonField<'a>, JsonField<'a>)> {
    if is_error {
        return Some((Decision::Deny, error, None));
    }
    let [behavior, message, interrupt, input] =
        json::inner(body, &["behavior", "message", "interrupt", "updatedInput"]);
    match json::string(behavior).as_deref()? {
        "allow" => Some((Decision::Allow, None, input)),
        "deny" if json::is_true(interrupt) => Some((Decision::DenyAndInterrupt, message, None)),
        "deny" => Some((Decision::Deny, message, None)),
        _ => None,
    }
}

fn host_message(head: &RecordHead<'_>, emitter: &mut Emitter<'_>) {
    let Some(message) = &head.message else { return bad(head.raw.get(), emitter) };
    emitter.record("user", None);
    emitter.emit(Event::HostMessage {
        id: json::trimmed(head.uuid),
        kind: "user".into(),
        text: Some(message.text().into()),
    });
}

fn bad(record: &str, emitter: &mut Emitter<'_>) {
    let what = "A record of the host lacks a field that it needs";
    emitter.diagnostic(DiagnosticCode::BadRecord, what, record);
}
