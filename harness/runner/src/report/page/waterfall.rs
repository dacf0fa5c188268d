//! The waterfall: a strip of SVG for each lane and each tool call, all on one virtual time line.
//!
//! Words are HTML beside the strips, so that the strips can be stretched to any width.

use std::collections::HashMap;

use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use maud::{Markup, html};
use serde_json::Value;

/// The lanes that are drawn, with their labels.
const LANES: [(Lane, &str); 4] = [
    (Lane::Read, "reads"),
    (Lane::Lifecycle, "records"),
    (Lane::Bus, "bus events"),
    (Lane::Telegram, "preview calls"),
];

/// The most tool calls that get their own strip.
const CALLS: usize = 12;
/// The width of a strip in user units.
const WIDTH: u64 = 1000;

/// A bar of a strip: its start and end, its class and its title.
struct Bar<'a> {
    from: u64,
    to: u64,
    class: &'a str,
    title: String,
}

/// A bar that is drawn: its position and width in units, and the last of the bars that it represents.
struct DrawnBar<'a> {
    x: u64,
    width: u64,
    bar: Bar<'a>,
    /// The number of further bars at the same place.
    others: usize,
}

/// Returns the waterfall of a run.
pub(super) fn waterfall(entries: &[Entry]) -> Markup {
    let end = entries.iter().map(|entry| entry.at).max().unwrap_or(0).max(1);
    let of = |lane| {
        let entries = entries.iter().filter(move |entry| entry.lane == lane);
        entries.map(|entry| Bar {
            from: entry.at,
            to: entry.at,
            class: class(entry),
            title: entry.headline(),
        })
    };
    let calls = calls(entries, end);
    html! {
        div.waterfall {
            @for (lane, name) in LANES {
                @if of(lane).next().is_some() { (strip(name, lane.as_str(), end, of(lane))) }
            }
            @let more = calls.len().saturating_sub(CALLS);
            @for (name, bars) in calls.into_iter().take(CALLS) { (strip(&name, "call", end, bars)) }
            @if more > 0 {
                p.more { "+" (plural(more, "more tool call")) }
            }
            div.axis {
                span { "0 s" } span { (seconds(end / 2)) } span { (seconds(end)) }
            }
        }
        "\n"
    }
}

/// Formats a time for people.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}

/// Returns the bars of a strip in their order; bars that would cover each other are drawn as one.
fn drawn<'a>(bars: impl IntoIterator<Item = Bar<'a>>, end: u64) -> Vec<DrawnBar<'a>> {
    let scale = |time: u64| time * (WIDTH - 4) / end;
    let mut drawn: Vec<DrawnBar<'a>> = Vec::new();
    for bar in bars {
        let (x, width) = (scale(bar.from), scale(bar.to - bar.from).max(4));
        let place = |bar: &DrawnBar<'a>| (bar.x, bar.width, bar.bar.class);
        match drawn.last_mut() {
            Some(last) if place(last) == (x, width, bar.class) => {
                (last.bar, last.others) = (bar, last.others + 1);
            }
            _ => drawn.push(DrawnBar { x, width, bar, others: 0 }),
        }
    }
    drawn
}

fn strip<'a>(name: &str, lane: &str, end: u64, bars: impl IntoIterator<Item = Bar<'a>>) -> Markup {
    html! {
        div.strip.(lane) {
            span { (name) }
            svg viewBox={ "0 0 " (WIDTH) " 16" } preserveAspectRatio="none" role="img"
                aria-label=(name) {
                @for DrawnBar { x, width, bar, others } in drawn(bars, end) {
                    rect class=(bar.class) x=(x) y="2" width=(width) height="12" {
                        title {
                            (seconds(bar.from)) " " (bar.title)
                            @if others > 0 { ", and " (plural(others, "event")) " before it" }
                        }
                    }
                }
                rect.now x="-9" y="0" width="2" height="16" {}
            }
        }
        "\n"
    }
}

/// Returns the class of an entry: failures, endings, and the rest.
fn class(entry: &Entry) -> &'static str {
    let is = |key: &str| entry.field(key) == Some(&Value::Bool(true));
    match entry.kind.as_ref() {
        "diagnostic" | "unknown" | "failed" => "bad",
        "outcome" | "final" => "last",
        _ if is("is_error") => "bad",
        _ if is("final") => "last",
        _ => "some",
    }
}

/// Ends the last bar of a call, and begins one of another class.
fn begin_bar(bars: &mut Vec<Bar<'static>>, entry: &Entry, class: &'static str, end: u64) {
    if let Some(last) = bars.last_mut() {
        last.to = entry.at;
    }
    bars.push(Bar { from: entry.at, to: end, class, title: entry.headline() });
}

/// Returns the bars of tool calls from start to result; a call without a result lasts to the end. While a call waits for
/// the answer of the person, it has a bar of its own.
fn calls(entries: &[Entry], end: u64) -> Vec<(String, Vec<Bar<'static>>)> {
    let mut calls: Vec<(String, Vec<Bar<'static>>)> = Vec::new();
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut asked: HashMap<&str, usize> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.lane == Lane::Lifecycle) {
        let word = |key: &str| entry.field(key).and_then(Value::as_str).unwrap_or_default();
        match entry.kind.as_ref() {
            "tool_start" => {
                open.insert(word("id"), calls.len());
                let title = entry.headline();
                let bar = Bar { from: entry.at, to: end, class: "some", title };
                calls.push((word("name").to_owned(), vec![bar]));
            }
            "question" => {
                if let Some(&call) = open.get(word("call")) {
                    asked.insert(word("id"), call);
                    begin_bar(&mut calls[call].1, entry, "waits", end);
                }
            }
            "answered" => {
                if let Some(call) = asked.remove(word("id")) {
                    begin_bar(&mut calls[call].1, entry, "some", end);
                }
            }
            "tool_result" => {
                let bars = open.remove(word("id")).and_then(|at| calls.get_mut(at));
                if let Some(bar) = bars.and_then(|(_, bars)| bars.last_mut()) {
                    bar.to = entry.at;
                    bar.class = class(entry);
                }
            }
            _ => {}
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_bar_from_start_to_result() {
        let entries: Vec<Entry> = [
            r#"{"at":100,"lane":"lifecycle","kind":"tool_start","data":{"id":"t","name":"<Bash>"}}"#,
            r#"{"at":600,"lane":"lifecycle","kind":"tool_result","data":{"id":"t","is_error":true}}"#,
            r#"{"at":1000,"lane":"lifecycle","kind":"outcome","data":{}}"#,
        ]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
        let svg = waterfall(&entries).into_string();
        assert!(svg.contains("<div class=\"strip call\"><span>&lt;Bash&gt;</span>"), "{svg}");
        assert!(svg.contains("<rect class=\"bad\" x=\"99\" y=\"2\" width=\"498\""), "{svg}");
        assert!(svg.contains("<span>1.000 s</span>"), "{svg}");
    }

    #[test]
    fn a_call_that_waits_for_the_person_shows_it() {
        let entries: Vec<Entry> = [
            r#"{"at":100,"lane":"lifecycle","kind":"tool_start","data":{"id":"t","name":"Bash"}}"#,
            r#"{"at":200,"lane":"lifecycle","kind":"question","data":{"id":"q","call":"t"}}"#,
            r#"{"at":700,"lane":"lifecycle","kind":"answered","data":{"id":"q"}}"#,
            r#"{"at":900,"lane":"lifecycle","kind":"tool_result","data":{"id":"t"}}"#,
        ]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
        let [(_, bars)] = &calls(&entries, 1000)[..] else { panic!("one call") };
        let bars: Vec<_> = bars.iter().map(|bar| (bar.from, bar.to, bar.class)).collect();
        assert_eq!(bars, [(100, 200, "some"), (200, 700, "waits"), (700, 900, "some")]);
    }

    #[test]
    fn bars_that_would_cover_each_other_are_one() {
        let bar = |from, class| Bar { from, to: from, class, title: from.to_string() };
        let bars = [0, 1, 9_000, 9_001, 9_002].map(|from| bar(from, "some"));
        let bars = bars.into_iter().chain([bar(9_003, "bad"), bar(10_000, "some")]);
        let drawn = drawn(bars, 1_000_000);
        let drawn = drawn.iter().map(|one| (one.x, one.bar.from, one.bar.class, one.others));
        let some = |x, from, others| (x, from, "some", others);
        let bad = (8, 9_003, "bad", 0);
        assert_eq!(
            drawn.collect::<Vec<_>>(),
            [some(0, 1, 1), some(8, 9_002, 2), bad, some(9, 10_000, 0)]
        );
    }
}
