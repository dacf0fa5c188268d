//! Tests of the parsers of others over the corpus: how often each gets the answer out of recorded and of damaged bytes, as
//! docs/conformance.md says. `cargo test` reads the recordings of the newest version, and `ALL_CORPUS=1` all of them.
//! The packages are installed once into the target folder. Without python3, its part is left out; it fails instead if
//! `CLITAPE_REQUIRE` names it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't be set up fails")]

use std::path::Path;
use std::process::Command;

use crate::common::cargo::cargo;
use crate::common::conformance::{ALL, NEWEST, asked, hold_row};
use crate::common::{has_program, root};
use crate::reach::installed;

/// Returns the recordings that are read.
fn recordings() -> &'static str {
    if std::env::var_os("ALL_CORPUS").is_some() { ALL } else { NEWEST }
}

#[test]
fn the_sdk_for_python_reads_the_corpus_as_the_page_says() {
    let version = "0.2.187";
    if !has_program("python3") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parsers/python");
    let package = format!("claude-agent-sdk=={version}");
    if let Err(why) = installed(&folder, &[&package]) {
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        assert!(!required.contains("python3"), "{package}: {why}");
        println!("{package} is left out: {why}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let asked = asked(dir.path(), recordings());
    hold_row(&format!("claude-agent-sdk {version}"), recordings(), &asked, &|| {
        let mut command = Command::new(folder.join("bin/python"));
        command.arg(root().join("subjects/parsers/claude_agent_sdk_reader.py"));
        command
    });
}

#[test]
fn the_claude_codes_crate_reads_the_corpus_as_the_page_says() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parsers/claude-codes");
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--manifest-path"]);
    build.arg(root().join("subjects/parsers/claude-codes/Cargo.toml")).arg("--target-dir");
    build.arg(&target).env_remove("CARGO_TARGET_DIR");
    let output = build.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let asked = asked(dir.path(), recordings());
    hold_row("claude-codes 2.1.316", recordings(), &asked, &|| {
        Command::new(target.join("debug/claude-codes-reader"))
    });
}
