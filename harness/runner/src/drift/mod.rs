//! Finds the changes from one version of the CLI to another: in its records, the dialogue, the command line, and in
//! what a person sees of it.
//!
//! [`drift`] takes two recordings of each scenario, one by each version ([`Side`] has them). `pairs` compares them and
//! the lanes of their replays: `facts` gathers and compares the values at each place of the records; `sequence` compares
//! number and order, and two help texts. `races` tells a race of the recordings from a change. The result is a [`Drift`], which [`crate::report`] writes.

mod facts;
mod model;
mod pairs;
mod races;
mod sequence;
mod side;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use clitape_recording::scenario::Scenario;
pub use model::{About, ChangeKind, Cost, Drift, DriftChange, NotCompared, Part, Race};
use pairs::{PairChanges, of_recordings};
use races::leave_out_races;
pub use races::{Doubts, changed_places};
pub use side::{Recorded, Recorder, Side, committed};

use crate::check::Recording;
use crate::compare::CompareError;
use crate::suite::{SuiteOptions, TrialEvent};

/// The scenarios of a comparison, and those that are left out of it.
#[derive(Debug, Default)]
pub struct Scope {
    /// The scenarios of which both versions should have a recording.
    pub scenarios: Vec<Arc<Scenario>>,
    /// The recordings that could not be made, with the reason.
    pub not_recorded: Vec<NotCompared>,
    /// The scenarios that do not apply to both versions, with the reason.
    pub left_out: Vec<NotCompared>,
    /// The differences that did not come again.
    pub races: Vec<Race>,
}

/// Compares the recordings of two versions, and reports the progress.
///
/// # Errors
///
/// [`CompareError`] when a recording can't be read, or the caller ends it.
pub fn drift(
    sides: &[Side; 2],
    scope: Scope,
    options: SuiteOptions<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<Drift, CompareError> {
    let Scope { scenarios, not_recorded: mut not_compared, left_out, races } = scope;
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
    let PairChanges { mut changes, mut follows, lanes } =
        of_recordings(&pairs, about, options, report)?;
    for changes in [&mut changes, &mut follows] {
        leave_out_races(changes, &pairs, &races);
    }
    let mut cost = [Cost::default(); 2];
    for pair in &pairs {
        cost.iter_mut().zip(pair).for_each(|(cost, recording)| cost.add(&recording.cassette));
    }
    match (&sides[0].help, &sides[1].help) {
        (Ok(from), Ok(to)) => changes.extend(sequence::command_line(from, to)),
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
    Ok(Drift { from, to, compared, not_compared, left_out, changes, follows, races, cost, lanes })
}
