//! Finds what convicts a bug: `tests/history.rs` builds this program in a copy of the code that has the bugs of
//! `tests/history/plants.toml`, and writes a question on each line of its stdin.

#![allow(clippy::expect_used, reason = "a scenario that can't be used ends the program")]

mod question;
mod rules;
mod switch;

use std::collections::{BTreeMap, BTreeSet};
use std::io::stdin;
use std::path::PathBuf;
use std::{env, panic, thread};

use clitape_judge::{FindingId, FindingKind};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_runner::check::{Check, ScenarioChecks};
use question::{Answer, Question};
use rules::Shown;
use switch::turn_on;

/// Seeded plans of a scenario.
const PLANS: u64 = 2;

fn main() {
    let Some(root) = env::args_os().nth(1).map(PathBuf::from).filter(|root| root.is_dir()) else {
        return println!("run `cargo test --test history`, which starts this program");
    };
    // A bug may panic where the gateway catches it.
    panic::set_hook(Box::new(|_| {}));
    let mut measure = Measure { workspace: Workspace::at(&root), sound: BTreeMap::new() };
    for line in stdin().lines() {
        let line = line.expect("stdin can be read");
        let question = serde_json::from_str(&line).expect("a question is JSON");
        let answer = measure.answer(&question);
        println!("{}", serde_json::to_string(&answer).expect("an answer becomes JSON"));
    }
}

/// What the checks find with a bug and without one.
struct Measure {
    workspace: Workspace,
    /// The findings without a bug, by the scenario and the number of its versions that are judged.
    sound: BTreeMap<(String, usize), BTreeSet<FindingKind>>,
}

impl Measure {
    /// Returns what the checks of each scenario find with a bug, and not without.
    fn answer(&mut self, question: &Question) -> Answer {
        let Question { number, rules, scenarios, most } = question;
        let is_new = |name: &&String| !self.sound.contains_key(&((*name).clone(), *most));
        let new: Vec<String> = scenarios.iter().filter(is_new).cloned().collect();
        for (name, kinds) in self.found([0, 0], &new, *most) {
            self.sound.insert((name, *most), kinds);
        }
        let found = self.found([*number, *rules], scenarios, *most);
        let only_with_bug = |(name, kinds): (String, BTreeSet<FindingKind>)| {
            let sound = &self.sound[&(name.clone(), *most)];
            let kinds = kinds.difference(sound).map(FindingKind::to_string).collect();
            (name, kinds)
        };
        found.into_iter().map(only_with_bug).collect()
    }

    /// Returns what the checks of each scenario find with one bug on, and what the rules for gateways under test find of
    /// that with another one on.
    fn found(
        &self,
        [checks, rules]: [usize; 2],
        scenarios: &[String],
        most: usize,
    ) -> Vec<(String, BTreeSet<FindingKind>)> {
        turn_on(checks);
        let found = self.in_threads(scenarios, most);
        turn_on(rules);
        let all = |(name, mut kinds, shown): (String, BTreeSet<_>, Vec<Shown>)| {
            kinds.extend(rules::broken(&shown));
            (name, kinds)
        };
        let found = found.into_iter().map(all).collect();
        turn_on(0);
        found
    }

    /// Returns what the checks of each scenario find, and what its chats show, from two threads.
    fn in_threads(
        &self,
        scenarios: &[String],
        most: usize,
    ) -> Vec<(String, BTreeSet<FindingKind>, Vec<Shown>)> {
        let half = scenarios.len().div_ceil(2).max(1);
        let judge = |names: &[String]| -> Vec<_> {
            let one = |name: &String| {
                let (kinds, shown) = judged(&self.workspace, name, most);
                (name.clone(), kinds, shown)
            };
            names.iter().map(one).collect()
        };
        thread::scope(|scope| {
            let threads: Vec<_> =
                scenarios.chunks(half).map(|names| scope.spawn(move || judge(names))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it is judged")).collect()
        })
    }
}

/// Returns the findings of a scenario in the first `most` of its versions, and what its chats show. The plans are
/// replayed only where no other check has a finding that needs no golden.
fn judged(workspace: &Workspace, name: &str, most: usize) -> (BTreeSet<FindingKind>, Vec<Shown>) {
    let mut scenario = workspace.load(name).expect("the scenario can be used");
    scenario.sweep.plans = scenario.sweep.plans.min(PLANS);
    let checks = ScenarioChecks::new(workspace, scenario).expect("its folders can be read");
    let mut versions: Vec<&CliVersion> =
        checks.checks().iter().filter_map(Check::version).collect();
    versions.dedup();
    versions.truncate(most);
    let mut kinds = BTreeSet::new();
    let mut judge = |is_mine: &dyn Fn(&Check) -> bool| {
        let is_of = |check: &&Check| check.version().is_some_and(|of| versions.contains(&of));
        for check in checks.checks().iter().filter(is_of).filter(|check| is_mine(check)) {
            let findings = checks.judge(check, false).expect("its cassette can be read").findings;
            kinds.extend(findings.into_iter().filter_map(|finding| match finding.id {
                FindingId::Known(kind) => Some(kind),
                FindingId::Other(_) => None,
            }));
        }
        kinds.iter().any(|kind| question::needs_no_golden(&kind.to_string()))
    };
    let is_plans = |check: &Check| matches!(check, Check::Plans { .. });
    if !judge(&|check| !is_plans(check)) {
        judge(&is_plans);
    }
    let shown = rules::shown(workspace, checks.scenario(), &versions);
    (kinds, shown)
}
