//! The lines of a finding in which two traces differ, which a subject can make as long as what it prints.

use clitape_judge::{DiffLine, Finding, TraceDiff};
use clitape_recording::trace::Entry;

use crate::kept::{KeptBytes, entry_bytes};

/// The most bytes of entries whose lines are compared word by word, which takes a second or two.
const COMPARED: usize = 4 << 20;

/// Adds to a finding the lines in which two traces differ, unless they are too long or the account has no room for
/// them; its sentence says where they differ first.
pub(super) fn with_difference(
    finding: Finding,
    diff: &TraceDiff<'_>,
    entries: [&[Entry]; 2],
    kept: &KeptBytes,
) -> Finding {
    if entries.into_iter().flatten().map(entry_bytes).sum::<usize>() > COMPARED {
        return finding;
    }
    let lines = diff.lines();
    let parts = |line: &DiffLine| {
        let texts = line.parts.iter().map(|(_, text)| size_of::<(bool, String)>() + text.len());
        size_of::<DiffLine>() + texts.sum::<usize>()
    };
    match kept.try_keep(lines.iter().map(parts).sum()) {
        Ok(()) => finding.with_difference(diff.change(), lines),
        Err(_) => finding,
    }
}
