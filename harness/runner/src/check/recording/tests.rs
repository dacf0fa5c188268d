//! A recording whose replays are too much for the memory is judged as any other one.

use std::path::Path;

use crate::check::{CheckResult, ScenarioChecks};
use crate::scenario::Workspace;

/// The results of all checks of a scenario, each as its name, its counts and its findings. Another pace than the scenario's
/// lets the goldens differ.
fn judged(scenario: &str, is_long: bool, pace_ms: Option<u64>) -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let workspace = Workspace::at(Path::new(root));
    let mut scenario = workspace.load(scenario).unwrap();
    scenario.run.pace_ms = pace_ms.unwrap_or(scenario.run.pace_ms);
    let checks = ScenarioChecks::new(&workspace, scenario).unwrap();
    if is_long {
        checks.make_long().unwrap();
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
fn issue_20_point_2_a_long_recording_is_judged_as_a_short_one() {
    for scenario in ["live-multi-turn", "chat-lost-replies", "ask-user-multi"] {
        check(scenario, None, false);
    }
    check("plain-text", Some(731), true);
}
