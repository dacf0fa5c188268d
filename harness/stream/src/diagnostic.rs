//! The codes of diagnostics: what is wrong with a line, a record or a call.

use serde::Serialize;

use crate::words::words;

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
    /// A `result` record repeats the record before it byte for byte, so it ends no turn.
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
