//! What several writers say in the same words: what was run and what came of it; of a finding its
//! class, what came in beside what was seen, and its diff as plain lines.

use super::model::{Tally, Told};
use crate::check::{ContextMoment, DiffLine};

/// Most lines of a finding's diff that are shown: the first difference and some that follow. The JSON
/// report has them all.
pub(super) const DIFF_LINES: usize = 16;

/// Consequences named one by one; further ones are counted.
const CONSEQUENCES: usize = 4;

/// `1 cassette`, `2 cassettes`.
pub(super) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// What was run.
pub(super) fn ran(totals: &Tally) -> String {
    format!(
        "{}: {}, {}, {} replayed",
        count(totals.scenarios, "scenario"),
        count(totals.cassettes, "cassette"),
        count(totals.goldens, "golden"),
        count(totals.plans, "seeded plan"),
    )
}

/// What came of it.
pub(super) fn verdict(findings: u64, errors: u64) -> String {
    match (errors, findings) {
        (0, 0) => "all held".to_owned(),
        (0, n) => count(n, "finding"),
        (e, n) => format!("{}, {}", count(n, "finding"), count(e, "error")),
    }
}

/// What a difference is about, and what follows from it.
pub(super) fn change_text(told: &Told) -> Option<String> {
    let class = told.class?;
    let mut then = told.consequences.iter().take(CONSEQUENCES).cloned().collect::<Vec<_>>();
    if let more @ 1.. = told.consequences.len().saturating_sub(CONSEQUENCES) {
        then.push(format!("{more} more kinds"));
    }
    Some(match then.as_slice() {
        [] => format!("change of {class}"),
        _ => format!("change of {class}; then {}", then.join(", ")),
    })
}

/// The diff of a finding, a long one only in part.
pub(super) fn diff_text(told: &Told) -> Vec<String> {
    let mut lines: Vec<String> = told.diff.iter().take(DIFF_LINES).map(line).collect();
    if told.diff.len() > DIFF_LINES {
        lines.push(format!("  … {} more lines", told.diff.len() - DIFF_LINES));
    }
    lines
}

fn line(line: &DiffLine) -> String {
    let text: String = line.parts.iter().map(|(_, text)| text.as_str()).collect();
    format!("{} {text}", line.side.mark())
}

/// One row of two lanes: the time where it changes, what came in, what was seen.
pub(super) struct ContextRow<'a> {
    pub(super) time: String,
    pub(super) came: &'a str,
    pub(super) seen: &'a str,
}

/// What came in beside what was seen, a row for each thing.
pub(super) fn rows(moments: &[ContextMoment]) -> impl Iterator<Item = ContextRow<'_>> {
    moments.iter().flat_map(|ContextMoment { at, came, seen }| {
        (0..came.len().max(seen.len())).map(move |row| ContextRow {
            time: if row == 0 { format!("{}.{:03}", at / 1000, at % 1000) } else { String::new() },
            came: came.get(row).map_or("", String::as_str),
            seen: seen.get(row).map_or("", String::as_str),
        })
    })
}

/// Columns of what came in.
pub(super) const CAME: usize = 44;
/// Columns of what was seen.
pub(super) const SEEN: usize = 60;

/// The two lanes of a finding as plain lines.
pub(super) fn lanes_text(told: &Told) -> Vec<String> {
    let line = |time: &str, came: &str, seen: &str| {
        let line = format!("{time:>9}  {:<CAME$} │ {}", clip(came, CAME), clip(seen, SEEN));
        line.trim_end().to_owned()
    };
    if told.moments.is_empty() {
        return Vec::new();
    }
    let head = line("", "what came in", "what was seen");
    let rows = rows(&told.moments).map(|row| line(&row.time, row.came, row.seen));
    std::iter::once(head).chain(rows).collect()
}

/// The text in no more than so many columns.
pub(super) fn clip(text: &str, columns: usize) -> String {
    match text.char_indices().nth(columns) {
        None => text.to_owned(),
        Some(_) => text.chars().take(columns - 1).chain(['…']).collect(),
    }
}
