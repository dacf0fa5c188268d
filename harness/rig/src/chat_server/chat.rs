//! A chat of the bot: its messages, its entries, and the memory that they take.

use std::collections::BTreeMap;
use std::sync::Arc;

use clitape_recording::trace::{Entry, Lane};
use serde_json::{Map, Value, json};

use super::answer::ApiError;
use super::faults::Faults;
use super::pace::Pace;
use super::settings::BOT_ID;
use crate::kept::{Held, KeptBytes, entry_bytes, json_bytes};
use crate::limits::ChatServerLimits;

/// The number of the person who writes in a group without a named person.
const PERSON_ID: i64 = 1_001;

/// A message of a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Message {
    /// The message's `message_id` in the Bot API.
    pub(super) id: i64,
    /// The seconds since 1970 at which it was sent.
    pub(super) date: u64,
    pub(super) edited: Option<u64>,
    pub(super) is_bot: bool,
    /// The text that a person reads, or the caption of a file.
    pub(super) text: String,
    pub(super) entities: Vec<Value>,
    /// The text with its markup, as the bot sent it.
    pub(super) source: String,
    pub(super) parse_mode: Option<String>,
    /// The rows of its buttons, as the bot sent them.
    pub(super) keyboard: Option<Value>,
    pub(super) topic: Option<i64>,
    pub(super) reply_to: Option<i64>,
    /// The file, as the field's name and its value in the Bot API.
    pub(super) file: Option<(&'static str, Value)>,
    pub(super) reactions: Vec<String>,
}

impl Message {
    /// Returns the bytes of memory that it takes, without its reactions, which are short.
    fn bytes(&self) -> usize {
        let json = |value: Option<&Value>| value.map_or(0, json_bytes);
        let mode = self.parse_mode.as_ref().map_or(0, String::capacity);
        size_of::<Self>()
            + self.text.capacity()
            + self.source.capacity()
            + mode
            + self.entities.iter().map(json_bytes).sum::<usize>()
            + json(self.keyboard.as_ref())
            + json(self.file.as_ref().map(|(_, file)| file))
    }
}

/// A chat of the bot.
#[derive(Debug, Default)]
pub(super) struct BotChat {
    pub(super) id: i64,
    messages: BTreeMap<i64, Message>,
    /// The ids of all messages, deleted ones too, the oldest first.
    ids: Vec<i64>,
    /// The person who writes in it, if it is not the usual one.
    pub(super) person: Option<i64>,
    /// The topics that the bot or the person made, and those in which the person wrote.
    pub(super) topics: Vec<i64>,
    /// True if it can have topics, even before there is one.
    pub(super) has_topics: bool,
    pub(super) pace: Pace,
    /// The number of numbered calls so far.
    pub(super) calls: u64,
    /// The number of numbered calls so far, by method.
    pub(super) calls_of: BTreeMap<&'static str, u64>,
    /// The server's clock at the person's first message.
    pub(super) said_at: Option<u64>,
    /// The entries in the order in which they took effect; `at` is of the server's clock.
    entries: Vec<Entry>,
    pub(super) last_call: Option<(u64, String)>,
    pub(super) under_way: usize,
    /// The faults of this chat, if it has other ones than the server.
    pub(super) faults: Option<Faults>,
    /// The text of the bot's draft, until the next message.
    draft: Option<String>,
    /// The server's clock until which the chat shows that the bot types.
    pub(super) typing_until: u64,
    held: Held,
}

impl BotChat {
    /// Creates an empty chat, whose messages and entries count in an account.
    pub(super) fn new(id: i64, kept: &Arc<KeptBytes>) -> Self {
        let mut held = Held::of(kept);
        held.keep(size_of::<Self>());
        Self { id, held, ..Self::default() }
    }

    pub(super) fn is_group(&self) -> bool {
        self.id < 0
    }

    /// Returns whether it is a group with topics.
    pub(super) fn is_forum(&self) -> bool {
        self.is_group() && (self.has_topics || !self.topics.is_empty())
    }

    /// Returns the messages by their ids.
    pub(super) fn messages(&self) -> &BTreeMap<i64, Message> {
        &self.messages
    }

    /// Returns an error if there is no room for a further message.
    pub(super) fn check_messages(&self, limits: &ChatServerLimits) -> Result<(), ApiError> {
        within(self.messages.len(), limits.messages, "messages")
    }

    /// Returns the number of a message in this chat, from 1. People and goldens get this number, because the ids count
    /// the messages of all chats of the bot.
    pub(super) fn number_of(&self, id: i64) -> Option<i64> {
        let index = self.ids.binary_search(&id).ok()?;
        i64::try_from(index).ok().map(|index| index + 1)
    }

    /// Returns the id of the message with this number in the chat.
    pub(super) fn id_of(&self, number: i64) -> Option<i64> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.ids.get(index).copied()
    }

    /// Replaces the ids in an entry's data by the numbers of the messages. An id that belongs to no message of the chat
    /// is removed, because it would look like a number.
    pub(super) fn count_from_one(&self, data: &mut Map<String, Value>) {
        let number = |id: &Value| id.as_i64().and_then(|id| self.number_of(id));
        for name in ["message_id", "user_message_id", "reply_to"] {
            match data.get(name).map(number) {
                Some(Some(number)) => drop(data.insert(name.to_owned(), number.into())),
                Some(None) => drop(data.shift_remove(name)),
                None => {}
            }
        }
        if let Some(Value::Array(ids)) = data.get_mut("message_ids") {
            *ids = ids.iter().filter_map(number).map(Value::from).collect();
        }
    }

    /// Returns an error if there is no room for a further entry.
    pub(super) fn check_entries(&self, limits: &ChatServerLimits) -> Result<(), ApiError> {
        within(self.entries.len(), limits.entries, "entries")
    }

    /// Adds a message, or replaces the one with its id. A new one must have a greater id than all before it.
    pub(super) fn put(&mut self, message: Message) {
        self.held.keep(message.bytes());
        if self.ids.last().is_none_or(|last| *last < message.id) {
            self.ids.push(message.id);
            self.held.keep(size_of::<i64>());
        }
        if let Some(before) = self.messages.insert(message.id, message) {
            self.held.release(before.bytes());
        }
    }

    /// Removes a message, if the chat has it.
    pub(super) fn remove(&mut self, id: i64) {
        if let Some(message) = self.messages.remove(&id) {
            self.held.release(message.bytes());
        }
    }

    /// Sets the bot's reactions to a message, and returns whether the chat has the message.
    pub(super) fn react(&mut self, id: i64, reactions: Vec<String>) -> bool {
        let message = self.messages.get_mut(&id);
        message.map(|message| message.reactions = reactions).is_some()
    }

    /// Returns the text of the bot's draft.
    pub(super) fn draft(&self) -> Option<&str> {
        self.draft.as_deref()
    }

    /// Sets the text of the bot's draft.
    pub(super) fn set_draft(&mut self, draft: Option<String>) {
        let bytes = |draft: &Option<String>| draft.as_ref().map_or(0, String::capacity);
        self.held.keep(bytes(&draft));
        self.held.release(bytes(&self.draft));
        self.draft = draft;
    }

    /// Returns the entries so far.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds an entry, and returns its index.
    pub(super) fn enter(&mut self, at: u64, kind: &str, data: Map<String, Value>) -> usize {
        let entry = Entry::new(at, Lane::Telegram, kind.to_owned(), data);
        self.held.keep(entry_bytes(&entry));
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// Sets the time between the call of an entry and its answer.
    pub(super) fn took(&mut self, index: usize, ms: u64) {
        let Some(entry) = self.entries.get_mut(index) else { return };
        let before = entry_bytes(entry);
        entry.data_mut().insert("took_ms".into(), ms.into());
        self.held.keep(entry_bytes(entry).saturating_sub(before));
    }

    /// Returns the chat as an object of the Bot API.
    pub(super) fn json(&self) -> Value {
        match self.is_group() {
            false => json!({ "id": self.id, "type": "private",
                "first_name": first_name(self.id), "username": username(self.id) }),
            true => {
                let mut chat = json!({ "id": self.id, "type": "supergroup",
                    "title": self.title() });
                if self.is_forum() {
                    chat["is_forum"] = true.into();
                }
                chat
            }
        }
    }

    /// Returns the name of the chat on the page.
    pub(super) fn title(&self) -> String {
        if self.is_group() { format!("Group {}", self.id) } else { format!("Chat {}", self.id) }
    }

    /// Returns the person as an object of the Bot API.
    pub(super) fn person(&self) -> Value {
        let usual = if self.is_group() { PERSON_ID } else { self.id };
        let id = self.person.unwrap_or(usual);
        json!({ "id": id, "is_bot": false, "first_name": first_name(id),
            "username": username(id), "language_code": "en" })
    }

    /// Returns a message as an object of the Bot API.
    pub(super) fn message_json(&self, message: &Message, bot: &Bot) -> Value {
        let mut json = self.bare_json(message, bot);
        let answered = message.reply_to.and_then(|id| self.messages.get(&id));
        if let Some(answered) = answered {
            json["reply_to_message"] = self.bare_json(answered, bot);
        }
        json
    }

    /// Returns the object of a message without the message that it answers.
    fn bare_json(&self, message: &Message, bot: &Bot) -> Value {
        let from = if message.is_bot { bot.json() } else { self.person() };
        let mut json = json!({ "message_id": message.id, "from": from, "chat": self.json(),
            "date": message.date });
        if let Some(edited) = message.edited {
            json["edit_date"] = edited.into();
        }
        if let Some(topic) = message.topic {
            json["message_thread_id"] = topic.into();
            json["is_topic_message"] = true.into();
        }
        let (text, entities) = match &message.file {
            None => ("text", "entities"),
            Some((field, file)) => {
                json[*field] = file.clone();
                ("caption", "caption_entities")
            }
        };
        if message.file.is_none() || !message.text.is_empty() {
            json[text] = message.text.as_str().into();
        }
        if !message.entities.is_empty() {
            json[entities] = message.entities.clone().into();
        }
        if let Some(rows) = &message.keyboard {
            json["reply_markup"] = json!({ "inline_keyboard": rows });
        }
        json
    }
}

/// Returns the username of a person, without `@`.
pub(crate) fn username(person: i64) -> String {
    format!("person{person}")
}

/// Returns the first name of a person.
fn first_name(person: i64) -> String {
    format!("Person {person}")
}

/// Returns an error if the chat has the most of them already.
fn within(count: usize, most: usize, what: &str) -> Result<(), ApiError> {
    if count < most {
        return Ok(());
    }
    Err(ApiError::bad(format!(
        "the chat server keeps {most} {what} of a chat at most; raise the limit with `--max-{what}`"
    )))
}

/// The bot under test.
#[derive(Debug, Clone)]
pub(super) struct Bot {
    pub(super) username: String,
    pub(super) has_topics: bool,
}

impl Bot {
    /// Returns the bot as the sender of a message.
    pub(super) fn json(&self) -> Value {
        json!({ "id": BOT_ID, "is_bot": true, "first_name": "Bot under test",
            "username": self.username })
    }
}

#[cfg(test)]
mod tests {
    use clitape_gateway::ByteSize;

    use super::*;

    #[test]
    fn what_a_chat_keeps_is_counted_until_it_is_removed() {
        let kept = Arc::new(KeptBytes::within(ByteSize::mib(1)));
        let mut chat = BotChat::new(7, &kept);
        let empty = kept.bytes();
        let message = |text: &str| Message { id: 1, text: text.to_owned(), ..Message::default() };
        let mut check = |change: &dyn Fn(&mut BotChat), least: u64, most: u64| {
            change(&mut chat);
            let bytes = kept.bytes() - empty;
            assert!((least..=most).contains(&bytes), "{bytes} of {least} to {most}");
        };
        check(&|chat| chat.put(message(&"a".repeat(10_000))), 10_000, 11_000);
        check(&|chat| chat.put(message(&"b".repeat(20_000))), 20_000, 21_000);
        check(&|chat| chat.put(message("c")), 1, 1_000);
        // The number of a removed message stays taken.
        let number = size_of::<i64>() as u64;
        check(&|chat| chat.remove(1), number, number);
        check(&|chat| chat.set_draft(Some("d".repeat(5_000))), 5_000, 5_010);
        check(&|chat| chat.set_draft(None), number, number);
        let data = || Map::from_iter([("text".to_owned(), "e".repeat(3_000).into())]);
        check(&|chat| assert_eq!(chat.enter(0, "sendMessage", data()), 0), 3_000, 4_000);
        check(&|chat| chat.took(0, 40), 3_000, 5_000);
        drop(chat);
        assert_eq!(kept.bytes(), 0);
    }
}
