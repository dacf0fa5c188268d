//! Removes a version from a workspace: its recordings, the goldens that are valid for it alone, the text of its help,
//! and its name in `clitape.toml`.

use clitape_judge::Golden;
use clitape_recording::cassette::{self, Cassette, Origin};
use clitape_recording::files;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Scenario, Workspace};

use super::error::BaselineError;
use super::held::{known, recorded};

/// The counts of what was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovalCounts {
    /// The number of recordings.
    pub recordings: usize,
    /// The number of goldens.
    pub goldens: usize,
    /// The number of hand-written captures, which stay because they can't be recorded with another version.
    pub imported: usize,
}

/// Removes the files that only `version` needs. The goldens of the other versions stay valid. The facts of
/// `scenario.toml` that name the version stay too, as later versions use them.
///
/// # Errors
///
/// [`BaselineError`] when the version is unknown or the only one, a scenario would be left without a recording, or a
/// golden waits for a review. The workspace is then unchanged.
pub fn leave(workspace: &Workspace, version: &CliVersion) -> Result<RemovalCounts, BaselineError> {
    let versions = workspace.require_versions()?;
    let all = known(workspace, &versions)?;
    if !all.contains(version) {
        let known = all.join(", ");
        return Err(BaselineError::Unknown { version: version.clone(), known });
    }
    let is_named = versions.baseline().contains(version);
    let Some(others) = versions.without(version) else {
        return Err(BaselineError::Last(version.clone()));
    };
    let mut left = RemovalCounts::default();
    let mut gone: Vec<(Scenario, Vec<CliVersion>)> = Vec::new();
    let mut alone = Vec::new();
    for name in recorded(workspace, version)? {
        let cassette = Cassette::find(workspace, &name, version)?;
        if cassette.manifest.origin != Origin::Recorded {
            left.imported += 1;
            continue;
        }
        let mut kept = workspace.recorded(&name)?;
        kept.retain(|of| of != version);
        if kept.is_empty() {
            alone.push(name);
            continue;
        }
        let scenario = workspace.scenario_of(&name)?;
        if !Golden::pending(&scenario)?.is_empty() {
            return Err(BaselineError::Pending(name));
        }
        gone.push((scenario, kept));
    }
    if !alone.is_empty() {
        let scenarios = alone.join(", ");
        return Err(BaselineError::OnlyOne { version: version.clone(), scenarios });
    }
    if is_named {
        workspace.write_versions(&others)?;
    }
    // The recordings are removed last: as long as one is left, the same command completes a removal that failed.
    if let Some(dir) = workspace.help(version).parent() {
        files::remove_folder(dir, files::UNFINISHED)?;
    }
    for (scenario, kept) in gone {
        left.goldens += Golden::forget(&scenario, version, &kept)?;
        cassette::remove(&workspace.cassette(&scenario.name, version))?;
        left.recordings += 1;
    }
    Ok(left)
}
