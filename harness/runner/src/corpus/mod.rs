//! Writes a corpus: the recorded bytes of a workspace for programs that read stream-json, with their expected readings,
//! and mutated bytes with what must still hold.
//!
//! The same recordings give the same bytes. `schemas/corpus.json` describes the JSON files.
//!
//! ```text
//! index.json                                     CorpusIndex: the recordings
//! recordings/SCENARIO/VERSION/reading.json       ExpectedReading, beside stdout, stdin and events
//! mutated/SCENARIO/VERSION/mutated.json          MutatedReading, beside the mutated stdout
//! ```

mod mutated;
mod reading;

use std::io;
use std::path::{Path, PathBuf};

use clitape_recording::cassette::{Cassette, CassetteError, Origin};
use clitape_recording::files::{FileError, NewFolder, UNFINISHED};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::Workspace;
use serde::Serialize;

pub use mutated::{MustHold, MutatedReading, MutatedStdout};
pub use reading::{
    CORPUS_FORMAT, CallReading, ExpectedReading, LineReading, RunReading, StdinReading, TurnReading,
};

use crate::suite::select::Selection;

/// The reason why a corpus can't be written.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A folder of the workspace can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A file can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The place of the corpus is taken.
    #[error("{0} is there already, and a corpus takes a folder of its own; name a new folder")]
    Taken(PathBuf),
}

/// A text of the corpus that does not depend on its recordings.
#[derive(Debug, Clone, Copy)]
pub struct CorpusText<'a> {
    /// Its path in the corpus.
    pub path: &'a str,
    /// The text, in which `{recordings}`, `{scenarios}`, `{versions}` and `{mutated}` become the counts.
    pub text: &'a str,
}

/// The list of what a corpus has: `index.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CorpusIndex {
    /// [`CORPUS_FORMAT`].
    pub format: u32,
    /// The version of clitape that wrote it.
    pub clitape: String,
    /// The counts.
    pub counts: CorpusCounts,
    /// The recordings, by scenario and version.
    pub recordings: Vec<IndexedRecording>,
}

/// The counts of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CorpusCounts {
    /// The scenarios with a recording.
    pub scenarios: u64,
    /// The versions of the CLI.
    pub versions: u64,
    /// The recordings.
    pub recordings: u64,
    /// The mutated outputs.
    pub mutated: u64,
    /// The bytes of all recordings, readings and mutated outputs.
    pub bytes: u64,
}

/// A recording in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexedRecording {
    /// The scenario.
    pub scenario: ScenarioName,
    /// The version of the CLI.
    pub cli_version: CliVersion,
    /// The origin of the bytes.
    pub origin: Origin,
    /// The path of the reading in the corpus.
    pub reading: String,
    /// The path of the list of mutated outputs; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutated: Option<String>,
}

/// Writes a corpus of the selected recordings to a new or empty folder at `out`, in one step. Without a recording, no
/// folder is written.
///
/// # Errors
///
/// [`CorpusError`] if a cassette can't be read, a file can't be written, or the place is taken.
pub fn write(
    workspace: &Workspace,
    selection: &Selection,
    texts: &[CorpusText<'_>],
    out: &Path,
) -> Result<CorpusIndex, CorpusError> {
    check_place(out)?;
    let folder = NewFolder::beside(out, UNFINISHED)?;
    let mut writer = CorpusWriter { folder: &folder, index: CorpusIndex::default() };
    for selected in &selection.scenarios {
        let recorded = workspace.recorded(&selected.name)?;
        let newest = recorded.iter().max();
        let is_wanted = |version: &&CliVersion| {
            selected.versions.as_ref().is_none_or(|wanted| wanted.contains(version))
        };
        for version in recorded.iter().filter(is_wanted) {
            let cassette = Cassette::find(workspace, &selected.name, version)?;
            writer.recording(&cassette, Some(version) == newest)?;
        }
    }
    let index = writer.finish(texts)?;
    if index.counts.recordings > 0 {
        folder.put_over()?;
    }
    Ok(index)
}

/// Checks that a path is free, or an empty folder.
fn check_place(out: &Path) -> Result<(), CorpusError> {
    let taken = || Err(CorpusError::Taken(out.to_owned()));
    match out.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
        Ok(there) if !there.is_dir() => taken(),
        Ok(_) => match fs_err::read_dir(out)?.next() {
            None => Ok(()),
            Some(_) => taken(),
        },
    }
}

/// A corpus that is written.
struct CorpusWriter<'f> {
    folder: &'f NewFolder,
    index: CorpusIndex,
}

impl CorpusWriter<'_> {
    /// Adds a recording; the newest one of a scenario has a mutated output of each kind.
    fn recording(&mut self, cassette: &Cassette, is_newest: bool) -> Result<(), CorpusError> {
        let scenario = cassette.manifest.scenario.clone();
        let cli_version = cassette.version().clone();
        let place = |half: &str| format!("{half}/{scenario}/{cli_version}");
        let (reading, files) = ExpectedReading::of(cassette);
        let recordings = place("recordings");
        for file in files {
            self.file(&format!("{recordings}/{}", file.name), &file.bytes)?;
        }
        let reading_path = format!("{recordings}/reading.json");
        self.json(&reading_path, &reading)?;
        let (mutated, files) = MutatedReading::of(cassette, &reading, is_newest);
        let has_mutated = !files.is_empty();
        let mutated_path = format!("{}/mutated.json", place("mutated"));
        if has_mutated {
            self.json(&mutated_path, &mutated)?;
        }
        self.index.counts.mutated += files.len() as u64;
        for file in files {
            self.file(&format!("{}/{}", place("mutated"), file.name), &file.bytes)?;
        }
        self.index.recordings.push(IndexedRecording {
            origin: reading.origin,
            reading: reading_path,
            mutated: has_mutated.then_some(mutated_path),
            scenario,
            cli_version,
        });
        Ok(())
    }

    /// Writes the list and the texts, and returns the list.
    fn finish(mut self, texts: &[CorpusText<'_>]) -> Result<CorpusIndex, CorpusError> {
        let recordings = &mut self.index.recordings;
        recordings
            .sort_by(|a, b| (&a.scenario, &a.cli_version).cmp(&(&b.scenario, &b.cli_version)));
        let different = |mut all: Vec<&str>| {
            all.sort_unstable();
            all.dedup();
            all.len() as u64
        };
        let counts = CorpusCounts {
            scenarios: different(recordings.iter().map(|one| &*one.scenario).collect()),
            versions: different(recordings.iter().map(|one| &*one.cli_version).collect()),
            recordings: recordings.len() as u64,
            ..self.index.counts
        };
        self.index.counts = counts;
        self.index.format = CORPUS_FORMAT;
        self.index.clitape = env!("CARGO_PKG_VERSION").to_owned();
        let index = self.index.clone();
        self.json("index.json", &index)?;
        for CorpusText { path, text } in texts {
            let words = [
                ("{recordings}", counts.recordings),
                ("{scenarios}", counts.scenarios),
                ("{versions}", counts.versions),
                ("{mutated}", counts.mutated),
            ];
            let text = words.iter().fold((*text).to_owned(), |text, (word, count)| {
                text.replace(word, &count.to_string())
            });
            self.folder.write(path, text)?;
        }
        Ok(index)
    }

    fn json(&mut self, path: &str, value: &impl Serialize) -> Result<(), CorpusError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.file(path, format!("{text}\n").as_bytes())
    }

    fn file(&mut self, path: &str, bytes: &[u8]) -> Result<(), CorpusError> {
        self.index.counts.bytes += bytes.len() as u64;
        Ok(self.folder.write(path, bytes)?)
    }
}
