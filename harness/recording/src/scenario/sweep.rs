//! `[sweep]` of a scenario: its seeded plans, and the seeds that a command chooses instead.

use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::Deserialize;

use super::fault::FaultKind;

/// `[sweep]`: the random replays.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SweepSpec {
    /// The number of seeded plans. A scenario with 0 turns them off: no command replays any in it.
    pub plans: u64,
    /// Kinds of faults that the plans draw for the chat's server; none by default.
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
    /// The seeds of the plans that are replayed: those that were chosen, or as many as the scenario says, from 1 on. A
    /// scenario that turns its plans off has none, because it says something that plans do not hold.
    pub fn seeds(&self) -> Seeds {
        match self.plans {
            0 => Seeds::NONE,
            plans => self.chosen.unwrap_or(Seeds { first: 1, count: plans }),
        }
    }

    /// Whether the seeds have those among them that the scenario asks for. Fewer can't say that something never happens.
    pub fn has_all_seeds(&self) -> bool {
        let Seeds { first, count } = self.seeds();
        first <= 1 && first.saturating_add(count) > self.plans
    }
}

/// The seeds of plans, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// The first one.
    pub first: u64,
    /// The number of seeds.
    pub count: u64,
}

impl Seeds {
    /// No seed.
    pub const NONE: Self = Self { first: 1, count: 0 };

    /// Each seed.
    pub fn each(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |number| self.first.saturating_add(number))
    }

    /// The first of every `n` seeds, at least one where there is one.
    #[must_use]
    pub fn one_of(self, n: u64) -> Self {
        Self { count: self.count.div_ceil(n), ..self }
    }
}

/// Seeds as an option names them: one, such as `7`, or several, such as `1..64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedRange(RangeInclusive<u64>);

impl SeedRange {
    /// The seeds of the range; `count` instead of one seed alone, where a number is given.
    ///
    /// # Errors
    ///
    /// A sentence, when the range has several seeds and there is a number as well.
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
}
