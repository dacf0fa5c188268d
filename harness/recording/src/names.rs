//! The names that become folders and files: of scenarios, CLI versions and the files of a cassette; and the names of
//! issues, which shells complete.
//!
//! Each name is checked once, where it comes in (an argument, a TOML file, a folder's entry, the output of a CLI), and
//! only these types but [`Issue`] are joined to a path. None of their names is absolute, leads to a parent folder, is
//! hidden, or is that of a device on some system.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::{Keep, plain, truncate};

/// The errors of a text that can't be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text can't be the name of a scenario.
    #[error(
        "`{}` can't be the name of a scenario; write up to {LONGEST} small letters, digits and hyphens that name no device, such as `late-edit`",
        shown(.0)
    )]
    Scenario(String),
    /// The text can't be the version of a CLI.
    #[error(
        "`{}` can't be the version of a CLI; write numbers with dots between them, such as `2.1.329`, up to {LONGEST} characters with what follows a `-` or `+`",
        shown(.0)
    )]
    Version(String),
    /// The text can't be the name of a subject.
    #[error(
        "`{}` can't be the name of a subject; write up to {LONGEST} small letters, digits and hyphens that name no device, such as `my-gateway`",
        shown(.0)
    )]
    Subject(String),
    /// The text can't be the name of an issue.
    #[error(
        "`{}` can't be the name of an issue; write up to {LONGEST} letters, digits, `.`, `_`, `-`, `/` and `#`, a letter or digit first, such as `openclaw#80046`",
        shown(.0)
    )]
    Issue(String),
    /// The text is not the name of a cassette's file.
    #[error(
        "`{}` is no file of a cassette; there are {}, and those of further runs such as stdout.2.jsonl",
        shown(.0),
        CassetteFile::known()
    )]
    CassetteFile(String),
}

/// The longest name of a scenario or a version, in characters; every file system accepts this length.
const LONGEST: usize = 80;

/// Returns the start of a refused name, safe to print, because it may come from anywhere.
fn shown(name: &str) -> String {
    plain(&truncate(name, LONGEST, Keep::Start))
}

/// The names of devices on Windows, with any ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

fn is_device(name: &str) -> bool {
    let numbered = |stem| {
        name.strip_prefix(stem).is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
    };
    DEVICES.contains(&name) || numbered("com") || numbered("lpt")
}

/// The name of a scenario and of its folder: `late-edit`.
///
/// It has small letters only, so that no two names are equal on a file system that ignores case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScenarioName(String);

/// The name of a subject of `clitape.toml`, which names the folder of its goldens: `my-gateway`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubjectName(String);

/// The version of a CLI, which names a cassette's folder: `2.1.329`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CliVersion(String);

/// The name of an issue that a scenario guards, in any tracker: `openclaw#80046`.
///
/// None of its characters has a meaning in a shell, so that it completes unquoted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Issue(String);

/// Returns whether a text has only small letters, digits and hyphens, and is not the name of a device.
fn is_plain_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.chars().all(allowed)
        && !name.starts_with('-')
        && (1..=LONGEST).contains(&name.len())
        && !is_device(name)
}

impl FromStr for ScenarioName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        if is_plain_name(name) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError::Scenario(name.to_owned()))
        }
    }
}

impl FromStr for SubjectName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        if is_plain_name(name) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError::Subject(name.to_owned()))
        }
    }
}

impl FromStr for CliVersion {
    type Err = NameError;

    fn from_str(version: &str) -> Result<Self, NameError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
        let numbers = version.split(['-', '+']).next().unwrap_or_default();
        let is_number = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        let is_version = version.chars().all(allowed)
            && version.starts_with(|c: char| c.is_ascii_digit())
            && numbers.split('.').all(is_number)
            && version.len() <= LONGEST
            && !version.contains("..")
            && !version.ends_with('.');
        if is_version {
            Ok(Self(version.to_owned()))
        } else {
            Err(NameError::Version(version.to_owned()))
        }
    }
}

impl FromStr for Issue {
    type Err = NameError;

    fn from_str(issue: &str) -> Result<Self, NameError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/#".contains(c);
        let is_issue = issue.chars().all(allowed)
            && issue.starts_with(|c: char| c.is_ascii_alphanumeric())
            && issue.len() <= LONGEST;
        if is_issue { Ok(Self(issue.to_owned())) } else { Err(NameError::Issue(issue.to_owned())) }
    }
}

/// Implements the traits of these names, which are read and shown as text.
macro_rules! reads_as_text {
    ($name:ident) => {
        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(name: String) -> Result<Self, NameError> {
                name.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

reads_as_text!(ScenarioName);
reads_as_text!(SubjectName);
reads_as_text!(CliVersion);
reads_as_text!(Issue);

impl CliVersion {
    /// Compares versions by their numbers, so that 2.1.99 comes before 2.1.332.
    pub fn by_number(&self, other: &Self) -> Ordering {
        let key = |version: &Self| -> Vec<(u64, String)> {
            let parts = version.0.split(['.', '-', '+']);
            parts.map(|part| (part.parse().unwrap_or(0), part.to_owned())).collect()
        };
        key(self).cmp(&key(other))
    }
}

/// The content of a file of a cassette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CassettePart {
    /// The bytes of stdout.
    Stdout,
    /// The times at which they were read.
    Timeline,
    /// The bytes of stderr.
    Stderr,
    /// The lines written to stdin.
    Stdin,
    /// The conversation in the session's transcript.
    Transcript,
    /// The messages that a further run first sent to the model.
    History,
    /// The bytes of stdout before replacements. Only their hash is stored; this part has no file.
    RawStdout,
}

impl CassettePart {
    const ALL: [Self; 7] = [
        Self::Stdout,
        Self::Timeline,
        Self::Stderr,
        Self::Stdin,
        Self::Transcript,
        Self::History,
        Self::RawStdout,
    ];

    /// Returns the name in two parts: the text before and after the number of a further run.
    fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Stdout => ("stdout", ".jsonl"),
            Self::Timeline => ("timeline", ".jsonl"),
            Self::Stderr => ("stderr", ".txt"),
            Self::Stdin => ("stdin", ".jsonl"),
            Self::Transcript => ("transcript", ".jsonl"),
            Self::History => ("history", ".jsonl"),
            Self::RawStdout => ("raw-stdout", ""),
        }
    }
}

/// The most runs that a cassette may have.
pub const MOST_RUNS: usize = 99;

/// A file of a cassette, by its content and its run: `stdout.jsonl`, `stdout.2.jsonl`.
///
/// They are the keys of `[sha256]` in `cassette.toml`, so that no key can name another file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CassetteFile {
    part: CassettePart,
    run: usize,
}

impl CassetteFile {
    /// Returns the file of `part` that run `run` left; runs count from 1.
    pub fn new(part: CassettePart, run: usize) -> Self {
        Self { part, run }
    }

    /// Returns the content of the file.
    pub fn part(&self) -> CassettePart {
        self.part
    }

    /// Returns the path in the cassette's folder; `None` for a part that is only hashed.
    pub fn path(&self, cassette: &Path) -> Option<PathBuf> {
        (self.part != CassettePart::RawStdout).then(|| cassette.join(self.to_string()))
    }

    /// Lists the names of a first run's files.
    fn known() -> String {
        CassettePart::ALL.map(|part| Self::new(part, 1).to_string()).join(", ")
    }
}

impl fmt::Display for CassetteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stem, ending) = self.part.name();
        match self.run {
            1 => write!(f, "{stem}{ending}"),
            run => write!(f, "{stem}.{run}{ending}"),
        }
    }
}

impl FromStr for CassetteFile {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        CassettePart::ALL
            .iter()
            .find_map(|&part| {
                let (stem, ending) = part.name();
                let middle = name.strip_prefix(stem)?.strip_suffix(ending)?;
                let run = match middle.strip_prefix('.') {
                    None => middle.is_empty().then_some(1),
                    Some(run) => run.parse().ok().filter(|n| (2..=MOST_RUNS).contains(n)),
                }?;
                let file = Self { part, run };
                // The name `stdout.02.jsonl` is refused, because it could only mean `stdout.2.jsonl`.
                (file.to_string() == name).then_some(file)
            })
            .ok_or_else(|| NameError::CassetteFile(name.to_owned()))
    }
}

/// Orders files by their names, as `cassette.toml` lists them.
impl Ord for CassetteFile {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for CassetteFile {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl TryFrom<String> for CassetteFile {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        name.parse()
    }
}

impl From<CassetteFile> for String {
    fn from(file: CassetteFile) -> Self {
        file.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts that are refused as any name.
    const HOSTILE: [&str; 24] = [
        "",
        ".",
        "..",
        "../x",
        "../../x",
        "/etc/passwd",
        "/",
        "a/b",
        "a\\b",
        "-x",
        "--help",
        ".git",
        "a b",
        "ä",
        "$(touch pwned)",
        "`id`",
        "a;b",
        "a\nb",
        "a\"b",
        "\u{1b}[31m",
        "\u{202e}a",
        "c:",
        "nul.",
        "~",
    ];

    #[track_caller]
    fn check<T: FromStr<Err = NameError> + fmt::Display>(good: &[&str], bad: &[&str]) {
        for name in good {
            let parsed = name.parse::<T>();
            assert_eq!(parsed.map(|name| name.to_string()), Ok((*name).to_owned()));
        }
        for name in HOSTILE.iter().chain(bad) {
            let Err(error) = name.parse::<T>() else { panic!("{name:?} was taken") };
            let text = error.to_string();
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
    }

    #[test]
    fn names_never_lead_out_of_their_folder() {
        let long = "a".repeat(LONGEST + 1);
        check::<ScenarioName>(
            &["a", "late-edit", "api-529-then-ok", "2", "com10", "console"],
            &["Late", "a.b", "a_b", "nul", "con", "com1", "lpt9", &long],
        );
        let long = "1".repeat(LONGEST + 1);
        check::<CliVersion>(
            &["2.1.329", "1.0.0-beta.1+linux", "3"],
            &[
                "v2",
                "2..1",
                "2.1.",
                "2/1",
                "file:x",
                "2.1_3",
                "2.1.33O",
                "latest",
                "npm:2.1.329",
                &long,
            ],
        );
        check::<CassetteFile>(
            &["stdout.jsonl", "stderr.2.txt", "history.99.jsonl", "raw-stdout", "raw-stdout.3"],
            &[
                "stdout.1.jsonl",
                "stdout.02.jsonl",
                "stdout.100.jsonl",
                "stdout",
                "cassette.toml",
                "x",
            ],
        );
    }

    #[test]
    fn the_name_of_an_issue_means_nothing_to_a_shell() {
        for issue in ["openclaw#80046", "owner/repo.js#1", "PROJ-12", "7"] {
            assert_eq!(issue.parse::<Issue>().unwrap(), issue);
        }
        let long = "a".repeat(LONGEST + 1);
        let hostile =
            [&long, "", "#7", "-x", ".", "a#7;touch${IFS}x", "a#7 ", "a\n", "é#1", "a`b`"];
        for issue in hostile {
            let error = issue.parse::<Issue>().unwrap_err().to_string();
            assert!(
                error.contains("can't be the name of an issue; write up to 80 letters"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_hash_without_a_file_has_no_path() {
        let dir = Path::new("c");
        for (name, expect) in [("stdout.2.jsonl", Some("c/stdout.2.jsonl")), ("raw-stdout", None)] {
            let file: CassetteFile = name.parse().unwrap();
            assert_eq!(file.path(dir).as_deref(), expect.map(Path::new));
        }
    }
}
