//! Compares replays with goldens, invariants and each other; what does not hold is a finding.

mod agent;
mod bytes;
mod change;
mod complete;
mod context;
mod diff;
mod divergence;
#[cfg(test)]
mod entry_line;
mod final_text;
mod finding;
mod golden;
mod golden_chain;
mod invariant;
mod judge;
mod pairs;
mod recorded;
mod recording;
mod secrets;
mod shrink;
mod snap_file;
mod stale;
mod sweep;
mod trace_diff;
mod unmet;
mod variant;
mod view;
mod workspace;

pub use bytes::first_difference;
pub use change::{Change, Class};
pub(crate) use change::{between, entry_mark};
pub use context::ContextMoment;
#[cfg(test)]
pub(crate) use diff::align_texts;
pub use diff::{DiffLine, DiffSide};
pub use divergence::Divergence;
pub use finding::{CheckResult, Finding, FindingId, FindingKind, GoldenLine};
pub use golden::{Golden, GoldenChange, UnreadableLine, parse};
pub use invariant::{INVARIANTS, Invariant, SESSION_RULES, Stake};
pub use judge::{Check, ScenarioChecks};
pub(crate) use pairs::Pair;
pub use recording::Recording;
pub(crate) use recording::setups;
pub use shrink::{Shrunk, shrink};
pub use snap_file::body;
pub use trace_diff::{Times, TraceDiff};
pub use view::View;
pub use workspace::{check_workspace, unusable};
