//! Adds a version to a workspace: its recordings, the text of its help, and its name in `clitape.toml`.

use std::collections::BTreeSet;

use clitape_recording::cassette::{Cassette, Take};
use clitape_recording::files;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::Workspace;
use clitape_recording::secrets::scan_loaded;

use super::error::BaselineError;
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
