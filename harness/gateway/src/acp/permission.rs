//! The requests to an editor: `session/request_permission`, between the announcement of a call and its
//! work ([Q6](crate::rules::Q6)).
//!
//! The id of an option is the data of the button that a chat has for it, so that both are read by the
//! same rules. A choice of `AskUserQuestion` is a request of its own with its options; the protocol knows
//! neither several options at once nor an answer in a person's own words.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::tools::fenced;
use super::update::{CallContent, CallStatus, ToolCallUpdate};
use crate::question::{
    Answer, Choice, ChoiceOption, Chosen, Closing, Press, PressedButton, Question, QuestionClosed,
    QuestionKind,
};

/// The words for the model when the client cancels the turn instead of answering.
const CANCELLED: &str = "The person cancelled the turn.";

/// The words for the model when the client chooses an option that was not offered.
const NOT_OFFERED: &str = "The editor gave an answer that was not offered.";

/// A message to the client beside the updates: it goes out after the updates of the same event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ClientRequest {
    /// The client asks the person.
    Permission(Box<PermissionRequest>),
    /// The client need not answer a request any more: `$/cancel_request`.
    Cancel {
        /// Id of the request.
        id: String,
    },
}

impl ClientRequest {
    /// Makes the JSON-RPC message.
    pub(super) fn message(&self, session_id: &str) -> Value {
        match self {
            Self::Permission(request) => json!({
                "jsonrpc": "2.0", "id": request.id, "method": "session/request_permission",
                "params": {
                    "sessionId": session_id, "toolCall": request.tool_call, "options": request.options,
                },
            }),
            Self::Cancel { id } => json!({
                "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id },
            }),
        }
    }
}

/// A `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Id of the JSON-RPC request, unique in the session.
    #[serde(skip)]
    pub id: String,
    /// The call that waits, which was announced before.
    pub tool_call: ToolCallUpdate,
    /// The answers that a person can give.
    pub options: Vec<PermissionOption>,
}

/// One of the answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PermissionOption {
    /// Its id.
    pub option_id: String,
    /// The words for it.
    pub name: String,
    /// The kind of the answer.
    pub kind: OptionKind,
}

/// The kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OptionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and the permissions change.
    AllowAlways,
    /// No, this time.
    RejectOnce,
}

/// The answer of the client to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionOutcome {
    /// One of the options.
    Selected {
        /// Its id.
        option_id: String,
    },
    /// The client has cancelled the turn.
    Cancelled,
}

impl PermissionOutcome {
    /// Reads the `result` of the client's response; `None` when it is none of the protocol's.
    pub fn of(result: &Value) -> Option<Self> {
        let outcome = result.get("outcome")?;
        match outcome.get("outcome")?.as_str()? {
            "selected" => {
                let option_id = outcome.get("optionId")?.as_str()?.to_owned();
                Some(Self::Selected { option_id })
            }
            "cancelled" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

/// The questions that a client is asked.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    asked: HashMap<String, AskedClient>,
    /// Requests that were made.
    requests: u64,
    /// The requests that have not been sent.
    waiting: Vec<ClientRequest>,
}

/// A question that is open.
#[derive(Debug)]
struct AskedClient {
    /// The call that waits, by the CLI's id.
    call: String,
    /// Set if the call was announced for the question alone.
    is_made_up: bool,
    /// The requests whose answer has not come, and the part of the question that each is about.
    requests: Vec<(String, usize)>,
    /// The choice for each part.
    chosen: Vec<Option<Chosen>>,
}

impl Permissions {
    /// Asks the client about `call`.
    pub(super) fn ask(
        &mut self,
        question: &Question,
        call: &str,
        is_made_up: bool,
        tool_call: &ToolCallUpdate,
    ) {
        let question = &question.visible();
        let parts = match &question.kind {
            QuestionKind::Permission { .. } => vec![None],
            QuestionKind::Choices(choices) => choices.iter().map(Some).collect(),
        };
        let mut asked = AskedClient {
            call: call.to_owned(),
            is_made_up,
            requests: Vec::new(),
            chosen: vec![None; parts.len()],
        };
        for (part, choice) in parts.into_iter().enumerate() {
            self.requests += 1;
            let id = format!("permission-{}", self.requests);
            asked.requests.push((id.clone(), part));
            let mut tool_call = tool_call.visible();
            if let Some(choice) = choice {
                tool_call.title = Some(choice.question.clone());
                tool_call.content = Some(vec![CallContent::text(described(choice))]);
            }
            let more = question.suggestions_in_full().filter(|_| choice.is_none());
            let more = more
                .map(|(label, all)| CallContent::text(format!("{label}:\n{}", fenced("", all))));
            let more: Vec<CallContent> = more.collect();
            if !more.is_empty() {
                tool_call.content.get_or_insert_default().extend(more);
            }
            let options = options(question, part, choice);
            let request = PermissionRequest { id, tool_call, options };
            self.waiting.push(ClientRequest::Permission(Box::new(request)));
        }
        self.asked.insert(question.id.clone(), asked);
    }

    /// Takes a question from the client: requests that it has not answered are cancelled. Returns the
    /// call and what becomes of it, if anything does before its result.
    pub(super) fn close(&mut self, closed: &QuestionClosed) -> Option<(String, CallStatus)> {
        let asked = self.asked.remove(&closed.id)?;
        let open = asked.requests.into_iter().map(|(id, _)| ClientRequest::Cancel { id });
        self.waiting.extend(open);
        let status = match closed.closing {
            Closing::Allowed { .. } => CallStatus::InProgress,
            Closing::Settled => return None,
            // Only this update reports a call that is there for the question alone.
            _ if asked.is_made_up => CallStatus::Failed,
            _ => return None,
        };
        Some((asked.call, status))
    }

    /// Takes the requests that have not been sent.
    pub(super) fn take(&mut self) -> Vec<ClientRequest> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes the client's answer to `request`: the question and its answer, once all is answered.
    pub(super) fn answer(
        &mut self,
        request: &str,
        outcome: &PermissionOutcome,
    ) -> Option<(String, Answer)> {
        let is_it = |(_, asked): &(&String, &mut AskedClient)| {
            asked.requests.iter().any(|(id, _)| id == request)
        };
        let (id, asked) = self.asked.iter_mut().find(is_it)?;
        let place = asked.requests.iter().position(|(id, _)| id == request)?;
        let (_, part) = asked.requests.remove(place);
        let answer = match outcome {
            PermissionOutcome::Cancelled => Answer::Stop { message: CANCELLED.to_owned() },
            PermissionOutcome::Selected { option_id } => {
                let press = Press::parse(option_id).filter(|press| press.is_for(id));
                match press.map(|press| press.button) {
                    Some(PressedButton::Allow) => Answer::allow(),
                    Some(PressedButton::Suggestion(index)) => Answer::allow_with(index),
                    Some(PressedButton::Option { option, .. }) => {
                        *asked.chosen.get_mut(part)? = Some(Chosen::Options(vec![option]));
                        Answer::Choose(asked.chosen.iter().cloned().collect::<Option<_>>()?)
                    }
                    Some(PressedButton::Deny) => Answer::deny(""),
                    // A client that says something else has said no yes.
                    Some(PressedButton::Done { .. }) | None => Answer::deny(NOT_OFFERED),
                }
            }
        };
        Some((id.clone(), answer))
    }
}

/// The text below the title of a choice.
fn described(choice: &Choice) -> String {
    let lines = choice.options.iter().map(|option| {
        let words = option.description.iter().map(|words| format!(": {words}"));
        let preview = option.preview.iter().map(|preview| format!("\n\n{}\n", fenced("", preview)));
        let after: String = words.chain(preview).collect();
        format!("- **{}**{after}", option.label)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The answers that a person can give to one part of a question.
fn options(question: &Question, part: usize, choice: Option<&Choice>) -> Vec<PermissionOption> {
    let option = |button, name: &str, kind| PermissionOption {
        option_id: Press::new(&question.id, button).data(),
        name: name.to_owned(),
        kind,
    };
    let mut options = match choice {
        None => vec![option(PressedButton::Allow, "Allow", OptionKind::AllowOnce)],
        Some(choice) => {
            let labels = choice.options.iter().enumerate();
            let button = |index| PressedButton::Option { choice: part, option: index };
            let chosen = |(index, one): (usize, &ChoiceOption)| {
                option(button(index), &one.label, OptionKind::AllowOnce)
            };
            labels.map(chosen).collect()
        }
    };
    let suggestions = question.suggestions.iter().enumerate().filter(|_| choice.is_none());
    options.extend(suggestions.map(|(index, label)| {
        option(PressedButton::Suggestion(index), label, OptionKind::AllowAlways)
    }));
    options.push(option(PressedButton::Deny, "Deny", OptionKind::RejectOnce));
    options
}
