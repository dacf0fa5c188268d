//! Starts a program so that it and all its descendants are ended, even when this process is killed.
//!
//! On Linux the command runs under a second process of `clitape` ([`super::supervise`]), which ends them when this
//! process closes their connection or is killed. On other systems, and without a supervisor, as in a test of the
//! library, the program is a child of this process.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read as _, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use clitape_recording::cassette::{Confinement, Exit};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use super::confine::{Bounds, ConfineBy, NotConfined};
use super::error::ProcessError;
use super::isolation::{Isolation, NetworkSockets, NoIsolation, PassingReader, SocketKind};
use super::meter::Work;
use super::supervisors::Supervisor;

/// The first argument of a `clitape` that supervises.
pub const SUPERVISE: &str = "__supervise";
/// The first argument of a `clitape` that confines itself and becomes a program.
pub const ENTER: &str = "__enter";
/// The message with which the supervisor ends the processes and leaves the folder alone.
pub(crate) const DONE: &[u8] = b"done\n";
/// The time that the supervisor may take to start the program.
const PATIENCE: Duration = Duration::from_secs(15);

static SUPERVISOR: OnceLock<PathBuf> = OnceLock::new();

/// Sets `program`, which is `clitape` itself, as the supervisor of every program that is started from now on. Its
/// `main` must call [`super::supervise`] if its first argument is [`SUPERVISE`].
pub fn supervise_with(program: PathBuf) {
    if cfg!(target_os = "linux") {
        // An error means a second call, which names the same program.
        let _ = SUPERVISOR.set(program);
    }
}

/// Returns a command that runs `program` once it is [launched](launch). If there is a supervisor, the
/// command starts the supervisor, which passes its environment and folder on to the program.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    match SUPERVISOR.get() {
        Some(supervisor) => {
            let mut command = Command::new(supervisor);
            command.arg(SUPERVISE).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// The settings that the supervisor gets in addition to the command, as a first line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaunchPlan {
    /// The process that starts the program.
    pub(crate) parent: i32,
    /// The number of that process's file that becomes the program's stdin; `/dev/null` without it.
    pub stdin: Option<i32>,
    /// The lock file of the folder that is removed when that process is killed.
    pub(crate) lock: Option<PathBuf>,
    /// The bounds of a program that is confined.
    pub(crate) bounds: Option<Bounds>,
    /// The namespaces of a program that is isolated.
    pub(crate) isolation: Option<Isolation>,
}

/// An answer of the supervisor, a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SupervisorAnswer {
    /// The file that comes with this message is a socket of the program's separate network.
    Opened(SocketKind),
    /// The program was not started because it can't be isolated; this is the error number of the operating system.
    NotIsolated(i32),
    /// The program runs, confined in this way.
    Started { pid: i32, confined: Option<Confinement> },
    /// The program could not be started; this is the error number of the operating system.
    Failed(i32),
    /// The program was not started because it can't be confined as requested.
    NotConfined(NotConfined),
    /// The program was not started because the process that confines it failed; this is the reason.
    NotEntered(String),
    /// The program has ended.
    Ended(Exit),
}

/// The settings of a program in addition to its command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Guard<'a> {
    /// The lock file of the folder that is removed when this process is killed.
    pub lock: Option<&'a Path>,
    /// The bounds to which the program is confined if the system supports that.
    pub bounds: Option<&'a Bounds>,
    /// The scripted model, which also takes the connections of a program in a separate network.
    pub model: Option<&'a UnboundedSender<TcpListener>>,
    /// The namespaces in which the program runs.
    pub isolation: Option<&'a Isolation>,
}

/// A running program. Dropping it ends the program and its descendants.
pub struct Running {
    /// The id of the program's process and of its group. The system does not reuse it while the program is supervised.
    pid: Pid,
    /// The stdin of the program, if that is a pipe.
    pub stdin: Option<Box<dyn Write + Send>>,
    /// The stdout of the program.
    pub stdout: Option<ChildStdout>,
    /// The stderr of the program.
    pub stderr: Option<ChildStderr>,
    /// The way in which it is confined.
    pub(crate) confined: Option<Confinement>,
    /// The sockets of its separate network, if it has one.
    pub(crate) sockets: NetworkSockets,
    how: Supervision,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("pid", &self.pid).finish_non_exhaustive()
    }
}

enum Supervision {
    Direct(Child),
    /// The connection is closed before the wait for the supervisor.
    Supervised {
        control: Control,
        _supervisor: Supervisor,
    },
}

/// Starts a [`command`] in its own process group. Its stdout and stderr are pipes; its stdin is a pipe
/// if `with_stdin` is set.
pub fn launch(
    mut command: Command,
    with_stdin: bool,
    guard: Guard<'_>,
) -> Result<Running, ProcessError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let is_supervised = SUPERVISOR.get().is_some_and(|path| command.get_program() == path);
    if is_supervised {
        return supervised(command, with_stdin, guard);
    }
    if guard.bounds.is_some_and(|bounds| bounds.by != ConfineBy::Any) {
        return Err(NotConfined::NoSupervisor.into());
    }
    if guard.isolation.is_some() {
        return Err(NoIsolation(Errno::ENOSYS).into());
    }
    Ok(direct(command, with_stdin)?)
}

fn direct(mut command: Command, with_stdin: bool) -> io::Result<Running> {
    let stdin = if with_stdin { Stdio::piped() } else { Stdio::null() };
    let mut child = command.stdin(stdin).process_group(0).spawn()?;
    Ok(Running {
        pid: i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)?,
        stdin: child.stdin.take().map(|pipe| Box::new(pipe) as Box<_>),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        confined: None,
        sockets: NetworkSockets::default(),
        how: Supervision::Direct(child),
    })
}

fn supervised(
    mut command: Command,
    with_stdin: bool,
    guard: Guard<'_>,
) -> Result<Running, ProcessError> {
    let (ours, theirs) = UnixStream::pair()?;
    // The supervisor opens the reading end by its number, so this process keeps it open until then.
    let (input, stdin) = if with_stdin { Some(io::pipe()?) } else { None }.unzip();
    let plan = LaunchPlan {
        parent: nix::unistd::getpid().as_raw(),
        stdin: input.as_ref().map(|pipe| pipe.as_raw_fd()),
        lock: guard.lock.map(Path::to_owned),
        bounds: guard.bounds.cloned(),
        isolation: guard.isolation.cloned(),
    };
    command.stdin(OwnedFd::from(theirs));
    let mut supervisor = Supervisor::start(command)?;
    let mut control = Control { reader: PassingReader::new(ours), pending: Vec::new() };
    let child = supervisor.child();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut sockets = NetworkSockets::default();
    let answer = control.send(&plan).and_then(|()| {
        loop {
            match control.wait(PATIENCE)? {
                SupervisorAnswer::Opened(opened) => {
                    sockets.add(
                        opened,
                        control.reader.file.take().ok_or(ProcessError::SupervisorEnded)?,
                    );
                }
                answer => break Ok(answer),
            }
        }
    });
    if let (Some(model), Some(listener)) = (guard.model, control.reader.file.take()) {
        // An error means that the model's thread has ended, which ends the recording.
        let _ = model.send(listener.into());
    }
    let how = Supervision::Supervised { control, _supervisor: supervisor };
    let stdin = stdin.map(|pipe| Box::new(pipe) as Box<_>);
    let running = |pid, confined| Running { pid, stdin, stdout, stderr, confined, sockets, how };
    match answer {
        Ok(SupervisorAnswer::Started { pid, confined }) => {
            Ok(running(Pid::from_raw(pid), confined))
        }
        Ok(SupervisorAnswer::Failed(reason)) => Err(io::Error::from_raw_os_error(reason).into()),
        Ok(SupervisorAnswer::NotConfined(why)) => Err(why.into()),
        Ok(SupervisorAnswer::NotEntered(why)) => Err(ProcessError::NotEntered(why)),
        Ok(SupervisorAnswer::NotIsolated(reason)) => {
            Err(NoIsolation(Errno::from_raw(reason)).into())
        }
        Ok(SupervisorAnswer::Ended(_) | SupervisorAnswer::Opened(_)) => {
            Err(ProcessError::SupervisorEnded)
        }
        Err(error) => Err(error),
    }
}

impl Running {
    /// Returns the program's exit, or `None` while it runs.
    pub fn poll(&mut self) -> Result<Option<Exit>, ProcessError> {
        match &mut self.how {
            Supervision::Direct(child) => Ok(child.try_wait()?.map(exit_of)),
            Supervision::Supervised { control, .. } => match control.poll()? {
                None => Ok(None),
                Some(SupervisorAnswer::Ended(exit)) => Ok(Some(exit)),
                Some(_) => Err(ProcessError::SupervisorEnded),
            },
        }
    }

    /// Returns the bytes of memory that the program and its descendants use; 0 on a system that does not report it.
    pub(crate) fn memory(&self) -> u64 {
        #[cfg(target_os = "linux")]
        return super::processes::memory_of(self.pid);
        #[cfg(not(target_os = "linux"))]
        return 0;
    }

    /// Returns the work of the program and its descendants; `None` on a system that does not report it.
    pub(crate) fn work(&self) -> Option<Work> {
        #[cfg(target_os = "linux")]
        return Some(super::processes::work_of(self.pid));
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// Sends a signal to the process group of the program.
    pub(crate) fn signal(&self, signal: Signal) {
        // An error means that the process has ended already.
        let _ = killpg(self.pid, signal);
    }

    /// Sends a signal to the program alone.
    pub(crate) fn signal_program(&self, signal: Signal) {
        // An error means that the process has ended already.
        let _ = kill(self.pid, signal);
    }
}

/// Converts the exit status of a process.
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
            Supervision::Supervised { control, .. } => {
                // An error means that the supervisor has ended already.
                let _ = control.reader.stream.write_all(DONE);
                let _ = control.reader.stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// The connection to the supervisor.
struct Control {
    reader: PassingReader,
    /// The bytes of an incomplete line.
    pending: Vec<u8>,
}

impl Control {
    fn send(&mut self, plan: &LaunchPlan) -> Result<(), ProcessError> {
        let mut line = serde_json::to_vec(plan).map_err(io::Error::from)?;
        line.push(b'\n');
        Ok(self.reader.stream.write_all(&line)?)
    }

    /// Waits at most `limit` for the next answer.
    fn wait(&mut self, limit: Duration) -> Result<SupervisorAnswer, ProcessError> {
        self.reader.stream.set_nonblocking(false)?;
        self.reader.stream.set_read_timeout(Some(limit))?;
        let answer = self.read()?;
        self.reader.stream.set_nonblocking(true)?;
        answer.ok_or(ProcessError::SupervisorEnded)
    }

    /// Returns the next answer if it has arrived.
    fn poll(&mut self) -> Result<Option<SupervisorAnswer>, ProcessError> {
        self.read()
    }

    fn read(&mut self) -> Result<Option<SupervisorAnswer>, ProcessError> {
        let mut buffer = [0; 256];
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line).map_err(io::Error::from)?));
            }
            match self.reader.read(&mut buffer) {
                Ok(0) => return Err(ProcessError::SupervisorEnded),
                Ok(n) => self.pending.extend(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
