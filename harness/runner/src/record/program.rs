//! A program of another project that runs beside clitape for a while, such as a gateway under test.
//!
//! It is started as a recorded CLI is: in its own process group, under a supervisor that ends it with all its
//! descendants when clitape ends. Threads read what it prints, keep the end of it and count it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clitape_gateway::ByteSize;
use clitape_recording::cassette::Exit;
use clitape_recording::limits::OutputLimits;
use nix::sys::signal::Signal;

use super::isolation::{Isolation, NetworkSockets, NoIsolation};
use super::launch::{Guard, Running, command, launch};
use super::meter::{Meter, Overflow};
use super::scratch::Scratch;
use super::stdin_pipe::StdinPipe;
use super::work::Work;
use crate::threads::{self, NoMoreThreads};

/// The bytes of the output that are kept: the last ones.
const KEPT: usize = 256 * 1024;
/// The time between two checks whether the program has ended.
const LOOK: Duration = Duration::from_millis(10);
/// The time between two looks at the memory of the program.
const MEMORY_LOOK: Duration = Duration::from_millis(500);

/// How a [`Program`] is started.
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
    /// Whether its stdin is a pipe, which [`Program::take_stdin`] returns; otherwise it is `/dev/null`.
    pub with_stdin: bool,
    /// What becomes of its stdout.
    pub stdout: StdoutUse,
    /// The most that it may print.
    pub output: OutputLimits,
    /// The most memory that it and its descendants may use.
    pub memory: ByteSize,
    /// The namespaces in which it runs; without any it has what clitape has.
    pub isolation: Option<&'a Isolation>,
}

/// What becomes of the stdout of a [`Program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdoutUse {
    /// Its last part is kept, with that of stderr.
    LastLines,
    /// All of it is kept too, as far as the limits allow.
    Kept,
    /// The caller reads it, with [`Program::take_stdout`], and holds it to the limits.
    Taken,
}

/// A running program. Dropping this ends it and its descendants.
pub struct Program {
    running: Running,
    stdin: Option<StdinPipe>,
    exit: Option<Exit>,
    printed: Arc<Mutex<Printed>>,
    memory: ByteSize,
    /// When the memory was looked at, and whether it was too much.
    memory_seen: (Instant, bool),
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("exit", &self.exit).finish_non_exhaustive()
    }
}

/// Takes each piece of what a program prints, as soon as it is read.
type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// What a program has printed.
#[derive(Default)]
struct Printed {
    /// Where each piece goes too.
    sink: Option<Sink>,
    /// The end of stdout and stderr, in the order in which it was read.
    end: Vec<u8>,
    /// All of stdout, where that is wanted.
    stdout: Option<Vec<u8>>,
    /// The streams that are open.
    open: usize,
    overflow: Option<Overflow>,
}

impl Printed {
    fn take(&mut self, bytes: &[u8], is_stdout: bool) {
        if let Some(sink) = &mut self.sink {
            sink(bytes);
        }
        self.end.extend(bytes);
        let beyond = self.end.len().saturating_sub(KEPT);
        self.end.drain(..beyond);
        if let Some(all) = self.stdout.as_mut().filter(|_| is_stdout) {
            all.extend(bytes);
        }
    }
}

impl Program {
    /// Starts a program.
    ///
    /// # Errors
    ///
    /// When it can't be started; the message names it. [`NoIsolation`] when the system does not let it have its
    /// namespaces.
    pub fn start(start: ProgramStart<'_>) -> io::Result<Self> {
        let Some((program, args)) = start.command.split_first() else {
            return Err(io::Error::other("the command is empty"));
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
        let mut running = launch(command, start.with_stdin, guard).map_err(|error| {
            if NoIsolation::of(&error).is_some() {
                return error;
            }
            let name = program.to_string_lossy();
            NoMoreThreads::of(&error).map_or_else(
                || io::Error::new(error.kind(), format!("can't start {name}: {error}")),
                io::Error::from,
            )
        })?;
        let stdout = (start.stdout == StdoutUse::Kept).then(Vec::new);
        let is_taken = start.stdout == StdoutUse::Taken;
        let open = if is_taken { 1 } else { 2 };
        let printed = Arc::new(Mutex::new(Printed { stdout, open, ..Printed::default() }));
        if let Some(pipe) = running.stdout.take_if(|_| !is_taken) {
            read(pipe, true, start.output, printed.clone())?;
        }
        if let Some(pipe) = running.stderr.take() {
            read(pipe, false, start.output, printed.clone())?;
        }
        let memory_seen = (Instant::now(), false);
        let stdin = running.stdin.take().map(StdinPipe::new).transpose()?;
        Ok(Self { running, stdin, exit: None, printed, memory: start.memory, memory_seen })
    }

    /// Returns the pipe to its stdin, once.
    pub fn take_stdin(&mut self) -> Option<StdinPipe> {
        self.stdin.take()
    }

    /// Returns the sockets of its own network, once.
    pub fn take_sockets(&mut self) -> NetworkSockets {
        std::mem::take(&mut self.running.sockets)
    }

    /// Returns the pipe of its stdout, once, if it is [`StdoutUse::Taken`].
    pub fn take_stdout(&mut self) -> Option<impl Read + Send + 'static> {
        self.running.stdout.take()
    }

    /// Returns how the program ended, or `None` while it runs; looks at its memory now and then.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn poll(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            self.exit = self.running.poll()?;
            let (at, is_too_much) = self.memory_seen;
            if !is_too_much && at.elapsed() > MEMORY_LOOK {
                self.memory_seen = (Instant::now(), self.running.memory() > self.memory.get());
            }
        }
        Ok(self.exit)
    }

    /// Returns whether a text is in the last part of what it printed.
    pub fn has_printed(&self, text: &str) -> bool {
        let printed = self.printed();
        printed.end.windows(text.len().max(1)).any(|part| part == text.as_bytes())
    }

    /// Returns the limit that it reached, and the option that raises it.
    pub fn overflow(&self) -> Option<String> {
        let memory = || {
            let most = self.memory;
            format!("more than {most} of memory; raise the limit with `--max-memory`")
        };
        let printed = self.printed().overflow.map(Overflow::with_option);
        printed.or_else(|| self.memory_seen.1.then(memory))
    }

    /// Returns the last lines that it printed, at most `lines`, blank ones left out.
    pub fn last_lines(&self, lines: usize) -> Vec<String> {
        let printed = self.printed();
        let text = String::from_utf8_lossy(&printed.end);
        let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
    }

    /// Gives all that is printed to `sink` too, from its beginning if this is called at once. What a caller reads with
    /// [`Self::take_stdout`] is not among it.
    pub fn copy_to(&self, mut sink: impl FnMut(&[u8]) + Send + 'static) {
        let mut printed = self.printed();
        sink(&printed.end);
        printed.sink = Some(Box::new(sink));
    }

    /// Returns the work of the program and its descendants; `None` where the system does not say.
    pub fn work(&self) -> Option<Work> {
        self.running.work()
    }

    /// Waits until the program has ended and its output was read, at most `limit`, and until it has reached a limit of
    /// its own or `stop` is set. Returns how it ended.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn wait(&mut self, limit: Duration, stop: &AtomicBool) -> io::Result<Option<Exit>> {
        let begin = Instant::now();
        loop {
            let exit = self.poll()?;
            let is_over = exit.is_some() && self.printed().open == 0;
            let is_stopped = stop.load(Ordering::Relaxed);
            if is_over || is_stopped || begin.elapsed() > limit || self.overflow().is_some() {
                return Ok(exit);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Asks the program and its group to end with SIGTERM and waits, at most `limit` or until `stop` is set. Returns
    /// how it ended; one that has not ended is killed when this is dropped.
    ///
    /// # Errors
    ///
    /// When its supervisor was ended.
    pub fn ask_to_end(&mut self, limit: Duration, stop: &AtomicBool) -> io::Result<Option<Exit>> {
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

    /// Takes the bytes of stdout that were read so far; none unless all of it is kept.
    pub fn take_printed(&mut self) -> Vec<u8> {
        self.printed().stdout.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn printed(&self) -> MutexGuard<'_, Printed> {
        // A thread that reads does not panic.
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a stream to its end, or to a limit, on a thread of its own.
fn read(
    mut pipe: impl Read + Send + 'static,
    is_stdout: bool,
    limits: OutputLimits,
    printed: Arc<Mutex<Printed>>,
) -> Result<(), NoMoreThreads> {
    let read = move || {
        let mut meter = Meter::new(limits);
        let mut buffer = vec![0; 64 * 1024];
        let lock = || printed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match pipe.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    let mut printed = lock();
                    if let Err(what) = meter.take(&buffer[..n]) {
                        printed.overflow.get_or_insert(what);
                        break;
                    }
                    printed.take(&buffer[..n], is_stdout);
                }
            }
        }
        lock().open -= 1;
    };
    threads::start("output", read).map(drop)
}

#[cfg(test)]
mod tests {
    use clitape_gateway::ByteSize;

    use super::*;
    use crate::host::HostPaths;

    /// A shell that runs `script`.
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
            stdout: StdoutUse::Kept,
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
        assert!(program.take_printed().starts_with(b"one\n/"));
        assert_eq!(program.overflow(), None);
    }

    #[test]
    fn stdin_is_a_pipe_where_that_is_wanted() {
        let (_scratch, mut program) = shell("cat", true);
        let stdin = program.take_stdin().unwrap();
        stdin.write("hello\n").unwrap();
        drop(stdin);
        assert_eq!(program.wait(LONG, &GO_ON).unwrap(), Some(Exit::Code(0)));
        assert_eq!(program.take_printed(), b"hello\n");
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
            program.overflow().unwrap(),
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
            stdout: StdoutUse::LastLines,
            output: OutputLimits::COMPARED,
            memory: ByteSize::mib(256),
            isolation: None,
        };
        let error = Program::start(start).unwrap_err().to_string();
        assert!(error.starts_with("can't start /nowhere/at-all: "), "{error}");
    }
}
