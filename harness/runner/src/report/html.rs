//! A test run as a page: the totals, every finding, and a row for each scenario.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::model::{CheckRun, Report, ScenarioRun, Tally};
use super::page::escape::html as text;
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
    let body = format!(
        "<header><h1>Test run {}</h1>\n{}</header>\n<main>\n{}{}{}</main>\n",
        badge(holds, &verdict),
        totals(&report.totals),
        troubles(report),
        findings(report, pages),
        scenarios(report, pages),
    );
    let title = format!("Test run: {verdict}");
    let frame = PageFrame { title: &title, style: STYLE, body: &body, script: None };
    out.write_all(frame.page().as_bytes())
}

fn totals(totals: &Tally) -> String {
    let waiting = match totals.pending {
        0 => String::new(),
        pending => format!(
            " {} waiting: settle with <code>clitape review</code>.",
            plural(pending, "pending golden")
        ),
    };
    format!("<p>{}.{waiting}</p>\n", ran(totals))
}

fn troubles(report: &Report) -> String {
    let trouble =
        |sentence: &str| format!("<p class=\"finding\"><b>error</b> {}</p>\n", text(sentence));
    report.troubles().iter().map(|told| trouble(&told.sentence)).collect()
}

fn findings(report: &Report, pages: &Pages) -> String {
    if report.totals.findings == 0 {
        return String::new();
    }
    let mut out = String::from("<h2>Findings</h2>\n");
    let told = report
        .checks()
        .flat_map(|(name, check)| check.findings.iter().map(move |told| (name, check, told)));
    for (name, check, told) in told.take(FINDINGS) {
        let _ = writeln!(out, "<section class=\"found\">{}", found(told));
        if let Some((_, file)) = page_of(name, check, pages) {
            let _ = writeln!(out, "<p><a href=\"{}\">Step through it</a></p>", text(file));
        }
        out.push_str("</section>\n");
    }
    if let more @ 1.. = report.totals.findings.saturating_sub(FINDINGS as u64) {
        let more = plural(more, "more finding");
        let _ = writeln!(out, "<p class=\"more\">See the JSON report for {more}.</p>");
    }
    out
}

/// The page that shows what a check replayed.
fn page_of<'p>(name: &str, check: &CheckRun, pages: &'p Pages) -> Option<&'p (String, String)> {
    let (version, _) = check.name.split_once("::")?;
    pages.get(name)?.iter().find(|(words, _)| words == version)
}

fn scenarios(report: &Report, pages: &Pages) -> String {
    let mut out = String::from(
        "<h2>Scenarios</h2>\n<div class=\"wide\"><table class=\"run\"><thead><tr><th></th><th>scenario\
         </th><th>cassettes</th><th>goldens</th><th>plans</th><th>checks</th></tr></thead><tbody>\n",
    );
    for run in &report.scenarios {
        let Tally { cassettes, goldens, plans, checks, .. } = run.tally();
        let links = pages.get(&run.name).into_iter().flatten();
        let links: String = links
            .map(|(words, file)| format!(" <a href=\"{}\">{}</a>", text(file), text(words)))
            .collect();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}{links}</td><td>{cassettes}</td><td>{goldens}</td><td>{plans}</td>\
             <td><details><summary>{checks}</summary>{}</details></td></tr>",
            badge(run.holds(), word(run)),
            text(&run.name),
            list(&run.checks),
        );
    }
    out.push_str("</tbody></table></div>\n");
    if !report.workspace.is_empty() {
        let _ = writeln!(out, "<h2>Of no scenario</h2>\n{}", list(&report.workspace));
    }
    out
}

fn word(run: &ScenarioRun) -> &'static str {
    match run.tally() {
        Tally { errors: 1.., .. } => "error",
        Tally { findings: 1.., .. } => "failed",
        _ => "ok",
    }
}

fn list(checks: &[CheckRun]) -> String {
    let item = |check: &CheckRun| {
        let wrong = check.findings.len() as u64 + u64::from(check.error.is_some());
        let word = if wrong == 0 { String::new() } else { format!(" {}", badge(false, "failed")) };
        format!("<li>{}{word}</li>", text(&check.name))
    };
    format!("<ul>{}</ul>", checks.iter().map(item).collect::<String>())
}
