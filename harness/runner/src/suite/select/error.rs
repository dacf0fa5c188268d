//! The reasons why scenarios can't be selected.

use std::io;

use clitape_process::threads::NoMoreThreads;

use super::pattern::PatternError;

/// The reason why scenarios can't be selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A name, a version or an issue does not exist.
    #[error("{0}")]
    Unknown(String),
    /// Git can't list the changes.
    #[error("--changed asks git what changed since {revision}, but {why}")]
    Git {
        /// The revision.
        revision: String,
        /// The message of git, and what to do.
        why: String,
    },
    /// The text is not a name or a shard.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A folder can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system lets no process for git start.
    #[error(transparent)]
    Threads(#[from] NoMoreThreads),
}
