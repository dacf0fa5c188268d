//! Checks whether scenarios and their workspace are complete.
//!
//! A scenario is complete if each of its versions is recorded from its present text, every golden is compared with a
//! lane and repeats no other golden, and no file holds a secret. `cassette.toml` keeps a digest of each part of the
//! scenario that decides the output of the CLI, so that a recording that is older than its scenario is found.
//!
//! A workspace is complete if all its scenarios can be loaded, all names are valid, each recording has a scenario, and
//! no file is left from a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clitape_judge::{CheckResult, Finding, FindingKind, Golden};
use clitape_recording::cassette::{self, Cassette, CassetteError, Origin};
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{ScenarioError, Stray, Workspace};
use clitape_recording::secrets::{Hit, Scanned, allowed_in, scan_goldens, scan_path};
use clitape_recording::text::shell_quote;

use super::recording::Recordings;
use crate::record::{RecordError, WorkspaceLimits, made_from};

/// The findings about what a scenario lacks, and about what it has and does not need.
///
/// # Errors
///
/// [`CassetteError`] when a cassette is damaged or a file can't be read.
pub(super) fn complete(recordings: &Recordings) -> Result<CheckResult, CassetteError> {
    let Recordings { workspace, scenario, .. } = recordings;
    let name = &scenario.name;
    let recorded: Vec<CliVersion> = recordings.versions().cloned().collect();
    let mut verdict = CheckResult::default();
    let not_recorded = |place: &str, sentence: String, options: &str| {
        Finding::new(FindingKind::NotRecorded, place, sentence, recordings.test())
            .with_fix(recordings.record(options))
    };
    let wanted = match workspace.versions() {
        Ok(versions) => workspace.wanted(scenario, versions.as_ref()),
        Err(error) => {
            verdict.findings.push(unusable(workspace, name, &error));
            recorded.clone()
        }
    };
    if recorded.is_empty() {
        // Its goldens are not checked, because they wait for a recording.
        let sentence = "the scenario is not recorded".to_owned();
        verdict.findings.push(not_recorded(name, sentence, ""));
        verdict.findings.extend(kept_secrets(recordings)?);
        return Ok(verdict);
    }
    for version in wanted.iter().filter(|version| !recorded.contains(version)) {
        let sentence = format!("the scenario has CLI {version}, but there is no cassette of it");
        let options = format!(" --claude npm:{version}");
        verdict.findings.push(not_recorded(&format!("{name} {version}"), sentence, &options));
    }
    verdict.findings.extend(stale(recordings, &wanted)?);
    let not_needed = |path: &Path, what: &str| {
        let shown = workspace.shown(path);
        let sentence = format!("{shown} {what}");
        Finding::new(FindingKind::GoldenOrphan, name, sentence, recordings.test())
            .with_fix(format!("rm {}", shell_quote(&shown)))
    };
    for (path, before) in Golden::repeated(scenario)? {
        let before = workspace.shown(&before);
        let what = format!("says the same as {before}, which holds for its version without it");
        verdict.findings.push(not_needed(&path, &what));
    }
    for path in Golden::orphans(scenario, &recorded, &workspace.subjects()?)? {
        let is_proposal = path.to_string_lossy().ends_with(".snap.new");
        let what = match is_proposal {
            true => "has a name that no golden can have, so that it waits for no review",
            false => "was compared with nothing",
        };
        verdict.findings.push(not_needed(&path, what));
    }
    verdict.findings.extend(kept_secrets(recordings)?);
    Ok(verdict)
}

/// The digests of the parts of a scenario, by part.
type Parts = BTreeMap<String, String>;

/// A finding for the recordings of which the same parts of the scenario have changed since. `wanted` are the versions
/// that `clitape record` records.
///
/// # Errors
///
/// [`CassetteError`] when a cassette or a file of the scenario can't be read.
fn stale(recordings: &Recordings, wanted: &[CliVersion]) -> Result<Vec<Finding>, CassetteError> {
    let Recordings { workspace, scenario, .. } = recordings;
    let limits = WorkspaceLimits::default();
    let now = made_from(scenario, limits, &AtomicBool::new(false)).map_err(unread)?;
    let mut changed: BTreeMap<Vec<String>, Vec<CliVersion>> = BTreeMap::new();
    for version in recordings.versions() {
        let manifest = match Cassette::manifest(&workspace.cassette(&scenario.name, version)) {
            // The checks of the recording report it.
            Err(error) if error.is_damage() => continue,
            manifest => manifest?,
        };
        let parts = differing_parts(&manifest.made_from, &now);
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
fn differing_parts(before: &Parts, now: &Parts) -> Vec<String> {
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differs = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    let shown = |key: &String| match key.as_str() {
        "model.toml" => key.clone(),
        "workspace" => "workspace/".to_owned(),
        key => format!("`record.{key}`"),
    };
    differs.map(shown).collect()
}

/// A finding for each file of these recordings and of the scenario's goldens, and each rule that finds
/// secrets in it. Rules that a `cassette.toml` allows are left out; a golden is allowed what any of the
/// scenario's cassettes is.
///
/// # Errors
///
/// When a file or a folder can't be read.
fn kept_secrets(recordings: &Recordings) -> io::Result<Vec<Finding>> {
    let Recordings { workspace, scenario, .. } = recordings;
    let (name, program) = (&scenario.name, workspace.program());
    let (mut findings, mut allowed) = (Vec::new(), Vec::new());
    let mut scanned = Scanned::default();
    for version in recordings.versions() {
        let dir = workspace.cassette(name, version);
        allowed.extend(allowed_in(&dir));
        scan_path(&dir, &mut scanned)?;
        let hits = std::mem::take(&mut scanned.hits);
        let again = format!("{program} record {name} --claude npm:{version} --redact --force");
        findings.extend(secret_findings(workspace, &format!("{name} {version}"), &hits, &again));
    }
    let goldens = scan_goldens(&scenario.dir, &allowed, &mut scanned)?;
    let again = recordings.proposal();
    findings.extend(secret_findings(workspace, &name.to_string(), &goldens, &again));
    Ok(findings)
}

fn secret_findings(workspace: &Workspace, place: &str, hits: &[Hit], again: &str) -> Vec<Finding> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Hit>> = BTreeMap::new();
    for hit in hits {
        groups.entry((&hit.file, hit.rule)).or_default().push(hit);
    }
    let finding = |((file, rule), hits): ((&str, &str), Vec<&Hit>)| {
        let first = hits.first()?;
        let file = workspace.shown(Path::new(file));
        let more = match hits.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        let sentence = format!(
            "{file}:{} holds a secret that rule `{rule}` finds ({}{more}); make it invalid where it \
             belongs to, then record or import again with `--redact`, or with `--allow-secrets {rule}`",
            first.line, first.excerpt
        );
        let scan = format!("{} scan {}", workspace.program(), shell_quote(&file));
        Some(
            Finding::new(FindingKind::SecretKept, place, sentence, scan).with_fix(again.to_owned()),
        )
    };
    groups.into_iter().filter_map(finding).collect()
}

/// The finding of a scenario that can't be loaded.
pub fn unusable(workspace: &Workspace, name: &ScenarioName, error: &ScenarioError) -> Finding {
    let reproduce = format!("{} test {name}", workspace.program());
    Finding::new(FindingKind::ScenarioUnusable, name, error.to_string(), reproduce)
}

/// The checks of a workspace as a whole, by name, and what each finds.
///
/// # Errors
///
/// When a folder can't be read.
pub fn check_workspace(workspace: &Workspace) -> io::Result<[(&'static str, Vec<Finding>); 3]> {
    Ok([
        ("none_orphaned", orphaned_cassettes(workspace)?),
        ("no_strays", strays(workspace)?),
        ("no_leftovers", leftovers(workspace)?),
    ])
}

/// Folders and links in `scenarios/` and `cassettes/` that can't be what stands there.
fn strays(workspace: &Workspace) -> io::Result<Vec<Finding>> {
    let finding = |Stray { path, why }: Stray| {
        let parent = path.parent().map(|parent| parent.display().to_string()).unwrap_or_default();
        let place = path.display().to_string();
        Finding::new(FindingKind::Stray, &place, why, format!("ls -l {}", shell_quote(&parent)))
    };
    Ok(workspace.strays()?.into_iter().map(finding).collect())
}

/// Folders of cassettes that belong to no scenario.
fn orphaned_cassettes(workspace: &Workspace) -> io::Result<Vec<Finding>> {
    let names = workspace.names()?;
    let mut orphans = workspace.recorded_names()?;
    let unrecorded: Vec<&ScenarioName> =
        names.iter().filter(|name| !orphans.contains(name)).collect();
    orphans.retain(|name| !names.contains(name));
    let program = workspace.program();
    let finding = |name: ScenarioName| {
        Finding::new(
            FindingKind::CassetteOrphan,
            &format!("cassettes/{name}"),
            format!(
                "there is no scenario `{name}`, so nothing holds these recordings; write one, remove the folder, or run \
                 `{program} rename {name} NEW` if the scenario has another name now"
            ),
            format!("{program} test"),
        )
        .with_fix(match &unrecorded[..] {
            [new] => format!("{program} rename {name} {new}"),
            _ => format!("{program} new {name}"),
        })
    };
    Ok(orphans.into_iter().map(finding).collect())
}

/// Finds the unfinished files of interrupted writers of cassettes, scenarios and goldens.
fn leftovers(workspace: &Workspace) -> io::Result<Vec<Finding>> {
    let mut found = Vec::new();
    for name in workspace.recorded_names()? {
        let sentence = "a clitape that was ended while it wrote a cassette left this folder; the cassette \
                        beside it is whole; remove the folder, or look into it first when that cassette \
                        is missing";
        let left = cassette::abandoned(&workspace.cassettes().join(name.as_str()))?;
        found.extend(left.into_iter().map(|path| (path, sentence)));
    }
    let sentence = "a clitape that was ended while it wrote a scenario left this folder; remove it";
    found.extend(workspace.unfinished_scenarios()?.into_iter().map(|path| (path, sentence)));
    for name in workspace.names()? {
        let sentence = "a clitape that was ended while it wrote a golden left this file; the golden is \
                        whole; remove the file";
        let left =
            files::leftovers(&workspace.scenario(&name).join("golden"), &[files::UNFINISHED])?;
        found.extend(left.into_iter().map(|path| (path, sentence)));
    }
    let finding = |(path, sentence): (PathBuf, &str)| {
        let shown = workspace.shown(&path);
        Finding::new(
            FindingKind::Leftover,
            &shown,
            sentence.to_owned(),
            format!("ls -la {}", shell_quote(&shown)),
        )
    };
    Ok(found.into_iter().map(finding).collect())
}
