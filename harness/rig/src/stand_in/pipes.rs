//! Stdin, stderr and the signals of the process, each as events of one queue.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, raise};

/// How long a signal waits for the process to take notice, which it does not while nobody reads its stdout.
const SIGNAL_GRACE: Duration = Duration::from_millis(300);

/// Something that happened to the process.
#[derive(Debug)]
pub(super) enum Event {
    /// The host wrote a line.
    Line(Vec<u8>),
    /// Stdin is at its end.
    Close,
    /// The process got a signal that ends it.
    Signal(Signal),
}

/// The events of the process; stdin is read from [`EventQueue::read_stdin`] on.
#[derive(Debug)]
pub(super) struct EventQueue {
    sender: Sender<Event>,
    pub(super) events: Receiver<Event>,
}

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
            thread::spawn(move || {
                while let Ok(signal) = ending.wait() {
                    let is_heard = sender.send(Event::Signal(signal)).is_ok();
                    if is_heard && signal == Signal::SIGINT {
                        continue;
                    }
                    thread::sleep(SIGNAL_GRACE);
                    std::process::exit(exit_code(signal));
                }
            });
        }
        queue
    }

    /// Begins to read stdin.
    pub(super) fn read_stdin(&self) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                match stdin.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) if sender.send(Event::Line(line)).is_err() => return,
                    Ok(_) => {}
                }
            }
            // The receiver is gone when the process ends.
            let _ = sender.send(Event::Close);
        });
    }
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
