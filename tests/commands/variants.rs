//! Tests of the variants of a chat: an outcome without a name and a name without an outcome are findings.

#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::{Path, PathBuf};

use clitape_judge::CheckResult;
use clitape_recording::scenario::Workspace;
use clitape_runner::check::{Check, ScenarioChecks};

use crate::common::{check, files, workspace};

/// A scenario with three variants of one chat.
const NAME: &str = "sse-error-mid-text";
const VIEW: &str = "telegram-partial";

fn folder(workspace: &Path) -> PathBuf {
    workspace.join("scenarios").join(NAME)
}

fn golden(workspace: &Path, variant: &str) -> PathBuf {
    folder(workspace).join(format!("golden/{VIEW}.{variant}.snap"))
}

/// Changes a file of the scenario.
fn edit(workspace: &Path, file: &str, change: impl Fn(String) -> String) {
    let path = folder(workspace).join(file);
    let text = fs::read_to_string(&path).expect("a file of the scenario");
    let changed = change(text.clone());
    assert_ne!(changed, text);
    fs::write(path, changed).expect("it can be written");
}

/// Returns the scenario without one of its variants, whose golden stays.
fn without(text: &str, variant: &str) -> String {
    let mut parts: Vec<&str> = text.split("\n[[variant]]\n").collect();
    parts.retain(|part| !part.starts_with(&format!("name = \"{variant}\"\n")));
    parts.join("\n[[variant]]\n")
}

fn with(text: &str, variant: &str) -> String {
    format!("{text}\n[[variant]]\nname = \"{variant}\"\nview = \"{VIEW}\"\nabout = \"A test.\"\n")
}

/// Returns the result of the check of the variants, with or without `update`.
fn judged(workspace: &Path, update: bool) -> CheckResult {
    let workspace = Workspace::at(workspace);
    let scenario = workspace.load(NAME).expect("a scenario");
    let checks = ScenarioChecks::new(&workspace, scenario).expect("its checks");
    let variants = checks.checks().iter().filter(|check| matches!(check, Check::Variants { .. }));
    let mut variants: Vec<_> = variants.collect();
    let check = variants.pop().expect("a check of the variants");
    assert!(variants.is_empty(), "a chat is checked once");
    assert_eq!(check.to_string(), "telegram-partial::variants");
    checks.judge(check, update).expect("a verdict")
}

/// Breaks the scenario, and expects these findings, given as parts of their ids, places and sentences.
#[track_caller]
fn broken(breaks: impl Fn(&Path), expect: &[&[&str]]) {
    let workspace = workspace(&[NAME]);
    breaks(workspace.path());
    let CheckResult { findings, .. } = judged(workspace.path(), false);
    assert_eq!(findings.len(), expect.len(), "{findings:#?}");
    for (finding, parts) in findings.iter().zip(expect) {
        let told = format!("{} {} {}", finding.id, finding.place, finding.sentence);
        for part in *parts {
            assert!(told.contains(part), "no `{part}` in\n{told}");
        }
    }
    assert!(files(workspace.path(), ".new").is_empty(), "nobody asked for a proposal");
}

#[test]
fn what_was_compared_is_counted() {
    let workspace = workspace(&[NAME]);
    let CheckResult { findings, goldens, plans, .. } = judged(workspace.path(), true);
    assert_eq!(findings, []);
    assert_eq!((goldens, plans), (3, 4 * 64));
    assert!(files(workspace.path(), ".new").is_empty(), "nothing is left to propose");
}

#[test]
fn an_outcome_and_its_name_belong_together() {
    let unnamed = "GD005 outcome-unnamed sse-error-mid-text 1.0.128 telegram-partial seed ";
    let todo = "if timing may give it, name it with a [[variant]] of view = \"telegram-partial\" \
                in scenarios/sse-error-mid-text/scenario.toml";
    let unseen = |name: &str| {
        format!("GD006 variant-never-seen sse-error-mid-text telegram-partial.{name} none of 256")
    };
    // An outcome loses its name.
    broken(
        |workspace| {
            edit(workspace, "scenario.toml", |text| without(&text, "shown-whole"));
        },
        &[&[
            unnamed,
            "nearest is variant `sent-whole`: turn 1, +",
            "without a name: 1, from ",
            todo,
        ]],
    );
    // A variant whose text no plan gives.
    broken(
        |workspace| {
            edit(workspace, "scenario.toml", |text| with(&text, "never"));
            let text = fs::read_to_string(golden(workspace, "sent-whole")).unwrap();
            fs::write(golden(workspace, "never"), text.replace("moon", "sun")).unwrap();
        },
        &[&[&unseen("never"), "variant `never`; remove it and its golden, or raise `plans`"]],
    );
    // A variant with the text of another one: only the first of them is met.
    broken(
        |workspace| {
            edit(workspace, "scenario.toml", |text| with(&text, "again"));
            fs::copy(golden(workspace, "sent-whole"), golden(workspace, "again")).unwrap();
        },
        &[&[&unseen("again")]],
    );
    // A variant with a changed text.
    broken(
        |workspace| {
            edit(workspace, "golden/telegram-partial.caught-up.snap", |text| {
                text.replace("moon", "sun")
            });
        },
        &[
            &[
                unnamed,
                "nearest is the golden: turn 1, +",
                "--update` proposes it for variant `caught-up`",
            ],
            &[&unseen("caught-up")],
        ],
    );
    // Too few plans.
    broken(
        |workspace| edit(workspace, "scenario.toml", |text| text + "\n[sweep]\nplans = 0\n"),
        &[&["GD006", "none of 0 plans"], &["GD006"], &["GD006"]],
    );
    // A variant without a golden, and one with an unreadable golden.
    broken(
        |workspace| fs::remove_file(golden(workspace, "sent-whole")).unwrap(),
        &[
            &[unnamed, "`clitape test sse-error-mid-text --update` proposes it for"],
            &["GD002 golden-missing", "variant `sent-whole` has no scenarios/sse-error-mid-text/"],
        ],
    );
    broken(
        |workspace| fs::write(golden(workspace, "sent-whole"), "x").unwrap(),
        &[&[unnamed], &["GD004 golden-unreadable", "has no header"]],
    );
}

#[test]
fn times_decide_nothing() {
    broken(
        |workspace| {
            edit(workspace, "golden/telegram-partial.caught-up.snap", |text| {
                text.replace("\"at\":0", "\"at\":77")
            });
        },
        &[],
    );
}

#[test]
fn a_missing_golden_of_the_paced_replay_is_told_by_its_own_check_alone() {
    broken(
        |workspace| {
            fs::remove_file(folder(workspace).join("golden/telegram-partial.snap")).unwrap();
        },
        &[],
    );
}

#[test]
fn the_finding_s_command_shows_the_outcome() {
    let workspace = workspace(&[NAME]);
    edit(workspace.path(), "scenario.toml", |text| without(&text, "sent-whole"));
    let finding = judged(workspace.path(), false).findings.remove(0);
    // The arguments as a shell would split them.
    let args = finding.reproduce.as_str().split(' ').skip(1).map(|arg| arg.trim_matches('\''));
    let args: Vec<&str> = args.collect();
    let shown = check(workspace.path(), &[&args[..], &["--json"]].concat(), 0, &[], &[]);
    let golden = fs::read_to_string(golden(workspace.path(), "sent-whole")).unwrap();
    let timeless = shown.lines().map(|line| {
        let (_, rest) = line.split_once(",\"lane\"").unwrap();
        format!("{{\"at\":0,\"lane\"{rest}\n")
    });
    assert_eq!(clitape_judge::body(&golden), Some(timeless.collect::<String>().as_str()));
}

#[test]
fn update_proposes_what_the_variants_without_a_golden_are() {
    let workspace = workspace(&[NAME]);
    let dir = workspace.path();
    let variants = ["sent-whole", "shown-whole", "caught-up"];
    let before: Vec<PathBuf> = files(dir, ".snap");
    for variant in variants {
        fs::remove_file(golden(dir, variant)).unwrap();
    }
    check(
        dir,
        &["review", "--list"],
        3,
        &[" missing sse-error-mid-text/telegram-partial.sent"],
        &[],
    );
    check(dir, &["test", "--update"], 3, &["GD005", "GD002", "clitape review"], &[]);
    let new = "     new sse-error-mid-text/telegram-partial.caught-up: a new golden of 3 entries";
    let out = check(dir, &["review", "--list"], 3, &[new], &[]);
    assert!(!out.contains("missing") && !out.contains("unseen"), "{out}");
    check(dir, &["review", "--accept"], 0, &["3 accepted"], &[]);
    check(dir, &["test"], 0, &["all held"], &[]);
    assert_eq!(files(dir, ".snap"), before);

    // The proposal for a variant with a changed text is written beside its golden.
    edit(dir, "golden/telegram-partial.caught-up.snap", |text| text.replace("moon", "sun"));
    check(dir, &["test", "--update"], 3, &["GD005", "GD006"], &[]);
    let changed = " changed sse-error-mid-text/telegram-partial.caught-up: expected ";
    let out = check(dir, &["review", "--list"], 3, &[changed], &[]);
    assert!(!out.contains("unseen"), "{out}");
    check(dir, &["review", "--accept"], 0, &["1 accepted"], &[]);
    check(dir, &["review", "--list"], 0, &[], &[]);
}

#[test]
fn a_review_lists_variants_that_are_no_more() {
    let workspace = workspace(&[NAME]);
    let dir = workspace.path();
    edit(dir, "scenario.toml", |text| with(&without(&text, "shown-whole"), "never"));
    fs::copy(golden(dir, "sent-whole"), golden(dir, "never")).unwrap();
    let lines = [
        "  orphan sse-error-mid-text/telegram-partial.shown-whole: nothing is compared with it",
        "  unseen sse-error-mid-text/telegram-partial.never: no replay gives this variant",
    ];
    check(dir, &["review", "--list"], 3, &lines, &[]);
    let states = [r#""state":"orphan""#, r#""state":"unseen""#];
    check(dir, &["review", "--list", "--json"], 3, &states, &[]);
    check(dir, &["test"], 3, &["GD003 golden-orphan", "GD005", "GD006"], &[]);
    check(dir, &["review", "--accept"], 0, &["no golden waits for a review"], &[]);
}
