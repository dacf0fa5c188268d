//! Why two sides can't be compared, in sentences that say what to do next.

use std::io;
use std::path::PathBuf;

use crate::cassette::CassetteError;
use crate::names::NameError;
use crate::scenario::ScenarioError;

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The file system or the operating system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A scenario can't be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be used.
    #[error("can't compare on a cassette that can't be read")]
    Tape(#[from] CassetteError),
    /// The two are one.
    #[error("A and B are the same: {0}; name two that differ")]
    Same(String),
    /// A version of the CLI on one side only.
    #[error(
        "`{version}` is a version of the CLI, the other side is none; compare two versions, or two \
         builds with `--version {version}`"
    )]
    Mixed {
        /// The version.
        version: String,
    },
    /// What comes after a scenario's name is no version.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Versions are named twice, as sides and as what to compare on.
    #[error("the sides say already which versions are compared; take `{0}` away")]
    Versions(String),
    /// A version that none of the scenarios has.
    #[error("CLI {version} is recorded for none of the scenarios; recorded are {recorded}")]
    NotRecorded {
        /// What was asked for.
        version: String,
        /// What there is.
        recorded: String,
    },
    /// There is no program.
    #[error("can't call {path}: {why}; name a program that can be run")]
    Program {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// `git` can't be run.
    #[error("can't run git: {0}; install git, or name a built program by its path")]
    Git(io::Error),
    /// The workspace is in no repository.
    #[error(
        "{root} is in no git repository ({said}); go to a clone of the project, or name a built \
         program by its path"
    )]
    Repository {
        /// The workspace.
        root: PathBuf,
        /// What git says.
        said: String,
    },
    /// The repository has no such revision.
    #[error(
        "the repository has no revision `{0}`; `git log --oneline` lists those it has, and `git fetch` \
         gets more"
    )]
    Revision(String),
    /// The revision is not one of clitape.
    #[error(
        "revision `{revision}` has no {file}, so it can't be built; name a revision of clitape's own \
         repository, or a built program by its path"
    )]
    Source {
        /// The revision.
        revision: String,
        /// What it lacks.
        file: &'static str,
    },
    /// The revision does not build.
    #[error(
        "revision `{revision}` does not build; build it by hand in a checkout of {sha} to see why, or \
         name a built program by its path{said}"
    )]
    Build {
        /// The revision, as it was named.
        revision: String,
        /// Its full id.
        sha: String,
        /// The last lines of what cargo says, each on a line of its own.
        said: String,
    },
    /// The caller asked to stop.
    #[error("stopped; nothing was written")]
    Stopped,
}
