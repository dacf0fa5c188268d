//! The end of a turn: its `result` record, the final text (T2), failures (B3), missing ends (T5), and
//! the facts of ended turns that a later result depends on.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use crate::json::{self, JsonField};
use crate::outcome::{Failure, FailureKind, Outcome, RunStatus, Usage};
use crate::record::RecordHead;
use crate::snapshot::{API_ERROR, NO_CONTENT};
use crate::stream::MessageEnd;
use crate::transcript::RunTranscript;
use crate::{message, payload};

/// Collects the facts about the open turn that its outcome depends on.
#[derive(Debug, Default)]
pub(crate) struct OutcomeBuilder {
    /// The turn has begun.
    pub(crate) open: bool,
    /// The CLI has reported that it answers a message of the host, which comes before the `init` of the turn.
    pub(crate) announced: bool,
    /// The text of the last API error of this turn.
    pub(crate) api_error: Option<String>,
    /// The CLI reported that there was nothing to answer.
    pub(crate) no_response: bool,
    /// A person interrupted this turn.
    pub(crate) interrupted: bool,
    /// The reason why the last message of this turn ended.
    pub(crate) stop: MessageEnd,
    /// A call of the main thread has its result: from here on the CLI folds messages of the host into
    /// this turn.
    pub(crate) folds: bool,
    /// Number of calls that started before this turn.
    calls: usize,
    /// Uuids of the host's messages that the turn answers.
    answers: Vec<String>,
    /// Numbers of the main thread's messages at which the CLI began another turn before the result of
    /// this one.
    next_turns: Vec<usize>,
}

impl OutcomeBuilder {
    /// Begins a turn after `init`, when the main thread has this number of messages in the open turn.
    pub(crate) fn begin(&mut self, messages: usize) {
        if self.open {
            self.next_turns.push(messages);
        }
        (self.open, self.folds) = (true, false);
    }

    /// Returns where the next turn begins, if it has begun behind the last message of this one.
    pub(crate) fn next_after(&self, last: usize) -> Option<usize> {
        self.next_turns.iter().copied().find(|at| *at > last)
    }

    /// Ends this turn, and returns it. The next turn begins after this number of calls, and has begun
    /// already if `next` is the number of the first message in it. `named` are the messages of the
    /// host that the result names.
    pub(crate) fn replace(&mut self, calls: usize, next: Option<usize>, named: &[String]) -> Self {
        let mut turn = std::mem::replace(self, Self { calls, ..Self::default() });
        if let Some(first) = next {
            (self.open, self.stop) = (true, std::mem::take(&mut turn.stop));
            self.next_turns =
                turn.next_turns.iter().filter_map(|at| at.checked_sub(first)).collect();
            if !named.is_empty() {
                self.answers = turn.answers.extract_if(.., |uuid| !named.contains(uuid)).collect();
            }
        }
        turn
    }

    /// Returns whether the output must not end without an outcome for this turn.
    pub(crate) fn lacks_outcome(&self) -> bool {
        self.open || self.announced
    }

    /// Adds the uuid of a message of the host that the turn answers.
    pub(crate) fn answer(&mut self, uuid: &str) {
        if !self.answers.iter().any(|known| known == uuid) {
            self.answers.push(uuid.to_owned());
        }
    }

    /// Returns the outcome of a turn that has a result. `calls` is the number of calls so far.
    pub(crate) fn end(
        self,
        record: &ResultRecord,
        transcript: RunTranscript,
        ended: &mut EndedTurns,
        calls: usize,
    ) -> Outcome {
        let mut transcript = ended.transcript_for(&record.text, transcript);
        let (text, used) = transcript.final_text(&record.text);
        let (status, text, error) = match self.failure_of(record, text, calls) {
            // A refused text is withheld.
            Some(failure) if failure.kind == FailureKind::Refusal => {
                (RunStatus::Error, String::new(), Some(failure))
            }
            Some(failure) => (RunStatus::Error, transcript.unused().to_owned(), Some(failure)),
            None => (RunStatus::Ok, text.to_owned(), None),
        };
        if error.is_some() {
            ended.give_up_text();
        } else {
            transcript.settle(used);
            ended.hold_back(transcript);
        }
        Outcome {
            error,
            usage: record.usage,
            answers: self.answers,
            origin: record.origin.clone(),
            message_ids: record.begun.clone(),
            ..Outcome::new(status, text)
        }
    }

    fn failure_of(&self, record: &ResultRecord, text: &str, calls: usize) -> Option<Failure> {
        if record.failed {
            let kind = self.kind(record).unwrap_or(FailureKind::Other);
            let named = record.named.clone().or_else(|| self.api_words().map(str::to_owned));
            let message = named.unwrap_or_else(|| sentence(kind, record));
            return Some(Failure { kind, message });
        }
        if record.stop_reason == "refusal" {
            let kind = FailureKind::Refusal;
            return Some(Failure { kind, message: sentence(kind, record) });
        }
        if !text.is_empty() {
            return None;
        }
        if let Some(kind) = self.kind(record) {
            return Some(Failure { kind, message: sentence(kind, record) });
        }
        (self.no_response && calls == self.calls).then(|| Failure {
            kind: FailureKind::Other,
            message: "The CLI found nothing to answer; send the message again.".to_owned(),
        })
    }

    /// Returns the words of the API's last error, unless the error has no words.
    fn api_words(&self) -> Option<&str> {
        self.api_error.as_deref().filter(|words| !words.is_empty())
    }

    fn kind(&self, record: &ResultRecord) -> Option<FailureKind> {
        let (stop, interrupted) = (self.stop, self.interrupted);
        kind(record, TurnState { stop, interrupted, api_error: self.api_error.is_some() })
    }

    /// Returns the outcome of a turn without a result, and explains why the output has no end.
    /// `silent` is true if there was no output at all; `limit` is a sentence about the limit that
    /// was reached, if one was.
    pub(crate) fn cut_off(
        self,
        transcript: &RunTranscript,
        limit: Option<String>,
        silent: bool,
    ) -> Outcome {
        let (kind, mut message) = match limit {
            Some(message) => (FailureKind::Limit, message),
            None if silent => (FailureKind::NoOutput, SILENT.to_owned()),
            None if self.interrupted => (FailureKind::Interrupted, INTERRUPTED.to_owned()),
            None => (FailureKind::NoResult, CUT_OFF.to_owned()),
        };
        if let Some(error) = self.api_words() {
            message = format!("{message} The API's last word was: {}", plain(error));
        }
        Outcome {
            error: Some(Failure { kind, message }),
            answers: self.answers,
            ..Outcome::new(RunStatus::Incomplete, transcript.unused())
        }
    }
}

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
struct TurnState {
    /// The reason why the last message of the turn ended.
    pub(crate) stop: MessageEnd,
    /// A person interrupted the turn.
    pub(crate) interrupted: bool,
    /// The API answered with an error.
    pub(crate) api_error: bool,
}

/// Returns the kind of failure that a result reports, or `None` if it reports success.
fn kind(record: &ResultRecord, turn: TurnState) -> Option<FailureKind> {
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
const SILENT: &str = "The CLI printed nothing; see its exit code and what it wrote to stderr.";
/// Message for an interrupted turn.
const INTERRUPTED: &str =
    "The turn was interrupted before it was done; send a message to go on from here.";
/// Message for output without an end.
const CUT_OFF: &str = "The output ended without a result, so the answer may be cut \
                                  off; send a message to go on.";

/// Returns the message for a failure about which the CLI printed no text.
fn sentence(kind: FailureKind, record: &ResultRecord) -> String {
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

/// Maximum number of nested results to unwrap: the text of a result may itself be a printed result.
const NESTED: usize = 8;

/// The origins of messages that wait for an answer: of a person, a chat, or another session.
const ANSWERED: [&str; 3] = ["human", "channel", "peer"];

/// Returns the kind of an `origin` whose turn answers nobody.
pub(crate) fn origin(field: JsonField<'_>) -> Option<String> {
    let [kind] = json::inner(field, &["kind"]);
    json::trimmed(kind).filter(|kind| !ANSWERED.contains(&&**kind)).map(Cow::into_owned)
}

/// A `result` record after reading.
#[derive(Debug)]
pub(crate) struct ResultRecord {
    pub(crate) failed: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) text: String,
    pub(crate) subtype: String,
    /// `terminal_reason`.
    pub(crate) reason: String,
    pub(crate) stop_reason: String,
    /// `api_error_status`, or the number in the error text.
    pub(crate) api_status: Option<u64>,
    /// The first error named in the record that is not an internal note of the CLI. It is only set
    /// if the result failed or has no text.
    pub(crate) named: Option<String>,
    /// `origin.kind`, unless the turn answers a person.
    pub(crate) origin: Option<String>,
    /// `begun_message_ids`: the messages of the model that began in the turn (2.1.330).
    pub(crate) begun: Vec<String>,
    /// `user_message_uuids`: the messages of the host that the turn answers.
    pub(crate) answers: Vec<String>,
}

impl ResultRecord {
    pub(crate) fn read(head: &RecordHead<'_>) -> Self {
        let word = |field| json::trimmed(field).unwrap_or_default().into_owned();
        let subtype = word(head.subtype);
        let failed = json::is_true(head.is_error)
            || subtype.starts_with("error_")
            || json::string(head.status).is_some_and(|status| status == "error");
        let text = unwrap(&json::string(head.result).unwrap_or_default());
        let text = if text == NO_CONTENT { String::new() } else { text };
        // A text without an error flag is an answer, whatever other fields name.
        let named = if failed || text.is_empty() { named(head, &text) } else { None };
        let [from, begun, answers] =
            json::pick(head.raw.get(), &["origin", "begun_message_ids", "user_message_uuids"]);
        Self {
            origin: origin(from),
            begun: json::strings(begun),
            answers: json::strings(answers),
            failed,
            usage: head.usage.as_ref().map(|counts| counts.usage(Usage::default())),
            subtype,
            reason: word(head.reason),
            stop_reason: word(head.stop_reason),
            api_status: head
                .api_status
                .map(|raw| json::count(Some(raw)))
                .or_else(|| named_status(&text)),
            named,
            text,
        }
    }
}

/// Returns the first error that a result names and that is not an internal note of the CLI, or else
/// its text.
fn named(head: &RecordHead<'_>, text: &str) -> Option<String> {
    let [nested] = json::inner(head.error, &["message"]);
    let errors = head.errors.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
    errors
        .into_iter()
        .filter_map(|raw| json::trimmed(Some(raw)))
        .find(|text| !text.starts_with("[ede_diagnostic]"))
        .or_else(|| Some(Cow::Borrowed(text)).filter(|text| !text.is_empty()))
        .or_else(|| {
            let message = head.message.as_ref().map(|message| message.raw);
            [message, head.content, head.error, nested].into_iter().find_map(json::trimmed)
        })
        .map(|text| plain(&text))
}

/// Returns the status at the beginning of an API error's text.
fn named_status(text: &str) -> Option<u64> {
    let number = text.strip_prefix(API_ERROR)?.trim_start_matches([':', ' ']);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the text of a result. If that text is itself a result record, returns the inner text, up
/// to [`NESTED`] levels deep.
fn unwrap(text: &str) -> String {
    let mut text = message::visible(text.trim()).trim().to_owned();
    for _ in 0..NESTED {
        let nested =
            if text.starts_with('{') { json::pick(&text, &["type", "result"]) } else { [None; 2] };
        let is_result = json::string(nested[0]).is_some_and(|kind| kind == "result");
        match json::string(nested[1]).filter(|_| is_result) {
            Some(inner) => text = inner.trim().to_owned(),
            None => break,
        }
    }
    text
}

/// Replaces JSON in an error text by the message inside the JSON.
fn plain(text: &str) -> String {
    let json = text.find('{').map(|at| text.split_at(at));
    let Some((before, Ok(value))) = json.map(|(a, b)| (a, payload::lenient_value(b))) else {
        return text.to_owned();
    };
    let message = ["/error/message", "/message", "/error"]
        .iter()
        .find_map(|path| value.pointer(path).and_then(Value::as_str));
    message.map_or_else(|| text.to_owned(), |message| format!("{before}{message}"))
}

/// The fields by which two results in a row are the same one.
const SAID_BY_RESULTS: [&str; 15] = [
    "subtype",
    "is_error",
    "result",
    "errors",
    "status",
    "stop_reason",
    "terminal_reason",
    "api_error_status",
    "begun_message_ids",
    "uuid",
    "session_id",
    "duration_ms",
    "duration_api_ms",
    "num_turns",
    "total_cost_usd",
];

/// Number of messages of ended turns that are remembered.
const REMEMBERED_MESSAGES: usize = 1024;

/// The facts of ended turns that later results depend on.
#[derive(Debug, Default)]
pub(crate) struct EndedTurns {
    count: u64,
    /// Ids of the messages of these turns, and whether each came as stream events.
    messages: VecDeque<(String, bool)>,
    /// Transcripts with text that no result has used yet, because the CLI holds results back until
    /// several turns are over.
    held_back: VecDeque<RunTranscript>,
    /// The last record, if it was a result.
    last_result: Option<String>,
}

impl EndedTurns {
    /// Number of turns that have ended.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Records that a record other than a result has come.
    pub(crate) fn other_record(&mut self) {
        if self.last_result.is_some() {
            self.last_result = None;
        }
    }

    /// Returns whether this result says what the record before it says: an unknown field is no other result.
    pub(crate) fn is_repeated(&mut self, record: &str) -> bool {
        let said =
            |record| json::pick(record, &SAID_BY_RESULTS).map(|field| field.map(|raw| raw.get()));
        let is_repeated =
            self.last_result.as_deref().is_some_and(|last| said(last) == said(record));
        if !is_repeated {
            self.last_result = Some(record.to_owned());
        }
        is_repeated
    }

    /// Returns whether a result names messages, and all of them are of turns that have ended.
    pub(crate) fn is_late(&self, record: &ResultRecord) -> bool {
        let ended = |id: &String| self.messages.iter().any(|(known, _)| known == id);
        !record.begun.is_empty() && record.begun.iter().all(ended)
    }

    /// Returns whether the message with this id came as stream events of a turn that has ended.
    pub(crate) fn has_streamed(&self, id: &str) -> bool {
        self.messages.iter().any(|(known, streamed)| *streamed && known == id)
    }

    /// Ends a turn, and returns its number. `messages` are the ids of its messages, and whether each
    /// was streamed; another result may come for those that this one does not name.
    pub(crate) fn end<'m>(
        &mut self,
        record: &ResultRecord,
        messages: impl DoubleEndedIterator<Item = (&'m str, bool)>,
    ) -> u64 {
        let named: HashSet<&str> = record.begun.iter().map(String::as_str).collect();
        let is_named = |id: &str| named.is_empty() || named.contains(id);
        let ended = messages.filter(|(id, _)| !id.is_empty() && is_named(id));
        let newest: Vec<_> = ended.rev().take(REMEMBERED_MESSAGES).collect();
        self.messages
            .extend(newest.into_iter().rev().map(|(id, streamed)| (id.to_owned(), streamed)));
        self.messages.drain(..self.messages.len().saturating_sub(REMEMBERED_MESSAGES));
        self.count += 1;
        self.count
    }

    /// Returns the transcript that a result with this text belongs to: that of the turn that ends
    /// now, unless an earlier turn waits for its result.
    fn transcript_for(&mut self, result: &str, current: RunTranscript) -> RunTranscript {
        let fits = |transcript: &RunTranscript| match result {
            "" => !transcript.is_used_up(),
            text => transcript.repeats(text),
        };
        if fits(&current) {
            return current;
        }
        let Some(at) = self.held_back.iter().position(fits) else { return current };
        let found = self.held_back.drain(..=at).next_back();
        self.hold_back(current);
        found.unwrap_or_default()
    }

    /// Keeps a transcript until a result uses the rest of its text.
    fn hold_back(&mut self, transcript: RunTranscript) {
        if !transcript.is_used_up() {
            self.held_back.push_back(transcript);
        }
    }

    /// Gives up the text that no result has used.
    fn give_up_text(&mut self) {
        self.held_back.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::head_of;

    const REASONLESS: &str = "The CLI marked its result as an error.";

    #[test]
    pub(crate) fn errors_are_put_in_words() {
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
            let record = ResultRecord::read(&head_of(record).unwrap());
            let (transcript, mut ended) = (RunTranscript::default(), EndedTurns::default());
            let outcome = OutcomeBuilder::default().end(&record, transcript, &mut ended, 0);
            let error = outcome.error.unwrap();
            assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message));
        }
    }

    #[test]
    pub(crate) fn results_that_look_like_errors_are_none() {
        for record in [
            r#"{"is_error":"true","result":"x"}"#,
            r#"{"subtype":"success","result":"API Error: 500"}"#,
        ] {
            assert!(!ResultRecord::read(&head_of(record).unwrap()).failed, "{record}");
        }
    }

    #[test]
    pub(crate) fn a_result_in_a_result_is_unwrapped_eight_times() {
        let wrap = |times: usize| {
            (0..times).fold("deep".to_owned(), |text, _| {
                serde_json::json!({"type": "result", "result": text}).to_string()
            })
        };
        assert_eq!(unwrap(&wrap(8)), "deep");
        assert_eq!(unwrap(&wrap(10)), wrap(2));
    }
}
