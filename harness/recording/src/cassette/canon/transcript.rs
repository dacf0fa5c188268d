//! The conversation of a session file: the messages of the user, of the model and of the tools.
//!
//! Newer CLIs also write their system prompt, tool schemas, request shapes and the machine's
//! details there. Lines are let through by type, so that a new kind stays out.

use clitape_stream::tree::JsonNode;

use super::splice::{ByteEdit, splice};
use super::texts;

/// Types of the lines that are kept.
const KINDS: [&[u8]; 3] = [b"user", b"assistant", b"summary"];

/// Subtypes of the `system` lines that are kept: they mark where the conversation was cut.
const SYSTEM: [&[u8]; 2] = [b"compact_boundary", b"microcompact_boundary"];

/// Fields of a kept line that identify the machine or contain the CLI's own text, emptied.
const EMPTIED: [&str; 5] = ["gitBranch", "osVersion", "shell", "systemPrompt", "tools"];

/// Returns the lines of a transcript that belong to the conversation, with their bytes.
///
/// These are the lines of type `user`, `assistant` and `summary`, and those of type `system` that
/// mark a compaction. All other lines are left out, also those that are not JSON objects. The fields
/// of a line that contain the git branch, the operating system, the shell, the system prompt or tool
/// schemas are emptied to `""`, `[]` or `{}`.
pub fn conversation_lines(transcript: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for span in texts::lines(transcript) {
        let line = &transcript[span];
        let node = JsonNode::read(line, &(0..line.len()));
        if let Some(node) = node.filter(|node| is_conversation(line, node)) {
            kept.extend(splice(line, empty(line, &node)).bytes);
            kept.push(b'\n');
        }
    }
    kept
}

fn is_conversation(raw: &[u8], node: &JsonNode) -> bool {
    let text = |key| node.get(key).map_or(&b""[..], |value| value.text(raw));
    KINDS.contains(&text("type"))
        || (text("type") == b"system" && SYSTEM.contains(&text("subtype")))
}

fn empty(raw: &[u8], node: &JsonNode) -> Vec<ByteEdit> {
    EMPTIED
        .iter()
        .filter_map(|key| node.get(key))
        .filter_map(|value| {
            let with: &[u8] = match raw[value.span.start] {
                b'"' => b"\"\"",
                b'[' => b"[]",
                b'{' => b"{}",
                _ => return None,
            };
            Some(ByteEdit { span: value.span.clone(), with: with.to_vec(), rule: None })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_keeps_the_conversation_only() {
        for (line, expect) in [
            (r#"{"type":"user","message":{"content":"hi"}}"#, None),
            (
                r#"{"a":1,"type":"assistant","gitBranch":"main","x":{"tools":[1]}}"#,
                Some(r#"{"a":1,"type":"assistant","gitBranch":"","x":{"tools":[1]}}"#),
            ),
            (
                r#"{"type":"summary","systemPrompt":["p"],"tools":{"a":1},"shell":null}"#,
                Some(r#"{"type":"summary","systemPrompt":[],"tools":{},"shell":null}"#),
            ),
            (r#"{"type":"system","subtype":"compact_boundary"}"#, None),
            (r#"{"type":"system","subtype":"turn_duration"}"#, Some("")),
            (r#"{"type":"attachment","attachment":{"type":"user"}}"#, Some("")),
            (r#"{"type":"x","subtype":"compact_boundary"}"#, Some("")),
            (r#"{"type":"queue-operation"}"#, Some("")),
            (r#"{"type":"api-request-shape"}"#, Some("")),
            ("user", Some("")),
        ] {
            let kept = conversation_lines(format!("{line}\n").as_bytes());
            let kept = String::from_utf8_lossy(&kept).into_owned();
            assert_eq!(kept.trim_end_matches('\n'), expect.unwrap_or(line));
        }
    }
}
