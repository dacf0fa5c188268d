//! A test run as a page: the totals, every finding, and a row for each scenario.

use std::collections::BTreeMap;
use std::io::{self, Write};

use maud::{Markup, html};

use super::model::{CheckRun, Report, ScenarioRun, Tally};
use super::page::{PageFrame, STYLE, badge, found};
use super::text::{ran, verdict};
use crate::text::plural;

/// Findings told in full on one page; the JSON report has them all.
const FINDINGS: usize = 200;

/// The page of each scenario that has one, by the scenario's name: its words and its file.
pub type Pages = BTreeMap<String, Vec<(String, String)>>;

/// Writes the report as a page that links to `pages`.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn html(report: &Report, pages: &Pages, out: &mut dyn Write) -> io::Result<()> {
    let Tally { findings: wrong, errors, .. } = report.totals;
    let verdict = match report.is_empty() {
        true => "nothing ran".to_owned(),
        false => verdict(wrong, errors),
    };
    let holds = report.holds() && !report.is_empty();
    let title = format!("Test run: {verdict}");
    let body = html! {
        header {
            h1 { "Test run " (badge(holds, &verdict)) } "\n"
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
    let findings = report
        .checks()
        .flat_map(|(name, check)| check.findings.iter().map(move |one| (name, check, one)));
    html! {
        h2 { "Findings" } "\n"
        @for (name, check, finding) in findings.take(FINDINGS) {
            section.found {
                (found(finding))
                @if let Some((_, file)) = page_of(name, check, pages) {
                    p { a href=(file) { "Step through it" } } "\n"
                }
            }
            "\n"
        }
        @if let more @ 1.. = report.totals.findings.saturating_sub(FINDINGS as u64) {
            p.more { "See the JSON report for " (plural(more, "more finding")) "." } "\n"
        }
    }
}

/// The page that shows what a check replayed.
fn page_of<'p>(name: &str, check: &CheckRun, pages: &'p Pages) -> Option<&'p (String, String)> {
    let (version, _) = check.name.split_once("::")?;
    pages.get(name)?.iter().find(|(words, _)| words == version)
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
