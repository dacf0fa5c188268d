//! Reads and writes `proof.json`: the findings of the run behind a proof, for `clitape proof --check`.

use clitape_recording::text::plural;
use serde::{Deserialize, Serialize};

use super::text::observed_line;
use crate::suite::ProofCase;

/// The version of the format.
const FORMAT: u32 = 1;

/// The report of the run behind a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofRunReport {
    /// The version of the format, [`FORMAT`].
    format: u32,
    /// The recordings of the proof.
    cases: Vec<ReportedCase>,
}

/// A recording of the proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportedCase {
    /// The scenario and the version.
    name: String,
    /// The text of the proof about it under `Observed result after fix`.
    observed: String,
    /// The findings: id and sentence.
    findings: Vec<String>,
}

impl ProofRunReport {
    /// Makes the report of these recordings.
    pub fn of(cases: &[ProofCase]) -> Self {
        let case = |case: &ProofCase| ReportedCase {
            name: format!("{}/{}", case.name, case.version()),
            observed: observed_line(case),
            findings: case.findings().map(|one| format!("{} {}", one.id, one.sentence)).collect(),
        };
        Self { format: FORMAT, cases: cases.iter().map(case).collect() }
    }

    /// Returns the report as text.
    ///
    /// # Errors
    ///
    /// When it can't be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads a report.
    ///
    /// # Errors
    ///
    /// When the text is not such a report.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Returns a sentence about the first part of the report that the text of the proof lacks.
    pub(super) fn contradicts(&self, text: &str) -> Option<String> {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(text);
        self.cases.iter().find_map(|ReportedCase { name, observed, findings }| {
            if let Some(first) = findings.first() {
                let count = plural(findings.len(), "finding");
                return Some(format!("the run of {name} has {count}; the first is {first}"));
            }
            let is_said = said.contains(&words(observed));
            (!is_said)
                .then(|| format!("the text does not say what the run of {name} gave: {observed}"))
        })
    }
}
