//! The run of clitape's own gateway: judges the scenarios of a workspace on all cores.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clitape_judge::CheckResult;
use clitape_process::threads::NoMoreThreads;
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;

use super::case::ProofCase;
use super::result::{CheckRun, ScenarioRun, UNUSABLE};
use super::run::{
    GatheredCases, Observing, RunEnd, Subject, SuiteOptions, SuiteRun, TrialNote, Trials,
    judge_each,
};
use super::watch::{Deadline, TimeLimits, can_watch, hangs, judge_within};
use crate::check::{Check, Marks, ScenarioChecks, check_workspace, unusable};

/// The reason why no further scenario is judged.
enum Stop {
    /// The caller has asked for it.
    Asked,
    Error(CassetteError),
}

impl<E: Into<CassetteError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// clitape's own gateway, in virtual time and on all cores.
#[derive(Debug)]
pub struct OwnGateway<'a> {
    workspace: &'a Workspace,
    cases: Vec<ProofCase>,
    marks: Marks,
}

/// A scenario with its checks, which are those of some versions only if the command line names them.
#[derive(Debug)]
pub struct OwnTrial {
    checks: Arc<ScenarioChecks>,
    versions: Option<Vec<CliVersion>>,
}

impl<'a> OwnGateway<'a> {
    /// Takes the scenarios and recordings of a workspace.
    pub fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, cases: Vec::new(), marks: Marks::default() }
    }
}

impl Subject for OwnGateway<'_> {
    type Trial = OwnTrial;
    type Error = CassetteError;

    fn fits(&mut self, options: SuiteOptions<'_>) -> Result<Trials<OwnTrial>, CassetteError> {
        let mut trials = Trials::default();
        for one in &options.selection.scenarios {
            let scenario = self.workspace.scenario_of(&one.name).and_then(|mut scenario| {
                scenario.sweep.chosen = options.seeds;
                scenario.check_work(options.limits)?;
                Ok(scenario)
            });
            match scenario {
                Ok(scenario) => {
                    let checks = ScenarioChecks::new(self.workspace, scenario)?;
                    let checks = checks.remembering(options.memory);
                    let checks = if options.marks { checks.marking() } else { checks };
                    let versions = one.versions.clone();
                    trials.fit.push(OwnTrial { checks: Arc::new(checks), versions });
                }
                // The other scenarios can still be judged.
                Err(error) => {
                    let finding = unusable(self.workspace, &one.name, &error);
                    trials.unusable.push(ScenarioRun {
                        name: one.name.to_string(),
                        checks: vec![CheckRun::of(UNUSABLE, vec![finding])],
                        ..ScenarioRun::default()
                    });
                }
            }
        }
        Ok(trials)
    }

    fn observe(
        &mut self,
        trials: &[OwnTrial],
        options: SuiteOptions<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, CassetteError> {
        let judge = |OwnTrial { checks, versions }: &OwnTrial, note: &dyn Fn(TrialNote)| {
            let time = options.scenario_time;
            let deadline = time.map(|time| Deadline { time, at: Instant::now() + time });
            let limits = TimeLimits { without_replay: options.check_time, deadline };
            let judge_one = |check: &Check| {
                let scenario = checks.scenario().name.to_string();
                let tell = |replays| {
                    note(TrialNote {
                        scenario: scenario.clone(),
                        check: check.to_string(),
                        replays,
                    });
                };
                tell(0);
                judge_within(limits, checks, check, options.update, &tell)
            };
            let judged = judge(checks, versions.as_deref(), options, deadline, judge_one);
            // A scenario that was not judged to its end has no result.
            if options.is_stopped() { Err(Stop::Asked) } else { Ok(judged?) }
        };
        let take = |Judgement { run, cases, marks }| {
            self.cases.extend(cases);
            self.marks.merge(marks);
            Some(run)
        };
        match judge_each(trials, options.jobs, can_watch, judge, take, tell).1 {
            Ok(()) => Ok(RunEnd::Complete),
            Err(Stop::Asked) => Ok(RunEnd::Stopped),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn finish(
        &mut self,
        _: Vec<OwnTrial>,
        run: &mut SuiteRun,
        options: SuiteOptions<'_>,
    ) -> Result<(), CassetteError> {
        run.cases = std::mem::take(&mut self.cases);
        run.marks = std::mem::take(&mut self.marks);
        if options.marks {
            run.marks.merge(Marks::of_every_run());
        }
        if options.only_plans || run.is_stopped {
            return Ok(());
        }
        for (check, mut found) in check_workspace(self.workspace)? {
            found.retain(|finding| options.selection.has_place(&finding.place));
            // A check of the workspace without findings counts only if the whole workspace is selected.
            if !found.is_empty() || options.selection.is_whole && !run.scenarios.is_empty() {
                run.workspace.push(CheckRun::of(check, found));
            }
        }
        Ok(())
    }
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
        let is_of_versions = || {
            let is_shown =
                options.cases == GatheredCases::All && matches!(check, Check::Variants { .. });
            versions.is_none_or(|all| {
                is_shown || check.version().is_some_and(|version| all.contains(version))
            })
        };
        (!options.only_plans || matches!(check, Check::Plans { .. })) && is_of_versions()
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
    let cases = match options.cases {
        GatheredCases::None => Vec::new(),
        which => cases(checks, &hanging, &asked, &judged, which)?,
    };
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

/// Gathers the recordings that are asked for, except those with a check that hangs.
fn cases(
    checks: &ScenarioChecks,
    hanging: &[&Check],
    asked: &[&Check],
    judged: &[Judged],
    which: GatheredCases,
) -> Result<Vec<ProofCase>, CassetteError> {
    let judged: Vec<_> = asked
        .iter()
        .zip(judged)
        .filter_map(|(&check, judged)| Some((check, judged.as_ref().ok()?.0.as_ref().ok()?)))
        .collect();
    let is_gathered = |version: &&CliVersion| {
        let is_of_it = |check: &Check| check.version() == Some(*version);
        let is_wanted =
            |result: &CheckResult| which == GatheredCases::All || !result.findings.is_empty();
        !hanging.iter().any(|check| is_of_it(check))
            && judged.iter().any(|(check, result)| is_of_it(check) && is_wanted(result))
    };
    checks
        .versions()
        .filter(is_gathered)
        .map(|version| ProofCase::gather(checks, version, &judged))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_judge::{Finding, FindingKind};

    use super::super::select::Selection;
    use super::*;

    #[test]
    fn after_a_check_that_hangs_the_rest_goes_on() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let scenario = workspace.load("plain-text").unwrap();
        let checks = ScenarioChecks::new(&workspace, scenario).unwrap();
        let selection = Selection::default();
        let options =
            SuiteOptions { cases: GatheredCases::Failed, ..SuiteOptions::new(&selection) };
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
