//! The scenario that `clitape new` writes: it records and passes without a change.

use std::path::PathBuf;

use toml::{Table, Value};

use super::error::ScenarioError;
use super::workspace::Workspace;
use crate::files::{self, NewFolder};
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

/// `clitape.toml` of a workspace that has none.
const CONFIG: &str = include_str!("template/clitape.toml");

/// The scenario of an imported capture; it has no model, so it can't be recorded again.
const SKELETON: &str = include_str!("template/imported.toml");

/// Stands for the scenario's name in the files.
const NAME: &str = "{{name}}";
/// Stands for the CLI's version.
const VERSION: &str = "{{version}}";

/// Writes the scenario `name`, and `clitape.toml` where there is none; returns the folder of the scenario.
///
/// # Errors
///
/// [`ScenarioError`] when the scenario is there already, or when a file can't be written.
pub fn write(workspace: &Workspace, name: &ScenarioName) -> Result<PathBuf, ScenarioError> {
    let folder = workspace.new_scenario(name)?;
    for (place, text) in FILES {
        folder.write(place, text.replace(NAME, name))?;
    }
    write_config(workspace)?;
    Ok(folder.put()?)
}

/// Writes `clitape.toml` where there is none.
pub(super) fn write_config(workspace: &Workspace) -> Result<(), ScenarioError> {
    let config = workspace.config();
    if !files::is_there(&config) {
        files::replace(&config, CONFIG)?;
    }
    Ok(())
}

/// Makes the scenario `name` around an imported cassette of CLI `version`; its folder is put in place with the cassette.
///
/// # Errors
///
/// As [`write()`].
pub fn skeleton(
    workspace: &Workspace,
    name: &ScenarioName,
    version: &CliVersion,
) -> Result<NewFolder, ScenarioError> {
    let folder = workspace.new_scenario(name)?;
    let text = SKELETON.replace(NAME, name).replace(VERSION, version);
    folder.write("scenario.toml", text)?;
    Ok(folder)
}

/// The keys of `[record]` that a scenario with a part of a recording keeps.
const KEPT: [&str; 6] = ["prompt", "host", "say", "args", "login", "partial_messages"];
/// The seeded plans of such a scenario.
const PLANS: i64 = 16;

/// Makes the scenario `name` around a part of the recording of `of` by CLI `version`, and one plan that fails; its
/// folder is put in place with the cassette. `about` says what the plan shows.
///
/// # Errors
///
/// As [`write()`], and when the scenario `of` can't be read.
pub fn smallest(
    workspace: &Workspace,
    name: &ScenarioName,
    of: &ScenarioName,
    version: &CliVersion,
    about: &str,
    plan: &str,
) -> Result<NewFolder, ScenarioError> {
    let path = workspace.scenario(of).join("scenario.toml");
    let invalid = |what: String| ScenarioError::Invalid { path: path.clone(), what };
    let text = files::read_text(&path)?;
    let mut file: Table =
        text.parse().map_err(|error: toml::de::Error| invalid(error.to_string()))?;
    file.insert("title".into(), format!("The smallest part of {of} that fails").into());
    file.insert("about".into(), about.into());
    for key in ["tracks", "chat", "variant", "proof"] {
        file.remove(key);
    }
    let mut record = Table::new();
    if let Some(Value::Table(whole)) = file.remove("record") {
        record.extend(whole.into_iter().filter(|(key, _)| KEPT.contains(&key.as_str())));
    }
    file.insert("record".into(), record.into());
    let sweep = [("plans".to_owned(), PLANS.into())];
    file.insert("sweep".into(), Table::from_iter(sweep).into());
    let pinned = [("cli", version.as_str()), ("json", plan)];
    let pinned = pinned.map(|(key, text)| (key.to_owned(), Value::from(text)));
    file.insert("plan".into(), vec![Table::from_iter(pinned)].into());
    let text = toml::to_string(&file).map_err(|error| invalid(error.to_string()))?;
    let head =
        format!("# Written by `clitape shrink`: a part of the recording of {of} {version}.\n");
    let folder = workspace.new_scenario(name)?;
    folder.write("scenario.toml", head + &text)?;
    Ok(folder)
}
