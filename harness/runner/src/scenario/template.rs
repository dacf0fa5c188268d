//! The scenario that `clitape new` writes: it records and passes without a change.

use std::path::PathBuf;

use fs_err as fs;

use super::error::ScenarioError;
use super::workspace::Workspace;
use crate::files;
use crate::names::{CliVersion, ScenarioName};

/// The files of a new scenario, by their place in its folder.
const FILES: [(&str, &str); 7] = [
    ("scenario.toml", include_str!("template/scenario.toml")),
    ("model.toml", include_str!("template/model.toml")),
    ("workspace/notes.txt", include_str!("template/workspace/notes.txt")),
    ("golden/lifecycle.snap", include_str!("template/golden/lifecycle.snap")),
    ("golden/bus.snap", include_str!("template/golden/bus.snap")),
    ("golden/telegram-partial.snap", include_str!("template/golden/telegram-partial.snap")),
    ("golden/telegram-progress.snap", include_str!("template/golden/telegram-progress.snap")),
];

/// The scenario of an imported capture; it has no model, so it can't be recorded again.
const SKELETON: &str = include_str!("template/imported.toml");

/// Stands for the scenario's name in the files.
const NAME: &str = "{{name}}";
/// Stands for the CLI's version.
const VERSION: &str = "{{version}}";

/// Writes the scenario `name`; returns its folder.
///
/// # Errors
///
/// [`ScenarioError`] when the scenario is there already, or when a file can't be written.
pub fn write(workspace: &Workspace, name: &ScenarioName) -> Result<PathBuf, ScenarioError> {
    let dir = workspace.make_scenario(name)?;
    for (place, text) in FILES {
        let path = dir.join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        files::replace(&path, text.replace(NAME, name))?;
    }
    Ok(dir)
}

/// Writes the scenario `name` around an imported cassette of CLI `version`; returns its folder.
///
/// # Errors
///
/// As [`write()`].
pub fn skeleton(
    workspace: &Workspace,
    name: &ScenarioName,
    version: &CliVersion,
) -> Result<PathBuf, ScenarioError> {
    let dir = workspace.make_scenario(name)?;
    let text = SKELETON.replace(NAME, name).replace(VERSION, version);
    files::replace(&dir.join("scenario.toml"), text)?;
    Ok(dir)
}
