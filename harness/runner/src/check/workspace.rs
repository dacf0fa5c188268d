//! What is wrong with a workspace itself: scenarios that can't be loaded, names that can't be names,
//! recordings of no scenario, and what a crash left.

use std::io;
use std::path::PathBuf;

use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{ScenarioError, Stray, Workspace};
use clitape_recording::text::shell_quote;
use clitape_recording::{cassette, files};

use clitape_judge::{Finding, FindingKind};

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
    orphans.retain(|name| !names.contains(name));
    let program = workspace.program();
    let finding = |name: ScenarioName| {
        Finding::new(
            FindingKind::CassetteOrphan,
            &format!("cassettes/{name}"),
            format!(
                "there is no scenario `{name}`, so nothing holds these recordings; write one, or remove the folder"
            ),
            format!("{program} test"),
        )
        .with_fix(format!("{program} new {name}"))
    };
    Ok(orphans.into_iter().map(finding).collect())
}

/// What a writer of cassettes or goldens left when it was ended.
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
