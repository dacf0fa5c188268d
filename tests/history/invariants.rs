//! `docs/invariants.md`: the rules that need no golden, where each can be broken, and the bugs that it convicts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::thread;

use clitape_runner::cassette::Cassette;
use clitape_runner::check::{INVARIANTS, Invariant, ScenarioChecks};
use clitape_runner::names::ScenarioName;
use clitape_runner::replay::{Capture, Plan, Replay, Setup, replay, stdin_lines};
use clitape_runner::scenario::{ChannelSpec, Workspace};

use super::page::Conviction;
use super::versions;

/// The page, below the root of the workspace.
pub(crate) const PAGE: &str = "docs/invariants.md";

const HEAD: &str = "\
# Invariants

The rules that every replay of every recording must keep, whatever the plan. None needs a golden: a rule reads what the
replay shows and, where it names stdout, what the recording states, which `harness/runner/src/replay/stated/` reads
without the parser that is under test. `clitape test` checks all of them in every channel, with the canonical plan,
the recorded times and every seeded plan.

A rule can fail only where a recording has what it is about. The fourth column counts the committed recordings that
have it; the fifth has the bugs of [history.md](history.md) that the rule convicts in the scenarios that page names.

A gateway that is not clitape's own is held by the rules of [subject-rules.md](subject-rules.md).

    UPDATE_HISTORY=1 cargo test --test history

writes this page from `harness/runner/src/check/invariant/table.rs`, and `cargo test` fails when it is not true any more.
";

/// The number of committed recordings in which each rule can be broken.
pub(crate) fn stakes(workspace: &Workspace) -> Vec<usize> {
    let names = workspace.names().expect("the folders can be read");
    let half = names.len().div_ceil(2);
    let of_some = |names: &[ScenarioName]| {
        let mut counts = vec![0; INVARIANTS.len()];
        for name in names {
            for at in stakes_of(workspace, name).into_iter().flatten() {
                counts[at] += 1;
            }
        }
        counts
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            names.chunks(half).map(|names| scope.spawn(|| of_some(names))).collect();
        let counts = threads.into_iter().map(|thread| thread.join().expect("they are counted"));
        counts.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a + b).collect()).unwrap_or_default()
    })
}

/// The rules that can be broken in each recording of a scenario, in one of its channels.
fn stakes_of(workspace: &Workspace, name: &ScenarioName) -> Vec<BTreeSet<usize>> {
    let scenario = workspace.load(name).expect("the scenario can be used");
    let checks = ScenarioChecks::new(workspace, scenario).expect("its folders can be read");
    let scenario = checks.scenario();
    let chats = scenario.channels.iter().map(|channel| match *channel {
        ChannelSpec::Telegram(chat) => Some(chat),
        ChannelSpec::Acp { .. } | ChannelSpec::Sse { .. } => None,
    });
    let chats: Vec<_> = chats.collect();
    let of_version = |version| {
        let cassette = Cassette::find(workspace, name, version).expect("the cassette can be read");
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
        let plan = Plan::canonical(capture, scenario.run.pace_ms);
        let plan = plan.with_faults(scenario.chat.faults.iter().copied());
        let replays = chats.iter().map(|chat| {
            replay(capture, &plan, Setup { run: scenario.run, channel: *chat, acp: None })
        });
        let of_one = |replay: Replay| -> Vec<usize> {
            let rules = INVARIANTS.iter().enumerate();
            rules.filter(|(_, rule)| rule.stake.is_in(&replay)).map(|(at, _)| at).collect()
        };
        replays.flat_map(of_one).collect()
    };
    versions(&checks).into_iter().map(of_version).collect()
}

/// The page.
pub(crate) fn page(convictions: &[Conviction], stakes: &[usize]) -> String {
    let mut text = format!(
        "{HEAD}\n| rule | every replay keeps | it can fail with | recordings | convicts |\n"
    );
    text.push_str("|---|---|---|---|---|\n");
    for (Invariant { kind, demand, stake, .. }, count) in INVARIANTS.iter().zip(stakes) {
        let convicts = |one: &&Conviction| one.free().contains(kind);
        let rows: Vec<&str> =
            convictions.iter().filter(convicts).map(|one| one.row.plant.row().0).collect();
        let others = rows.iter().filter(|row| **row == "-").count();
        let mut names: Vec<String> = Vec::new();
        for row in rows.into_iter().filter(|row| *row != "-") {
            if names.last().is_none_or(|last| last != row) {
                names.push(row.to_owned());
            }
        }
        names.extend((others > 0).then(|| format!("{others} others")));
        let names = if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        let stake = stake.words();
        writeln!(text, "| `{kind}` | {demand} | {stake} | {count} | {names} |")
            .expect("a string can be written");
    }
    text
}
