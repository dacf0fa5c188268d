//! The model of a test run, which all writers share: the scenarios, their checks and findings, and the totals.
//! `schemas/report.json` is its schema.

use clitape_judge::Finding;
use clitape_recording::text::plain;
use serde::{Deserialize, Serialize};

pub use crate::suite::{Cause, CheckRun, JudgedShard, ScenarioRun, Tally, Trouble};

/// The version of the report's format.
pub const FORMAT: u32 = 1;

/// One test run, or several that were merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of this format: 1.
    pub format: u32,
    /// Version of clitape that judged.
    pub clitape: String,
    /// Which shard was judged; none where all that was selected was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<JudgedShard>,
    /// What was run, added up.
    pub totals: Tally,
    /// The scenarios that were judged.
    pub scenarios: Vec<ScenarioRun>,
    /// Checks that belong to no scenario.
    #[serde(rename = "house")]
    pub workspace: Vec<CheckRun>,
}

impl Report {
    /// Returns the report of a run, with its totals.
    pub fn new(clitape: &str, scenarios: Vec<ScenarioRun>, workspace: Vec<CheckRun>) -> Self {
        let mut totals = Tally::default();
        let named = |run: ScenarioRun| ScenarioRun { name: plain(&run.name), ..run };
        let scenarios: Vec<ScenarioRun> = scenarios.into_iter().map(named).collect();
        for scenario in &scenarios {
            totals.add(scenario.tally());
        }
        for check in &workspace {
            totals.add(check.tally());
        }
        let clitape = clitape.to_owned();
        Self { format: FORMAT, clitape, shard: None, totals, scenarios, workspace }
    }

    /// Returns the report with the shard that was judged.
    #[must_use]
    pub fn of_shard(self, shard: Option<JudgedShard>) -> Self {
        Self { shard, ..self }
    }

    /// Returns whether the run had no cassettes, no findings and no errors.
    pub fn is_empty(&self) -> bool {
        let Tally { cassettes, findings, errors, .. } = self.totals;
        cassettes + findings + errors == 0
    }

    /// Returns whether every check was run without a finding.
    pub fn holds(&self) -> bool {
        self.totals.findings + self.totals.errors == 0
    }

    /// Returns every check with the name of its scenario; `cassettes` for checks of the workspace.
    pub fn checks(&self) -> impl Iterator<Item = (&str, &CheckRun)> {
        self.groups().flat_map(|(name, checks)| checks.iter().map(move |check| (name, check)))
    }

    /// Returns the checks by scenario, those of the workspace last.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&str, &[CheckRun])> {
        let workspace = (!self.workspace.is_empty()).then_some(("cassettes", &self.workspace[..]));
        self.scenarios.iter().map(|run| (run.name.as_str(), &run.checks[..])).chain(workspace)
    }

    /// Returns every finding.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.checks().flat_map(|(_, check)| &check.findings)
    }

    /// Returns whether a scenario can't be used, so that some of the selected ones were not judged.
    pub fn has_unusable_scenario(&self) -> bool {
        self.checks().any(|(_, check)| check.is_of_unusable_scenario())
    }

    /// Returns the reasons why checks could not be run, each once.
    pub fn troubles(&self) -> Vec<&Trouble> {
        let mut troubles: Vec<&Trouble> = Vec::new();
        for trouble in self.checks().filter_map(|(_, check)| check.error.as_ref()) {
            if !troubles.contains(&trouble) {
                troubles.push(trouble);
            }
        }
        troubles
    }
}
