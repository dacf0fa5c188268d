//! The rules that every run of every recording must keep, without a golden.
//!
//! A process has one turn or several, and the rules of a chat and of the bus apply to each turn by itself. `table`
//! lists the rules; each module has the checks of one part. A check of another gateway reports only defects that no
//! design explains: a gateway may put a status line above the answer and a footer below it, show the whole text or the
//! last part of it, delete its drafts, react with an emoji, and write Markdown, HTML or plain text.

mod answer;
mod bus;
mod chat;
mod editor;
mod event_stream;
mod failure;
mod interlude;
mod questions;
mod run;
mod session;
mod stdout;
mod table;
mod texts;
mod tools;
mod turns;
mod visible;

use clitape_recording::trace::Entry;

pub use super::case::Violation;
pub use table::{Needs, RULES, Rule, RuleScope, Stake};

use crate::FindingKind;
use crate::case::{Broken, Case, Derived, is_text};
use crate::observation::Observation;

/// The rules about the words of the model in an editor.
const EDITOR_TEXTS: [FindingKind; 4] = [
    FindingKind::AnswerMissing,
    FindingKind::AnswerNotWhole,
    FindingKind::AnswerTwice,
    FindingKind::TextUntold,
];

/// Applies the rules to an observation; returns the violations in the order of the table, one for each kind.
///
/// If the run broke off, the rules about the remains of a run are skipped, because their violations would all follow
/// from that.
pub fn judge(observation: &Observation) -> Vec<Violation> {
    let derived = Derived::default();
    let case = Case::new(observation, &derived);
    // A chunk that an editor can't read is lost, and the rules about missing words would report the same again.
    let is_lost = |entry: &Entry| is_text(entry) && entry.data.contains_key("refused");
    let lacks_text = case.setup.acp.is_some() && case.entries.iter().any(is_lost);
    let mut found: Vec<Violation> = Vec::new();
    for rule in RULES {
        let kind = rule.kind_of(case.own.is_some());
        let is_known = found.iter().any(|violation| violation.kind == kind);
        if is_known || lacks_text && EDITOR_TEXTS.contains(&kind) {
            continue;
        }
        if let Some(broken) = rule.broken_by(case) {
            let is_it = |entry: &Entry| broken.entry.is_some_and(|it| std::ptr::eq(it, entry));
            let entry = case.entries.iter().position(is_it);
            let Broken { sentence, beside, .. } = broken;
            found.push(Violation { kind, sentence, entry, beside });
        }
    }
    found
}

#[cfg(test)]
mod tests;
