//! A recording whose replays are too much for the memory is judged as any other one; entries know their turns.

use std::path::Path;
use std::sync::Arc;

use clitape_judge::CheckResult;
use clitape_recording::scenario::Workspace;
use clitape_recording::trace::Entry;

use crate::check::ScenarioChecks;
use crate::check::recording::{Recording, Recordings, setups};

mod bytes;
mod recorded;
mod shared;

/// The checks of a scenario. Another pace than the scenario's lets the goldens differ.
fn checks(scenario: &str, pace_ms: Option<u64>) -> ScenarioChecks {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let workspace = Workspace::at(Path::new(root));
    let mut scenario = workspace.load(scenario).unwrap();
    scenario.run.pace_ms = pace_ms.unwrap_or(scenario.run.pace_ms);
    ScenarioChecks::new(&workspace, scenario).unwrap()
}

/// Lets the replays of every recording be made one at a time, as those of a long one are.
fn make_long(recordings: &Recordings) {
    for (version, kept) in &recordings.kept {
        let recording = Recording::load(&recordings.workspace, &recordings.scenario, version);
        let long = Recording { most_at_once: (1, 0), ..recording.unwrap() };
        kept.lock().unwrap().recording = Some(Arc::new(long));
    }
}

/// The results of all checks of a scenario, each as its name, its counts and its findings.
fn judged(scenario: &str, is_long: bool, pace_ms: Option<u64>) -> Vec<String> {
    let checks = checks(scenario, pace_ms);
    if is_long {
        make_long(&checks.recordings);
    }
    let judged = checks.checks().iter().map(|check| {
        let CheckResult { findings, goldens, plans, .. } = checks.judge(check, false).unwrap();
        let sentences: Vec<_> = findings.iter().map(|finding| &finding.sentence).collect();
        format!("{check}: {goldens} goldens, {plans} plans, {sentences:?}")
    });
    judged.collect()
}

#[track_caller]
fn check(scenario: &str, pace_ms: Option<u64>, finds: bool) {
    let usual = judged(scenario, false, pace_ms);
    assert_eq!(usual.iter().any(|check| !check.ends_with("[]")), finds, "{usual:?}");
    assert_eq!(judged(scenario, true, pace_ms), usual, "{scenario}");
}

#[test]
fn a_long_recording_is_judged_as_a_short_one() {
    for scenario in ["live-multi-turn", "chat-lost-replies", "ask-user-multi"] {
        check(scenario, None, false);
    }
    check("plain-text", Some(731), true);
}

#[test]
fn an_entry_has_the_turn_that_its_line_says() {
    let checks = checks("live-multi-turn", None);
    let version = checks.versions().last().unwrap();
    let replays = checks.recording(version).unwrap().replays(&setups(checks.scenario()));
    let mut last = 1;
    for entry in replays.iter().flat_map(|replay| &replay.entries) {
        let line: Entry = serde_json::from_str(&entry.to_line()).unwrap();
        assert_eq!(line.turn(), entry.turn(), "{}", entry.to_line());
        last = last.max(entry.turn());
    }
    assert!(last > 1, "there are turns after the first one");
}
