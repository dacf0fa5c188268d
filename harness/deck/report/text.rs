//! What several writers say of a finding in the same words: its class, and its diff as plain lines.

use super::model::Told;
use crate::verdict::DiffLine;

/// Most lines of a finding's diff that are shown: the first difference and some that follow. The JSON
/// report has them all.
pub(super) const DIFF_LINES: usize = 16;

/// Consequences named one by one; further ones are counted.
const CONSEQUENCES: usize = 4;

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
