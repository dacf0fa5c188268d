//! `clitape completions` and `clitape man`: prints the scripts of shells and the manual pages.
//!
//! The script of a shell calls this program for each completion, so that the names of the workspace complete too.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{CompleteEnv, Shells};
use clitape_judge::FindingKind;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_recording::trace::Lane;

use crate::exit::ExitStatus;
use crate::outputs::{make_folder, write_files};
use crate::reference;
use crate::review;
use crate::terminal::verbatim;

/// The variable in which the script names its shell.
const VARIABLE: &str = "CLITAPE_COMPLETE";
/// The name of the command.
const NAME: &str = "clitape";

/// The help text with the line that installs the completions, for each shell.
const HELP: &str = r#"Options, scenarios, versions, lanes, issues, subjects and goldens complete, those of the project
that the shell is in. Add the line of your shell, and open a new one:
  bash        ~/.bashrc                    source <(clitape completions bash)
  zsh         ~/.zshrc, after compinit     source <(clitape completions zsh)
  fish        ~/.config/fish/config.fish   clitape completions fish | source
  elvish      ~/.config/elvish/rc.elv      eval (clitape completions elvish | slurp)
  powershell  $PROFILE                     clitape completions powershell | Out-String | Invoke-Expression"#;

/// Prints completions for a shell
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Completions {
    /// The shell that the completions are for
    shell: clap_complete::Shell,
}

/// Prints the manual page
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Write a page for the command and each subcommand into this folder, which is made
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the reference of all commands and options as Markdown
    #[arg(long, conflicts_with = "out")]
    markdown: bool,
}

/// Answers a shell that asks for completions. Returns false if the command was called for something else.
pub(crate) fn answer(command: fn() -> Command) -> anyhow::Result<bool> {
    let here = std::env::current_dir().ok();
    let shell = CompleteEnv::with_factory(|| add_candidates(command())).var(VARIABLE);
    Ok(shell.try_complete(std::env::args_os(), here.as_deref())?)
}

pub(crate) fn completions(args: &Completions) -> anyhow::Result<ExitStatus> {
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell).with_context(|| format!("{shell} is not supported"))?;
    let mut text = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
    verbatim(&text)?;
    Ok(ExitStatus::Ok)
}

pub(crate) fn man(args: &Man, command: Command) -> anyhow::Result<ExitStatus> {
    if args.markdown {
        verbatim(reference::page(command).as_bytes())?;
        return Ok(ExitStatus::Ok);
    }
    let Some(dir) = &args.out else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        verbatim(&text)?;
        return Ok(ExitStatus::Ok);
    };
    make_folder(dir)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, dir, &mut pages)?;
    write_files(pages)?;
    Ok(ExitStatus::Ok)
}

/// Adds the page of a command and those of its subcommands, each with its place.
fn add_pages(
    command: &Command,
    dir: &Path,
    pages: &mut Vec<(PathBuf, Vec<u8>)>,
) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below, dir, pages)?;
    }
    let (page, mut text) = (clap_mangen::Man::new(command.clone()), Vec::new());
    page.render(&mut text)?;
    pages.push((dir.join(page.get_filename()), text));
    Ok(())
}

/// Lists all candidates for a value; the second argument is the part that is typed already.
type FindCandidates = fn(&Workspace, &str) -> Result<Vec<String>>;

/// The values that are names of the workspace, by the name that the help text gives them.
const VALUES: [(&str, FindCandidates); 9] = [
    ("SCENARIO", scenarios),
    ("CASSETTE|FILE.jsonl", cassettes),
    ("ISSUE", issues),
    ("SUBJECT", subjects),
    ("VERSION", versions),
    ("CLI", clis),
    ("LANE,…", lanes),
    ("GOLDEN", goldens),
    ("FINDING", findings),
];

/// The values that may be a file as well.
const OR_FILES: [&str; 1] = ["CASSETTE|FILE.jsonl"];

/// Adds completion to the values of a command and of its subcommands.
fn add_candidates(command: Command) -> Command {
    command.mut_args(complete).mut_subcommands(add_candidates)
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

/// Returns the ids of the kinds of findings.
fn findings(_: &Workspace, _: &str) -> Result<Vec<String>> {
    let ids = FindingKind::ALL.iter().map(ToString::to_string);
    Ok(ids.filter_map(|id| Some(id.split_once(' ')?.0.to_owned())).collect())
}

/// Returns the ids of the goldens that wait for a review.
fn goldens(workspace: &Workspace, _: &str) -> Result<Vec<String>> {
    review::waiting(workspace)
}
