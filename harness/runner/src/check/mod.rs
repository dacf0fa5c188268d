//! Compares replays with goldens, invariants and each other; what does not hold is a finding.

mod agent;
mod broken;
mod checks;
mod complete;
#[cfg(test)]
mod final_text_tests;
mod judge;
mod recording;
mod shrink;
mod sweep;
mod variant;

pub(crate) use agent::is_open;
pub use checks::{AtStake, Check, Mark, Marks};
pub use complete::{check_workspace, unusable};
pub use judge::{FailureMemory, ScenarioChecks};
pub(crate) use recording::setups;
pub use recording::{Recording, first_difference};
pub use shrink::{FewerRecords, Shrunk, fewer_records, shrink};
