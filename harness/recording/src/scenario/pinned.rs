//! `[[plan]]` of a scenario: a plan that every test replays before the seeded ones.

use serde::Deserialize;

use crate::names::CliVersion;

/// `[[plan]]`: a plan that is replayed whatever the seeds are, such as one that failed once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PinnedPlanFile")]
pub struct PinnedPlan {
    /// Which plan it is.
    pub source: PlanSource,
    /// The version of the recording that it is for; every recording where it is absent.
    pub cli: Option<CliVersion>,
    /// What it showed, for people.
    pub about: Option<String>,
}

/// Where a pinned plan comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanSource {
    /// The plan of a seed, which every recording has.
    Seed(u64),
    /// The plan as one line of JSON, which is for the bytes of one recording.
    Json(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PinnedPlanFile {
    seed: Option<u64>,
    json: Option<String>,
    cli: Option<CliVersion>,
    about: Option<String>,
}

impl PinnedPlan {
    /// Whether it is for the recording of `version`.
    pub fn is_for(&self, version: &CliVersion) -> bool {
        self.cli.as_ref().is_none_or(|cli| cli == version)
    }
}

impl TryFrom<PinnedPlanFile> for PinnedPlan {
    type Error = &'static str;

    fn try_from(file: PinnedPlanFile) -> Result<Self, Self::Error> {
        let PinnedPlanFile { seed, json, cli, about } = file;
        let source = match (seed, json) {
            (Some(seed), None) => PlanSource::Seed(seed),
            (None, Some(json)) => PlanSource::Json(json),
            (None, None) => return Err("a [[plan]] has a `seed`, or the plan itself as `json`"),
            (Some(_), Some(_)) => {
                return Err("a [[plan]] has either a `seed` or `json`; remove one of them");
            }
        };
        Ok(Self { source, cli, about })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_plan_is_a_seed_or_a_plan() {
        let read =
            |keys: &str| toml::from_str::<PinnedPlan>(keys).map_err(|error| error.to_string());
        let plan = read("seed = 7\nabout = 'a late edit'").unwrap();
        assert_eq!((&plan.source, plan.cli.is_none()), (&PlanSource::Seed(7), true));
        let plan = read("json = '{}'\ncli = '2.1.330'").unwrap();
        assert_eq!(plan.source, PlanSource::Json("{}".to_owned()));
        assert!(plan.is_for(&"2.1.330".parse().unwrap()));
        assert!(!plan.is_for(&"2.1.329".parse().unwrap()));
        for (keys, expect) in [
            ("about = 'x'", "has a `seed`, or the plan itself as `json`"),
            ("seed = 7\njson = '{}'", "either a `seed` or `json`"),
            ("seeds = 7", "unknown field `seeds`"),
        ] {
            let error = read(keys).unwrap_err();
            assert!(error.contains(expect), "{error}");
        }
    }
}
