//! What the server knows: its chats with their messages, the updates for the bot, and a log.
//!
//! Everything is bounded. What goes past a bound is refused with a sentence that names it.

use std::collections::BTreeMap;
use std::time::Instant;

use clitape_runner::replay::{Entry, Lane};
use serde_json::{Map, Value, json};

use super::answer::ApiError;
use super::faults::Faults;
use super::pace::Pace;
use super::settings::{BOT_ID, ChatServerSettings};
use super::updates::Updates;

/// The most chats of a server.
pub(super) const MAX_CHATS: usize = 1_000;
/// The most messages of a chat.
pub(super) const MAX_MESSAGES: usize = 10_000;
/// The most entries of a chat, and of the bot.
pub(super) const MAX_ENTRIES: usize = 20_000;
/// The most lines of the log.
const MAX_LOG: usize = 20_000;
/// The most bytes of all files that the bot has sent.
const MAX_FILE_BYTES: usize = 64 << 20;

/// The number of the person who writes in groups; in a private chat it is the chat's.
const PERSON_ID: i64 = 1_001;

/// A message of a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Message {
    pub(super) id: i64,
    /// Seconds since 1970.
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
    /// The file, as the Bot API describes it: the field's name and its value.
    pub(super) file: Option<(&'static str, Value)>,
    pub(super) reactions: Vec<String>,
}

/// When a chat was called last.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastCall {
    /// Milliseconds of the server's clock at which the call was answered, or at which it came when it is
    /// under way.
    pub at_ms: u64,
    /// The method.
    pub kind: String,
    /// The calls of the chat that are under way.
    pub under_way: usize,
}

/// A chat.
#[derive(Debug, Default)]
pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) messages: BTreeMap<i64, Message>,
    last_message: i64,
    /// The topics that the person has written in.
    pub(super) topics: Vec<i64>,
    pub(super) pace: Pace,
    /// The numbered calls so far.
    pub(super) calls: u64,
    /// The numbered calls of each method so far.
    pub(super) calls_of: BTreeMap<&'static str, u64>,
    /// When the person wrote first.
    pub(super) said_at: Option<u64>,
    /// In the order in which they took effect; `at` is of the server's clock.
    pub(super) entries: Vec<Entry>,
    pub(super) last_call: Option<(u64, String)>,
    pub(super) under_way: usize,
    /// The faults of this chat, if it has its own.
    pub(super) faults: Option<Faults>,
    /// What the bot's draft shows, until a message comes.
    pub(super) draft: Option<String>,
    /// Until when the chat shows that the bot types.
    pub(super) typing_until: u64,
}

impl Chat {
    pub(super) fn is_group(&self) -> bool {
        self.id < 0
    }

    /// Returns the number of a new message.
    pub(super) fn next_id(&mut self) -> Result<i64, ApiError> {
        if self.messages.len() >= MAX_MESSAGES {
            return Err(ApiError::bad(format!(
                "the chat server keeps {MAX_MESSAGES} messages of a chat at most; start it again"
            )));
        }
        self.last_message += 1;
        Ok(self.last_message)
    }

    /// Adds an entry, and returns its index.
    pub(super) fn enter(&mut self, at: u64, kind: &str, data: Map<String, Value>) -> usize {
        self.entries.push(Entry::new(at, Lane::Telegram, kind.to_owned(), data));
        self.entries.len() - 1
    }

    /// Returns the chat as the Bot API has it.
    pub(super) fn json(&self) -> Value {
        match self.is_group() {
            false => json!({ "id": self.id, "type": "private", "first_name": "Tester",
                "username": "tester" }),
            true => {
                let mut chat = json!({ "id": self.id, "type": "supergroup",
                    "title": self.title() });
                if !self.topics.is_empty() {
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

    /// Returns the person as the Bot API has them.
    pub(super) fn person(&self) -> Value {
        let id = if self.is_group() { PERSON_ID } else { self.id };
        json!({ "id": id, "is_bot": false, "first_name": "Tester", "username": "tester",
            "language_code": "en" })
    }

    /// Returns a message as the Bot API has it.
    pub(super) fn message_json(&self, message: &Message, bot: &Bot) -> Value {
        let mut json = self.bare_json(message, bot);
        let answered = message.reply_to.and_then(|id| self.messages.get(&id));
        if let Some(answered) = answered {
            json["reply_to_message"] = self.bare_json(answered, bot);
        }
        json
    }

    /// Returns a message without the one that it answers.
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

/// The bot that is under test.
#[derive(Debug, Clone)]
pub(super) struct Bot {
    pub(super) username: String,
    pub(super) has_topics: bool,
}

impl Bot {
    /// Returns the bot as a sender.
    pub(super) fn json(&self) -> Value {
        json!({ "id": BOT_ID, "is_bot": true, "first_name": "Bot under test",
            "username": self.username })
    }
}

/// A press of a button that the bot has not answered yet, or has.
#[derive(Debug)]
pub(super) struct Callback {
    pub(super) chat: i64,
    pub(super) is_answered: bool,
}

/// A file that the bot sent.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// The files that the bot sent, by their ids.
#[derive(Debug, Default)]
pub(super) struct Files {
    stored: Vec<StoredFile>,
    bytes: usize,
}

impl Files {
    /// Keeps a file and returns its id.
    pub(super) fn keep(&mut self, name: &str, bytes: &[u8]) -> Result<String, ApiError> {
        if self.bytes + bytes.len() > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            return Err(ApiError::bad(format!(
                "the chat server keeps {most} MiB of files at most; start it again"
            )));
        }
        self.bytes += bytes.len();
        self.stored.push(StoredFile { name: name.to_owned(), bytes: bytes.to_vec() });
        Ok(format!("file-{}", self.stored.len()))
    }

    /// Returns the file of an id.
    pub(super) fn get(&self, id: &str) -> Option<&StoredFile> {
        let number: usize = id.strip_prefix("file-")?.parse().ok()?;
        self.stored.get(number.checked_sub(1)?)
    }
}

/// Everything that the server knows.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) settings: ChatServerSettings,
    pub(super) bot: Bot,
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) updates: Updates,
    pub(super) callbacks: BTreeMap<String, Callback>,
    /// The commands by scope and language.
    pub(super) commands: BTreeMap<String, Value>,
    pub(super) files: Files,
    /// The bot's calls that belong to no chat, such as getMe; `at` is of the server's clock.
    pub(super) bot_entries: Vec<Entry>,
    log: Vec<String>,
    started: Instant,
}

impl ServerState {
    pub(super) fn new(settings: ChatServerSettings) -> Self {
        let bot =
            Bot { username: settings.bot_username.clone(), has_topics: settings.private_topics };
        let mut state = Self {
            bot,
            chats: BTreeMap::new(),
            updates: Updates::default(),
            callbacks: BTreeMap::new(),
            commands: BTreeMap::new(),
            files: Files::default(),
            bot_entries: Vec::new(),
            log: Vec::new(),
            started: Instant::now(),
            settings,
        };
        for chat in state.settings.chats.clone() {
            state.open(chat);
        }
        state
    }

    /// Milliseconds since the start of the server.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Makes a chat if there is none of this number, unless there are too many.
    pub(super) fn open(&mut self, id: i64) -> Option<&mut Chat> {
        if !self.chats.contains_key(&id) && self.chats.len() >= MAX_CHATS {
            return None;
        }
        Some(self.chats.entry(id).or_insert_with(|| Chat { id, ..Chat::default() }))
    }

    /// Adds a call that belongs to no chat.
    pub(super) fn enter(&mut self, kind: &str, data: Map<String, Value>) {
        if self.bot_entries.len() < MAX_ENTRIES {
            let (at, lane) = (self.now(), Lane::Telegram);
            self.bot_entries.push(Entry::new(at, lane, kind.to_owned(), data));
        }
    }

    /// Adds a line to the log; past its end lines are left out.
    pub(super) fn note(&mut self, line: impl Into<String>) {
        if self.log.len() < MAX_LOG {
            self.log.push(line.into());
        } else if self.log.len() == MAX_LOG {
            self.log.push(format!("the log has {MAX_LOG} lines; the rest is left out"));
        }
    }

    /// Returns the lines of the log after the first `read`.
    pub(super) fn log(&self, read: usize) -> &[String] {
        self.log.get(read..).unwrap_or_default()
    }
}

/// Returns the seconds since 1970.
pub(super) fn unix_s() -> u64 {
    crate::clock::since_1970().as_secs()
}
