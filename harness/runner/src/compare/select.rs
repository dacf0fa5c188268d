//! Selects the scenarios and the versions whose cassettes are compared, and lists those that are left out.

use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, Workspace};

use super::error::CompareError;
use super::side::SideName;
use crate::suite::select::{Selected, Selection};

/// The cassettes that are compared, and those that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareSelection {
    /// The scenarios, each with the versions of its cassettes: A's and B's.
    pub scenarios: Vec<(Scenario, Vec<[CliVersion; 2]>)>,
    /// The scenarios that the caller did not ask for.
    pub unasked: Vec<ScenarioName>,
    /// The cassettes of versions that the caller did not ask for, as `scenario/version`.
    pub other_versions: Vec<String>,
    /// The scenarios without the cassettes that the comparison needs.
    pub unrecorded: Vec<ScenarioName>,
}

impl CompareSelection {
    /// Returns the number of cassettes that are compared.
    pub fn cassettes(&self) -> usize {
        self.scenarios.iter().map(|(_, versions)| versions.len()).sum()
    }
}

/// Selects the cassettes of the scenarios that are `chosen`. `versions` are versions of the CLI; without any, all
/// recorded ones are selected.
///
/// # Errors
///
/// [`CompareError`] when a scenario can't be used, or none of the scenarios has a cassette of a version.
pub fn select(
    workspace: &Workspace,
    sides: [&SideName; 2],
    chosen: &Selection,
    versions: &[CliVersion],
) -> Result<CompareSelection, CompareError> {
    let fixed = match sides {
        [SideName::Version(a), SideName::Version(b)] => Some([a.clone(), b.clone()]),
        _ => None,
    };
    if fixed.is_some() {
        if let Some(version) = versions.first() {
            return Err(CompareError::Versions(format!("--version {version}")));
        }
        let with_versions = |one: &Selected| Some((one.name.clone(), one.versions.clone()?));
        if let Some((name, of)) = chosen.scenarios.iter().find_map(with_versions) {
            return Err(CompareError::Versions(format!("/{} after {name}", of.join(", /"))));
        }
    }
    let is_unasked = |name: &ScenarioName| !chosen.scenarios.iter().any(|one| one.name == *name);
    let mut selection = CompareSelection {
        scenarios: Vec::new(),
        unasked: workspace.names()?.into_iter().filter(is_unasked).collect(),
        other_versions: Vec::new(),
        unrecorded: Vec::new(),
    };
    let mut known: Vec<CliVersion> = Vec::new();
    let mut missing: Vec<CliVersion> = fixed.iter().flatten().chain(versions).cloned().collect();
    for Selected { name, versions: of, .. } in &chosen.scenarios {
        let scenario = workspace.scenario_of(name)?;
        let recorded = recorded(workspace, &scenario)?;
        missing.retain(|version| !recorded.contains(version));
        let wanted = |version: &CliVersion| match &fixed {
            Some(sides) => sides.contains(version),
            None => {
                (versions.is_empty() || versions.contains(version))
                    && of.as_ref().is_none_or(|of| of.contains(version))
            }
        };
        let (taken, others): (Vec<_>, Vec<_>) = recorded.into_iter().partition(wanted);
        selection.other_versions.extend(others.iter().map(|version| format!("{name}/{version}")));
        known.extend(
            taken.iter().chain(&others).filter(|v| !known.contains(v)).cloned().collect::<Vec<_>>(),
        );
        let pairs: Vec<[CliVersion; 2]> = match &fixed {
            Some(sides) if taken.len() == 2 => vec![sides.clone()],
            Some(_) => Vec::new(),
            None => taken.into_iter().map(|version| [version.clone(), version]).collect(),
        };
        match pairs.is_empty() {
            true => selection.unrecorded.push(scenario.name),
            false => selection.scenarios.push((scenario, pairs)),
        }
    }
    if let Some(version) = missing.first() {
        known.sort();
        let recorded = known.join(", ");
        return Err(CompareError::NotRecorded { version: version.to_string(), recorded });
    }
    Ok(selection)
}

/// Returns the recorded versions, in the order in which the scenario names them.
fn recorded(workspace: &Workspace, scenario: &Scenario) -> std::io::Result<Vec<CliVersion>> {
    let mut versions = workspace.recorded(&scenario.name)?;
    scenario.sort_versions(&mut versions);
    Ok(versions)
}
