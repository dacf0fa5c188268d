//! Tests of `clitape sweep`: it tries many seeds in steps, goes on where it was ended, and lists the seeds that fail.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use crate::common::{check, workspace};
use crate::kept_plans::{failing, pin};

#[test]
fn a_sweep_goes_on_where_it_was_ended() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let one = "plain-text/2.1.329";
    let args = ["sweep", one, "--seeds", "1..40"];
    // The time is over before the first step.
    let over = [&args[..], &["--for", "1ms"]].concat();
    check(dir, &over, 4, &["0 seeds of 40", "the same command goes on with seed 1"], &[]);
    let state = dir.join(".clitape/sweep.json");
    assert!(!state.exists(), "nothing was replayed");
    let done = check(dir, &args, 0, &["40 seeds of 40, 40 plans: all held"], &[]);
    assert!(!done.contains("goes on"), "{done}");

    // The state of a sweep that was ended after the second step.
    let text = fs::read_to_string(&state).unwrap();
    let ended = text.replace("\"done\":40,\"plans\":40", "\"done\":32,\"plans\":32");
    assert_ne!(text, ended);
    fs::write(&state, &ended).unwrap();
    let expect = ["goes on at seed 33; 0 failures so far", "40 seeds of 40, 40 plans: all held"];
    check(dir, &args, 0, &expect, &[]);
    // Other seeds, another program, and an invalid file begin anew.
    fs::write(&state, &ended).unwrap();
    let other = check(dir, &["sweep", one, "--seeds", "1..3"], 0, &["3 seeds of 3"], &[]);
    assert!(!other.contains("goes on"), "{other}");
    fs::write(&state, ended.replacen("\"fingerprint\":\"", "\"fingerprint\":\"x", 1)).unwrap();
    let anew = "the search begins anew: the program or the recordings changed";
    check(dir, &args, 0, &["40 seeds of 40"], &[anew]);
    fs::write(&state, "{").unwrap();
    check(dir, &args, 0, &["40 seeds of 40"], &["sweep.json is not what a search writes"]);
    for (args, expect) in [
        (&["sweep", "--seeds", "9..1"][..], "`9..1` has no seed"),
        (&["sweep"], "--seeds"),
        (&["sweep", "--seeds", "1..2", "--json", "no/such.json"], "there is no folder no"),
        (&["sweep", "--seeds", "1..2", "--for", "soon"], "write a time such as 90s"),
    ] {
        check(dir, args, 2, &[], &[expect]);
    }
}

#[test]
fn a_sweep_lists_the_seeds_that_fail_and_keeps_their_plans() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    // A plan that fails in each step stands in for seeds that fail.
    pin(dir, &failing(dir));
    let args = ["sweep", "--seeds", "1..32", "--json", "-"];
    let args = [&args[..1], &["plain-text/2.1.329", "plain-text/2.1.148"], &args[1..]].concat();
    let told =
        ["seeds that fail:", "pinned plan 1 plain-text 2.1.329 plans (GW004 final-not-once)"];
    let out = check(dir, &args, 3, &[], &told);
    let state: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&state["done"], &state["plans"]), (&32.into(), &64.into()), "{state}");
    let failing = state["failing"].as_array().unwrap();
    assert_eq!(failing.len(), 1, "the same in each step: {failing:?}");
    assert_eq!(failing[0]["name"], "pinned plan 1");
    assert!(dir.join(".clitape/failures/plain-text/2.1.329.json").exists());
    let kept = ["pinned plan 1 (kept): "];
    check(dir, &["test", "plain-text/2.1.329"], 3, &kept, &[]);
}

#[test]
fn a_damaged_cassette_ends_a_sweep_as_it_ends_a_test() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let path = dir.join("cassettes/plain-text/2.1.329/stdout.jsonl");
    let mut stdout = fs::read(&path).unwrap();
    stdout[0] = b' ';
    fs::write(&path, stdout).unwrap();
    let args = ["sweep", "plain-text/2.1.329", "--seeds", "1..2"];
    check(dir, &args, 5, &[], &["is damaged", "record the scenario again"]);
}
