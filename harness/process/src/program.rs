//! A program that runs under limits, and the one loop that attends it.
//!
//! It is started in its own process group, under a supervisor that ends it with all its descendants when clitape ends.
//! Threads read its output, because a program may lose the end of its output if the reader is slow. They store the end
//! of it, count it, and pass it on with the time of every read. [`run_to_end`] runs a program and returns its output.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clitape_gateway::ByteSize;
use clitape_recording::cassette::{Confinement, Exit};
use clitape_recording::limits::OutputLimits;
use nix::sys::signal::Signal;

use super::error::ProcessError;
use super::isolation::{Isolation, NetworkSockets};
use super::launch::{Guard, Running, command, launch};
use super::meter::{Meter, Overflow, Work};
use super::scratch::Scratch;
use super::stdin_pipe::StdinPipe;
use crate::kept::{Full, Held, KeptBytes};
use crate::threads::{self, NoMoreThreads};

/// The number of bytes of the output that are stored: the last ones.
const KEPT: usize = 256 * 1024;
/// The time between two checks whether the program has ended or must be stopped.
const LOOK: Duration = Duration::from_millis(10);
/// The time between two checks of the program's memory.
const MEMORY_LOOK: Duration = Duration::from_millis(500);
/// The time that a program may take to end after a request, or to close its pipes after its end.
const GRACE: Duration = Duration::from_secs(2);
/// The shorter time after the caller has asked to stop, because a person waits for the command to end.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// The settings with which a [`Program`] of another project is started.
#[derive(Debug, Clone, Copy)]
pub struct ProgramStart<'a> {
    /// The program and its arguments; a name without `/` is searched for on the `PATH` of `environment`.
    pub command: &'a [OsString],
    /// All variables of its environment.
    pub environment: &'a [(OsString, OsString)],
    /// The folder in which it starts.
    pub folder: &'a Path,
    /// The temporary folder that is removed when clitape is killed.
    pub scratch: &'a Scratch,
    /// True if its stdin is a pipe, which [`Program::take_stdin`] returns; otherwise it is `/dev/null`.
    pub with_stdin: bool,
    /// The reader of its output.
    pub reader: OutputReader,
    /// The limits on its output.
    pub output: OutputLimits,
    /// The limit on the memory of it and its descendants.
    pub memory: ByteSize,
    /// The namespaces in which it runs; `None` uses those of clitape.
    pub isolation: Option<&'a Isolation>,
}

/// The reader of the output of a [`Program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputReader {
    /// No reader: only the last part is stored.
    LastPart,
    /// An [`Attendant`], which takes every piece. The last part of stderr is stored as well.
    Attendant,
    /// The caller, who reads stdout with [`Program::take_stdout`] and applies the limits to it. The last part of stderr
    /// is stored.
    Caller,
}

/// A part of the output of a program, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPiece {
    /// The time at which it was read.
    pub at: Instant,
    /// True if it is of stdout; otherwise it is of stderr.
    pub is_stdout: bool,
    /// The bytes, at least one.
    pub bytes: Vec<u8>,
}

/// An attendant of a program: takes its output, writes to it, and decides when the attendance ends.
pub trait Attendant {
    /// The attendant's own reasons to end, besides those of every program.
    type Reason;

    /// Takes the next piece of the output. An error ends the attendance.
    fn take(&mut self, piece: OutputPiece) -> Result<(), Ending<Self::Reason>>;

    /// Acts between two pieces, several times in a tenth of a second. An error ends the attendance.
    fn act(&mut self, _program: &mut Program) -> Result<(), Ending<Self::Reason>> {
        Ok(())
    }

    /// Gets the exit of the program, once. Pieces may still come.
    fn learn_exit(&mut self, _exit: Exit) {}
}

/// The reason why the attendance of a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending<R> {
    /// The program ended by itself, and its output was read.
    Itself,
    /// The time was over.
    Limit,
    /// The caller stopped it.
    Stopped,
    /// The program reached another limit.
    Overflow(Overflow),
    /// The attendant ended it.
    Reason(R),
}

/// An attendant of a program with no use for the output besides its last part.
struct NoAttendant;

impl Attendant for NoAttendant {
    type Reason = std::convert::Infallible;

    fn take(&mut self, _piece: OutputPiece) -> Result<(), Ending<Self::Reason>> {
        Ok(())
    }
}

/// A running program. Dropping it ends it and its descendants.
pub struct Program {
    running: Running,
    stdin: Option<StdinPipe>,
    exit: Option<Exit>,
    printed: Arc<Mutex<OutputSoFar>>,
    /// The output for an attendant; `None` once it reached a limit.
    pieces: Option<Receiver<OutputPiece>>,
    output: OutputLimits,
    memory: Option<ByteSize>,
    /// The time of the last check of the memory, and true if it was too much.
    memory_seen: (Instant, bool),
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("exit", &self.exit).finish_non_exhaustive()
    }
}

/// Takes each piece of a program's output, as soon as it is read.
type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// The output of a program so far.
struct OutputSoFar {
    /// The receiver of a copy of each piece.
    sink: Option<Sink>,
    /// The end of stdout and stderr, in the order in which it was read; of stderr alone if an attendant has the rest.
    end: Vec<u8>,
    /// True if an attendant takes stdout.
    is_attended: bool,
    /// The counts of stdout and of stderr.
    meters: [Meter; 2],
    /// The number of open streams.
    open: usize,
    overflow: Option<Overflow>,
}

impl OutputSoFar {
    fn take(&mut self, piece: &OutputPiece) -> Result<(), Overflow> {
        self.meters[usize::from(!piece.is_stdout)].take(&piece.bytes)?;
        if let Some(sink) = &mut self.sink {
            sink(&piece.bytes);
        }
        if !(self.is_attended && piece.is_stdout) {
            self.end.extend(&piece.bytes);
            let beyond = self.end.len().saturating_sub(KEPT);
            self.end.drain(..beyond);
        }
        Ok(())
    }
}

impl Program {
    /// Starts a program of another project.
    ///
    /// # Errors
    ///
    /// [`ProcessError::NotStarted`] names it. [`ProcessError::NoIsolation`] if the system does not let it have its
    /// namespaces.
    pub fn start(start: ProgramStart<'_>) -> Result<Self, ProcessError> {
        let Some((program, args)) = start.command.split_first() else {
            return Err(ProcessError::NoCommand);
        };
        let path = start.environment.iter().find(|(name, _)| name == "PATH");
        let found = path.and_then(|(_, path)| crate::host::which(path, &program.to_string_lossy()));
        let found = found.map_or_else(|| program.clone(), Into::into);
        let mut command = command(found);
        command
            .args(args)
            .env_clear()
            .envs(start.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(start.folder);
        let lock = start.scratch.lock();
        let guard = Guard { lock: Some(&lock), isolation: start.isolation, ..Guard::default() };
        let launched = Self::launch(command, start.with_stdin, start.reader, start.output, guard);
        let mut started = launched.map_err(|error| match error {
            ProcessError::Io(error) => {
                let program = program.to_string_lossy().into_owned();
                ProcessError::NotStarted { program, error }
            }
            error => error,
        })?;
        started.memory = Some(start.memory);
        Ok(started)
    }

    /// Starts a command that [`super::launch::command`] returned.
    ///
    /// # Errors
    ///
    /// When it can't be started, confined or isolated.
    pub fn launch(
        command: Command,
        with_stdin: bool,
        reader: OutputReader,
        output: OutputLimits,
        guard: Guard<'_>,
    ) -> Result<Self, ProcessError> {
        let mut running = launch(command, with_stdin, guard)?;
        let (sender, pieces) = channel();
        let sender = (reader == OutputReader::Attendant).then_some(sender);
        let mut program = Self {
            stdin: running.stdin.take().map(StdinPipe::new).transpose()?,
            exit: None,
            printed: Arc::new(Mutex::new(OutputSoFar {
                sink: None,
                end: Vec::new(),
                is_attended: reader == OutputReader::Attendant,
                meters: [(); 2].map(|()| Meter::new(output)),
                open: 0,
                overflow: None,
            })),
            pieces: sender.is_some().then_some(pieces),
            output,
            memory: None,
            memory_seen: (Instant::now(), false),
            running,
        };
        let stdout = program.running.stdout.take_if(|_| reader != OutputReader::Caller);
        let stderr = program.running.stderr.take();
        program.printed().open = usize::from(stdout.is_some()) + usize::from(stderr.is_some());
        if let Some(pipe) = stdout {
            read(pipe, true, program.printed.clone(), sender.clone())?;
        }
        if let Some(pipe) = stderr {
            read(pipe, false, program.printed.clone(), sender)?;
        }
        Ok(program)
    }

    /// Returns the pipe to its stdin, at the first call.
    pub fn take_stdin(&mut self) -> Option<StdinPipe> {
        self.stdin.take()
    }

    /// Returns the sockets of its separate network, at the first call.
    pub fn take_sockets(&mut self) -> NetworkSockets {
        std::mem::take(&mut self.running.sockets)
    }

    /// Returns the pipe of its stdout, at the first call, if the caller is its [`OutputReader`].
    pub fn take_stdout(&mut self) -> Option<impl Read + Send + 'static> {
        self.running.stdout.take()
    }

    /// Returns the way in which it is confined.
    pub fn confined(&self) -> Option<Confinement> {
        self.running.confined
    }

    /// Sends a signal to the program alone, not to its descendants.
    pub fn signal_program(&self, signal: Signal) {
        self.running.signal_program(signal);
    }

    /// Returns the exit of the program, or `None` while it runs; checks its memory now and then.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn poll(&mut self) -> Result<Option<Exit>, ProcessError> {
        if self.exit.is_none() {
            self.exit = self.running.poll()?;
            let (at, is_too_much) = self.memory_seen;
            if let Some(most) = self.memory
                && !is_too_much
                && at.elapsed() > MEMORY_LOOK
            {
                self.memory_seen = (Instant::now(), self.running.memory() > most.get());
            }
        }
        Ok(self.exit)
    }

    /// Returns whether a call has already seen the end of the program.
    pub fn has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// Returns whether the last part of its output contains a text.
    pub fn has_printed(&self, text: &str) -> bool {
        let printed = self.printed();
        printed.end.windows(text.len().max(1)).any(|part| part == text.as_bytes())
    }

    /// Returns the limit that it reached.
    pub fn overflow(&self) -> Option<Overflow> {
        let of_memory = || self.memory.filter(|_| self.memory_seen.1).map(Overflow::Memory);
        self.printed().overflow.or_else(of_memory)
    }

    /// Returns the last lines of its output, at most `lines`, without blank ones and what npm says of itself. The first
    /// line that names an error is always among them, because a trace of calls may follow it.
    pub fn last_lines(&self, lines: usize) -> Vec<String> {
        telling_lines(&String::from_utf8_lossy(&self.printed().end), lines)
    }

    /// Copies all output to `sink` too, from its beginning if this is called at once. The stdout that a caller reads
    /// with [`Self::take_stdout`] is not copied.
    pub fn copy_to(&self, mut sink: impl FnMut(&[u8]) + Send + 'static) {
        let mut printed = self.printed();
        sink(&printed.end);
        printed.sink = Some(Box::new(sink));
    }

    /// Counts the output from here on as if the program had printed none before.
    pub fn count_anew(&self) {
        self.printed().meters = [(); 2].map(|()| Meter::new(self.output));
    }

    /// Returns the work of the program and its descendants; `None` on a system that does not report it.
    pub fn work(&self) -> Option<Work> {
        self.running.work()
    }

    /// Attends the program until it has ended and its output was read, until `limit` has passed, until it reaches one
    /// of its limits, or until `stop` is set or the attendant ends it. This does not end the program, for any reason.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn attend<A: Attendant>(
        &mut self,
        attendant: &mut A,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Ending<A::Reason>, ProcessError> {
        let begin = Instant::now();
        let mut ended_at: Option<Instant> = None;
        loop {
            // Once both are closed, all pieces have been sent.
            let is_closed = self.printed().open == 0;
            let piece = self.next_piece();
            let is_read = is_closed && piece.is_none();
            let is_new = self.exit.is_none();
            if let Some(exit) = self.poll()? {
                ended_at.get_or_insert_with(Instant::now);
                if is_new {
                    attendant.learn_exit(exit);
                }
            }
            let taken = piece.map_or(Ok(()), |piece| attendant.take(piece));
            if let Err(ending) = taken.and_then(|()| attendant.act(self)) {
                return Ok(ending);
            }
            if let Some(what) = self.overflow() {
                // The reading threads end too, and what they have read is stored.
                let rest = self.pieces.take();
                let mut rest = rest.iter().flat_map(Receiver::try_iter);
                let refused = rest.find_map(|piece| attendant.take(piece).err());
                return Ok(refused.unwrap_or(Ending::Overflow(what)));
            }
            let is_stopped = stop.load(Ordering::Relaxed);
            let grace = if is_stopped { STOP_GRACE } else { GRACE };
            match ended_at {
                Some(_) if is_read => return Ok(Ending::Itself),
                // Another process may have its pipes open.
                Some(at) if at.elapsed() > grace => return Ok(Ending::Itself),
                Some(_) => {}
                None if is_stopped => return Ok(Ending::Stopped),
                None if begin.elapsed() >= limit => return Ok(Ending::Limit),
                None => {}
            }
        }
    }

    /// Returns the next piece for the attendant, or `None` after a moment.
    fn next_piece(&self) -> Option<OutputPiece> {
        match self.pieces.as_ref().map(|pieces| pieces.recv_timeout(LOOK)) {
            Some(Ok(piece)) => return Some(piece),
            Some(Err(RecvTimeoutError::Timeout)) => {}
            Some(Err(RecvTimeoutError::Disconnected)) | None => std::thread::sleep(LOOK),
        }
        None
    }

    /// Attends the program to its end, as [`Self::attend`] does, and ends it if it does not end by itself: first with
    /// SIGTERM to its group, then with SIGKILL. Returns its exit and the reason.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn attend_to_end<A: Attendant>(
        &mut self,
        attendant: &mut A,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(Exit, Ending<A::Reason>), ProcessError> {
        let ending = self.attend(attendant, limit, stop)?;
        let mut signals = [Signal::SIGTERM, Signal::SIGKILL].into_iter();
        let never = AtomicBool::new(false);
        loop {
            if let Some(exit) = self.exit {
                return Ok((exit, ending));
            }
            let is_stopped = stop.load(Ordering::Relaxed);
            self.running.signal(signals.next().unwrap_or(Signal::SIGKILL));
            let end = Instant::now() + if is_stopped { STOP_GRACE } else { GRACE };
            // The first of several reasons counts.
            while self.exit.is_none() && Instant::now() < end {
                let left = end.saturating_duration_since(Instant::now());
                self.attend(attendant, left, &never)?;
            }
        }
    }

    /// Waits until the program has ended and its output was read, at most `limit`, and until it has reached one of its
    /// limits or `stop` is set. Returns its exit.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn wait(
        &mut self,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<Exit>, ProcessError> {
        self.attend(&mut NoAttendant, limit, stop)?;
        Ok(self.exit)
    }

    /// Asks the program and its group to end with SIGTERM and waits, at most `limit` or until `stop` is set. Returns
    /// its exit; a program that has not ended is killed when this is dropped.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn ask_to_end(
        &mut self,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<Exit>, ProcessError> {
        if self.poll()?.is_none() {
            self.running.signal(Signal::SIGTERM);
        }
        let begin = Instant::now();
        let may_wait = || begin.elapsed() < limit && !stop.load(Ordering::Relaxed);
        while self.poll()?.is_none() && may_wait() {
            std::thread::sleep(LOOK);
        }
        Ok(self.exit)
    }

    fn printed(&self) -> MutexGuard<'_, OutputSoFar> {
        // The reading threads do not panic.
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a stream to its end, or to a limit, on a separate thread.
fn read(
    mut pipe: impl Read + Send + 'static,
    is_stdout: bool,
    printed: Arc<Mutex<OutputSoFar>>,
    pieces: Option<Sender<OutputPiece>>,
) -> Result<(), NoMoreThreads> {
    let read = move || {
        let mut buffer = vec![0; 64 * 1024];
        let lock = || printed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match pipe.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    let bytes = buffer[..n].to_vec();
                    let piece = OutputPiece { at: Instant::now(), is_stdout, bytes };
                    let taken = lock().take(&piece);
                    if let Err(what) = taken {
                        lock().overflow.get_or_insert(what);
                        break;
                    }
                    if pieces.as_ref().is_some_and(|pieces| pieces.send(piece).is_err()) {
                        break;
                    }
                }
            }
        }
        // The attendant gets all pieces before it sees the end of the stream.
        drop(pieces);
        lock().open -= 1;
    };
    threads::start("output", read).map(drop)
}

/// The limits of a program that is run to its end.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits<'a> {
    /// The limits on its output.
    pub output: OutputLimits,
    /// The account in which its output is counted until its [`Output`] is dropped.
    pub kept: Option<&'a Arc<KeptBytes>>,
    /// The longest time.
    pub time: Duration,
    /// The settings that end and confine it.
    pub guard: Guard<'a>,
}

/// The output of a program.
#[derive(Debug, Default)]
pub struct Output {
    /// All bytes of stdout.
    pub stdout: Vec<u8>,
    /// All bytes of stderr.
    pub stderr: Vec<u8>,
    /// The part of an account in which they are counted.
    held: Option<Held>,
}

impl Output {
    /// Makes an empty output whose bytes are counted in an account.
    pub fn counted_in(account: Option<&Arc<KeptBytes>>) -> Self {
        Self { held: account.map(Held::of), ..Self::default() }
    }

    /// Adds a piece, and counts it with `more` bytes that are stored beside it.
    ///
    /// # Errors
    ///
    /// [`Overflow::Kept`] if the account has no room for it; it is then not added.
    pub fn add(&mut self, piece: &OutputPiece, more: usize) -> Result<(), Overflow> {
        if let Some(held) = &mut self.held {
            let kept = held.try_keep(piece.bytes.len() + more);
            kept.map_err(|Full { limit }| Overflow::Kept(limit))?;
        }
        if piece.is_stdout { &mut self.stdout } else { &mut self.stderr }.extend(&piece.bytes);
        Ok(())
    }
}

/// Takes all output of a program.
impl Attendant for Output {
    type Reason = std::convert::Infallible;

    fn take(&mut self, piece: OutputPiece) -> Result<(), Ending<Self::Reason>> {
        self.add(&piece, 0).map_err(Ending::Overflow)
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its output, as far as it was read.
    pub output: Output,
    /// The exit of the program.
    pub exit: Exit,
    /// The reason why it ended.
    pub why: Why,
}

/// The reason why a program without an attendant ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The program ended by itself.
    Itself,
    /// The program reached its time limit.
    Limit,
    /// The program reached another limit.
    Overflow(Overflow),
}

/// Runs a command that [`super::launch::command`] returned, until it ends or reaches a limit, or until `stop` is set.
///
/// No descendant of the program outlives this call. Without a supervisor, only its process group is ended.
///
/// # Errors
///
/// [`ProcessError::Stopped`]; if it can't be started, confined or isolated.
pub fn run_to_end(
    command: Command,
    limits: RunLimits<'_>,
    stop: &AtomicBool,
) -> Result<Ended, ProcessError> {
    let RunLimits { output, kept, time, guard } = limits;
    let reader = OutputReader::Attendant;
    let mut program = Program::launch(command, false, reader, output, guard)?;
    let mut output = Output::counted_in(kept);
    let (exit, ending) = program.attend_to_end(&mut output, time, stop)?;
    let why = match ending {
        Ending::Stopped => return Err(ProcessError::Stopped),
        Ending::Itself => Why::Itself,
        Ending::Limit => Why::Limit,
        Ending::Overflow(what) => Why::Overflow(what),
        Ending::Reason(never) => match never {},
    };
    Ok(Ended { output, exit, why })
}

impl Ended {
    /// Returns whether it ended by itself with code 0.
    pub fn is_success(&self) -> bool {
        self.why == Why::Itself && self.exit == Exit::Code(0)
    }

    /// Returns its stdout as text, without blanks around it.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).trim().to_owned()
    }

    /// Returns its stderr as text, without blanks around it.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).trim().to_owned()
    }
}

/// Returns the lines at the end of an output that say most, at most `most`.
fn telling_lines(text: &str, most: usize) -> Vec<String> {
    let is_noise = |line: &&str| line.is_empty() || line.starts_with("npm notice");
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !is_noise(line)).collect();
    let from = all.len().saturating_sub(most);
    let error = all.iter().position(|line| line.contains("Error")).filter(|at| *at < from);
    let shown = error.into_iter().chain(from + usize::from(error.is_some())..all.len());
    shown.map(|at| all[at].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use clitape_gateway::ByteSize;

    use super::*;
    use crate::host::HostPaths;

    #[test]
    fn the_last_lines_have_the_first_error() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(super::telling_lines(text, 3), expect, "{text:?}");
        };
        check("a\n\n b \nnpm notice new version\n", &["a", "b"]);
        check("a\nb\nc\nd\n", &["b", "c", "d"]);
        let first = "TypeError: no grammy";
        check("TypeError: no grammy\n at b\n at c\n at Error d\n", &[first, "at c", "at Error d"]);
        check("a\nTypeError: no grammy\nb\n", &["a", first, "b"]);
    }

    /// Starts a shell that runs `script`.
    fn shell(script: &str, with_stdin: bool) -> (Scratch, Program) {
        let scratch = Scratch::for_program(&HostPaths::of_tests()).unwrap();
        let command = ["sh".into(), "-c".into(), script.into()];
        let path = std::env::var_os("PATH").unwrap();
        let program = Program::start(ProgramStart {
            command: &command,
            environment: &[("PATH".into(), path)],
            folder: scratch.path(),
            scratch: &scratch,
            with_stdin,
            reader: OutputReader::LastPart,
            output: OutputLimits::within(ByteSize::mib(1)),
            memory: ByteSize::mib(256),
            isolation: None,
        });
        (scratch, program.unwrap())
    }

    const LONG: Duration = Duration::from_secs(20);
    static GO_ON: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_program_is_read_and_its_end_is_seen() {
        let (_scratch, mut program) = shell("echo one; echo two >&2; pwd; exit 3", false);
        assert_eq!(program.wait(LONG, &GO_ON).unwrap(), Some(Exit::Code(3)));
        assert!(program.has_printed("two") && !program.has_printed("three"));
        let copy = Arc::new(Mutex::new(Vec::<u8>::new()));
        let sink = copy.clone();
        program.copy_to(move |bytes| sink.lock().unwrap().extend(bytes));
        assert_eq!(copy.lock().unwrap().len(), program.printed().end.len());
        assert_eq!(program.last_lines(9).len(), 3);
        assert_eq!(program.overflow(), None);
    }

    #[test]
    fn stdin_is_a_pipe_where_that_is_wanted() {
        let (_scratch, mut program) = shell("cat", true);
        let stdin = program.take_stdin().unwrap();
        stdin.write("hello\n").unwrap();
        drop(stdin);
        assert_eq!(program.wait(LONG, &GO_ON).unwrap(), Some(Exit::Code(0)));
        assert_eq!(program.last_lines(9), ["hello"]);
    }

    #[test]
    fn a_program_that_floods_or_stays_is_ended() {
        let (_scratch, mut program) = shell("exec yes", false);
        let begin = Instant::now();
        while program.overflow().is_none() && begin.elapsed() < LONG {
            std::thread::sleep(LOOK);
        }
        assert!(program.overflow().is_some());
        assert!(program.ask_to_end(LONG, &GO_ON).unwrap().is_some());
        let (_scratch, mut program) =
            shell("trap '' TERM; echo up; while :; do sleep 0.1; done", false);
        while !program.has_printed("up") {
            std::thread::sleep(LOOK);
        }
        assert_eq!(program.ask_to_end(Duration::from_millis(200), &GO_ON).unwrap(), None);
    }

    #[test]
    fn a_program_that_stays_is_waited_for_until_the_caller_stops() {
        let (_scratch, mut program) =
            shell("trap '' TERM; echo up; while :; do sleep 0.1; done", false);
        while !program.has_printed("up") {
            std::thread::sleep(LOOK);
        }
        let (begin, stop) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let later = stop.clone();
        let setter = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            later.store(true, Ordering::Relaxed);
        });
        assert_eq!(program.wait(LONG, &stop).unwrap(), None);
        assert_eq!(program.ask_to_end(LONG, &stop).unwrap(), None);
        assert!(begin.elapsed() < LONG);
        setter.join().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_whose_descendants_take_too_much_memory_has_reached_a_limit() {
        let hoard = "head -c 400000000 /dev/zero | tail -c 400000000 | sleep 60";
        let (_scratch, mut program) = shell(hoard, false);
        assert_eq!(program.wait(LONG, &GO_ON).unwrap(), None);
        assert_eq!(
            program.overflow().unwrap().with_option(),
            "more than 256MiB of memory; raise the limit with `--max-memory`"
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let scratch = Scratch::for_program(&HostPaths::of_tests()).unwrap();
        let start = ProgramStart {
            command: &["/nowhere/at-all".into()],
            environment: &[],
            folder: scratch.path(),
            scratch: &scratch,
            with_stdin: false,
            reader: OutputReader::LastPart,
            output: OutputLimits::COMPARED,
            memory: ByteSize::mib(256),
            isolation: None,
        };
        let error = Program::start(start).unwrap_err().to_string();
        assert!(error.starts_with("can't start /nowhere/at-all: "), "{error}");
    }
}
