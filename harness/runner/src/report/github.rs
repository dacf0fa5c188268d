//! Writes a test run for GitHub Actions: one annotation for the findings with the same cause.

use std::io::{self, Write};
use std::path::Path;

use clitape_judge::{Finding, GoldenLine};

use super::chat_diff::chat_lines;
use super::groups::{FindingGroup, groups};
use super::model::Report;
use super::text::{change_text, labelled, mends};

/// Writes an `::error` line for the findings of each cause and for every check that could not be run. `workspace` is
/// the workspace's path from the repository's root, to which GitHub relates the paths of files.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn github(report: &Report, workspace: &Path, out: &mut dyn Write) -> io::Result<()> {
    for group in groups(report) {
        annotation(out, report, workspace, &group)?;
    }
    for trouble in report.troubles() {
        writeln!(out, "::error title=clitape::{}", data(&trouble.sentence))?;
    }
    Ok(())
}

fn annotation(
    out: &mut dyn Write,
    report: &Report,
    workspace: &Path,
    group: &FindingGroup<'_>,
) -> io::Result<()> {
    let Finding { id, place, sentence, reproduce, chat, golden, .. } = group.head();
    let of_scenario = || {
        let run = report.scenarios.iter().find(|run| run.name == group.scenario())?;
        Some((format!("scenarios/{}/scenario.toml", run.name), None))
    };
    let of_golden = golden.as_ref().map(|GoldenLine { file, line }| (file.clone(), Some(*line)));
    let file = of_golden.or_else(of_scenario).map(|(file, line)| {
        let line = line.map(|line| format!("line={line},")).unwrap_or_default();
        format!("file={},{line}", property(&workspace.join(file).display().to_string()))
    });
    let file = file.unwrap_or_default();
    let mut lines = vec![place.clone(), sentence.clone()];
    lines.extend(change_text(group.head()));
    lines.extend(chat.iter().flat_map(chat_lines));
    lines.extend(group.also_in().map(|also| format!("also in: {also}")));
    lines.push(format!("{}: {reproduce}", labelled("reproduce", reproduce)));
    lines.extend(group.fix().map(|fix| format!("{}: {fix}", labelled(mends(group.head()), &fix))));
    let text = data(&lines.join("\n"));
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
