//! The versions of the CLI as a user meets them: `[versions]` of `clitape.toml`, an unknown version, and a recording
//! of all scenarios with it. A shell script is in the CLI's place.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use common::{check, copy, workspace};

/// The CLI of version 9.9.9: it fails where it is asked to, and answers otherwise.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in
--version) echo 9.9.9 ;;
*Secret*) echo '{"type":"result","session_id":"5-a","result":"ghp_0123456789abcdefghijABCDEFGHIJ456789"}' ;;
*Fail*) echo '{"type":"result","session_id":"5-a"}'; exit 3 ;;
*) echo '{"type":"result","session_id":"5-a"}' ;;
esac
"#;
const MODEL: &str = "[[turn]]\n[[turn.block]]\ntext = 'Hi.'\n";

/// A workspace of its own with a CLI, and with scenarios of these names and keys of `[record]`.
fn recorder(scenarios: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, record) in scenarios {
        let folder = dir.path().join("scenarios").join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("title = 't'\nabout = 'a'\n[record]\n{record}\n");
        fs::write(folder.join("scenario.toml"), text).unwrap();
        fs::write(folder.join("model.toml"), MODEL).unwrap();
    }
    let program = dir.path().join("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

const ALL: [&str; 5] = ["record", "--all", "--yes", "--claude", "./claude"];

#[test]
fn a_recording_of_all_scenarios_goes_on_and_says_at_the_end_what_failed() {
    let dir = recorder(&[
        ("a-good", "prompt = 'Go.'"),
        ("b-fails", "prompt = 'Fail.'"),
        // What it says of an earlier version holds for this one.
        ("c-fails-since", "prompt = 'Fail.'\nexit = { '9.0.0' = 3 }"),
        ("d-no-more", "prompt = 'Fail.'\nexit = { '9.0.0' = 3, '9.9.0' = 0 }"),
        ("e-ended", "prompt = 'Go.'\nonly = { until = '9.9.8', reason = 'It has no such tool.' }"),
        ("f-good", "prompt = 'Go.'"),
        ("g-secret", "prompt = 'Secret.'"),
    ]);
    // An imported scenario has no model.
    fs::create_dir(dir.path().join("scenarios/imported")).unwrap();
    let imported = "title = 't'\nabout = 'a'\n[record]\nprompt = '(imported)'\n";
    fs::write(dir.path().join("scenarios/imported/scenario.toml"), imported).unwrap();
    let failed = [
        "1 of 6 recordings with findings: g-secret 9.9.9\n",
        "2 of 6 recordings failed:\n  b-fails 9.9.9: can't record b-fails with 9.9.9: the CLI exited with code 3, the \
         scenario expects that it exits with code 0;",
        "\n  d-no-more 9.9.9: can't record d-no-more",
    ];
    let out = check(dir.path(), &ALL, 4, &[], &failed);
    let written = out.lines().filter_map(|line| line.strip_prefix("wrote cassettes/"));
    let written: Vec<&str> = written.filter_map(|rest| Some(rest.split_once('/')?.0)).collect();
    assert_eq!(written, ["a-good", "c-fails-since", "f-good"], "{out}");
}

#[test]
fn a_single_recording_that_fails_is_told_as_an_error() {
    let dir = recorder(&[("fails", "prompt = 'Fail.'")]);
    let told = ["error: can't record fails with 9.9.9: the CLI exited with code 3"];
    check(dir.path(), &["record", "fails", "--yes", "--claude", "./claude"], 4, &[], &told);
}

#[test]
fn a_recording_without_a_named_cli_needs_the_versions() {
    let dir = recorder(&[("good", "prompt = 'Go.'")]);
    let told = ["clitape.toml: it has no [versions]", "or name a CLI with `--claude npm:VERSION`"];
    check(dir.path(), &["record", "good", "--yes"], 2, &[], &told);
    // A new scenario brings them, and leaves those that are there.
    check(dir.path(), &["new", "first-try"], 0, &[], &[]);
    let config = dir.path().join("clitape.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("[versions]\nnewest = "), "{text}");
    fs::write(&config, "[versions]\nnewest = '9.9.9'\nbaseline = ['9.9.9', '9.9.8']\n").unwrap();
    check(dir.path(), &["new", "second-try"], 0, &[], &[]);
    let told = ["clitape.toml:1: `baseline` has 9.9.9 before 9.9.8; write each version once"];
    check(dir.path(), &["record", "good", "--yes"], 2, &[], &told);
}

#[test]
fn a_workspace_without_versions_is_tested_with_what_is_recorded() {
    let dir = workspace(&["plain-text"]);
    fs::remove_file(dir.path().join("clitape.toml")).unwrap();
    fs::remove_dir_all(dir.path().join("cassettes/plain-text/2.1.148")).unwrap();
    check(dir.path(), &["test"], 0, &["3 cassettes"], &[]);
    fs::remove_dir_all(dir.path().join("cassettes")).unwrap();
    let told = ["TP001 not-recorded plain-text", "the scenario has no cassette of any version"];
    check(dir.path(), &["test"], 3, &told, &[]);
}

/// Changes a file of a workspace.
fn edit(path: &Path, change: impl Fn(String) -> String) {
    let text = fs::read_to_string(path).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text, "{}", path.display());
    fs::write(path, changed).unwrap();
}

#[test]
fn an_unknown_version_is_held_against_the_newest_one_before_it() {
    // One of them fails from a version on, and both have goldens of several versions.
    let dir = workspace(&["plain-text", "max-turns"]);
    for name in ["plain-text", "max-turns"] {
        let cassettes = dir.path().join("cassettes").join(name);
        copy(&cassettes.join("2.1.330"), &cassettes.join("2.1.9999"));
        edit(&cassettes.join("2.1.9999/cassette.toml"), |text| {
            text.replace("version = \"2.1.330\"", "version = \"2.1.9999\"")
        });
    }
    check(dir.path(), &["test"], 0, &["10 cassettes", "all held"], &[]);
    // A version of the baseline that is not recorded is a finding.
    edit(&dir.path().join("clitape.toml"), |text| {
        text.replace("newest = \"2.1.330\"", "newest = \"3.0.0\"")
            .replace("\"2.1.330\"]", "\"2.1.330\", \"3.0.0\"]")
    });
    let told = [
        "TP001 not-recorded max-turns 3.0.0",
        "the scenario has CLI 3.0.0, but there is no cassette of it",
        "clitape record plain-text --claude npm:3.0.0",
    ];
    check(dir.path(), &["test"], 3, &told, &[]);
}

#[test]
fn a_golden_that_repeats_the_one_before_it_is_a_finding() {
    let dir = workspace(&["plain-text"]);
    let goldens = dir.path().join("scenarios/plain-text/golden");
    let [before, after] = ["2.1.148", "2.1.329"]
        .map(|version| goldens.join(format!("telegram-progress.{version}.snap")));
    fs::copy(before, after).unwrap();
    let told = [
        "GD003 golden-orphan plain-text",
        "rm scenarios/plain-text/golden/telegram-progress.2.1.329.snap",
    ];
    check(dir.path(), &["test"], 3, &told, &[]);
    let listed =
        ["repeated plain-text/telegram-progress.2.1.329: it says the same as the golden before it"];
    check(dir.path(), &["review", "--list"], 3, &listed, &[]);
}

#[test]
fn an_update_leaves_later_versions_their_golden() {
    let dir = workspace(&["plain-text"]);
    let goldens = dir.path().join("scenarios/plain-text/golden");
    let body = |name: &str| {
        let text = fs::read_to_string(goldens.join(name)).unwrap();
        clitape_runner::check::body(&text).unwrap().to_owned()
    };
    let [oldest, later] = ["telegram-progress.snap", "telegram-progress.2.1.148.snap"].map(body);
    // The recording of one version in the middle says something else.
    let cassette = dir.path().join("cassettes/plain-text/2.1.148");
    let hash = |path: &Path| {
        let output = Command::new("sha256sum").arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
    };
    let stdout = cassette.join("stdout.jsonl");
    let before = hash(&stdout);
    edit(&stdout, |text| text.replace("recorder", "rekorder"));
    edit(&cassette.join("cassette.toml"), |text| text.replace(&before, &hash(&stdout)));
    check(dir.path(), &["test", "--update"], 3, &["GD001 golden-differs"], &[]);
    check(dir.path(), &["review", "--accept"], 0, &["accepted"], &[]);
    assert_eq!(body("telegram-progress.snap"), oldest);
    assert!(body("telegram-progress.2.1.148.snap").contains("rekorder"));
    assert_eq!(body("telegram-progress.2.1.329.snap"), later);
    check(dir.path(), &["test"], 0, &["all held"], &[]);
}
