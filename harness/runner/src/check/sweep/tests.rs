//! Sweeps of one small run, and what they find.

use clitape_recording::scenario::{AcpClient, Chat, ChatMode, RunSpec};

use super::*;
use crate::replay::replay;

/// The output of a run with one answer.
pub(in crate::check) const RUN: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","#,
    r#""text":"Grüße aus 世界 🌍, und noch ein paar Worte mehr."}],"stop_reason":null},"#,
    r#""session_id":"s"}"#,
    "\n",
    r#"{"type":"result","subtype":"success","is_error":false,"#,
    r#""result":"Grüße aus 世界 🌍, und noch ein paar Worte mehr.","session_id":"s"}"#,
    "\n",
);

/// Sweeps [`RUN`] with a chat in `mode` against the canonical replay of `base`.
fn sweep(mode: ChatMode, base: &str, plans: u64, faults: &[&str]) -> Option<Finding> {
    let acp = Some(AcpClient { terminal: false });
    let setup = Setup { run: RunSpec::default(), channel: Some(Chat::of(mode)), acp };
    let base = replay(base.as_bytes(), &Plan::canonical(base.as_bytes(), 200), setup);
    let faults: Vec<Fault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    PlanSweep {
        capture: RUN.as_bytes().into(),
        pace_ms: 200,
        bases: vec![Arc::new(base)],
        seeds: Seeds { first: 1, count: plans },
        pinned: &[],
        faults: &faults,
        drawn: if faults.is_empty() { &[] } else { &[FaultKind::Slow] },
        place: "x 1.0 plans".into(),
        reproduce: &|plan, _, lane| format!("{} {lane:?}", plan.to_line()),
        replayed: &|_, _, _| (),
    }
    .run(&mut SweptPlans::default())
    .map(|failed| failed.finding)
}

#[test]
fn every_plan_tells_what_the_uncut_replay_does() {
    assert_eq!(sweep(ChatMode::Partial, RUN, 16, &[]), None);
}

#[test]
fn a_divergence_is_told_with_the_smallest_plan() {
    let base = RUN.replace("Worte", "Wörter");
    let finding = sweep(ChatMode::Partial, &base, 16, &[]).unwrap();
    assert_eq!(finding.id, FindingKind::PlanDiverges);
    let plan = format!(r#"{{"format":1,"steps":[[0,{}]]}}"#, RUN.len());
    assert!(finding.sentence.contains("`delta` of text should be"), "{}", finding.sentence);
    assert!(
        finding.sentence.starts_with("all in one read: turn 1, +0 ms: "),
        "{}",
        finding.sentence
    );
    assert_eq!(finding.reproduce.as_str(), format!("{plan} Some(Lifecycle)"));
}

#[test]
fn v6_a_finding_names_the_faults_it_takes() {
    let errors = ["1", "2", "3", "4", "5"].map(|call| format!("{call}:server-error"));
    let mut faults: Vec<&str> = errors.iter().map(String::as_str).collect();
    faults.push("7:hang");
    let found = sweep(ChatMode::Off, RUN, 4, &faults[1..]);
    assert_eq!(found, None, "the final message is tried five times");
    let finding = sweep(ChatMode::Off, RUN, 4, &faults).unwrap();
    assert_eq!(finding.id, FindingKind::FinalNotOnce);
    let listed = format!(r#""faults":["{}"]}}"#, errors.join("\",\""));
    assert!(finding.reproduce.as_str().contains(&listed), "{}", finding.reproduce);
}
