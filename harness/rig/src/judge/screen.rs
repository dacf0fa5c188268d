//! The history of a chat's screen: every message that a person saw, with each text it had and when.
//!
//! What a person sees at one moment is `ChatView`'s business; the rules also ask how long something was
//! there, so the judge keeps all of it. Calls that were refused change nothing, and calls whose answer was
//! lost change the screen like any other.

use std::collections::BTreeMap;

use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::words::{letters, plain};

/// Every message of the bot, by its number.
#[derive(Debug, Default)]
pub(super) struct Screen {
    pub(super) messages: BTreeMap<i64, Message>,
}

/// A message of the bot.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: i64,
    /// Its texts, at least one, the oldest first.
    pub(super) versions: Vec<Version>,
    /// When it was deleted, and by which entry.
    pub(super) deleted: Option<(u64, usize)>,
    /// Whether the answer to the call that sent it was lost, so that the subject does not know its number.
    is_lost: bool,
}

/// What a message said from a moment on.
#[derive(Debug, Clone)]
pub(super) struct Version {
    /// When it was seen, in ms.
    pub(super) at: u64,
    /// The entry that changed it.
    pub(super) entry: usize,
    /// The text without markup.
    pub(super) text: String,
    /// The letters and digits of the text.
    pub(super) letters: String,
    /// The labels of its buttons.
    pub(super) buttons: Vec<String>,
}

impl Message {
    /// What it said last.
    pub(super) fn last(&self) -> &Version {
        &self.versions[self.versions.len() - 1]
    }

    /// Whether the subject can neither change nor delete it, because it was never told its number.
    pub(super) fn is_out_of_reach(&self) -> bool {
        self.is_lost && self.versions.len() == 1
    }

    /// When it was first seen.
    pub(super) fn born(&self) -> u64 {
        self.versions[0].at
    }

    /// What it said once the entry with this index had happened; none if it was not there.
    pub(super) fn after(&self, entry: usize) -> Option<&Version> {
        if self.deleted.is_some_and(|(_, by)| by <= entry) {
            return None;
        }
        self.versions.iter().rev().find(|version| version.entry <= entry)
    }
}

impl Screen {
    /// Reads the calls of a chat.
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut screen = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            if entry.lane == Lane::Telegram && is_shown(entry) {
                screen.apply(index, entry);
            }
        }
        screen
    }

    fn apply(&mut self, index: usize, entry: &Entry) {
        let at = answered_at(entry);
        match entry.kind.as_ref() {
            "deleteMessage" | "deleteMessages" => {
                for id in ids(entry) {
                    if let Some(message) = self.messages.get_mut(&id) {
                        message.deleted.get_or_insert((at, index));
                    }
                }
            }
            "editMessageReplyMarkup" => {
                let message = message_id(entry).and_then(|id| self.messages.get_mut(&id));
                if let Some(message) = message {
                    let (entry, buttons) = (index, entry.buttons().concat());
                    let version = Version { at, entry, buttons, ..message.last().clone() };
                    message.versions.push(version);
                }
            }
            kind if changes_text(kind) => {
                let (Some(id), Some(text)) = (message_id(entry), text(entry)) else { return };
                let text = plain(text, entry.text("parse_mode"));
                let letters = letters(&text);
                let version =
                    Version { at, entry: index, text, letters, buttons: entry.buttons().concat() };
                let is_lost = ["lost-reply", "hang"].contains(&entry.text("answer"));
                let message = Message { id, versions: Vec::new(), deleted: None, is_lost };
                self.messages.entry(id).or_insert(message).versions.push(version);
            }
            _ => {}
        }
    }

    /// The messages that are there once the entry with this index has happened, the oldest first.
    pub(super) fn after(&self, entry: usize) -> impl Iterator<Item = (&Message, &Version)> {
        self.messages.values().filter_map(move |message| Some((message, message.after(entry)?)))
    }

    /// The messages that stay in the chat, the oldest first.
    pub(super) fn at_end(&self) -> impl Iterator<Item = &Message> {
        self.messages.values().filter(|message| message.deleted.is_none())
    }

    /// The messages that stay in the chat although the subject could have changed or deleted them.
    pub(super) fn left(&self) -> impl Iterator<Item = &Message> {
        self.at_end().filter(|message| !message.is_out_of_reach())
    }

    /// Everything that was ever shown, in the order of the messages.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Version> {
        self.messages.values().flat_map(|message| &message.versions)
    }
}

/// Whether the call gives a message a text.
pub(super) fn changes_text(kind: &str) -> bool {
    matches!(kind, "editMessageText" | "editMessageCaption")
        || kind.starts_with("send") && !matches!(kind, "sendChatAction" | "sendMessageDraft")
}

/// Whether the call did something that a person can see.
pub(super) fn is_shown(entry: &Entry) -> bool {
    let refused = entry.text("refused");
    entry.is_shown() && (refused.is_empty() || refused.contains("not modified"))
}

/// When the answer to a call came; what it did is seen from then on.
pub(super) fn answered_at(entry: &Entry) -> u64 {
    entry.at + entry.data.get("took_ms").and_then(Value::as_u64).unwrap_or(0)
}

/// The text of a call, or the caption.
pub(super) fn text(entry: &Entry) -> Option<&str> {
    ["text", "caption"].iter().find_map(|key| entry.data.get(*key)?.as_str())
}

/// The number of the message that an entry is about.
pub(super) fn message_id(entry: &Entry) -> Option<i64> {
    entry.data.get("message_id").and_then(Value::as_i64)
}

/// The numbers of the messages that an entry is about.
fn ids(entry: &Entry) -> Vec<i64> {
    let several = entry.data.get("message_ids").and_then(Value::as_array);
    several.into_iter().flatten().filter_map(Value::as_i64).chain(message_id(entry)).collect()
}
