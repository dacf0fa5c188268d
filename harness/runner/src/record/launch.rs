//! Starts a program so that it and all that it starts can be ended, whatever becomes of this process.
//!
//! On Linux the command runs under a second process of `clitape` ([`super::supervise`]), which ends
//! everything when this one closes their connection, also by being killed. Elsewhere, and where no
//! supervisor is known, as in a test of the library, the program is a child of this process.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::confine::{Bounds, ConfineBy, NotConfined};
use crate::cassette::{Confinement, Exit};

/// The first argument of a `clitape` that supervises.
pub const SUPERVISE: &str = "__supervise";
/// The first argument of a `clitape` that becomes a program in the sandbox of bubblewrap.
pub const ENTER: &str = "__enter";
/// The message to the supervisor that there was no error and that only processes are to be ended.
pub(crate) const DONE: &[u8] = b"done\n";
/// How long the supervisor may take to start the program, and to end everything.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time between two looks whether it has ended.
const PAUSE: Duration = Duration::from_millis(1);

static SUPERVISOR: OnceLock<PathBuf> = OnceLock::new();

/// From now on `program`, which is `clitape` itself, supervises every program that is started. Its `main` has to
/// call [`super::supervise`] when its first argument is [`SUPERVISE`].
pub fn supervise_with(program: PathBuf) {
    if cfg!(target_os = "linux") {
        // A second call is ignored: the program is the same.
        let _ = SUPERVISOR.set(program);
    }
}

/// A command that runs `program` once it is [launched](launch): like [`Command::new`], but by way of
/// the supervisor where there is one, whose environment and folder the program then has too.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    match SUPERVISOR.get() {
        Some(supervisor) => {
            let mut command = Command::new(supervisor);
            command.arg(SUPERVISE).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// The settings for the supervisor beside the command: the first line that it gets, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaunchPlan {
    /// The process that asks.
    pub(crate) parent: i32,
    /// Its file that is the program's stdin; `/dev/null` when absent.
    pub(crate) stdin: Option<i32>,
    /// The lock file of the folder to remove when that process is killed.
    pub(crate) lock: Option<PathBuf>,
    /// Where the program is confined to.
    pub(crate) bounds: Option<Bounds>,
}

/// The answers of the supervisor, each on a line as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SupervisorAnswer {
    /// The program runs.
    Started { pid: i32, confined: Option<Confinement> },
    /// It could not be started, for this reason of the operating system.
    Failed(i32),
    /// It was not started, because it can't be confined as it has to be.
    NotConfined(NotConfined),
    /// It has ended.
    Ended(Exit),
}

/// The settings of a program beside its command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Guard<'a> {
    /// The lock file of the folder to remove when this process is killed.
    pub(crate) lock: Option<&'a Path>,
    /// Where the program is confined to, if the system can do that.
    pub(crate) bounds: Option<&'a Bounds>,
}

/// A program that was started; when dropped, it and all it has started are ended.
pub(crate) struct Running {
    /// The program's process, which is also the id of its group. While it is supervised no other
    /// process can get this id.
    pid: Pid,
    pub(crate) stdin: Option<Box<dyn Write + Send>>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    /// How it is confined.
    pub(crate) confined: Option<Confinement>,
    how: Supervision,
}

enum Supervision {
    Direct(Child),
    Supervised { supervisor: Child, control: Control },
}

/// Starts a [`command`] in a process group of its own. Its stdout and stderr are pipes, and its stdin
/// is one when `with_stdin`.
pub(crate) fn launch(
    mut command: Command,
    with_stdin: bool,
    guard: Guard<'_>,
) -> io::Result<Running> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let is_supervised = SUPERVISOR.get().is_some_and(|path| command.get_program() == path);
    if is_supervised {
        return supervised(command, with_stdin, guard);
    }
    if guard.bounds.is_some_and(|bounds| bounds.by != ConfineBy::Any) {
        return Err(io::Error::other(NotConfined::NoSupervisor));
    }
    direct(command, with_stdin)
}

fn direct(mut command: Command, with_stdin: bool) -> io::Result<Running> {
    let mut child =
        command.stdin(if with_stdin { Stdio::piped() } else { Stdio::null() }).spawn()?;
    Ok(Running {
        pid: i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)?,
        stdin: child.stdin.take().map(|pipe| Box::new(pipe) as Box<_>),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        confined: None,
        how: Supervision::Direct(child),
    })
}

fn supervised(mut command: Command, with_stdin: bool, guard: Guard<'_>) -> io::Result<Running> {
    let (ours, theirs) = UnixStream::pair()?;
    // The supervisor opens the reading end by its number here, so it stays open until then.
    let (input, stdin) = if with_stdin { Some(io::pipe()?) } else { None }.unzip();
    let plan = LaunchPlan {
        parent: nix::unistd::getpid().as_raw(),
        stdin: input.as_ref().map(|pipe| pipe.as_raw_fd()),
        lock: guard.lock.map(Path::to_owned),
        bounds: guard.bounds.cloned(),
    };
    let mut supervisor = command.stdin(OwnedFd::from(theirs)).spawn()?;
    // The command keeps its ends of the pipes until it is dropped.
    drop(command);
    let mut control = Control { stream: ours, pending: Vec::new() };
    let (stdout, stderr) = (supervisor.stdout.take(), supervisor.stderr.take());
    let answer = control.send(&plan).and_then(|()| control.wait(PATIENCE));
    let how = Supervision::Supervised { supervisor, control };
    let stdin = stdin.map(|pipe| Box::new(pipe) as Box<_>);
    let running = |pid, confined| Running { pid, stdin, stdout, stderr, confined, how };
    match answer {
        Ok(SupervisorAnswer::Started { pid, confined }) => {
            Ok(running(Pid::from_raw(pid), confined))
        }
        Ok(SupervisorAnswer::Failed(reason)) => Err(io::Error::from_raw_os_error(reason)),
        Ok(SupervisorAnswer::NotConfined(why)) => Err(io::Error::other(why)),
        Ok(SupervisorAnswer::Ended(_)) => Err(gone()),
        Err(error) => Err(error),
    }
}

/// The supervisor has ended, or does not answer.
fn gone() -> io::Error {
    io::Error::other("the process of clitape that supervises it was ended; try again")
}

impl Running {
    /// How the program ended, once it has.
    pub(crate) fn poll(&mut self) -> io::Result<Option<Exit>> {
        match &mut self.how {
            Supervision::Direct(child) => Ok(child.try_wait()?.map(exit_of)),
            Supervision::Supervised { control, .. } => match control.poll()? {
                None => Ok(None),
                Some(SupervisorAnswer::Ended(exit)) => Ok(Some(exit)),
                Some(_) => Err(gone()),
            },
        }
    }

    /// Signals the program and what is in its process group.
    pub(crate) fn signal(&self, signal: Signal) {
        // The process may have ended already.
        let _ = killpg(self.pid, signal);
    }

    /// Signals the program, and none that it has started.
    pub(crate) fn signal_program(&self, signal: Signal) {
        // The process may have ended already.
        let _ = kill(self.pid, signal);
    }
}

/// How a process ended.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    match status.code() {
        Some(code) => Exit::Code(code),
        None => Exit::Signal(status.signal().expect("a process ends by a code or by a signal")),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        match &mut self.how {
            Supervision::Direct(_) => self.signal(Signal::SIGKILL),
            Supervision::Supervised { supervisor, control } => {
                // A supervisor that has ended reads nothing, and needs no message.
                let _ = control.stream.write_all(DONE);
                let _ = control.stream.shutdown(Shutdown::Both);
                let begin = Instant::now();
                while matches!(supervisor.try_wait(), Ok(None)) {
                    if begin.elapsed() > PATIENCE {
                        // An error means that it has ended, which the loop sees next.
                        let _ = supervisor.kill();
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}

/// The connection to the supervisor.
struct Control {
    stream: UnixStream,
    /// Bytes that were read and are no whole line yet.
    pending: Vec<u8>,
}

impl Control {
    fn send(&mut self, plan: &LaunchPlan) -> io::Result<()> {
        let mut line = serde_json::to_vec(plan)?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// The next answer, which has to come within this time.
    fn wait(&mut self, limit: Duration) -> io::Result<SupervisorAnswer> {
        self.stream.set_read_timeout(Some(limit))?;
        let answer = self.read()?;
        self.stream.set_nonblocking(true)?;
        answer.ok_or_else(gone)
    }

    /// The next answer, if it is there.
    fn poll(&mut self) -> io::Result<Option<SupervisorAnswer>> {
        self.read()
    }

    fn read(&mut self) -> io::Result<Option<SupervisorAnswer>> {
        let mut buffer = [0; 256];
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(gone()),
                Ok(n) => self.pending.extend(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
