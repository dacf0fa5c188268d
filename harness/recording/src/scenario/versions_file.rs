//! Writes `[versions]` of `clitape.toml`, and leaves the rest of the file, comments too, as it is.

use std::str::FromStr as _;

use toml_edit::{Array, DocumentMut, Item, Value};

use super::error::ScenarioError;
use super::versions::Versions;
use super::workspace::Workspace;
use crate::files;

impl Workspace {
    /// Writes other versions into `[versions]` of `clitape.toml`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] when the file has no `[versions]`, can't be understood or can't be written; it stays as it was.
    pub fn write_versions(&self, versions: &Versions) -> Result<(), ScenarioError> {
        self.require_versions()?;
        let text = edited(&files::read_text(&self.config())?, versions).map_err(|error| {
            ScenarioError::Invalid { path: self.config(), what: error.message().to_owned() }
        })?;
        Ok(files::replace(&self.config(), text)?)
    }
}

/// The text of a `clitape.toml` with other versions.
fn edited(text: &str, versions: &Versions) -> Result<String, toml_edit::TomlError> {
    let mut file = DocumentMut::from_str(text)?;
    let all: Array = versions.baseline().iter().map(|version| version.as_str()).collect();
    set(&mut file["versions"]["newest"], versions.newest().as_str().into());
    set(&mut file["versions"]["baseline"], all.into());
    Ok(file.to_string())
}

/// Puts a value in the place of another one, with the blanks and the comment around it.
fn set(item: &mut Item, mut value: Value) {
    if let Some(before) = item.as_value() {
        *value.decor_mut() = before.decor().clone();
    }
    *item = Item::Value(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, add: &str, expect: &str) {
        let file: toml::Table = toml::from_str(text).unwrap();
        let versions: Versions = file["versions"].clone().try_into().unwrap();
        let versions = versions.with(&add.parse().unwrap());
        assert_eq!(edited(text, &versions).unwrap(), expect);
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        check(
            "# First.\n[versions]\nnewest  =  '2.1.329' # last\nbaseline = [\n  '2.1.148',\n  '2.1.329',\n]\n\n\
             [subject.a] # A.\nkind='gateway'\n",
            "2.1.330",
            "# First.\n[versions]\nnewest  =  \"2.1.330\" # last\n\
             baseline = [\"2.1.148\", \"2.1.329\", \"2.1.330\"]\n\n[subject.a] # A.\nkind='gateway'\n",
        );
        check(
            "versions = { newest = '2.1.9', baseline = ['2.1.9'] }\n",
            "2.1.8",
            "versions = { newest = \"2.1.9\", baseline = [\"2.1.8\", \"2.1.9\"] }\n",
        );
    }
}
