//! The updates as they stand on the wire: `session/update` of ACP protocol version 1, and the answer to
//! `session/prompt` when a turn is over.
//!
//! Small structs of our own, so that the bytes do not change with a library: keys come in the
//! order of the fields, what is not known is left out.

use std::sync::Arc;

use clitape_stream::FailureKind;
use serde::Serialize;
use serde_json::Value;

use crate::bus::Phase;
use crate::display::ToolCategory;
use crate::hidden::visible;

/// The content of one `session/update`. Serialised, its tag is `sessionUpdate`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// More of what the agent says.
    AgentMessageChunk(Chunk),
    /// More of what the agent thinks.
    AgentThoughtChunk(Chunk),
    /// A tool call is announced.
    ToolCall(ToolCallUpdate),
    /// Something of a tool call has changed.
    ToolCallUpdate(ToolCallUpdate),
    /// The plan as a whole.
    Plan(PlanUpdate),
}

/// A piece of text, never empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Chunk {
    /// The piece.
    pub content: ContentBlock,
    /// The message it belongs to, where the stream names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The subagent it comes from.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Content for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text, in Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// Something to be fetched elsewhere.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// Its name.
        name: String,
        /// Its purpose.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
}

/// A tool call; of an update only what has changed. Collections replace the ones before.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCallUpdate {
    /// Id of the call, unique in the session.
    pub tool_call_id: String,
    /// The title: the work of the call in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The category of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolCategory>,
    /// The progress of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<CallStatus>,
    /// The content for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<CallContent>>,
    /// The files it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Its arguments so far, sanitised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Arc<Value>>,
    /// Its result, sanitised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    /// The data that the protocol has no field for.
    #[serde(rename = "_meta")]
    pub meta: Meta,
}

/// The progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallStatus {
    /// No result yet.
    Pending,
    /// A person was asked and said yes; the call runs.
    InProgress,
    /// It came to its end.
    Completed,
    /// It failed, was cancelled, or never started.
    Failed,
}

/// The content of a call for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum CallContent {
    /// A block of text or a link.
    Content {
        /// The block.
        content: ContentBlock,
    },
    /// A change of a file.
    Diff {
        /// The file, as the tool names it.
        path: String,
        /// The text before; `null` when it is not known, or there was no file.
        old_text: Option<String>,
        /// The text after.
        new_text: String,
    },
    /// A terminal the client shows; its output comes in `_meta`.
    Terminal {
        /// The terminal's id, which is the call's.
        terminal_id: String,
    },
}

impl ToolCallUpdate {
    /// The same with signs for characters that hide in what a person reads. The input and the texts of a difference
    /// are data, and stay.
    pub(super) fn visible(&self) -> Self {
        let mut call = self.clone();
        call.title = call.title.as_deref().map(visible);
        for content in call.content.iter_mut().flatten() {
            if let CallContent::Content { content: ContentBlock::Text { text } } = content {
                *text = visible(text);
            }
        }
        call
    }
}

impl CallContent {
    /// A block of text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Content { content: ContentBlock::Text { text: text.into() } }
    }
}

/// A file a call is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Location {
    /// The file, as the tool names it.
    pub path: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The plan: all entries, each time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlanUpdate {
    /// The entries, in order.
    pub entries: Vec<PlanEntry>,
    /// The subagent whose plan it is.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlanEntry {
    /// The task.
    pub content: String,
    /// The priority of the task.
    pub priority: Priority,
    /// The progress of the task.
    pub status: PlanStatus,
}

/// The priority of a step; the CLI seldom says, and then it is `medium`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Priority {
    /// Much.
    High,
    /// As much as others.
    Medium,
    /// Little.
    Low,
}

/// The progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// `_meta`: what clients of the Claude adapter know how to read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Meta {
    /// Whose update it is.
    #[serde(rename = "claudeCode")]
    pub claude_code: ClaudeCode,
    /// The terminal that begins with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_info: Option<TerminalInfo>,
    /// The text that the terminal shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_output: Option<TerminalOutput>,
    /// The end of the terminal's command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_exit: Option<TerminalExit>,
}

impl From<ClaudeCode> for Meta {
    fn from(claude_code: ClaudeCode) -> Self {
        Self { claude_code, terminal_info: None, terminal_output: None, terminal_exit: None }
    }
}

/// Whose update it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClaudeCode {
    /// Name of the tool; `__text__` and `__thinking__` for chunks.
    pub tool_name: String,
    /// The call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The command of a shell call, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash_command: Option<String>,
}

/// A terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TerminalInfo {
    /// Its id.
    pub terminal_id: String,
}

/// The output in a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TerminalOutput {
    /// Id of the terminal.
    pub terminal_id: String,
    /// The text.
    pub data: String,
}

/// The end of a terminal's command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TerminalExit {
    /// Id of the terminal.
    pub terminal_id: String,
    /// The exit code; `null` when the command was cut off.
    pub exit_code: Option<i64>,
    /// The signal; never known.
    pub signal: Option<String>,
}

/// JSON-RPC's code for a fault of the agent.
const INTERNAL_ERROR: i32 = -32_603;
/// ACP's code for an agent that has to be logged in first.
const AUTH_REQUIRED: i32 = -32_000;

/// The end of a turn: the result of `session/prompt`, or its error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The turn stopped for a reason the protocol knows.
    Stop(StopReason),
    /// The turn failed: a JSON-RPC error.
    Error {
        /// The error's code.
        code: i32,
        /// A sentence a person can act on, sanitised.
        message: String,
    },
}

/// Why a turn stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The agent is done.
    EndTurn,
    /// The answer reached the limit of tokens.
    MaxTokens,
    /// The run reached its limit of turns, or of money.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// Somebody stopped the turn.
    Cancelled,
}

impl TurnEnd {
    /// Returns the end that `phase` means; `None` while the run goes on. A turn that the client cancelled
    /// ends as cancelled, whatever became of it.
    pub(crate) fn of(phase: &Phase, cancelled: bool) -> Option<Self> {
        let reason = match phase {
            Phase::Start => return None,
            _ if cancelled => StopReason::Cancelled,
            Phase::End { .. } => StopReason::EndTurn,
            Phase::Error { kind, message } => match kind {
                FailureKind::MaxTokens => StopReason::MaxTokens,
                FailureKind::MaxTurns | FailureKind::MaxBudget => StopReason::MaxTurnRequests,
                FailureKind::Refusal => StopReason::Refusal,
                FailureKind::Interrupted | FailureKind::Stopped => StopReason::Cancelled,
                _ => {
                    let is_auth = *kind == FailureKind::Auth;
                    let code = if is_auth { AUTH_REQUIRED } else { INTERNAL_ERROR };
                    return Some(Self::Error { code, message: message.clone() });
                }
            },
        };
        Some(Self::Stop(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(phase: &Phase, cancelled: bool, expect: Option<&TurnEnd>) {
        assert_eq!(TurnEnd::of(phase, cancelled).as_ref(), expect, "{phase:?}");
    }

    #[test]
    fn a1_every_end_of_a_turn_has_its_stop_reason_or_error() {
        use clitape_stream::FailureKind as F;
        let error = |kind| Phase::Error { kind, message: "Why.".into() };
        let stop = TurnEnd::Stop;
        let failed = |code| TurnEnd::Error { code, message: "Why.".into() };
        check(&Phase::Start, true, None);
        check(&Phase::End { text: "a".into() }, false, Some(&stop(StopReason::EndTurn)));
        check(&Phase::End { text: "a".into() }, true, Some(&stop(StopReason::Cancelled)));
        check(&error(F::NoResult), true, Some(&stop(StopReason::Cancelled)));
        for (kind, expect) in [
            (F::MaxTokens, stop(StopReason::MaxTokens)),
            (F::MaxTurns, stop(StopReason::MaxTurnRequests)),
            (F::MaxBudget, stop(StopReason::MaxTurnRequests)),
            (F::Refusal, stop(StopReason::Refusal)),
            (F::Interrupted, stop(StopReason::Cancelled)),
            (F::Stopped, stop(StopReason::Cancelled)),
            (F::Auth, failed(-32_000)),
            (F::Api, failed(-32_603)),
            (F::NoResult, failed(-32_603)),
        ] {
            check(&error(kind), false, Some(&expect));
        }
    }
}
