//! The results of a run of the suite: scenario by scenario and check by check, with the totals. `schemas/report.json`
//! is their schema.

use std::time::Duration;

use clitape_judge::{CheckResult, Finding};
use clitape_recording::cassette::CassetteError;
use clitape_recording::text::plain;
use serde::{Deserialize, Serialize};

use crate::check::Check;

/// The name of the check of a scenario that can't be loaded.
pub(super) const UNUSABLE: &str = "scenario";

/// One scenario that was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioRun {
    /// Its name.
    pub name: String,
    /// Pending goldens of it that wait for a review.
    pub pending: u64,
    /// Its checks, in the order they ran.
    pub checks: Vec<CheckRun>,
}

/// Which part of the selected scenarios a run judged, where several machines take them side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedShard {
    /// Its number, from 1.
    pub number: u64,
    /// The number of all shards.
    pub of: u64,
    /// The number of scenarios in all shards.
    pub scenarios: u64,
}

/// One check that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRun {
    /// Its name, one of its own within the scenario: `2.1.329::bus`.
    pub name: String,
    /// Cassettes this check accounts for.
    pub cassettes: u64,
    /// Goldens compared.
    pub goldens: u64,
    /// Seeded plans, whose cuts the parser gets.
    pub plans: u64,
    /// Seeded plans that were replayed; the lines of the others end at the times of one of these.
    #[serde(default)]
    pub replayed: u64,
    /// Known differences of a subject, which are no findings.
    #[serde(default)]
    pub known: u64,
    /// What is wrong; empty when all held.
    pub findings: Vec<Finding>,
    /// Why the check could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Trouble>,
    /// Why the check was left out; it counts nowhere then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The time that it took. It is not part of the JSON report, which is the same from run to run.
    #[serde(skip)]
    pub took: Option<Duration>,
    /// The notes about plans that are stored. They are not part of the JSON report either.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Why a check could not be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// What it comes from.
    pub cause: Cause,
    /// One sentence.
    pub sentence: String,
}

/// What keeps a check from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Cause {
    /// A cassette is damaged.
    Damaged,
    /// A file can't be read or written.
    Unreadable,
    /// A subject does not start, or its run broke off.
    Subject,
}

/// What was run, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tally {
    /// Scenarios, those with findings included.
    pub scenarios: u64,
    /// Checks.
    pub checks: u64,
    /// Cassettes replayed.
    pub cassettes: u64,
    /// Goldens compared.
    pub goldens: u64,
    /// Seeded plans, whose cuts the parser gets.
    pub plans: u64,
    /// Seeded plans that were replayed; the lines of the others end at the times of one of these.
    #[serde(default)]
    pub replayed: u64,
    /// Known differences of a subject, which are no findings.
    #[serde(default)]
    pub known: u64,
    /// Findings.
    pub findings: u64,
    /// Reasons why checks could not be run, each once.
    pub errors: u64,
    /// Pending goldens that wait for a review.
    pub pending: u64,
}

impl ScenarioRun {
    /// Returns whether every check was run without a finding.
    pub fn holds(&self) -> bool {
        let Tally { findings, errors, .. } = self.tally();
        findings + errors == 0
    }

    /// Returns the time that its checks took, where it is known.
    pub fn took(&self) -> Option<Duration> {
        let mut times = self.checks.iter().filter_map(|check| check.took);
        let first = times.next()?;
        Some(times.fold(first, |sum, took| sum.saturating_add(took)))
    }

    /// Counts the checks of this scenario.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally { scenarios: 1, pending: self.pending, ..Tally::default() };
        for check in &self.checks {
            tally.add(check.tally());
        }
        tally.errors = troubles(&self.checks).len() as u64;
        tally
    }
}

impl CheckRun {
    /// Returns the row of a check with its result.
    pub fn new(check: &Check, judged: Result<CheckResult, CassetteError>) -> Self {
        let name = check.to_string();
        match judged {
            Ok(CheckResult { findings, goldens, plans, replayed, notes }) => Self {
                cassettes: u64::from(matches!(check, Check::Plans { .. })),
                goldens,
                plans,
                replayed,
                notes,
                ..Self::of(&name, findings)
            },
            Err(error) => {
                Self { error: Some(Trouble::from(&error)), ..Self::of(&name, Vec::new()) }
            }
        }
    }

    /// Returns the row of a check that belongs to no cassette, with its findings.
    pub fn of(name: &str, findings: Vec<Finding>) -> Self {
        Self { name: plain(name), findings, ..Self::default() }
    }

    /// Returns the row of a check that was left out.
    pub fn left_out(name: &str, why: &str) -> Self {
        Self { name: plain(name), skipped: Some(plain(why)), ..Self::default() }
    }

    /// Returns whether the finding is that the scenario can't be loaded, so that none of its checks was run.
    pub(crate) fn is_of_unusable_scenario(&self) -> bool {
        self.name == UNUSABLE && !self.findings.is_empty()
    }

    pub(crate) fn tally(&self) -> Tally {
        if self.skipped.is_some() {
            return Tally::default();
        }
        Tally {
            checks: 1,
            cassettes: self.cassettes,
            goldens: self.goldens,
            plans: self.plans,
            replayed: self.replayed,
            known: self.known,
            findings: self.findings.len() as u64,
            errors: u64::from(self.error.is_some()),
            ..Tally::default()
        }
    }
}

/// Returns the reasons why checks could not be run, each once: one damage keeps every check of a cassette from running.
pub(crate) fn troubles<'a>(checks: impl IntoIterator<Item = &'a CheckRun>) -> Vec<&'a Trouble> {
    let mut troubles: Vec<&Trouble> = Vec::new();
    for trouble in checks.into_iter().filter_map(|check| check.error.as_ref()) {
        if !troubles.contains(&trouble) {
            troubles.push(trouble);
        }
    }
    troubles
}

impl From<&CassetteError> for Trouble {
    fn from(error: &CassetteError) -> Self {
        let cause = match error {
            damage if damage.is_damage() => Cause::Damaged,
            _ => Cause::Unreadable,
        };
        Self { cause, sentence: plain(&error.to_string()) }
    }
}

impl Tally {
    /// Counts findings alone.
    pub(crate) fn of_findings(findings: usize) -> Self {
        Self { findings: findings as u64, ..Self::default() }
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.checks += other.checks;
        self.cassettes += other.cassettes;
        self.goldens += other.goldens;
        self.plans += other.plans;
        self.replayed += other.replayed;
        self.known += other.known;
        self.findings += other.findings;
        self.errors += other.errors;
        self.pending += other.pending;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check that ran.
    fn ran() -> CheckRun {
        let check = CheckRun::of("2.1.332::bus", Vec::new());
        CheckRun { cassettes: 1, goldens: 2, plans: 3, replayed: 4, known: 5, ..check }
    }

    #[test]
    fn a_check_that_was_left_out_is_in_no_total() {
        let left_out = CheckRun { skipped: Some("there is no editor".to_owned()), ..ran() };
        let run =
            ScenarioRun { checks: vec![ran(), left_out, ran()], pending: 6, ..Default::default() };
        let ones = Tally { scenarios: 1, pending: 6, ..Tally::default() };
        let twos =
            Tally { checks: 2, cassettes: 2, goldens: 4, plans: 6, replayed: 8, known: 10, ..ones };
        assert_eq!(run.tally(), twos);
        let mut both = twos;
        both.add(twos);
        assert_eq!((both.scenarios, both.known, both.pending), (2, 20, 12));
    }

    #[test]
    fn a_scenario_holds_without_findings_and_errors() {
        let sentence = "stdout.jsonl is damaged".to_owned();
        let error = Some(Trouble { cause: Cause::Damaged, sentence });
        for (check, expect) in [(ran(), true), (CheckRun { error, ..ran() }, false)] {
            let run =
                ScenarioRun { checks: vec![ran(), check.clone(), check], ..Default::default() };
            assert_eq!(run.holds(), expect, "{run:?}");
            assert_eq!(run.tally().errors, u64::from(!expect), "one damage is one error: {run:?}");
        }
    }
}
