//! Finds the scenarios that changed since a revision of git.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clitape_process::threads::NoMoreThreads;
use clitape_process::{Git, Guard, ProcessError, RunLimits, Why, work_tree};
use clitape_recording::cassette::Exit;
use clitape_recording::limits::OutputLimits;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::Workspace;

use super::error::SelectError;

/// The longest time of a git command.
const LIMIT: Duration = Duration::from_secs(60);
/// The folders in which a scenario has a subfolder with its name.
const FOLDERS: [&str; 2] = ["scenarios", "cassettes"];

/// Returns the names of the scenarios that have a changed file in `scenarios/` or `cassettes/` since `revision`: in
/// commits after the branch left that revision, in the index, or in the working tree, new files included. Files that
/// git ignores do not count. Removed scenarios are among them.
///
/// # Errors
///
/// [`SelectError::Git`] when there is no git, no repository, or no such revision.
pub fn changed_since(
    workspace: &Workspace,
    revision: &str,
) -> Result<BTreeSet<ScenarioName>, SelectError> {
    let git = |args: &[&str]| git(workspace.root(), args);
    let failed = |why: String| SelectError::Git { revision: revision.to_owned(), why };
    let elsewhere =
        |why| failed(format!("{why}; run it in a git repository, or name the scenarios"));
    let is_inside = git(&["rev-parse", "--is-inside-work-tree"])?.map_err(elsewhere)?;
    if is_inside.trim() != "true" {
        return Err(elsewhere("the repository has no files here".to_owned()));
    }
    let commit = format!("{revision}^{{commit}}");
    let commit = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?
        .map_err(|_| {
            failed(format!(
                "there is no such revision; a shallow checkout has only the newest (`fetch-depth: 0` of \
                 actions/checkout, or `git fetch origin {revision}`)"
            ))
        })?;
    // Later changes on the branch of that revision do not count as changes of this one.
    let base = git(&["merge-base", commit.trim(), "HEAD"])?.unwrap_or(commit);
    let compared = [
        &[
            "diff",
            "--name-only",
            "-z",
            "--relative",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
        ],
        &[base.trim(), "--"][..],
        &FOLDERS,
    ];
    let tracked = git(&compared.concat())?.map_err(failed)?;
    let listed = [&["ls-files", "-z", "--others", "--exclude-standard", "--"][..], &FOLDERS];
    let untracked = git(&listed.concat())?.map_err(failed)?;
    Ok(of_paths(tracked.split('\0').chain(untracked.split('\0'))))
}

/// Returns the scenarios to which these paths of a workspace belong.
fn of_paths<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<ScenarioName> {
    let name = |path: &str| {
        let (folder, rest) = path.split_once('/')?;
        let (name, _) = rest.split_once('/')?;
        FOLDERS.contains(&folder).then(|| name.parse().ok())?
    };
    paths.filter_map(name).collect()
}

/// Runs git in a folder; returns its output, or the reason why it failed.
fn git(root: &Path, args: &[&str]) -> Result<Result<String, String>, NoMoreThreads> {
    let never = AtomicBool::new(false);
    let files = work_tree(root);
    let variables = files.as_ref().map(|files| ("GIT_WORK_TREE", files.as_os_str()));
    let git = Git {
        folder: root,
        variables: variables.as_slice(),
        limits: RunLimits {
            output: OutputLimits::default(),
            kept: None,
            time: LIMIT,
            guard: Guard::default(),
        },
        stop: &never,
    };
    let ended = match git.run(args) {
        Ok(ended) => ended,
        Err(error) => {
            return match error {
                ProcessError::NoMoreThreads(lacks) => Err(lacks),
                ProcessError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                    Ok(Err("there is no `git` on PATH; install it, or name the scenarios".into()))
                }
                error => Ok(Err(format!("git can't be run: {error}"))),
            };
        }
    };
    Ok(match (&ended.why, ended.exit) {
        (Why::Itself, Exit::Code(0)) => {
            Ok(String::from_utf8_lossy(&ended.output.stdout).into_owned())
        }
        (Why::Itself, _) => {
            let said = ended.stderr_text();
            let first = said.lines().next().unwrap_or("it says nothing");
            Err(format!("git says `{}`", first.trim_start_matches("fatal: ")))
        }
        _ => Err(format!("git did not end within {} s", LIMIT.as_secs())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_scenario_whose_folder_it_is_in() {
        let paths = [
            "scenarios/late-edit/golden/bus.snap",
            "cassettes/three-tools/2.1.329/stdout.jsonl",
            "cassettes/three-tools/2.1.330/stdout.jsonl",
            "scenarios/README.md",
            "scenarios/Late edit/a",
            "docs/late-edit/a",
            "",
        ];
        let names = of_paths(paths.into_iter());
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        assert_eq!(names, ["late-edit", "three-tools"]);
    }
}
