//! Tests of the extent of `clitape test`: the plans that it replays and their time, its early stop, and its list of
//! what took the time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a report that can't be read fails the test"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{check, clitape, fill_workspace, run, workspace};
use clitape_runner::report::{Report, read};
use tempfile::TempDir;

/// A golden of `plain-text`.
const GOLDEN: &str = "scenarios/plain-text/golden/telegram-partial.2.1.148.snap";

/// Changes a word of a golden, and returns the line of that word.
fn break_golden(root: &Path, golden: &str) -> usize {
    let path = root.join(golden);
    let text = fs::read_to_string(&path).expect("a golden");
    let line = text.lines().position(|line| line.contains("sendMessage")).expect("a call") + 1;
    fs::write(&path, text.replacen("sendMessage", "sendMessagf", 1)).expect("it can be written");
    line
}

/// Returns the report of `clitape test` with these arguments.
#[track_caller]
fn report(dir: &TempDir, args: &[&str], code: i32) -> Report {
    let args = [&["test", "--json", "r.json"], args].concat();
    check(dir.path(), &args, code, &[], &[]);
    read("r.json", &fs::read(dir.path().join("r.json")).unwrap()).unwrap()
}

/// Returns the number of plans of each recording.
fn plans(report: &Report) -> Vec<u64> {
    let plans = report.checks().filter(|(_, check)| check.name.ends_with("::plans"));
    plans.map(|(_, check)| check.plans).collect()
}

#[test]
fn the_command_line_chooses_the_plans() {
    let dir = workspace(&["empty-answer"]);
    for (args, expect) in [
        (&["--plans", "2"][..], 2),
        (&["--plans", "0"], 0),
        (&["--seed", "7"], 1),
        (&["--seed", "7..9"], 3),
        (&["--seed", "7", "--plans", "4"], 4),
    ] {
        let found = plans(&report(&dir, args, 0));
        assert!(
            !found.is_empty() && found.iter().all(|plans| *plans == expect),
            "{args:?} {found:?}"
        );
    }
}

#[test]
fn a_scenario_that_turns_plans_off_has_none_that_the_command_line_chooses() {
    let dir = workspace(&["stalled"]);
    for args in [&["--plans", "2"][..], &["--seed", "7"]] {
        let found = plans(&report(&dir, args, 0));
        assert!(!found.is_empty() && found.iter().all(|plans| *plans == 0), "{args:?} {found:?}");
    }
    assert!(!dir.path().join(".clitape/failures").exists());
}

#[test]
fn plans_have_a_limit_that_the_error_names() {
    let dir = workspace(&["empty-answer"]);
    let most =
        "10000 are the most that are replayed; write fewer, or raise the limit with `--max-plans`";
    for args in [&["--plans", "10001"][..], &["--seed", "1..20000"]] {
        check(dir.path(), &[&["test"], args].concat(), 2, &[], &[most]);
    }
    check(dir.path(), &["test", "--plans", "3", "--max-plans", "2"], 2, &[], &["2 are the most"]);
    for (args, part) in [
        (&["--seed", "9..7"][..], "write the smaller one first: 7..9"),
        (&["--seed", "x"], "`x` is no seed; write one such as 7"),
        (&["--seed", "1..3", "--plans", "9"], "leave out `--plans`"),
        (&["--seed", "1", "--update"], "leave out `--plans` and `--seed`"),
        (&["--timeout", "soon"], "write a time such as 90s, 500ms or 5m"),
        (&["--jobs", "0"], "1..=1000"),
        (&["--subject", "x", "--plans", "1001"], "1000 are the most for a subject"),
    ] {
        check(dir.path(), &[&["test"], args].concat(), 2, &[], &[part]);
    }
}

#[test]
fn a_few_seeds_do_not_say_that_a_variant_never_comes() {
    let dir = workspace(&["api-529-then-ok"]);
    check(dir.path(), &["test", "--seed", "1"], 0, &["all held"], &[]);
}

#[test]
fn the_first_finding_ends_the_run_and_what_was_not_checked_is_counted() {
    let dir = workspace(&["empty-answer", "plain-text", "three-tools"]);
    break_golden(dir.path(), GOLDEN);
    let fast = ["--fail-fast", "--jobs", "1", "--plans", "1"];
    let report = report(&dir, &fast, 3);
    let names: Vec<&str> = report.scenarios.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["empty-answer", "plain-text"]);
    let stopped =
        "stopped after the first scenario with a finding (--fail-fast): not checked: 1 scenario";
    check(dir.path(), &[&["test"][..], &fast].concat(), 3, &[stopped], &[]);

    // A scenario with an error is a finding too, and comes first.
    fs::write(dir.path().join("scenarios/three-tools/scenario.toml"), "title = 1").unwrap();
    let stopped = "not checked: 2 scenarios";
    check(dir.path(), &[&["test"][..], &fast].concat(), 2, &["ERROR three-tools", stopped], &[]);

    // Without findings, no such line is printed.
    let dir = workspace(&["empty-answer"]);
    let out = check(dir.path(), &[&["test"][..], &fast].concat(), 0, &["all held"], &[]);
    assert!(!out.contains("not checked"), "{out}");
}

#[test]
fn a_scenario_that_takes_too_long_is_given_up() {
    let dir = workspace(&["empty-answer", "plain-text"]);
    let report = report(&dir, &["--timeout", "1ms"], 3);
    for run in &report.scenarios {
        let found: Vec<_> = run.checks.iter().flat_map(|check| &check.findings).collect();
        let [finding] = &found[..] else { panic!("{}: {found:?}", run.name) };
        assert_eq!(finding.id.to_string(), "CK002 check-hangs");
        let expect = "the scenario took longer than the 0.001 s that `--timeout` allows";
        assert!(finding.sentence.starts_with(expect), "{}", finding.sentence);
        let skipped = run.checks.iter().filter_map(|check| check.skipped.as_deref());
        let skipped: Vec<&str> = skipped.collect();
        assert!(
            skipped.len() > 1 && skipped.iter().all(|why| why.contains("is over")),
            "{skipped:?}"
        );
    }
    check(dir.path(), &["test", "empty-answer", "--plans", "1", "--timeout", "10m"], 0, &[], &[]);
}

#[test]
fn one_scenario_that_cannot_be_read_is_one_error_row_and_the_rest_runs() {
    let dir = workspace(&["empty-answer", "plain-text"]);
    break_golden(dir.path(), GOLDEN);
    fs::write(dir.path().join("scenarios/empty-answer/scenario.toml"), "title = 1").unwrap();
    let args = ["test", "--plans", "1", "--junit", "r.xml"];
    let out =
        check(dir.path(), &args, 2, &["ERROR empty-answer", "FAILED plain-text", "WS001"], &[]);
    assert_eq!(out.matches("ERROR").count(), 1, "{out}");
    let xml = fs::read_to_string(dir.path().join("r.xml")).unwrap();
    let junit = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!((junit.errors, junit.failures), (1, 3));
}

#[test]
fn the_time_and_the_slowest_scenarios_are_on_stderr() {
    let dir = workspace(&["empty-answer", "plain-text"]);
    let (code, out, err) = run(dir.path(), &["test", "--plans", "1"]);
    assert_eq!(code, 0, "{out}{err}");
    let line = err.lines().find(|line| line.starts_with("took ")).expect("a line with the time");
    let (_, slowest) = line.split_once(" s; slowest: ").expect("the slowest scenarios");
    assert!(slowest.contains("plain-text ") && slowest.contains("empty-answer "), "{line}");
    assert!(!out.contains("took ") && !err.contains("checked "), "{out}{err}");
    let (_, again, _) = run(dir.path(), &["test", "--plans", "1", "--jobs", "1"]);
    assert_eq!(out, again);
    let (_, out, err) = run(dir.path(), &["test", "--plans", "1", "--quiet"]);
    assert_eq!(out + &err, "");
}

#[test]
fn junit_has_times() {
    let dir = workspace(&["empty-answer"]);
    check(
        dir.path(),
        &["test", "--plans", "1", "--junit", "-"],
        0,
        &["<testsuites", " time=\""],
        &[],
    );
    check(dir.path(), &["test", "--plans", "1", "--junit", "r.xml"], 0, &[], &[]);
    let xml = fs::read_to_string(dir.path().join("r.xml")).unwrap();
    let junit = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert!(junit.time.is_some());
    let suite =
        junit.test_suites.iter().find(|suite| suite.name.as_str() == "empty-answer").unwrap();
    assert!(
        suite.time.is_some() && suite.test_cases.iter().all(|case| case.time.is_some()),
        "{xml}"
    );
}

#[test]
fn an_annotation_names_the_line_of_the_golden_from_the_repository_s_root() {
    for place in ["", "tests/chat"] {
        let repository = tempfile::tempdir().unwrap();
        fs::create_dir(repository.path().join(".git")).unwrap();
        let root = repository.path().join(place);
        fs::create_dir_all(&root).unwrap();
        fill_workspace(&root, &["plain-text"]);
        let line = break_golden(&root, GOLDEN);
        let file = Path::new(place).join(GOLDEN);
        let annotation = format!("::error file={},line={line},title=GD001", file.display());
        check(&root, &["test", "--plans", "1", "--github"], 3, &[&annotation], &[]);
        // The report of a shard has it too.
        check(&root, &["test", "--plans", "1", "--json", "r.json"], 3, &[], &[]);
        check(&root, &["report", "merge", "r.json", "--github"], 3, &[&annotation], &[]);
    }
}

/// A running command. Dropping it kills the command.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_change_of_a_file_runs_again() {
    let dir = workspace(&["plain-text"]);
    let args = ["test", "--plans", "1", "--watch"];
    let mut command = clitape();
    command.current_dir(dir.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Running(command.spawn().expect("the command runs"));
    let lines = BufReader::new(child.0.stdout.take().expect("a pipe")).lines();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let until = |part: &str| {
        let mut seen = Vec::new();
        while let Ok(line) = receiver.recv_timeout(Duration::from_secs(120)) {
            if line.contains(part) {
                return;
            }
            seen.push(line);
        }
        panic!("no `{part}` in\n{}", seen.join("\n"));
    };
    until("all held");
    break_golden(dir.path(), GOLDEN);
    until("3 findings");
    let scenario = dir.path().join("scenarios/plain-text/scenario.toml");
    let text = fs::read_to_string(&scenario).unwrap();
    fs::write(&scenario, "title = 1").unwrap();
    until("ERROR plain-text");
    fs::write(&scenario, text).unwrap();
    until("3 findings");
}

#[test]
fn a_dash_is_standard_input_or_output() {
    let dir = workspace(&["empty-answer"]);
    let pipe = |args: &[&str], text: &[u8]| {
        let mut command = clitape();
        command.current_dir(dir.path()).args(args).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        // A command that refuses its arguments does not read.
        let _ = child.stdin.take().expect("a pipe").write_all(text);
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code().expect("it exits"), text(output.stdout), text(output.stderr))
    };
    let (code, json, err) = pipe(&["test", "--plans", "1", "--json", "-"], b"");
    assert_eq!(code, 0, "{json}{err}");
    assert!(read("-", json.as_bytes()).expect("the report alone").holds());
    assert!(err.contains("ok empty-answer") && err.contains("all held"), "{err}");
    let (code, tap, err) = pipe(&["report", "merge", "-", "--tap", "-"], json.as_bytes());
    assert!(code == 0 && tap.starts_with("TAP version 14"), "{tap}{err}");
    for more in [&["--junit", "-"][..], &["--github"]] {
        let (code, _, err) = pipe(&[&["test", "--json", "-"], more].concat(), b"");
        assert!(code == 2 && err.contains("can have one report only"), "{err}");
    }

    let stdout = fs::read(dir.path().join("cassettes/empty-answer/2.1.329/stdout.jsonl")).unwrap();
    for (args, code) in [
        (&["replay", "-"][..], 0),
        (&["conform", "-"], 0),
        (&["import", "-", "--scenario", "piped"], 0),
        (&["session", "-"], 2),
        (&["proof", "--check", "-"], 3),
    ] {
        let (got, out, err) = pipe(args, &stdout);
        assert_eq!(got, code, "{args:?}: {out}{err}");
    }
    assert!(dir.path().join("cassettes/piped/2.1.329/stdout.jsonl").exists());

    let (_, plan, _) = pipe(&["replay", "empty-answer/2.1.329", "--print-plan"], b"");
    let given = ["replay", "empty-answer/2.1.329", "--plan", "-", "--print-plan"];
    assert_eq!(pipe(&given, plan.as_bytes()), (0, plan, String::new()));
    let (code, _, err) = pipe(&["replay", "-", "--plan", "-"], &stdout);
    assert!(code == 2 && err.contains("can be read only once"), "{err}");
    let secret = format!("a line\nkey: {}{}\n", "ghp_", "x7Kq".repeat(9));
    let (code, out, err) = pipe(&["scan", "-"], secret.as_bytes());
    assert!(code == 3 && out.contains("stdin:2 github: "), "{out}{err}");
    assert_eq!(pipe(&["scan", "-"], b"nothing").0, 0);
    let (code, _, err) = pipe(&["chat-server", "--script", "-"], b"[[step]]\nsays = 'a'\n");
    assert!(code == 2 && err.contains("did you mean `say`?"), "{err}");
}

#[test]
fn a_terminal_shows_what_is_checked() {
    let dir = workspace(&["empty-answer", "plain-text"]);
    let pty = nix::pty::openpty(None, None).unwrap();
    let mut command = clitape();
    command.current_dir(dir.path()).args(["test", "--plans", "1", "--jobs", "1"]);
    command.env("TERM", "xterm").stdout(Stdio::null()).stderr(Stdio::from(pty.slave));
    let mut child = Running(command.spawn().expect("the command runs"));
    // The child is the last writer of the terminal, so that reading ends with it.
    drop(command);
    let mut shown = Vec::new();
    // Reading a terminal without a writer is an error.
    let _ = fs::File::from(pty.master).read_to_end(&mut shown);
    assert!(child.0.wait().expect("it ends").success());
    let shown = String::from_utf8(shown).unwrap();
    let lines: Vec<&str> = shown.split("\r\u{1b}[2K").collect();
    for part in [
        "empty-answer 2.1.332::bus",
        "checked 1 of 2 scenarios; plain-text 2.1.332::plans",
        "checked 2 of 2 scenarios",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(part)), "no `{part}` in {lines:#?}");
    }
}
