//! Whether a scenario is complete: each of its versions is recorded, every golden is compared with something and says
//! something of its own, and nothing holds a secret.

use super::finding::{CheckResult, Finding, FindingKind};
use super::golden::Golden;
use super::recording::Recordings;
use super::secrets;
use super::workspace::unusable;
use crate::cassette::CassetteError;
use crate::names::CliVersion;
use crate::text::shell_quote;

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
    let not_recorded = |place: &str, sentence: String, option: &str| {
        let again = format!("{} record {name}{option}", workspace.program());
        Finding::new(FindingKind::NotRecorded, place, sentence, again)
    };
    let wanted = match workspace.versions() {
        Ok(versions) => workspace.wanted(scenario, versions.as_ref()),
        Err(error) => {
            verdict.findings.push(unusable(workspace, name, &error));
            recorded.clone()
        }
    };
    for version in wanted.iter().filter(|version| !recorded.contains(version)) {
        let sentence = format!("the scenario has CLI {version}, but there is no cassette of it");
        let option = format!(" --claude npm:{version}");
        let place = format!("{name} {version}");
        verdict.findings.push(not_recorded(&place, sentence, &option));
    }
    if wanted.is_empty() && recorded.is_empty() {
        let sentence = "the scenario has no cassette of any version".to_owned();
        verdict.findings.push(not_recorded(name, sentence, ""));
    }
    for (path, before) in Golden::repeated(scenario)? {
        let [shown, before] = [path, before].map(|path| workspace.shown(&path));
        verdict.findings.push(Finding::new(
            FindingKind::GoldenOrphan,
            name,
            format!("{shown} says the same as {before}, which holds for its version without it"),
            format!("rm {}", shell_quote(&shown)),
        ));
    }
    for path in Golden::orphans(scenario, &recorded, &workspace.subjects()?)? {
        let shown = workspace.shown(&path);
        verdict.findings.push(Finding::new(
            FindingKind::GoldenOrphan,
            name,
            format!("{shown} was compared with nothing"),
            format!("rm {}", shell_quote(&shown)),
        ));
    }
    verdict.findings.extend(secrets::kept(recordings)?);
    Ok(verdict)
}
