//! Tests the properties of the fuzz targets on every committed seed and every file of their corpora, so that each
//! change is tried against earlier finds of the fuzzer.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a property that does not hold fails the test"
)]

mod common;
#[path = "../fuzz/properties/mod.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets use it as a library")]
mod properties;

use std::path::PathBuf;

use common::{files, root};
use properties::TARGETS;

/// Returns the committed inputs of a target: its seeds, and the finds of the fuzzer.
fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = |kind: &str| root().join("fuzz").join(kind).join(target);
    let is_there = |dir: &PathBuf| dir.is_dir();
    let folders = [folder("seeds"), folder("corpus")].into_iter().filter(is_there);
    folders.flat_map(|dir| files(&dir, "")).collect()
}

#[track_caller]
fn check(target: &str) {
    let (_, property) = TARGETS.iter().find(|(name, _)| *name == target).expect("there is one");
    let inputs = inputs(target);
    assert!(!inputs.is_empty(), "there is no seed in fuzz/seeds/{target}");
    for path in inputs {
        // Shown only if the property fails.
        println!("{}", path.display());
        property(&std::fs::read(&path).expect("an input can be read"));
    }
}

#[test]
fn bot_api_properties_hold_for_the_corpus() {
    check("bot_api");
}

#[test]
fn cassette_properties_hold_for_the_corpus() {
    check("cassette");
}

#[test]
fn import_properties_hold_for_the_corpus() {
    check("import");
}

#[test]
fn plan_properties_hold_for_the_corpus() {
    check("plan");
}

#[test]
fn scenario_properties_hold_for_the_corpus() {
    check("scenario");
}

#[test]
fn stream_properties_hold_for_the_corpus() {
    check("stream");
}

#[test]
fn timeline_properties_hold_for_the_corpus() {
    check("timeline");
}

#[test]
fn every_target_is_built_and_run_each_week() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).expect("it can be read");
    let (manifest, workflow) = (text("fuzz/Cargo.toml"), text(".github/workflows/scheduled.yml"));
    let source = text("tests/corpus.rs");
    for (target, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "fuzz/Cargo.toml: {target}");
        assert!(root().join(format!("fuzz/fuzz_targets/{target}.rs")).is_file(), "{target}");
        assert!(workflow.contains(&format!("- {target}\n")), "scheduled.yml does not run {target}");
        assert!(source.contains(&format!("check(\"{target}\")")), "no test of {target} here");
    }
    let targets = files(&root().join("fuzz/fuzz_targets"), ".rs").len();
    assert_eq!(targets, TARGETS.len());
}

/// The corpora are part of every checkout, so they must be small and free of traces of a machine.
#[test]
fn the_corpora_are_small_and_know_no_machine() {
    let mut size = 0;
    for (target, _) in TARGETS {
        for path in inputs(target) {
            let bytes = std::fs::read(&path).expect("an input can be read");
            size += bytes.len();
            let text = String::from_utf8_lossy(&bytes);
            for leak in ["root", "Users"].map(|folder| format!("/{folder}/")) {
                assert!(!text.contains(&leak), "{} holds `{leak}`", path.display());
            }
        }
    }
    assert!(size <= LIMIT, "the seeds and corpora are {size} bytes, {LIMIT} are enough");
}

/// The most bytes of all seeds and corpora together.
const LIMIT: usize = 3 << 19;
