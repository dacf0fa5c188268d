//! The end of a turn: the final text (T2), failures (B3), and missing ends (T5).

use crate::failure::{self, CUT_OFF, INTERRUPTED, SILENT, TurnState, sentence};
use crate::outcome::{Failure, FailureKind, Outcome, RunStatus};
use crate::result_record::{ResultRecord, plain};
use crate::stream::MessageEnd;
use crate::transcript::RunTranscript;
use crate::turns::EndedTurns;

/// Collects the facts about the open turn that its outcome depends on.
#[derive(Debug, Default)]
pub(crate) struct OutcomeBuilder {
    /// The turn has begun, so that the output must not end without an outcome for it.
    pub(crate) open: bool,
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
        failure::kind(record, TurnState { stop, interrupted, api_error: self.api_error.is_some() })
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::head::tests::head_of;

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
}
