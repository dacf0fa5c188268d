//! Why a scenario can't be used, each with the place and what to do, and the reader of its TOML files, which says so.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::files::{self, FileError};
use crate::toml_text::{TomlMistake, parse_toml};

/// Why a scenario can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file or folder of it is a link, no regular file, or too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of the scenario can't be understood.
    #[error("{path}:{line}: {what}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// A value is not allowed.
    #[error("{path}: {what}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to write instead.
        what: String,
    },
    /// Its workspace has more than is compared with what it was recorded from.
    #[error(
        "{path} has more than {most}, too much to see whether it has changed since it was recorded; make it smaller"
    )]
    LargeWorkspace {
        /// The workspace.
        path: PathBuf,
        /// The most that it may have, in words.
        most: String,
    },
    /// Its workspace contains an entry that is not a file, folder or link.
    #[error(
        "{path} is {what}, which a workspace can't have; remove it, or put a file in its place"
    )]
    OddFile {
        /// The path of the entry.
        path: PathBuf,
        /// The kind of the entry.
        what: &'static str,
    },
    /// No such scenario.
    #[error("there is no scenario `{name}` in {root}; {hint}")]
    Unknown {
        /// The name that the user gave.
        name: String,
        /// The folder that was searched.
        root: PathBuf,
        /// What to do.
        hint: String,
    },
}

/// Reads a TOML file, with the line of a mistake in it.
///
/// # Errors
///
/// [`ScenarioError::Io`] or [`ScenarioError::Parse`].
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, ScenarioError> {
    let wrong =
        |TomlMistake { line, what }| ScenarioError::Parse { path: path.to_owned(), line, what };
    parse_toml(&files::read_text(path)?).map_err(wrong)
}
