//! Asks both sides for the trace of every cassette, on all cores, and compares lane by lane.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use super::call::CallError;
use super::error::CompareError;
use super::model::{Chats, Compared, Comparison, Failed};
use super::rows::compare;
use super::select::Selection;
use super::subject::{Ask, Subject, Trace, line};
use super::uncovered::{ComparedRun, uncovered};
use crate::cassette::Cassette;
use crate::check::{View, setups};
use crate::names::CliVersion;
use crate::replay::{AcpClient, ChatView, Entry, Lane, Setup};
use crate::scenario::{Chat, Scenario, Workspace};

/// Compares both sides on everything selected; `tell` hears how many cassettes are done.
///
/// # Errors
///
/// [`CompareError`] when a cassette can't be read, or `stop` is set.
pub fn gather(
    workspace: &Workspace,
    selection: &Selection,
    sides: &[Subject; 2],
    stop: &AtomicBool,
    mut tell: impl FnMut(usize),
) -> Result<Comparison, CompareError> {
    let jobs: Vec<(&Scenario, &[CliVersion; 2])> = selection
        .scenarios
        .iter()
        .flat_map(|(scenario, versions)| versions.iter().map(move |pair| (scenario, pair)))
        .collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let mut done = BTreeMap::new();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, jobs) = (sender.clone(), &next, &jobs);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((scenario, versions)) = jobs.get(number) else { break };
                    let one = one(workspace, scenario, versions, sides, stop);
                    // After the first error nothing more is worth the time.
                    if sender.send((number, one)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (number, one) in receiver {
            done.insert(number, one?);
            tell(done.len());
        }
        Ok::<(), CompareError>(())
    })?;
    let mut run = ComparedRun::default();
    let (mut compared, mut failed) = (Vec::new(), Vec::new());
    for ((scenario, _), one) in jobs.iter().zip(done.into_values()) {
        run.add(scenario, &one.compared, one.further);
        failed.extend(one.failed);
        if one.compared.views > 0 {
            compared.push(one.compared);
        }
    }
    let uncovered = uncovered(selection, sides, &run, failed.len());
    let [a, b] = sides.each_ref().map(|side| side.about.clone());
    Ok(Comparison { a, b, compared, failed, uncovered })
}

/// What came of one cassette.
struct One {
    compared: Compared,
    failed: Vec<Failed>,
    /// How many further runs of the session there are.
    further: usize,
}

/// What is compared of one replay.
struct Replayed {
    setup: Setup,
    views: Vec<View>,
}

fn one(
    workspace: &Workspace,
    scenario: &Scenario,
    versions: &[CliVersion; 2],
    sides: &[Subject; 2],
    stop: &AtomicBool,
) -> Result<One, CompareError> {
    let load = |version| Cassette::find(workspace, &scenario.name, version);
    let a = load(&versions[0])?;
    let other = if versions[0] == versions[1] { None } else { Some(load(&versions[1])?) };
    let cassettes = [&a, other.as_ref().unwrap_or(&a)];
    let mut one = One {
        compared: Compared {
            scenario: scenario.name.to_string(),
            title: scenario.title.clone(),
            versions: versions.clone(),
            views: 0,
            lanes: Vec::new(),
            chats: Vec::new(),
        },
        failed: Vec::new(),
        further: cassettes.iter().map(|cassette| cassette.further.len()).max().unwrap_or(0),
    };
    for replayed in replays(scenario) {
        let setup = replayed.setup;
        let mut traces = Vec::new();
        for ((side, name), cassette) in sides.iter().zip(["A", "B"]).zip(cassettes) {
            if stop.load(Ordering::Relaxed) {
                return Err(CompareError::Stopped);
            }
            match side.trace(Ask { scenario, cassette, setup }, stop) {
                Ok(trace) => traces.push(trace),
                Err(CallError::Stopped) => return Err(CompareError::Stopped),
                Err(CallError::Unknown(why) | CallError::Failed(why)) => {
                    let chat = setup.channel.map(|chat| format!(", chat {chat}"));
                    let (name_of, version) = (&scenario.name, one.compared.version());
                    let chat = chat.unwrap_or_default();
                    // The place says which one it is, so that one reason stays one.
                    let why = why.replace(&format!("cassettes/{name_of}/{version}/"), "");
                    one.failed.push(Failed {
                        place: format!("{name_of} {version}{chat}"),
                        why: format!("{name} ({}): {why}", side.about.name),
                    });
                }
            }
        }
        if let [a, b] = &traces[..] {
            hold(&mut one.compared, scenario, &replayed, sides, [a, b]);
        }
    }
    Ok(one)
}

/// The replays of a scenario: the first shows every lane, each further one one more chat or client.
/// Somebody is always there, as `clitape replay` has it.
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

/// Holds the traces of one replay against each other.
fn hold(
    compared: &mut Compared,
    scenario: &Scenario,
    replayed: &Replayed,
    sides: &[Subject; 2],
    traces: [&Trace; 2],
) {
    for view in &replayed.views {
        let lane = view.lane();
        if traces.iter().any(|trace| !trace.lanes.contains(&lane)) {
            continue;
        }
        compared.views += 1;
        let of = |trace: &'_ Trace| -> Vec<Entry> {
            let told = trace.entries.iter().filter(|entry| entry.lane == lane);
            told.filter(|entry| !(compared.is_of_two_versions() && is_own(entry)))
                .cloned()
                .collect()
        };
        let [a, b] = traces.map(of);
        let commands = [0, 1].map(|side| {
            let lanes = [lane].into();
            let line = line(scenario, &compared.versions[side], replayed.setup, &lanes);
            let about = &sides[side].about;
            line.replacen("clitape", &about.command, 1) + &about.note
        });
        let Some(diff) = compare(&view.to_string(), &a, &b, commands) else { continue };
        compared.lanes.push(diff);
        if let View::Telegram(chat) = *view {
            chats(compared, chat, &a, &b);
        }
    }
}

/// What a version of the CLI says of itself, which is never what another one says.
fn is_own(entry: &Entry) -> bool {
    entry.lane == Lane::Lifecycle && entry.kind == "session"
}

/// Adds what a person reads in the end, if that differs; once for chats in which it is the same.
fn chats(compared: &mut Compared, chat: Chat, a: &[Entry], b: &[Entry]) {
    let texts = |entries: &[Entry]| -> Vec<Option<Value>> {
        entries.iter().map(|entry| entry.data.get("text").cloned()).collect()
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
        None => compared.chats.push(Chats { chats: vec![chat], last }),
    }
}

/// The calls that gave the final messages of a chat their text, the oldest message first.
pub(crate) fn last(entries: &[Entry]) -> Vec<Entry> {
    let view = ChatView::after(entries);
    view.final_messages().map(|message| entries[message.entry].clone()).collect()
}
