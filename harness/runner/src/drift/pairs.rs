//! Compares pairs of recordings, one of the older and one of the newer version for each scenario: the records, and the
//! lanes of their replays.
//!
//! To find the lanes that differ only because the gateway uses new parts, the records, fields and words that are new are
//! removed from a recording, so that the older version could have printed it, and the rest is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use clitape_judge::Class;
use clitape_recording::cassette::{Cassette, TickKind};
use clitape_recording::facts::read_record;
use clitape_recording::names::ScenarioName;
use serde_json::{Map, Value};

use super::facts::{RecordFacts, of_kind, schema};
use super::model::{About, ChangeKind, DriftChange, Part};
use super::sequence::Sequences;
use crate::check::Recording;
use crate::compare::{
    self, CompareError, Compared, Comparison, DiffRow, LaneDiff, compare_versions,
};
use crate::observed::{Inside, Tag};
use crate::suite::{SuiteOptions, TrialEvent};

/// The changes that pairs of recordings show.
pub(super) struct PairChanges {
    pub(super) changes: Vec<DriftChange>,
    /// The lanes that differ only because the gateway uses new parts of the records.
    pub(super) follows: Vec<DriftChange>,
    pub(super) lanes: Comparison,
}

/// Compares pairs of recordings, and their replays.
pub(super) fn of_recordings(
    pairs: &[[Recording; 2]],
    about: [&About; 2],
    options: SuiteOptions<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<PairChanges, CompareError> {
    let cassettes: Vec<[&Cassette; 2]> =
        pairs.iter().map(|pair| pair.each_ref().map(|recording| &recording.cassette)).collect();
    let facts = [0, 1].map(|side| RecordFacts::of(cassettes.iter().map(|pair| pair[side])));
    let mut changes = of_records(&cassettes, &facts);
    let sides = about.map(|about| compare::SideDescription {
        name: about.version.to_string(),
        facts: vec![("recordings", about.recordings.clone())],
        command: "clitape".to_owned(),
        note: String::new(),
    });
    let lanes = compare_versions(pairs, sides.clone(), options, report)?;
    let (by_itself, as_known): (Vec<_>, Vec<_>) = {
        let differ: Vec<&str> = differing(&lanes).collect();
        let pairs = || pairs.iter().filter(|[a, _]| differ.contains(&a.scenario.name.as_str()));
        let of =
            |recording: &Recording, cassette| Recording::of(recording.scenario.clone(), cassette);
        let known = pairs().map(|[a, b]| {
            let without = without_news(&b.cassette, &facts[0]);
            [of(a, a.cassette.clone()), of(b, without)]
        });
        let known: Vec<[Recording; 2]> = known.collect();
        let still = compare_versions(&known, sides, options, &mut |_| Ok(()))?;
        let still: Vec<&str> = differing(&still).collect();
        let names = pairs().map(|[a, _]| a.scenario.name.clone());
        names.partition(|name| still.contains(&name.as_str()))
    };
    changes.extend(replays(&lanes, &by_itself));
    Ok(PairChanges { changes, follows: replays(&lanes, &as_known), lanes })
}

/// Returns the changes of records, dialogue, transcripts and exits in pairs of recordings.
pub(super) fn of_records(pairs: &[[&Cassette; 2]], facts: &[RecordFacts; 2]) -> Vec<DriftChange> {
    let mut sequences = Sequences::default();
    for pair in pairs {
        sequences.add(&pair[0].manifest.scenario, *pair);
    }
    let mut changes = schema(&facts[0], &facts[1]);
    let told = of_kinds(&changes);
    changes.extend(sequences.into_changes().filter(|change| !told.contains(&change.place)));
    changes
}

/// Returns the places under which `sequence` would repeat the new kinds of records and those that are gone.
fn of_kinds(changes: &[DriftChange]) -> Vec<String> {
    let of_kind =
        |change: &&DriftChange| matches!(change.kind, ChangeKind::KindNew | ChangeKind::KindGone);
    changes.iter().filter(of_kind).map(|change| format!("records: {}", change.place)).collect()
}

/// Returns the scenarios with a lane that differs in more than times.
fn differing(lanes: &Comparison) -> impl Iterator<Item = &str> {
    let differs = |one: &&Compared| one.class().is_some_and(|class| class != Class::Timing);
    lanes.differing().filter(differs).map(|one| one.scenario.as_str())
}

/// Returns the lanes of these scenarios that differ in more than times; those with the same first difference are one
/// change.
fn replays(lanes: &Comparison, of: &[ScenarioName]) -> Vec<DriftChange> {
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

/// Returns the recording without the new parts. The lines of the host stay after the records that they came after.
fn without_news(cassette: &Cassette, known: &RecordFacts) -> Cassette {
    let mut cassette = cassette.clone();
    // The offset of the end of each line, before and after.
    let mut ends = vec![(0, 0)];
    let (mut old, mut stdout) = (0, Vec::new());
    for line in cassette.stdout.split_inclusive(|byte| *byte == b'\n') {
        old += line.len() as u64;
        stdout.extend(stripped(line, known));
        ends.push((old, stdout.len() as u64));
    }
    cassette.stdout = stdout;
    for run in &mut cassette.further {
        let lines = run.stdout.split_inclusive(|byte| *byte == b'\n');
        run.stdout = lines.flat_map(|line| stripped(line, known)).collect();
    }
    let mut read = 0;
    for tick in &mut cassette.timeline {
        match &mut tick.kind {
            TickKind::Out(bytes) => read += *bytes,
            TickKind::In { offset, .. } => {
                let before = offset.unwrap_or(read);
                let at = ends.partition_point(|(old, _)| *old <= before);
                *offset = ends.get(at.saturating_sub(1)).map(|(_, new)| *new);
            }
            TickKind::Err(_) | TickKind::Marker(_) | TickKind::Exit(_) => {}
        }
    }
    cassette
}

/// Returns a line without its new parts; empty for a record of a new kind.
fn stripped(line: &[u8], known: &RecordFacts) -> Vec<u8> {
    let Some(Value::Object(mut record)) = read_record(line) else { return line.to_vec() };
    let place = Tag::of(&record).name();
    if !known.objects.contains_key(&place) {
        return Vec::new();
    }
    if !strip(&mut record, &place, known) {
        return line.to_vec();
    }
    format!("{}\n", Value::Object(record)).into_bytes()
}

/// Removes the new parts from an object, and returns whether there were any.
fn strip(object: &mut Map<String, Value>, place: &str, known: &RecordFacts) -> bool {
    let before = object.len();
    object.retain(|key, _| known.fields.contains_key(&format!("{place}.{key}")));
    let mut changed = object.len() < before;
    for (key, value) in object.iter_mut() {
        changed |= strip_value(value, &format!("{place}.{key}"), Inside::of(key), known);
    }
    changed
}

fn strip_value(value: &mut Value, place: &str, inside: Inside, known: &RecordFacts) -> bool {
    match (value, inside) {
        (_, Inside::Open | Inside::Map) => false,
        (Value::Array(items), Inside::Described) => {
            let place = format!("{place}[]");
            let words = known.fields.get(&place).and_then(|field| field.words.as_ref());
            let before = items.len();
            items.retain(|item| match (item, words) {
                (Value::String(word), Some(words)) => words.contains_key(word),
                (Value::Object(object), _) => known.objects.contains_key(&of_kind(object, &place)),
                _ => true,
            });
            let mut changed = items.len() < before;
            for item in items {
                changed |= strip_value(item, &place, Inside::Described, known);
            }
            changed
        }
        (Value::Object(object), Inside::Described) => {
            let place = of_kind(object, place);
            known.objects.contains_key(&place) && strip(object, &place, known)
        }
        _ => false,
    }
}
