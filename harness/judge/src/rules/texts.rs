//! The texts of the main conversation that a channel with all texts must have, in their order.
//!
//! They are those that stdout states as whole. What broke off, what the CLI says itself about an error of the API, what
//! subagents say, and texts that the CLI has spoilt or that have reasoning between think tags are left out, because a
//! channel may treat them in more ways than one.

use std::collections::{BTreeMap, HashSet};

use clitape_recording::facts::{Facts, RecordedBlock, RecordedMessage};
use clitape_recording::text::{Keep, TextSearch, plain, truncate};

/// Characters that a text has at least for a search for its repetition: a short one may be part of another.
const REPEATED_LENGTH: usize = 16;
/// Columns of a text in a sentence about it.
const BEGINNING: usize = 60;

/// A text that stdout states as whole.
pub(crate) struct WholeText<'s> {
    /// The text without the blanks around it.
    pub(crate) text: &'s str,
    /// The number of calls of the main conversation that began before it.
    pub(crate) calls_before: usize,
}

/// The texts of the main conversation, in their order.
pub(crate) fn whole_texts(facts: &Facts) -> Vec<WholeText<'_>> {
    let messages = facts.messages.iter().filter(|message| is_main(message) && !message.is_error);
    messages.flat_map(|message| &message.texts).filter_map(whole_text).collect()
}

/// The text of a block that stdout states as whole.
fn whole_text(block: &RecordedBlock) -> Option<WholeText<'_>> {
    let text = block.whole.as_deref().filter(|_| block.is_plain())?.trim();
    let text = WholeText { text, calls_before: block.calls_before };
    (!text.text.is_empty()).then_some(text)
}

/// The first of `texts` that is not in `shown`, in their order.
pub(crate) fn missing<'t>(texts: &'t [WholeText<'t>], shown: &str) -> Option<&'t str> {
    TextsSoFar::new(texts).missing_before(usize::MAX, shown)
}

/// Looks for texts in what is shown, one behind the other, while more is shown.
pub(crate) struct TextsSoFar<'t> {
    left: std::slice::Iter<'t, WholeText<'t>>,
    /// The bytes of `shown` up to the end of the last text that is there.
    end: usize,
}

impl<'t> TextsSoFar<'t> {
    pub(crate) fn new(texts: &'t [WholeText<'t>]) -> Self {
        Self { left: texts.iter(), end: 0 }
    }

    /// The first missing one of the texts before the call with a number. `shown` begins with what it was before.
    pub(crate) fn missing_before(&mut self, call: usize, shown: &str) -> Option<&'t str> {
        while let [next, ..] = self.left.as_slice() {
            if next.calls_before > call {
                break;
            }
            let Some(at) = shown.get(self.end..).and_then(|rest| rest.find(next.text)) else {
                return Some(next.text);
            };
            self.end += at + next.text.len();
            self.left.next();
        }
        None
    }
}

/// The first text that is in `shown` more often than stdout says it: in a message, or in the result of a turn in which
/// no message has it.
pub(crate) fn repeated<'s>(facts: &'s Facts, shown: &str) -> Option<&'s str> {
    let texts = whole_texts(facts).into_iter().map(|text| text.text);
    let long: Vec<&str> = texts.filter(|text| text.chars().count() >= REPEATED_LENGTH).collect();
    let search = TextSearch::new(long.iter().copied());
    let mut shown = search.times_in(shown);
    // Stdout says each of them once at least.
    shown.retain(|_, times| *times > 1);
    if shown.is_empty() {
        return None;
    }
    let recorded = times_recorded(facts, &search);
    let mut more_often = shown.iter().filter(|(number, times)| recorded.get(number) < Some(times));
    more_often.next().map(|(number, _)| long[*number])
}

/// How often stdout says each of the texts.
fn times_recorded(facts: &Facts, search: &TextSearch<'_>) -> BTreeMap<usize, usize> {
    let mut all: BTreeMap<usize, usize> = BTreeMap::new();
    // The turns that say a text in a message.
    let mut said: HashSet<(usize, usize)> = HashSet::new();
    for message in &facts.messages {
        for block in &message.texts {
            for (number, times) in search.times_in(block.text()) {
                *all.entry(number).or_default() += times;
                said.insert((message.turn, number));
            }
        }
    }
    for (turn, result) in facts.turns.iter().enumerate() {
        let alone = search.times_in(&result.text).into_keys();
        for number in alone.filter(|number| !said.contains(&(turn, *number))) {
            *all.entry(number).or_default() += 1;
        }
    }
    all
}

/// The beginning of a text, for a sentence about it.
pub(crate) fn beginning(text: &str) -> String {
    truncate(&plain(text), BEGINNING, Keep::Start).into_owned()
}

fn is_main(message: &RecordedMessage) -> bool {
    message.parent.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of `stdout`, one message each.
    fn facts_of(texts: &[&str]) -> Facts {
        let message = |text: &&str| RecordedMessage {
            texts: vec![RecordedBlock {
                whole: Some((*text).to_owned()),
                ..RecordedBlock::default()
            }],
            ..RecordedMessage::default()
        };
        Facts { messages: texts.iter().map(message).collect(), ..Facts::default() }
    }

    #[test]
    fn texts_are_in_order_and_once() {
        let check = |texts: &[&str], shown: &str, lost: Option<&str>, twice: Option<&str>| {
            let facts = facts_of(texts);
            assert_eq!(missing(&whole_texts(&facts), shown), lost, "{texts:?} {shown}");
            assert_eq!(repeated(&facts, shown), twice, "{texts:?} {shown}");
        };
        let long = "The release is on Monday.";
        check(&["a", "b"], "a\n\nb", None, None);
        check(&["a", "b"], "b\n\na", Some("b"), None);
        check(&["a", " b\n", ""], "a", Some("b"), None);
        check(&[long], &format!("{long}\n\n{long}"), None, Some(long));
        check(&[long, long], &format!("{long}\n\n{long}"), None, None);
        check(&["a"], "a a", None, None);
        check(&["<think>x</think>a"], "", None, None);
    }
}
