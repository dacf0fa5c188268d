//! What `clitape init` writes into a folder: the files of a workspace, beside a first scenario.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::ScenarioError;
use super::template;
use super::workspace::Workspace;
use crate::files;
use crate::names::ScenarioName;
use crate::text::plural;

/// Files to which lines are added where they are there already.
const LINES: [(&str, &str); 2] = [
    (".gitattributes", include_str!("template/gitattributes")),
    (".gitignore", include_str!("template/gitignore")),
];
/// The workflow of GitHub Actions, and its place in a repository.
const WORKFLOW: (&str, &str) =
    (".github/workflows/clitape.yml", include_str!("template/workflow.yml"));
/// Stands for the workspace's folder in the workflow.
const FOLDER: &str = "{{folder}}";

/// A file or folder, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitStep {
    /// The place, as seen from the workspace.
    pub place: String,
    /// What became of it.
    pub done: InitDone,
}

/// What became of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitDone {
    /// It was not there, and is now.
    Wrote,
    /// Lines were added to it.
    Added(usize),
    /// It was there and is as it was, for this reason.
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

/// Makes a workspace of a folder, with the scenario `first` if it has none. Nothing that is there is overwritten: lines
/// that are missing are added to `.gitattributes` and `.gitignore`. The workflow goes where GitHub looks for it, into
/// the nearest folder above that is a repository.
///
/// # Errors
///
/// [`ScenarioError`] when a file can't be read or written, or is a link.
pub fn init(workspace: &Workspace, first: &ScenarioName) -> Result<Vec<InitStep>, ScenarioError> {
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
    let place = format!("scenarios/{first}/");
    if names.is_empty() {
        template::write(workspace, first)?;
        step(&place, InitDone::Wrote);
    } else {
        template::write_config(workspace)?;
        step("scenarios/", InitDone::Kept("it has scenarios already"));
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
    let (place, text) = WORKFLOW;
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
        // A string of JSON is one of YAML too.
        let folder = serde_json::Value::from(folder).to_string();
        files::replace(&path, text.replace(FOLDER, &folder))?;
        step(&shown, InitDone::Wrote);
    }
    Ok(steps)
}

/// Adds the lines of `text` that a file lacks, comments only with one of them; writes the file where there is none.
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

/// The repository of a folder, and the folder as seen from it; the folder itself if it is in none.
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
