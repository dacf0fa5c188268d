//! Compares the replays of both versions: the lanes of programs, the chat that a person sees, and the verdicts on a
//! session.

use std::collections::{BTreeMap, BTreeSet};

use clitape_judge::Class;
use clitape_recording::names::ScenarioName;

use super::model::{ChangeKind, DriftChange, Part};
use crate::compare::{Compared, Comparison, DiffRow, LaneDiff};

/// Returns the scenarios with a lane that differs in more than times.
pub(super) fn differing(lanes: &Comparison) -> impl Iterator<Item = &str> {
    let differs = |one: &&Compared| one.class().is_some_and(|class| class != Class::Timing);
    lanes.differing().filter(differs).map(|one| one.scenario.as_str())
}

/// Returns the lanes of these scenarios that differ in more than times; those with the same first difference are one
/// change.
pub(super) fn replays(lanes: &Comparison, of: &[ScenarioName]) -> Vec<DriftChange> {
    let mut seen: BTreeMap<(Part, String, String), (BTreeSet<ScenarioName>, String)> =
        BTreeMap::new();
    for compared in lanes.differing() {
        let Some(name) = of.iter().find(|name| ***name == *compared.scenario) else { continue };
        for lane in compared.lanes.iter().filter(|lane| lane.class != Class::Timing) {
            let example = format!("{}: {}", compared.scenario, lane.first);
            let key = (part(&lane.view), lane.view.clone(), form(lane));
            let (scenarios, _) = seen.entry(key).or_insert_with(|| (BTreeSet::new(), example));
            scenarios.insert(name.clone());
        }
    }
    let changes = seen.into_iter().map(|((part, place, what), (scenarios, example))| DriftChange {
        part,
        kind: ChangeKind::Lane,
        place,
        what,
        scenarios: scenarios.into_iter().collect(),
        example: Some(example),
    });
    changes.collect()
}

/// Returns the part to which a view such as `telegram-partial` belongs.
fn part(view: &str) -> Part {
    match view.split('-').next() {
        Some("telegram") => Part::Person,
        Some("session") => Part::Behaviour,
        _ => Part::Lanes,
    }
}

/// Describes the first difference of a lane, without the words of one recording.
fn form(lane: &LaneDiff) -> String {
    let differs = lane.rows.iter().find_map(|row| match row {
        DiffRow::Differ { a, b, .. } => Some((a, b)),
        DiffRow::Same { .. } | DiffRow::More(_) | DiffRow::Gap => None,
    });
    let kind = |words: &str| words.split(' ').next().unwrap_or_default().to_owned();
    match differs {
        None => "differs".to_owned(),
        Some((Some(a), Some(b))) => {
            let fields: Vec<&str> = b.fields.iter().map(|(name, _)| name.as_str()).collect();
            match (kind(&a.words), kind(&b.words)) {
                (a, b) if a != b => format!("has `{b}` first where `{a}` was"),
                (_, b) if fields.is_empty() => format!("has another `{b}` first"),
                (_, b) => format!("differs first in `{}` of `{b}`", fields.join("`, `")),
            }
        }
        Some((Some(a), None)) => format!("first lacks `{}`", kind(&a.words)),
        Some((None, Some(b))) => format!("first has one more `{}`", kind(&b.words)),
        Some((None, None)) => "differs".to_owned(),
    }
}
