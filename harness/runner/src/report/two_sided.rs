//! Puts the messages of the person between those of the agent, in the order in which they came.
//!
//! The agent's side is the [`ChatView`], and its questions have their buttons while they are open. The person's side is
//! known if a replay has the host's lines; if the prompt is on the command line, it is the person's one message.

use clitape_recording::chat::{ChatChange, ChatView, SeenMessage};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::{BUTTON, Span, button, literal};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

/// The mark on text and buttons of the person.
pub(super) const OWN: &str = "own";

/// A chat with the messages of both sides.
#[derive(Debug, Default)]
pub(super) struct TwoSidedChat {
    view: ChatView,
    written: Vec<WrittenMessage>,
}

/// The words on the button with which the person interrupts the agent.
pub(super) const STOP: &str = "⏹ Stop";

/// The act of the person in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PersonAct<'a> {
    /// The person writes a message.
    Writes(&'a str),
    /// The person interrupts the agent.
    Interrupts,
}

/// A message that the person wrote, or the button that the person pressed.
#[derive(Debug)]
pub(super) struct WrittenMessage {
    span: Span,
    /// The number of messages of the agent above it.
    above: usize,
    /// The index of the entry that it comes from.
    entry: usize,
}

/// A message of either side.
#[derive(Debug, Clone, Copy)]
pub(super) enum TwoSidedMessage<'a> {
    /// The person wrote it, or pressed it.
    Written(&'a WrittenMessage),
    /// The agent shows it.
    Seen(&'a SeenMessage),
}

impl TwoSidedChat {
    /// Applies the entry with the index `number`.
    pub(super) fn apply(&mut self, number: usize, entry: &Entry) -> ChatChange {
        let span = match act(entry) {
            None => return self.view.apply(number, entry),
            Some(PersonAct::Writes(text)) => asked(text),
            Some(PersonAct::Interrupts) => literal(&button(STOP), &format!("{OWN} {BUTTON}")),
        };
        // The deletion of a message above must not move this one above an earlier message of the person.
        let above = self.written.last().map_or(0, |before| before.above);
        let above = above.max(self.view.messages().len());
        self.written.push(WrittenMessage { span, above, entry: number });
        ChatChange::Text
    }

    /// Returns all messages in the order in which they came.
    pub(super) fn messages(&self) -> Vec<TwoSidedMessage<'_>> {
        self.latest(usize::MAX)
    }

    /// Returns the last `most` messages in the order in which they came.
    pub(super) fn latest(&self, most: usize) -> Vec<TwoSidedMessage<'_>> {
        let mut written = self.written.iter().rev().peekable();
        let mut messages = Vec::new();
        for (place, seen) in self.view.messages().enumerate().rev() {
            while let Some(message) = written.next_if(|message| message.above > place) {
                messages.push(TwoSidedMessage::Written(message));
            }
            messages.push(TwoSidedMessage::Seen(seen));
            if messages.len() >= most {
                break;
            }
        }
        messages.extend(written.map(TwoSidedMessage::Written));
        messages.truncate(most);
        messages.reverse();
        messages
    }

    /// Returns the number of messages of both sides, and of those of the person.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.view.messages().len() + self.written.len(), self.written.len())
    }
}

impl TwoSidedMessage<'_> {
    /// Returns whether it is a message of the person.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Written(_))
    }

    /// Returns the index of the entry with its text.
    pub(super) fn entry(self) -> usize {
        match self {
            Self::Written(message) => message.entry,
            Self::Seen(message) => message.entry,
        }
    }

    /// Returns the text as runs with marks; below it, the buttons, a line for each row.
    pub(super) fn spans(self, profile: ChatProfile) -> Vec<Span> {
        match self {
            Self::Written(message) => vec![message.span.clone()],
            Self::Seen(message) => message.spans(profile),
        }
    }
}

/// Marks a text as one of the person.
pub(super) fn asked(text: &str) -> Span {
    literal(text, OWN)
}

/// Returns the act of the person in an entry, if there is one.
pub(super) fn act(entry: &Entry) -> Option<PersonAct<'_>> {
    if entry.lane != Lane::Lifecycle || entry.kind != "host_message" {
        return None;
    }
    let word = |key: &str| entry.field(key).and_then(Value::as_str);
    match word("type")? {
        "user" => word("text").filter(|text| !text.is_empty()).map(PersonAct::Writes),
        "interrupt" => Some(PersonAct::Interrupts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies entries such as `write a`, `interrupt`, `send 1 b`, `ask 2 c`, `edit 2 d`; checks the messages, those of
    /// the person with a `>` before them.
    fn check(entries: &[&str], expect: &[&str]) {
        let mut chat = TwoSidedChat::default();
        for (number, entry) in entries.iter().enumerate() {
            let words: Vec<&str> = entry.split(' ').collect();
            let (lane, kind, data) = match words[..] {
                ["write", text] => {
                    ("lifecycle", "host_message", format!(r#""type":"user","text":"{text}""#))
                }
                [kind] => ("lifecycle", "host_message", format!(r#""type":"{kind}""#)),
                ["ask", id, text] => {
                    let buttons = r#""question":"q","buttons":[["Yes","No"],["Always\u001b"]]"#;
                    let data = format!(r#""message_id":{id},"text":"{text}",{buttons}"#);
                    ("telegram", "sendMessage", data)
                }
                [kind, id, text] => {
                    let kind = if kind == "send" { "sendMessage" } else { "editMessageText" };
                    ("telegram", kind, format!(r#""message_id":{id},"text":"{text}""#))
                }
                _ => panic!("{entry}"),
            };
            let line = format!(r#"{{"at":1,"lane":"{lane}","kind":"{kind}","data":{{{data}}}}}"#);
            chat.apply(number, &serde_json::from_str(&line).unwrap());
        }
        let shown = chat.messages().into_iter().map(|message| {
            let spans = message.spans(ChatProfile::Telegram);
            let text: String = spans.into_iter().map(|span| span.text).collect();
            format!("{}{text}", if message.is_own() { ">" } else { "" })
        });
        assert_eq!(shown.collect::<Vec<_>>(), expect, "{entries:?}");
    }

    #[test]
    fn messages_of_both_sides_are_in_the_order_in_which_they_came() {
        check(&["initialize", "write a", "send 1 b"], &[">a", "b"]);
        check(&["write a", "send 1 b", "write c", "edit 1 d"], &[">a", "d", ">c"]);
        check(&["write a", "write b", "send 1 c", "send 2 d"], &[">a", ">b", "c", "d"]);
        check(&["send 1 a", "set_model", "write <b>", "send 2 c"], &["a", "><b>", "c"]);
    }

    #[test]
    fn an_interrupt_is_a_button_that_the_person_presses() {
        check(&["send 1 a", "interrupt", "send 2 b"], &["a", ">[ ⏹ Stop ]", "b"]);
        check(&["interrupt", "send 1 a", "edit 1 b"], &[">[ ⏹ Stop ]", "b"]);
    }

    #[test]
    fn a_question_has_its_buttons_until_it_is_answered() {
        check(&["ask 1 a&amp;b"], &["a&b\n[ Yes ] [ No ]\n[ Always␛ ]"]);
        check(&["ask 1 a", "edit 1 allowed"], &["allowed"]);
    }
}
