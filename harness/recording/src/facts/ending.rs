//! Reads how a turn ended: from its result, and from what came before it.

use serde_json::Value;

use super::json::{self, string, text};
use super::model::{RecordedFailure, RecordedTurn};
use super::reasoning::without_reasoning;

/// The origins of messages that wait for an answer: of a person, a chat, or another session.
const ANSWERED: [&str; 3] = ["human", "channel", "peer"];
/// The reason of turns in which the model declined to answer.
pub(super) const REFUSAL: &str = "refusal";
/// The reasons of turns that a person interrupted.
const INTERRUPTED: [&str; 2] = ["aborted_tools", "aborted_streaming"];
/// The names that a result gives where they say nothing about a failure.
const NO_REASONS: [&str; 8] = [
    "",
    "success",
    "error_during_execution",
    "completed",
    "api_error",
    "end_turn",
    "stop_sequence",
    "tool_use",
];
/// The text that old CLIs write in place of an empty one.
pub(super) const NO_CONTENT: &str = "(no content)";
/// How the CLI begins an error that is a note for its developers.
const NOTE: &str = "[ede_diagnostic]";

/// The parts of a turn on which its end depends beside the result.
#[derive(Debug, Default)]
pub(super) struct BeforeResult {
    /// Whether the main conversation has a text.
    pub(super) said: bool,
    /// Whether it has calls of tools.
    pub(super) has_calls: bool,
    /// Whether a person interrupted it.
    pub(super) is_interrupted: bool,
    /// Whether the model declined to go on in its last message.
    pub(super) is_refused: bool,
    /// The words of the last message in which the CLI reports an error.
    pub(super) words: Option<String>,
}

/// The kind of an `origin` whose turn answers no message of a person.
pub(super) fn answers_nobody(origin: &Value) -> Option<String> {
    text(&origin["kind"]).filter(|kind| !ANSWERED.contains(kind)).map(str::to_owned)
}

/// Reads a result.
pub(super) fn turn_of(record: &Value, before: &BeforeResult) -> RecordedTurn {
    let said = string(&record["result"]).trim().to_owned();
    let has_failed = record["is_error"] == true
        || string(&record["subtype"]).starts_with("error_")
        || record["status"] == "error";
    let is_refused = record["stop_reason"] == REFUSAL;
    let is_stopped = said.is_empty() && record["terminal_reason"] == "hook_stopped";
    let is_failure = match () {
        () if has_failed || is_refused || is_stopped => Some(true),
        () if !said.is_empty() => Some(false),
        () if record["terminal_reason"] == "completed" => Some(false),
        () => None,
    };
    let names = ["subtype", "terminal_reason", "stop_reason"].map(|field| string(&record[field]));
    let reason = names.into_iter().find(|name| !NO_REASONS.contains(name));
    let reason = reason.or(before.is_refused.then_some(REFUSAL));
    let is_interrupted = reason.is_some_and(|reason| INTERRUPTED.contains(&reason))
        || reason.is_none() && before.is_interrupted;
    let is_of_api =
        record["terminal_reason"] == "api_error" || !record["api_error_status"].is_null();
    let answer = answer_of(record);
    let has_answer = before.said || !answer.is_empty();
    let is_empty = !has_answer
        && (reason.is_some()
            || is_of_api
            || before.is_interrupted
            || before.words.is_some() && !before.has_calls);
    let failure = (has_failed || is_refused || is_empty).then(|| match is_interrupted {
        true => RecordedFailure::Interrupted,
        false => {
            let own = words(record).filter(|_| has_failed).or_else(|| before.words.clone());
            let name = reason.or(names.into_iter().find(|name| !["", "success"].contains(name)));
            RecordedFailure::Failed(own.unwrap_or_else(|| name.unwrap_or("is_error").to_owned()))
        }
    });
    RecordedTurn {
        is_failure,
        answer,
        text: said,
        failure,
        origin: answers_nobody(&record["origin"]),
    }
}

/// The text of a result for a person. It may itself be the line of a result, and begin with reasoning.
fn answer_of(record: &Value) -> String {
    let result = text(&record["result"]).filter(|text| *text != NO_CONTENT).unwrap_or_default();
    let is_result = |inner: &Value| inner["type"] == "result" && inner["result"].is_string();
    let inner = json::record(result.as_bytes()).filter(is_result);
    match inner {
        Some(inner) => answer_of(&inner),
        None => without_reasoning(result).trim().to_owned(),
    }
}

/// The words of the CLI about a failure.
fn words(record: &Value) -> Option<String> {
    let errors = record["errors"].as_array().into_iter().flatten();
    let named = errors.filter_map(text).find(|error| !error.starts_with(NOTE));
    let fields = ["/result", "/message", "/content", "/error", "/error/message"];
    let others = || fields.iter().find_map(|path| text(record.pointer(path)?));
    named.or_else(others).map(without_json)
}

/// A text with the message inside its JSON in place of the JSON.
fn without_json(words: &str) -> String {
    let json = words.find('{').map(|at| words.split_at(at));
    let inner = json.and_then(|(before, json)| {
        let value: Value = serde_json::from_str(json).ok()?;
        let paths = ["/error/message", "/message", "/error"];
        let message = paths.iter().find_map(|path| value.pointer(path)?.as_str())?;
        Some(format!("{before}{message}"))
    });
    inner.unwrap_or_else(|| words.to_owned())
}
