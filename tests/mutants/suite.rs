//! The committed scenarios without their seeded plans, judged one after the other until one has a finding.

use std::path::Path;
use std::process::ExitCode;

use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::Workspace;
use clitape_runner::check::{Check, ScenarioChecks};

/// The part of the checks that is made before the next one is begun, the cheapest first.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Goldens and invariants of the recording with the first version that the scenario names.
    First,
    /// Those of the others, and what is no check of one recording.
    Others,
}

impl Stage {
    const ALL: [Self; 2] = [Self::First, Self::Others];

    fn has(self, check: &Check, of_first: Option<&CliVersion>) -> bool {
        let is_first = check.version().is_some() && check.version() == of_first;
        match (self, check) {
            // They take most of the time, and catch next to nothing that nothing else does.
            (_, Check::Plans { .. }) => false,
            (Self::First, _) => is_first,
            (Self::Others, _) => !is_first,
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
    let scenario = workspace.load(&name.to_string()).expect("the scenario can be used");
    let checks = ScenarioChecks::new(workspace, scenario).expect("its folders can be read");
    let of_first = checks.versions().next();
    let mine = checks.checks().iter().filter(|check| stage.has(check, of_first));
    let mut findings = mine
        .flat_map(|check| checks.judge(check, false).expect("its cassette can be read").findings);
    findings.next().map(|finding| format!("{:?}", finding.id))
}
