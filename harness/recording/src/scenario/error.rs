//! The errors of a scenario, each with the place and the next step, and the reader of its TOML files, which makes them.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::files::{self, FileError};
use crate::toml_text::{TomlMistake, parse_toml};

/// The errors of a scenario that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file or folder of the scenario is a link, no regular file, or too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of the scenario is invalid.
    #[error("{path}:{line}: {what}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The mistake in words.
        what: String,
    },
    /// A value is not allowed.
    #[error("{path}: {what}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The mistake, and the value to write instead.
        what: String,
    },
    /// The workspace exceeds the limits within which it is compared with the recorded one.
    #[error(
        "{path} has more than {most}, too much to see whether it has changed since it was recorded; make it smaller"
    )]
    LargeWorkspace {
        /// The workspace.
        path: PathBuf,
        /// The limit in words.
        most: String,
    },
    /// The workspace contains an entry that is not a file, folder or link.
    #[error(
        "{path} is {what}, which a workspace can't have; remove it, or put a file in its place"
    )]
    OddFile {
        /// The path of the entry.
        path: PathBuf,
        /// The kind of the entry.
        what: &'static str,
    },
    /// The scenario does not exist.
    #[error("there is no scenario `{name}` in {root}; {hint}")]
    Unknown {
        /// The name that the user gave.
        name: String,
        /// The folder that was searched.
        root: PathBuf,
        /// The next step.
        hint: String,
    },
}

/// Reads a TOML file; an error has the line of the mistake.
///
/// # Errors
///
/// [`ScenarioError::Io`] or [`ScenarioError::Parse`].
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, ScenarioError> {
    let wrong =
        |TomlMistake { line, what }| ScenarioError::Parse { path: path.to_owned(), line, what };
    parse_toml(&files::read_text(path)?).map_err(wrong)
}
