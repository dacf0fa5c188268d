//! Holds replays against goldens, invariants and each other; what does not hold is a finding.

mod bytes;
mod change;
mod diff;
mod divergence;
mod finding;
mod golden;
mod invariant;
mod judge;
mod lanes;
mod pairs;
mod secrets;
mod setup;
mod sweep;
mod variant;
mod workspace;

pub use bytes::first_difference;
pub use change::{Change, Class, change};
pub(crate) use change::{between, entry_mark};
pub use diff::{DiffLine, Side, align};
pub use divergence::{Divergence, first_divergence};
pub use finding::{Finding, Kind, Verdict};
pub use golden::{Golden, View, body};
pub(crate) use invariant::invariants;
pub use judge::{Check, checks, judge};
pub use lanes::Moment;
pub(crate) use pairs::{Pair, pairs};
pub(crate) use setup::{command, paced, paced_further, setups};
pub use variant::never_seen;
pub use workspace::{unusable, workspace};
