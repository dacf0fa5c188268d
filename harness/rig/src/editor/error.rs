//! Why a run of an editor failed, in words that say what to do.

/// The most entries of a session.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// Why a run of an editor failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditorError {
    /// The agent could not be started; the message names it.
    #[error(transparent)]
    Start(#[from] std::io::Error),
    /// The agent reads no more.
    #[error("the agent reads no more messages")]
    Closed,
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
    #[error("the agent sent more than {MAX_ENTRIES} messages")]
    Flood,
}
