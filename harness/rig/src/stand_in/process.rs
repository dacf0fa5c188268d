//! The process of the stand-in: stdin and the signals as events of one queue, and its end with an exit code.
//!
//! The errors are those that keep it from playing a cassette.

use std::io::{self, BufRead as _, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::threads::{NoMoreThreads, start};
use clitape_recording::cassette::{CassetteError, Exit};
use clitape_recording::files::FileError;
use clitape_recording::names::NameError;
use clitape_runner::replay::PlanError;
use nix::sys::signal::{SigSet, Signal, raise};

use super::log::{Log, tell};
use super::mcp::Answered;
use crate::limits::{Full, Held, KeptBytes};

/// The time that a signal gives the process to handle it; the process can't while it is blocked on a stdout that the
/// host does not read.
const SIGNAL_GRACE: Duration = Duration::from_millis(300);

/// Something that happened to the process.
#[derive(Debug)]
pub(super) enum ProcessEvent {
    /// A line of the host, with its part of the account.
    Line(Vec<u8>, Held),
    /// An excess of input: the host reached a limit, described in words, and is not read any further.
    TooMuch(String),
    /// A failure of the permission tool, in words.
    NoAnswer(String),
    /// The end of stdin.
    Close,
    /// A signal that ends the process.
    Signal(Signal),
}

/// The events of the process. Those of stdin begin with [`EventQueue::read_stdin`].
#[derive(Debug)]
pub(super) struct EventQueue {
    sender: Sender<ProcessEvent>,
    pub(super) events: Receiver<ProcessEvent>,
}

/// The bytes that a line counts for, beside its contents.
const LINE_BYTES: usize = 256;
/// The signals with which a host ends the CLI.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

impl EventQueue {
    /// Starts to wait for signals. Must be called before the process starts other threads, because a thread inherits
    /// the set of blocked signals.
    pub(super) fn new() -> Self {
        let (sender, events) = channel();
        let mut ending = SigSet::empty();
        for signal in ENDING {
            ending.add(signal);
        }
        let queue = Self { sender, events };
        if ending.thread_block().is_ok() {
            let sender = queue.sender.clone();
            let wait = move || {
                while let Ok(signal) = ending.wait() {
                    let is_heard = sender.send(ProcessEvent::Signal(signal)).is_ok();
                    if is_heard && signal == Signal::SIGINT {
                        continue;
                    }
                    thread::sleep(SIGNAL_GRACE);
                    std::process::exit(exit_code(signal));
                }
            };
            if start("signals", wait).is_err() {
                // Without that thread, a signal ends the process at once, as it ends a process without a handler.
                let _ = ending.thread_unblock();
            }
        }
        queue
    }

    /// Returns a function that puts an answer into the queue as a line of the host, counted in the account.
    pub(super) fn answers(&self, kept: &Arc<KeptBytes>) -> impl FnMut(Answered) + Send + 'static {
        let (sender, kept) = (self.sender.clone(), kept.clone());
        move |answered| {
            let mut held = Held::of(&kept);
            let event = match answered {
                Ok(line) => match held.try_keep(LINE_BYTES + line.len()) {
                    Ok(()) => ProcessEvent::Line(line, held),
                    Err(full) => ProcessEvent::TooMuch(too_much(full)),
                },
                Err(why) => ProcessEvent::NoAnswer(why),
            };
            // Fails only when the process is ending.
            let _ = sender.send(event);
        }
    }

    /// Starts to read lines of at most `most` bytes from stdin, counted in the account.
    pub(super) fn read_stdin(
        &self,
        most: ByteSize,
        kept: &Arc<KeptBytes>,
    ) -> Result<(), NoMoreThreads> {
        let (reader, kept) = (StdinReader { sender: self.sender.clone() }, kept.clone());
        start("stdin", move || reader.read(most, &kept)).map(drop)
    }
}

/// The thread that reads stdin. Dropping it reports the end of stdin, whatever ended the thread.
struct StdinReader {
    sender: Sender<ProcessEvent>,
}

impl StdinReader {
    fn read(&self, most: ByteSize, kept: &Arc<KeptBytes>) {
        let mut stdin = io::stdin().lock();
        loop {
            let (mut line, mut held) = (Vec::new(), Held::of(kept));
            match stdin.by_ref().take(most.get() + 1).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let event = match held.try_keep(LINE_BYTES + line.len()) {
                _ if most.is_below(line.len()) => ProcessEvent::TooMuch(format!(
                    "the host wrote a line of more than {most}; raise the limit with CLITAPE_MAX_LINE"
                )),
                Ok(()) => ProcessEvent::Line(line, held),
                Err(full) => ProcessEvent::TooMuch(too_much(full)),
            };
            let is_last = matches!(event, ProcessEvent::TooMuch(_));
            if self.sender.send(event).is_err() || is_last {
                return;
            }
        }
    }
}

impl Drop for StdinReader {
    fn drop(&mut self) {
        // Fails only when the process is ending.
        let _ = self.sender.send(ProcessEvent::Close);
    }
}

/// Returns the sentence about lines of the host that take too much memory.
pub(super) fn too_much(Full { limit }: Full) -> String {
    format!(
        "the host wrote lines that take more than {limit} of memory; raise the limit with CLITAPE_MAX_KEPT"
    )
}

/// Returns the CLI's exit code after a signal.
pub(super) fn exit_code(signal: Signal) -> i32 {
    match signal {
        // The CLI ends its turn at an interrupt, and exits with 0.
        Signal::SIGINT => 0,
        other => 128 + other as i32,
    }
}

/// Ends the process by the signal that ended the recorded CLI.
fn end_by(signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        let mut all = SigSet::empty();
        all.add(signal);
        if all.thread_unblock().is_ok() {
            // A signal that can't be raised becomes an exit code.
            let _ = raise(signal);
        }
    }
}

/// A way in which the process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProcessEnding {
    /// It ends as the recorded CLI did.
    Recorded(Option<Exit>),
    /// It ends with this code, for a reason that is not in the recording.
    Code(i32),
    /// It can't play, and ends with this exit code and sentence.
    Refused(u8, String),
}

impl From<StandInError> for ProcessEnding {
    fn from(error: StandInError) -> Self {
        Self::Refused(USAGE, error.to_string())
    }
}

impl ProcessEnding {
    /// Writes the ending to the log and to stderr, and returns the exit code. A recorded signal ends the process in
    /// here.
    pub(super) fn tell(&self, log: &mut Log) -> u8 {
        match self {
            Self::Recorded(Some(Exit::Signal(signal))) => {
                log.exit_by_signal(*signal);
                end_by(*signal);
                u8::try_from(128 + signal).unwrap_or(u8::MAX)
            }
            Self::Recorded(Some(Exit::Code(code))) | Self::Code(code) => {
                u8::try_from(*code).unwrap_or(u8::MAX)
            }
            Self::Recorded(None) => 0,
            Self::Refused(code, sentence) => {
                log.refused(sentence);
                tell(sentence);
                *code
            }
        }
    }
}

/// The exit code for wrong usage, and for a start without a cassette to play.
pub const USAGE: u8 = 64;
/// The exit code after a line of the host that the recorded CLI did not get, or after none in time.
pub const WRONG_LINE: u8 = 70;

/// An error that keeps the stand-in from playing a cassette.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandInError {
    /// No folder of cassettes was found from this folder upwards.
    #[error(
        "there is no scenarios/ folder in {0} or above; name the project with CLITAPE_ROOT, or a cassette's folder \
         with CLITAPE_CASSETTE"
    )]
    NoWorkspace(PathBuf),
    /// Neither the environment nor the prompt, whose beginning this is, chooses a cassette.
    #[error(
        "nothing says which cassette to play: the prompt “{0}” has no marker [[clitape:NAME]] and contains the prompt of \
         no recorded scenario; set CLITAPE_CASSETTE, or write a marker"
    )]
    NoCassette(String),
    /// The queue is empty.
    #[error("the queue {0} is empty; write one scenario a line into it, one for each turn")]
    QueueEmpty(PathBuf),
    /// The scenario has no cassette of that version.
    #[error("`{scenario}` has no cassette of {wanted}; {known}")]
    NotRecorded {
        /// The name of the scenario.
        scenario: String,
        /// The wanted version, `CLI 2.1.332` or `any CLI`.
        wanted: String,
        /// The recorded versions, in words.
        known: String,
    },
    /// The cassette was not recorded as this host runs the CLI.
    #[error("`{name}` can't be played to this host: {why}")]
    Unfit {
        /// The scenario and its version.
        name: String,
        /// The reason, and what to do.
        why: String,
    },
    /// `CLITAPE_PLAY` has a value that it does not accept.
    #[error(
        "CLITAPE_PLAY is `{0}`; write recorded, canonical, instant, pace:MS, seed:N or plan:FILE, \
         and `,halves` behind it to cut each line in two"
    )]
    Play(String),
    /// `CLITAPE_AGENT_FAULTS` has a value that it does not accept.
    #[error("CLITAPE_AGENT_FAULTS: {0}")]
    AgentFaults(String),
    /// `CLITAPE_END` has a value that it does not accept.
    #[error(
        "CLITAPE_END has `{0}`; write at:BYTES, code:N, signal:N, stay:MS, eof:MS, or several with commas between \
         them"
    )]
    End(String),
    /// The file of a plan has an error.
    #[error("{path}: {error}")]
    Plan {
        /// The path of the file.
        path: PathBuf,
        /// The error in it.
        error: PlanError,
    },
    /// A name is not valid as a part of a path.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A file can't be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}
