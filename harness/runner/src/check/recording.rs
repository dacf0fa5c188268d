//! A cassette that is checked: it is loaded once, and its canonical replay in every setup is made once. Of a long
//! recording, only the last replay is kept.
//!
//! It is also checked as it was made: the statements of its manifest, and its replay with the recorded cuts and times.
//! Goldens and plans replay the bytes at other times than those of the recording, and do not read the manifest. This
//! check alone reads both, so that a mistake in either is found.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use clitape_judge::{FindingKind, View};
use clitape_recording::cassette::{
    Cassette, CassetteError, Exit, Manifest, Origin, Tick, TickKind,
};
use clitape_recording::facts::LazyFacts;
use clitape_recording::names::{CassetteFile, CassettePart, CliVersion};
use clitape_recording::scenario::{
    AcpClient, ChannelSpec, Fault, PlanSource, Scenario, Setup, Workspace,
};
use clitape_recording::text::plural;

use super::broken::BrokenRule;
use super::sweep::seeded;
use crate::replay::{
    Capture, Plan, PlanArg, Replay, ReplayRequest, RequestError, StdinLine, replay, replay_all,
    stdin_lines,
};

/// The most setups that one parse feeds at a time, and the most bytes that it feeds them in all: each setup
/// keeps a whole trace in memory.
const AT_ONCE: (usize, usize) = (16, 8 << 20);

/// A cassette of a scenario, and the replays that its checks share.
#[derive(Debug)]
pub struct Recording {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) cassette: Cassette,
    /// The lines that the host wrote.
    stdin: Vec<StdinLine>,
    /// The canonical replays with the faults that the scenario names.
    canonical: SharedReplays,
    /// The same without faults; not used where the scenario names none.
    fault_free: SharedReplays,
    /// The facts that stdout states, after the first replay that reads them.
    facts: OnceLock<Arc<LazyFacts>>,
    /// The most setups and bytes that one parse feeds.
    most_at_once: (usize, usize),
}

impl Recording {
    /// Reads the cassette of a version.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when it is not there, is damaged or can't be read.
    pub fn load(
        workspace: &Workspace,
        scenario: &Arc<Scenario>,
        version: &CliVersion,
    ) -> Result<Self, CassetteError> {
        let cassette = Cassette::find(workspace, &scenario.name, version)?;
        Ok(Self::of(scenario.clone(), cassette))
    }

    /// The recording of a cassette that is in memory.
    pub(crate) fn of(scenario: Arc<Scenario>, cassette: Cassette) -> Self {
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        let (canonical, fault_free) = (SharedReplays::default(), SharedReplays::default());
        let facts = OnceLock::new();
        let most_at_once = AT_ONCE;
        Self { scenario, cassette, stdin, canonical, fault_free, facts, most_at_once }
    }

    /// The cassette's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.cassette.manifest
    }

    /// The plan that is given itself, checked against the recording.
    ///
    /// # Errors
    ///
    /// [`RequestError`] when the plan can't be read or is for another recording.
    pub fn given_plan(&self, plan: PlanArg) -> Result<Plan, RequestError> {
        let name = format!("{} {}", self.scenario.name, self.version());
        let request = ReplayRequest { plan: Some(plan), ..ReplayRequest::new(name) };
        request.plan(self.capture(), &self.cassette.timeline)
    }

    /// The plans that the scenario pins, each with its name, and a sentence about each that can't be used for the
    /// recording.
    pub(super) fn pinned_plans(&self) -> (Vec<(String, Plan)>, Vec<String>) {
        let Scenario { plans: pinned, chat, sweep, .. } = &*self.scenario;
        let (mut plans, mut unusable) = (Vec::new(), Vec::new());
        let numbered = (1..).zip(pinned);
        for (number, one) in numbered.filter(|(_, one)| one.is_for(self.version())) {
            let plan = match &one.source {
                PlanSource::Seed(seed) => {
                    Ok(seeded(self.capture(), &chat.faults, &sweep.faults, *seed))
                }
                PlanSource::Json(text) => self.given_plan(PlanArg::Json(text.clone())),
            };
            match plan {
                Ok(plan) => plans.push((format!("pinned plan {number}"), plan)),
                Err(error) => {
                    unusable.push(format!("`[[plan]]` {number} can't be used: {error}"));
                }
            }
        }
        (plans, unusable)
    }

    /// The CLI's version.
    pub fn version(&self) -> &CliVersion {
        &self.cassette.manifest.cli.version
    }

    /// Both sides of the first run.
    pub(crate) fn capture(&self) -> Capture<'_> {
        Capture { stdout: &self.cassette.stdout, stdin: &self.stdin }
    }

    /// The number of setups that one parse may feed at a time.
    pub(crate) fn at_once(&self) -> usize {
        let (setups, bytes) = self.most_at_once;
        (bytes / self.cassette.stdout.len().max(1)).clamp(1, setups)
    }

    /// The replay in `setup` that goldens are made of, with the faults that the scenario names.
    pub(super) fn canonical(&self, setup: Setup) -> Arc<Replay> {
        self.shared(&self.canonical, setup, &self.scenario.chat.faults)
    }

    /// The canonical replay in `setup` without faults.
    pub(super) fn fault_free(&self, setup: Setup) -> Arc<Replay> {
        let is_same = self.scenario.chat.faults.is_empty();
        let replays = if is_same { &self.canonical } else { &self.fault_free };
        self.shared(replays, setup, &[])
    }

    fn shared(&self, shared: &SharedReplays, setup: Setup, faults: &[Fault]) -> Arc<Replay> {
        let capture = self.capture();
        let plan = || canonical_plan(&self.scenario, capture, faults);
        let replayed = |setups: &[Setup]| {
            let replays = replay_all(capture, &plan(), setups).into_iter();
            replays.map(|replay| Arc::new(self.with_shared_facts(replay))).collect()
        };
        let all = || Some(all_setups(&self.scenario)).filter(|all| all.len() <= self.at_once());
        shared.get(setup, all, replayed)
    }

    /// A replay that shares what stdout states with the others, so that it is read once.
    fn with_shared_facts(&self, mut replay: Replay) -> Replay {
        replay.share_facts(self.facts.get_or_init(|| replay.facts.clone()));
        replay
    }

    /// The canonical replays in `setups`, with the faults that the scenario names, of one parse; for a caller that
    /// needs no other setup.
    pub(crate) fn replays(&self, setups: &[Setup]) -> Vec<Replay> {
        let capture = self.capture();
        let plan = canonical_plan(&self.scenario, capture, &self.scenario.chat.faults);
        replay_all(capture, &plan, setups)
    }

    /// The canonical replays of the further runs in `setup`, each with its number and the request for it.
    pub(crate) fn further(
        &self,
        setup: Setup,
    ) -> impl Iterator<Item = (usize, Replay, ReplayRequest)> {
        let setup = setup.resumed();
        (2..).zip(&self.cassette.further).map(move |(number, run)| {
            let capture = Capture::from(&run.stdout);
            let plan = canonical_plan(&self.scenario, capture, &self.scenario.chat.faults);
            let file = CassetteFile::new(CassettePart::Stdout, number);
            let request =
                ReplayRequest::canonical(&self.scenario, self.version(), Some(file), setup);
            (number, replay(capture, &plan, setup), request)
        })
    }

    /// The replays with the recorded cuts and times, and the faults that the scenario names: in each channel once.
    pub(super) fn as_recorded(&self) -> impl Iterator<Item = Replay> {
        let plan = Plan::recorded(&self.cassette.timeline);
        let plan = plan.with_faults(self.scenario.chat.faults.iter().copied());
        let setups = setups(&self.scenario);
        let at_once: Vec<_> = setups.chunks(self.at_once()).map(<[Setup]>::to_vec).collect();
        let replay = move |setups: Vec<Setup>| replay_all(self.capture(), &plan, &setups);
        let replays = at_once.into_iter().flat_map(replay);
        replays.map(|replay| self.with_shared_facts(replay))
    }

    /// The request for the canonical replay in `setup`.
    pub(crate) fn request(&self, setup: Setup) -> ReplayRequest {
        ReplayRequest::canonical(&self.scenario, self.version(), None, setup)
    }
}

/// The plan of the canonical replay at the scenario's pace, with these faults.
fn canonical_plan(scenario: &Scenario, capture: Capture<'_>, faults: &[Fault]) -> Plan {
    Plan::canonical(capture, scenario.run.pace_ms).with_faults(faults.iter().copied())
}

/// The setup in which a view is replayed.
pub(crate) fn setup(scenario: &Scenario, view: View) -> Setup {
    let (channel, acp) = match view {
        View::Telegram(chat) => (Some(chat), None),
        View::Acp(client) => (None, Some(client)),
        View::Lifecycle | View::Bus | View::Sse | View::Session => (None, None),
    };
    Setup { run: scenario.run, channel, acp }
}

/// The setups in which every channel occurs at least once. A chat and an ACP client share one, because the
/// client takes its updates from the bus; the event stream is always there.
pub(crate) fn setups(scenario: &Scenario) -> Vec<Setup> {
    let (mut chats, mut clients) = (Vec::new(), Vec::new());
    for channel in &scenario.channels {
        match *channel {
            ChannelSpec::Telegram(chat) => chats.push(chat),
            ChannelSpec::Acp { terminal } => clients.push(AcpClient { terminal }),
            ChannelSpec::Sse {} => {}
        }
    }
    let run = scenario.run;
    (0..chats.len().max(clients.len()).max(1))
        .map(|at| Setup { run, channel: chats.get(at).copied(), acp: clients.get(at).copied() })
        .collect()
}

/// The setups of all views and of all plans, each once.
fn all_setups(scenario: &Scenario) -> Vec<Setup> {
    let mut all: Vec<Setup> = Vec::new();
    let views = View::of(scenario).into_iter().map(|view| setup(scenario, view));
    for setup in views.chain(setups(scenario)) {
        if !all.contains(&setup) {
            all.push(setup);
        }
    }
    all
}

/// The recordings of a scenario. Each is kept for the checks of its version alone, so that few are in memory at a
/// time.
#[derive(Debug)]
pub(super) struct Recordings {
    pub(super) workspace: Workspace,
    pub(super) scenario: Arc<Scenario>,
    kept: BTreeMap<CliVersion, Mutex<Kept>>,
}

/// A recording for as long as checks need it.
#[derive(Debug, Default)]
struct Kept {
    /// The checks of its version that have not ended.
    checks: usize,
    recording: Option<Arc<Recording>>,
}

impl Recordings {
    /// The recordings of `versions`, each with the number of the checks of its version.
    pub(super) fn new(
        workspace: &Workspace,
        scenario: Scenario,
        versions: impl IntoIterator<Item = (CliVersion, usize)>,
    ) -> Self {
        let kept = |(version, checks)| (version, Mutex::new(Kept { checks, recording: None }));
        let kept = versions.into_iter().map(kept).collect();
        Self { workspace: workspace.clone(), scenario: Arc::new(scenario), kept }
    }

    /// The line that tests the scenario.
    pub(super) fn test(&self) -> String {
        format!("{} test {}", self.workspace.program(), self.scenario.name)
    }

    /// The line that records the scenario, with further options.
    pub(super) fn record(&self, options: &str) -> String {
        format!("{} record {}{options}", self.workspace.program(), self.scenario.name)
    }

    /// The line that proposes and settles goldens of the scenario.
    pub(super) fn proposal(&self) -> String {
        let (program, name) = (self.workspace.program(), &self.scenario.name);
        format!("{program} test {name} --update && {program} review")
    }

    /// The versions, sorted.
    pub(super) fn versions(&self) -> impl Iterator<Item = &CliVersion> {
        self.kept.keys()
    }

    /// The recording of a version; it is loaded unless another check has it.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] as for [`Recording::load`].
    pub(super) fn get(&self, version: &CliVersion) -> Result<Arc<Recording>, CassetteError> {
        let load = || Recording::load(&self.workspace, &self.scenario, version).map(Arc::new);
        let Some(mut kept) = self.kept(version) else { return load() };
        if let Some(recording) = &kept.recording {
            return Ok(recording.clone());
        }
        let recording = load()?;
        if kept.checks > 0 {
            kept.recording = Some(recording.clone());
        }
        Ok(recording)
    }

    /// Says that a check of the version has ended; after the last one the recording is dropped.
    pub(super) fn release(&self, version: &CliVersion) {
        let Some(mut kept) = self.kept(version) else { return };
        kept.checks = kept.checks.saturating_sub(1);
        if kept.checks == 0 {
            kept.recording = None;
        }
    }

    fn kept(&self, version: &CliVersion) -> Option<MutexGuard<'_, Kept>> {
        Some(self.kept.get(version)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Canonical replays of a recording, one in each setup.
#[derive(Debug, Default)]
struct SharedReplays {
    /// Those in all setups; none where they are too much for the memory.
    all: OnceLock<Vec<Arc<Replay>>>,
    /// The last one that was made where there are not all.
    last: Mutex<Option<Arc<Replay>>>,
}

impl SharedReplays {
    /// The replay in `setup`. `replay` makes one in each of the setups that it gets. `all` gives all setups; none where
    /// their replays are too much for the memory.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn get(
        &self,
        setup: Setup,
        all: impl FnOnce() -> Option<Vec<Setup>>,
        replay: impl Fn(&[Setup]) -> Vec<Arc<Replay>>,
    ) -> Arc<Replay> {
        let all = self.all.get_or_init(|| all().map_or_else(Vec::new, |all| replay(&all)));
        if let Some(known) = all.iter().find(|replay| replay.setup == setup) {
            return known.clone();
        }
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Another one is given back before this one is made.
        let known = last().take().filter(|last| last.setup == setup);
        let one = known.or_else(|| replay(&[setup]).pop()).expect("one setup gives one replay");
        *last() = Some(one.clone());
        one
    }
}

/// One run of a cassette, as its manifest, its scenario and its timeline say that it was.
struct RunRecord<'a> {
    /// Its number, from 1.
    number: usize,
    /// The end in the manifest; `None` for a capture without one.
    exit: Option<Exit>,
    /// The end that the scenario expects; `None` for a run that the scenario does not have.
    expected: Option<Exit>,
    timeline: &'a [Tick],
}

impl<'a> RunRecord<'a> {
    fn all(scenario: &Scenario, cassette: &'a Cassette) -> Vec<Self> {
        let version = cassette.version();
        let first = Self {
            number: 1,
            exit: cassette.manifest.exit,
            expected: Some(scenario.record.exit.of(version)),
            timeline: &cassette.timeline,
        };
        let further = (2..).zip(&cassette.further).map(|(number, run)| Self {
            number,
            exit: Some(run.facts.exit),
            expected: scenario.record.then.get(number - 2).map(|step| step.exit.of(version)),
            timeline: &run.timeline,
        });
        std::iter::once(first).chain(further).collect()
    }

    /// Returns a sentence for the first contradiction between the manifest, the scenario and the timeline.
    fn complaint(&self, origin: Origin) -> Option<(FindingKind, String)> {
        let Self { number, exit, expected, timeline } = self;
        let differs = |sentence| Some((FindingKind::ManifestDiffers, sentence));
        let Some(expected) = expected else {
            return differs(format!("the cassette has a run {number}, and the scenario has none"));
        };
        if let Some(exit) = exit.filter(|exit| exit != expected) {
            let (ended, ends) = (ended(exit), ended(*expected));
            let says = format!("cassette.toml says that run {number} ended {ended}");
            return differs(format!("{says}, and the scenario says that it ends {ends}"));
        }
        let ends = timeline.iter().rev().find_map(|tick| match tick.kind {
            TickKind::Exit(exit) => Some(exit),
            _ => None,
        });
        let is_recorded = origin == Origin::Recorded;
        if (ends.is_some() || is_recorded) && ends != *exit {
            let [says, timeline] = [*exit, ends].map(|exit| match exit {
                Some(exit) => format!("ended {}", ended(exit)),
                None => "has no end".to_owned(),
            });
            let manifest = format!("cassette.toml says that run {number} {says}");
            return differs(format!("{manifest}, and its timeline says that it {timeline}"));
        }
        let took: u64 = timeline.iter().map(|tick| tick.after_ms).sum();
        let reads = timeline.iter().filter(|tick| matches!(tick.kind, TickKind::Out(_))).count();
        if is_recorded && took == 0 && reads > 1 {
            let reads = plural(reads, "read");
            let what = format!("the timeline of run {number} has {reads}, and all at 0 ms");
            let why = "no program starts, prints and ends within a millisecond";
            return Some((FindingKind::TimesImplausible, format!("{what}: {why}")));
        }
        None
    }
}

/// Describes the end of a program, after the word `ended`.
fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("with code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
    }
}

/// Returns the contradictions between a cassette's manifest and its scenario or timelines, run by run.
pub(super) fn manifest_complaints(
    scenario: &Scenario,
    cassette: &Cassette,
) -> Vec<(FindingKind, String)> {
    let origin = cassette.manifest.origin;
    let mut complaints: Vec<_> =
        RunRecord::all(scenario, cassette).iter().filter_map(|run| run.complaint(origin)).collect();
    let (steps, runs) = (scenario.record.then.len() + 1, cassette.further.len() + 1);
    if runs < steps {
        let sentence = format!("the scenario has {steps} runs, and the cassette {runs}");
        complaints.push((FindingKind::ManifestDiffers, sentence));
    }
    complaints
}

/// The rules that a replay of the recorded cuts and times breaks, and how it differs from the canonical replay in
/// what a person ends up reading.
///
/// The two are not compared where the gateway has given the agent up in one of them, because the times decide that.
pub(super) fn broken_as_recorded(
    recording: &Recording,
    replay: &Replay,
) -> impl Iterator<Item = BrokenRule> {
    let canonical = recording.fault_free(replay.setup);
    let sentence = (canonical.own().counted.bytes == replay.own().counted.bytes)
        .then(|| clitape_judge::wrong_final_text(&canonical.entries, &replay.entries))
        .flatten()
        .map(|(sentence, _)| sentence);
    let misread = sentence.map(|sentence| BrokenRule {
        kind: FindingKind::RecordedDiverges,
        sentence,
        context: Vec::new(),
    });
    let lines = recording.cassette.manifest.counts.lines;
    let is_whole = replay.own().counted.bytes == recording.cassette.manifest.counts.bytes;
    let lost = (is_whole && replay.own().stats.lines != lines).then(|| BrokenRule {
        kind: FindingKind::LineLost,
        sentence: format!(
            "cassette.toml says that stdout has {}, and the parser counts {}",
            plural(lines, "line"),
            replay.own().stats.lines
        ),
        context: Vec::new(),
    });
    super::broken::broken(replay).into_iter().chain(misread).chain(lost)
}

/// Bytes shown on both sides of the difference.
const AROUND: usize = 40;

/// Where the bytes of two recordings part; `None` when they are identical.
pub fn first_difference(before: &[u8], again: &[u8]) -> Option<String> {
    if before == again {
        return None;
    }
    let at = before.iter().zip(again).take_while(|(a, b)| a == b).count();
    let line = before[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let excerpt = |bytes: &[u8]| {
        let end = (at + AROUND).min(bytes.len());
        format!("{:?}", String::from_utf8_lossy(&bytes[at.saturating_sub(AROUND).min(end)..end]))
    };
    Some(format!(
        "line {line}, byte {at}: {} was recorded before, now {}",
        excerpt(before),
        excerpt(again)
    ))
}

#[cfg(test)]
mod tests;
