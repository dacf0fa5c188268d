//! Writes to the terminal what was at stake in a test run: `clitape test --marks`.

use std::io::{self, Write};

use clitape_recording::text::{plain, plural};

use super::style::{BAD, BOLD, DIM};
use crate::check::{Mark, Marks};

/// Writes a line for everything that can be at stake: how often it was, and where first; then the rest, which never
/// was.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn marks(marks: &Marks, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{BOLD}at stake{BOLD:#} {DIM}(checks and replays, the first one){DIM:#}")?;
    for mark in Mark::all() {
        if let Some(stake) = marks.get(mark) {
            let (name, times) = (mark.to_string(), stake.times);
            writeln!(out, "  {name:<34} {times:>9}  {DIM}{}{DIM:#}", plain(&stake.first))?;
        } else if let Some(why) = mark.out_of_reach() {
            writeln!(out, "  {:<34} {:>9}  {DIM}{why}{DIM:#}", mark.to_string(), "-")?;
        }
    }
    let never: Vec<Mark> = marks.never().collect();
    if never.is_empty() {
        return writeln!(out, "everything that can be at stake was");
    }
    writeln!(out, "\n{BAD}never at stake: {}{BAD:#}", plural(never.len(), "kind"))?;
    for mark in never {
        writeln!(out, "  {mark}")?;
    }
    writeln!(
        out,
        "  what is never at stake can't be found; add a scenario that has it, or a plan of a scenario as [[plan]]"
    )
}
