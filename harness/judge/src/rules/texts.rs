//! The texts of the main conversation that a channel with all texts must have, in their order.
//!
//! They are the complete texts on stdout. Texts that broke off, the CLI's own words about an API error, the words of
//! subagents, and texts that the CLI has spoilt or that have reasoning between think tags are left out, because a
//! channel may treat them in more ways than one.

use std::collections::{BTreeMap, HashSet};

use clitape_recording::facts::{Facts, RecordedBlock, RecordedMessage};
use clitape_recording::text::{Keep, TextSearch, plain, truncate};

/// The number of characters from which a repetition of a text is searched; a shorter one may be part of another.
const REPEATED_LENGTH: usize = 16;
/// The columns of a text that a sentence quotes.
const BEGINNING: usize = 60;

/// A complete text on stdout.
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

/// Returns the text of a block; `None` if it is incomplete, ambiguous or blank.
fn whole_text(block: &RecordedBlock) -> Option<WholeText<'_>> {
    let text = block.whole.as_deref().filter(|_| block.is_plain())?.trim();
    let text = WholeText { text, calls_before: block.calls_before };
    (!text.text.is_empty()).then_some(text)
}

/// Returns the first of `texts` that is missing from `shown`, where they follow each other in order.
pub(crate) fn missing<'t>(texts: &'t [WholeText<'t>], shown: &str) -> Option<&'t str> {
    TextsSoFar::new(texts).missing_before(usize::MAX, shown)
}

/// A search for texts in a growing output, one behind the other.
pub(crate) struct TextsSoFar<'t> {
    left: std::slice::Iter<'t, WholeText<'t>>,
    /// The bytes of `shown` up to the end of the last text that was found.
    end: usize,
}

impl<'t> TextsSoFar<'t> {
    pub(crate) fn new(texts: &'t [WholeText<'t>]) -> Self {
        Self { left: texts.iter(), end: 0 }
    }

    /// Returns the first missing text of those before the call with a number. `shown` begins with its earlier content.
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

/// Returns the first text that is in `shown` more often than on stdout: in a message, or in the result of a turn
/// without a message that has it.
pub(crate) fn repeated<'s>(facts: &'s Facts, shown: &str) -> Option<&'s str> {
    let texts = whole_texts(facts).into_iter().map(|text| text.text);
    let long: Vec<&str> = texts.filter(|text| text.chars().count() >= REPEATED_LENGTH).collect();
    let search = TextSearch::new(long.iter().copied());
    let mut shown = search.times_in(shown);
    // Stdout has each text at least once.
    shown.retain(|_, times| *times > 1);
    if shown.is_empty() {
        return None;
    }
    let recorded = times_recorded(facts, &search);
    let mut more_often = shown.iter().filter(|(number, times)| recorded.get(number) < Some(times));
    more_often.next().map(|(number, _)| long[*number])
}

/// Counts the occurrences of each text on stdout.
fn times_recorded(facts: &Facts, search: &TextSearch<'_>) -> BTreeMap<usize, usize> {
    let mut all: BTreeMap<usize, usize> = BTreeMap::new();
    // The turns that have a text in a message.
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

/// Returns the beginning of a text, for a sentence about it.
pub(crate) fn beginning(text: &str) -> String {
    truncate(&plain(text), BEGINNING, Keep::Start).into_owned()
}

fn is_main(message: &RecordedMessage) -> bool {
    message.parent.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the facts of a stdout with these texts, one message each.
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
