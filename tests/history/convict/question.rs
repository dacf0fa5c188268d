//! The questions of the test to the program that convicts, and its answers: a line of JSON each.

use serde::{Deserialize, Serialize};

/// Asks which findings a bug has that the code without it does not have.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The number of the bug.
    pub(crate) number: usize,
    /// The number of the bug that is on while the rules for gateways under test are applied.
    pub(crate) rules: usize,
    /// The scenarios that are judged.
    pub(crate) scenarios: Vec<String>,
    /// The number of versions of a scenario that are judged at most.
    pub(crate) most: usize,
}

/// The kinds of findings of each scenario, in their order.
pub(crate) type Answer = Vec<(String, Vec<String>)>;

/// Returns true for the kinds of findings of an invariant, of the equivalence of plans, and of a rule for gateways under
/// test.
pub(crate) fn needs_no_golden(kind: &str) -> bool {
    !kind.starts_with("GD")
}
