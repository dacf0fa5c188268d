//! The lifecycle events: what the parser tells, in order, of one run.
//!
//! Every event borrows from the parser; a listener that keeps one copies what it needs. Texts come
//! as the new piece (`delta`) and as the whole so far (`text`), the latter a borrowed slice, so
//! that a long answer costs nothing extra per delta. `parent` is the id of the subagent's tool
//! call; it is `None` on the main thread.

use serde_json::{Map, Value};

/// One event of a run's lifecycle.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The session id was seen for the first time, or has changed.
    Session {
        /// The id as the CLI prints it.
        session_id: &'a str,
        /// Model of the session, where `init` names one.
        model: Option<&'a str>,
        /// Version of the CLI, where `init` names one (2.0.70 and later).
        cli_version: Option<&'a str>,
    },
    /// More of the answer (T1).
    Text {
        /// Message the text belongs to; empty when the stream names none.
        message_id: &'a str,
        /// The new piece, with the blank line that parts it from what came before, if any.
        delta: &'a str,
        /// The text of this lane so far, `delta` included.
        text: &'a str,
        /// The subagent's tool call.
        parent: Option<&'a str>,
    },
    /// More of the reasoning (R1).
    Thinking {
        /// Message the reasoning belongs to.
        message_id: &'a str,
        /// Index of the content block in its message.
        block: u64,
        /// The new piece, with the blank line that parts it from the block before, if any.
        delta: &'a str,
        /// The reasoning of this lane so far, `delta` included.
        text: &'a str,
        /// The subagent's tool call.
        parent: Option<&'a str>,
    },
    /// A tool call with its full arguments, once a call (U1).
    ToolStart {
        /// Id of the call, trimmed, never empty (U4).
        id: &'a str,
        /// Name of the tool, trimmed, never empty.
        name: &'a str,
        /// Which of the block types announced it.
        kind: ToolKind,
        /// The arguments.
        args: Args<'a>,
        /// The subagent's tool call.
        parent: Option<&'a str>,
    },
    /// The result of a tool call, once a call (U3).
    ToolResult {
        /// Id of the call.
        id: &'a str,
        /// Name of the tool, from the call's start.
        name: &'a str,
        /// Whether the tool failed.
        is_error: bool,
        /// The result's content as it came; `Null` when there is none.
        result: &'a Value,
        /// Set when the run ended before a result came.
        incomplete: Option<Incomplete>,
        /// The subagent's tool call.
        parent: Option<&'a str>,
    },
    /// Tokens used: by one message, or (`is_final`) by the turn.
    Usage {
        /// The counts.
        usage: Usage,
        /// Whether these are the totals of a `result` record.
        is_final: bool,
    },
    /// A known record that is neither text nor tool, and that a person may want to know of.
    Notice {
        /// `type` of the record.
        kind: &'a str,
        /// `subtype` of the record, or of the request in it; `api_error` for the message the CLI
        /// makes up when the API fails (`kind` is then `assistant`, T6).
        subtype: Option<&'a str>,
        /// The fields worth showing.
        detail: &'a Map<String, Value>,
    },
    /// A record, block or delta of a type the parser does not know, kept whole.
    Unknown {
        /// `type` of the record, or `type/inner type` of a block or delta.
        kind: &'a str,
        /// `subtype` of the record.
        subtype: Option<&'a str>,
        /// The raw JSON.
        raw: &'a str,
    },
    /// A line, or a part of one, that could not be used. The stream goes on.
    Diagnostic {
        /// What is wrong.
        code: DiagnosticCode,
        /// One sentence, with the start of the offending text.
        message: &'a str,
        /// Number of the line, from 1.
        line: u64,
    },
    /// The end of the run; always the last event, exactly once.
    Outcome(&'a Outcome),
}

/// The block types that call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// A tool the CLI runs.
    ToolUse,
    /// A tool the API runs.
    ServerToolUse,
    /// A tool of an MCP server that the API calls.
    McpToolUse,
}

impl ToolKind {
    /// The block's `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolUse => "tool_use",
            Self::ServerToolUse => "server_tool_use",
            Self::McpToolUse => "mcp_tool_use",
        }
    }
}

/// Arguments of a tool call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Args<'a> {
    /// The whole input, an object in nearly every case.
    Complete(&'a Value),
    /// The input never became valid JSON; this is its raw text (U1: never `{}`).
    Truncated(&'a str),
}

/// Why a call has no result of its own (U3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// The CLI ran the tool; the run ended before it answered.
    Incomplete,
    /// The API ran the tool; whether it took effect is not known.
    Ambiguous,
}

impl Incomplete {
    /// The word the trace prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// What a diagnostic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// The line is not one JSON object (nor an array of them).
    NotJson,
    /// The last line has no LF and is not whole JSON: the output was cut.
    CutLine,
    /// The line held bytes that are not UTF-8; each was replaced by U+FFFD.
    InvalidUtf8,
    /// A record lacks a field its type needs, or the field has the wrong shape.
    BadRecord,
    /// A tool call or result has an empty or missing id or name (U4).
    BadToolId,
    /// A second result for a call that has ended.
    DuplicateResult,
    /// A snapshot's text is not what was streamed of the message.
    TextMismatch,
}

impl DiagnosticCode {
    /// The word the trace prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not-json",
            Self::CutLine => "cut-line",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::BadRecord => "bad-record",
            Self::BadToolId => "bad-tool-id",
            Self::DuplicateResult => "duplicate-result",
            Self::TextMismatch => "text-mismatch",
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Ok, failed, or cut off.
    pub status: Status,
    /// The final text (T2); what was streamed, when the run was cut off (T5) or failed. The text
    /// of an API error is never in it, only in `error` (T6).
    pub text: String,
    /// Why it is not ok.
    pub error: Option<Failure>,
    /// The last session id seen.
    pub session_id: Option<String>,
    /// The turn's totals.
    pub usage: Option<Usage>,
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A `result` record said success.
    Ok,
    /// A `result` record said failure.
    Error,
    /// The bytes ended without a `result` record (T5).
    Incomplete,
}

impl Status {
    /// The word the trace prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A closed set of kinds.
    pub kind: FailureKind,
    /// The CLI's own words where it gave any, else a sentence.
    pub message: String,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The model's API answered with an error.
    Api,
    /// The limit of turns was reached.
    MaxTurns,
    /// The budget was used up.
    MaxBudget,
    /// A hook, an interrupt or an abort ended the turn.
    Stopped,
    /// The CLI reported an error during execution.
    Execution,
    /// The output ended without a result.
    NoResult,
    /// A failure that fits none of the others.
    Other,
}

impl FailureKind {
    /// The word the trace prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::MaxTurns => "max_turns",
            Self::MaxBudget => "max_budget",
            Self::Stopped => "stopped",
            Self::Execution => "execution",
            Self::NoResult => "no_result",
            Self::Other => "other",
        }
    }
}
