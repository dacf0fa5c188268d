//! The names of the two sides, as the command line gives them; the scenarios and versions whose cassettes are compared,
//! with those that are left out; and the reasons why two sides can't be compared.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use clitape_process::ProcessError;
use clitape_recording::cassette::CassetteError;
use clitape_recording::names::{CliVersion, NameError, ScenarioName};
use clitape_recording::scenario::{Scenario, ScenarioError, Workspace};

use crate::suite::select::{Selected, Selection};

/// The name of one of the two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideName {
    /// `this`: the running clitape, in its own process.
    This,
    /// `git:REV`: clitape at a revision of the project's repository.
    Git(String),
    /// A path with a `/` in it: a program that is called with the arguments of `clitape replay`.
    Program(PathBuf),
    /// `subject:NAME@VERSION`: a subject of `clitape.toml`, which is played in real time.
    Subject(String),
    /// `2.1.148`: the running clitape, on the cassettes of that version of the CLI.
    Version(CliVersion),
}

impl SideName {
    /// Returns whether the side is a version of the CLI, which both sides replay with the same program.
    pub fn is_version(&self) -> bool {
        matches!(self, Self::Version(_))
    }
}

impl FromStr for SideName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "this" {
            return Ok(Self::This);
        }
        if let Some(revision) = text.strip_prefix("git:") {
            return match revision {
                "" => Err("`git:` names no revision; write one such as git:HEAD~1".into()),
                revision => Ok(Self::Git(revision.to_owned())),
            };
        }
        if let Some(subject) = text.strip_prefix("subject:") {
            return match subject {
                "" => Err("`subject:` names no subject; write one such as subject:mine@1.2".into()),
                subject => Ok(Self::Subject(subject.to_owned())),
            };
        }
        if text.contains('/') {
            return Ok(Self::Program(text.into()));
        }
        if let Some(version) = text.parse().ok().filter(|_| text.contains('.')) {
            return Ok(Self::Version(version));
        }
        Err(format!(
            "`{text}` is nothing that can be compared; write `this`, git:REV, a version of the CLI \
             such as 2.1.329, or a path to a program with a `/` in it, such as ./{text}"
        ))
    }
}

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

/// The reason why two sides can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The file system or the operating system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A program could not be run, or failed at its task.
    #[error(transparent)]
    Process(ProcessError),
    /// A scenario can't be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A cassette can't be used.
    #[error("can't compare on a cassette that can't be read")]
    Tape(#[from] CassetteError),
    /// Both sides are the same.
    #[error("A and B are the same: {0}; name two that differ")]
    Same(String),
    /// Only one side is a version of the CLI.
    #[error(
        "`{version}` is a version of the CLI, the other side is none; compare two versions, or two \
         builds with `--version {version}`"
    )]
    Mixed {
        /// The version.
        version: String,
    },
    /// The text after a scenario's name is not a version.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Versions are named twice: as sides, and as a selection of cassettes.
    #[error("the sides say already which versions are compared; take `{0}` away")]
    Versions(String),
    /// None of the scenarios has a cassette of the version.
    #[error("CLI {version} is recorded for none of the scenarios; recorded are {recorded}")]
    NotRecorded {
        /// The version that was asked for.
        version: String,
        /// The versions that are recorded.
        recorded: String,
    },
    /// The path does not lead to a program that can be called.
    #[error("can't call {path}: {why}; name a program that can be run")]
    Program {
        /// The path of the program.
        path: PathBuf,
        /// The reason why it can't be called.
        why: String,
    },
    /// `git` can't be run.
    #[error("can't run git: {0}; install git, or name a built program by its path")]
    Git(io::Error),
    /// The workspace is not in a repository.
    #[error(
        "{root} is in no git repository ({said}); go to a clone of the project, or name a built \
         program by its path"
    )]
    Repository {
        /// The folder of the workspace.
        root: PathBuf,
        /// The message that git printed.
        said: String,
    },
    /// The repository has no such revision.
    #[error(
        "the repository has no revision `{0}`; `git log --oneline` lists those it has, and `git fetch` \
         gets more"
    )]
    Revision(String),
    /// The revision is not a revision of clitape.
    #[error(
        "revision `{revision}` has no {file}, so it can't be built; name a revision of clitape's own \
         repository, or a built program by its path"
    )]
    Source {
        /// The revision.
        revision: String,
        /// The file that the revision lacks.
        file: &'static str,
    },
    /// The revision does not build.
    #[error(
        "revision `{revision}` does not build; build it by hand in a checkout of {sha} to see why, or \
         name a built program by its path{said}"
    )]
    Build {
        /// The name by which the caller asked for the revision.
        revision: String,
        /// The full id of its commit.
        sha: String,
        /// The last lines that cargo printed, each on its own line.
        said: String,
    },
    /// A subject is compared with a side that is not played in real time.
    #[error("a subject is compared with a subject; write `subject:NAME@A subject:NAME@B`")]
    Subject,
    /// The caller asked to stop.
    #[error("stopped; nothing was written")]
    Stopped,
}

impl From<ProcessError> for CompareError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Stopped => Self::Stopped,
            ProcessError::Io(error) => Self::Io(error),
            error => Self::Process(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<SideName, &str>) {
        match (text.parse::<SideName>(), expect) {
            (Ok(side), Ok(expect)) => assert_eq!(side, expect),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn a_side_is_named_in_one_word() {
        check("this", Ok(SideName::This));
        check("git:v1/x", Ok(SideName::Git("v1/x".into())));
        check("./gateway", Ok(SideName::Program("./gateway".into())));
        check("/opt/2.1", Ok(SideName::Program("/opt/2.1".into())));
        check("2.1.148", Ok(SideName::Version("2.1.148".parse().unwrap())));
        check("subject:a@1/x", Ok(SideName::Subject("a@1/x".into())));
        check("subject:", Err("names no subject"));
        check("git:", Err("git:HEAD~1"));
        check("gateway", Err("such as ./gateway"));
        check("2", Err("nothing that can be compared"));
    }
}
