//! What a recording starts ends with it, whatever ends the recording, and reaches nothing outside its
//! folder. A shell script is in the CLI's place; it starts a daemon as `setsid` and `cd /` make one.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use clitape_runner::cassette::Cassette;
use common::clitape;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use tempfile::TempDir;

/// How long anything is waited for that has to come.
const PATIENCE: Duration = Duration::from_secs(120);
const RESULT: &str = r#"echo '{"type":"result","session_id":"5-a"}'"#;

/// A project with one scenario, a CLI and a folder for temporary files, all its own.
struct Project {
    dir: TempDir,
}

impl Project {
    /// One whose CLI runs `script` when it is not asked for its version.
    fn new(script: &str) -> Self {
        Self::with_version("echo 9.9.9", script)
    }

    fn with_version(version: &str, script: &str) -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        let scenario = project.path().join("scenarios/slow");
        fs::create_dir_all(scenario.join("workspace")).unwrap();
        fs::create_dir(project.tmp()).unwrap();
        let toml = "title = 't'\nabout = 'a'\n[record]\nprompt = 'Go.'\nversions = ['9.9.9']\n";
        fs::write(scenario.join("scenario.toml"), toml).unwrap();
        let model = "[[turn]]\n[[turn.block]]\ntext = 'Hi.'\n";
        fs::write(scenario.join("model.toml"), model).unwrap();
        let text =
            format!("#!/bin/bash\nif [ \"$1\" = --version ]; then {version}; exit; fi\n{script}\n");
        let program = project.path().join("claude");
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        project
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    fn cassette(&self) -> PathBuf {
        self.path().join("cassettes/slow/9.9.9")
    }

    /// The command that records; it waits on nobody's answer.
    fn record(&self) -> Command {
        let mut command = clitape();
        command
            .args(["record", "slow", "--claude", "./claude"])
            .current_dir(self.path())
            .env("TMPDIR", self.tmp())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Processes of the project: its folder stands in their environment or their command line.
    fn processes(&self) -> Vec<(i32, String)> {
        let folder = self.path().to_string_lossy().into_owned();
        let me = i32::try_from(std::process::id()).unwrap();
        let read = |pid: i32, name: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| *pid != me)
            .map(|pid| (pid, read(pid, "cmdline"), read(pid, "environ")))
            .filter(|(_, line, environment)| (line.clone() + environment).contains(&folder))
            .map(|(pid, line, _)| (pid, line))
            .collect()
    }

    /// Waits until no process of the project is left; one that was killed takes a moment.
    fn wait_for_silence(&self, what: &str) {
        let begin = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{what}: {left:?} is left");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Nothing temporary is left, and what is recorded is whole.
    fn check_files(&self, what: &str) {
        let names = |dir: &Path| -> BTreeSet<String> {
            let entries = fs::read_dir(dir).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(&self.tmp()), BTreeSet::new(), "{what}");
        let recorded = names(&self.path().join("cassettes/slow"));
        let whole = [String::from("9.9.9")];
        assert!(recorded.iter().all(|name| whole.contains(name)), "{what}: {recorded:?}");
        if self.cassette().exists() {
            Cassette::load(&self.cassette()).unwrap();
        }
    }

    /// Waits for a file below the folder for temporary files; its whole path.
    fn wait_for(&self, name: &str) -> PathBuf {
        let begin = Instant::now();
        loop {
            let walk = walkdir::WalkDir::new(self.tmp()).into_iter().flatten();
            let mut found = walk.filter(|entry| entry.file_name() == name);
            if let Some(entry) = found.next() {
                return entry.into_path();
            }
            assert!(begin.elapsed() < PATIENCE, "no {name}: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, signal).unwrap();
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}{}", output.status, String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Daemons that leave the group, the session, the folder and the environment, then the rest.
fn daemons(then: &str) -> String {
    format!(
        "setsid bash -c 'cd /; sleep 600' & \
         env -i setsid bash -c 'cd /; setsid bash -c \"sleep 600; : $0\" \"$0\" & \
         sleep 600; :' \"$0\" </dev/null >/dev/null 2>&1 & \
         {then}"
    )
}

#[test]
fn issue_13_finding_2_sixty_signals_at_random_moments_leave_nothing() {
    const SIGNALS: [Signal; 5] =
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGKILL];
    let seed = std::env::var("CLITAPE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos())
    });
    println!("seed {seed}; set CLITAPE_SEED to draw the same moments again");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draws: Vec<(usize, Signal, f64)> = Vec::new();
    for number in 0..60 {
        let part = f64::from(random.next_u32()) / f64::from(u32::MAX) * 1.1;
        draws.push((number, SIGNALS[number % SIGNALS.len()], part));
    }
    // Most of the time is waited: four projects share the moments.
    std::thread::scope(|scope| {
        for draws in draws.chunks(15) {
            scope.spawn(move || disturb(seed, draws));
        }
    });
}

/// Records in a project of its own again and again, each time with a signal at a part of the time that an
/// undisturbed recording takes, and checks that nothing is left.
fn disturb(seed: u64, draws: &[(usize, Signal, f64)]) {
    let script = daemons(&format!("echo '{{\"type\":\"x\"}}'; sleep 0.1; {RESULT}"));
    let project = Project::new(&script);
    // The first is not disturbed: it says how long one takes.
    let begin = Instant::now();
    let first = project.record().arg("--yes").output().unwrap();
    assert!(first.status.success(), "{}", text(&first));
    let whole = begin.elapsed();
    project.wait_for_silence("undisturbed");
    project.check_files("undisturbed");
    for &(number, signal, part) in draws {
        let moment = whole.mul_f64(part);
        let what = format!("seed {seed}, number {number}: {signal} after {moment:?}");
        let child = project.record().arg("--yes").spawn().unwrap();
        std::thread::sleep(moment);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let told = format!("{what}: {}", text(&output));
        match output.status.code() {
            // It had ended, or not begun.
            Some(0) => {}
            None => assert_eq!(output.status.signal(), Some(signal as i32), "{told}"),
            Some(code) => assert!(code == 4 && told.contains("stopped;"), "{told}"),
        }
        if signal == Signal::SIGKILL {
            project.wait_for_silence(&what);
            let next = project.record().arg("--yes").output().unwrap();
            assert!(next.status.success(), "{what}: {}", text(&next));
        }
        project.wait_for_silence(&what);
        project.check_files(&what);
    }
}

#[test]
fn issue_13_finding_2_the_next_recording_ends_what_a_killed_one_left() {
    let project = Project::new(&daemons(": > \"$HOME/ready\"; sleep 600"));
    let mut child = project.record().arg("--yes").spawn().unwrap();
    project.wait_for("ready");
    let is_supervisor = |(_, line): &&(i32, String)| line.contains("__supervise");
    let processes = project.processes();
    let (supervisor, _) = processes.iter().find(is_supervisor).unwrap();
    // It can't do its work, so that the next recording has to.
    kill(Pid::from_raw(*supervisor), Signal::SIGSTOP).unwrap();
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    assert!(!project.processes().is_empty());
    let short = fs::read_to_string(project.path().join("claude")).unwrap();
    let script = short.replace("sleep 600", "true") + "\n" + RESULT;
    fs::write(project.path().join("claude"), script).unwrap();
    let next = project.record().arg("--yes").output().unwrap();
    let told = text(&next);
    assert!(told.contains("temporary folders: 1, processes in them: "), "{told}");
    project.check_files("after the next");
}

#[test]
fn issue_13_finding_27_a_daemon_does_not_outlive_the_recording() {
    let project = Project::new(&daemons(RESULT));
    let output = project.record().arg("--yes").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let left = project.processes();
    assert!(left.is_empty(), "{left:?}");
    project.check_files("a daemon");
}

#[test]
fn issue_13_finding_17_a_cli_that_hangs_when_asked_for_its_version_is_stopped() {
    let project = Project::with_version(": > \"$HOME/ready\"; sleep 600", RESULT);
    let child = project.record().arg("--yes").spawn().unwrap();
    project.wait_for("ready");
    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().unwrap();
    let told = text(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("stopped; nothing was written"), "{told}");
    project.wait_for_silence("a version");
    project.check_files("a version");
}

#[test]
fn issue_13_finding_17_a_fifo_in_a_workspace_is_refused() {
    let project = Project::new(RESULT);
    let fifo = project.path().join("scenarios/slow/workspace/pipe");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let output = project.record().arg("--yes").output().unwrap();
    let told = text(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("workspace/pipe is a FIFO"), "{told}");
}

#[test]
fn issue_13_finding_29_a_prompt_is_no_option() {
    let project = Project::new(&format!("printf 'arg:%s\\n' \"$@\"; {RESULT}"));
    let path = project.path().join("scenarios/slow/scenario.toml");
    let toml = fs::read_to_string(&path).unwrap().replace("Go.", "--version");
    fs::write(&path, toml + "args = ['--allowedTools', 'Read']\n").unwrap();
    let output = project.record().arg("--yes").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let stdout = fs::read_to_string(project.cassette().join("stdout.jsonl")).unwrap();
    assert!(stdout.contains("arg:Read\narg:--\narg:--version\n{"), "{stdout}");
    assert!(stdout.starts_with("arg:-p\narg:--output-format\n"), "{stdout}");
}

#[test]
fn issue_13_point_7_an_unknown_scenario_is_shown_and_not_recorded_unasked() {
    let project = Project::new(RESULT);
    let model =
        "[[turn]]\n[[turn.block]]\ntool = 'Bash'\ninput = { command = \"ls \\u001b[2J\" }\n";
    fs::write(project.path().join("scenarios/slow/model.toml"), model).unwrap();
    for args in [&[][..], &["--check"], &["--quiet"]] {
        let output = project.record().args(args).output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(r"the model calls Bash ×1: `ls \u{1b}[2J`"), "{told}");
        assert!(told.contains("pass --yes"), "{told}");
        assert!(!project.cassette().exists());
    }
    let output = project.record().args(["--yes", "--quiet"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    let output = project.record().output().unwrap();
    assert_eq!(output.status.code(), Some(2), "--yes makes nothing known: {}", text(&output));
    // What was written here is known, until somebody changes it.
    let new = |args: &[&str]| project.record().args(args).output().unwrap();
    let state = project.path().join("state");
    let mut command = clitape();
    command.args(["new", "mine"]).current_dir(project.path()).env("XDG_STATE_HOME", state);
    assert!(command.output().unwrap().status.success());
    let told = text(&new(&["mine", "--yes"]));
    let mut known = clitape();
    known.args(["record", "mine", "--claude", "./none"]).current_dir(project.path());
    known.env("XDG_STATE_HOME", project.path().join("state"));
    let output = known.output().unwrap();
    assert_eq!(output.status.code(), Some(4), "there is no such CLI: {}{told}", text(&output));
    fs::write(project.path().join("scenarios/mine/workspace/more"), "").unwrap();
    assert_eq!(known.output().unwrap().status.code(), Some(2));
}

#[test]
fn issue_13_point_7_the_cli_is_confined_to_its_folder() {
    let script = "cat ../../../secret; echo x > ../../../new; cat /etc/hostname >/dev/null; \
                  echo y > \"$HOME/y\"; cat \"$HOME/y\";";
    let project = Project::new(&format!("{script} {RESULT}"));
    fs::write(project.path().join("secret"), "a secret\n").unwrap();
    let record = |args: &[&str]| {
        let output = project.record().arg("--yes").args(args).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let read = |name| fs::read_to_string(project.cassette().join(name)).unwrap();
        (read("stdout.jsonl"), read("cassette.toml"))
    };
    let (stdout, manifest) = record(&["--no-confine"]);
    assert!(stdout.starts_with("a secret\ny\n"), "{stdout}");
    assert!(!manifest.contains("confined"), "{manifest}");
    fs::remove_file(project.path().join("new")).unwrap();
    let (stdout, manifest) = record(&[]);
    // A system without Landlock says so by what the manifest does not say.
    if manifest.contains("confined = \"landlock\"") {
        assert!(stdout.starts_with("y\n"), "{stdout}");
        assert!(!project.path().join("new").exists());
    } else {
        assert!(stdout.starts_with("a secret\n"), "{stdout}");
    }
}
