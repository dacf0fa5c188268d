//! The rules that compare what a person saw with what the cassette says; none of them needs a golden.
//!
//! The facts of the cassette ([`clitape_recording::facts`]) say what must be read in the chat, turn by turn. [`judge`] reads
//! the chat and applies one table of rules ([`RULES`]). A rule convicts only of what no design explains: a gateway
//! may put a status line above the answer and a footer below it, show the whole text or the last part of
//! it, delete its drafts, react with an emoji, and write Markdown, HTML or plain text.
//! [`known`] lists differences that are known, with a reason and a date.
//!
//! `docs/subject-rules.md` explains every rule to a maintainer of a gateway.

mod case;
mod editor;
pub mod known;
mod rules;
mod unfinished;
mod violation;
mod words;

use clitape_recording::chat::ChatView;
pub use clitape_recording::text::asked::AskedText;
use clitape_recording::trace::Entry;
pub use editor::{EDITOR_RULES, EditorRule, judge_editor};
pub use rules::{RULES, Rule};
pub use violation::Violation;

use crate::observation::{Observation, RunEnding};
use case::Case;
use words::letters;

/// Applies every rule to an observation. The violations are in the order of the table.
///
/// If the run did not come to its end, the rules about what is left in the chat are not applied, because
/// everything that they would report follows from that.
pub fn judge(observation: &Observation<'_>) -> Vec<Violation> {
    let case = Case::new(observation);
    let is_over = observation.ending == RunEnding::Over;
    let rules = RULES.iter().filter(|rule| is_over || !rule.needs_end);
    rules.filter_map(|rule| (rule.check)(&case).map(|found| found.of(rule.kind))).collect()
}

/// What a person finally reads: the text of each message that is left in the chat, without its markup, or the text of
/// the model in an editor.
pub(crate) fn finally_read(entries: &[Entry]) -> Vec<String> {
    let view = ChatView::after(entries);
    let messages = view.messages().map(|message| message.plain_text().trim().to_owned());
    let chunks = entries.iter().filter(|entry| entry.kind == "agent_message_chunk");
    let text = |entry: &Entry| Some(entry.data.get("content")?["text"].as_str()?.to_owned());
    let told: String = chunks.filter_map(text).collect();
    messages.chain((!told.is_empty()).then_some(told)).collect()
}

/// Whether two texts say the same to a person, but for numbers: many gateways show how long something took.
pub(crate) fn says_the_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String {
        letters(text).chars().filter(|letter| !letter.is_numeric()).collect()
    };
    words(one) == words(other)
}

#[cfg(test)]
mod tests;
