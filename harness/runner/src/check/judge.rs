//! Judges scenarios: lists their checks, and runs each of them.
//!
//! A scenario is judged check by check, so that `clitape test` can run them all and a test runner
//! can run each in a process of its own. Checks in one process share what they load and replay.
//!
//! The check `plans` of a recording replays the plans that failed before, then those that the scenario names and those
//! of the seeds. `clitape test` keeps those that fail under `.clitape/failures/`, in a file for each recording. It has
//! numbers, ids of findings and the hash of stdout, but no recorded text.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use clitape_judge::{
    CheckResult, Divergence, Finding, FindingKind, Golden, Times, TraceDiff, View, context,
    wrong_final_text,
};
use clitape_recording::cassette::{CassetteError, sha256};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{FaultKind, OwnFile, Scenario, Setup, Workspace};
use clitape_recording::trace::Lane;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::broken::{BrokenRule, broken, unmet_in_chat, unmet_in_sweep};
use super::checks::{Check, Marks};
use super::complete::complete;
use super::recording::{self, Recording, Recordings, setup, setups};
use super::sweep::{FailedPlan, PlanSweep, SweptPlans};
use super::variant::{self, without_typing};
use crate::replay::{Plan, PlanArg, Replay, ReplayRequest};

/// The checks of a scenario, and the recordings that they share.
#[derive(Debug)]
pub struct ScenarioChecks {
    checks: Vec<Check>,
    pub(super) recordings: Recordings,
    /// The treatment of plans that fail.
    memory: FailureMemory,
    /// The marks that were at stake so far, if the caller asks for them.
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
        // Variants can't be checked without a recording.
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

    /// Takes the marks that were at stake in the checks since the last call; empty unless they are
    /// [`marking`](Self::marking).
    pub fn take_marks(&self) -> Marks {
        let marks = self.marks.as_ref();
        let lock = |marks: &Mutex<Marks>| {
            std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner))
        };
        marks.map(lock).unwrap_or_default()
    }

    /// Adds to the marks that were at stake, if the caller asks for them.
    fn mark(&self, add: impl FnOnce(&mut Marks)) {
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
                let trace = without_typing(&replay.entries);
                let diff = TraceDiff::new(&entries, &seen, Times::Compared)
                    .within(&trace)
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
        let complaints = recording::manifest_complaints(scenario, &recording.cassette).into_iter();
        let mut findings: Vec<Finding> = complaints.map(complaint).collect();
        for replay in recording.as_recorded() {
            let request = ReplayRequest::recorded(scenario, version, replay.setup);
            let broken = recording::broken_as_recorded(&recording, &replay);
            findings.extend(broken.map(|broken| self.finding(broken, &place, &request)));
        }
        Ok(CheckResult { findings, ..CheckResult::default() })
    }

    /// Returns the rules that the further runs of a cassette break, in the scenario's chat or, without one, in any.
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
    fn line(&self, request: &ReplayRequest) -> String {
        request.line(&self.workspace().program())
    }

    /// Returns the goldens of variants that no replay gave; empty for a scenario without a recording.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when a cassette is damaged or a file can't be read.
    pub fn never_seen_variants(&self) -> Result<Vec<PathBuf>, CassetteError> {
        variant::never_seen(&self.recordings)
    }
}

impl ScenarioChecks {
    /// Replays a recording under its plans.
    fn plans(&self, version: &CliVersion) -> Result<CheckResult, CassetteError> {
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
            Finding::new(kind, &plans_place(&recording), what, self.recordings.test())
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
        let place = plans_place(recording);
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
            place: plans_place(recording),
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

    /// Returns findings for the faults that no call meets. Faults that the plans draw are included only after all plans
    /// were replayed.
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
            unmet = unmet_in_chat(&scenario.chat.faults, replays.iter().map(|replay| &**replay));
        }
        if is_swept && scenario.sweep.has_all_seeds() {
            let count = scenario.sweep.seeds().count;
            unmet.extend(unmet_in_sweep(&scenario.sweep.faults, count, met));
        }
        unmet
    }
}

/// The place of a finding.
fn plans_place(recording: &Recording) -> String {
    format!("{} {} plans", recording.scenario.name, recording.version())
}

/// The format of a file.
const KEPT_FORMAT: u32 = 1;
/// The most plans that are kept of a recording.
const MOST_KEPT: usize = 20;

/// The treatment of plans that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureMemory {
    /// They are reported, and forgotten.
    #[default]
    Off,
    /// They are kept under `.clitape/failures/`.
    Keep,
    /// They are kept, and those that are kept are replayed before all others.
    KeepAndTryFirst,
}

/// A plan that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptPlan {
    /// The origin of the plan: `seed 7`.
    pub(super) name: String,
    /// The id of what it showed: `PL001 plan-diverges`.
    pub(super) finding: String,
    /// The plan, made as small as it gets.
    pub(super) plan: Plan,
}

/// The kept plans of a recording.
struct KeptPlans<'a> {
    workspace: &'a Workspace,
    recording: &'a Recording,
    before: Vec<KeptPlan>,
    /// The plans, the latest first.
    plans: Vec<KeptPlan>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptFile {
    format: u32,
    stdout_sha256: String,
    #[serde(deserialize_with = "at_most")]
    plans: Vec<KeptPlan>,
}

/// Reads as many plans as are kept. A repository may bring a file with any number of them, and each is replayed.
fn at_most<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<KeptPlan>, D::Error> {
    struct Plans;

    impl<'de> Visitor<'de> for Plans {
        type Value = Vec<KeptPlan>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST_KEPT} plans")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let mut plans = Vec::new();
            while let Some(plan) = all.next_element()? {
                if plans.len() == MOST_KEPT {
                    let more =
                        format!("it has more than {MOST_KEPT} plans, the most that are kept");
                    return Err(A::Error::custom(more));
                }
                plans.push(plan);
            }
            Ok(plans)
        }
    }

    deserializer.deserialize_seq(Plans)
}

impl<'a> KeptPlans<'a> {
    /// Reads the plans that are kept of a recording, and adds to `notes` what can't be used.
    pub(super) fn read(
        workspace: &'a Workspace,
        recording: &'a Recording,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut kept = Self { workspace, recording, before: Vec::new(), plans: Vec::new() };
        let file = match kept.file().read(workspace) {
            Ok(None) => return kept,
            Ok(Some(text)) => read_kept(&text),
            Err(error) => Err(error.to_string()),
        };
        match file {
            Ok(file) => kept.take(file, notes),
            Err(why) => {
                let path = workspace.shown(&kept.file().path(workspace));
                notes.push(format!("NOT READ {path} has no kept plans: {why}; remove it"));
            }
        }
        kept
    }

    /// Keeps a plan that failed, before the others.
    fn keep(&mut self, plan: KeptPlan) {
        self.plans.retain(|other| other.plan != plan.plan);
        self.plans.insert(0, plan);
        self.plans.truncate(MOST_KEPT);
    }

    /// Writes the plans, and adds to `notes` why they can't be written: the workspace may well be one that can only
    /// be read.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn write(self, notes: &mut Vec<String>) {
        if self.plans == self.before {
            return;
        }
        let file = self.file();
        let written = if self.plans.is_empty() {
            file.remove(self.workspace)
        } else {
            let stdout_sha256 = sha256(self.recording.capture().stdout);
            let kept = KeptFile { format: KEPT_FORMAT, stdout_sha256, plans: self.plans };
            let text = serde_json::to_string(&kept).expect("numbers and words serialise");
            file.write(self.workspace, &(text + "\n"))
        };
        notes.extend(written.err().map(|error| format!("NOT KEPT {error}")));
    }

    /// Takes the plans that are for the recording.
    fn take(&mut self, file: KeptFile, notes: &mut Vec<String>) {
        let (name, version) = (&self.recording.scenario.name, self.recording.version());
        let is_same = file.stdout_sha256 == sha256(self.recording.capture().stdout);
        self.before.clone_from(&file.plans);
        for kept in file.plans {
            let why = match is_same {
                false => Some("it is for another recording".to_owned()),
                true => {
                    let plan = PlanArg::Json(kept.plan.to_line());
                    self.recording.given_plan(plan).err().map(|error| error.to_string())
                }
            };
            let Some(why) = why else {
                self.plans.push(kept);
                continue;
            };
            let KeptPlan { name: seed, finding, .. } = kept;
            notes.push(format!("DROPPED {name} {version}: {seed} ({finding}): {why}"));
        }
    }

    fn file(&self) -> OwnFile<'a> {
        OwnFile::Failures(&self.recording.scenario.name, self.recording.version())
    }
}

fn read_kept(text: &str) -> Result<KeptFile, String> {
    let file: KeptFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.format > KEPT_FORMAT {
        return Err(format!("it has format {}, which a later clitape reads", file.format));
    }
    Ok(file)
}
