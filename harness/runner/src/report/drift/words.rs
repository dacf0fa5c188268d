//! The sentences of a drift report, which the terminal, Markdown and the page share.

use clitape_recording::names::ScenarioName;
use clitape_recording::text::plural;

use crate::drift::{Drift, DriftChange, Part};

/// The most scenarios that a sentence names; the others are counted.
const NAMED: usize = 3;

/// Returns the verdict: whether a person sees a change.
pub(super) fn verdict(drift: &Drift) -> String {
    let mut seen: Vec<&ScenarioName> =
        drift.of(Part::Person).flat_map(|change| &change.scenarios).collect();
    seen.sort();
    seen.dedup();
    let of = plural(drift.compared.len(), "scenario");
    match (seen.len(), drift.compared.len(), drift.not_compared.len()) {
        (0, 0, _) => "Nothing was compared.".to_owned(),
        (0, _, 0) => format!("Nothing a person sees has changed, in {of}."),
        (0, _, _) => format!(
            "Nothing a person sees has changed in the {of} that were compared, but not everything was."
        ),
        (1, ..) => format!("A person sees something else in 1 of {of}."),
        (seen, ..) => format!("A person sees something else in {seen} of {of}."),
    }
}

/// Returns the number of changes by part: `3 changes: 1 in schema of the records, 2 in command line`.
pub(super) fn counted(drift: &Drift) -> String {
    let counts = Part::ALL.map(|part| (part, drift.of(part).count()));
    let some: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(part, count)| format!("{count} in {}", in_lower_case(part.title())))
        .collect();
    match drift.changes.len() {
        0 => "No change was found.".to_owned(),
        count => format!("{}: {}.", plural(count, "change"), some.join(", ")),
    }
}

fn in_lower_case(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns the scenarios in which the gateway shows something else because it uses new parts of the records; `None` if
/// there are none.
pub(super) fn follows(drift: &Drift) -> Option<String> {
    let mut names: Vec<&str> = drift
        .follows
        .iter()
        .flat_map(|change| &change.scenarios)
        .map(|name| name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let names = named(&names);
    Some(format!(
        "What is new in the records is used by this gateway, and changes what becomes of {names}."
    ))
}

/// Names the recordings that show a change: `in 69 scenarios, such as api-400`.
pub(super) fn shown_by(change: &DriftChange) -> String {
    let names: Vec<&str> = change.scenarios.iter().map(|name| name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!("in {}", named(&names)) }
}

/// Returns the scenarios by name, or their number and the first of them.
fn named(names: &[&str]) -> String {
    match names.len() {
        few if few <= NAMED => names.join(", "),
        many => format!("{many} scenarios, such as {}", names[..NAMED].join(", ")),
    }
}

/// Returns the time and size of both sides.
pub(super) fn cost(drift: &Drift) -> String {
    let [from, to] = drift.cost;
    format!(
        "{} → {} records, {} → {} bytes, {:.1} → {:.1} s recorded",
        from.records,
        to.records,
        from.bytes,
        to.bytes,
        from.ms as f64 / 1000.0,
        to.ms as f64 / 1000.0
    )
}
