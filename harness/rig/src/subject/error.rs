//! The errors of subjects, each with the place and what to do next.

use std::io;
use std::path::PathBuf;

use clitape_judge::known::KnownError;
use clitape_process::threads::ThreadDied;
use clitape_process::{NoIsolation, ProcessError};
use clitape_recording::cassette::CassetteError;
use clitape_recording::files::FileError;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::ScenarioError;
use clitape_recording::text::{Keep, truncate};
use clitape_runner::compare::CompareError;
use clitape_runner::suite::select::SelectError;

use crate::stand_in::InstallError;

/// The most columns of a line of a program in a message.
const SHOWN: usize = 200;

/// An error about a subject.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The operating system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file does not exist, is a link, or is too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// A scenario can't be loaded.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A selected scenario does not exist.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Two subjects can't be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A program could not be run, or did not do its work.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The stand-in can't be put into the temporary folder.
    #[error(transparent)]
    StandIn(#[from] InstallError),
    /// The list of known differences can't be used.
    #[error("{path}: {error}")]
    Known {
        /// The file.
        path: PathBuf,
        /// The error in it.
        error: KnownError,
    },
    /// Another program than the stand-in would run as `claude`.
    #[error(
        "{0} is there, and the gateway would start it instead of the recordings: `claude_first` says that it looks there \
         before `PATH`; move it away for the run, or test on a machine without it"
    )]
    OtherClaude(PathBuf),
    /// An SDK would run its bundled CLI.
    #[error(
        "{path} is there, and the SDK would start it instead of the recordings; set its option `{setting}` to `{{claude}}`, \
         with a variable or a file that your gateway reads, or move the file away for the run"
    )]
    BundledClaude {
        /// The path of the CLI.
        path: PathBuf,
        /// The option of the SDK that names another CLI.
        setting: &'static str,
    },
    /// The system can't give a gateway a network of its own.
    #[error(
        "`reach = \"sandbox\"` can't be used: {0}; write `reach = \"proxy\"`, or let clitape choose"
    )]
    NoIsolation(NoIsolation),
    /// The workspace has no `clitape.toml`.
    #[error(
        "there is no {0}; write one with a table `[subject.NAME]`, as `clitape help subjects` shows"
    )]
    NoFile(PathBuf),
    /// A line of `clitape.toml`, or of a file that it names, is wrong.
    #[error("{path}:{line}: {what}")]
    Config {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The mistake, and what to write.
        what: String,
    },
    /// `clitape.toml` does not have the subject.
    #[error("there is no subject `{name}` in {path}; {hint}")]
    Unknown {
        /// The wanted name.
        name: String,
        /// The file.
        path: PathBuf,
        /// The names that it has.
        hint: String,
    },
    /// A key of the subject names a scenario that is not in the workspace.
    #[error("`{key}` of the subject names {name}, and there is no such scenario{hint}")]
    NoScenario {
        /// The key in `clitape.toml`.
        key: &'static str,
        /// The scenario.
        name: ScenarioName,
        /// The scenarios that may be meant, as the end of a sentence.
        hint: String,
    },
    /// The kind of the subject does not support the request.
    #[error("{0}")]
    Kind(String),
    /// The subject did not start, or did not become ready.
    #[error("{why}{}{}", asked(.refused), last_words(.printed))]
    NotReady {
        /// The missing step, and what to change.
        why: String,
        /// The last lines that the subject printed.
        printed: Vec<String>,
        /// The hosts that were refused to it, each as a sentence.
        refused: Vec<String>,
    },
    /// A thread of clitape has ended.
    #[error(transparent)]
    Thread(#[from] ThreadDied),
    /// The caller stopped the run.
    #[error("stopped before all was judged")]
    Stopped,
}

impl SubjectError {
    /// Returns whether the error means that the caller stopped the run.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Stopped
                | Self::Process(ProcessError::Stopped)
                | Self::Compare(CompareError::Stopped)
        )
    }
}

/// Returns the refused hosts as the end of a message.
fn asked(refused: &[String]) -> String {
    refused.iter().map(|sentence| format!("; {sentence}")).collect()
}

/// Returns the last lines of a program as the end of a message.
pub(super) fn last_words(printed: &[String]) -> String {
    match printed {
        [] => "; it printed nothing".to_owned(),
        lines => {
            let lines: Vec<_> =
                lines.iter().map(|line| truncate(line, SHOWN, Keep::Start)).collect();
            format!("; the last lines that it printed:\n  {}", lines.join("\n  "))
        }
    }
}
