//! A call of the chat's server as the trace tells it: what it carries, and what came back.

use serde_json::Value;

use crate::replay::Entry;
use crate::scenario::FaultKind;

/// A call that carries a part of the final text, or the entry that says it is delivered.
pub(super) fn is_final(entry: &Entry) -> bool {
    entry.kind == "final" || entry.data.get("final") == Some(&Value::Bool(true))
}

/// A new message of the draft that is there, and whose answer was lost.
pub(super) fn is_lost_draft(entry: &Entry) -> bool {
    entry.kind == "sendMessage" && !is_final(entry) && is_lost(entry)
}

/// Whether the call was done and its answer never came.
pub(super) fn is_lost(entry: &Entry) -> bool {
    [FaultKind::LostReply, FaultKind::Hang].map(FaultKind::as_str).contains(&answer(entry))
}

/// The seconds that the server asked to wait; none unless it did.
pub(super) fn wait_s(entry: &Entry) -> Option<u64> {
    let (kind, wait) = answer(entry).split_once(':')?;
    (kind == FaultKind::RateLimit.as_str()).then(|| wait.strip_suffix('s')?.parse().ok())?
}

fn answer(entry: &Entry) -> &str {
    entry.data.get("answer").and_then(Value::as_str).unwrap_or_default()
}
