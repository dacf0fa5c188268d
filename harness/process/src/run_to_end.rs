//! Runs a program to its end and returns what it printed.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_recording::cassette::Exit;
use clitape_recording::limits::OutputLimits;

use super::error::ProcessError;
use super::launch::Guard;
use super::meter::Overflow;
use super::program::{Attendant, Ending, OutputPiece, OutputReader, Program};
use crate::kept::{Full, Held, KeptBytes};

/// The limits of a program that is run to its end.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits<'a> {
    /// The most that it may print.
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
    /// Makes an empty one whose bytes are counted in an account.
    pub fn counted_in(account: Option<&Arc<KeptBytes>>) -> Self {
        Self { held: account.map(Held::of), ..Self::default() }
    }

    /// Adds a piece, and counts it with `more` bytes that are kept beside it.
    ///
    /// # Errors
    ///
    /// [`Overflow::Kept`] if the account has no room for it; it is not added then.
    pub fn add(&mut self, piece: &OutputPiece, more: usize) -> Result<(), Overflow> {
        if let Some(held) = &mut self.held {
            let kept = held.try_keep(piece.bytes.len() + more);
            kept.map_err(|Full { limit }| Overflow::Kept(limit))?;
        }
        if piece.is_stdout { &mut self.stdout } else { &mut self.stderr }.extend(&piece.bytes);
        Ok(())
    }
}

/// Takes all that a program prints.
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
    /// How it ended.
    pub exit: Exit,
    /// Why it ended.
    pub why: Why,
}

/// Why a program ended that nothing attended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It ended by itself.
    Itself,
    /// It reached its time limit.
    Limit,
    /// It reached another limit.
    Overflow(Overflow),
}

/// Runs a command that [`super::launch::command`] returned, until it ends or reaches a limit, or until `stop` is set.
///
/// No descendant of the program outlives this call. Without a supervisor, only its process group is ended.
///
/// # Errors
///
/// [`ProcessError::Stopped`]; when it can't be started, confined or isolated.
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
    /// Whether it ended by itself and without an error.
    pub fn is_success(&self) -> bool {
        self.why == Why::Itself && self.exit == Exit::Code(0)
    }

    /// Its stdout as text, without blanks around it.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).trim().to_owned()
    }

    /// Its stderr as text, without blanks around it.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).trim().to_owned()
    }
}
