//! Describes a comparison of two sides as a [`Document`]: the lanes that differ, the replays that failed, and what was not
//! covered. The page has each scenario that differs, with A's lanes beside B's and the text that a person reads at the
//! end.

use clitape_recording::text::plural;
use maud::{Markup, display, html};

use super::document::{Attention, Document, DocumentItem, DocumentPart, DocumentSide};
use crate::compare::{
    Cell, Compared, Comparison, ComparisonCounts, DiffRow, FinalChats, LaneDiff, SideDescription,
};
use crate::report::page::frames::{bubble, last_messages};
use crate::report::page::waterfall::seconds;

/// The size of the sections in bytes above which each further lane is described in one sentence only.
const PAGE_LIMIT: usize = 2_000_000;

/// Returns the report of a comparison.
pub fn compare_document(comparison: &Comparison) -> Document {
    let side = |side: &SideDescription| DocumentSide {
        name: side.name.clone(),
        facts: side.facts.clone(),
    };
    let equal = comparison.compared.iter().filter(|one| one.lanes.is_empty());
    let equal: Vec<_> = equal.map(|one| format!("{} {}", one.scenario, one.version())).collect();
    let sentences = |sentences: &[String]| sentences.iter().map(DocumentItem::sentence).collect();
    Document {
        title: "Before and after".to_owned(),
        verdict: comparison.verdict(),
        holds: comparison.holds(),
        lead: "Both sides got the same recordings. A is taken as what should be, B as what is; \
               only what differs is shown.",
        sides: [side(&comparison.a), side(&comparison.b)],
        counts: counted(&comparison.counts()),
        parts: vec![
            DocumentPart {
                title: "What differs",
                items: comparison.differing().flat_map(differences).collect(),
                drawn: sections(comparison),
                ..DocumentPart::default()
            },
            DocumentPart {
                drawn: (!equal.is_empty()).then(|| equal_section(&equal)).into_iter().collect(),
                ..DocumentPart::default()
            },
            DocumentPart {
                title: "Could not be compared",
                attention: Attention::Failed,
                items: sentences(&failures(comparison)),
                ..DocumentPart::default()
            },
            DocumentPart {
                title: "Not covered",
                attention: Attention::Note,
                items: sentences(&comparison.uncovered),
                ..DocumentPart::default()
            },
        ],
        rest: "on the page",
    }
}

/// Returns a line for each view of a cassette that differs.
fn differences(compared: &Compared) -> impl Iterator<Item = DocumentItem> {
    compared.lanes.iter().map(|lane| DocumentItem {
        class: Some(lane.class),
        place: format!("{} {} {}", compared.scenario, compared.version(), lane.view),
        text: lane.first.clone(),
        ..DocumentItem::default()
    })
}

fn equal_section(equal: &[String]) -> Markup {
    html! {
        section {
            h2 { "Equal" }
            details {
                summary { (plural(equal.len(), "cassette")) ", in every lane that was compared" }
                p.note { (equal.join(", ")) }
            }
        }
        "\n"
    }
}

/// Writes a section for each scenario that differs.
pub(super) fn sections(comparison: &Comparison) -> Vec<Markup> {
    let mut size = 0;
    let sections = comparison.scenarios().into_iter().enumerate().map(|(number, group)| {
        let section = section(number == 0, &group, size > PAGE_LIMIT);
        size += section.0.len();
        section
    });
    sections.collect()
}

/// Returns one scenario; `brief` leaves out the rows.
fn section(is_first: bool, group: &[&Compared], brief: bool) -> Markup {
    let head = |compared: &Compared| {
        let views: Vec<&str> = compared.lanes.iter().map(|lane| lane.view.as_str()).collect();
        let class = compared.class().map(|class| class.to_string()).unwrap_or_default();
        html! {
            span.badge.(class) { (class) } " claude " (compared.version()) " "
            small {
                (views.len()) " of " (plural(compared.views, "lane")) ": " (views.join(", "))
            }
        }
    };
    let Some(first) = group.first() else { return html! {} };
    html! {
        section.case {
            h2 { (first.title) " " small { (first.scenario) } } "\n"
            @for (at, compared) in group.iter().enumerate() {
                @if let Some(like) = group[..at].iter().find(|other| same(other, compared)) {
                    p {
                        (head(compared)) br;
                        "It differs in the same way as " (like.version()) "."
                    }
                    "\n"
                } @else {
                    details open[is_first && at == 0] {
                        summary { (head(compared)) } "\n"
                        @if !brief { @for chats in &compared.chats { (bubbles(chats)) } }
                        @for diff in &compared.lanes { (lane(diff, brief)) }
                    }
                    "\n"
                }
            }
        }
        "\n"
    }
}

/// Returns whether two cassettes differ in the same way, apart from their commands.
fn same(a: &Compared, b: &Compared) -> bool {
    let lanes = |one: &Compared| {
        let lanes = one.lanes.iter();
        lanes
            .map(|lane| (lane.view.clone(), lane.first.clone(), lane.rows.clone()))
            .collect::<Vec<_>>()
    };
    a.chats == b.chats && lanes(a) == lanes(b)
}

fn lane(diff: &LaneDiff, brief: bool) -> Markup {
    let LaneDiff { view, class, first, consequences, rows, commands: [a, b] } = diff;
    html! {
        div.lane {
            h3 { (view) " " span.badge.(display(class)) { (display(class)) } } "\n"
            p { (first) }
            @if !consequences.is_empty() { p.note { "Then " (consequences.join(", ")) "." } }
            @if brief {
                p.note { "The page is full: compare this scenario alone." }
            } @else {
                div.rows { @for one in rows { (row(one)) "\n" } }
            }
            pre { "A  " (a) "\nB  " (b) }
        }
        "\n"
    }
}

fn row(row: &DiffRow) -> Markup {
    let rest = |words: &str| html! { div.row.rest { div { (words) } } };
    match row {
        DiffRow::Gap => rest("⋯"),
        DiffRow::More(words) => rest(words),
        DiffRow::Same { at, words } => html! {
            div.row.same { div { span.at { (seconds(*at)) } (words) } }
        },
        DiffRow::Differ { class, a, b } => html! {
            div.row.(display(class)) {
                div.a { span.tag { "A" } " " (cell(a.as_ref(), |text| html! { del { (text) } })) }
                div.b { span.tag { "B" } " " (cell(b.as_ref(), |text| html! { ins { (text) } })) }
            }
        },
    }
}

/// Returns one side of a row, in which `mark` marks the parts of a text that differ.
fn cell(cell: Option<&Cell>, mark: impl Fn(&str) -> Markup) -> Markup {
    let Some(Cell { at, words, fields }) = cell else {
        return html! { span.none { "nothing" } };
    };
    html! {
        span.at { (seconds(*at)) } (words)
        @for (name, parts) in fields {
            div.field {
                span { (name) } " "
                @for (changed, text) in parts {
                    @if *changed { (mark(text)) } @else { (text) }
                }
            }
        }
    }
}

/// Returns the messages that a person reads at the end, on both sides.
fn bubbles(chats: &FinalChats) -> Markup {
    let names: Vec<String> = chats.chats.iter().map(ToString::to_string).collect();
    let last = chats.last.each_ref().map(|entries| last_messages(entries, chats.profile()));
    html! {
        h3 { "What a person ends up reading " small { (names.join(", ")) } } "\n"
        div.chats {
            @for (letter, messages) in ["A", "B"].iter().zip(&last) {
                div.phone.(letter.to_lowercase()) {
                    span.tag { (letter) }
                    div.chat {
                        @for message in messages { (bubble(message)) }
                        @if messages.is_empty() { p.nothing { "nothing" } }
                    }
                }
                "\n"
            }
        }
        "\n"
    }
}

/// The most places that are named for one reason; the others are counted.
const PLACES: usize = 6;
/// The most reasons that are listed; the others are counted.
const FAILURES: usize = 20;

/// Returns the counts with their names, such as `("equal", 2)`.
fn counted(counts: &ComparisonCounts) -> Vec<(String, usize)> {
    let mut counted = vec![
        ("cassettes compared".to_owned(), counts.compared),
        ("equal".to_owned(), counts.equal),
    ];
    counted.extend(counts.by_class.map(|(class, count)| (format!("differ in {class}"), count)));
    counted.push(("replays not compared".to_owned(), counts.failed));
    counted
}

/// Returns the reasons why replays could not be compared, one line for each reason with its places.
fn failures(comparison: &Comparison) -> Vec<String> {
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

#[cfg(test)]
mod tests;
