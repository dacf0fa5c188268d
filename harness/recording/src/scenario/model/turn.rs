//! One message of the scripted model: its blocks, the reason why it ends, and the failures before it comes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::block::{ModelBlock, ModelContent, ToolSide};
use super::failure::{self, ModelFailure, ModelFailureKind};
use crate::scenario::bounds;

/// `[[turn]]`: one message of the model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "TurnFile")]
pub struct ModelTurn {
    /// `[[turn.block]]`: its content blocks, in order; `block = []` is an empty message.
    pub blocks: Vec<ModelBlock>,
    /// `[[turn.failure]]`: the failures that the first requests for it get.
    failures: Vec<ModelFailure>,
    /// Whether the message ever comes; without `block` the last failure stays for good.
    comes: bool,
    /// Why the message ends; `tool_use` or `end_turn`, by its blocks, when absent.
    stop_reason: Option<ModelStopReason>,
    /// `stop_details`: the API's details of a refusal.
    pub stop_details: Option<Map<String, Value>>,
    /// `end_delay_ms`: milliseconds between the last block and the events that end the message, so
    /// that the result of a fast tool comes before them; 0 by default: it comes after them.
    pub end_delay_ms: u64,
    /// `headers`: further headers of the HTTP response, such as those with the state of a rate limit, by
    /// their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// `message_id`: whether the message has an `id`, as every message of the API has; true by default. Some
    /// proxies leave it out.
    pub has_message_id: bool,
}

/// Why a message of the model ends, in the words of the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStopReason {
    /// The answer is complete.
    EndTurn,
    /// A tool is to be run.
    ToolUse,
    /// The limit of output tokens was hit.
    MaxTokens,
    /// A stop sequence was hit.
    StopSequence,
    /// A long turn is paused.
    PauseTurn,
    /// The model refuses.
    Refusal,
    /// The model's context is full.
    ModelContextWindowExceeded,
}

impl ModelStopReason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ModelContextWindowExceeded => "model_context_window_exceeded",
        }
    }
}

/// The turn as it is written, before its keys are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnFile {
    #[serde(rename = "block")]
    blocks: Option<Vec<ModelBlock>>,
    #[serde(default, rename = "failure")]
    failures: Vec<ModelFailure>,
    stop_reason: Option<ModelStopReason>,
    stop_details: Option<Map<String, Value>>,
    #[serde(default)]
    end_delay_ms: u64,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    message_id: Option<bool>,
}

impl TryFrom<TurnFile> for ModelTurn {
    type Error = String;

    fn try_from(file: TurnFile) -> Result<Self, String> {
        if file.blocks.is_none() && file.failures.is_empty() {
            return Err("a turn has a `block`, a `failure` or both; `block = []` is an empty \
                        message"
                .into());
        }
        if file.stop_details.is_some() && file.stop_reason != Some(ModelStopReason::Refusal) {
            return Err("`stop_details` belong to a turn with `stop_reason = \"refusal\"`".into());
        }
        bounds::within("end_delay_ms", file.end_delay_ms)?;
        failure::check_headers(&file.headers)?;
        let comes = file.blocks.is_some();
        let blocks = file.blocks.unwrap_or_default();
        let spots = file.failures.iter().filter_map(|failure| failure.kind.after());
        for spot in spots {
            let Some(block) = blocks.get(spot.block.get() - 1) else {
                return Err(format!(
                    "a failure comes in block {}, and the turn has {}; name one of them, from 1",
                    spot.block,
                    blocks.len()
                ));
            };
            if spot.deltas.is_some() && matches!(block.content, ModelContent::Raw(_)) {
                return Err(format!(
                    "block {} is `raw` and has no deltas to fail after; take `deltas` away",
                    spot.block
                ));
            }
        }
        Ok(Self {
            blocks,
            failures: file.failures,
            comes,
            stop_reason: file.stop_reason,
            stop_details: file.stop_details,
            end_delay_ms: file.end_delay_ms,
            headers: file.headers,
            has_message_id: file.message_id.unwrap_or(true),
        })
    }
}

impl ModelTurn {
    /// Why the message ends.
    pub fn stop_reason(&self) -> ModelStopReason {
        let waits = |block: &ModelBlock| {
            matches!(block.content, ModelContent::Tool { side: ToolSide::Client, .. })
        };
        match self.stop_reason {
            Some(reason) => reason,
            None if self.blocks.iter().any(waits) => ModelStopReason::ToolUse,
            None => ModelStopReason::EndTurn,
        }
    }

    /// The failure or the message for a request, given the number of earlier requests for this turn,
    /// and how many of those failed. It is the message itself if no failure is left.
    pub fn attempt(&self, before: usize) -> (Option<&ModelFailureKind>, usize) {
        let mut each = self
            .failures
            .iter()
            .flat_map(|failure| std::iter::repeat_n(&failure.kind, failure.times.get()));
        let times = self.failures.iter().map(|failure| failure.times.get());
        let count = times.fold(0, usize::saturating_add);
        let failed = if self.comes { before.min(count) } else { before };
        let last = self.failures.last().filter(|_| !self.comes).map(|failure| &failure.kind);
        (each.nth(before).or(last), failed)
    }

    /// The failures, in order.
    pub fn failures(&self) -> impl Iterator<Item = &ModelFailureKind> {
        self.failures.iter().map(|failure| &failure.kind)
    }

    /// A message of one text that comes at once.
    pub fn at_once(text: &str) -> Self {
        Self::of(ModelBlock::at_once(text))
    }

    /// A message of one text, with the cuts and delays of the file.
    pub fn saying(text: &str) -> Self {
        Self::of(ModelBlock::saying(text))
    }

    fn of(block: ModelBlock) -> Self {
        Self {
            blocks: vec![block],
            failures: Vec::new(),
            comes: true,
            stop_reason: None,
            stop_details: None,
            end_delay_ms: 0,
            headers: BTreeMap::new(),
            has_message_id: true,
        }
    }
}
