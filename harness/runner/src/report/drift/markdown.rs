//! Writes a drift as Markdown, for an issue or a committed report. Recorded text is put in code only.

use std::fmt::Write as _;

use clitape_recording::text::markdown::{code, inline};
use clitape_recording::text::{Keep, truncate};

use super::words::{cost, counted, follows, shown_by, verdict};
use crate::drift::{Drift, DriftChange, NotCompared, Part};

/// The most changes of a part that are listed; the JSON has all of them.
const LISTED: usize = 60;
/// The most columns of an example.
const EXAMPLE: usize = 100;

/// Writes the report.
pub fn drift_text(drift: &Drift) -> String {
    let (from, to) = (&drift.from, &drift.to);
    let mut out = format!("# claude {} → {}\n\n", inline(&from.version), inline(&to.version));
    let _ = writeln!(out, "**{}** {}\n", inline(&verdict(drift)), inline(&counted(drift)));
    for part in Part::ALL {
        let changes: Vec<&DriftChange> = drift.of(part).collect();
        if changes.is_empty() {
            let _ = writeln!(out, "- {}: nothing", part.title());
        } else {
            let _ = writeln!(out, "- {}: {}", part.title(), changes.len());
        }
    }
    for part in Part::ALL {
        let changes: Vec<&DriftChange> = drift.of(part).collect();
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {}\n", part.title());
        for change in changes.iter().take(LISTED) {
            line(&mut out, change);
        }
        if let more @ 1.. = changes.len().saturating_sub(LISTED) {
            let _ = writeln!(out, "- … and {more} more, in the JSON of the report");
        }
    }
    if let Some(sentence) = follows(drift) {
        let _ = writeln!(out, "\n## What follows\n\n{}\n", inline(&sentence));
        drift.follows.iter().take(LISTED).for_each(|change| line(&mut out, change));
    }
    list(&mut out, "Not compared", &drift.not_compared);
    let _ = writeln!(out, "\n## Time and size\n\nFor information: {}.", inline(&cost(drift)));
    list(&mut out, "Left out", &drift.left_out);
    out
}

/// Writes a change: its place, the sentence, the recordings, and an example.
fn line(out: &mut String, change: &DriftChange) {
    let DriftChange { place, what, example, .. } = change;
    let _ = write!(out, "- {} {}", code(place), inline(what));
    let seen = shown_by(change);
    if !seen.is_empty() {
        let _ = write!(out, ", {}", inline(&seen));
    }
    if let Some(example) = example {
        let _ = write!(out, ": {}", code(&truncate(example, EXAMPLE, Keep::Start)));
    }
    out.push('\n');
}

fn list(out: &mut String, title: &str, all: &[NotCompared]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {title}\n");
    for NotCompared { what, why } in all {
        let _ = writeln!(out, "- {}: {}", inline(what), inline(why));
    }
}
