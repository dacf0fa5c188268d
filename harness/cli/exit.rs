//! The exit codes, and the mapping of errors to them.

use std::error::Error;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clitape_gateway::sse::CollectError;
use clitape_process::ProcessError;
use clitape_process::threads::{NoMoreThreads, ThreadDied};
use clitape_recording::cassette::CassetteError;
use clitape_rig::editor::EditorError;
use clitape_rig::subject::SubjectError;
use clitape_runner::compare::CompareError;
use clitape_runner::corpus::CorpusError;
use clitape_runner::record::{AgreedError, RecordError};
use clitape_runner::report::proof::PhotoError;
use clitape_runner::suite::select::SelectError;
use clitape_runner::suite::{Cause, SearchError};

use crate::terminal;

/// The exit code of the command. The numbers are documented and stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Everything passed.
    Ok = 0,
    /// clitape has a bug.
    Bug = 1,
    /// The command line, a scenario or an input file can't be used.
    Usage = 2,
    /// There are findings.
    Findings = 3,
    /// No scenario ran, a recording failed, or nothing was collected.
    Nothing = 4,
    /// A cassette is damaged.
    Damaged = 5,
}

/// The table of exit codes, as `--help` shows it.
pub(crate) const HELP: &str = "\
Exit codes:
  0  everything passed: something ran, and every golden was compared
  1  clitape has a bug
  2  the command line, a scenario or an input can't be used
  3  findings: a golden, an invariant or a plan failed, a collected turn failed, a proof text lacks
     something, two sides differ, a session may not be resumed, or a secret was found
  4  nothing ran, a recording failed, nothing could be collected or compared, or a signal ended it
  5  a cassette is damaged";

/// Runs the command. An error is printed as one sentence, a panic is reported as a bug.
pub(crate) fn as_documented(command: impl FnOnce() -> anyhow::Result<ExitStatus>) -> ExitCode {
    terminal::catch_panics();
    let exit = match panic::catch_unwind(AssertUnwindSafe(command)) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            match lacks_threads(&error) {
                Some(why) if !format!("{error:#}").contains(&why.to_string()) => {
                    terminal::error(format_args!("{error:#}; {why}"));
                }
                _ => terminal::error(format_args!("{error:#}")),
            }
            classify(&error)
        }
        Err(_) => {
            terminal::note("this is a bug of clitape: please report it with the lines above");
            ExitStatus::Bug
        }
    };
    ExitCode::from(exit as u8)
}

/// Returns the error of a program that `cause` is or passes on.
fn process_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e ProcessError> {
    if let Some(RecordError::Process(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(CompareError::Process(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(PhotoError::Process(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(EditorError::Start(error)) = cause.downcast_ref() {
        return Some(error);
    }
    match cause.downcast_ref() {
        Some(SubjectError::Process(error)) => Some(error),
        Some(SubjectError::Compare(error)) => process_error(error),
        _ => cause.downcast_ref(),
    }
}

/// Returns the error of a system that can't start more threads or processes, if `error` comes from it.
fn lacks_threads(error: &anyhow::Error) -> Option<NoMoreThreads> {
    error.chain().find_map(|cause| {
        if let Some(ProcessError::NoMoreThreads(error)) = process_error(cause) {
            return Some(*error);
        }
        let passed_on = match (cause.downcast_ref(), cause.downcast_ref(), cause.downcast_ref()) {
            (Some(SelectError::Threads(error)), _, _)
            | (_, Some(PhotoError::Threads(error)), _)
            | (_, _, Some(SubjectError::Select(SelectError::Threads(error)))) => Some(error),
            _ => cause.downcast_ref(),
        };
        passed_on.copied().or_else(|| io_error(cause).and_then(NoMoreThreads::of))
    })
}

/// Returns the error of the operating system that `cause` is or passes on.
fn io_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    if let Some(SearchError::Cassette(error)) = cause.downcast_ref() {
        return io_error(error);
    }
    match cause.downcast_ref() {
        Some(CorpusError::Cassette(error)) => return io_error(error),
        Some(CorpusError::Io(error)) => return Some(error),
        _ => {}
    }
    if let Some(CassetteError::Io(error)) = cause.downcast_ref() {
        return Some(error);
    }
    match cause.downcast_ref() {
        Some(RecordError::Io(error)) => return Some(error),
        Some(RecordError::Cassette(error)) => return io_error(error),
        _ => {}
    }
    if let Some(ProcessError::Io(error) | ProcessError::NotStarted { error, .. }) =
        cause.downcast_ref()
    {
        return Some(error);
    }
    if let Some(CompareError::Io(error) | CompareError::Git(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(EditorError::Start(error)) = cause.downcast_ref() {
        return io_error(error);
    }
    if let Some(AgreedError::Io(error)) = cause.downcast_ref() {
        return Some(error);
    }
    match cause.downcast_ref() {
        Some(SubjectError::Io(error)) => Some(error),
        Some(SubjectError::Cassette(error)) => io_error(error),
        Some(SubjectError::Compare(error)) => io_error(error),
        Some(SubjectError::Process(error)) => io_error(error),
        _ => cause.downcast_ref(),
    }
}

/// Returns the exit code of an error. The first cause with a code decides.
pub(crate) fn classify(error: &anyhow::Error) -> ExitStatus {
    if lacks_threads(error).is_some() {
        return ExitStatus::Nothing;
    }
    for cause in error.chain() {
        let is_damage = match cause.downcast_ref::<SearchError>() {
            Some(SearchError::Check(trouble)) => Some(trouble.cause == Cause::Damaged),
            Some(SearchError::Cassette(error)) => Some(error.is_damage()),
            Some(SearchError::File(_)) => Some(false),
            None => match cause.downcast_ref() {
                Some(CorpusError::Cassette(error)) => Some(error.is_damage()),
                _ => cause.downcast_ref::<CassetteError>().map(CassetteError::is_damage),
            },
        };
        if let Some(is_damage) = is_damage {
            return if is_damage { ExitStatus::Damaged } else { ExitStatus::Usage };
        }
        if cause.is::<ThreadDied>()
            || matches!(cause.downcast_ref(), Some(RecordError::ModelPanicked))
            || matches!(cause.downcast_ref(), Some(SubjectError::Thread(_)))
            || matches!(process_error(cause), Some(ProcessError::ThreadDied(_)))
        {
            return ExitStatus::Bug;
        }
        if cause.downcast_ref::<SubjectError>().is_some_and(SubjectError::is_stop)
            || matches!(cause.downcast_ref::<EditorError>(), Some(EditorError::Stopped))
        {
            return ExitStatus::Nothing;
        }
        if cause.is::<RecordError>()
            || matches!(
                cause.downcast_ref(),
                Some(ProcessError::Failed { .. } | ProcessError::Stopped)
            )
            || matches!(cause.downcast_ref::<CompareError>(), Some(CompareError::Stopped))
            || matches!(cause.downcast_ref::<PhotoError>(), Some(PhotoError::Stopped))
        {
            return ExitStatus::Nothing;
        }
        if let Some(collect) = cause.downcast_ref::<CollectError>() {
            return match collect {
                CollectError::Url(_) | CollectError::Remote(_) | CollectError::Token => {
                    ExitStatus::Usage
                }
                _ => ExitStatus::Nothing,
            };
        }
    }
    ExitStatus::Usage
}
