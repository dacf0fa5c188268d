//! Compares the text that a person reads at the end of a chat with the text they would read without faults
//! or cuts.

use clitape_recording::chat::ChatView;
use clitape_recording::trace::Entry;
use serde_json::Value;

use super::change::{Change, Class, change_of};
use super::divergence::{quoted, zoom};
use super::lines::{DiffLine, align, line_marks};
use super::pairs::{Pair, pairs};

/// The kind of a chat's text in a list of differences that is made for entries of a trace.
const KIND: &str = "a line that is no entry";

/// The final texts of two chats, which are compared message by message.
#[derive(Debug)]
pub struct FinalTextDiff {
    old: Vec<String>,
    new: Vec<String>,
}

impl FinalTextDiff {
    /// Takes the final texts of the chat in `old`, which are expected, and of the chat in `new`.
    pub(crate) fn new(old: &[Entry], new: &[Entry]) -> Self {
        Self { old: final_text(old), new: final_text(new) }
    }

    /// Returns the first difference in one sentence, or `None` when the texts are equal.
    pub(crate) fn first(&self) -> Option<String> {
        (0..self.old.len().max(self.new.len())).find_map(|number| {
            match (self.old.get(number), self.new.get(number)) {
                (Some(old), Some(new)) if old == new => None,
                (Some(old), Some(new)) => {
                    let (old, new) = zoom(old, new);
                    Some(format!("expected “{old}”, got “{new}”"))
                }
                (Some(old), None) => Some(format!("expected {}, got nothing more", quoted(old))),
                (None, Some(new)) => Some(format!("expected nothing more, got {}", quoted(new))),
                (None, None) => None,
            }
        })
    }

    /// Returns a summary of the whole difference, and the texts side by side, each as a JSON string.
    pub fn difference(&self) -> (Option<Change>, Vec<DiffLine>) {
        let [old, new] = [&self.old, &self.new].map(|texts| {
            texts.iter().map(|text| Value::from(text.as_str()).to_string()).collect::<Vec<_>>()
        });
        let pairs = pairs(&line_marks(&old), &line_marks(&new));
        let change = change_of(pairs.iter().filter_map(|pair| {
            let how = match *pair {
                Pair::Both(i, j) if old[i] == new[j] => return None,
                Pair::Both(..) => "with other bytes",
                Pair::Old(_) => "missing",
                Pair::New(_) => "too many",
            };
            Some((Class::Contract, format!("{KIND} {how}")))
        }));
        (change, align(&pairs, &old, &new))
    }
}

/// Returns how the text at the end of `entries` differs from the text at the end of `base`, if it does: a
/// sentence and the difference.
pub fn wrong_final_text(base: &[Entry], entries: &[Entry]) -> Option<(String, FinalTextDiff)> {
    let diff = FinalTextDiff::new(base, entries);
    // A run in which the agent sends its message with a tool may be over before a draft is sent.
    if diff.new.is_empty() && is_by_tool(entries) {
        return None;
    }
    let sentence = format!("in the end a person reads something else: {}", diff.first()?);
    Some((sentence, diff))
}

/// Returns whether the agent has sent its message itself, with a tool.
fn is_by_tool(entries: &[Entry]) -> bool {
    let word = |entry: &Entry| entry.field("delivery").is_some_and(|word| word == "by-tool");
    entries.iter().any(|entry| entry.kind == "final" && word(entry))
}

/// The final text of a chat, message by message. The message of a question is none, because it says how long
/// the question waited.
fn final_text(entries: &[Entry]) -> Vec<String> {
    let view = ChatView::after(entries);
    let messages = view.final_messages().filter(|message| !message.is_question);
    messages.map(|message| message.text.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::entry_line::entry;

    /// Compares two chats with these messages, and expects this sentence and these consequences.
    fn check(old: &[&str], new: &[&str], sentence: Option<&str>, consequences: &[&str]) {
        let entries = |texts: &[&str]| -> Vec<Entry> {
            let sent = |(id, text): (u64, &&str)| {
                let data = serde_json::json!({ "message_id": id, "text": text });
                entry(&format!("{id} telegram sendMessage {data}"))
            };
            (1..).zip(texts).map(sent).collect()
        };
        let diff = FinalTextDiff::new(&entries(old), &entries(new));
        assert_eq!(diff.first().as_deref(), sentence);
        let (change, lines) = diff.difference();
        assert_eq!((change.is_some(), !lines.is_empty()), (sentence.is_some(), sentence.is_some()));
        assert_eq!(change.map(|change| change.consequences).unwrap_or_default(), consequences);
    }

    #[test]
    fn final_texts_are_compared_as_texts() {
        check(&["Hello"], &["Hello"], None, &[]);
        check(&["Hello"], &["Hell\n"], Some("expected “Hello”, got “Hell\\n”"), &[]);
        check(&["a"], &["a", "b"], Some("expected nothing more, got “b”"), &[]);
        check(&["a", "b"], &["a"], Some("expected “b”, got nothing more"), &[]);
        let consequences = ["1 × a line that is no entry missing"];
        check(&["a", "b"], &["c"], Some("expected “a”, got “c”"), &consequences);
    }
}
