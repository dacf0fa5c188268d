//! The texts of a comparison that the page, the text and the terminal have in common.

use clitape_recording::text::plural;

use crate::compare::{Comparison, ComparisonCounts, SideDescription};

/// The most places that are named for one reason; the others are counted.
const PLACES: usize = 6;
/// The most reasons that are listed; the others are counted.
const FAILURES: usize = 20;

/// Describes a side on one line.
pub(super) fn side(about: &SideDescription) -> String {
    let facts = about.facts.iter().map(|(name, value)| format!("{name} {value}"));
    format!("{} ({})", about.name, facts.collect::<Vec<_>>().join(", "))
}

/// Returns the counts with their names, such as `("equal", 2)`.
pub(super) fn counted(counts: &ComparisonCounts) -> Vec<(String, usize)> {
    let mut counted = vec![
        ("cassettes compared".to_owned(), counts.compared),
        ("equal".to_owned(), counts.equal),
    ];
    counted.extend(counts.by_class.map(|(class, count)| (format!("differ: {class}"), count)));
    counted.push(("replays not compared".to_owned(), counts.failed));
    counted
}

/// Returns the reasons why replays could not be compared, one line for each reason with its places.
pub(super) fn failures(comparison: &Comparison) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for failed in &comparison.failed {
        match reasons.iter_mut().find(|(why, _)| *why == failed.why) {
            Some((_, places)) => places.push(&failed.place),
            None => reasons.push((&failed.why, vec![&failed.place])),
        }
    }
    let mut lines: Vec<String> = reasons
        .iter()
        .take(FAILURES)
        .map(|(why, places)| {
            let named = places[..places.len().min(PLACES)].join("; ");
            match places.len().saturating_sub(PLACES) {
                0 => format!("{why} [{named}]"),
                more => format!("{why} [{named}; {more} more]"),
            }
        })
        .collect();
    if let more @ 1.. = reasons.len().saturating_sub(FAILURES) {
        lines.push(plural(more, "more reason"));
    }
    lines
}
