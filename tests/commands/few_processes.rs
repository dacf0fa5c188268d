//! Tests of commands on a system that lets them start few threads and processes, or none: they go on with those that
//! they have, or report what is missing.
//!
//! Linux applies the limit of processes to users other than root. These tests run the command as such a user, which
//! only root can do; for another user they pass without a check.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::os::unix::fs::lchown;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{clitape, copy, has_program, put_program, root, workspace};

/// The message of a command that can't go on.
const LACKS: &str = "this system lets no more threads or processes start; raise `ulimit -u`";

/// Runs the command as a new user, with a limit of threads and processes if there is one. The user is new each time,
/// because leftovers of an earlier run would count too.
fn run(dir: &Path, most: Option<usize>, args: &[&str]) -> Output {
    static USERS: AtomicU32 = AtomicU32::new(0);
    let user = 100_000 + 100 * std::process::id() + USERS.fetch_add(1, Ordering::Relaxed);
    for entry in walkdir::WalkDir::new(dir) {
        lchown(entry.unwrap().path(), Some(user), Some(user)).unwrap();
    }
    let user = user.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    let most = most.map(|most| format!("--nproc={most}"));
    command.args(most.iter().flat_map(|most| ["prlimit", most]));
    command.arg(clitape().get_program()).args(args);
    command.current_dir(dir).env("NO_COLOR", "1").stdin(Stdio::null());
    for name in ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env(name, dir.join("home"));
    }
    command.output().unwrap()
}

#[test]
fn a_command_without_threads_goes_on_or_says_what_it_lacks() {
    if !nix::unistd::Uid::effective().is_root() || !has_program("setpriv") {
        return;
    }
    let workspace = workspace(&["plain-text", "bash-count"]);
    let dir = workspace.path();
    fs::create_dir(dir.join("home")).unwrap();
    let claude =
        "#!/bin/sh\n[ $1 = --version ] && echo 2.1.332 && exit\necho '{\"type\":\"result\"}'\n";
    put_program(&dir.join("claude"), claude);
    put_program(&dir.join("subject"), "#!/bin/sh\necho '{}'\n");
    put_program(&dir.join("agent"), "#!/bin/sh\nread -r line\n");
    let subjects = "[subject.gateway]\nkind = 'gateway'\ncommand = ['sh', '-c', 'echo up; read -r line < up']\n\
                    ready = { output = 'up', within_s = 20 }\nidle_s = 1\nwithin_s = 1\n\
                    [subject.parser]\nkind = 'parser'\ncommand = ['./subject']\nstarted = 'once'\n\
                    [subject.agent]\nkind = 'agent'\ncommand = ['./agent']\n";
    let toml = fs::read_to_string(dir.join("clitape.toml")).unwrap();
    fs::write(dir.join("clitape.toml"), format!("{toml}\n{subjects}")).unwrap();
    // The help, which drift would otherwise ask the CLI for.
    copy(&root().join("versions/2.1.329"), &dir.join("versions/2.1.329"));
    if run(dir, None, &["--version"]).status.code() != Some(0) {
        // The other user can't reach the program.
        return;
    }
    for (args, enough) in [
        (&["list"][..], Some(1)),
        (&["test"], Some(3)),
        (&["test", "--jobs", "1"], Some(3)),
        (&["sweep", "--seeds", "4"], Some(2)),
        (&["proof", "plain-text", "--no-png", "--out", "out"], Some(2)),
        (&["collect", "http://localhost:9/"], Some(2)),
        (&["record", "--yes", "--force", "plain-text", "--claude", "./claude"], None),
        (&["drift", "--from", "2.1.329", "--claude", "./claude", "--yes", "plain-text"], None),
        (&["compare", "this", "./subject", "plain-text", "--out", "out"], None),
        (&["subject", "check", "gateway", "--yes"], None),
        (&["test", "--subject", "parser", "--yes", "plain-text"], None),
        (&["test", "--subject", "agent", "--yes", "plain-text"], None),
        (&["rig", "gateway", "plain-text", "--yes"], None),
        (&["editor", "--prompt", "hi", "--", "./agent"], None),
        (&["list", "--changed"], None),
    ] {
        let usual = run(dir, None, args).status.code();
        for most in 1..=enough.unwrap_or(8) {
            let output = run(dir, Some(most), args);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let code = output.status.code();
            let what = format!("{args:?} with {most}: {code:?}, usually {usual:?}\n{said}");
            assert!(!said.contains("panicked") && code != Some(1), "{what}");
            let is_usual = code == usual && !said.contains(LACKS);
            match enough {
                Some(enough) if most == enough => assert!(is_usual, "{what}"),
                Some(_) => assert!(code == Some(4) && said.contains(LACKS), "{what}"),
                // The programs that it starts may miss threads too, and have other words for it. One of several runs
                // may miss some, which ends with 3.
                None if said.contains(LACKS) => assert!(matches!(code, Some(3 | 4)), "{what}"),
                None => assert!(is_usual || matches!(code, Some(2..=4)), "{what}"),
            }
            println!("{what}");
        }
    }
}
