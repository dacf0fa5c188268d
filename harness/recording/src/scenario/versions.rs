//! The versions of the CLI: `[versions]` of `clitape.toml`, the part of them that a scenario has, and the choice of a
//! fact for a version.

use serde::Deserialize;
use serde::de::Error as _;

use super::error::ScenarioError;
use crate::names::CliVersion;

/// The versions of the CLI with which scenarios are recorded: `[versions]` of `clitape.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "VersionsFile")]
pub struct Versions {
    /// The versions, the oldest first; at least one.
    baseline: Vec<CliVersion>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionsFile {
    /// The newest version, which is also the last one of `baseline`.
    newest: CliVersion,
    /// The versions, the oldest first.
    baseline: Vec<CliVersion>,
}

impl TryFrom<VersionsFile> for Versions {
    type Error = String;

    fn try_from(VersionsFile { newest, baseline }: VersionsFile) -> Result<Self, String> {
        let disordered = baseline.windows(2).find(|pair| !pair[0].by_number(&pair[1]).is_lt());
        if let Some(pair) = disordered {
            return Err(format!(
                "`baseline` has {} before {}; write each version once, the oldest first",
                pair[0], pair[1]
            ));
        }
        match baseline.last() {
            Some(last) if *last == newest => Ok(Self { baseline }),
            Some(last) => Err(format!(
                "`newest` is {newest}, and the last version of `baseline` is {last}; write the same \
                 version in both"
            )),
            None => Err(format!("`baseline` is empty; write baseline = [\"{newest}\"]")),
        }
    }
}

impl Versions {
    /// Returns the versions, the oldest first.
    pub fn baseline(&self) -> &[CliVersion] {
        &self.baseline
    }

    /// Returns the newest version.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn newest(&self) -> &CliVersion {
        self.baseline.last().expect("a baseline without versions is refused")
    }

    /// Returns these versions with another one, in its place.
    #[must_use]
    pub fn with(&self, version: &CliVersion) -> Self {
        let mut baseline = self.baseline.clone();
        if !baseline.contains(version) {
            let at = baseline.partition_point(|of| of.by_number(version).is_le());
            baseline.insert(at, version.clone());
        }
        Self { baseline }
    }

    /// Returns these versions without one; `None` if no other is left.
    pub fn without(&self, version: &CliVersion) -> Option<Self> {
        let baseline: Vec<CliVersion> =
            self.baseline.iter().filter(|of| *of != version).cloned().collect();
        (!baseline.is_empty()).then_some(Self { baseline })
    }

    /// Returns the versions within an exception, the oldest first.
    pub(super) fn within(&self, only: Option<&VersionRange>) -> Vec<CliVersion> {
        let is_within = |version: &&CliVersion| only.is_none_or(|range| range.contains(version));
        self.baseline.iter().filter(is_within).cloned().collect()
    }
}

/// The exception of a scenario that is not recorded with every version: `[record] only`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// The first version; if absent, the first one of `clitape.toml`.
    pub since: Option<CliVersion>,
    /// The last version; if absent, the newest one.
    pub until: Option<CliVersion>,
    /// The reason why the other versions are left out, in a sentence.
    pub reason: String,
}

impl VersionRange {
    /// Returns whether a version is neither before the first one nor after the last one.
    pub fn contains(&self, version: &CliVersion) -> bool {
        self.since.as_ref().is_none_or(|since| since.by_number(version).is_le())
            && self.until.as_ref().is_none_or(|until| version.by_number(until).is_le())
    }

    /// Returns a sentence about a contradictory exception.
    pub(super) fn complaint(&self) -> Option<String> {
        match (&self.since, &self.until) {
            (None, None) => Some(
                "`record.only` names no version; write `since` or `until`, or remove it".to_owned(),
            ),
            (Some(since), Some(until)) if until.by_number(since).is_lt() => Some(format!(
                "`record.only` ends with {until} before it begins with {since}; exchange them"
            )),
            _ if self.reason.trim().is_empty() => Some(
                "`record.only` has an empty `reason`; say why the other versions are left out"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// Returns the fact of the newest version that is not after `version`; `None` if each is after it.
pub fn fact_of<'v, T>(
    facts: impl IntoIterator<Item = (&'v CliVersion, T)>,
    version: &CliVersion,
) -> Option<T> {
    let known = facts.into_iter().filter(|(of, _)| of.by_number(version).is_le());
    known.max_by(|(a, _), (b, _)| a.by_number(b)).map(|(_, fact)| fact)
}

/// The list of versions that scenarios had in their files before it moved to `clitape.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MovedVersions;

impl<'de> Deserialize<'de> for MovedVersions {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "`versions` is no key of [record] any more, because the versions of all scenarios are in \
             `[versions]` of clitape.toml; remove it, and if a version can't be recorded, write \
             `only = { since = \"2.1.148\", reason = \"…\" }`",
        ))
    }
}

/// Makes the error of a command that needs `[versions]` and finds none.
pub(super) fn missing(path: std::path::PathBuf) -> ScenarioError {
    let what = "it has no [versions], which say what to record; write [versions], newest = \"2.1.332\" and \
                baseline = [\"2.1.332\"], or name a CLI with `--claude npm:VERSION`";
    ScenarioError::Invalid { path, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> CliVersion {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(table: &str, expect: Result<&[&str], &str>) {
        let read = toml::from_str::<Versions>(table);
        match (read, expect) {
            (Ok(versions), Ok(expect)) => {
                assert_eq!(versions.baseline(), expect, "{table}");
                assert_eq!(versions.newest().as_str(), expect[expect.len() - 1]);
            }
            (Err(error), Err(expect)) => {
                assert!(error.message().contains(expect), "{}", error.message());
            }
            (read, _) => panic!("{table}: {read:?}"),
        }
    }

    #[test]
    fn the_newest_version_is_the_last_of_the_baseline() {
        let all = "newest = '2.1.332'\nbaseline = ['1.0.128', '2.1.99', '2.1.332']";
        check(all, Ok(&["1.0.128", "2.1.99", "2.1.332"]));
        check("newest = '2.1.332'\nbaseline = []", Err("write baseline = [\"2.1.332\"]"));
        check(
            "newest = '2.1.332'\nbaseline = ['2.1.329']",
            Err("`newest` is 2.1.332, and the last version of `baseline` is 2.1.329"),
        );
        check(
            "newest = '2.1.99'\nbaseline = ['2.1.148', '2.1.99']",
            Err("`baseline` has 2.1.148 before 2.1.99; write each version once, the oldest first"),
        );
        check("newest = '2.1.99'\nbaseline = ['2.1.99', '2.1.99']", Err("each version once"));
        check("newest = 'latest'\nbaseline = ['latest']", Err("can't be the version of a CLI"));
        check("baseline = ['2.1.99']", Err("missing field `newest`"));
        check("newest = '1'\nbaseline = ['1']\noldest = '1'", Err("unknown field `oldest`"));
    }

    #[test]
    fn a_version_comes_in_at_its_place_and_leaves() {
        let baseline = ["1.0.128", "2.1.99"].map(version).to_vec();
        let versions = Versions { baseline };
        for (of, expect) in [
            ("2.1.332", ["1.0.128", "2.1.99", "2.1.332"]),
            ("2.1.9", ["1.0.128", "2.1.9", "2.1.99"]),
            ("0.9", ["0.9", "1.0.128", "2.1.99"]),
        ] {
            let more = versions.with(&version(of));
            assert_eq!(more.baseline(), expect);
            assert_eq!(more.without(&version(of)), Some(versions.clone()));
        }
        assert_eq!(versions.with(&version("2.1.99")), versions);
        let last = versions.without(&version("1.0.128")).unwrap();
        assert_eq!(last.without(&version("2.1.99")), None);
    }

    #[test]
    fn an_exception_has_a_beginning_or_an_end_and_a_reason() {
        let versions: Versions =
            toml::from_str("newest = '2.1.332'\nbaseline = ['1.0.128', '2.1.148', '2.1.332']")
                .unwrap();
        for (only, expect) in [
            ("since = '2.1.99'\nreason = 'r'", Ok(&["2.1.148", "2.1.332"][..])),
            ("since = '2.1.148'\nreason = 'r'", Ok(&["2.1.148", "2.1.332"])),
            ("until = '2.1.148'\nreason = 'r'", Ok(&["1.0.128", "2.1.148"])),
            ("since = '2.1.148'\nuntil = '2.1.148'\nreason = 'r'", Ok(&["2.1.148"])),
            ("since = '3.0.0'\nreason = 'r'", Ok(&[])),
            ("since = '2.1.148'\nreason = ' '", Err("say why the other versions are left out")),
            ("reason = 'r'", Err("names no version")),
            ("since = '2'\nuntil = '1'\nreason = 'r'", Err("ends with 1 before it begins with 2")),
        ] {
            let range: VersionRange = toml::from_str(only).unwrap();
            match (range.complaint(), expect) {
                (None, Ok(expect)) => assert_eq!(versions.within(Some(&range)), expect, "{only}"),
                (Some(what), Err(expect)) => assert!(what.contains(expect), "{what}"),
                (complaint, _) => panic!("{only}: {complaint:?}"),
            }
        }
        assert_eq!(versions.within(None), versions.baseline());
        assert!(toml::from_str::<VersionRange>("since = '1'").is_err(), "it has no reason");
    }

    #[test]
    fn a_fact_holds_until_a_later_version_has_another_one() {
        let known = ["2.1.329", "2.1.99"].map(version);
        let facts = || known.iter().map(|of| (of, of.as_str()));
        for (of, expect) in [
            ("1.0.128", None),
            ("2.1.99", Some("2.1.99")),
            ("2.1.148", Some("2.1.99")),
            ("2.1.329", Some("2.1.329")),
            ("2.2.0", Some("2.1.329")),
        ] {
            assert_eq!(fact_of(facts(), &version(of)), expect, "{of}");
        }
    }
}
