//! The process between `clitape` and a program that it runs. Its only task is to end the program and every process that
//! it started when `clitape` ends, for any reason.
//!
//! It has a separate session, so that no program under it is in the session of the user's terminal. It reaps orphans
//! (`PR_SET_CHILD_SUBREAPER`), so that a process that left its group and session is still found below it. The program
//! has the pipes of `clitape` itself: its output does not pass through here. If `clitape` asks for it, the program is
//! confined.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clitape_recording::cassette::{Confinement, Exit};
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, close, dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use super::confine::{self, Bounds, ConfineBy, Confined, EnterFailure};
use super::isolation::pass;
use super::launch::{DONE, LaunchPlan, SupervisorAnswer, exit_of};
use super::processes::{end_descendants, exit_status, zombies};
use super::scratch::clean;
use crate::threads;

/// The time for which the removal of a folder is retried while its processes end.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs a program for another `clitape`: `arguments` are those after [`super::SUPERVISE`], stdin is
/// the connection to it.
pub fn supervise(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // A person has called this by hand, or stdin is not a connection.
        Err(_) => ExitCode::from(2),
    }
}

fn serve(mut arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let program = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    leave_terminal()?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (mut own, mut orders) = (control.try_clone()?, BufReader::new(control.try_clone()?));
    let mut plan = String::new();
    orders.read_line(&mut plan)?;
    let plan: LaunchPlan = serde_json::from_str(&plan)?;
    set_child_subreaper(true)?;
    let arguments: Vec<OsString> = arguments.collect();
    // In another user namespace, this process may not open files of its parent.
    let stdin = stdin_of(&plan);
    if let Some(isolation) = &plan.isolation {
        let isolated = confine::isolate(isolation, |opened, file| {
            pass(&control, &line(&SupervisorAnswer::Opened(opened)), Some(file.as_fd()))
        });
        if let Err(error) = isolated {
            let reason = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
            send(&mut control, &SupervisorAnswer::NotIsolated(reason));
            return Ok(());
        }
    }
    let started = stdin
        .map_err(EnterFailure::Io)
        .and_then(|stdin| start(&program, &arguments, stdin, plan.bounds.as_ref()));
    // When this fails, a program that already runs is ended below.
    match release().map_err(EnterFailure::Io).and(started) {
        Err(EnterFailure::Io(error)) => {
            let reason = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
            send(&mut control, &SupervisorAnswer::Failed(reason));
        }
        Err(EnterFailure::NotConfined(why)) => {
            send(&mut control, &SupervisorAnswer::NotConfined(why));
        }
        Err(EnterFailure::Process(why)) => {
            send(&mut control, &SupervisorAnswer::NotEntered(why));
        }
        Ok(StartedProgram { pid, confined, listener }) => {
            let answer = SupervisorAnswer::Started { pid: pid.as_raw(), confined };
            let watched = threads::start("watch", move || {
                // An error means that `clitape` was killed, as in `send`.
                let _ = pass(&own, &line(&answer), listener.as_ref().map(|file| file.as_fd()));
                drop(listener);
                watch(pid, &mut own);
            });
            if watched.is_err() {
                // The program is ended below, as soon as the other side has read this.
                send(&mut control, &SupervisorAnswer::Failed(Errno::EAGAIN as i32));
            }
        }
    }
    let mut rest = Vec::new();
    // A broken connection has the same meaning as a closed one: the other side has ended.
    let _ = orders.read_to_end(&mut rest);
    end_descendants();
    if rest != DONE
        && let Some(lock) = &plan.lock
    {
        remove(lock);
    }
    Ok(())
}

/// Leaves the session of the user's terminal and closes the files that the shell passed on, so that no program that is
/// started here has the terminal, neither as `/dev/tty` nor as an open file.
fn leave_terminal() -> io::Result<()> {
    setsid()?;
    let names = std::fs::read_dir("/proc/self/fd")?.flatten().map(|entry| entry.file_name());
    let numbers: Vec<i32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // An error means that it was the file of the listing, which is closed already.
        let _ = close(number);
    }
    Ok(())
}

/// A program that was started.
struct StartedProgram {
    pid: Pid,
    confined: Option<Confinement>,
    /// The socket that takes its connections to the scripted model, if it has a separate network.
    listener: Option<OwnedFd>,
}

/// Opens the file of the parent that becomes the program's stdin.
fn stdin_of(plan: &LaunchPlan) -> io::Result<Option<File>> {
    let open = |number| File::open(format!("/proc/{}/fd/{number}", plan.parent));
    plan.stdin.map(open).transpose()
}

/// Starts the program with the pipes of this process, within its bounds.
fn start(
    program: &OsStr,
    arguments: &[OsString],
    stdin: Option<File>,
    bounds: Option<&Bounds>,
) -> Result<StartedProgram, EnterFailure> {
    if let Some(bounds) = bounds {
        for way in bounds.by.ways() {
            let stdin = stdin.as_ref().map(File::try_clone).transpose()?;
            match confine::start(*way, program, arguments, bounds, stdin) {
                Err(EnterFailure::NotConfined(_)) if bounds.by == ConfineBy::Any => {}
                other => {
                    return other.map(|Confined { pid, listener }| StartedProgram {
                        pid,
                        confined: Some(*way),
                        listener,
                    });
                }
            }
        }
    }
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
    let pid = i32::try_from(command.spawn()?.id()).map_err(io::Error::other)?;
    Ok(StartedProgram { pid: Pid::from_raw(pid), confined: None, listener: None })
}

/// Closes this process's copies of the program's pipes, and leaves its folder.
fn release() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    std::env::set_current_dir("/")
}

/// Sends `clitape` a message. An error means that `clitape` was killed; it is ignored here because
/// `serve` also sees the end of the connection, and has to end the program before it returns.
fn send(control: &mut UnixStream, answer: &SupervisorAnswer) {
    let _ = control.write_all(&line(answer));
}

#[allow(clippy::expect_used, reason = "the state is impossible")]
fn line(answer: &SupervisorAnswer) -> Vec<u8> {
    let mut line = serde_json::to_vec(answer).expect("numbers and texts serialise");
    line.push(b'\n');
    line
}

/// Waits for the program and reports its exit. Until then this reaps the orphans that became children of this process,
/// as the system's first process would do. The program itself is not reaped, so that the system does not reuse its id.
fn watch(pid: Pid, control: &mut UnixStream) {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    loop {
        match waitid(Id::Pid(pid), flags | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::StillAlive) => {}
            Ok(WaitStatus::Exited(_, code)) => {
                break send(control, &SupervisorAnswer::Ended(Exit::Code(code)));
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                break send(control, &SupervisorAnswer::Ended(Exit::Signal(signal as i32)));
            }
            // The signal has no name; `/proc` contains its number.
            _ => match exit_status(pid) {
                Some(status) => break send(control, &SupervisorAnswer::Ended(exit_of(status))),
                None => break,
            },
        }
        for other in zombies().into_iter().filter(|other| *other != pid) {
            // An error means that it was reaped already.
            let _ = waitpid(other, Some(WaitPidFlag::WNOHANG));
        }
        // Waits until the program or another child ends.
        if matches!(waitid(Id::All, flags), Err(Errno::ECHILD)) {
            break;
        }
    }
}

/// Removes the folder of a `clitape` that was killed, once the system has closed its files.
fn remove(lock: &Path) {
    let begin = Instant::now();
    while lock.exists() && begin.elapsed() < PATIENCE {
        clean(lock);
        thread::sleep(PAUSE);
    }
}
