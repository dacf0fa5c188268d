//! Compares replays with goldens, invariants and each other; what does not hold is a finding.

mod bytes;
mod change;
mod context;
mod diff;
mod divergence;
mod final_text;
mod finding;
mod golden;
mod invariant;
mod judge;
mod pairs;
mod secrets;
mod setup;
mod sweep;
mod trace_diff;
mod variant;
mod workspace;

pub use bytes::first_difference;
pub use change::{Change, Class};
pub(crate) use change::{between, entry_mark};
pub use context::ContextMoment;
#[cfg(test)]
pub(crate) use diff::align_texts;
pub use diff::{DiffLine, DiffSide};
pub use divergence::Divergence;
pub use finding::{CheckResult, Finding, FindingId, FindingKind};
pub use golden::{Golden, GoldenChange, UnreadableLine, View, body, parse};
pub(crate) use invariant::invariants;
pub use judge::{Check, checks, judge};
pub(crate) use pairs::Pair;
pub(crate) use setup::{canonical_replay, canonical_replay_of_further_run, command, setups};
pub use trace_diff::{Times, TraceDiff};
pub use variant::never_seen;
pub use workspace::{check_workspace, unusable};
