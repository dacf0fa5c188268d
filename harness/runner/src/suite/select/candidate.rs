//! The scenarios that can be selected.

use std::io;

use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::Workspace;

use super::pattern::{is_glob, matches};
use crate::suite::pool::short_jobs;

/// A scenario that may be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: ScenarioName,
    /// The versions that are recorded.
    pub versions: Vec<CliVersion>,
    /// The issues it guards; `None` for an unreadable scenario. Such a scenario matches every issue, so that a mistake
    /// in it is found and not left out.
    pub tracks: Option<Vec<String>>,
}

impl Candidate {
    /// Returns whether it tracks an issue, which may be a glob such as `openclaw#*`.
    pub(super) fn tracks(&self, asked: &str) -> bool {
        let means = |track: &String| match is_glob(asked) {
            true => matches(asked, track),
            false => track == asked,
        };
        self.tracks.as_ref().is_none_or(|tracks| tracks.iter().any(means))
    }
}

/// Lists the scenarios of a workspace, sorted by name; their issues are read only `with_tracks`.
///
/// # Errors
///
/// When a folder can't be read.
pub fn candidates(workspace: &Workspace, with_tracks: bool) -> io::Result<Vec<Candidate>> {
    let candidate = |name: &ScenarioName| {
        let tracks = match with_tracks {
            false => Some(Vec::new()),
            true => workspace
                .scenario_of(name)
                .ok()
                .map(|scenario| scenario.tracks.iter().map(ToString::to_string).collect()),
        };
        Ok(Candidate { versions: workspace.recorded(name)?, name: name.clone(), tracks })
    };
    short_jobs(&workspace.names()?, candidate)
}
