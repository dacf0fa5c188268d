//! The lines of a finding in which two traces differ, which a subject can make as long as what it prints.

use clitape_runner::check::{DiffLine, Finding, TraceDiff};

use crate::kept::KeptBytes;

/// Adds to a finding the lines in which two traces differ, if the account has room for them; its sentence says where
/// they differ first.
pub(super) fn with_difference(finding: Finding, diff: &TraceDiff<'_>, kept: &KeptBytes) -> Finding {
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
