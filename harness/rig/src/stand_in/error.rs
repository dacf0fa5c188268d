//! The errors that keep the stand-in from playing a cassette.

use std::io;
use std::path::PathBuf;

use clitape_recording::cassette::CassetteError;
use clitape_recording::files::FileError;
use clitape_recording::names::NameError;
use clitape_runner::replay::PlanError;

/// The exit code for wrong usage, and for a start without a cassette to play.
pub const USAGE: u8 = 64;
/// The exit code after a line of the host that the recorded CLI did not get, or after none in time.
pub const WRONG_LINE: u8 = 70;

/// An error that keeps the stand-in from playing a cassette.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandInError {
    /// No folder of cassettes was found from this folder upwards.
    #[error(
        "there is no scenarios/ folder in {0} or above; name the project with CLITAPE_ROOT, or a cassette's folder \
         with CLITAPE_CASSETTE"
    )]
    NoWorkspace(PathBuf),
    /// Neither the environment nor the prompt, whose beginning this is, chooses a cassette.
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
        /// The name of the scenario.
        scenario: String,
        /// The wanted version, `CLI 2.1.332` or `any CLI`.
        wanted: String,
        /// The recorded versions, in words.
        known: String,
    },
    /// The cassette was not recorded as this host runs the CLI.
    #[error("`{name}` can't be played to this host: {why}")]
    Unfit {
        /// The scenario and its version.
        name: String,
        /// The reason, and what to do.
        why: String,
    },
    /// `CLITAPE_PLAY` has a value that it does not accept.
    #[error(
        "CLITAPE_PLAY is `{0}`; write recorded, canonical, instant, pace:MS, seed:N or plan:FILE"
    )]
    Play(String),
    /// `CLITAPE_END` has a value that it does not accept.
    #[error(
        "CLITAPE_END has `{0}`; write at:BYTES, code:N, signal:N, eof:MS, or several with commas between them"
    )]
    End(String),
    /// The file of a plan has an error.
    #[error("{path}: {error}")]
    Plan {
        /// The path of the file.
        path: PathBuf,
        /// The error in it.
        error: PlanError,
    },
    /// A name is not valid as a part of a path.
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
