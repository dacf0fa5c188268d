//! Writes the page of a comparison: one file without resources from elsewhere and without a script, in which recorded
//! text is escaped. Each scenario shows the lanes that differ, A's beside B's, and the text that a person reads at the
//! end.

use clitape_recording::text::plural;
use maud::{Markup, display, html};

use super::words::{counted, failures};
use crate::compare::{Cell, Compared, Comparison, DiffRow, FinalChats, LaneDiff, SideDescription};
use crate::report::page::frames::{bubble, last_messages};
use crate::report::page::waterfall::seconds;
use crate::report::page::{PageFrame, badge};

/// The style of the proof page, followed by the style of this page.
pub(in crate::report) const STYLE: &str =
    concat!(include_str!("../page/page.css"), include_str!("compare.css"));

/// The size of the sections in bytes above which each further lane is described in one sentence only.
const LIMIT: usize = 2_000_000;

/// Writes the page.
pub fn compare_page(comparison: &Comparison) -> String {
    let verdict = comparison.verdict();
    let sections = sections(comparison);
    let equal = comparison.compared.iter().filter(|one| one.lanes.is_empty());
    let equal: Vec<_> = equal.map(|one| format!("{} {}", one.scenario, one.version())).collect();
    let failures = failures(comparison);
    let body = html! {
        header {
            h1 { "Before and after " (badge(comparison.holds(), &verdict)) }
            p {
                "Both sides got the same recordings. A is taken as what should be, B as what is; \
                 only what differs is shown."
            }
            div.sides { (about("A", &comparison.a)) (about("B", &comparison.b)) }
            ul.counts {
                @for (what, count) in counted(&comparison.counts()) {
                    li class=(what.strip_prefix("differ: ").unwrap_or_default()) {
                        b { (count) } " " (what)
                    }
                }
            }
        }
        "\n"
        main {
            @for section in sections { (section) }
            @if !equal.is_empty() {
                section {
                    h2 { "Equal" }
                    details {
                        summary {
                            (plural(equal.len(), "cassette")) ", in every lane that was compared"
                        }
                        p.note { (equal.join(", ")) }
                    }
                }
                "\n"
            }
            @if !failures.is_empty() {
                section.failed { h2 { "Could not be compared" } (list(&failures)) }
            }
            section.uncovered { h2 { "Not covered" } (list(&comparison.uncovered)) }
        }
        "\n"
    };
    let title = format!("Before and after: {verdict}");
    PageFrame { title: &title, style: STYLE, body, script: None }.page()
}

/// Writes a section for each scenario that differs.
pub(in crate::report) fn sections(comparison: &Comparison) -> Vec<Markup> {
    let mut size = 0;
    let sections = comparison.scenarios().into_iter().enumerate().map(|(number, group)| {
        let section = section(number == 0, &group, size > LIMIT);
        size += section.0.len();
        section
    });
    sections.collect()
}

fn about(letter: &str, about: &SideDescription) -> Markup {
    html! {
        div.about {
            h2 { span.tag.(letter.to_lowercase()) { (letter) } " " (about.name) }
            dl { @for (name, value) in &about.facts { dt { (name) } dd { (value) } } }
        }
        "\n"
    }
}

fn list(sentences: &[String]) -> Markup {
    html! { ul { @for sentence in sentences { li { (sentence) } "\n" } } }
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
