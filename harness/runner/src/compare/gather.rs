//! Asks both sides for the trace of every cassette on all cores, compares the traces lane by lane, and lists what was
//! not covered.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clitape_judge::View;
use clitape_process::kept::{Full, Held};
use clitape_recording::chat::ChatView;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{
    AcpClient, ChannelSpec, Chat, ChatMode, ChatProfile, Scenario, Setup, Workspace,
};
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::model::{Compared, Comparison, Failed, FinalChats, SideDescription, compare, named};
use super::select::{CompareError, CompareSelection};
use super::subject::{CallError, CompareSubject, Trace};
use crate::check::{Recording, setups};
use crate::suite::{TrialEvent, each};

/// The manner of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Comparing<'a> {
    /// The number of cassettes that are compared at a time; as many as there are cores by default.
    pub jobs: Option<usize>,
    /// A flag by which the caller ends the comparison.
    pub stop: &'a AtomicBool,
}

/// Compares both sides on all selected cassettes, and reports the progress. A comparison that the caller ends has the
/// cassettes until then.
///
/// # Errors
///
/// [`CompareError`] when a cassette can't be read, or the caller ends it before the first cassette is compared.
pub fn gather(
    workspace: &Workspace,
    selection: &CompareSelection,
    sides: &[CompareSubject; 2],
    how: Comparing<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<Comparison, CompareError> {
    let jobs: Vec<(Arc<Scenario>, &[CliVersion; 2])> = selection
        .scenarios
        .iter()
        .flat_map(|(scenario, versions)| {
            let scenario = Arc::new(scenario.clone());
            versions.iter().map(move |pair| (scenario.clone(), pair))
        })
        .collect();
    let mut done = Vec::new();
    let compare = |(scenario, versions): &(Arc<Scenario>, &[CliVersion; 2])| {
        one(workspace, scenario, versions, sides, how.stop)
    };
    match each(&jobs, how.jobs, compare, report, |one| done.push(one)) {
        // The cassettes until then are the result.
        Err(CompareError::Stopped) if !done.is_empty() => {}
        ended => ended?,
    }
    let unchecked = jobs.len() - done.len();
    // A cassette that does not fit beside others is compared once more alone, so that the result does not depend on the
    // number of cores.
    for (job, one) in jobs.iter().zip(&mut done).filter(|(_, one)| one.is_full) {
        one.held.release(usize::MAX);
        // A comparison that was ended does not wait for these.
        match compare(job) {
            Err(CompareError::Stopped) if unchecked > 0 => {}
            again => *one = again?,
        }
    }
    let mut run = ComparedRun::default();
    let (mut compared, mut failed) = (Vec::new(), Vec::new());
    for ((scenario, _), one) in jobs.iter().zip(&mut done) {
        run.add(scenario, &one.compared, one.further);
        failed.append(&mut one.failed);
        if one.compared.views > 0 {
            compared.push(one.compared.clone());
        }
    }
    let uncovered = uncovered(selection, sides, &run, failed.len());
    let [a, b] = sides.each_ref().map(|side| side.about.clone());
    Ok(Comparison { a, b, compared, failed, uncovered, unchecked })
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
    how: Comparing<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<Comparison, CompareError> {
    let sides = sides.map(CompareSubject::here);
    let (mut compared, mut failed) = (Vec::new(), Vec::new());
    let compare = |[a, b]: &[Recording; 2]| compare_recordings([a, b], &sides, how.stop);
    each(pairs, how.jobs, compare, report, |one| {
        failed.extend(one.failed);
        compared.push(one.compared);
    })?;
    let [a, b] = sides.map(|side| side.about);
    Ok(Comparison { a, b, compared, failed, uncovered: Vec::new(), unchecked: 0 })
}

/// The result for one cassette.
struct One {
    compared: Compared,
    failed: Vec<Failed>,
    /// The number of further runs of the session.
    further: usize,
    /// The part of the account in which the differences are counted.
    held: Held,
    /// True if the account had no room for a trace or for the differences.
    is_full: bool,
}

impl One {
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

fn one(
    workspace: &Workspace,
    scenario: &Arc<Scenario>,
    versions: &[CliVersion; 2],
    sides: &[CompareSubject; 2],
    stop: &AtomicBool,
) -> Result<One, CompareError> {
    let load = |version| Recording::load(workspace, scenario, version);
    let a = load(&versions[0])?;
    let other = if versions[0] == versions[1] { None } else { Some(load(&versions[1])?) };
    compare_recordings([&a, other.as_ref().unwrap_or(&a)], sides, stop)
}

/// Compares two recordings of a scenario, or one recording on two sides.
fn compare_recordings(
    recordings: [&Recording; 2],
    sides: &[CompareSubject; 2],
    stop: &AtomicBool,
) -> Result<One, CompareError> {
    let scenario = &recordings[0].scenario;
    let mut one = One {
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
        further: recordings
            .map(|recording| recording.cassette.further.len())
            .into_iter()
            .max()
            .unwrap_or(0),
    };
    let at_once = recordings[0].at_once().min(recordings[1].at_once());
    for replays in replays(scenario).chunks(at_once) {
        one.compare_replays(replays, scenario, sides, recordings, stop)?;
    }
    Ok(one)
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
            trace.entries.iter().filter(|entry| entry.lane == lane).cloned().collect()
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
    pub(super) fn add(&mut self, scenario: &Scenario, compared: &Compared, further: usize) {
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
