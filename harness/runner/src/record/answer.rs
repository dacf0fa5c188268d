//! Writes a scripted message as the Messages API sends it: as server-sent events or as one JSON object.
//!
//! Ids are computed from the conversation and the turn, and token counts from the texts, so that the same request gets
//! the same bytes on every machine and at every time. A text is cut into deltas for the same reason where its canonical
//! form has the cuts: it may contain the folders of the run, whose real paths differ in length from one machine to the
//! next. A cut inside a path keeps its distance from the start of the path.

use std::time::Duration;

use clitape_recording::scenario::{
    CacheTokens, DeltaCut, Model, ModelApiError, ModelBlock, ModelContent, ModelFailureKind,
    ModelTurn, Pieces, Spot, ToolSide,
};
use hyper::body::Bytes;
use serde_json::{Map, Value, json};

use super::script::ScriptedAnswer;
use super::workspace::Folders;

/// A step of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseStep {
    /// The wait before the bytes are sent.
    pub(crate) delay: Duration,
    /// The bytes of one write; `None` closes the connection.
    pub(crate) bytes: Option<Bytes>,
}

/// The input tokens that are reported for every request of a conversation.
pub(crate) const INPUT_TOKENS: u64 = 1000;

/// The wait before a connection is closed. A client that has not read all bytes by then may lose them, and
/// its output would differ from run to run.
const BEFORE_DROP: Duration = Duration::from_millis(250);

/// Converts a [`ScriptedAnswer`] to bytes.
pub(crate) struct Writer<'a> {
    pub(crate) script: &'a Model,
    pub(crate) folders: &'a Folders,
    pub(crate) answer: &'a ScriptedAnswer<'a>,
    /// The model's name in the request.
    pub(crate) model: &'a str,
}

impl Writer<'_> {
    /// Returns the value of the `request-id` header, which the CLI prints.
    pub(crate) fn request_id(&self) -> String {
        self.id("req")
    }

    /// Returns the body of an HTTP error.
    pub(crate) fn error(&self, error: &ModelApiError) -> Bytes {
        let (kind, message) = self.type_and_message(error);
        let id = Value::from(self.request_id());
        let body = format!(
            "{{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":{message}}},\"request_id\":{id}}}"
        );
        Bytes::from(body)
    }

    /// Returns the answer to a request that is not streamed.
    pub(crate) fn whole(&self) -> Bytes {
        let blocks = self.answer.turn.blocks.iter().enumerate();
        let content: Vec<_> = blocks.map(|(i, block)| self.full_block(i, block)).collect();
        let mut message = self.message(&content, self.output_tokens());
        message["stop_reason"] = Value::from(self.answer.turn.stop_reason().as_str());
        Bytes::from(message.to_string())
    }

    /// Returns the answer as a stream with one step for each delta, up to a failure.
    ///
    /// The events that end the message are one step. Otherwise the result of a fast tool would be printed
    /// before the last event in one run and after it in the next. A turn may ask for a pause before this
    /// step, so that the result is printed first.
    pub(crate) fn stream(&self) -> Vec<ResponseStep> {
        let mut steps = Vec::new();
        let mut pending = String::new();
        let start = self.message(&[], 1);
        event(&mut pending, "message_start", &format!(",\"message\":{start}"));
        for (index, block) in self.answer.turn.blocks.iter().enumerate() {
            let (cut, delay_ms) = self.script.pace(block);
            let at = format!(",\"index\":{index}");
            let opening = self.empty_block(index, block);
            event(
                &mut pending,
                "content_block_start",
                &format!("{at},\"content_block\":{opening}"),
            );
            let delta = |pending: &mut String, kind: &str, field: &str, literal: &str| {
                let delta = format!("{at},\"delta\":{{\"type\":\"{kind}\",\"{field}\":{literal}}}");
                event(pending, "content_block_delta", &delta);
            };
            let names = delta_names(&block.content);
            if let (ModelContent::Tool { .. }, Some((kind, field))) = (&block.content, names) {
                delta(&mut pending, kind, field, "\"\"");
            }
            let deltas = deltas(block.content.pieces(), cut, self.folders);
            for (before, literal) in deltas.iter().enumerate() {
                if self.breaks_at(index, Some(before)) {
                    return self.broken(steps, pending);
                }
                push(&mut steps, 0, std::mem::take(&mut pending));
                if let Some((kind, field)) = names {
                    delta(&mut pending, kind, field, literal);
                }
                push(&mut steps, delay_ms, std::mem::take(&mut pending));
            }
            if self.breaks_at(index, Some(deltas.len())) {
                return self.broken(steps, pending);
            }
            match &block.content {
                ModelContent::Thinking { signature, .. } => {
                    let literal = Value::from(signature.as_str()).to_string();
                    delta(&mut pending, "signature_delta", "signature", &literal);
                }
                ModelContent::Text { citations, .. } => {
                    for citation in citations {
                        let literal = self.real(&Value::from(citation.clone())).to_string();
                        delta(&mut pending, "citations_delta", "citation", &literal);
                    }
                }
                ModelContent::Tool { .. } | ModelContent::Raw(_) => {}
            }
            event(&mut pending, "content_block_stop", &at);
            if self.breaks_at(index, None) {
                return self.broken(steps, pending);
            }
        }
        let turn = &self.answer.turn;
        if turn.end_delay_ms > 0 {
            push(&mut steps, 0, std::mem::take(&mut pending));
        }
        let reason = turn.stop_reason().as_str();
        let details = turn.stop_details.clone().map_or_else(String::new, |details| {
            format!(",\"stop_details\":{}", self.real(&Value::from(details)))
        });
        let mut usage = self.usage(self.output_tokens());
        let searches = turn.blocks.iter().filter(|block| is_search(block)).count();
        if searches > 0 {
            usage["server_tool_use"] = json!({"web_search_requests": searches});
        }
        let end = format!(
            ",\"delta\":{{\"stop_reason\":\"{reason}\",\"stop_sequence\":null{details}}},\"usage\":{usage}"
        );
        event(&mut pending, "message_delta", &end);
        event(&mut pending, "message_stop", "");
        push(&mut steps, turn.end_delay_ms, pending);
        steps
    }

    /// Returns the steps of a connection that is closed before the first byte.
    pub(crate) fn lost(&self) -> Vec<ResponseStep> {
        self.broken(Vec::new(), String::new())
    }

    /// Returns whether the failure comes after this number of deltas of a block, or after the whole block.
    fn breaks_at(&self, index: usize, deltas: Option<usize>) -> bool {
        let after = self.answer.failure.and_then(ModelFailureKind::after);
        after.is_some_and(|spot: Spot| spot.block.get() == index + 1 && spot.deltas == deltas)
    }

    /// Returns the steps of a stream that ends with the failure.
    fn broken(&self, mut steps: Vec<ResponseStep>, mut pending: String) -> Vec<ResponseStep> {
        if let Some(ModelFailureKind::Event { error, .. }) = self.answer.failure {
            let (kind, message) = self.type_and_message(error);
            let error = format!(",\"error\":{{\"type\":\"{kind}\",\"message\":{message}}}");
            event(&mut pending, "error", &error);
            push(&mut steps, 0, pending);
        } else {
            push(&mut steps, 0, pending);
            steps.push(ResponseStep { delay: BEFORE_DROP, bytes: None });
        }
        steps
    }

    /// Returns the type of an error and the JSON literal of its message.
    fn type_and_message(&self, error: &ModelApiError) -> (&'static str, String) {
        let message = Value::from(self.folders.expand(&error.message)).to_string();
        (error.kind.as_str(), message)
    }

    fn id(&self, kind: &str) -> String {
        let ScriptedAnswer { conversation, number, failed, .. } = self.answer;
        let retry = match failed {
            0 => String::new(),
            failed => format!("_retry_{failed}"),
        };
        format!("{kind}_clitape_{conversation}_{number}{retry}")
    }

    fn message(&self, content: &[Value], output_tokens: u64) -> Value {
        let mut message = json!({
            "id": self.id("msg"),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": null,
            "stop_sequence": null,
            "usage": self.usage(output_tokens),
        });
        if let (false, Some(keys)) = (self.answer.turn.has_message_id, message.as_object_mut()) {
            keys.shift_remove("id");
        }
        message
    }

    fn usage(&self, output_tokens: u64) -> Value {
        let (input, output) =
            if self.answer.aside { (0, 0) } else { (INPUT_TOKENS, output_tokens) };
        let CacheTokens { read, write } = self.answer.turn.cache;
        json!({
            "input_tokens": input,
            "cache_creation_input_tokens": write,
            "cache_read_input_tokens": read,
            "output_tokens": output,
        })
    }

    /// Returns one token for every four characters of the answer, with the canonical names of the folders.
    fn output_tokens(&self) -> u64 {
        let blocks = self.answer.turn.blocks.iter();
        let texts =
            blocks.map(|block| Folders::canonical().expand(&block.content.pieces().joined()));
        let characters: usize = texts.map(|text| text.chars().count()).sum();
        (characters as u64).div_ceil(4).max(1)
    }

    fn empty_block(&self, index: usize, block: &ModelBlock) -> Value {
        match &block.content {
            ModelContent::Text { citations, .. } if citations.is_empty() => {
                json!({"type": "text", "text": ""})
            }
            ModelContent::Text { .. } => json!({"type": "text", "text": "", "citations": []}),
            ModelContent::Thinking { .. } => {
                json!({"type": "thinking", "thinking": "", "signature": ""})
            }
            ModelContent::Tool { side, name, id, .. } => {
                let (kind, prefix) = match side {
                    ToolSide::Client => ("tool_use", "toolu"),
                    ToolSide::Server => ("server_tool_use", "srvtoolu"),
                };
                let synthetic = || format!("{}_{}", self.id(prefix), index + 1);
                let id = id.clone().unwrap_or_else(synthetic);
                json!({"type": kind, "id": id, "name": name, "input": {}})
            }
            ModelContent::Raw(block) => self.real(&Value::from(block.clone())),
        }
    }

    /// Converts a value of the script to one of the API: with real folders, and `type` as the first key.
    fn real(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.folders.expand(text)),
            Value::Array(items) => items.iter().map(|item| self.real(item)).collect(),
            Value::Object(table) => {
                let (first, rest): (Vec<_>, Vec<_>) =
                    table.iter().partition(|(key, _)| *key == "type");
                let members = first.into_iter().chain(rest);
                members.map(|(key, value)| (key.clone(), self.real(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn full_block(&self, index: usize, block: &ModelBlock) -> Value {
        let mut full = self.empty_block(index, block);
        let text = self.folders.expand(&block.content.pieces().joined());
        match &block.content {
            ModelContent::Text { citations, .. } => {
                full["text"] = Value::from(text);
                if !citations.is_empty() {
                    let citations =
                        citations.iter().map(|one| self.real(&Value::from(one.clone())));
                    full["citations"] = citations.collect();
                }
            }
            ModelContent::Thinking { signature, .. } => {
                full["thinking"] = Value::from(text);
                full["signature"] = Value::from(signature.as_str());
            }
            ModelContent::Tool { .. } => {
                // The API sends `{}` for arguments that never became JSON.
                let input: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
                full["input"] = Value::from(input);
            }
            ModelContent::Raw(_) => {}
        }
        full
    }
}

/// Returns whether the API counts a block as a web search.
fn is_search(block: &ModelBlock) -> bool {
    matches!(&block.content, ModelContent::Tool { side: ToolSide::Server, name, .. } if name == "web_search")
}

/// Returns the type of a block's deltas and the field with their content.
fn delta_names(content: &ModelContent) -> Option<(&'static str, &'static str)> {
    match content {
        ModelContent::Text { .. } => Some(("text_delta", "text")),
        ModelContent::Thinking { .. } => Some(("thinking_delta", "thinking")),
        ModelContent::Tool { .. } => Some(("input_json_delta", "partial_json")),
        ModelContent::Raw(_) => None,
    }
}

fn event(to: &mut String, kind: &str, fields: &str) {
    to.push_str(&format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{fields}}}\n\n"));
}

fn push(steps: &mut Vec<ResponseStep>, delay_ms: u64, bytes: String) {
    if !bytes.is_empty() {
        let delay = Duration::from_millis(delay_ms);
        steps.push(ResponseStep { delay, bytes: Some(Bytes::from(bytes)) });
    }
}

/// Returns the deltas of a text as JSON string literals.
///
/// A cut in UTF-16 units may leave half of a surrogate pair in a delta, which a `String` can't contain and
/// a JSON literal can.
fn deltas(pieces: &Pieces, cut: DeltaCut, folders: &Folders) -> Vec<String> {
    match pieces {
        Pieces::Listed(pieces) => {
            let real = |piece| Value::from(folders.expand(piece)).to_string();
            pieces.iter().map(|piece| real(piece.as_str())).collect()
        }
        Pieces::Whole(text) => whole_deltas(text, cut, folders),
    }
}

/// Describes the first failure of the script that comes after more deltas than its block has.
pub(crate) fn overrun(model: &Model) -> Option<String> {
    let turns = model.all_turns().flat_map(|(name, turns)| {
        turns.iter().enumerate().map(move |(at, turn)| (name, at + 1, turn))
    });
    let mut overruns = turns.filter_map(|(name, number, turn)| {
        let (block, wanted, found) = turn.failures().find_map(|f| overrun_in(model, turn, f))?;
        Some(format!(
            "a failure in turn {number} of `{name}` comes after {wanted} deltas of block {block}, \
             which has {found}; name fewer, or leave `deltas` out to fail after the whole block"
        ))
    });
    overruns.next()
}

/// Returns the block, the deltas before the failure, and the deltas of the block.
fn overrun_in(
    model: &Model,
    turn: &ModelTurn,
    failure: &ModelFailureKind,
) -> Option<(usize, usize, usize)> {
    let spot = failure.after()?;
    let block = turn.blocks.get(spot.block.get() - 1)?;
    let found = deltas(block.content.pieces(), model.pace(block).0, &Folders::canonical()).len();
    let wanted = spot.deltas.filter(|wanted| *wanted > found)?;
    Some((spot.block.get(), wanted, found))
}

fn whole_deltas(text: &str, cut: DeltaCut, folders: &Folders) -> Vec<String> {
    let canonical = Folders::canonical().expand(text);
    let real: Vec<u16> = folders.expand(text).encode_utf16().collect();
    let names = folder_names(text, folders);
    let mut from = 0;
    let ends = delta_ends(&canonical, cut).into_iter();
    ends.map(|end| {
        let to = real_offset(&names, end);
        let literal = literal(&real[from..to]);
        from = to;
        literal
    })
    .collect()
}

/// Returns the ends of the deltas of `text` in UTF-16 units.
fn delta_ends(text: &str, cut: DeltaCut) -> Vec<usize> {
    let total = text.encode_utf16().count();
    let mut ends: Vec<usize> = match cut {
        DeltaCut::Utf16(n) => (1..).map(|i| i * n.get()).take_while(|&end| end < total).collect(),
        DeltaCut::Chars(n) => {
            let mut at = 0;
            let after_each = text.chars().map(|c| {
                at += c.len_utf16();
                at
            });
            let every_nth = after_each.skip(n.get() - 1).step_by(n.get());
            every_nth.take_while(|&end| end < total).collect()
        }
    };
    if total > 0 {
        ends.push(total);
    }
    ends
}

/// The path of a folder in a text; its offsets are UTF-16 units.
struct FolderName {
    /// Its offset in the canonical text.
    start: usize,
    canonical: usize,
    real: usize,
}

fn folder_names(text: &str, folders: &Folders) -> Vec<FolderName> {
    let canonical = Folders::canonical();
    let mut names = Vec::new();
    let (mut rest, mut at) = (text, 0);
    while let Some((before, folder, after)) = Folders::first_in(rest) {
        at += before.encode_utf16().count();
        let name = FolderName {
            start: at,
            canonical: canonical.path(folder).len(),
            real: folders.path(folder).len(),
        };
        at += name.canonical;
        names.push(name);
        rest = after;
    }
    names
}

/// Converts an offset in the canonical text to one in the real text.
fn real_offset(names: &[FolderName], offset: usize) -> usize {
    let (mut canonical, mut real) = (0, 0);
    for name in names.iter().take_while(|name| name.start < offset) {
        real += name.start - canonical;
        if offset < name.start + name.canonical {
            return real + (offset - name.start).min(name.real);
        }
        canonical = name.start + name.canonical;
        real += name.real;
    }
    real + offset - canonical
}

/// Returns a JSON string literal, in which half of a surrogate pair is a `\u` escape.
fn literal(units: &[u16]) -> String {
    let mut text = String::from('"');
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(c) => {
                let quoted = Value::from(c.to_string()).to_string();
                text.push_str(&quoted[1..quoted.len() - 1]);
            }
            Err(half) => text.push_str(&format!("\\u{:04x}", half.unpaired_surrogate())),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests;
