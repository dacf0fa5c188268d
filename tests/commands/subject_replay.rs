//! Tests of a subject that is called like `clitape replay`: clitape itself, and shell scripts that spoil its output.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use crate::common::{check, clitape, workspace};

/// Makes a workspace whose subject `mine` is a shell script, which gets the program and then its arguments.
fn with_script(script: &str, settings: &str) -> tempfile::TempDir {
    let dir = workspace(&["plain-text", "three-tools", "silent-run", "permission-late"]);
    let program = clitape().get_program().to_string_lossy().into_owned();
    let toml = format!(
        "[subject.mine]\nkind = 'replay'\nquestions_asked = true\n{settings}\n\
         command = ['sh', '-c', '''{script}''', '{program}']\n"
    );
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    dir
}

#[test]
fn a_replay_is_judged_and_accepted_as_a_gateway_is() {
    let dir = with_script(r#"exec "$0" "$@""#, "");
    let path = dir.path();
    check(path, &["subject", "list"], 0, &["mine", "replay"], &[]);
    let test = ["test", "--yes", "--subject", "mine", "--plans", "2"];
    let left_out = "left out 1 cassette: it sets a silent run of clitape's own gateway: silent-run";
    let says = [left_out, "3 scenarios: 3 cassettes, 4 seeded plans", "all held"];
    check(path, &test, 0, &says, &[]);
    check(
        path,
        &["test", "--yes", "--subject", "mine", "plain-text", "--update"],
        0,
        &["1 pending"],
        &[],
    );
    check(path, &["review", "--accept"], 0, &["1 accepted"], &[]);
    check(
        path,
        &["test", "--yes", "--subject", "mine", "plain-text"],
        0,
        &["1 golden", "all held"],
        &[],
    );
}

#[test]
fn a_subject_gets_records_that_no_cli_prints_only_where_they_are_named() {
    let dir = with_script(r#"exec "$0" "$@""#, "");
    let path = dir.path();
    let test = ["test", "--yes", "--subject", "mine"];
    check(path, &["import", "plain.jsonl", "--scenario", "made-up", "--synthetic"], 2, &[], &[]);
    let recorded = path.join("cassettes/plain-text/2.1.332/stdout.jsonl");
    fs::copy(recorded, path.join("plain.jsonl")).unwrap();
    check(path, &["import", "plain.jsonl", "--scenario", "made-up", "--synthetic"], 0, &[], &[]);
    check(path, &["list", "made-up"], 0, &["(synthetic)"], &[]);
    check(path, &["show", "made-up"], 0, &[", synthetic"], &[]);
    let left_out = "left out 1 cassette: no CLI prints its records; name it to play it: made-up/";
    check(path, &test, 0, &[left_out], &[]);
    let named = [&test[..], &["made-up"]].concat();
    let out = check(path, &named, 0, &["1 cassette", "all held"], &[]);
    assert!(!out.contains("left out"), "{out}");
}

#[test]
fn the_plans_of_a_subject_have_the_seeds_that_are_asked_for_and_its_runs_have_times() {
    let fails = r#"case "$*" in *--plan*) exit 4 ;; esac; exec "$0" "$@""#;
    let dir = with_script(fails, "");
    let test = ["test", "--yes", "--subject", "mine", "plain-text"];
    let seeds = [&test[..], &["--seed", "7..8", "--junit", "r.xml"]].concat();
    let says = ["2 seeded plans", "delayed by seed 7, the gateway ended", "delayed by seed 8, "];
    let out = check(dir.path(), &seeds, 3, &says, &[]);
    assert!(!out.contains("seed 1,"), "{out}");
    let xml = fs::read_to_string(dir.path().join("r.xml")).unwrap();
    let junit = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    let cases = junit.test_suites.iter().flat_map(|suite| &suite.test_cases);
    assert!(junit.time.is_some() && cases.clone().all(|case| case.time.is_some()), "{xml}");
    let many = [&test[..], &["--seed", "1..1001"]].concat();
    check(dir.path(), &many, 2, &[], &["1000 are the most for a subject"]);
}

#[test]
fn what_a_replay_prints_wrongly_is_a_finding() {
    let spoiled = |how: &str| format!(r#""$0" "$@" | {how}"#);
    let again = r#"awk '{ print } /"message_id":1/ { line = $0 } END { gsub("\"message_id\":1", "\"message_id\":7", line); sub("editMessageText", "sendMessage", line); print line }'"#;
    let fails = r#"case "$*" in *--plan*) exit 4 ;; esac; exec "$0" "$@""#;
    for (script, settings, expect) in [
        (spoiled(again), "", "SB004 answer-twice subject mine: plain-text/2.1.332"),
        (spoiled("head -2"), "", "SB002 answer-not-whole subject mine: plain-text/2.1.332"),
        ("echo x; exit 0".to_owned(), "", "line 1 that it printed is no entry of a trace"),
        ("echo no >&2; exit 3".to_owned(), "", "ended with code 3); its last words are “no”"),
        ("sleep 60".to_owned(), "within_s = 1", "the gateway hung: for 1 s, it had not ended"),
        (
            fails.to_owned(),
            "",
            "delayed by seed 1, the gateway ended with code 4; without, it came to its end",
        ),
    ] {
        let dir = with_script(&script, settings);
        let test = ["test", "--yes", "--subject", "mine", "plain-text", "--plans", "1"];
        check(dir.path(), &test, 3, &[expect, "reproduce: sh -c "], &[]);
    }
}

#[test]
fn a_recording_is_made_small_for_which_a_subject_has_a_finding() {
    // The last edit is sent as a message of its own once more.
    let again = r#""$0" "$@" | awk '{ print } /"message_id":1/ { line = $0 } END { gsub("\"message_id\":1", "\"message_id\":7", line); sub("editMessageText", "sendMessage", line); print line }'"#;
    let dir = with_script(again, "");
    let shrink = ["shrink", "plain-text/2.1.332", "small", "--subject", "mine"];
    let args = [&shrink[..], &["--yes"]].concat();
    let out = check(dir.path(), &args, 0, &["wrote scenarios/small: ", "SB004 answer-twice"], &[]);
    let lines = out.lines().find_map(|line| line.strip_prefix("wrote scenarios/small: ")).unwrap();
    let counts: Vec<usize> = lines.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(counts[0] < counts[1] / 2, "{lines}");
    let then = out.lines().last().unwrap().trim().strip_prefix("clitape ").unwrap();
    let then: Vec<&str> = then.split(' ').chain(["--yes"]).collect();
    check(dir.path(), &then, 3, &["SB004 answer-twice subject mine: small/2.1.332"], &[]);
    check(dir.path(), &args, 2, &[], &["scenarios/small is there already"]);
    let right = [&shrink[..2], &["other", "--subject", "right", "--yes"]].concat();
    let toml = fs::read_to_string(dir.path().join("clitape.toml")).unwrap();
    let toml = toml.replace(again, r#"exec "$0" "$@""#).replace(".mine]", ".right]");
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    let nothing = "right has no finding, so that there is nothing to shrink";
    check(dir.path(), &right, 4, &[nothing], &[]);
    check(dir.path(), &["shrink", "plain-text", "other", "--pace", "9"], 2, &[], &["--subject"]);
}
