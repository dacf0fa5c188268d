//! A test run as GitHub Actions shows it: an annotation a finding.

use std::io::{self, Write};

use super::model::Report;
use super::text::{change_text, commands};
use crate::check::Finding;

/// Writes an `::error` line for every finding and for every check that could not be run.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn github(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for run in &report.scenarios {
        let file = format!("scenarios/{}/scenario.toml", run.name);
        for check in &run.checks {
            for finding in &check.findings {
                annotation(out, Some(&file), finding)?;
            }
        }
    }
    for finding in report.workspace.iter().flat_map(|check| &check.findings) {
        annotation(out, None, finding)?;
    }
    for trouble in report.troubles() {
        writeln!(out, "::error title=clitape::{}", data(&trouble.sentence))?;
    }
    Ok(())
}

fn annotation(out: &mut dyn Write, file: Option<&str>, finding: &Finding) -> io::Result<()> {
    let Finding { id, place, sentence, .. } = finding;
    let file = file.map(|file| format!("file={},", property(file))).unwrap_or_default();
    let change = change_text(finding).map(|change| format!("\n{change}")).unwrap_or_default();
    let commands: String =
        commands(finding).map(|(label, command)| format!("\n{label}: {command}")).collect();
    let text = data(&format!("{place}\n{sentence}{change}{commands}"));
    writeln!(out, "::error {file}title={}::{text}", property(&id.to_string()))
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
