//! Holds replays against goldens, invariants and each other; what does not hold is a finding.

mod bytes;
mod change;
mod context;
mod diff;
mod divergence;
mod finding;
mod golden;
mod invariant;
mod judge;
mod pairs;
mod secrets;
mod setup;
mod sweep;
mod variant;
mod workspace;

pub use bytes::first_difference;
pub use change::{Change, Class, change};
pub(crate) use change::{between, entry_mark};
pub use context::ContextMoment;
pub use diff::{DiffLine, DiffSide, align_texts};
pub use divergence::{Divergence, first_divergence};
pub use finding::{CheckResult, Finding, FindingId, FindingKind};
pub use golden::{Golden, View, body};
pub(crate) use invariant::invariants;
pub use judge::{Check, checks, judge};
pub(crate) use pairs::{Pair, pairs};
pub(crate) use setup::{canonical_replay, canonical_replay_of_further_run, command, setups};
pub use variant::never_seen;
pub use workspace::{check_workspace, unusable};
