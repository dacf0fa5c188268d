//! Runs the CLI with its host: writes the lines that are due to its stdin, sends it the signal of the scenario at the
//! time that follows from its output, and keeps its output with the time of every read.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use clitape_process::{
    Attendant, Ending, Guard, Output, OutputPiece, OutputReader, ProcessError, Program, StdinPipe,
};
use clitape_recording::cassette::{Confinement, Exit, TickKind};
use clitape_recording::limits::OutputLimits;
use clitape_recording::scenario::{SignalName, SignalPlan, Trigger};
use clitape_stream::{Event, Parser};
use nix::sys::signal::Signal;

use super::error::HostError;
use super::host::{Host, HostScript};

/// The reason why a run has to end early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// This request of the CLI has no scripted answer.
    Unscripted(String),
    /// The scripted model panicked, so that an answer may never come.
    ModelPanicked,
    /// A line for its stdin can't be made.
    Host(HostError),
}

/// The input, signal and limits of a CLI.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AttendedScript<'a> {
    /// The lines for its stdin; without them, stdin is `/dev/null`.
    pub(crate) host: Option<&'a HostScript>,
    /// A signal that only the program gets, not its process group.
    pub(crate) signal: Option<&'a SignalPlan>,
    /// The limits of its output.
    pub(crate) output: OutputLimits,
    /// The longest time.
    pub(crate) time: Duration,
    /// The settings that end and confine it.
    pub(crate) guard: Guard<'a>,
}

/// A run that has ended.
pub(crate) struct AttendedRun {
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
    pub(crate) why: Ending<Alarm>,
    /// The way in which the program was confined.
    pub(crate) confined: Option<Confinement>,
}

/// Runs a `command` that [`clitape_process::command`] returned, until it ends, reaches a limit, `alarms` has one, or
/// `stop` is set.
///
/// No descendant of the program outlives this call. Without a supervisor, only its process group is ended.
pub(crate) fn run_attended(
    command: Command,
    script: AttendedScript<'_>,
    alarms: &Receiver<Alarm>,
    stop: &AtomicBool,
) -> Result<AttendedRun, ProcessError> {
    let AttendedScript { host, signal, output, time, guard } = script;
    let reader = OutputReader::Attendant;
    let mut program = Program::launch(command, host.is_some(), reader, output, guard)?;
    let begin = Instant::now();
    let mut attendant = HostAttendant {
        begin,
        host: host.map(|script| Host::new(script, begin)),
        pipe: program.take_stdin(),
        lines: 0,
        fuse: Fuse::new(signal),
        alarms,
        output: Output::default(),
        stdin: Vec::new(),
        events: Vec::new(),
    };
    let (exit, why) = program.attend_to_end(&mut attendant, time, stop)?;
    let HostAttendant { host, output, stdin, mut events, .. } = attendant;
    events.sort_by_key(|(at, _)| *at);
    Ok(AttendedRun {
        stdout: output.stdout,
        stderr: output.stderr,
        stdin,
        unfired: host.as_ref().and_then(Host::unfired),
        unanswered: host.as_ref().and_then(Host::unanswered),
        events,
        exit,
        why,
        confined: program.confined(),
    })
}

/// Converts the name of a signal.
fn signal_number(name: SignalName) -> Signal {
    match name {
        SignalName::Int => Signal::SIGINT,
        SignalName::Term => Signal::SIGTERM,
        SignalName::Kill => Signal::SIGKILL,
    }
}

/// The host and the signal of a run, with the output and the events so far.
struct HostAttendant<'a> {
    begin: Instant,
    host: Option<Host<'a>>,
    pipe: Option<StdinPipe>,
    /// The number of lines written to stdin.
    lines: u64,
    fuse: Fuse<'a>,
    alarms: &'a Receiver<Alarm>,
    output: Output,
    stdin: Vec<u8>,
    events: Vec<(u64, TickKind)>,
}

impl Attendant for HostAttendant<'_> {
    type Reason = Alarm;

    fn take(&mut self, piece: OutputPiece) -> Result<(), Ending<Alarm>> {
        self.output.add(&piece, 0).map_err(Ending::Overflow)?;
        let OutputPiece { at, is_stdout, bytes } = piece;
        let length = bytes.len() as u64;
        self.tick(at, if is_stdout { TickKind::Out(length) } else { TickKind::Err(length) });
        if is_stdout {
            self.fuse.feed(at, &bytes);
            if let Some(host) = &mut self.host {
                host.feed(at, &bytes).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, program: &mut Program) -> Result<(), Ending<Alarm>> {
        if let Ok(alarm) = self.alarms.try_recv() {
            return Err(Ending::Reason(alarm));
        }
        self.write()?;
        let now = Instant::now();
        if !program.has_ended()
            && let Some(name) = self.fuse.due(now)
        {
            self.tick(now, TickKind::Marker(name.as_str().to_owned()));
            program.signal_program(signal_number(name));
        }
        Ok(())
    }

    fn learn_exit(&mut self, exit: Exit) {
        self.tick(Instant::now(), TickKind::Exit(exit));
    }
}

/// The ending of a run whose host can't go on.
fn failed(error: HostError) -> Ending<Alarm> {
    Ending::Reason(Alarm::Host(error))
}

impl HostAttendant<'_> {
    fn tick(&mut self, at: Instant, kind: TickKind) {
        let ms = at.saturating_duration_since(self.begin).as_millis();
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        self.events.push((ms, kind));
    }

    /// Writes the lines of stdin that are due, and closes stdin after the last one.
    fn write(&mut self) -> Result<(), Ending<Alarm>> {
        let mut now = Instant::now();
        while let Some(host) = &mut self.host {
            let Some(line) = host.next_due(now).map_err(failed)? else {
                if host.is_over(Instant::now()) {
                    self.pipe = None;
                }
                break;
            };
            let text = [line.text.as_bytes(), b"\n"].concat();
            self.stdin.extend(&text);
            if let Some(pipe) = &self.pipe {
                // An error means that the CLI no longer reads; the effect of that is in its output.
                let _ = pipe.write(text);
            }
            self.lines += 1;
            self.tick(now, TickKind::In { line: self.lines, offset: Some(line.offset) });
            now = Instant::now();
        }
        Ok(())
    }
}

/// The signal of a run, until it is sent.
struct Fuse<'a> {
    plan: Option<&'a SignalPlan>,
    parser: Parser,
    /// The number of calls that have started.
    calls: u64,
    /// The text of each thread so far.
    texts: HashMap<Option<String>, String>,
    /// The time when the trigger was read.
    lit: Option<Instant>,
}

impl<'a> Fuse<'a> {
    pub(crate) fn new(plan: Option<&'a SignalPlan>) -> Self {
        Self { plan, parser: Parser::new(), calls: 0, texts: HashMap::new(), lit: None }
    }

    /// Reads the bytes of stdout that came at `at`.
    pub(crate) fn feed(&mut self, at: Instant, bytes: &[u8]) {
        let Some(plan) = self.plan.filter(|_| self.lit.is_none()) else { return };
        let Self { parser, calls, texts, lit, .. } = self;
        parser.feed_with(bytes, &mut |event| {
            let is_it = match (&plan.when, &event) {
                (Trigger::Tool(name), Event::ToolStart { name: started, .. }) => started == name,
                (Trigger::Calls(least), Event::ToolStart { .. }) => {
                    *calls += 1;
                    *calls >= *least
                }
                (Trigger::Text(part), Event::Text { delta, parent, .. }) => {
                    let text = texts.entry(parent.as_deref().map(str::to_owned)).or_default();
                    text.push_str(delta);
                    text.contains(part.as_str())
                }
                _ => false,
            };
            if is_it {
                lit.get_or_insert(at);
            }
        });
    }

    /// Returns the signal once, when it is due.
    fn due(&mut self, now: Instant) -> Option<SignalName> {
        let (plan, lit) = (self.plan?, self.lit?);
        if now < lit + Duration::from_millis(plan.delay_ms) {
            return None;
        }
        self.plan = None;
        Some(plan.send)
    }
}

#[cfg(test)]
mod tests;
