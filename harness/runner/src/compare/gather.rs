//! Asks both sides for the trace of every cassette on all cores, compares the traces lane by lane, and lists what was
//! not covered.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clitape_judge::{Finding, FindingKind, View};
use clitape_process::kept::{Full, Held};
use clitape_recording::chat::ChatView;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{
    AcpClient, ChannelSpec, Chat, ChatMode, ChatProfile, Scenario, Setup, Workspace,
};
use clitape_recording::text::{plural, shell_quote};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::model::{Compared, Comparison, Failed, FinalChats, SideDescription, compare, named};
use super::select::{CompareError, CompareSelection};
use super::subject::{CallError, CompareSubject, Trace};
use crate::check::{Recording, setups};
use crate::suite::{
    CheckRun, Observing, RunEnd, ScenarioRun, Subject, SuiteOptions, SuiteRun, TrialEvent,
    TrialNote, Trials, judge_each, run,
};

/// Compares both sides on all selected cassettes, and reports the progress. Returns the comparison, and the result of each
/// cassette as a test run has it. A comparison that the caller ends has the cassettes until then.
///
/// # Errors
///
/// [`CompareError`] when a cassette can't be read, or the caller ends it before the first cassette is compared.
pub fn gather(
    workspace: &Workspace,
    selection: &CompareSelection,
    sides: &[CompareSubject; 2],
    options: SuiteOptions<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<(Comparison, Vec<ScenarioRun>), CompareError> {
    let pairs = selection.scenarios.iter().flat_map(|(scenario, versions)| {
        let scenario = Arc::new(scenario.clone());
        let pair = move |versions| RecordingPair::Stored(workspace, scenario.clone(), versions);
        versions.iter().map(pair)
    });
    let mut both = BothSides::new(sides, pairs.collect());
    let result = run(&mut both, options, report)?;
    // Without those behind the first one with a finding, if it ends the run.
    both.done.truncate(result.scenarios.len());
    let mut facts = ComparedRun::default();
    for One { scenario, compared, further, .. } in &both.done {
        facts.add(scenario, compared, *further);
    }
    let mut comparison = both.comparison(&result);
    comparison.uncovered = uncovered(selection, sides, &facts, comparison.failed.len());
    comparison.compared.retain(|compared| compared.views > 0);
    Ok((comparison, result.scenarios))
}

/// Compares the recordings of two versions of the CLI, which this process replays, and reports the progress. Areas that
/// were not covered are not listed.
///
/// # Errors
///
/// [`CompareError::Stopped`] when the caller ends it.
pub(crate) fn compare_versions(
    pairs: &[[Recording; 2]],
    sides: [SideDescription; 2],
    options: SuiteOptions<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<Comparison, CompareError> {
    let sides = sides.map(CompareSubject::here);
    let mut both = BothSides::new(&sides, pairs.iter().map(RecordingPair::Loaded).collect());
    let result = run(&mut both, options, report)?;
    match result.is_stopped {
        false => Ok(both.comparison(&result)),
        true => Err(CompareError::Stopped),
    }
}

/// Two recordings of a scenario, or one recording for both sides.
enum RecordingPair<'a> {
    /// The recordings of these versions, which are read when they are compared.
    Stored(&'a Workspace, Arc<Scenario>, &'a [CliVersion; 2]),
    Loaded(&'a [Recording; 2]),
}

impl RecordingPair<'_> {
    fn compare(&self, sides: &[CompareSubject; 2], stop: &AtomicBool) -> Result<One, CompareError> {
        match self {
            Self::Stored(workspace, scenario, [a, b]) => {
                let load = |version| Recording::load(workspace, scenario, version);
                let first = load(a)?;
                let other = if a == b { None } else { Some(load(b)?) };
                One::of([&first, other.as_ref().unwrap_or(&first)], sides, stop)
            }
            Self::Loaded([a, b]) => One::of([a, b], sides, stop),
        }
    }
}

/// Two sides as one subject, whose trials are pairs of recordings and which is judged by what differs.
struct BothSides<'a> {
    sides: &'a [CompareSubject; 2],
    pairs: Vec<RecordingPair<'a>>,
    /// The results of the trials that were judged, in their order.
    done: Vec<One>,
}

impl<'a> BothSides<'a> {
    fn new(sides: &'a [CompareSubject; 2], pairs: Vec<RecordingPair<'a>>) -> Self {
        Self { sides, pairs, done: Vec::new() }
    }

    /// Returns the comparison, without the areas that were not covered.
    fn comparison(self, result: &SuiteRun) -> Comparison {
        let [a, b] = self.sides.each_ref().map(|side| side.about.clone());
        let mut comparison = Comparison {
            a,
            b,
            compared: Vec::new(),
            failed: Vec::new(),
            uncovered: Vec::new(),
            unchecked: result.unchecked,
            is_stopped: result.is_stopped,
        };
        for one in self.done {
            comparison.failed.extend(one.failed);
            comparison.compared.push(one.compared);
        }
        comparison
    }
}

impl<'a> Subject for BothSides<'a> {
    type Trial = RecordingPair<'a>;
    type Error = CompareError;

    fn fits(&mut self, _: SuiteOptions<'_>) -> Result<Trials<RecordingPair<'a>>, CompareError> {
        Ok(Trials { fit: std::mem::take(&mut self.pairs), ..Trials::default() })
    }

    fn observe(
        &mut self,
        trials: &[RecordingPair<'a>],
        options: SuiteOptions<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, CompareError> {
        let (sides, done) = (self.sides, &mut self.done);
        let stop = options.stop.unwrap_or(&NEVER);
        let take = |one: One| {
            let result = (!one.is_full).then(|| one.result(sides));
            done.push(one);
            result
        };
        let compare = |pair: &RecordingPair<'_>, _: &dyn Fn(TrialNote)| pair.compare(sides, stop);
        let mut is_stopped = match judge_each(trials, options.jobs, || true, compare, take, tell) {
            (1.., Err(CompareError::Stopped)) => true,
            (_, ended) => ended.map(|()| false)?,
        };
        // A cassette that does not fit beside others is compared once more alone, so that the result does not depend on
        // the number of cores.
        for (index, one) in self.done.iter_mut().enumerate().filter(|(_, one)| one.is_full) {
            one.held.release(usize::MAX);
            match trials[index].compare(sides, stop) {
                Err(CompareError::Stopped) => is_stopped = true,
                again => {
                    *one = One { is_full: false, ..again? };
                    let _ = tell(Observing::Judged(index, one.result(sides)));
                }
            }
        }
        self.done.retain(|one| !one.is_full);
        Ok(if is_stopped { RunEnd::Stopped } else { RunEnd::Complete })
    }
}

/// The flag of a comparison that nobody ends.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The result for one cassette.
struct One {
    scenario: Arc<Scenario>,
    compared: Compared,
    failed: Vec<Failed>,
    /// The number of further runs of the session.
    further: usize,
    /// The part of the account in which the differences are counted.
    held: Held,
    /// True if the account had no room for a trace or for the differences, and the cassette is to be compared again.
    is_full: bool,
}

impl One {
    /// Compares two recordings of a scenario, or one recording, on two sides.
    fn of(
        recordings: [&Recording; 2],
        sides: &[CompareSubject; 2],
        stop: &AtomicBool,
    ) -> Result<Self, CompareError> {
        let scenario = &recordings[0].scenario;
        let further = recordings.map(|recording| recording.cassette.further.len());
        let mut one = Self {
            scenario: scenario.clone(),
            compared: Compared {
                scenario: scenario.name.to_string(),
                title: scenario.title.clone(),
                versions: recordings.map(|recording| recording.version().clone()),
                views: 0,
                lanes: Vec::new(),
                chats: Vec::new(),
            },
            failed: Vec::new(),
            held: Held::of(&sides[0].kept),
            is_full: false,
            further: further[0].max(further[1]),
        };
        let at_once = recordings[0].at_once().min(recordings[1].at_once());
        for replays in replays(scenario).chunks(at_once) {
            one.compare_replays(replays, scenario, sides, recordings, stop)?;
        }
        Ok(one)
    }

    /// Returns what differs and what could not be compared as findings.
    fn result(&self, sides: &[CompareSubject; 2]) -> ScenarioRun {
        let Compared { scenario, lanes, .. } = &self.compared;
        let version = self.compared.version();
        let [a, b] = sides.each_ref().map(|side| side.about.name.as_str());
        let again = format!(
            "clitape compare {} {} {scenario} --out compared",
            shell_quote(a),
            shell_quote(b)
        );
        let differs = lanes.iter().map(|lane| {
            let place = format!("{scenario} {version} {}", lane.view);
            Finding::new(
                FindingKind::SidesDiffer,
                &place,
                lane.first.clone(),
                lane.commands[1].clone(),
            )
        });
        let failed = self.failed.iter().map(|Failed { place, why }| {
            Finding::new(FindingKind::NotCompared, place, why.clone(), again.clone())
        });
        let found = differs.chain(failed);
        let check = CheckRun { cassettes: 1, ..CheckRun::of(&version, found.collect()) };
        ScenarioRun { name: scenario.clone(), checks: vec![check], ..ScenarioRun::default() }
    }

    /// Asks both sides for these replays, and compares their traces.
    fn compare_replays(
        &mut self,
        replays: &[Replayed],
        scenario: &Scenario,
        sides: &[CompareSubject; 2],
        recordings: [&Recording; 2],
        stop: &AtomicBool,
    ) -> Result<(), CompareError> {
        let setups: Vec<Setup> = replays.iter().map(|replayed| replayed.setup).collect();
        let [traces_a, traces_b] =
            [0, 1].map(|side| sides[side].traces(recordings[side], &setups, stop));
        for (replayed, traces) in replays.iter().zip(traces_a.zip(traces_b)) {
            let mut both = Vec::new();
            for ((side, name), trace) in sides.iter().zip(["A", "B"]).zip([traces.0, traces.1]) {
                if stop.load(Ordering::Relaxed) {
                    return Err(CompareError::Stopped);
                }
                match trace {
                    Ok(trace) => both.push(trace),
                    Err(CallError::Stopped) => return Err(CompareError::Stopped),
                    Err(error) => {
                        self.is_full |= matches!(error, CallError::Full(_));
                        let (name_of, version) = (&scenario.name, self.compared.version());
                        // The place names the cassette. Without its path, equal reasons are equal texts.
                        let path = format!("cassettes/{name_of}/{version}/");
                        let why = error.to_string().replace(&path, "");
                        self.fail(replayed, format!("{name} ({}): {why}", side.about.name));
                    }
                }
            }
            if let [a, b] = &both[..] {
                let compared = &mut self.compared;
                let (views, lanes, chats) =
                    (compared.views, compared.lanes.len(), compared.chats.len());
                compare_traces(compared, replayed, sides, recordings, [a, b]);
                self.count(replayed, views, lanes, chats);
            }
        }
        Ok(())
    }

    /// Counts the memory of the differences, or drops those of this replay if the account has no room for them.
    /// `views`, `lanes` and `chats` are the numbers before the replay.
    fn count(&mut self, replayed: &Replayed, views: usize, lanes: usize, chats: usize) {
        self.held.release(usize::MAX);
        if let Err(Full { limit }) = self.held.try_keep(self.compared.bytes()) {
            self.is_full = true;
            self.compared.views = views;
            self.compared.lanes.truncate(lanes);
            self.compared.chats.truncate(chats);
            self.held.keep(self.compared.bytes());
            self.fail(replayed, format!(
                "what differs would take more than {limit} of memory; raise the limit with `--max-kept`"
            ));
        }
    }

    /// Adds a replay that could not be compared.
    fn fail(&mut self, replayed: &Replayed, why: String) {
        let chat = replayed.setup.channel.map(|chat| format!(", chat {chat}")).unwrap_or_default();
        let (scenario, version) = (&self.compared.scenario, self.compared.version());
        self.failed.push(Failed { place: format!("{scenario} {version}{chat}"), why });
    }
}

/// One replay, and the views of it that are compared.
struct Replayed {
    setup: Setup,
    views: Vec<View>,
}

/// Returns the replays of a scenario: the first shows every lane, and each further one shows one more chat or
/// client. Every replay has a chat and a client, as in `clitape replay`.
fn replays(scenario: &Scenario) -> Vec<Replayed> {
    let replayed = |(number, named): (usize, Setup)| {
        let first = number == 0;
        let chat = named.channel.unwrap_or(scenario.first_chat());
        let client = named.acp.unwrap_or(AcpClient { terminal: false });
        let mut views = Vec::new();
        if first {
            views.extend([View::Lifecycle, View::Bus]);
        }
        if first || named.channel.is_some() {
            views.push(View::Telegram(chat));
        }
        if first || named.acp.is_some() {
            views.push(View::Acp(client));
        }
        if first {
            views.extend([View::Sse, View::Session]);
        }
        let setup = Setup { run: scenario.run, channel: Some(chat), acp: Some(client) };
        Replayed { setup, views }
    };
    setups(scenario).into_iter().enumerate().map(replayed).collect()
}

/// Compares the traces of one replay, view by view.
fn compare_traces(
    compared: &mut Compared,
    replayed: &Replayed,
    sides: &[CompareSubject; 2],
    recordings: [&Recording; 2],
    traces: [&Trace; 2],
) {
    for view in &replayed.views {
        let lane = view.lane();
        if traces.iter().any(|trace| !trace.lanes.contains(&lane)) {
            continue;
        }
        compared.views += 1;
        let of = |trace: &'_ Trace| -> Vec<Entry> {
            let is_shown = |entry: &&Entry| entry.lane == lane && !entry.is_typing();
            trace.entries.iter().filter(is_shown).cloned().collect()
        };
        let mut lanes = traces.map(of);
        if compared.is_of_two_versions() {
            without_facts_of_the_cli(&mut lanes, recordings.map(Recording::version));
        }
        let [a, b] = lanes;
        let commands = [0, 1].map(|side| sides[side].line(recordings[side], replayed.setup, lane));
        let Some(diff) = compare(&view.to_string(), &a, &b, commands) else { continue };
        compared.lanes.push(diff);
        if let View::Telegram(chat) = *view {
            chats(compared, chat, &a, &b);
        }
    }
}

/// Removes from two versions' events of the parser the facts about the CLI itself: the session, fields that name the
/// version, and fields that the events of one kind have on one side only. They are passed on from the records, so that
/// the comparison of the records shows them.
fn without_facts_of_the_cli(lanes: &mut [Vec<Entry>; 2], versions: [&CliVersion; 2]) {
    let of_parser = |entry: &&Entry| entry.lane == Lane::Lifecycle;
    for entries in lanes.iter_mut() {
        entries.retain(|entry| entry.lane != Lane::Lifecycle || entry.kind != "session");
    }
    let fields = lanes.each_ref().map(|entries| -> BTreeSet<(String, String)> {
        let keys = entries
            .iter()
            .filter(of_parser)
            .flat_map(|entry| entry.data.keys().map(|key| (entry.kind.to_string(), key.clone())));
        keys.collect()
    });
    for (entries, version) in lanes.iter_mut().zip(versions) {
        for entry in entries.iter_mut().filter(|entry| entry.lane == Lane::Lifecycle) {
            let kind = entry.kind.to_string();
            entry.data_mut().retain(|key, value| {
                let field = (kind.clone(), key.clone());
                let is_of_both = fields.iter().all(|fields| fields.contains(&field));
                is_of_both && value.as_str() != Some(version.as_str())
            });
        }
    }
}

/// Adds the text that a person reads at the end, if it differs. Chats with the same texts share one item.
fn chats(compared: &mut Compared, chat: Chat, a: &[Entry], b: &[Entry]) {
    let texts = |entries: &[Entry]| -> Vec<Option<Value>> {
        entries.iter().map(|entry| entry.field("text").cloned()).collect()
    };
    let last = [last(a), last(b)];
    let read = last.each_ref().map(|side| texts(side));
    if read[0] == read[1] {
        return;
    }
    let known = compared.chats.iter_mut().find(|known| {
        known.profile() == chat.profile && known.last.each_ref().map(|side| texts(side)) == read
    });
    match known {
        Some(known) => known.chats.push(chat),
        None => compared.chats.push(FinalChats { chats: vec![chat], last }),
    }
}

/// Returns the calls that set the text of a chat's final messages, the oldest message first.
pub(crate) fn last(entries: &[Entry]) -> Vec<Entry> {
    let view = ChatView::after(entries);
    view.final_messages().map(|message| entries[message.entry].clone()).collect()
}

/// The most names that a sentence lists; the others are counted.
const NAMES: usize = 8;

/// The facts about the comparison from which the sentences are made.
#[derive(Debug, Default)]
struct ComparedRun {
    paces: BTreeSet<u64>,
    plans: u64,
    faulty: Vec<String>,
    drawn: BTreeSet<String>,
    further: usize,
    two_versions: bool,
    chats: Vec<(ChatMode, bool, ChatProfile)>,
    terminals: bool,
}

impl ComparedRun {
    /// Adds a cassette of a scenario.
    fn add(&mut self, scenario: &Scenario, compared: &Compared, further: usize) {
        if compared.views == 0 {
            return;
        }
        self.paces.insert(scenario.run.pace_ms);
        self.plans += scenario.sweep.plans;
        self.further += usize::from(further > 0);
        self.two_versions |= compared.is_of_two_versions();
        if !scenario.chat.faults.is_empty()
            && !self.faulty.iter().any(|name| scenario.name == name.as_str())
        {
            self.faulty.push(scenario.name.to_string());
        }
        self.drawn.extend(scenario.sweep.faults.iter().map(|kind| kind.as_str().to_owned()));
        let first = scenario.first_chat();
        let chats = scenario.channels.iter().filter_map(|channel| match *channel {
            ChannelSpec::Telegram(chat) => Some(chat),
            ChannelSpec::Acp { .. } | ChannelSpec::Sse {} => None,
        });
        let seen = chats.chain([first]).map(|chat| (chat.mode, chat.reasoning, chat.profile));
        self.chats.extend(seen);
        let terminal =
            |channel: &ChannelSpec| matches!(channel, ChannelSpec::Acp { terminal: true });
        self.terminals |= scenario.channels.iter().any(terminal);
    }

    /// Returns the kinds of chats that none of the replays had.
    fn other_chats(&self) -> Vec<String> {
        let mut others = Vec::new();
        for mode in [ChatMode::Off, ChatMode::Partial, ChatMode::Block, ChatMode::Progress] {
            if !self.chats.iter().any(|(seen, _, _)| *seen == mode) {
                others.push(format!("mode {mode}"));
            }
        }
        for profile in [ChatProfile::Telegram, ChatProfile::Discord, ChatProfile::Slack] {
            if !self.chats.iter().any(|(_, _, seen)| *seen == profile) {
                others.push(format!("profile {profile}"));
            }
        }
        if !self.chats.iter().any(|(_, reasoning, _)| *reasoning) {
            others.push("with the reasoning shown".to_owned());
        }
        others
    }
}

/// Returns the sentences about areas that were not covered.
fn uncovered(
    selection: &CompareSelection,
    sides: &[CompareSubject; 2],
    run: &ComparedRun,
    failed: usize,
) -> Vec<String> {
    let mut told = Vec::new();
    if failed > 0 {
        told.push(format!(
            "Replays that could not be compared: {failed}, listed with their reasons."
        ));
    }
    for (what, names) in [
        ("Scenarios that were not asked for", texts(&selection.unasked)),
        ("Scenarios without the recordings it takes", texts(&selection.unrecorded)),
        ("Recordings of other versions of the CLI", texts(&selection.other_versions)),
    ] {
        if !names.is_empty() {
            told.push(format!("{what}: {}.", list(&names)));
        }
    }
    for side in sides {
        let lanes = side.unknown();
        if !lanes.is_empty() {
            let (name, lanes) = (&side.about.name, named(&lanes));
            told.push(format!("Lanes that {name} does not know: {lanes}."));
        }
    }
    if sides.iter().all(CompareSubject::is_seen) {
        told.push(
            "What is real: the gateways, each run once in real time. What the CLI printed and what the person did is \
             recorded, and the chat is clitape's own server."
                .to_owned(),
        );
        told.push(
            "Times, typing signals and the numbers of messages: they differ from run to run and are left out."
                .to_owned(),
        );
        return told;
    }
    if run.paces.is_empty() {
        return told;
    }
    let paces = list(&run.paces.iter().map(u64::to_string).collect::<Vec<_>>());
    told.push(format!(
        "Other arrivals of the bytes: every replay brought whole lines, {paces} ms apart, without cuts \
         and delays at random ({} seeded plans of `clitape test`); the lane read is left out.",
        run.plans
    ));
    if run.two_versions {
        told.push(
            "What a version of the CLI says of itself when a session begins: its version, its model."
                .to_owned(),
        );
    }
    if run.further > 0 {
        let session = sides.iter().all(|side| !side.unknown().contains(&Lane::Session));
        let but = if session { ", beyond what the lane session says of them" } else { "" };
        told.push(format!(
            "What a chat shows of the further runs of a session, in {}{but}.",
            plural(run.further, "recording")
        ));
    }
    let drawn = match run.drawn.is_empty() {
        true => String::new(),
        false => {
            let drawn = run.drawn.iter().cloned().collect::<Vec<_>>().join(", ");
            format!(" (seeded plans draw {drawn})")
        }
    };
    told.push(match run.faulty.is_empty() {
        true => format!("Calls of the chat's server that go wrong{drawn}."),
        false => format!(
            "Calls of the chat's server that go wrong otherwise than in {}{drawn}.",
            list(&run.faulty)
        ),
    });
    let others = run.other_chats();
    if !others.is_empty() {
        told.push(format!("Chats that no scenario here has: {}.", others.join(", ")));
    }
    if !run.terminals {
        told.push("A client of the Agent Client Protocol that shows terminals.".to_owned());
    }
    for side in sides.iter().filter(|side| side.is_foreign()) {
        let name = &side.about.name;
        told.push(format!("Whether {name} does what it prints: its trace is taken at its word."));
    }
    told.push(
        "Whether either side is right: goldens and invariants are held by `clitape test`."
            .to_owned(),
    );
    told.push(
        "A live model and the network of a chat service: recordings were replayed.".to_owned(),
    );
    told
}

fn texts(names: &[impl ToString]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Lists the first names, and counts the others.
fn list(names: &[String]) -> String {
    match names.len() {
        n if n > NAMES => format!("{} and {} more", names[..NAMES].join(", "), n - NAMES),
        _ => names.join(", "),
    }
}
