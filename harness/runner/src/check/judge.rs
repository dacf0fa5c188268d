//! Judges scenarios: which checks there are, and what each of them finds.
//!
//! A scenario is judged check by check, so that `clitape test` can run them all and a test runner
//! can run each in a process of its own. Checks in one process share what they load and replay.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clitape_judge::{
    CheckResult, Divergence, Finding, FindingKind, Golden, Times, TraceDiff, View, context,
    wrong_final_text,
};
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Scenario, Setup, Workspace};
use clitape_recording::trace::Lane;

use super::broken::{BrokenRule, broken};
use super::checks::Check;
use super::complete::complete;
use super::kept::FailureMemory;
use super::marks::Marks;
use super::recording::{Recording, Recordings, setup};
use super::{recorded, variant};
use crate::replay::{Replay, ReplayRequest};

/// The checks of a scenario, and the recordings that they share.
#[derive(Debug)]
pub struct ScenarioChecks {
    checks: Vec<Check>,
    pub(super) recordings: Recordings,
    /// What is done with plans that fail.
    pub(super) memory: FailureMemory,
    /// What was at stake so far, if somebody asks.
    marks: Option<Mutex<Marks>>,
}

impl ScenarioChecks {
    /// The checks of a scenario, its newest version before the others.
    ///
    /// # Errors
    ///
    /// When the cassettes' folder can't be read.
    pub fn new(workspace: &Workspace, scenario: Scenario) -> io::Result<Self> {
        let mut checks = Vec::new();
        let mut versions = workspace.recorded(&scenario.name)?;
        scenario.sort_versions(&mut versions);
        for version in &versions {
            for view in View::of(&scenario) {
                checks.push(Check::Golden { version: version.clone(), view });
            }
            checks.push(Check::Plans { version: version.clone() });
            checks.push(Check::Recorded { version: version.clone() });
        }
        // Without a recording, nothing can be said of variants.
        if !versions.is_empty() {
            let views = variant::views(&scenario).into_iter();
            checks.extend(views.map(|view| Check::Variants { view }));
        }
        checks.push(Check::Complete);
        let uses = |version: CliVersion| {
            let uses = checks.iter().filter(|check| check.version() == Some(&version)).count();
            (version, uses)
        };
        let versions: Vec<_> = versions.into_iter().map(uses).collect();
        let recordings = Recordings::new(workspace, scenario, versions);
        Ok(Self { checks, recordings, memory: FailureMemory::Off, marks: None })
    }

    /// The same checks, which do this with plans that fail.
    #[must_use]
    pub fn remembering(self, memory: FailureMemory) -> Self {
        Self { memory, ..self }
    }

    /// The same checks, which also say what was at stake.
    #[must_use]
    pub fn marking(self) -> Self {
        Self { marks: Some(Mutex::default()), ..self }
    }

    /// What was at stake in the checks that were judged since this was asked last; nothing unless they are
    /// [`marking`](Self::marking).
    pub fn take_marks(&self) -> Marks {
        let marks = self.marks.as_ref();
        let lock = |marks: &Mutex<Marks>| {
            std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner))
        };
        marks.map(lock).unwrap_or_default()
    }

    /// Adds to what was at stake, if somebody asks.
    pub(super) fn mark(&self, add: impl FnOnce(&mut Marks)) {
        if let Some(marks) = &self.marks {
            add(&mut marks.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The checks, in the order in which they are reported.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The versions that are recorded, sorted.
    pub fn versions(&self) -> impl Iterator<Item = &CliVersion> {
        self.recordings.versions()
    }

    /// The number of pending goldens that wait for a review.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn pending(&self) -> io::Result<u64> {
        Ok(Golden::pending(self.scenario())?.len() as u64)
    }

    /// The workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.recordings.workspace
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.recordings.scenario
    }

    /// The recording of a version.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when the cassette is not there, is damaged or can't be read.
    pub fn recording(&self, version: &CliVersion) -> Result<Arc<Recording>, CassetteError> {
        self.recordings.get(version)
    }

    /// Runs one check; with `update`, what differs is written as a pending golden.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when a cassette is damaged or a file can't be read or written.
    pub fn judge(&self, check: &Check, update: bool) -> Result<CheckResult, CassetteError> {
        self.mark(|marks| marks.add_check(check, &check.place(&self.scenario().name)));
        let judged = match check {
            Check::Golden { version, view } => self.golden(version, *view, update),
            Check::Plans { version } => self.plans(version),
            Check::Recorded { version } => self.recorded(version),
            Check::Variants { view } => variant::variants(&self.recordings, *view, update),
            Check::Complete => complete(&self.recordings),
        };
        if let Some(version) = check.version() {
            self.recordings.release(version);
        }
        judged
    }

    fn golden(
        &self,
        version: &CliVersion,
        view: View,
        update: bool,
    ) -> Result<CheckResult, CassetteError> {
        let recording = self.recordings.get(version)?;
        let scenario = self.scenario();
        let setup = setup(scenario, view);
        let mut replay = recording.canonical(setup);
        let place = format!("{} {version} {view}", scenario.name);
        let mut verdict = CheckResult { goldens: 1, ..CheckResult::default() };
        if view == View::Session {
            let spec = scenario.session.as_ref();
            Arc::make_mut(&mut replay).add_session(&recording.cassette, spec);
        }
        verdict.findings.extend(self.broken(&replay, &place, &recording.request(setup)));
        if !scenario.chat.faults.is_empty() {
            let kind = FindingKind::WrongFinalText;
            self.mark(|marks| marks.add(kind, &place));
            let wrong = wrong_final_text(&recording.fault_free(setup).entries, &replay.entries);
            verdict.findings.extend(wrong.map(|(sentence, _)| {
                Finding::new(kind, &place, sentence, self.line(&recording.request(setup)))
            }));
        }
        if view == View::Session {
            verdict.findings.extend(self.further(&recording, &place));
        }
        self.mark(|marks| marks.add_replay(&replay, &place));
        let seen = view.entries(&replay.entries);
        let got: String = seen.iter().map(|entry| entry.to_line() + "\n").collect();
        if update {
            let recorded: Vec<CliVersion> = self.recordings.versions().cloned().collect();
            Golden::propose(scenario, view, version, &recorded, &got)?;
        }
        let finding = match Golden::find(scenario, view, version) {
            Ok(Golden { path, text: Some(expected), entries, header }) => {
                let diff = TraceDiff::new(&entries, &seen, Times::Compared)
                    .within(&replay.entries)
                    .read_from(&expected, Some(&got));
                let Some(Divergence { at, sentence }) = diff.first() else {
                    return Ok(verdict);
                };
                let reproduce = self.line(&recording.request(setup).lanes([view.lane()]));
                Finding::new(FindingKind::GoldenDiffers, &place, sentence, reproduce)
                    .with_fix(self.recordings.proposal())
                    .with_difference(diff.change(), diff.lines())
                    .with_chat(view.chat().and_then(|chat| diff.chat(chat.profile)))
                    .with_golden(&self.workspace().shown(&path), header)
                    .with_context(context(&replay.entries, view.lane(), at))
            }
            Ok(Golden { path, text: None, .. }) => {
                let sentence = format!("there is no {} yet", self.workspace().shown(&path));
                Finding::new(FindingKind::GoldenMissing, &place, sentence, self.recordings.test())
                    .with_fix(self.recordings.proposal())
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let (kind, test) = (FindingKind::GoldenUnreadable, self.recordings.test());
                Finding::new(kind, &place, error.to_string(), test)
                    .with_fix(self.recordings.proposal())
            }
            Err(error) => return Err(error.into()),
        };
        verdict.findings.push(finding);
        Ok(verdict)
    }

    /// The rules that a replay breaks, as findings.
    fn broken(&self, replay: &Replay, place: &str, request: &ReplayRequest) -> Vec<Finding> {
        let of_sessions = request.clone().lanes([Lane::Session]);
        let finding = |broken: BrokenRule| {
            let request = if broken.is_of_session() { &of_sessions } else { request };
            self.finding(broken, place, request)
        };
        broken(replay).into_iter().map(finding).collect()
    }

    fn finding(&self, broken: BrokenRule, place: &str, request: &ReplayRequest) -> Finding {
        let BrokenRule { kind, sentence, context } = broken;
        Finding::new(kind, place, sentence, self.line(request)).with_context(context)
    }

    fn recorded(&self, version: &CliVersion) -> Result<CheckResult, CassetteError> {
        let recording = self.recordings.get(version)?;
        let scenario = self.scenario();
        let place = format!("{} {version} recorded", scenario.name);
        let again = self.recordings.record(&format!(" --claude npm:{version} --force"));
        let complaint = |(kind, sentence)| {
            let test = self.recordings.test();
            Finding::new(kind, &place, sentence, test).with_fix(again.clone())
        };
        let complaints = recorded::manifest_complaints(scenario, &recording.cassette).into_iter();
        let mut findings: Vec<Finding> = complaints.map(complaint).collect();
        for replay in recording.as_recorded() {
            let request = ReplayRequest::recorded(scenario, version, replay.setup);
            let broken = recorded::broken(&recording, &replay);
            findings.extend(broken.map(|broken| self.finding(broken, &place, &request)));
        }
        Ok(CheckResult { findings, ..CheckResult::default() })
    }

    /// What the further runs of a cassette break, in the scenario's chat or, without one, in any.
    fn further(&self, recording: &Recording, place: &str) -> Vec<Finding> {
        let scenario = self.scenario();
        let setup = Setup { run: scenario.run, channel: Some(scenario.first_chat()), acp: None };
        let runs = recording.further(setup);
        let broken = |(number, replay, request): (usize, Replay, ReplayRequest)| {
            self.broken(&replay, &format!("{place}, run {number}"), &request)
        };
        runs.flat_map(broken).collect()
    }

    /// The line that replays what `request` asks for.
    pub(super) fn line(&self, request: &ReplayRequest) -> String {
        request.line(&self.workspace().program())
    }

    /// Goldens of variants that no replay gave; none as long as nothing is recorded.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when a cassette is damaged or a file can't be read.
    pub fn never_seen_variants(&self) -> Result<Vec<PathBuf>, CassetteError> {
        variant::never_seen(&self.recordings)
    }
}

#[cfg(test)]
impl ScenarioChecks {
    /// Lets the checks treat every recording as a long one.
    pub(super) fn make_long(&self) -> Result<(), CassetteError> {
        self.recordings.make_long()
    }
}
