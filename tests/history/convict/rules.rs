//! The rules for gateways under test, which need no golden, applied to clitape's own chat and bus with a bug planted.

use std::collections::BTreeSet;
use std::sync::Arc;

use clitape_judge::observation::{Observation, PlayedTurn, SubjectEvent, SubjectTraits};
use clitape_judge::{FindingKind, judge};
use clitape_recording::cassette::Cassette;
use clitape_recording::facts::LazyFacts;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{
    Chat, ChatMode, DeliverySpec, RunSpec, Scenario, Setup, Workspace,
};
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::replay::{Capture, Plan, replay, stdin_lines};
use serde_json::Value;

/// The milliseconds between two lines.
const PACE_MS: u64 = 200;

/// A cassette, and the entries that a gateway showed of it.
pub(crate) struct Shown {
    cassette: Cassette,
    entries: Vec<Entry>,
    turns: Vec<PlayedTurn>,
}

/// Returns what clitape's own gateway shows of a scenario in two modes; an empty list if the scenario sets something that
/// gateways under test do not learn.
pub(crate) fn shown(
    workspace: &Workspace,
    scenario: &Scenario,
    versions: &[&CliVersion],
) -> Vec<Shown> {
    let Scenario { name, run, .. } = scenario;
    if run.silent || run.delivery != DeliverySpec::Automatic || run.stuck_callback.is_some() {
        return Vec::new();
    }
    let run = RunSpec { limit_s: RunSpec::default().limit_s, ..*run };
    let in_mode = |version: &CliVersion, mode: ChatMode| {
        let cassette = Cassette::find(workspace, name, version).expect("the cassette can be read");
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
        let setup = Setup { run, channel: Some(Chat::of(mode)), acp: None };
        let plan = Plan::canonical(capture, PACE_MS);
        let entries = replay(capture, &plan, setup).into_entries();
        // With a host that writes lines, or several turns, the plan alone does not say when a turn ends.
        let lines = cassette.stdout.split(|byte| *byte == b'\n');
        let records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let results = records.filter(|record| record["type"] == "result").count();
        let is_one = stdin.is_empty() && results < 2;
        let end = is_one.then(|| plan.pieces(&cassette.stdout).map(|(ms, _)| ms).sum());
        let turns = end.into_iter().map(|end| PlayedTurn { began_ms: 0, ended_ms: Some(end) });
        Shown { turns: turns.collect(), cassette, entries: entries.into() }
    };
    let both = |version: &&CliVersion| {
        [ChatMode::Partial, ChatMode::Progress].map(|mode| in_mode(version, mode))
    };
    versions.iter().flat_map(both).collect()
}

/// Returns the rules that break. They read the cassettes without clitape's parser, so that its bugs may be on meanwhile.
pub(crate) fn broken(shown: &[Shown]) -> BTreeSet<FindingKind> {
    let of_one = |Shown { cassette, entries, turns }: &Shown| {
        let of = |lane: Lane| entries.iter().filter(move |entry| entry.lane == lane);
        let calls: Vec<Entry> = of(Lane::Telegram).cloned().collect();
        let observation = Observation {
            turns: turns.clone(),
            traits: SubjectTraits {
                asks_questions: true,
                one_message: true,
                ..SubjectTraits::default()
            },
            bus: Some(of(Lane::Bus).map(event).collect()),
            ..Observation::of_chat(Arc::new(LazyFacts::of(cassette)), calls)
        };
        judge(&observation)
    };
    shown.iter().flat_map(of_one).map(|violation| violation.kind).collect()
}

/// An entry of the bus as an event of a gateway's own bus.
fn event(entry: &Entry) -> SubjectEvent {
    let text = |key: &str| entry.field(key)?.as_str().map(str::to_owned);
    SubjectEvent {
        kind: entry.kind.to_string(),
        phase: text("phase"),
        id: text("id"),
        name: text("name"),
        args: entry.field("args").cloned(),
    }
}
