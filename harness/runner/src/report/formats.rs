//! A test run as files in the formats of other programs, opened before anything runs, and written whole or not at all.
//!
//! [`junit`] has a suite for each scenario and a case for each check, [`tap`] (TAP 14) a test point for each check,
//! with its findings as diagnostics, [`github`] one annotation for the findings with the same cause, and [`markdown`]
//! the totals as a table, then the findings, grouped by cause.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clitape_judge::{Finding, FindingCommand, GoldenLine};
use clitape_recording::files::{FileError, NewFile};
use clitape_recording::text::markdown::{block, inline};
use clitape_recording::text::plural;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde_json::Value;
use thiserror::Error;

use super::chat_diff::chat_lines;
use super::groups::{Detail, FindingGroup, groups};
use super::json;
use super::model::{CheckRun, Report, Tally};
use super::text::{change_text, commands, diff_text, labelled, lanes_text, mends, verdict};

/// The format of a report's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML.
    Junit,
    /// TAP 14.
    Tap,
    /// JSON, by `schemas/report.json`.
    Json,
    /// Markdown, with the lanes of a group or without.
    Markdown(Detail),
}

impl Format {
    /// Writes the report in this format.
    ///
    /// # Errors
    ///
    /// When `out` can't be written to.
    pub fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Junit => junit(report, out),
            Self::Tap => tap(report, out),
            Self::Json => json(report, out),
            Self::Markdown(detail) => markdown(report, detail, out),
        }
    }
}

/// The reason why a report's file can't be written.
#[derive(Debug, Error)]
pub enum ReportFileError {
    /// The path can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Two reports have the same path.
    #[error("{0} can hold one report only; give the other a path of its own")]
    Twice(PathBuf),
}

/// Files that wait for their report. Until it is written, the old files at their paths stay.
#[derive(Debug, Default)]
pub struct ReportFiles {
    open: Vec<(Format, PathBuf, NewFile)>,
}

impl ReportFiles {
    /// Opens a file for each path.
    ///
    /// # Errors
    ///
    /// [`ReportFileError`] when a report could not be written there.
    pub fn open(wanted: &[(Format, &Path)]) -> Result<Self, ReportFileError> {
        let mut open: Vec<(Format, PathBuf, NewFile)> = Vec::new();
        for &(format, path) in wanted {
            let file = NewFile::open(path)?;
            if open.iter().any(|(_, _, other)| other.place() == file.place()) {
                return Err(ReportFileError::Twice(path.to_owned()));
            }
            open.push((format, path.to_owned(), file));
        }
        Ok(Self { open })
    }

    /// Writes the report into all files, and then puts each in its place.
    ///
    /// # Errors
    ///
    /// [`ReportFileError`] when one can't be written; the old files then stay.
    pub fn write(mut self, report: &Report) -> Result<(), ReportFileError> {
        for (format, path, file) in &mut self.open {
            let mut out = io::BufWriter::new(file);
            format
                .write(report, &mut out)
                .and_then(|()| out.flush())
                .map_err(|error| FileError::Write { path: path.clone(), error })?;
        }
        Ok(self.open.into_iter().try_for_each(|(_, _, file)| file.put())?)
    }
}

/// Writes the report as JUnit XML.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = quick_junit::Report::new("clitape");
    for (name, checks) in report.groups() {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(checks.iter().map(|check| junit_case(name, check)));
        if let Some(took) = total(checks) {
            suite.set_time(took);
        }
        xml.add_test_suite(suite);
    }
    let suites: Vec<Duration> = report.groups().filter_map(|(_, checks)| total(checks)).collect();
    if !suites.is_empty() {
        xml.set_time(suites.iter().sum());
    }
    xml.serialize(out).map_err(io::Error::other)
}

fn junit_case(scenario: &str, check: &CheckRun) -> TestCase {
    let mut case = TestCase::new(check.name.as_str(), junit_status(check));
    case.set_classname(scenario);
    if let Some(took) = check.took {
        case.set_time(took);
    }
    case
}

/// Adds up the times of the checks, as far as they are known.
fn total(checks: &[CheckRun]) -> Option<Duration> {
    let times: Vec<Duration> = checks.iter().filter_map(|check| check.took).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// Returns the status of a case. JUnit allows one failure: its message is the first finding, and its text lists all.
fn junit_status(check: &CheckRun) -> TestCaseStatus {
    if let Some(error) = &check.error {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(error.sentence.as_str());
        return status;
    }
    if let Some(why) = &check.skipped {
        let mut status = TestCaseStatus::skipped();
        status.set_message(why.as_str());
        return status;
    }
    let Some(first) = check.findings.first() else { return TestCaseStatus::success() };
    // A scenario that can't be used was not judged.
    let is_error = check.is_of_unusable_scenario();
    let kind = if is_error { NonSuccessKind::Error } else { NonSuccessKind::Failure };
    let mut status = TestCaseStatus::non_success(kind);
    let text: Vec<String> = check.findings.iter().map(describe).collect();
    status.set_type(first.id.to_string()).set_message(first.sentence.as_str());
    status.set_description(text.join("\n\n"));
    status
}

fn describe(finding: &Finding) -> String {
    let Finding { id, place, sentence, .. } = finding;
    let mut lines = vec![format!("{id} {place}"), sentence.clone()];
    lines.extend(change_text(finding));
    lines.extend(lanes_text(finding));
    lines.extend(diff_text(finding));
    lines.extend(commands(finding).map(|(label, command)| format!("{label}: {command}")));
    lines.join("\n")
}

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
        let skipped = check.skipped.as_ref().map(|why| format!(" # SKIP {}", tap_escaped(why)));
        let skipped = skipped.unwrap_or_default();
        writeln!(
            out,
            "{word} {number} - {}::{}{skipped}",
            tap_escaped(scenario),
            tap_escaped(&check.name)
        )?;
        if !held {
            diagnostics(out, check)?;
        }
    }
    Ok(())
}

/// Escapes a description, in which a `#` would begin a directive.
fn tap_escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#")
}

/// Writes the block of YAML that TAP wants: mappings and lists of strings, each in the form of a JSON string.
fn diagnostics(out: &mut dyn Write, check: &CheckRun) -> io::Result<()> {
    writeln!(out, "  ---")?;
    if let Some(error) = &check.error {
        writeln!(out, "  error: {}", tap_quoted(&error.sentence))?;
    }
    if !check.findings.is_empty() {
        writeln!(out, "  findings:")?;
    }
    for finding in &check.findings {
        let Finding { id, place, sentence, .. } = finding;
        writeln!(out, "    - id: {}", tap_quoted(&id.to_string()))?;
        let parts = [("place".into(), place.as_str()), ("sentence".into(), sentence)];
        for (key, text) in parts.into_iter().chain(commands(finding)) {
            writeln!(out, "      {key}: {}", tap_quoted(text))?;
        }
        if let Some(change) = change_text(finding) {
            writeln!(out, "      change: {}", tap_quoted(&change))?;
        }
        for (key, lines) in [("lanes", lanes_text(finding)), ("diff", diff_text(finding))] {
            if !lines.is_empty() {
                writeln!(out, "      {key}:")?;
            }
            for line in lines {
                writeln!(out, "        - {}", tap_quoted(&line))?;
            }
        }
    }
    writeln!(out, "  ...")
}

fn tap_quoted(text: &str) -> String {
    Value::from(text).to_string()
}

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
        writeln!(out, "::error title=clitape::{}", github_data(&trouble.sentence))?;
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
        format!("file={},{line}", github_property(&workspace.join(file).display().to_string()))
    });
    let file = file.unwrap_or_default();
    let mut lines = vec![place.clone(), sentence.clone()];
    lines.extend(change_text(group.head()));
    lines.extend(chat.iter().flat_map(chat_lines));
    lines.extend(group.also_in().map(|also| format!("also in: {also}")));
    lines.push(format!("{}: {reproduce}", labelled("reproduce", reproduce)));
    lines.extend(group.fix().map(|fix| format!("{}: {fix}", labelled(mends(group.head()), &fix))));
    let text = github_data(&lines.join("\n"));
    writeln!(out, "::error {file}title={}::{text}", github_property(&id.to_string()))
}

/// Escapes the message of a workflow command.
fn github_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn github_property(text: &str) -> String {
    github_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The most bytes of findings: a summary in GitHub Actions may have 1 MiB.
const MARKDOWN_LIMIT: usize = 900_000;

/// Writes the report as Markdown. Recorded text is put in code blocks only.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn markdown(report: &Report, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let Tally { scenarios, cassettes, goldens, plans, findings, errors, .. } = report.totals;
    writeln!(out, "## clitape: {}\n", verdict_table(&report.totals))?;
    writeln!(out, "| scenarios | cassettes | goldens | seeded plans | findings | errors |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|")?;
    writeln!(out, "| {scenarios} | {cassettes} | {goldens} | {plans} | {findings} | {errors} |")?;
    for trouble in report.troubles() {
        writeln!(out, "\n### A check could not be run\n")?;
        fenced(out, "text", &trouble.sentence)?;
    }
    let mut written = 0;
    let groups = groups(report);
    for (i, group) in groups.iter().enumerate() {
        let mut text = Vec::new();
        markdown_section(&mut text, group, detail)?;
        written += text.len();
        if written > MARKDOWN_LIMIT {
            let rest = groups[i..].iter().map(|group| 1 + group.others()).sum::<usize>();
            let rest = plural(rest, "more finding");
            return writeln!(out, "\nThe whole report has {rest}.");
        }
        out.write_all(&text)?;
    }
    Ok(())
}

fn verdict_table(totals: &Tally) -> String {
    match *totals {
        Tally { errors: 1.., .. } => "a check could not be run".to_owned(),
        Tally { findings: 0, cassettes: 0, .. } => "nothing ran".to_owned(),
        _ => verdict(totals),
    }
}

fn markdown_section(
    out: &mut dyn Write,
    group: &FindingGroup<'_>,
    detail: Detail,
) -> io::Result<()> {
    let head = group.head();
    writeln!(out, "\n### {}\n", inline(&head.id.to_string()))?;
    let mut about = vec![head.place.clone(), head.sentence.clone()];
    about.extend(change_text(head));
    if let Some(also) = group.also_in() {
        let others = plural(group.others(), "more finding");
        about.push(format!("and {others}, also in: {also}"));
    }
    fenced(out, "text", &about.join("\n"))?;
    if let Some(chat) = &head.chat {
        fenced(out, "diff", &chat_lines(chat).join("\n"))?;
    }
    let is_alone = group.others() == 0 && head.chat.is_none();
    match detail {
        Detail::Lanes if !is_alone => {
            for part in group.lanes() {
                fenced(out, "text", &format!("{}\n{}", part.name, part.finding.sentence))?;
                markdown_lane(out, part.finding)?;
            }
        }
        _ if head.chat.is_none() => markdown_lane(out, head)?,
        _ => {}
    }
    let (reproduce, fix) = (&head.reproduce, group.fix());
    // A reader may paste a block of `sh`, so that it must have commands of clitape only.
    let all_own = reproduce.is_own() && fix.as_ref().is_none_or(FindingCommand::is_own);
    let language = if all_own { "sh" } else { "text" };
    match fix {
        None if all_own => fenced(out, language, reproduce.as_str()),
        fix => {
            let mut lines = vec![("reproduce", reproduce)];
            lines.extend(fix.as_ref().map(|fix| (mends(head), fix)));
            let lines = lines.into_iter();
            let lines = lines.map(|(does, line)| format!("# {}\n{line}", labelled(does, line)));
            fenced(out, language, &lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Writes the input beside the output, and the diff.
fn markdown_lane(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    for (language, lines) in [("text", lanes_text(finding)), ("diff", diff_text(finding))] {
        if !lines.is_empty() {
            fenced(out, language, &lines.join("\n"))?;
        }
    }
    Ok(())
}

fn fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    out.write_all(block(language, text).as_bytes())
}
