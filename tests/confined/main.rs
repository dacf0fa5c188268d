//! Tests of the limits of each command, as the kernel sees them: it writes only inside the workspace, the named output
//! and the folder for temporary files, starts no program and reaches no machine, unless its row says so. Each command
//! runs under `strace` with its own HOME, working folder and TMPDIR, and beside a folder that it must not touch.
//!
//! Without strace these tests are reported as ignored; they fail instead if `CLITAPE_REQUIRE` names `strace`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod failing;
mod hostile;
mod links;
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

/// The time after which a command counts as stuck.
const LIMIT: Duration = Duration::from_secs(240);

/// The kilobytes of memory that a command may have. A command without a bound fails on this limit, and the machine does
/// not.
const MEMORY: u64 = 2 << 20;

/// Returns whether a path is a file of `/proc` in which a process sets the users and groups of its new namespace.
fn is_of_namespace(path: &Path) -> bool {
    path.starts_with("/proc")
        && ["setgroups", "uid_map", "gid_map"].iter().any(|it| path.ends_with(it))
}

/// Runs a row, and compares its deeds with those that it may do.
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
                path == Path::new("/dev/null")
                    || is_of_namespace(path)
                    || may_write.iter().any(|may| is_within(path, may))
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

/// Returns whether a path is at or below one that may be written, or below a temporary one beside it that takes its
/// place.
fn is_within(path: &Path, may: &Path) -> bool {
    let is_beside = |above: &Path| {
        let name = above.file_name().unwrap_or_default().as_encoded_bytes();
        above.parent() == may.parent() && name.starts_with(b".clitape-")
    };
    path.starts_with(may) || path.ancestors().any(is_beside)
}

/// Returns whether a call reaches another machine.
fn is_elsewhere(call: &str) -> bool {
    call.starts_with("connect(") && !call.contains("inet_addr(\"127.0.0.1\")")
}

/// Runs the command under strace, and returns its exit code, output and trace.
fn traced(place: &Place, args: &[String]) -> Result<(i32, String, String), Failed> {
    let base = place.base();
    let (trace, said) = (base.join("trace"), base.join("said"));
    let output = fs::File::create(&said)?;
    let (limit, calls) = (format!("ulimit -v {MEMORY}; exec \"$@\""), format!("trace={CALLS}"));
    let mut words = vec!["-c", &limit, "sh", "strace", "-f", "--seccomp-bpf", "-qq", "-y"];
    words.extend(["-s", "4096", "-e", &calls, "-o", trace.to_str().unwrap()]);
    words.push(env!("CARGO_BIN_EXE_clitape"));
    let words: Vec<String> =
        words.into_iter().map(str::to_owned).chain(args.iter().cloned()).collect();
    // The shell sets the limit and becomes strace.
    let mut child =
        place.command("sh", &words).stdout(output.try_clone()?).stderr(output).spawn()?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > LIMIT {
            // The processes that strace follows end with it.
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
    let mut trials = vec![read];
    trials.extend(COMMANDS.iter().chain(HOSTILE).map(|row| with_strace(row.name, || check(row))));
    trials.extend(links::trials());
    trials.extend(failing::trials());
    libtest_mimic::run(&args, trials).exit_code()
}

/// Makes a trial that needs strace.
fn with_strace(
    name: impl Into<String>,
    check: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, || {
        let is_there = Command::new("strace").arg("--version").output();
        if is_there.is_ok_and(|output| output.status.success()) {
            return check().map(|()| Completion::Completed);
        }
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        if required.split([',', ' ']).any(|tool| tool == "strace") {
            return Err("strace is not installed, and CLITAPE_REQUIRE names it".into());
        }
        Ok(Completion::ignored_with("strace is not installed"))
    })
}
