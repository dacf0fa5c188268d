//! Checks an agent's messages against the types of the official crate of the Agent Client Protocol.

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, Error, InitializeResponse, NewSessionResponse, PromptResponse,
    RequestPermissionRequest, SessionNotification,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A check of a message's parameters or of its result; returns the reason of a refusal.
type MessageCheck = fn(&Value) -> Option<String>;

/// The messages of an agent that are checked, by their methods.
const MESSAGES: [(&str, MessageCheck); 7] = [
    ("initialize", refusal_of::<InitializeResponse>),
    ("session/new", refusal_of::<NewSessionResponse>),
    ("session/prompt", refusal_of::<PromptResponse>),
    ("session/update", refusal_of::<SessionNotification>),
    ("session/request_permission", refusal_of::<RequestPermissionRequest>),
    ("elicitation/create", refusal_of::<CreateElicitationRequest>),
    ("error", refusal_of::<Error>),
];

fn refusal_of<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value).err().map(|error| error.to_string())
}

/// Returns the reason why the official type of a method's message refuses it; `None` if it accepts the message or does
/// not know the method.
pub(super) fn refusal(method: &str, value: &Value) -> Option<String> {
    let row = MESSAGES.iter().find(|(known, _)| *known == method);
    row.and_then(|(_, check)| check(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_official_types_refuse_what_is_no_message() {
        for (method, value, is_refused) in [
            ("initialize", json!({ "protocolVersion": 1 }), false),
            ("session/new", json!({ "sessionId": "s" }), false),
            ("session/new", json!({ "session": "s" }), true),
            ("session/prompt", json!({ "stopReason": "end_turn" }), false),
            ("session/prompt", json!({ "stopReason": "tired" }), true),
            (
                "session/update",
                json!({ "sessionId": "s", "update": { "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "text", "text": "x" } } }),
                false,
            ),
            ("session/update", json!({ "sessionId": "s" }), true),
            ("fs/read_text_file", json!({}), false),
        ] {
            assert_eq!(refusal(method, &value).is_some(), is_refused, "{method} {value}");
        }
    }
}
