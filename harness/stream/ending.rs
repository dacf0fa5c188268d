//! `result` records and the end of the run: final text (T2), failures, what is missing (T5).

use serde_json::Value;

use crate::answer::Answer;
use crate::json::{self, Field};
use crate::lead;
use crate::outcome::{Failure, FailureKind, Outcome, Status, Usage};
use crate::snapshot::API_ERROR;
use crate::stream::{Stop, counted};
use crate::value;

/// Levels of results printed as the text of results that are unwrapped.
const NESTED: usize = 8;

/// Kinds of failure by the `subtype` or the `terminal_reason` of a result.
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

/// Kinds of failure by what the CLI says, in any case, of what went wrong.
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

/// Kinds of failure by the status of the API's answer, up to and with the first number.
const STATUSES: [(u64, FailureKind); 7] = [
    (400, FailureKind::BadRequest),
    (401, FailureKind::Auth),
    (402, FailureKind::Billing),
    (403, FailureKind::Auth),
    (428, FailureKind::BadRequest),
    (429, FailureKind::Overloaded),
    (599, FailureKind::Overloaded),
];

/// One `result` record, read.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) failed: bool,
    pub(crate) usage: Option<Usage>,
    text: String,
    subtype: String,
    /// `terminal_reason`.
    reason: String,
    stop_reason: String,
    /// `api_error_status`, or the number that the text gives.
    api_status: Option<u64>,
    /// The first error named that is not a note of the CLI to itself.
    named: Option<String>,
}

impl Verdict {
    pub(crate) fn read(record: &str) -> Self {
        let names = [
            "subtype",
            "is_error",
            "status",
            "result",
            "errors",
            "error",
            "message",
            "content",
            "usage",
            "terminal_reason",
            "stop_reason",
            "api_error_status",
        ];
        let found = pick(record, &names);
        let [subtype, is_error, status, result, errors, error, message, content, ..] = found;
        let [.., usage, reason, stop_reason, api_status] = found;
        let word = |field| json::word(field).unwrap_or_default().into_owned();
        let subtype = word(subtype);
        let failed = json::is_true(is_error)
            || subtype.starts_with("error_")
            || json::string(status).is_some_and(|status| status == "error");
        let text = unwrap(&json::string(result).unwrap_or_default());
        let [nested] = json::inner(error, &["message"]);
        let errors = errors.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
        let named = errors
            .into_iter()
            .filter_map(|raw| json::word(Some(raw)))
            .find(|text| !text.starts_with("[ede_diagnostic]"))
            .map(|text| text.into_owned())
            .or_else(|| Some(text.clone()).filter(|text| !text.is_empty()))
            .or_else(|| {
                [message, content, error, nested]
                    .into_iter()
                    .find_map(|field| json::word(field).map(|text| text.into_owned()))
            });
        Self {
            failed,
            usage: usage.map(|counts| counted(Some(counts), Usage::default())),
            subtype,
            reason: word(reason),
            stop_reason: word(stop_reason),
            api_status: api_status
                .map(|raw| json::count(Some(raw)))
                .or_else(|| named_status(&text)),
            named: named.map(|text| plain(&text)),
            text,
        }
    }
}

/// The status that an API error's text begins with.
fn named_status(text: &str) -> Option<u64> {
    let number = text.strip_prefix(API_ERROR)?.trim_start_matches([':', ' ']);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn of_status(status: Option<u64>) -> FailureKind {
    let known = |status: u64| STATUSES.iter().find(|(up_to, _)| status <= *up_to);
    status
        .filter(|status| *status >= 400)
        .and_then(known)
        .map_or(FailureKind::Api, |(_, kind)| *kind)
}

fn pick<'a, const N: usize>(record: &'a str, names: &[&str; N]) -> [Field<'a>; N] {
    json::fields(record, names).unwrap_or([None; N])
}

/// The text of a result; where it is a whole result record itself, that one's, up to eight times.
fn unwrap(text: &str) -> String {
    let mut text = lead::visible(text.trim()).trim().to_owned();
    for _ in 0..NESTED {
        let nested =
            if text.starts_with('{') { pick(&text, &["type", "result"]) } else { [None; 2] };
        let is_result = json::string(nested[0]).is_some_and(|kind| kind == "result");
        match json::string(nested[1]).filter(|_| is_result) {
            Some(inner) => text = inner.trim().to_owned(),
            None => break,
        }
    }
    text
}

/// An error's text with the JSON in it replaced by the message that JSON carries.
fn plain(text: &str) -> String {
    let json = text.find('{').map(|at| text.split_at(at));
    let Some((before, Ok(value))) = json.map(|(a, b)| (a, value::lenient_value(b))) else {
        return text.to_owned();
    };
    let message = ["/error/message", "/message", "/error"]
        .iter()
        .find_map(|path| value.pointer(path).and_then(Value::as_str));
    message.map_or_else(|| text.to_owned(), |message| format!("{before}{message}"))
}

/// What is known of the end so far.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    parts: Vec<String>,
    failure: Option<Failure>,
    /// What a failed turn had streamed.
    failed_text: String,
    usage: Option<Usage>,
    results: usize,
    /// A turn has begun that has no result yet.
    pub(crate) open: bool,
    /// The last API error of this turn, in words.
    pub(crate) api_error: Option<String>,
    /// The CLI said that there was nothing to answer.
    pub(crate) no_response: bool,
    /// Somebody interrupted this turn.
    pub(crate) interrupted: bool,
    /// Why the last message of this turn ended.
    pub(crate) stop: Stop,
    /// Which limit was reached, in words: the rest was not read.
    pub(crate) limit: Option<String>,
    /// Calls started before this turn.
    calls: usize,
}

impl Ending {
    /// Takes a result: an error replaces what came before it, a later success the error.
    pub(crate) fn take(&mut self, verdict: &Verdict, answer: &mut Answer, calls: usize) {
        let (text, mut used) = answer.final_text(&verdict.text);
        self.failure = self.failure_of(verdict, text, calls);
        if let Some(failure) = &self.failure {
            used = answer.pieces();
            self.parts.clear();
            self.failed_text.clear();
            // What was refused is withheld.
            if failure.kind != FailureKind::Refusal {
                self.failed_text.push_str(answer.since_result());
            }
        } else if !text.is_empty() && self.parts.last().is_none_or(|last| last != text) {
            self.parts.push(text.to_owned());
        }
        self.usage = verdict.usage.or(self.usage);
        self.results += 1;
        (self.open, self.api_error, self.no_response) = (false, None, false);
        (self.interrupted, self.stop) = (false, Stop::Done);
        self.calls = calls;
        answer.settle(used);
    }

    fn failure_of(&self, verdict: &Verdict, text: &str, calls: usize) -> Option<Failure> {
        if verdict.failed {
            let kind = self.kind(verdict).unwrap_or(FailureKind::Other);
            let named = verdict.named.clone().or_else(|| self.api_error.clone());
            let message = named.unwrap_or_else(|| sentence(kind, verdict));
            return Some(Failure { kind, message });
        }
        if verdict.stop_reason == "refusal" {
            let kind = FailureKind::Refusal;
            return Some(Failure { kind, message: sentence(kind, verdict) });
        }
        if !text.is_empty() {
            return None;
        }
        if let Some(kind) = self.kind(verdict) {
            return Some(Failure { kind, message: sentence(kind, verdict) });
        }
        (self.no_response && calls == self.calls).then(|| Failure {
            kind: FailureKind::Other,
            message: "The CLI found nothing to answer; send the message again.".to_owned(),
        })
    }

    fn kind(&self, verdict: &Verdict) -> Option<FailureKind> {
        let named = verdict.named.as_deref().unwrap_or_default();
        let listed = [&verdict.subtype, &verdict.reason, &verdict.stop_reason]
            .into_iter()
            .find_map(|word| KINDS.iter().find(|(known, _)| known == word));
        let words = named.to_lowercase();
        let worded = || WORDS.iter().find(|(known, _)| words.contains(known));
        let api = verdict.api_status.is_some()
            || verdict.reason == "api_error"
            || named.starts_with(API_ERROR)
            || self.api_error.is_some();
        let listed = listed.map(|(_, kind)| *kind);
        let worded = || worded().filter(|_| verdict.failed).map(|(_, kind)| *kind);
        listed
            .or(match self.stop {
                Stop::Refusal => Some(FailureKind::Refusal),
                Stop::MaxTokens if verdict.failed => Some(FailureKind::MaxTokens),
                Stop::MaxTokens | Stop::Done => None,
            })
            .or_else(worded)
            .or_else(|| self.interrupted.then_some(FailureKind::Interrupted))
            .or_else(|| api.then(|| of_status(verdict.api_status)))
            .or((verdict.subtype == "error_during_execution").then_some(FailureKind::Execution))
    }

    /// The outcome, when no more bytes come; `silent` says that none came at all.
    pub(crate) fn outcome(
        mut self,
        answer: &Answer,
        session_id: Option<String>,
        silent: bool,
    ) -> Outcome {
        let (usage, streamed) = (self.usage, answer.since_result());
        let (status, text, error) = match self.failure.take() {
            _ if self.limit.is_some() || self.open || self.results == 0 => {
                let mut parts = std::mem::take(&mut self.parts);
                parts.extend((!streamed.is_empty()).then(|| streamed.to_owned()));
                (Status::Incomplete, parts.join("\n"), Some(self.cut_off(silent)))
            }
            Some(failure) => (Status::Error, self.failed_text, Some(failure)),
            None => (Status::Ok, self.parts.join("\n"), None),
        };
        Outcome { status, text, error, session_id, usage }
    }
}

impl Ending {
    /// Why the output has no end.
    fn cut_off(self, silent: bool) -> Failure {
        let (kind, mut message) = match self.limit {
            Some(message) => (FailureKind::Limit, message),
            None if silent => (FailureKind::NoOutput, SILENT.to_owned()),
            None if self.interrupted => (FailureKind::Interrupted, INTERRUPTED.to_owned()),
            None => (FailureKind::NoResult, CUT_OFF.to_owned()),
        };
        if let Some(error) = &self.api_error {
            message = format!("{message} The API's last word was: {}", plain(error));
        }
        Failure { kind, message }
    }
}

const SILENT: &str = "The CLI printed nothing; see its exit code and what it wrote to stderr.";
const INTERRUPTED: &str =
    "The turn was interrupted before it was done; send a message to go on from here.";
const CUT_OFF: &str = "The output ended without a result, so the answer may be cut off; resume \
                       the session to go on.";

/// What to say when the CLI gave no words of its own.
fn sentence(kind: FailureKind, verdict: &Verdict) -> String {
    let Verdict { subtype, reason, stop_reason, .. } = verdict;
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

#[cfg(test)]
mod tests {
    use super::*;

    const REASONLESS: &str = "The CLI marked its result as an error.";

    #[test]
    fn errors_are_put_in_words() {
        for (record, kind, message) in [
            (
                r#"{"is_error":true,"result":"Credit balance is too low"}"#,
                "billing",
                "Credit balance is too low",
            ),
            (
                r#"{"subtype":"error_during_execution","errors":["[ede_diagnostic] x","why"]}"#,
                "execution",
                "why",
            ),
            (
                r#"{"subtype":"error_max_turns"}"#,
                "max_turns",
                "The limit of turns was reached; raise it or ask again.",
            ),
            (
                r#"{"is_error":true,"result":"API Error: 529 {\"error\":{\"message\":\"Overloaded\"}}"}"#,
                "overloaded",
                "API Error: 529 Overloaded",
            ),
            (r#"{"is_error":true,"api_error_status":401,"error":{"message":"no"}}"#, "auth", "no"),
            (r#"{"is_error":true,"api_error_status":413}"#, "bad_request", REASONLESS),
            (r#"{"is_error":true,"api_error_status":503}"#, "overloaded", REASONLESS),
            (r#"{"is_error":true,"api_error_status":300}"#, "api", REASONLESS),
            (
                r#"{"is_error":true,"result":"API Error: 404 gone"}"#,
                "bad_request",
                "API Error: 404 gone",
            ),
            (
                r#"{"is_error":true,"result":"API Error: Overloaded"}"#,
                "overloaded",
                "API Error: Overloaded",
            ),
            (r#"{"is_error":true,"result":"API Error: lost"}"#, "api", "API Error: lost"),
            (
                r#"{"is_error":true,"result":"Not logged in · Please run /login"}"#,
                "auth",
                "Not logged in · Please run /login",
            ),
            (r#"{"status":"error"}"#, "other", "The CLI marked its result as an error."),
            (
                r#"{"terminal_reason":"budget_exhausted"}"#,
                "max_budget",
                "The budget was used up; raise it or ask again.",
            ),
        ] {
            let mut ending = Ending::default();
            ending.take(&Verdict::read(record), &mut Answer::default(), 0);
            let error = ending.outcome(&Answer::default(), None, false).error.unwrap();
            assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message));
        }
    }

    #[test]
    fn results_that_look_like_errors_are_none() {
        for record in [
            r#"{"is_error":"true","result":"x"}"#,
            r#"{"subtype":"success","result":"API Error: 500"}"#,
        ] {
            assert!(!Verdict::read(record).failed, "{record}");
        }
    }

    #[test]
    fn a_result_in_a_result_is_unwrapped_eight_times() {
        let wrap = |times: usize| {
            (0..times).fold("deep".to_owned(), |text, _| {
                serde_json::json!({"type": "result", "result": text}).to_string()
            })
        };
        assert_eq!(unwrap(&wrap(8)), "deep");
        assert_eq!(unwrap(&wrap(10)), wrap(2));
    }
}
