//! The repository keeps its own rules: files of a readable size that say what they are for, goldens and
//! cassettes without a trace of the machine that made them, pages that name tests that are there.

#![allow(clippy::panic, reason = "a file that can't be read fails the test")]

mod common;

use std::fs;
use std::path::Path;

use common::{files, root};

/// The lines that a file may have at most; a longer one is split into modules.
const MAX_LINES: usize = 420;

/// What would tell of the machine that recorded.
const LEAKS: [&str; 8] = [
    "/tmp/",
    "/root",
    "/home/",
    "/Users/",
    "/var/folders/",
    "\"osVersion\"",
    "\"gitBranch\"",
    "\"systemPrompt\"",
];

fn sources() -> Vec<std::path::PathBuf> {
    ["harness", "tests", "benches"]
        .iter()
        .flat_map(|folder| files(&root().join(folder), ".rs"))
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_file_says_what_it_is_for() {
    let is_tests =
        |path: &Path| path.ends_with("tests.rs") || path.to_string_lossy().contains("tests/");
    for path in sources() {
        let text = read(&path);
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines, {MAX_LINES} are enough", path.display());
        if !is_tests(path.strip_prefix(root()).unwrap()) {
            assert!(text.starts_with("//!"), "{} has no doc comment on top", path.display());
        }
    }
}

#[test]
fn goldens_end_lines_with_lf_and_have_a_header() {
    let goldens = files(&root().join("scenarios"), ".snap");
    assert!(!goldens.is_empty());
    for path in goldens {
        let text = read(&path);
        assert!(!text.contains('\r'), "{} has a CR", path.display());
        let body = clitape_runner::check::body(&text);
        assert!(body.is_some(), "{} has no header", path.display());
        for line in body.unwrap().lines() {
            let entry: Result<clitape_runner::replay::Entry, _> = serde_json::from_str(line);
            assert!(entry.is_ok(), "{}: {line}", path.display());
        }
    }
}

#[test]
fn no_cassette_knows_the_machine_that_recorded_it() {
    let mut seen = 0;
    for path in files(&root().join("cassettes"), "") {
        seen += 1;
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        // The canonical places, and the emptied fields of a transcript, are no leaks.
        let text = ["/clitape/tmp/", "/clitape/home/", r#""gitBranch":"""#]
            .iter()
            .fold(text, |text, canonical| text.replace(canonical, ""));
        for leak in LEAKS {
            assert!(!text.contains(leak), "{} holds `{leak}`", path.display());
        }
    }
    assert!(seen > 0);
}

#[test]
fn every_scenario_has_the_parts_a_reader_looks_for() {
    for dir in fs::read_dir(root().join("scenarios")).unwrap() {
        let dir = dir.unwrap().path();
        for part in ["scenario.toml", "golden"] {
            assert!(dir.join(part).exists(), "{} has no {part}", dir.display());
        }
    }
}

/// What a page names in backquotes: `file.rs: function`, or `scenarios/name`.
fn named(page: &str) -> impl Iterator<Item = &str> {
    let is_name = |span: &&str| span.contains(".rs: ") || span.starts_with("scenarios/");
    page.split('`').skip(1).step_by(2).filter(is_name)
}

/// Whether it is there, below the crate at `place` or the root.
fn is_there(name: &str, place: &str) -> bool {
    match name.split_once(": ") {
        Some((file, test)) => ["src", "", "../.."].iter().any(|folder| {
            let path = root().join(place).join(folder).join(file);
            let text = fs::read_to_string(path).unwrap_or_default();
            text.contains(&format!("fn {test}("))
        }),
        None => root().join(name).join("golden").exists(),
    }
}

#[test]
fn every_fact_and_rule_names_what_holds_it() {
    for (page, place) in [
        ("stream.md", "harness/stream"),
        ("rules.md", "harness/gateway"),
        ("differences.md", "harness/gateway"),
    ] {
        let text = read(&root().join("docs").join(page));
        for name in named(&text) {
            assert!(is_there(name, place), "docs/{page} names `{name}`, which is not there");
        }
        let tables = text.split("held by |\n|").skip(1).map(|table| table.split("\n\n").next());
        for fact in tables.flatten().flat_map(|table| table.lines().skip(1)) {
            let last = fact.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
            assert!(named(last).next().is_some(), "docs/{page}: nothing holds {fact}");
        }
    }
    let rules = read(&root().join("docs/rules.md"));
    let gateway = rules.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("**"));
    for (rule, _) in gateway.filter(|(rule, _)| !rule.starts_with(['T', 'U', 'R'])) {
        let row = format!("\n| {rule} | ");
        assert!(rules.contains(&row), "docs/rules.md names no test of {rule}");
    }
}

/// What prints beside `harness/cli/terminal.rs`, which makes safe what it prints.
const PRINTS: [&str; 7] =
    ["print!(", "println!(", "io::stdout", "io::stderr", "anstream::std", "dbg!(", "Args::parse()"];

#[test]
fn issue_13_finding_6_one_file_prints() {
    let prints = |line: &&str| !line.trim_start().starts_with("//");
    for path in sources() {
        let place = path.strip_prefix(root()).unwrap();
        if !place.starts_with("harness")
            || place.components().any(|part| part.as_os_str() == "examples")
            || place.ends_with("harness/cli/terminal.rs")
        {
            continue;
        }
        let text = read(&path);
        // Tests are the last of a file, and may hold the text of a program that prints.
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_tests = place.to_string_lossy().contains("tests");
        for line in own.lines().filter(prints).filter(|_| !is_tests) {
            let found = PRINTS.iter().find(|word| line.contains(*word));
            assert_eq!(found, None, "{}: {line}", path.display());
        }
    }
}
