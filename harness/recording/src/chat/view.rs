//! The chat at one moment, and the effect of each call on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::call::EDIT_BUTTONS;
use crate::scenario::ChatProfile;
use crate::text::markup::{BUTTON, Span, button, literal, read, spans};
use crate::text::shown::letters;
use crate::trace::{Entry, Lane};

/// A chat at one moment.
#[derive(Debug, Clone, Default)]
pub struct ChatView {
    messages: BTreeMap<u64, SeenMessage>,
    /// The numbers of the messages that were deleted.
    deleted: BTreeSet<u64>,
}

/// One message of a chat at one moment.
#[derive(Debug, Clone)]
pub struct SeenMessage {
    /// The text in the markup of the chat's service.
    pub text: Arc<str>,
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
    /// Whether the answer to the call that sent it was lost, so that no caller can change or delete it.
    pub is_out_of_reach: bool,
    /// The index of the entry that gave it its text, among the entries that were applied.
    pub entry: usize,
    /// The time from which on it is seen, in ms.
    pub at: u64,
    /// When the server did the call that gave it its text, if that call overlapped another one.
    done_at: Option<u64>,
    /// What a person reads, from when it is first asked for.
    reading: OnceLock<Reading>,
}

/// The text of a message without its markup.
#[derive(Debug, Clone)]
struct Reading {
    text: String,
    letters: String,
}

/// The effect of an entry on a chat.
pub(super) enum Effect {
    /// The entry changes nothing.
    Nothing,
    /// The message with this number is new, or is now as this.
    Seen(u64, SeenMessage),
    /// The message with this number was as this before the text that it has.
    Overtaken(u64, SeenMessage),
    /// The messages with these numbers are gone.
    Deleted(Vec<u64>),
    /// The messages with these numbers have the final text.
    Final(Vec<u64>),
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
        let effect = self.effect(number, entry);
        self.take(effect)
    }

    /// Returns the effect that the entry with the index `number` has now.
    pub(super) fn effect(&self, number: usize, entry: &Entry) -> Effect {
        if entry.lane != Lane::Telegram || !entry.is_shown() {
            return Effect::Nothing;
        }
        let known = || entry.message_ids().filter(|id| self.messages.contains_key(id)).collect();
        match entry.kind.as_ref() {
            "final" => Effect::Final(known()),
            "deleteMessage" | "deleteMessages" => Effect::Deleted(known()),
            _ => self.text_effect(number, entry).unwrap_or(Effect::Nothing),
        }
    }

    /// Returns the effect of a call that gives a message a text or buttons; `None` for any other call.
    fn text_effect(&self, number: usize, entry: &Entry) -> Option<Effect> {
        let edits_buttons = entry.kind == EDIT_BUTTONS;
        if !entry.sets_text() && !edits_buttons {
            return None;
        }
        let id = entry.message_id()?;
        if !entry.makes_message() && self.deleted.contains(&id) {
            return None;
        }
        let before = self.messages.get(&id);
        let text = match entry.html() {
            Some(html) => html.into(),
            None => before.filter(|_| edits_buttons)?.text.clone(),
        };
        let file = entry.field("file").and_then(Value::as_str).map(str::to_owned);
        let kept = || before.filter(|_| !entry.makes_message())?.file.clone();
        let done_at = entry.field("done_at").and_then(Value::as_u64);
        let message = SeenMessage {
            text,
            file: file.or_else(kept),
            buttons: entry.buttons(),
            is_question: entry.field("question").is_some(),
            edits: before.map_or(0, |before| before.edits + 1),
            is_final: entry.is_final(),
            is_out_of_reach: entry.makes_message() && entry.is_lost(),
            entry: number,
            at: entry.seen_at(),
            done_at,
            reading: OnceLock::new(),
        };
        let is_overtaken =
            before.is_some_and(|before| done_at.is_some() && done_at < before.done_at);
        Some(if is_overtaken { Effect::Overtaken(id, message) } else { Effect::Seen(id, message) })
    }

    /// Changes the chat by an effect that an entry has now.
    pub(super) fn take(&mut self, effect: Effect) -> ChatChange {
        match effect {
            Effect::Nothing | Effect::Overtaken(..) => ChatChange::Nothing,
            Effect::Seen(id, message) => {
                self.deleted.remove(&id);
                let is_same = self.messages.get(&id).is_some_and(|before| {
                    before.text == message.text && before.buttons == message.buttons
                });
                self.messages.insert(id, message);
                if is_same { ChatChange::SameText } else { ChatChange::Text }
            }
            Effect::Deleted(ids) => {
                for id in &ids {
                    self.messages.remove(id);
                }
                let is_changed = !ids.is_empty();
                self.deleted.extend(ids);
                if is_changed { ChatChange::Text } else { ChatChange::Nothing }
            }
            Effect::Final(ids) => {
                let mut is_new = false;
                for id in ids {
                    if let Some(message) = self.messages.get_mut(&id) {
                        is_new |= !std::mem::replace(&mut message.is_final, true);
                    }
                }
                if is_new { ChatChange::Final } else { ChatChange::Nothing }
            }
        }
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
        self.messages().filter(|message| !message.is_orphaned())
    }

    /// The texts of the [final messages](Self::final_messages).
    pub fn final_text(&self) -> Vec<&str> {
        self.final_messages().map(|message| &*message.text).collect()
    }
}

impl SeenMessage {
    /// Whether it is a draft that no caller can reach: it stays for good and has no part of the final text.
    pub fn is_orphaned(&self) -> bool {
        self.is_out_of_reach && !self.is_final
    }

    /// The text that a person reads in Telegram: without its markup, and with characters that hide.
    pub fn plain_text(&self) -> &str {
        &self.reading().text
    }

    /// The letters and digits of the [text](Self::plain_text), in lower case.
    pub fn letters(&self) -> &str {
        &self.reading().letters
    }

    fn reading(&self) -> &Reading {
        self.reading.get_or_init(|| {
            let text = read(&self.text);
            let letters = letters(&text);
            Reading { text, letters }
        })
    }

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
