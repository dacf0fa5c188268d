//! How a replay breaks a rule, and what all rules read of the entries of a trace.

use std::collections::BTreeMap;

use clitape_judge::{ContextMoment, FindingKind};
use clitape_recording::trace::{Entry, Lane};
use serde_json::{Map, Value};

use crate::replay::Replay;

/// A rule that a replay breaks.
#[derive(Debug)]
pub(in super::super) struct BrokenInvariant {
    pub(in super::super) kind: FindingKind,
    /// When, and how.
    pub(in super::super) sentence: String,
    /// What came in beside what was seen, up to then.
    pub(in super::super) context: Vec<ContextMoment>,
}

/// How a replay breaks a rule.
pub(super) struct Violation<'r> {
    /// The entry that breaks it; none where it is something that is missing.
    pub(super) entry: Option<&'r Entry>,
    pub(super) sentence: String,
}

/// A rule that `entry` breaks.
pub(super) fn by(entry: &Entry, sentence: String) -> Option<Violation<'_>> {
    Some(Violation { entry: Some(entry), sentence })
}

/// A rule that the replay as a whole breaks.
pub(super) fn whole<'r>(sentence: String) -> Option<Violation<'r>> {
    Some(Violation { entry: None, sentence })
}

/// The entries of a lane, turn by turn.
pub(super) fn by_turn(replay: &Replay, lane: Lane) -> BTreeMap<u64, Vec<&Entry>> {
    let entries: Vec<&Entry> = replay.lane(lane).collect();
    let mut turns: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for same in entries.chunk_by(|a, b| a.turn() == b.turn()) {
        let [first, ..] = same else { continue };
        turns.entry(first.turn()).or_default().extend(same);
    }
    turns
}

/// Whether an entry of the bus says that its run is over.
pub(super) fn is_run_end(entry: &Entry) -> bool {
    entry.kind == "lifecycle" && matches!(entry.text("phase"), "end" | "error")
}

/// Whether a call of the chat has a fault of its server, so that the server decides what is seen.
pub(super) fn has_server_faults(replay: &Replay) -> bool {
    replay.lane(Lane::Telegram).any(|entry| entry.field("answer").is_some())
}

/// A field of an object in an entry that is text; empty when it is not there.
pub(super) fn text<'v>(fields: &'v Map<String, Value>, key: &str) -> &'v str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}
