//! What changes from one version of the CLI to another: its records, the dialogue, the command line, and what a person
//! sees of it.
//!
//! [`drift`] takes two recordings of each scenario, one by each version ([`Side`] has them). `facts` gathers what
//! stands where in the records, `schema` compares it; `sequence` compares number and order, `command_line` two help
//! texts, `replays` what the lanes of our own replay make of both; `known` tells what of it only follows from what is new. The result is a [`Drift`], which
//! [`crate::report`] writes.

mod command_line;
mod cost;
mod facts;
mod known;
mod model;
mod replays;
mod schema;
mod sequence;
mod side;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use cost::Cost;
use facts::Facts;
pub use model::{About, Change, ChangeKind, Drift, NotCompared, Part};
use sequence::Sequences;
pub use side::{Recorded, Recorder, Side, committed};

use crate::cassette::Cassette;
use crate::check::Recording;
use crate::compare::{self, CompareError, Comparison, compare_versions};
use crate::names::ScenarioName;
use crate::scenario::Scenario;

/// What is compared, besides the sides.
#[derive(Debug, Default)]
pub struct Scope {
    /// The scenarios of which both versions should have a recording.
    pub scenarios: Vec<Arc<Scenario>>,
    /// What could not be recorded, with the reason.
    pub not_recorded: Vec<NotCompared>,
    /// The scenarios that are not for both versions, with the reason.
    pub left_out: Vec<NotCompared>,
}

/// Compares the recordings of two versions. `tell` is called with the number of scenarios that are done.
///
/// # Errors
///
/// [`CompareError`] when a recording can't be read, or `stop` is set.
pub fn drift(
    sides: &[Side; 2],
    scope: Scope,
    stop: &AtomicBool,
    tell: impl FnMut(usize),
) -> Result<Drift, CompareError> {
    let Scope { scenarios, not_recorded: mut not_compared, left_out } = scope;
    let mut pairs: Vec<[Recording; 2]> = Vec::new();
    for scenario in &scenarios {
        let load = |side: &Side| {
            let workspace = side.recordings.get(&scenario.name)?;
            Some(Recording::load(workspace, scenario, &side.about.version))
        };
        match [load(&sides[0]), load(&sides[1])] {
            [Some(a), Some(b)] => pairs.push([a?, b?]),
            found => {
                let lacks = sides.iter().zip(&found).filter(|(_, found)| found.is_none());
                let lacks: Vec<&str> = lacks.map(|(side, _)| side.about.version.as_str()).collect();
                let what = scenario.name.to_string();
                if !not_compared.iter().any(|known| known.what == what) {
                    let why = format!("there is no recording with {}", lacks.join(" and "));
                    not_compared.push(NotCompared { what, why });
                }
            }
        }
    }
    let about = sides.each_ref().map(|side| &side.about);
    let Found { mut changes, follows, lanes } = of_recordings(&pairs, about, stop, tell)?;
    let mut cost = [Cost::default(); 2];
    for pair in &pairs {
        cost.iter_mut().zip(pair).for_each(|(cost, recording)| cost.add(&recording.cassette));
    }
    match (&sides[0].help, &sides[1].help) {
        (Ok(from), Ok(to)) => changes.extend(command_line::command_line(from, to)),
        (Err(why), _) | (_, Err(why)) => {
            let what = "the command line".to_owned();
            not_compared.push(NotCompared { what, why: why.clone() });
        }
    }
    not_compared.extend(
        lanes
            .failed
            .iter()
            .map(|failed| NotCompared { what: failed.place.clone(), why: failed.why.clone() }),
    );
    changes.sort_by(|a, b| (a.part, a.kind, &a.place).cmp(&(b.part, b.kind, &b.place)));
    let [from, to] = about.map(About::clone);
    let compared = pairs.iter().map(|pair| pair[0].scenario.name.clone()).collect();
    Ok(Drift { from, to, compared, not_compared, left_out, changes, follows, cost, lanes })
}

/// What pairs of recordings show.
struct Found {
    changes: Vec<Change>,
    /// Lanes that differ only because of what is new in the records.
    follows: Vec<Change>,
    lanes: Comparison,
}

/// Compares pairs of recordings, and their replays.
fn of_recordings(
    pairs: &[[Recording; 2]],
    about: [&About; 2],
    stop: &AtomicBool,
    tell: impl FnMut(usize),
) -> Result<Found, CompareError> {
    let cassettes: Vec<[&Cassette; 2]> =
        pairs.iter().map(|pair| pair.each_ref().map(|recording| &recording.cassette)).collect();
    let facts = [0, 1].map(|side| Facts::of(cassettes.iter().map(|pair| pair[side])));
    let mut changes = of_records(&cassettes, &facts);
    let sides = about.map(|about| compare::About {
        name: about.version.to_string(),
        facts: vec![("recordings", about.recordings.clone())],
        command: "clitape".to_owned(),
        note: String::new(),
    });
    let lanes = compare_versions(pairs, sides.clone(), stop, tell)?;
    let (by_itself, as_known): (Vec<_>, Vec<_>) = {
        let differ: Vec<&ScenarioName> = replays::differing(&lanes).collect();
        let pairs = pairs.iter().filter(|[a, _]| differ.contains(&&a.scenario.name));
        let known = pairs.map(|[a, b]| {
            let without = known::without_news(&b.cassette, &facts[0]);
            let of = |recording: &Recording, cassette| {
                Recording::of(recording.scenario.clone(), cassette)
            };
            [of(a, a.cassette.clone()), of(b, without)]
        });
        let known: Vec<[Recording; 2]> = known.collect();
        let still = compare_versions(&known, sides, stop, |_| ())?;
        let still: Vec<ScenarioName> = replays::differing(&still).cloned().collect();
        differ.into_iter().cloned().partition(|name| still.contains(name))
    };
    changes.extend(replays::replays(&lanes, &by_itself));
    Ok(Found { changes, follows: replays::replays(&lanes, &as_known), lanes })
}

/// The changes of records, dialogue, transcripts and exits in pairs of recordings.
fn of_records(pairs: &[[&Cassette; 2]], facts: &[Facts; 2]) -> Vec<Change> {
    let mut sequences = Sequences::default();
    for pair in pairs {
        sequences.add(&pair[0].manifest.scenario, *pair);
    }
    let mut changes = schema::schema(&facts[0], &facts[1]);
    let told = of_kinds(&changes);
    changes.extend(sequences.into_changes().filter(|change| !told.contains(&change.place)));
    changes
}

/// The places under which `sequence` would tell once more of kinds of records that are new or gone.
fn of_kinds(changes: &[Change]) -> Vec<String> {
    let of_kind =
        |change: &&Change| matches!(change.kind, ChangeKind::KindNew | ChangeKind::KindGone);
    changes.iter().filter(of_kind).map(|change| format!("records: {}", change.place)).collect()
}
