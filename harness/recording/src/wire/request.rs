//! The requests of both sides.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::json::{JsonText, ObjectFields};

/// The type of a record with a request.
pub(super) const REQUEST: &str = "control_request";
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

/// A request to the other side, which answers it with a [`ControlResponse`](super::ControlResponse).
///
/// Its `Display` is the line without its LF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlRequest {
    /// The id by which the answer names it.
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
        /// Its subtype; empty if it has none.
        subtype: String,
        /// The call that it is about.
        tool_use_id: Option<String>,
    },
}

/// The question whether a tool may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionQuestion {
    /// The tool.
    pub tool_name: String,
    /// The call; the versions before 2 do not name it.
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
    /// The tool, where the event is about one.
    pub tool_name: Option<String>,
    /// The input of the tool, where the event is about one.
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

    /// Makes the request with which many hosts begin. It has `hooks` even if there are none, because hosts write null.
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
