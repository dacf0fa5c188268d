//! Every bug of the project's history is planted, one at a time, and the scenarios convict it.
//!
//! `docs/history.md` has the result. It is measured here: `UPDATE_HISTORY=1 cargo test --test history` writes the
//! page, and without the variable a trial fails whose row of the page is no longer true. A new bug report becomes
//! a row of `history/table.rs` first. `EXPLORE_HISTORY=all` looks in every scenario and prints the rows of
//! that table with the scenarios that convict best; another value of it names a part of the bugs' names.

#![allow(clippy::expect_used, reason = "a scenario that can't be used fails the trial")]

#[path = "history/invariants.rs"]
mod invariants;
#[path = "history/page.rs"]
mod page;
#[path = "history/rules.rs"]
mod rules;
#[path = "history/table.rs"]
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::{fs, panic, thread};

use clitape_judge::{FindingId, FindingKind};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_runner::check::{Check, ScenarioChecks};
use clitape_stream::plant::{Plant, plant};
use libtest_mimic::{Arguments, Failed, Trial};
use page::{Conviction, Found, PAGE, page, row};
use rules::Shown;
use table::{ROWS, Row};

/// The scenarios that a row names.
const BEST: usize = 2;
/// Seeded plans of a scenario.
const PLANS: u64 = 2;

fn workspace() -> Workspace {
    Workspace::at(Path::new(env!("CARGO_MANIFEST_DIR")))
}

fn main() -> ExitCode {
    // What is planted is planted in the whole process.
    let mut args = Arguments::from_args();
    args.test_threads = Some(1);
    // A plant may panic where the gateway catches it.
    panic::set_hook(Box::new(|_| {}));
    if let Ok(part) = std::env::var("EXPLORE_HISTORY") {
        explore(if part == "all" { "" } else { &part });
        return ExitCode::SUCCESS;
    }
    libtest_mimic::run(&args, trials()).exit_code()
}

fn trials() -> Vec<Trial> {
    let page_of = |page: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page));
    let mut trials = vec![Trial::test("every bug has a row", || {
        let rows: Vec<Plant> = ROWS.iter().map(|row| row.plant).collect();
        if rows == Plant::ALL {
            return Ok(());
        }
        Err("tests/history/table.rs does not have the bugs of harness/stream/src/plant.rs".into())
    })];
    trials.extend(ROWS.iter().map(|one| {
        Trial::test(format!("{:?}", one.plant), move || {
            let conviction = convicted(one);
            if !conviction.free().is_empty() && !one.why.is_empty() {
                return Err("it is convicted without a golden, and needs no reason any more".into());
            }
            let row = row(&conviction);
            // The trial of the page writes it.
            if updates() || page_of(PAGE)?.lines().any(|line| line == row) {
                return Ok(());
            }
            Err(format!("{PAGE} does not say\n{row}\n{UPDATE}").into())
        })
    }));
    let held = move |page: &str, current: &str| {
        if updates() {
            fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(page), current)?;
        }
        if page_of(page)? == current { Ok(()) } else { Err(Failed::from(UPDATE)) }
    };
    trials.push(Trial::test("the page is up to date", move || {
        held(PAGE, &page(&ROWS.iter().map(convicted).collect::<Vec<_>>()))
    }));
    trials.push(Trial::test("the rules for subjects are those of the table", move || {
        let page = invariants::subject_page(&page_of(invariants::SUBJECT_PAGE)?)?;
        held(invariants::SUBJECT_PAGE, &page)
    }));
    trials.push(Trial::test("every invariant can be broken", move || {
        plant(None);
        let stakes = invariants::stakes(&workspace());
        if let Some(at) = stakes.iter().position(|count| *count == 0) {
            let kind = invariants::rules().nth(at).expect("each rule is counted").kind;
            return Err(format!("{kind} can be broken in no recording: record one").into());
        }
        let convictions: Vec<_> = ROWS.iter().map(convicted).collect();
        held(invariants::PAGE, &invariants::page(&convictions, &stakes))
    }));
    trials
}

/// What to do about a page that is not up to date.
const UPDATE: &str = "run `UPDATE_HISTORY=1 cargo test --test history`, and see what has changed";

fn updates() -> bool {
    std::env::var_os("UPDATE_HISTORY").is_some()
}

/// What convicts a bug, measured once in this process.
fn convicted(row: &'static Row) -> Conviction {
    static MEASURED: Mutex<BTreeMap<Plant, Conviction>> = Mutex::new(BTreeMap::new());
    if let Some(known) = MEASURED.lock().unwrap_or_else(PoisonError::into_inner).get(&row.plant) {
        return known.clone();
    }
    let found = judged(row.scenarios, row.plant, usize::MAX);
    let conviction = Conviction { row, found };
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    measured.entry(row.plant).or_insert(conviction).clone()
}

/// What the checks of each scenario find with a bug planted, and not without.
fn judged(scenarios: &[&'static str], bug: Plant, most: usize) -> Found {
    static SOUND: Mutex<BTreeMap<(&str, usize), BTreeSet<FindingKind>>> =
        Mutex::new(BTreeMap::new());
    let mut sound = SOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let new: Vec<_> =
        scenarios.iter().copied().filter(|name| !sound.contains_key(&(*name, most))).collect();
    sound.extend(with(None, &new, most).into_iter().map(|(name, kinds)| ((name, most), kinds)));
    let mut found = with(Some(bug), scenarios, most);
    for (name, kinds) in &mut found {
        kinds.retain(|kind| !sound[&(*name, most)].contains(kind));
    }
    found
}

/// The bugs with which no secret is found, not even by the rules.
const OF_SANITISER: [Plant; 1] = [Plant::NothingMasked];

/// What the checks of each scenario find with a bug planted, and what the rules for gateways under test find then.
fn with(bug: Option<Plant>, scenarios: &[&'static str], most: usize) -> Found {
    plant(bug);
    let found = in_threads(scenarios, most);
    plant(bug.filter(|bug| !OF_SANITISER.contains(bug)));
    let all = |(name, mut kinds, shown): (_, BTreeSet<_>, Vec<Shown>)| {
        kinds.extend(rules::broken(&shown));
        (name, kinds)
    };
    let found = found.into_iter().map(all).collect();
    plant(None);
    found
}

/// The checks of a scenario, with few plans.
fn checks_of(workspace: &Workspace, name: &str) -> ScenarioChecks {
    let mut scenario = workspace.load(name).expect("the scenario can be used");
    scenario.sweep.plans = scenario.sweep.plans.min(PLANS);
    ScenarioChecks::new(workspace, scenario).expect("its folders can be read")
}

/// What the checks of each scenario find, and what its chats show, on two threads.
fn in_threads(
    scenarios: &[&'static str],
    most: usize,
) -> Vec<(&'static str, BTreeSet<FindingKind>, Vec<Shown>)> {
    let half = scenarios.len().div_ceil(2).max(1);
    let judge = |names: &[&'static str]| -> Vec<_> {
        let one = |name: &&'static str| {
            let (kinds, shown) = found(name, most);
            (*name, kinds, shown)
        };
        names.iter().map(one).collect()
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            scenarios.chunks(half).map(|names| scope.spawn(move || judge(names))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it is judged")).collect()
    })
}

/// The findings of a scenario in the first `most` of its versions, and what its chats show. The plans are replayed
/// only where no other check has a finding that needs no golden.
fn found(name: &str, most: usize) -> (BTreeSet<FindingKind>, Vec<Shown>) {
    let workspace = workspace();
    let checks = checks_of(&workspace, name);
    let mut versions = versions(&checks);
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
        kinds.iter().any(|kind| needs_no_golden(*kind))
    };
    let is_plans = |check: &Check| matches!(check, Check::Plans { .. });
    if !judge(&|check| !is_plans(check)) {
        judge(&is_plans);
    }
    let shown = rules::shown(&workspace, checks.scenario(), &versions);
    (kinds, shown)
}

/// The versions that a scenario is recorded with.
fn versions(checks: &ScenarioChecks) -> Vec<&CliVersion> {
    let mut versions: Vec<_> = checks.checks().iter().filter_map(Check::version).collect();
    versions.dedup();
    versions
}

/// Whether a finding is that of an invariant, of the equivalence of plans, or of a rule for gateways under test.
fn needs_no_golden(kind: FindingKind) -> bool {
    !kind.to_string().starts_with("GD")
}

/// Looks in the first version of every scenario for the bugs whose names contain `part`, and prints the row of each with the scenarios
/// that convict it best: without a golden, canonically, and in a short recording.
fn explore(part: &str) {
    let workspace = workspace();
    let size = |name: &str| {
        let folder = workspace.cassettes().join(name);
        let files = walkdir::WalkDir::new(folder).into_iter().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>()
    };
    let names = workspace.names().expect("the folders can be read");
    let mut names: Vec<&'static str> = names.iter().map(|name| &*name.to_string().leak()).collect();
    names.sort_by_key(|name| size(name));
    for bug in Plant::ALL.iter().filter(|bug| format!("{bug:?}").contains(part)) {
        let mut found = judged(&names, *bug, 1);
        found.retain(|(_, kinds)| !kinds.is_empty());
        found.sort_by_key(|(_, kinds)| {
            let is = |sign: &str| kinds.iter().any(|kind| kind.to_string().starts_with(sign));
            let is_free = kinds.iter().any(|kind| needs_no_golden(*kind));
            (!is_free, is("PL"))
        });
        let best: Vec<&str> = found.iter().map(|(name, _)| *name).take(BEST).collect();
        let ids = |kinds: &BTreeSet<FindingKind>| -> BTreeSet<String> {
            kinds.iter().map(|kind| kind.to_string()[..5].to_owned()).collect()
        };
        let kinds: BTreeSet<String> = found.iter().flat_map(|(_, kinds)| ids(kinds)).collect();
        println!("    {bug:?}: {best:?}, \"\"; // {} of {kinds:?}", found.len());
    }
}
