//! Invariants: what must hold of every replay of every cassette, whatever the plan.
//!
//! A process has one turn or several. The rules of a chat and of the bus hold for each turn by itself. `table` lists the
//! rules; each module has those of one part.

mod asked;
mod bus;
mod chat;
mod editor;
mod event_stream;
mod questions;
mod run;
mod secrets;
pub(super) mod session;
mod shown;
mod stake;
mod stdout;
mod table;
mod texts;
mod turns;
mod violation;
mod watchdog;

use crate::replay::Replay;
use clitape_judge::{context, moment};
use clitape_recording::trace::Entry;
pub use session::SESSION_RULES;
pub use stake::Stake;
use table::Reads;
pub use table::{INVARIANTS, Invariant};
pub(super) use violation::BrokenInvariant;
use violation::Violation;

/// The rules that `replay` breaks.
pub(super) fn broken(replay: &Replay) -> Vec<BrokenInvariant> {
    broken_of(replay, INVARIANTS.iter())
}

/// The rules that `replay` breaks, which has the same events as another replay that breaks none.
pub(super) fn broken_beside_events(replay: &Replay) -> Vec<BrokenInvariant> {
    broken_of(replay, INVARIANTS.iter().filter(|rule| rule.reads != Reads::Events))
}

fn broken_of<'a>(
    replay: &Replay,
    rules: impl Iterator<Item = &'a Invariant>,
) -> Vec<BrokenInvariant> {
    let told = rules.filter_map(|rule| Some((rule.kind, (rule.broken)(replay)?)));
    told.map(|(kind, Violation { entry, sentence })| {
        let is_it =
            |index: &usize| entry.is_some_and(|entry| std::ptr::eq(entry, &replay.entries[*index]));
        let Some(index) = (0..replay.entries.len()).find(is_it) else {
            return BrokenInvariant { kind, sentence, context: Vec::new() };
        };
        let Entry { lane, at, .. } = replay.entries[index];
        let sentence = format!("{}: {sentence}", moment(&replay.entries, index));
        BrokenInvariant { kind, sentence, context: context(&replay.entries, lane, Some(at)) }
    })
    .collect()
}

#[cfg(test)]
mod tests;
