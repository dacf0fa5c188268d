//! The rules that hold the parser's events against what stdout states.
//!
//! [`Facts`](clitape_recording::facts::Facts) is read without the parser, so that these rules need no golden. Where stdout
//! leaves something open, they hold nothing against anybody.

pub(super) mod calls;
pub(super) mod endings;
pub(super) mod growth;
pub(super) mod texts;

use clitape_recording::text::plural;

use super::violation::{Violation, whole};
use crate::replay::Replay;

/// L1: a line that is a JSON object is a record; the parser does not refuse it.
pub(super) fn record_refused(replay: &Replay) -> Option<Violation<'_>> {
    let stats = &replay.stats;
    let others = replay.counted.lines().saturating_sub(replay.facts.objects);
    let refused =
        (stats.blank + stats.unusable).checked_sub(others).filter(|refused| *refused > 0)?;
    let refused = plural(refused, "line");
    whole(format!(
        "{refused} of stdout is a JSON object, and the parser takes none of it for a record"
    ))
}
