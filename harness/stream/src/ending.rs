//! The end of a turn and of the run: the final text (T2), failures (B3), and missing ends (T5).

use crate::failure::{self, CUT_OFF, INTERRUPTED, SILENT, TurnState, sentence};
use crate::outcome::{Failure, FailureKind, Outcome, RunStatus, Usage};
use crate::result_record::{ResultRecord, plain};
use crate::stream::MessageEnd;
use crate::transcript::Transcript;

/// Collects the results of the turns until the run ends.
#[derive(Debug, Default)]
pub(crate) struct OutcomeBuilder {
    parts: Vec<String>,
    failure: Option<Failure>,
    /// Text that a failed turn had streamed.
    failed_text: String,
    usage: Option<Usage>,
    results: usize,
    /// A turn has begun and has no result yet.
    pub(crate) open: bool,
    /// The text of the last API error of this turn.
    pub(crate) api_error: Option<String>,
    /// The CLI reported that there was nothing to answer.
    pub(crate) no_response: bool,
    /// A person interrupted this turn.
    pub(crate) interrupted: bool,
    /// The reason why the last message of this turn ended.
    pub(crate) stop: MessageEnd,
    /// A sentence about the limit that was reached, if one was: the rest was not read.
    pub(crate) limit: Option<String>,
    /// Number of calls that started before this turn.
    calls: usize,
}

impl OutcomeBuilder {
    /// Adds the result of a turn. A failure replaces the earlier results, and a later success
    /// replaces the failure.
    pub(crate) fn add_result(
        &mut self,
        record: &ResultRecord,
        transcript: &mut Transcript,
        calls: usize,
    ) {
        let (text, mut used) = transcript.final_text(&record.text);
        self.failure = self.failure_of(record, text, calls);
        if let Some(failure) = &self.failure {
            used = transcript.run_count();
            self.parts.clear();
            self.failed_text.clear();
            // A refused text is withheld.
            if failure.kind != FailureKind::Refusal {
                self.failed_text.push_str(transcript.since_result());
            }
        } else if !text.is_empty() && self.parts.last().is_none_or(|last| last != text) {
            self.parts.push(text.to_owned());
        }
        self.usage = record.usage.or(self.usage);
        self.results += 1;
        (self.open, self.api_error, self.no_response) = (false, None, false);
        (self.interrupted, self.stop) = (false, MessageEnd::Done);
        self.calls = calls;
        transcript.settle(used);
    }

    fn failure_of(&self, record: &ResultRecord, text: &str, calls: usize) -> Option<Failure> {
        if record.failed {
            let kind = self.kind(record).unwrap_or(FailureKind::Other);
            let named = record.named.clone().or_else(|| self.api_error.clone());
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

    fn kind(&self, record: &ResultRecord) -> Option<FailureKind> {
        let (stop, interrupted) = (self.stop, self.interrupted);
        failure::kind(record, TurnState { stop, interrupted, api_error: self.api_error.is_some() })
    }

    /// Returns the outcome after the last byte. `silent` is true if there was no output at all.
    pub(crate) fn outcome(
        mut self,
        transcript: &Transcript,
        session_id: Option<String>,
        silent: bool,
    ) -> Outcome {
        let (usage, streamed) = (self.usage, transcript.since_result());
        let (status, text, error) = match self.failure.take() {
            _ if self.limit.is_some() || self.open || self.results == 0 => {
                let mut parts = std::mem::take(&mut self.parts);
                parts.extend((!streamed.is_empty()).then(|| streamed.to_owned()));
                (RunStatus::Incomplete, parts.join("\n"), Some(self.cut_off(silent)))
            }
            Some(failure) => (RunStatus::Error, self.failed_text, Some(failure)),
            None => (RunStatus::Ok, self.parts.join("\n"), None),
        };
        Outcome { error, session_id, usage, ..Outcome::new(status, text) }
    }
}

impl OutcomeBuilder {
    /// Explains why the output has no end.
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
pub(crate) mod tests {
    use super::*;
    use crate::head::RecordHead;

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
            let mut ending = OutcomeBuilder::default();
            ending.add_result(
                &ResultRecord::read(&RecordHead::read(record).unwrap()),
                &mut Transcript::default(),
                0,
            );
            let error = ending.outcome(&Transcript::default(), None, false).error.unwrap();
            assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message));
        }
    }
}
