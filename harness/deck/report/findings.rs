//! A test run on the terminal: a line a scenario, then every finding, then the summary.

use std::io::{self, Write};

use super::{BAD, BOLD, DIM, GOOD, ODD, STRONG_BAD, STRONG_GOOD};
use crate::verdict::{DiffLine, Finding, Side};

/// Most lines of a diff that are shown.
const DIFF_LINES: usize = 40;

/// What was run, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Scenarios, those with findings included.
    pub scenarios: u64,
    /// Cassettes replayed.
    pub cassettes: u64,
    /// Goldens compared.
    pub goldens: u64,
    /// Plans replayed.
    pub plans: u64,
    /// Findings.
    pub findings: u64,
    /// Pending goldens that wait for a review.
    pub pending: u64,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.cassettes += other.cassettes;
        self.goldens += other.goldens;
        self.plans += other.plans;
        self.findings += other.findings;
        self.pending += other.pending;
    }
}

/// Writes the line of one scenario.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn scenario_line(out: &mut dyn Write, name: &str, tally: Tally) -> io::Result<()> {
    let (style, word) = if tally.findings == 0 { (GOOD, "ok") } else { (BAD, "FAILED") };
    let Tally { cassettes, goldens, plans, findings, .. } = tally;
    write!(
        out,
        "{style}{word:>6}{style:#} {BOLD}{name:<20}{BOLD:#} {DIM}{}, {}, {}{DIM:#}",
        count(cassettes, "cassette"),
        count(goldens, "golden"),
        count(plans, "plan"),
    )?;
    if findings > 0 {
        write!(out, "  {BAD}{}{BAD:#}", count(findings, "finding"))?;
    }
    writeln!(out)
}

/// Writes one finding: the sentence, the diff, and the line that reproduces it.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_finding(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let Finding { kind, place, sentence, diff, reproduce } = finding;
    writeln!(out, "\n{BAD}{kind}{BAD:#} {BOLD}{place}{BOLD:#}\n  {sentence}")?;
    if !diff.is_empty() {
        writeln!(out, "  {BAD}- expected{BAD:#}   {GOOD}+ came{GOOD:#}")?;
    }
    write_diff(out, diff)?;
    writeln!(out, "  {DIM}reproduce:{DIM:#} {reproduce}")
}

/// Writes an aligned diff, a long one only in part.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_diff(out: &mut dyn Write, diff: &[DiffLine]) -> io::Result<()> {
    for line in diff.iter().take(DIFF_LINES) {
        diff_line(out, line)?;
    }
    if diff.len() > DIFF_LINES {
        writeln!(out, "  {DIM}… {} more lines{DIM:#}", diff.len() - DIFF_LINES)?;
    }
    Ok(())
}

fn diff_line(out: &mut dyn Write, line: &DiffLine) -> io::Result<()> {
    let number = |n: Option<usize>| n.map(|n| n.to_string()).unwrap_or_default();
    let (old, new, mark) = (number(line.old), number(line.new), line.side.mark());
    let (style, strong) = match line.side {
        Side::Both | Side::Gap => (DIM, DIM),
        Side::Expected => (BAD, STRONG_BAD),
        Side::Got => (GOOD, STRONG_GOOD),
    };
    write!(out, "  {DIM}{old:>4} {new:>4} │{DIM:#} {style}{mark} {style:#}")?;
    for (changed, text) in &line.parts {
        let style = if *changed { strong } else { style };
        write!(out, "{style}{text}{style:#}")?;
    }
    writeln!(out)
}

/// Writes the last lines of a test run.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn summary(out: &mut dyn Write, tally: Tally) -> io::Result<()> {
    let Tally { scenarios, cassettes, goldens, plans, findings, pending } = tally;
    if pending > 0 {
        let files = count(pending, "pending golden");
        writeln!(out, "\n{ODD}{files}: settle with `clitape review`{ODD:#}")?;
    }
    let (style, verdict) = match findings {
        0 => (GOOD, "all held".to_owned()),
        n => (BAD, count(n, "finding")),
    };
    writeln!(
        out,
        "\n{}: {}, {}, {} replayed; {style}{verdict}{style:#}",
        count(scenarios, "scenario"),
        count(cassettes, "cassette"),
        count(goldens, "golden"),
        count(plans, "seeded plan"),
    )
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Kind, align};

    fn plain(bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let mut plain = String::new();
        let mut escape = false;
        for c in text.chars() {
            match c {
                '\u{1b}' => escape = true,
                'm' if escape => escape = false,
                c if !escape => plain.push(c),
                _ => {}
            }
        }
        plain
    }

    #[test]
    fn a_finding_shows_sentence_diff_and_reproduction() {
        let finding = Finding {
            diff: align("a\nb\n", "a\nc\n"),
            ..Finding::new(Kind::GoldenDiffers, "x 1.0 bus", "it differs".into(), "clitape".into())
        };
        let mut out = Vec::new();
        write_finding(&mut out, &finding).unwrap();
        let expect = "\nGD001 golden-differs x 1.0 bus\n  it differs\n  - expected   + came\n\
                      \x20    1    1 │   a\n\x20    2      │ - b\n\x20         2 │ + c\n\
                      \x20 reproduce: clitape\n";
        assert_eq!(plain(&out), expect);
    }

    #[test]
    fn the_summary_counts_what_ran() {
        let tally =
            Tally { scenarios: 1, cassettes: 2, goldens: 8, plans: 128, findings: 0, pending: 0 };
        let mut out = Vec::new();
        summary(&mut out, tally).unwrap();
        assert_eq!(
            plain(&out),
            "\n1 scenario: 2 cassettes, 8 goldens, 128 seeded plans replayed; all held\n"
        );
    }
}
