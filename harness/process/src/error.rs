//! The errors of starting and running programs.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

use super::confine::NotConfined;
use super::isolation::NoIsolation;

/// The reason why a program did not run successfully.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The operating system returned an error.
    #[error(transparent)]
    Io(io::Error),
    /// The system lets no more threads or processes start.
    #[error(transparent)]
    NoMoreThreads(#[from] NoMoreThreads),
    /// A thread that serves the program has ended.
    #[error(transparent)]
    ThreadDied(#[from] ThreadDied),
    /// The process that confines the program ended before it executed it.
    #[error("the process of clitape that confines the program failed: {0}; try again")]
    NotEntered(String),
    /// The program can't be confined as requested, so it was not started.
    #[error(transparent)]
    NotConfined(#[from] NotConfined),
    /// The program can't have namespaces of its own, so it was not started.
    #[error(transparent)]
    NoIsolation(#[from] NoIsolation),
    /// The program can't be started.
    #[error("can't start {program}: {error}")]
    NotStarted {
        /// The program.
        program: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The command has no program.
    #[error("the command is empty")]
    NoCommand,
    /// The process that supervises the program has ended, or does not answer.
    #[error("the process of clitape that supervises it was ended; try again")]
    SupervisorEnded,
    /// The folder is in no git repository.
    #[error("{folder} is in no git repository ({reason}); name a folder of a repository")]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// The message of git.
        reason: String,
    },
    /// The repository has no such revision.
    #[error("git has no revision {name} there; look for it with `git -C {folder} log`")]
    NoRevision {
        /// A folder of the repository.
        folder: PathBuf,
        /// The name of the revision.
        name: String,
    },
    /// The program does not build.
    #[error("the build failed:{}", lines.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Build {
        /// The last lines that the build printed.
        lines: Vec<String>,
    },
    /// The program ran and failed.
    #[error("{why}; {hint}")]
    Failed {
        /// The missing result and the reason, in words.
        why: String,
        /// The next step for a person.
        hint: String,
    },
    /// The caller asked to stop.
    #[error("stopped; nothing was written")]
    Stopped,
}

impl From<io::Error> for ProcessError {
    fn from(error: io::Error) -> Self {
        NoMoreThreads::of(&error).map_or(Self::Io(error), Self::NoMoreThreads)
    }
}

/// The system lets no more threads or processes start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this system lets no more threads or processes start; raise `ulimit -u`, or the limit of pids of the container"
)]
pub struct NoMoreThreads;

/// Converts this to the error of the system.
impl From<NoMoreThreads> for io::Error {
    fn from(_: NoMoreThreads) -> Self {
        Self::from_raw_os_error(Errno::EAGAIN as i32)
    }
}

impl NoMoreThreads {
    /// Returns this error if the start of a thread or a process failed because of it.
    pub fn of(error: &io::Error) -> Option<Self> {
        (error.raw_os_error() == Some(Errno::EAGAIN as i32)).then_some(Self)
    }
}

/// A thread that its owner still needs has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "clitape's own thread `{name}` has ended, so that the command can't go on; this is a bug of clitape: please report \
     it with the lines above"
)]
pub struct ThreadDied {
    /// The name of the thread.
    pub name: &'static str,
}
