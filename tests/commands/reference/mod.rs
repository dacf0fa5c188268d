//! The pages of `docs/reference/`: commands and options as clap has them, the keys of each TOML file as the types that
//! read it have them, and the findings as `clitape explain` prints them.
//!
//! `UPDATE_REFERENCE=1 cargo test --test commands reference` writes them.

#![allow(clippy::expect_used, clippy::panic, reason = "a page that can't be made fails the test")]

mod keys;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use clitape_judge::{Explanation, FindingKind, RULES};

use crate::common::{check, files, root, run};

/// The folder of the pages.
const FOLDER: &str = "docs/reference";

/// The groups of findings, by the letters that their ids begin with.
const GROUPS: [(&str, &str); 17] = [
    ("GD", "Goldens"),
    ("PL", "Plans and faults"),
    ("CM", "Comparisons"),
    ("TP", "Recordings"),
    ("ST", "What is read of stdout"),
    ("GW", "The chat of clitape's own bridge"),
    ("QU", "Questions of clitape's own bridge"),
    ("TN", "Turns of clitape's own bridge"),
    ("SE", "The event stream"),
    ("ED", "The editor of clitape's own bridge"),
    ("SN", "Sessions"),
    ("WD", "Silence"),
    ("SP", "Parsers of others"),
    ("SB", "Gateways of others"),
    ("SA", "Agents of others"),
    ("WS", "The workspace"),
    ("CK", "Checks"),
];

/// The group of findings about secrets, which has one.
const SECRETS: (&str, &str) = ("SC", "Secrets");

const FINDINGS_HEAD: &str = "\
# Findings

Every finding with its usual cause and its cure, as `clitape explain ID` prints them:

    clitape explain GW003
    clitape explain edit-after-final

A finding of your run has more: the sentence about the first difference, the chat at that moment, and the command that
shows it again ([the manual](../manual.md#findings)).
";

/// Returns the pages that explain findings, other than the one that is made: each path below `docs/`, and its text.
fn explaining() -> Vec<(&'static str, String)> {
    ["subject-rules.md", "recipes/what-goes-wrong.md", "invariants.md", "faults.md"]
        .map(|page| {
            (page, fs::read_to_string(root().join("docs").join(page)).expect("it is there"))
        })
        .into()
}

fn findings() -> String {
    let mut text = FINDINGS_HEAD.to_owned();
    let pages = explaining();
    for (letters, title) in GROUPS.into_iter().chain([SECRETS]) {
        write!(text, "\n## {title}\n").expect("a string can be written");
        for kind in FindingKind::ALL.iter().filter(|kind| kind.to_string().starts_with(letters)) {
            text.push_str(&finding(*kind, &pages));
        }
    }
    text
}

fn finding(kind: FindingKind, pages: &[(&str, String)]) -> String {
    let Explanation { cause, cure } = kind.explanation();
    let escaped = |text: &str| keys::escaped(text);
    let mut text = format!("\n### `{kind}`\n\n{}\n\n", escaped(kind.title()));
    let mut part = |name: &str, words: &str| {
        writeln!(text, "* **{name}**: {words}").expect("a string can be written");
    };
    part("Cause", &escaped(cause));
    part("Cure", &escaped(cure));
    for rule in RULES.iter().filter(|rule| rule.is_about(kind)) {
        part("Rule", &escaped(rule.demand));
    }
    if let Some(key) = kind.design() {
        part("By design", &format!("`{key}` in `clitape.toml`, if the gateway is meant to do so."));
    }
    let id = format!("`{kind}`");
    let more = pages.iter().filter(|(_, text)| text.contains(&id));
    let more: Vec<String> = more.map(|(page, _)| format!("[{page}](../{page})")).collect();
    if !more.is_empty() {
        part("More", &format!("{}.", more.join(", ")));
    }
    text
}

/// Returns the pages with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let (code, commands, _) = run(root(), &["man", "--markdown"]);
    assert_eq!(code, 0);
    let made = [("commands.md", commands), ("findings.md", findings())];
    let made = made.into_iter().map(|(name, text)| (name.to_owned(), text));
    made.chain(keys::pages()).map(|(name, text)| (root().join(FOLDER).join(name), text)).collect()
}

#[test]
fn the_pages_are_made_from_the_code() {
    let pages = pages();
    let is_update = std::env::var_os("UPDATE_REFERENCE").is_some();
    if is_update {
        fs::create_dir_all(root().join(FOLDER)).expect("a folder");
    }
    for (path, text) in &pages {
        if is_update {
            fs::write(path, text).expect("the page can be written");
        }
        let committed = fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == *text,
            "{} is out of date; run `UPDATE_REFERENCE=1 cargo test --test commands reference`",
            path.display()
        );
    }
    let made: BTreeSet<PathBuf> = pages.into_iter().map(|(path, _)| path).collect();
    let there: BTreeSet<PathBuf> = files(&root().join(FOLDER), ".md").into_iter().collect();
    assert_eq!(there, made, "no other page is in {FOLDER}");
}

#[test]
fn every_command_and_finding_is_on_its_page() {
    let page = findings();
    for kind in FindingKind::ALL {
        assert_eq!(page.matches(&format!("### `{kind}`\n")).count(), 1, "{kind}");
    }
    let (_, commands, _) = run(root(), &["man", "--markdown"]);
    let (_, help, _) = run(root(), &["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let (list, _) = list.split_once("\n\n").expect("its end");
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        assert!(commands.contains(&format!("\n## `clitape {name}")), "{name}");
    }
}

#[test]
fn explain_prints_cause_and_cure_as_the_page_has_them() {
    let dir = tempfile::tempdir().expect("a folder");
    for (asked, kind) in [
        ("GW003", FindingKind::EditAfterFinal),
        ("edit-after-final", FindingKind::EditAfterFinal),
        ("sb016", FindingKind::ToolsUntold),
    ] {
        let Explanation { cause, cure } = kind.explanation();
        let said = [&kind.to_string(), kind.title(), cause, cure];
        check(dir.path(), &["explain", asked], 0, &said, &[]);
    }
    let design = ["by design", "`tools_shown = false` in clitape.toml"];
    check(dir.path(), &["explain", "SB016"], 0, &design, &[]);
    let all = check(dir.path(), &["explain"], 0, &["GW003 edit-after-final ", "SC001 "], &[]);
    assert_eq!(all.lines().count(), FindingKind::ALL.len());

    let unknown = ["there is no finding `GW03`; did you mean `GW003`"];
    check(dir.path(), &["explain", "GW03"], 2, &[], &unknown);
    let unknown = ["there is no finding `edit-after-finale`; did you mean `edit-after-final`?"];
    check(dir.path(), &["explain", "edit-after-finale"], 2, &[], &unknown);
    let unknown = ["there is no finding `weather`; `clitape explain` lists them"];
    check(dir.path(), &["explain", "weather"], 2, &[], &unknown);
}
