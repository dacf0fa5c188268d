//! Makes the lines that a host writes to stdin.

use clitape_recording::scenario::{
    ChosenLabels, HostProfile, SayAnswer, SayBehavior, SayInitialize,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::printed::{HostCall, PermissionQuestion};
use crate::record::error::HostError;

/// The reason of a no that names none.
const NO: &str = "The user does not want this.";

/// Makes lines, and counts the messages and requests in them, because their ids are numbered.
#[derive(Debug, Clone)]
pub(super) struct LineMaker {
    profile: &'static HostProfile,
    messages: u64,
    requests: u64,
}

/// An answer to the CLI.
#[derive(Serialize)]
struct ControlResponse<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    response: Success<'a, T>,
}

#[derive(Serialize)]
struct Success<'a, T> {
    subtype: &'static str,
    request_id: &'a str,
    response: T,
}

/// The answer to a permission question.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionAnswer<'a, T> {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_permissions: Option<[&'a RawValue; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt: Option<bool>,
    #[serde(rename = "toolUseID", skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<&'a str>,
}

/// The answer to a hook before a call that lets the call run as it is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AllowingHook<'a> {
    hook_specific_output: AllowedCall<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AllowedCall<'a> {
    hook_event_name: &'a str,
    permission_decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a RawValue>,
}

#[allow(clippy::expect_used, reason = "the state is impossible")]
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("every key of a line is a string")
}

fn success<T: Serialize>(request_id: &str, response: T) -> String {
    let response = Success { subtype: "success", request_id, response };
    line(&ControlResponse { kind: "control_response", response })
}

impl LineMaker {
    pub(super) fn new(profile: &'static HostProfile) -> Self {
        Self { profile, messages: 0, requests: 0 }
    }

    /// The number of requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Counts a request that the scenario wrote itself.
    pub(super) fn count_request(&mut self) {
        self.requests += 1;
    }

    /// A message of a person, with a uuid if the step or the host wants one.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn message(&mut self, content: &Value, uuid: Option<bool>) -> String {
        self.messages += 1;
        let mut message: Value =
            serde_json::from_str(self.profile.message).expect("a test reads every template");
        message["message"]["content"] = match content {
            Value::String(text) if !self.profile.plain_text => {
                json!([{"type": "text", "text": text}])
            }
            content => content.clone(),
        };
        let is_wanted = uuid.unwrap_or(message.get("uuid").is_some());
        if is_wanted {
            let uuid = format!("c11fa9e0-0000-4000-8000-{:012}", self.messages);
            message["uuid"] = Value::from(uuid);
        } else if let Some(message) = message.as_object_mut() {
            message.shift_remove("uuid");
        }
        line(&message)
    }

    /// A request of the host.
    pub(super) fn request(&mut self, request: &Value) -> String {
        self.requests += 1;
        let request_id = format!("clitape-{}", self.requests);
        line(&json!({"type": "control_request", "request_id": request_id, "request": request}))
    }

    /// The first request of a [`HostProfile`].
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn begin(&mut self, request: &str) -> String {
        self.request(&serde_json::from_str(request).expect("a test reads every request"))
    }

    /// An `initialize` of the scenario. Each hook has its event as the id of its callback.
    pub(super) fn initialize(&mut self, initialize: &SayInitialize) -> String {
        let SayInitialize { hooks, append_system_prompt } = initialize;
        let hook = |event: &String| (event.clone(), json!([{"hookCallbackIds": [event]}]));
        let hooks = match &hooks[..] {
            [] => Value::Null,
            hooks => Value::Object(hooks.iter().map(hook).collect()),
        };
        let mut request = json!({"subtype": "initialize", "hooks": hooks});
        if let Some(text) = append_system_prompt {
            request["appendSystemPrompt"] = Value::from(text.as_str());
        }
        self.request(&request)
    }

    /// The answer to a request that no step answers: a hook gets its default or, from a host that allows every
    /// call, a yes; an elicitation is declined; the host knows no other request.
    pub(super) fn at_once(&self, call: &HostCall) -> String {
        let id = &call.request_id;
        match call.subtype.as_str() {
            "hook_callback"
                if call.hook_event == "PreToolUse" && self.profile.allows_every_call =>
            {
                let hook_specific_output = AllowedCall {
                    hook_event_name: &call.hook_event,
                    permission_decision: "allow",
                    updated_input: call.tool_input.as_deref(),
                };
                success(id, AllowingHook { hook_specific_output })
            }
            "hook_callback" => success(id, json!({})),
            "elicitation" => success(id, json!({"action": "decline"})),
            other => line(&json!({
                "type": "control_response",
                "response": {
                    "subtype": "error",
                    "request_id": id,
                    "error": format!("Unsupported control request subtype: {other}"),
                },
            })),
        }
    }
}

/// The answer to a permission question.
pub(super) fn answer(
    question: &PermissionQuestion,
    answer: &SayAnswer,
    step: &str,
) -> Result<String, HostError> {
    let SayAnswer { behavior, input, message, suggestion } = answer;
    let tool_use_id = question.tool_use_id.as_deref();
    let id = &question.request_id;
    if *behavior != SayBehavior::Allow {
        let interrupt = (*behavior == SayBehavior::DenyAndInterrupt).then_some(true);
        let message = Some(message.as_deref().unwrap_or(NO));
        let no = PermissionAnswer::<()> {
            behavior: "deny",
            updated_input: None,
            updated_permissions: None,
            message,
            interrupt,
            tool_use_id,
        };
        return Ok(success(id, no));
    }
    let updated_permissions = match suggestion {
        None => None,
        Some(number) => {
            let found = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
            let found = found.and_then(|at| question.suggestions.get(at));
            let found = found.ok_or_else(|| HostError::NoSuggestion {
                step: step.to_owned(),
                number: *number,
                count: question.suggestions.len(),
            })?;
            Some([&**found])
        }
    };
    let asked: &RawValue = &question.input;
    let updated_input = match input {
        None => serde_json::value::to_raw_value(asked),
        Some(input) => serde_json::value::to_raw_value(input),
    };
    let yes = PermissionAnswer {
        behavior: "allow",
        updated_input: updated_input.ok(),
        updated_permissions,
        message: None,
        interrupt: None,
        tool_use_id,
    };
    Ok(success(id, yes))
}

/// The answer to an `AskUserQuestion`: its input, with the labels that were chosen.
pub(super) fn choice<'c>(
    question: &PermissionQuestion,
    chosen: impl Iterator<Item = (&'c String, &'c ChosenLabels)>,
    step: &str,
) -> Result<String, HostError> {
    // An input without questions is one in which none of the chosen ones is.
    let mut input: Value = serde_json::from_str(question.input.get()).unwrap_or_default();
    let questions = input["questions"].as_array().into_iter().flatten();
    let asked: Vec<String> =
        questions.filter_map(|one| one["question"].as_str().map(str::to_owned)).collect();
    let mut answers = serde_json::Map::new();
    for (text, labels) in chosen {
        if !asked.contains(text) {
            return Err(HostError::NotAsked {
                step: step.to_owned(),
                chosen: text.clone(),
                asked: asked.join("`, `"),
            });
        }
        let labels = match labels {
            ChosenLabels::One(label) => label.clone(),
            ChosenLabels::Several(labels) => labels.join(", "),
        };
        answers.insert(text.clone(), Value::from(labels));
    }
    input["answers"] = Value::from(answers);
    let yes = PermissionAnswer {
        behavior: "allow",
        updated_input: Some(input),
        updated_permissions: None,
        message: None,
        interrupt: None,
        tool_use_id: question.tool_use_id.as_deref(),
    };
    Ok(success(&question.request_id, yes))
}
