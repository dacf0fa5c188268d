//! The lifecycle events: what the parser tells, in order, of one run.
//!
//! Every event borrows from the parser; [`Event::into_owned`] makes one that outlives it. Texts
//! come as the new piece (`delta`) and, lent, as the whole so far, so that a long answer costs
//! nothing extra per delta. `parent` is the id of the subagent's tool call; it is `None` on the
//! main thread.
//!
//! An event serialises to `{"kind": …, "data": {…}}`: an entry of the trace's `lifecycle` lane.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::fields::Fields;
use crate::outcome::{Outcome, Usage};
use crate::payload::{Json, ToolArguments};
use crate::words::words;

/// One event of a run's lifecycle.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<'a, T = &'a str> {
    /// The session id was seen for the first time, or it, the model or the version has changed.
    Session {
        /// The id as the CLI prints it.
        session_id: Cow<'a, str>,
        /// Model of the session, where `init` names one.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Cow<'a, str>>,
        /// Version of the CLI, where `init` names one (2.0.70 and later).
        #[serde(skip_serializing_if = "Option::is_none")]
        cli_version: Option<Cow<'a, str>>,
    },
    /// More of the answer (T1).
    Text {
        /// Message the text belongs to; empty when the stream names none.
        message_id: Cow<'a, str>,
        /// The new piece, with the blank line that parts it from what came before, if any.
        delta: Cow<'a, str>,
        /// Characters of the lane's text so far, `delta` included.
        length: u64,
        /// The text of this conversation so far, `delta` included.
        #[serde(skip)]
        text: T,
        /// The text of this message so far, without the blank line before it. The piece is the
        /// first of its message if the two are equally long.
        #[serde(skip)]
        message_text: T,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// More of the reasoning (R1).
    Thinking {
        /// Message the reasoning belongs to.
        message_id: Cow<'a, str>,
        /// Index of the content block in its message.
        block: u64,
        /// The new piece, with the blank line that parts it from the block before, if any.
        delta: Cow<'a, str>,
        /// Characters of the lane's reasoning so far, `delta` included.
        length: u64,
        /// The reasoning of this conversation so far, `delta` included.
        #[serde(skip)]
        text: T,
        /// The reasoning of this block so far.
        #[serde(skip)]
        block_text: T,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// What was told of a message does not count any more: the CLI has abandoned, superseded or
    /// refused it. What comes later goes after what is left.
    Retract {
        /// The message.
        message_id: Cow<'a, str>,
        /// Characters of the lane's text that are left.
        length: u64,
        /// Characters of the lane's reasoning that are left.
        thinking_length: u64,
        /// Calls whose input was told ([`Event::ToolInput`]) and that will never start.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        calls: Cow<'a, [String]>,
        /// The text of this conversation that is left.
        #[serde(skip)]
        text: T,
        /// The reasoning of this conversation that is left.
        #[serde(skip)]
        thinking: T,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// More of a call's arguments, while they stream (U2). It comes before the call's start; one
    /// that comes after it corrects the arguments that the start told.
    ToolInput {
        /// Id of the call.
        id: Cow<'a, str>,
        /// Name of the tool.
        name: Cow<'a, str>,
        /// The top-level fields that are new or have changed, whole; of one that is open, what
        /// came of it so far.
        #[serde(flatten)]
        args: Fields<'a>,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// A tool call with its full arguments, once a call (U1).
    ToolStart {
        /// Id of the call, trimmed, never empty (U4).
        id: Cow<'a, str>,
        /// Name of the tool, trimmed, never empty.
        name: Cow<'a, str>,
        /// Which of the block types announced it.
        #[serde(rename = "type")]
        kind: ToolKind,
        /// The arguments.
        #[serde(flatten)]
        args: ToolArguments<'a>,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// The result of a tool call, once a call (U3).
    ToolResult {
        /// Id of the call.
        id: Cow<'a, str>,
        /// Name of the tool, from the call's start.
        name: Cow<'a, str>,
        /// Whether the tool failed.
        is_error: bool,
        /// The result's content as it came; `null` when there is none.
        result: Json<'a>,
        /// Set when the run ended before a result came.
        #[serde(skip_serializing_if = "Option::is_none")]
        incomplete: Option<Incomplete>,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// Tokens used: by one message, or (`is_final`) by the turn. Never a sum over snapshots.
    Usage {
        /// The counts.
        #[serde(flatten)]
        usage: Usage,
        /// Whether these are the totals of a `result` record.
        #[serde(rename = "final")]
        is_final: bool,
    },
    /// A known record that is neither text nor tool, and that a person may want to know of.
    Notice {
        /// `type` of the record.
        #[serde(rename = "type")]
        kind: Cow<'a, str>,
        /// `subtype` of the record, or of the request in it; of an `assistant` record `api_error`
        /// for the message the CLI makes up when the API fails (T6), `aborted` for one that an
        /// interrupt cut off.
        #[serde(skip_serializing_if = "Option::is_none")]
        subtype: Option<Cow<'a, str>>,
        /// The fields worth showing.
        #[serde(flatten)]
        detail: Cow<'a, Map<String, Value>>,
    },
    /// A known record of which nothing needs telling, passed through.
    Record {
        /// `type` of the record.
        #[serde(rename = "type")]
        kind: Cow<'a, str>,
        /// `subtype` of the record, or of the request in it.
        #[serde(skip_serializing_if = "Option::is_none")]
        subtype: Option<Cow<'a, str>>,
        /// The raw JSON.
        raw: Cow<'a, str>,
    },
    /// A record, block or delta of a type the parser does not know, kept whole.
    Unknown {
        /// `type` of the record, or `type/inner type` of a block or delta.
        #[serde(rename = "type")]
        kind: Cow<'a, str>,
        /// `subtype` of the record.
        #[serde(skip_serializing_if = "Option::is_none")]
        subtype: Option<Cow<'a, str>>,
        /// The raw JSON.
        raw: Cow<'a, str>,
    },
    /// A line, or a part of one, that could not be used. The stream goes on.
    Diagnostic {
        /// What is wrong.
        code: DiagnosticCode,
        /// One sentence, with the start of the offending text.
        message: Cow<'a, str>,
        /// Number of the line, from 1.
        line: u64,
    },
    /// The end of the run; always the last event, exactly once.
    Outcome(Cow<'a, Outcome>),
}

/// An event that outlives the parser and has no text so far.
///
/// To copy the whole text with each delta would make a long answer cost the square of its length.
/// Join the deltas instead, and cut what is joined to the length that [`Event::Retract`] states.
pub type OwnedEvent = Event<'static, OmittedText>;

/// Takes the place of a text so far in an [`OwnedEvent`], which has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedText;

impl<T> Event<'_, T> {
    /// The same event without the texts so far, which only the parser has. It outlives the parser.
    pub fn into_owned(self) -> OwnedEvent {
        use Event as E;
        match self {
            E::Session { session_id, model, cli_version } => E::Session {
                session_id: own(session_id),
                model: model.map(own),
                cli_version: cli_version.map(own),
            },
            E::Text { message_id, delta, length, parent, .. } => E::Text {
                message_id: own(message_id),
                delta: own(delta),
                length,
                text: OmittedText,
                message_text: OmittedText,
                parent: parent.map(own),
            },
            E::Thinking { message_id, block, delta, length, parent, .. } => E::Thinking {
                message_id: own(message_id),
                block,
                delta: own(delta),
                length,
                text: OmittedText,
                block_text: OmittedText,
                parent: parent.map(own),
            },
            E::Retract { message_id, length, thinking_length, calls, parent, .. } => E::Retract {
                message_id: own(message_id),
                length,
                thinking_length,
                calls: own(calls),
                text: OmittedText,
                thinking: OmittedText,
                parent: parent.map(own),
            },
            E::ToolInput { id, name, args, parent } => E::ToolInput {
                id: own(id),
                name: own(name),
                args: args.into_owned(),
                parent: parent.map(own),
            },
            E::ToolStart { id, name, kind, args, parent } => E::ToolStart {
                id: own(id),
                name: own(name),
                kind,
                args: args.into_owned(),
                parent: parent.map(own),
            },
            E::ToolResult { id, name, is_error, result, incomplete, parent } => E::ToolResult {
                id: own(id),
                name: own(name),
                is_error,
                result: result.into_owned(),
                incomplete,
                parent: parent.map(own),
            },
            E::Usage { usage, is_final } => E::Usage { usage, is_final },
            E::Notice { kind, subtype, detail } => {
                E::Notice { kind: own(kind), subtype: subtype.map(own), detail: own(detail) }
            }
            E::Record { kind, subtype, raw } => {
                E::Record { kind: own(kind), subtype: subtype.map(own), raw: own(raw) }
            }
            E::Unknown { kind, subtype, raw } => {
                E::Unknown { kind: own(kind), subtype: subtype.map(own), raw: own(raw) }
            }
            E::Diagnostic { code, message, line } => {
                E::Diagnostic { code, message: own(message), line }
            }
            E::Outcome(outcome) => E::Outcome(own(outcome)),
        }
    }
}

fn own<T: ToOwned + ?Sized + 'static>(value: Cow<'_, T>) -> Cow<'static, T> {
    Cow::Owned(value.into_owned())
}

/// The block types that call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// A tool the CLI runs.
    ToolUse,
    /// A tool the API runs.
    ServerToolUse,
    /// A tool of an MCP server that the API calls.
    McpToolUse,
}

words!(ToolKind {
    ToolUse => "tool_use",
    ServerToolUse => "server_tool_use",
    McpToolUse => "mcp_tool_use",
});

/// Why a call has no result of its own (U3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Incomplete {
    /// The CLI ran the tool; the run ended, or the call was given up, before it answered.
    Incomplete,
    /// The API ran the tool; whether it took effect is not known.
    Ambiguous,
}

words!(Incomplete {
    Incomplete => "incomplete",
    Ambiguous => "ambiguous",
});

/// What a diagnostic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// The line is not one JSON object (nor an array of them).
    NotJson,
    /// The last line has no LF and is not whole JSON: the output was cut.
    CutLine,
    /// The line held bytes that are not UTF-8; each bad sequence was replaced by U+FFFD.
    #[serde(rename = "invalid-utf8")]
    InvalidUtf8,
    /// The line held control characters in a string, which JSON wants escaped; it was read all the
    /// same.
    ControlCharacter,
    /// A record lacks a field its type needs, or the field has the wrong shape.
    BadRecord,
    /// A tool call or result has an empty or missing id or name (U4).
    BadToolId,
    /// A second result for a call that has ended.
    DuplicateResult,
    /// A snapshot's text is not what was streamed of the message.
    TextMismatch,
    /// A snapshot's input is not what was streamed of the call; the snapshot's counts.
    InputDiffers,
    /// The line is longer than [`Limits::line`](crate::Limits); nothing of it was read.
    LineTooLong,
    /// The run has more lines than [`Limits::records`](crate::Limits); the rest was not read.
    TooManyRecords,
    /// The run has more bytes than [`Limits::bytes`](crate::Limits); the rest was not read.
    TooManyBytes,
}

words!(DiagnosticCode {
    NotJson => "not-json",
    CutLine => "cut-line",
    InvalidUtf8 => "invalid-utf8",
    ControlCharacter => "control-character",
    BadRecord => "bad-record",
    BadToolId => "bad-tool-id",
    DuplicateResult => "duplicate-result",
    TextMismatch => "text-mismatch",
    InputDiffers => "input-differs",
    LineTooLong => "line-too-long",
    TooManyRecords => "too-many-records",
    TooManyBytes => "too-many-bytes",
});
