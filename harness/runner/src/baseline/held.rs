//! Computes the size of each version on disk.

use std::io;

use clitape_judge::Golden;
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Versions, Workspace};
use serde::Serialize;

use super::error::BaselineError;

/// A version of the CLI, with the recordings and goldens that a workspace has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldVersion {
    /// The version.
    pub version: CliVersion,
    /// True if `[versions]` of `clitape.toml` names it. Hand-written captures may be of another one.
    pub in_baseline: bool,
    /// The number of scenarios that have a recording of it.
    pub recordings: usize,
    /// The bytes of these recordings, and of its help text.
    pub recording_bytes: u64,
    /// The number of goldens that name it. They are valid for later versions too.
    pub goldens: usize,
    /// The bytes of these goldens.
    pub golden_bytes: u64,
}

/// The recordings and goldens of all versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionInventory {
    /// The versions, the oldest first.
    pub versions: Vec<HeldVersion>,
    /// The number of goldens that name no version: those of the oldest version of each scenario, of variants and of
    /// subjects.
    pub goldens: usize,
    /// The bytes of these goldens.
    pub golden_bytes: u64,
}

/// Returns the number and size of the recordings and goldens of each version.
///
/// # Errors
///
/// [`BaselineError`] when `clitape.toml` has no `[versions]`, or a file or folder can't be read.
pub fn held(workspace: &Workspace) -> Result<VersionInventory, BaselineError> {
    let versions = workspace.require_versions()?;
    let mut held = Vec::new();
    for version in known(workspace, &versions)? {
        let names = recorded(workspace, &version)?;
        let mut recording_bytes = files::bytes(&[workspace.help(&version)])?;
        let mut goldens = Vec::new();
        for name in &names {
            let dir = workspace.cassette(name, &version);
            recording_bytes += files::bytes(&files::below(&dir)?)?;
            goldens.extend(Golden::of_version(&workspace.scenario_of(name)?, &version)?);
        }
        held.push(HeldVersion {
            in_baseline: versions.baseline().contains(&version),
            version,
            recordings: names.len(),
            recording_bytes,
            golden_bytes: files::bytes(&goldens)?,
            goldens: goldens.len(),
        });
    }
    let mut all = Vec::new();
    for name in workspace.names()? {
        all.extend(Golden::files(&workspace.scenario(&name))?);
    }
    let named: usize = held.iter().map(|version| version.goldens).sum();
    let named_bytes: u64 = held.iter().map(|version| version.golden_bytes).sum();
    Ok(VersionInventory {
        goldens: all.len().saturating_sub(named),
        golden_bytes: files::bytes(&all)?.saturating_sub(named_bytes),
        versions: held,
    })
}

/// Returns the versions that `clitape.toml` names and those that were recorded, the oldest first.
pub(super) fn known(workspace: &Workspace, versions: &Versions) -> io::Result<Vec<CliVersion>> {
    let mut all = versions.clone();
    for name in workspace.recorded_names()? {
        for version in workspace.recorded(&name)? {
            all = all.with(&version);
        }
    }
    Ok(all.baseline().to_vec())
}

/// Returns the scenarios with a recording of a version.
pub(super) fn recorded(
    workspace: &Workspace,
    version: &CliVersion,
) -> io::Result<Vec<ScenarioName>> {
    let mut names = workspace.names()?;
    names.retain(|name| workspace.cassette(name, version).is_dir());
    Ok(names)
}
