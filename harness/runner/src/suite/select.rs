//! Selects the scenarios of a command: by name, part of a name or glob, with a version or without, by track, by changes
//! in version control, without some, and in shards.
//!
//! [`select`] is a function of the known scenarios and the request. Every command that takes scenarios calls it, so
//! that the same words mean the same everywhere.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{fmt, io};

use clitape_process::threads::NoMoreThreads;
use clitape_process::{Git, Guard, ProcessError, RunLimits, Why, work_tree};
use clitape_recording::cassette::Exit;
use clitape_recording::limits::OutputLimits;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Stray, Workspace};
use clitape_recording::text::{did_you_mean, near, plural};

use super::result::JudgedShard;
use crate::suite::pool::short_jobs;

/// The request of a command line. By default, every scenario is selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// The names; a scenario is selected if one of them means it. Without names, all are meant.
    pub names: Vec<NamePattern>,
    /// Lets a name that no scenario has be a part of names.
    pub parts: bool,
    /// Lets a version be one that is not recorded yet, because the command records it.
    pub new_versions: bool,
    /// The names of scenarios and recordings that are left out.
    pub exclude: Vec<NamePattern>,
    /// The issues; a scenario is selected if it tracks one of them.
    pub tracks: Vec<String>,
    /// The revision since which a scenario has to have changed, and the scenarios that have.
    pub changed: Option<(String, BTreeSet<ScenarioName>)>,
    /// The part of the selected scenarios that is taken.
    pub shard: Option<Shard>,
}

/// A scenario that is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// Its name.
    pub name: ScenarioName,
    /// The versions that the command line names; `None` for all of them.
    pub versions: Option<Vec<CliVersion>>,
    /// True if the command line has its whole name.
    pub is_named: bool,
}

impl Selected {
    /// Returns whether a subject gets the scenario although no CLI prints its records: only if it was named.
    pub fn asks_for_synthetic(&self) -> bool {
        self.is_named || self.versions.is_some()
    }
}

/// The result of [`select`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The scenarios, in the order in which the command line names them, then by name.
    pub scenarios: Vec<Selected>,
    /// True if the checks of the workspace as a whole belong to it: only scenarios of other shards are left out, and
    /// the first shard makes these checks.
    pub is_whole: bool,
    /// The part of the selected scenarios that this shard has; `None` without shards.
    pub shard: Option<JudgedShard>,
    /// The reason, as a sentence, if no scenario is selected.
    pub nothing: Option<String>,
}

impl Selection {
    /// Selects every scenario of a workspace.
    ///
    /// # Errors
    ///
    /// [`SelectError::Io`] when a folder can't be read.
    pub fn everything(workspace: &Workspace) -> Result<Self, SelectError> {
        Selector::default().choose(workspace)
    }

    /// Returns whether a finding about this place of the workspace, such as `scenarios/NAME/golden/a`, belongs to the
    /// selection.
    pub fn has_place(&self, place: &str) -> bool {
        let is_of = |name: &ScenarioName| place.split('/').any(|part| name == part);
        self.is_whole || self.scenarios.iter().any(|one| is_of(&one.name))
    }
}

/// Selects scenarios of `known`, which is sorted by name.
///
/// # Errors
///
/// [`SelectError::Unknown`] when a name, a version or a track does not exist.
pub fn select(known: &[Candidate], asked: &Selector) -> Result<Selection, SelectError> {
    for track in &asked.tracks {
        check_track(known, track)?;
    }
    let [named, excluded] = [&asked.names, &asked.exclude].map(|list| resolve(known, asked, list));
    let (named, excluded) = (named?, excluded?);
    let mut selected: Vec<(usize, Selected)> = Vec::new();
    for (place, candidate) in known.iter().enumerate() {
        let mentions = |of: &[Mention]| of.iter().any(|it| it.candidate == place);
        let is_tracked =
            asked.tracks.is_empty() || asked.tracks.iter().any(|it| candidate.tracks(it));
        let is_changed =
            asked.changed.as_ref().is_none_or(|(_, names)| names.contains(&candidate.name));
        if !is_tracked || !is_changed || !asked.names.is_empty() && !mentions(&named) {
            continue;
        }
        let of =
            |list: &[Mention]| list.iter().filter(|it| it.candidate == place).cloned().collect();
        let (named, excluded): (Vec<Mention>, Vec<Mention>) = (of(&named), of(&excluded));
        if excluded.iter().any(|it| it.versions.is_none()) {
            continue;
        }
        let mut versions = union(&named);
        if !excluded.is_empty() {
            let left_out = union(&excluded).unwrap_or_default();
            let mut rest = versions.unwrap_or_else(|| candidate.versions.clone());
            rest.retain(|version| !left_out.contains(version));
            if rest.is_empty() {
                continue;
            }
            versions = Some(rest);
        }
        let is_named = named.iter().any(|it| it.is_whole_name);
        let order = named.iter().map(|it| it.pattern).min().unwrap_or_default();
        selected.push((order, Selected { name: candidate.name.clone(), versions, is_named }));
    }
    let before = selected.len();
    if let Some(shard) = asked.shard {
        let mut place = 0..;
        selected.retain(|_| place.next().is_some_and(|place| shard.has(place)));
    }
    selected.sort_by_key(|(order, _)| *order);
    let scenarios: Vec<Selected> = selected.into_iter().map(|(_, one)| one).collect();
    let is_filtered = !(asked.names.iter().all(|it| it.name.is_empty() && it.version.is_none())
        && asked.exclude.is_empty()
        && asked.tracks.is_empty()
        && asked.changed.is_none());
    let nothing = scenarios.is_empty().then(|| asked.why_nothing(known.len(), before));
    let is_first = asked.shard.is_none_or(|shard| shard.number == 1);
    let judged = |shard: Shard| {
        let [number, of, scenarios] = [shard.number, shard.of, before].map(|n| n as u64);
        JudgedShard { number, of, scenarios }
    };
    let shard = asked.shard.map(judged);
    Ok(Selection { scenarios, is_whole: !is_filtered && is_first, shard, nothing })
}

/// A candidate that a pattern means.
#[derive(Debug, Clone)]
struct Mention {
    /// The index of the pattern on the command line.
    pattern: usize,
    /// The index of the candidate.
    candidate: usize,
    versions: Option<Vec<CliVersion>>,
    is_whole_name: bool,
}

/// Returns the versions of all mentions of one candidate, each once; `None`, for all, if a mention names none.
fn union(mentions: &[Mention]) -> Option<Vec<CliVersion>> {
    let mut all: Vec<CliVersion> = Vec::new();
    for mention in mentions {
        for version in mention.versions.as_ref()? {
            if !all.contains(version) {
                all.push(version.clone());
            }
        }
    }
    (!mentions.is_empty()).then_some(all)
}

/// Returns the candidates that each pattern means, at least one for each.
fn resolve(
    known: &[Candidate],
    asked: &Selector,
    patterns: &[NamePattern],
) -> Result<Vec<Mention>, SelectError> {
    let mut mentions = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        let name = pattern.name.as_str();
        let exact = known.iter().any(|it| it.name == name);
        let means = |it: &Candidate| match is_glob(name) {
            true => matches(name, &it.name),
            false if exact || !asked.parts => it.name == name,
            false => it.name.contains(name),
        };
        let meant: Vec<usize> = (0..known.len()).filter(|&at| means(&known[at])).collect();
        if meant.is_empty() {
            return Err(SelectError::Unknown(no_such_name(known, asked, name)));
        }
        let before = mentions.len();
        for &candidate in &meant {
            let versions = match &pattern.version {
                None => None,
                Some(version) => match versions(&known[candidate], version, asked.new_versions) {
                    found if found.is_empty() => continue,
                    found => Some(found),
                },
            };
            let is_whole_name = known[candidate].name == name;
            mentions.push(Mention { pattern: number, candidate, versions, is_whole_name });
        }
        if mentions.len() == before {
            return Err(SelectError::Unknown(no_such_version(known, &meant, pattern)));
        }
    }
    Ok(mentions)
}

/// Returns the versions of a candidate that a version or glob of the command line means.
fn versions(candidate: &Candidate, version: &str, new: bool) -> Vec<CliVersion> {
    let means = |known: &&CliVersion| matches(version, known);
    let found: Vec<CliVersion> = candidate.versions.iter().filter(means).cloned().collect();
    match version.parse() {
        Ok(version) if found.is_empty() && new => vec![version],
        _ => found,
    }
}

fn no_such_name(known: &[Candidate], asked: &Selector, name: &str) -> String {
    let what = match asked.parts && !is_glob(name) {
        true => format!("no scenario is called `{name}`, and no name contains it"),
        false if is_glob(name) => format!("no scenario's name fits `{name}`"),
        false => format!("there is no scenario `{name}`"),
    };
    if known.is_empty() {
        return format!("{what}; there is none at all; write one with `clitape new NAME`");
    }
    let names = known.iter().map(|it| it.name.as_str());
    let near = did_you_mean(&near(name.trim_matches(['*', '?']), names));
    let count = plural(known.len(), "scenario");
    let new = match name.parse::<ScenarioName>() {
        Ok(name) if !asked.parts => format!(", and `clitape new {name}` writes a new one"),
        _ => String::new(),
    };
    format!("{what}{near}{} `clitape list` shows the {count}{new}", after(&near))
}

/// Returns the mark between a sentence and its hint.
fn after(question: &str) -> &'static str {
    if question.is_empty() { ";" } else { "" }
}

fn no_such_version(known: &[Candidate], meant: &[usize], pattern: &NamePattern) -> String {
    let version = pattern.version.as_deref().unwrap_or_default();
    let mut there: Vec<CliVersion> = Vec::new();
    for version in meant.iter().flat_map(|&at| &known[at].versions) {
        if !there.contains(version) {
            there.push(version.clone());
        }
    }
    there.sort_by(CliVersion::by_number);
    let name = &pattern.name;
    let hint = match there.as_slice() {
        [] => format!("nothing of it is recorded; run `clitape record {name}`"),
        there => format!("there are {}", there.join(", ")),
    };
    format!("there is no recording {name}/{version}; {hint}")
}

fn check_track(known: &[Candidate], track: &str) -> Result<(), SelectError> {
    // An unreadable scenario is selected for every track, but does not make a track exist.
    if known.iter().any(|it| it.tracks.is_some() && it.tracks(track)) {
        return Ok(());
    }
    let all: BTreeSet<&str> =
        known.iter().flat_map(|it| it.tracks.iter().flatten()).map(String::as_str).collect();
    let near = near(track, all.iter().copied());
    let hint = match (near.is_empty(), all.is_empty()) {
        (false, _) => did_you_mean(&near),
        (true, false) => "; `clitape list` names the tracks that there are".to_owned(),
        (true, true) => "; no scenario has `tracks` in its scenario.toml".to_owned(),
    };
    Err(SelectError::Unknown(format!("no scenario tracks `{track}`{hint}")))
}

impl Selector {
    /// Selects scenarios of a workspace. Their files are read only if a track is asked for.
    ///
    /// # Errors
    ///
    /// Those of [`select`], and [`SelectError::Io`] when a folder can't be read.
    pub fn choose(&self, workspace: &Workspace) -> Result<Selection, SelectError> {
        match select(&candidates(workspace, !self.tracks.is_empty())?, self) {
            Err(SelectError::Unknown(what)) => {
                Err(SelectError::Unknown(self.stray(workspace)?.unwrap_or(what)))
            }
            selected => selected,
        }
    }

    /// Returns the reason why an entry in the folder of the scenarios does not count as one, such as a link.
    fn stray(&self, workspace: &Workspace) -> Result<Option<String>, SelectError> {
        let named = |stray: &Stray| {
            let name = stray.path.file_name().and_then(|name| name.to_str());
            self.names.iter().any(|pattern| Some(pattern.name.as_str()) == name)
        };
        let found = workspace.strays()?.into_iter().find(named);
        Ok(found.map(|Stray { path, why }| format!("{} is no scenario: {why}", path.display())))
    }

    /// Returns the sentence about why no scenario is selected. `before` is the number before the shard was taken.
    fn why_nothing(&self, known: usize, before: usize) -> String {
        let parts = [
            (!self.names.is_empty()).then(|| "the names".to_owned()),
            (!self.tracks.is_empty()).then(|| "--track".to_owned()),
            (!self.exclude.is_empty()).then(|| "--exclude".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match (self.shard, &self.changed) {
            _ if known == 0 => "there is no scenario; write one with `clitape new NAME`".to_owned(),
            (Some(shard), _) if before > 0 => {
                let count = plural(before, "scenario");
                format!("shard {shard} of {count} is empty; take fewer shards")
            }
            (_, Some((revision, _))) if parts.is_empty() => {
                format!("no scenario and no cassette changed since {revision}")
            }
            (_, Some((revision, _))) => {
                let parts = parts.join(" and ");
                format!("no scenario is left after {parts} and --changed={revision}")
            }
            _ => format!("no scenario is left after {}", parts.join(" and ")),
        }
    }
}

/// A scenario that may be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: ScenarioName,
    /// The versions that are recorded.
    pub versions: Vec<CliVersion>,
    /// The issues it guards; `None` for an unreadable scenario. Such a scenario matches every issue, so that a mistake
    /// in it is found and not left out.
    pub tracks: Option<Vec<String>>,
}

impl Candidate {
    /// Returns whether it tracks an issue, which may be a glob such as `openclaw#*`.
    fn tracks(&self, asked: &str) -> bool {
        let means = |track: &String| match is_glob(asked) {
            true => matches(asked, track),
            false => track == asked,
        };
        self.tracks.as_ref().is_none_or(|tracks| tracks.iter().any(means))
    }
}

/// Lists the scenarios of a workspace, sorted by name; their issues are read only `with_tracks`.
///
/// # Errors
///
/// When a folder can't be read.
pub fn candidates(workspace: &Workspace, with_tracks: bool) -> io::Result<Vec<Candidate>> {
    let candidate = |name: &ScenarioName| {
        let tracks = match with_tracks {
            false => Some(Vec::new()),
            true => workspace
                .scenario_of(name)
                .ok()
                .map(|scenario| scenario.tracks.iter().map(ToString::to_string).collect()),
        };
        Ok(Candidate { versions: workspace.recorded(name)?, name: name.clone(), tracks })
    };
    short_jobs(&workspace.names()?, candidate)
}

/// A name of scenarios on a command line, with a version of the CLI or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    /// The name, a part of it, or a glob.
    pub name: String,
    /// The version, or a glob for versions.
    pub version: Option<String>,
}

/// A text that can't be a [`NamePattern`] or a [`Shard`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It has more parts than a name and a version.
    #[error("write NAME or NAME/VERSION, such as `three-tools/2.1.329` or `three-*`")]
    Name,
    /// The text is not a shard.
    #[error("write which of how many, from 1, such as `1/4`")]
    Shard,
}

/// The folders of a workspace in which a scenario has a subfolder; they may come before a name, because a shell
/// completes them.
const FOLDERS: [&str; 2] = ["scenarios", "cassettes"];

impl FromStr for NamePattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
        let folder = parts.iter().rposition(|part| FOLDERS.contains(part));
        match folder.map_or(&parts[..], |at| &parts[at + 1..]) {
            [name] => Ok(Self { name: (*name).to_owned(), version: None }),
            [name, version] => {
                Ok(Self { name: (*name).to_owned(), version: Some((*version).to_owned()) })
            }
            _ => Err(PatternError::Name),
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.version.iter().try_for_each(|version| write!(f, "/{version}"))
    }
}

/// One of several parts of the scenarios, which machines judge side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: usize,
    /// The number of all shards.
    pub of: usize,
}

impl Shard {
    /// Returns whether the scenario at this index of the sorted list is in this shard. Each is in exactly one.
    pub fn has(self, place: usize) -> bool {
        place % self.of + 1 == self.number
    }
}

impl FromStr for Shard {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (number, of) = text.split_once('/').ok_or(PatternError::Shard)?;
        match (number.parse(), of.parse()) {
            (Ok(number), Ok(of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(PatternError::Shard),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Returns whether a text is a glob.
fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Returns whether a glob matches a whole name: `*` matches any letters, `?` one letter.
fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut at, mut from) = ((0, 0), None);
    while at.1 < name.len() {
        match glob.get(at.0) {
            Some('*') => {
                from = Some(at);
                at.0 += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[at.1] => at = (at.0 + 1, at.1 + 1),
            // The last `*` takes one letter more.
            _ => match from {
                Some((star, taken)) => {
                    from = Some((star, taken + 1));
                    at = (star + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    glob[at.0..].iter().all(|letter| *letter == '*')
}

/// The longest time of a git command.
const LIMIT: Duration = Duration::from_secs(60);

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

/// The reason why scenarios can't be selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A name, a version or an issue does not exist.
    #[error("{0}")]
    Unknown(String),
    /// Git can't list the changes.
    #[error("--changed asks git what changed since {revision}, but {why}")]
    Git {
        /// The revision.
        revision: String,
        /// The message of git, and what to do.
        why: String,
    },
    /// The text is not a name or a shard.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A folder can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system lets no process for git start.
    #[error(transparent)]
    Threads(#[from] NoMoreThreads),
}

#[cfg(test)]
mod tests;
