//! Tests of the versions of the CLI: `[versions]` of `clitape.toml`, an unknown version, a recording of all scenarios
//! with a version, a version that is accepted, and one that is dropped. A shell script replaces the CLI.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{check, copy, edit_manifest, put_program, tree, workspace};

/// A CLI of version 9.9.9, which fails if the prompt asks for it, and answers otherwise.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in
--version) echo 9.9.9 ;;
*Secret*) echo '{"type":"result","session_id":"5-a","result":"ghp_0123456789abcdefghijABCDEFGHIJ456789"}' ;;
*Fail*) echo '{"type":"result","session_id":"5-a"}'; exit 3 ;;
*) echo '{"type":"result","session_id":"5-a"}' ;;
esac
"#;
const MODEL: &str = "[[turn]]\n[[turn.block]]\ntext = 'Hi.'\n";

/// Makes a workspace with a CLI and with scenarios of these names and keys of `[record]`.
fn recorder(scenarios: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, record) in scenarios {
        let folder = dir.path().join("scenarios").join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("title = 't'\nabout = 'a'\n[record]\n{record}\n");
        fs::write(folder.join("scenario.toml"), text).unwrap();
        fs::write(folder.join("model.toml"), MODEL).unwrap();
    }
    put_program(&dir.path().join("claude"), CLAUDE);
    dir
}

const ALL: [&str; 5] = ["record", "--all", "--yes", "--claude", "./claude"];

#[test]
fn a_recording_of_all_scenarios_goes_on_and_says_at_the_end_what_failed() {
    let dir = recorder(&[
        ("a-good", "prompt = 'Go.'"),
        ("b-fails", "prompt = 'Fail.'"),
        // A fact about an earlier version is true of this one too.
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
    // A new scenario adds the table, and keeps an existing one.
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
    let told = ["TP001 not-recorded plain-text", "the scenario is not recorded"];
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
    // One scenario fails from a version on, and both have goldens of several versions.
    let dir = workspace(&["plain-text", "max-turns"]);
    for name in ["plain-text", "max-turns"] {
        let cassettes = dir.path().join("cassettes").join(name);
        copy(&cassettes.join("2.1.332"), &cassettes.join("2.1.9999"));
        edit_manifest(&cassettes.join("2.1.9999/cassette.toml"), |text| {
            text.replace("version = \"2.1.332\"", "version = \"2.1.9999\"")
        });
    }
    check(dir.path(), &["test"], 0, &["10 cassettes", "all held"], &[]);
    // A version of the baseline without a recording is a finding.
    edit(&dir.path().join("clitape.toml"), |text| {
        text.replace("newest = \"2.1.332\"", "newest = \"3.0.0\"")
            .replace("\"2.1.332\"]", "\"2.1.332\", \"3.0.0\"]")
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
        clitape_judge::body(&text).unwrap().to_owned()
    };
    let [oldest, later] = ["telegram-progress.snap", "telegram-progress.2.1.148.snap"].map(body);
    // The recording of one version in the middle has another text.
    let cassette = dir.path().join("cassettes/plain-text/2.1.148");
    let hash = |path: &Path| {
        let output = Command::new("sha256sum").arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
    };
    let stdout = cassette.join("stdout.jsonl");
    let before = hash(&stdout);
    edit(&stdout, |text| text.replace("recorder", "rekorder"));
    edit_manifest(&cassette.join("cassette.toml"), |text| text.replace(&before, &hash(&stdout)));
    check(dir.path(), &["test", "--update"], 3, &["GD001 golden-differs"], &[]);
    check(dir.path(), &["review", "--accept"], 0, &["accepted"], &[]);
    assert_eq!(body("telegram-progress.snap"), oldest);
    assert!(body("telegram-progress.2.1.148.snap").contains("rekorder"));
    assert_eq!(body("telegram-progress.2.1.329.snap"), later);
    check(dir.path(), &["test"], 0, &["all held"], &[]);
}

/// Puts a CLI of version 9.9.9 into a workspace, which prints the last recording of `plain-text` with one word
/// replaced. Returns the arguments that compare it with the version before.
fn newer_cli(dir: &Path, word: &str, instead: &str) -> [&'static str; 6] {
    let stdout = dir.join("cassettes/plain-text/2.1.332/stdout.jsonl");
    let stdout = fs::read_to_string(stdout).unwrap().replace(word, instead);
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n--version) echo 9.9.9 ;;\n--help) echo Usage ;;\n*) cat <<'STDOUT'\n{stdout}STDOUT\n;;\n\
         esac\n"
    );
    put_program(&dir.join("claude"), &script);
    fs::create_dir_all(dir.join("versions/2.1.332")).unwrap();
    fs::write(dir.join("versions/2.1.332/help.txt"), "Usage\n").unwrap();
    ["drift", "--from", "2.1.332", "--claude", "./claude", "--yes"]
}

#[test]
fn a_version_is_accepted_and_leaves_again_without_a_trace() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let drift = newer_cli(dir, "in the order ", "in the shape ");
    let before = tree(dir);
    let accept = [&drift[..], &["--accept"]].concat();
    check(
        dir,
        &accept,
        3,
        &["accepted claude 9.9.9: 1 recording added, and clitape.toml names it now"],
        &[],
    );
    let config = fs::read_to_string(dir.join("clitape.toml")).unwrap();
    assert!(
        config.contains("newest = \"9.9.9\"\n") && config.contains("\"2.1.332\", \"9.9.9\"]"),
        "{config}"
    );
    assert_eq!(fs::read_to_string(dir.join("versions/9.9.9/help.txt")).unwrap(), "Usage\n");
    // It prints another word, so that goldens differ.
    check(
        dir,
        &["versions", "--drop", "9.9.9"],
        2,
        &[],
        &["nothing was removed", "clitape review"],
    );
    check(dir, &["review", "--accept", "--reason", "it says another word"], 0, &[], &[]);
    check(dir, &["test"], 0, &["all held"], &[]);
    check(dir, &["versions"], 0, &["2.1.332", "9.9.9", "together"], &[]);
    check(
        dir,
        &["versions", "--drop", "9.9.9"],
        0,
        &["removed claude 9.9.9: 1 recording and "],
        &[],
    );
    assert!(tree(dir) == before, "something of the version is left, or something else is gone");
}

#[test]
fn nothing_is_accepted_that_was_not_compared_as_a_whole() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let drift = newer_cli(dir, "", "");
    let script = fs::read_to_string(dir.join("claude")).unwrap();
    fs::write(dir.join("claude"), script.replace("STDOUT\n;;", "STDOUT\nexit 3 ;;")).unwrap();
    let before = tree(dir);
    let accept = [&drift[..], &["--accept"]].concat();
    check(
        dir,
        &accept,
        3,
        &["plain-text: claude 9.9.9 did not record it"],
        &["9.9.9 was not accepted"],
    );
    assert!(tree(dir) == before, "something was accepted");
    let one = [&accept[..], &["plain-text"]].concat();
    check(dir, &one, 2, &[], &["cannot be used with"]);
}

#[test]
fn a_version_leaves_with_what_only_it_needs() {
    let workspace = workspace(&["plain-text", "same-index"]);
    let dir = workspace.path();
    let golden = |name: &str| dir.join("scenarios/plain-text/golden").join(name);
    let second = fs::read(golden("bus.2.1.148.snap")).unwrap();
    check(
        dir,
        &["versions", "--drop", "1.0.128"],
        0,
        &["removed claude 1.0.128: 1 recording and "],
        &[],
    );
    // The golden of the next version is the first one now.
    assert_eq!(fs::read(golden("bus.snap")).unwrap(), second);
    assert!(!golden("bus.2.1.148.snap").exists());
    check(dir, &["test"], 0, &["all held"], &[]);
    check(
        dir,
        &["versions", "--drop", "1.0.128"],
        2,
        &[],
        &["there are 2.1.148, 2.1.329, 2.1.332"],
    );
    // A capture that was written by hand stays.
    let stays = "1 hand-written capture of it stay";
    check(dir, &["versions", "--drop", "2.1.329"], 0, &[stays], &[]);
    check(dir, &["versions"], 0, &["2.1.329", "not in the baseline"], &[]);
    check(dir, &["versions", "--drop", "2.1.148"], 0, &[], &[]);
    check(dir, &["versions", "--drop", "2.1.332"], 2, &[], &["the only version of clitape.toml"]);
    check(dir, &["test"], 0, &["all held"], &[]);
    let out = check(dir, &["versions", "--json"], 0, &[], &[]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["versions"][1]["version"], "2.1.332");
    assert_eq!(json["versions"][1]["recordings"], 1);
    assert!(json["versions"][1]["recording_bytes"].as_u64() > Some(1_000));
    assert!(json["golden_bytes"].as_u64() > Some(1_000));
}

#[test]
fn no_scenario_loses_its_only_recording() {
    let workspace = workspace(&["plain-text", "shell-forms"]);
    let dir = workspace.path();
    let before = tree(dir);
    let why = "only claude 2.1.332 recorded shell-forms";
    check(dir, &["versions", "--drop", "2.1.332"], 2, &[], &["nothing was removed", why]);
    assert!(tree(dir) == before, "something was removed");
}
