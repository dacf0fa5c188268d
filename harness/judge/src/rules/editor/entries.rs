//! The entries of an editor by turn and by call.

use clitape_recording::facts::TurnFacts;
use clitape_recording::trace::{Entry, Lane};

use crate::case::Case;

/// Tools whose calls an agent may show as a plan.
pub(in super::super) const PLANS: [&str; 5] =
    ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"];

/// The turns that the stand-in played.
pub(super) fn played(case: Case<'_>) -> impl Iterator<Item = &TurnFacts> {
    case.played().map(|(_, turn)| turn)
}

/// The entries of the editor and of the person, with their indexes.
pub(super) fn entries(case: Case<'_>) -> impl Iterator<Item = (usize, &Entry)> {
    case.entries.iter().enumerate().filter(|(_, entry)| entry.lane == Lane::Acp)
}

/// The entries of a call of a tool.
pub(super) fn of_call<'c>(case: Case<'c>, call: &str) -> impl Iterator<Item = (usize, &'c Entry)> {
    let is_own = move |entry: &Entry| {
        ["tool_call", "tool_call_update"].contains(&entry.kind.as_ref())
            && entry.data.get("toolCallId").is_some_and(|id| id == call)
    };
    entries(case).filter(move |(_, entry)| is_own(entry))
}

/// The turns that belong to one prompt each, with the index of the entry that answers it: a process may make
/// turns of its own, and then no prompt says whose they are.
pub(super) fn answered(case: Case<'_>) -> Vec<(&TurnFacts, usize)> {
    let is_response = |(_, entry): &(usize, &Entry)| entry.kind == "response";
    let responses: Vec<usize> = entries(case).filter(is_response).map(|(index, _)| index).collect();
    let turns: Vec<&TurnFacts> = played(case).collect();
    match turns.len() == responses.len() {
        true => turns.into_iter().zip(responses).collect(),
        false => Vec::new(),
    }
}
