//! The check `plans` of a recording: first the plans that failed before, then those that the scenario names and those
//! of the seeds.

use clitape_judge::{CheckResult, Finding, FindingKind, View};
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{FaultKind, Setup};
use clitape_recording::trace::Lane;

use super::judge::ScenarioChecks;
use super::kept::{FailureMemory, KeptPlan, KeptPlans};
use super::recording::{Recording, setup, setups};
use super::sweep::{FailedPlan, PlanSweep, SweptPlans};
use super::unmet;
use crate::replay::{Plan, ReplayRequest};

impl ScenarioChecks {
    /// Replays a recording under its plans.
    pub(super) fn plans(&self, version: &CliVersion) -> Result<CheckResult, CassetteError> {
        let recording = self.recordings.get(version)?;
        let mut notes = Vec::new();
        let (pinned, unusable) = recording.pinned_plans();
        let keeps = self.memory != FailureMemory::Off;
        let mut kept = keeps.then(|| KeptPlans::read(self.workspace(), &recording, &mut notes));
        let first = kept.as_mut().filter(|_| self.memory == FailureMemory::KeepAndTryFirst);
        let again = first.and_then(|kept| self.kept_plans(&recording, kept, &mut notes));
        let mut result = match again {
            // What failed before and still does is enough to know.
            Some(finding) => CheckResult { findings: vec![finding], ..CheckResult::default() },
            None => self.swept(&recording, &pinned, kept.as_mut(), &mut notes),
        };
        if let Some(kept) = kept {
            kept.write(&mut notes);
        }
        result.findings.extend(unusable.into_iter().map(|what| {
            let kind = FindingKind::ScenarioUnusable;
            Finding::new(kind, &place(&recording), what, self.recordings.test())
        }));
        result.plans = self.scenario().sweep.seeds().count;
        result.notes = notes;
        Ok(result)
    }

    /// Replays the plans that failed before. Those that hold now are no longer kept; the first one that still fails is
    /// the finding.
    fn kept_plans(
        &self,
        recording: &Recording,
        kept: &mut KeptPlans<'_>,
        notes: &mut Vec<String>,
    ) -> Option<Finding> {
        if kept.plans.is_empty() {
            return None;
        }
        let (name, version) = (&self.scenario().name, recording.version());
        let mut left = std::mem::take(&mut kept.plans).into_iter();
        while let Some(plan) = left.next() {
            let told = format!("{} (kept)", plan.name);
            let all = setups(self.scenario());
            let found = all.chunks(recording.at_once()).find_map(|setups| {
                self.with_sweep(recording, &[], setups, |sweep| sweep.finding_of(&told, &plan.plan))
            });
            match found {
                Some((_, finding)) => {
                    kept.plans.push(plan);
                    kept.plans.extend(left);
                    return Some(finding);
                }
                None => notes.push(format!(
                    "FIXED {name} {version}: {} ({}) holds now",
                    plan.name, plan.finding
                )),
            }
        }
        None
    }

    /// Replays the pinned plans and those of the seeds.
    fn swept(
        &self,
        recording: &Recording,
        pinned: &[(String, Plan)],
        kept: Option<&mut KeptPlans<'_>>,
        notes: &mut Vec<String>,
    ) -> CheckResult {
        let (scenario, version) = (self.scenario(), recording.version());
        let place = place(recording);
        let mut swept = SweptPlans::default();
        let run = |setups: &[Setup]| {
            self.with_sweep(recording, pinned, setups, |sweep| sweep.run(&mut swept))
        };
        // What diverges before the channels would be found in each of them.
        let found = setups(scenario).chunks(recording.at_once()).find_map(run);
        // After a finding, the rest of the plans was not replayed.
        let is_swept = found.is_none();
        let mut findings = Vec::new();
        if let Some(FailedPlan { name, plan, finding }) = found {
            if let Some(kept) = kept {
                let id = finding.id.to_string();
                notes.push(format!("KEPT {} {version}: {name} ({id})", scenario.name));
                kept.keep(KeptPlan { name, finding: id, plan });
            }
            findings.push(finding);
        }
        let again = |(kind, what)| Finding::new(kind, &place, what, self.recordings.test());
        findings.extend(self.unmet(recording, is_swept, &swept.faults_met).into_iter().map(again));
        CheckResult { findings, replayed: swept.replayed, ..CheckResult::default() }
    }

    /// Uses the sweep of a recording with these pinned plans in these setups.
    fn with_sweep<T>(
        &self,
        recording: &Recording,
        pinned: &[(String, Plan)],
        setups: &[Setup],
        use_it: impl FnOnce(&PlanSweep<'_>) -> T,
    ) -> T {
        let (scenario, version) = (self.scenario(), recording.version());
        let reproduce = |plan: &Plan, setup: Setup, lane: Option<Lane>| {
            let request = ReplayRequest::planned(scenario, version, setup, plan);
            self.line(&match lane {
                Some(lane) => request.lanes([lane]),
                None => request,
            })
        };
        use_it(&PlanSweep {
            capture: recording.capture(),
            pace_ms: scenario.run.pace_ms,
            bases: setups.iter().map(|setup| recording.fault_free(*setup)).collect(),
            seeds: scenario.sweep.seeds(),
            pinned,
            faults: &scenario.chat.faults,
            drawn: &scenario.sweep.faults,
            place: place(recording),
            reproduce: &reproduce,
            replayed: &|name, plan, replays| {
                self.mark(|marks| {
                    let place = format!("{} {version} {name}", scenario.name);
                    replays.iter().for_each(|replay| marks.add_replay(replay, &place));
                    if let [_] = plan.agent[..] {
                        marks.add(FindingKind::FaultUnseen, &place);
                    }
                });
            },
        })
    }

    /// What is to be said of faults that no call meets; of those that the plans draw only after all of them were
    /// replayed.
    fn unmet(
        &self,
        recording: &Recording,
        is_swept: bool,
        met: &[FaultKind],
    ) -> Vec<(FindingKind, String)> {
        let scenario = self.scenario();
        let mut unmet = Vec::new();
        if !scenario.chat.faults.is_empty() {
            let views = View::of(scenario).into_iter();
            let chats = views.filter(|view| matches!(view, View::Telegram(_)));
            let replays: Vec<_> =
                chats.map(|view| recording.canonical(setup(scenario, view))).collect();
            self.mark(|marks| marks.add(FindingKind::FaultNeverMet, &scenario.name));
            unmet = unmet::of_chat(&scenario.chat.faults, replays.iter().map(|replay| &**replay));
        }
        if is_swept && scenario.sweep.has_all_seeds() {
            let count = scenario.sweep.seeds().count;
            unmet.extend(unmet::of_sweep(&scenario.sweep.faults, count, met));
        }
        unmet
    }
}

/// The place of a finding.
fn place(recording: &Recording) -> String {
    format!("{} {} plans", recording.scenario.name, recording.version())
}
