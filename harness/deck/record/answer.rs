//! A scripted message as the Messages API sends it: server-sent events, or one JSON object.
//!
//! Ids are made of conversation and turn, and token counts of the texts, so that the same request
//! gets the same bytes on every machine and at every time.

use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Map, Value, json};

use super::cut::deltas;
use super::sandbox::Folders;
use super::script::Answer;
use crate::scenario::{Block, Content, Model};

/// Bytes of a response, sent in one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// How long to wait first.
    pub(crate) delay: Duration,
    pub(crate) bytes: Bytes,
}

/// Tokens that every request of a conversation is said to have.
pub(crate) const INPUT_TOKENS: u64 = 1000;

/// Turns an [`Answer`] into bytes.
pub(crate) struct Writer<'a> {
    pub(crate) script: &'a Model,
    pub(crate) folders: &'a Folders,
    pub(crate) answer: &'a Answer<'a>,
    /// The model's name in the request.
    pub(crate) model: &'a str,
}

impl Writer<'_> {
    /// The value of the `request-id` header, which the CLI prints.
    pub(crate) fn request_id(&self) -> String {
        self.id("req")
    }

    /// The answer to a request that wants no stream.
    pub(crate) fn whole(&self) -> Bytes {
        let blocks = self.answer.turn.blocks.iter().enumerate();
        let content: Vec<_> = blocks.map(|(i, block)| self.full_block(i, block)).collect();
        let mut message = self.message(&content, self.output_tokens());
        message["stop_reason"] = Value::from(self.answer.turn.stop_reason().as_str());
        Bytes::from(message.to_string())
    }

    /// The answer as a stream: one step a delta.
    ///
    /// All that ends the message is one step, because a fast tool's result would otherwise be
    /// printed before the last of it in one run and after it in the next.
    pub(crate) fn stream(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut pending = String::new();
        let start = self.message(&[], 1);
        event(&mut pending, "message_start", &format!(",\"message\":{start}"));
        for (index, block) in self.answer.turn.blocks.iter().enumerate() {
            let (cut, delay_ms) = self.script.pace(block);
            let opening = self.empty_block(index, block);
            let at = format!(",\"index\":{index}");
            event(
                &mut pending,
                "content_block_start",
                &format!("{at},\"content_block\":{opening}"),
            );
            let (kind, field) = delta_names(&block.content);
            let delta = |pending: &mut String, kind: &str, field: &str, literal: &str| {
                let delta = format!("{at},\"delta\":{{\"type\":\"{kind}\",\"{field}\":{literal}}}");
                event(pending, "content_block_delta", &delta);
            };
            if let Content::Tool { .. } = block.content {
                delta(&mut pending, kind, field, "\"\"");
            }
            for literal in deltas(block.content.pieces(), cut, self.folders) {
                let before = std::mem::take(&mut pending);
                push(&mut steps, 0, before);
                delta(&mut pending, kind, field, &literal);
                let bytes = std::mem::take(&mut pending);
                push(&mut steps, delay_ms, bytes);
            }
            if let Content::Thinking { signature, .. } = &block.content {
                let literal = Value::from(signature.as_str()).to_string();
                delta(&mut pending, "signature_delta", "signature", &literal);
            }
            event(&mut pending, "content_block_stop", &at);
        }
        let reason = self.answer.turn.stop_reason().as_str();
        let usage = self.usage(self.output_tokens());
        let end = format!(
            ",\"delta\":{{\"stop_reason\":\"{reason}\",\"stop_sequence\":null}},\"usage\":{usage}"
        );
        event(&mut pending, "message_delta", &end);
        event(&mut pending, "message_stop", "");
        push(&mut steps, 0, pending);
        steps
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}_clitape_{}_{}", self.answer.conversation, self.answer.number)
    }

    fn message(&self, content: &[Value], output_tokens: u64) -> Value {
        json!({
            "id": self.id("msg"),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": null,
            "stop_sequence": null,
            "usage": self.usage(output_tokens),
        })
    }

    fn usage(&self, output_tokens: u64) -> Value {
        let (input, output) =
            if self.answer.aside { (0, 0) } else { (INPUT_TOKENS, output_tokens) };
        json!({
            "input_tokens": input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output,
        })
    }

    /// One token for four characters of what is said, folders counted by their canonical names.
    fn output_tokens(&self) -> u64 {
        let blocks = self.answer.turn.blocks.iter();
        let texts =
            blocks.map(|block| Folders::canonical().expand(&block.content.pieces().joined()));
        let characters: usize = texts.map(|text| text.chars().count()).sum();
        (characters as u64).div_ceil(4).max(1)
    }

    fn tool_id(&self, index: usize, id: Option<&String>) -> String {
        id.cloned().unwrap_or_else(|| format!("{}_{}", self.id("toolu"), index + 1))
    }

    fn empty_block(&self, index: usize, block: &Block) -> Value {
        match &block.content {
            Content::Text(_) => json!({"type": "text", "text": ""}),
            Content::Thinking { .. } => {
                json!({"type": "thinking", "thinking": "", "signature": ""})
            }
            Content::Tool { name, id, .. } => json!({
                "type": "tool_use",
                "id": self.tool_id(index, id.as_ref()),
                "name": name,
                "input": {},
            }),
        }
    }

    fn full_block(&self, index: usize, block: &Block) -> Value {
        let mut full = self.empty_block(index, block);
        let text = self.folders.expand(&block.content.pieces().joined());
        match &block.content {
            Content::Text(_) => full["text"] = Value::from(text),
            Content::Thinking { signature, .. } => {
                full["thinking"] = Value::from(text);
                full["signature"] = Value::from(signature.as_str());
            }
            Content::Tool { .. } => {
                let input: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
                full["input"] = Value::from(input);
            }
        }
        full
    }
}

fn delta_names(content: &Content) -> (&'static str, &'static str) {
    match content {
        Content::Text(_) => ("text_delta", "text"),
        Content::Thinking { .. } => ("thinking_delta", "thinking"),
        Content::Tool { .. } => ("input_json_delta", "partial_json"),
    }
}

fn event(to: &mut String, kind: &str, fields: &str) {
    to.push_str(&format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{fields}}}\n\n"));
}

fn push(steps: &mut Vec<Step>, delay_ms: u64, bytes: String) {
    if !bytes.is_empty() {
        steps.push(Step { delay: Duration::from_millis(delay_ms), bytes: Bytes::from(bytes) });
    }
}

#[cfg(test)]
mod tests;
