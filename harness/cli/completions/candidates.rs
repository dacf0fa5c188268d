//! Lists the candidates for a value on the command line: the names of the workspace around the current folder, and
//! files. Candidates come without descriptions and need no quotes.

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

/// Lists all candidates for a value; the second argument is the part that is typed already.
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

/// Adds completion to the values of a command and of its subcommands.
pub(super) fn add(command: Command) -> Command {
    command.mut_args(complete).mut_subcommands(add)
}

/// Adds completion to the values of an argument. Values that are words of clitape itself complete without this.
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

/// Returns the candidates that begin with `current`. The list is empty without a workspace, because a shell can't show
/// an error.
fn names(candidates: FindCandidates, current: &OsStr) -> Vec<CompletionCandidate> {
    let workspace = std::env::current_dir().ok().and_then(|here| Workspace::above(&here));
    let (Some(workspace), Some(current)) = (workspace, current.to_str()) else { return Vec::new() };
    let all = candidates(&workspace, current).unwrap_or_default();
    all.into_iter().filter(|it| it.starts_with(current)).map(CompletionCandidate::new).collect()
}

/// Returns whether a shell takes the part that a candidate adds to `current` literally. A shell may put it on the
/// command line unquoted, and other people choose the names of a workspace and of its files.
///
/// Only letters of ASCII, digits and a few signs pass. All others are expanded by some shell, split the word, or begin
/// a comment or an option: also `~`, a `#` or a `=` at the beginning (a comment or the path of a program), and letters
/// beyond ASCII, which may be blanks in another locale.
fn needs_no_quotes(current: &OsStr, candidate: &OsStr) -> bool {
    let whole = candidate.as_encoded_bytes();
    let added = whole.strip_prefix(current.as_encoded_bytes()).unwrap_or(whole);
    let is_first = added.len() == whole.len();
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/#@:=+,-".contains(byte);
    let begins_safely = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/".contains(byte);
    added.iter().all(is_safe) && (!is_first || added.first().is_some_and(begins_safely))
}

/// Returns the scenarios; behind a `/`, the recordings of the scenario before it.
fn scenarios(workspace: &Workspace, current: &str) -> Result<Vec<String>> {
    let Some((name, _)) = current.split_once('/') else {
        return Ok(workspace.names()?.iter().map(ToString::to_string).collect());
    };
    let mut versions = workspace.recorded(&name.parse()?)?;
    versions.sort_by(|a, b| CliVersion::by_number(b, a));
    Ok(versions.iter().map(|version| format!("{name}/{version}")).collect())
}

/// Returns the scenarios with a `/`, behind which a version belongs; behind a `/`, the recordings.
fn cassettes(workspace: &Workspace, current: &str) -> Result<Vec<String>> {
    if current.contains('/') {
        return scenarios(workspace, current);
    }
    Ok(workspace.recorded_names()?.iter().map(|name| format!("{name}/")).collect())
}

/// Returns the issues that scenarios track.
fn issues(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    let mut issues = BTreeSet::new();
    for name in workspace.names()? {
        // A scenario that can't be read adds no issues.
        let scenario = workspace.scenario_of(&name).ok();
        issues.extend(scenario.into_iter().flat_map(|scenario| scenario.tracks));
    }
    Ok(issues.iter().map(ToString::to_string).collect())
}

fn subjects(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    Ok(workspace.subjects()?.iter().map(ToString::to_string).collect())
}

/// Returns the recorded versions, the newest first.
fn versions(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    let mut all: Vec<CliVersion> = Vec::new();
    for name in workspace.recorded_names()? {
        all.extend(workspace.recorded(&name)?);
    }
    all.sort_by(|a, b| CliVersion::by_number(b, a));
    all.dedup();
    Ok(all.iter().map(ToString::to_string).collect())
}

/// Returns the values of `--claude` that are not paths.
fn clis(workspace: &Workspace, current: &str) -> Result<Vec<String>> {
    let npm = versions(workspace, current)?.into_iter().map(|version| format!("npm:{version}"));
    Ok(npm.chain(["path".to_owned()]).collect())
}

/// Returns the lanes, each behind those that are typed already.
fn lanes(_: &Workspace, current: &str) -> Result<Vec<String>> {
    let before = current.rfind(',').map_or("", |comma| &current[..=comma]);
    Ok(Lane::ALL.iter().map(|lane| format!("{before}{lane}")).collect())
}

/// Returns the ids of the goldens that wait for a review.
fn goldens(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    review::waiting(workspace)
}
