//! A long search for seeds that fail, in steps. Its progress is written after each step, so that the same search
//! continues where it was ended.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Instant;

use clitape_judge::Finding;
use clitape_recording::cassette::{CassetteError, sha256, sha256_of_file};
use clitape_recording::files::{self, FileError};
use clitape_recording::limits::ReplayLimits;
use clitape_recording::scenario::{OwnFile, Seeds, Workspace};
use clitape_recording::text::plain;
use serde::{Deserialize, Serialize};

use super::own::OwnGateway;
use super::result::Trouble;
use super::run::{SuiteOptions, TrialEvent, run};
use super::select::Selection;
use crate::check::FailureMemory;

/// The number of seeds in a step. Every sixteenth seed has a fault of the agent's side.
const STEP: u64 = 16;
/// The format of the file.
const FORMAT: u32 = 1;

/// The settings of a search.
#[derive(Debug, Clone, Copy)]
pub struct SeedSearch<'a> {
    /// The scenarios.
    pub selection: &'a Selection,
    /// The seeds.
    pub seeds: Seeds,
    /// The time after which the search ends with its step; `None` searches all seeds.
    pub until: Option<Instant>,
    /// The number of scenarios that are judged at a time; as many as there are cores by default.
    pub jobs: Option<usize>,
    /// The most channels that a scenario may have.
    pub limits: ReplayLimits,
    /// The fingerprint of the program and the recordings; a search continues only where it is the same.
    pub fingerprint: &'a str,
}

/// The progress of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchState {
    format: u32,
    fingerprint: String,
    first: u64,
    count: u64,
    /// The seeds that were replayed, from the first one on.
    pub done: u64,
    /// The plans that were replayed.
    pub plans: u64,
    /// The seeds that failed, the first of each recording and step.
    pub failing: Vec<FailingSeed>,
}

/// A seed that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailingSeed {
    /// The seed, or another origin of the plan: `seed 7`.
    pub name: String,
    /// The finding that it shows.
    pub finding: Finding,
}

/// The progress of a search, event by event.
#[derive(Debug)]
pub enum SearchEvent<'a> {
    /// An earlier search continues.
    GoesOn(&'a SearchState),
    /// The file of an earlier search can't be used, for this reason.
    Anew(&'a str),
    /// A scenario of the step is judged.
    Judged {
        /// The progress before the step.
        state: &'a SearchState,
        /// The number of scenarios of the step that are judged.
        done: usize,
        /// The number of all of them.
        of: usize,
    },
    /// A seed failed.
    Failed(&'a FailingSeed),
}

impl SearchState {
    fn new(search: &SeedSearch<'_>) -> Self {
        let Seeds { first, count } = search.seeds;
        let fingerprint = search.fingerprint.to_owned();
        let failing = Vec::new();
        Self { format: FORMAT, fingerprint, first, count, done: 0, plans: 0, failing }
    }

    /// Returns whether every seed was replayed.
    pub fn is_complete(&self) -> bool {
        self.done >= self.count
    }

    /// Returns the next seed.
    pub fn next(&self) -> u64 {
        self.first.saturating_add(self.done)
    }

    /// Returns the progress as indented JSON.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and words serialise")
    }

    /// Returns the seeds of the search.
    pub fn seeds(&self) -> Seeds {
        Seeds { first: self.first, count: self.count }
    }
}

/// The reason why a search can't go on.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// The file of the search can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A check could not be run.
    #[error("{}", .0.sentence)]
    Check(Trouble),
}

impl From<io::Error> for SearchError {
    fn from(error: io::Error) -> Self {
        Self::Cassette(error.into())
    }
}

/// Replays the plans of all seeds, or of as many as there is time for, and writes the progress after each step.
///
/// # Errors
///
/// [`SearchError`] when a cassette is damaged, a file can't be read or written, or `tell` fails.
pub fn search_seeds(
    workspace: &Workspace,
    search: SeedSearch<'_>,
    mut tell: impl FnMut(SearchEvent<'_>) -> io::Result<()>,
) -> Result<SearchState, SearchError> {
    let mut state = match begun(workspace, &search) {
        Ok(Some(state)) => {
            tell(SearchEvent::GoesOn(&state))?;
            state
        }
        Ok(None) => SearchState::new(&search),
        Err(why) => {
            tell(SearchEvent::Anew(&why))?;
            SearchState::new(&search)
        }
    };
    while !state.is_complete() && search.until.is_none_or(|until| Instant::now() < until) {
        let count = STEP.min(state.count - state.done);
        let options = SuiteOptions {
            limits: search.limits,
            jobs: search.jobs,
            seeds: Some(Seeds { first: state.next(), count }),
            only_plans: true,
            memory: FailureMemory::Keep,
            ..SuiteOptions::new(search.selection)
        };
        let suite = run(&mut OwnGateway::new(workspace), options, &mut |event| match event {
            TrialEvent::Judged { done, of } => {
                tell(SearchEvent::Judged { state: &state, done, of })
            }
            _ => Ok(()),
        })?;
        for check in suite.scenarios.into_iter().flat_map(|scenario| scenario.checks) {
            if let Some(trouble) = check.error {
                return Err(SearchError::Check(trouble));
            }
            state.plans += check.plans;
            for finding in check.findings {
                let name = finding.sentence.split(':').next().unwrap_or_default().to_owned();
                // A finding about the scenario itself shows in each step.
                if state.failing.iter().all(|known| known.finding != finding) {
                    let failed = FailingSeed { name, finding };
                    tell(SearchEvent::Failed(&failed))?;
                    state.failing.push(failed);
                }
            }
        }
        state.done += count;
        write(workspace, &state)?;
    }
    Ok(state)
}

/// Returns a text that differs for another program or other recordings: the hash of the program, of the scenarios and
/// of the manifests, which have the hashes of all recorded files.
///
/// # Errors
///
/// When a file can't be read.
pub fn search_fingerprint(
    workspace: &Workspace,
    program: &Path,
    selection: &Selection,
) -> io::Result<String> {
    let mut text = sha256_of_file(program)?;
    for one in &selection.scenarios {
        let scenario = files::read(&workspace.scenario(&one.name).join("scenario.toml"))?;
        let _ = write!(text, "\n{} {}", one.name, sha256(&scenario));
        let recorded = workspace.recorded(&one.name)?;
        for version in one.versions.as_ref().unwrap_or(&recorded) {
            let manifest = workspace.cassette(&one.name, version).join("cassette.toml");
            let _ = write!(text, " {version} {}", sha256(&files::read(&manifest)?));
        }
    }
    Ok(sha256(text.as_bytes()))
}

/// Returns the progress of the same search, if it has begun and is not complete; as an error, the reason why it can't
/// be used.
fn begun(workspace: &Workspace, search: &SeedSearch<'_>) -> Result<Option<SearchState>, String> {
    let path = || workspace.shown(&OwnFile::Sweep.path(workspace));
    let text = OwnFile::Sweep.read(workspace).map_err(|error| error.to_string())?;
    let Some(text) = text else { return Ok(None) };
    let state: SearchState = serde_json::from_str(&text)
        .map_err(|error| format!("{} is not what a search writes: {error}", path()))?;
    let fresh = SearchState::new(search);
    let is_same = state.format == FORMAT && state.seeds() == fresh.seeds();
    if !is_same || state.is_complete() {
        return Ok(None);
    }
    if state.fingerprint != fresh.fingerprint {
        return Err("the program or the recordings changed since these seeds were searched".into());
    }
    let mut state = state;
    for failed in &mut state.failing {
        failed.finding = failed.finding.clone().safe();
        failed.name = plain(&failed.name);
    }
    Ok(Some(state))
}

#[allow(clippy::expect_used, reason = "the state is impossible")]
fn write(workspace: &Workspace, state: &SearchState) -> Result<(), FileError> {
    let text = serde_json::to_string(state).expect("its keys are texts");
    OwnFile::Sweep.write(workspace, &(text + "\n"))
}
