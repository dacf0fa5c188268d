//! Goldens on disk: `<view>[.<cli version>].snap` in insta's file format, pending ones beside them as `.snap.new`, so
//! that `cargo insta review` settles them as well as `clitape review`. A variant has `<view>.<variant>.snap`.
//!
//! A golden serves the version in its name and the later ones, until another golden names a later version; the one
//! without a version serves the oldest. Only the text below the header is compared.
//!
//! A golden shows one view of a replay: a lane, and a channel for some of them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use clitape_recording::files::{self, FileError};
use clitape_recording::names::{CliVersion, SubjectName};
use clitape_recording::scenario::{AcpClient, ChannelSpec, Chat, ChatProfile, Scenario, Variant};
use clitape_recording::text::shortened;
use clitape_recording::trace::{Entry, Lane};
use nix::fcntl::Flock;
use serde_json::Value;
use thiserror::Error;

use crate::diff::pairs::{DiffLine, align_texts};
use crate::diff::{ChatDiff, Times, TraceDiff};
use golden_chain::{GoldenChain, pending_path, read, write_pending};

pub(crate) mod golden_chain;

/// A golden file, which may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Golden {
    /// The `.snap` file.
    pub path: PathBuf,
    /// The text without its header; `None` if the file is missing.
    pub text: Option<String>,
    /// The entries of the text; empty if the file is missing.
    pub entries: Vec<Entry>,
    /// The number of header lines above the text.
    pub header: usize,
}

impl Golden {
    /// Finds the golden that `view` of `version` is compared with.
    ///
    /// # Errors
    ///
    /// When the file exists but is not UTF-8 text with a header and an entry on each line below it.
    pub fn find(scenario: &Scenario, view: View, version: &CliVersion) -> io::Result<Self> {
        Self::at(chain(scenario, view)?.file_of(version))
    }

    /// Finds the golden of a variant, which serves every CLI version.
    ///
    /// # Errors
    ///
    /// As [`Golden::find`].
    pub fn of_variant(scenario: &Scenario, variant: &Variant) -> io::Result<Self> {
        let path = variant_path(scenario, variant);
        Self::at(path)
    }

    /// Reads the golden in the file at `path`, if it exists.
    fn at(path: PathBuf) -> io::Result<Self> {
        let Some((header, text)) = read(&path)? else {
            return Ok(Self { path, text: None, entries: Vec::new(), header: 0 });
        };
        let entries = parse(&text).map_err(|UnreadableLine { number, start }| {
            let number = header + number;
            let what = format!("{}:{number} is no trace entry: {start:?}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        Ok(Self { path, text: Some(text), entries, header })
    }

    /// Returns the paths at which goldens of variants are missing and not yet pending.
    pub fn unwritten(scenario: &Scenario) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            scenario.variants.iter().map(|variant| variant_path(scenario, variant)).collect();
        paths.retain(|path| !path.exists() && !pending_path(path).exists());
        paths
    }

    /// Proposes `text` for `view` of `version`, as pending goldens, so that each of the `recorded` versions has its own
    /// text once they are accepted.
    ///
    /// A version that differs from the golden of an earlier one gets its own golden; if a later version shared that
    /// golden, it gets one too, with the same text as before. A proposal that no longer changes a text is removed.
    ///
    /// # Errors
    ///
    /// When a file can't be read, written or removed.
    pub fn propose(
        scenario: &Scenario,
        view: View,
        version: &CliVersion,
        recorded: &[CliVersion],
        text: &str,
    ) -> io::Result<()> {
        let write =
            |golden: &Path, text: &str| write_pending(scenario, golden, &view.to_string(), text);
        let _alone = alone(scenario)?;
        chain(scenario, view)?.propose(version, recorded, text, write)
    }

    /// Writes `text` as a pending golden for a variant.
    ///
    /// # Errors
    ///
    /// When the file can't be written.
    pub fn propose_variant(scenario: &Scenario, variant: &Variant, text: &str) -> io::Result<()> {
        let _alone = alone(scenario)?;
        write_pending(scenario, &variant_path(scenario, variant), &variant.view, text)
    }

    /// Finds the goldens of a subject's chat: `golden/<subject>/telegram.snap`, and `telegram.<outcome>.snap` for each
    /// further outcome that is allowed.
    ///
    /// # Errors
    ///
    /// As [`Golden::find`].
    pub fn of_subject(scenario: &Scenario, subject: &SubjectName) -> io::Result<Vec<Self>> {
        let dir = subject_dir(scenario, subject)?;
        let mut paths = files::below(&dir)?;
        paths.retain(|path| path.parent() == Some(&dir) && is_of_subject(path));
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
        let _alone = alone(scenario)?;
        write_pending(scenario, &path, &format!("subject {subject}"), text)
    }

    /// Finds the stray files in the folder of a scenario's goldens: those that are neither the golden of a variant, nor
    /// compared with one of `versions` or the chat of one of `subjects`, nor [pending](Self::pending). Hidden files are
    /// ignored.
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
            let chain = chain(scenario, view)?;
            used.extend(versions.iter().map(|version| chain.file_of(version)));
        }
        let mut orphans = Vec::new();
        let dir = golden_dir(scenario);
        for path in files::below(&dir)? {
            let is_golden = match path.parent().filter(|parent| *parent != dir) {
                None => used.contains(&path),
                Some(folder) => {
                    let is_own = |subject: &SubjectName| folder == dir.join(subject.as_str());
                    is_of_subject(&path) && subjects.iter().any(is_own)
                }
            };
            if !is_golden && !is_proposal(&dir, &path) {
                orphans.push(path);
            }
        }
        Ok(orphans)
    }

    /// Finds the goldens whose text repeats the golden before them, so that they can be removed; returns each with that
    /// golden.
    ///
    /// # Errors
    ///
    /// When a file or the folder can't be read.
    pub fn repeated(scenario: &Scenario) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut repeated = Vec::new();
        for view in View::of(scenario) {
            repeated.extend(chain(scenario, view)?.repeated()?);
        }
        Ok(repeated)
    }

    /// Finds the goldens in the folder of a scenario, including those of subjects, sorted.
    ///
    /// # Errors
    ///
    /// When a folder can't be read.
    pub fn files(scenario: &Path) -> io::Result<Vec<PathBuf>> {
        let mut all = files::below(&scenario.join("golden"))?;
        all.retain(|path| path.extension().is_some_and(|end| end == "snap"));
        Ok(all)
    }

    /// Finds the goldens with this version in their name.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn of_version(scenario: &Scenario, version: &CliVersion) -> io::Result<Vec<PathBuf>> {
        let chains = View::of(scenario).into_iter().map(|view| chain(scenario, view));
        chains.filter_map(|chain| chain.map(|chain| chain.own(version)).transpose()).collect()
    }

    /// Removes the goldens that serve only the version `gone`, whose recording is removed; the `kept` versions keep
    /// theirs. Returns the number of removed files.
    ///
    /// # Errors
    ///
    /// When a file can't be removed or renamed.
    pub fn forget(
        scenario: &Scenario,
        gone: &CliVersion,
        kept: &[CliVersion],
    ) -> io::Result<usize> {
        let mut removed = 0;
        for view in View::of(scenario) {
            removed += chain(scenario, view)?.forget(gone, kept)?;
        }
        Ok(removed)
    }

    /// Finds the golden that a new golden is compared with: the one that serves the version in its name until it
    /// exists, or for a variant the golden of the newest version; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn before(scenario: &Scenario, golden: &Path) -> io::Result<Option<PathBuf>> {
        let Some((view, rest)) = view_of(scenario, golden) else { return Ok(None) };
        let chain = chain(scenario, view)?;
        let before = match rest.parse::<CliVersion>() {
            Ok(version) => chain.file_of(&version),
            Err(_) => chain.file_of_newest(),
        };
        Ok(Some(before).filter(|before| before != golden && files::is_there(before)))
    }

    /// Returns the profile of the chat that a golden of a scenario shows.
    pub fn profile(scenario: &Scenario, golden: &Path) -> ChatProfile {
        let chat = view_of(scenario, golden).and_then(|(view, _)| view.chat());
        chat.unwrap_or(scenario.first_chat()).profile
    }

    /// Finds the pending goldens of a scenario, by the names that goldens can have.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub fn pending(scenario: &Scenario) -> io::Result<Vec<PathBuf>> {
        let dir = golden_dir(scenario);
        let mut pending = files::below(&dir)?;
        pending.retain(|path| is_proposal(&dir, path));
        Ok(pending)
    }
}

/// Returns whether a file is a pending golden in the folder of goldens, or in a subject's folder there.
fn is_proposal(dir: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".snap.new"));
    let folder = path.parent().filter(|parent| *parent != dir);
    let is_in_place = folder.is_none_or(|folder| {
        let subject = folder.file_name().and_then(|name| name.to_str());
        folder.parent() == Some(dir)
            && subject.is_some_and(|name| name.parse::<SubjectName>().is_ok())
    });
    is_in_place && name.is_some_and(is_name)
}

/// Returns whether a file has the name of a golden of a subject's chat.
fn is_of_subject(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(SUBJECT_CHAT) && name.strip_suffix(".snap").is_some_and(is_name)
}

/// Returns whether this can be the name of a golden, without its ending: a view, and a version or a variant where it
/// has one. The letters, digits and `.-+` of a name are safe in a shell, which completes names.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    name.chars().all(allowed) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The error for a line of a golden that can't be read as an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {number} is no trace entry: {start:?}")]
pub struct UnreadableLine {
    /// The number of the line below the header, from 1.
    pub number: usize,
    /// The beginning of the line.
    pub start: String,
}

/// Parses the entries of a golden's text, without its header.
///
/// # Errors
///
/// [`UnreadableLine`] for the first line that can't be read as an entry.
pub fn parse(text: &str) -> Result<Vec<Entry>, UnreadableLine> {
    let entry = |(number, line): (usize, &str)| {
        let error = |_| UnreadableLine { number, start: shortened(line).into_owned() };
        serde_json::from_str(line).map_err(error)
    };
    (1..).zip(text.lines()).map(entry).collect()
}

/// The difference between a golden and its proposed replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenChange {
    /// The first difference; `None` if the texts are equal.
    pub sentence: Option<String>,
    /// The chats where the goldens first diverge; `None` if one of the goldens is empty.
    pub first_chat: Option<ChatDiff>,
    /// The chats at their end; `None` if they are the same.
    pub last_chat: Option<ChatDiff>,
    /// The aligned lines.
    pub diff: Vec<DiffLine>,
}

impl GoldenChange {
    /// Compares the texts of two goldens, without their headers. If a line can't be read as an entry, the sentence
    /// names it, and the texts are aligned line by line.
    pub fn between(old: &str, new: &str, profile: ChatProfile) -> Self {
        let unread = |sentence| Self {
            sentence: Some(sentence),
            first_chat: None,
            last_chat: None,
            diff: align_texts(old, new),
        };
        match (parse(old), parse(new)) {
            (Ok(a), Ok(b)) => {
                let compared = TraceDiff::new(&a, &b, Times::Compared).read_from(old, Some(new));
                let both = !old.is_empty() && !new.is_empty();
                Self {
                    sentence: compared.first().map(|divergence| divergence.sentence),
                    first_chat: compared.chat(profile).filter(|_| both),
                    last_chat: compared.last_chat(profile),
                    diff: compared.lines(),
                }
            }
            (Err(error), _) => unread(format!("of the golden, {error}")),
            (_, Err(error)) => unread(format!("of the proposal, {error}")),
        }
    }
}

/// Returns the view in the name of a golden, and the rest of its name: a version, a variant or an empty text.
fn view_of<'g>(scenario: &Scenario, golden: &'g Path) -> Option<(View, &'g str)> {
    if golden.parent()? != golden_dir(scenario) {
        return None;
    }
    let name = golden.file_name()?.to_str()?.strip_suffix(".snap")?;
    let (view, rest) = name.split_once('.').unwrap_or((name, ""));
    View::of(scenario).into_iter().find(|of| of.to_string() == view).map(|view| (view, rest))
}

/// The beginning of the names of the goldens of a subject's chat.
const SUBJECT_CHAT: &str = "telegram.";

fn golden_dir(scenario: &Scenario) -> PathBuf {
    scenario.dir.join("golden")
}

/// Locks the goldens of a scenario against other writers, because a proposal depends on the files that exist.
fn alone(scenario: &Scenario) -> Result<Flock<File>, FileError> {
    files::check_folders(&scenario.dir, Path::new("golden"))?;
    let dir = golden_dir(scenario);
    files::make_folder(&dir)?;
    files::lock(&dir)
}

/// Returns the folder of a subject's goldens, which may be missing; an error if it is a link.
fn subject_dir(scenario: &Scenario, subject: &SubjectName) -> io::Result<PathBuf> {
    files::check_folders(&scenario.dir, &Path::new("golden").join(subject.as_str()))?;
    Ok(golden_dir(scenario).join(subject.as_str()))
}

/// Finds the goldens of a view, version by version.
fn chain(scenario: &Scenario, view: View) -> io::Result<GoldenChain> {
    GoldenChain::find(&golden_dir(scenario), &view.to_string())
}

fn variant_path(scenario: &Scenario, Variant { view, name, .. }: &Variant) -> PathBuf {
    golden_dir(scenario).join(format!("{view}.{name}.snap"))
}

/// The fields that only name the CLI's version or its model, each after the kind of its entry.
const NAMES: [(&str, &str); 3] =
    [("session", "model"), ("session", "cli_version"), ("control", "claude_code_version")];

/// The most bytes of a text in a golden; of a longer one, such as the data of an image, the ends are shown.
const LONGEST: usize = 65_536;
/// The bytes of each of these ends.
const ENDS: usize = 1_000;

/// The part of a replay that one golden shows.
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
    /// The session on disk, for a scenario that resumes it.
    Session,
}

impl View {
    /// Returns the views of a scenario: both inner lanes, each of its channels, and the session if a later run resumes
    /// it.
    pub fn of(scenario: &Scenario) -> Vec<Self> {
        let channels = scenario.channels.iter().map(|channel| match *channel {
            ChannelSpec::Telegram(chat) => Self::Telegram(chat),
            ChannelSpec::Acp { terminal } => Self::Acp(AcpClient { terminal }),
            ChannelSpec::Sse {} => Self::Sse,
        });
        let session = (!scenario.record.then.is_empty()).then_some(Self::Session);
        [Self::Lifecycle, Self::Bus].into_iter().chain(channels).chain(session).collect()
    }

    /// Returns the lane of the view.
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

    /// Returns the chat of the view; `None` for another channel.
    pub fn chat(self) -> Option<Chat> {
        match self {
            Self::Telegram(chat) => Some(chat),
            _ => None,
        }
    }

    /// Returns the entries of the view: those of its lane, without the fields that only name the CLI's version or its
    /// model, because a golden serves several versions, and without typing signals, which come all the time.
    ///
    /// A name that differs from the one before it in the same trace stays, because it shows that the model has changed. A
    /// text of more than 65,536 bytes has its ends and its length alone.
    pub fn entries(self, trace: &[Entry]) -> Vec<Entry> {
        let lane = trace.iter().filter(|entry| entry.lane == self.lane() && !entry.is_typing());
        let mut named: [Option<Value>; NAMES.len()] = [const { None }; NAMES.len()];
        let without_names = |entry: &Entry| {
            let mut entry = entry.clone();
            for ((kind, field), before) in NAMES.iter().zip(&mut named) {
                let name = entry.field(field).filter(|_| entry.kind == *kind);
                let Some(name) = name.filter(|name| name.is_string()).cloned() else { continue };
                if before.as_ref().is_none_or(|before| *before == name) {
                    entry.data_mut().shift_remove(*field);
                }
                *before = Some(name);
            }
            if entry.data.values().any(has_long_text) {
                entry.data_mut().values_mut().for_each(cut_long_texts);
            }
            entry
        };
        lane.map(without_names).collect()
    }
}

fn has_long_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONGEST,
        Value::Array(items) => items.iter().any(has_long_text),
        Value::Object(fields) => fields.values().any(has_long_text),
        _ => false,
    }
}

/// Cuts the middle out of each text that is too long for a golden.
fn cut_long_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST => {
            let [start, end] = [text.floor_char_boundary(ENDS), text.len() - ENDS];
            let end = text.ceil_char_boundary(end);
            let left_out = end - start;
            *text = format!("{}… {left_out} bytes …{}", &text[..start], &text[end..]);
        }
        Value::Array(items) => items.iter_mut().for_each(cut_long_texts),
        Value::Object(fields) => fields.values_mut().for_each(cut_long_texts),
        _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::entry_line::entry;

    #[track_caller]
    fn check(lines: &[&str], expect: &[&str]) {
        let trace: Vec<Entry> = lines.iter().map(|line| entry(line)).collect();
        let expect: Vec<Entry> = expect.iter().map(|line| entry(line)).collect();
        assert_eq!(View::Lifecycle.entries(&trace), expect, "{lines:?}");
    }

    #[test]
    fn a_golden_has_no_name_of_a_version_or_a_model() {
        let session =
            r#"0 lifecycle session {"session_id":"s","model":"m-5","cli_version":"2.1.332"}"#;
        let bare = r#"0 lifecycle session {"session_id":"s"}"#;
        check(&[session, "1 bus lifecycle {}"], &[bare]);
        check(&[session, session], &[bare, bare]);
        check(&[bare], &[bare]);
        check(
            &[
                r#"0 lifecycle control {"subtype":"initialize","claude_code_version":"2.1.332"}"#,
                // The same fields stay in other entries.
                r#"1 lifecycle notice {"model":"m-5","cli_version":"2.1.332"}"#,
            ],
            &[
                r#"0 lifecycle control {"subtype":"initialize"}"#,
                r#"1 lifecycle notice {"model":"m-5","cli_version":"2.1.332"}"#,
            ],
        );
    }

    #[test]
    fn a_golden_has_the_ends_of_a_long_text() {
        let line = |text: &str| format!(r#"0 lifecycle tool_result {{"result":["{text}"]}}"#);
        let [fits, long] = [65_536, 65_537].map(|size| line(&"x".repeat(size)));
        check(&[&fits], &[&fits]);
        let end = "x".repeat(1_000);
        check(&[&long], &[&line(&format!("{end}… 63537 bytes …{end}"))]);
        // A character of three bytes lies across each place where the text is cut.
        let wide = "€".repeat(30_000);
        check(&[&line(&wide)], &[&line(&format!("{0}… 88002 bytes …{0}", "€".repeat(333)))]);
    }

    #[test]
    fn a_golden_tells_that_the_model_changes() {
        let [first, second, third] = ["m-5", "m-4", "m-4"].map(|model| {
            format!(
                r#"0 lifecycle session {{"session_id":"s","model":"{model}","cli_version":"2"}}"#
            )
        });
        let bare = r#"0 lifecycle session {"session_id":"s"}"#;
        let changed = r#"0 lifecycle session {"session_id":"s","model":"m-4"}"#;
        check(&[&first, &second, &third], &[bare, changed, bare]);
    }
}
