//! Writes a test run as a page, with the totals, every finding, and a row for each scenario; and shows proposed goldens
//! to a reviewer, on a page and in a terminal, with the chat before and after, and the entries that differ.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clitape_judge::{ChatDiff, GoldenChange};
use clitape_recording::text::plural;
use maud::{Markup, html};

use super::chat_diff::{ChatSides, chat_markup, write_chat};
use super::groups::{FindingGroup, counted, groups};
use super::model::{CheckRun, Report, ScenarioRun, Tally};
use super::page::{PageFrame, STYLE, badge, difference, found};
use super::proof::{TestedSubject, seen_head};
use super::screen::Screen;
use super::terminal::write_diff;
use super::text::{DIM, ran, verdict};

/// The most groups of findings on a page, and the most lanes of each; the JSON report has them all.
const GROUPS: usize = 100;
const LANES: usize = 40;

/// The pages of each scenario, by its name: the words of the link and the file.
pub type Pages = BTreeMap<String, Vec<(String, String)>>;

/// Writes the report as a page that links to `pages`, and says what was tested, if that is known.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn html(
    report: &Report,
    tested: Option<&TestedSubject>,
    pages: &Pages,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Tally { findings: wrong, errors, .. } = report.totals;
    let verdict = match report.is_empty() {
        true => "nothing ran".to_owned(),
        false => verdict(&report.totals),
    };
    let holds = report.holds() && !report.is_empty();
    let told = if wrong > 0 && errors == 0 { counted(report) } else { verdict.clone() };
    let title = format!("Test run: {verdict}");
    let body = html! {
        header {
            h1 { "Test run " (badge(holds, &told)) } "\n"
            @if let Some(tested) = tested { p.note { (seen_head(tested).replace('`', "")) } "\n" }
            p {
                (ran(&report.totals)) "."
                @if let pending @ 1.. = report.totals.pending {
                    " " (plural(pending, "pending golden")) " waiting: settle with "
                    code { "clitape review" } "."
                }
            }
        }
        "\n"
        main {
            @for trouble in report.troubles() {
                p.finding { b { "error" } " " (trouble.sentence) } "\n"
            }
            @if wrong > 0 { (findings(report, pages)) }
            (scenarios(report, pages))
        }
        "\n"
    };
    let frame = PageFrame { title: &title, style: STYLE, body, script: None };
    out.write_all(frame.page().as_bytes())
}

fn findings(report: &Report, pages: &Pages) -> Markup {
    let groups = groups(report);
    html! {
        h2 { "Findings" } "\n"
        @for group in groups.iter().take(GROUPS) {
            section.found {
                (found(group.head()))
                @if let Some(also) = group.also_in() { p.note { "Also in: " (also) "." } "\n" }
                @if let Some((_, file)) = page_of(group, pages) {
                    p { a href=(file) { "Step through it" } } "\n"
                }
                @if group.others() > 0 {
                    @let lanes = group.lanes();
                    details {
                        summary { "Every lane" }
                        @for lane in lanes.iter().take(LANES) {
                            h4 { (lane.name) } (found(lane.finding))
                        }
                        @if let more @ 1.. = lanes.len().saturating_sub(LANES) {
                            p.more { "See the JSON report for " (plural(more, "more lane")) "." }
                        }
                    }
                    "\n"
                }
            }
            "\n"
        }
        @if let more @ 1.. = groups.len().saturating_sub(GROUPS) {
            p.more { "See the JSON report for " (plural(more, "more cause")) " of findings." } "\n"
        }
    }
}

/// Returns the page of the recording that the first check of a group replayed.
fn page_of<'p>(group: &FindingGroup<'_>, pages: &'p Pages) -> Option<&'p (String, String)> {
    pages.get(group.scenario())?.iter().find(|(words, _)| words == group.version())
}

fn scenarios(report: &Report, pages: &Pages) -> Markup {
    const COLUMNS: [&str; 6] = ["", "scenario", "cassettes", "goldens", "plans", "checks"];
    html! {
        h2 { "Scenarios" } "\n"
        div.wide {
            table.run {
                thead { tr { @for column in COLUMNS { th { (column) } } } }
                tbody {
                    @for run in &report.scenarios {
                        @let Tally { cassettes, goldens, plans, checks, .. } = run.tally();
                        tr {
                            td { (badge(run.holds(), word(run))) }
                            td {
                                (run.name)
                                @for (words, file) in pages.get(&run.name).into_iter().flatten() {
                                    " " a href=(file) { (words) }
                                }
                            }
                            td { (cassettes) } td { (goldens) } td { (plans) }
                            td { details { summary { (checks) } (list(&run.checks)) } }
                        }
                        "\n"
                    }
                }
            }
        }
        "\n"
        @if !report.workspace.is_empty() {
            h2 { "Of no scenario" } "\n" (list(&report.workspace))
        }
    }
}

fn word(run: &ScenarioRun) -> &'static str {
    match run.tally() {
        Tally { errors: 1.., .. } => "error",
        Tally { findings: 1.., .. } => "failed",
        _ => "ok",
    }
}

fn list(checks: &[CheckRun]) -> Markup {
    html! {
        ul {
            @for check in checks {
                li {
                    (check.name)
                    @if !check.findings.is_empty() || check.error.is_some() {
                        " " (badge(false, "failed"))
                    }
                    @if let Some(why) = &check.skipped { " left out: " (why) }
                }
            }
        }
    }
}

/// A proposed golden, with its difference from the golden that was valid so far.
#[derive(Debug, Clone)]
pub struct ReviewedGolden {
    /// Its id in `clitape review --list`.
    pub id: String,
    /// The state, `new` or `changed`.
    pub state: String,
    /// The path that it gets when it is accepted.
    pub path: String,
    /// The reason for the proposal, in one sentence.
    pub sentence: String,
    /// The difference.
    pub change: GoldenChange,
}

/// Returns the chats of a change, each with a heading.
fn chats(change: &GoldenChange) -> impl Iterator<Item = (&'static str, &ChatDiff)> {
    let GoldenChange { first_chat: first, last_chat: last, .. } = change;
    let is_new = |last: &&ChatDiff| {
        first
            .as_ref()
            .is_none_or(|first| (&first.expected, &first.got) != (&last.expected, &last.got))
    };
    let first = first.iter().map(|chat| ("where they first differ", chat));
    first.chain(last.as_ref().filter(is_new).map(|chat| ("in the end", chat)))
}

/// Writes the difference of a proposed golden: the chat old and new, or else the entries.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_change(out: &mut Screen<'_>, change: &GoldenChange) -> io::Result<()> {
    let mut has_chat = false;
    for (what, chat) in chats(change) {
        writeln!(out, "  {DIM}{what}{DIM:#}")?;
        write_chat(out, chat, ChatSides::Proposal)?;
        has_chat = true;
    }
    if has_chat { Ok(()) } else { write_diff(out, &change.diff) }
}

/// Writes the page of proposed goldens: one file without a script and without resources from elsewhere.
pub fn review_page(goldens: &[ReviewedGolden]) -> String {
    let count = plural(goldens.len(), "proposed golden");
    let body = html! {
        header {
            h1 { "Review " (badge(goldens.is_empty(), &count)) }
            p { "Nothing is accepted yet: " code { "clitape review" } " settles what is shown here." }
        }
        "\n"
        main { @for golden in goldens { (reviewed_section(golden)) } }
        "\n"
    };
    PageFrame { title: &format!("Review: {count}"), style: STYLE, body, script: None }.page()
}

fn reviewed_section(golden: &ReviewedGolden) -> Markup {
    let ReviewedGolden { id, state, path, sentence, change } = golden;
    let has_chat = chats(change).next().is_some();
    html! {
        section {
            h2 { (id) " " small { (state) ", " (path) } } "\n"
            p.finding { (sentence) } "\n"
            @for (what, chat) in chats(change) {
                p.note { (what) } "\n"
                (chat_markup(chat, ChatSides::Proposal))
            }
            @if !change.diff.is_empty() {
                details open[!has_chat] {
                    summary { "The entries that differ" }
                    (difference(&change.diff, false))
                }
                "\n"
            }
        }
        "\n"
    }
}
