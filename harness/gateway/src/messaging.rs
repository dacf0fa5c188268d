//! Recognises the tools that send a message, and stops a channel's updates once one of them has
//! ([G4](crate::rules::G4)).

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::bus::{BusData, Tool};

/// The way of the agent's answer to the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeliveryMode {
    /// The final text is delivered.
    #[default]
    Automatic,
    /// The agent sends its messages with a tool. Once one was sent well, no progress reaches the
    /// channel any more, nor does the final text; a failure is reported all the same. A run that
    /// sent none delivers its final text, because a person waits for an answer.
    MessageToolOnly,
}

/// A tool that sends messages: its name, and the values of `action` with which it does; none means
/// that every call does.
type SendingTool = (&'static str, &'static [&'static str]);

const TOOLS: [SendingTool; 4] = [
    ("message", &["send", "thread-reply", "sendWithEffect", "sendAttachment", "upload-file"]),
    ("sessions_send", &[]),
    ("conversations_send", &[]),
    ("conversations_turn", &[]),
];

/// The text before the names of an MCP server and its tool.
const MCP: &str = "mcp__";

/// The tools that send messages: those of the common gateways, and those a caller adds.
///
/// A name counts bare and as a tool of any MCP server, `mcp__<server>__<name>`; its case matters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageTools {
    added: Vec<String>,
}

impl MessageTools {
    /// Adds a tool; each of its calls sends a message.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>) -> Self {
        self.added.push(name.into());
        self
    }

    /// Returns whether the call of `name` with `args` sends a message, if it completes well
    /// ([G4](crate::rules::G4)).
    pub fn sends(&self, name: &str, args: &Value) -> bool {
        let action = args.get("action").and_then(Value::as_str);
        let listed = |(tool, actions): &SendingTool| {
            is_tool(name, tool)
                && (actions.is_empty() || action.is_some_and(|action| actions.contains(&action)))
        };
        TOOLS.iter().any(listed) || self.added.iter().any(|tool| is_tool(name, tool))
    }
}

/// Returns whether `name` is `tool`, bare or of an MCP server.
fn is_tool(name: &str, tool: &str) -> bool {
    let server = |of_server: &str| Some(of_server.strip_suffix(tool)?.strip_suffix("__")?.len());
    name == tool || name.strip_prefix(MCP).and_then(server).is_some_and(|length| length > 0)
}

/// Lets progress through to one channel until a message was sent.
pub(crate) struct Gate {
    mode: DeliveryMode,
    tools: MessageTools,
    /// The ids of the open calls that send a message.
    sending: HashSet<String>,
    suppressed: bool,
}

impl Gate {
    pub(crate) fn new(mode: DeliveryMode, tools: MessageTools) -> Self {
        Self { mode, tools, sending: HashSet::new(), suppressed: false }
    }

    /// Returns whether a message was sent, so that the rest of the run is not shown.
    pub(crate) fn suppressed(&self) -> bool {
        self.suppressed
    }

    /// Returns whether `data` still reaches the channel. The result that suppresses the rest does.
    pub(crate) fn passes(&mut self, data: &BusData) -> bool {
        let was_open = !self.suppressed;
        if self.mode == DeliveryMode::MessageToolOnly
            && let BusData::Tool(tool) = data
        {
            self.follow(tool);
        }
        was_open
    }

    fn follow(&mut self, tool: &Tool) {
        match tool {
            Tool::Start { id, name, args, .. } => self.expect(id, name, args),
            Tool::Update { id, name, args, .. } if corrects(args) => {
                self.expect(id, name, &Value::Object(args.clone()));
            }
            Tool::Update { .. } => {}
            Tool::Result { id, is_error, incomplete, .. } => {
                let was_sending = self.sending.remove(id);
                self.suppressed |= was_sending && !is_error && incomplete.is_none();
            }
        }
    }

    fn expect(&mut self, id: &str, name: &str, args: &Value) {
        if self.tools.sends(name, args) {
            self.sending.insert(id.to_owned());
        } else {
            self.sending.remove(id);
        }
    }
}

/// Returns whether an update names the call's action.
fn corrects(args: &Map<String, Value>) -> bool {
    args.contains_key("action")
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, args: &Value, expect: bool) {
        let tools = MessageTools::default().with("telegram_send");
        assert_eq!(tools.sends(name, args), expect, "{name} {args}");
    }

    #[test]
    pub(crate) fn g4_tools_that_send_a_message() {
        let send = json!({"action": "send", "to": "x"});
        for action in ["send", "thread-reply", "sendWithEffect", "sendAttachment", "upload-file"] {
            check("message", &json!({ "action": action }), true);
        }
        for action in [json!("react"), json!("Send"), json!(null), json!(["send"])] {
            check("message", &json!({ "action": action }), false);
        }
        check("mcp__openclaw__message", &send, true);
        check("mcp__my__chat__message", &send, true);
        check("mcp__openclaw__message", &json!({"action": "react"}), false);
        for name in ["Message", "mcp__message", "mcp____message", "openclaw__message", "messages"] {
            check(name, &send, false);
        }
        for name in ["sessions_send", "conversations_send", "conversations_turn", "telegram_send"] {
            check(name, &json!({}), true);
            check(&format!("mcp__a__{name}"), &Value::Null, true);
        }
        check("message", &Value::Null, false);
        check("Read", &send, false);
    }
}
