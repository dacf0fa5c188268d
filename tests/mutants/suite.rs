//! The committed scenarios, judged one after the other until one has a finding.

use std::path::Path;
use std::process::ExitCode;

use clitape_runner::check::{Check, ScenarioChecks};
use clitape_runner::names::{CliVersion, ScenarioName};
use clitape_runner::scenario::Workspace;

/// Seeded plans of a recording, for they take most of the time. A scenario with variants has all of its own, as each
/// variant is to be seen.
const PLANS: u64 = 2;

/// The part of the checks that is made before the next one is begun, the cheapest first.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Goldens and invariants of the newest recording.
    Newest,
    /// Those of the older ones, and what needs no plan.
    Others,
    /// The plans of every recording.
    Plans,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Newest, Self::Others, Self::Plans];

    fn has(self, check: &Check, newest: Option<&CliVersion>) -> bool {
        match (self, check) {
            (Self::Plans, Check::Plans { .. }) => true,
            (_, Check::Plans { .. }) | (Self::Plans, _) => false,
            (Self::Newest, check) => check.version().is_some() && check.version() == newest,
            (Self::Others, check) => check.version() != newest || check.version().is_none(),
        }
    }
}

/// Judges the scenarios of this workspace, the small ones first. Prints the scenario and the first finding, and
/// ends with 1 where there is one.
pub(crate) fn judge() -> ExitCode {
    let workspace = Workspace::at(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut names = workspace.names().expect("the folders can be read");
    names.sort_by_cached_key(|name| size(&workspace, name));
    for stage in Stage::ALL {
        for name in &names {
            if let Some(finding) = first(&workspace, name, stage) {
                println!("{name}: {finding}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// The bytes of a scenario's recordings.
fn size(workspace: &Workspace, name: &ScenarioName) -> u64 {
    let folder = workspace.cassettes().join(name.to_string());
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// The first finding of a stage.
fn first(workspace: &Workspace, name: &ScenarioName, stage: Stage) -> Option<String> {
    let mut scenario = workspace.load(&name.to_string()).expect("the scenario can be used");
    let new = |scenario| ScenarioChecks::new(workspace, scenario).expect("its folders can be read");
    let is_variant = |check: &Check| matches!(check, Check::Variants { .. });
    if !new(scenario.clone()).checks().iter().any(is_variant) {
        scenario.sweep.plans = scenario.sweep.plans.min(PLANS);
    }
    let checks = new(scenario);
    let newest = checks.versions().last();
    let mine = checks.checks().iter().filter(|check| stage.has(check, newest));
    let mut findings = mine
        .flat_map(|check| checks.judge(check, false).expect("its cassette can be read").findings);
    findings.next().map(|finding| format!("{:?}", finding.id))
}
