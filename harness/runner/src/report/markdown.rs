//! A test run as Markdown: the totals as a table, then every finding.

use std::io::{self, Write};

use super::model::{Report, Tally};
use super::text::{change_text, commands, diff_text, lanes_text};
use crate::check::Finding;
use crate::text::markdown::{block, inline};
use crate::text::plural;

/// Bytes of findings at most: a summary in GitHub Actions may have 1 MiB.
const LIMIT: usize = 900_000;

/// Writes the report as Markdown. What was recorded stands in code blocks only.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn markdown(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Tally { scenarios, cassettes, goldens, plans, findings, errors, .. } = report.totals;
    writeln!(out, "## clitape: {}\n", verdict(&report.totals))?;
    writeln!(out, "| scenarios | cassettes | goldens | seeded plans | findings | errors |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|")?;
    writeln!(out, "| {scenarios} | {cassettes} | {goldens} | {plans} | {findings} | {errors} |")?;
    for trouble in report.troubles() {
        writeln!(out, "\n### A check could not be run\n")?;
        fenced(out, "text", &trouble.sentence)?;
    }
    let mut written = 0;
    for (i, finding) in report.findings().enumerate() {
        let mut text = Vec::new();
        section(&mut text, finding)?;
        written += text.len();
        if written > LIMIT {
            let rest = report.totals.findings - i as u64;
            let rest = plural(rest, "more finding");
            return writeln!(out, "\nThe whole report has {rest}.");
        }
        out.write_all(&text)?;
    }
    Ok(())
}

fn verdict(totals: &Tally) -> String {
    match *totals {
        Tally { errors: 1.., .. } => "a check could not be run".to_owned(),
        Tally { findings: n @ 1.., .. } => plural(n, "finding"),
        Tally { cassettes: 0, .. } => "nothing ran".to_owned(),
        _ => "all held".to_owned(),
    }
}

fn section(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    writeln!(out, "\n### {}\n", inline(&finding.id.to_string()))?;
    let change = change_text(finding).map(|change| format!("\n{change}")).unwrap_or_default();
    fenced(out, "text", &format!("{}\n{}{change}", finding.place, finding.sentence))?;
    let lanes = lanes_text(finding);
    if !lanes.is_empty() {
        fenced(out, "text", &lanes.join("\n"))?;
    }
    let diff = diff_text(finding);
    if !diff.is_empty() {
        fenced(out, "diff", &diff.join("\n"))?;
    }
    let lines: Vec<String> =
        commands(finding).map(|(label, command)| format!("# {label}\n{command}")).collect();
    match &lines[..] {
        [_] => fenced(out, "sh", &finding.reproduce),
        all => fenced(out, "sh", &all.join("\n")),
    }
}

fn fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    out.write_all(block(language, text).as_bytes())
}
