//! The names of the sides of a comparison, as the command line gives them.

use std::path::PathBuf;
use std::str::FromStr;

use clitape_recording::names::CliVersion;

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
