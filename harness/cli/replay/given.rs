//! The input of `clitape replay`: a cassette, or a capture, which is read while it is replayed where that is possible.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_recording::cassette::{Cassette, Tick, line_by_line};
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::{files, limits};
use clitape_runner::replay::{StdinLine, stdin_lines};

use crate::input::{is_standard, named};

/// The input that the command line names.
pub(super) enum Given {
    /// A recording.
    Recording(Box<GivenRecording>),
    /// A file of stream-json lines, or standard input.
    Capture(CaptureFile),
}

/// A cassette, with the scenario that is played; `None` if the cassette is named by its folder.
pub(super) struct GivenRecording {
    pub(super) cassette: Cassette,
    pub(super) scenario: Option<Scenario>,
}

/// A plain capture.
pub(super) struct CaptureFile {
    path: PathBuf,
    given: PathBuf,
}

/// The two sides of a process and its times, for a replay that has a plan.
pub(super) struct WholeInput {
    pub(super) stdout: Vec<u8>,
    pub(super) stdin: Vec<StdinLine>,
    pub(super) timeline: Vec<Tick>,
}

impl WholeInput {
    /// Copies both sides and the times of a cassette.
    pub(super) fn of_cassette(cassette: &Cassette) -> Self {
        let (stdout, timeline) = (cassette.stdout.clone(), cassette.timeline.clone());
        let stdin = stdin_lines(&cassette.stdin, &timeline);
        Self { stdout, stdin, timeline }
    }
}

impl CaptureFile {
    /// Opens the file, to be read piece by piece.
    pub(super) fn open(&self) -> anyhow::Result<File> {
        files::open_named(&self.path).with_context(|| self.refused())
    }

    /// Reads the file to its end. In its timeline, each line comes on its own.
    pub(super) fn read(&self) -> anyhow::Result<WholeInput> {
        let stdout = files::read_named(&self.path).with_context(|| self.refused())?;
        limits::check_input(&self.path, &stdout)?;
        let timeline = line_by_line(&stdout);
        Ok(WholeInput { stdout, stdin: Vec::new(), timeline })
    }

    /// Returns the message for a failure in the middle of reading.
    pub(super) fn unread(&self) -> String {
        format!("can't read {}", self.path.display())
    }

    fn refused(&self) -> String {
        format!("{}: neither a cassette nor a file of stream-json lines", self.given.display())
    }
}

/// Finds the input that the command line names, and reads a cassette.
pub(super) fn load(workspace: &Workspace, given: &Path) -> anyhow::Result<Given> {
    // The command of a finding names the cassette from the workspace's root, and may be pasted in any folder.
    let from_root = workspace.root().join(given);
    let recording = workspace.cassettes().join(given);
    let (path, scenario) = if is_standard(given) {
        (named(given), None)
    } else if given.exists() {
        (given, None)
    } else if from_root.exists() {
        (&*from_root, None)
    } else if recording.exists() {
        (&*recording, scenario_of(workspace, given))
    } else {
        (given, None)
    };
    if !path.is_dir() {
        return Ok(Given::Capture(CaptureFile { path: path.to_owned(), given: given.to_owned() }));
    }
    // A folder that has a recording and lacks its manifest is a damaged cassette.
    if !path.join("cassette.toml").exists() && !path.join("stdout.jsonl").exists() {
        bail!("{} has no cassette.toml; {}", path.display(), inside(path)?);
    }
    let cassette = Cassette::load(path)?;
    Ok(Given::Recording(Box::new(GivenRecording { cassette, scenario })))
}

/// Loads the scenario of SCENARIO/VERSION. An unreadable scenario counts as `None`, and the recording is replayed
/// without it.
fn scenario_of(workspace: &Workspace, given: &Path) -> Option<Scenario> {
    let name = given.parent().filter(|name| name.components().count() == 1)?;
    workspace.scenario_of(&name.to_str()?.parse().ok()?).ok()
}

/// Returns a hint with the cassettes in a folder, for a user who named the folder above them.
fn inside(dir: &Path) -> anyhow::Result<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.join("cassette.toml").exists() {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    Ok(match found.as_slice() {
        [] => "name a cassette's folder, such as cassettes/plain-text/2.1.329".to_owned(),
        found => format!("name one of {}", found.join(", ")),
    })
}
