//! Sweeps of one small run, and what they find.

use std::path::Path;

use clitape_recording::scenario::{AcpClient, Chat, ChatMode, RunSpec, Workspace};

use super::*;
use crate::check::recording::{Recording, setups};
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
    let found = [0, 1, 7].map(|count| {
        let cores = IdleCores::default();
        cores.add(count);
        sweep_on(&cores, mode, base, plans, faults)
    });
    let [alone, ..] = &found;
    assert!(found.iter().all(|found| found == alone), "the cores change what is found: {found:?}");
    alone.clone()
}

fn sweep_on(
    cores: &IdleCores,
    mode: ChatMode,
    base: &str,
    plans: u64,
    faults: &[&str],
) -> Option<Finding> {
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
        cores,
        sharing: PlanSharing::default(),
        parsed: &ParsedPlans::default(),
    }
    .run(&mut Vec::new())
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
    let plan = format!(r#"{{"format":1,"seed":1,"steps":[[0,{}]]}}"#, RUN.len());
    assert!(finding.sentence.contains("`delta` of text should be"), "{}", finding.sentence);
    assert!(finding.sentence.starts_with("seed 1: turn 1, +0 ms: "), "{}", finding.sentence);
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

/// Whether two replays have the same entries in every lane but that of the pieces in which stdout came.
fn has_same_lanes(a: &Replay, b: &Replay) -> bool {
    let mut lanes = Lane::ALL.into_iter().filter(|lane| *lane != Lane::Read);
    lanes.all(|lane| a.lane(lane).eq(b.lane(lane)))
}

/// The newest recording of every scenario, under plans of each sort: what a sweep leaves out is what it would find to
/// be the same.
#[test]
fn what_a_sweep_does_not_replay_is_the_same() {
    let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let (mut like_twin, mut unlike) = (0, 0);
    for name in workspace.names().unwrap() {
        let scenario = Arc::new(workspace.load(&name).unwrap());
        let Some(version) = workspace.usual_version(&scenario).unwrap() else { continue };
        let recording = Recording::load(&workspace, &scenario, &version).unwrap();
        let setups: Vec<Setup> = setups(&scenario).into_iter().take(recording.at_once()).collect();
        let bases: Vec<_> = setups.iter().map(|setup| recording.fault_free(*setup)).collect();
        let followed: Vec<&Replay> = bases.iter().map(|base| &**base).collect();
        let (capture, pace_ms) = (recording.capture(), scenario.run.pace_ms);
        let faulty = Plan::canonical(capture, pace_ms).faulty_dialogues(capture);
        let faulty = faulty.into_iter().take(1).map(|(_, plan)| plan);
        let seeded = [4, 5, 8].map(|seed| Plan::seeded(capture, seed));
        let agent = Plan::seeded_agent_fault(capture, 1, pace_ms);
        for plan in seeded.into_iter().chain(faulty).chain([agent]) {
            let place = format!("{name}: {}", plan.to_line());
            let played = plan.played(capture);
            let uncut = played.uncut();
            let alone = replay_played(&played, &setups);
            let (cuts, _) = replay_following(&played, &followed);
            let (twins, is_in_step) = replay_following(&uncut, &followed);
            assert!(twins == replay_played(&uncut, &setups), "{place}");
            let twin = Twin::new(&uncut, twins, is_in_step.then(|| bases[0].heard.clone()));
            let is_twin = twin.stands_for(&played);
            *if is_twin { &mut like_twin } else { &mut unlike } += 1;
            for (index, (cut, base)) in cuts.iter().zip(&bases).enumerate() {
                assert!(*cut == alone[index], "{place}");
                assert!(!is_twin || has_same_lanes(cut, &twin.replays[index]), "{place}");
                if cut.has_events_of(base) && broken(base).is_empty() {
                    let kinds = |broken: Vec<BrokenRule>| {
                        broken.into_iter().map(|it| it.kind).collect::<Vec<_>>()
                    };
                    let beside = kinds(broken_beside_events(cut));
                    assert_eq!(kinds(broken(cut)), beside, "{place}");
                }
            }
        }
    }
    assert!(like_twin > 500 && unlike > 10, "{like_twin} like their twins, {unlike} not");
}

/// A twin stands for plans that have other cuts and nothing else, while the parser tells the same of them.
#[test]
fn a_twin_stands_for_its_plans_alone() {
    let stdout = RUN.as_bytes();
    let setup = Setup { run: RunSpec::default(), channel: None, acp: None };
    let first = Plan::seeded(stdout, 4);
    let uncut = first.uncut(stdout);
    let uncut = uncut.played(stdout.into());
    let twin = Twin::new(&uncut, replay_played(&uncut, &[setup]), None);
    let check = |plan: &Plan, stdout: &str, is_of: bool, stands_for: bool| {
        let played = plan.played(stdout.as_bytes().into());
        let found = (twin.is_of(&played.uncut()), twin.stands_for(&played));
        assert_eq!(found, (is_of, stands_for), "{}", plan.to_line());
    };
    check(&Plan::seeded(stdout, 5), RUN, true, true);
    check(&Plan::seeded(stdout, 8), RUN, false, true);
    check(&first.clone().with_faults(["1:hang".parse().unwrap()]), RUN, false, true);
    // The parser tells something else, as much of it at the same times.
    check(&first, &RUN.replace("Worte", "Wörte").replace("mehr.", "meh."), true, false);
    check(&first, &RUN.replace(r#""session_id":"s"}"#, r#""session_id":"s"]"#), true, false);
}

/// Setups that come later take what the parser said of a plan, and ask it of no other one.
#[test]
fn a_plan_is_parsed_once_for_all_setups() {
    let parsed = ParsedPlans::default();
    let check = |plan: (usize, usize), says: bool, expect: bool| {
        assert_eq!(parsed.known_or(plan, || says), expect, "{plan:?}");
    };
    check((0, 1), true, true);
    check((0, 1), false, true);
    check((1, 1), false, false);
    check((1, 1), true, false);
    check((1, 0), true, true);
}
