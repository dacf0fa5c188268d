//! What the rules for an agent read: the entries of a run by turn and by call, and what the cassette expects.

use clitape_recording::facts::{Facts, TurnFacts};
use clitape_recording::trace::Entry;
use serde_json::Value;

use crate::observation::Observation;

/// Whether an entry is text of the model.
pub(super) fn is_text(entry: &Entry) -> bool {
    entry.kind == "agent_message_chunk"
}

/// What all rules read: the observation, and what the cassette expects.
pub(super) struct EditorCase<'a> {
    pub(super) observation: &'a Observation<'a>,
    /// The facts of the cassette.
    pub(super) facts: Facts,
    /// Its turns, in order.
    pub(super) turns: Vec<TurnFacts>,
    /// The text that the agent told as the model's, message after message.
    pub(super) told: String,
}

impl<'a> EditorCase<'a> {
    pub(super) fn new(observation: &'a Observation<'a>) -> Self {
        let facts = Facts::of(observation.cassette);
        let turns = facts.turn_facts();
        let chunks = observation.entries.iter().filter(|entry| is_text(entry));
        let told = chunks.filter_map(|entry| entry.data.get("content")?["text"].as_str()).collect();
        Self { observation, facts, turns, told }
    }

    /// The turns that the stand-in played.
    pub(super) fn played(&self) -> impl Iterator<Item = &TurnFacts> {
        let played = match self.observation.turns.len() {
            0 => usize::MAX,
            known => known,
        };
        self.turns.iter().take(played)
    }

    /// The entries, with their indexes.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let entries: &'a [Entry] = &self.observation.entries;
        entries.iter().enumerate()
    }

    /// The entries of a call of a tool.
    pub(super) fn of_call(&self, call: &str) -> impl Iterator<Item = (usize, &'a Entry)> {
        let is_own = move |entry: &Entry| {
            ["tool_call", "tool_call_update"].contains(&entry.kind.as_ref())
                && entry.data.get("toolCallId").is_some_and(|id| id == call)
        };
        self.entries().filter(move |(_, entry)| is_own(entry))
    }

    /// The turns that belong to one prompt each, with the index of the entry that answers it: a process may make
    /// turns of its own, and then nobody knows which is whose.
    pub(super) fn answered(&self) -> Vec<(&TurnFacts, usize)> {
        let responses: Vec<usize> = self
            .entries()
            .filter(|(_, entry)| entry.kind == "response")
            .map(|(index, _)| index)
            .collect();
        let turns: Vec<&TurnFacts> = self.played().collect();
        match turns.len() == responses.len() {
            true => turns.into_iter().zip(responses).collect(),
            false => Vec::new(),
        }
    }
}

/// A field of an entry as text.
pub(super) fn text<'e>(entry: &'e Entry, field: &str) -> &'e str {
    entry.data.get(field).and_then(Value::as_str).unwrap_or_default()
}
