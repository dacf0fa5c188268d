//! The proof page: one file that loads no resources, in which recorded text is escaped.
//!
//! Everything but the scrubber is plain HTML, so that it is visible without the script. A content security policy names
//! style and script by their hashes, so that a browser loads and runs no other.

pub(crate) mod chat;
pub(super) mod found;
mod frame;
pub(crate) mod frames;
pub(crate) mod key_frames;
mod provenance;
mod section;
pub(crate) mod waterfall;

use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup;
use clitape_recording::trace::Lane;
use maud::html;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::text::verdict;
use crate::suite::{CaseRun, ProofCase};
use clitape_judge::Finding;
pub(crate) use found::found;
use frame::ScriptData;
pub(crate) use frame::{PageFrame, badge, document};
pub(crate) use provenance::{confinement, origin};

/// The style of every page.
pub(crate) const STYLE: &str = include_str!("page.css");
/// The explanation of terms that a newcomer does not know.
const LEGEND: &str = "A lane is one view of a run: what the parser, the bus, the chat, an editor or an event stream says. \
    A plan replays the run cut into other pieces, with other delays. An invariant is a rule that holds in each replay.";
const SCRIPT: &str = include_str!("page.js");

/// The data that the script draws.
#[derive(Serialize)]
struct PageData<'a> {
    /// The runs of all cases, one after another.
    runs: Vec<RunData<'a>>,
}

#[derive(Serialize)]
struct RunData<'a> {
    entries: Vec<EntryData<'a>>,
    chat: frames::ChatFrames,
    records: Vec<Visible<'a, str>>,
}

#[derive(Serialize)]
struct EntryData<'a> {
    at: u64,
    lane: Lane,
    kind: Visible<'a, str>,
    data: Visible<'a, Map<String, Value>>,
    /// The number of the last line of stdout, from 1; 0 before the first.
    line: usize,
}

/// Writes the page.
pub fn page(cases: &[ProofCase]) -> String {
    let runs = cases.iter().flat_map(|case| case.runs.iter().map(|run| (run, case.chat.profile)));
    let data = PageData { runs: runs.map(|(run, profile)| data(run, profile)).collect() };
    let names: Vec<&str> = cases.iter().map(|case| case.title.as_str()).collect();
    let findings: usize = cases.iter().map(|case| case.findings().count()).sum();
    // The index of each case's first run among all runs.
    let places = cases.iter().scan(0, |next, case| {
        let place = *next;
        *next += case.runs.len();
        Some(place)
    });
    let body = html! {
        header {
            h1 { "Proof " (badge(findings == 0, &verdict(findings as u64, 0))) }
            p {
                "What the real CLI printed, what became of it, and what a person would have seen. "
                span.js-only { "Arrows step, space plays, Home and End go to the ends." }
            }
            p.note { (LEGEND) }
        }
        "\n"
        main {
            @for (place, case) in places.zip(cases) {
                (section::section(place, case, &data.runs[place..]))
            }
        }
        "\n"
    };
    let title = format!("Proof: {}", names.join(", "));
    let script = Some((ScriptData::new(&data), SCRIPT));
    PageFrame { title: &title, style: STYLE, body, script }.page()
}

/// A run of a cassette at a subject, for its page.
#[derive(Debug, Clone, Copy)]
pub struct SeenRun<'a> {
    /// The scenario in one line.
    pub title: &'a str,
    /// The scenario and the version of the CLI.
    pub name: &'a str,
    /// The sentence about what the scenario shows.
    pub about: &'a str,
    /// The subject.
    pub subject: &'a str,
    /// The parts of the run, each with its nature: recorded, real, or played by clitape.
    pub legs: &'a [(&'static str, String)],
    /// The ending of the run.
    pub ending: &'a str,
    /// The recorded output, and the entries that were seen.
    pub run: &'a CaseRun,
    /// The findings.
    pub findings: &'a [Finding],
}

/// Writes the page of a run at a subject.
pub fn seen_page(seen: SeenRun<'_>) -> String {
    let SeenRun { title, name, about, subject, legs, ending, run, findings } = seen;
    let shown = data(run, ChatProfile::Telegram);
    let body = html! {
        header {
            h1 { (subject) " " (badge(findings.is_empty(), &verdict(findings.len() as u64, 0))) }
            p {
                "One recording at a real gateway, in real time. "
                span.js-only { "Arrows step, space plays, Home and End go to the ends." }
            }
        }
        "\n"
        main {
            section.case {
                h2 { (title) " " small { (name) } } "\n"
                p { (about) } "\n"
                p.note { "The run: " (ending) "." } "\n"
                @for finding in findings { (found(finding)) }
                h3 { "What is recorded and what is real" } "\n"
                table.invariants {
                    tbody { @for (what, how) in legs { tr { td { b { (what) } } td { (how) } } "\n" } }
                }
                (section::run(0, run, &shown, true))
            }
        }
        "\n"
    };
    let data = PageData { runs: vec![shown] };
    let script = Some((ScriptData::new(&data), SCRIPT));
    let title = format!("{subject}: {name}");
    PageFrame { title: &title, style: STYLE, body, script }.page()
}

fn data(run: &CaseRun, profile: ChatProfile) -> RunData<'_> {
    let mut line = 0;
    let entries = run.entries.iter().map(|entry| {
        line += usize::from(entry.lane == Lane::Read && entry.kind == "chunk");
        let (kind, data) = (Visible(&*entry.kind), Visible(&*entry.data));
        EntryData { at: entry.at, lane: entry.lane, kind, data, line }
    });
    RunData {
        entries: entries.collect(),
        chat: frames::ChatFrames::of(&run.entries, profile, run.prompt()),
        records: run.records.iter().map(|record| Visible(record.as_str())).collect(),
    }
}

/// A value whose texts are serialised with signs in place of invisible characters.
struct Visible<'a, T: ?Sized>(&'a T);

impl Serialize for Visible<'_, str> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&markup::visible(self.0))
    }
}

impl Serialize for Visible<'_, Value> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) => Visible(text.as_str()).serialize(serializer),
            Value::Array(list) => serializer.collect_seq(list.iter().map(Visible)),
            Value::Object(map) => Visible(map).serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

impl Serialize for Visible<'_, Map<String, Value>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.iter().map(|(key, value)| (Visible(key.as_str()), Visible(value)));
        serializer.collect_map(fields)
    }
}
