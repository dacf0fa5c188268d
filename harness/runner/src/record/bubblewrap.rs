//! Confines a program with bubblewrap, on a system without Landlock: it sees the system's files and its
//! own, and no others, and can write its temporary folder alone. The network, the processes and their
//! ids are those of the machine.
//!
//! `bwrap` makes the sandbox, starts a program in it and waits for that. Its own process would turn a
//! signal that ends the program into an exit code, and it would keep the program's pipes open. So the
//! program that it starts is `clitape` ([`enter`]); once that says it is there, the process of `bwrap`
//! is killed, which makes the supervisor the parent of the one in the sandbox, as it is the parent of all
//! that lose theirs. Only then does that process become the program. From there on the processes are the
//! same as without bubblewrap: the exit, the pipes, the process group and the signals are the program's own.

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

use super::confine::{Bounds, NotConfined, SYSTEM};
use super::launch::ENTER;

/// How long `bwrap` may take to make the sandbox, and the process in it to become the program.
const PATIENCE: Duration = Duration::from_secs(7);
/// Bytes that are kept of what `bwrap` prints when it fails.
const SAID: u64 = 500;

/// The messages of the process in the sandbox, each on a line as JSON.
#[derive(Debug, Serialize, Deserialize)]
enum SandboxReport {
    /// It is there, with this id.
    Ready(i32),
    /// It could not become the program, for this reason of the operating system.
    Failed(i32),
}

/// The message to that process once it is the supervisor's child: the numbers of the files that it has.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The program's stdin; `/dev/null` when absent.
    stdin: Option<RawFd>,
    /// The program's stderr; what the process itself has there is for the messages of `bwrap`.
    stderr: RawFd,
    /// The file of `clitape`, which is to be closed.
    clitape: RawFd,
}

/// Why a program does not run in a sandbox.
#[derive(Debug)]
pub(super) enum SandboxFailure {
    /// There is no sandbox.
    NotConfined(NotConfined),
    /// The program can't be started.
    Io(io::Error),
}

/// Starts a program in a sandbox and in a process group of its own; it is then a child of this process,
/// which has to be the one that gets what loses its parent. Stdout is that of this process, and so is stderr.
pub(super) fn start(
    program: &OsStr,
    arguments: &[OsString],
    bounds: &Bounds,
    stdin: Option<File>,
) -> Result<Pid, SandboxFailure> {
    let Some(bwrap) = &bounds.bwrap else {
        return Err(SandboxFailure::NotConfined(NotConfined::NoBubblewrap));
    };
    let failed = |why: String| SandboxFailure::NotConfined(NotConfined::Bubblewrap(why));
    // A file that is open is there in the sandbox too, where this program is not.
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
    // A process that is killed can't become the parent of anything again.
    let _ = bwrap.kill();
    let _ = bwrap.wait();
    let pid = match ready {
        Ok(Some(SandboxReport::Ready(pid))) => Pid::from_raw(pid),
        Ok(_) => return Err(failed(said(&mut bwrap))),
        Err(_) => return Err(failed("it did not make one in time".to_owned())),
    };
    drop((clitape, stderr, stdin));
    write(&mut ours, &order).map_err(SandboxFailure::Io)?;
    match read(&mut reports) {
        // The program has its place: the connection closes with the process that was there before.
        Ok(None) => Ok(pid),
        Ok(Some(SandboxReport::Failed(reason))) => {
            Err(SandboxFailure::Io(io::Error::from_raw_os_error(reason)))
        }
        Ok(Some(SandboxReport::Ready(_))) => Err(failed("it answered twice".to_owned())),
        Err(error) => Err(SandboxFailure::Io(error)),
    }
}

/// The file, which the processes that this one starts have too.
fn inherited<F: AsFd>(file: io::Result<F>) -> Result<F, SandboxFailure> {
    let file = file.map_err(SandboxFailure::Io)?;
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|errno| SandboxFailure::Io(errno.into()))?;
    Ok(file)
}

/// The output of a `bwrap` that has ended, on one line.
fn said(bwrap: &mut Child) -> String {
    let mut said = Vec::new();
    if let Some(stderr) = bwrap.stderr.take() {
        // Output that cannot be read is left out.
        let _ = stderr.take(SAID).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if said.is_empty() { "it ended without a word".to_owned() } else { said }
}

/// The next line of the other side; nothing at the end of the connection.
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

/// The arguments of `bwrap` that make the sandbox.
fn arguments(bounds: &Bounds) -> Vec<OsString> {
    // A user namespace of its own keeps `/proc` from leading to what other processes see.
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
            // A program finds the files beside it by the target of the link.
            Some(target) => add("--symlink", &[&target, path]),
            None => add("--ro-bind-try", &[path, path]),
        }
        bound.push(path);
    }
    for path in &bounds.write {
        add("--bind", &[path, path]);
    }
    // The folders above those, which are in memory.
    add("--remount-ro", &[Path::new("/dev")]);
    add("--remount-ro", &[Path::new("/")]);
    arguments
}

/// Where a link leads, if that is a file.
fn link_to_file(path: &Path) -> Option<PathBuf> {
    path.is_symlink().then(|| path.canonicalize().ok()).flatten().filter(|target| target.is_file())
}

/// The part of `clitape` in the sandbox: it says that it is there, waits for the supervisor, and becomes the
/// program. `arguments` are those after [`ENTER`], stdin is the connection to the supervisor.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match become_program(arguments) {
        Ok(never) => match never {},
        // The supervisor knows why, or a person has called it by hand.
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
    // `bwrap` sets this one, and nothing else.
    command.args(arguments).env_remove("PWD");
    let error = match redirect(&mut command, &order) {
        Ok(()) => command.exec(),
        Err(error) => error,
    };
    let reason = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
    write(&mut control, &SandboxReport::Failed(reason))?;
    Err(error)
}

/// Gives the program its stdin and stderr, and closes the files that it is not to have.
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
pub(super) fn sandboxed(bounds: &Bounds) -> Option<Command> {
    let mut command = Command::new(bounds.bwrap.as_ref()?);
    command.args(arguments(bounds)).arg("--");
    Some(command)
}
