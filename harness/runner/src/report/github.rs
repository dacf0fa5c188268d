//! A test run as GitHub Actions shows it: an annotation a finding.

use std::io::{self, Write};
use std::path::Path;

use super::model::Report;
use super::text::{change_text, commands};
use crate::check::{Finding, GoldenLine};

/// Writes an `::error` line for every finding and for every check that could not be run. `workspace` is the workspace
/// as seen from the repository's root, from which GitHub reads the paths of files.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn github(report: &Report, workspace: &Path, out: &mut dyn Write) -> io::Result<()> {
    for run in &report.scenarios {
        let scenario = workspace.join("scenarios").join(&run.name).join("scenario.toml");
        for check in &run.checks {
            for finding in &check.findings {
                let file = match &finding.golden {
                    Some(GoldenLine { file, line }) => {
                        let file = workspace.join(file).display().to_string();
                        format!("file={},line={line},", property(&file))
                    }
                    None => format!("file={},", property(&scenario.display().to_string())),
                };
                annotation(out, &file, finding)?;
            }
        }
    }
    for finding in report.workspace.iter().flat_map(|check| &check.findings) {
        annotation(out, "", finding)?;
    }
    for trouble in report.troubles() {
        writeln!(out, "::error title=clitape::{}", data(&trouble.sentence))?;
    }
    Ok(())
}

fn annotation(out: &mut dyn Write, file: &str, finding: &Finding) -> io::Result<()> {
    let Finding { id, place, sentence, .. } = finding;
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
