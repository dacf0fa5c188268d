//! What a command may do, as the kernel sees it: it writes inside the workspace, the named output
//! and the folder for temporary files, starts no program and reaches no machine, unless its row says
//! so. Each command runs under `strace` with a HOME, a working folder and a TMPDIR of its own, and a
//! folder beside them that is none of its business.
//!
//! Without strace these tests are reported as ignored; they fail instead when `CLITAPE_REQUIRE` names
//! `strace`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod place;
mod row;
mod trace;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use commands::COMMANDS;
use hostile::HOSTILE;
use place::{Place, serve};
use row::Row;
use trace::{CALLS, Deed, deeds};

/// A command that runs longer is stuck.
const LIMIT: Duration = Duration::from_secs(240);

/// Kilobytes of memory that a command may have, so that one without a bound fails and the machine
/// does not.
const MEMORY: u64 = 2 << 20;

/// Runs a row and compares what it did with what it may do.
fn check(row: &Row) -> Result<(), Failed> {
    let place = Place::new();
    (row.prepare)(&place);
    let before = place.outside();
    let url = if row.loopback { serve() } else { String::new() };
    let (code, said, trace) = traced(&place, &place.arguments(row.args, &url))?;

    let mut wrong = Vec::new();
    let base = place.base();
    let may_write: Vec<PathBuf> =
        row.writes.iter().chain(&["tmp"]).map(|path| base.join(path)).collect();
    for deed in deeds(&trace, &place.work) {
        let is_meant = match &deed {
            Deed::Write(path) => {
                path == Path::new("/dev/null") || may_write.iter().any(|may| path.starts_with(may))
            }
            Deed::Exec(program) => row.starts.iter().any(|may| program.ends_with(may)),
            Deed::Net(call) => row.loopback && !is_elsewhere(call),
        };
        if !is_meant {
            wrong.push(format!("{deed:?}"));
        }
    }
    if place.outside() != before {
        wrong.push("a file outside was changed".to_owned());
    }
    if code != row.code {
        wrong.push(format!("it ended with {code} and not {}", row.code));
    }
    if !said.contains(row.says) {
        wrong.push(format!("it does not say `{}`", row.says));
    }
    for left in common::files(&base.join("tmp"), "") {
        wrong.push(format!("{} is left", left.display()));
    }
    drop(place.dir);
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.dedup();
    Err(format!("clitape {}\n{}\n{said}", row.args.join(" "), wrong.join("\n")).into())
}

/// Whether a call reaches another machine.
fn is_elsewhere(call: &str) -> bool {
    call.starts_with("connect(") && !call.contains("inet_addr(\"127.0.0.1\")")
}

/// Runs the command under strace; how it ended, what it said and the trace.
fn traced(place: &Place, args: &[String]) -> Result<(i32, String, String), Failed> {
    let base = place.base();
    let (trace, said) = (base.join("trace"), base.join("said"));
    let output = fs::File::create(&said)?;
    // The shell sets the limit and becomes strace.
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$@\""), "sh"])
        .args([
            "strace",
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-y",
            "-s",
            "4096",
            "-e",
            &format!("trace={CALLS}"),
            "-o",
        ])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_clitape"))
        .args(args)
        .current_dir(&place.work)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", base.join("home"))
        .env("TMPDIR", base.join("tmp"))
        .env("TELEGRAM_BOT_TOKEN", "1:hidden")
        .env("GITHUB_STEP_SUMMARY", base.join("out/summary.md"))
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > LIMIT {
            // What strace follows ends with it.
            child.kill()?;
            child.wait()?;
            let said = String::from_utf8_lossy(&fs::read(&said)?).into_owned();
            return Err(format!("it did not end in {LIMIT:?}\n{said}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = |path: &Path| fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned());
    Ok((status.code().unwrap_or(-1), text(&said)?, text(&trace)?))
}

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let read = Trial::test("a_trace_is_read", || {
        trace::check_reading();
        Ok(())
    });
    let trials = COMMANDS.iter().chain(HOSTILE).map(|row| {
        Trial::ignorable_test(row.name, move || {
            let is_there = Command::new("strace").arg("--version").output();
            if is_there.is_ok_and(|output| output.status.success()) {
                return check(row).map(|()| Completion::Completed);
            }
            let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
            if required.split([',', ' ']).any(|tool| tool == "strace") {
                return Err("strace is not installed, and CLITAPE_REQUIRE names it".into());
            }
            Ok(Completion::ignored_with("strace is not installed"))
        })
    });
    libtest_mimic::run(&args, std::iter::once(read).chain(trials).collect()).exit_code()
}
