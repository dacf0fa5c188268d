//! The proof page: one file that loads no resources, in which recorded text is escaped.
//!
//! Everything but the scrubber is plain HTML, so that it is visible without the script. A content security policy names
//! style and script by their hashes, so that a browser loads and runs no other.
//!
//! Each scenario has a section with its verdicts, its runs with prompts and results, its goldens and invariants, and
//! the provenance of its bytes: who printed them, when, with which command, and what was replaced in them. A finding
//! has its sentence, the expected chat beside the actual one, the input beside the output, the diff, and the command
//! that reproduces it.

use clitape_judge::{ContextMoment, DiffLine, DiffSide, Finding};
use clitape_recording::cassette::{Confinement, Manifest, Origin};
use clitape_recording::names::{CassetteFile, CassettePart};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::{markup, plural};
use clitape_recording::trace::{Entry, Lane};
use maud::{Markup, display, html};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::report::chat::{PersonAct, STOP, act};
use crate::report::chat_diff::{ChatSides, chat_markup};
use crate::report::groups::nearest;
use crate::report::model::Tally;
use crate::report::text::{ContextRow, change_text, commands, rows, verdict};
use crate::suite::{CaseRun, ComparedGolden, ProofCase};
use frame::ScriptData;
use frames::key_frame_strip;
use waterfall::{seconds, waterfall};

mod frame;
pub(crate) mod frames;
pub(crate) mod waterfall;

pub(crate) use frame::{PageFrame, badge, document};

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
    // What does not hold proves nothing.
    let heading = if findings == 0 { "Proof" } else { "What failed" };
    // The index of each case's first run among all runs.
    let places = cases.iter().scan(0, |next, case| {
        let place = *next;
        *next += case.runs.len();
        Some(place)
    });
    let body = html! {
        header {
            h1 { (heading) " " (badge(findings == 0, &verdict(&Tally::of_findings(findings)))) }
            p { b { (own_bridge()) } }
            details {
                summary { "How to read this page" }
                p {
                    "What the real CLI printed, what became of it, and what a person would have seen. "
                    span.js-only { "Arrows step, space plays, Home and End go to the ends." }
                }
                p.note { (LEGEND) }
            }
        }
        "\n"
        main {
            @if cases.len() > 1 {
                (contents(cases.iter().map(|case| {
                    let place = format!("{} · claude {}", case.name, case.version());
                    (case.findings().count(), case.title.as_str(), place)
                })))
            }
            @for (number, (place, case)) in places.zip(cases).enumerate() {
                div id=(anchor(number)) { (section(place, case, &data.runs[place..])) }
            }
        }
        "\n"
    };
    let title = format!("{heading}: {}", names.join(", "));
    let script = Some((ScriptData::new(&data), SCRIPT));
    PageFrame { title: &title, style: STYLE, body, script }.page()
}

/// What is under test where no gateway is named.
pub const OWN_BRIDGE: &str = "clitape\u{2019}s own bridge";

/// Returns the sentence about what was under test: without a subject, no gateway of others was run.
pub(crate) fn own_bridge() -> String {
    format!(
        "What was run is {OWN_BRIDGE}, version {}, and no other gateway.",
        env!("CARGO_PKG_VERSION")
    )
}

/// Returns the parts of a replay of clitape's own bridge, each as recorded, real, or not covered.
pub(crate) fn own_legs(case: &ProofCase) -> [(&'static str, String); 5] {
    let cli = &case.manifest.cli;
    let bridge = format!("real: {OWN_BRIDGE}, version {}", env!("CARGO_PKG_VERSION"));
    [
        ("person", "recorded: what the host of the recording wrote".to_owned()),
        ("chat", "played: each call is answered in memory, in virtual time".to_owned()),
        ("gateway", bridge),
        (
            "claude",
            format!("{}: version {}, {}", origin(case.manifest.origin), cli.version, cli.date),
        ),
        ("not covered", NEVER_TESTED.to_owned()),
    ]
}

/// The parts that no replay can test.
pub(crate) const NEVER_TESTED: &str = "delivery over the network of a chat service (the Bot API's calls were \
                                       answered in memory), and answers of a live model (the model was scripted)";

/// Returns the name of a case on the page.
fn anchor(number: usize) -> String {
    format!("case-{number}")
}

/// Returns a list of the cases, each with the number of its findings, its title and its name.
fn contents<'a>(cases: impl Iterator<Item = (usize, &'a str, String)>) -> Markup {
    html! {
        ul.contents {
            @for (number, (findings, title, name)) in cases.enumerate() {
                li {
                    (badge(findings == 0, &verdict(&Tally::of_findings(findings)))) " "
                    a href={ "#" (anchor(number)) } { (title) }
                    " " small { (name) }
                }
                "\n"
            }
        }
        "\n"
    }
}

/// A run of a cassette at a subject, for its page and for a proof.
#[derive(Debug, Clone)]
pub struct SeenRun {
    /// The scenario in one line.
    pub title: String,
    /// The scenario and the version of the CLI.
    pub name: String,
    /// The sentence about what the scenario shows.
    pub about: String,
    /// The parts of the run, each with its nature: recorded, real, or played by clitape.
    pub legs: Vec<(&'static str, String)>,
    /// The ending of the run.
    pub ending: String,
    /// The recorded output, and the entries that were seen.
    pub run: CaseRun,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// What is said of a page with one run.
pub const ONE_RUN: &str = "One recording at a real gateway, in real time.";

/// Writes the page of runs at a subject. `about` says what was run.
pub fn seen_page(subject: &str, about: &str, seen: &[SeenRun]) -> String {
    let findings: usize = seen.iter().map(|run| run.findings.len()).sum();
    let data = seen.iter().map(|seen| data(&seen.run, ChatProfile::Telegram)).collect();
    let data = PageData { runs: data };
    let body = html! {
        header {
            h1 { (subject) " " (badge(findings == 0, &verdict(&Tally::of_findings(findings)))) }
            p { (about) " " span.js-only { "Arrows step, space plays, Home and End go to the ends." } }
        }
        "\n"
        main {
            @if seen.len() > 1 {
                (contents(seen.iter().map(|run| (run.findings.len(), &*run.title, run.name.clone()))))
            }
            @for (place, (seen, data)) in seen.iter().zip(&data.runs).enumerate() {
                div id=(anchor(place)) { (seen_section(place, seen, data)) }
            }
        }
        "\n"
    };
    let script = Some((ScriptData::new(&data), SCRIPT));
    let names: Vec<&str> = seen.iter().map(|run| run.name.as_str()).collect();
    let title = format!("{subject}: {}", names.join(", "));
    PageFrame { title: &title, style: STYLE, body, script }.page()
}

/// Returns the section of a run at a subject; `place` is its index among the runs of the page.
fn seen_section(place: usize, seen: &SeenRun, data: &RunData<'_>) -> Markup {
    let SeenRun { title, name, about, legs, ending, run, findings } = seen;
    html! {
        section.case {
            h2 { (title) " " small { (name) } } "\n"
            p { (about) } "\n"
            p.note { "The run: " (ending) "." } "\n"
            @for finding in findings { (found(finding)) }
            (run_section(place, run, data, true))
            (legs_table(legs))
        }
    }
}

/// Returns the table of the parts of a run, each as recorded, real, played, or not covered.
fn legs_table(legs: &[(&str, String)]) -> Markup {
    html! {
        h3 { "What is recorded and what is real" } "\n"
        table.invariants {
            tbody { @for (what, how) in legs { tr { td { b { (what) } } td { (how) } } "\n" } }
        }
        "\n"
    }
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

/// The most lines of a golden that are shown; further ones are counted.
const GOLDEN_LINES: usize = 200;
/// The most events of a table. A run with more has several tables, and all but the first are folded.
const EVENTS: usize = 1_000;

/// Returns the section of a case. `place` is the index of its first run among all runs of the page, and `data` is what
/// the script draws of the runs from there on.
fn section(place: usize, case: &ProofCase, data: &[RunData<'_>]) -> Markup {
    html! {
        section.case {
            h2 { (case.title) " " small { (case.name) " · claude " (case.version()) } } "\n"
            p {
                (case.about)
                @if !case.tracks.is_empty() { " Guards " (case.tracks.join(", ")) "." }
            }
            "\n"
            (verdicts(case))
            @if let Some(finding) = nearest(failed(case)) { h3 { "What failed" } (found(finding)) }
            @for ((place, of), data) in (place..).zip(&case.runs).zip(data) {
                (run_section(place, of, data, case.runs.len() == 1))
            }
            (goldens(&case.goldens))
            (invariants(case))
            (legs_table(&own_legs(case)))
            (provenance(case))
        }
        "\n"
    }
}

/// Returns the findings of goldens, each with its lane.
fn failed(case: &ProofCase) -> impl Iterator<Item = (&str, &Finding)> {
    case.goldens.iter().filter_map(|golden| Some((golden.view.as_str(), golden.finding.as_ref()?)))
}

fn verdicts(case: &ProofCase) -> Markup {
    let all_goldens = case.goldens.iter().all(|golden| golden.finding.is_none());
    let rules_hold = case.invariants().iter().all(|(_, broken)| broken.is_none());
    let origin = origin(case.manifest.origin);
    html! {
        p.verdicts {
            (badge(all_goldens && !case.goldens.is_empty(), &case.goldens_word())) " "
            (badge(case.diverging().is_none() && case.plans > 0, &case.sweep_word())) " "
            (badge(rules_hold, &case.rules_word())) " "
            @if case.manifest.origin != Origin::Recorded {
                (badge(false, &format!("{origin}: not recorded by clitape")))
            }
        }
        "\n"
        @if let Some(finding) = case.diverging() { (found(finding)) }
    }
}

/// Returns one run of the CLI: the prompt, the key frames, the waterfall, the scrubber and the events. `alone` is true
/// if its scenario has no other run.
fn run_section(place: usize, run: &CaseRun, data: &RunData<'_>, alone: bool) -> Markup {
    html! {
        section.run data-run=(place) tabindex="-1" {
            @if !alone {
                h3 { "Run " (run.number) " " small { (run.resumed().unwrap_or("begins the session")) } }
                "\n"
            }
            @if let Some(prompt) = run.prompt() {
                p.asked { b { "Prompt" } " " q { (prompt) } } "\n"
            }
            @for (entry, act) in run.entries.iter().filter_map(|entry| Some((entry, act(entry)?))) {
                p.asked {
                    @match act {
                        PersonAct::Writes(text) => { b { "Message" } " " q { (text) } }
                        PersonAct::Interrupts => { b { "Interrupt" } " " (STOP) }
                    }
                    " " small { (seconds(entry.at)) }
                }
                "\n"
            }
            (key_frame_strip(place, &run.entries, &data.chat))
            (waterfall(&run.entries))
            (scrubber())
            (events(run))
        }
        "\n"
    }
}

/// Returns the elements that the script fills; they are hidden without the script.
fn scrubber() -> Markup {
    html! {
        div.scrubber.js-only {
            div.controls {
                button.back title="one event back (←)" { "◀" }
                button.play title="play or stop (space)" { "▶ play" }
                button.on title="one event on (→)" { "▶" }
                input.time type="range" min="0" value="0" aria-label="virtual time";
                output.clock {}
            }
            div.panes {
                div.phone aria-live="off" {
                    div.head { b { "Agent" } " " span.status {} }
                    div.window { div.chat {} }
                }
                div.detail {
                    h3.what {}
                    p.headline {}
                    details { summary { "Its data" } pre.entry {} }
                    h3.which {}
                    details { summary { "The line" } pre.record {} }
                }
            }
        }
        "\n"
    }
}

/// Returns every event, readable without the script.
fn events(run: &CaseRun) -> Markup {
    let chunks = run.entries.chunks(EVENTS).enumerate();
    html! {
        details.events open {
            summary { "Events" }
            div.lanes.js-only {}
            div.scroll {
                @for (place, chunk) in chunks.map(|(chunk, entries)| (chunk * EVENTS, entries)) {
                    @if run.entries.len() <= EVENTS {
                        (table(place, chunk))
                    } @else {
                        details.chunk open[place == 0] {
                            summary {
                                "Events " (place + 1) " to " (place + chunk.len())
                                ", from " (seconds(chunk[0].at))
                            }
                            (table(place, chunk))
                        }
                    }
                }
            }
        }
        "\n"
    }
}

/// Returns the table of some events; `place` is the index of the first one in the run.
fn table(place: usize, entries: &[Entry]) -> Markup {
    html! {
        table {
            thead { tr { th { "time" } th { "lane" } th { "event" } } }
            tbody {
                @for (number, entry) in (place..).zip(entries) {
                    @let lane = entry.lane.as_str();
                    tr data-entry=(number) class=(lane) {
                        td { (seconds(entry.at)) } td { (lane) } td { (entry.headline()) }
                    }
                    "\n"
                }
            }
        }
    }
}

fn goldens(goldens: &[ComparedGolden]) -> Markup {
    html! {
        h3 { "Goldens" } "\n"
        @for ComparedGolden { view, path, text, finding } in goldens {
            @let word = if finding.is_some() { "differs" } else { "held" };
            details open[finding.is_some()] {
                summary { (badge(finding.is_none(), word)) " " (view) " " small { (path) } }
                @if let Some(finding) = finding { (found(finding)) }
                @if let Some(text) = text {
                    pre.golden {
                        @for line in text.lines().take(GOLDEN_LINES) { (line) "\n" }
                        @if let more @ 1.. = text.lines().count().saturating_sub(GOLDEN_LINES) {
                            "… " (plural(more, "more line"))
                        }
                    }
                }
            }
            "\n"
        }
    }
}

fn invariants(case: &ProofCase) -> Markup {
    let further = if case.runs.len() == 1 { "" } else { "; further runs paced, in one chat" };
    html! {
        h3 { "Rules" } "\n"
        details open[case.invariants().iter().any(|(_, broken)| broken.is_some())] {
            summary { (case.rules_word()) ", in every channel, paced and under every plan" (further) }
            table.invariants {
                tbody {
                    @for (rule, broken) in case.invariants() {
                        @let word = if broken.is_none() { "held" } else { "broken" };
                        tr {
                            td { (badge(broken.is_none(), word)) }
                            td { (display(rule.kind)) }
                            td { (broken.map_or(rule.demand, |found| &found.sentence)) }
                        }
                        "\n"
                    }
                }
            }
        }
    }
}

/// Returns the finding as HTML.
pub(crate) fn found(finding: &Finding) -> Markup {
    let Finding { id, place, sentence, context, chat, diff, .. } = finding;
    html! {
        p.finding { b { (display(id)) } " " (place) ": " (sentence) } "\n"
        @if let Some(change) = change_text(finding) { p.note { (change) } "\n" }
        @if let Some(chat) = chat { (chat_markup(chat, ChatSides::Finding)) }
        // If there is a chat, the lane is folded.
        @if chat.is_none() { (found_lane(context, diff)) }
        @else if !context.is_empty() || !diff.is_empty() {
            details { summary { "What came in, and the lane" } (found_lane(context, diff)) } "\n"
        }
        @if let Some(golden) = &finding.golden {
            p.note { "golden: " code { (golden.file) ":" (golden.line) } } "\n"
        }
        @for (label, command) in commands(finding) {
            p.label { (label) }
            pre { (command) } "\n"
        }
    }
}

/// Returns the input beside the output, and the lane's diff.
fn found_lane(context: &[ContextMoment], diff: &[DiffLine]) -> Markup {
    html! {
        @if !context.is_empty() {
            table.beside {
                thead { tr { th { "time" } th { "what came in" } th { "what was seen" } } }
                tbody {
                    @for ContextRow { time, input, output } in rows(context) {
                        tr { td { (time) } td { (input) } td { (output) } } "\n"
                    }
                }
            }
        }
        @if !diff.is_empty() { (difference(diff, true)) "\n" }
    }
}

/// Returns an aligned diff, in which what came is wrong, or only proposed.
pub(crate) fn difference(lines: &[DiffLine], is_wrong: bool) -> Markup {
    let text = |line: &DiffLine| {
        html! {
            (line.side.mark()) " "
            @for (changed, text) in &line.parts {
                @if *changed { b { (text) } } @else { (text) }
            }
        }
    };
    html! {
        pre.diff.wrong[is_wrong] {
            @for line in lines {
                @match line.side {
                    DiffSide::Both | DiffSide::Gap => { span { (text(line)) } }
                    DiffSide::Expected => { del { (text(line)) } }
                    DiffSide::Got => { ins { (text(line)) } }
                }
            }
        }
    }
}

/// Returns the provenance of the case, then that of each of its runs.
fn provenance(case: &ProofCase) -> Markup {
    html! {
        h3 { "Provenance" } "\n"
        (provenance_list(&provenance_of_case(case)))
        @for run in &case.runs {
            @if case.runs.len() > 1 { h4 { "Run " (run.number) } "\n" }
            (provenance_list(&provenance_of_run(case, run)))
        }
    }
}

fn provenance_list(rows: &[(String, String)]) -> Markup {
    html! {
        dl.provenance {
            @for (name, value) in rows {
                div {
                    dt { (name) }
                    dd { @if value.is_empty() { "not known" } @else { (value) } }
                }
                "\n"
            }
        }
    }
}

fn provenance_of_case(case: &ProofCase) -> Vec<(String, String)> {
    let manifest = &case.manifest;
    let cli = &manifest.cli;
    let replaced: Vec<String> =
        manifest.canonical.iter().map(|(rule, count)| format!("{rule} ×{count}")).collect();
    let replaced = if replaced.is_empty() { "nothing".to_owned() } else { replaced.join(", ") };
    vec![
        ("Origin".into(), origin(manifest.origin).to_owned()),
        ("CLI".into(), format!("claude {}", cli.version)),
        ("SHA-256 of the CLI".into(), cli.sha256.clone().unwrap_or_default()),
        ("Platform".into(), cli.platform.clone()),
        ("Date".into(), cli.date.clone()),
        ("Confined".into(), confinement(manifest).unwrap_or_default().to_owned()),
        ("Replaced, by rule".into(), replaced),
    ]
}

fn provenance_of_run(case: &ProofCase, run: &CaseRun) -> Vec<(String, String)> {
    let hash = |file: &CassetteFile| case.manifest.sha256.get(file).cloned().unwrap_or_default();
    let kept = CassetteFile::new(CassettePart::Stdout, run.number);
    let counts = run.counts;
    let mut rows = vec![
        ("Command line".into(), run.argv.join(" ")),
        ("Exit".into(), run.exit.map(|exit| exit.to_string()).unwrap_or_default()),
        (
            "Size".into(),
            [(counts.bytes, "byte"), (counts.lines, "line"), (counts.reads, "read")]
                .map(|(n, noun)| plural(n, noun))
                .join(", "),
        ),
        (
            "SHA-256 of raw stdout".into(),
            hash(&CassetteFile::new(CassettePart::RawStdout, run.number)),
        ),
        (format!("SHA-256 of {kept}"), hash(&kept)),
        ("Shown here".into(), format!("whole lines, as goldens are made: {}", run.command())),
    ];
    if !run.stderr.is_empty() {
        rows.push(("Printed on stderr".into(), run.stderr.clone()));
    }
    rows
}

/// Describes for people how the CLI was confined while it was recorded; `None` if that is unknown.
pub(crate) fn confinement(manifest: &Manifest) -> Option<&'static str> {
    match (manifest.origin, manifest.cli.confined) {
        (_, Some(Confinement::Landlock)) => Some("confined by Landlock to its temporary folder"),
        (_, Some(Confinement::Bubblewrap)) => {
            Some("confined by bubblewrap to its temporary folder")
        }
        (Origin::Recorded, None) => Some("not confined"),
        (_, None) => None,
    }
}

/// Describes for people where the bytes come from.
pub(crate) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded from the real CLI",
        Origin::Imported => "imported from a capture made elsewhere",
        Origin::Composed => "composed from parts of recordings",
        Origin::Edited => "recorded, then edited by hand",
        Origin::Synthetic => "written by hand, and no CLI prints it",
    }
}

#[cfg(test)]
mod tests {
    use clitape_judge::align_texts;

    use super::*;

    #[test]
    fn a_diff_is_text() {
        let shown = difference(&align_texts("a\n<b>\n", "a\n<script>\n"), true).into_string();
        assert!(shown.contains("<del>- ") && shown.contains("<ins>+ "), "{shown}");
        assert!(!shown.contains("<script"), "{shown}");
    }
}
