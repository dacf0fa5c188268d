//! Starts a confined program: a process confines itself, and then executes the program.
//!
//! The supervisor starts `clitape` ([`enter`]), directly or in the sandbox that `bwrap` makes, with a connection as its
//! stdin. That process reports that it runs, and gets an order. It takes on the layers of the order and executes the
//! program, so that the exit, the pipes, the process group and the signals are those of the program.
//!
//! `bwrap` starts a program and waits for it. A waiting `bwrap` would turn a signal that ends the program into an exit
//! code, and would keep the program's pipes open. So the supervisor kills `bwrap` before it gives the order and, as a
//! subreaper, becomes the parent of the process in the sandbox. On a system without Landlock, the sandbox shows the
//! program the files of the system and its own, lets it write only its temporary folder, and gives it a separate
//! network; the process ids are those of the machine.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use clitape_recording::cassette::Confinement;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::{Pid, close, getpgrp, getpid, setpgid};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

use super::super::isolation::{PassingReader, pass};
use super::super::launch::ENTER;
use super::bounds::{Bounds, DEVICES, NotConfined, SYSTEM, VisiblePath};
use super::{namespaces, syscalls};
use crate::threads::NoMoreThreads;

/// The time that `bwrap` may take to make the sandbox, and the process to become the program.
const PATIENCE: Duration = Duration::from_secs(7);
/// The number of bytes that are kept of the output of a failed `bwrap`.
const KEPT_OUTPUT: u64 = 500;

/// The layers of confinement that the process takes on by itself. Each includes a filter of system calls, if the system
/// supports one, and the loss of all capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Layers {
    /// Separate namespaces, and Landlock.
    NamespacesAndLandlock,
    /// Landlock; the system does not let a user make namespaces.
    Landlock,
    /// No layer, because the process is in the sandbox of bubblewrap.
    InSandbox,
}

/// A message of the process, a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum EnterReport {
    /// The process runs and has this id.
    Ready(i32),
    /// The file that comes with this message accepts connections to the scripted model in the process's separate
    /// network.
    Listening,
    /// The system does not let it make namespaces.
    NoNamespaces,
    /// The kernel does not offer Landlock.
    NoLandlock,
    /// It could not execute the program; this is the error number of the operating system.
    Failed(i32),
}

/// The message to that process once it is a child of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The number of the open file that becomes the program's stdin; without it, `/dev/null`.
    stdin: Option<RawFd>,
    /// The number of the program's stderr; the process's own stderr is for the messages of `bwrap`.
    stderr: RawFd,
    /// The number of the file of `clitape`, which the process closes.
    clitape: RawFd,
    layers: Layers,
    bounds: Bounds,
}

/// The reason why a confined program does not run.
#[derive(Debug)]
pub(crate) enum EnterFailure {
    /// The program can't be confined.
    NotConfined(NotConfined),
    /// The process that confines it failed; its output, or the step that it did not do.
    Process(String),
    /// The program can't be started.
    Io(io::Error),
}

impl From<io::Error> for EnterFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A running program that is confined.
pub(crate) struct Confined {
    pub(crate) pid: Pid,
    /// The listening socket that takes the scripted model's connections, if the program has a separate network.
    pub(crate) listener: Option<OwnedFd>,
}

/// Starts a program that is confined in one way, in its own process group, with the stdout and stderr of this process.
/// The program becomes a child of this process, which must be a subreaper.
pub(crate) fn start(
    way: Confinement,
    program: &OsStr,
    arguments: &[OsString],
    bounds: &Bounds,
    stdin: Option<File>,
) -> Result<Confined, EnterFailure> {
    let entry = EnterRequest {
        program,
        arguments,
        bounds,
        // The sandbox does not contain the file of clitape, so the process there gets it as an open file.
        clitape: inherited(File::open("/proc/self/exe"))?,
        stderr: inherited(File::options().write(true).open("/proc/self/fd/2"))?,
        stdin: stdin.map(|stdin| inherited(Ok(stdin))).transpose()?,
    };
    match way {
        Confinement::Landlock => match entry.start(None, Layers::NamespacesAndLandlock)? {
            EnterOutcome::NoNamespaces => entry.start(None, Layers::Landlock)?.started(),
            outcome => outcome.started(),
        },
        Confinement::Bubblewrap => {
            let missing = EnterFailure::NotConfined(NotConfined::NoBubblewrap);
            let bwrap = bounds.bwrap.as_ref().ok_or(missing)?;
            let wrapper = bubblewrap(bwrap, bounds, &std::env::current_dir()?);
            entry.start(Some(wrapper), Layers::InSandbox)?.started()
        }
    }
}

/// Lets the processes that this process starts inherit the file.
fn inherited<F: AsFd>(file: io::Result<F>) -> io::Result<F> {
    let file = file?;
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(file)
}

/// The end of an attempt to start a program.
enum EnterOutcome {
    Started(Confined),
    NoNamespaces,
    NoLandlock,
}

impl EnterOutcome {
    fn started(self) -> Result<Confined, EnterFailure> {
        match self {
            Self::Started(confined) => Ok(confined),
            // Only an attempt with namespaces ends without them.
            Self::NoNamespaces | Self::NoLandlock => {
                Err(EnterFailure::NotConfined(NotConfined::NoLandlock))
            }
        }
    }
}

/// A program that is about to start, and the files that its process inherits.
struct EnterRequest<'a> {
    program: &'a OsStr,
    arguments: &'a [OsString],
    bounds: &'a Bounds,
    clitape: File,
    stderr: File,
    stdin: Option<File>,
}

impl EnterRequest<'_> {
    /// Starts the program, through `wrapper` if there is one.
    fn start(
        &self,
        wrapper: Option<Command>,
        layers: Layers,
    ) -> Result<EnterOutcome, EnterFailure> {
        let (mut ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let clitape = format!("/proc/self/fd/{}", self.clitape.as_raw_fd());
        let is_wrapped = wrapper.is_some();
        let mut command = match wrapper {
            Some(mut command) => {
                command.arg(clitape);
                command
            }
            None => Command::new(clitape),
        };
        command.arg(ENTER).arg(self.program).args(self.arguments);
        command.stdin(OwnedFd::from(theirs)).stderr(Stdio::piped());
        let failed = |why: String| match is_wrapped {
            true => EnterFailure::NotConfined(NotConfined::Bubblewrap(why)),
            false => EnterFailure::Process(why),
        };
        let mut child = command.spawn().map_err(|error| match NoMoreThreads::of(&error) {
            Some(_) => EnterFailure::Io(error),
            None => failed(error.to_string()),
        })?;
        // The command keeps its end of the connection until it is dropped.
        drop(command);
        let mut reports = BufReader::new(PassingReader::new(ours.try_clone()?));
        let ready = read(&mut reports);
        if is_wrapped {
            // An error means that `bwrap` has ended by itself; `ready` then has the reason.
            let _ = child.kill();
            let _ = child.wait();
        }
        let pid = match ready {
            Ok(Some(EnterReport::Ready(pid))) => Pid::from_raw(pid),
            Ok(_) => return Err(failed(error_output(&mut child))),
            Err(_) => return Err(failed("it did not make one in time".to_owned())),
        };
        let order = Order {
            stdin: self.stdin.as_ref().map(|file| file.as_raw_fd()),
            stderr: self.stderr.as_raw_fd(),
            clitape: self.clitape.as_raw_fd(),
            layers,
            bounds: self.bounds.clone(),
        };
        write(&mut ours, &order)?;
        loop {
            match read(&mut reports)? {
                Some(EnterReport::Listening) => {}
                // The connection closes when the process executes the program.
                None => {
                    let listener = reports.get_mut().file.take();
                    return Ok(EnterOutcome::Started(Confined { pid, listener }));
                }
                Some(EnterReport::NoNamespaces) => return Ok(EnterOutcome::NoNamespaces),
                Some(EnterReport::NoLandlock) => return Ok(EnterOutcome::NoLandlock),
                Some(EnterReport::Failed(reason)) => {
                    return Err(io::Error::from_raw_os_error(reason).into());
                }
                Some(EnterReport::Ready(_)) => return Err(failed("it answered twice".to_owned())),
            }
        }
    }
}

/// Returns the output of a process that has ended, on one line.
fn error_output(child: &mut Child) -> String {
    let mut output = Vec::new();
    if let Some(stderr) = child.stderr.take() {
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

fn write(to: &mut impl io::Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&line(message)?)
}

fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Runs as the process that becomes a program: reports that it runs, waits for its order, and carries it out.
/// `arguments` are those after [`ENTER`]; stdin is the connection to the supervisor.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match become_program(arguments) {
        Ok(never) => match never {},
        // The supervisor got the reason, or a person has called this by hand.
        Err(_) => ExitCode::from(2),
    }
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    let program = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // The leader of a session has a group of its own.
    if getpgrp() != getpid() {
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    }
    write(&mut control, &EnterReport::Ready(getpid().as_raw()))?;
    let order = read(&mut BufReader::new(control.try_clone()?))?;
    let order: Order = order.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut command = Command::new(program);
    // `bwrap` sets only this variable.
    command.args(arguments).env_remove("PWD");
    let reason = match redirect(&mut command, &order).map(|()| confine(&order, &control)) {
        Ok(Ok(())) => failed(&command.exec()),
        Ok(Err(report)) => report,
        Err(error) => failed(&error),
    };
    write(&mut control, &reason)?;
    Err(io::ErrorKind::Other.into())
}

fn failed(error: &io::Error) -> EnterReport {
    EnterReport::Failed(error.raw_os_error().unwrap_or(Errno::EINVAL as i32))
}

/// Takes on the layers of the order.
fn confine(order: &Order, control: &UnixStream) -> Result<(), EnterReport> {
    let Order { layers, bounds, .. } = order;
    if *layers == Layers::NamespacesAndLandlock && namespaces::enter_tree(bounds).is_err() {
        return Err(EnterReport::NoNamespaces);
    }
    if *layers != Layers::Landlock {
        listen(bounds, control).map_err(|error| failed(&error))?;
    }
    namespaces::keep_capabilities(CapabilitySet::empty()).map_err(|error| failed(&error))?;
    if *layers != Layers::InSandbox && !restrict_by_landlock(bounds) {
        return Err(EnterReport::NoLandlock);
    }
    // A system without such filters still has the other layers.
    syscalls::restrict();
    Ok(())
}

/// Waits for connections to the scripted model's port in the network of this process, and passes the socket on to the
/// model, which is in the machine's network.
fn listen(bounds: &Bounds, control: &UnixStream) -> io::Result<()> {
    let Some(port) = bounds.port else { return Ok(()) };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    pass(control, &line(&EnterReport::Listening)?, Some(listener.as_fd()))
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

/// The version of Landlock whose rights are requested; an older kernel enforces the rights that it supports.
const LANDLOCK_RIGHTS: ABI = ABI::V9;

/// Confines this process and the processes that it starts. Returns whether the system can do that.
fn restrict_by_landlock(bounds: &Bounds) -> bool {
    apply_rules(bounds).is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

fn apply_rules(bounds: &Bounds) -> Result<RestrictionStatus, RulesetError> {
    let read = AccessFs::from_read(LANDLOCK_RIGHTS);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    // A device that root makes in its folder would be one of the machine, such as a disk or a terminal.
    let devices: BitFlags<AccessFs> = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(LANDLOCK_RIGHTS) & !devices;
    let ports = bounds.port.map(|port| NetPort::new(port, AccessNet::ConnectTcp));
    let ports = ports.into_iter().map(Ok::<_, RulesetError>);
    Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK_RIGHTS))?
        .handle_access(AccessNet::ConnectTcp)?
        .scope(Scope::AbstractUnixSocket)?
        .scope(Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(&bounds.read, read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(&bounds.write, write))?
        .add_rules(ports)?
        .restrict_self()
}

/// Returns the command that makes the sandbox and starts a program there in `folder`; the program and its arguments
/// are to be added.
fn bubblewrap(bwrap: &Path, bounds: &Bounds, folder: &Path) -> Command {
    let mut command = Command::new(bwrap);
    // With its own user namespace, the program can't reach files of other processes through `/proc`.
    command.args(["--unshare-user", "--unshare-ipc", "--unshare-net", "--cap-drop", "ALL"]);
    command.arg("--new-session");
    command.args(["--dev", "/dev"]);
    for place in bounds.places() {
        match place {
            VisiblePath::Link { path, target } => command.arg("--symlink").arg(target).arg(path),
            VisiblePath::Files { path, real } => {
                let is_written = bounds.write.contains(&path);
                command.arg(if is_written { "--bind" } else { "--ro-bind" }).arg(real).arg(path)
            }
        };
    }
    // The parent folders of these are in memory; the program must not write them.
    command.args(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir"]).arg(folder).arg("--");
    command
}
