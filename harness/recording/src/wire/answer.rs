//! The answers of both sides.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::json::{JsonText, ObjectFields};
use super::request::HookCall;

/// The type of a record with the answer to a request.
pub(super) const RESPONSE: &str = "control_response";

/// The answer to a request of the other side.
///
/// Its `Display` is the line without its LF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlResponse {
    /// The id of the request.
    pub request_id: String,
    body: JsonText,
}

/// The decision of an answer to a question or to the call of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum AnswerDecision {
    /// Yes.
    Allow,
    /// No.
    Deny,
    /// Neither, as of a hook that lets things take their course.
    Neutral,
}

/// The answer to the question whether a tool may run.
///
/// Its `Display` is its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionAnswer {
    /// The decision with what belongs to it.
    pub decision: PermissionDecision,
    /// The call, which only some hosts name.
    pub tool_use_id: Option<String>,
}

/// The decision whether a tool may run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionDecision {
    /// The tool runs.
    Allow {
        /// The input with which it runs.
        updated_input: Option<JsonText>,
        /// The changes of permissions that are made.
        updated_permissions: Option<Vec<JsonText>>,
    },
    /// The tool does not run.
    Deny {
        /// The reason, for the model.
        message: Option<String>,
        /// True if the turn ends as well.
        interrupt: bool,
    },
}

impl ControlResponse {
    pub(super) fn of(body: JsonText) -> Self {
        let fields = ObjectFields::of(body.as_str().as_bytes()).unwrap_or_default();
        let request_id = fields.text("request_id").unwrap_or_default();
        Self { request_id, body }
    }

    /// Makes the answer that a request succeeded, with its result.
    pub fn success(request_id: &str, response: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Success<'a, T> {
            subtype: &'static str,
            request_id: &'a str,
            response: &'a T,
        }
        Self::of(JsonText::of(&Success { subtype: "success", request_id, response }))
    }

    /// Makes the answer that a request failed.
    pub fn error(request_id: &str, error: &str) -> Self {
        let body = json!({"subtype": "error", "request_id": request_id, "error": error});
        Self::of(JsonText::of(&body))
    }

    /// Makes the answer to a hook before a call that lets the call run as it is.
    pub fn allow_call(request_id: &str, call: &HookCall) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Allowing<'a> {
            hook_specific_output: AllowedCall<'a>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct AllowedCall<'a> {
            hook_event_name: &'a str,
            permission_decision: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            updated_input: Option<&'a JsonText>,
        }
        let hook_specific_output = AllowedCall {
            hook_event_name: &call.event,
            permission_decision: "allow",
            updated_input: call.tool_input.as_ref(),
        };
        Self::success(request_id, &Allowing { hook_specific_output })
    }

    /// Makes the same answer to another request.
    #[must_use]
    pub fn to_request(&self, request_id: &str) -> Self {
        let mut body = self.body.value();
        body["request_id"] = Value::from(request_id);
        Self { request_id: request_id.to_owned(), body: JsonText::of(&body) }
    }

    /// Returns the result of the request; `None` if the answer has none, such as an error.
    pub fn result(&self) -> Option<JsonText> {
        ObjectFields::of(self.body.as_str().as_bytes())?.json("response")
    }

    /// Returns the answer to a permission question; `None` if this is none.
    pub fn permission(&self) -> Option<PermissionAnswer> {
        let result = self.result()?;
        PermissionAnswer::read(&ObjectFields::of(result.as_str().as_bytes())?)
    }

    /// Returns the decision about a question or the call of a hook.
    pub fn decision(&self) -> AnswerDecision {
        let result = self.result();
        let fields = result.as_ref().and_then(|it| ObjectFields::of(it.as_str().as_bytes()));
        let fields = fields.unwrap_or_default();
        let hook = || fields.object("hookSpecificOutput").text("permissionDecision");
        let word = fields.text("behavior").or_else(|| fields.text("decision")).or_else(hook);
        match word.as_deref() {
            Some("allow" | "approve") => AnswerDecision::Allow,
            Some("deny" | "block") => AnswerDecision::Deny,
            _ => AnswerDecision::Neutral,
        }
    }
}

impl fmt::Display for ControlResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[derive(Serialize)]
        struct AnswerLine<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            response: &'a JsonText,
        }
        f.write_str(JsonText::of(&AnswerLine { kind: RESPONSE, response: &self.body }).as_str())
    }
}

impl PermissionAnswer {
    fn read(fields: &ObjectFields<'_>) -> Option<Self> {
        let decision = match fields.text("behavior")?.as_str() {
            "allow" => PermissionDecision::Allow {
                updated_input: fields.json("updatedInput"),
                updated_permissions: fields.list("updatedPermissions"),
            },
            "deny" => PermissionDecision::Deny {
                message: fields.text("message"),
                interrupt: fields.is_true("interrupt"),
            },
            _ => return None,
        };
        Some(Self { decision, tool_use_id: fields.text("toolUseID") })
    }

    /// Returns the labels that a person chose for an `AskUserQuestion`, those of all of its questions in their order.
    /// The CLI takes several labels of one question with a comma between them.
    pub fn chosen_labels(&self) -> Option<Vec<String>> {
        let PermissionDecision::Allow { updated_input: Some(input), .. } = &self.decision else {
            return None;
        };
        let input = input.value();
        let labels = input["answers"].as_object()?.values().filter_map(Value::as_str);
        Some(labels.flat_map(|labels| labels.split(", ")).map(str::to_owned).collect())
    }
}

impl Serialize for PermissionAnswer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct AnswerFields<'a> {
            behavior: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            updated_input: Option<&'a JsonText>,
            #[serde(skip_serializing_if = "Option::is_none")]
            updated_permissions: Option<&'a [JsonText]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            interrupt: Option<bool>,
            #[serde(rename = "toolUseID", skip_serializing_if = "Option::is_none")]
            tool_use_id: Option<&'a str>,
        }
        let tool_use_id = self.tool_use_id.as_deref();
        let fields = match &self.decision {
            PermissionDecision::Allow { updated_input, updated_permissions } => AnswerFields {
                behavior: "allow",
                updated_input: updated_input.as_ref(),
                updated_permissions: updated_permissions.as_deref(),
                message: None,
                interrupt: None,
                tool_use_id,
            },
            PermissionDecision::Deny { message, interrupt } => AnswerFields {
                behavior: "deny",
                updated_input: None,
                updated_permissions: None,
                message: message.as_deref(),
                interrupt: interrupt.then_some(true),
                tool_use_id,
            },
        };
        fields.serialize(serializer)
    }
}

impl fmt::Display for PermissionAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(JsonText::of(self).as_str())
    }
}
