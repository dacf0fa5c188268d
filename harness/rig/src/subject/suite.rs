//! Tests a gateway on many scenarios: chooses the cassettes, plays them, applies the rules, and makes the report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clitape_judge::known::KnownDifferences;
use clitape_judge::observation::{Observation, ObservedEnding, SubjectTraits};
use clitape_judge::{
    ContextMoment, Finding, FindingKind, Violation, finally_read, judge, says_the_same,
};
use clitape_recording::cassette::Cassette;
use clitape_recording::facts::LazyFacts;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, Seeds, Workspace};
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::Entry;
use clitape_recording::{clock, files};
use clitape_runner::suite::select::{Selected, Selection};
use clitape_runner::suite::{CheckRun, ScenarioRun};

use super::boot::Playing;
use super::conditions::{Conditions, Printing};
use super::dialogue::PersonDialogue;
use super::drive::{DriveResult, Job};
use super::error::SubjectError;
use super::fit::{Misfit, misfit};
use super::golden;
use super::in_vain::InVain;
use super::patience::Patience;
use super::prepare::{RigHost, prepare_gateway};
use super::run::{Play, RunEvent, play};
use super::spec::{Front, GatewaySpec, NamedGateway};
use crate::kept::KeptBytes;

/// The most entries that a finding shows, the one at fault last.
const CONTEXT: usize = 6;
/// The most characters of a message in a finding.
const MESSAGE_WIDTH: usize = 160;

/// The choice of scenarios, and the manner of playing them.
#[derive(Debug, Clone, Copy)]
pub struct SubjectOptions<'a> {
    /// The selected scenarios.
    pub selection: &'a Selection,
    /// True to play them even if the subject's `scenarios` leave them out.
    pub force: bool,
    /// True to write a chat that differs from its golden as a pending one.
    pub update: bool,
    /// The seeds of the plans.
    pub seeds: Seeds,
    /// The differences from a run as it was recorded.
    pub conditions: &'a Conditions,
}

/// A cassette that is not played, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The scenario, with the version if it has a cassette.
    pub name: String,
    /// The reason.
    pub why: Misfit,
}

/// The cassettes of a workspace for one gateway.
#[derive(Debug, Default)]
pub struct GatewaySelection {
    /// The cassettes to play.
    pub jobs: Vec<Job>,
    /// The cassettes to leave out.
    pub left_out: Vec<LeftOut>,
}

/// The result of a test.
#[derive(Debug, Default)]
pub struct SubjectSuite {
    /// The scenarios, by name.
    pub scenarios: Vec<ScenarioRun>,
    /// The checks of the list of known differences.
    pub workspace: Vec<CheckRun>,
    /// The known differences that were met: the place, the rule's sentence and the reason.
    pub known: Vec<(String, String, String)>,
    /// The cassettes that were played, with their results.
    pub played: Vec<(Job, DriveResult)>,
    /// The cassettes that were left out, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// The hosts and methods that the gateway asked for in vain, over all of its starts.
    pub in_vain: InVain,
}

/// Chooses the cassettes for a gateway.
///
/// # Errors
///
/// [`SubjectError`] if a scenario or a cassette can't be read.
pub fn select(
    workspace: &Workspace,
    spec: &GatewaySpec,
    options: SubjectOptions<'_>,
) -> Result<GatewaySelection, SubjectError> {
    let mut selection = GatewaySelection::default();
    for Selected { name, versions, .. } in &options.selection.scenarios {
        let is_chosen = spec.scenarios.is_empty() || spec.scenarios.contains(name);
        if !is_chosen && !options.force {
            continue;
        }
        match versions {
            None => selection.add(workspace, spec, name, None)?,
            Some(versions) => {
                for version in versions {
                    selection.add(workspace, spec, name, Some(version.as_str()))?;
                }
            }
        }
    }
    Ok(selection)
}

impl GatewaySelection {
    fn add(
        &mut self,
        workspace: &Workspace,
        spec: &GatewaySpec,
        name: &ScenarioName,
        version: Option<&str>,
    ) -> Result<(), SubjectError> {
        let scenario = workspace.scenario_of(name)?;
        let version = version.or(spec.cli.as_deref());
        match job(workspace, spec, scenario, version)? {
            Ok(job) => self.jobs.push(job),
            Err(left_out) => self.left_out.push(left_out),
        }
        Ok(())
    }
}

/// Returns a cassette of a scenario that fits, or the reason why none does.
fn job(
    workspace: &Workspace,
    spec: &GatewaySpec,
    scenario: Scenario,
    version: Option<&str>,
) -> Result<Result<Job, LeftOut>, SubjectError> {
    let mut recorded = workspace.recorded(&scenario.name)?;
    scenario.sort_versions(&mut recorded);
    let is_wanted = |known: &&CliVersion| version.is_none_or(|version| known.as_str() == version);
    let Some(version) = recorded.iter().find(is_wanted) else {
        let name = scenario.name.to_string();
        return Ok(Err(LeftOut { why: Misfit::NotRecorded(name.clone()), name }));
    };
    let cassette = Cassette::find(workspace, &scenario.name, version)?;
    let dialogue = PersonDialogue::of(&cassette, &scenario.record);
    let name = format!("{}/{version}", scenario.name);
    Ok(match misfit(spec, &scenario, &cassette, &dialogue) {
        Some(why) => Err(LeftOut { name, why }),
        None => Ok(Job { facts: Arc::new(LazyFacts::of(&cassette)), scenario, cassette, dialogue }),
    })
}

/// Plays the cassettes that fit a gateway, and judges the chats. `report` is called with each event; `note` is called
/// before slow steps.
///
/// # Errors
///
/// [`SubjectError`] if the gateway can't be installed or started, or if the caller stops it.
pub fn test(
    gateway: NamedGateway<'_>,
    options: SubjectOptions<'_>,
    rig: RigHost<'_>,
    note: &mut dyn FnMut(&str),
    report: &mut dyn FnMut(RunEvent<'_>),
) -> Result<SubjectSuite, SubjectError> {
    let spec = gateway.spec;
    let GatewaySelection { jobs, left_out } = select(rig.workspace, spec, options)?;
    let mut suite = SubjectSuite { left_out, ..SubjectSuite::default() };
    if jobs.is_empty() {
        return Ok(suite);
    }
    let mut known = known_differences(gateway, rig)?;
    let prepared = prepare_gateway(spec, gateway.version, rig, note)?;
    let warm_up = warm_up(spec, rig.workspace)?;
    let conditions = options.conditions;
    let playing =
        |printing| Playing { cli: spec.cli.clone(), printing, patience: Patience::Limits };
    let recorded = playing(conditions.printing);
    let how = Play {
        spec,
        prepared: &prepared,
        playing: &recorded,
        warm_up: warm_up.as_ref(),
        faults: &conditions.faults,
        kept: 0,
    };
    note(&format!("starting {}", gateway.shown()));
    let mut in_vain = InVain::default();
    let mut note_in_vain = |event: &RunEvent<'_>| {
        if let RunEvent::Stopped { in_vain: of_start, .. } = event {
            in_vain.add(of_start);
        }
    };
    let seen = play(&jobs, how, rig, &mut |event| {
        note_in_vain(&event);
        report(event);
    })?;
    let (jobs, seen) = suite.take_served(gateway, jobs, seen, rig);
    let kept = seen.iter().map(DriveResult::bytes).sum();
    let account = KeptBytes::within(rig.limits.kept);
    account.keep(kept);
    let mut findings: Vec<Vec<Finding>> = Vec::new();
    let mut goldens: Vec<u64> = Vec::new();
    for (job, seen) in jobs.iter().zip(&seen) {
        if rig.stop.load(Ordering::Relaxed) {
            return Err(SubjectError::Stopped);
        }
        let place = FindingPlace { gateway, job, rig, conditions };
        let judged = known.mark(&job.scenario.name, &clock::today(), violations(job, seen, spec));
        let mut found = Vec::new();
        for judged in judged {
            let finding = place.finding(&judged.violation, &seen.entries);
            match judged.known {
                Some(reason) => {
                    suite.known.push((finding.place, finding.sentence, reason));
                }
                None => found.push(finding),
            }
        }
        // Goldens are compared under the recorded conditions only, under which they were accepted.
        let mut compared = 0;
        if conditions.are_recorded() && spec.front == Front::Chat {
            let chat = golden::GoldenChat {
                subject: gateway.name,
                shown: &gateway.shown(),
                scenario: &job.scenario,
                cassette: &job.name(),
                entries: &seen.entries,
                ending: &seen.ending,
            };
            let golden = golden::compare(chat, options.update, &place.reproduce(), &account)?;
            compared = golden.goldens;
            found.extend(golden.finding);
        }
        goldens.push(compared);
        findings.push(found);
    }
    let mut took: Vec<Duration> = seen.iter().map(|seen| seen.took).collect();
    for (number, seed) in (1..).zip(options.seeds.each()) {
        note(&format!("plan {number} of {}, seed {seed}", options.seeds.count));
        let planned = playing(Printing::Seeded(seed));
        let planned = play(&jobs, Play { playing: &planned, kept, ..how }, rig, &mut |event| {
            note_in_vain(&event);
        })?;
        for (index, (job, planned)) in jobs.iter().zip(&planned).enumerate() {
            took[index] += planned.took;
            let printing = Printing::Seeded(seed);
            let conditions = Conditions { printing, faults: conditions.faults.clone() };
            let place = FindingPlace { gateway, job, rig, conditions: &conditions };
            findings[index].extend(place.under_plan(seed, &seen[index], planned));
        }
    }
    suite.in_vain = in_vain;
    let judged = findings.into_iter().zip(goldens).zip(took);
    for ((job, seen), ((findings, goldens), took)) in jobs.into_iter().zip(seen).zip(judged) {
        let check = CheckRun {
            cassettes: 1,
            goldens,
            plans: options.seeds.count,
            replayed: options.seeds.count,
            took: Some(took),
            ..CheckRun::of(&format!("{}::subject {}", job.version(), gateway.shown()), findings)
        };
        let pending = golden::pending(&job.scenario)?;
        let name = job.scenario.name.to_string();
        suite.scenarios.push(ScenarioRun { name, pending, checks: vec![check] });
        suite.played.push((job, seen));
    }
    let left_out = suite.left_out.iter();
    let left_out = left_out.map(|one| CheckRun::left_out(&one.name, &one.why.to_string()));
    suite.workspace.extend(left_out);
    let chosen = options.selection;
    // The list is checked with all scenarios only, because a part of them does not meet every known difference.
    if chosen.is_whole && chosen.scenarios.len() == rig.workspace.names()?.len() {
        suite.workspace.extend(list_check(gateway, &known));
    }
    Ok(suite)
}

impl SubjectSuite {
    /// Keeps the recordings that the gateway served. The others become one finding about the subject, and are listed as
    /// left out.
    fn take_served(
        &mut self,
        gateway: NamedGateway<'_>,
        jobs: Vec<Job>,
        seen: Vec<DriveResult>,
        rig: RigHost<'_>,
    ) -> (Vec<Job>, Vec<DriveResult>) {
        let mut sentence = None;
        let served = jobs.into_iter().zip(seen).filter(|(job, seen)| {
            let ObservedEnding::NotServed(why) = &seen.ending else { return true };
            self.left_out.push(LeftOut { name: job.name(), why: Misfit::NotServed });
            sentence.get_or_insert_with(|| why.clone());
            false
        });
        let served = served.unzip();
        if let Some(sentence) = sentence {
            let place = format!("subject {}", gateway.shown());
            let program = rig.workspace.program();
            let reproduce = format!("{program} test --subject {}", gateway.shown());
            let finding = Finding::new(FindingKind::SubjectHung, &place, sentence, reproduce);
            self.workspace.push(CheckRun::of("the persons who write", vec![finding]));
        }
        served
    }
}

/// Returns the rules that a run broke.
fn violations(job: &Job, seen: &DriveResult, spec: &GatewaySpec) -> Vec<Violation> {
    let (facts, entries) = (job.facts.clone(), seen.entries.clone());
    let observation = match spec.front {
        Front::Chat => Observation::of_chat(facts, entries),
        Front::Editor => Observation::of_editor(facts, entries),
    };
    judge(&Observation {
        turns: seen.turns.clone(),
        ending: seen.ending.clone(),
        traits: SubjectTraits { lets_claude_ask: !seen.asks_nobody, ..spec.traits },
        bus: seen.bus.clone(),
        ..observation
    })
}

/// Returns the check of the list of known differences, if the list has a mistake.
fn list_check(gateway: NamedGateway<'_>, known: &KnownDifferences) -> Option<CheckRun> {
    let place = format!("subject {}: known differences", gateway.shown());
    let reproduce = format!("clitape test --subject {}", gateway.shown());
    let findings: Vec<Finding> = known
        .findings(&clock::today())
        .into_iter()
        .map(|found| Finding::new(found.kind, &place, found.sentence, reproduce.clone()))
        .collect();
    (!findings.is_empty()).then(|| CheckRun::of("known differences", findings))
}

/// Reads the list of known differences; empty if the subject has none.
fn known_differences(
    gateway: NamedGateway<'_>,
    rig: RigHost<'_>,
) -> Result<KnownDifferences, SubjectError> {
    let Some(file) = &gateway.spec.known else { return Ok(KnownDifferences::default()) };
    let path = rig.workspace.root().join(file);
    let text = files::read_text(&path)?;
    KnownDifferences::parse(&text).map_err(|error| SubjectError::Known { path, error })
}

/// Returns the cassette of the warm-up, if the gateway has one.
fn warm_up(spec: &GatewaySpec, workspace: &Workspace) -> Result<Option<Job>, SubjectError> {
    let Some(name) = &spec.warm_up else { return Ok(None) };
    let scenario = workspace.scenario_of(name)?;
    match job(workspace, spec, scenario, spec.cli.as_deref())? {
        Ok(job) => Ok(Some(job)),
        Err(LeftOut { name, why }) => {
            Err(SubjectError::Kind(format!("`warm_up` names {name}, which does not fit: {why}")))
        }
    }
}

/// The place of a finding, and the command that shows it again.
struct FindingPlace<'a> {
    gateway: NamedGateway<'a>,
    job: &'a Job,
    rig: RigHost<'a>,
    conditions: &'a Conditions,
}

impl FindingPlace<'_> {
    fn name(&self) -> String {
        format!("subject {}: {}", self.gateway.shown(), self.job.name())
    }

    fn reproduce(&self) -> String {
        let program = self.rig.workspace.program();
        let (gateway, conditions) = (self.gateway.shown(), self.conditions.arguments());
        format!("{program} rig {gateway} {}{conditions}", self.job.name())
    }

    fn finding(&self, violation: &Violation, entries: &[Entry]) -> Finding {
        let finding = Finding::new(
            violation.kind,
            &self.name(),
            violation.sentence.clone(),
            self.reproduce(),
        );
        finding.with_context(context(entries, violation.entry))
    }

    /// Returns a finding if a person reads something else under a plan than without one.
    fn under_plan(&self, seed: u64, plain: &DriveResult, planned: &DriveResult) -> Option<Finding> {
        let sentence = differs_under_plan(
            seed,
            (&plain.entries, &plain.ending),
            (&planned.entries, &planned.ending),
        )?;
        let kind = FindingKind::WrongFinalText;
        Some(Finding::new(kind, &self.name(), sentence, self.reproduce()))
    }
}

/// Returns the sentence of a finding if a person reads something else under a plan than without one.
pub(super) fn differs_under_plan(
    seed: u64,
    plain: (&[Entry], &ObservedEnding),
    planned: (&[Entry], &ObservedEnding),
) -> Option<String> {
    let cut = format!("with the output cut and delayed by seed {seed}");
    if planned.1 != plain.1 {
        return Some(format!("{cut}, {}; without, {}", planned.1, plain.1));
    }
    let (expected, read) = (finally_read(plain.0), finally_read(planned.0));
    let is_same = |(one, other): (&String, &String)| says_the_same(one, other);
    let differs = expected.iter().zip(&read).position(|pair| !is_same(pair));
    let at = differs
        .or_else(|| (expected.len() != read.len()).then_some(expected.len().min(read.len())))?;
    let message = |texts: &[String]| match texts.get(at) {
        Some(text) => format!("`{}`", truncate(text, MESSAGE_WIDTH, Keep::End)),
        None => "nothing".to_owned(),
    };
    Some(format!(
        "{cut}, a person ends up reading {} as message {}, and {} without",
        message(&read),
        at + 1,
        message(&expected),
    ))
}

/// Returns the entries that a finding shows: up to the one at fault, or the last ones.
pub(super) fn context(entries: &[Entry], at: Option<usize>) -> Vec<ContextMoment> {
    let end = at.map_or(entries.len(), |at| (at + 1).min(entries.len()));
    entries[end.saturating_sub(CONTEXT)..end].iter().map(moment).collect()
}

/// Returns an entry as a finding shows it.
fn moment(entry: &Entry) -> ContextMoment {
    let lines = entry.headline_lines(ContextMoment::COLUMNS);
    let (input, output) = match entry.kind.starts_with('(') {
        true => (lines, Vec::new()),
        false => (Vec::new(), lines),
    };
    ContextMoment { at: entry.at, input, output }
}

/// Returns the cassettes that were left out, by the reason.
pub fn by_reason(left_out: &[LeftOut]) -> BTreeMap<String, Vec<&str>> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for LeftOut { name, why } in left_out {
        reasons.entry(why.to_string()).or_default().push(name);
    }
    reasons
}
