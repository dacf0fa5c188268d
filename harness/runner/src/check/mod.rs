//! Compares replays with goldens, invariants and each other; what does not hold is a finding.

mod agent;
mod broken;
mod bytes;
mod checks;
mod complete;
#[cfg(test)]
mod final_text_tests;
mod judge;
mod kept;
mod marks;
mod planned;
mod recorded;
mod recording;
mod secrets;
mod shrink;
mod stale;
mod sweep;
mod unmet;
mod variant;
mod workspace;

pub use bytes::first_difference;
pub use checks::Check;
pub use judge::ScenarioChecks;
pub use kept::FailureMemory;
pub use marks::{AtStake, Mark, Marks};
pub use recording::Recording;
pub(crate) use recording::setups;
pub use shrink::{Shrunk, shrink};
pub use workspace::{check_workspace, unusable};
