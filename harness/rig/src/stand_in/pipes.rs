//! Stdin, stderr and the signals of the process, each as events of one queue.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::threads::{NoMoreThreads, start};
use nix::sys::signal::{SigSet, Signal, raise};

use super::mcp::Answered;
use crate::kept::{Full, Held, KeptBytes};

/// How long a signal waits for the process to take notice, which it does not while nobody reads its stdout.
const SIGNAL_GRACE: Duration = Duration::from_millis(300);

/// Something that happened to the process.
#[derive(Debug)]
pub(super) enum ProcessEvent {
    /// The host wrote a line, which counts as kept until it is dropped.
    Line(Vec<u8>, Held),
    /// The host wrote more than it may, in words; no more is read.
    TooMuch(String),
    /// A permission can't be asked for, in words.
    NoAnswer(String),
    /// Stdin is at its end.
    Close,
    /// The process got a signal that ends it.
    Signal(Signal),
}

/// The events of the process; stdin is read from [`EventQueue::read_stdin`] on.
#[derive(Debug)]
pub(super) struct EventQueue {
    sender: Sender<ProcessEvent>,
    pub(super) events: Receiver<ProcessEvent>,
}

/// The bytes that a line takes on its way, whatever is in it.
const LINE: usize = 256;
/// The signals that a host sends to end the CLI.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

impl EventQueue {
    /// Begins to wait for signals. To be called before the process has other threads.
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
                // Each of them ends the process at once, as it does a process that waits for none.
                let _ = ending.thread_unblock();
            }
        }
        queue
    }

    /// Returns what hands an answer to the queue as a line of the host, which counts for the account.
    pub(super) fn answers(&self, kept: &Arc<KeptBytes>) -> impl FnMut(Answered) + Send + 'static {
        let (sender, kept) = (self.sender.clone(), kept.clone());
        move |answered| {
            let mut held = Held::of(&kept);
            let event = match answered {
                Ok(line) => match held.try_keep(LINE + line.len()) {
                    Ok(()) => ProcessEvent::Line(line, held),
                    Err(full) => ProcessEvent::TooMuch(too_much(full)),
                },
                Err(why) => ProcessEvent::NoAnswer(why),
            };
            // The receiver is gone when the process ends.
            let _ = sender.send(event);
        }
    }

    /// Begins to read stdin: lines of at most `most` bytes, which count for the account.
    pub(super) fn read_stdin(
        &self,
        most: ByteSize,
        kept: &Arc<KeptBytes>,
    ) -> Result<(), NoMoreThreads> {
        let (reader, kept) = (StdinReader { sender: self.sender.clone() }, kept.clone());
        start("stdin", move || reader.read(most, &kept)).map(drop)
    }
}

/// The thread that reads stdin. Its end is the end of stdin for the process, whatever ends it.
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
            let event = match held.try_keep(LINE + line.len()) {
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
        // The receiver is gone when the process ends.
        let _ = self.sender.send(ProcessEvent::Close);
    }
}

/// Says that the lines of the host take too much memory.
pub(super) fn too_much(Full { limit }: Full) -> String {
    format!(
        "the host wrote lines that take more than {limit} of memory; raise the limit with CLITAPE_MAX_KEPT"
    )
}

/// The exit code of the CLI after a signal.
pub(super) fn exit_code(signal: Signal) -> i32 {
    match signal {
        // An interrupted CLI ends its turn and exits with 0.
        Signal::SIGINT => 0,
        other => 128 + other as i32,
    }
}

/// Ends the process by a signal, as the recorded CLI was ended.
pub(super) fn end_by(signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        let mut all = SigSet::empty();
        all.add(signal);
        if all.thread_unblock().is_ok() {
            // What can't be raised becomes an exit code.
            let _ = raise(signal);
        }
    }
}

/// Prints a sentence of the stand-in's own on stderr.
pub(super) fn tell(sentence: &str) {
    // A host that closed stderr gets the exit code and the log.
    let _ = writeln!(io::stderr(), "clitape stand-in: {sentence}");
}
