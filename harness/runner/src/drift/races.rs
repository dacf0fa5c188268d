//! Tells a race of the recordings from a change of the version: where the order of the records differs, both versions
//! record the scenario again, and a difference that does not come again is a race.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clitape_recording::cassette::Cassette;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{Scenario, Workspace};

use super::model::{ChangeKind, DriftChange, Race};
use super::sequence::Sequences;
use super::side::Side;
use crate::check::Recording;
use crate::compare::CompareError;

/// The most scenarios with the same difference that are recorded again; the same difference in more is no race.
const MANY: usize = 12;

/// Returns the differences in order between two recordings of a scenario.
fn of_pair(scenario: &ScenarioName, pair: [&Cassette; 2]) -> BTreeSet<Race> {
    let mut sequences = Sequences::of_calls();
    sequences.add(scenario, pair);
    let changes = sequences.into_changes().filter(|change| change.kind == ChangeKind::Order);
    changes
        .map(|change| Race { scenario: scenario.clone(), place: change.place, what: change.what })
        .collect()
}

/// Returns which records changed places between two recordings of a scenario, one sentence each: a race of the scenario.
pub fn changed_places(pair: [&Cassette; 2]) -> Vec<String> {
    of_pair(&pair[0].manifest.scenario, pair).into_iter().map(|race| race.what).collect()
}

/// Returns the differences in order of a scenario in the recordings of both sides; none if one has not recorded it.
fn of_sides(sides: &[Side; 2], scenario: &Scenario) -> Result<BTreeSet<Race>, CompareError> {
    let name = &scenario.name;
    let found = sides.each_ref().map(|side| {
        let workspace = side.recordings.get(name)?;
        Some(Cassette::find(workspace, name, &side.about.version))
    });
    match found {
        [Some(from), Some(to)] => Ok(of_pair(name, [&from?, &to?])),
        _ => Ok(BTreeSet::new()),
    }
}

/// The differences in order that may be races.
#[derive(Debug, Default)]
pub struct Doubts {
    /// The scenarios that both versions have to record again.
    pub scenarios: Vec<Arc<Scenario>>,
    differences: BTreeMap<ScenarioName, BTreeSet<Race>>,
}

impl Doubts {
    /// Finds the scenarios whose recordings differ in order. Those that `committed` has of both sides are not recorded
    /// again, and neither are many with the same difference.
    ///
    /// # Errors
    ///
    /// [`CompareError`] when a recording can't be read.
    pub fn find(
        sides: &[Side; 2],
        scenarios: &[Arc<Scenario>],
        committed: &Workspace,
    ) -> Result<Self, CompareError> {
        let mut doubts = Self::default();
        let is_committed = |side: &Side, name: &ScenarioName| {
            side.recordings.get(name).is_some_and(|place| place.root() == committed.root())
        };
        let mut shown: BTreeMap<(String, String), usize> = BTreeMap::new();
        for scenario in scenarios {
            let name = &scenario.name;
            if sides.iter().all(|side| is_committed(side, name)) {
                continue;
            }
            let found = of_sides(sides, scenario)?;
            for race in &found {
                *shown.entry((race.place.clone(), race.what.clone())).or_default() += 1;
            }
            if !found.is_empty() {
                doubts.differences.insert(name.clone(), found);
            }
        }
        let is_rare = |race: &Race| {
            shown.get(&(race.place.clone(), race.what.clone())).is_none_or(|count| *count <= MANY)
        };
        doubts.differences.retain(|_, found| found.iter().any(is_rare));
        let is_doubtful = |one: &&Arc<Scenario>| doubts.differences.contains_key(&one.name);
        doubts.scenarios = scenarios.iter().filter(is_doubtful).cloned().collect();
        Ok(doubts)
    }

    /// Takes the recordings that both versions made again. A difference that is not in them is a race. If they have none
    /// of the differences before, they take the place of the first recordings, and a difference in them alone is a race
    /// too.
    ///
    /// # Errors
    ///
    /// [`CompareError`] when a recording can't be read.
    pub fn settle(
        self,
        sides: &mut [Side; 2],
        again: [BTreeMap<ScenarioName, Workspace>; 2],
    ) -> Result<Vec<Race>, CompareError> {
        let mut races = Vec::new();
        let versions = sides.each_ref().map(|side| side.about.version.clone());
        let [mut from, mut to] = again;
        let mut taken = 0;
        for (name, before) in self.differences {
            let (Some(a), Some(b)) = (from.remove(&name), to.remove(&name)) else { continue };
            let pair = [
                Cassette::find(&a, &name, &versions[0])?,
                Cassette::find(&b, &name, &versions[1])?,
            ];
            let after = of_pair(&name, pair.each_ref());
            let is_settled = before.is_disjoint(&after);
            races.extend(before.difference(&after).cloned());
            if is_settled {
                taken += 1;
                races.extend(after);
                for (side, place) in sides.iter_mut().zip([a, b]) {
                    side.recordings.insert(name.clone(), place);
                }
            }
        }
        if taken > 0 {
            for side in sides {
                side.about.recordings += &format!(", {taken} recorded again");
            }
        }
        Ok(races)
    }
}

/// Takes the scenarios whose recordings still differ in order, and in nothing but races, out of the changes that a race
/// may cause: of the order, and of the lanes of the replay.
pub(super) fn leave_out_races(
    changes: &mut Vec<DriftChange>,
    pairs: &[[Recording; 2]],
    races: &[Race],
) {
    let is_racing = |pair: &&[Recording; 2]| {
        let found = of_pair(&pair[0].scenario.name, pair.each_ref().map(|one| &one.cassette));
        !found.is_empty() && found.iter().all(|race| races.contains(race))
    };
    let is_named =
        |pair: &&[Recording; 2]| races.iter().any(|race| race.scenario == pair[0].scenario.name);
    let racing = pairs.iter().filter(is_named).filter(is_racing);
    let racing: BTreeSet<&ScenarioName> = racing.map(|pair| &pair[0].scenario.name).collect();
    changes.retain_mut(|change| {
        if !matches!(change.kind, ChangeKind::Order | ChangeKind::Lane) {
            return true;
        }
        let is_of_race =
            |example: &String| racing.iter().any(|name| example.starts_with(&format!("{name}: ")));
        change.scenarios.retain(|name| !racing.contains(name));
        change.example.take_if(|example| is_of_race(example));
        !change.scenarios.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use clitape_recording::cassette::Take;

    use super::super::{About, Part};
    use super::*;

    const WHAT: &str = "`result/success` comes where `stream_event/message_stop` came";

    const BACK: &str = "`stream_event/message_stop` comes where `result/success` came";

    fn project() -> Workspace {
        Workspace::at(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
    }

    fn scenario() -> Arc<Scenario> {
        Arc::new(project().scenario_of(&"plain-text".parse().unwrap()).unwrap())
    }

    /// Makes a workspace with a recording of the scenario. Its last two records have changed places, or not.
    fn recorded(swapped: bool) -> (tempfile::TempDir, Workspace) {
        let mut cassette =
            Cassette::find(&project(), &scenario().name, &"2.1.329".parse().unwrap()).unwrap();
        let mut lines: Vec<&[u8]> =
            cassette.stdout.split_inclusive(|byte| *byte == b'\n').collect();
        let last = lines.len() - 1;
        if swapped {
            lines.swap(last, last - 1);
        }
        cassette.stdout = lines.concat();
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        Take::from(cassette).write(&workspace).unwrap();
        (dir, workspace)
    }

    fn side(workspace: &Workspace) -> Side {
        Side {
            about: About {
                version: "2.1.329".parse().unwrap(),
                recordings: "recorded now".to_owned(),
            },
            recordings: BTreeMap::from([(scenario().name.clone(), workspace.clone())]),
            help: Ok(String::new()),
        }
    }

    /// Checks what is told of recordings whose last records have changed places or not, first and again, on each side.
    #[track_caller]
    fn check(first: [bool; 2], again: [bool; 2], expect: &[&str], taken: bool) {
        let [first, again] = [first, again].map(|sides| sides.map(recorded));
        let mut sides = first.each_ref().map(|(_, workspace)| side(workspace));
        let doubts = Doubts::find(&sides, &[scenario()], &project()).unwrap();
        let name = &scenario().name;
        let again =
            again.each_ref().map(|(_, place)| BTreeMap::from([(name.clone(), place.clone())]));
        let expected = &again[1][name].root().to_owned();
        let races = doubts.settle(&mut sides, again).unwrap();
        let found: Vec<_> = races.iter().map(|race| race.what.as_str()).collect();
        assert_eq!(found, expect);
        assert_eq!(sides[1].recordings[name].root() == expected, taken);
    }

    #[test]
    fn a_difference_that_does_not_come_again_is_a_race() {
        check([false, false], [true, true], &[], false);
        check([false, true], [false, false], &[WHAT], true);
        check([false, true], [true, true], &[WHAT], true);
        check([false, true], [true, false], &[WHAT, BACK], true);
        check([false, true], [false, true], &[], false);
    }

    #[test]
    fn a_scenario_that_races_each_time_has_no_change_of_order() {
        let sides = [recorded(false), recorded(true)];
        let pair = sides.each_ref().map(|(_, place)| {
            Recording::load(place, &scenario(), &"2.1.329".parse().unwrap()).unwrap()
        });
        let found = of_pair(&scenario().name, pair.each_ref().map(|one| &one.cassette));
        let races: Vec<Race> = found.into_iter().collect();
        let other: ScenarioName = "bash-count".parse().unwrap();
        let change = |kind| DriftChange {
            part: Part::Order,
            kind,
            place: "records: order".to_owned(),
            what: String::new(),
            scenarios: vec![scenario().name.clone(), other.clone()],
            example: Some("plain-text: 3 records".to_owned()),
        };
        let mut changes = vec![change(ChangeKind::Order), change(ChangeKind::Count)];
        let before = changes.clone();
        leave_out_races(&mut changes, std::slice::from_ref(&pair), &[]);
        assert_eq!(changes, before);
        leave_out_races(&mut changes, &[pair], &races);
        let left = DriftChange { scenarios: vec![other], example: None, ..before[0].clone() };
        assert_eq!(changes, [left, before[1].clone()]);
    }

    #[test]
    fn committed_recordings_are_not_made_again() {
        let (_dir, workspace) = recorded(true);
        let sides = [side(&project()), side(&workspace)];
        let of =
            |committed| Doubts::find(&sides, &[scenario()], committed).unwrap().scenarios.len();
        assert_eq!((of(&project()), of(&workspace)), (1, 1));
        let sides = [side(&workspace), side(&workspace)];
        assert_eq!(Doubts::find(&sides, &[scenario()], &workspace).unwrap().scenarios.len(), 0);
    }
}
