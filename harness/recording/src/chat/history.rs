//! The chat over time: every message that a person ever saw, with each text that it had.

use std::collections::BTreeMap;

use super::view::{ChatChange, ChatView, Effect, SeenMessage};
use crate::trace::Entry;

/// A chat with all that was ever seen in it.
#[derive(Debug, Clone, Default)]
pub struct ChatHistory {
    now: ChatView,
    /// The messages by their numbers and by the first entry of each, because a number may be given out again.
    messages: BTreeMap<(u64, usize), MessageHistory>,
}

/// A message with each text that it had.
#[derive(Debug, Clone)]
pub struct MessageHistory {
    /// Its number.
    pub id: u64,
    /// The message as it was from each change of it on, the oldest first; at least one.
    pub versions: Vec<SeenMessage>,
    /// The call that deleted it.
    pub deleted: Option<Deletion>,
}

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// The time, in ms.
    pub at: u64,
    /// The index of the entry, among the entries that were applied.
    pub entry: usize,
}

impl ChatHistory {
    /// The history of all of `entries`, those of other lanes left out.
    pub fn of(entries: &[Entry]) -> Self {
        let mut history = Self::default();
        for (number, entry) in entries.iter().enumerate() {
            history.apply(number, entry);
        }
        history
    }

    /// Applies the entry with the index `number`.
    pub fn apply(&mut self, number: usize, entry: &Entry) -> ChatChange {
        let effect = self.now.effect(number, entry);
        match &effect {
            // That a text is final is nothing that a person sees.
            Effect::Nothing | Effect::Final(_) => {}
            Effect::Seen(id, seen) => self.add(*id, seen.clone()),
            Effect::Overtaken(id, seen) => {
                if let Some(message) = self.newest(*id) {
                    let last = message.versions.len() - 1;
                    message.versions.insert(last, seen.clone());
                }
            }
            Effect::Deleted(ids) => {
                let deletion = Deletion { at: entry.seen_at(), entry: number };
                for id in ids {
                    if let Some(message) = self.newest(*id) {
                        message.deleted = Some(deletion);
                    }
                }
            }
        }
        self.now.take(effect)
    }

    /// Adds a version to the message with this number, which may be a new one.
    fn add(&mut self, id: u64, seen: SeenMessage) {
        match self.newest(id).filter(|message| message.deleted.is_none()) {
            Some(message) => message.versions.push(seen),
            None => {
                let place = (id, seen.entry);
                let message = MessageHistory { id, versions: vec![seen], deleted: None };
                self.messages.insert(place, message);
            }
        }
    }

    /// The newest message with this number.
    fn newest(&mut self, id: u64) -> Option<&mut MessageHistory> {
        self.messages.range_mut((id, 0)..=(id, usize::MAX)).next_back().map(|(_, message)| message)
    }

    /// The chat after the last entry.
    pub fn now(&self) -> &ChatView {
        &self.now
    }

    /// All messages, those that were deleted too, in the order of their numbers.
    pub fn messages(&self) -> impl Iterator<Item = &MessageHistory> {
        self.messages.values()
    }

    /// The messages that are there once the entry with this index has happened, each as it was then.
    pub fn after(&self, entry: usize) -> impl Iterator<Item = &SeenMessage> {
        self.messages().filter_map(move |message| message.after(entry))
    }

    /// The messages that stay in the chat.
    pub fn at_end(&self) -> impl Iterator<Item = &MessageHistory> {
        self.messages().filter(|message| message.deleted.is_none())
    }

    /// The messages that stay in the chat although the caller could have changed or deleted them.
    pub fn left(&self) -> impl Iterator<Item = &MessageHistory> {
        self.at_end().filter(|message| !message.last().is_out_of_reach)
    }

    /// Everything that was ever seen, in the order of the messages.
    pub fn versions(&self) -> impl Iterator<Item = &SeenMessage> {
        self.messages().flat_map(|message| &message.versions)
    }
}

impl MessageHistory {
    /// The message as it was at first.
    pub fn first(&self) -> &SeenMessage {
        &self.versions[0]
    }

    /// The message as it was at last.
    pub fn last(&self) -> &SeenMessage {
        &self.versions[self.versions.len() - 1]
    }

    /// The time at which it was first seen, in ms.
    pub fn born(&self) -> u64 {
        self.first().at
    }

    /// The message once the entry with this index has happened; `None` if it was not there.
    pub fn after(&self, entry: usize) -> Option<&SeenMessage> {
        if self.deleted.is_some_and(|deletion| deletion.entry <= entry) {
            return None;
        }
        self.versions.iter().rev().find(|version| version.entry <= entry)
    }
}
