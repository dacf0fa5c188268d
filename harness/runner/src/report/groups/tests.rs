use clitape_judge::{ChatDiff, align_texts};

use super::*;
use crate::report::{CheckRun, ScenarioRun};

/// Returns the check of a golden that differs, with the expected and the actual text.
fn differs(check: &str, old: &str, new: &str) -> CheckRun {
    let sentence = format!("turn 1, +{} ms: expected {old}, got {new}", check.len());
    let mut finding =
        Finding::new(FindingKind::GoldenDiffers, check, sentence, "clitape replay".to_owned())
            .with_fix("clitape test a --update && clitape review".to_owned())
            .with_difference(None, align_texts(&format!("{old}\n"), &format!("{new}\n")));
    if check.contains("telegram") {
        let side = |text: &str| vec![vec![text.to_owned()]];
        let chat = ChatDiff { at: Some(1), above: 0, expected: side(old), got: side(new) };
        finding = finding.with_chat(Some(chat));
    }
    CheckRun::of(check, vec![finding])
}

/// Checks the groups of these scenarios: the first check of each, its other places, and the scenarios that are
/// accepted.
#[track_caller]
fn check(scenarios: &[(&str, Vec<CheckRun>)], expect: &[[&str; 3]]) {
    let runs = scenarios.iter().map(|(name, checks)| ScenarioRun {
        name: (*name).to_owned(),
        pending: 0,
        checks: checks.clone(),
    });
    let report = Report::new("0.1.0", runs.collect(), Vec::new());
    let shown: Vec<[String; 3]> = groups(&report)
        .iter()
        .map(|group| {
            let also = group.also_in().unwrap_or_default();
            let fix = group.fix().map(|fix| fix.to_string()).unwrap_or_default();
            let fix = fix.replace("clitape test ", "").replace(" --update && clitape review", "");
            [group.head().place.clone(), also, fix]
        })
        .collect();
    assert_eq!(shown, expect);
}

#[test]
fn lanes_and_versions_that_differ_together_are_one_group() {
    let lanes = |version: &str, word: &str| {
        ["bus", "sse", "telegram-partial", "acp"].map(|lane| {
            let check = format!("{version}::{lane}");
            differs(&check, &format!("{lane} says an other"), &format!("{lane} says {word} other"))
        })
    };
    let both = |second: &str| [lanes("2.1.9", "the"), lanes("2.1.10", second)].concat();
    check(&[("a", both("the"))], &[["2.1.9::telegram-partial", "acp, sse, bus; 2.1.10", "a"]]);
    // Another word is another cause.
    check(
        &[("a", both("this"))],
        &[
            ["2.1.9::telegram-partial", "acp, sse, bus", "a"],
            ["2.1.10::telegram-partial", "acp, sse, bus", "a"],
        ],
    );
}

#[test]
fn scenarios_that_differ_in_the_same_words_are_one_group() {
    let one =
        |what: &str| vec![differs("1.0.1::bus", &format!("{what} an x"), &format!("{what} the x"))];
    check(&[("a", one("this is")), ("b", one("that was"))], &[["1.0.1::bus", "scenario b", "a b"]]);
}

#[test]
fn a_fault_of_a_subject_is_one_group_in_whatever_recordings_it_is() {
    let broken = |kind, sentence: &str| {
        let name = "1.0.1::subject mine";
        let finding = Finding::new(kind, name, sentence.to_owned(), "clitape rig".to_owned());
        vec![CheckRun::of(name, vec![finding])]
    };
    let left = |text: &str| {
        broken(
            FindingKind::RunningLeft,
            &format!("“{text}” is left 12.{} s after the end", text.len()),
        )
    };
    let place = "1.0.1::subject mine";
    check(&[("a", left("Thinking")), ("b", left("⏳"))], &[[place, "scenario b", ""]]);
    let untold = |words| broken(FindingKind::ToolsUntold, words);
    check(
        &[("a", untold("claude called a tool")), ("b", untold("claude called 3 tools"))],
        &[[place, "scenario b", ""]],
    );
    let lost = |words| broken(FindingKind::AnswerMissing, words);
    check(
        &[("a", lost("it never came")), ("b", lost("it was there and is gone"))],
        &[[place, "", ""], [place, "", ""]],
    );
}

#[test]
fn other_findings_are_one_group_where_versions_find_the_same() {
    let broken = |check: &str, sentence: &str| {
        let kind = FindingKind::EditAfterFinal;
        let finding = Finding::new(kind, check, sentence.to_owned(), "clitape replay".to_owned());
        CheckRun::of(check, vec![finding])
    };
    check(
        &[(
            "a",
            vec![
                broken("1.0.1::bus", "turn 1, +5 ms: late"),
                broken("1.0.2::bus", "turn 1, +7 ms: late"),
                broken("1.0.2::sse", "turn 1, +7 ms: late"),
            ],
        )],
        &[["1.0.1::bus", "1.0.2", ""], ["1.0.2::sse", "", ""]],
    );
    // Two findings of one check are about two things.
    let mut twice = broken("complete", "left over");
    twice.findings.extend(broken("complete", "left over").findings);
    check(&[("a", vec![twice])], &[["complete", "", ""], ["complete", "", ""]]);
}
