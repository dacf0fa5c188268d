//! Writes `compare.md`: the result of a comparison as a short text for a pull request. Recorded text is only in
//! code blocks.

use std::fmt::Write as _;

use clitape_recording::text::markdown::{self, inline};
use clitape_recording::text::{plain, plural};

use super::words::{counted, failures, side};
use crate::compare::Comparison;

/// The most lanes that are listed; the page has all of them.
const LANES: usize = 40;

/// Writes the text.
pub fn compare_text(comparison: &Comparison) -> String {
    let mut out = format!("## Before and after: {}\n\n", comparison.verdict());
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    let sides = sides.map(|(letter, about)| format!("{letter}  {}", plain(&side(about))));
    block(&mut out, &sides);
    let counted = counted(&comparison.counts());
    let (words, counts): (Vec<_>, Vec<_>) =
        counted.into_iter().map(|(what, count)| (what, count.to_string())).unzip();
    let _ = writeln!(out, "\n| {} |", words.join(" | "));
    let _ = writeln!(out, "|{}", "---:|".repeat(words.len()));
    let _ = writeln!(out, "| {} |", counts.join(" | "));
    let lanes: Vec<String> = comparison
        .differing()
        .flat_map(|one| one.lanes.iter().map(move |lane| (one, lane)))
        .map(|(one, lane)| {
            let place = format!("{} {} {}", one.scenario, one.version(), lane.view);
            plain(&format!("{place} ({}): {}", lane.class, lane.first))
        })
        .collect();
    if !lanes.is_empty() {
        out.push_str("\n### What differs\n\nA says what should be, B what is.\n\n");
        let mut shown = lanes[..lanes.len().min(LANES)].to_vec();
        if lanes.len() > LANES {
            let more = plural(lanes.len() - LANES, "more lane");
            shown.push(format!("… and {more}, on the page"));
        }
        block(&mut out, &shown);
    }
    let failures: Vec<String> = failures(comparison).iter().map(|line| plain(line)).collect();
    if !failures.is_empty() {
        out.push_str("\n### Could not be compared\n\n");
        block(&mut out, &failures);
    }
    out.push_str("\n### Not covered\n\n");
    for sentence in &comparison.uncovered {
        let _ = writeln!(out, "- {}", inline(sentence));
    }
    out
}

fn block(out: &mut String, lines: &[String]) {
    out.push_str(&markdown::block("text", &lines.join("\n")));
}
