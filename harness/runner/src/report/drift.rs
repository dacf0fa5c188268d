//! Describes the drift from one version of the CLI to another as a [`Document`], and writes it as JSON: the verdict, the
//! changes by part, what was not compared, and on the page every scenario whose replay differs, with both chats.

use clitape_recording::names::ScenarioName;
use clitape_recording::text::plural;
use serde::Serialize;

use super::compare::sections;
use super::document::{Attention, Document, DocumentItem, DocumentPart, DocumentSide};
use crate::drift::{About, Cost, Drift, DriftChange, NotCompared, Part, Race};

/// Returns the report of a drift.
pub fn drift_document(drift: &Drift) -> Document {
    let side = |about: &About| DocumentSide {
        name: format!("claude {}", about.version),
        facts: vec![("recordings:", about.recordings.clone())],
    };
    let of_part = |part: Part| DocumentPart {
        title: part.title(),
        items: drift.of(part).map(changed).collect(),
        ..DocumentPart::default()
    };
    let mut parts: Vec<DocumentPart> = Part::ALL.into_iter().map(of_part).collect();
    parts.extend([
        DocumentPart {
            title: "What follows",
            sentence: follows(drift).unwrap_or_default(),
            items: drift.follows.iter().map(changed).collect(),
            ..DocumentPart::default()
        },
        DocumentPart {
            title: "Not compared",
            attention: Attention::Failed,
            items: drift.not_compared.iter().map(not_compared).collect(),
            ..DocumentPart::default()
        },
        DocumentPart {
            title: "Races of the recordings",
            sentence: races(drift).unwrap_or_default(),
            attention: Attention::Note,
            items: drift.races.iter().map(raced).collect(),
            ..DocumentPart::default()
        },
        DocumentPart { drawn: sections(&drift.lanes), ..DocumentPart::default() },
        DocumentPart {
            title: "Size, for information",
            sentence: cost(drift),
            attention: Attention::Note,
            ..DocumentPart::default()
        },
    ]);
    if !drift.left_out.is_empty() {
        let scenarios = plural(drift.left_out.len(), "scenario");
        parts.push(DocumentPart {
            title: "Left out",
            sentence: format!("Not for both versions, or written by hand: {scenarios}."),
            attention: Attention::Folded,
            items: drift.left_out.iter().map(not_compared).collect(),
            ..DocumentPart::default()
        });
    }
    Document {
        title: format!("claude {} → {}", drift.from.version, drift.to.version),
        verdict: verdict(drift),
        holds: drift.of(Part::Person).next().is_none() && drift.not_compared.is_empty(),
        lead: "",
        sides: [side(&drift.from), side(&drift.to)],
        counts: Part::ALL.map(|part| (part.title().to_owned(), drift.of(part).count())).into(),
        parts,
        rest: "in the JSON of the report",
    }
}

fn changed(change: &DriftChange) -> DocumentItem {
    let DriftChange { place, what, example, .. } = change;
    DocumentItem {
        class: None,
        place: place.clone(),
        text: what.clone(),
        seen: shown_by(change),
        example: example.clone().unwrap_or_default(),
    }
}

fn raced(Race { scenario, place, what }: &Race) -> DocumentItem {
    DocumentItem {
        class: None,
        place: place.clone(),
        text: what.clone(),
        seen: format!("in {scenario}"),
        example: String::new(),
    }
}

fn not_compared(NotCompared { what, why }: &NotCompared) -> DocumentItem {
    DocumentItem::sentence(format!("{what}: {why}"))
}

/// The version of the format, raised when a reader of the old one would misread the new one.
const DRIFT_FORMAT: u32 = 1;

/// A drift as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftReport<'a> {
    /// Version of this format: 1.
    format: u32,
    /// Version of clitape that compared.
    clitape: &'static str,
    /// The version that is taken as known.
    from: &'a About,
    /// The version that is compared with it.
    to: &'a About,
    /// What a person sees of the change, in one sentence.
    verdict: String,
    /// Whether there is nothing to look at: no change, and nothing that was not compared.
    holds: bool,
    /// Whether a person sees something else in a chat.
    person_sees: bool,
    /// The changes, by part.
    changes: &'a [DriftChange],
    /// Lanes that differ only because the gateway uses what is new in the records.
    follows: &'a [DriftChange],
    /// Differences in order that did not come again when both versions recorded the scenario again; no changes.
    races: &'a [Race],
    /// What was not compared, though it should have been.
    not_compared: &'a [NotCompared],
    /// Scenarios that are not for both versions, with the reason.
    left_out: &'a [NotCompared],
    /// The scenarios that were compared.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    compared: &'a [ScenarioName],
    /// The size of both versions' recordings, which decides nothing.
    cost: [Cost; 2],
}

/// Returns the report as JSON text.
///
/// # Errors
///
/// An error of the JSON writer; the types of a report cause none.
pub fn drift_json(drift: &Drift) -> Result<String, serde_json::Error> {
    let report = DriftReport {
        format: DRIFT_FORMAT,
        clitape: env!("CARGO_PKG_VERSION"),
        from: &drift.from,
        to: &drift.to,
        verdict: verdict(drift),
        holds: drift.holds(),
        person_sees: drift.of(Part::Person).next().is_some(),
        changes: &drift.changes,
        follows: &drift.follows,
        races: &drift.races,
        not_compared: &drift.not_compared,
        left_out: &drift.left_out,
        compared: &drift.compared,
        cost: drift.cost,
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

/// The most scenarios that a sentence names; the others are counted.
const NAMED: usize = 3;

/// Returns the verdict: whether a person sees a change.
fn verdict(drift: &Drift) -> String {
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

/// Returns the scenarios in which the gateway shows something else because it uses new parts of the records; `None` if
/// there are none.
fn follows(drift: &Drift) -> Option<String> {
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

/// Returns what is said of the races; `None` if there are none.
fn races(drift: &Drift) -> Option<String> {
    let count = drift.races.len();
    (count > 0).then(|| {
        let differences = plural(count, "difference");
        format!("When both versions recorded the scenario again, {differences} in order did not come again.")
    })
}

/// Names the recordings that show a change: `in 69 scenarios, such as api-400`.
fn shown_by(change: &DriftChange) -> String {
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

/// Returns the size of both sides.
fn cost(drift: &Drift) -> String {
    let [from, to] = drift.cost;
    format!("{} → {} records, {} → {} bytes", from.records, to.records, from.bytes, to.bytes)
}
