//! Makes the lines that a host writes to stdin.

use clitape_recording::scenario::{
    ChosenLabels, HostProfile, SayAnswer, SayBehavior, SayInitialize,
};
use clitape_recording::wire::{
    ControlRequest, ControlResponse, JsonText, MessageTemplate, PermissionAnswer,
    PermissionDecision, RegisteredHook, RequestKind,
};
use serde_json::{Value, json};

use super::printed::PlacedQuestion;
use crate::record::error::HostError;

/// The reason for a denial if the step has none.
const NO: &str = "The user does not want this.";

/// Makes lines, and counts the messages and requests in them, because their ids are numbered.
#[derive(Debug, Clone)]
pub(super) struct LineMaker {
    profile: &'static HostProfile,
    messages: u64,
    requests: u64,
}

impl LineMaker {
    pub(super) fn new(profile: &'static HostProfile) -> Self {
        Self { profile, messages: 0, requests: 0 }
    }

    /// Returns the number of requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Counts a request that the scenario wrote itself.
    pub(super) fn count_request(&mut self) {
        self.requests += 1;
    }

    /// Returns a message of a person, with a uuid if the step or the host wants one.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn message(&mut self, content: &Value, uuid: Option<bool>) -> String {
        self.messages += 1;
        let template = MessageTemplate::read(self.profile.message);
        let template = template.expect("a test reads every template");
        let content = match content {
            Value::String(text) if !self.profile.plain_text => {
                json!([{"type": "text", "text": text}])
            }
            content => content.clone(),
        };
        let is_wanted = uuid.unwrap_or(template.has_uuid());
        let uuid = is_wanted.then(|| format!("c11fa9e0-0000-4000-8000-{:012}", self.messages));
        template.line(content, uuid)
    }

    /// Returns the id of the next request.
    fn next_id(&mut self) -> String {
        self.requests += 1;
        format!("clitape-{}", self.requests)
    }

    /// Returns the first request of a [`HostProfile`].
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn begin(&mut self, request: &str) -> String {
        let body: Value = serde_json::from_str(request).expect("a test reads every request");
        ControlRequest::of(self.next_id(), JsonText::of(&body)).to_string()
    }

    /// Returns an `initialize` of the scenario. Each hook has its event as the id of its callback.
    pub(super) fn initialize(&mut self, initialize: &SayInitialize) -> String {
        let SayInitialize { hooks, append_system_prompt } = initialize;
        let hook = |event: &String| RegisteredHook {
            event: event.clone(),
            matcher: None,
            callback_id: event.clone(),
        };
        let hooks: Vec<RegisteredHook> = hooks.iter().map(hook).collect();
        let prompt = append_system_prompt.as_deref();
        ControlRequest::initialize(self.next_id(), &hooks, prompt).to_string()
    }

    /// Returns the request to stop the turn.
    pub(super) fn interrupt(&mut self) -> String {
        ControlRequest::interrupt(self.next_id()).to_string()
    }

    /// Returns the answer to a request that no step answers: a hook gets its default or, from a host that allows every
    /// call, a yes; an elicitation is declined; the host knows no other request.
    pub(super) fn at_once(&self, request: &ControlRequest) -> String {
        let id = &request.request_id;
        let answer = match &request.kind {
            RequestKind::Hook(call)
                if call.event == "PreToolUse" && self.profile.allows_every_call =>
            {
                ControlResponse::allow_call(id, call)
            }
            RequestKind::Hook(_) => ControlResponse::success(id, &json!({})),
            _ => match request.subtype() {
                "elicitation" => ControlResponse::success(id, &json!({"action": "decline"})),
                other => {
                    let error = format!("Unsupported control request subtype: {other}");
                    ControlResponse::error(id, &error)
                }
            },
        };
        answer.to_string()
    }
}

/// Returns the answer to a permission question.
pub(super) fn answer(
    asked: &PlacedQuestion,
    answer: &SayAnswer,
    step: &str,
) -> Result<String, HostError> {
    let SayAnswer { behavior, input, message, suggestion } = answer;
    if *behavior != SayBehavior::Allow {
        let interrupt = *behavior == SayBehavior::DenyAndInterrupt;
        let message = Some(message.clone().unwrap_or_else(|| NO.to_owned()));
        return Ok(line(asked, PermissionDecision::Deny { message, interrupt }));
    }
    let suggestions = &asked.question.suggestions;
    let updated_permissions = match suggestion {
        None => None,
        Some(number) => {
            let found = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
            let found = found.and_then(|at| suggestions.get(at));
            let found = found.ok_or_else(|| HostError::NoSuggestion {
                step: step.to_owned(),
                number: *number,
                count: suggestions.len(),
            })?;
            Some(vec![found.clone()])
        }
    };
    let input = input.as_ref().map(JsonText::of);
    let updated_input = Some(input.unwrap_or_else(|| asked.question.input.clone()));
    Ok(line(asked, PermissionDecision::Allow { updated_input, updated_permissions }))
}

/// Returns the line with the decision about a question.
fn line(asked: &PlacedQuestion, decision: PermissionDecision) -> String {
    let tool_use_id = asked.question.tool_use_id.clone();
    let answer = PermissionAnswer { decision, tool_use_id };
    ControlResponse::success(&asked.request_id, &answer).to_string()
}

/// Returns the answer to an `AskUserQuestion`: its input, with the labels that were chosen.
pub(super) fn choice<'c>(
    asked: &PlacedQuestion,
    chosen: impl Iterator<Item = (&'c String, &'c ChosenLabels)>,
    step: &str,
) -> Result<String, HostError> {
    // If the input has no questions, each choice is an error below.
    let mut input = asked.question.input.value();
    let questions = input["questions"].as_array().into_iter().flatten();
    let texts: Vec<String> =
        questions.filter_map(|one| one["question"].as_str().map(str::to_owned)).collect();
    let mut answers = serde_json::Map::new();
    for (text, labels) in chosen {
        if !texts.contains(text) {
            return Err(HostError::NotAsked {
                step: step.to_owned(),
                chosen: text.clone(),
                asked: texts.join("`, `"),
            });
        }
        let labels = match labels {
            ChosenLabels::One(label) => label.clone(),
            ChosenLabels::Several(labels) => labels.join(", "),
        };
        answers.insert(text.clone(), Value::from(labels));
    }
    input["answers"] = Value::from(answers);
    let updated_input = Some(JsonText::of(&input));
    Ok(line(asked, PermissionDecision::Allow { updated_input, updated_permissions: None }))
}
