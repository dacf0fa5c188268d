//! The lifecycle events that the parser emits, in order, for the turns of one process, and the codes
//! of diagnostics.
//!
//! Every event borrows from the parser; [`Event::into_owned`] makes one that outlives it. Text
//! comes as the new piece (`delta`) and, lent, as the whole text so far, so that a long answer
//! costs nothing extra per delta. `parent` is the id of the subagent's tool call; it is `None` on
//! the main thread.
//!
//! An event serialises to `{"kind": …, "data": {…}}`, an entry of the trace's `lifecycle` lane.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::outcome::{Outcome, Usage};
use crate::payload::{Fields, Json, ToolArguments};
use crate::words::words;

/// The kinds of events as they are written, in the order of [`Event`].
pub const EVENT_KINDS: [&str; 20] = [
    "session",
    "text",
    "thinking",
    "retract",
    "tool_input",
    "tool_start",
    "tool_result",
    "usage",
    "notice",
    "record",
    "unknown",
    "diagnostic",
    "question",
    "question_withdrawn",
    "answered",
    "control",
    "request",
    "host_message",
    "heard",
    "outcome",
];

/// One event of a run's lifecycle.
///
/// `T` is the type of the texts so far: a lent `&str`, or [`OmittedText`](crate::OmittedText) in an
/// [`OwnedEvent`](crate::OwnedEvent).
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
    /// More of the answer. The piece includes the blank line that separates it from an earlier
    /// message or from the text before a tool call (rule [T1](crate::rules::T1)).
    Text {
        /// Message the text belongs to; empty when the stream names none.
        message_id: Cow<'a, str>,
        /// The new piece, including the blank line before it, if there is one.
        delta: Cow<'a, str>,
        /// Length of the conversation's text so far in characters, including `delta`.
        length: u64,
        /// The text of the conversation so far, including `delta`.
        #[serde(skip)]
        text: T,
        /// The text of the message so far, without the blank line before it. The piece is the first
        /// of its message if the two are equally long.
        #[serde(skip)]
        message_text: T,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// More of the reasoning, block by block (rule [R1](crate::rules::R1)).
    Thinking {
        /// Message the reasoning belongs to.
        message_id: Cow<'a, str>,
        /// Index of the content block in its message.
        block: u64,
        /// The new piece, including the blank line that separates it from the block before, if
        /// there is one.
        delta: Cow<'a, str>,
        /// Length of the conversation's reasoning so far in characters, including `delta`.
        length: u64,
        /// The reasoning of the conversation so far, including `delta`.
        #[serde(skip)]
        text: T,
        /// The reasoning of the block so far.
        #[serde(skip)]
        block_text: T,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// The CLI has abandoned, superseded or refused a message, so its text, reasoning and calls no
    /// longer count (rule [T7](crate::rules::T7)). Later content follows what is left.
    Retract {
        /// The message.
        message_id: Cow<'a, str>,
        /// Length of the conversation's text that is left, in characters.
        length: u64,
        /// Length of the conversation's reasoning that is left, in characters.
        thinking_length: u64,
        /// Ids of calls whose input was reported ([`Event::ToolInput`]) and that will never start.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        calls: Cow<'a, [String]>,
        /// The text of the conversation that is left.
        #[serde(skip)]
        text: T,
        /// The reasoning of the conversation that is left.
        #[serde(skip)]
        thinking: T,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// More of a call's arguments while they stream (rule [U2](crate::rules::U2)). It comes before
    /// the start of the call; one that comes after it corrects the arguments of the start.
    ToolInput {
        /// Id of the call.
        id: Cow<'a, str>,
        /// Name of the tool.
        name: Cow<'a, str>,
        /// The top-level fields that are new or have changed, with their whole values. The value of
        /// the last field may still be unfinished.
        #[serde(flatten)]
        args: Fields<'a>,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// A tool call with its full arguments; there is one such event for each call (rule
    /// [U1](crate::rules::U1)).
    ToolStart {
        /// Id of the call, trimmed and never empty (rule [U4](crate::rules::U4)).
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
    /// The result of a tool call; there is one such event for each call (rule
    /// [U3](crate::rules::U3)).
    ToolResult {
        /// Id of the call.
        id: Cow<'a, str>,
        /// Name of the tool, from the call's start.
        name: Cow<'a, str>,
        /// True if the tool failed.
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
        /// True if these are the totals of a `result` record.
        #[serde(rename = "final")]
        is_final: bool,
    },
    /// A known record that is neither text nor tool, and that a person may want to know of.
    Notice {
        /// `type` of the record.
        #[serde(rename = "type")]
        kind: Cow<'a, str>,
        /// `subtype` of the record, or of the request in it. For an `assistant` record it is
        /// `api_error` if the CLI made the message up because the API failed (rule
        /// [T6](crate::rules::T6)), and `aborted` if an interrupt cut the message off.
        #[serde(skip_serializing_if = "Option::is_none")]
        subtype: Option<Cow<'a, str>>,
        /// The fields worth showing.
        #[serde(flatten)]
        detail: Cow<'a, Map<String, Value>>,
    },
    /// A recognised record with no event of its own, passed through verbatim.
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
        /// The kind of the problem.
        code: DiagnosticCode,
        /// One sentence, with the start of the offending text.
        message: Cow<'a, str>,
        /// Number of the line on its side, from 1.
        line: u64,
    },
    /// The CLI asks its host before a tool runs (`can_use_tool`): whether it may run, or, for
    /// `AskUserQuestion`, what a person answers. The tool waits for the answer.
    Question {
        /// Id of the request, which an answer must name.
        id: Cow<'a, str>,
        /// Name of the tool.
        name: Cow<'a, str>,
        /// Id of the call that waits: the one that the request names, or else the open call with this name
        /// and input.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<Cow<'a, str>>,
        /// The input of the call.
        input: Json<'a>,
        /// The changes of permissions that the CLI suggests, an array; `null` when there are none.
        suggestions: Json<'a>,
        /// Further fields that a person wants to know of: `description`, `blocked_path`,
        /// `decision_reason`.
        #[serde(flatten)]
        detail: Cow<'a, Map<String, Value>>,
        /// The subagent's tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<Cow<'a, str>>,
    },
    /// Nobody waits for the answer to a question any more: the CLI takes it back
    /// (`control_cancel_request`), or the turn that asked, or the output, has ended.
    QuestionWithdrawn {
        /// Id of the request.
        id: Cow<'a, str>,
    },
    /// The host has answered a question. It is known only when the caller feeds the host's side
    /// ([`Parser::feed_stdin_with`](crate::Parser::feed_stdin_with)); there is one such event for each
    /// question, and an answer that fits no open question is a diagnostic.
    Answered {
        /// Id of the request.
        id: Cow<'a, str>,
        /// The decision.
        decision: Decision,
        /// The sentence for the model with which it was denied.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<Cow<'a, str>>,
        /// The input with which the call runs (`updatedInput`); `null` when there is none.
        input: Json<'a>,
    },
    /// The CLI has answered a request of the host (`control_response`), such as `initialize` or
    /// `interrupt`.
    Control {
        /// Id of the request.
        id: Cow<'a, str>,
        /// `subtype` of the host's request, where the caller feeds the host's side.
        #[serde(skip_serializing_if = "Option::is_none")]
        subtype: Option<Cow<'a, str>>,
        /// The CLI's words when it refused the request.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Cow<'a, str>>,
        /// The fields worth showing, such as `still_queued`.
        #[serde(flatten)]
        detail: Cow<'a, Map<String, Value>>,
    },
    /// The CLI asks its host for something else than a permission (`hook_callback`, `mcp_message`,
    /// `elicitation`, `request_user_dialog`), and waits for the answer.
    Request {
        /// Id of the request.
        id: Cow<'a, str>,
        /// `subtype` of the request.
        subtype: Cow<'a, str>,
        /// The fields worth showing.
        #[serde(flatten)]
        detail: Cow<'a, Map<String, Value>>,
    },
    /// The host has sent a message, or a request such as `interrupt`. It is known only when the
    /// caller feeds the host's side.
    HostMessage {
        /// Its uuid, or the id of the request, where the host gave one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        /// `user` for a message, and the `subtype` of a request.
        #[serde(rename = "type")]
        kind: Cow<'a, str>,
        /// The text of a message.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<Cow<'a, str>>,
    },
    /// The CLI has taken up a message of the host (`user` with `isReplay`).
    Heard {
        /// Its uuid, where the record has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        /// Its text.
        text: Cow<'a, str>,
        /// True if it is folded into a turn that was under way: the CLI takes up further messages together with
        /// the result of a call.
        folded: bool,
    },
    /// The end of a turn, exactly once for each turn. No event of the turn comes after it.
    Outcome(Cow<'a, Outcome>),
}

/// A decision of the host about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// The tool runs.
    Allow,
    /// The tool does not run, and the turn goes on.
    Deny,
    /// The tool does not run, and the turn ends.
    DenyAndInterrupt,
}

words!(Decision {
    Allow => "allow",
    Deny => "deny",
    DenyAndInterrupt => "deny_and_interrupt",
});

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

/// The reason why a call has no result of its own (rule [U3](crate::rules::U3)).
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

/// The subject of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// The line is not one JSON object (nor an array of them).
    NotJson,
    /// The last line has no LF and is not whole JSON: the output was cut.
    CutLine,
    /// The line contained bytes that are not UTF-8; each bad sequence was replaced by U+FFFD.
    #[serde(rename = "invalid-utf8")]
    InvalidUtf8,
    /// The line contained raw control characters in a string, which JSON wants escaped; it was read
    /// as if they were.
    ControlCharacter,
    /// A record lacks a field its type needs, or the field has the wrong shape.
    BadRecord,
    /// A tool call or result has an empty or missing id or name (rule [U4](crate::rules::U4)).
    BadToolId,
    /// A second result for a call that has ended.
    DuplicateResult,
    /// A `result` record says what the record before it says, so it ends no turn.
    RepeatedResult,
    /// A `result` record names only messages of turns that have ended, so it ends no turn.
    LateResult,
    /// The host answers a question that is not open: it is unknown, answered, or withdrawn.
    AnswerWithoutQuestion,
    /// A snapshot's text is not what was streamed of the message.
    TextMismatch,
    /// A snapshot's input is not what was streamed of the call; the snapshot's counts.
    InputDiffers,
    /// The line is longer than [`ParserLimits::line`](crate::ParserLimits::line), so it was not
    /// read.
    LineTooLong,
    /// The run has more lines than [`ParserLimits::records`](crate::ParserLimits::records); the
    /// rest was not read.
    TooManyRecords,
    /// The run has more bytes than [`ParserLimits::bytes`](crate::ParserLimits::bytes); the rest
    /// was not read.
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
    RepeatedResult => "repeated-result",
    LateResult => "late-result",
    AnswerWithoutQuestion => "answer-without-question",
    TextMismatch => "text-mismatch",
    InputDiffers => "input-differs",
    LineTooLong => "line-too-long",
    TooManyRecords => "too-many-records",
    TooManyBytes => "too-many-bytes",
});

/// An event that outlives the parser and contains no text so far.
///
/// A copy of the whole text with each delta would make the cost of a long answer quadratic. Join
/// the deltas instead, and cut the joined text to the length in [`Event::Retract`].
pub type OwnedEvent = Event<'static, OmittedText>;

/// Takes the place of a text so far in an [`OwnedEvent`], because only the parser has that text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedText;

impl<'a, T> Event<'a, T> {
    /// Leaves the texts so far out, without a copy: it can be compared with an [`OwnedEvent`].
    pub fn without_texts(self) -> Event<'a, OmittedText> {
        use Event as E;
        let (text, other) = (OmittedText, OmittedText);
        match self {
            E::Session { session_id, model, cli_version } => {
                E::Session { session_id, model, cli_version }
            }
            E::Text { message_id, delta, length, parent, .. } => {
                E::Text { message_id, delta, length, text, message_text: other, parent }
            }
            E::Thinking { message_id, block, delta, length, parent, .. } => {
                E::Thinking { message_id, block, delta, length, text, block_text: other, parent }
            }
            E::Retract { message_id, length, thinking_length, calls, parent, .. } => {
                let thinking = other;
                E::Retract { message_id, length, thinking_length, calls, text, thinking, parent }
            }
            E::ToolInput { id, name, args, parent } => E::ToolInput { id, name, args, parent },
            E::ToolStart { id, name, kind, args, parent } => {
                E::ToolStart { id, name, kind, args, parent }
            }
            E::ToolResult { id, name, is_error, result, incomplete, parent } => {
                E::ToolResult { id, name, is_error, result, incomplete, parent }
            }
            E::Usage { usage, is_final } => E::Usage { usage, is_final },
            E::Notice { kind, subtype, detail } => E::Notice { kind, subtype, detail },
            E::Record { kind, subtype, raw } => E::Record { kind, subtype, raw },
            E::Unknown { kind, subtype, raw } => E::Unknown { kind, subtype, raw },
            E::Diagnostic { code, message, line } => E::Diagnostic { code, message, line },
            E::Question { id, name, call, input, suggestions, detail, parent } => {
                E::Question { id, name, call, input, suggestions, detail, parent }
            }
            E::QuestionWithdrawn { id } => E::QuestionWithdrawn { id },
            E::Answered { id, decision, message, input } => {
                E::Answered { id, decision, message, input }
            }
            E::Control { id, subtype, error, detail } => E::Control { id, subtype, error, detail },
            E::Request { id, subtype, detail } => E::Request { id, subtype, detail },
            E::HostMessage { id, kind, text } => E::HostMessage { id, kind, text },
            E::Heard { id, text, folded } => E::Heard { id, text, folded },
            E::Outcome(outcome) => E::Outcome(outcome),
        }
    }
}

impl<T> Event<'_, T> {
    /// Copies the event so that it outlives the parser, without the texts so far.
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
            E::Question { id, name, call, input, suggestions, detail, parent } => E::Question {
                id: own(id),
                name: own(name),
                call: call.map(own),
                input: input.into_owned(),
                suggestions: suggestions.into_owned(),
                detail: own(detail),
                parent: parent.map(own),
            },
            E::QuestionWithdrawn { id } => E::QuestionWithdrawn { id: own(id) },
            E::Answered { id, decision, message, input } => E::Answered {
                id: own(id),
                decision,
                message: message.map(own),
                input: input.into_owned(),
            },
            E::Control { id, subtype, error, detail } => E::Control {
                id: own(id),
                subtype: subtype.map(own),
                error: error.map(own),
                detail: own(detail),
            },
            E::Request { id, subtype, detail } => {
                E::Request { id: own(id), subtype: own(subtype), detail: own(detail) }
            }
            E::HostMessage { id, kind, text } => {
                E::HostMessage { id: id.map(own), kind: own(kind), text: text.map(own) }
            }
            E::Heard { id, text, folded } => E::Heard { id: id.map(own), text: own(text), folded },
            E::Outcome(outcome) => E::Outcome(own(outcome)),
        }
    }
}

fn own<T: ToOwned + ?Sized + 'static>(value: Cow<'_, T>) -> Cow<'static, T> {
    Cow::Owned(value.into_owned())
}
