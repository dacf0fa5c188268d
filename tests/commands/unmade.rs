//! Tests that `clitape test` reports checks that can't be made, and manifests that contradict the files beside them.

#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{check, edit_manifest, workspace};

/// Changes a file of a workspace.
fn edit(path: &Path, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(path).expect("a file");
    let changed = change(&text);
    assert_ne!(text, changed, "nothing changed in {}", path.display());
    fs::write(path, changed).expect("it can be written");
}

/// Runs `clitape test` on a scenario with these lines added to its `scenario.toml`, and checks the exit code and the
/// output.
#[track_caller]
fn check_scenario(name: &str, more: &str, code: i32, out: &[&str]) {
    let dir = workspace(&[name]);
    let file = dir.path().join(format!("scenarios/{name}/scenario.toml"));
    edit(&file, |text| format!("{text}\n{more}\n"));
    check(dir.path(), &["test"], code, out, &[]);
}

#[test]
fn faults_that_no_call_gets_are_told() {
    check_scenario("plain-text", "[sweep]\nplans = 0", 0, &[]);
    let never_drawn = "`sweep.faults` are drawn by the plans, and `sweep.plans` is 0";
    let keys = "[sweep]\nplans = 0\nfaults = ['slow']";
    check_scenario("plain-text", keys, 2, &["WS001 scenario-unusable", never_drawn]);
    let keys = "[chat]\nfaults = ['99:hang']\n[sweep]\nplans = 1";
    let never_met = "`[chat] faults` has `99:hang`, and no chat makes a call that can get it";
    check_scenario("plain-text", keys, 3, &["CK001 fault-never-met", never_met]);
    let twice = "[[channel]]\nkind = 'telegram'\nmode = 'partial'\n[sweep]\nplans = 1";
    let same = "`[[channel]]` 3 is the same as `[[channel]]` 1";
    check_scenario("plain-text", twice, 2, &["WS001 scenario-unusable", same]);
}

#[test]
fn a_scenario_that_is_a_link_is_told() {
    let dir = workspace(&["plain-text"]);
    let scenarios = dir.path().join("scenarios");
    edit(&scenarios.join("plain-text/scenario.toml"), |text| {
        format!("{text}\n[sweep]\nplans = 1\n")
    });
    symlink(scenarios.join("plain-text"), scenarios.join("another")).expect("a link");
    check(dir.path(), &["test"], 3, &["WS002 stray", "scenarios/another"], &[]);
    let told = ["scenarios/another is no scenario: ", "is a link"];
    check(dir.path(), &["test", "another"], 2, &[], &told);
}

#[test]
fn a_golden_that_nothing_compares_is_told() {
    let dir = workspace(&["plain-text"]);
    let golden = dir.path().join("scenarios/plain-text/golden");
    let scenario = dir.path().join("scenarios/plain-text/scenario.toml");
    edit(&scenario, |text| format!("{text}\n[sweep]\nplans = 1\n"));
    for folder in ["old/older", "my-gateway"] {
        fs::create_dir_all(golden.join(folder)).expect("a folder");
    }
    let files = [
        "old/older/bus.snap",
        "bus.snap.bak",
        "bus.snp",
        "my-gateway/telegram.snap",
        "my-gateway/bus.snap",
    ];
    for file in files {
        fs::copy(golden.join("bus.snap"), golden.join(file)).expect("a copy");
    }
    fs::write(golden.join(".gitattributes"), "* -text\n").expect("a hidden file");
    let told = |file: &str| format!("scenarios/plain-text/golden/{file} was compared with nothing");
    let out = check(dir.path(), &["test"], 3, &files.map(told).each_ref().map(String::as_str), &[]);
    assert!(!out.contains(".gitattributes"), "{out}");
    // The goldens of a subject's chat are compared when that subject is under test.
    let subject = "[subject.my-gateway]\nkind = 'gateway'\ncommand = ['true']\n";
    fs::write(dir.path().join("clitape.toml"), subject).expect("a file");
    let out = check(dir.path(), &["test"], 3, &[&told("my-gateway/bus.snap")], &[]);
    assert!(!out.contains(&told("my-gateway/telegram.snap")), "{out}");
}

#[test]
fn a_manifest_that_is_not_its_folders_is_told() {
    let (version, other) = ("version = \"2.1.329\"", "version = \"2.1.148\"");
    for (from, to, code, told) in [
        (version, other, 5, "it holds a recording of CLI 2.1.148"),
        ("scenario = \"plain-text\"", "scenario = \"plain\"", 5, "has a recording of `plain`"),
        (
            "[exit]\ncode = 0",
            "[exit]\ncode = 1",
            3,
            "cassette.toml says that run 1 ended with code 1",
        ),
        (
            "[exit]\ncode = 0",
            "[exit]\nsignal = 9",
            3,
            "cassette.toml says that run 1 ended by signal 9",
        ),
        ("[exit]\ncode = 0\n", "", 3, "cassette.toml says that run 1 has no end"),
    ] {
        let dir = workspace(&["plain-text"]);
        let scenario = dir.path().join("scenarios/plain-text/scenario.toml");
        edit(&scenario, |text| format!("{text}\n[sweep]\nplans = 1\n"));
        let manifest = dir.path().join("cassettes/plain-text/2.1.329/cassette.toml");
        edit_manifest(&manifest, |text| text.replace(from, to));
        match code {
            3 => check(dir.path(), &["test"], code, &["TP003 manifest-differs", told], &[]),
            _ => check(dir.path(), &["test"], code, &[], &[told]),
        };
    }
}
