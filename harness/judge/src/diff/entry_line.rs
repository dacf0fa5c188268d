//! Reads entries of a trace from the short lines of the tests.

use clap::ValueEnum as _;
use clitape_recording::trace::{Entry, Lane};
use serde_json::{Map, Value};

/// Reads an entry from a line `at lane kind data`, such as `9 telegram final {}`.
pub(crate) fn entry(line: &str) -> Entry {
    let mut parts = line.splitn(4, ' ');
    let mut part = || parts.next().unwrap_or_else(|| panic!("`{line}` has four parts"));
    let at = part().parse().unwrap();
    let lane = Lane::from_str(part(), false).unwrap();
    let kind = part().to_owned();
    let data: Map<String, Value> = serde_json::from_str(part()).unwrap();
    Entry::new(at, lane, kind, data)
}
