//! The reasons why two sides can't be compared, in sentences that say what to do next.

use std::io;
use std::path::PathBuf;

use clitape_process::ProcessError;
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::NameError;
use clitape_recording::scenario::ScenarioError;

/// The reason why two sides can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The file system or the operating system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A program could not be run, or failed at its task.
    #[error(transparent)]
    Process(ProcessError),
    /// A scenario can't be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be used.
    #[error("can't compare on a cassette that can't be read")]
    Tape(#[from] CassetteError),
    /// Both sides are the same.
    #[error("A and B are the same: {0}; name two that differ")]
    Same(String),
    /// Only one side is a version of the CLI.
    #[error(
        "`{version}` is a version of the CLI, the other side is none; compare two versions, or two \
         builds with `--version {version}`"
    )]
    Mixed {
        /// The version.
        version: String,
    },
    /// The text after a scenario's name is not a version.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Versions are named twice: as sides, and as a selection of cassettes.
    #[error("the sides say already which versions are compared; take `{0}` away")]
    Versions(String),
    /// None of the scenarios has a cassette of the version.
    #[error("CLI {version} is recorded for none of the scenarios; recorded are {recorded}")]
    NotRecorded {
        /// The version that was asked for.
        version: String,
        /// The versions that are recorded.
        recorded: String,
    },
    /// The path does not lead to a program that can be called.
    #[error("can't call {path}: {why}; name a program that can be run")]
    Program {
        /// The path of the program.
        path: PathBuf,
        /// The reason why it can't be called.
        why: String,
    },
    /// `git` can't be run.
    #[error("can't run git: {0}; install git, or name a built program by its path")]
    Git(io::Error),
    /// The workspace is not in a repository.
    #[error(
        "{root} is in no git repository ({said}); go to a clone of the project, or name a built \
         program by its path"
    )]
    Repository {
        /// The folder of the workspace.
        root: PathBuf,
        /// The message that git printed.
        said: String,
    },
    /// The repository has no such revision.
    #[error(
        "the repository has no revision `{0}`; `git log --oneline` lists those it has, and `git fetch` \
         gets more"
    )]
    Revision(String),
    /// The revision is not a revision of clitape.
    #[error(
        "revision `{revision}` has no {file}, so it can't be built; name a revision of clitape's own \
         repository, or a built program by its path"
    )]
    Source {
        /// The revision.
        revision: String,
        /// The file that the revision lacks.
        file: &'static str,
    },
    /// The revision does not build.
    #[error(
        "revision `{revision}` does not build; build it by hand in a checkout of {sha} to see why, or \
         name a built program by its path{said}"
    )]
    Build {
        /// The name by which the caller asked for the revision.
        revision: String,
        /// The full id of its commit.
        sha: String,
        /// The last lines that cargo printed, each on its own line.
        said: String,
    },
    /// A subject is compared with a side that is not played in real time.
    #[error("a subject is compared with a subject; write `subject:NAME@A subject:NAME@B`")]
    Subject,
    /// The caller asked to stop.
    #[error("stopped; nothing was written")]
    Stopped,
}

impl From<ProcessError> for CompareError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Stopped => Self::Stopped,
            ProcessError::Io(error) => Self::Io(error),
            error => Self::Process(error),
        }
    }
}
