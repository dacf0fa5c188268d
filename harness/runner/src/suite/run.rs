//! One run of the suite: the scenarios of a workspace, judged on all cores.

use std::io;

use super::case::Case;
use super::pool::{Progress, in_order};
use super::result::{CheckRun, ScenarioRun};
use crate::cassette::CassetteError;
use crate::check::{CheckResult, ScenarioChecks, check_workspace, unusable};
use crate::limits::ReplayLimits;
use crate::names::{CliVersion, ScenarioName};
use crate::scenario::{ScenarioError, Workspace};

/// Which scenarios are judged, and how.
#[derive(Debug, Clone, Copy)]
pub struct SuiteOptions<'a> {
    /// A part of the names of the scenarios; all scenarios have the empty one.
    pub filter: &'a str,
    /// Whether what differs is written as a pending golden.
    pub update: bool,
    /// Whether a [`Case`] is gathered of every recording of which a check finds something.
    pub gather_cases: bool,
    /// The most plans and channels that a scenario may have.
    pub limits: ReplayLimits,
}

/// What came of a run of the suite.
#[derive(Debug, Default)]
pub struct SuiteRun {
    /// The scenarios: those that can't be used, then the others by name.
    pub scenarios: Vec<ScenarioRun>,
    /// The checks of the workspace as a whole.
    pub workspace: Vec<CheckRun>,
    /// The recordings of which a check finds something, where they were asked for.
    pub cases: Vec<Case>,
}

/// What happens while the suite runs.
#[derive(Debug)]
pub enum SuiteEvent<'a> {
    /// A further scenario is judged.
    Judged {
        /// The number of scenarios that are judged.
        done: usize,
        /// The number of all scenarios that can be used.
        of: usize,
    },
    /// The next scenario in their order.
    Scenario(&'a ScenarioRun),
}

/// Loads the scenarios whose names contain `filter`, each with its checks, or the reason why it can't be used.
///
/// # Errors
///
/// When a folder can't be read.
pub fn load(
    workspace: &Workspace,
    filter: &str,
    limits: ReplayLimits,
) -> io::Result<Vec<(ScenarioName, Result<ScenarioChecks, ScenarioError>)>> {
    let mut names = workspace.names()?;
    names.retain(|name| name.contains(filter));
    let load = |name: ScenarioName| {
        let scenario = workspace.scenario_of(&name).and_then(|scenario| {
            scenario.check_work(limits)?;
            Ok(scenario)
        });
        let checks = match scenario {
            Ok(scenario) => Ok(ScenarioChecks::new(workspace, scenario)?),
            Err(error) => Err(error),
        };
        Ok((name, checks))
    };
    names.into_iter().map(load).collect()
}

/// Judges the scenarios on all cores, and reports each in order as soon as it is judged.
///
/// # Errors
///
/// [`CassetteError`] when a folder can't be read, or `report` fails.
pub fn run(
    workspace: &Workspace,
    options: SuiteOptions<'_>,
    mut report: impl FnMut(SuiteEvent<'_>) -> io::Result<()>,
) -> Result<SuiteRun, CassetteError> {
    let mut run = SuiteRun::default();
    let mut scenarios = Vec::new();
    for (name, checks) in load(workspace, options.filter, options.limits)? {
        match checks {
            Ok(checks) => scenarios.push(checks),
            // The others can be judged all the same.
            Err(error) => run.scenarios.push(ScenarioRun {
                name: name.to_string(),
                checks: vec![CheckRun::of("scenario", vec![unusable(workspace, &name, &error)])],
                ..ScenarioRun::default()
            }),
        }
    }
    for scenario in &run.scenarios {
        report(SuiteEvent::Scenario(scenario))?;
    }
    let judge = |checks: &ScenarioChecks| judge(checks, options);
    in_order(&scenarios, judge, |progress| -> Result<(), CassetteError> {
        match progress {
            Progress::Ended(done) => report(SuiteEvent::Judged { done, of: scenarios.len() })?,
            Progress::Result(judged) => {
                let (scenario, cases) = judged?;
                report(SuiteEvent::Scenario(&scenario))?;
                run.scenarios.push(scenario);
                run.cases.extend(cases);
            }
        }
        Ok(())
    })?;
    for (check, mut found) in check_workspace(workspace)? {
        found.retain(|finding| finding.place.contains(options.filter));
        // A check that finds nothing counts only where the whole workspace was looked at.
        if !found.is_empty() || options.filter.is_empty() && !run.scenarios.is_empty() {
            run.workspace.push(CheckRun::of(check, found));
        }
    }
    Ok(run)
}

/// Runs every check of a scenario.
fn judge(
    checks: &ScenarioChecks,
    options: SuiteOptions<'_>,
) -> Result<(ScenarioRun, Vec<Case>), CassetteError> {
    let judged: Vec<_> =
        checks.checks().iter().map(|check| checks.judge(check, options.update)).collect();
    let cases = if options.gather_cases { cases(checks, &judged)? } else { Vec::new() };
    let runs =
        checks.checks().iter().zip(judged).map(|(check, judged)| CheckRun::new(check, judged));
    let run = ScenarioRun {
        name: checks.scenario().name.to_string(),
        checks: runs.collect(),
        pending: checks.pending()?,
    };
    Ok((run, cases))
}

/// The recordings of which a check finds something.
fn cases(
    checks: &ScenarioChecks,
    judged: &[Result<CheckResult, CassetteError>],
) -> Result<Vec<Case>, CassetteError> {
    let judged: Vec<_> = checks
        .checks()
        .iter()
        .zip(judged)
        .filter_map(|(check, judged)| Some((check, judged.as_ref().ok()?)))
        .collect();
    let failed = |version: &&CliVersion| {
        judged
            .iter()
            .any(|(check, result)| check.version() == Some(*version) && !result.findings.is_empty())
    };
    checks.versions().filter(failed).map(|version| Case::gather(checks, version, &judged)).collect()
}
