//! The rules for what an agent told an editor; none of them needs a golden.
//!
//! The entries are those of the lane `acp`, as [`crate::editor`] makes them. An agent may cut texts as it likes, draw
//! tools in its own way and send updates of kinds that nobody asked for; it is held to the words of the model, to the
//! calls of tools by their ids, and to the protocol.

mod calls;
mod ending;
mod text;

use clitape_runner::check::FindingKind as K;
use clitape_runner::replay::Entry;
use serde_json::Value;

use super::expect::{Expected, ExpectedTurn, expect};
use super::violation::{Found, Violation};
use crate::observation::{Observation, RunEnding};

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
    always(K::SubjectDied, ending::died),
    always(K::SubjectHung, ending::hung),
    always(K::SubjectRefused, ending::refused),
    always(K::SubjectFlooded, ending::flooded),
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
    always(K::RanBeforeAnswer, calls::ran_before_answer),
];

/// The rules about the words of the model.
const TEXT_RULES: [K; 4] = [K::AnswerMissing, K::AnswerNotWhole, K::AnswerTwice, K::TextUntold];

/// Whether an entry is text of the model.
fn is_text(entry: &Entry) -> bool {
    entry.kind == "agent_message_chunk"
}

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

/// What all rules read: the observation, and what the cassette expects.
struct EditorCase<'a> {
    observation: &'a Observation<'a>,
    expected: Expected,
    /// The text that the agent told as the model's, message after message.
    told: String,
}

impl<'a> EditorCase<'a> {
    fn new(observation: &'a Observation<'a>) -> Self {
        let expected = expect(observation.cassette);
        let chunks = observation.entries.iter().filter(|entry| is_text(entry));
        let told = chunks.filter_map(|entry| entry.data.get("content")?["text"].as_str()).collect();
        Self { observation, expected, told }
    }

    /// The turns that the stand-in played.
    fn played(&self) -> impl Iterator<Item = &ExpectedTurn> {
        let played = match self.observation.turns.len() {
            0 => usize::MAX,
            known => known,
        };
        self.expected.turns.iter().take(played)
    }

    /// The entries, with their indexes.
    fn entries(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let entries: &'a [Entry] = &self.observation.entries;
        entries.iter().enumerate()
    }

    /// The entries of a call of a tool.
    fn of_call(&self, call: &str) -> impl Iterator<Item = (usize, &'a Entry)> {
        let is_own = move |entry: &Entry| {
            ["tool_call", "tool_call_update"].contains(&entry.kind.as_ref())
                && entry.data.get("toolCallId").is_some_and(|id| id == call)
        };
        self.entries().filter(move |(_, entry)| is_own(entry))
    }

    /// The turns that belong to one prompt each, with the index of the entry that answers it: a process may make
    /// turns of its own, and then nobody knows which is whose.
    fn answered(&self) -> Vec<(&ExpectedTurn, usize)> {
        let responses: Vec<usize> = self
            .entries()
            .filter(|(_, entry)| entry.kind == "response")
            .map(|(index, _)| index)
            .collect();
        let turns: Vec<&ExpectedTurn> = self.played().collect();
        match turns.len() == responses.len() {
            true => turns.into_iter().zip(responses).collect(),
            false => Vec::new(),
        }
    }
}

/// A field of an entry as text.
fn text<'e>(entry: &'e Entry, field: &str) -> &'e str {
    entry.data.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
