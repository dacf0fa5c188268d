//! The lifecycle events that the parser emits, in order, for the turns of one process.
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

use crate::diagnostic::DiagnosticCode;
use crate::fields::Fields;
use crate::outcome::{Outcome, Usage};
use crate::payload::{Json, ToolArguments};
use crate::words::words;

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
