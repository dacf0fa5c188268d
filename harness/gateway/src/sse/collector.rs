//! Collects what a stream says of one or several turns ([S2](crate::rules::S2)).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use clitape_stream::Json;
use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::summary::is_retrieval;
use super::wire::SseFrame;
use crate::limits::ByteSize;
use crate::limits::{COLLECTED_BYTES, COLLECTED_CALLS};

/// The collected turns; serialises to `{output, error?, metadata: {toolCalls?, retrievedContext?}}`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Collected {
    /// The answer of the last turn; what came of it, when it failed.
    pub output: String,
    /// Why the last turn failed. What was collected before stays (Δ).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The calls of the tools.
    pub metadata: Metadata,
}

/// The calls of the tools, in all turns (Δ).
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// The calls, in the order they ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CollectedCall>,
    /// The texts that searches found, each once, with a blank line between two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieved_context: Option<String>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Hash, Serialize)]
#[non_exhaustive]
pub struct CollectedCall {
    /// Name of the tool.
    pub name: String,
    /// Its input; `null` when the event has none. As text it is small, because a turn may have many calls.
    pub input: Json<'static>,
    /// Id of the call, when it has one.
    #[serde(rename = "toolCallId", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True if it failed; serialised only then.
    #[serde(rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The summary of the result.
    #[serde(rename = "result_summary", skip_serializing_if = "Option::is_none")]
    pub summary: Option<Box<ResultSummary>>,
}

/// The summary of a result; at least one of its fields has a value.
#[derive(Debug, Clone, PartialEq, Hash, Default, Serialize)]
#[non_exhaustive]
pub struct ResultSummary {
    /// Ids of what a search found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event_ids: Vec<Number>,
    /// Their texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub snippets: Vec<Snippet>,
    /// Why the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A text that a search found.
#[derive(Debug, Clone, PartialEq, Hash, Serialize)]
#[non_exhaustive]
pub struct Snippet {
    /// Its id.
    pub id: Number,
    /// The text.
    pub text: String,
}

/// The progress of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnProgress {
    /// It goes on.
    Open,
    /// It came to its end.
    Complete,
    /// It failed.
    Failed,
}

/// The collector's state; it takes frames, and gives what they say.
#[derive(Debug, Default)]
pub struct Collector {
    collected: Collected,
    /// The message whose events count; `None` means all do.
    message_id: Option<String>,
    /// Hashes of the frames with ids: one that comes again, after a reconnect, does not count again.
    frames: HashSet<u64>,
    /// Hashes of the calls of this turn that have ids: a backlog may repeat one.
    calls: HashSet<u64>,
    found: HashSet<Number>,
    /// Bytes of the events of the calls that are kept.
    retained: u64,
    /// The limits of stored text and calls; without them, all is kept.
    limits: Option<RetainedLimits>,
}

/// The limits of the text and calls that a collector keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetainedLimits {
    /// Bytes of the answer and of the events of calls.
    pub bytes: ByteSize,
    /// Calls.
    pub calls: usize,
}

impl Default for RetainedLimits {
    fn default() -> Self {
        Self { bytes: COLLECTED_BYTES, calls: COLLECTED_CALLS }
    }
}

impl Collector {
    /// Makes a collector that is ready for the first turn, for a stream that can be trusted: it keeps
    /// all of it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a collector that is ready for the first turn, for a stream that is not trusted. A turn
    /// that would exceed `limits` fails.
    pub fn within(limits: RetainedLimits) -> Self {
        Self { limits: Some(limits), ..Self::default() }
    }

    /// Begins the next turn. With a `message_id` only the events count that bear it.
    pub fn begin(&mut self, message_id: Option<String>) {
        self.message_id = message_id;
        self.calls.clear();
        self.collected.output.clear();
        self.collected.error = None;
    }

    /// Takes the next frame. One whose data is not a JSON object is skipped (Δ: its name, too).
    pub fn on(&mut self, frame: &SseFrame) -> TurnProgress {
        let is_new = frame.id.is_none() || self.frames.insert(hash(frame));
        let data: Map<String, Value> = match serde_json::from_str(&frame.data) {
            Ok(Value::Object(data)) if is_new => data,
            _ => return TurnProgress::Open,
        };
        if frame.name == "gap" {
            let lost = "events were lost: the stream had gone on too far; collect from its start";
            self.collected.error.get_or_insert_with(|| lost.to_owned());
            return TurnProgress::Open;
        }
        let message_id = data.get("messageId").and_then(Value::as_str);
        if self.message_id.is_some() && self.message_id.as_deref() != message_id {
            return TurnProgress::Open;
        }
        if let Some(over) = self.over(&frame.name, &data, frame.data.len()) {
            self.fail(over);
            return TurnProgress::Failed;
        }
        match frame.name.as_str() {
            "output" => self.output(&data),
            "tool_use" => self.tool_use(&data, frame.data.len()),
            "error" => {
                self.fail(words(data.get("error")));
                return TurnProgress::Failed;
            }
            "complete" => {
                if let Some(text) = data.get("text").and_then(Value::as_str) {
                    text.clone_into(&mut self.collected.output);
                }
                let failed = self.collected.error.is_some();
                return if failed { TurnProgress::Failed } else { TurnProgress::Complete };
            }
            _ => {}
        }
        TurnProgress::Open
    }

    /// Says that the turn failed; what was collected stays.
    pub fn fail(&mut self, error: impl Into<String>) {
        self.collected.error = Some(error.into());
    }

    /// Bytes of the events of the calls that are kept.
    pub fn retained_bytes(&self) -> u64 {
        self.retained
    }

    /// Takes out what the tools have done, for a reader that does not keep all of a long turn. A call that was taken out
    /// still counts once when it comes again, and limits count what is left.
    pub fn take_metadata(&mut self) -> Metadata {
        self.retained = 0;
        std::mem::take(&mut self.collected.metadata)
    }

    /// Returns the collected turns.
    pub fn collected(self) -> Collected {
        self.collected
    }

    /// Which limit an event would go past.
    fn over(&self, name: &str, data: &Map<String, Value>, size: usize) -> Option<String> {
        let RetainedLimits { bytes, calls } = self.limits?;
        let text = |key: &str| data.get(key).and_then(Value::as_str).map_or(0, str::len);
        let (before, more) = match name {
            "output" if data.get("type").is_some_and(|kind| kind == "replace") => {
                (0, text("content"))
            }
            "output" => (self.collected.output.len(), text("content")),
            "complete" if data.contains_key("text") => (0, text("text")),
            "tool_use" if self.collected.metadata.tool_calls.len() >= calls => {
                return Some(format!("the stream has more than {calls} calls; {}", raise("calls")));
            }
            "tool_use" => (self.collected.output.len(), size),
            _ => return None,
        };
        let kept = usize::try_from(self.retained).unwrap_or(usize::MAX);
        bytes
            .is_below(kept.saturating_add(before).saturating_add(more))
            .then(|| format!("the answer and the calls are more than {bytes}; {}", raise("output")))
    }

    fn output(&mut self, data: &Map<String, Value>) {
        // Content that is not a text is skipped.
        let content = data.get("content").and_then(Value::as_str).unwrap_or_default();
        match data.get("type").and_then(Value::as_str) {
            Some("replace") => content.clone_into(&mut self.collected.output),
            Some("delta") | None => self.collected.output.push_str(content),
            Some(_) => {}
        }
    }

    fn tool_use(&mut self, data: &Map<String, Value>, size: usize) {
        let Some(call) = tool_call(data) else { return };
        let Metadata { tool_calls, retrieved_context } = &mut self.collected.metadata;
        // Only an equal call with the same id is a repetition.
        if call.id.is_some() && !self.calls.insert(hash(&call)) {
            return;
        }
        let summary = call.summary.iter().filter(|_| is_retrieval(&call.name));
        for Snippet { id, text } in summary.flat_map(|summary| &summary.snippets) {
            if text.is_empty() || !self.found.insert(id.clone()) {
                continue;
            }
            match retrieved_context {
                Some(context) => context.extend(["\n\n", text]),
                None => *retrieved_context = Some(text.clone()),
            }
        }
        tool_calls.push(call);
        self.retained += size as u64;
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The advice about a limit.
fn raise(limit: &str) -> String {
    format!("raise the limit with `--max-{limit}` if it is to be collected")
}

/// An error as a sentence, whatever it is.
fn words(error: Option<&Value>) -> String {
    let error = error.unwrap_or(&Value::Null);
    match error.get("message").unwrap_or(error) {
        Value::String(words) => words.clone(),
        Value::Null => "the gateway told no reason; see its log".to_owned(),
        other => other.to_string(),
    }
}

/// A call, of what is well-formed in `data`; none without a name.
fn tool_call(data: &Map<String, Value>) -> Option<CollectedCall> {
    let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(CollectedCall {
        name: text("name").filter(|name| !name.is_empty())?,
        // A call without an input has the input `null`.
        input: data.get("input").map_or(Json::NULL, Json::from),
        id: text("toolCallId"),
        is_error: data.get("isError") == Some(&Value::Bool(true)),
        summary: data.get("result_summary").and_then(summary).map(Box::new),
    })
}

fn summary(summary: &Value) -> Option<ResultSummary> {
    let list = |name: &str| summary.get(name).and_then(Value::as_array).into_iter().flatten();
    let snippet = |snippet: &Value| {
        let text = snippet.get("text")?.as_str()?.to_owned();
        Some(Snippet { id: snippet.get("id")?.as_number()?.clone(), text })
    };
    let summary = ResultSummary {
        event_ids: list("event_ids").filter_map(Value::as_number).cloned().collect(),
        snippets: list("snippets").filter_map(snippet).collect(),
        error: summary.get("error").and_then(Value::as_str).map(str::to_owned),
    };
    (summary != ResultSummary::default()).then_some(summary)
}

#[cfg(test)]
pub(crate) mod tests;
