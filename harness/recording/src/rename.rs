//! Gives a scenario another name: its folders, the cassettes and goldens that name it, and the files that list it.
//!
//! A rename that was begun by hand, or broke off, is completed: what has the new name already stays where it is.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use toml_edit::{DocumentMut, Item, TableLike, TomlError, Value};

use crate::cassette::{self, Cassette, CassetteError};
use crate::files::{self, CONFIG, FileError};
use crate::names::ScenarioName;
use crate::scenario::Workspace;
use crate::toml_text::set_value;

/// The errors of a rename.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A folder on the way is a link, or an entry can't be moved.
    #[error(transparent)]
    File(#[from] FileError),
    /// A cassette can't be read or written.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A file that may name the scenario is no TOML.
    #[error("{path}: {error}")]
    Toml {
        /// The file.
        path: PathBuf,
        /// The mistake.
        error: TomlError,
    },
    /// Nothing has the old name.
    #[error("nothing here is called `{name}`; there are {known}")]
    Unknown {
        /// The old name.
        name: ScenarioName,
        /// The names that there are.
        known: String,
    },
    /// The new name is that of another scenario.
    #[error("{0} is there already; choose another name, or remove it")]
    Taken(String),
}

/// Renames a scenario. Returns the places that were changed, for a list: `scenarios/old → scenarios/new`.
///
/// # Errors
///
/// [`RenameError`]; if the new name is taken, or nothing has the old one, all stays as it is.
pub fn rename(
    workspace: &Workspace,
    old: &ScenarioName,
    new: &ScenarioName,
) -> Result<Vec<String>, RenameError> {
    let folders = |name: &ScenarioName| {
        [
            workspace.scenario(name),
            workspace.cassettes().join(name.as_str()),
            workspace.failures(name),
        ]
    };
    let moves: Vec<(PathBuf, PathBuf)> = folders(old)
        .into_iter()
        .zip(folders(new))
        .filter(|(from, _)| files::is_there(from))
        .collect();
    if let Some((_, to)) = moves.iter().find(|(_, to)| files::is_there(to)) {
        return Err(RenameError::Taken(workspace.shown(to)));
    }
    let lists = named_lists(workspace, old, new)?;
    let is_begun = || -> Result<bool, RenameError> {
        Ok(holds(workspace, new, old)?
            || !named_goldens(workspace, old, new)?.is_empty()
            || !lists.is_empty() && files::is_there(&workspace.scenario(new)))
    };
    if moves.is_empty() && !is_begun()? {
        let known = workspace.names()?.join(", ");
        return Err(RenameError::Unknown { name: old.clone(), known });
    }
    // What is damaged is found before anything is moved.
    holds(workspace, old, old)?;
    for path in moves.iter().flat_map(|(from, to)| [from, to]) {
        let inside = path.strip_prefix(workspace.root()).unwrap_or(path);
        files::check_folders(workspace.root(), inside)?;
    }
    for (number, (from, to)) in moves.iter().enumerate() {
        if let Err(error) = files::rename(from, to) {
            for (from, to) in moves[..number].iter().rev() {
                // What can't be moved back is what the same command completes.
                let _ = files::rename(to, from);
            }
            return Err(error.into());
        }
    }
    let moved = |(from, to): &(PathBuf, PathBuf)| {
        format!("{} → {}", workspace.shown(from), workspace.shown(to))
    };
    let mut done: Vec<String> = moves.iter().map(moved).collect();
    for version in workspace.recorded(new)? {
        let dir = workspace.cassette(new, &version);
        if Cassette::manifest(&dir)?.scenario == *old {
            cassette::name(&dir, new)?;
            done.push(workspace.shown(&dir.join("cassette.toml")));
        }
    }
    for (path, text) in named_goldens(workspace, old, new)?.into_iter().chain(lists) {
        files::replace(&path, text)?;
        done.push(workspace.shown(&path));
    }
    Ok(done)
}

/// Returns whether a cassette in the folder of one scenario is a recording of another.
fn holds(
    workspace: &Workspace,
    folder: &ScenarioName,
    scenario: &ScenarioName,
) -> Result<bool, RenameError> {
    let mut is_one = false;
    for version in workspace.recorded(folder)? {
        is_one |= Cassette::manifest(&workspace.cassette(folder, &version))?.scenario == *scenario;
    }
    Ok(is_one)
}

/// Returns the goldens in the folder of the new name that still have the old one, with their new text.
fn named_goldens(
    workspace: &Workspace,
    old: &ScenarioName,
    new: &ScenarioName,
) -> Result<Vec<(PathBuf, String)>, RenameError> {
    let marks = [
        (format!("source: scenarios/{old}/"), format!("source: scenarios/{new}/")),
        (format!("[[clitape:{old}/"), format!("[[clitape:{new}/")),
    ];
    let mut named = Vec::new();
    for path in files::below(&workspace.scenario(new).join("golden"))? {
        let text = files::read_text(&path)?;
        let new = marks.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
        if new != text {
            named.push((path, new));
        }
    }
    Ok(named)
}

/// Returns the files that list the scenario by its old name, with their new text: `clitape.toml`, and the known
/// differences of its subjects.
fn named_lists(
    workspace: &Workspace,
    old: &ScenarioName,
    new: &ScenarioName,
) -> Result<Vec<(PathBuf, String)>, RenameError> {
    let config = workspace.root().join(CONFIG);
    if !files::is_there(&config) {
        return Ok(Vec::new());
    }
    let wrong = |path: &Path, error| RenameError::Toml { path: path.to_owned(), error };
    let read = DocumentMut::from_str(&files::read_text(&config)?);
    let toml = read.map_err(|error| wrong(&config, error))?;
    let subjects = toml.get("subject").and_then(Item::as_table_like);
    let known = subjects.into_iter().flat_map(TableLike::iter).filter_map(|(_, subject)| {
        let path = subject.as_table_like()?.get("known")?.as_str()?;
        Some(workspace.root().join(Path::new(path)))
    });
    let known = known.filter(|path| files::is_there(path));
    let mut named = Vec::new();
    for path in [config].into_iter().chain(known) {
        let text = files::read_text(&path)?;
        let new = with_name(&text, old, new).map_err(|error| wrong(&path, error))?;
        if new != text {
            named.push((path, new));
        }
    }
    Ok(named)
}

/// Returns the text of a TOML file that names a scenario otherwise: as `scenario`, among `scenarios`, or as a key of
/// `except`.
fn with_name(text: &str, old: &ScenarioName, new: &ScenarioName) -> Result<String, TomlError> {
    let mut file = DocumentMut::from_str(text)?;
    let is_named = name_in_table(file.as_table_mut(), old.as_str(), new.as_str());
    // What names it nowhere stays as it is, byte for byte.
    Ok(if is_named { file.to_string() } else { text.to_owned() })
}

fn name_in_table(table: &mut dyn TableLike, old: &str, new: &str) -> bool {
    let mut is_named = false;
    if let Some(except) = table.get_mut("except").and_then(Item::as_table_like_mut)
        && let Some(reason) = except.remove(old)
    {
        except.insert(new, reason);
        except.fmt();
        is_named = true;
    }
    for (key, item) in table.iter_mut() {
        let is_name = matches!(key.get(), "scenario" | "scenarios");
        is_named |= match item {
            Item::Table(table) => name_in_table(table, old, new),
            Item::ArrayOfTables(tables) => {
                tables.iter_mut().fold(false, |is_named, it| name_in_table(it, old, new) | is_named)
            }
            Item::Value(value) => name_in_value(value, is_name, old, new),
            Item::None => false,
        };
    }
    is_named
}

fn name_in_value(value: &mut Value, is_name: bool, old: &str, new: &str) -> bool {
    match value {
        Value::String(name) if is_name && name.value() == old => {
            set_value(value, Value::from(new));
            true
        }
        Value::Array(values) => values
            .iter_mut()
            .fold(false, |is_named, it| name_in_value(it, is_name, old, new) | is_named),
        Value::InlineTable(table) => name_in_table(table, old, new),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_a_scenario_by_its_key_alone() {
        let check = |text: &str, expect: &str| {
            let [old, new] = ["a-b", "c"].map(|name| name.parse().expect("a name"));
            assert_eq!(with_name(text, &old, &new).expect("TOML"), expect);
        };
        check(
            "# a-b\n[subject.a-b]\nscenarios = ['x', 'a-b'] # a-b\nenv = { A = 'a-b' }\n",
            "# a-b\n[subject.a-b]\nscenarios = ['x', \"c\"] # a-b\nenv = { A = 'a-b' }\n",
        );
        check("except = { a-b = 'no', x = 'y' }", "except = { x = 'y', c = 'no' }\n");
        check("[[known]]\nscenario  = 'a-b'\n", "[[known]]\nscenario  = \"c\"\n");
        check("scenario   =  'other'", "scenario   =  'other'");
    }
}
