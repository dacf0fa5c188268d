//! `docs/invariants.md`: the rules that need no golden, where each can be broken, and the bugs that it convicts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::thread;

use clitape_judge::{RULES, Rule, RuleScope};
use clitape_recording::cassette::Cassette;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{AcpClient, ChannelSpec, Setup, Workspace};
use clitape_recording::text::plural;
use clitape_recording::trace::Lane;
use clitape_runner::check::{Check, ScenarioChecks};
use clitape_runner::replay::{Capture, Plan, Replay, replay, stdin_lines};

use super::page::PageRow;

/// The page, below the root of the workspace.
pub(crate) const PAGE: &str = "docs/invariants.md";

const HEAD: &str = "\
# Invariants

The rules that every replay of every recording must keep, whatever the plan. None needs a golden: a rule reads what the
replay shows and, where it names stdout, what the recording states, which `harness/recording/src/facts/` reads
without the parser that is under test. `clitape test` checks all of them in every channel, with the canonical plan,
the recorded times and every seeded plan.

A rule can fail only where a recording has what it is about. The fourth column counts the committed recordings that
have it; the fifth has the bugs of [history.md](history.md) that the rule convicts in the scenarios that page names.

A gateway that is not clitape's own is held by the rules of [subject-rules.md](subject-rules.md).

    UPDATE_HISTORY=1 cargo test --test history

writes this page from `harness/judge/src/rules/table.rs`, and `cargo test` fails when it is not true any more.
";

/// The rules for clitape's own gateway.
pub(crate) fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| rule.needs.scope != RuleScope::Others)
}

/// The number of committed recordings in which each rule can be broken.
pub(crate) fn stakes(workspace: &Workspace) -> Vec<usize> {
    let names = workspace.names().expect("the folders can be read");
    let half = names.len().div_ceil(2);
    let of_some = |names: &[ScenarioName]| {
        let mut counts = vec![0; rules().count()];
        let of_recordings = names.iter().flat_map(|name| stakes_of(workspace, name));
        of_recordings.flatten().for_each(|at| counts[at] += 1);
        counts
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            names.chunks(half).map(|names| scope.spawn(|| of_some(names))).collect();
        let counts = threads.into_iter().map(|thread| thread.join().expect("they are counted"));
        let add = |a: Vec<usize>, b: Vec<usize>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        counts.reduce(add).unwrap_or_default()
    })
}

/// The rules that can be broken in each recording of a scenario, in one of its channels.
fn stakes_of(workspace: &Workspace, name: &ScenarioName) -> Vec<BTreeSet<usize>> {
    let scenario = workspace.load(name).expect("the scenario can be used");
    let checks = ScenarioChecks::new(workspace, scenario).expect("its folders can be read");
    let scenario = checks.scenario();
    let run = scenario.run;
    let setups = scenario.channels.iter().map(|channel| match *channel {
        ChannelSpec::Telegram(chat) => Setup { run, channel: Some(chat), acp: None },
        ChannelSpec::Acp { terminal } => {
            Setup { run, channel: None, acp: Some(AcpClient { terminal }) }
        }
        ChannelSpec::Sse { .. } => Setup { run, channel: None, acp: None },
    });
    let without = Setup { run, channel: None, acp: None };
    let setups: Vec<_> = setups.chain([without]).collect();
    let of_version = |version| {
        let cassette = Cassette::find(workspace, name, version).expect("the cassette can be read");
        let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
        let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
        let plan = Plan::canonical(capture, scenario.run.pace_ms);
        let plan = plan.with_faults(scenario.chat.faults.iter().copied());
        let replays = setups.iter().map(|setup| {
            let mut replay = replay(capture, &plan, *setup);
            replay.add_session(&cassette, scenario.session.as_ref());
            replay
        });
        let of_one = |replay: Replay| -> Vec<usize> {
            let at_stake = rules().enumerate().filter(|(_, rule)| rule.is_at_stake(&replay));
            at_stake.map(|(at, _)| at).collect()
        };
        replays.flat_map(of_one).collect()
    };
    let mut versions: Vec<_> = checks.checks().iter().filter_map(Check::version).collect();
    versions.dedup();
    versions.into_iter().map(of_version).collect()
}

/// Returns the page, with the bugs that the rows of the history say a rule convicts.
pub(crate) fn page(history: &[PageRow], stakes: &[usize]) -> String {
    let mut text = format!(
        "{HEAD}\n| rule | every replay keeps | it can fail with | recordings | convicts |\n"
    );
    text.push_str("|---|---|---|---|---|\n");
    for (Rule { kind, demand, stake, .. }, count) in rules().zip(stakes) {
        let stake = stake.words();
        let convicts = |row: &&PageRow| row.free().contains(kind);
        let rows: Vec<&str> =
            history.iter().filter(convicts).map(|row| row.known_as.as_str()).collect();
        let others = rows.iter().filter(|row| **row == "-").count();
        let mut names: Vec<String> = Vec::new();
        for row in rows.into_iter().filter(|row| *row != "-") {
            if names.last().is_none_or(|last| last != row) {
                names.push(row.to_owned());
            }
        }
        names.extend((others > 0).then(|| plural(others, "other")));
        let names = if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        writeln!(text, "| `{kind}` | {demand} | {stake} | {count} | {names} |")
            .expect("a string can be written");
    }
    text
}

/// The page of the rules for gateways and agents of others, below the root of the workspace.
pub(crate) const SUBJECT_PAGE: &str = "docs/subject-rules.md";

/// The comments around the list that is made from the table.
const BEGIN: &str = "<!-- made from harness/judge/src/rules/table.rs -->\n";
const END: &str = "<!-- end of the list -->\n";

/// The page with the list of rules as the table has them, or an error that says how the page must mark the list.
pub(crate) fn subject_page(page: &str) -> Result<String, String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) =
        parts.ok_or_else(|| format!("{SUBJECT_PAGE} has no list between {BEGIN}and {END}"))?;
    let mut list = String::from("| rule | where | what is demanded | at clitape's own gateway |\n");
    list.push_str("|---|---|---|---|\n");
    let of_others = RULES.iter().filter(|rule| rule.needs.scope != RuleScope::Own);
    for rule in of_others {
        let kind = rule.kind_of(false);
        let place = match rule.needs.lane {
            Some(Lane::Telegram) => "chat",
            Some(Lane::Acp) => "editor",
            _ => "run",
        };
        let place = if rule.needs.end { format!("{place}, at its end") } else { place.to_owned() };
        let own = match (rule.needs.scope, rule.is_stricter()) {
            (RuleScope::Others, _) => "-".to_owned(),
            (_, true) => format!("`{}`, more strictly", rule.kind),
            (_, false) => format!("`{}`", rule.kind),
        };
        writeln!(list, "| `{kind}` | {place} | {} | {own} |", rule.demand)
            .expect("a string can be written");
    }
    Ok(format!("{before}{BEGIN}{list}{END}{after}"))
}
