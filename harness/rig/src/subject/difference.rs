//! Adds the differing lines of two traces to a finding, within limits, because a subject decides their length.

use clitape_judge::{DiffLine, Finding, TraceDiff};
use clitape_recording::trace::Entry;

use crate::limits::{KeptBytes, entry_bytes};

/// The most bytes of entries that are compared word by word, which takes a second or two.
const COMPARED: usize = 4 << 20;

/// Adds the lines in which two traces differ to a finding, unless they are too long or the account has no room for
/// them. The finding's sentence names the first difference in any case.
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
