//! The instructions that the hot paths take, counted by callgrind, against `benches/instructions.toml`. A path that takes
//! a good deal more or less fails, so that a change of speed is seen and written down.
//!
//! `UPDATE_INSTRUCTIONS=1 cargo test --test instructions` writes the file.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use common::{has_program, root};

/// How much more or less than the baseline a path may take, in percent. Two runs of the same program differ by less than
/// one, because maps are seeded at random; two builds may differ by some more, with and without incremental compilation.
const TOLERANCE: u64 = 15;

/// What is counted: the name of a path, and the command line that takes it.
const PATHS: [(&str, &[&str]); 3] = [
    // The part of all the others that is no replay.
    ("start", &["list", "plain-text"]),
    // The parser, the bridge and a chat, once.
    ("replay", &["replay", "cassettes/long-answer/2.1.330", "--lane", "telegram"]),
    // The checks of a recording, with a few seeded plans.
    ("plans", &["test", "three-tools/2.1.330", "--plans", "4", "--jobs", "1"]),
];

/// `benches/instructions.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    /// What compiled the program; another version makes other instructions.
    rustc: String,
    /// Millions of instructions of each path.
    millions: BTreeMap<String, u64>,
}

#[test]
fn issue_20_point_6_the_hot_paths_take_as_many_instructions_as_before() {
    if !has_program("valgrind") {
        return;
    }
    let path = root().join("benches/instructions.toml");
    let mut counted = Baseline { rustc: rustc(), ..Baseline::default() };
    for (name, args) in PATHS {
        counted.millions.insert(name.to_owned(), instructions(args) / 1_000_000);
    }
    if std::env::var_os("UPDATE_INSTRUCTIONS").is_some() {
        fs::write(&path, HEAD.to_owned() + &toml::to_string(&counted).unwrap()).unwrap();
        return;
    }
    let baseline: Baseline = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let mut told = Vec::new();
    for (name, &now) in &counted.millions {
        let before = baseline.millions.get(name).copied().unwrap_or_default();
        println!("{name}: {now} million instructions, {before} in the baseline");
        if now.abs_diff(before) * 100 > before * TOLERANCE {
            told.push(format!("{name} takes {now} million instructions, not {before}"));
        }
    }
    assert!(
        told.is_empty() && counted.millions.len() == baseline.millions.len(),
        "{}; {} compiled this, {} the baseline. Where that is meant: UPDATE_INSTRUCTIONS=1 cargo test --test \
         instructions",
        told.join("; "),
        counted.rustc,
        baseline.rustc
    );
}

const HEAD: &str = "# Instructions of the hot paths, built as `cargo test` builds them; tests/instructions.rs counts them.\n\
                    # Written by `UPDATE_INSTRUCTIONS=1 cargo test --test instructions`.\n";

/// The instructions of a command in a copy of the workspace, threads added up.
fn instructions(args: &[&str]) -> u64 {
    let dir = common::workspace(&["long-answer", "plain-text", "three-tools"]);
    let out = dir.path().join("callgrind.out");
    let output = Command::new("valgrind")
        .current_dir(dir.path())
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env!("CARGO_BIN_EXE_clitape"))
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    total(&out)
}

/// The sum that callgrind writes at the end of its file.
fn total(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap();
    let mut totals = text.lines().filter_map(|line| {
        line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: "))
    });
    totals.next_back().unwrap().trim().parse().unwrap()
}

/// The version of the compiler.
fn rustc() -> String {
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
        .arg("--version")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().nth(1).unwrap_or_default().to_owned()
}
