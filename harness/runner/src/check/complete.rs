//! Whether a scenario is complete: each of its versions is recorded from it as it is now, every golden is compared with something and says
//! something of its own, and nothing holds a secret.

use std::path::Path;

use clitape_judge::{CheckResult, Finding, FindingKind, Golden};
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::CliVersion;
use clitape_recording::text::shell_quote;

use super::recording::Recordings;
use super::workspace::unusable;
use super::{secrets, stale};

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
        // Its goldens wait for a recording, so that nothing is said of them.
        let sentence = "the scenario is not recorded".to_owned();
        verdict.findings.push(not_recorded(name, sentence, ""));
        verdict.findings.extend(secrets::kept(recordings)?);
        return Ok(verdict);
    }
    for version in wanted.iter().filter(|version| !recorded.contains(version)) {
        let sentence = format!("the scenario has CLI {version}, but there is no cassette of it");
        let options = format!(" --claude npm:{version}");
        verdict.findings.push(not_recorded(&format!("{name} {version}"), sentence, &options));
    }
    verdict.findings.extend(stale::stale(recordings, &wanted)?);
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
    verdict.findings.extend(secrets::kept(recordings)?);
    Ok(verdict)
}
