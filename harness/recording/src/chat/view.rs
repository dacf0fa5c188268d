//! What a person sees in a chat: one fold over the calls of the Telegram lane.
//!
//! Everything that shows or compares a chat uses this fold, so that no two of them can disagree:
//! the equivalence of plans, the comparison of two sides, the proof's text, the page and the
//! pictures. It has one policy for calls that go wrong:
//!
//! - A call that the server refused (`"shown": false`) changes nothing.
//! - A call that was done and whose answer was lost changes the chat like any other: the person
//!   sees it, although the caller does not know.
//! - A new message of the draft whose answer was lost stays in the chat for good, because no caller
//!   knows its number. A person sees it, but it is no part of the [final text](ChatView::final_text).
//! - Of calls that overlap (`"done_at"`), the one that the server did last gives a message its text, whatever the order
//!   in which they were made.

use std::collections::BTreeMap;

use crate::scenario::{ChatProfile, FaultKind};
use crate::text::markup::{BUTTON, Span, button, literal, spans};
use serde_json::Value;

use crate::trace::{Entry, Lane};

/// The field of a call that has what a person reads as the Bot API's HTML, where the text was sent in another form: in
/// Markdown, without markup, or with entities that are not the usual ones. Every drawing of a chat goes by it.
pub const CALL_HTML: &str = "html";

/// A chat at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatView {
    messages: BTreeMap<u64, SeenMessage>,
}

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenMessage {
    /// The text in the markup of the chat's service.
    pub text: String,
    /// The name of the file that it brings.
    pub file: Option<String>,
    /// The labels of its buttons, row by row; empty when it has none.
    pub buttons: Vec<Vec<String>>,
    /// Whether the message asks a question, or says what became of it.
    pub is_question: bool,
    /// How often the text was edited.
    pub edits: u64,
    /// Whether the message contains a part of the final text.
    pub is_final: bool,
    /// Whether it is a draft whose number is unknown, because the answer to its call was lost.
    pub is_orphaned: bool,
    /// The index of the entry that gave it its text, among the entries that were applied.
    pub entry: usize,
    /// When the server did the call that gave it its text, if that call overlapped another one.
    pub done_at: Option<u64>,
}

/// The change of a chat by an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatChange {
    /// The entry is of another lane, was refused, or marks what was marked before.
    Nothing,
    /// A call gave a message the text that it had.
    SameText,
    /// A message is new, has another text, or is deleted.
    Text,
    /// The text that a message has is now known to be final.
    Final,
}

impl ChatView {
    /// The chat after all of `entries`, those of other lanes left out.
    pub fn after(entries: &[Entry]) -> Self {
        let mut view = Self::default();
        for (number, entry) in entries.iter().enumerate() {
            view.apply(number, entry);
        }
        view
    }

    /// Applies the entry with the index `number`.
    pub fn apply(&mut self, number: usize, entry: &Entry) -> ChatChange {
        if entry.lane != Lane::Telegram || !entry.is_shown() {
            return ChatChange::Nothing;
        }
        if entry.kind == "final" {
            return self.mark_final(entry);
        }
        if entry.kind.starts_with("deleteMessage") {
            return self.remove(entry);
        }
        let id = entry.field("message_id").and_then(Value::as_u64);
        let text = entry.field(CALL_HTML).or_else(|| entry.field("text")).and_then(Value::as_str);
        let (Some(id), Some(text)) = (id, text) else { return ChatChange::Nothing };
        let before = self.messages.get(&id);
        let done_at = entry.field("done_at").and_then(Value::as_u64);
        let is_overtaken = |before: &SeenMessage| done_at.is_some() && done_at < before.done_at;
        if before.is_some_and(is_overtaken) {
            return ChatChange::Nothing;
        }
        let is_same =
            before.is_some_and(|before| before.text == text && before.buttons == entry.buttons());
        let edits = before.map_or(0, |before| before.edits + 1);
        let message = SeenMessage {
            text: text.to_owned(),
            file: entry.field("file").and_then(Value::as_str).map(str::to_owned),
            buttons: entry.buttons(),
            is_question: entry.field("question").is_some(),
            edits,
            is_final: entry.is_final(),
            is_orphaned: entry.is_lost_draft(),
            entry: number,
            done_at,
        };
        self.messages.insert(id, message);
        if is_same { ChatChange::SameText } else { ChatChange::Text }
    }

    /// Removes the messages that an entry deletes: the one of `message_id`, or those of `message_ids`.
    fn remove(&mut self, entry: &Entry) -> ChatChange {
        let listed = entry.field("message_ids").and_then(Value::as_array).into_iter().flatten();
        let ids = entry.field("message_id").into_iter().chain(listed).filter_map(Value::as_u64);
        let removed = ids.filter(|id| self.messages.remove(id).is_some()).count();
        if removed > 0 { ChatChange::Text } else { ChatChange::Nothing }
    }

    /// Marks the messages that an entry names as holding the final text.
    fn mark_final(&mut self, entry: &Entry) -> ChatChange {
        let ids = entry.field("message_ids").and_then(Value::as_array);
        let mut is_new = false;
        for id in ids.into_iter().flatten().filter_map(Value::as_u64) {
            if let Some(message) = self.messages.get_mut(&id) {
                is_new |= !std::mem::replace(&mut message.is_final, true);
            }
        }
        if is_new { ChatChange::Final } else { ChatChange::Nothing }
    }

    /// All messages that a person sees, the oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &SeenMessage> + ExactSizeIterator {
        self.messages.values()
    }

    /// The same with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &SeenMessage)> {
        self.messages.iter().map(|(id, message)| (*id, message))
    }

    /// The messages that a person ends up reading, the oldest first: all but orphaned drafts.
    pub fn final_messages(&self) -> impl Iterator<Item = &SeenMessage> {
        self.messages().filter(|message| !message.is_orphaned)
    }

    /// The texts of the [final messages](Self::final_messages).
    pub fn final_text(&self) -> Vec<&str> {
        self.final_messages().map(|message| message.text.as_str()).collect()
    }
}

impl SeenMessage {
    /// The text as runs with marks; its file and the buttons are below it, a line for each row.
    pub fn spans(&self, profile: ChatProfile) -> Vec<Span> {
        let mut all = match profile {
            ChatProfile::Telegram => spans(&self.text),
            // The marks of other services are shown as they are written.
            ChatProfile::Discord | ChatProfile::Slack => vec![literal(&self.text, "")],
        };
        if let Some(file) = &self.file {
            all.push(literal(&format!("\n📎 {file}"), ""));
        }
        for row in &self.buttons {
            for (place, label) in row.iter().enumerate() {
                all.push(literal(if place == 0 { "\n" } else { " " }, ""));
                all.push(literal(&button(label), BUTTON));
            }
        }
        all
    }
}

/// The answer of the chat's server to a call.
impl Entry {
    /// Whether a call's text reached the chat. The text of a refused call did not.
    pub fn is_shown(&self) -> bool {
        self.field("shown") != Some(&Value::Bool(false))
    }

    /// The labels of the buttons that a call gives its message, row by row.
    pub fn buttons(&self) -> Vec<Vec<String>> {
        let rows = self.field("buttons").and_then(Value::as_array);
        let label = |button: &Value| button.as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| row.as_array().into_iter().flatten().map(label).collect();
        rows.into_iter().flatten().map(row).collect()
    }

    /// Whether a call carries a part of the final text, or the entry says that it is delivered.
    pub fn is_final(&self) -> bool {
        self.kind == "final" || self.field("final") == Some(&Value::Bool(true))
    }

    /// Whether this is a new message of the draft that reached the chat and whose answer was lost.
    pub fn is_lost_draft(&self) -> bool {
        let is_new = ["sendMessage", "sendDocument"].contains(&self.kind.as_ref());
        is_new && !self.is_final() && self.is_lost()
    }

    /// Whether the call was done and its answer never came.
    pub fn is_lost(&self) -> bool {
        [FaultKind::LostReply, FaultKind::Hang].map(FaultKind::as_str).contains(&self.answer())
    }

    /// The seconds that the server asked to wait, if it did.
    pub fn wait_s(&self) -> Option<u64> {
        let (kind, wait) = self.answer().split_once(':')?;
        (kind == FaultKind::RateLimit.as_str()).then(|| wait.strip_suffix('s')?.parse().ok())?
    }

    /// The error of the call, or an empty text.
    fn answer(&self) -> &str {
        self.text("answer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies calls such as `send 1 a`, `edit 1 b lost-reply`, `edit 1 c refused`, `final 1`;
    /// compares the messages that are seen and the final text.
    fn check(calls: &[&str], seen: &[&str], final_text: &[&str]) {
        let entries: Vec<Entry> = calls
            .iter()
            .map(|call| {
                let words: Vec<&str> = call.split(' ').collect();
                let [kind, id] = [words[0], words[1]];
                let text = words.get(2).unwrap_or(&"");
                let extra = match words.get(3) {
                    None => String::new(),
                    Some(&"refused") => r#","answer":"server-error","shown":false"#.to_owned(),
                    Some(&"final") => r#","final":true"#.to_owned(),
                    Some(word) => match word.strip_prefix("html=") {
                        Some(html) => format!(r#","html":"{html}""#),
                        None => format!(r#","answer":"{word}""#),
                    },
                };
                let kind = match kind {
                    "send" => "sendMessage",
                    "edit" => "editMessageText",
                    "delete" => "deleteMessage",
                    kind => kind,
                };
                let data = match kind {
                    "final" => format!(r#"{{"message_ids":[{id}]}}"#),
                    _ => format!(r#"{{"message_id":{id},"text":"{text}"{extra}}}"#),
                };
                let line = format!(r#"{{"at":1,"lane":"telegram","kind":"{kind}","data":{data}}}"#);
                serde_json::from_str(&line).unwrap()
            })
            .collect();
        let view = ChatView::after(&entries);
        let shown = view.messages().map(|message| {
            let end = if message.is_final { " final" } else { "" };
            format!("{}+{}{end}", message.text, message.edits)
        });
        assert_eq!(shown.collect::<Vec<_>>(), seen, "{calls:?}");
        assert_eq!(view.final_text(), final_text, "{calls:?}");
    }

    #[test]
    fn one_policy_for_calls_that_go_wrong() {
        check(&["send 1 a", "edit 1 b"], &["b+1"], &["b"]);
        check(&["send 1 a html=b"], &["b+0"], &["b"]);
        check(&["send 1 a", "edit 1 b refused"], &["a+0"], &["a"]);
        check(&["send 1 a", "edit 1 b lost-reply"], &["b+1"], &["b"]);
        check(&["send 1 a lost-reply", "send 2 b"], &["a+0", "b+0"], &["b"]);
        check(&["send 1 a hang", "send 2 b final"], &["a+0", "b+0 final"], &["b"]);
        check(&["send 1 a", "final 1"], &["a+0 final"], &["a"]);
        check(&["send 2 b", "send 1 a"], &["a+0", "b+0"], &["a", "b"]);
        check(&["send 1 a", "send 2 b", "delete 1"], &["b+0"], &["b"]);
        check(&["send 1 a", "delete 1  refused", "delete 2"], &["a+0"], &["a"]);
        check(&[], &[], &[]);
    }
}
