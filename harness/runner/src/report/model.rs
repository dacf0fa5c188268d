//! The model of a test run, which all writers share: the scenarios, their checks and findings, and the totals.
//!
//! It is also written as JSON, by `schemas/report.json`, read back, and merged from the reports of shards.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use clitape_judge::Finding;
use clitape_recording::text::{self, plain, plural};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::suite::troubles;
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
        let mut report =
            Self { format: FORMAT, clitape, shard: None, totals, scenarios, workspace };
        report.totals.errors = report.troubles().len() as u64;
        report
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
        troubles(self.checks().map(|(_, check)| check))
    }
}

/// The reason why a report can't be used.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The file is not a report.
    #[error(
        "{name} is no report of a test run ({why}); make one with `clitape test --json {name}`"
    )]
    NoReport {
        /// The file.
        name: String,
        /// The reason that the parser gives.
        why: String,
    },
    /// The report has another version of the format.
    #[error(
        "{name} has format {format}, this clitape reads format {FORMAT}; judge again with this one"
    )]
    Format {
        /// The file.
        name: String,
        /// Its format.
        format: u64,
    },
    /// The report is of a run without cassettes.
    #[error(
        "{name} is empty: no cassette was replayed for it; take fewer shards, or give it a scenario"
    )]
    Empty {
        /// The file.
        name: String,
    },
    /// Two reports have the same check.
    #[error("{name} has the check {check}, as {other} has; a check belongs to one shard only")]
    Twice {
        /// The file.
        name: String,
        /// The file that has it already.
        other: String,
        /// The check, with its scenario.
        check: String,
    },
    /// Another version of clitape judged.
    #[error(
        "{name} was judged by clitape {version}, {other} by another; judge all with one version"
    )]
    Mixed {
        /// The file.
        name: String,
        /// Its version of clitape.
        version: String,
        /// The first file.
        other: String,
    },
    /// The reports are not those of all shards.
    #[error("{name} is shard {} of {}, and {missing}; {advice}", shard.number, shard.of)]
    Shards {
        /// The file.
        name: String,
        /// Its shard.
        shard: JudgedShard,
        /// The shards that are missing or do not match, in words.
        missing: String,
        /// The command or advice that helps.
        advice: &'static str,
    },
}

/// The most missing shards that an error names.
const MISSING: usize = 20;

/// Writes the report as indented JSON, with escapes for characters that a terminal would obey.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", text::json(&serde_json::to_string_pretty(report)?))
}

/// Reads a report that [`json`] wrote to the file `name`.
///
/// # Errors
///
/// [`ReportError`] when the text is not a report, has another format, or its totals differ from the sum of its checks.
pub fn read(name: &str, text: &[u8]) -> Result<Report, ReportError> {
    #[derive(Deserialize)]
    struct ReportHead {
        format: u64,
    }
    let no_report = |why: String| ReportError::NoReport { name: name.to_owned(), why };
    let head: ReportHead =
        serde_json::from_slice(text).map_err(|error| no_report(error.to_string()))?;
    if head.format != u64::from(FORMAT) {
        return Err(ReportError::Format { name: name.to_owned(), format: head.format });
    }
    let read: Report =
        serde_json::from_slice(text).map_err(|error| no_report(error.to_string()))?;
    let (totals, shard) = (read.totals, read.shard);
    let scenarios = read.scenarios.into_iter().map(|run| ScenarioRun {
        name: plain(&run.name),
        checks: run.checks.into_iter().map(plain_check).collect(),
        ..run
    });
    let workspace = read.workspace.into_iter().map(plain_check);
    let report = Report::new(&plain(&read.clitape), scenarios.collect(), workspace.collect());
    if report.totals != totals {
        return Err(no_report("its totals are not what its checks add up to".to_owned()));
    }
    Ok(report.of_shard(shard))
}

/// Makes all text of a check safe to print, because anyone can have written the file.
fn plain_check(mut check: CheckRun) -> CheckRun {
    check.name = plain(&check.name);
    if let Some(error) = &mut check.error {
        error.sentence = plain(&error.sentence);
    }
    check.findings = check.findings.into_iter().map(Finding::safe).collect();
    check
}

/// Makes one report of several, each with the name of its file. Scenarios are sorted by name, so that the order of the
/// files does not matter. Reports of shards have to be those of all shards.
///
/// # Errors
///
/// [`ReportError`] when one is empty, a shard is missing, two have the same check, or another clitape judged.
pub fn merge(parts: Vec<(String, Report)>) -> Result<Report, ReportError> {
    check_shards(&parts)?;
    let mut seen: HashMap<String, String> = HashMap::new();
    let mut scenarios: BTreeMap<String, ScenarioRun> = BTreeMap::new();
    let mut workspace: Vec<CheckRun> = Vec::new();
    let mut first: Option<(String, String)> = None;
    for (name, part) in parts {
        if part.is_empty() {
            return Err(ReportError::Empty { name });
        }
        let (version, other) = first.get_or_insert((part.clitape.clone(), name.clone())).clone();
        if version != part.clitape {
            return Err(ReportError::Mixed { name, version: part.clitape, other });
        }
        for (scenario, check) in part.checks() {
            let check = format!("{scenario}::{}", check.name);
            if let Some(other) = seen.insert(check.clone(), name.clone()) {
                return Err(ReportError::Twice { name, other, check });
            }
        }
        for run in part.scenarios {
            match scenarios.get_mut(&run.name) {
                Some(known) => {
                    known.pending = known.pending.max(run.pending);
                    known.checks.extend(run.checks);
                }
                None => {
                    scenarios.insert(run.name.clone(), run);
                }
            }
        }
        workspace.extend(part.workspace);
    }
    let (version, _) = first.unwrap_or_default();
    Ok(Report::new(&version, scenarios.into_values().collect(), workspace))
}

/// Checks that reports of shards are those of all shards of one selection.
fn check_shards(parts: &[(String, Report)]) -> Result<(), ReportError> {
    let mut shards = parts.iter().filter_map(|(name, part)| Some((name, part.shard?)));
    let Some((name, shard)) = shards.next() else { return Ok(()) };
    let refused = |missing: String, advice| {
        Err(ReportError::Shards { name: name.clone(), shard, missing, advice })
    };
    let is_other = |other: JudgedShard| (other.of, other.scenarios) != (shard.of, shard.scenarios);
    if let Some((other, odd)) = shards.find(|(_, other)| is_other(*other)) {
        let JudgedShard { number, of, scenarios } = odd;
        let selected = plural(scenarios, "selected scenario");
        return refused(
            format!("{other} is shard {number} of {of}, with {selected} in all"),
            "merge the shards of one run",
        );
    }
    let has = |number: u64| {
        parts.iter().any(|(_, part)| part.shard.is_some_and(|shard| shard.number == number))
    };
    let missing = (1..=shard.of).filter(|number| !has(*number)).map(|number| number.to_string());
    let missing: Vec<String> = missing.take(MISSING).collect();
    if missing.is_empty() {
        return Ok(());
    }
    refused(
        format!("shard {} is missing", missing.join(", ")),
        "add its report, or run it again: what it would have found is not known",
    )
}
