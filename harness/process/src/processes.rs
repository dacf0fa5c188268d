//! Finds the processes that a CLI started in `/proc`, and ends them. Only Linux has this module.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, Uid};

use super::meter::Work;

/// The longest time that is spent on ending processes.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two checks for remaining processes.
const PAUSE: Duration = Duration::from_millis(5);

/// The fields of `/proc/PID/stat` that are used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: i32,
    /// True if the process has ended and its parent has not waited for it yet.
    is_zombie: bool,
    /// The clock ticks between the start of the machine and the start of the process.
    start: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&about(pid, "stat")?)
    }

    /// Parses the text of the file. The program's name may contain blanks and parentheses, so this reads the fields
    /// after the last parenthesis. The first of them is the third field of the line.
    fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            start: fields.get(19)?.parse().ok()?,
        })
    }
}

/// Returns a file of `/proc` about a process. It contains the name of the program, which may be any bytes.
fn about(pid: i32, file: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the start of the process `pid`, in clock ticks since the machine started. The id and this time together
/// identify one process, even after the system has reused the id.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    Stat::of(pid).filter(|stat| !stat.is_zombie).map(|stat| stat.start)
}

/// Returns the exit status of a child process for which no thread has waited.
pub(crate) fn exit_status(pid: Pid) -> Option<ExitStatus> {
    let stat = about(pid.as_raw(), "stat")?;
    let (_, rest) = stat.rsplit_once(") ")?;
    // The status is the 52nd field of the line.
    rest.split_whitespace().nth(49)?.parse().ok().map(ExitStatus::from_raw)
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the bytes of memory that a process and all its descendants use. Shared memory counts for each of them.
pub(crate) fn memory_of(pid: Pid) -> u64 {
    let all = descendants(pid.as_raw()).into_iter().chain([pid]);
    let statuses = all.filter_map(|pid| about(pid.as_raw(), "status"));
    statuses.filter_map(|status| resident(&status)).sum()
}

/// Returns the bytes of memory that a process uses, from its `/proc/PID/status`.
fn resident(status: &str) -> Option<u64> {
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = kib.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// Returns the work of a process and all its descendants.
pub(crate) fn work_of(pid: Pid) -> Work {
    let all = descendants(pid.as_raw()).into_iter().chain([pid]);
    let stats = all.filter_map(|pid| about(pid.as_raw(), "stat"));
    stats.filter_map(|stat| Work::parse(&stat)).sum()
}

/// Returns all live descendants of the process `ancestor`.
pub(super) fn descendants(ancestor: i32) -> Vec<Pid> {
    descendants_by_child(ancestor).into_iter().map(|(pid, _)| pid).collect()
}

/// Returns all live descendants of the process `ancestor`, each with the child of `ancestor` that it is or descends
/// from.
pub(super) fn descendants_by_child(ancestor: i32) -> Vec<(Pid, i32)> {
    let all: HashMap<i32, Stat> = pids().filter_map(|pid| Some((pid, Stat::of(pid)?))).collect();
    let child_above = |pid: i32| {
        let mut seen = HashSet::new();
        let mut at = pid;
        while let Some(stat) = all.get(&at) {
            if stat.parent == ancestor {
                return Some(at);
            }
            // The processes changed while they were read, so their parents may form a cycle.
            if !seen.insert(at) {
                return None;
            }
            at = stat.parent;
        }
        None
    };
    let alive = all.iter().filter(|(_, stat)| !stat.is_zombie).map(|(pid, _)| *pid);
    alive.filter_map(|pid| Some((Pid::from_raw(pid), child_above(pid)?))).collect()
}

/// Returns the children of this process that have ended and await `waitpid`.
pub(crate) fn zombies() -> Vec<Pid> {
    let me = nix::unistd::getpid().as_raw();
    let is_left =
        |pid: &i32| Stat::of(*pid).is_some_and(|stat| stat.parent == me && stat.is_zombie);
    pids().filter(is_left).map(Pid::from_raw).collect()
}

/// Returns the user's processes that clitape started with `folder`: their HOME or TMPDIR is there. A process that only
/// has a file of it open, or works there, such as a person's shell, is not included, and neither is this process.
fn started_in(folder: &Path) -> Vec<Pid> {
    let me = nix::unistd::getpid().as_raw();
    let user = Uid::effective().as_raw();
    let is_started = |pid: &i32| {
        let process = Path::new("/proc").join(pid.to_string());
        let is_ours = std::fs::metadata(&process).is_ok_and(|entry| entry.uid() == user);
        let lives_there = || {
            std::fs::read(process.join("environ"))
                .is_ok_and(|environment| lives_in(&environment, folder))
        };
        *pid != me && is_ours && lives_there()
    };
    pids().filter(is_started).map(Pid::from_raw).collect()
}

/// Returns whether an environment has its HOME or TMPDIR in a folder.
fn lives_in(environment: &[u8], folder: &Path) -> bool {
    environment.split(|&byte| byte == 0).any(|variable| {
        let place = variable.strip_prefix(b"HOME=").or(variable.strip_prefix(b"TMPDIR="));
        place.is_some_and(|place| Path::new(OsStr::from_bytes(place)).starts_with(folder))
    })
}

/// Ends every descendant of this process, including those that left their process group and session. A caller must be a
/// process whose descendants are all to be ended.
pub(crate) fn end_descendants() {
    let me = nix::unistd::getpid().as_raw();
    end(
        || descendants(me),
        || {
            // Waiting removes processes that have ended. If this process is a subreaper, their children
            // are now its children, and the next call of `find` returns them.
            loop {
                match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                    Ok(status) if status.pid().is_some() => {}
                    other => return other == Err(Errno::ECHILD),
                }
            }
        },
        PATIENCE,
    );
}

/// Ends every process that was [started](started_in) with `folder`, and returns their number.
pub(crate) fn end_started_in(folder: &Path) -> usize {
    end(|| started_in(folder), || true, PATIENCE)
}

/// Kills the processes that `find` returns until it returns none and `reap` returns true, or `patience` is over.
/// Returns the number of killed processes.
pub(super) fn end(
    find: impl Fn() -> Vec<Pid>,
    reap: impl Fn() -> bool,
    patience: Duration,
) -> usize {
    let begin = Instant::now();
    let mut ended = HashSet::new();
    loop {
        let are_gone = reap();
        let found = find();
        if (found.is_empty() && are_gone) || begin.elapsed() > patience {
            return ended.len();
        }
        for pid in found {
            // An error means that the process has ended since.
            let _ = kill(pid, Signal::SIGKILL);
            ended.insert(pid);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_after_the_last_parenthesis() {
        let rest = "7 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        for (stat, expect) in [
            (format!("9 (sh) S {rest}"), Some((7, false, 4711))),
            (format!("9 (a) Z (b) Z {rest}"), Some((7, true, 4711))),
            (format!("9 (\u{fffd}\u{fffd}) S {rest}"), Some((7, false, 4711))),
            ("9 (sh) S 7".to_owned(), None),
            (String::new(), None),
        ] {
            let found = Stat::parse(&stat).map(|stat| (stat.parent, stat.is_zombie, stat.start));
            assert_eq!(found, expect, "{stat}");
        }
    }

    #[test]
    fn the_memory_of_a_process_is_read() {
        assert_eq!(resident("Name:\tsh\nVmRSS:\t     1204 kB\nThreads:\t1\n"), Some(1204 * 1024));
        assert_eq!(resident("Name:\tkthreadd\n"), None);
        assert!(memory_of(nix::unistd::getpid()) > 1024 * 1024);
    }

    #[test]
    fn an_environment_lives_in_a_folder_by_home_and_tmpdir() {
        for (environment, expect) in [
            (&b"A=b\0HOME=/tmp/clitape-1/home\0"[..], true),
            (b"A=b\0TMPDIR=/tmp/clitape-1", true),
            (b"PATH=/tmp/clitape-1:/bin\0PWD=/tmp/clitape-1\0", false),
            (b"HOME=/tmp/clitape-12/home\0", false),
            (b"", false),
        ] {
            let shown = String::from_utf8_lossy(environment);
            assert_eq!(lives_in(environment, Path::new("/tmp/clitape-1")), expect, "{shown}");
        }
    }

    #[test]
    fn processes_of_a_run_are_ended_and_a_shell_that_looks_in_is_not() {
        use std::os::unix::process::ExitStatusExt as _;
        use std::process::Command;

        let folder = tempfile::tempdir().unwrap();
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("600").current_dir("/").env_clear();
            command
        };
        let started = [("HOME", "home"), ("TMPDIR", "")]
            .map(|(name, place)| sleep().env(name, folder.path().join(place)).spawn().unwrap());
        let looks_in = sleep().current_dir(folder.path()).env("PWD", folder.path()).spawn();
        let others = [looks_in, sleep().spawn()];
        assert_eq!(end_started_in(folder.path()), 2);
        for mut ended in started {
            assert_eq!(ended.wait().unwrap().signal(), Some(9));
        }
        for mut other in others.map(Result::unwrap) {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
