//! Writes a drift to the terminal: the verdict first, then the changes by part, then the scenarios that were not
//! compared.

use std::io::{self, Write};

use clitape_recording::text::{Keep, plain, truncate};

use super::words::{cost, counted, follows, shown_by, verdict};
use crate::drift::{Drift, NotCompared, Part};
use crate::report::style::{BAD, BOLD, COOL, DIM, GOOD, ODD};

/// The most changes of a part that are listed; the other forms of the report have all of them.
const LISTED: usize = 40;
/// The most columns of an example.
const EXAMPLE: usize = 110;

/// Writes the report.
///
/// # Errors
///
/// An error of `out`, when it can't be written to.
pub fn drift_summary(drift: &Drift, out: &mut dyn Write) -> io::Result<()> {
    let (from, to) = (&drift.from, &drift.to);
    let style = if drift.of(Part::Person).next().is_some() { BAD } else { GOOD };
    let versions = plain(&format!("claude {} → {}", from.version, to.version));
    writeln!(out, "{BOLD}{versions}{BOLD:#}  {style}{}{style:#}", plain(&verdict(drift)))?;
    writeln!(out, "{}", plain(&counted(drift)))?;
    for part in Part::ALL {
        let changes: Vec<_> = drift.of(part).collect();
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{BOLD}{}{BOLD:#}", part.title())?;
        for change in changes.iter().take(LISTED) {
            let (place, what) = (plain(&change.place), plain(&change.what));
            let seen = plain(&shown_by(change));
            writeln!(out, "  {COOL}{place}{COOL:#} {what} {DIM}{seen}{DIM:#}")?;
            if let Some(example) = &change.example {
                let example = plain(example);
                writeln!(out, "      {DIM}{}{DIM:#}", truncate(&example, EXAMPLE, Keep::Start))?;
            }
        }
        if let more @ 1.. = changes.len().saturating_sub(LISTED) {
            writeln!(out, "  … and {more} more; `--markdown FILE` lists them")?;
        }
    }
    if let Some(sentence) = follows(drift) {
        writeln!(out, "\n{}", plain(&sentence))?;
        for change in drift.follows.iter().take(LISTED) {
            let (place, what) = (plain(&change.place), plain(&change.what));
            writeln!(out, "  {DIM}{place} {what} {}{DIM:#}", plain(&shown_by(change)))?;
        }
    }
    list(out, "Not compared", &drift.not_compared, ODD)?;
    writeln!(out, "\n{DIM}Time and size: {}{DIM:#}", cost(drift))?;
    if let more @ 1.. = drift.left_out.len() {
        writeln!(out, "{DIM}Not for both versions, or written by hand: {more}{DIM:#}")?;
    }
    Ok(())
}

fn list(
    out: &mut dyn Write,
    title: &str,
    all: &[NotCompared],
    style: anstyle::Style,
) -> io::Result<()> {
    if !all.is_empty() {
        writeln!(out, "\n{style}{title}{style:#}")?;
    }
    for NotCompared { what, why } in all {
        writeln!(out, "  {}: {}", plain(what), plain(why))?;
    }
    Ok(())
}
