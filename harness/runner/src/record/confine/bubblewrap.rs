//! Confines a program with bubblewrap, on a system without Landlock. The program sees the files of the
//! system and its own files, and can write only its temporary folder. It has the network, the processes
//! and the process ids of the machine.
//!
//! `bwrap` makes the sandbox, starts a program in it, and waits for that program. A waiting `bwrap` would
//! turn a signal that ends the program into an exit code, and would keep the program's pipes open. So
//! `bwrap` starts `clitape` ([`enter`]) instead. When that process reports that it runs, the supervisor
//! kills `bwrap` and, as a subreaper, becomes the parent of the process in the sandbox. Only then does
//! that process execute the program. From then on, the exit, the pipes, the process group and the signals
//! are those of the program, as they are without bubblewrap.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::{Pid, close, getpid, setpgid};
use serde::{Deserialize, Serialize};

use super::super::launch::ENTER;
use super::{Bounds, NotConfined, SYSTEM};

/// How long `bwrap` may take to make the sandbox, and the process in it to become the program.
const PATIENCE: Duration = Duration::from_secs(7);
/// The bytes that are kept of the output of a `bwrap` that fails.
const KEPT_OUTPUT: u64 = 500;

/// A message of the process in the sandbox, a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum SandboxReport {
    /// The process runs and has this id.
    Ready(i32),
    /// It could not execute the program; this is the error number of the operating system.
    Failed(i32),
}

/// The message to that process once it is a child of the supervisor: the numbers of its open files.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The program's stdin; without it, `/dev/null`.
    stdin: Option<RawFd>,
    /// The program's stderr; the process's own stderr is for the messages of `bwrap`.
    stderr: RawFd,
    /// The file of `clitape`, which the process closes.
    clitape: RawFd,
}

/// The reason why a program does not run in a sandbox.
#[derive(Debug)]
pub(crate) enum SandboxFailure {
    /// The sandbox can't be made.
    NotConfined(NotConfined),
    /// The program can't be started.
    Io(io::Error),
}

/// Starts a program in a sandbox and in its own process group, with the stdout and stderr of this process.
/// The program becomes a child of this process, which has to be a subreaper.
pub(crate) fn start(
    program: &OsStr,
    arguments: &[OsString],
    bounds: &Bounds,
    stdin: Option<File>,
) -> Result<Pid, SandboxFailure> {
    let Some(bwrap) = &bounds.bwrap else {
        return Err(SandboxFailure::NotConfined(NotConfined::NoBubblewrap));
    };
    let failed = |why: String| SandboxFailure::NotConfined(NotConfined::Bubblewrap(why));
    // The sandbox does not contain the file of clitape, so the process there gets it as an open file.
    let clitape = inherited(File::open("/proc/self/exe"))?;
    let stderr = inherited(File::options().write(true).open("/proc/self/fd/2"))?;
    let stdin = stdin.map(|stdin| inherited(Ok(stdin))).transpose()?;
    let order = Order {
        stdin: stdin.as_ref().map(|file| file.as_raw_fd()),
        stderr: stderr.as_raw_fd(),
        clitape: clitape.as_raw_fd(),
    };
    let (mut ours, theirs) = UnixStream::pair().map_err(SandboxFailure::Io)?;
    ours.set_read_timeout(Some(PATIENCE)).map_err(SandboxFailure::Io)?;
    let mut command = Command::new(bwrap);
    command
        .args(self::arguments(bounds))
        .arg("--chdir")
        .arg(std::env::current_dir().map_err(SandboxFailure::Io)?)
        .arg("--")
        .arg(format!("/proc/self/fd/{}", order.clitape))
        .arg(ENTER)
        .arg(program)
        .args(arguments)
        .stdin(OwnedFd::from(theirs))
        .stderr(Stdio::piped());
    let mut bwrap = command.spawn().map_err(|error| failed(error.to_string()))?;
    // The command keeps its end of the connection until it is dropped.
    drop(command);
    let mut reports = BufReader::new(ours.try_clone().map_err(SandboxFailure::Io)?);
    let ready = read(&mut reports);
    // An error means that `bwrap` has ended by itself; `ready` then has the reason.
    let _ = bwrap.kill();
    let _ = bwrap.wait();
    let pid = match ready {
        Ok(Some(SandboxReport::Ready(pid))) => Pid::from_raw(pid),
        Ok(_) => return Err(failed(error_output(&mut bwrap))),
        Err(_) => return Err(failed("it did not make one in time".to_owned())),
    };
    drop((clitape, stderr, stdin));
    write(&mut ours, &order).map_err(SandboxFailure::Io)?;
    match read(&mut reports) {
        // The connection closes when the process executes the program.
        Ok(None) => Ok(pid),
        Ok(Some(SandboxReport::Failed(reason))) => {
            Err(SandboxFailure::Io(io::Error::from_raw_os_error(reason)))
        }
        Ok(Some(SandboxReport::Ready(_))) => Err(failed("it answered twice".to_owned())),
        Err(error) => Err(SandboxFailure::Io(error)),
    }
}

/// Lets the processes that this process starts inherit the file.
fn inherited<F: AsFd>(file: io::Result<F>) -> Result<F, SandboxFailure> {
    let file = file.map_err(SandboxFailure::Io)?;
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|errno| SandboxFailure::Io(errno.into()))?;
    Ok(file)
}

/// Returns the output of a `bwrap` that has ended, on one line.
fn error_output(bwrap: &mut Child) -> String {
    let mut output = Vec::new();
    if let Some(stderr) = bwrap.stderr.take() {
        // Output that cannot be read is left out.
        let _ = stderr.take(KEPT_OUTPUT).read_to_end(&mut output);
    }
    let output = String::from_utf8_lossy(&output);
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    if output.is_empty() { "it ended without a message".to_owned() } else { output }
}

/// Reads the next message; `None` at the end of the connection.
fn read<T: for<'a> Deserialize<'a>>(from: &mut impl io::BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    match from.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}

fn write(to: &mut impl io::Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Returns the arguments of `bwrap` that make the sandbox.
fn arguments(bounds: &Bounds) -> Vec<OsString> {
    // With its own user namespace, the program can't reach files of other processes through `/proc`.
    let mut arguments =
        ["--unshare-user", "--unshare-ipc", "--cap-drop", "ALL"].map(OsString::from).to_vec();
    let mut add = |option: &str, paths: &[&Path]| {
        arguments.push(option.into());
        arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
    };
    let mut bound: Vec<&Path> = Vec::new();
    for path in SYSTEM.iter().map(Path::new).filter(|path| path.exists()) {
        add("--ro-bind-try", &[path, path]);
        bound.push(path);
    }
    add("--dev", &[Path::new("/dev")]);
    for path in &bounds.read {
        if bound.iter().any(|above| path.starts_with(above)) {
            continue;
        }
        match link_to_file(path) {
            // A program follows the link to find the files beside it.
            Some(target) => add("--symlink", &[&target, path]),
            None => add("--ro-bind-try", &[path, path]),
        }
        bound.push(path);
    }
    for path in &bounds.write {
        add("--bind", &[path, path]);
    }
    // The parent folders of these are in memory; the program must not write them.
    add("--remount-ro", &[Path::new("/dev")]);
    add("--remount-ro", &[Path::new("/")]);
    arguments
}

/// Returns the target of a link if it is a file.
fn link_to_file(path: &Path) -> Option<PathBuf> {
    path.is_symlink().then(|| path.canonicalize().ok()).flatten().filter(|target| target.is_file())
}

/// Runs in the sandbox: reports that it runs, waits for the supervisor, and executes the program.
/// `arguments` are those after [`ENTER`]; stdin is the connection to the supervisor.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match become_program(arguments) {
        Ok(never) => match never {},
        // The supervisor got the reason, or a person has called it by hand.
        Err(_) => ExitCode::from(2),
    }
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    let program = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    write(&mut control, &SandboxReport::Ready(getpid().as_raw()))?;
    let order = read(&mut BufReader::new(control.try_clone()?))?;
    let order: Order = order.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut command = Command::new(program);
    // `bwrap` sets only this variable.
    command.args(arguments).env_remove("PWD");
    let error = match redirect(&mut command, &order) {
        Ok(()) => command.exec(),
        Err(error) => error,
    };
    let reason = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
    write(&mut control, &SandboxReport::Failed(reason))?;
    Err(error)
}

/// Sets the stdin and stderr of the program, and closes the files that it must not inherit.
fn redirect(command: &mut Command, order: &Order) -> io::Result<()> {
    let path = |number: RawFd| format!("/proc/self/fd/{number}");
    match order.stdin {
        Some(number) => command.stdin(File::open(path(number))?),
        None => command.stdin(Stdio::null()),
    };
    command.stderr(File::options().write(true).open(path(order.stderr))?);
    for number in [order.stdin, Some(order.stderr), Some(order.clitape)].into_iter().flatten() {
        close(number)?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) fn sandboxed(bounds: &Bounds) -> Option<Command> {
    let mut command = Command::new(bounds.bwrap.as_ref()?);
    command.args(arguments(bounds)).arg("--");
    Some(command)
}
