//! Compares pairs of recordings, one of the older and one of the newer version for each scenario: the records, and the
//! lanes of their replays.

use std::io;

use clitape_recording::cassette::Cassette;

use super::facts::RecordFacts;
use super::known::without_news;
use super::model::{About, ChangeKind, DriftChange};
use super::replays::{differing, replays};
use super::schema::schema;
use super::sequence::Sequences;
use crate::check::Recording;
use crate::compare::{self, CompareError, Comparing, Comparison, compare_versions};
use crate::suite::TrialEvent;

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
    how: Comparing<'_>,
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
    let lanes = compare_versions(pairs, sides.clone(), how, report)?;
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
        let still = compare_versions(&known, sides, how, &mut |_| Ok(()))?;
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
