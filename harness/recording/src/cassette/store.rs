//! Reads and writes cassettes on disk: damage is always reported, and a cassette is written whole or not at all, by one
//! writer at a time.
//!
//! A recording in memory is a [`Take`]. Its further runs are those in which the CLI resumed the session of an earlier
//! run, in the same HOME and project. Their files are beside those of the first run, with the number of the run in the
//! name: `stdout.2.jsonl`, `timeline.2.jsonl`, `transcript.2.jsonl` …, and `history.2.jsonl`: the messages of the first
//! request, which show how the CLI continued the conversation. [`RunParts`] is the one place that lists the files.
//!
//! The files go to a folder beside the cassette, which then replaces it in one step ([`NewFolder`]), so that a reader
//! sees either the old cassette or the new one, even after a crash. A crash may leave the folder behind; [`abandoned`]
//! finds it. The manifest has the SHA-256 of every file, and its first line, the seal, is the SHA-256 of the rest, so
//! that an edited manifest is detected like any other damage.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fs_err as fs;
use sha2::{Digest, Sha256};

use super::format::{
    FORMAT, Manifest, RecordCounts, RunFacts, Tick, TickKind, parse_timeline, render_timeline,
};
use crate::files::{self, FileError, NewFolder, UNFINISHED_CASSETTE};
use crate::limits::{self, InputError};
use crate::names::{CassetteFile, CassettePart, CliVersion, MOST_RUNS, ScenarioName};
use crate::scenario::{ScenarioError, Workspace};

const MANIFEST: &str = "cassette.toml";

/// The errors of reading and writing a cassette.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of the cassette is a link, no regular file, or too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// The scenario that the cassette is compared with can't be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The cassette exceeds a limit of replays.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The text of `cassette.toml` is invalid.
    #[error("{path}: {what}; record the scenario again or restore the file from version control")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The mistake in words.
        what: String,
    },
    /// The cassette was written by a later version.
    #[error("{path} has format {found}, this version reads up to {FORMAT}; update clitape")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The format of the cassette.
        found: u32,
    },
    /// The folder has the name of another scenario.
    #[error(
        "{path} has a recording of `{found}`; if its folder was renamed, run `clitape rename {found} {name}`, or else \
         restore it from version control or record the scenario again"
    )]
    OtherScenario {
        /// The folder.
        path: PathBuf,
        /// The scenario that `cassette.toml` names.
        found: ScenarioName,
        /// The scenario in whose folder it is.
        name: ScenarioName,
    },
    /// A file differs from the recorded one.
    #[error(
        "{path} is damaged: {what}; restore it from version control or record the scenario again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage in words.
        what: String,
    },
}

impl CassetteError {
    /// Makes the error for a damaged file or folder at `path`.
    fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }

    /// Returns whether the cassette itself is damaged, rather than the file system or its user at fault.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Manifest { .. }
            | Self::TooNew { .. }
            | Self::OtherScenario { .. }
            | Self::Damaged { .. } => true,
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
    /// The parsed `cassette.toml`.
    pub manifest: Manifest,
    /// The bytes of `stdout.jsonl`.
    pub stdout: Vec<u8>,
    /// The times of the reads and of the writes to stdin.
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
    /// [`CassetteError`] if a file is missing or is a link, its hash differs, the folder has a file that the manifest
    /// does not name, the timeline does not cover every byte, or the folder has the name of another CLI version.
    pub fn load(dir: &Path) -> Result<Self, CassetteError> {
        let path = dir.join(MANIFEST);
        let text = match files::read_text(&path) {
            Err(error) if error.is_not_found() && dir.is_dir() => {
                return Err(CassetteError::damaged(dir, format!("it has no {MANIFEST}")));
            }
            text => text?,
        };
        let manifest = parse_manifest(&path, &text)?;
        // A path such as `..` has no name, so it can't be the name of another version.
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

    /// Reads only `cassette.toml` in `dir`.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] if it can't be read, or was edited.
    pub fn manifest(dir: &Path) -> Result<Manifest, CassetteError> {
        let path = dir.join(MANIFEST);
        parse_manifest(&path, &files::read_text(&path)?)
    }

    /// Reads the cassette of a scenario and a CLI version.
    ///
    /// # Errors
    ///
    /// As [`Cassette::load`], and if a folder on the way is a link, or `cassette.toml` names another scenario or
    /// version.
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
            let (found, name) = (cassette.manifest.scenario, scenario.clone());
            return Err(CassetteError::OtherScenario { path: dir, found, name });
        }
        Ok(cassette)
    }

    /// Returns the stdout of every run, the first one first.
    pub fn outputs(&self) -> impl Iterator<Item = &[u8]> {
        let further = self.further.iter().map(|run| &run.stdout[..]);
        [&self.stdout[..]].into_iter().chain(further)
    }

    /// Returns the stdout of all runs, one behind another.
    pub fn whole_stdout(&self) -> Cow<'_, [u8]> {
        match self.further.is_empty() {
            true => Cow::from(&self.stdout),
            false => Cow::from(self.outputs().collect::<Vec<_>>().concat()),
        }
    }

    /// Returns the CLI version, which is also the name of the cassette's folder.
    pub fn version(&self) -> &CliVersion {
        &self.manifest.cli.version
    }
}

/// Makes a take of a cassette, to write it at another place.
impl From<Cassette> for Take {
    fn from(cassette: Cassette) -> Self {
        let Cassette { dir: _, manifest, stdout, timeline, stderr, stdin, transcript, further } =
            cassette;
        Self { manifest, stdout, timeline, stderr, stdin, transcript, further }
    }
}

impl From<Take> for Cassette {
    /// Takes a recording in memory as a cassette, which was read from no folder.
    fn from(take: Take) -> Self {
        let Take { manifest, stdout, timeline, stderr, stdin, transcript, further } = take;
        Self { dir: PathBuf::new(), manifest, stdout, timeline, stderr, stdin, transcript, further }
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

/// Takes the stdout and the timeline of run `number` out of the files of `dir`, and checks them against each other.
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
    limits::check_input(
        &dir.join(CassetteFile::new(CassettePart::Stdout, number).to_string()),
        &stdout,
    )?;
    let path = dir.join(CassetteFile::new(CassettePart::Timeline, number).to_string());
    limits::check_input(&path, &timeline)?;
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

fn counts(stdout: &[u8], timeline: &[Tick]) -> RecordCounts {
    let unterminated = stdout.last().is_some_and(|&byte| byte != b'\n');
    RecordCounts {
        bytes: stdout.len() as u64,
        lines: stdout.iter().filter(|&&b| b == b'\n').count() as u64 + u64::from(unterminated),
        reads: timeline.iter().filter(|tick| matches!(tick.kind, TickKind::Out(_))).count() as u64,
    }
}

/// Returns the bytes of stdout in a timeline; [`parse_timeline`] has checked that the sum fits.
fn read_total(timeline: &[Tick]) -> u64 {
    timeline.iter().map(|tick| if let TickKind::Out(n) = tick.kind { n } else { 0 }).sum()
}

/// A recording or an import in memory, canonical, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    /// The manifest, which becomes `cassette.toml`; `counts`, `runs` and `sha256` are filled in on writing.
    pub manifest: Manifest,
    /// The bytes of `stdout.jsonl`.
    pub stdout: Vec<u8>,
    /// The entries of `timeline.jsonl`, with sizes in canonical bytes.
    pub timeline: Vec<Tick>,
    /// The bytes of `stderr.txt`; no file when empty.
    pub stderr: Vec<u8>,
    /// The bytes of `stdin.jsonl`; no file when empty.
    pub stdin: Vec<u8>,
    /// The bytes of `transcript.jsonl`; no file when empty.
    pub transcript: Vec<u8>,
    /// The further runs, from the second.
    pub further: Vec<FurtherRun>,
}

/// A further run in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherRun {
    /// The entry in `cassette.toml`; `counts` are filled in on writing.
    pub facts: RunFacts,
    /// The bytes of its stdout.
    pub stdout: Vec<u8>,
    /// The times of its reads.
    pub timeline: Vec<Tick>,
    /// The bytes of its stderr; no file when empty.
    pub stderr: Vec<u8>,
    /// The conversation in its session's transcript after it; no file when empty.
    pub transcript: Vec<u8>,
    /// The messages that it first sent to the model; no file when empty.
    pub history: Vec<u8>,
}

/// The files of one run.
#[derive(Debug)]
pub struct RunParts<Argv, Timeline, Bytes> {
    /// The number of the run, from 1.
    pub number: usize,
    /// The command line, which is stored in `cassette.toml`.
    pub argv: Argv,
    /// The parsed timeline of the run.
    pub timeline: Timeline,
    /// The other files, including empty ones.
    pub files: Vec<(CassetteFile, Bytes)>,
}

/// Lists the runs of a [`Take`] or of a [`Cassette`], borrowed as `$borrow`.
macro_rules! runs {
    ($take:expr, $($borrow:tt)+) => {{
        let take = $take;
        let first = RunParts {
            number: 1,
            argv: $($borrow)+ take.manifest.cli.argv,
            timeline: $($borrow)+ take.timeline,
            files: vec![
                (CassetteFile::new(CassettePart::Stdout, 1), $($borrow)+ take.stdout),
                (CassetteFile::new(CassettePart::Stderr, 1), $($borrow)+ take.stderr),
                (CassetteFile::new(CassettePart::Stdin, 1), $($borrow)+ take.stdin),
                (CassetteFile::new(CassettePart::Transcript, 1), $($borrow)+ take.transcript),
            ],
        };
        let further = (2..).zip($($borrow)+ take.further).map(|(number, run)| RunParts {
            number,
            argv: $($borrow)+ run.facts.argv,
            timeline: $($borrow)+ run.timeline,
            files: vec![
                (CassetteFile::new(CassettePart::Stdout, number), $($borrow)+ run.stdout),
                (CassetteFile::new(CassettePart::Stderr, number), $($borrow)+ run.stderr),
                (CassetteFile::new(CassettePart::Transcript, number), $($borrow)+ run.transcript),
                (CassetteFile::new(CassettePart::History, number), $($borrow)+ run.history),
            ],
        });
        std::iter::once(first).chain(further)
    }};
}

impl Take {
    /// Returns the files of each run, to read them.
    pub fn runs(&self) -> impl Iterator<Item = RunParts<&Vec<String>, &Vec<Tick>, &Vec<u8>>> {
        runs!(self, &)
    }

    /// Returns the files of each run, to change them.
    pub fn runs_mut(
        &mut self,
    ) -> impl Iterator<Item = RunParts<&mut Vec<String>, &mut Vec<Tick>, &mut Vec<u8>>> {
        runs!(self, &mut)
    }
}

impl Cassette {
    /// Returns the files of each run.
    pub fn runs(&self) -> impl Iterator<Item = RunParts<&Vec<String>, &Vec<Tick>, &Vec<u8>>> {
        runs!(self, &)
    }
}

impl Take {
    /// Writes the take as the cassette of its scenario and CLI version, and replaces an existing one.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] if a folder on the way is a link, a file can't be written, or another writer of the scenario
    /// does not end; an existing cassette then stays.
    pub fn write(&self, workspace: &Workspace) -> Result<PathBuf, CassetteError> {
        let (name, version) = (&self.manifest.scenario, &self.manifest.cli.version);
        let place = workspace.new_cassette(name, version)?;
        let fresh = NewFolder::beside(&place, UNFINISHED_CASSETTE[0])?;
        self.write_files(&fresh)?;
        Ok(fresh.put_over()?)
    }

    /// Writes the take as the only cassette of a new scenario, together with the scenario: both or neither.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and if the scenario can't be put in its place.
    pub fn write_with(
        &self,
        workspace: &Workspace,
        scenario: NewFolder,
    ) -> Result<PathBuf, CassetteError> {
        let place = self.write(workspace)?;
        // A full disk would have been found by now, because only a folder is moved from here on.
        scenario.put().or_else(|error| remove(&place).and(Err(error)))?;
        Ok(place)
    }

    /// Writes all files of the cassette into its folder.
    fn write_files(&self, folder: &NewFolder) -> Result<(), CassetteError> {
        let mut manifest = self.manifest.clone();
        manifest.counts = counts(&self.stdout, &self.timeline);
        let further = self.further.iter();
        let further = further.map(|run| RunFacts {
            counts: counts(&run.stdout, &run.timeline),
            ..run.facts.clone()
        });
        manifest.runs = further.collect();
        let files = self.runs().flat_map(|run| {
            let timeline = CassetteFile::new(CassettePart::Timeline, run.number);
            let rendered = Cow::from(render_timeline(run.timeline).into_bytes());
            let files = run.files.into_iter().map(|(file, bytes)| (file, Cow::from(bytes)));
            std::iter::once((timeline, rendered)).chain(files)
        });
        for (file, bytes) in files {
            let is_always_there =
                matches!(file.part(), CassettePart::Stdout | CassettePart::Timeline);
            if let Some(path) = file.path(Path::new(""))
                && (is_always_there || !bytes.is_empty())
            {
                folder.write(path, &bytes)?;
                manifest.sha256.insert(file, sha256(&bytes));
            }
        }
        let text = toml::to_string(&manifest).map_err(io::Error::other)?;
        Ok(folder.write(MANIFEST, sealed(&text))?)
    }
}

/// Names another scenario in the `cassette.toml` of a folder.
///
/// # Errors
///
/// [`CassetteError`] if it can't be read or written, or was edited.
pub fn name(dir: &Path, scenario: &ScenarioName) -> Result<(), CassetteError> {
    let manifest = Manifest { scenario: scenario.clone(), ..Cassette::manifest(dir)? };
    let text = toml::to_string(&manifest).map_err(io::Error::other)?;
    Ok(files::replace(&dir.join(MANIFEST), sealed(&text))?)
}

/// Removes the cassette at `place`, in one step for a reader.
///
/// # Errors
///
/// [`FileError`] when it can't be removed.
pub fn remove(place: &Path) -> Result<(), files::FileError> {
    files::remove_folder(place, UNFINISHED_CASSETTE[2])
}

/// Finds the folders that an interrupted writer left in `dir`, the folder of a scenario's cassettes; none while a
/// writer is at work there.
///
/// # Errors
///
/// When the folder can't be read.
pub fn abandoned(dir: &Path) -> io::Result<Vec<PathBuf>> {
    files::leftovers(dir, &UNFINISHED_CASSETTE)
}

const SEAL_BEGIN: &str = "seal = \"";
const SEAL_END: &str = "\"\n";
/// The number of digits of a hash that a sentence shows.
const SEAL_SHOWN: usize = 12;

/// Adds its seal to the text of a manifest.
pub fn sealed(text: &str) -> String {
    format!("{SEAL_BEGIN}{}{SEAL_END}{text}", sha256(text.as_bytes()))
}

/// Checks the seal of a manifest; returns the text behind it.
///
/// # Errors
///
/// A sentence about the mistake.
fn unsealed(text: &str) -> Result<&str, String> {
    let split = text.strip_prefix(SEAL_BEGIN).and_then(|rest| rest.split_once(SEAL_END));
    let (seal, rest) = split.ok_or("its first line is no seal")?;
    let own = sha256(rest.as_bytes());
    let short = |hash: &str| -> String { hash.chars().take(SEAL_SHOWN).collect() };
    match own == seal {
        true => Ok(rest),
        false if rest.contains('\r') => Err("its lines end with CR and LF".to_owned()),
        false => Err(format!(
            "its seal is {}…, and what follows has {}…, so that it was edited",
            short(seal),
            short(&own)
        )),
    }
}

/// Returns the SHA-256 of bytes in lower-case hexadecimal, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the [`sha256`] of the file at `path`, with links followed; it may be larger than memory.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Formats bytes in lower-case hexadecimal.
pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        match (unsealed(text), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{found}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn a_text_that_was_edited_does_not_fit_its_seal() {
        let text = sealed("format = 2\na = 'b'\n");
        check(&text, Ok("format = 2\na = 'b'\n"));
        check(&text.replace('b', "c"), Err("it was edited"));
        check(&(text.clone() + "\n"), Err("it was edited"));
        check(&text.replace('\n', "\r\n"), Err("no seal"));
        check(&text.replace("2\n", "2\r\n"), Err("CR and LF"));
        check("format = 2\n", Err("no seal"));
        check("", Err("no seal"));
    }
}
