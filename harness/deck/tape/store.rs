//! Reads and writes cassettes: whole or not at all, and never a damaged one in silence.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fs_err as fs;
use sha2::{Digest, Sha256};

use super::format::{
    Counts, FORMAT, Manifest, Take, Tick, TickKind, parse_timeline, render_timeline,
};
use super::further::{FurtherRun, RunFacts, file_of_run};

const STDOUT: &str = "stdout.jsonl";
const MANIFEST: &str = "cassette.toml";
const TIMELINE: &str = "timeline.jsonl";
const STDERR: &str = "stderr.txt";
const STDIN: &str = "stdin.jsonl";
const TRANSCRIPT: &str = "transcript.jsonl";
const HISTORY: &str = "history.jsonl";

/// Why a cassette can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
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
    /// [`TapeError`] when a file is missing, its hash differs, a file stands there that the
    /// manifest does not name, or the timeline does not account for every byte.
    pub fn load(dir: &Path) -> Result<Self, TapeError> {
        let path = dir.join(MANIFEST);
        let text = fs::read_to_string(&path)?;
        let manifest = parse_manifest(&path, &text)?;
        let mut files = BTreeMap::new();
        for (name, hash) in manifest.sha256.iter().filter(|(name, _)| !name.starts_with(RAW)) {
            files.insert(name.clone(), read_checked(&dir.join(name), hash)?);
        }
        for entry in fs::read_dir(dir)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if name != MANIFEST && !files.contains_key(&*name) {
                return Err(damaged(&dir.join(&*name), "cassette.toml does not name it"));
            }
        }
        let (stdout, timeline) = printed(dir, &mut files, 1, manifest.counts)?;
        let transcript = files.remove(TRANSCRIPT).unwrap_or_default();
        let mut further = Vec::new();
        for (number, facts) in (2..).zip(&manifest.runs) {
            let (stdout, timeline) = printed(dir, &mut files, number, facts.counts)?;
            let mut take = |name| files.remove(&file_of_run(name, number)).unwrap_or_default();
            let [stderr, transcript, history] = [STDERR, TRANSCRIPT, HISTORY].map(&mut take);
            let facts = facts.clone();
            further.push(FurtherRun { facts, stdout, timeline, stderr, transcript, history });
        }
        Ok(Self { dir: dir.to_owned(), manifest, stdout, timeline, transcript, further })
    }

    /// The CLI version, which is also the name of the cassette's folder.
    pub fn version(&self) -> &str {
        &self.manifest.cli.version
    }
}

impl Take {
    /// Writes the take as `<root>/<scenario>/<cli version>/`, in place of one that stands there.
    ///
    /// The files are written to a folder beside it, which then takes its name: a reader sees the
    /// old cassette or the new one, never half of one.
    ///
    /// # Errors
    ///
    /// [`TapeError`] when a file can't be written; what stood there stays.
    pub fn write(&self, root: &Path) -> Result<PathBuf, TapeError> {
        let parent = root.join(&self.manifest.scenario);
        fs::create_dir_all(&parent)?;
        let temporary = tempfile::Builder::new().prefix(".taking-").tempdir_in(&parent)?;
        let mut manifest = self.manifest.clone();
        manifest.counts = counts(&self.stdout, &self.timeline);
        let mut files = vec![
            (STDOUT.to_owned(), Cow::from(&self.stdout)),
            (TIMELINE.to_owned(), render_timeline(&self.timeline).into_bytes().into()),
            (STDERR.to_owned(), Cow::from(&self.stderr)),
            (STDIN.to_owned(), Cow::from(&self.stdin)),
            (TRANSCRIPT.to_owned(), Cow::from(&self.transcript)),
        ];
        manifest.runs.clear();
        for (number, run) in (2..).zip(&self.further) {
            let counts = counts(&run.stdout, &run.timeline);
            manifest.runs.push(RunFacts { counts, ..run.facts.clone() });
            let timeline = render_timeline(&run.timeline).into_bytes();
            files.extend(
                [
                    (STDOUT, Cow::from(&run.stdout)),
                    (TIMELINE, timeline.into()),
                    (STDERR, Cow::from(&run.stderr)),
                    (TRANSCRIPT, Cow::from(&run.transcript)),
                    (HISTORY, Cow::from(&run.history)),
                ]
                .map(|(name, bytes)| (file_of_run(name, number), bytes)),
            );
        }
        let always = |name: &str| name.starts_with("stdout.") || name.starts_with("timeline.");
        for (name, bytes) in files {
            if always(&name) || !bytes.is_empty() {
                fs::write(temporary.path().join(&name), &bytes)?;
                manifest.sha256.insert(name, sha256(&bytes));
            }
        }
        let text = toml::to_string(&manifest).map_err(io::Error::other)?;
        fs::write(temporary.path().join(MANIFEST), text)?;

        let target = parent.join(&self.manifest.cli.version);
        let old = tempfile::Builder::new().prefix(".replaced-").tempdir_in(&parent)?;
        if target.exists() {
            fs::rename(&target, old.path().join("old"))?;
        }
        set_readable(temporary.path())?;
        if let Err(error) = fs::rename(temporary.path(), &target) {
            if old.path().join("old").exists() {
                fs::rename(old.path().join("old"), &target)?;
            }
            return Err(error.into());
        }
        let _gone = temporary.keep();
        Ok(target)
    }
}

/// Temporary folders are private to their owner; a cassette is not.
#[cfg(unix)]
fn set_readable(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn set_readable(_dir: &Path) -> io::Result<()> {
    Ok(())
}

const RAW: &str = "raw-stdout";

/// Key of the hash of run `number`'s stdout before replacements; there is no such file.
pub(crate) fn raw_of_run(number: usize) -> String {
    match number {
        1 => RAW.to_owned(),
        _ => format!("{RAW}.{number}"),
    }
}

/// Lower-case hexadecimal SHA-256, as `sha256sum` prints it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// [`sha256`] of the file at `path`, links followed; it may be larger than memory.
pub(crate) fn sha256_of_file(path: &Path) -> io::Result<String> {
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

fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse_manifest(path: &Path, text: &str) -> Result<Manifest, TapeError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
    }
    let bad = |error: toml::de::Error| TapeError::Manifest {
        path: path.to_owned(),
        what: error.message().to_owned(),
    };
    let head: Head = toml::from_str(text).map_err(bad)?;
    if head.format > FORMAT {
        return Err(TapeError::TooNew { path: path.to_owned(), found: head.format });
    }
    toml::from_str(text).map_err(bad)
}

fn read_checked(path: &Path, hash: &str) -> Result<Vec<u8>, TapeError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(damaged(path, "cassette.toml names it, but it is not there"));
        }
        Err(error) => return Err(error.into()),
    };
    let found = sha256(&bytes);
    if found == hash {
        Ok(bytes)
    } else {
        Err(damaged(path, format!("its sha256 is {found}, cassette.toml says {hash}")))
    }
}

/// The bytes that run `number` printed and when they came, out of the files of `dir`.
fn printed(
    dir: &Path,
    files: &mut BTreeMap<String, Vec<u8>>,
    number: usize,
    expected: Counts,
) -> Result<(Vec<u8>, Vec<Tick>), TapeError> {
    let manifest = dir.join(MANIFEST);
    let mut take = |name| {
        let name = file_of_run(name, number);
        let bytes = files.remove(&name);
        bytes.ok_or_else(|| damaged(&manifest, format!("it gives no sha256 for {name}")))
    };
    let (stdout, timeline) = (take(STDOUT)?, take(TIMELINE)?);
    let path = dir.join(file_of_run(TIMELINE, number));
    let timeline = String::from_utf8(timeline)
        .map_err(|e| damaged(&path, e.to_string()))
        .and_then(|text| {
            parse_timeline(&text)
                .map_err(|(line, what)| damaged(&path, format!("line {line}: {what}")))
        })?;
    if counts(&stdout, &timeline) != expected || read_total(&timeline) != stdout.len() {
        return Err(damaged(&manifest, "its counts are not those of the files beside it"));
    }
    Ok((stdout, timeline))
}

fn damaged(path: &Path, what: impl Into<String>) -> TapeError {
    TapeError::Damaged { path: path.to_owned(), what: what.into() }
}

fn counts(stdout: &[u8], timeline: &[Tick]) -> Counts {
    let unterminated = stdout.last().is_some_and(|&byte| byte != b'\n');
    Counts {
        bytes: stdout.len() as u64,
        lines: stdout.iter().filter(|&&b| b == b'\n').count() as u64 + u64::from(unterminated),
        reads: timeline.iter().filter(|tick| matches!(tick.kind, TickKind::Out(_))).count() as u64,
    }
}

fn read_total(timeline: &[Tick]) -> usize {
    let sizes = timeline.iter().map(|tick| if let TickKind::Out(n) = tick.kind { n } else { 0 });
    usize::try_from(sizes.sum::<u64>()).unwrap_or(usize::MAX)
}
