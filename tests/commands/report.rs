//! Tests of reports: the same findings in every format, files whole or not at all, and shards joined.

#![allow(clippy::unwrap_used, reason = "a report that can't be read fails the test")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::common::{self, check, clitape, root, workspace};
use clitape_runner::report::{DriftReport, Report, read};
use schemars::generate::SchemaSettings;
use serde_json::Value;
use tempfile::TempDir;

/// Makes a workspace with one scenario that passes and one that does not.
fn broken() -> TempDir {
    let workspace = workspace(&["plain-text", "empty-answer"]);
    let golden = workspace.path().join("scenarios/plain-text/golden/telegram-partial.2.1.148.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("sendMessage", "sendMessagf", 1)).unwrap();
    workspace
}

fn report(path: &Path) -> Report {
    read("report", &fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_format_tells_the_same_findings() {
    let workspace = broken();
    let dir = workspace.path();
    let args = "test --junit r.xml --tap r.tap --json r.json --markdown r.md --github";
    let summary = dir.join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let mut command = clitape();
    command.current_dir(dir).args(args.split(' ')).env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let out = String::from_utf8(output.stdout).unwrap();

    let lanes = ["change of contract", "what came in", "│ sendMessage #1 \"A tape recorder"];
    assert!(lanes.iter().all(|part| out.contains(part)), "{out}");
    let report = report(&dir.join("r.json"));
    let findings: Vec<_> = report.findings().collect();
    assert!(!findings.is_empty());
    let xml = fs::read_to_string(dir.join("r.xml")).unwrap();
    let junit = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!(junit.tests as u64, report.totals.checks);
    assert_eq!(junit.failures as u64, report.totals.findings);
    let mut messages = Vec::new();
    for case in junit.test_suites.iter().flat_map(|suite| &suite.test_cases) {
        if let quick_junit::TestCaseStatus::NonSuccess { message: Some(message), .. } = &case.status
        {
            messages.push(message.as_str().to_owned());
        }
    }
    let sentences: Vec<_> = findings.iter().map(|told| told.sentence.clone()).collect();
    assert_eq!(messages, sentences);
    let tap = fs::read_to_string(dir.join("r.tap")).unwrap();
    let markdown = fs::read_to_string(dir.join("r.md")).unwrap();
    for told in findings {
        let sentence = &told.sentence;
        for text in [&out, &markdown] {
            assert!(
                text.contains(sentence) && text.contains(&told.id.to_string()),
                "{sentence} in\n{text}"
            );
        }
        let quoted = serde_json::to_string(sentence).unwrap();
        assert!(tap.contains(&format!("sentence: {quoted}")), "{quoted} in\n{tap}");
        let file = "scenarios/plain-text/golden/telegram-partial.2.1.148.snap,line=5";
        let title = format!("::error file={file},title={}::", told.id);
        assert!(out.contains(&title), "{title} in\n{out}");
    }
    assert_eq!(fs::read_to_string(&summary).unwrap(), format!("before\n{markdown}"));
    // GitHub Actions ignores all commands between these lines.
    let token = out.lines().next().unwrap().strip_prefix("::stop-commands::").unwrap();
    let end = out.find(&format!("\n::{token}::\n")).unwrap();
    assert!(out.find("::error").unwrap() > end, "{out}");
}

#[test]
fn a_report_that_can_t_be_written_is_2_before_anything_runs() {
    let workspace = broken();
    let dir = workspace.path();
    fs::write(dir.join("old.xml"), "old").unwrap();
    nix::unistd::mkfifo(&dir.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (args, sentence) in [
        (&["--junit", "nowhere/r.xml"][..], "choose a path in a folder that is there"),
        (&["--junit", "old.xml", "--tap", "nowhere/r.tap"], "can't write nowhere/r.tap"),
        (&["--json", "scenarios"], "is there and is no file"),
        (&["--json", "pipe"], "is there and is no file"),
        (&["--tap", "/dev/stdout"], "/dev/stdout is where this command prints; write `-`"),
        (&["--tap", "/dev/stderr"], "/dev/stderr is where this command prints"),
        (&["--json", "r", "--tap", "./r"], "can hold one report only"),
    ] {
        let args = [&["test", "--update"], args].concat();
        let out = check(dir, &args, 2, &[], &[sentence]);
        assert_eq!(out, "", "{args:?}");
    }
    assert_eq!(fs::read_to_string(dir.join("old.xml")).unwrap(), "old");
    let mut left: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["cassettes", "clitape.toml", "old.xml", "pipe", "scenarios"]);
    assert!(common::files(dir, ".new").is_empty());
}

#[test]
fn a_report_goes_to_a_device_or_an_open_file_of_the_shell() {
    let workspace = workspace(&["empty-answer"]);
    let program = env!("CARGO_BIN_EXE_clitape");
    for (line, expect) in [
        ("\"$0\" test --json /dev/null >/dev/null", ""),
        ("\"$0\" test --tap /dev/fd/7 7>&1 >/dev/null", "TAP version 14\n"),
        ("\"$0\" test --tap - 2>/dev/null", "TAP version 14\n"),
    ] {
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", line, program]).current_dir(workspace.path()).output();
        let output = output.unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}\n{err}");
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(out.starts_with(expect) && out.is_empty() == expect.is_empty(), "{line}\n{out}");
    }
}

#[test]
fn a_page_links_to_what_can_be_stepped_through() {
    let workspace = broken();
    let dir = workspace.path();
    let out = check(dir, &["test", "--html", "made/page", "--json", "r.json"], 3, &[], &[]);
    let index = fs::read_to_string(dir.join("made/page/index.html")).unwrap();
    let told = report(&dir.join("r.json"));
    for told in told.findings() {
        assert!(out.contains(&told.sentence) && index.contains(&told.id.to_string()), "{index}");
    }
    assert!(index.contains("empty-answer") && index.contains("3 findings"), "{index}");
    assert!(index.contains("<a href=\"plain-text-2.1.332.html\">Step through it</a>"), "{index}");
    let page = fs::read_to_string(dir.join("made/page/plain-text-2.1.332.html")).unwrap();
    assert!(page.contains("GD001 golden-differs") && page.contains("what was seen"), "{page}");
    let files = common::files(&dir.join("made"), "");
    assert_eq!(files.len(), 1 + told.findings().count(), "{files:?}");
    check(dir, &["report", "merge", "r.json", "--html", "merged"], 3, &[], &[]);
    let merged = fs::read_to_string(dir.join("merged/index.html")).unwrap();
    assert!(merged.contains("GD001") && !merged.contains("href=\"plain"), "{merged}");
    fs::write(dir.join("file"), "old").unwrap();
    check(dir, &["test", "--html", "file"], 2, &[], &["can't make the folder file"]);
}

#[test]
fn a_damaged_cassette_is_an_error_in_the_report() {
    let workspace = broken();
    let dir = workspace.path();
    fs::write(dir.join("cassettes/empty-answer/2.1.329/stdout.jsonl"), "").unwrap();
    check(dir, &["test", "--json", "r.json"], 5, &["ERROR empty-answer"], &["is damaged"]);
    let totals = report(&dir.join("r.json")).totals;
    // One damage is one error, though it keeps several checks from running.
    assert!(totals.errors == 1 && totals.findings > 0, "{totals:?}");
    check(dir, &["report", "merge", "r.json"], 5, &["ERROR empty-answer"], &["is damaged"]);
}

#[test]
fn shards_are_joined_into_what_one_run_says() {
    let workspace = broken();
    let dir = workspace.path();
    check(dir, &["test", "plain-text", "--json", "a.json"], 3, &[], &[]);
    check(dir, &["test", "empty-answer", "--json", "b.json"], 0, &[], &[]);
    check(dir, &["test", "--exclude", "*", "--json", "empty.json"], 4, &["nothing ran"], &[]);
    let args = ["report", "merge", "b.json", "a.json", "--out", "all.json", "--junit", "all.xml"];
    let said = check(dir, &args, 3, &["GD001 golden-differs", "2 scenarios"], &[]);
    let whole = check(dir, &["test", "--json", "whole.json"], 3, &[], &[]);
    assert_eq!(said, whole);
    let (all, whole) = (report(&dir.join("all.json")), report(&dir.join("whole.json")));
    assert_eq!(all.scenarios, whole.scenarios);
    assert!(fs::read_to_string(dir.join("all.xml")).unwrap().contains("GD001"));
    check(dir, &["report", "merge", "b.json"], 0, &["all held"], &[]);

    let text = fs::read_to_string(dir.join("a.json")).unwrap();
    fs::write(dir.join("new.json"), text.replacen("\"format\": 1", "\"format\": 9", 1)).unwrap();
    fs::remove_file(dir.join("all.json")).unwrap();
    for (other, sentence) in [
        ("empty.json", "empty.json is empty"),
        ("a.json", "a check belongs to one shard only"),
        ("whole.json", "whole.json has the check plain-text::"),
        ("new.json", "new.json has format 9"),
        ("scenarios/plain-text/scenario.toml", "is no report of a test run"),
        ("nowhere.json", "can't read nowhere.json"),
    ] {
        let args = ["report", "merge", "a.json", other, "--out", "all.json"];
        check(dir, &args, 2, &[], &[sentence]);
        assert!(!dir.join("all.json").exists(), "{other}");
    }
}

#[test]
fn quiet_says_only_what_does_not_hold() {
    let workspace = broken();
    let dir = workspace.path();
    assert_eq!(check(dir, &["test", "empty-answer", "--quiet"], 0, &[], &[]), "");
    let out = check(dir, &["test", "-q"], 3, &["FAILED plain-text", "GD001", "2 scenarios"], &[]);
    assert!(!out.contains("empty-answer"), "{out}");
}

#[test]
fn colours_are_printed_when_they_are_wanted() {
    let workspace = workspace(&["empty-answer"]);
    let colours = |args: &[&str], variable: Option<&str>| {
        let mut command = clitape();
        command.env_remove("NO_COLOR").current_dir(workspace.path()).arg("test").args(args);
        command.envs(variable.map(|name| (name, "1")));
        let output = command.output().unwrap();
        assert!(!output.stderr.contains(&b'\r'), "a line is rewritten on a terminal only");
        output.stdout.contains(&0x1b)
    };
    assert!(!colours(&[], None), "not into a pipe");
    assert!(colours(&["--color", "always"], None));
    assert!(colours(&["--color", "always"], Some("NO_COLOR")), "the flag is nearer");
    assert!(!colours(&["--color", "never"], Some("CLICOLOR_FORCE")));
    assert!(colours(&[], Some("CLICOLOR_FORCE")));
}

#[test]
fn the_manual_page_knows_the_command() {
    check(root(), &["man"], 0, &[".TH", "clitape\\-test", "Exit codes"], &[]);
    let dir = tempfile::tempdir().unwrap();
    check(dir.path(), &["man", "--out", "."], 0, &[], &[]);
    for page in ["clitape.1", "clitape-test.1", "clitape-report-merge.1"] {
        assert!(dir.path().join(page).exists(), "{page}");
    }
    check(dir.path(), &["man", "--out", "new/folder"], 0, &[], &[]);
    assert!(dir.path().join("new/folder/clitape.1").exists(), "it makes the folder");
    let refused = ["can't make the folder clitape.1; choose another"];
    check(dir.path(), &["man", "--out", "clitape.1"], 2, &[], &refused);
}

#[test]
fn the_schemas_of_reports_are_up_to_date() {
    let generator = SchemaSettings::draft2020_12().into_generator();
    check_schema("report", &generator.into_root_schema_for::<Report>().to_value());
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    check_schema("drift", &generator.into_root_schema_for::<DriftReport<'_>>().to_value());
}

/// Compares a schema with the committed one.
fn check_schema(name: &str, schema: &Value) {
    let current = serde_json::to_string_pretty(schema).unwrap() + "\n";
    let path = root().join(format!("schemas/{name}.json"));
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let hint = "run `UPDATE_SCHEMA=1 cargo test --test commands report`";
    assert!(committed == current, "schemas/{name}.json is out of date; {hint}");
}

/// Breaks a golden of a scenario, and returns its text from before.
fn break_golden(dir: &Path, scenario: &str, view: &str) -> String {
    let path = dir.join(format!("scenarios/{scenario}/golden/{view}.snap"));
    let text = fs::read_to_string(&path).unwrap();
    let broken = text.replacen("\"at\":0", "\"at\":7", 1);
    assert_ne!(broken, text);
    fs::write(path, broken).unwrap();
    text
}

#[test]
fn a_review_lists_what_waits_and_what_is_orphaned() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    check(dir, &["review", "--list"], 0, &[], &[]);
    break_golden(dir, "plain-text", "bus");
    let golden = dir.join("scenarios/plain-text/golden");
    fs::copy(golden.join("bus.snap"), golden.join("bus.9.9.9.snap")).unwrap();
    fs::remove_file(golden.join("lifecycle.snap")).unwrap();
    check(dir, &["test", "--update"], 3, &["GD003 golden-orphan"], &[]);
    let lines = [
        " changed plain-text/bus: lifecycle start was expected at +7 ms, it came at +0 ms",
        "     new plain-text/lifecycle: a new golden of ",
        "  orphan plain-text/bus.9.9.9: nothing is compared with it",
    ];
    check(dir, &["review", "--list"], 3, &lines, &[]);
    let out = check(dir, &["review", "--list", "--json"], 3, &[], &[]);
    let items: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |key: &str| items.iter().map(|item| item[key].as_str().unwrap()).collect::<Vec<_>>();
    assert!(of("id").contains(&"plain-text/bus"), "{out}");
    assert!(of("path").contains(&"scenarios/plain-text/golden/lifecycle.snap"), "{out}");
    assert!(of("state").contains(&"orphan"), "{out}");
}

#[test]
fn a_review_shows_what_is_asked_for_until_it_is_settled() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let before = break_golden(dir, "plain-text", "bus");
    check(dir, &["test", "--update"], 3, &[], &[]);
    let mut command = clitape();
    command.current_dir(dir).arg("review").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"old\nn\nd\n?\na\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let shown: Vec<usize> =
        out.split("[d]iff? ").map(|part| part.matches("\n  {\"at\":").count()).collect();
    let entries = before.lines().filter(|line| line.starts_with("{\"at\":")).count();
    // The first line is printed behind the question.
    assert_eq!(shown, [0, entries - 1, entries - 1, 0, 0, 0], "{out}");
    assert!(out.ends_with("1 accepted, 0 rejected, 0 skipped\n"), "{out}");
    let golden = dir.join("scenarios/plain-text/golden/bus.snap");
    assert_eq!(fs::read_to_string(golden).unwrap(), before);
}

#[test]
fn a_golden_is_accepted_by_its_id_with_a_reason_that_its_header_keeps() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let before = break_golden(dir, "plain-text", "bus");
    break_golden(dir, "plain-text", "lifecycle");
    check(dir, &["test", "--update"], 3, &[], &[]);
    check(dir, &["review", "--accept", "plain-text/bus"], 2, &[], &["--reason"]);
    let nowhere = ["review", "--accept", "plain-text/bos", "--reason", "x"];
    check(dir, &nowhere, 2, &[], &["there are plain-text/bus, plain-text/lifecycle"]);
    let reason = "the clock\n---\nwas \"wrong\"";
    let args = ["review", "--accept", "plain-text/bus", "--reason", reason];
    check(dir, &args, 0, &["1 accepted, 0 rejected, 0 skipped"], &[]);
    let golden = dir.join("scenarios/plain-text/golden");
    let text = fs::read_to_string(golden.join("bus.snap")).unwrap();
    let line = r#"description: "the clock\\n---\\nwas \"wrong\"""#;
    assert_eq!(text.replacen(&format!("{line}\n"), "", 1), before, "{text}");
    assert!(golden.join("lifecycle.snap.new").exists(), "one golden was named");
    check(dir, &["test"], 3, &["lifecycle"], &[]);
}

#[test]
fn a_run_of_some_scenarios_touches_nothing_of_the_others() {
    let workspace = workspace(&["plain-text", "empty-answer"]);
    let dir = workspace.path();
    break_golden(dir, "plain-text", "bus");
    break_golden(dir, "empty-answer", "bus");
    let orphan = dir.join("scenarios/plain-text/golden/nobody.snap");
    fs::write(&orphan, "---\n---\n").unwrap();
    let out = check(dir, &["test", "empty-answer", "--update"], 3, &["1 scenario"], &[]);
    assert!(!out.contains("plain-text"), "{out}");
    let golden = |scenario: &str| common::files(&dir.join("scenarios").join(scenario), ".new");
    assert!(golden("plain-text").is_empty() && !golden("empty-answer").is_empty());
    check(dir, &["test", "plain-text", "--update"], 3, &["GD003 golden-orphan"], &[]);
    check(dir, &["review", "empty-answer", "--accept"], 0, &["1 accepted"], &[]);
    assert!(!golden("plain-text").is_empty() && golden("empty-answer").is_empty());
    assert!(orphan.exists());
}
