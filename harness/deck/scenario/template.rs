//! The scenario that `clitape new` writes: it records and passes as it stands.

use std::path::PathBuf;

use fs_err as fs;

use super::error::ScenarioError;
use super::house::House;

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
/// [`ScenarioError`] when the name can't be a folder on every system, when the scenario is there
/// already, or when a file can't be written.
pub fn write(house: &House, name: &str) -> Result<PathBuf, ScenarioError> {
    let dir = claim(house, name)?;
    for (place, text) in FILES {
        let path = dir.join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text.replace(NAME, name))?;
    }
    Ok(dir)
}

/// Writes the scenario `name` around an imported cassette of CLI `version`; returns its folder.
///
/// # Errors
///
/// As [`write`].
pub fn skeleton(house: &House, name: &str, version: &str) -> Result<PathBuf, ScenarioError> {
    let dir = claim(house, name)?;
    let text = SKELETON.replace(NAME, name).replace(VERSION, version);
    fs::write(dir.join("scenario.toml"), text)?;
    Ok(dir)
}

/// Makes the folder of a new scenario.
///
/// # Errors
///
/// As [`write`].
fn claim(house: &House, name: &str) -> Result<PathBuf, ScenarioError> {
    let dir = house.scenario(name);
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let what = if name.is_empty() || !name.chars().all(plain) || name.starts_with('-') {
        "a scenario's name is made of small letters, digits and hyphens, such as `late-edit`"
    } else if dir.exists() {
        "it is there already; choose another name, or change that one"
    } else {
        fs::create_dir_all(&dir)?;
        return Ok(dir);
    };
    Err(ScenarioError::Invalid { path: dir, what: what.to_owned() })
}
