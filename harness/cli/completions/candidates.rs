//! What may stand for a value on the command line: the names that the workspace around the current folder has.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use anyhow::Result;
use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clitape_runner::names::CliVersion;
use clitape_runner::replay::Lane;
use clitape_runner::scenario::Workspace;

use crate::review;

/// Gives all that a value may be, where its beginning is the second argument.
type Candidates = fn(&Workspace, &str) -> Result<Vec<String>>;

/// The values that are names of the workspace, by the name that the help text gives them.
const VALUES: [(&str, Candidates); 8] = [
    ("SCENARIO", scenarios),
    ("CASSETTE|FILE.jsonl", cassettes),
    ("ISSUE", issues),
    ("SUBJECT", subjects),
    ("VERSION", versions),
    ("CLI", clis),
    ("LANE,…", lanes),
    ("GOLDEN", goldens),
];

/// The values that may be a file as well.
const OR_FILES: [&str; 1] = ["CASSETTE|FILE.jsonl"];

/// The command, whose values complete.
pub(super) fn add(command: Command) -> Command {
    command.mut_args(complete).mut_subcommands(add)
}

fn complete(arg: Arg) -> Arg {
    let Some(value) = arg.get_value_names().and_then(|names| names.first()) else { return arg };
    let value = value.to_string();
    match VALUES.iter().find(|(name, _)| *name == value) {
        Some((name, candidates)) => {
            let (candidates, or_files) = (*candidates, OR_FILES.contains(name));
            arg.add(ArgValueCompleter::new(move |current: &OsStr| {
                answers(candidates, or_files, current)
            }))
        }
        None => arg,
    }
}

/// The candidates that begin as `current` does. Without a workspace there are none: a shell has no place for an error.
fn answers(candidates: Candidates, or_files: bool, current: &OsStr) -> Vec<CompletionCandidate> {
    let mut answers = Vec::new();
    let workspace = std::env::current_dir().ok().and_then(|here| Workspace::above(&here));
    if let (Some(workspace), Some(current)) = (workspace, current.to_str()) {
        let all = candidates(&workspace, current).unwrap_or_default();
        answers.extend(all.into_iter().filter(|it| it.starts_with(current)));
    }
    let mut answers: Vec<_> = answers.into_iter().map(CompletionCandidate::new).collect();
    if or_files {
        answers.extend(PathCompleter::any().complete(current));
    }
    answers
}

/// The scenarios; behind a `/`, the recordings of the one before it.
fn scenarios(workspace: &Workspace, current: &str) -> Result<Vec<String>> {
    let Some((name, _)) = current.split_once('/') else {
        return Ok(workspace.names()?.iter().map(ToString::to_string).collect());
    };
    let mut versions = workspace.recorded(&name.parse()?)?;
    versions.sort_by(|a, b| CliVersion::by_number(b, a));
    Ok(versions.iter().map(|version| format!("{name}/{version}")).collect())
}

/// The recordings: scenarios with a `/`, behind which a version has to stand.
fn cassettes(workspace: &Workspace, current: &str) -> Result<Vec<String>> {
    if current.contains('/') {
        return scenarios(workspace, current);
    }
    Ok(workspace.recorded_names()?.iter().map(|name| format!("{name}/")).collect())
}

/// The issues that scenarios track.
fn issues(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    let mut issues = BTreeSet::new();
    for name in workspace.names()? {
        // A scenario that can't be read has none.
        let scenario = workspace.scenario_of(&name).ok();
        issues.extend(scenario.into_iter().flat_map(|scenario| scenario.tracks));
    }
    Ok(issues.into_iter().collect())
}

fn subjects(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    Ok(workspace.subjects()?.iter().map(ToString::to_string).collect())
}

/// The versions that are recorded, the newest first.
fn versions(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    let mut all: Vec<CliVersion> = Vec::new();
    for name in workspace.recorded_names()? {
        all.extend(workspace.recorded(&name)?);
    }
    all.sort_by(|a, b| CliVersion::by_number(b, a));
    all.dedup();
    Ok(all.iter().map(ToString::to_string).collect())
}

/// The values of `--claude` that are no path.
fn clis(workspace: &Workspace, current: &str) -> Result<Vec<String>> {
    let npm = versions(workspace, current)?.into_iter().map(|version| format!("npm:{version}"));
    Ok(npm.chain(["path".to_owned()]).collect())
}

/// The lanes, behind those that stand there already.
fn lanes(_: &Workspace, current: &str) -> Result<Vec<String>> {
    let before = current.rfind(',').map_or("", |comma| &current[..=comma]);
    Ok(Lane::ALL.iter().map(|lane| format!("{before}{lane}")).collect())
}

/// The ids of the goldens that wait for a review.
fn goldens(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    review::waiting(workspace)
}
