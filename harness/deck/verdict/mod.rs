//! Holds replays against goldens, invariants and each other; what does not hold is a finding.

mod bytes;
mod call;
mod diff;
mod finding;
mod golden;
mod invariant;
mod judge;
mod sweep;

pub use bytes::first_difference;
pub use diff::{DiffLine, Side, align, first_divergence};
pub use finding::{Finding, Kind};
pub use golden::{Golden, View, body};
pub use judge::{Check, Verdict, checks, judge, orphaned_cassettes};
