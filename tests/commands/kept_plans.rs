//! Tests of plans that failed: they are stored, replayed first, and removed once they pass; a scenario can pin a plan.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;

use crate::common::{check, run, workspace};

/// The stored plans of the one recording that the tests use.
const KEPT: &str = ".clitape/failures/plain-text/2.1.329.json";

/// Pins plans in the scenario of the workspace at `dir`.
pub(crate) fn pin(dir: &Path, plans: &str) {
    let path = dir.join("scenarios/plain-text/scenario.toml");
    let text = fs::read_to_string(&path).unwrap();
    let whole = text.split("\n[[plan]]").next().unwrap();
    fs::write(&path, format!("{whole}\n{plans}")).unwrap();
}

/// Returns a plan of the recording under which the chat's server refuses every attempt to send the answer.
pub(crate) fn failing_plan(dir: &Path) -> String {
    let stdout = dir.join("cassettes/plain-text/2.1.329/stdout.jsonl");
    let size = fs::metadata(stdout).unwrap().len();
    let faults: Vec<String> = (1..=6).map(|call| format!("\"{call}:server-error\"")).collect();
    let faults = faults.join(",");
    format!(r#"{{"format":1,"steps":[[0,9],[40,{}]],"faults":[{faults}]}}"#, size - 9)
}

/// Returns that plan as a `[[plan]]`.
pub(crate) fn failing(dir: &Path) -> String {
    format!("[[plan]]\ncli = '2.1.329'\njson = '{}'\n", failing_plan(dir))
}

#[test]
fn a_plan_that_failed_is_tried_first_and_dropped_once_it_holds() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let args = ["test", "plain-text/2.1.329"];
    check(dir, &args, 0, &["ok"], &[]);
    assert!(!dir.join(".clitape").exists(), "nothing failed");

    pin(dir, &failing(dir));
    let out = check(
        dir,
        &args,
        3,
        &["KEPT plain-text 2.1.329: pinned plan 1 (GW004 final-not-once)"],
        &[],
    );
    assert!(out.contains("pinned plan 1: "), "{out}");
    assert_eq!(fs::read_to_string(dir.join(".clitape/.gitignore")).unwrap(), "*\n");
    let kept = fs::read_to_string(dir.join(KEPT)).unwrap();

    // Without the scenario's plan, the stored one still fails.
    pin(dir, "");
    let out = check(dir, &args, 3, &["GW004 final-not-once plain-text 2.1.329"], &[]);
    assert!(out.contains("pinned plan 1 (kept): "), "{out}");
    assert!(!out.contains("KEPT"), "{out}");
    assert_eq!(fs::read_to_string(dir.join(KEPT)).unwrap(), kept);

    // A plan that passes: the server refuses only the first call.
    let mended = kept.replace(",\"2:server-error\"", "").replace(",\"3:server-error\"", "");
    fs::write(dir.join(KEPT), mended).unwrap();
    let fixed = "FIXED plain-text 2.1.329: pinned plan 1 (GW004 final-not-once) holds now";
    check(dir, &args, 0, &[fixed], &[]);
    assert!(!dir.join(KEPT).exists());
    let out = check(dir, &args, 0, &[], &[]);
    assert!(!out.contains("FIXED"), "{out}");
}

#[test]
fn kept_plans_that_cannot_be_used_are_told_and_change_no_verdict() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let args = ["test", "plain-text/2.1.329"];
    pin(dir, &failing(dir));
    check(dir, &args, 3, &["KEPT"], &[]);
    pin(dir, "");
    // Plans of another recording.
    let kept = fs::read_to_string(dir.join(KEPT)).unwrap();
    let (head, tail) = kept.split_once("\"stdout_sha256\":\"").unwrap();
    let other = format!("{head}\"stdout_sha256\":\"0{}", &tail[1..]);
    fs::write(dir.join(KEPT), other.replacen("\"0", "\"x", 1)).unwrap();
    check(
        dir,
        &args,
        0,
        &["DROPPED plain-text 2.1.329: pinned plan 1 (GW004 final-not-once)"],
        &[],
    );
    assert!(!dir.join(KEPT).exists());
    // More plans than the file may have, as a repository may bring them.
    let (head, plan) = kept.trim_end().trim_end_matches("]}").split_once("\"plans\":[").unwrap();
    for (plans, notes) in [
        (20, "pinned plan 1 (kept): "),
        (21, "2.1.329.json has no kept plans: it has more than 20 plans, the most that are kept"),
        (20_000, "it has more than 20 plans, the most that are kept at line 1 "),
    ] {
        let all = vec![plan; plans].join(",");
        fs::write(dir.join(KEPT), format!("{head}\"plans\":[{all}]}}\n")).unwrap();
        check(dir, &args, if plans > 20 { 0 } else { 3 }, &[notes], &[]);
    }
    // A plan with more pieces than are replayed.
    let pieces = "[0,0],".repeat(4_000);
    fs::write(dir.join(KEPT), kept.replacen("\"steps\":[", &format!("\"steps\":[{pieces}"), 1))
        .unwrap();
    let most = [&args[..], &["--max-pieces", "4000"]].concat();
    let told = "(GW004 final-not-once): plain-text 2.1.329 has 400";
    check(
        dir,
        &most,
        0,
        &["DROPPED plain-text 2.1.329: pinned plan 1 ", told, "--max-pieces"],
        &[],
    );
    // A file that is not JSON, and a folder that is a link.
    fs::write(dir.join(KEPT), "{").unwrap();
    check(dir, &args, 0, &["NOT READ ", "2.1.329.json has no kept plans: "], &[]);
    fs::remove_dir_all(dir.join(".clitape")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), dir.join(".clitape")).unwrap();
    pin(dir, &failing(dir));
    check(dir, &args, 3, &["NOT KEPT ", "is no folder of its own"], &[]);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_scenario_pins_seeds_and_plans() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    pin(dir, "[[plan]]\nseed = 4711\nabout = 'a seed that was told in an issue'\n");
    check(dir, &["test"], 0, &[], &[]);
    // A plan of another recording is a finding, unless it names its version.
    let plan = failing(dir).replace("cli = '2.1.329'\n", "");
    pin(dir, &plan);
    let unusable = ["`[[plan]]` 1 can't be used"];
    check(dir, &["test", "plain-text/1.0.128"], 3, &unusable, &[]);
    for (keys, expect) in [
        ("seed = 1\njson = '{}'", "a [[plan]] has either a `seed` or `json`"),
        ("about = 'x'", "a [[plan]] has a `seed`, or the plan itself as `json`"),
        ("seed = 1\ncli = 'x y'", "scenario.toml"),
    ] {
        pin(dir, &format!("[[plan]]\n{keys}\n"));
        let (code, out, err) = run(dir, &["test"]);
        assert!(code != 0 && (out + &err).contains(expect), "{keys}");
    }
}
