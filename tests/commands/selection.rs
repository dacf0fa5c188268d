//! Tests of the selection of scenarios by a user: in `list`, `show`, `test`, `record`, `proof` and `drift`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{check, has_program, run, workspace};
use serde_json::Value;

/// The scenarios of the tests.
const NAMES: [&str; 4] = ["bash-count", "plain-text", "three-tools", "three-tools-live"];

/// Returns the selection of `clitape list --json`: `NAME`, or `NAME/VERSION,VERSION` if the words ask for versions.
#[track_caller]
fn listed(dir: &Path, words: &[&str]) -> Vec<String> {
    let (code, out, err) = run(dir, &[&["list", "--json"], words].concat());
    assert_eq!(code, 0, "{words:?}: {err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let with_versions = words.iter().any(|word| word.contains("/2") && !word.starts_with('-'));
    let shown = |one: &Value| {
        let name = one["name"].as_str().unwrap();
        let versions = one["recordings"].as_array().unwrap().iter();
        let versions: Vec<_> = versions.map(|it| it["version"].as_str().unwrap()).collect();
        if with_versions { format!("{name}/{}", versions.join(",")) } else { name.to_owned() }
    };
    json["scenarios"].as_array().unwrap().iter().map(shown).collect()
}

#[test]
fn the_same_words_select_everywhere() {
    let dir = workspace(&NAMES);
    let dir = dir.path();
    for (words, expect) in [
        (&[][..], &NAMES[..]),
        (&["three-tools"], &["three-tools"]),
        (&["tools"], &["three-tools", "three-tools-live"]),
        (&["three-*", "plain-text"], &["three-tools", "three-tools-live", "plain-text"]),
        (&["scenarios/plain-text/"], &["plain-text"]),
        (&["plain-text/2.1.332"], &["plain-text/2.1.332"]),
        (&["cassettes/plain-text/2.1.332"], &["plain-text/2.1.332"]),
        (&["plain-text/2.*", "--exclude", "*/2.1.329"], &["plain-text/2.1.148,2.1.332"]),
        (&["--track", "openclaw#80046"], &["three-tools", "three-tools-live"]),
        (&["--track", "openclaw#80046", "--exclude", "*-live"], &["three-tools"]),
        (&["--exclude", "three-*"], &["bash-count", "plain-text"]),
        (&["--shard=1/2"], &["bash-count", "three-tools"]),
        (&["--shard=2/2"], &["plain-text", "three-tools-live"]),
    ] {
        assert_eq!(listed(dir, words), expect, "{words:?}");
    }
    for (words, error) in [
        (&["three-tolls"][..], "did you mean `three-tools`?"),
        (&["plain-text", "nothing-like-it"], "`clitape list` shows the 4 scenarios"),
        (&["plain-text/9.9.9"], "there are 1.0.128, 2.1.148, 2.1.329, 2.1.332"),
        (&["--track", "openclaw#80047"], "did you mean `openclaw#80046`?"),
        (&["--exclude", "plain-txet"], "did you mean `plain-text`?"),
        (&["--shard=3/2"], "such as `1/4`"),
        (&["a/b/c"], "write NAME or NAME/VERSION"),
    ] {
        for command in ["list", "test"] {
            check(dir, &[&[command], words].concat(), 2, &[], &[error]);
        }
        // These commands take a scenario by its name only, and `record` makes the recording of a new version.
        let named: &[&[&str]] = match words[0].starts_with("--") || words[0].contains('/') {
            true => &[],
            false => &[
                &["record", "--yes"],
                &["proof", "--out", "out"],
                &["drift", "--from", "2.1.329", "--to", "2.1.332"],
                &["compare", "this", "./gateway", "--out", "o"],
            ],
        };
        for command in named {
            check(dir, &[command, words].concat(), 2, &[], &["there is no scenario `"]);
        }
    }
    check(dir, &["record", "--yes", "three-tolls"], 2, &[], &["did you mean `three-tools`?"]);
    check(dir, &["proof", "--out", "o", "tools"], 2, &[], &["did you mean `three-tools` or"]);
    let drift = ["drift", "--from", "2.1.329", "--to", "2.1.332", "thre-tools"];
    check(dir, &drift, 2, &[], &["did you mean `three-tools`?"]);
    for (words, code) in [
        (&["list", "--exclude", "*"][..], 4),
        (&["test", "--exclude", "*"], 4),
        (&["test", "plain-text", "--shard", "2/2"], 4),
        (&["proof", "three-*", "--exclude", "*", "--out", "o"], 4),
        (&["record", "--all", "--exclude", "*"], 4),
        (&["compare", "this", "./gateway", "--exclude", "*", "--out", "o"], 4),
    ] {
        let (got, out, err) = run(dir, words);
        assert_eq!(got, code, "{words:?}\n{out}{err}");
        assert!((out + &err).contains("nothing "), "{words:?} say why");
    }
}

#[test]
fn a_recording_is_judged_alone() {
    let dir = workspace(&["plain-text", "bash-count"]);
    let dir = dir.path();
    let alone = check(dir, &["test", "plain-text/2.1.329"], 0, &["1 cassette,", "all held"], &[]);
    assert!(!alone.contains("bash-count"), "{alone}");
    // Goldens of versions that are not selected do not count as orphans, and their missing recordings are not findings.
    fs::remove_dir_all(dir.join("cassettes/plain-text/1.0.128")).unwrap();
    check(dir, &["test", "plain-text"], 3, &["TP001 not-recorded plain-text 1.0.128"], &[]);
    check(dir, &["test", "plain-text/2.1.329", "bash-count"], 0, &["5 cassettes", "all held"], &[]);
    // Only errors in the selected recording are reported.
    let golden = dir.join("scenarios/plain-text/golden/bus.snap");
    fs::write(&golden, fs::read_to_string(&golden).unwrap().replacen("Hello", "Hallo", 9)).unwrap();
    let (code, out, _) = run(dir, &["test", "plain-text/*"]);
    let (alone, of_one, _) = run(dir, &["test", "plain-text/2.1.148"]);
    assert_eq!(of_one.matches("GD001").count().min(1), usize::from(alone == 3), "{of_one}");
    assert!(out.matches("GD001").count() >= of_one.matches("GD001").count(), "{code} {out}");
    // A subject gets the named recording.
    let subject = "\n[subject.cat]\nkind = 'parser'\ncommand = ['cat']\nkinds = ['text']\n";
    let config = fs::read_to_string(dir.join("clitape.toml")).unwrap();
    fs::write(dir.join("clitape.toml"), config + subject).unwrap();
    let (_, out, err) =
        run(dir, &["test", "--yes", "--subject", "cat", "plain-text/2.1.148", "bash-*"]);
    assert!(out.contains("plain-text/2.1.148") && out.contains("bash-count/2.1.332"), "{out}{err}");
    assert!(!out.contains("plain-text/2.1.332"), "{out}");
}

#[test]
fn shards_of_a_test_merge_to_the_whole() {
    let dir = workspace(&NAMES);
    let dir = dir.path();
    let whole = check(dir, &["test"], 0, &["4 scenarios: ", "all held"], &[]);
    for (shard, file) in [("1/2", "a.json"), ("2/2", "b.json")] {
        check(dir, &["test", "--shard", shard, "--json", file], 0, &["2 scenarios: "], &[]);
    }
    let merged = check(dir, &["report", "merge", "a.json", "b.json"], 0, &["all held"], &[]);
    let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
    assert_eq!(last(&merged), last(&whole), "{merged}");
    // A missing shard may have findings, so a report without it is refused.
    for (reports, expect) in [
        (&["a.json"][..], "a.json is shard 1 of 2, and shard 2 is missing; add its report"),
        (&["b.json"], "b.json is shard 2 of 2, and shard 1 is missing"),
    ] {
        check(dir, &[&["report", "merge"], reports].concat(), 2, &[], &[expect]);
    }
    check(dir, &["test", "--shard", "1/3", "--json", "c.json"], 0, &[], &[]);
    let other = "a.json is shard 1 of 2, and c.json is shard 1 of 3";
    check(dir, &["report", "merge", "a.json", "c.json"], 2, &[], &[other]);
    let text = fs::read_to_string(dir.join("a.json")).unwrap();
    let most = text.replacen("\"of\": 2", &format!("\"of\": {}", u64::MAX), 1);
    fs::write(dir.join("many.json"), most).unwrap();
    check(dir, &["report", "merge", "many.json"], 2, &[], &["shard 2, 3, 4"]);
}

/// Runs git in a folder.
fn git(dir: &Path, args: &[&str]) {
    let who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"];
    let output = Command::new("git").current_dir(dir).args(who).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn changes_are_those_of_git() {
    let dir = workspace(&NAMES);
    let dir = dir.path();
    if !has_program("git") {
        return;
    }
    let no_repository =
        "--changed asks git what changed since HEAD, but git says `not a git repository";
    check(dir, &["test", "--changed"], 2, &[], &[no_repository, "or name the scenarios"]);
    git(dir, &["init", "-q", "-b", "main"]);
    fs::write(dir.join(".gitignore"), "*.snap.new\n").unwrap();
    git(dir, &["add", "."]);
    git(dir, &["commit", "-q", "-m", "first"]);
    let nothing = "nothing ran: no scenario and no cassette changed since HEAD";
    check(dir, &["test", "--changed"], 4, &[nothing], &[]);
    check(dir, &["test", "--changed=no-such"], 2, &[], &["there is no such revision"]);
    check(dir, &["test", "--changed=--output=x"], 2, &[], &["there is no such revision"]);

    fs::write(dir.join("README.md"), "No scenario.").unwrap();
    fs::write(dir.join("scenarios/three-tools/golden/bus.snap.new"), "ignored").unwrap();
    check(dir, &["list", "--changed"], 4, &[], &["nothing to list"]);
    // An untracked file, and a changed one.
    fs::write(dir.join("scenarios/plain-text/notes.md"), "new").unwrap();
    fs::remove_file(dir.join("cassettes/bash-count/2.1.332/timeline.jsonl")).unwrap();
    assert_eq!(listed(dir, &["--changed"]), ["bash-count", "plain-text"]);
    git(dir, &["checkout", "-q", "--", "cassettes"]);
    git(dir, &["checkout", "-q", "-b", "feature"]);
    git(dir, &["add", "."]);
    git(dir, &["commit", "-q", "-m", "second"]);
    check(dir, &["list", "--changed"], 4, &[], &[]);
    // Commits of others on main do not count as changes of this branch.
    git(dir, &["checkout", "-q", "main"]);
    fs::write(dir.join("scenarios/three-tools/notes.md"), "new").unwrap();
    git(dir, &["add", "."]);
    git(dir, &["commit", "-q", "-m", "third"]);
    git(dir, &["checkout", "-q", "feature"]);
    assert_eq!(listed(dir, &["--changed=main"]), ["plain-text"]);
    // The workspace may be a folder of the repository, and the command may run below it.
    let below = dir.join("scenarios/plain-text");
    assert_eq!(listed(&below, &["--changed=main"]), ["plain-text"]);
    check(dir, &["test", "--changed=main"], 0, &["1 scenario: 4 cassettes"], &[]);
}

#[test]
fn list_and_show_are_for_people() {
    let dir = workspace(&["three-tools", "permission-allow"]);
    let dir = dir.path();
    let out = check(dir, &["list"], 0, &["scenario ", "2 scenarios, 8 recordings"], &[]);
    let row = out.lines().find(|line| line.starts_with("three-tools ")).unwrap();
    for part in
        ["4 from 1.0.128 to 2.1.332", "20", "telegram (partial, progress), acp", "openclaw#80046"]
    {
        assert!(row.contains(part), "{row}");
    }
    let told = [
        "three-tools: Two reads and a command",
        "prompt          Do the ports in server.conf and client.conf agree?",
        "calls Read with {\"file_path\":\"{{project}}/server.conf\"}",
        "telegram-partial, telegram-progress, acp",
        "64 seeded plans",
        "clitape test three-tools/2.1.332",
        "clitape record three-tools",
    ];
    check(dir, &["show", "three-tools"], 0, &told, &[]);
    check(dir, &["show", "permission-allow"], 0, &["allows the call, once there is"], &[]);
    check(dir, &["show", "three-tool"], 2, &[], &["did you mean `three-tools`?"]);
    // An unreadable scenario is listed with the reason.
    fs::write(dir.join("scenarios/three-tools/scenario.toml"), "title = 1\n").unwrap();
    check(dir, &["list"], 0, &["can't be read: ", "scenario.toml:1"], &[]);
    assert_eq!(listed(dir, &["--track", "claude-code#34046"]), ["permission-allow", "three-tools"]);
}
