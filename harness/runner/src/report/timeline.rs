//! Writes a trace as a timeline: one line for each entry, with the time first.

use std::io::{self, Write};

use anstyle::Style;
use clitape_recording::text::plain;
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};

use super::style::{BAD, BOLD, COOL, DIM, GOOD, ODD, WARM};
use crate::replay::ReplaySummary;

/// Writes one entry.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_entry(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    let style = style(entry);
    let seconds = format!("{}.{:03}", entry.at / 1000, entry.at % 1000);
    let lane = entry.lane;
    let text = entry.headline();
    writeln!(out, "{DIM}{seconds:>9}{DIM:#}  {DIM}{lane:<9}{DIM:#}  {style}{text}{style:#}")
}

fn style(entry: &Entry) -> Style {
    match (entry.lane, entry.kind.as_ref()) {
        _ if entry.is_refused() => BAD,
        (_, "diagnostic" | "unknown" | "failed") => BAD,
        (_, "notice") => ODD,
        (_, "outcome" | "final") => BOLD,
        (Lane::Read, _) => DIM,
        (Lane::Lifecycle, _) => COOL,
        (Lane::Bus, _) => WARM,
        (Lane::Telegram | Lane::Acp | Lane::Sse | Lane::Session, _) => GOOD,
    }
}

/// Writes how many lines of the input were understood, and which kinds of record were unknown.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn footer(out: &mut dyn Write, replay: &ReplaySummary) -> io::Result<()> {
    let ReplaySummary { entries, stats, masked } = replay;
    let style = if stats.unusable + stats.unknown > 0 { ODD } else { DIM };
    writeln!(
        out,
        "{style}{}, {}: {} understood, {} unknown, {} unusable, {} blank; {}{style:#}",
        plural(stats.bytes, "byte"),
        plural(stats.lines, "line"),
        stats.records,
        stats.unknown,
        stats.unusable,
        stats.blank,
        plural(*entries, "trace entry"),
    )?;
    for (kind, count) in &stats.unknown_kinds {
        writeln!(out, "{ODD}unknown: {} ×{count}{ODD:#}", plain(kind))?;
    }
    for (what, count) in [("bytes not read", stats.unread), ("bad UTF-8", stats.replaced)] {
        if count > 0 {
            writeln!(out, "{ODD}{what}: {count}{ODD:#}")?;
        }
    }
    for (rule, count) in masked.iter() {
        writeln!(out, "{DIM}masked: {rule} ×{count}{DIM:#}")?;
    }
    Ok(())
}
