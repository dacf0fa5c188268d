//! Writes the section of one scenario: its verdicts, its runs with prompts and results, and the goldens and invariants.

use clitape_judge::Finding;
use clitape_recording::cassette::Origin;
use clitape_recording::text::plural;
use clitape_recording::trace::Entry;
use maud::{Markup, display, html};

use super::RunData;
use super::found::found;
use super::frame::badge;
use super::key_frames::strip;
use super::provenance::{origin, provenance};
use super::waterfall::{seconds, waterfall};
use crate::report::groups::nearest;
use crate::report::two_sided::{PersonAct, STOP, act};
use crate::suite::{CaseRun, ComparedGolden, ProofCase};

/// The most lines of a golden that are shown; further ones are counted.
const GOLDEN_LINES: usize = 200;
/// The most events of a table. A run with more has several tables, and all but the first are folded.
const EVENTS: usize = 1_000;

/// Returns the section of a case. `place` is the index of its first run among all runs of the page, and `data` is what
/// the script draws of the runs from there on.
pub(super) fn section(place: usize, case: &ProofCase, data: &[RunData<'_>]) -> Markup {
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
                (run(place, of, data, case.runs.len() == 1))
            }
            (goldens(&case.goldens))
            (invariants(case))
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
    let invariants = case.invariants();
    let held = invariants.iter().filter(|(_, broken)| broken.is_none()).count();
    let all_goldens = case.goldens.iter().all(|golden| golden.finding.is_none());
    let word = format!("{}, {held} held", plural(invariants.len(), "invariant"));
    let origin = origin(case.manifest.origin);
    html! {
        p.verdicts {
            (badge(all_goldens && !case.goldens.is_empty(), &case.goldens_word())) " "
            (badge(case.diverging().is_none() && case.plans > 0, &case.sweep_word())) " "
            (badge(held == invariants.len(), &word)) " "
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
pub(super) fn run(place: usize, run: &CaseRun, data: &RunData<'_>, alone: bool) -> Markup {
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
            (strip(place, &run.entries, &data.chat))
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
        h3 { "Invariants" } "\n"
        p.note { "Held in every channel, paced and under every plan" (further) "." } "\n"
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
