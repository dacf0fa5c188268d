//! The order of the CLI's versions: 2.1.99 came before 2.1.148.

use std::cmp::Ordering;
use std::fmt;

use crate::names::CliVersion;

/// A version that compares with others as numbers do, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release(CliVersion);

impl Release {
    pub(super) fn new(version: &CliVersion) -> Self {
        Self(version.clone())
    }

    /// The parts between dots; a part that is no number comes after all numbers.
    fn parts(&self) -> Vec<(u64, &str)> {
        let part = |part: &'_ str| part.parse().unwrap_or(u64::MAX);
        self.0.as_str().split('.').map(|text| (part(text), text)).collect()
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}
