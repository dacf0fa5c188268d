//! Runs a program in its own process group and keeps its output with the time of every read.
//!
//! The CLI loses the end of its output when the reader of its stdout is slow. So a thread does nothing but
//! read stdout into memory.

use std::io::{self, Read};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use clitape_recording::cassette::{Confinement, Exit, TickKind};
use clitape_recording::limits::OutputLimits;
use clitape_recording::scenario::{SignalName, SignalPlan};
use nix::sys::signal::Signal;

use super::error::HostError;
use super::host::{Host, HostScript};
use super::launch::{Guard, launch};
use super::meter::{Meter, Overflow};
use super::stdin_pipe::StdinPipe;
use super::trigger::Fuse;
use crate::kept::{Full, Held, KeptBytes};
use crate::threads::{NoMoreThreads, in_words, start};

/// A message to the thread that watches a run.
pub(crate) enum Note {
    /// Bytes of stdout, and when they were read.
    Out(Instant, Vec<u8>),
    /// Bytes of stderr.
    Err(Instant, Vec<u8>),
    /// Stdout or stderr was closed.
    Closed,
    /// The run has to end for this reason.
    Alarm(Alarm),
    /// The program printed more than its limit.
    Overflow(Overflow),
}

/// The two ends of the channel for [`Note`]s.
pub(crate) struct Notes {
    pub(crate) sender: Sender<Note>,
    receiver: Receiver<Note>,
}

impl Notes {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }
}

/// The reason why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The program ended by itself.
    Itself,
    /// It reached its time limit.
    Limit,
    /// The caller stopped it.
    Stopped,
    /// It can't go on.
    Alarm(Alarm),
    /// It reached a limit of its output.
    Overflow(Overflow),
}

/// Why a run can't go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// This request of the CLI has no scripted answer.
    Unscripted(String),
    /// The scripted model panicked, so that an answer may never come.
    ModelPanicked,
    /// A line for its stdin can't be made.
    Host(HostError),
}

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The lines written to stdin, each with its LF.
    pub(crate) stdin: Vec<u8>,
    /// The first step of the host that has not fired, and what it waits for.
    pub(crate) unfired: Option<String>,
    /// The first permission question that has no answer.
    pub(crate) unanswered: Option<String>,
    /// The events with their milliseconds after the start, in order.
    pub(crate) events: Vec<(u64, TickKind)>,
    pub(crate) exit: Exit,
    pub(crate) why: Why,
    /// The way in which the program was confined.
    pub(crate) confined: Option<Confinement>,
    /// The part of an account in which the output is counted.
    pub(crate) held: Option<Held>,
}

/// How long a program may take to end after it was asked to, or to close its pipes after it ended.
const GRACE: Duration = Duration::from_secs(2);
/// The same once the caller has asked to stop, because a person waits for the command to end.
const STOP_GRACE: Duration = Duration::from_millis(500);
/// The interval at which the watching thread checks whether the program has ended or has to be stopped.
const LOOK: Duration = Duration::from_millis(10);

/// The input, signal and limits of a program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Script<'a> {
    /// What is written to its stdin; without it, stdin is `/dev/null`.
    pub(crate) host: Option<&'a HostScript>,
    /// A signal that only the program gets, not its process group.
    pub(crate) signal: Option<&'a SignalPlan>,
    /// The most that it may print.
    pub(crate) output: OutputLimits,
    /// The account in which its output is counted until [`Ended::held`] is dropped.
    pub(crate) kept: Option<&'a Arc<KeptBytes>>,
    /// The settings that end and confine it.
    pub(crate) guard: Guard<'a>,
}

/// Runs a `command` that [`super::launch::command`] returned, until it ends, `limit` has passed, or `stop`
/// is set.
///
/// No descendant of the program outlives this call. Without a supervisor, only its process group is ended.
pub(crate) fn drive(
    command: Command,
    script: Script<'_>,
    limit: Duration,
    stop: &AtomicBool,
    notes: &Notes,
) -> io::Result<Ended> {
    let mut child = launch(command, script.host.is_some(), script.guard).map_err(in_words)?;
    let begin = Instant::now();
    if let Some(pipe) = child.stdout.take() {
        drain(pipe, Meter::new(script.output), notes.sender.clone(), Note::Out)?;
    }
    if let Some(pipe) = child.stderr.take() {
        drain(pipe, Meter::new(script.output), notes.sender.clone(), Note::Err)?;
    }
    let mut watch = RunWatcher {
        begin,
        host: script.host.map(|script| Host::new(script, begin)),
        pipe: child.stdin.take().map(StdinPipe::new).transpose()?,
        lines: 0,
        fuse: Fuse::new(script.signal),
        open: 2,
        ended: Ended {
            stdout: Vec::new(),
            stderr: Vec::new(),
            stdin: Vec::new(),
            unfired: None,
            unanswered: None,
            events: Vec::new(),
            exit: Exit::Code(0),
            why: Why::Itself,
            confined: child.confined,
            held: script.kept.map(Held::of),
        },
    };
    let mut over: Option<Instant> = None;
    let mut asked_to_end: Option<Instant> = None;
    loop {
        if let Ok(note) = notes.receiver.recv_timeout(LOOK) {
            watch.take(note);
        }
        watch.feed();
        if over.is_none()
            && let Some(name) = watch.signal()
        {
            child.signal_program(number(name));
        }
        if over.is_none()
            && let Some(exit) = child.poll()?
        {
            over = Some(Instant::now());
            watch.exit(exit);
        }
        let grace = if stop.load(Ordering::Relaxed) { STOP_GRACE } else { GRACE };
        match over {
            Some(_) if watch.open == 0 => break,
            Some(when) if when.elapsed() > grace => break,
            Some(_) => {}
            None => {
                watch.judge(limit, stop);
                match asked_to_end {
                    None if watch.ended.why != Why::Itself => {
                        asked_to_end = Some(Instant::now());
                        child.signal(Signal::SIGTERM);
                    }
                    Some(when) if when.elapsed() > grace => child.signal(Signal::SIGKILL),
                    _ => {}
                }
            }
        }
    }
    let host = watch.host.take();
    let mut ended = watch.ended;
    ended.unfired = host.as_ref().and_then(Host::unfired);
    ended.unanswered = host.as_ref().and_then(Host::unanswered);
    ended.events.sort_by_key(|(at, _)| *at);
    Ok(ended)
}

/// Converts the name of a signal.
fn number(name: SignalName) -> Signal {
    match name {
        SignalName::Int => Signal::SIGINT,
        SignalName::Term => Signal::SIGTERM,
        SignalName::Kill => Signal::SIGKILL,
    }
}

/// The state of a run that is watched.
struct RunWatcher<'a> {
    begin: Instant,
    host: Option<Host<'a>>,
    pipe: Option<StdinPipe>,
    /// The number of lines written to stdin.
    lines: u64,
    fuse: Fuse<'a>,
    /// The number of open streams: stdout and stderr.
    open: usize,
    ended: Ended,
}

impl RunWatcher<'_> {
    fn take(&mut self, note: Note) {
        match note {
            Note::Out(_, bytes) | Note::Err(_, bytes) if !self.keep(bytes.len()) => {}
            Note::Out(at, bytes) => {
                self.tick(at, TickKind::Out(bytes.len() as u64));
                self.fuse.feed(at, &bytes);
                if let Some(Err(error)) = self.host.as_mut().map(|host| host.feed(at, &bytes)) {
                    self.fail(error);
                }
                self.ended.stdout.extend(bytes);
            }
            Note::Err(at, bytes) => {
                self.tick(at, TickKind::Err(bytes.len() as u64));
                self.ended.stderr.extend(bytes);
            }
            Note::Closed => self.open -= 1,
            Note::Alarm(what) => self.ended.why = Why::Alarm(what),
            Note::Overflow(what) => self.overflow(what),
        }
    }

    /// Counts a read, and returns false if there is no room for it.
    fn keep(&mut self, bytes: usize) -> bool {
        let Some(held) = &mut self.ended.held else { return true };
        let kept = held.try_keep(size_of::<(u64, TickKind)>() + bytes);
        if let Err(Full { limit }) = kept {
            self.overflow(Overflow::Kept(limit));
        }
        kept.is_ok()
    }

    /// Ends the run at the first limit of its output.
    fn overflow(&mut self, what: Overflow) {
        if !matches!(self.ended.why, Why::Overflow(_)) {
            self.ended.why = Why::Overflow(what);
        }
    }

    fn tick(&mut self, at: Instant, kind: TickKind) {
        let ms = at.saturating_duration_since(self.begin).as_millis();
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        self.ended.events.push((ms, kind));
    }

    /// Writes the lines of stdin that are due, and closes it when everything is said.
    fn feed(&mut self) {
        let Some(host) = &mut self.host else { return };
        let mut events = Vec::new();
        let error = loop {
            let now = Instant::now();
            match host.next_due(now) {
                Ok(None) => break None,
                Err(error) => break Some(error),
                Ok(Some(line)) => {
                    let text = [line.text.as_bytes(), b"\n"].concat();
                    self.ended.stdin.extend(&text);
                    if let Some(pipe) = &self.pipe {
                        // What a CLI does that no longer reads is in its output.
                        let _ = pipe.write(text);
                    }
                    self.lines += 1;
                    events
                        .push((now, TickKind::In { line: self.lines, offset: Some(line.offset) }));
                }
            }
        };
        if host.is_over(Instant::now()) {
            self.pipe = None;
        }
        for (at, kind) in events {
            self.tick(at, kind);
        }
        if let Some(error) = error {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: HostError) {
        if self.ended.why == Why::Itself {
            self.ended.why = Why::Alarm(Alarm::Host(error));
        }
    }

    /// Returns the signal that is due, and adds a marker with its name to the timeline.
    fn signal(&mut self) -> Option<SignalName> {
        let now = Instant::now();
        let name = self.fuse.due(now)?;
        self.tick(now, TickKind::Marker(name.as_str().to_owned()));
        Some(name)
    }

    fn exit(&mut self, exit: Exit) {
        self.ended.exit = exit;
        self.tick(Instant::now(), TickKind::Exit(self.ended.exit));
    }

    fn judge(&mut self, limit: Duration, stop: &AtomicBool) {
        if self.ended.why == Why::Itself {
            if stop.load(Ordering::Relaxed) {
                self.ended.why = Why::Stopped;
            } else if self.begin.elapsed() >= limit {
                self.ended.why = Why::Limit;
            }
        }
    }
}

/// Reads a stream to its end on a thread of its own.
fn drain(
    mut pipe: impl Read + Send + 'static,
    mut meter: Meter,
    sender: Sender<Note>,
    note: fn(Instant, Vec<u8>) -> Note,
) -> Result<(), NoMoreThreads> {
    let read = move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    if let Err(what) = meter.take(&buffer[..n]) {
                        // The receiver is dropped only once the run is over; it ends the program.
                        let _ = sender.send(Note::Overflow(what));
                        break;
                    }
                    // The receiver is dropped only once the run is over; later output is not kept.
                    let _ = sender.send(note(Instant::now(), buffer[..n].to_vec()));
                }
            }
        }
        // The receiver is dropped only once the run is over.
        let _ = sender.send(Note::Closed);
    };
    start("output", read).map(drop)
}

#[cfg(test)]
mod tests;
