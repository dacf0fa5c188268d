//! The reasons why a version can't be added or removed, each with what to do.

use std::io;

use clitape_recording::cassette::CassetteError;
use clitape_recording::files::FileError;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::ScenarioError;

/// The reason why a version can't be added or removed. The workspace is unchanged, unless the file system returned the
/// error.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file is a link, not a regular file, or too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// A scenario or `clitape.toml` can't be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be read or written.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A recording contains secrets that the recordings of other versions are not allowed to contain.
    #[error(
        "the recording of {scenario} with claude {version} holds secrets that no other recording of it is allowed to \
         hold (the first is {first}); nothing was accepted; record it with `clitape record {scenario} --claude \
         npm:{version} --allow-secrets {rule}`, or with `--redact`, and accept again"
    )]
    Secrets {
        /// The scenario.
        scenario: ScenarioName,
        /// The version that recorded it.
        version: CliVersion,
        /// The first secret, masked, with its place.
        first: String,
        /// The rule that found it.
        rule: &'static str,
    },
    /// The workspace has no such version.
    #[error(
        "there is no recording of claude {version}, and clitape.toml does not name it; there are {known}"
    )]
    Unknown {
        /// The version.
        version: CliVersion,
        /// The versions of the workspace.
        known: String,
    },
    /// It is the only version of `clitape.toml`.
    #[error(
        "claude {0} is the only version of clitape.toml; add another one with `clitape drift --accept` first"
    )]
    Last(CliVersion),
    /// Scenarios would be left without a recording.
    #[error(
        "nothing was removed: only claude {version} recorded {scenarios}; record them with another version, or remove the \
         scenarios"
    )]
    OnlyOne {
        /// The version.
        version: CliVersion,
        /// The scenarios, with commas.
        scenarios: String,
    },
    /// A golden waits for a review, which depends on the versions.
    #[error(
        "nothing was removed: a golden of {0} waits for a review; settle it with `clitape review`"
    )]
    Pending(ScenarioName),
}
