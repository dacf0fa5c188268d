//! Counts of masked secrets, by rule, for a report without the secrets.

use std::collections::BTreeMap;

/// Counts what was masked, by the id of the rule that found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masked(BTreeMap<&'static str, u64>);

impl Masked {
    /// The ids of the rules that masked something, in alphabetical order, and how often each did.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(id, count)| (*id, *count))
    }

    /// The number of masks of all rules.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Counts what another one counted, too.
    pub fn extend(&mut self, other: &Self) {
        for (id, count) in other.iter() {
            *self.0.entry(id).or_default() += count;
        }
    }

    /// Counts one more for the rule `id`.
    pub(super) fn add(&mut self, id: &'static str) {
        *self.0.entry(id).or_default() += 1;
    }
}
