//! Writes a drift as JSON, by `schemas/drift.json`.

use clitape_recording::names::ScenarioName;
use serde::Serialize;

use super::words::verdict;
use crate::drift::{About, Cost, Drift, DriftChange, NotCompared, Part};

/// The version of the format, raised when a reader of the old one would misread the new one.
const FORMAT: u32 = 1;

/// A drift as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftReport<'a> {
    /// Version of this format: 1.
    format: u32,
    /// Version of clitape that compared.
    clitape: &'static str,
    /// The version that is taken as known.
    from: &'a About,
    /// The version that is compared with it.
    to: &'a About,
    /// What a person sees of the change, in one sentence.
    verdict: String,
    /// Whether there is nothing to look at: no change, and nothing that was not compared.
    holds: bool,
    /// Whether a person sees something else in a chat.
    person_sees: bool,
    /// The changes, by part.
    changes: &'a [DriftChange],
    /// Lanes that differ only because the gateway uses what is new in the records.
    follows: &'a [DriftChange],
    /// What was not compared, though it should have been.
    not_compared: &'a [NotCompared],
    /// Scenarios that are not for both versions, with the reason.
    left_out: &'a [NotCompared],
    /// The scenarios that were compared.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    compared: &'a [ScenarioName],
    /// Time and size of both versions' recordings, which decide nothing.
    cost: [Cost; 2],
}

/// Returns the report as JSON text.
///
/// # Errors
///
/// An error of the JSON writer; the types of a report cause none.
pub fn drift_json(drift: &Drift) -> Result<String, serde_json::Error> {
    let report = DriftReport {
        format: FORMAT,
        clitape: env!("CARGO_PKG_VERSION"),
        from: &drift.from,
        to: &drift.to,
        verdict: verdict(drift),
        holds: drift.holds(),
        person_sees: drift.of(Part::Person).next().is_some(),
        changes: &drift.changes,
        follows: &drift.follows,
        not_compared: &drift.not_compared,
        left_out: &drift.left_out,
        compared: &drift.compared,
        cost: drift.cost,
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
