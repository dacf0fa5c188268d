//! The files that clitape writes for a person: the scenario of `clitape new`, which records and passes without a
//! change, and the workspace of `clitape init` around a first scenario.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::error::ScenarioError;
use super::starter::Starter;
use super::workspace::Workspace;
use crate::files::{self, NewFolder};
use crate::names::{CliVersion, ScenarioName};
use crate::text::plural;

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

/// The `clitape.toml` of a new workspace.
const CONFIG: &str = include_str!("template/clitape.toml");

/// The scenario of an imported capture; it has no model, so it can't be recorded again.
const SKELETON: &str = include_str!("template/imported.toml");

/// The placeholder of the scenario's name in the files.
const NAME: &str = "{{name}}";
/// The placeholder of the CLI's version.
const VERSION: &str = "{{version}}";

/// Writes the scenario `name`, and `clitape.toml` if it is missing; returns the folder of the scenario.
///
/// # Errors
///
/// [`ScenarioError`] if the scenario exists, or a file can't be written.
pub fn write(workspace: &Workspace, name: &ScenarioName) -> Result<PathBuf, ScenarioError> {
    let folder = workspace.new_scenario(name)?;
    for (place, text) in FILES {
        folder.write(place, text.replace(NAME, name))?;
    }
    write_config(workspace)?;
    Ok(folder.put()?)
}

/// Writes `clitape.toml` if it is missing.
fn write_config(workspace: &Workspace) -> Result<(), ScenarioError> {
    let config = workspace.config();
    if !files::is_there(&config) {
        files::replace(&config, CONFIG)?;
    }
    Ok(())
}

/// Makes the scenario `name` around an imported cassette of CLI `version`; its folder is put in place with the
/// cassette.
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

/// The keys of `[record]` that a scenario around a part of a recording keeps.
const KEPT: [&str; 6] = ["prompt", "host", "say", "args", "login", "partial_messages"];
/// The seeded plans of such a scenario.
const PLANS: i64 = 16;

/// The failure that a scenario around a part of a recording shows.
#[derive(Debug, Clone, Copy)]
pub struct SmallestFailure<'a> {
    /// The scenario whose recording it is a part of.
    pub of: &'a ScenarioName,
    /// The version of the CLI that was recorded.
    pub version: &'a CliVersion,
    /// The failure in a sentence.
    pub about: &'a str,
    /// The plan that fails, as JSON.
    pub plan: Option<&'a str>,
    /// The view of a chat in which the plan gives another outcome, which gets a variant.
    pub variant_of: Option<&'a str>,
}

/// Makes the scenario `name` around a part of a recording that fails; its folder is put in place with the cassette.
///
/// # Errors
///
/// As [`write()`], and if the scenario that it is a part of can't be read.
pub fn smallest(
    workspace: &Workspace,
    name: &ScenarioName,
    failure: SmallestFailure<'_>,
) -> Result<NewFolder, ScenarioError> {
    let SmallestFailure { of, version, about, plan, variant_of } = failure;
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
    let table = |keys: &[(&str, &str)]| {
        let keys = keys.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text)));
        Value::from(vec![Table::from_iter(keys)])
    };
    if let Some(view) = variant_of {
        let keys = [("name", "other"), ("view", view), ("about", about)];
        file.insert("variant".into(), table(&keys));
    }
    if let Some(plan) = plan {
        file.insert("plan".into(), table(&[("cli", version.as_str()), ("json", plan)]));
    }
    let text = toml::to_string(&file).map_err(|error| invalid(error.to_string()))?;
    let head =
        format!("# Written by `clitape shrink`: a part of the recording of {of} {version}.\n");
    let folder = workspace.new_scenario(name)?;
    folder.write("scenario.toml", head + &text)?;
    Ok(folder)
}

/// The files to which lines are added if they exist.
const LINES: [(&str, &str); 2] = [
    (".gitattributes", include_str!("template/gitattributes")),
    (".gitignore", include_str!("template/gitignore")),
];
/// The workflow of GitHub Actions, and its place in a repository.
const WORKFLOW: (&str, &str) =
    (".github/workflows/clitape.yml", include_str!("template/workflow.yml"));
/// The line of the workflow that tests clitape's own bridge.
const OWN_STEP: &str = "      - run: clitape test --github --junit clitape.xml\n";
/// How a gateway is set up in the workflow, by the file that a repository has for it. The machine has these programs.
const SETUPS: [(&str, &str); 4] = [
    ("package.json", "npm install --no-audit --no-fund"),
    ("requirements.txt", "python3 -m pip install -r requirements.txt"),
    ("pyproject.toml", "python3 -m pip install ."),
    ("go.mod", "go build ./..."),
];

/// What a new workspace is for.
#[derive(Debug, Clone, Copy)]
pub struct InitPlan<'a> {
    /// The scenarios that a new workspace gets with their recordings, unless a person names the first scenario.
    pub starters: &'a [Starter<'a>],
    /// The first scenario.
    pub first: &'a ScenarioName,
    /// True if a person named it, so that it is written beside others.
    pub is_named: bool,
    /// True if only a gateway of their own is tested, and clitape's bridge is left out.
    pub is_gateway: bool,
}

/// Returns the workflow of a workspace that is in this folder of its repository.
fn workflow(root: &Path, folder: &str, is_gateway: bool) -> String {
    let setup = SETUPS.iter().filter(|(file, _)| files::is_there(&root.join(file)));
    let setup: String = setup.map(|(_, command)| format!("      - run: {command}\n")).collect();
    let inside = if folder == "." { String::new() } else { format!("{folder}/") };
    // A JSON string is also a YAML string.
    let quoted = serde_json::Value::from(folder).to_string();
    let own = if is_gateway { "" } else { OWN_STEP };
    let places = [
        ("{{version}}", env!("CARGO_PKG_VERSION")),
        ("{{folder}}", &quoted),
        ("{{inside}}", &inside),
        ("{{setup}}", &setup),
        ("{{own}}", own),
    ];
    places.iter().fold(WORKFLOW.1.to_owned(), |text, (place, value)| text.replace(place, value))
}

/// A file or folder, and the change made to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitStep {
    /// The path in the workspace.
    pub place: String,
    /// The change.
    pub done: InitDone,
}

/// The change made to a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitDone {
    /// The file is new.
    Wrote,
    /// The number of lines that were added to the file.
    Added(usize),
    /// The file stays unchanged, for this reason.
    Kept(&'static str),
}

impl fmt::Display for InitStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, done } = self;
        match done {
            InitDone::Wrote => write!(f, "wrote  {place}"),
            InitDone::Added(lines) => write!(f, "added  {} to {place}", plural(*lines, "line")),
            InitDone::Kept(why) => write!(f, "kept   {place}: {why}"),
        }
    }
}

/// Makes a workspace of a folder, with the first scenario if it has none of its own, or if it lacks this one and a person
/// named it. A folder without `clitape.toml` also gets the starters, unless a person named the first scenario.
/// Existing files are not overwritten: missing lines are added to `.gitattributes` and `.gitignore`. The workflow goes
/// where GitHub looks for it, into the nearest folder above that is a repository.
///
/// # Errors
///
/// [`ScenarioError`] if a file can't be read or written, or is a link.
pub fn init(workspace: &Workspace, plan: InitPlan<'_>) -> Result<Vec<InitStep>, ScenarioError> {
    let InitPlan { starters, first, is_named, is_gateway } = plan;
    let root = workspace.root();
    files::make_folder(root)?;
    let mut steps = Vec::new();
    let mut step = |place: &str, done| steps.push(InitStep { place: place.to_owned(), done });
    for (place, text) in LINES {
        step(place, add_lines(&root.join(place), text)?);
    }
    let config = workspace.config();
    let had_config = files::is_there(&config);
    let names = workspace.names()?;
    if !is_named && !had_config {
        for starter in starters {
            if starter.write(workspace)? {
                let Starter { name, version, .. } = starter;
                step(&format!("scenarios/{name}/, recorded with {version}"), InitDone::Wrote);
            }
        }
    }
    let place = format!("scenarios/{first}/");
    // A workspace whose making broke off has nothing but some of those.
    let has_own =
        names.iter().any(|name| starters.iter().all(|starter| starter.name != name.as_str()));
    if (!has_own || is_named) && !names.contains(first) {
        write(workspace, first)?;
        step(&place, InitDone::Wrote);
    } else {
        write_config(workspace)?;
        let place = if is_named { &place } else { "scenarios/" };
        step(place, InitDone::Kept("it is there already"));
    }
    let has_versions = workspace.versions()?.is_some();
    let done = match (had_config, has_versions) {
        (false, _) => InitDone::Wrote,
        (true, true) => InitDone::Kept("it names versions of the CLI already"),
        (true, false) => {
            InitDone::Kept("add `[versions]` with `newest` and `baseline`, which `record` needs")
        }
    };
    step("clitape.toml", done);
    let (repository, folder) = repository(root)?;
    let place = WORKFLOW.0;
    let path = repository.join(place);
    let shown = match folder.as_str() {
        "." => place.to_owned(),
        _ => path.display().to_string(),
    };
    if files::is_there(&path) {
        step(&shown, InitDone::Kept("it is there already"));
    } else {
        let parent = Path::new(place).parent().unwrap_or(Path::new(place));
        files::check_folders(&repository, parent)?;
        files::make_folder(&repository.join(parent))?;
        files::replace(&path, workflow(root, &folder, is_gateway))?;
        step(&shown, InitDone::Wrote);
    }
    Ok(steps)
}

/// Adds the lines of `text` that a file lacks, comments only together with one of them; writes the file if it is
/// missing.
fn add_lines(path: &Path, text: &str) -> Result<InitDone, ScenarioError> {
    let mut there = match files::read_text(path) {
        Err(error) if error.is_not_found() => {
            files::replace(path, text)?;
            return Ok(InitDone::Wrote);
        }
        there => there?,
    };
    let has = |line: &str| there.lines().any(|own| own.trim() == line);
    let missing: Vec<&str> =
        text.lines().filter(|line| !line.starts_with('#') && !has(line)).collect();
    if missing.is_empty() {
        return Ok(InitDone::Kept("it has every line"));
    }
    let comments = text.lines().filter(|line| line.starts_with('#') && !has(line));
    let added: Vec<&str> = comments.chain(missing.iter().copied()).collect();
    if !there.is_empty() && !there.ends_with('\n') {
        there.push('\n');
    }
    there.push_str(&(added.join("\n") + "\n"));
    files::replace(path, there)?;
    Ok(InitDone::Added(missing.len()))
}

/// Returns the repository of a folder, and the folder's path in it; the folder itself if it is in none.
fn repository(root: &Path) -> Result<(PathBuf, String), ScenarioError> {
    Ok(match files::repository(root)?.filter(|(_, folder)| !folder.as_os_str().is_empty()) {
        Some((repository, folder)) => (repository, folder.to_string_lossy().into_owned()),
        None => (root.to_owned(), ".".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_added_and_none_is_changed() {
        const WANTED: &str = "# Why.\n*.snap.new\n.clitape/\n";
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".gitignore");
        for (before, expect, after) in [
            (None, InitDone::Wrote, WANTED),
            (Some(""), InitDone::Added(2), WANTED),
            (Some("target"), InitDone::Added(2), "target\n# Why.\n*.snap.new\n.clitape/\n"),
            (Some(".clitape/\r\n"), InitDone::Added(1), ".clitape/\r\n# Why.\n*.snap.new\n"),
            (
                Some(".clitape/\n*.snap.new\n"),
                InitDone::Kept("it has every line"),
                ".clitape/\n*.snap.new\n",
            ),
        ] {
            match before {
                None => {}
                Some(text) => fs::write(&path, text).unwrap(),
            }
            assert_eq!(add_lines(&path, WANTED).unwrap(), expect, "{before:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?}");
        }
    }
}
