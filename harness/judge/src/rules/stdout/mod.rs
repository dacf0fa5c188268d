//! The rules that hold the parser's events against what stdout states.
//!
//! [`Facts`](clitape_recording::facts::Facts) is read without the parser, so that these rules need no golden. Where stdout
//! leaves something open, they hold nothing against anybody.

pub(crate) mod calls;
pub(crate) mod endings;
pub(crate) mod growth;
pub(crate) mod texts;

use clitape_recording::text::plural;

use super::violation::{Broken, whole};
use crate::case::Case;

/// L1: a line that is a JSON object is a record; the parser does not refuse it.
pub(crate) fn record_refused(case: Case<'_>) -> Option<Broken<'_>> {
    let stats = &case.own?.stats;
    let others = case.own?.counted.lines().saturating_sub(case.facts.objects);
    let refused =
        (stats.blank + stats.unusable).checked_sub(others).filter(|refused| *refused > 0)?;
    let refused = plural(refused, "line");
    whole(format!(
        "{refused} of stdout is a JSON object, and the parser takes none of it for a record"
    ))
}
