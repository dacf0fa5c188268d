//! How an observation breaks a rule, and what all rules read of the entries of a trace.

use std::collections::BTreeMap;

use clitape_recording::trace::{Entry, Lane};
use serde_json::{Map, Value};

use crate::FindingKind;
use crate::case::Case;

/// A rule that an observation breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub kind: FindingKind,
    /// What the person saw, when, and what should have been; plain text, which may contain recorded text.
    pub sentence: String,
    /// The index of the entry that breaks the rule; `None` where it is something that is missing.
    pub entry: Option<usize>,
}

/// What a check finds, before it is known which rule it is of.
#[derive(Debug)]
pub(crate) struct Broken<'c> {
    /// The entry that breaks the rule; `None` where it is something that is missing.
    pub(crate) entry: Option<&'c Entry>,
    /// What is wrong.
    pub(crate) sentence: String,
}

/// A rule that `entry` breaks.
pub(crate) fn by(entry: &Entry, sentence: String) -> Option<Broken<'_>> {
    Some(Broken { entry: Some(entry), sentence })
}

/// A rule that the entry with the index `entry` breaks.
pub(crate) fn by_index(case: Case<'_>, entry: usize, sentence: String) -> Option<Broken<'_>> {
    Some(Broken { entry: case.entries.get(entry), sentence })
}

/// A rule that the observation as a whole breaks.
pub(crate) fn whole<'c>(sentence: String) -> Option<Broken<'c>> {
    Some(Broken { entry: None, sentence })
}

/// The entries of a lane, turn by turn.
pub(crate) fn by_turn(case: Case<'_>, lane: Lane) -> BTreeMap<u64, Vec<&Entry>> {
    let entries: Vec<&Entry> = case.lane(lane).collect();
    let mut turns: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for same in entries.chunk_by(|a, b| a.turn() == b.turn()) {
        let [first, ..] = same else { continue };
        turns.entry(first.turn()).or_default().extend(same);
    }
    turns
}

/// Whether an entry of the bus says that its run is over.
pub(crate) fn is_run_end(entry: &Entry) -> bool {
    entry.kind == "lifecycle" && matches!(entry.text("phase"), "end" | "error")
}

/// Whether a call of the chat has a fault of its server, so that the server decides what is seen.
pub(crate) fn has_server_faults(case: Case<'_>) -> bool {
    case.lane(Lane::Telegram).any(|entry| entry.field("answer").is_some())
}

/// A field of an object in an entry that is text; empty when it is not there.
pub(crate) fn text<'v>(fields: &'v Map<String, Value>, key: &str) -> &'v str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}
