//! Writes a test run as TAP 14: a test point for each check, with its findings as diagnostics.

use std::io::{self, Write};

use clitape_judge::Finding;
use serde_json::Value;

use super::model::{CheckRun, Report};
use super::text::{change_text, commands, diff_text, lanes_text};

/// Writes the report as TAP 14.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn tap(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "TAP version 14")?;
    match report.checks().count() {
        0 => writeln!(out, "1..0 # SKIP nothing ran")?,
        checks => writeln!(out, "1..{checks}")?,
    }
    for (number, (scenario, check)) in (1..).zip(report.checks()) {
        let held = check.findings.is_empty() && check.error.is_none();
        let word = if held { "ok" } else { "not ok" };
        let skipped = check.skipped.as_ref().map(|why| format!(" # SKIP {}", escaped(why)));
        let skipped = skipped.unwrap_or_default();
        writeln!(
            out,
            "{word} {number} - {}::{}{skipped}",
            escaped(scenario),
            escaped(&check.name)
        )?;
        if !held {
            diagnostics(out, check)?;
        }
    }
    Ok(())
}

/// Escapes a description, in which a `#` would begin a directive.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#")
}

/// Writes the block of YAML that TAP wants: mappings and lists of strings, each in the form of a JSON string.
fn diagnostics(out: &mut dyn Write, check: &CheckRun) -> io::Result<()> {
    writeln!(out, "  ---")?;
    if let Some(error) = &check.error {
        writeln!(out, "  error: {}", quoted(&error.sentence))?;
    }
    if !check.findings.is_empty() {
        writeln!(out, "  findings:")?;
    }
    for finding in &check.findings {
        let Finding { id, place, sentence, .. } = finding;
        writeln!(out, "    - id: {}", quoted(&id.to_string()))?;
        let parts = [("place".into(), place.as_str()), ("sentence".into(), sentence)];
        for (key, text) in parts.into_iter().chain(commands(finding)) {
            writeln!(out, "      {key}: {}", quoted(text))?;
        }
        if let Some(change) = change_text(finding) {
            writeln!(out, "      change: {}", quoted(&change))?;
        }
        for (key, lines) in [("lanes", lanes_text(finding)), ("diff", diff_text(finding))] {
            if !lines.is_empty() {
                writeln!(out, "      {key}:")?;
            }
            for line in lines {
                writeln!(out, "        - {}", quoted(&line))?;
            }
        }
    }
    writeln!(out, "  ...")
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
