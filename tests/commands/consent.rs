//! Tests of the consent to a subject, which is a program of the repository: the command shows what it runs, and asks
//! once before it runs it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::project::text;
use crate::common::{clitape, has_program, on_terminal, workspace};

/// Subjects of every kind, which leave a mark when they run, and then end.
const SUBJECTS: &str = "
[subject.gateway]
kind = 'gateway'
command = ['sh', '-c', 'touch ran; exit 1']
pass_env = ['SECRET_OF_MINE']
env = { NODE_OPTIONS = '--import ./evil.mjs' }
[subject.other]
kind = 'gateway'
command = ['sh', '-c', 'touch ran; exit 2']
[subject.agent]
kind = 'agent'
command = ['sh', '-c', 'touch ran; exit 1']
[subject.parser]
kind = 'parser'
command = ['sh', '-c', 'touch ran; exit 1']
[subject.replay]
kind = 'replay'
command = ['sh', '-c', 'touch ran; exit 1']
[subject.built]
kind = 'gateway'
command = ['sh', '-c', 'exit 1']
checkout = '.'
build = ['sh', '-c', 'touch ran']
";

/// Returns the command in `dir`, with its own list of consents.
fn command(dir: &Path, args: &str) -> Command {
    let mut command = clitape();
    command.args(args.split(' ')).current_dir(dir).env("XDG_STATE_HOME", dir.join("state"));
    command.stdin(Stdio::null());
    command
}

#[test]
fn a_subject_is_shown_and_not_started_unasked() {
    let dir = workspace(&["plain-text"]);
    fs::write(dir.path().join("clitape.toml"), SUBJECTS).unwrap();
    for args in [
        "subject check gateway",
        "test --subject gateway",
        "--quiet test --subject gateway plain-text",
        "rig gateway plain-text",
        "compare subject:gateway subject:other --out out",
        "test --subject agent",
        "subject check agent",
        "rig agent plain-text",
        "test --subject parser",
        "test --subject replay",
        "test --subject built@HEAD",
    ] {
        let output = command(dir.path(), args).output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {told}");
        for part in ["makes clitape run this as you", "command: sh -c ", "pass --yes"] {
            assert!(told.contains(part), "{args}: no `{part}` in {told}");
        }
        let is_first = told.contains("gateway makes");
        for part in ["it gets your variable: SECRET_OF_MINE", "NODE_OPTIONS='--import ./evil.mjs'"]
        {
            assert_eq!(told.contains(part), is_first, "{args}: `{part}` in {told}");
        }
        assert_eq!(told.contains("which is built by: sh -c 'touch ran'"), args.contains("built"));
        assert!(!dir.path().join("ran").exists(), "{args}: it ran");
    }
}

#[test]
fn a_person_agrees_once_to_what_a_subject_runs() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text"]);
    let (config, ran) = (dir.path().join("clitape.toml"), dir.path().join("ran"));
    let check = |typed: Option<&str>, question: bool, runs: bool| {
        let asked = command(dir.path(), "subject check gateway");
        let output = match typed {
            Some(typed) => on_terminal(typed, &asked).output(),
            None => { asked }.output(),
        };
        let output = output.unwrap();
        let told = text(&output);
        assert_eq!(told.contains("Start gateway? [y/N]"), question, "{told}");
        assert_eq!(ran.exists(), runs, "{told}");
        assert_eq!(output.status.code() == Some(4), typed.is_some() && !runs, "{told}");
        // An error means that the subject did not run.
        let _ = fs::remove_file(&ran);
    };
    fs::write(&config, SUBJECTS).unwrap();
    check(Some("n\n"), true, false);
    check(Some("y\n"), true, true);
    check(Some(""), false, true);
    check(None, false, true);
    // Limits and promises of a subject do not change what runs; another command, variable or folder does.
    fs::write(&config, SUBJECTS.replace("pass_env", "within_s = 9\npass_env")).unwrap();
    check(None, false, true);
    fs::write(&config, SUBJECTS.replace("SECRET_OF_MINE", "ANOTHER")).unwrap();
    check(None, false, false);
    fs::write(&config, SUBJECTS.replace("exit 1", "exit 3")).unwrap();
    check(None, false, false);
    let other = workspace(&["plain-text"]);
    fs::write(other.path().join("clitape.toml"), SUBJECTS).unwrap();
    let mut elsewhere = command(other.path(), "subject check gateway");
    let output = elsewhere.env("XDG_STATE_HOME", dir.path().join("state")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
}

#[test]
fn a_setting_that_decides_what_runs_is_asked_about_again() {
    if !has_program("python3") {
        return;
    }
    const SUBJECT: &str = "
        [subject.x]
        kind = 'gateway'
        command = ['sh', '-c', '{version}']
        version = 'touch ran; exit 1'
        build = ['true']
        values = { a = 'b' }
        idle_s = 5
    ";
    let dir = workspace(&["plain-text"]);
    let (config, ran) = (dir.path().join("clitape.toml"), dir.path().join("ran"));
    fs::write(&config, SUBJECT).unwrap();
    let asked = command(dir.path(), "subject check x");
    let told = text(&on_terminal("y\n", &asked).output().unwrap());
    assert!(
        told.contains("command: sh -c 'touch ran; exit 1'"),
        "the version is filled in: {told}"
    );
    assert!(ran.exists(), "{told}");
    for (before, after, is_asked) in [
        ("idle_s = 5", "idle_s = 6", false),
        ("idle_s = 5", "install = { npm = 'a', node = '24' }", true),
        ("ran; exit 1", "ran; touch PWN", true),
        ("['true']", "['touch', 'PWN']", true),
        ("a = 'b'", "a = 'c'", true),
    ] {
        let _ = fs::remove_file(&ran);
        fs::write(&config, SUBJECT.replace(before, after)).unwrap();
        let output = command(dir.path(), "subject check x").output().unwrap();
        let told = text(&output);
        assert_eq!(told.contains("pass --yes"), is_asked, "{after}: {told}");
        assert_eq!(ran.exists(), !is_asked, "{after}: {told}");
    }
}

#[test]
fn the_end_of_what_runs_is_shown_before_it_runs() {
    let dir = workspace(&["plain-text"]);
    let long = "x".repeat(9_000);
    let subject = format!(
        "[subject.x]\nkind = 'gateway'\ncommand = ['sh', '-c', ': {long}; touch EVIL-COMMAND']\n\
         env = {{ A = '{long}', NODE_OPTIONS = '--import /EVIL-ENV.mjs' }}\n"
    );
    fs::write(dir.path().join("clitape.toml"), subject).unwrap();
    let scenario = dir.path().join("scenarios/hidden");
    for folder in ["workspace/conf", "workspace/plug/hooks"] {
        fs::create_dir_all(scenario.join(folder)).unwrap();
    }
    let hooks = |name: &str| {
        format!(
            "\u{feff}{{\"apiKeyHelper\":\"EVIL-HELPER\",\"hooks\":{{\"Stop\":[{{\"command\":\"{long} {name}\"}}]}}}}"
        )
    };
    for (file, text) in [
        (
            "scenario.toml",
            format!(
                "title = 'h'\nabout = 'h'\n[record]\nprompt = 'p'\nargs = ['--plugin-dir', 'plug', \
                 '--append-system-prompt', '{long}', '--settings', '{{\"hooks\":\"EVIL-ARGUMENT\"}}']\n"
            ),
        ),
        ("model.toml", "[[turn]]\nblock = [{ text = 'x' }]\n".to_owned()),
        ("workspace/conf/settings.json", hooks("EVIL-LINKED")),
        ("workspace/plug/hooks/hooks.json", hooks("EVIL-PLUGIN")),
    ] {
        fs::write(scenario.join(file), text).unwrap();
    }
    std::os::unix::fs::symlink("conf", scenario.join("workspace/.claude")).unwrap();
    std::os::unix::fs::symlink("/etc", scenario.join("workspace/out")).unwrap();
    for (args, parts) in [
        ("subject check x", &["EVIL-COMMAND", "EVIL-ENV"][..]),
        (
            "record hidden --claude ./none",
            &[
                "EVIL-ARGUMENT",
                "EVIL-HELPER",
                "EVIL-LINKED",
                "EVIL-PLUGIN",
                "a link: .claude -> conf",
                "a link that leads to no file of the workspace: out -> /etc",
            ],
        ),
    ] {
        let output = command(dir.path(), args).output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {told}");
        for part in parts.iter().chain(&["characters left out here; read "]) {
            assert!(told.contains(part), "{args}: no `{part}` in {told}");
        }
    }
}

#[test]
fn yes_starts_a_subject_and_agrees_to_nothing() {
    let dir = workspace(&["plain-text"]);
    fs::write(dir.path().join("clitape.toml"), SUBJECTS).unwrap();
    let output = command(dir.path(), "subject check --yes gateway").output().unwrap();
    assert!(dir.path().join("ran").exists(), "{}", text(&output));
    fs::remove_file(dir.path().join("ran")).unwrap();
    let output = command(dir.path(), "subject check gateway").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let output = command(dir.path(), "test --yes").output().unwrap();
    assert!(text(&output).contains("--subject"), "{}", text(&output));
}
