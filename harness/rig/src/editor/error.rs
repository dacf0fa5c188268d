//! Why a run of an editor failed, in words that say what to do.

use clitape_process::ProcessError;

use crate::kept::Full;

/// Why a run of an editor failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditorError {
    /// The agent could not be started; the message names it.
    #[error(transparent)]
    Start(#[from] ProcessError),
    /// The agent reads no more.
    #[error("the agent reads no more messages")]
    Closed,
    /// The agent does not read what was written to it.
    #[error(
        "the agent has not read its stdin for {for_s} s, where {bytes} bytes wait; it has to read while it works and \
         while it writes"
    )]
    Unread {
        /// The bytes that wait.
        bytes: u64,
        /// The seconds in which it has read none of them.
        for_s: u64,
    },
    /// The agent ended before it had answered.
    #[error("the agent ended before it answered `{method}`{last_words}")]
    Ended {
        /// The method.
        method: String,
        /// A colon and the end of what it printed on stderr, or an empty text.
        last_words: String,
    },
    /// The agent did not answer in time.
    #[error("the agent did not answer `{method}` within {within_s} s")]
    Late {
        /// The method.
        method: String,
        /// The seconds that it was given.
        within_s: u64,
    },
    /// The agent answered with an error.
    #[error("the agent answered `{method}` with an error: {words}")]
    Refused {
        /// The method.
        method: String,
        /// The error.
        words: String,
    },
    /// A line of the agent is no message.
    #[error("a line of the agent is no message of JSON-RPC: {0}")]
    Line(String),
    /// The agent sent too much.
    #[error("the agent sent {0}")]
    Flood(String),
    /// What the agent sent, or does not read, would take too much memory.
    #[error("what the agent sent, or does not read, is too much: {0}")]
    Kept(#[from] Full),
    /// The caller asked to stop.
    #[error("stopped before all was answered")]
    Stopped,
}
