//! Tests of a suite that is spread over several machines: the examples of docs/machines.md, with four processes at a
//! time.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::cargo::cargo;
use crate::common::{check, has_program, root, workspace};

const SCENARIOS: [&str; 6] =
    ["api-400", "bash-count", "cut-off-line", "empty-answer", "plain-text", "three-tools"];
/// The number of machines in the examples.
const MACHINES: usize = 4;

/// Returns the lines of the examples that call clitape: each that judges a shard, with the one that merges.
fn examples() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("docs/machines.md")).unwrap();
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let lines = lines.map(|line| line.trim_start_matches("run: "));
    let called: Vec<&str> = lines.filter(|line| line.starts_with("clitape ")).collect();
    let is_judging = |line: &&str| line.contains("--shard") && line.contains('$');
    let judging = called.iter().copied().filter(is_judging);
    let merging = called.iter().copied().filter(|line| line.starts_with("clitape report merge"));
    judging.zip(merging).map(|(judge, merge)| (judge.to_owned(), merge.to_owned())).collect()
}

/// Returns the command of an example's line in `dir`, as the machine with this number would run it.
fn on_machine(dir: &Path, line: &str, number: usize) -> Command {
    let line = line.replace("${{ matrix.shard }}", &number.to_string());
    let program = Path::new(env!("CARGO_BIN_EXE_clitape")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("sh");
    command.current_dir(dir).args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("PATH", format!("{}:{path}", program.display()));
    command.env("CI_NODE_INDEX", number.to_string());
    command.env("CI_NODE_TOTAL", MACHINES.to_string());
    command
}

/// The lines of the page about cargo-nextest: the tests of the scenarios are built once, and run in parts in a folder that
/// has the scenarios and no source.
#[test]
fn an_archive_of_the_scenarios_runs_in_parts_on_machines_without_a_compiler() {
    if !has_program("cargo-nextest") {
        return;
    }
    let text = fs::read_to_string(root().join("docs/machines.md")).unwrap();
    let mut lines = text.lines().map(str::trim).filter(|line| line.starts_with("cargo nextest "));
    let (archive, run) = (lines.next().unwrap(), lines.next().unwrap());
    let there = workspace(&SCENARIOS);
    fs::copy(root().join("Cargo.toml"), there.path().join("Cargo.toml")).unwrap();
    let file = there.path().join("scenarios.tar.zst");
    let nextest = |dir: &Path, line: &str| {
        let line = line.replace("scenarios.tar.zst", file.to_str().unwrap());
        let words = line.split(' ').skip(1);
        let output = cargo().args(words).current_dir(dir).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{line}: {told}");
        (String::from_utf8(output.stdout).unwrap(), told)
    };
    nextest(root(), archive);
    let list = run.replace(" run ", " list ").replace("--partition hash:1/4", "-T oneline");
    let (listed, _) = nextest(there.path(), &list);
    let all = listed.lines().filter(|name| !name.trim().is_empty()).count();
    assert!(all > SCENARIOS.len(), "{listed}");
    let mut ran = 0;
    for part in 1..=MACHINES {
        let part = run.replace("hash:1/4", &format!("hash:{part}/{MACHINES}"));
        let (_, told) = nextest(there.path(), &part);
        let summary = told.lines().find(|line| line.contains("Summary")).unwrap();
        let words: Vec<&str> = summary.split_whitespace().collect();
        let count =
            words[words.iter().position(|word| ["test", "tests"].contains(word)).unwrap() - 1];
        ran += count.parse::<usize>().unwrap();
    }
    assert_eq!(ran, all);
}

#[test]
fn four_machines_have_one_verdict_that_fails_without_one_of_them() {
    let workspace = workspace(&SCENARIOS);
    let dir = workspace.path();
    check(dir, &["test", "--plans", "2", "--json", "whole.json"], 0, &["all held"], &[]);
    let whole: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("whole.json")).unwrap()).unwrap();
    let examples = examples();
    assert_eq!(examples.len(), 2, "{examples:?}");
    for (judge, merge) in examples {
        let judge = judge.replacen("clitape test", "clitape test --plans 2", 1);
        let start = |number| on_machine(dir, &judge, number).spawn().unwrap();
        let machines: Vec<_> = (1..=MACHINES).map(start).collect();
        for machine in machines {
            let output = machine.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        let output = on_machine(dir, &merge, 1).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("all held"), "{said}");
        let all: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.join("all.json")).unwrap()).unwrap();
        assert_eq!(all, whole);

        fs::remove_file(dir.join("all.json")).unwrap();
        fs::remove_file(dir.join("shard-3.json")).unwrap();
        let output = on_machine(dir, &merge, 1).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("shard-1.json is shard 1 of 4, and shard 3 is missing"), "{said}");
        assert!(!dir.join("all.json").exists());
    }
}
