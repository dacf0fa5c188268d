//! What was seen of one scenario at one subject: the chat's entries, and how the run ended.

use clitape_runner::cassette::Cassette;
use clitape_runner::replay::Entry;

/// What was seen of one cassette at one subject.
#[derive(Debug)]
pub struct Observation<'a> {
    /// The cassette that the stand-in played.
    pub cassette: &'a Cassette,
    /// The calls of the Bot API and the acts of the person, in order; `at` counts milliseconds from the
    /// person's first message.
    pub entries: Vec<Entry>,
    /// How the run ended.
    pub ending: RunEnding,
    /// What the subject is known to show.
    pub traits: SubjectTraits,
}

/// How a run of a subject ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnding {
    /// The stand-in printed its last byte and the chat was quiet for the time that the subject names.
    Over,
    /// The stand-in was never started, or never got the line that it waits for, for this number of seconds.
    Hung {
        /// The seconds that the run was given.
        waited_s: u64,
        /// What the stand-in waited for, or that it was never started.
        waited_for: String,
    },
    /// The stand-in got a line that the CLI did not get; its sentence.
    Refused(String),
    /// The subject ended; how, and the last lines that it printed.
    Died {
        /// The exit code or the signal in words.
        how: String,
        /// The last lines of its output.
        last_words: String,
    },
    /// The subject made more calls, or printed more, than a run may; what and how many.
    Flooded(String),
}

/// What a subject shows by its design, so that the rules ask for nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectTraits {
    /// Whether a person can read in the chat which tools run.
    pub shows_tools: bool,
    /// Whether the chat shows the answer while it grows.
    pub shows_progress: bool,
}
