//! A finding's diff as plain lines, for the writers that know no colours.

use super::model::Told;
use crate::verdict::DiffLine;

/// Most lines of a diff that are shown; the JSON report has them all.
pub(super) const DIFF_LINES: usize = 40;

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
