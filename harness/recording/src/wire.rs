//! The lines that a host and the CLI write to each other: messages, requests of both sides and their answers.
//!
//! Each record has one reader and one writer here, for all crates of the harness. They use `serde_json` alone rather
//! than the parser of `clitape_stream`, because that is the code under test. Fields are found by their names, in any
//! order; requests and answers keep their whole body as it was written, so that subtypes without a type here are
//! preserved.

use std::collections::HashMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The type of a record with a message.
const MESSAGE: &str = "user";
/// The type of a record that cancels a request.
const CANCEL: &str = "control_cancel_request";

/// A line that one side wrote.
///
/// The host writes to the stdin of the CLI, and the CLI to its own stdout; both use the same records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireLine {
    /// A `user` record: a message of a person, the same message repeated by the CLI, or the results of calls.
    Message(UserMessage),
    /// A request to the other side.
    Request(ControlRequest),
    /// The answer to a request of the other side, or that answer repeated by the CLI.
    Response(ControlResponse),
    /// The cancellation of a request by its side.
    Cancel {
        /// The id of the request.
        request_id: String,
    },
    /// Another record, such as `result` of the CLI or `keep_alive` of a host.
    Other {
        /// The type of the record; empty if it has none.
        kind: String,
        /// The subtype; empty if it has none.
        subtype: String,
    },
}

impl WireLine {
    /// Reads a line, with its LF or without; `None` if it is not a JSON object.
    pub fn read(line: &[u8]) -> Option<Self> {
        let fields = ObjectFields::of(line)?;
        let kind = fields.text("type").unwrap_or_default();
        let request_id = || fields.text("request_id").unwrap_or_default();
        Some(match kind.as_str() {
            MESSAGE => Self::Message(UserMessage::read(&fields)),
            REQUEST => Self::Request(ControlRequest::of(request_id(), fields.body("request"))),
            RESPONSE => Self::Response(ControlResponse::of(fields.body("response"))),
            CANCEL => Self::Cancel { request_id: request_id() },
            _ => Self::Other { kind, subtype: fields.text("subtype").unwrap_or_default() },
        })
    }

    /// Returns the type of the record; empty if it has none.
    pub fn kind(&self) -> &str {
        match self {
            Self::Message(_) => MESSAGE,
            Self::Request(_) => REQUEST,
            Self::Response(_) => RESPONSE,
            Self::Cancel { .. } => CANCEL,
            Self::Other { kind, .. } => kind,
        }
    }
}

/// Returns true if records of this type belong to the control protocol: requests, answers, and the end of requests.
pub fn is_control(kind: &str) -> bool {
    kind.starts_with("control_")
}

/// A `user` record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The id of the message, if its writer chose one.
    pub uuid: Option<String>,
    /// The API's message, with its role and its content.
    pub message: JsonText,
    /// True for a record in which the CLI repeats a message of the host.
    pub is_replay: bool,
    /// True for a record that no host writes: with the result of a call, of a subagent, or marked by the CLI.
    pub is_of_cli: bool,
}

impl UserMessage {
    /// Makes the message of a person who writes this text.
    pub fn prompt(text: &str) -> Self {
        let message = JsonText::of(&json!({"role": "user", "content": text}));
        Self { uuid: None, message, is_replay: false, is_of_cli: false }
    }

    fn read(fields: &ObjectFields<'_>) -> Self {
        let message = fields.json("message").unwrap_or_else(|| JsonText::of(&Value::Null));
        let uuid = fields.text("uuid").filter(|uuid| !uuid.is_empty());
        Self { uuid, is_replay: is_replay(fields), is_of_cli: is_of_cli(fields), message }
    }

    /// Returns the text of the message: its content, or the texts of its blocks, one below the other.
    pub fn text(&self) -> String {
        match self.content() {
            Value::String(text) => text,
            Value::Array(blocks) => {
                let texts = blocks.iter().filter_map(|block| block["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    /// Returns the text of the message if it consists of text alone.
    pub fn text_alone(&self) -> Option<String> {
        let is_text = |block: &Value| block["text"].is_string();
        let is_alone = match self.content() {
            Value::String(_) => true,
            Value::Array(blocks) => blocks.iter().all(is_text),
            _ => false,
        };
        is_alone.then(|| self.text())
    }

    fn content(&self) -> Value {
        self.message.value()["content"].take()
    }
}

/// Returns true if a `user` record of the CLI repeats a message of the host. Old CLIs do not mark it, but all of their
/// other `user` records have blocks. The output of one of the CLI's own commands is marked too.
fn is_replay(fields: &ObjectFields<'_>) -> bool {
    let message = fields.object("message");
    let text = message.text("content");
    let is_old = fields.raw("timestamp").is_none() && text.is_some();
    let is_output = text.is_some_and(|text| text.starts_with("<local-command-stdout>"));
    (fields.is_true("isReplay") || is_old)
        && fields.raw("parent_tool_use_id").is_none()
        && !fields.is_true("isSynthetic")
        && !is_output
}

/// Returns true if no host writes a `user` record: it has the result of a call, is of a subagent, or is marked by the CLI.
fn is_of_cli(fields: &ObjectFields<'_>) -> bool {
    let blocks = fields.object("message").list("content").unwrap_or_default();
    fields.is_true("isReplay")
        || fields.is_true("isSynthetic")
        || fields.raw("parent_tool_use_id").is_some()
        || blocks.iter().any(|block| block.value()["type"] == "tool_result")
}

/// The form in which a host writes messages: one of its messages, with null for the content and for the uuid.
#[derive(Debug, Clone)]
pub struct MessageTemplate(Value);

impl MessageTemplate {
    /// Reads a template; `None` if it is not a JSON object with a message.
    pub fn read(template: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(template).ok()?;
        line["message"].is_object().then_some(Self(line))
    }

    /// Returns true if the host gives its messages a uuid.
    pub fn has_uuid(&self) -> bool {
        self.0.get("uuid").is_some()
    }

    /// Writes the line of a message, without its LF, with this uuid or with none.
    pub fn line(&self, content: Value, uuid: Option<String>) -> String {
        let mut line = self.0.clone();
        line["message"]["content"] = content;
        match (uuid, line.as_object_mut()) {
            (Some(uuid), Some(fields)) => drop(fields.insert("uuid".to_owned(), Value::from(uuid))),
            (None, Some(fields)) => drop(fields.shift_remove("uuid")),
            (_, None) => {}
        }
        line.to_string()
    }
}

/// The type of a record with a request.
const REQUEST: &str = "control_request";
/// The subtype of the call of a hook.
pub const HOOK_CALLBACK: &str = "hook_callback";
/// The subtype of the question whether a tool may run.
const CAN_USE_TOOL: &str = "can_use_tool";
/// The subtype of the request with which many hosts begin.
const INITIALIZE: &str = "initialize";
/// The subtype of the request to stop the turn.
const INTERRUPT: &str = "interrupt";

/// The most hooks that are read of a host.
const HOOKS: usize = 1_000;
/// The most bytes of the event, the tools and the id of a hook.
const HOOK_WORD: usize = 4_096;

/// A request to the other side, which answers it with a [`ControlResponse`].
///
/// Its `Display` is the line without its LF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlRequest {
    /// The id by which the answer refers to it.
    pub request_id: String,
    /// The subtype with its fields.
    pub kind: RequestKind,
    body: JsonText,
}

/// The subtype of a request, with the fields that the harness reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestKind {
    /// The CLI asks whether a tool may run (`can_use_tool`).
    Permission(PermissionQuestion),
    /// The CLI calls a hook of the host (`hook_callback`).
    Hook(HookCall),
    /// The host begins, and registers its hooks.
    Initialize(Vec<RegisteredHook>),
    /// The host stops the turn.
    Interrupt,
    /// Another request of either side, such as `set_permission_mode`, `elicitation` or `mcp_message`.
    Other {
        /// The subtype; empty if it has none.
        subtype: String,
        /// The call that the request belongs to.
        tool_use_id: Option<String>,
    },
}

/// The question whether a tool may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionQuestion {
    /// The name of the tool.
    pub tool_name: String,
    /// The id of the call; the versions before 2 do not send it.
    pub tool_use_id: Option<String>,
    /// The input with which the tool is to run.
    pub input: JsonText,
    /// The changes of permissions that the CLI suggests.
    pub suggestions: Vec<JsonText>,
}

/// The call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The id under which the host registered the hook.
    pub callback_id: String,
    /// The event, such as `PreToolUse`.
    pub event: String,
    /// The name of the tool, if the event belongs to a call.
    pub tool_name: Option<String>,
    /// The input of the tool, if the event belongs to a call.
    pub tool_input: Option<JsonText>,
}

/// A hook that a host registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredHook {
    /// The event, such as `PreToolUse`.
    pub event: String,
    /// The tools for which it is called, with a bar between them; absent for all.
    pub matcher: Option<String>,
    /// The id by which the CLI calls it.
    pub callback_id: String,
}

impl ControlRequest {
    /// Makes a request from its body, an object with a `subtype`.
    pub fn of(request_id: String, body: JsonText) -> Self {
        Self { request_id, kind: RequestKind::read(&body), body }
    }

    /// Makes the request with which many hosts begin. It has `hooks` even if the list is empty, because hosts write
    /// null.
    pub fn initialize(
        request_id: String,
        hooks: &[RegisteredHook],
        append_system_prompt: Option<&str>,
    ) -> Self {
        let mut events: Map<String, Value> = Map::new();
        for RegisteredHook { event, matcher, callback_id } in hooks {
            let mut hook = Map::new();
            hook.extend(matcher.as_deref().map(|it| ("matcher".to_owned(), Value::from(it))));
            hook.insert("hookCallbackIds".to_owned(), json!([callback_id]));
            let others = events.get(event).and_then(Value::as_array).cloned().unwrap_or_default();
            let all = others.into_iter().chain([Value::from(hook)]).collect();
            events.insert(event.clone(), all);
        }
        let hooks = if events.is_empty() { Value::Null } else { Value::from(events) };
        let mut body = json!({"subtype": INITIALIZE, "hooks": hooks});
        if let Some(text) = append_system_prompt {
            body["appendSystemPrompt"] = Value::from(text);
        }
        Self::of(request_id, JsonText::of(&body))
    }

    /// Makes the request to stop the turn.
    pub fn interrupt(request_id: String) -> Self {
        Self::of(request_id, JsonText::of(&json!({"subtype": INTERRUPT})))
    }

    /// Returns the subtype; empty if the request has none.
    pub fn subtype(&self) -> &str {
        match &self.kind {
            RequestKind::Permission(_) => CAN_USE_TOOL,
            RequestKind::Hook(_) => HOOK_CALLBACK,
            RequestKind::Initialize(_) => INITIALIZE,
            RequestKind::Interrupt => INTERRUPT,
            RequestKind::Other { subtype, .. } => subtype,
        }
    }
}

impl fmt::Display for ControlRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[derive(Serialize)]
        struct RequestLine<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            request_id: &'a str,
            request: &'a JsonText,
        }
        let Self { request_id, body, .. } = self;
        f.write_str(
            JsonText::of(&RequestLine { kind: REQUEST, request_id, request: body }).as_str(),
        )
    }
}

impl RequestKind {
    fn read(body: &JsonText) -> Self {
        let fields = ObjectFields::of(body.as_str().as_bytes()).unwrap_or_default();
        let subtype = fields.text("subtype").unwrap_or_default();
        let tool_use_id = fields.text("tool_use_id");
        match (subtype.as_str(), fields.text("tool_name")) {
            (CAN_USE_TOOL, Some(tool_name)) => Self::Permission(PermissionQuestion {
                tool_name,
                tool_use_id,
                input: fields.body("input"),
                // Many questions have no suggestion.
                suggestions: fields.list("permission_suggestions").unwrap_or_default(),
            }),
            (HOOK_CALLBACK, _) => {
                let input = fields.object("input");
                Self::Hook(HookCall {
                    callback_id: fields.text("callback_id").unwrap_or_default(),
                    event: input.text("hook_event_name").unwrap_or_default(),
                    tool_name: input.text("tool_name"),
                    tool_input: input.json("tool_input"),
                })
            }
            (INITIALIZE, _) => Self::Initialize(registered(fields.json("hooks"))),
            (INTERRUPT, _) => Self::Interrupt,
            _ => Self::Other { subtype, tool_use_id },
        }
    }
}

/// Reads the hooks of an `initialize`. Their events and tools are copied for each id, so that both have a limit.
fn registered(hooks: Option<JsonText>) -> Vec<RegisteredHook> {
    let hooks = hooks.map(|hooks| hooks.value()).unwrap_or_default();
    let mut all = Vec::new();
    for (event, matchers) in hooks.as_object().into_iter().flatten() {
        for entry in matchers.as_array().into_iter().flatten() {
            let matcher = entry["matcher"].as_str().filter(|text| !["", "*", ".*"].contains(text));
            let ids = entry["hookCallbackIds"].as_array().into_iter().flatten();
            for id in ids.filter_map(Value::as_str) {
                let words = [Some(event.as_str()), matcher, Some(id)];
                if all.len() < HOOKS && words.iter().flatten().all(|word| word.len() <= HOOK_WORD) {
                    all.push(RegisteredHook {
                        event: event.clone(),
                        matcher: matcher.map(str::to_owned),
                        callback_id: id.to_owned(),
                    });
                }
            }
        }
    }
    all
}

impl RegisteredHook {
    /// Returns true if the hook is called for this event and tool.
    pub fn is_for(&self, event: &str, tool: Option<&str>) -> bool {
        self.event == event
            && match (&self.matcher, tool) {
                (Some(matcher), Some(tool)) => matcher.split('|').any(|name| name == tool),
                _ => true,
            }
    }
}

/// The type of a record with the answer to a request.
const RESPONSE: &str = "control_response";

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
    /// The answer is yes.
    Allow,
    /// The answer is no.
    Deny,
    /// The answer is neither, as from a hook that only observes.
    Neutral,
}

/// The answer to the question whether a tool may run.
///
/// Its `Display` is its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionAnswer {
    /// The decision with its details.
    pub decision: PermissionDecision,
    /// The id of the call, which only some hosts send.
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
    fn of(body: JsonText) -> Self {
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

    /// Returns the answer to a permission question; `None` for another answer.
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

    /// Returns the labels that a person chose for an `AskUserQuestion`, those of all of its questions in order. The CLI
    /// takes several labels of one question with a comma between them.
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

/// A JSON value as it was written, byte for byte, because a host repeats the input of a question in its answer.
///
/// Two texts are equal if their values are.
#[derive(Debug, Clone)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Writes a value as JSON.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn of(value: &impl Serialize) -> Self {
        Self(serde_json::value::to_raw_value(value).expect("every key of a line is a string"))
    }

    /// Returns the JSON as it was written.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the parsed value; null if it is nested too deeply.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        let parsed = |json: &Self| serde_json::from_str::<Value>(json.as_str());
        self.as_str() == other.as_str()
            || matches!((parsed(self), parsed(other)), (Ok(one), Ok(two)) if one == two)
    }
}

impl Eq for JsonText {}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The fields of an object, each as it was written. For a repeated key the last one counts.
#[derive(Debug, Default)]
struct ObjectFields<'a>(HashMap<String, &'a RawValue>);

impl<'a> ObjectFields<'a> {
    /// Reads the fields of an object; `None` if the text is not an object.
    fn of(object: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(object).ok().map(Self)
    }

    /// Returns a field as it was written; `None` if it is absent or null.
    fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    /// Returns a copy of a field as it was written; `None` if it is absent or null.
    fn json(&self, key: &str) -> Option<JsonText> {
        let is_there = self.raw(key).is_some();
        self.0.get(key).filter(|_| is_there).map(|raw| JsonText((*raw).to_owned()))
    }

    /// Returns a copy of a field as it was written; an empty object if it is absent or null.
    fn body(&self, key: &str) -> JsonText {
        self.json(key).unwrap_or_else(|| JsonText::of(&Map::new()))
    }

    /// Returns a field that is a string.
    fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.raw(key).filter(|raw| raw.starts_with('"'))?).ok()
    }

    /// Returns true if a field is `true`.
    fn is_true(&self, key: &str) -> bool {
        self.raw(key) == Some("true")
    }

    /// Returns the elements of a field that is an array.
    fn list(&self, key: &str) -> Option<Vec<JsonText>> {
        let elements: Vec<Box<RawValue>> = serde_json::from_str(self.raw(key)?).ok()?;
        Some(elements.into_iter().map(JsonText).collect())
    }

    /// Returns the fields of a field that is an object; empty for another field.
    fn object(&self, key: &str) -> Self {
        self.raw(key).and_then(|raw| Self::of(raw.as_bytes())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
