//! The end of a turn and of the run: final text (T2), failures (B3), what is missing (T5).

use crate::answer::Answer;
use crate::failure::{self, CUT_OFF, INTERRUPTED, SILENT, Turn, sentence};
use crate::outcome::{Failure, FailureKind, Outcome, Status, Usage};
use crate::stream::Stop;
use crate::verdict::{Verdict, plain};

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
        let (stop, interrupted) = (self.stop, self.interrupted);
        failure::kind(verdict, Turn { stop, interrupted, api_error: self.api_error.is_some() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Head;

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
            ending.take(&Verdict::read(&Head::read(record).unwrap()), &mut Answer::default(), 0);
            let error = ending.outcome(&Answer::default(), None, false).error.unwrap();
            assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message));
        }
    }
}
