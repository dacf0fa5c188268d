//! The workspace: the folder that contains `scenarios/` and `cassettes/`.
//!
//! `clitape.toml` may have `[versions]`, which is written without a change to the rest of the file, including comments.
//! In `.clitape/` clitape stores its own files between runs; version control ignores it.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use fs_err as fs;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::error::{ScenarioError, read_toml};
use super::load::Scenario;
use super::versions::{self, Versions};
use crate::files::{self, CONFIG, FileError, NewFolder, SCENARIOS};
use crate::names::{CliVersion, NameError, ScenarioName, SubjectName};
use crate::text::shell_quote;
use crate::toml_text::set_value;

const CASSETTES: &str = "cassettes";
const VERSIONS: &str = "versions";

/// The folder that contains `scenarios/` and `cassettes/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    /// True if a user named the root, so that a line for the user names it too.
    is_named: bool,
}

/// A file or folder in `scenarios/` or `cassettes/` that cannot be a scenario or a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The path in the workspace: `scenarios/Late edit`.
    pub path: PathBuf,
    /// The mistake and the next step, in a sentence.
    pub why: String,
}

impl Workspace {
    /// Takes the workspace at `root`, which may not exist yet.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), is_named: false }
    }

    /// Takes the workspace at `root`, which a user named with `--root`.
    pub fn named(root: &Path) -> Self {
        Self { root: root.to_owned(), is_named: true }
    }

    /// Returns the beginning of a shell command for this workspace: `clitape`, or `clitape --root DIR`.
    pub fn program(&self) -> String {
        match self.is_named {
            true => format!("clitape --root {}", shell_quote(&self.root.to_string_lossy())),
            false => "clitape".to_owned(),
        }
    }

    /// Finds the nearest workspace at or above `dir`: the first folder with a `scenarios/` in it.
    pub fn above(dir: &Path) -> Option<Self> {
        dir.ancestors().find(|root| root.join(SCENARIOS).is_dir()).map(Self::at)
    }

    /// Returns the folder of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of `clitape.toml`.
    pub(super) fn config(&self) -> PathBuf {
        self.root.join(CONFIG)
    }

    /// Returns the folder of a scenario.
    pub fn scenario(&self, name: &ScenarioName) -> PathBuf {
        self.root.join(SCENARIOS).join(name.as_str())
    }

    /// Returns the path of `cassettes/`.
    pub fn cassettes(&self) -> PathBuf {
        self.root.join(CASSETTES)
    }

    /// Returns the folder of a cassette.
    pub fn cassette(&self, scenario: &ScenarioName, version: &CliVersion) -> PathBuf {
        self.cassettes().join(scenario.as_str()).join(version.as_str())
    }

    /// Returns the folder of the plans of a scenario that failed.
    pub(crate) fn failures(&self, name: &ScenarioName) -> PathBuf {
        self.root.join(OWN_FOLDER).join(FAILURES).join(name.as_str())
    }

    /// Returns the file with the output of `claude --help` of a version.
    pub fn help(&self, version: &CliVersion) -> PathBuf {
        self.root.join(VERSIONS).join(version.as_str()).join("help.txt")
    }

    /// Returns the names of the scenarios, sorted.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn names(&self) -> io::Result<Vec<ScenarioName>> {
        Ok(self.folders(Path::new(SCENARIOS))?.0)
    }

    /// Returns the names of the scenarios that have a folder of cassettes, sorted.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn recorded_names(&self) -> io::Result<Vec<ScenarioName>> {
        Ok(self.folders(Path::new(CASSETTES))?.0)
    }

    /// Returns the CLI versions recorded for a scenario, sorted.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn recorded(&self, scenario: &ScenarioName) -> io::Result<Vec<CliVersion>> {
        Ok(self.folders(&Path::new(CASSETTES).join(scenario.as_str()))?.0)
    }

    /// Returns the names of the subjects in `clitape.toml`, sorted; empty if the file is missing.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or is not TOML.
    pub fn subjects(&self) -> io::Result<Vec<SubjectName>> {
        let text = match files::read_text(&self.config()) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            text => text?,
        };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{CONFIG}: {}", error.message()))
        })?;
        let subjects = table.get("subject").and_then(toml::Value::as_table);
        let names = subjects.into_iter().flat_map(toml::Table::keys);
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Reads `[versions]` of `clitape.toml`; `None` if the file or the table is missing.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] with the line of a mistake in it.
    pub fn versions(&self) -> Result<Option<Versions>, ScenarioError> {
        /// The part of `clitape.toml` with the versions; the subjects are read elsewhere.
        #[derive(serde::Deserialize)]
        struct Config {
            versions: Option<Versions>,
        }
        match files::is_there(&self.config()) {
            true => Ok(read_toml::<Config>(&self.config())?.versions),
            false => Ok(None),
        }
    }

    /// Reads `[versions]` of `clitape.toml`, for a command that needs it.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if `[versions]` is missing, or has a mistake.
    pub fn require_versions(&self) -> Result<Versions, ScenarioError> {
        self.versions()?.ok_or_else(|| versions::missing(self.config()))
    }

    /// Returns the CLI versions for which a scenario must have a cassette, the oldest first: those of
    /// [`Workspace::versions`] within the exception of the scenario. It is empty without `[versions]`, or for an
    /// imported scenario, which has no model and can't be recorded.
    pub fn wanted(&self, scenario: &Scenario, versions: Option<&Versions>) -> Vec<CliVersion> {
        let versions = versions.filter(|_| scenario.has_model());
        versions.map(|all| all.within(scenario.record.only.as_ref())).unwrap_or_default()
    }

    /// Returns the versions for a command that records the scenario, which needs `[versions]`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if `[versions]` is missing, or has a mistake.
    pub fn versions_to_record(
        &self,
        scenario: &Scenario,
    ) -> Result<Vec<CliVersion>, ScenarioError> {
        Ok(self.require_versions()?.within(scenario.record.only.as_ref()))
    }

    /// Returns the recorded version of a scenario that a command takes by default: the newest one within the exception
    /// of the scenario, or else the newest one; `None` without a recording.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn usual_version(&self, scenario: &Scenario) -> io::Result<Option<CliVersion>> {
        let mut recorded = self.recorded(&scenario.name)?;
        scenario.sort_versions(&mut recorded);
        Ok(recorded.into_iter().next())
    }

    /// Returns the entries of `scenarios/` and `cassettes/` with an invalid name, and links.
    ///
    /// # Errors
    ///
    /// When a folder can't be read.
    pub fn strays(&self) -> io::Result<Vec<Stray>> {
        let (_, mut strays) = self.folders::<ScenarioName>(Path::new(SCENARIOS))?;
        let (recorded, more) = self.folders::<ScenarioName>(Path::new(CASSETTES))?;
        strays.extend(more);
        for scenario in recorded {
            let place = Path::new(CASSETTES).join(scenario.as_str());
            let (_, more) = self.folders::<CliVersion>(&place)?;
            strays.extend(more);
        }
        Ok(strays)
    }

    /// Loads the scenario of this name; a path to its folder is accepted too.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if it is missing, or can't be used.
    pub fn load(&self, name: &str) -> Result<Scenario, ScenarioError> {
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
        let unknown = |new: &str| match self.names() {
            Ok(known) => unknown(last, new, &self.root, &known),
            Err(error) => error.into(),
        };
        let parsed = last.parse::<ScenarioName>().map_err(|_| unknown("NAME"))?;
        if !files::is_there(&self.scenario(&parsed)) {
            return Err(unknown(last));
        }
        self.scenario_of(&parsed)
    }

    /// Loads the scenario of this name.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if it is missing, or can't be used.
    pub fn scenario_of(&self, name: &ScenarioName) -> Result<Scenario, ScenarioError> {
        let place = Path::new(SCENARIOS).join(name.as_str());
        files::check_folders(&self.root, &place)?;
        Scenario::load(&self.root.join(place))
    }

    /// Returns the path at which a cassette is to be written.
    ///
    /// # Errors
    ///
    /// When a folder above it is a link.
    pub fn new_cassette(
        &self,
        scenario: &ScenarioName,
        version: &CliVersion,
    ) -> io::Result<PathBuf> {
        files::check_folders(&self.root, &Path::new(CASSETTES).join(scenario.as_str()))?;
        Ok(self.cassette(scenario, version))
    }

    /// Makes a folder that becomes that of a new scenario once all of its files are in it.
    ///
    /// # Errors
    ///
    /// When `scenarios/` is a link, the scenario exists, or the folder can't be made.
    pub fn new_scenario(&self, name: &ScenarioName) -> Result<NewFolder, ScenarioError> {
        files::check_folders(&self.root, Path::new(SCENARIOS))?;
        let place = self.scenario(name);
        let folder = NewFolder::beside(&place, files::UNFINISHED)?;
        if files::is_there(&place) {
            let what = "it is there already; choose another name, or change that one".to_owned();
            return Err(ScenarioError::Invalid { path: place, what });
        }
        Ok(folder)
    }

    /// Finds the folders that interrupted writers of scenarios left.
    ///
    /// # Errors
    ///
    /// When `scenarios/` can't be read.
    pub fn unfinished_scenarios(&self) -> io::Result<Vec<PathBuf>> {
        files::leftovers(&self.root.join(SCENARIOS), &[files::UNFINISHED])
    }

    /// Returns a path relative to the workspace, for a message.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// Lists the folders in `place`, sorted by their names, and the entries with an invalid name; both are empty if the
    /// folder is missing. Files are ignored, and hidden entries without a scenario or a cassette.
    fn folders<T>(&self, place: &Path) -> io::Result<(Vec<T>, Vec<Stray>)>
    where
        T: FromStr<Err = NameError> + Ord,
    {
        let (mut names, mut strays) = (Vec::new(), Vec::new());
        files::check_folders(&self.root, place)?;
        let dir = self.root.join(place);
        if !dir.exists() {
            return Ok((names, strays));
        }
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            if !(kind.is_dir() || kind.is_symlink()) {
                continue;
            }
            let path = place.join(&name);
            if name.as_encoded_bytes().starts_with(b".") {
                if kind.is_dir() && holds_recording(&entry.path()) && !is_of_writer(&name) {
                    let why = "a name that begins with a dot hides it, and it is not tested; rename the folder or \
                               remove it";
                    strays.push(Stray { path, why: why.to_owned() });
                }
                continue;
            }
            let why = match name.to_string_lossy().parse::<T>() {
                Ok(_) if kind.is_symlink() => FileError::Link(path.clone()).to_string(),
                Ok(name) => {
                    names.push(name);
                    continue;
                }
                Err(error) => format!("{error}; rename the folder or remove it"),
            };
            strays.push(Stray { path, why });
        }
        names.sort();
        strays.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((names, strays))
    }
}

/// Returns whether a folder is a scenario, a cassette, or the folder of a scenario's cassettes.
fn holds_recording(folder: &Path) -> bool {
    let is_recording = |folder: &Path| {
        ["scenario.toml", "cassette.toml"].iter().any(|file| folder.join(file).is_file())
    };
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    is_recording(folder) || inside.into_iter().any(|entry| is_recording(&entry.path()))
}

/// Returns whether a writer of clitape gave a folder its name; what it left is another finding.
fn is_of_writer(name: &OsStr) -> bool {
    let mut prefixes = files::UNFINISHED_CASSETTE.iter().chain([&files::UNFINISHED]);
    prefixes.any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

/// Makes the error for a missing scenario `name`; `new` is a name that can be written.
fn unknown(name: &str, new: &str, root: &Path, known: &[ScenarioName]) -> ScenarioError {
    let hint = match known {
        [] => format!("write one with `clitape new {new}`"),
        known => {
            format!("there are {}; write a new one with `clitape new {new}`", known.join(", "))
        }
    };
    ScenarioError::Unknown { name: name.to_owned(), root: root.to_owned(), hint }
}

impl Workspace {
    /// Writes other versions into `[versions]` of `clitape.toml`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the file has no `[versions]`, is invalid or can't be written; it then stays unchanged.
    pub fn write_versions(&self, versions: &Versions) -> Result<(), ScenarioError> {
        self.require_versions()?;
        let text =
            with_versions(&files::read_text(&self.config())?, versions).map_err(|error| {
                ScenarioError::Invalid { path: self.config(), what: error.message().to_owned() }
            })?;
        Ok(files::replace(&self.config(), text)?)
    }
}

/// Returns the text of a `clitape.toml` with other versions.
fn with_versions(text: &str, versions: &Versions) -> Result<String, toml_edit::TomlError> {
    let mut file = DocumentMut::from_str(text)?;
    let all: Array = versions.baseline().iter().map(|version| version.as_str()).collect();
    set_item(&mut file["versions"]["newest"], versions.newest().as_str().into());
    set_item(&mut file["versions"]["baseline"], all.into());
    Ok(file.to_string())
}

/// Puts a value into an item, and keeps the blanks and the comment around the one before.
fn set_item(item: &mut Item, value: Value) {
    match item.as_value_mut() {
        Some(before) => set_value(before, value),
        None => *item = Item::Value(value),
    }
}

/// The folder of clitape's own files.
const OWN_FOLDER: &str = ".clitape";
const FAILURES: &str = "failures";

/// A file that clitape stores in a workspace.
#[derive(Debug, Clone, Copy)]
pub enum OwnFile<'a> {
    /// The plans of a recording that failed: `.clitape/failures/NAME/VERSION.json`.
    Failures(&'a ScenarioName, &'a CliVersion),
    /// The progress of `clitape sweep`: `.clitape/sweep.json`.
    Sweep,
}

impl OwnFile<'_> {
    /// Returns the path of the file.
    pub fn path(self, workspace: &Workspace) -> PathBuf {
        workspace.root().join(OWN_FOLDER).join(self.place())
    }

    /// Reads the file; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// When it can't be read, or a folder on the way is a link.
    pub fn read(self, workspace: &Workspace) -> Result<Option<String>, FileError> {
        self.check_folders(workspace)?;
        match files::read_text(&self.path(workspace)) {
            Err(error) if error.is_not_found() => Ok(None),
            text => Ok(Some(text?)),
        }
    }

    /// Writes the whole file, and makes its folders.
    ///
    /// # Errors
    ///
    /// When it can't be written, or a folder on the way is a link.
    pub fn write(self, workspace: &Workspace, text: &str) -> Result<(), FileError> {
        self.check_folders(workspace)?;
        files::make_folder(&workspace.root().join(self.folder()))?;
        let ignored = workspace.root().join(OWN_FOLDER).join(".gitignore");
        if !files::is_there(&ignored) {
            files::replace(&ignored, "*\n")?;
        }
        files::replace(&self.path(workspace), text)
    }

    /// Removes the file; a missing one is accepted.
    ///
    /// # Errors
    ///
    /// When it can't be removed, or a folder on the way is a link.
    pub fn remove(self, workspace: &Workspace) -> Result<(), FileError> {
        self.check_folders(workspace)?;
        files::remove(&self.path(workspace))
    }

    /// Returns the path below the folder of clitape's own files.
    fn place(self) -> PathBuf {
        match self {
            Self::Failures(name, version) => {
                Path::new(FAILURES).join(name.as_str()).join(format!("{version}.json"))
            }
            Self::Sweep => PathBuf::from("sweep.json"),
        }
    }

    /// Returns the folder of the file, relative to the workspace.
    fn folder(self) -> PathBuf {
        let mut place = Path::new(OWN_FOLDER).join(self.place());
        place.pop();
        place
    }

    fn check_folders(self, workspace: &Workspace) -> Result<(), FileError> {
        files::check_folders(workspace.root(), &self.folder())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, add: &str, expect: &str) {
        let file: toml::Table = toml::from_str(text).unwrap();
        let versions: Versions = file["versions"].clone().try_into().unwrap();
        let versions = versions.with(&add.parse().unwrap());
        assert_eq!(with_versions(text, &versions).unwrap(), expect);
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        check(
            "# First.\n[versions]\nnewest  =  '2.1.329' # last\nbaseline = [\n  '2.1.148',\n  '2.1.329',\n]\n\n\
             [subject.a] # A.\nkind='gateway'\n",
            "2.1.332",
            "# First.\n[versions]\nnewest  =  \"2.1.332\" # last\n\
             baseline = [\"2.1.148\", \"2.1.329\", \"2.1.332\"]\n\n[subject.a] # A.\nkind='gateway'\n",
        );
        check(
            "versions = { newest = '2.1.9', baseline = ['2.1.9'] }\n",
            "2.1.8",
            "versions = { newest = \"2.1.9\", baseline = [\"2.1.8\", \"2.1.9\"] }\n",
        );
    }
}
