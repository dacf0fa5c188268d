//! Makes the pieces of messages (`stream_event`) for a host that asks for them, if the recording has none. Each block
//! of a message becomes one piece.

use clitape_recording::wire::WireLine;
use serde_json::{Value, json};

use super::bind::fresh_uuid;

/// The model of a message that the CLI wrote itself, such as a message about an error.
const SYNTHETIC: &str = "<synthetic>";

/// The message whose pieces have begun.
#[derive(Debug, Default)]
pub(super) struct MessagePieces {
    /// The id of the message; `None` between two messages.
    open: Option<String>,
    /// The number of its blocks so far.
    blocks: u64,
    /// The reason why it stops, as far as the lines so far show it.
    stop_reason: &'static str,
}

impl MessagePieces {
    /// Returns the lines before and after a line of stdout.
    pub(super) fn around(&mut self, line: &[u8], session_id: &str) -> (String, String) {
        let is_message = WireLine::read(line).is_some_and(|line| line.kind() == "assistant");
        let value: Value =
            if is_message { serde_json::from_slice(line).unwrap_or_default() } else { Value::Null };
        let message = &value["message"];
        // The CLI makes no pieces of messages that it wrote itself, nor of those of a subagent.
        let is_streamed = value["parent_tool_use_id"].is_null() && message["model"] != SYNTHETIC;
        let id = message["id"].as_str().filter(|_| is_streamed);
        let (mut before, mut after) = (String::new(), String::new());
        let print = |lines: &mut String, event: Value| {
            let line = json!({
                "type": "stream_event", "event": event, "session_id": session_id, "parent_tool_use_id": null,
                "uuid": fresh_uuid(),
            });
            lines.push_str(&format!("{line}\n"));
        };
        if self.open.is_some() && self.open.as_deref() != id {
            self.open = None;
            let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": null});
            let usage = json!({"output_tokens": 1});
            print(&mut before, json!({"type": "message_delta", "delta": delta, "usage": usage}));
            print(&mut before, json!({"type": "message_stop"}));
        }
        let Some(id) = id else { return (before, after) };
        if self.open.is_none() {
            (self.open, self.blocks, self.stop_reason) = (Some(id.to_owned()), 0, "end_turn");
            let mut start = message.clone();
            start["content"] = json!([]);
            print(&mut before, json!({"type": "message_start", "message": start}));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            let index = self.blocks;
            self.blocks += 1;
            let (empty, delta) = match block["type"].as_str() {
                Some("tool_use") => {
                    self.stop_reason = "tool_use";
                    let input = block["input"].to_string();
                    (
                        json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                        json!({"type": "input_json_delta", "partial_json": input}),
                    )
                }
                Some("thinking") => (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                ),
                Some("text") => (
                    json!({"type": "text", "text": ""}),
                    json!({"type": "text_delta", "text": block["text"]}),
                ),
                _ => continue,
            };
            print(
                &mut before,
                json!({"type": "content_block_start", "index": index, "content_block": empty}),
            );
            print(
                &mut before,
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            );
            print(&mut after, json!({"type": "content_block_stop", "index": index}));
        }
        (before, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the kinds of the records that a host reads for these lines.
    #[track_caller]
    fn check(lines: &[Value], expect: &str) {
        let mut pieces = MessagePieces::default();
        let mut all = String::new();
        for line in lines {
            let line = format!("{line}\n");
            let (before, after) = pieces.around(line.as_bytes(), "s");
            all += &(before + &line + &after);
        }
        let kinds = all.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let event = line["event"]["type"].as_str();
            event.or(line["type"].as_str()).unwrap_or_default().to_owned()
        });
        assert_eq!(kinds.collect::<Vec<_>>().join(" "), expect);
    }

    fn message(id: &str, parent: &Value, block: &Value) -> Value {
        // Keys in the order in which the CLI writes them.
        let message = json!({"id": id, "content": [block]});
        let line =
            format!(r#"{{"type":"assistant","message":{message},"parent_tool_use_id":{parent}}}"#);
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn each_block_comes_as_a_piece_before_its_message() {
        let text = message("m1", &Value::Null, &json!({"type": "text", "text": "Hi"}));
        let tool = message(
            "m1",
            &Value::Null,
            &json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}}),
        );
        let user = json!({"type": "user"});
        let inner = message("m2", &json!("t"), &json!({"type": "text", "text": "in"}));
        let block = "content_block_start content_block_delta assistant content_block_stop";
        check(
            &[text.clone(), tool, user.clone(), json!({"type": "result"})],
            &format!("message_start {block} {block} message_delta message_stop user result"),
        );
        check(&[user, inner], "user assistant");
        check(&[text], &format!("message_start {block}"));
    }
}
