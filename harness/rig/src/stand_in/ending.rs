//! The end of the process: its exit code, and the words about it.

use clitape_recording::cassette::Exit;

use super::error::{StandInError, USAGE};
use super::log::Log;
use super::pipes::{end_by, tell};

/// A way in which the process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProcessEnding {
    /// It ends as the recorded CLI did.
    Recorded(Option<Exit>),
    /// It ends with this code, for a reason that is not in the recording.
    Code(i32),
    /// It can't play, and ends with this exit code and sentence.
    Refused(u8, String),
}

impl From<StandInError> for ProcessEnding {
    fn from(error: StandInError) -> Self {
        Self::Refused(USAGE, error.to_string())
    }
}

impl ProcessEnding {
    /// Writes the ending to the log and to stderr, and returns the exit code. A recorded signal ends the process in
    /// here.
    pub(super) fn tell(&self, log: &mut Log) -> u8 {
        match self {
            Self::Recorded(Some(Exit::Signal(signal))) => {
                log.exit_by_signal(*signal);
                end_by(*signal);
                u8::try_from(128 + signal).unwrap_or(u8::MAX)
            }
            Self::Recorded(Some(Exit::Code(code))) | Self::Code(code) => {
                u8::try_from(*code).unwrap_or(u8::MAX)
            }
            Self::Recorded(None) => 0,
            Self::Refused(code, sentence) => {
                log.refused(sentence);
                tell(sentence);
                *code
            }
        }
    }
}
