//! Reads a TOML file of a workspace.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::error::ScenarioError;
use crate::files;
use crate::toml_text::{TomlMistake, parse_toml};

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
