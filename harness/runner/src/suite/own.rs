//! One run of the suite: judges the scenarios of a workspace on all cores.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clitape_judge::CheckResult;
use clitape_process::threads::NoMoreThreads;
use clitape_recording::cassette::CassetteError;
use clitape_recording::limits::{CHECK_TIME, ReplayLimits};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{ScenarioError, Seeds, Workspace};

use super::case::ProofCase;
use super::pool::{Progress, in_order_noting};
use super::result::{CheckRun, ScenarioRun, UNUSABLE};
use super::select::Selection;
use super::watch::{Deadline, TimeLimits, can_watch, hangs, judge_with_limits};
use crate::check::{Check, FailureMemory, Marks, ScenarioChecks, check_workspace, unusable};

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct SuiteOptions<'a> {
    /// The scenarios.
    pub selection: &'a Selection,
    /// Writes a result that differs from its golden as a pending golden.
    pub update: bool,
    /// Gathers a [`ProofCase`] of every recording with a finding.
    pub gather_cases: bool,
    /// The most plans and channels that a scenario may have.
    pub limits: ReplayLimits,
    /// The longest time that a check may go on without the end of a replay.
    pub check_time: Duration,
    /// The longest time of a scenario; without a limit by default.
    pub scenario_time: Option<Duration>,
    /// The seeds of the plans, instead of those that each scenario asks for.
    pub seeds: Option<Seeds>,
    /// The number of scenarios that are judged at a time; as many as there are cores by default.
    pub jobs: Option<usize>,
    /// Begins no further scenario after the first one with a finding.
    pub fail_fast: bool,
    /// The use of stored plans that failed before.
    pub memory: FailureMemory,
    /// Replays the plans, and skips all other checks.
    pub only_plans: bool,
    /// Gathers what was at stake.
    pub marks: bool,
    /// A flag by which the caller ends the run. The scenarios that were judged until then are the result.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> SuiteOptions<'a> {
    /// Returns the default options for the selected scenarios.
    pub fn new(selection: &'a Selection) -> Self {
        Self {
            selection,
            update: false,
            gather_cases: false,
            limits: ReplayLimits::default(),
            check_time: CHECK_TIME,
            scenario_time: None,
            seeds: None,
            jobs: None,
            fail_fast: false,
            memory: FailureMemory::Off,
            only_plans: false,
            marks: false,
            stop: None,
        }
    }

    /// Returns whether the caller has asked for the end of the run.
    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// The results of a run of the suite, whatever the subject.
#[derive(Debug, Default)]
pub struct SuiteRun {
    /// The scenarios: those that can't be used, then the others by name.
    pub scenarios: Vec<ScenarioRun>,
    /// The checks of the workspace as a whole.
    pub workspace: Vec<CheckRun>,
    /// The recordings with a finding, if [`SuiteOptions::gather_cases`] is set.
    pub cases: Vec<ProofCase>,
    /// The number of scenarios that were not judged, because one before them has a finding or the caller ended the run.
    pub unchecked: usize,
    /// True if the caller ended the run.
    pub is_stopped: bool,
    /// The marks of what was at stake, if [`SuiteOptions::marks`] is set.
    pub marks: Marks,
    /// The recordings that do not fit the subject.
    pub left_out: Vec<LeftOut>,
    /// The sentences about the run as a whole that are no findings, such as the known differences that were met.
    pub notes: Vec<String>,
}

/// A recording that is not tried, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The scenario, with the version if it has a cassette.
    pub name: String,
    /// The reason, in words.
    pub why: String,
}

impl SuiteRun {
    /// Returns the recordings that were left out, by the reason.
    pub fn left_out_by_reason(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for LeftOut { name, why } in &self.left_out {
            reasons.entry(why).or_default().push(name);
        }
        reasons
    }
}

/// An event of a run of the suite, whatever the subject.
#[derive(Debug)]
#[non_exhaustive]
pub enum TrialEvent<'a> {
    /// A slow step begins that belongs to no single scenario, such as an install.
    Step(&'a str),
    /// A part of a scenario begins or goes on.
    UnderWay {
        /// The name of the scenario.
        scenario: &'a str,
        /// The name of the check.
        check: &'a str,
        /// The replays of it that have ended.
        replays: u64,
    },
    /// A further scenario is judged.
    Judged {
        /// The number of scenarios that are judged.
        done: usize,
        /// The number of all scenarios that can be used.
        of: usize,
    },
    /// The next scenario in their order has its result.
    Scenario(&'a ScenarioRun),
}

/// A check that begins or goes on, for [`TrialEvent::UnderWay`].
struct Note {
    scenario: ScenarioName,
    check: String,
    replays: u64,
}

/// The reason why no further scenario is judged.
enum Stop {
    /// A scenario has a finding, and [`SuiteOptions::fail_fast`] is set.
    FailFast,
    /// The caller has asked for it.
    Asked,
    Error(CassetteError),
}

impl<E: Into<CassetteError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// A scenario with its checks, or the reason why it can't be used.
pub type Loaded = (ScenarioName, Result<ScenarioChecks, ScenarioError>);

/// Loads scenarios, each with all its checks. If `seeds` is set, these replace the seeds of their plans.
///
/// # Errors
///
/// When a folder can't be read.
pub fn load(
    workspace: &Workspace,
    names: impl IntoIterator<Item = ScenarioName>,
    limits: ReplayLimits,
    seeds: Option<Seeds>,
) -> io::Result<Vec<Loaded>> {
    let load = |name: ScenarioName| {
        let scenario = workspace.scenario_of(&name).and_then(|mut scenario| {
            scenario.sweep.chosen = seeds;
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
    mut report: impl FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<SuiteRun, CassetteError> {
    let mut run = SuiteRun::default();
    let mut scenarios = Vec::new();
    let selected = &options.selection.scenarios;
    let names = selected.iter().map(|one| one.name.clone());
    for ((name, checks), one) in
        load(workspace, names, options.limits, options.seeds)?.into_iter().zip(selected)
    {
        match checks {
            Ok(checks) => {
                let checks = checks.remembering(options.memory);
                let checks = if options.marks { checks.marking() } else { checks };
                scenarios.push((Arc::new(checks), one.versions.as_deref()));
            }
            // The other scenarios can still be judged.
            Err(error) => run.scenarios.push(ScenarioRun {
                name: name.to_string(),
                checks: vec![CheckRun::of(UNUSABLE, vec![unusable(workspace, &name, &error)])],
                ..ScenarioRun::default()
            }),
        }
    }
    for scenario in &run.scenarios {
        report(TrialEvent::Scenario(scenario))?;
    }
    let judge = |(checks, versions): &(Arc<ScenarioChecks>, Option<&[CliVersion]>),
                 note: &dyn Fn(Note)| {
        let time = options.scenario_time;
        let deadline = time.map(|time| Deadline { time, at: Instant::now() + time });
        let limits = TimeLimits { without_replay: options.check_time, deadline };
        let judge_one = |check: &Check| {
            let scenario = &checks.scenario().name;
            let tell = |replays| {
                note(Note { scenario: scenario.clone(), check: check.to_string(), replays });
            };
            tell(0);
            judge_with_limits(limits, checks, check, options.update, &tell)
        };
        let judged = judge(checks, *versions, options, deadline, judge_one);
        // A scenario that was not judged to its end has no result.
        (!options.is_stopped()).then_some(judged)
    };
    let of = scenarios.len();
    let must_stop = |run: &ScenarioRun| options.fail_fast && !run.holds();
    if run.scenarios.iter().any(must_stop) {
        scenarios.clear();
        run.unchecked = of;
    }
    let before = run.scenarios.len();
    let judged = in_order_noting(&scenarios, options.jobs, can_watch, judge, |progress| {
        match progress {
            Progress::Ended(done) => report(TrialEvent::Judged { done, of })?,
            Progress::Note(Note { scenario, check, replays }) => {
                let (scenario, check) = (scenario.as_str(), check.as_str());
                report(TrialEvent::UnderWay { scenario, check, replays })?;
            }
            Progress::Result(None) => return Err(Stop::Asked),
            Progress::Result(Some(judged)) => {
                let Judgement { run: scenario, cases, marks } = judged?;
                report(TrialEvent::Scenario(&scenario))?;
                let must_stop = must_stop(&scenario);
                run.scenarios.push(scenario);
                run.cases.extend(cases);
                run.marks.merge(marks);
                if must_stop {
                    return Err(Stop::FailFast);
                }
            }
        }
        Ok(())
    });
    match judged {
        Ok(()) => {}
        Err(Stop::FailFast) => run.unchecked = of - (run.scenarios.len() - before),
        Err(Stop::Asked) => {
            run.unchecked = of - (run.scenarios.len() - before);
            run.is_stopped = true;
        }
        Err(Stop::Error(error)) => return Err(error),
    }
    if options.marks {
        run.marks.merge(Marks::of_every_run());
    }
    let of_workspace = if options.only_plans || run.is_stopped {
        Vec::new()
    } else {
        Vec::from(check_workspace(workspace)?)
    };
    for (check, mut found) in of_workspace {
        found.retain(|finding| options.selection.has_place(&finding.place));
        // A check of the workspace without findings counts only if the whole workspace is selected.
        if !found.is_empty() || options.selection.is_whole && !run.scenarios.is_empty() {
            run.workspace.push(CheckRun::of(check, found));
        }
    }
    Ok(run)
}

/// The result of a scenario.
struct Judgement {
    run: ScenarioRun,
    cases: Vec<ProofCase>,
    marks: Marks,
}

/// The result of a check and the time that it took, or the reason why it was left out.
type Judged = Result<(Result<CheckResult, CassetteError>, Duration), String>;

/// Runs the checks of a scenario with `judge_one`, or only those of the recordings of `versions`. Once a check hangs,
/// the others of its recording are left out, because they share its replays and would hang too; after the `deadline`,
/// all others are left out.
fn judge(
    checks: &ScenarioChecks,
    versions: Option<&[CliVersion]>,
    options: SuiteOptions<'_>,
    deadline: Option<Deadline>,
    judge_one: impl Fn(&Check) -> Result<CheckResult, CassetteError>,
) -> Result<Judgement, CassetteError> {
    let mut hanging: Vec<&Check> = Vec::new();
    let mut judged: Vec<Judged> = Vec::new();
    let is_asked = |check: &&Check| {
        (!options.only_plans || matches!(check, Check::Plans { .. }))
            && versions
                .is_none_or(|all| check.version().is_some_and(|version| all.contains(version)))
    };
    let asked: Vec<&Check> = checks.checks().iter().filter(is_asked).collect();
    for &check in &asked {
        let version = check.version();
        let is_over = deadline.is_some_and(Deadline::is_over);
        let is_of_it = |other: &&&Check| version.is_some() && other.version() == version;
        match hanging.iter().find(is_of_it) {
            _ if is_over && !hanging.is_empty() => {
                judged.push(Err("the time of the scenario is over".to_owned()));
                continue;
            }
            Some(other) => {
                judged.push(Err(format!("{other} hangs")));
                continue;
            }
            None => {}
        }
        if options.is_stopped() {
            break;
        }
        let began = Instant::now();
        let result = judge_one(check);
        match result {
            Ok(ref result) if hangs(result) => hanging.push(check),
            // Every further check would fail in the same way.
            Err(CassetteError::Io(error)) if NoMoreThreads::of(&error).is_some() => {
                return Err(error.into());
            }
            _ => {}
        }
        judged.push(Ok((result, began.elapsed())));
    }
    let cases =
        if options.gather_cases { cases(checks, &hanging, &asked, &judged)? } else { Vec::new() };
    let row = |(check, judged): (&Check, Judged)| match judged {
        Ok((result, took)) => CheckRun { took: Some(took), ..CheckRun::new(check, result) },
        Err(why) => CheckRun::left_out(&check.to_string(), &why),
    };
    let run = ScenarioRun {
        name: checks.scenario().name.to_string(),
        checks: asked.into_iter().zip(judged).map(row).collect(),
        pending: checks.pending()?,
    };
    Ok(Judgement { run, cases, marks: checks.take_marks() })
}

/// Gathers the recordings with a finding, except those with a check that hangs.
fn cases(
    checks: &ScenarioChecks,
    hanging: &[&Check],
    asked: &[&Check],
    judged: &[Judged],
) -> Result<Vec<ProofCase>, CassetteError> {
    let judged: Vec<_> = asked
        .iter()
        .zip(judged)
        .filter_map(|(&check, judged)| Some((check, judged.as_ref().ok()?.0.as_ref().ok()?)))
        .collect();
    let failed = |version: &&CliVersion| {
        let is_of_it = |check: &Check| check.version() == Some(*version);
        !hanging.iter().any(|check| is_of_it(check))
            && judged.iter().any(|(check, result)| is_of_it(check) && !result.findings.is_empty())
    };
    checks
        .versions()
        .filter(failed)
        .map(|version| ProofCase::gather(checks, version, &judged))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_judge::{Finding, FindingKind};

    use super::*;

    #[test]
    fn after_a_check_that_hangs_the_rest_goes_on() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let scenario = workspace.load("plain-text").unwrap();
        let checks = ScenarioChecks::new(&workspace, scenario).unwrap();
        let selection = Selection::default();
        let options = SuiteOptions { gather_cases: true, ..SuiteOptions::new(&selection) };
        let judge_one = |check: &Check| {
            let kind = FindingKind::CheckHangs;
            let hangs = || Finding::new(kind, "here", "it hangs".into(), "clitape test".into());
            let findings = (check.to_string() == "2.1.329::bus").then(hangs).into_iter().collect();
            Ok(CheckResult { findings, ..CheckResult::default() })
        };
        let Judgement { run, cases, .. } = judge(&checks, None, options, None, judge_one).unwrap();
        assert!(!run.holds());
        assert!(cases.is_empty(), "a page would replay what hangs");
        for row in &run.checks {
            let is_later = row.name.starts_with("2.1.329::")
                && !["lifecycle", "bus"].iter().any(|view| row.name.ends_with(view));
            let skipped = is_later.then_some("2.1.329::bus hangs");
            assert_eq!(row.skipped.as_deref(), skipped, "{}", row.name);
            assert_eq!(!row.findings.is_empty(), row.name == "2.1.329::bus", "{}", row.name);
        }
    }
}
