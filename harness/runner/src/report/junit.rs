//! Writes a test run as JUnit XML: a suite for each scenario, a case for each check.

use std::io::{self, Write};
use std::time::Duration;

use clitape_judge::Finding;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::model::{CheckRun, Report};
use super::text::{change_text, commands, diff_text, lanes_text};

/// Writes the report as JUnit XML.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = quick_junit::Report::new("clitape");
    for (name, checks) in report.groups() {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(checks.iter().map(|check| case(name, check)));
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

fn case(scenario: &str, check: &CheckRun) -> TestCase {
    let mut case = TestCase::new(check.name.as_str(), status(check));
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
fn status(check: &CheckRun) -> TestCaseStatus {
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
