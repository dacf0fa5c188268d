//! The report of a run's outcome: on the bus, and to the person who waits for the answer
//! ([V7](crate::rules::V7)).

use std::fmt;

use clitape_stream::{Failure, FailureKind, Outcome, RunStatus};

use crate::bus::Phase;
use crate::excerpt::short;
use crate::person_text::{PersonAnswer, WRITTEN_CALL};

/// The notice of a run that succeeded without a text.
const NO_TEXT: &str = "The agent finished without a text answer.";
/// The notice of a turn that a person interrupted.
const INTERRUPTED: &str = "⏹️ Stopped. Send a message to go on from here.";
/// The reason that is shown for a failed run that gave none.
const NO_REASON: &str = "The agent gave no reason";
/// The number of characters of the CLI's own words that are passed on.
const REASON_LIMIT: usize = 300;

/// The message that a channel delivers when the run is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnding {
    /// The answer, as the model wrote it for a person ([V11](crate::rules::V11)); may be empty.
    pub answer: String,
    /// A plain sentence that goes below the answer, or in its place when there is none.
    pub notice: Option<String>,
}

impl fmt::Display for RunEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.answer.is_empty() || self.notice.is_none() { "" } else { "\n\n" };
        write!(f, "{}{gap}{}", self.answer, self.notice.as_deref().unwrap_or_default())
    }
}

/// The final message of a run, for all its channels.
#[derive(Debug)]
pub(crate) struct FinalMessage {
    ending: RunEnding,
    /// True if the run failed or was cut off.
    pub(crate) is_failure: bool,
    /// True if the run has no message for a person (Q10, G3).
    pub(crate) is_silent: bool,
    /// The outcome of a run that broke off: its answer is the one that a channel has by then, so
    /// that no other part of the gateway keeps the answer.
    broken_off: Option<Outcome>,
}

impl FinalMessage {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let is_failure = outcome.status != RunStatus::Ok;
        // A turn that answers no message, such as that of a task's notification, may end without a
        // word; and an agent may say that it has nothing to say.
        let is_silent = outcome.origin.is_some() && answer(outcome).is_empty()
            || PersonAnswer::of(answer(outcome)).is_silent;
        Self {
            ending: ending(outcome),
            is_failure,
            is_silent: is_silent && !is_failure,
            broken_off: None,
        }
    }

    /// The same for a run without an outcome of its own, of which `outcome` says only why.
    pub(crate) fn of_broken_off(self, outcome: &Outcome) -> Self {
        Self { broken_off: Some(outcome.clone()), ..self }
    }

    /// The answer and the notice for a channel that has `so_far` of the answer.
    pub(crate) fn ending(&self, so_far: &str) -> RunEnding {
        let Some(outcome) = &self.broken_off else { return self.ending.clone() };
        let mut outcome = outcome.clone();
        so_far.clone_into(&mut outcome.text);
        ending(&outcome)
    }

    /// The same with `notice`, such as that the conversation was compacted, in place of the sentence that a run
    /// has no text.
    pub(crate) fn or_notice(mut self, notice: Option<String>) -> Self {
        if let Some(notice) = notice
            && self.ending.answer.is_empty()
            && self.ending.notice.as_deref() == Some(NO_TEXT)
        {
            self.ending.notice = Some(notice);
        }
        self
    }

    /// Makes the final message of a run without a recipient, which is silent.
    pub(crate) fn none(outcome: &Outcome) -> Self {
        Self { is_silent: true, ..Self::of(outcome) }
    }
}

/// The answer and the notice for `outcome`; at least one of them says something.
fn ending(outcome: &Outcome) -> RunEnding {
    let PersonAnswer { text: answer, has_written_call, .. } = PersonAnswer::of(answer(outcome));
    if outcome.status != RunStatus::Ok && kind(outcome) == FailureKind::Interrupted {
        // The person wanted it, so it does not count as a failure (Q10).
        return RunEnding { answer, notice: Some(INTERRUPTED.to_owned()) };
    }
    let lead = match (outcome.status, answer.is_empty()) {
        (RunStatus::Ok, _) if has_written_call => {
            return RunEnding { answer, notice: Some(WRITTEN_CALL.to_owned()) };
        }
        (RunStatus::Ok, false) => None,
        (RunStatus::Ok, true) => return plain(NO_TEXT),
        (RunStatus::Error, _) => Some("⚠️ The run failed:"),
        (RunStatus::Incomplete, false) => Some("⚠️ The answer is incomplete:"),
        (RunStatus::Incomplete, true) => Some("⚠️ The run ended before it gave an answer:"),
    };
    RunEnding { answer, notice: lead.map(|lead| format!("{lead} {}", sentence(outcome))) }
}

/// Returns the text of the outcome, unless it only repeats the failure's message (T6).
fn answer(outcome: &Outcome) -> &str {
    let text = outcome.text.trim();
    let reason = outcome.error.as_ref().map_or("", |e| e.message.trim());
    let is_failure = outcome.status != RunStatus::Ok && text == reason;
    if is_failure { "" } else { text }
}

fn plain(notice: &str) -> RunEnding {
    RunEnding { answer: String::new(), notice: Some(notice.to_owned()) }
}

/// The lifecycle event that ends the run (B3).
pub(crate) fn phase(outcome: &Outcome) -> Phase {
    match outcome.status {
        RunStatus::Ok => Phase::End { text: outcome.text.clone() },
        RunStatus::Error | RunStatus::Incomplete => {
            Phase::Error { kind: kind(outcome), message: sentence(outcome) }
        }
    }
}

/// Makes the outcome of a run whose parser reported none, without its answer.
pub(crate) fn stopped() -> Outcome {
    let message = "The run was stopped before it ended; send the message again.";
    let mut outcome = Outcome::new(RunStatus::Incomplete, "");
    outcome.error = Some(Failure::new(FailureKind::Stopped, message));
    outcome
}

fn kind(outcome: &Outcome) -> FailureKind {
    match (&outcome.error, outcome.status) {
        (Some(failure), _) => failure.kind,
        (None, RunStatus::Incomplete) => FailureKind::NoResult,
        (None, _) => FailureKind::Other,
    }
}

/// Returns the CLI's own words on one line, followed by advice.
fn sentence(outcome: &Outcome) -> String {
    let words = outcome.error.as_ref().map_or("", |e| e.message.as_str());
    let mut line = short(words, REASON_LIMIT);
    if line.is_empty() {
        NO_REASON.clone_into(&mut line);
    }
    if !line.ends_with(['.', '!', '?', '…']) {
        line.push('.');
    }
    // A message that the parser wrote has its advice after a semicolon.
    if line.contains("; ") { line } else { format!("{line} {}", advice(kind(outcome))) }
}

fn advice(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Api => "Check the API key, the credit and the provider's status, then retry.",
        FailureKind::Overloaded => "Send the message again in a few minutes.",
        FailureKind::Auth => "Check the API key, or log the agent in.",
        FailureKind::Billing => "Check the account's credit and limits.",
        FailureKind::BadRequest => "Shorten or change the request; sending it again will not help.",
        FailureKind::Refusal => "Put the request in other words.",
        FailureKind::MaxTokens => "Ask for the answer in parts.",
        FailureKind::Interrupted => "Send a message to go on from here.",
        FailureKind::MaxTurns => "Raise the limit of turns or ask for a smaller step.",
        FailureKind::MaxBudget => "Raise the budget or ask for a smaller step.",
        FailureKind::Stopped => "Send the message again.",
        FailureKind::Stalled => "Send the message again, or raise the run's limit.",
        FailureKind::Limit => "Raise the limit, then send the message again.",
        FailureKind::NoResult | FailureKind::NoOutput => {
            "See the agent's log for why it stopped, then send it again."
        }
        // `Execution`, `Other`, and kinds that a later version of the parser may add.
        _ => "See the agent's log for details, then send the message again.",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn check(
        status: RunStatus,
        text: &str,
        error: Option<(FailureKind, &str)>,
        expect: (&str, &str),
    ) {
        let mut outcome = Outcome::new(status, text);
        outcome.error = error.map(|(kind, message)| Failure::new(kind, message));
        let ending = ending(&outcome);
        let notice = ending.notice.unwrap_or_default();
        assert_eq!((ending.answer.as_str(), notice.as_str()), expect);
    }

    #[test]
    fn v7_each_kind_of_failure_has_its_advice() {
        use FailureKind as K;
        let kinds = [
            (K::Api, "Check the API key, the"),
            (K::Overloaded, "Send the message again in"),
            (K::Auth, "Check the API key, or"),
            (K::Billing, "Check the account's"),
            (K::BadRequest, "Shorten or"),
            (K::Refusal, "Put the"),
            (K::MaxTokens, "Ask for the answer"),
            (K::Interrupted, "Send a message"),
            (K::MaxTurns, "Raise the limit of turns"),
            (K::MaxBudget, "Raise the budget"),
            (K::Stopped, "Send the message again."),
            (K::Stalled, "Send the message again, or"),
            (K::Limit, "Raise the limit, then"),
            (K::NoResult, "See the agent's log for why"),
            (K::NoOutput, "See the agent's log for why"),
            (K::Execution, "See the agent's log for details"),
        ];
        for (kind, expect) in kinds {
            assert!(advice(kind).starts_with(expect), "{kind:?}");
        }
    }

    #[test]
    pub(crate) fn v7_every_outcome_has_something_to_say() {
        use FailureKind as K;
        let api = "Check the API key, the credit and the provider's status, then retry.";
        let failed = format!("⚠️ The run failed: Credit is too low. {api}");
        let log = "See the agent's log for why it stopped, then send it again.";
        let cut = format!("⚠️ The answer is incomplete: The agent gave no reason. {log}");
        let none = format!("⚠️ The run ended before it gave an answer: Killed! {log}");
        let turns = "⚠️ The run failed: Reached 3 turns. \
                     Raise the limit of turns or ask for a smaller step.";
        let mend = "⚠️ The run failed: It broke; mend it.";
        let cases = [
            (RunStatus::Ok, " hello\n", None, ("hello", "")),
            (RunStatus::Ok, " \n", None, ("", NO_TEXT)),
            (RunStatus::Error, "", Some((K::Api, "Credit is\n too low")), ("", &failed)),
            (
                RunStatus::Error,
                "Credit is too low",
                Some((K::Api, "Credit is too low")),
                ("", &failed),
            ),
            (RunStatus::Error, "so far", Some((K::MaxTurns, "Reached 3 turns")), ("so far", turns)),
            (RunStatus::Incomplete, "so far", None, ("so far", &cut)),
            (RunStatus::Incomplete, "", Some((K::NoResult, "Killed!")), ("", &none)),
            (RunStatus::Error, "", Some((K::Other, "It broke; mend it.")), ("", mend)),
        ];
        for (status, text, error, expect) in cases {
            check(status, text, error, expect);
        }
    }

    #[test]
    pub(crate) fn q10_a_turn_that_a_person_stopped_says_so_below_what_was_said() {
        let interrupted = Some((FailureKind::Interrupted, "The turn was interrupted."));
        check(RunStatus::Error, "so far", interrupted, ("so far", INTERRUPTED));
        check(RunStatus::Incomplete, "so far", interrupted, ("so far", INTERRUPTED));
        check(RunStatus::Error, "", interrupted, ("", INTERRUPTED));
    }

    #[test]
    pub(crate) fn b3_the_error_is_one_short_line_without_secrets() {
        let long = format!("bad key ghp_abcdefghijklmnopqrstuvwxyz0123456789 {}", "x".repeat(400));
        let mut outcome = stopped();
        outcome.error = Some(Failure::new(FailureKind::Api, long));
        let Phase::Error { message, .. } = phase(&outcome) else {
            panic!("an incomplete run ends with an error");
        };
        assert!(message.starts_with("bad key ghp_ab…6789 xxx"), "{message}");
        assert!(message.contains("x… Check the API key"), "{message}");
    }
}
