//! Goldens on disk: `<view>[.<cli version>].snap` in insta's file format, pending ones beside them
//! as `.snap.new`, so that `cargo insta review` settles them as well as `clitape review`. A variant
//! has `<view>.<variant>.snap`.
//!
//! A golden without a version in its name serves every CLI version of the scenario that has none
//! of its own. The header never decides anything; only the text below it is compared.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use thiserror::Error;

use super::diff::{DiffLine, align_texts};
use super::trace_diff::{Times, TraceDiff};
use crate::files::{self, FileError};
use crate::names::{CliVersion, SubjectName};
use crate::replay::{AcpClient, Entry, Lane, shortened};
use crate::scenario::{ChannelSpec, Chat, Scenario, Variant};

/// What one golden shows of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The parser's events.
    Lifecycle,
    /// The bus.
    Bus,
    /// A chat.
    Telegram(Chat),
    /// The updates of an ACP client.
    Acp(AcpClient),
    /// The stream of server-sent events.
    Sse,
    /// The session on disk, of a scenario that goes on with it.
    Session,
}

impl View {
    /// The views of a scenario: both inner lanes, every channel it names, and the session if it
    /// goes on.
    pub fn of(scenario: &Scenario) -> Vec<Self> {
        let channels = scenario.channels.iter().map(|channel| match *channel {
            ChannelSpec::Telegram(chat) => Self::Telegram(chat),
            ChannelSpec::Acp { terminal } => Self::Acp(AcpClient { terminal }),
            ChannelSpec::Sse {} => Self::Sse,
        });
        let session = (!scenario.record.then.is_empty()).then_some(Self::Session);
        [Self::Lifecycle, Self::Bus].into_iter().chain(channels).chain(session).collect()
    }

    /// The lane it shows.
    pub fn lane(self) -> Lane {
        match self {
            Self::Lifecycle => Lane::Lifecycle,
            Self::Bus => Lane::Bus,
            Self::Telegram(_) => Lane::Telegram,
            Self::Acp(_) => Lane::Acp,
            Self::Sse => Lane::Sse,
            Self::Session => Lane::Session,
        }
    }

    /// The text of the view: the lane's entries, one a line. [`parse`] reads it.
    pub fn render(self, entries: &[Entry]) -> String {
        let lines = entries.iter().filter(|entry| entry.lane == self.lane());
        lines.map(|entry| entry.to_line() + "\n").collect()
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Telegram(chat) => write!(f, "{}-{chat}", self.lane()),
            Self::Acp(AcpClient { terminal: true }) => write!(f, "{}-terminal", self.lane()),
            _ => write!(f, "{}", self.lane()),
        }
    }
}

/// A golden file, there or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Golden {
    /// The `.snap` file.
    pub path: PathBuf,
    /// Its text, without the header; `None` when there is no such file.
    pub text: Option<String>,
    /// The entries of the text; empty when there is no such file.
    pub entries: Vec<Entry>,
}

impl Golden {
    /// The golden that `view` of `version` is compared with.
    ///
    /// # Errors
    ///
    /// When a golden is there but is not UTF-8 text with a header and an entry on each line below it.
    pub fn find(scenario: &Scenario, view: View, version: &CliVersion) -> io::Result<Self> {
        let own = own_path(scenario, view, version);
        let path = if files::is_there(&own) { own } else { shared_path(scenario, view) };
        Self::at(path)
    }

    /// The golden of a variant; it serves every CLI version.
    ///
    /// # Errors
    ///
    /// As [`Golden::find`].
    pub fn of_variant(scenario: &Scenario, variant: &Variant) -> io::Result<Self> {
        let path = variant_path(scenario, variant);
        Self::at(path)
    }

    /// The golden in the file at `path`, if it is there.
    fn at(path: PathBuf) -> io::Result<Self> {
        let Some((header, text)) = read_file(&path)? else {
            return Ok(Self { path, text: None, entries: Vec::new() });
        };
        let entries = parse(&text).map_err(|UnreadableLine { number, start }| {
            let number = header + number;
            let what = format!("{}:{number} is no trace entry: {start:?}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        Ok(Self { path, text: Some(text), entries })
    }

    /// Variants of a scenario that have no golden file and no pending one: where it should be.
    pub fn unwritten(scenario: &Scenario) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            scenario.variants.iter().map(|variant| variant_path(scenario, variant)).collect();
        paths.retain(|path| !path.exists() && !pending_path(path).exists());
        paths
    }

    /// Writes `text` as a pending golden for `view` of `version`.
    ///
    /// It stands beside the golden it would replace. A version that differs from the shared golden
    /// gets one of its own; one that is served by it, or by the one that is proposed for it, gets
    /// none.
    ///
    /// # Errors
    ///
    /// When a file can't be read or written.
    pub fn propose(
        scenario: &Scenario,
        view: View,
        version: &CliVersion,
        text: &str,
    ) -> io::Result<()> {
        let (own, shared) = (own_path(scenario, view, version), shared_path(scenario, view));
        let first = scenario.record.versions.first().is_some_and(|first| first == version);
        let target = if files::is_there(&own) || !first { own } else { shared.clone() };
        if !files::is_there(&target) && target != shared {
            let served = read(&pending_path(&shared))?.or(read(&shared)?);
            if served.as_deref() == Some(text) {
                return Ok(());
            }
        }
        write_pending(scenario, &target, &view.to_string(), text)
    }

    /// Writes `text` as a pending golden for a variant.
    ///
    /// # Errors
    ///
    /// When the file can't be written.
    pub fn propose_variant(scenario: &Scenario, variant: &Variant, text: &str) -> io::Result<()> {
        write_pending(scenario, &variant_path(scenario, variant), &variant.view, text)
    }

    /// The goldens of a subject's chat: `golden/<subject>/telegram.snap`, and `telegram.<outcome>.snap` for each
    /// further outcome that is allowed.
    ///
    /// # Errors
    ///
    /// As [`Golden::find`].
    pub fn of_subject(scenario: &Scenario, subject: &SubjectName) -> io::Result<Vec<Self>> {
        let mut paths = files(&subject_dir(scenario, subject)?, "snap")?;
        paths.retain(|path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            name.starts_with(SUBJECT_CHAT.as_bytes())
        });
        paths.into_iter().map(Self::at).collect()
    }

    /// Writes `text` as the pending golden of a subject's chat.
    ///
    /// # Errors
    ///
    /// When the file can't be written.
    pub fn propose_of_subject(
        scenario: &Scenario,
        subject: &SubjectName,
        text: &str,
    ) -> io::Result<()> {
        let path = subject_dir(scenario, subject)?.join("telegram.snap");
        write_pending(scenario, &path, &format!("subject {subject}"), text)
    }

    /// What is in the folder of a scenario's goldens and is neither the golden of a variant, nor compared with one
    /// of `versions` or the chat of one of `subjects`, nor pending. Hidden files are passed over.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn orphans(
        scenario: &Scenario,
        versions: &[CliVersion],
        subjects: &[SubjectName],
    ) -> io::Result<Vec<PathBuf>> {
        let mut used: Vec<PathBuf> =
            scenario.variants.iter().map(|variant| variant_path(scenario, variant)).collect();
        for view in View::of(scenario) {
            for version in versions {
                let own = own_path(scenario, view, version);
                used.push(if files::is_there(&own) { own } else { shared_path(scenario, view) });
            }
        }
        let mut orphans = Vec::new();
        let dir = golden_dir(scenario);
        for path in files::below(&dir)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_golden = match path.parent().filter(|parent| *parent != dir) {
                None => used.contains(&path),
                Some(folder) => {
                    let is_own = |subject: &SubjectName| folder == dir.join(subject.as_str());
                    name.starts_with(SUBJECT_CHAT)
                        && name.ends_with(".snap")
                        && subjects.iter().any(is_own)
                }
            };
            if !is_golden && !name.ends_with(".snap.new") {
                orphans.push(path.clone());
            }
        }
        Ok(orphans)
    }

    /// The pending goldens of a scenario.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn pending(scenario: &Scenario) -> io::Result<Vec<PathBuf>> {
        let dir = golden_dir(scenario);
        let mut pending = files(&dir, "new")?;
        for entry in dir.is_dir().then(|| fs::read_dir(&dir)).transpose()?.into_iter().flatten() {
            let entry = entry?;
            // Those of a subject are in a folder of their own.
            if entry.file_type()?.is_dir() {
                pending.extend(files(&entry.path(), "new")?);
            }
        }
        pending.sort();
        Ok(pending)
    }
}

/// A line of a golden that is no entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {number} is no trace entry: {start:?}")]
pub struct UnreadableLine {
    /// Its number below the header, from 1.
    pub number: usize,
    /// How it begins.
    pub start: String,
}

/// The entries of a golden's text, without its header.
///
/// # Errors
///
/// [`UnreadableLine`] for the first line that is no entry.
pub fn parse(text: &str) -> Result<Vec<Entry>, UnreadableLine> {
    let entry = |(number, line): (usize, &str)| {
        let error = |_| UnreadableLine { number, start: shortened(line) };
        serde_json::from_str(line).map_err(error)
    };
    (1..).zip(text.lines()).map(entry).collect()
}

/// How a golden differs from the one that is proposed in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenChange {
    /// What differs first; `None` when the texts are equal.
    pub sentence: Option<String>,
    /// The aligned lines.
    pub diff: Vec<DiffLine>,
}

impl GoldenChange {
    /// Compares the texts of two goldens, without their headers. Where a line is no entry, the sentence
    /// names it, and the texts are aligned line by line.
    pub fn between(old: &str, new: &str) -> Self {
        let diff = || align_texts(old, new);
        match (parse(old), parse(new)) {
            (Ok(a), Ok(b)) => {
                let compared = TraceDiff::new(&a, &b, Times::Compared).read_from(old, Some(new));
                let sentence = compared.first().map(|divergence| divergence.sentence);
                Self { sentence, diff: compared.lines() }
            }
            (Err(error), _) => {
                Self { sentence: Some(format!("of the golden, {error}")), diff: diff() }
            }
            (_, Err(error)) => {
                Self { sentence: Some(format!("of the proposal, {error}")), diff: diff() }
            }
        }
    }
}

/// Splits insta's header off a golden's text; `None` when there is no header.
pub fn body(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("---\n")?;
    let end = rest.find("\n---\n")?;
    Some(&rest[end + "\n---\n".len()..])
}

/// The text of a golden without its header; `None` when there is no such file.
fn read(path: &Path) -> io::Result<Option<String>> {
    Ok(read_file(path)?.map(|(_, text)| text))
}

/// The same with the number of lines in the header.
fn read_file(path: &Path) -> io::Result<Option<(usize, String)>> {
    let file = match files::read_text(path) {
        Err(error) if error.is_not_found() => return Ok(None),
        file => file.map_err(|error| match error {
            FileError::Read { .. } => error.into(),
            // A link, a FIFO and the like: the golden can't be read, and that is a finding.
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        })?,
    };
    match body(&file) {
        Some(text) => {
            let header = file[..file.len() - text.len()].lines().count();
            Ok(Some((header, text.to_owned())))
        }
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} has {}", path.display(), complaint(&file)),
        )),
    }
}

/// What is wrong with a golden's text that has no header.
fn complaint(file: &str) -> &'static str {
    if file.starts_with("---\r\n") {
        "lines that end with CR and LF; check it out as it was committed: put `*.snap text eol=lf` into \
         .gitattributes"
    } else {
        "no header between two lines of `---`"
    }
}

fn files(dir: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// How the names of the goldens of a subject's chat begin.
const SUBJECT_CHAT: &str = "telegram.";

fn golden_dir(scenario: &Scenario) -> PathBuf {
    scenario.dir.join("golden")
}

/// The folder of a subject's goldens, which may not be there; it is no link.
fn subject_dir(scenario: &Scenario, subject: &SubjectName) -> io::Result<PathBuf> {
    files::check_folders(&scenario.dir, &Path::new("golden").join(subject.as_str()))?;
    Ok(golden_dir(scenario).join(subject.as_str()))
}

fn shared_path(scenario: &Scenario, view: View) -> PathBuf {
    golden_dir(scenario).join(format!("{view}.snap"))
}

fn variant_path(scenario: &Scenario, Variant { view, name, .. }: &Variant) -> PathBuf {
    golden_dir(scenario).join(format!("{view}.{name}.snap"))
}

/// Writes a pending golden of a view, with its header.
fn write_pending(scenario: &Scenario, golden: &Path, view: &str, text: &str) -> io::Result<()> {
    files::check_folders(&scenario.dir, Path::new("golden"))?;
    fs::create_dir_all(golden.parent().unwrap_or(&golden_dir(scenario)))?;
    let header = format!(
        "---\nsource: scenarios/{}/scenario.toml\nexpression: {view}\n---\n",
        scenario.name
    );
    Ok(files::replace(&pending_path(golden), header + text)?)
}

/// Where a golden is proposed.
fn pending_path(golden: &Path) -> PathBuf {
    let mut path = golden.to_owned().into_os_string();
    path.push(".new");
    path.into()
}

fn own_path(scenario: &Scenario, view: View, version: &CliVersion) -> PathBuf {
    golden_dir(scenario).join(format!("{view}.{version}.snap"))
}

#[cfg(test)]
mod tests;
