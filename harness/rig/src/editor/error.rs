//! The errors of a run of an editor, in words that say what to do.

use clitape_process::ProcessError;

use crate::kept::Full;

/// An error of a run of an editor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditorError {
    /// The agent could not be started; the message names it.
    #[error(transparent)]
    Start(#[from] ProcessError),
    /// The agent has closed its stdin or its stdout.
    #[error("the agent reads no more messages")]
    Closed,
    /// The agent does not read its stdin.
    #[error(
        "the agent has not read its stdin for {for_s} s, where {bytes} bytes wait; it has to read while it works and \
         while it writes"
    )]
    Unread {
        /// The bytes that wait for it.
        bytes: u64,
        /// The seconds since it last read.
        for_s: u64,
    },
    /// The agent ended before it answered a request.
    #[error("the agent ended before it answered `{method}`{last_words}")]
    Ended {
        /// The method of the request.
        method: String,
        /// A colon and the last lines of its stderr, or an empty text.
        last_words: String,
    },
    /// The agent did not answer a request in time.
    #[error("the agent did not answer `{method}` within {within_s} s")]
    Late {
        /// The method of the request.
        method: String,
        /// The seconds that it had.
        within_s: u64,
    },
    /// The agent answered a request with an error.
    #[error("the agent answered `{method}` with an error: {words}")]
    Refused {
        /// The method of the request.
        method: String,
        /// The message of the error.
        words: String,
    },
    /// A line of the agent that is no message of JSON-RPC; with its beginning.
    #[error("a line of the agent is no message of JSON-RPC: {0}")]
    Line(String),
    /// The agent reached a limit; with the words that name it.
    #[error("the agent sent {0}")]
    Flood(String),
    /// The messages from the agent and for it would take more memory than the account of the run has.
    #[error("what the agent sent, or does not read, is too much: {0}")]
    Kept(#[from] Full),
    /// The caller stopped the run.
    #[error("stopped before all was answered")]
    Stopped,
}
