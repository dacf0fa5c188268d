//! A sample of mutants of the parser, the gateway, the runner and the rig, and what the scenarios and the unit tests make of each.
//!
//! `docs/mutants.md` has the result: `cargo test --test mutants` measures it in about an hour, writes that page, and
//! fails where too few are caught or where one that nothing catches has no reason in `mutants/survivors.toml`. It
//! needs `cargo install --locked cargo-mutants`, which lists the mutants. All of the sample are built into one
//! program that has a switch for each, because a build takes longer than most runs.
//!
//! `cargo test --test mutants -- --sample runner` measures only the part of the sample that has this crate, and writes
//! its section of the page. `cargo test --test mutants -- display/shell turns.rs` tries all mutants whose names contain
//! one of these parts, prints what catches each, and writes nothing.

#![allow(clippy::expect_used, reason = "a scenario that can't be used fails the run")]

mod copy;
#[path = "mutants/listed.rs"]
mod listed;
#[path = "mutants/page.rs"]
mod page;
#[path = "mutants/suite.rs"]
mod suite;
#[path = "mutants/switches.rs"]
mod switches;
#[path = "mutants/tree.rs"]
mod tree;
#[path = "mutants/trial.rs"]
mod trial;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use listed::{CodePart, Mutant, PARTS};
use page::Outcome;
use tree::Tree;
use trial::Trials;

/// Trials at a time.
const AT_ONCE: usize = 2;

fn main() -> ExitCode {
    if std::env::var_os(trial::ROLE).is_some() {
        return suite::judge();
    }
    match measured() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What the arguments ask for.
enum Asked {
    /// The samples of these parts.
    Samples(Vec<&'static CodePart>),
    /// All mutants whose names contain one of these texts.
    Named(Vec<String>),
}

impl Asked {
    fn from_arguments() -> Result<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match &*arguments {
            [] => Ok(Self::Samples(PARTS.iter().collect())),
            [option, name] if option == "--sample" => {
                let part = PARTS.iter().find(|part| part.crates.contains(&&**name));
                let part = part.with_context(|| format!("no part has the crate `{name}`"))?;
                Ok(Self::Samples(vec![part]))
            }
            _ => Ok(Self::Named(arguments)),
        }
    }
}

/// Tries the samples, writes the page and says what is wrong with it; or tries the mutants that the arguments name.
fn measured() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let asked = Asked::from_arguments()?;
    let listed = listed::listed(root)?;
    let sample = match &asked {
        Asked::Samples(parts) => listed::sample(&listed, parts),
        Asked::Named(texts) => {
            let is_named = |one: &&Mutant| texts.iter().any(|text| one.key.contains(text));
            listed.iter().filter(is_named).cloned().collect()
        }
    };
    let mut tree = Tree::new(root, sample.clone())?;
    tree.fit()?;
    let trials = Trials::new(tree.build()?)?;
    let numbers: Vec<usize> = tree.viable.iter().copied().collect();
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Outcome<'_>>> = Mutex::default();
    let work = || -> Result<()> {
        while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mutant = tree.mutant(*number);
            let caught = trials.run(*number, mutant)?;
            println!("{} | {caught}", mutant.key);
            outcomes.lock().expect("no trial panics").push(Outcome { mutant, caught });
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no trial panics"))
    })?;
    let outcomes = outcomes.into_inner().expect("no trial panics");
    let Asked::Samples(parts) = asked else {
        return Ok(());
    };
    let left_out = tree.left_out.iter().map(|number| tree.mutant(*number).clone()).collect();
    let wrong = page::write(root, &parts, &outcomes, &[listed, sample, left_out])?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
