//! Tests of `clitape compare`: two sides on the same cassettes, and the errors for sides that can't be compared.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{clitape, put_program, root, workspace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Compares in `workspace`, and returns the exit code, stdout, stderr, and the folder with the written files.
fn compare(workspace: &Path, args: &[&str]) -> (i32, String, String, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let output = clitape()
        .current_dir(workspace)
        .env("XDG_CACHE_HOME", dir.path().join("cache"))
        .arg("compare")
        .args(args)
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr), dir)
}

/// Compares in the checkout, and checks that the command, the page and the text have these words.
#[track_caller]
fn check(args: &[&str], code: i32, told: &[&str]) -> [String; 3] {
    check_in(root(), args, code, told)
}

#[track_caller]
fn check_in(workspace: &Path, args: &[&str], code: i32, told: &[&str]) -> [String; 3] {
    let (got, out, err, dir) = compare(workspace, args);
    assert_eq!(got, code, "{args:?}\n{out}{err}");
    let read = |file| fs::read_to_string(dir.path().join("out").join(file)).unwrap_or_default();
    let texts = [out + &err, read("index.html"), read("compare.md")];
    for part in told {
        assert!(texts[0].contains(part), "{args:?}: no `{part}` in\n{}", texts[0]);
    }
    texts
}

/// Makes a program that applies a script to the output of `clitape`; it exists as long as the folder.
fn gateway(dir: &TempDir, script: &str) -> String {
    let path: PathBuf = dir.path().join("gateway");
    let bin = env!("CARGO_BIN_EXE_clitape");
    let script = format!("#!/bin/sh\nclitape() {{ '{bin}' \"$@\"; }}\n{script}\n");
    put_program(&path, &script);
    path.to_str().unwrap().to_owned()
}

/// Makes a program that changes the output of `clitape` by `sed`.
fn changed(dir: &TempDir, sed: &str) -> String {
    gateway(
        dir,
        &format!("out=$(clitape \"$@\") || exit $?\nprintf '%s\\n' \"$out\" | sed '{sed}'"),
    )
}

#[test]
fn a_program_that_prints_the_same_differs_in_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let same = gateway(&dir, "clitape \"$@\"");
    let told =
        ["A  this (clitape ", "B  gateway (program's sha256 ", "nothing differs in 8 cassettes"];
    let [_, page, text] = check(&["this", &same, "three-tools", "bash-count"], 0, &told);
    assert!(page.contains("8 cassettes, in every lane that was compared"), "{page}");
    let begins = "# Before and after\n\n**nothing differs in 8 cassettes**\n";
    assert!(text.starts_with(begins), "{text}");
    let quiet = check(&["this", &same, "three-tools", "--quiet"], 0, &[]);
    assert_eq!(quiet[0], "");
}

/// What was compared until a signal came is reported, and the exit code says that this is not all.
#[test]
fn a_comparison_that_is_stopped_reports_what_was_compared() {
    let dir = tempfile::tempdir().unwrap();
    let waits = dir.path().join("waits");
    let same = gateway(
        &dir,
        &format!(
            "case $* in *three-tools*) touch '{}'; exec sleep 600;; esac\nclitape \"$@\"",
            waits.display()
        ),
    );
    let mut command = clitape();
    command.current_dir(root()).args(["compare", "this", &same, "plain-text", "three-tools"]);
    command.args(["--version", "2.1.332", "--jobs", "1", "--out"]).arg(dir.path().join("out"));
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !waits.exists() && began.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(4), "{told}");
    let verdict = "nothing differs in 1 cassette; stopped by a signal: not compared: 1 cassette";
    assert!(told.contains(verdict), "{told}");
    let text = fs::read_to_string(dir.path().join("out/compare.md")).unwrap();
    assert!(text.contains(verdict), "{text}");
}

/// A comparison has the options of a test run: it ends at the first cassette that differs, and writes what differs as JUnit.
#[test]
fn a_comparison_ends_at_the_first_difference_and_writes_it_as_junit() {
    let dir = tempfile::tempdir().unwrap();
    let other = changed(&dir, "s/tape recorder/record player/");
    let junit = dir.path().join("junit.xml");
    let args = ["this", &other, "plain-text", "three-tools", "--version", "2.1.332"];
    let options = ["--jobs", "1", "--fail-fast", "--junit", junit.to_str().unwrap()];
    let verdict = "1 of 1 cassette differs; after the first finding: not compared: 1 cassette";
    check(&[&args[..], &options[..]].concat(), 3, &[verdict]);
    let written = fs::read_to_string(&junit).unwrap();
    for part in ["CM001 sides-differ plain-text 2.1.332 bus", "name=\"plain-text\""] {
        assert!(written.contains(part), "{part}: {written}");
    }
    assert!(!written.contains("three-tools"), "{written}");
}

#[test]
fn one_other_word_is_found_with_its_class_and_shown_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let other = changed(&dir, "s/port 8081/port 9090/g");
    let told = [
        "4 of 4 cassettes differ",
        "text     three-tools 2.1.332 telegram-partial turn 1, +",
        "Whether gateway does what it prints: its trace is taken at its word.",
        "Other arrivals of the bytes: every replay brought whole lines, 200 ms apart",
    ];
    let [_, page, text] = check(&["this", &other, "three-tools"], 3, &told);
    for part in [
        "<del>8081</del>",
        "<ins>9090</ins>",
        "<span class=\"badge text\">text</span>",
        "What a person ends up reading",
        "the client asks for port 9090.",
        "B  gateway replay cassettes/three-tools/2.1.332 --mode partial --pace 200 --lane telegram --json",
        "differs in the same way as 2.1.332",
        "<h2>Not covered</h2>",
    ] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
    let path = dir.path().to_str().unwrap();
    assert!(!page.contains(path) && !text.contains(path), "where the program lies is told");
    assert!(!page.contains("<script"), "there is a script");
    let place = "- `three-tools 2.1.332 telegram-partial` (text) ";
    assert!(text.contains(place) && text.contains("\n## Not covered\n\n- "), "{text}");
}

#[test]
fn what_only_one_side_says_is_of_class_contract() {
    let dir = tempfile::tempdir().unwrap();
    let fewer = changed(&dir, "/\"lane\":\"sse\",\"kind\":\"complete\"/d");
    let [_, page, _] = check(
        &["this", &fewer, "plain-text/2.1.329"],
        3,
        &["contract plain-text 2.1.329 sse turn 1, +"],
    );
    assert!(page.contains("<span class=\"none\">nothing</span>"), "{page}");
    let later = changed(&dir, "s/00,\"lane\":\"bus\"/01,\"lane\":\"bus\"/");
    check(
        &["this", &later, "plain-text/2.1.329"],
        3,
        &["  timing   plain-text 2.1.329 bus turn 1, +", "differ in timing: 1"],
    );
}

#[test]
fn a_program_that_fails_is_told_and_the_rest_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let script = "case $2 in *bash-count*) echo 'no such tape' >&2; exit 1;; esac\nclitape \"$@\"";
    let fails = gateway(&dir, script);
    let told = [
        "Could not be compared\n  B (gateway): it ended with code 1: no such tape [bash-count 2.1.332, chat partial",
        "nothing differs in 4 cassettes; ",
        "Replays that could not be compared: ",
    ];
    let texts = check(&["this", &fails, "plain-text", "bash-count"], 3, &told);
    for text in &texts {
        assert!(text.contains("it ended with code 1: no such tape"), "{text}");
    }
    let broken = gateway(&dir, "echo '{\"at\":0}'");
    check(
        &[&broken, "this", "plain-text"],
        3,
        &["A (gateway): line 1 it printed is no entry of a trace"],
    );
    let silent = gateway(&dir, "true");
    check(
        &[&silent, "this", "plain-text"],
        3,
        &["it printed nothing", "nothing differs in 0 cassettes"],
    );
}

#[test]
fn a_program_is_asked_for_the_lanes_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    let script = "case \"$*\" in *,sse*|*lane\\ sse*|*session*) echo 'no such lane' >&2; exit 2;; esac\nclitape \"$@\"";
    let older = gateway(&dir, script);
    let told =
        ["nothing differs in 4 cassettes", "Lanes that gateway does not know: sse, session."];
    check(&["this", &older, "plain-text"], 0, &told);
    let unwilling = gateway(&dir, "echo 'what is --pace?' >&2; exit 2");
    let told = ["it ended with code 2: what is --pace?"];
    check(&["this", &unwilling, "plain-text"], 3, &told);
}

#[test]
fn hostile_output_is_text_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let sed = "s/three files/<img src=x onerror=alert(1)>\\\\u001b[31m<\\/pre>```/g";
    let texts = check(&["this", &changed(&dir, sed), "bash-count/2.1.329"], 3, &["onerror"]);
    let [told, page, text] = texts;
    assert!(page.contains("&lt;img src=x") && !page.contains("<img"), "{page}");
    for text in [&told, &page, &text] {
        let odd = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(odd, None, "a control character in\n{text}");
    }
    assert!(text.contains(" ````turn 1, "), "no span is longer than those inside\n{text}");
}

#[test]
fn versions_are_compared_where_both_are_recorded() {
    let told = ["resume-twice 2.1.148 → 2.1.329 ", "A  2.1.148 (cassettes of claude 2.1.148, "];
    check(&["2.1.148", "2.1.329", "resume-twice", "three-tools"], 3, &told);
    let told = ["Scenarios without the recordings it takes: compaction.", "/2.1.329"];
    check(&["1.0.128", "2.1.148", "compaction", "three-tools"], 3, &told);
}

#[test]
fn what_can_t_be_compared_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    let committed = repository();
    for (args, told) in [
        (&["this", "this"][..], "A and B are the same: this"),
        (&["this", "2.1.329"], "`2.1.329` is a version of the CLI, the other side is none"),
        (&["this", "gateway"], "such as ./gateway"),
        (&["this", "./none"], "can't call ./none: No such file or directory"),
        (&["this", plain.to_str().unwrap()], "it is no program"),
        (&["git:HEAD", "git:HEAD^{commit}"], "A and B are the same: both revisions are "),
        (&["this", "git:no-such-branch"], "the repository has no revision `no-such-branch`"),
        (&["this", "git:HEAD", "nothing"], "no scenario `nothing`"),
        (&["this", "git:HEAD", "bash-count/9.9"], "9.9"),
        (
            &["2.1.148", "9.9.9"],
            "CLI 9.9.9 is recorded for none of the scenarios; recorded are 1.0.128, ",
        ),
        (&["2.1.148", "2.1.329", "--version", "1.0.128"], "take `--version 1.0.128` away"),
        (&["this"], "required"),
    ] {
        check_in(committed.path(), args, 2, &[told]);
    }
    let alone = workspace(&["bash-count"]);
    let (code, out, err, _dir) = compare(alone.path(), &["this", "git:HEAD"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(err.contains("is in no git repository"), "{err}");
    fs::remove_dir_all(alone.path().join("cassettes")).unwrap();
    let (code, out, err, _dir) = compare(alone.path(), &["this", "git:HEAD"]);
    assert_eq!(code, 4, "{out}{err}");
    assert!(err.contains("nothing to compare: "), "{err}");
}

/// Makes a workspace that is a repository with one commit.
fn repository() -> TempDir {
    let workspace = workspace(&["bash-count"]);
    git(workspace.path(), &["init", "-q"]);
    git(workspace.path(), &["add", "."]);
    git(workspace.path(), &["commit", "-q", "-m", "What it was"]);
    workspace
}

fn git(dir: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
    let output = Command::new("git").current_dir(dir).args(who).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_revision_that_was_built_before_is_called() {
    let workspace = repository();
    let sha = git(workspace.path(), &["rev-parse", "HEAD"]);
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("clitape/builds").join(&sha).join("bin");
    fs::create_dir_all(&kept).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_clitape"), kept.join("clitape")).unwrap();
    let out = dir.path().join("out");
    let program = changed(&dir, "s/three files/four files/");
    let output = clitape()
        .current_dir(workspace.path())
        .env("XDG_CACHE_HOME", dir.path())
        .args(["compare", "git:HEAD", &program, "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains(&format!("A  git:HEAD (revision {sha}, commit ")), "{told}");
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains(&sha) && page.contains("What it was"), "{page}");
    let line = format!(" --lane bus --json # clitape as of {}\nB  gateway replay", &sha[..12]);
    assert!(page.contains(&line), "no `{line}` in\n{page}");
}
