//! The scenarios that a new workspace gets with their recordings, so that the first test says something.

use super::error::ScenarioError;
use super::workspace::Workspace;
use crate::files::{self, NewFolder, UNFINISHED_CASSETTE};
use crate::names::{CliVersion, ScenarioName};

/// A scenario with the recording of one version.
#[derive(Debug, Clone, Copy)]
pub struct Starter<'a> {
    /// Its name.
    pub name: &'a str,
    /// The version of the CLI that was recorded.
    pub version: &'a str,
    /// The files of the scenario.
    pub scenario: &'a [StarterFile<'a>],
    /// The files of the cassette.
    pub cassette: &'a [StarterFile<'a>],
}

/// A file of a [`Starter`].
#[derive(Debug, Clone, Copy)]
pub struct StarterFile<'a> {
    /// Its path in the folder of the scenario or the cassette.
    pub place: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

impl Starter<'_> {
    /// Writes the scenario with its recording, unless a scenario of this name is there. The recording comes first, so that
    /// the same command completes what broke off. Returns whether it was written.
    #[allow(clippy::expect_used, reason = "the names are those of committed folders")]
    pub(super) fn write(&self, workspace: &Workspace) -> Result<bool, ScenarioError> {
        let name: ScenarioName = self.name.parse().expect("it is the name of a committed scenario");
        let version: CliVersion = self.version.parse().expect("it is a recorded version");
        if files::is_there(&workspace.scenario(&name)) {
            return Ok(false);
        }
        let scenario = filled(workspace.new_scenario(&name)?, self.scenario)?;
        let place = workspace.new_cassette(&name, &version)?;
        let cassette = NewFolder::beside(&place, UNFINISHED_CASSETTE[0])?;
        filled(cassette, self.cassette)?.put_over()?;
        scenario.put()?;
        Ok(true)
    }
}

/// Returns a folder with these files.
fn filled(folder: NewFolder, content: &[StarterFile<'_>]) -> Result<NewFolder, ScenarioError> {
    for file in content {
        folder.write(file.place, file.bytes)?;
    }
    Ok(folder)
}
