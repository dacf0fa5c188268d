//! What may stand for a value on the command line: the names that the workspace around the current folder has, and files. No
//! candidate has a description, and none needs quotes.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use anyhow::Result;
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_recording::trace::Lane;

use crate::review;

/// Gives all that a value may be, where its beginning is the second argument.
type FindCandidates = fn(&Workspace, &str) -> Result<Vec<String>>;

/// The values that are names of the workspace, by the name that the help text gives them.
const VALUES: [(&str, FindCandidates); 8] = [
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

/// An argument whose values complete. Values that are words of clitape itself complete without this.
fn complete(arg: Arg) -> Arg {
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let named = VALUES.iter().find(|(value, _)| name.as_deref() == Some(*value));
    let files = match arg.get_value_hint() {
        _ if named.is_some_and(|(name, _)| OR_FILES.contains(name)) => Some(PathCompleter::any()),
        ValueHint::AnyPath => Some(PathCompleter::any()),
        ValueHint::FilePath | ValueHint::ExecutablePath => Some(PathCompleter::file()),
        ValueHint::DirPath => Some(PathCompleter::dir()),
        _ => None,
    };
    if named.is_none() && files.is_none() {
        return arg;
    }
    let candidates = named.map(|(_, candidates)| *candidates);
    arg.add(ArgValueCompleter::new(move |current: &OsStr| {
        let mut all = candidates.map(|candidates| names(candidates, current)).unwrap_or_default();
        all.extend(files.iter().flat_map(|files| files.complete(current)));
        all.retain(|candidate| needs_no_quotes(current, candidate.get_value()));
        all
    }))
}

/// The candidates that begin as `current` does. Without a workspace there are none: a shell has no place for an error.
fn names(candidates: FindCandidates, current: &OsStr) -> Vec<CompletionCandidate> {
    let workspace = std::env::current_dir().ok().and_then(|here| Workspace::above(&here));
    let (Some(workspace), Some(current)) = (workspace, current.to_str()) else { return Vec::new() };
    let all = candidates(&workspace, current).unwrap_or_default();
    all.into_iter().filter(|it| it.starts_with(current)).map(CompletionCandidate::new).collect()
}

/// Whether what a candidate adds to the word that stands there means nothing to a shell, at its place. A shell may put it on
/// the command line as it is, and the names of a workspace and of its files are those of others.
///
/// What is left out of letters, digits and a few signs is what any of the shells expands, splits at, or takes for a comment or an
/// option: also `~`, a `#` or a `=` at the beginning, which is a comment or the path of a program, and all letters but those of ASCII,
/// which may be blanks in another locale.
fn needs_no_quotes(current: &OsStr, candidate: &OsStr) -> bool {
    let whole = candidate.as_encoded_bytes();
    let added = whole.strip_prefix(current.as_encoded_bytes()).unwrap_or(whole);
    let is_first = added.len() == whole.len();
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/#@:=+,-".contains(byte);
    let begins_safely = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/".contains(byte);
    added.iter().all(is_safe) && (!is_first || added.first().is_some_and(begins_safely))
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
    Ok(issues.iter().map(ToString::to_string).collect())
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
