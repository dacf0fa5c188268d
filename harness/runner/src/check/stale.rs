//! Recordings that are older than what they were recorded from: `cassette.toml` keeps a digest of each part of the scenario
//! that decides what the CLI prints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use clitape_judge::{Finding, FindingKind};
use clitape_recording::cassette::{Cassette, CassetteError, Origin};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::ScenarioError;

use super::recording::Recordings;
use crate::record::{RecordError, WorkspaceLimits, made_from};

/// The digests of the parts of a scenario, by part.
type Parts = BTreeMap<String, String>;

/// A finding for the recordings of which the same parts of the scenario have changed since. `wanted` are the versions that
/// `clitape record` records.
///
/// # Errors
///
/// [`CassetteError`] when a cassette or a file of the scenario can't be read.
pub(super) fn stale(
    recordings: &Recordings,
    wanted: &[CliVersion],
) -> Result<Vec<Finding>, CassetteError> {
    let Recordings { workspace, scenario, .. } = recordings;
    let limits = WorkspaceLimits::default();
    let now = made_from(scenario, limits, &AtomicBool::new(false)).map_err(unread)?;
    let mut changed: BTreeMap<Vec<String>, Vec<CliVersion>> = BTreeMap::new();
    for version in recordings.versions() {
        let manifest = match Cassette::manifest(&workspace.cassette(&scenario.name, version)) {
            // The checks of the recording tell it.
            Err(error) if error.is_damage() => continue,
            manifest => manifest?,
        };
        let parts = differing(&manifest.made_from, &now);
        if manifest.origin == Origin::Recorded && !parts.is_empty() {
            changed.entry(parts).or_default().push(version.clone());
        }
    }
    let finding = |(parts, versions): (Vec<String>, Vec<CliVersion>)| {
        let sentence = format!(
            "{} changed since CLI {} recorded it",
            parts.join(" and "),
            versions.join(", ")
        );
        // Without `--claude`, all versions are recorded.
        let fix = match &versions[..] {
            [one] if wanted.len() > 1 => recordings.record(&format!(" --claude npm:{one} --force")),
            _ => recordings.record(" --force"),
        };
        let kind = FindingKind::RecordingStale;
        Finding::new(kind, &scenario.name, sentence, recordings.test()).with_fix(fix)
    };
    Ok(changed.into_iter().map(finding).collect())
}

/// The error of a scenario that can't be compared with its recordings. No option raises the limits here.
fn unread(error: RecordError) -> CassetteError {
    let (path, most) = match error {
        RecordError::LargeWorkspace { path, limit } => (path, format!("{limit} in its files")),
        RecordError::ManyFiles { path, limit } => {
            (path, format!("{limit} files, folders and links"))
        }
        RecordError::Scenario(error) => return error.into(),
        RecordError::Io(error) => return error.into(),
        error => unreachable!("a workspace is read without a CLI, and nobody stops it: {error}"),
    };
    CassetteError::Scenario(ScenarioError::LargeWorkspace { path, most })
}

/// The parts that are not the same, as a reader knows them.
fn differing(before: &Parts, now: &Parts) -> Vec<String> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differs = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    let shown = |key: &String| match key.as_str() {
        "model.toml" => key.clone(),
        "workspace" => "workspace/".to_owned(),
        key => format!("`record.{key}`"),
    };
    differs.map(shown).collect()
}
