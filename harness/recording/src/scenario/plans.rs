//! The plans of a scenario: `[sweep]` has the seeded ones, and every test replays each `[[plan]]` before them.
//!
//! A plan may have faults, which are errors of one call of the chat's server. Plans, scenarios and the command line use
//! one notation: `2:rate-limit:3s` is a 429 at the second call that asks to wait 3 s.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{FAULT_SLOW_MS, FAULT_WAIT_S};
use crate::names::CliVersion;

/// The random replays: `[sweep]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SweepSpec {
    /// The number of seeded plans; 64 by default. A scenario with 0 turns them off: no command replays any for it.
    pub plans: u64,
    /// The kinds of faults that the plans draw for the chat's server; none by default.
    pub faults: Vec<FaultKind>,
    /// The seeds that a command chose instead of those of `plans`.
    #[serde(skip)]
    pub chosen: Option<Seeds>,
}

impl Default for SweepSpec {
    fn default() -> Self {
        Self { plans: 64, faults: Vec::new(), chosen: None }
    }
}

impl SweepSpec {
    /// Returns the seeds of the plans that are replayed: the chosen ones, or as many as the scenario sets, from 1 on. A
    /// scenario that turns its plans off has none, because plans would break its own checks.
    pub fn seeds(&self) -> Seeds {
        match self.plans {
            0 => Seeds::NONE,
            plans => self.chosen.unwrap_or(Seeds { first: 1, count: plans }),
        }
    }

    /// Returns whether the seeds include those that the scenario asks for. Fewer are not enough to conclude that an
    /// event never happens.
    pub fn has_all_seeds(&self) -> bool {
        let Seeds { first, count } = self.seeds();
        first <= 1 && first.saturating_add(count) > self.plans
    }
}

/// A range of seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// The first seed.
    pub first: u64,
    /// The number of seeds.
    pub count: u64,
}

impl Seeds {
    /// The empty range.
    pub const NONE: Self = Self { first: 1, count: 0 };

    /// Returns each seed.
    pub fn each(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |number| self.first.saturating_add(number))
    }

    /// Returns the first one of every `n` seeds, at least one if there is one.
    #[must_use]
    pub fn one_of(self, n: u64) -> Self {
        Self { count: self.count.div_ceil(n), ..self }
    }
}

/// The seeds of an option: one, such as `7`, or several, such as `1..64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedRange(RangeInclusive<u64>);

impl SeedRange {
    /// Returns the seeds of the range, or `count` seeds from a single one on.
    ///
    /// # Errors
    ///
    /// A sentence if the range has several seeds and `count` is set as well.
    pub fn seeds(&self, count: Option<u64>) -> Result<Seeds, String> {
        let (first, last) = (*self.0.start(), *self.0.end());
        match count {
            Some(_) if first < last => Err(format!(
                "`--seed {first}..{last}` says how many plans there are; leave out `--plans`, or name the first seed alone"
            )),
            Some(count) => Ok(Seeds { first, count }),
            None => Ok(Seeds { first, count: (last - first).saturating_add(1) }),
        }
    }
}

impl FromStr for SeedRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            part.parse::<u64>().map_err(|_| {
                format!("`{text}` is no seed; write one such as 7, or the first and the last such as 1..64")
            })
        };
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        if first > last {
            return Err(format!(
                "`{text}` has no seed; write the smaller one first: {last}..{first}"
            ));
        }
        Ok(Self(first..=last))
    }
}

/// A plan that is replayed with any seeds, such as one that failed once: `[[plan]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PinnedPlanFile")]
pub struct PinnedPlan {
    /// The source of the plan.
    pub source: PlanSource,
    /// The version of the recording that it is for; every recording if absent.
    pub cli: Option<CliVersion>,
    /// The reason for the plan, for people.
    pub about: Option<String>,
}

/// The source of a pinned plan.
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
    /// The seed of the plan, which every recording has.
    seed: Option<u64>,
    /// The plan as one line of JSON, which is for the bytes of one recording.
    json: Option<String>,
    /// The version of the recording that it is for; every recording if absent.
    cli: Option<CliVersion>,
    /// The reason for the plan, for people.
    about: Option<String>,
}

impl PinnedPlan {
    /// Returns whether it is for the recording of `version`.
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

/// The ways in which a call of the chat's server fails (V4, V6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum FaultKind {
    /// The reply is 429 with `retry_after`; the call has no effect.
    RateLimit,
    /// The text is already there, and the reply is 400 `message is not modified`. Only an edit gets this reply.
    NotModified,
    /// The reply is 500; the call has no effect.
    ServerError,
    /// The call takes effect, and the reply is slow.
    Slow,
    /// The call takes effect, and the client gives up waiting for a reply.
    Hang,
    /// The call takes effect, and the connection breaks before the reply.
    LostReply,
}

/// Each kind with its name and the unit of its amount.
const KINDS: [(FaultKind, &str, Option<&str>); 6] = [
    (FaultKind::RateLimit, "rate-limit", Some("s")),
    (FaultKind::NotModified, "not-modified", None),
    (FaultKind::ServerError, "server-error", None),
    (FaultKind::Slow, "slow", Some("ms")),
    (FaultKind::Hang, "hang", None),
    (FaultKind::LostReply, "lost-reply", None),
];

impl FaultKind {
    /// Returns the word in plans, scenarios and traces.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the unit of its amount: seconds to wait, milliseconds until the reply.
    pub fn unit(self) -> Option<&'static str> {
        self.row().1
    }

    /// Returns the largest amount, or 0 for a kind without an amount.
    fn most(self) -> u64 {
        match self {
            Self::RateLimit => FAULT_WAIT_S,
            Self::Slow => FAULT_SLOW_MS,
            Self::NotModified | Self::ServerError | Self::Hang | Self::LostReply => 0,
        }
    }

    fn row(self) -> (&'static str, Option<&'static str>) {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self);
        row.map_or(("unnamed", None), |&(_, word, unit)| (word, unit))
    }
}

/// The errors of a word that is not a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The kind does not exist.
    #[error(
        "there is no fault `{0}`; write rate-limit, not-modified, server-error, slow, hang or lost-reply"
    )]
    Kind(String),
    /// The number of the call or the kind is missing.
    #[error(
        "`{0}` is no fault of a call; write the call's number and what goes wrong, such as \
         2:rate-limit:3s, 2:slow:700ms or 2:lost-reply"
    )]
    Form(String),
    /// The amount is out of range.
    #[error("`{fault}` waits too long; write {most}{unit} at most")]
    Amount {
        /// The word.
        fault: String,
        /// The largest amount.
        most: u64,
        /// The unit of the amount.
        unit: &'static str,
    },
}

impl FromStr for FaultKind {
    type Err = FaultError;

    fn from_str(word: &str) -> Result<Self, FaultError> {
        let row = KINDS.iter().find(|(_, name, _)| *name == word);
        row.map(|(kind, ..)| *kind).ok_or_else(|| FaultError::Kind(word.to_owned()))
    }
}

impl TryFrom<String> for FaultKind {
    type Error = FaultError;

    fn try_from(word: String) -> Result<Self, FaultError> {
        word.parse()
    }
}

/// A fault of one call, written `2:rate-limit:3s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fault {
    /// The number of the call, from 1; typing signals do not count.
    pub call: u64,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The seconds to wait of a [`FaultKind::RateLimit`], the milliseconds until the reply of a [`FaultKind::Slow`]; 0
    /// for the others.
    pub amount: u64,
}

impl Fault {
    /// Returns the reply in a trace: the fault without the call's number.
    pub fn answer(self) -> String {
        match self.kind.unit() {
            Some(unit) => format!("{}:{}{unit}", self.kind.as_str(), self.amount),
            None => self.kind.as_str().to_owned(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.call, self.answer())
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let form = || FaultError::Form(text.to_owned());
        let mut parts = text.split(':');
        let call = parts.next().and_then(|call| call.parse().ok()).filter(|call| *call > 0);
        let call = call.ok_or_else(form)?;
        let kind: FaultKind = parts.next().ok_or_else(form)?.parse()?;
        let amount = match (kind.unit(), parts.next()) {
            (Some(unit), Some(amount)) => {
                let digits = amount.strip_suffix(unit).ok_or_else(form)?;
                let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let most = kind.most();
                let amount = digits.parse().ok().filter(|amount| *amount <= most);
                let fault = text.to_owned();
                match is_number {
                    true => amount.ok_or(FaultError::Amount { fault, most, unit })?,
                    false => return Err(form()),
                }
            }
            (None, None) => 0,
            _ => return Err(form()),
        };
        if parts.next().is_some() {
            return Err(form());
        }
        Ok(Self { call, kind, amount })
    }
}

impl TryFrom<String> for Fault {
    type Error = FaultError;

    fn try_from(text: String) -> Result<Self, FaultError> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_one_or_a_range_with_its_end() {
        let seeds = |text: &str, count| -> Result<Vec<u64>, String> {
            Ok(text.parse::<SeedRange>()?.seeds(count)?.each().collect())
        };
        assert_eq!(seeds("7", None), Ok(vec![7]));
        assert_eq!(seeds("7", Some(3)), Ok(vec![7, 8, 9]));
        assert_eq!(seeds("3..5", None), Ok(vec![3, 4, 5]));
        assert!(seeds("3..5", Some(2)).unwrap_err().contains("leave out `--plans`"));
        assert!(seeds("5..3", None).unwrap_err().contains("write the smaller one first: 3..5"));
        for text in ["", "x", "1..", "..3", "-1", "1..=3"] {
            assert!(seeds(text, None).unwrap_err().contains("is no seed"), "{text}");
        }
    }

    #[test]
    fn only_the_seeds_of_the_scenario_say_that_something_never_happens() {
        let has_all = |first, count| {
            let chosen = Some(Seeds { first, count });
            SweepSpec { plans: 64, chosen, ..SweepSpec::default() }.has_all_seeds()
        };
        assert!(SweepSpec::default().has_all_seeds());
        assert!(has_all(1, 64) && has_all(0, 65) && has_all(1, 1_000));
        assert!(!has_all(1, 63) && !has_all(2, 64) && !has_all(0, 64));
    }

    #[test]
    fn a_scenario_that_turns_plans_off_has_none_that_a_command_chooses() {
        let off = SweepSpec { plans: 0, ..SweepSpec::default() };
        let chosen = SweepSpec { chosen: Some(Seeds { first: 7, count: 3 }), ..off.clone() };
        assert_eq!([off.seeds(), chosen.seeds()], [Seeds::NONE; 2]);
    }

    #[test]
    fn a_pinned_plan_is_a_seed_or_a_plan() {
        let read =
            |keys: &str| toml::from_str::<PinnedPlan>(keys).map_err(|error| error.to_string());
        let plan = read("seed = 7\nabout = 'a late edit'").unwrap();
        assert_eq!((&plan.source, plan.cli.is_none()), (&PlanSource::Seed(7), true));
        let plan = read("json = '{}'\ncli = '2.1.332'").unwrap();
        assert_eq!(plan.source, PlanSource::Json("{}".to_owned()));
        assert!(plan.is_for(&"2.1.332".parse().unwrap()));
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

    #[test]
    fn v6_a_fault_reads_as_it_is_written() {
        for text in [
            "2:rate-limit:3s",
            "1:not-modified",
            "10:server-error",
            "4:slow:700ms",
            "3:hang",
            "3:lost-reply",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert_eq!("2:slow:700ms".parse::<Fault>().unwrap().answer(), "slow:700ms");
    }

    #[test]
    fn a_fault_waits_a_day_at_most() {
        for (text, expect) in [
            ("1:rate-limit:18446744073709551615s", "write 86400s at most"),
            ("1:rate-limit:99999999999999999999999s", "write 86400s at most"),
            ("1:rate-limit:86401s", "write 86400s at most"),
            ("1:slow:3600001ms", "write 3600000ms at most"),
        ] {
            let error = text.parse::<Fault>().unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` waits too long; {expect}"));
        }
        assert_eq!("1:rate-limit:86400s".parse::<Fault>().unwrap().amount, 86_400);
    }

    #[test]
    fn v6_what_is_no_fault_is_told_how_to_write_one() {
        for text in [
            "",
            "hang",
            "0:hang",
            "x:hang",
            "2",
            "2:slow",
            "2:slow:3s",
            "2:hang:3s",
            "2:rate-limit:-1s",
            "2:rate-limit:3s:4",
        ] {
            let error = text.parse::<Fault>().unwrap_err();
            assert_eq!(error, FaultError::Form(text.to_owned()));
        }
        let error = "2:late".parse::<Fault>().unwrap_err().to_string();
        assert!(error.starts_with("there is no fault `late`; write rate-limit,"), "{error}");
        assert_eq!(KINDS.len(), FaultKind::LostReply as usize + 1, "a kind has no row");
    }
}
