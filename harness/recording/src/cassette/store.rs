//! Reads cassettes, and never a damaged one in silence.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::format::{FORMAT, Manifest, RecordCounts, Tick, TickKind, parse_timeline};
use super::hash::sha256;
use super::seal::unsealed;
use super::take::{FurtherRun, Take};
use crate::files::{self, FileError};
use crate::input::{self, InputError};
use crate::names::{CassetteFile, CassettePart, CliVersion, MOST_RUNS, ScenarioName};
use crate::scenario::{ScenarioError, Workspace};

pub(super) const MANIFEST: &str = "cassette.toml";

/// Why a cassette can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of it is a link, no regular file, or too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// The scenario that it is compared with can't be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It has more than is replayed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// `cassette.toml` can't be understood.
    #[error("{path}: {what}; record the scenario again or restore the file from version control")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The cassette was written by a later version.
    #[error("{path} has format {found}, this version reads up to {FORMAT}; update clitape")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The format it states.
        found: u32,
    },
    /// A file is not what was recorded.
    #[error(
        "{path} is damaged: {what}; restore it from version control or record the scenario again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl CassetteError {
    /// A file or folder at `path` is not what was recorded.
    fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }

    /// Whether the cassette itself is at fault, and not the file system or its user.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Manifest { .. } | Self::TooNew { .. } | Self::Damaged { .. } => true,
            Self::File(error) => error.is_wrong_kind(),
            Self::Io(_) | Self::Scenario(_) | Self::Input(_) => false,
        }
    }
}

/// A cassette read from disk, its files checked against their hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cassette {
    /// The folder it was read from.
    pub dir: PathBuf,
    /// `cassette.toml`.
    pub manifest: Manifest,
    /// The bytes of `stdout.jsonl`.
    pub stdout: Vec<u8>,
    /// When they came.
    pub timeline: Vec<Tick>,
    /// The bytes of `stderr.txt`; empty if there is none.
    pub stderr: Vec<u8>,
    /// The bytes of `stdin.jsonl`; empty if there is none.
    pub stdin: Vec<u8>,
    /// The conversation in the session's transcript after the run; empty if there was none.
    pub transcript: Vec<u8>,
    /// The further runs, from the second.
    pub further: Vec<FurtherRun>,
}

impl Cassette {
    /// Reads the cassette in `dir`.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when a file is missing or is a link, its hash differs, there is a file that
    /// the manifest does not name, the timeline does not account for every byte, or the folder has the
    /// name of another CLI version.
    pub fn load(dir: &Path) -> Result<Self, CassetteError> {
        let path = dir.join(MANIFEST);
        let text = match files::read_text(&path) {
            Err(error) if error.is_not_found() && dir.is_dir() => {
                return Err(CassetteError::damaged(dir, format!("it has no {MANIFEST}")));
            }
            text => text?,
        };
        let manifest = parse_manifest(&path, &text)?;
        // A path such as `..` has no name, and so not the name of another version.
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        if name.parse::<CliVersion>().is_ok_and(|version| version != manifest.cli.version) {
            let what = format!("it holds a recording of CLI {}", manifest.cli.version);
            return Err(CassetteError::damaged(dir, what));
        }
        if manifest.runs.len() >= MOST_RUNS {
            let what = format!("it names more than {MOST_RUNS} runs");
            return Err(CassetteError::damaged(&path, what));
        }
        let mut files = BTreeMap::new();
        for (file, hash) in &manifest.sha256 {
            if let Some(path) = file.path(dir) {
                files.insert(file.clone(), read_checked(&path, hash)?);
            }
        }
        for entry in fs::read_dir(dir)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let is_named = || name.parse().is_ok_and(|file| files.contains_key(&file));
            if name != MANIFEST && !is_named() {
                return Err(CassetteError::damaged(
                    &dir.join(&*name),
                    "cassette.toml does not name it",
                ));
            }
        }
        let (stdout, timeline) = printed(dir, &mut files, 1, manifest.counts)?;
        // A part that the manifest does not name is empty.
        let mut take = |part, run| files.remove(&CassetteFile::new(part, run)).unwrap_or_default();
        let [stderr, stdin, transcript] =
            [CassettePart::Stderr, CassettePart::Stdin, CassettePart::Transcript]
                .map(|part| take(part, 1));
        check_stdin(&dir.join(MANIFEST), &timeline, &stdin)?;
        let mut further = Vec::new();
        for (number, facts) in (2..).zip(&manifest.runs) {
            let (stdout, timeline) = printed(dir, &mut files, number, facts.counts)?;
            let mut take =
                |part| files.remove(&CassetteFile::new(part, number)).unwrap_or_default();
            let [stderr, transcript, history] =
                [CassettePart::Stderr, CassettePart::Transcript, CassettePart::History]
                    .map(&mut take);
            let facts = facts.clone();
            further.push(FurtherRun { facts, stdout, timeline, stderr, transcript, history });
        }
        let dir = dir.to_owned();
        Ok(Self { dir, manifest, stdout, timeline, stderr, stdin, transcript, further })
    }

    /// Reads `cassette.toml` in `dir` alone, and looks at no other file.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when it can't be read, or was edited.
    pub fn manifest(dir: &Path) -> Result<Manifest, CassetteError> {
        let path = dir.join(MANIFEST);
        parse_manifest(&path, &files::read_text(&path)?)
    }

    /// Reads the cassette of a scenario and a CLI version.
    ///
    /// # Errors
    ///
    /// As [`Cassette::load`], and when a folder on the way is a link, or `cassette.toml` names another
    /// scenario or version.
    pub fn find(
        workspace: &Workspace,
        scenario: &ScenarioName,
        version: &CliVersion,
    ) -> Result<Self, CassetteError> {
        let dir = workspace.cassette(scenario, version);
        if let Ok(relative) = dir.strip_prefix(workspace.root()) {
            files::check_folders(workspace.root(), relative)?;
        }
        let cassette = Self::load(&dir)?;
        if cassette.manifest.scenario != *scenario {
            let what = format!("it holds a recording of `{}`", cassette.manifest.scenario);
            return Err(CassetteError::damaged(&dir, what));
        }
        Ok(cassette)
    }

    /// The stdout of every run, the first one first.
    pub fn outputs(&self) -> impl Iterator<Item = &[u8]> {
        let further = self.further.iter().map(|run| &run.stdout[..]);
        [&self.stdout[..]].into_iter().chain(further)
    }

    /// The CLI version, which is also the name of the cassette's folder.
    pub fn version(&self) -> &CliVersion {
        &self.manifest.cli.version
    }
}

/// A cassette that was read, to be written at another place.
impl From<Cassette> for Take {
    fn from(cassette: Cassette) -> Self {
        let Cassette { dir: _, manifest, stdout, timeline, stderr, stdin, transcript, further } =
            cassette;
        Self { manifest, stdout, timeline, stderr, stdin, transcript, further }
    }
}

fn parse_manifest(path: &Path, text: &str) -> Result<Manifest, CassetteError> {
    #[derive(serde::Deserialize)]
    struct ManifestHead {
        format: u32,
    }
    let bad = |error: toml::de::Error| CassetteError::Manifest {
        path: path.to_owned(),
        what: error.message().to_owned(),
    };
    let head: ManifestHead = toml::from_str(text).map_err(bad)?;
    if head.format > FORMAT {
        return Err(CassetteError::TooNew { path: path.to_owned(), found: head.format });
    }
    if head.format < FORMAT {
        let what =
            format!("it has format {}, and {FORMAT} is the only one that is read", head.format);
        return Err(CassetteError::Manifest { path: path.to_owned(), what });
    }
    let text = unsealed(text).map_err(|what| CassetteError::damaged(path, what))?;
    toml::from_str(text).map_err(bad)
}

fn read_checked(path: &Path, hash: &str) -> Result<Vec<u8>, CassetteError> {
    let bytes = match files::read(path) {
        Err(error) if error.is_not_found() => {
            return Err(CassetteError::damaged(
                path,
                "cassette.toml names it, but it is not there",
            ));
        }
        bytes => bytes?,
    };
    let found = sha256(&bytes);
    if found == hash {
        Ok(bytes)
    } else {
        Err(CassetteError::damaged(
            path,
            format!("its sha256 is {found}, cassette.toml says {hash}"),
        ))
    }
}

/// The bytes that run `number` printed and when they came, out of the files of `dir`.
fn printed(
    dir: &Path,
    files: &mut BTreeMap<CassetteFile, Vec<u8>>,
    number: usize,
    expected: RecordCounts,
) -> Result<(Vec<u8>, Vec<Tick>), CassetteError> {
    let manifest = dir.join(MANIFEST);
    let mut take = |part| {
        let file = CassetteFile::new(part, number);
        let bytes = files.remove(&file);
        bytes.ok_or_else(|| {
            CassetteError::damaged(&manifest, format!("it gives no sha256 for {file}"))
        })
    };
    let (stdout, timeline) = (take(CassettePart::Stdout)?, take(CassettePart::Timeline)?);
    input::check(&dir.join(CassetteFile::new(CassettePart::Stdout, number).to_string()), &stdout)?;
    let path = dir.join(CassetteFile::new(CassettePart::Timeline, number).to_string());
    input::check(&path, &timeline)?;
    let timeline = String::from_utf8(timeline)
        .map_err(|e| CassetteError::damaged(&path, e.to_string()))
        .and_then(|text| {
            parse_timeline(&text).map_err(|(line, what)| {
                CassetteError::damaged(&path, format!("line {line}: {what}"))
            })
        })?;
    if counts(&stdout, &timeline) != expected || read_total(&timeline) != stdout.len() as u64 {
        return Err(CassetteError::damaged(
            &manifest,
            "its counts are not those of the files beside it",
        ));
    }
    Ok((stdout, timeline))
}

/// Checks that `stdin.jsonl` has every line that the timeline names.
fn check_stdin(manifest: &Path, timeline: &[Tick], stdin: &[u8]) -> Result<(), CassetteError> {
    let lines = stdin.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let named = timeline.iter().filter_map(|tick| match tick.kind {
        TickKind::In { line, .. } => Some(line),
        _ => None,
    });
    match named.into_iter().find(|line| !(1..=lines).contains(line)) {
        None => Ok(()),
        Some(line) => {
            let what = format!("its timeline names line {line} of stdin.jsonl, which has {lines}");
            Err(CassetteError::damaged(manifest, what))
        }
    }
}

pub(super) fn counts(stdout: &[u8], timeline: &[Tick]) -> RecordCounts {
    let unterminated = stdout.last().is_some_and(|&byte| byte != b'\n');
    RecordCounts {
        bytes: stdout.len() as u64,
        lines: stdout.iter().filter(|&&b| b == b'\n').count() as u64 + u64::from(unterminated),
        reads: timeline.iter().filter(|tick| matches!(tick.kind, TickKind::Out(_))).count() as u64,
    }
}

/// Bytes of stdout that the timeline accounts for; [`parse_timeline`] saw to it that the sum is one.
fn read_total(timeline: &[Tick]) -> u64 {
    timeline.iter().map(|tick| if let TickKind::Out(n) = tick.kind { n } else { 0 }).sum()
}
