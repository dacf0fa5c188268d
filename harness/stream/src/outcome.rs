//! The outcome of a turn, its token counts, and the kinds of failure.

use serde::Serialize;

use crate::words::words;

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outcome {
    /// Ok, failed, or cut off.
    pub status: RunStatus,
    /// The final text (rule [T2](crate::rules::T2)), or the streamed text if the run failed or was
    /// cut off (rule [T5](crate::rules::T5)). The text of an API error is only in `error` (rule
    /// [T6](crate::rules::T6)).
    pub text: String,
    /// Why it is not ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The last session id seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The turn's totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The number of the turn in its process, from 1; 1 is left out of the trace.
    #[serde(skip_serializing_if = "is_first")]
    pub turn: u64,
    /// Uuids of the host's messages that the turn answers, in order; empty when the CLI names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// The origin of a turn that answers nobody, such as `task-notification`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Ids of the model's messages that began in the turn, where the CLI lists them
    /// (`begun_message_ids`, 2.1.330).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<String>,
}

/// Returns whether a turn is the first of its process.
fn is_first(turn: &u64) -> bool {
    *turn == 1
}

impl Outcome {
    /// Makes an outcome of the first turn, with a status and a text alone.
    pub fn new(status: RunStatus, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            error: None,
            session_id: None,
            usage: None,
            turn: 1,
            answers: Vec::new(),
            origin: None,
            message_ids: Vec::new(),
        }
    }
}

/// The end of a run: success, failure, or a missing end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A `result` record reports success.
    Ok,
    /// A `result` record reports a failure.
    Error,
    /// The bytes ended without a `result` record, or were not all read (rule
    /// [T5](crate::rules::T5)).
    Incomplete,
}

words!(RunStatus {
    Ok => "ok",
    Error => "error",
    Incomplete => "incomplete",
});

/// Token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens outside the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure, for programs.
    pub kind: FailureKind,
    /// The text for a person: the CLI's own words where it gave any, else a sentence.
    pub message: String,
}

impl Failure {
    /// Makes a failure of this kind with a message for a person.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The model's API answered with an error that fits none of the next four. The CLI reports all
    /// five as `subtype: "success"` with `is_error` set.
    Api,
    /// The API is overloaded, limits the rate, or has an error of its own: later may be better.
    Overloaded,
    /// The API does not know the key, or the CLI is not logged in.
    Auth,
    /// There is no credit or no allowance left.
    Billing,
    /// The API does not take the request, however often it is sent.
    BadRequest,
    /// The model declined to answer (`stop_reason: "refusal"`).
    Refusal,
    /// The answer is longer than the model's output limit, and the CLI did not go on.
    MaxTokens,
    /// The limit of turns was reached.
    MaxTurns,
    /// The budget was used up.
    MaxBudget,
    /// A person interrupted the turn.
    Interrupted,
    /// A hook ended the turn.
    Stopped,
    /// The CLI reported an error during execution.
    Execution,
    /// The output ended without a result, whatever the exit code.
    NoResult,
    /// The CLI printed nothing at all.
    NoOutput,
    /// The CLI printed nothing for so long that its caller gave up. The parser reads no clock, so
    /// the caller reports this kind.
    Stalled,
    /// A limit of the parser's was reached.
    Limit,
    /// A failure that fits none of the others.
    Other,
}

words!(FailureKind {
    Api => "api",
    Overloaded => "overloaded",
    Auth => "auth",
    Billing => "billing",
    BadRequest => "bad_request",
    Refusal => "refusal",
    MaxTokens => "max_tokens",
    MaxTurns => "max_turns",
    MaxBudget => "max_budget",
    Interrupted => "interrupted",
    Stopped => "stopped",
    Execution => "execution",
    NoResult => "no_result",
    NoOutput => "no_output",
    Stalled => "stalled",
    Limit => "limit",
    Other => "other",
});
