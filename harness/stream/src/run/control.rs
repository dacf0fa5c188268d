//! Reads control records of both sides: questions and other requests of the CLI, answers, and
//! messages and requests of the host.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::control::{AnswerFit, Asker, CAN_USE_TOOL, CONTROL_KINDS, CliRequest, control_kind};
use crate::emitter::Emitter;
use crate::event::{Decision, DiagnosticCode, Event};
use crate::json::{self, JsonField};
use crate::notices;
use crate::payload::Json;
use crate::record::RecordHead;
use crate::run::RunState;

const REQUEST: &str = "control_request";
const RESPONSE: &str = "control_response";
const CANCEL: &str = "control_cancel_request";

impl RunState {
    /// Reads a control record of the CLI; `response` is the answer in it.
    pub(super) fn control(
        &mut self,
        kind: &str,
        record: &str,
        response: JsonField<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        match kind {
            REQUEST => self.request(record, emitter),
            RESPONSE => self.response(record, response, emitter),
            _ => {
                emitter.record(CANCEL, None);
                let [id] = json::pick(record, &["request_id"]);
                match json::trimmed(id) {
                    Some(id) if self.dialog.close(&id) => {
                        emitter.emit(Event::QuestionWithdrawn { id });
                    }
                    _ => notices::pass(CANCEL, None, record, emitter),
                }
            }
        }
    }

    /// Reads a request of the CLI. One that comes again is passed through.
    fn request(&mut self, record: &str, emitter: &mut Emitter<'_>) {
        let [id, request] = json::pick(record, &["request_id", "request"]);
        let [subtype] = json::inner(request, &["subtype"]);
        let subtype = json::trimmed(subtype);
        emitter.record(REQUEST, subtype.as_deref());
        let kind = subtype.as_deref().and_then(|subtype| control_kind(subtype, Asker::Cli));
        let Some(kind) = kind else {
            // The host may know it and answer.
            if let Some(id) = json::trimmed(id) {
                self.dialog.ask(&id, CliRequest::Other);
            }
            return emitter.unknown(REQUEST, subtype.as_deref(), record);
        };
        let [name, call, agent, input] =
            json::inner(request, &["tool_name", "tool_use_id", "agent_id", "input"]);
        let name = json::trimmed(name);
        let is_question = kind.subtype == CAN_USE_TOOL;
        let Some(id) = json::trimmed(id).filter(|_| !is_question || name.is_some()) else {
            let what = "A request of the CLI has no id, or a question names no tool";
            return emitter.diagnostic(DiagnosticCode::BadRecord, what, record);
        };
        let input = input.map_or(Json::EMPTY, Json::from);
        let (call, agent) = (json::trimmed(call), json::trimmed(agent));
        let call = match &name {
            // CLI 1.0.128 names neither.
            Some(name) if is_question && call.is_none() && agent.is_none() => {
                self.calls.asked_about(name, &input).map(|id| Cow::Owned(id.to_owned()))
            }
            _ => call,
        };
        let parent = match call.as_deref().and_then(|call| self.calls.parent_of(call)) {
            Some(parent) => parent.map(str::to_owned),
            None => agent.map(|agent| self.dialog.call_of_task(&agent).to_owned()),
        };
        let asked = match is_question {
            true => CliRequest::Question {
                call: call.as_deref().map(str::to_owned),
                parent: parent.clone(),
            },
            false => CliRequest::Other,
        };
        if !self.dialog.ask(&id, asked) {
            return notices::pass(REQUEST, Some(kind.subtype), record, emitter);
        }
        let detail = Cow::Owned(shown(request, kind.shown.iter()));
        if !is_question {
            return emitter.emit(Event::Request { id, subtype: kind.subtype.into(), detail });
        }
        if let Some(call) = &call {
            self.calls.ask(call);
        }
        let [suggestions] = json::inner(request, &["permission_suggestions"]);
        emitter.emit(Event::Question {
            id,
            name: name.unwrap_or_default(),
            call,
            input,
            suggestions: suggestions.map_or(Json::NULL, Json::from),
            detail,
            parent: parent.map(Cow::Owned),
        });
    }

    /// Reads an answer of the CLI, or the host's own answer, which the CLI repeats.
    fn response(&mut self, record: &str, response: JsonField<'_>, emitter: &mut Emitter<'_>) {
        let [subtype, id, error, body, pending] = json::inner(
            response,
            &["subtype", "request_id", "error", "response", "pending_permission_requests"],
        );
        let subtype = json::trimmed(subtype);
        emitter.record(RESPONSE, subtype.as_deref());
        let is_error = match subtype.as_deref() {
            Some("success") => false,
            Some("error") => true,
            _ => return emitter.unknown(RESPONSE, subtype.as_deref(), record),
        };
        let Some(id) = json::trimmed(id) else {
            let what = "An answer of the CLI has no id";
            return emitter.diagnostic(DiagnosticCode::BadRecord, what, record);
        };
        let asked = self.dialog.answered_by_cli(&id);
        if asked.is_none() && self.dialog.is_asked(&id) {
            self.dialog.close(&id);
            return notices::pass(RESPONSE, subtype.as_deref(), record, emitter);
        }
        let kind = asked.as_deref().and_then(|asked| control_kind(asked, Asker::Host));
        let any = CONTROL_KINDS.iter().filter(|kind| kind.asker == Asker::Host);
        let detail = match kind {
            Some(kind) => shown(body, kind.shown.iter()),
            // Without the host's side, all fields that an answer may show are looked for.
            None => shown(body, any.flat_map(|kind| kind.shown)),
        };
        emitter.emit(Event::Control {
            id,
            subtype: asked.map(Cow::Owned),
            error: json::trimmed(error).filter(|_| is_error),
            detail: Cow::Owned(detail),
        });
        // A host that joins a session gets the questions that wait.
        let pending = pending.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
        for request in pending.into_iter().filter(|raw| raw.get().starts_with('{')) {
            self.request(request.get(), emitter);
        }
    }

    /// Withdraws the questions that nobody can answer after the end of a turn: all except those of
    /// the next turn and of subagents that run on in the background.
    pub(super) fn withdraw_questions(&mut self, next: &[String], emitter: &mut Emitter<'_>) {
        let calls = &self.calls;
        let closed = self.dialog.close_where(|call, parent| match parent {
            Some(parent) => !calls.runs_on(parent, next),
            None => !call.is_some_and(|call| calls.is_next(call, next)),
        });
        withdraw(&closed, emitter);
    }

    /// Withdraws all questions, because the output has ended.
    pub(super) fn withdraw_all_questions(&mut self, emitter: &mut Emitter<'_>) {
        withdraw(&self.dialog.close_where(|_, _| true), emitter);
    }
}

fn withdraw(ids: &[String], emitter: &mut Emitter<'_>) {
    for id in ids {
        emitter.emit(Event::QuestionWithdrawn { id: id.into() });
    }
}

/// Returns the fields at these paths that are present.
fn shown<'p>(
    body: JsonField<'_>,
    paths: impl Iterator<Item = &'p &'static str> + Clone,
) -> Map<String, Value> {
    // The answer to `initialize` has tens of kilobytes, of which a few words are shown.
    body.and_then(|raw| notices::named_fields(raw.get(), paths).ok()).unwrap_or_default()
}

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
