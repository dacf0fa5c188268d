//! Entries of a trace as the tests of the checks write them.

use clap::ValueEnum as _;

use crate::replay::{Entry, Lane};

/// The entry of a line `at lane kind data`, such as `9 telegram final {}`.
pub(super) fn entry(line: &str) -> Entry {
    let mut parts = line.splitn(4, ' ');
    let mut part = || parts.next().unwrap_or_else(|| panic!("`{line}` has four parts"));
    Entry {
        at: part().parse().unwrap(),
        lane: Lane::from_str(part(), false).unwrap(),
        kind: part().to_owned().into(),
        data: serde_json::from_str(part()).unwrap(),
    }
}
