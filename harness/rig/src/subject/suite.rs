//! A gateway or an agent as a subject of the suite: chooses its cassettes, plays them, and judges each as soon as it
//! has ended.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clitape_judge::known::KnownDifferences;
use clitape_judge::neighbours::RunWords;
use clitape_judge::observation::{
    FurtherAct, InterludeKind, ObservedEnding, RestartMoment, SubjectTraits,
};
use clitape_judge::{Finding, FindingId, FindingKind};
use clitape_recording::cassette::Cassette;
use clitape_recording::chat::PRESS;
use clitape_recording::facts::{LazyFacts, TurnFacts};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, Seeds, Workspace};
use clitape_recording::text::{did_you_mean, near};
use clitape_recording::{clock, files};
use clitape_runner::suite::select::{Selected, Selection};
use clitape_runner::suite::{
    CheckRun, LeftOut, Observing, RunEnd, ScenarioRun, Subject, SuiteOptions, SuiteRun, TrialEvent,
    Trials,
};

use super::boot::Playing;
use super::dialogue::{Act, Misfit, PersonDialogue, misfit};
use super::drive::{DriveResult, Job, violations};
use super::error::SubjectError;
use super::finding::FindingPlace;
use super::folder_state::FolderState;
use super::golden;
use super::interlude::InterludeTrial;
use super::patience::Patience;
use super::prepare::{RigHost, prepare_gateway};
use super::run::{InVain, Play, RunEvent, play};
use super::spec::{
    AtOnce, Chats, Conditions, Front, GatewaySpec, HostKind, NamedGateway, Printing, Starts,
};
use crate::chat_server::Faults;
use crate::limits::KeptBytes;
use crate::stand_in::{AgentFaults, CliFault};

mod once_more;

/// The scenarios that are played first where one is enough.
pub(super) const TRIED: [&str; 3] = ["plain-text", "three-tools-live", "three-tools"];
/// The reason why a recording is left out where one message and its answer are needed.
const NOT_ONE_ANSWER: &str = "it is not one message and its answer";

/// Chooses the cassettes for a gateway. With `force`, they may be of scenarios that its `scenarios` leave out.
///
/// # Errors
///
/// [`SubjectError`] if a scenario or a cassette can't be read, or if the settings name a scenario that does not exist.
pub fn select(
    workspace: &Workspace,
    spec: &GatewaySpec,
    selection: &Selection,
    force: bool,
) -> Result<Trials<Job>, SubjectError> {
    check_names(workspace, &spec.scenarios, &spec.except)?;
    let mut trials = Trials::default();
    let mut add = |selected: &Selected, version: Option<&CliVersion>| {
        let name = &selected.name;
        let scenario = workspace.scenario_of(name)?;
        let version = version.map(CliVersion::as_str).or(spec.cli.as_deref());
        match job(workspace, spec, scenario, version)? {
            Ok(job) => match Misfit::of_origin(job.origin(), selected, &spec.scenarios) {
                Some(why) => {
                    trials.left_out.push(LeftOut { name: job.name(), why: why.to_string() });
                }
                None => trials.fit.push(job),
            },
            Err(left_out) => trials.left_out.push(left_out),
        }
        Ok::<(), SubjectError>(())
    };
    for selected in &selection.scenarios {
        let is_chosen = spec.scenarios.is_empty() || spec.scenarios.contains(&selected.name);
        if !is_chosen && !force {
            continue;
        }
        match &selected.versions {
            None => add(selected, None)?,
            Some(versions) => versions.iter().try_for_each(|one| add(selected, Some(one)))?,
        }
    }
    Ok(trials)
}

/// Finds names in a subject's settings that no scenario has, which would leave out what a person meant to play.
pub(super) fn check_names(
    workspace: &Workspace,
    scenarios: &[ScenarioName],
    except: &BTreeMap<ScenarioName, String>,
) -> Result<(), SubjectError> {
    let known = workspace.names()?;
    let named = scenarios.iter().map(|name| ("scenarios", name));
    let mut named = named.chain(except.keys().map(|name| ("except", name)));
    match named.find(|(_, name)| !known.contains(name)) {
        None => Ok(()),
        Some((key, name)) => {
            let hint = did_you_mean(&near(name, known.iter().map(ScenarioName::as_str)));
            Err(SubjectError::NoScenario { key, name: name.clone(), hint })
        }
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
        return Ok(Err(LeftOut { why: Misfit::NotRecorded(name.clone()).to_string(), name }));
    };
    let cassette = Cassette::find(workspace, &scenario.name, version)?;
    let dialogue = PersonDialogue::of(&cassette, &scenario.record);
    let name = format!("{}/{version}", scenario.name);
    Ok(match misfit(spec, &scenario, &cassette, &dialogue) {
        Some(why) => Err(LeftOut { name, why: why.to_string() }),
        None => {
            Ok(Job { facts: Arc::new(LazyFacts::of_runs(&cassette)), scenario, cassette, dialogue })
        }
    })
}

/// A gateway or an agent of `clitape.toml`.
pub struct GatewaySubject<'a> {
    gateway: NamedGateway<'a>,
    conditions: &'a Conditions,
    rig: RigHost<'a>,
    /// True to play the scenarios even if the gateway's `scenarios` leave them out.
    force: bool,
    /// True to play one cassette once more under harsh conditions.
    is_played_harshly: bool,
    /// Called with each event of the gateway's first round.
    watch: Option<&'a mut dyn FnMut(RunEvent<'_>)>,
    /// The part of the result that belongs to the run as a whole; `None` before the gateway was started.
    whole: Option<WholeRun>,
    /// The cassettes that were played to their end, with their results.
    pub played: Vec<(Job, DriveResult)>,
    /// The files of the folder in which the gateway starts by default, before the run; `None` if it names another one.
    folder: Option<FolderState>,
}

impl<'a> GatewaySubject<'a> {
    /// Takes a gateway that is played under these conditions.
    pub fn new(gateway: NamedGateway<'a>, conditions: &'a Conditions, rig: RigHost<'a>) -> Self {
        let (watch, whole, played) = (None, None, Vec::new());
        let (force, is_played_harshly) = (false, false);
        let folder = None;
        Self { gateway, conditions, rig, force, is_played_harshly, watch, whole, played, folder }
    }

    /// Calls `watch` with each event of the gateway's first round.
    pub fn watched(mut self, watch: &'a mut dyn FnMut(RunEvent<'_>)) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Returns the sentence about what other options of `clitape test` would try; `None` for a run that is watched.
    fn untried(&self, options: SuiteOptions<'_>) -> Option<String> {
        if self.watch.is_some() {
            return None;
        }
        let Conditions { printing, faults, lives_on_s, agent_faults, c_locale, interlude, .. } =
            self.conditions;
        let GatewaySpec { front, host, .. } = self.gateway.spec;
        let is_chat = *front == Front::Chat;
        let is_one_shot = is_chat && *host == HostKind::OneShot;
        let has_no_plans = options.seeds.is_none() && *printing == Printing::Recorded;
        let untried = [
            ("output that is cut and delayed at random (`--plans 4`)", has_no_plans),
            ("calls of the chat that fail (`--chat-seed 7`)", is_chat && *faults == Faults::None),
            (
                "a `claude` that lives on after its result (`--lives-on 8`)",
                is_one_shot && *lives_on_s == 0 && !self.is_played_harshly,
            ),
            (
                "faults of what claude prints (`--agent-faults crlf,log-line,cut`)",
                agent_faults.is_empty() && !self.is_played_harshly,
            ),
            ("an ASCII locale (`--c-locale`)", !c_locale),
            ("a restart (`--restart mid-turn`)", is_chat && interlude.is_none()),
            ("a person who does more (`--person long-prompt`)", is_chat && interlude.is_none()),
        ];
        let words: Vec<&str> = untried
            .into_iter()
            .filter_map(|(words, is_untried)| is_untried.then_some(words))
            .collect();
        (!words.is_empty()).then(|| format!("not tried: {}", words.join(", ")))
    }

    /// Plays also the scenarios that the gateway's `scenarios` leave out.
    pub fn with_all_scenarios(mut self) -> Self {
        self.force = true;
        self
    }
}

impl fmt::Debug for GatewaySubject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewaySubject").field("gateway", &self.gateway).finish_non_exhaustive()
    }
}

/// The part of a run that belongs to no single cassette.
struct WholeRun {
    known: KnownDifferences,
    /// True for each cassette that has ended and was served.
    is_judged: Vec<bool>,
    /// The sentence about a gateway that serves another person only.
    not_served: Option<String>,
    /// The indexes of the cassettes in which the gateway denied by itself what the recorded person allowed.
    denied: Vec<usize>,
    notes: Vec<String>,
    /// The findings of the cassettes that were played once more with faults of `claude`'s output.
    of_faults: Vec<Finding>,
    /// The results of the first round; `None` for each cassette that had not ended when the caller or a finding ended it.
    seen: Vec<Option<DriveResult>>,
}

impl Subject for GatewaySubject<'_> {
    type Trial = Job;
    type Error = SubjectError;

    fn promises(&self) -> SubjectTraits {
        self.gateway.spec.traits
    }

    fn fits(&mut self, options: SuiteOptions<'_>) -> Result<Trials<Job>, SubjectError> {
        let (spec, selection) = (self.gateway.spec, options.selection);
        let is_default = spec.folder.is_none();
        self.folder = is_default.then(|| FolderState::of(self.rig.workspace.root()));
        let trials = select(self.rig.workspace, spec, selection, self.force)?;
        let trials = with_faults(trials, &self.conditions.agent_faults);
        Ok(match self.conditions.interlude {
            Some(kind) => with_moment(trials, kind, spec, selection.is_whole),
            None => trials,
        })
    }

    fn observe(
        &mut self,
        jobs: &[Job],
        options: SuiteOptions<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, SubjectError> {
        let mut spec = self.gateway.spec.clone();
        spec.within_s = within(spec.within_s, options.scenario_time);
        let gateway = NamedGateway { spec: &spec, ..self.gateway };
        let (rig, conditions) = (self.rig, self.conditions);
        let known = known_differences(gateway, rig)?;
        let prepared = prepare_gateway(&spec, gateway.version, rig, &mut |what| {
            let _ = tell(TrialEvent::Step(what).into());
        })?;
        let warm_up = warm_up(&spec, rig.workspace)?;
        let playing = |printing| Playing {
            cli: spec.cli.clone(),
            printing,
            in_halves: !conditions.whole_lines,
            patience: Patience::Limits,
            lives_on_s: conditions.lives_on_s,
            agent_faults: AgentFaults::of_all(&conditions.agent_faults),
            c_locale: conditions.c_locale,
            sessions_are_gone: false,
        };
        let recorded = playing(conditions.printing);
        let how = Play {
            spec: &spec,
            prepared: &prepared,
            playing: &recorded,
            warm_up: warm_up.as_ref(),
            faults: &conditions.faults,
            at_once: options.jobs.map_or(spec.at_once, AtOnce::fixed),
            kept: 0,
        };
        if let Some(kind) = conditions.interlude {
            return self.observe_interludes(kind, jobs, how, known, tell);
        }
        let _ = tell(TrialEvent::Step(&format!("starting {}", gateway.shown())).into());
        let traits = self.promises();
        let mut trials = GatewayTrials {
            gateway,
            traits,
            conditions,
            options,
            rig,
            jobs,
            known,
            account: KeptBytes::within(rig.limits.kept),
            words: has_neighbours(&spec, jobs).then(|| words_of(jobs)),
            again: self.again(jobs),
            faulty: self.faulty(jobs),
            found: vec![Vec::new(); jobs.len()],
            of_faults: Vec::new(),
            checks: jobs.iter().map(|_| None).collect(),
            is_judged: vec![false; jobs.len()],
            not_served: None,
            denied: Vec::new(),
            notes: Vec::new(),
            in_vain: InVain::default(),
            is_enough: false,
            failed: None,
        };
        trials.play_with_faults(how, tell)?;
        let seen = match trials.is_enough {
            true => jobs.iter().map(|_| None).collect(),
            false => {
                let seen = play(jobs, how, rig, &mut |event| {
                    trials.follow(&event, tell);
                    if let Some(watch) = &mut self.watch {
                        watch(event);
                    }
                });
                trials.unless_failed(seen)?
            }
        };
        let seeds = trials.seeds();
        if seen.iter().all(Option::is_some) {
            let kept = seen.iter().flatten().map(DriveResult::bytes).sum();
            trials.play_alone(Play { kept, ..how }, tell)?;
            trials.play_once_more(&self.harsh(), Play { kept, ..how }, tell)?;
            for (number, seed) in (1..).zip(seeds.each()) {
                let step = format!("plan {number} of {}, seed {seed}", seeds.count);
                let _ = tell(TrialEvent::Step(&step).into());
                let planned = playing(Printing::Seeded(seed));
                let how = Play { playing: &planned, kept, ..how };
                let planned = play(jobs, how, rig, &mut |event| trials.note_in_vain(&event));
                let planned = trials.unless_failed(planned)?;
                trials.add_plan(seed, &seen, &planned);
                if !planned.iter().all(Option::is_some) {
                    break;
                }
            }
        }
        let end = match rig.stop.load(Ordering::Relaxed) && !trials.is_enough {
            true => RunEnd::Stopped,
            false => RunEnd::Complete,
        };
        let mut notes = std::mem::take(&mut trials.notes);
        notes.extend(trials.in_vain.sentences());
        for (index, check) in trials.checks.iter_mut().enumerate() {
            if let Some(check) = check.take() {
                let _ = tell(Observing::Judged(index, scenario_run(&jobs[index], check)?));
            }
        }
        let GatewayTrials { known, is_judged, not_served, denied, of_faults, .. } = trials;
        let whole = WholeRun { known, is_judged, not_served, denied, notes, of_faults, seen };
        self.whole = Some(whole);
        Ok(end)
    }

    fn finish(
        &mut self,
        jobs: Vec<Job>,
        run: &mut SuiteRun,
        options: SuiteOptions<'_>,
    ) -> Result<(), SubjectError> {
        let Some(whole) = self.whole.take() else { return Ok(()) };
        let (gateway, rig) = (self.gateway, self.rig);
        for index in whole.denied {
            let why = Misfit::DeniedByItself.to_string();
            run.leave_out(LeftOut { name: jobs[index].name(), why });
            run.unchecked -= 1;
        }
        if let Some(sentence) = whole.not_served {
            for (job, _) in jobs.iter().zip(whole.is_judged).filter(|(_, is_judged)| !is_judged) {
                run.leave_out(LeftOut { name: job.name(), why: Misfit::NotServed.to_string() });
                run.unchecked -= 1;
            }
            let shown = gateway.shown();
            let reproduce = format!("{} test --subject {shown}", rig.workspace.program());
            let place = format!("subject {shown}");
            let finding = Finding::new(FindingKind::SubjectHung, &place, sentence, reproduce);
            run.workspace.push(CheckRun::of("the persons who write", vec![finding]));
        }
        if !whole.of_faults.is_empty() {
            run.workspace.push(CheckRun::of("faults of what claude prints", whole.of_faults));
        }
        run.notes.extend(whole.notes);
        let root = rig.workspace.root();
        run.notes.extend(self.folder.take().and_then(|before| before.written_since(root)));
        if !run.is_stopped {
            run.notes.extend(self.untried(options));
        }
        // The list is checked with all scenarios only, because a part of them does not meet every known difference.
        let chosen = options.selection;
        let is_all =
            || Ok::<_, SubjectError>(chosen.scenarios.len() == rig.workspace.names()?.len());
        if !run.is_stopped && chosen.is_whole && is_all()? {
            run.workspace.extend(list_check(gateway, &whole.known));
        }
        let is_served =
            |(_, seen): &(Job, DriveResult)| !matches!(seen.ending, ObservedEnding::NotServed(_));
        let ended = jobs.into_iter().zip(whole.seen).filter_map(|(job, seen)| Some((job, seen?)));
        self.played = ended.filter(is_served).collect();
        Ok(())
    }
}

/// Returns the seconds of a run that may take `limit` seconds, if the caller gives a scenario only this time.
pub(super) fn within(limit: u64, time: Option<Duration>) -> u64 {
    time.map_or(limit, |time| {
        limit.min(time.as_millis().div_ceil(1_000).try_into().unwrap_or(limit))
    })
}

/// The cassettes of a test, each judged as soon as it has ended.
struct GatewayTrials<'a> {
    gateway: NamedGateway<'a>,
    traits: SubjectTraits,
    conditions: &'a Conditions,
    options: SuiteOptions<'a>,
    rig: RigHost<'a>,
    jobs: &'a [Job],
    known: KnownDifferences,
    account: KeptBytes,
    /// The words of all cassettes; `None` if they are no conversations of their own.
    words: Option<Arc<RunWords>>,
    /// The index of the cassette that is played once more.
    again: Option<usize>,
    /// The indexes of the cassettes that are also played with faults of `claude`'s output.
    faulty: Vec<usize>,
    /// The findings of each cassette, by their kinds.
    found: Vec<Vec<FindingId>>,
    /// The findings of the cassettes that were played with faults.
    of_faults: Vec<Finding>,
    /// The results of the cassettes, which wait for those of the plans or of a further run.
    checks: Vec<Option<CheckRun>>,
    /// True for each cassette that has ended and was served.
    is_judged: Vec<bool>,
    /// The sentence about a gateway that serves another person only.
    not_served: Option<String>,
    /// The indexes of the cassettes in which the gateway denied by itself what the recorded person allowed.
    denied: Vec<usize>,
    notes: Vec<String>,
    in_vain: InVain,
    /// True once the suite has enough.
    is_enough: bool,
    failed: Option<SubjectError>,
}

impl GatewayTrials<'_> {
    /// Returns the seeds of the plans, none by default.
    fn seeds(&self) -> Seeds {
        self.options.seeds.unwrap_or(Seeds::NONE)
    }

    /// Judges a cassette that has ended, and passes its result on if no plan follows.
    fn follow(
        &mut self,
        event: &RunEvent<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) {
        self.note_in_vain(event);
        match event {
            RunEvent::Begins(job) => {
                let scenario = &job.name();
                let begins = TrialEvent::UnderWay { scenario, check: "", replays: 0 };
                self.go_on(tell(begins.into()));
            }
            RunEvent::Ended { job, seen, done } => {
                if let Err(error) = self.end(job, seen, tell) {
                    self.failed.get_or_insert(error);
                    self.rig.stop.store(true, Ordering::Relaxed);
                }
                let ended = TrialEvent::Judged { done: *done, of: self.jobs.len() };
                self.go_on(tell(ended.into()));
            }
            _ => {}
        }
    }

    /// Stops the gateway once the suite has enough.
    fn go_on(&mut self, flow: ControlFlow<()>) {
        if flow.is_break() {
            self.is_enough = true;
            self.rig.stop.store(true, Ordering::Relaxed);
        }
    }

    fn note_in_vain(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Stopped { in_vain, .. } = event {
            self.in_vain.add(in_vain);
        }
    }

    /// Judges a cassette that has ended.
    fn end(
        &mut self,
        job: &Job,
        seen: &DriveResult,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        self.account.keep(seen.bytes());
        if let ObservedEnding::NotServed(why) = &seen.ending {
            self.not_served.get_or_insert_with(|| why.clone());
            return Ok(());
        }
        let (spec, conditions) = (self.gateway.spec, self.conditions);
        let index = self.jobs.iter().position(|one| std::ptr::eq(one, job));
        if let Some(index) = index.filter(|_| denies_by_itself(spec, seen)) {
            self.denied.push(index);
            self.is_judged[index] = true;
            return Ok(());
        }
        let before = shared(self.gateway, &self.jobs[..index.unwrap_or(0)]);
        let place = FindingPlace { gateway: self.gateway, job, rig: self.rig, conditions, before };
        let neighbours = index.and_then(|index| Some(self.words.as_ref()?.around(index)));
        let found = violations(job, seen, self.traits, spec.front, neighbours);
        let (mut findings, notes) = place.mark(&mut self.known, found, &seen.entries);
        let known = notes.len() as u64;
        self.notes.extend(notes);
        // Goldens are compared under the recorded conditions only, under which they were accepted.
        let mut goldens = 0;
        if conditions.are_recorded() && spec.front == Front::Chat {
            let chat = golden::GoldenChat {
                subject: self.gateway.name,
                shown: &self.gateway.shown(),
                scenario: &job.scenario,
                cassette: &job.name(),
                entries: &seen.entries,
                ending: &seen.ending,
            };
            let update = self.options.update;
            let golden = golden::compare(chat, update, &place.reproduce(), &self.account)?;
            goldens = golden.goldens;
            findings.extend(golden.finding);
        }
        if self.options.fail_fast && !findings.is_empty() {
            self.go_on(ControlFlow::Break(()));
        }
        let name = format!("{}::subject {}", job.version(), self.gateway.shown());
        let check = CheckRun {
            cassettes: 1,
            goldens,
            plans: self.seeds().count,
            replayed: self.seeds().count,
            known,
            took: Some(seen.took),
            ..CheckRun::of(&name, findings)
        };
        let Some(index) = index else { return Ok(()) };
        self.is_judged[index] = true;
        self.found[index] = check.findings.iter().map(|finding| finding.id.clone()).collect();
        if self.seeds().count > 0 || self.again == Some(index) || self.is_to_be_repeated(&check) {
            self.checks[index] = Some(check);
        } else {
            self.go_on(tell(Observing::Judged(index, scenario_run(job, check)?)));
        }
        Ok(())
    }

    /// Returns the results of a round. One that was stopped before its first result is empty if an earlier round was
    /// judged.
    fn unless_failed(
        &mut self,
        played: Result<Vec<Option<DriveResult>>, SubjectError>,
    ) -> Result<Vec<Option<DriveResult>>, SubjectError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        match played {
            Err(error) if error.is_stop() && self.is_judged.contains(&true) => {
                Ok(self.jobs.iter().map(|_| None).collect())
            }
            played => played,
        }
    }

    /// Adds the findings of a plan.
    fn add_plan(
        &mut self,
        seed: u64,
        seen: &[Option<DriveResult>],
        planned: &[Option<DriveResult>],
    ) {
        let printing = Printing::Seeded(seed);
        let conditions = &Conditions { printing, ..self.conditions.clone() };
        for (index, job) in self.jobs.iter().enumerate() {
            let Some(check) = &mut self.checks[index] else { continue };
            let (Some(seen), Some(planned)) = (&seen[index], &planned[index]) else { continue };
            let (gateway, rig, before) =
                (self.gateway, self.rig, shared(self.gateway, &self.jobs[..index]));
            let place = FindingPlace { gateway, job, rig, conditions, before };
            check.findings.extend(place.under_plan(seed, seen, planned));
            check.took = check.took.map(|took| took + planned.took);
        }
    }
}

impl GatewaySubject<'_> {
    /// Plays an interlude in the midst of each recording, one after another, and judges what became of it.
    fn observe_interludes(
        &mut self,
        kind: InterludeKind,
        jobs: &[Job],
        how: Play<'_>,
        known: KnownDifferences,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, SubjectError> {
        let (gateway, rig, conditions) = (self.gateway, self.rig, self.conditions);
        let mut whole = WholeRun {
            known,
            is_judged: vec![false; jobs.len()],
            not_served: None,
            denied: Vec::new(),
            notes: Vec::new(),
            of_faults: Vec::new(),
            seen: jobs.iter().map(|_| None).collect(),
        };
        let mut end = RunEnd::Complete;
        for (index, job) in jobs.iter().enumerate() {
            let scenario = &job.name();
            let begins = TrialEvent::UnderWay { scenario, check: &kind.to_string(), replays: 0 };
            if tell(begins.into()).is_break() {
                break;
            }
            let other;
            let next = match kind {
                InterludeKind::Person(FurtherAct::AllowAlways) => job,
                _ => {
                    other = next_job(rig.workspace, how.spec, job)?;
                    &other
                }
            };
            let trial = InterludeTrial { job, next, kind };
            let result = match trial.play(how, rig) {
                Err(error) if error.is_stop() && index > 0 => {
                    end = RunEnd::Stopped;
                    break;
                }
                played => played?,
            };
            if rig.stop.load(Ordering::Relaxed) {
                end = RunEnd::Stopped;
                break;
            }
            if let Some(watch) = &mut self.watch {
                watch(RunEvent::Entries(job, &result.whole.entries));
            }
            whole.notes.extend(result.notes(trial));
            let place = FindingPlace { gateway, job, rig, conditions, before: &[] };
            let found = result.violations(trial, self.promises());
            let (findings, notes) = place.mark(&mut whole.known, found, &result.whole.entries);
            let check = CheckRun {
                cassettes: 1,
                known: notes.len() as u64,
                took: Some(result.whole.took),
                ..CheckRun::of(&format!("{}::{kind}", job.version()), findings)
            };
            whole.notes.extend(notes);
            whole.is_judged[index] = true;
            whole.seen[index] = Some(result.whole);
            let told = tell(Observing::Judged(index, scenario_run(job, check)?));
            let judged = TrialEvent::Judged { done: index + 1, of: jobs.len() };
            if told.is_break() || tell(judged.into()).is_break() {
                break;
            }
        }
        self.whole = Some(whole);
        Ok(end)
    }
}

/// Returns whether a gateway that asks nobody denied what the recorded person allowed, as one does that has rules of its
/// own for tools. What `claude` does then is not recorded.
fn denies_by_itself(spec: &GatewaySpec, seen: &DriveResult) -> bool {
    let has_pressed = || seen.entries.iter().any(|entry| entry.kind == PRESS);
    !spec.traits.asks_questions && seen.ending.denies_instead() && !has_pressed()
}

/// Changes the recordings as faults of `claude`'s output do. Only one message and its answer can be cut off, because the
/// person goes on after a result.
fn with_faults(mut trials: Trials<Job>, faults: &[CliFault]) -> Trials<Job> {
    if faults.contains(&CliFault::Cut) {
        let (fit, others): (Vec<Job>, Vec<Job>) =
            trials.fit.into_iter().partition(ends_with_answer);
        trials.fit = fit.into_iter().map(Job::cut_off).collect();
        trials.left_out.extend(others.iter().map(|job| {
            let why = Misfit::NoMoment(NOT_ONE_ANSWER).to_string();
            LeftOut { name: job.name(), why }
        }));
    }
    trials
}

/// Keeps the recordings that have the moment of an interlude. Of a whole selection one is enough, because each needs
/// starts of its own.
fn with_moment(
    mut trials: Trials<Job>,
    kind: InterludeKind,
    spec: &GatewaySpec,
    is_whole: bool,
) -> Trials<Job> {
    let lacks = |job: &Job| lacks_moment(job, kind, spec);
    let (fit, others): (Vec<Job>, Vec<Job>) =
        trials.fit.into_iter().partition(|job| lacks(job).is_none());
    trials.fit = fit;
    if is_whole && !trials.fit.is_empty() {
        trials.left_out.clear();
        let is_usual = |job: &Job| TRIED.contains(&job.scenario.name.as_str());
        let is_best = |job: &Job| match kind {
            InterludeKind::Person(FurtherAct::StopAtOnce) => job.is_stopped_once(),
            InterludeKind::Person(FurtherAct::AnswerByText) => {
                job.dialogue.steps.iter().any(|step| matches!(step.act, Act::Choose(_)))
            }
            _ => false,
        };
        let chosen = trials.fit.iter().position(is_best);
        let chosen = chosen.or_else(|| trials.fit.iter().position(is_usual)).unwrap_or(0);
        trials.fit = vec![trials.fit.swap_remove(chosen)];
        return trials;
    }
    trials.left_out.extend(others.iter().filter_map(|job| {
        let why = Misfit::NoMoment(lacks(job)?).to_string();
        Some(LeftOut { name: job.name(), why })
    }));
    trials
}

/// Returns the reason why a recording does not have the moment of an interlude.
fn lacks_moment(job: &Job, kind: InterludeKind, spec: &GatewaySpec) -> Option<&'static str> {
    let has = |is_it: fn(&Act) -> bool| job.dialogue.steps.iter().any(|step| is_it(&step.act));
    let is_permission = |act: &Act| matches!(act, Act::Answer { .. });
    let is_answer = |act: &Act| matches!(act, Act::Answer { .. } | Act::Choose(_));
    match kind {
        InterludeKind::Restart(RestartMoment::MidQuestion)
        | InterludeKind::Person(FurtherAct::MessageAtQuestion | FurtherAct::AllowAlways) => {
            (!has(is_permission)).then_some("nobody is asked for a permission")
        }
        InterludeKind::Person(FurtherAct::AnswerByText) => {
            (!has(is_answer)).then_some("nobody is asked")
        }
        InterludeKind::Person(FurtherAct::StopAtOnce) if spec.stop.is_none() => {
            Some("the subject names no `stop`")
        }
        InterludeKind::Person(FurtherAct::StopAtOnce) if job.is_stopped_once() => None,
        _ => (!ends_with_answer(job)).then_some(NOT_ONE_ANSWER),
    }
}

/// Returns a short recording that the person plays next, another one than `job` if there is one.
fn next_job(workspace: &Workspace, spec: &GatewaySpec, of: &Job) -> Result<Job, SubjectError> {
    let names = workspace.recorded_names()?;
    let is_other = |name: &&ScenarioName| **name != of.scenario.name;
    let usual = TRIED.iter().filter_map(|tried| names.iter().find(|name| *name == *tried));
    for name in usual.chain(&names).filter(is_other).chain([&of.scenario.name]) {
        let found = job(workspace, spec, workspace.scenario_of(name)?, spec.cli.as_deref())?;
        if let Some(job) = found.ok().filter(ends_with_answer) {
            return Ok(job);
        }
    }
    let what =
        "the person needs a next recording of one message and its answer that fits; record one";
    Err(SubjectError::Kind(what.to_owned()))
}

/// Returns the result of a scenario, whose one check is that of its cassette.
fn scenario_run(job: &Job, check: CheckRun) -> Result<ScenarioRun, SubjectError> {
    let pending = golden::pending(&job.scenario)?;
    Ok(ScenarioRun { name: job.scenario.name.to_string(), pending, checks: vec![check] })
}

/// Returns whether a cassette is one message and its answer.
fn ends_with_answer(job: &Job) -> bool {
    let has_answer = job.facts.turn_facts().last().is_some_and(TurnFacts::must_be_answered);
    job.dialogue.steps.is_empty() && job.dialogue.results.len() == 1 && has_answer
}

/// Returns whether each cassette has a conversation of its own, at the same gateway as the others.
fn has_neighbours(spec: &GatewaySpec, jobs: &[Job]) -> bool {
    jobs.len() > 1 && spec.writers.chats != Chats::One && spec.writers.starts != Starts::Each
}

fn words_of(jobs: &[Job]) -> Arc<RunWords> {
    Arc::new(RunWords::of(jobs.iter().map(|job| (job.name(), &*job.facts))))
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

/// Returns the cassettes that were played before one in the same chat; none if each has its own.
fn shared<'a>(gateway: NamedGateway<'_>, before: &'a [Job]) -> &'a [Job] {
    if gateway.spec.writers.chats == Chats::One { before } else { &[] }
}
