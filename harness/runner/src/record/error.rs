//! The reasons why a recording failed, in sentences that say what to do next.

use std::io;
use std::path::PathBuf;

use clitape_gateway::ByteSize;
use clitape_process::{Overflow, ProcessError};
use clitape_recording::cassette::{CassetteError, Exit};
use clitape_recording::scenario::ScenarioError;
use clitape_recording::secrets::RedactError;
use clitape_recording::text::TerminalSafe;

use super::script::clip;

/// The reason why a recording was not made.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system or the operating system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A program could not be run, or failed at its task.
    #[error(transparent)]
    Process(ProcessError),
    /// `model.toml` or the workspace can't be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be read or written.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A secret is left after the replacement of all that were found.
    #[error(transparent)]
    Redact(#[from] RedactError),
    /// The CLI to record is missing, or is another one than the caller asked for.
    #[error("{why}; {hint}")]
    NoClaude {
        /// The part that is missing or wrong.
        why: String,
        /// The command to run.
        hint: String,
    },
    /// The path of the temporary folder would change the bytes of the recording.
    #[error("can't record under {path}: {what}; set TMPDIR to another folder, such as /tmp")]
    Folder {
        /// The folder for temporary files.
        path: PathBuf,
        /// The problem with it.
        what: String,
    },
    /// The workspace is larger than the limit.
    #[error(
        "{path} has more than {limit} in its files; make it smaller, or raise the limit with \
         `--max-workspace`"
    )]
    LargeWorkspace {
        /// The workspace.
        path: PathBuf,
        /// The most bytes that it may have.
        limit: ByteSize,
    },
    /// The workspace has more files than the limit.
    #[error(
        "{path} has more than {limit} files, folders and links; remove some, or raise the limit with \
         `--max-workspace-files`"
    )]
    ManyFiles {
        /// The workspace.
        path: PathBuf,
        /// The most entries that it may have.
        limit: usize,
    },
    /// The CLI sent the model a request that is not scripted.
    #[error(
        "nobody scripted this request: {asked}\nadd a [[turn]], [[spare]] or [[side]] to {path}"
    )]
    Unscripted {
        /// The scenario's `model.toml`.
        path: PathBuf,
        /// The request, and the turns of the script.
        asked: String,
    },
    /// The scripted model panicked.
    #[error(
        "the scripted model panicked, and the CLI was ended; nothing was written; this is a bug of clitape: please report \
         it with the lines above"
    )]
    ModelPanicked,
    /// The CLI did not end in time.
    #[error(
        "the CLI had not ended after {limit_s} s and was stopped; raise {raise} if it needs longer{waiting}{printed}"
    )]
    Timeout {
        /// The time limit in seconds.
        limit_s: u64,
        /// The setting that raises the limit: `record.timeout_s` of the scenario, or an option.
        raise: &'static str,
        /// The unanswered question and the step that has not fired, each on its own line; empty without them.
        waiting: String,
        /// The end of the CLI's output.
        printed: CliOutput,
    },
    /// The CLI printed more than its limit.
    #[error("the CLI printed {what} and was ended; nothing was written; if that is what it is to print, raise the limit with `{}`{printed}", .what.option())]
    Overflow {
        /// The limit that it reached.
        what: Overflow,
        /// The end of its output.
        printed: CliOutput,
    },
    /// A person was asked whether to record the scenario or to start the subject, and did not answer yes.
    #[error("{name} was not run: the answer was not `y`")]
    Declined {
        /// The scenario or the subject.
        name: String,
    },
    /// The caller asked to stop.
    #[error("stopped; nothing was written")]
    Stopped,
    /// The CLI did not end as the scenario expects.
    #[error(
        "the CLI {}, the scenario expects that it {}; if this is what it is to show, set `record.exit`{printed}", ended(*.exit), ends(*.expected)
    )]
    Exit {
        /// The exit of the CLI.
        exit: Exit,
        /// The exit of `record.exit`.
        expected: Exit,
        /// The end of its output.
        printed: CliOutput,
    },
    /// The signal of the scenario was never sent.
    #[error("the CLI {} before it printed what `record.signal` waits for; look at `when` there, or let the script wait longer at that place{printed}", ended(*.exit))]
    NoSignal {
        /// The exit of the CLI.
        exit: Exit,
        /// The end of its output.
        printed: CliOutput,
    },
    /// A line for the CLI's stdin could not be made.
    #[error("{why}{printed}")]
    Say {
        /// The reason.
        why: HostError,
        /// The end of its output.
        printed: CliOutput,
    },
    /// The CLI ended before a line for its stdin was written.
    #[error("the CLI {} before everything was said: {step}; look at `when` there, or remove the step{printed}", ended(*.exit))]
    Unsaid {
        /// The first step that was not written, and what it waited for.
        step: String,
        /// The exit of the CLI.
        exit: Exit,
        /// The end of its output.
        printed: CliOutput,
    },
    /// The CLI ended without an answer.
    #[error("the CLI {} before it printed a `result`; run it by hand with the scenario's arguments to see why{printed}", ended(*.exit))]
    NoResult {
        /// The exit of the CLI.
        exit: Exit,
        /// The end of its output.
        printed: CliOutput,
    },
}

impl From<ProcessError> for RecordError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Stopped => Self::Stopped,
            ProcessError::Io(error) => Self::Io(error),
            error => Self::Process(error),
        }
    }
}

/// The reason why a line for the CLI's stdin can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// A step accepts a suggestion that the question does not have.
    #[error(
        "{step} accepts suggestion {number}, and the question has {count}; write one of them, or \
         remove `suggestion`"
    )]
    NoSuggestion {
        /// The step.
        step: String,
        /// The number of the suggestion.
        number: u64,
        /// The number of suggestions.
        count: usize,
    },
    /// A step chooses for a question that was not asked.
    #[error(
        "{step} chooses for `{chosen}`, which was not asked; write the text of a question: `{asked}`"
    )]
    NotAsked {
        /// The step.
        step: String,
        /// The question in the scenario.
        chosen: String,
        /// The questions that were asked.
        asked: String,
    },
}

/// The end of the output of a CLI that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliOutput {
    /// Its stderr.
    pub stderr: String,
    /// The last line of its stdout.
    pub last_line: String,
}

impl CliOutput {
    pub(crate) fn new(stdout: &[u8], stderr: &[u8]) -> Self {
        let mut lines = stdout.rsplit(|&byte| byte == b'\n');
        let last = lines.find(|line| !line.is_empty());
        Self {
            stderr: String::from_utf8_lossy(stderr).trim().to_owned(),
            // Empty output has no last line.
            last_line: String::from_utf8_lossy(last.unwrap_or_default()).into_owned(),
        }
    }
}

impl std::fmt::Display for CliOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, text, longest) in
            [("stderr", &self.stderr, 2000), ("last line", &self.last_line, 200)]
        {
            let text = clip(text, longest);
            let text = TerminalSafe::line(if text.is_empty() { "nothing" } else { &text });
            write!(f, "\n  {name}: {text}")?;
        }
        Ok(())
    }
}

fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}

fn ends(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exits with code {code}"),
        Exit::Signal(signal) => format!("is ended by signal {signal}"),
    }
}
