//! Why the stand-in can't play.

use std::io;
use std::path::PathBuf;

use clitape_recording::cassette::CassetteError;
use clitape_recording::files::FileError;
use clitape_recording::names::NameError;
use clitape_runner::replay::PlanError;

/// The exit code for wrong usage, and when there is no cassette to play.
pub const USAGE: u8 = 64;
/// The exit code when the host wrote a line that the CLI did not get, or none in time.
pub const WRONG_LINE: u8 = 70;

/// Why the stand-in can't play a cassette.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandInError {
    /// There is no folder of cassettes.
    #[error(
        "there is no scenarios/ folder in {0} or above; name the project with CLITAPE_ROOT, or a cassette's folder \
         with CLITAPE_CASSETTE"
    )]
    NoWorkspace(PathBuf),
    /// Nothing says which cassette to play; the beginning of the prompt.
    #[error(
        "nothing says which cassette to play: the prompt “{0}” has no marker [[clitape:NAME]] and contains the prompt of \
         no recorded scenario; set CLITAPE_CASSETTE, or write a marker"
    )]
    NoCassette(String),
    /// The queue is empty.
    #[error("the queue {0} is empty; write one scenario a line into it, one for each turn")]
    QueueEmpty(PathBuf),
    /// The scenario has no cassette of that version.
    #[error("`{scenario}` has no cassette of {wanted}; {known}")]
    NotRecorded {
        /// The scenario.
        scenario: String,
        /// The version, or any.
        wanted: String,
        /// What is there, in words.
        known: String,
    },
    /// The cassette was not recorded as this host runs the CLI.
    #[error("`{name}` can't be played to this host: {why}")]
    Unfit {
        /// The scenario and its version.
        name: String,
        /// Why not, and what to do.
        why: String,
    },
    /// `CLITAPE_PLAY` is not a way to play.
    #[error(
        "CLITAPE_PLAY is `{0}`; write recorded, canonical, instant, pace:MS, seed:N or plan:FILE"
    )]
    Play(String),
    /// `CLITAPE_END` is no end.
    #[error(
        "CLITAPE_END has `{0}`; write at:BYTES, code:N, signal:N, eof:MS, or several with commas between them"
    )]
    End(String),
    /// A plan can't be used.
    #[error("{path}: {error}")]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: PlanError,
    },
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A file can't be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}
