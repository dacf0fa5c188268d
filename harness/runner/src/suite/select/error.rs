//! Why nothing can be selected.

use std::io;

use clitape_process::threads::NoMoreThreads;

use super::pattern::PatternError;

/// Why nothing can be selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// Something is named that does not exist.
    #[error("{0}")]
    Unknown(String),
    /// Git does not say what changed.
    #[error("--changed asks git what changed since {revision}, but {why}")]
    Git {
        /// The revision.
        revision: String,
        /// What git said, and what to do.
        why: String,
    },
    /// What is written is no name.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A folder can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No process for git can be started.
    #[error(transparent)]
    Threads(#[from] NoMoreThreads),
}
