//! The rules for what an agent told an editor; none of them needs a golden.
//!
//! The entries are those of the lane `acp`, as [`crate::editor`] makes them. An agent may cut texts as it likes, draw
//! tools in its own way and send updates of kinds that nobody asked for; it is held to the words of the model, to the
//! calls of tools by their ids, and to the protocol.

mod calls;
mod case;
mod ending;
mod text;

use clitape_judge::FindingKind as K;
use clitape_recording::trace::Entry;

use super::unfinished::{AGENT, died, flooded, hung, refused};
use super::violation::{Found, Violation};
use crate::observation::{Observation, RunEnding};
use case::{EditorCase, is_text};

/// A rule about what an agent told an editor.
#[derive(Debug, Clone, Copy)]
pub struct EditorRule {
    /// Its id and name.
    pub kind: K,
    /// Whether it says something only about a run that came to its end.
    pub needs_end: bool,
    check: fn(&EditorCase<'_>) -> Option<Found>,
}

/// A rule that says something about every run.
const fn always(kind: K, check: fn(&EditorCase<'_>) -> Option<Found>) -> EditorRule {
    EditorRule { kind, needs_end: false, check }
}

/// A rule that says something about a run that came to its end.
const fn at_end(kind: K, check: fn(&EditorCase<'_>) -> Option<Found>) -> EditorRule {
    EditorRule { kind, needs_end: true, check }
}

/// All rules; the gravest first.
pub const EDITOR_RULES: &[EditorRule] = &[
    always(K::SubjectDied, |case| died(case.observation, AGENT)),
    always(K::SubjectHung, |case| hung(case.observation, AGENT)),
    always(K::SubjectRefused, |case| refused(case.observation, AGENT)),
    always(K::SubjectFlooded, |case| flooded(case.observation, AGENT)),
    always(K::MessageInvalid, ending::invalid),
    at_end(K::AnswerMissing, text::missing),
    at_end(K::AnswerNotWhole, text::not_whole),
    at_end(K::AnswerTwice, text::twice),
    at_end(K::TextUntold, text::untold),
    at_end(K::FailureUntold, ending::failure_untold),
    at_end(K::StopReasonWrong, ending::stop_reason),
    at_end(K::ToldAfterEnd, ending::told_after_end),
    at_end(K::CallUntold, calls::untold),
    at_end(K::InputUntold, calls::input_untold),
    at_end(K::CallLeftOpen, calls::left_open),
    at_end(K::OutcomeWrong, calls::outcome_wrong),
    always(K::CallNotOnce, calls::not_once),
    at_end(K::QuestionUntold, calls::question_untold),
    always(K::RequestCut, calls::request_cut),
    always(K::RanBeforeAnswer, calls::ran_before_answer),
];

/// The rules about the words of the model.
const TEXT_RULES: [K; 4] = [K::AnswerMissing, K::AnswerNotWhole, K::AnswerTwice, K::TextUntold];

/// Applies every rule to what an agent told an editor. The violations are in the order of the table.
pub fn judge_editor(observation: &Observation<'_>) -> Vec<Violation> {
    let case = EditorCase::new(observation);
    let is_over = observation.ending == RunEnding::Over;
    // What an editor can't read is lost, and the words that are missing then follow from that.
    let is_lost = |entry: &Entry| is_text(entry) && entry.data.contains_key("refused");
    let has_all = !observation.entries.iter().any(is_lost);
    let is_of_text = |rule: &EditorRule| TEXT_RULES.contains(&rule.kind);
    let rules = EDITOR_RULES.iter().filter(|rule| is_over || !rule.needs_end);
    let rules = rules.filter(|rule| has_all || !is_of_text(rule));
    rules.filter_map(|rule| (rule.check)(&case).map(|found| found.of(rule.kind))).collect()
}

#[cfg(test)]
mod tests;
