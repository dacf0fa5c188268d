//! Where things lie: the folder that holds `scenarios/` and `cassettes/`.

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::error::ScenarioError;
use super::load::Scenario;

/// The folder that holds `scenarios/` and `cassettes/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct House {
    root: PathBuf,
}

impl House {
    /// The house at `root`, whether or not anything stands there yet.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The nearest house at or above `dir`: the first folder with a `scenarios/` in it.
    pub fn above(dir: &Path) -> Option<Self> {
        dir.ancestors().find(|root| root.join("scenarios").is_dir()).map(Self::at)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a scenario.
    pub fn scenario(&self, name: &str) -> PathBuf {
        self.root.join("scenarios").join(name)
    }

    /// `cassettes/`.
    pub fn cassettes(&self) -> PathBuf {
        self.root.join("cassettes")
    }

    /// The folder of a cassette.
    pub fn cassette(&self, scenario: &str, version: &str) -> PathBuf {
        self.cassettes().join(scenario).join(version)
    }

    /// Names of the scenarios, sorted.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        folders(&self.root.join("scenarios"))
    }

    /// Names of the scenarios that have a folder of cassettes, sorted.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn recorded_names(&self) -> io::Result<Vec<String>> {
        folders(&self.cassettes())
    }

    /// CLI versions recorded for a scenario, sorted.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn recorded(&self, scenario: &str) -> io::Result<Vec<String>> {
        folders(&self.cassettes().join(scenario))
    }

    /// The scenario of this name; a path to its folder is taken too.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] when there is none, or it can't be used.
    pub fn load(&self, name: &str) -> Result<Scenario, ScenarioError> {
        let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
        let dir = self.scenario(name);
        if !name.is_empty() && dir.is_dir() {
            return Scenario::load(&dir);
        }
        let known = self.names()?;
        let hint = if known.is_empty() {
            format!("write one with `clitape new {name}`")
        } else {
            format!("there are {}; write a new one with `clitape new {name}`", known.join(", "))
        };
        Err(ScenarioError::Unknown { name: name.to_owned(), root: self.root.clone(), hint })
    }

    /// A path as seen from the house.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// Names of the folders in `dir`, hidden ones left out; none when there is no such folder.
fn folders(dir: &Path) -> io::Result<Vec<String>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
