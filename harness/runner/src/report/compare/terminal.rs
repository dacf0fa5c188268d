//! Writes a comparison to the terminal: the sides, the differences, and the areas that were not covered.

use std::io::{self, Write};

use clitape_judge::Class;
use clitape_recording::text::{plain, plural};

use super::words::{counted, failures, side};
use crate::compare::{Compared, Comparison};
use crate::report::style::{BAD, BOLD, COOL, DIM, GOOD, ODD};

/// The most cassettes that are listed with their lanes; the page has all of them.
const CASSETTES: usize = 20;

/// Writes the summary.
///
/// # Errors
///
/// An error of `out`, when it can't be written to.
pub fn compare_summary(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{BAD}A{BAD:#}  {}", plain(&side(&comparison.a)))?;
    writeln!(out, "{GOOD}B{GOOD:#}  {}", plain(&side(&comparison.b)))?;
    let differing: Vec<&Compared> = comparison.differing().collect();
    for compared in differing.iter().take(CASSETTES) {
        let place = plain(&format!("{} {}", compared.scenario, compared.version()));
        writeln!(out, "\n{BOLD}{place}{BOLD:#}")?;
        for lane in &compared.lanes {
            let style = match lane.class {
                Class::Timing => DIM,
                Class::Text => COOL,
                Class::Contract => BAD,
            };
            let (view, first) = (plain(&lane.view), plain(&lane.first));
            writeln!(out, "  {style}{:>8}{style:#} {view}: {first}", lane.class.to_string())?;
        }
    }
    if let more @ 1.. = differing.len().saturating_sub(CASSETTES) {
        writeln!(out, "\n… and {}, on the page", plural(more, "more cassette"))?;
    }
    let failures = failures(comparison);
    if !failures.is_empty() {
        writeln!(out, "\n{ODD}could not be compared{ODD:#}")?;
    }
    for line in failures {
        writeln!(out, "  {}", plain(&line))?;
    }
    writeln!(out, "\n{BOLD}not covered{BOLD:#}")?;
    for sentence in &comparison.uncovered {
        writeln!(out, "  {DIM}{}{DIM:#}", plain(sentence))?;
    }
    let style = if comparison.holds() { GOOD } else { BAD };
    let counts = counted(&comparison.counts());
    let counts: Vec<String> =
        counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    writeln!(out, "\n{style}{}{style:#}  {DIM}{}{DIM:#}", comparison.verdict(), counts.join(", "))
}
