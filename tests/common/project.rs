//! A project with a shell script in place of the CLI, which records it and checks what is left.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use clitape_recording::cassette::Cassette;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::clitape;

/// The longest wait for an event that must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const RESULT: &str = r#"echo '{"type":"result","session_id":"5-a"}'"#;

/// A project with its own scenario, CLI and folder for temporary files.
pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    /// Makes a project whose CLI runs `script`, unless it is asked for its version.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_version("echo 9.9.9", script)
    }

    pub(crate) fn with_version(version: &str, script: &str) -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        let scenario = project.path().join("scenarios/slow");
        fs::create_dir_all(scenario.join("workspace")).unwrap();
        fs::create_dir(project.tmp()).unwrap();
        let toml = "title = 't'\nabout = 'a'\n[record]\nprompt = 'Go.'\n";
        fs::write(scenario.join("scenario.toml"), toml).unwrap();
        let model = "[[turn]]\n[[turn.block]]\ntext = 'Hi.'\n";
        fs::write(scenario.join("model.toml"), model).unwrap();
        let text =
            format!("#!/bin/bash\nif [ \"$1\" = --version ]; then {version}; exit; fi\n{script}\n");
        super::put_program(&project.path().join("claude"), &text);
        project
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    pub(crate) fn cassette(&self) -> PathBuf {
        self.path().join("cassettes/slow/9.9.9")
    }

    /// Returns the command that records, without a question for consent.
    pub(crate) fn record(&self) -> Command {
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

    /// Returns the processes of the project.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        processes_of(&self.path())
    }

    /// Waits until no process of the project is left; a killed one takes a moment.
    pub(crate) fn wait_for_silence(&self, what: &str) {
        wait_for_silence_of(&self.path(), what);
    }

    /// Checks that no temporary file is left, and that the recording is complete.
    pub(crate) fn check_files(&self, what: &str) {
        wait_for_emptiness_of(&self.tmp(), what);
        let recorded = names_in(&self.path().join("cassettes/slow"));
        let whole = [String::from("9.9.9")];
        assert!(recorded.iter().all(|name| whole.contains(name)), "{what}: {recorded:?}");
        if self.cassette().exists() {
            Cassette::load(&self.cassette()).unwrap();
        }
    }

    /// Waits for a file below the folder for temporary files, and returns its path.
    pub(crate) fn wait_for(&self, name: &str) -> PathBuf {
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

/// Returns the processes that have a folder in their environment or command line, each with that line.
pub(crate) fn processes_of(folder: &Path) -> Vec<(i32, String)> {
    let folder = folder.to_string_lossy().into_owned();
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

/// Waits until no process has the folder in its environment or command line.
pub(crate) fn wait_for_silence_of(folder: &Path, what: &str) {
    let begin = Instant::now();
    loop {
        let left = processes_of(folder);
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}: {left:?} is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a folder for temporary files is empty. After a signal, a command ends while its supervisors still remove
/// their folders, and the lock files after them.
pub(crate) fn wait_for_emptiness_of(folder: &Path, what: &str) {
    let begin = Instant::now();
    loop {
        let left = names_in(folder);
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}: {left:?} is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the names in a folder; none if it does not exist. An entry that is removed meanwhile is left out.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the ways to confine a CLI that this system supports. If `CLITAPE_REQUIRE` names `bwrap`, bubblewrap must be
/// one of them.
pub(crate) fn ways() -> Vec<&'static str> {
    let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
    let project = Project::new(RESULT);
    let is_there = |way: &&str| {
        let output = project.record().args(["--yes", "--confine", way]).output().unwrap();
        let told = text(&output);
        assert!(output.status.success() || told.contains("can't be confined by"), "{told}");
        let is_required =
            *way == "bubblewrap" && required.split([',', ' ']).any(|it| it == "bwrap");
        assert!(output.status.success() || !is_required, "CLITAPE_REQUIRE names bwrap: {told}");
        output.status.success()
    };
    ["landlock", "bubblewrap"].into_iter().filter(is_there).collect()
}

pub(crate) fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, signal).unwrap();
}

pub(crate) fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}{}", output.status, String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Returns a script with daemons that leave the group, the session, the folder and the environment, followed by `then`.
pub(crate) fn daemons(then: &str) -> String {
    format!(
        "setsid bash -c 'cd /; sleep 600' & \
         env -i setsid bash -c 'cd /; setsid bash -c \"sleep 600; : $0\" \"$0\" & \
         sleep 600; :' \"$0\" </dev/null >/dev/null 2>&1 & \
         {then}"
    )
}
