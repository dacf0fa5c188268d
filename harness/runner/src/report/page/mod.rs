//! The proof page: one file without network, in which anything recorded is text.
//!
//! Everything but the scrubber is plain HTML, so that it is there without the script too. A content
//! security policy names style and script by their hashes; nothing else runs or is loaded.

pub(crate) mod chat;
pub(crate) mod escape;
mod found;
mod frame;
pub(crate) mod markup;
mod provenance;
mod run;
mod section;
pub(crate) mod waterfall;

use serde::Serialize;
use serde_json::Value;

use super::text::verdict;
use crate::replay::Lane;
use crate::scenario::ChatProfile;
use crate::suite::{Case, CaseRun};
use escape::json;
pub(crate) use found::found;
pub(crate) use frame::{PageFrame, badge};
pub(crate) use provenance::{confinement, origin};

/// The style of every page.
pub(crate) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the script draws.
#[derive(Serialize)]
struct PageData {
    /// Of all cases, one after another.
    runs: Vec<RunData>,
}

#[derive(Serialize)]
struct RunData {
    entries: Vec<EntryData>,
    frames: Vec<chat::ChatFrame>,
    records: Vec<String>,
}

#[derive(Serialize)]
struct EntryData {
    at: u64,
    lane: Lane,
    kind: String,
    data: Value,
    /// The line of stdout that came last, from 1; 0 before the first.
    line: usize,
}

/// Writes the page.
pub fn page(cases: &[Case]) -> String {
    let runs = cases.iter().flat_map(|case| case.runs.iter().map(|run| (run, case.chat.profile)));
    let data = json(&PageData { runs: runs.map(|(run, profile)| data(run, profile)).collect() });
    let names: Vec<&str> = cases.iter().map(|case| case.title.as_str()).collect();
    let findings: usize = cases.iter().map(|case| case.findings.len()).sum();
    let verdict = verdict(findings as u64, 0);
    let mut place = 0;
    let mut sections = String::new();
    for case in cases {
        sections.push_str(&section::section(place, case));
        place += case.runs.len();
    }
    let body = format!(
        "<header><h1>Proof {}</h1>\n\
         <p>What the real CLI printed, what became of it, and what a person would have seen. \
         <span class=\"js-only\">Arrows step, space plays, Home and End go to the ends.</span></p>\n\
         </header>\n<main>\n{sections}</main>\n",
        badge(findings == 0, &verdict),
    );
    let title = format!("Proof: {}", names.join(", "));
    PageFrame { title: &title, style: STYLE, body: &body, script: Some((&data, SCRIPT)) }.page()
}

fn data(run: &CaseRun, profile: ChatProfile) -> RunData {
    let mut line = 0;
    let entries = run.entries.iter().map(|entry| {
        line += usize::from(entry.lane == Lane::Read);
        let data = visible(Value::Object(entry.data.clone()));
        EntryData { at: entry.at, lane: entry.lane, kind: escape::visible(&entry.kind), data, line }
    });
    RunData {
        entries: entries.collect(),
        frames: chat::frames(&run.entries, profile),
        records: run.records.iter().map(|record| escape::visible(record)).collect(),
    }
}

/// A value whose texts have no character that can't be seen.
fn visible(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(escape::visible(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(visible).collect()),
        Value::Object(map) => {
            let map = map.into_iter().map(|(key, value)| (escape::visible(&key), visible(value)));
            Value::Object(map.collect())
        }
        other => other,
    }
}
