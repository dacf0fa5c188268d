//! The kind of failure that a result reports, and sentences for failures without a text by the CLI.

use crate::outcome::FailureKind;
use crate::result_record::ResultRecord;
use crate::snapshot::API_ERROR;
use crate::stream::MessageEnd;

/// Kinds of failure by the `subtype`, `terminal_reason` or `stop_reason` of a result.
const KINDS: [(&str, FailureKind); 11] = [
    ("error_max_turns", FailureKind::MaxTurns),
    ("max_turns", FailureKind::MaxTurns),
    ("error_max_budget_usd", FailureKind::MaxBudget),
    ("budget_exhausted", FailureKind::MaxBudget),
    ("aborted_tools", FailureKind::Interrupted),
    ("aborted_streaming", FailureKind::Interrupted),
    ("hook_stopped", FailureKind::Stopped),
    ("stop_hook_prevented", FailureKind::Stopped),
    ("prompt_too_long", FailureKind::BadRequest),
    ("max_output_tokens", FailureKind::MaxTokens),
    ("refusal", FailureKind::Refusal),
];

/// Kinds of failure by phrases in the error text of the CLI, in lower case.
const WORDS: [(&str, FailureKind); 14] = [
    ("violate our usage policy", FailureKind::Refusal),
    ("output token maximum", FailureKind::MaxTokens),
    ("credit balance", FailureKind::Billing),
    ("out of credit", FailureKind::Billing),
    ("usage limit", FailureKind::Billing),
    ("run /login", FailureKind::Auth),
    ("invalid api key", FailureKind::Auth),
    ("authentication_error", FailureKind::Auth),
    ("overloaded", FailureKind::Overloaded),
    ("rate limit", FailureKind::Overloaded),
    ("rate_limit", FailureKind::Overloaded),
    ("internal server error", FailureKind::Overloaded),
    ("prompt is too long", FailureKind::BadRequest),
    ("invalid_request_error", FailureKind::BadRequest),
];

/// Kinds of failure by the HTTP status of the API; each row applies up to and including its number.
const STATUSES: [(u64, FailureKind); 7] = [
    (400, FailureKind::BadRequest),
    (401, FailureKind::Auth),
    (402, FailureKind::Billing),
    (403, FailureKind::Auth),
    (428, FailureKind::BadRequest),
    (429, FailureKind::Overloaded),
    (599, FailureKind::Overloaded),
];

/// Facts about a turn that are not in its result record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnState {
    /// The reason why the last message of the turn ended.
    pub(crate) stop: MessageEnd,
    /// A person interrupted the turn.
    pub(crate) interrupted: bool,
    /// The API answered with an error.
    pub(crate) api_error: bool,
}

/// Returns the kind of failure that a result reports, or `None` if it reports success.
pub(crate) fn kind(record: &ResultRecord, turn: TurnState) -> Option<FailureKind> {
    let named = record.named.as_deref().unwrap_or_default();
    let listed = [&record.subtype, &record.reason, &record.stop_reason]
        .into_iter()
        .find_map(|word| KINDS.iter().find(|(known, _)| known == word));
    let worded = || {
        let words = named.to_lowercase();
        WORDS.iter().find(|(known, _)| record.failed && words.contains(known))
    };
    let api = record.api_status.is_some()
        || record.reason == "api_error"
        || named.starts_with(API_ERROR)
        || turn.api_error;
    listed
        .map(|(_, kind)| *kind)
        .or(match turn.stop {
            MessageEnd::Refusal => Some(FailureKind::Refusal),
            MessageEnd::MaxTokens if record.failed => Some(FailureKind::MaxTokens),
            MessageEnd::MaxTokens | MessageEnd::Done => None,
        })
        .or_else(|| worded().map(|(_, kind)| *kind))
        .or_else(|| turn.interrupted.then_some(FailureKind::Interrupted))
        .or_else(|| api.then(|| of_status(record.api_status)))
        .or((record.subtype == "error_during_execution").then_some(FailureKind::Execution))
}

/// Returns the kind of failure for the HTTP status of an API error.
fn of_status(status: Option<u64>) -> FailureKind {
    let known = |status: u64| STATUSES.iter().find(|(up_to, _)| status <= *up_to);
    status
        .filter(|status| *status >= 400)
        .and_then(known)
        .map_or(FailureKind::Api, |(_, kind)| *kind)
}

/// Message for a run without output.
pub(crate) const SILENT: &str =
    "The CLI printed nothing; see its exit code and what it wrote to stderr.";
/// Message for an interrupted turn.
pub(crate) const INTERRUPTED: &str =
    "The turn was interrupted before it was done; send a message to go on from here.";
/// Message for output without an end.
pub(crate) const CUT_OFF: &str = "The output ended without a result, so the answer may be cut \
                                  off; send a message to go on.";

/// Returns the message for a failure about which the CLI printed no text.
pub(crate) fn sentence(kind: FailureKind, record: &ResultRecord) -> String {
    let ResultRecord { subtype, reason, stop_reason, .. } = record;
    match kind {
        FailureKind::MaxTurns => {
            "The limit of turns was reached; raise it or ask again.".to_owned()
        }
        FailureKind::MaxBudget => "The budget was used up; raise it or ask again.".to_owned(),
        FailureKind::Interrupted => INTERRUPTED.to_owned(),
        FailureKind::Refusal => {
            "The model declined to answer; put the request in other words.".to_owned()
        }
        FailureKind::MaxTokens => {
            "The answer is longer than the model may write; ask for it in parts.".to_owned()
        }
        FailureKind::Stopped => {
            let stop = if stop_reason.is_empty() { "none" } else { stop_reason };
            format!(
                "The turn was stopped before it was done (terminal_reason: {reason}, \
                 stop_reason: {stop}); ask again to go on."
            )
        }
        _ if subtype.is_empty() => "The CLI marked its result as an error.".to_owned(),
        _ => format!("The CLI ended the turn with the result {subtype} and gave no reason."),
    }
}
