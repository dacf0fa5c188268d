//! Writes a comparison of two sides as a page, as a text for a pull request, and to the terminal.
//!
//! The page is one file without resources from elsewhere and without a script, in which recorded text is escaped. Each
//! scenario shows the lanes that differ, A's beside B's, and the text that a person reads at the end. The text for a
//! pull request is short, with recorded text only in code blocks. The terminal gets the sides, the differences, and the
//! areas that were not covered.

use std::fmt::Write as _;
use std::io::{self, Write};

use clitape_judge::Class;
use clitape_recording::text::markdown::{self, inline};
use clitape_recording::text::{plain, plural};
use maud::{Markup, display, html};

use crate::compare::{
    Cell, Compared, Comparison, ComparisonCounts, DiffRow, FinalChats, LaneDiff, SideDescription,
};
use crate::report::page::frames::{bubble, last_messages};
use crate::report::page::waterfall::seconds;
use crate::report::page::{PageFrame, badge};
use crate::report::text::{BAD, BOLD, COOL, DIM, GOOD, ODD};

/// The style of the proof page, followed by the style of this page.
pub(super) const STYLE: &str =
    concat!(include_str!("page/page.css"), include_str!("compare/compare.css"));

/// The size of the sections in bytes above which each further lane is described in one sentence only.
const PAGE_LIMIT: usize = 2_000_000;

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
pub(super) fn sections(comparison: &Comparison) -> Vec<Markup> {
    let mut size = 0;
    let sections = comparison.scenarios().into_iter().enumerate().map(|(number, group)| {
        let section = section(number == 0, &group, size > PAGE_LIMIT);
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

/// The most lanes that are listed; the page has all of them.
const LANES: usize = 40;

/// Writes the text.
pub fn compare_text(comparison: &Comparison) -> String {
    let mut out = format!("## Before and after: {}\n\n", comparison.verdict());
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    let sides = sides.map(|(letter, about)| format!("{letter}  {}", plain(&side(about))));
    code_block(&mut out, &sides);
    let counted = counted(&comparison.counts());
    let (words, counts): (Vec<_>, Vec<_>) =
        counted.into_iter().map(|(what, count)| (what, count.to_string())).unzip();
    let _ = writeln!(out, "\n| {} |", words.join(" | "));
    let _ = writeln!(out, "|{}", "---:|".repeat(words.len()));
    let _ = writeln!(out, "| {} |", counts.join(" | "));
    let lanes: Vec<String> = comparison
        .differing()
        .flat_map(|one| one.lanes.iter().map(move |lane| (one, lane)))
        .map(|(one, lane)| {
            let place = format!("{} {} {}", one.scenario, one.version(), lane.view);
            plain(&format!("{place} ({}): {}", lane.class, lane.first))
        })
        .collect();
    if !lanes.is_empty() {
        out.push_str("\n### What differs\n\nA says what should be, B what is.\n\n");
        let mut shown = lanes[..lanes.len().min(LANES)].to_vec();
        if lanes.len() > LANES {
            let more = plural(lanes.len() - LANES, "more lane");
            shown.push(format!("… and {more}, on the page"));
        }
        code_block(&mut out, &shown);
    }
    let failures: Vec<String> = failures(comparison).iter().map(|line| plain(line)).collect();
    if !failures.is_empty() {
        out.push_str("\n### Could not be compared\n\n");
        code_block(&mut out, &failures);
    }
    out.push_str("\n### Not covered\n\n");
    for sentence in &comparison.uncovered {
        let _ = writeln!(out, "- {}", inline(sentence));
    }
    out
}

fn code_block(out: &mut String, lines: &[String]) {
    out.push_str(&markdown::block("text", &lines.join("\n")));
}

/// The most cassettes that are listed with their lanes; the page has all of them.
const CASSETTES: usize = 20;

/// Writes the summary.
///
/// # Errors
///
/// An error of `out`, when it can't be written to.
pub fn compare_summary(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{BAD}A{BAD:#}  {}", plain(&side(&comparison.a)))?;
    writeln!(out, "{GOOD}B{GOOD:#}  {}", plain(&side(&comparison.b)))?;
    let differing: Vec<&Compared> = comparison.differing().collect();
    for compared in differing.iter().take(CASSETTES) {
        let place = plain(&format!("{} {}", compared.scenario, compared.version()));
        writeln!(out, "\n{BOLD}{place}{BOLD:#}")?;
        for lane in &compared.lanes {
            let style = match lane.class {
                Class::Timing => DIM,
                Class::Text => COOL,
                Class::Contract => BAD,
            };
            let (view, first) = (plain(&lane.view), plain(&lane.first));
            writeln!(out, "  {style}{:>8}{style:#} {view}: {first}", lane.class.to_string())?;
        }
    }
    if let more @ 1.. = differing.len().saturating_sub(CASSETTES) {
        writeln!(out, "\n… and {}, on the page", plural(more, "more cassette"))?;
    }
    let failures = failures(comparison);
    if !failures.is_empty() {
        writeln!(out, "\n{ODD}could not be compared{ODD:#}")?;
    }
    for line in failures {
        writeln!(out, "  {}", plain(&line))?;
    }
    writeln!(out, "\n{BOLD}not covered{BOLD:#}")?;
    for sentence in &comparison.uncovered {
        writeln!(out, "  {DIM}{}{DIM:#}", plain(sentence))?;
    }
    let style = if comparison.holds() { GOOD } else { BAD };
    let counts = counted(&comparison.counts());
    let counts: Vec<String> =
        counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    writeln!(out, "\n{style}{}{style:#}  {DIM}{}{DIM:#}", comparison.verdict(), counts.join(", "))
}

/// The most places that are named for one reason; the others are counted.
const PLACES: usize = 6;
/// The most reasons that are listed; the others are counted.
const FAILURES: usize = 20;

/// Describes a side on one line.
fn side(about: &SideDescription) -> String {
    let facts = about.facts.iter().map(|(name, value)| format!("{name} {value}"));
    format!("{} ({})", about.name, facts.collect::<Vec<_>>().join(", "))
}

/// Returns the counts with their names, such as `("equal", 2)`.
fn counted(counts: &ComparisonCounts) -> Vec<(String, usize)> {
    let mut counted = vec![
        ("cassettes compared".to_owned(), counts.compared),
        ("equal".to_owned(), counts.equal),
    ];
    counted.extend(counts.by_class.map(|(class, count)| (format!("differ: {class}"), count)));
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
