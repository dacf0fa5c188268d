//! Parses the names of scenarios on a command line: `three-tools`, `three-*`, `*/2.1.329`, and `1/4` for a shard.

use std::fmt;
use std::str::FromStr;

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

/// The folders of a workspace that may come before a name, because a shell completes them.
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
pub(super) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Returns whether a glob matches a whole name: `*` matches any letters, `?` one letter.
pub(super) fn matches(glob: &str, name: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_a_version_and_the_folder_of_a_shell() {
        for (text, expect) in [
            ("three-tools", Some(("three-tools", None))),
            ("three-tools/2.1.329", Some(("three-tools", Some("2.1.329")))),
            ("*/2.*", Some(("*", Some("2.*")))),
            ("scenarios/three-tools/", Some(("three-tools", None))),
            ("./cassettes/three-tools/2.1.329", Some(("three-tools", Some("2.1.329")))),
            ("/project/scenarios/three-tools", Some(("three-tools", None))),
            ("", Some(("", None))),
            ("a/b/c", None),
            ("scenarios", None),
        ] {
            let read = text.parse::<NamePattern>().ok();
            let read = read.as_ref().map(|it| (it.name.as_str(), it.version.as_deref()));
            assert_eq!(read, expect, "{text}");
        }
    }

    #[test]
    fn a_glob_matches_whole_names() {
        for (glob, name, expect) in [
            ("three-*", "three-tools", true),
            ("three-*", "a-three-tools", false),
            ("*-live", "three-tools-live", true),
            ("*tool*", "three-tools-live", true),
            ("t*o*s", "three-tools", true),
            ("t*o*x", "three-tools", false),
            ("thinkin?", "thinking", true),
            ("thinking?", "thinking", false),
            ("*", "a", true),
            ("**", "", true),
            ("2.1.*", "2.1.329", true),
            ("2.1.*", "2.11", false),
        ] {
            assert_eq!(matches(glob, name), expect, "{glob} {name}");
        }
    }

    #[test]
    fn a_shard_is_one_of_several() {
        for (text, expect) in [
            ("1/4", Some((1, 4))),
            ("4/4", Some((4, 4))),
            ("0/4", None),
            ("5/4", None),
            ("1", None),
        ] {
            let read = text.parse::<Shard>().ok().map(|it| (it.number, it.of));
            assert_eq!(read, expect, "{text}");
        }
    }
}
