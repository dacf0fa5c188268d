//! Every bug of the project's history is planted, one at a time, and the scenarios convict it.
//!
//! `tests/history/plants.toml` lists the bugs; a new bug report becomes a row of it first. The code itself has none of
//! them: [`convictor`] builds a copy that has all, each behind a switch. `docs/history.md` has the result. A trial fails
//! whose row of the page is no longer true.
//!
//! `cargo test` measures a sample of those that scenarios convict, other bugs each time; `HISTORY_SEED` draws the same bugs again, and a bug's name as an
//! argument of the test measures that bug. `ALL_HISTORY=1` measures all of them, and `UPDATE_HISTORY=1` also writes the
//! pages. `EXPLORE_HISTORY` has parts of the bugs' names, with commas between them: it prints the row of each, and for a
//! row that names no scenario and no test yet, those that convict its bug best. `EXPLORE_HISTORY=all` does so for every bug.

#![allow(clippy::expect_used, reason = "a table that can't be read fails the trial")]

#[path = "history/convictor.rs"]
mod convictor;
mod copy;
#[path = "history/invariants.rs"]
mod invariants;
#[path = "history/page.rs"]
mod page;
#[path = "history/plants.rs"]
mod plants;
#[path = "history/convict/question.rs"]
mod question;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

use anyhow::Result;
use clitape_judge::FindingKind;
use clitape_recording::scenario::Workspace;
use convictor::Convictor;
use libtest_mimic::{Arguments, Failed, Trial};
use page::{PAGE, PageRow, page, rows};
use plants::{Plant, TABLE, planted, plants};
use question::needs_no_golden;
use sha2::{Digest as _, Sha256};

/// The bugs that `cargo test` measures, of those that scenarios convict: for the others it would build the tests of a crate.
const SAMPLE: usize = 12;
/// The scenarios that a row names.
const BEST: usize = 2;
/// What to do about a page that is not up to date.
const UPDATE: &str = "run `UPDATE_HISTORY=1 cargo test --test history`, and see what has changed";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    // One program answers for all trials.
    args.test_threads = Some(1);
    let plants: &'static [Plant] = plants(root()).expect("the table can be read").leak();
    if let Ok(part) = env::var("EXPLORE_HISTORY") {
        explore(plants, if part == "all" { "" } else { &part }).expect("the bugs can be measured");
        return ExitCode::SUCCESS;
    }
    let is_all = updates() || env::var_os("ALL_HISTORY").is_some();
    let measured =
        if is_all || args.filter.is_some() { (0..plants.len()).collect() } else { sample(plants) };
    libtest_mimic::run(&args, trials(plants, &measured, is_all)).exit_code()
}

fn updates() -> bool {
    env::var_os("UPDATE_HISTORY").is_some()
}

/// Draws the places of the bugs that are measured, and prints the seed.
fn sample(plants: &[Plant]) -> Vec<usize> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seed = env::var("HISTORY_SEED").unwrap_or_else(|_| now().to_string());
    eprintln!(
        "{SAMPLE} of {} bugs, drawn with the seed {seed}: `HISTORY_SEED={seed}` draws them again, and \
         `ALL_HISTORY=1` measures all",
        plants.len()
    );
    let mut places: Vec<usize> =
        (0..plants.len()).filter(|at| plants[*at].tests.is_empty()).collect();
    places.sort_by_cached_key(|at| Sha256::digest(format!("{seed} {}", plants[*at].name)));
    places.truncate(SAMPLE);
    places.sort_unstable();
    places
}

/// Returns the trials: one for each place of `measured`, and those that need no bug.
fn trials(plants: &'static [Plant], measured: &[usize], is_all: bool) -> Vec<Trial> {
    let page_of = |page: &str| fs::read_to_string(root().join(page));
    let held = move |page: &str, current: &str| {
        if updates() {
            fs::write(root().join(page), current)?;
        }
        if page_of(page)? == current { Ok(()) } else { Err(Failed::from(UPDATE)) }
    };
    let mut trials = vec![Trial::test("every_bug_fits_the_code", || {
        planted(root(), plants).map(drop).map_err(|error| format!("{error:#}").into())
    })];
    trials.extend(measured.iter().map(|at| {
        let at = *at;
        Trial::test(plants[at].name.clone(), move || {
            let row = convicted(plants, at)?;
            if !row.free().is_empty() && !plants[at].why.is_empty() {
                return Err("it is convicted without a golden, and needs no reason any more".into());
            }
            // The trial of the page writes it.
            if updates() || rows(&page_of(PAGE)?).get(at) == Some(&row) {
                return Ok(());
            }
            Err(format!("{PAGE} does not say\n{}\n{UPDATE}", row.line()).into())
        })
    }));
    if is_all {
        trials.push(Trial::test("the_page_is_up_to_date", move || {
            let rows: Result<Vec<_>, Failed> =
                (0..plants.len()).map(|at| convicted(plants, at)).collect();
            held(PAGE, &page(&rows?))
        }));
    }
    trials.push(Trial::test("the_page_has_every_bug", move || {
        let text = page_of(PAGE)?;
        let rows = rows(&text);
        let has_all = rows.len() == plants.len()
            && rows.iter().zip(plants).all(|(row, plant)| row.is_of(plant));
        if has_all && page(&rows) == text {
            return Ok(());
        }
        Err(format!("{PAGE} is not the page of {TABLE}: {UPDATE}").into())
    }));
    trials.push(Trial::test("the_rules_for_subjects_are_those_of_the_table", move || {
        let page = invariants::subject_page(&page_of(invariants::SUBJECT_PAGE)?)?;
        held(invariants::SUBJECT_PAGE, &page)
    }));
    trials.push(Trial::test("every_invariant_can_be_broken", move || {
        let stakes = invariants::stakes(&Workspace::at(root()));
        if let Some(at) = stakes.iter().position(|count| *count == 0) {
            let kind = invariants::rules().nth(at).expect("each rule is counted").kind;
            return Err(format!("{kind} can be broken in no recording: record one").into());
        }
        held(invariants::PAGE, &invariants::page(&rows(&page_of(PAGE)?), &stakes))
    }));
    trials
}

/// Returns the row of the bug at a place, measured once.
fn convicted(plants: &[Plant], at: usize) -> Result<PageRow, Failed> {
    static MEASURED: Mutex<Vec<(usize, PageRow)>> = Mutex::new(Vec::new());
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, row)) = measured.iter().find(|(known, _)| *known == at) {
        return Ok(row.clone());
    }
    let plant = &plants[at];
    let row = asked(plants, |convictor| {
        let found = convictor.found(at + 1, plant, &plant.scenarios, usize::MAX)?;
        Ok(PageRow::new(plant, &found, &convictor.failing(at + 1, plant)?))
    })?;
    if row.is_unconvicted() && plant.why.is_empty() {
        return Err(format!("nothing convicts {}: add a test, or say why", plant.name).into());
    }
    measured.push((at, row.clone()));
    Ok(row)
}

/// Asks the one convictor of this process.
fn asked<T>(
    plants: &[Plant],
    question: impl FnOnce(&mut Convictor) -> Result<T>,
) -> Result<T, String> {
    static CONVICTOR: Mutex<Option<Result<Convictor, String>>> = Mutex::new(None);
    let mut convictor = CONVICTOR.lock().unwrap_or_else(PoisonError::into_inner);
    let start = || Convictor::start(root(), plants).map_err(|error| format!("{error:#}"));
    let convictor = convictor.get_or_insert_with(start).as_mut().map_err(|error| error.clone())?;
    question(convictor).map_err(|error| format!("{error:#}"))
}

/// Prints the row of the page for each bug whose name contains one of `parts`. For one that names no scenario and no test,
/// looks in the first version of every scenario, and prints those that convict it best: without a golden, canonically, and
/// in a short recording. If none does, prints the tests of its crate that fail.
fn explore(plants: &[Plant], parts: &str) -> Result<(), String> {
    let workspace = Workspace::at(root());
    let size = |name: &String| {
        let files = walkdir::WalkDir::new(workspace.cassettes().join(name)).into_iter().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>()
    };
    let names = workspace.names().expect("the folders can be read");
    let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.sort_by_cached_key(size);
    let is_meant = |plant: &Plant| parts.split(',').any(|part| plant.name.contains(part));
    for (at, plant) in plants.iter().enumerate().filter(|(_, plant)| is_meant(plant)) {
        if !(plant.scenarios.is_empty() && plant.tests.is_empty()) {
            match convicted(plants, at) {
                Ok(row) => println!("{}", row.line()),
                Err(failed) => println!("{}: {failed:?}", plant.name),
            }
            continue;
        }
        let mut found = asked(plants, |convictor| convictor.found(at + 1, plant, &names, 1))?;
        found.retain(|(_, kinds)| !kinds.is_empty());
        if found.is_empty() {
            let failing = asked(plants, |convictor| convictor.all_failing(at + 1, plant.folder()))?;
            println!("{}\ntests = {failing:?}", plant.name);
            continue;
        }
        found.sort_by_key(|(_, kinds)| {
            let is = |sign: &str| kinds.iter().any(|kind| kind.to_string().starts_with(sign));
            let is_free = kinds.iter().any(|kind| needs_no_golden(&kind.to_string()));
            (!is_free, is("PL"))
        });
        let best: Vec<&String> = found.iter().map(|(name, _)| name).take(BEST).collect();
        let id = |kind: &FindingKind| kind.to_string()[..5].to_owned();
        let kinds: BTreeSet<String> =
            found.iter().flat_map(|(_, kinds)| kinds.iter().map(id)).collect();
        println!("{}\nscenarios = {best:?} # {} of {kinds:?}", plant.name, found.len());
    }
    Ok(())
}
