//! Reads a TOML file of a scenario.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::error::ScenarioError;
use crate::files;

/// Reads a TOML file, with the line of a mistake in it.
///
/// # Errors
///
/// [`ScenarioError::Io`] or [`ScenarioError::Parse`].
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, ScenarioError> {
    let text = files::read_text(path)?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        ScenarioError::Parse {
            path: path.to_owned(),
            line: text[..offset].matches('\n').count() + 1,
            what: error.message().trim().replace('\n', ", "),
        }
    })
}
