//! The versions of the CLI whose recordings a workspace has.
//!
//! `[versions]` of `clitape.toml` names them. [`accept`] adds the recordings that [`crate::drift`] made with a new
//! version, [`leave`] removes the files that only one version needs, and [`held`] returns the size of each.

use std::collections::BTreeSet;
use std::io;

use clitape_judge::Golden;
use clitape_recording::cassette::{self, Cassette, CassetteError, Origin, Take};
use clitape_recording::files::{self, FileError};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, ScenarioError, Versions, Workspace};
use clitape_recording::secrets::scan_loaded;
use serde::Serialize;

use crate::drift::Side;

/// The parts that were added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accepted {
    /// The recordings that were not in the workspace before.
    pub recordings: usize,
    /// True if the file with the text of `claude --help` is new.
    pub help: bool,
    /// True if `clitape.toml` did not name the version before.
    pub version: bool,
}

/// Adds the version of a side: the recordings that were made for it, the text of its `--help`, and its name in
/// `clitape.toml`. The name comes last, so that a version that is named there is complete. Existing files stay.
///
/// A new recording may contain the secrets that the recordings of other versions are allowed to contain.
///
/// # Errors
///
/// [`BaselineError`] when `clitape.toml` has no `[versions]`, a recording contains other secrets, or a file can't be
/// written.
pub fn accept(workspace: &Workspace, side: &Side) -> Result<Accepted, BaselineError> {
    let version = &side.about.version;
    let versions = workspace.require_versions()?;
    let mut takes = Vec::new();
    for (name, place) in &side.recordings {
        if place.root() != workspace.root() {
            takes.push(take(workspace, name, Cassette::find(place, name, version)?)?);
        }
    }
    for take in &takes {
        take.write(workspace)?;
    }
    let path = workspace.help(version);
    let help = side.help.as_ref().ok().filter(|_| !files::is_there(&path));
    if let Some(text) = help {
        files::make_folder(path.parent().unwrap_or(&path))?;
        files::replace(&path, text)?;
    }
    let more = versions.with(version);
    if more != versions {
        workspace.write_versions(&more)?;
    }
    Ok(Accepted { recordings: takes.len(), help: help.is_some(), version: more != versions })
}

/// Returns a recording to write, with the secrets that it is allowed to contain.
fn take(
    workspace: &Workspace,
    name: &ScenarioName,
    mut cassette: Cassette,
) -> Result<Take, BaselineError> {
    let hits = scan_loaded(&cassette)?;
    let mut allowed = BTreeSet::new();
    for other in workspace.recorded(name)? {
        allowed.extend(Cassette::find(workspace, name, &other)?.manifest.allowed_secrets);
    }
    if let Some(hit) = hits.iter().find(|hit| !allowed.contains(hit.rule)) {
        return Err(BaselineError::Secrets {
            scenario: name.clone(),
            version: cassette.version().clone(),
            first: format!("{}: {}", hit.rule, hit.excerpt),
            rule: hit.rule,
        });
    }
    let used: BTreeSet<&str> = hits.iter().map(|hit| hit.rule).collect();
    cassette.manifest.allowed_secrets = used.into_iter().map(str::to_owned).collect();
    Ok(cassette.into())
}

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
fn known(workspace: &Workspace, versions: &Versions) -> io::Result<Vec<CliVersion>> {
    let mut all = versions.clone();
    for name in workspace.recorded_names()? {
        for version in workspace.recorded(&name)? {
            all = all.with(&version);
        }
    }
    Ok(all.baseline().to_vec())
}

/// Returns the scenarios with a recording of a version.
fn recorded(workspace: &Workspace, version: &CliVersion) -> io::Result<Vec<ScenarioName>> {
    let mut names = workspace.names()?;
    names.retain(|name| workspace.cassette(name, version).is_dir());
    Ok(names)
}

/// The reason why a version can't be added or removed. The workspace is unchanged, unless the file system returned the
/// error.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file is a link, not a regular file, or too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// A scenario or `clitape.toml` can't be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be read or written.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A recording contains secrets that the recordings of other versions are not allowed to contain.
    #[error(
        "the recording of {scenario} with claude {version} holds secrets that no other recording of it is allowed to \
         hold (the first is {first}); nothing was accepted; record it with `clitape record {scenario} --claude \
         npm:{version} --allow-secrets {rule}`, or with `--redact`, and accept again"
    )]
    Secrets {
        /// The scenario.
        scenario: ScenarioName,
        /// The version that recorded it.
        version: CliVersion,
        /// The first secret, masked, with its place.
        first: String,
        /// The rule that found it.
        rule: &'static str,
    },
    /// The workspace has no such version.
    #[error(
        "there is no recording of claude {version}, and clitape.toml does not name it; there are {known}"
    )]
    Unknown {
        /// The version.
        version: CliVersion,
        /// The versions of the workspace.
        known: String,
    },
    /// It is the only version of `clitape.toml`.
    #[error(
        "claude {0} is the only version of clitape.toml; add another one with `clitape drift --accept` first"
    )]
    Last(CliVersion),
    /// Scenarios would be left without a recording.
    #[error(
        "nothing was removed: only claude {version} recorded {scenarios}; record them with another version, or remove the \
         scenarios"
    )]
    OnlyOne {
        /// The version.
        version: CliVersion,
        /// The scenarios, with commas.
        scenarios: String,
    },
    /// A golden waits for a review, which depends on the versions.
    #[error(
        "nothing was removed: a golden of {0} waits for a review; settle it with `clitape review`"
    )]
    Pending(ScenarioName),
}
