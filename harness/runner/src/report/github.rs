//! A test run as GitHub Actions shows it: an annotation a finding.

use std::io::{self, Write};

use super::model::{Report, Told};
use super::text::change_text;

/// Writes an `::error` line for every finding and for every check that could not be run.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn github(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for run in &report.scenarios {
        let file = format!("scenarios/{}/scenario.toml", run.name);
        for check in &run.checks {
            for told in &check.findings {
                annotation(out, Some(&file), told)?;
            }
        }
    }
    for told in report.workspace.iter().flat_map(|check| &check.findings) {
        annotation(out, None, told)?;
    }
    for trouble in report.troubles() {
        writeln!(out, "::error title=clitape::{}", data(&trouble.sentence))?;
    }
    Ok(())
}

fn annotation(out: &mut dyn Write, file: Option<&str>, told: &Told) -> io::Result<()> {
    let Told { id, place, sentence, reproduce, .. } = told;
    let file = file.map(|file| format!("file={},", property(file))).unwrap_or_default();
    let change = change_text(told).map(|change| format!("\n{change}")).unwrap_or_default();
    let text = data(&format!("{place}\n{sentence}{change}\nreproduce: {reproduce}"));
    writeln!(out, "::error {file}title={}::{text}", property(id))
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
