//! Extracts the earlier conversation that the CLI sends to the model on resume: the messages of its first
//! request, one per line, without the reminders and prompts that the CLI adds.

use serde_json::{Map, Value, json};

/// The start of a text that the CLI adds to a user message.
const REMINDER: &str = "<system-reminder>";
/// The fields of a block that are kept; the transcript contains all of them.
const KEPT: [&str; 8] =
    ["type", "text", "id", "name", "input", "tool_use_id", "is_error", "content"];

/// Returns the messages of a request as JSON lines; empty if the body is not a request.
///
/// Reasoning, messages with the role `system`, reminders, and fields that control caching are left out.
pub(crate) fn history(body: &[u8]) -> Vec<u8> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut lines = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let Some(role) = message["role"].as_str() else { continue };
        let content = blocks(&message["content"]);
        if role != "system" && !content.is_empty() {
            lines.extend(json!({ "role": role, "content": content }).to_string().into_bytes());
            lines.push(b'\n');
        }
    }
    lines
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => blocks(&json!([{ "type": "text", "text": text }])),
        Value::Array(all) => all.iter().filter_map(block).collect(),
        _ => Vec::new(),
    }
}

fn block(block: &Value) -> Option<Value> {
    let kind = block["type"].as_str()?;
    let is_reminder = block["text"].as_str().is_some_and(|text| text.starts_with(REMINDER));
    if is_reminder || kind.contains("thinking") {
        return None;
    }
    let kept = KEPT.iter().filter_map(|key| Some(((*key).to_owned(), block.get(*key)?.clone())));
    Some(Value::Object(kept.collect::<Map<_, _>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_contains_the_conversation_so_far() {
        let body = br#"{"model":"m","messages":[
            {"role":"user","content":[
                {"type":"text","text":"<system-reminder>date"},
                {"type":"text","text":"Go","cache_control":{"type":"ephemeral"}}]},
            {"role":"system","content":"env"},
            {"role":"assistant","content":[
                {"type":"thinking","thinking":"hm","signature":"s"},
                {"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a","is_error":true}]},
            {"role":"user","content":"On."}]}"#;
        let expect = [
            r#"{"role":"user","content":[{"type":"text","text":"Go"}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"On."}]}"#,
        ];
        let lines = String::from_utf8(history(body)).unwrap();
        assert_eq!(lines.lines().collect::<Vec<_>>(), expect);
        assert!(history(b"no JSON").is_empty());
    }
}
