//! Writes the drift from one version of the CLI to another: on the terminal, as Markdown, as a page and as JSON.
//!
//! Each has the verdict first, then the changes by part, then the scenarios that were not compared. The page has every
//! scenario whose replay differs, with both chats side by side, and neither a script nor resources from elsewhere.
//! Recorded text is escaped on the page, and only in code in Markdown, which is for an issue or a committed report.

use std::fmt::Write as _;
use std::io::{self, Write};

use clitape_recording::names::ScenarioName;
use clitape_recording::text::markdown::{code, inline};
use clitape_recording::text::{Keep, plain, plural, truncate};
use maud::{Markup, html};
use serde::Serialize;

use crate::drift::{About, Cost, Drift, DriftChange, NotCompared, Part};
use crate::report::compare::{STYLE, sections};
use crate::report::page::{PageFrame, badge};
use crate::report::text::{BAD, BOLD, COOL, DIM, GOOD, ODD};

/// The most changes of a part that are listed; the other forms of the report have all of them.
const LISTED: usize = 40;
/// The most columns of an example.
const EXAMPLE: usize = 110;

/// Writes the report.
///
/// # Errors
///
/// An error of `out`, when it can't be written to.
pub fn drift_summary(drift: &Drift, out: &mut dyn Write) -> io::Result<()> {
    let (from, to) = (&drift.from, &drift.to);
    let style = if drift.of(Part::Person).next().is_some() { BAD } else { GOOD };
    let versions = plain(&format!("claude {} → {}", from.version, to.version));
    writeln!(out, "{BOLD}{versions}{BOLD:#}  {style}{}{style:#}", plain(&verdict(drift)))?;
    writeln!(out, "{}", plain(&counted(drift)))?;
    for part in Part::ALL {
        let changes: Vec<_> = drift.of(part).collect();
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{BOLD}{}{BOLD:#}", part.title())?;
        for change in changes.iter().take(LISTED) {
            let (place, what) = (plain(&change.place), plain(&change.what));
            let seen = plain(&shown_by(change));
            writeln!(out, "  {COOL}{place}{COOL:#} {what} {DIM}{seen}{DIM:#}")?;
            if let Some(example) = &change.example {
                let example = plain(example);
                writeln!(out, "      {DIM}{}{DIM:#}", truncate(&example, EXAMPLE, Keep::Start))?;
            }
        }
        if let more @ 1.. = changes.len().saturating_sub(LISTED) {
            writeln!(out, "  … and {more} more; `--markdown FILE` lists them")?;
        }
    }
    if let Some(sentence) = follows(drift) {
        writeln!(out, "\n{}", plain(&sentence))?;
        for change in drift.follows.iter().take(LISTED) {
            let (place, what) = (plain(&change.place), plain(&change.what));
            writeln!(out, "  {DIM}{place} {what} {}{DIM:#}", plain(&shown_by(change)))?;
        }
    }
    terminal_list(out, "Not compared", &drift.not_compared, ODD)?;
    writeln!(out, "\n{DIM}Time and size: {}{DIM:#}", cost(drift))?;
    if let more @ 1.. = drift.left_out.len() {
        writeln!(out, "{DIM}Not for both versions, or written by hand: {more}{DIM:#}")?;
    }
    Ok(())
}

fn terminal_list(
    out: &mut dyn Write,
    title: &str,
    all: &[NotCompared],
    style: anstyle::Style,
) -> io::Result<()> {
    if !all.is_empty() {
        writeln!(out, "\n{style}{title}{style:#}")?;
    }
    for NotCompared { what, why } in all {
        writeln!(out, "  {}: {}", plain(what), plain(why))?;
    }
    Ok(())
}

/// The most changes of a part that are listed; the JSON has all of them.
const LISTED_IN_TEXT: usize = 60;
/// The most columns of an example.
const EXAMPLE_IN_TEXT: usize = 100;

/// Writes the report.
pub fn drift_text(drift: &Drift) -> String {
    let (from, to) = (&drift.from, &drift.to);
    let mut out = format!("# claude {} → {}\n\n", inline(&from.version), inline(&to.version));
    let _ = writeln!(out, "**{}** {}\n", inline(&verdict(drift)), inline(&counted(drift)));
    for part in Part::ALL {
        let changes: Vec<&DriftChange> = drift.of(part).collect();
        if changes.is_empty() {
            let _ = writeln!(out, "- {}: nothing", part.title());
        } else {
            let _ = writeln!(out, "- {}: {}", part.title(), changes.len());
        }
    }
    for part in Part::ALL {
        let changes: Vec<&DriftChange> = drift.of(part).collect();
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {}\n", part.title());
        for change in changes.iter().take(LISTED_IN_TEXT) {
            text_line(&mut out, change);
        }
        if let more @ 1.. = changes.len().saturating_sub(LISTED_IN_TEXT) {
            let _ = writeln!(out, "- … and {more} more, in the JSON of the report");
        }
    }
    if let Some(sentence) = follows(drift) {
        let _ = writeln!(out, "\n## What follows\n\n{}\n", inline(&sentence));
        drift.follows.iter().take(LISTED_IN_TEXT).for_each(|change| text_line(&mut out, change));
    }
    text_list(&mut out, "Not compared", &drift.not_compared);
    let _ = writeln!(out, "\n## Time and size\n\nFor information: {}.", inline(&cost(drift)));
    text_list(&mut out, "Left out", &drift.left_out);
    out
}

/// Writes a change: its place, the sentence, the recordings, and an example.
fn text_line(out: &mut String, change: &DriftChange) {
    let DriftChange { place, what, example, .. } = change;
    let _ = write!(out, "- {} {}", code(place), inline(what));
    let seen = shown_by(change);
    if !seen.is_empty() {
        let _ = write!(out, ", {}", inline(&seen));
    }
    if let Some(example) = example {
        let _ = write!(out, ": {}", code(&truncate(example, EXAMPLE_IN_TEXT, Keep::Start)));
    }
    out.push('\n');
}

fn text_list(out: &mut String, title: &str, all: &[NotCompared]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {title}\n");
    for NotCompared { what, why } in all {
        let _ = writeln!(out, "- {}: {}", inline(what), inline(why));
    }
}

/// Writes the page.
pub fn drift_page(drift: &Drift) -> String {
    let versions = format!("claude {} → {}", drift.from.version, drift.to.version);
    let person_sees = drift.of(Part::Person).next().is_some();
    let holds = !person_sees && drift.not_compared.is_empty();
    let body = html! {
        header {
            h1 { (versions) " " (badge(holds, &verdict(drift))) }
            p { (counted(drift)) }
            div.sides {
                @for (letter, about) in [("A", &drift.from), ("B", &drift.to)] {
                    div.about {
                        h2 { span.tag.(letter.to_lowercase()) { (letter) } " " (about.version) }
                        dl { dt { "recordings" } dd { (about.recordings) } }
                    }
                    "\n"
                }
            }
            ul.counts {
                @for part in Part::ALL {
                    li { b { (drift.of(part).count()) } " " (part.title()) }
                }
            }
        }
        "\n"
        main {
            @for part in Part::ALL { (changes(part, &drift.of(part).collect::<Vec<_>>())) }
            @if let Some(sentence) = follows(drift) {
                section {
                    h2 { "What follows" }
                    p { (sentence) }
                    ul { @for change in &drift.follows { (page_line(change)) } }
                }
                "\n"
            }
            @if !drift.not_compared.is_empty() {
                section.failed { h2 { "Not compared" } (page_list(&drift.not_compared)) }
                "\n"
            }
            @for section in sections(&drift.lanes) { (section) }
            section.uncovered {
                h2 { "Time and size" }
                p { "For information: " (cost(drift)) "." }
                @if !drift.left_out.is_empty() { h2 { "Left out" } (page_list(&drift.left_out)) }
            }
        }
        "\n"
    };
    let title = format!("{versions}: {}", verdict(drift));
    PageFrame { title: &title, style: STYLE, body, script: None }.page()
}

/// Returns the changes of a part.
fn changes(part: Part, changes: &[&DriftChange]) -> Markup {
    if changes.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { (part.title()) } "\n"
            ul {
                @for change in changes { (page_line(change)) }
            }
        }
        "\n"
    }
}

fn page_line(change: &DriftChange) -> Markup {
    html! {
        li {
            code { (change.place) } " " (change.what) " "
            small.note { (shown_by(change)) }
            @if let Some(example) = &change.example { br; small { code { (example) } } }
        }
        "\n"
    }
}

fn page_list(all: &[NotCompared]) -> Markup {
    html! {
        ul { @for NotCompared { what, why } in all { li { (what) ": " (why) } "\n" } }
    }
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
    /// What was not compared, though it should have been.
    not_compared: &'a [NotCompared],
    /// Scenarios that are not for both versions, with the reason.
    left_out: &'a [NotCompared],
    /// The scenarios that were compared.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    compared: &'a [ScenarioName],
    /// Time and size of both versions' recordings, which decide nothing.
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

/// Returns the number of changes by part: `3 changes: 1 in schema of the records, 2 in command line`.
fn counted(drift: &Drift) -> String {
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

/// Returns the time and size of both sides.
fn cost(drift: &Drift) -> String {
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
