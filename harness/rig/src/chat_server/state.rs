//! The state of the server: its chats, the updates for the bot, and a log; and the signals that it has changed.
//!
//! A chat has its messages and its entries. Each part of the state has a limit on its number and counts in the account
//! of memory. Data beyond a limit is refused with a sentence that names the option to raise it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_gateway::ByteSize;
use clitape_process::NetworkDoor;
use clitape_recording::trace::{Entry, Lane};
use hyper::body::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant as TokioInstant;

use super::faults::{CallFault, Faults, Pace};
use super::markup::{FormattedText, RichMessage};
use super::settings::{BOT_ID, ChatServerSettings, Token};
use super::updates::Updates;
use super::wire::{ApiError, LINE, cut};
use crate::limits::{ChatServerLimits, Full, Held, KeptBytes, entry_bytes, json_bytes};

/// The most unknown methods that are counted by name; Telegram has fewer than 200 methods.
const UNKNOWN_METHODS: usize = 200;
/// The most lines of the log about requests without the token and requests that are refused, because any program can
/// send them.
const REFUSALS: usize = 100;

/// The last call in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastCall {
    /// The server's clock in milliseconds at the call's answer, or at its arrival while it is under way.
    pub at_ms: u64,
    /// The name of the method.
    pub kind: String,
    /// The number of calls in the chat that are under way.
    pub under_way: usize,
}

/// A press of a button, and whether the bot has answered it.
#[derive(Debug)]
pub(super) struct CallbackQuery {
    pub(super) chat: i64,
    /// The server's clock at the press.
    at: u64,
    is_answered: bool,
}

/// The presses by their ids, with the milliseconds in which the bot may answer one.
#[derive(Debug)]
pub(super) struct OpenPresses<'s> {
    pub(super) queries: &'s mut BTreeMap<String, CallbackQuery>,
    pub(super) time_ms: u64,
}

impl OpenPresses<'_> {
    /// Marks a press as answered, or returns Telegram's error if it can't be answered any more.
    pub(super) fn answer(&mut self, id: &str, now: u64) -> Result<(), ApiError> {
        let is_open = |query: &&mut CallbackQuery| {
            !query.is_answered && now.saturating_sub(query.at) <= self.time_ms
        };
        let query = self.queries.get_mut(id).filter(is_open);
        query.ok_or_else(ApiError::query_too_old)?.is_answered = true;
        Ok(())
    }
}

/// A file that the bot sent.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) name: String,
    pub(super) bytes: Bytes,
}

/// The files of the bot, by their ids.
#[derive(Debug)]
pub(super) struct Files {
    stored: Vec<StoredFile>,
    bytes: usize,
    most: ByteSize,
    held: Held,
}

impl Files {
    /// Stores a file and returns its id.
    pub(super) fn keep(&mut self, name: &str, bytes: &[u8]) -> Result<String, ApiError> {
        if self.most.is_below(self.bytes + bytes.len()) {
            let most = self.most;
            return Err(ApiError::bad(format!(
                "the chat server keeps {most} of files at most; raise the limit with `--max-files`"
            )));
        }
        self.bytes += bytes.len();
        self.held.keep(bytes.len() + name.len() + size_of::<StoredFile>());
        self.stored
            .push(StoredFile { name: name.to_owned(), bytes: Bytes::copy_from_slice(bytes) });
        Ok(format!("file-{}", self.stored.len()))
    }

    /// Returns the file with this id.
    pub(super) fn get(&self, id: &str) -> Option<&StoredFile> {
        let number: usize = id.strip_prefix("file-")?.parse().ok()?;
        self.stored.get(number.checked_sub(1)?)
    }
}

/// The whole state of a server.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) settings: ChatServerSettings,
    /// The bot's token.
    pub(super) token: Token,
    pub(super) bot: Bot,
    pub(super) chats: BTreeMap<i64, BotChat>,
    /// The id of the newest message, counted over all chats, as Telegram does in private chats and groups. An id must
    /// not repeat, because a bot may ignore a message whose id it has seen.
    pub(super) last_message: i64,
    pub(super) updates: Updates,
    pub(super) callbacks: BTreeMap<String, CallbackQuery>,
    commands: BTreeMap<String, Value>,
    pub(super) files: Files,
    /// The bot's calls that are about no chat, such as getMe; `at` is of the server's clock.
    pub(super) bot_entries: Vec<Entry>,
    /// The number of calls of each method that the server does not have.
    pub(super) unknown_methods: BTreeMap<String, u64>,
    log: Vec<String>,
    refusals: usize,
    /// The way to the webhook of a bot in a network of its own.
    pub(super) door: Option<Arc<NetworkDoor>>,
    /// The last line about a refused request.
    pub(super) last_refusal: Option<String>,
    started: Instant,
    pub(super) kept: Arc<KeptBytes>,
    /// The part of the account that belongs to no chat, update or file.
    held: Held,
}

impl ServerState {
    pub(super) fn new(settings: ChatServerSettings, token: Token, kept: Arc<KeptBytes>) -> Self {
        let bot =
            Bot { username: settings.bot_username.clone(), has_topics: settings.private_topics };
        let limits = settings.limits;
        let held = || Held::of(&kept);
        let mut state = Self {
            token,
            bot,
            chats: BTreeMap::new(),
            last_message: 0,
            updates: Updates::new(limits.updates, held()),
            callbacks: BTreeMap::new(),
            commands: BTreeMap::new(),
            files: Files { stored: Vec::new(), bytes: 0, most: limits.files, held: held() },
            bot_entries: Vec::new(),
            unknown_methods: BTreeMap::new(),
            log: Vec::new(),
            refusals: 0,
            door: None,
            last_refusal: None,
            started: Instant::now(),
            held: held(),
            kept,
            settings,
        };
        for chat in state.settings.chats.clone() {
            state.open(chat);
        }
        state
    }

    /// Returns the milliseconds since the start of the server.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the chat with this number, and creates it if need be; `None` if there are too many.
    pub(super) fn open(&mut self, id: i64) -> Option<&mut BotChat> {
        if !self.chats.contains_key(&id) && self.chats.len() >= self.settings.limits.chats {
            return None;
        }
        Some(self.chats.entry(id).or_insert_with(|| BotChat::new(id, &self.kept)))
    }

    /// Adds a press of a button in a chat, and returns its id.
    pub(super) fn add_callback(&mut self, chat: i64) -> String {
        let id = (self.callbacks.len() + 1).to_string();
        self.held.keep(size_of::<(String, CallbackQuery)>() + id.len());
        let query = CallbackQuery { chat, at: self.now(), is_answered: false };
        self.callbacks.insert(id.clone(), query);
        id
    }

    /// Adds an update for the bot; it is dropped, with a line in the log, if too many wait.
    pub(super) fn update(&mut self, kind: &str, content: Value) {
        if self.updates.push(kind, content).is_err() {
            let most = self.settings.limits.updates;
            self.note(&format!(
                "{most} updates wait for the bot; one is left out, raise the limit with `--max-updates`"
            ));
        }
    }

    /// Adds an entry for a call that is about no chat.
    pub(super) fn enter(&mut self, kind: &str, mut data: Map<String, Value>) {
        if self.bot_entries.len() < self.settings.limits.entries {
            data.values_mut().for_each(|value| self.token.mask(value));
            let entry = Entry::new(self.now(), Lane::Telegram, kind.to_owned(), data);
            self.held.keep(entry_bytes(&entry));
            self.bot_entries.push(entry);
        }
    }

    /// Counts a call of a method that the server does not have.
    pub(super) fn count_unknown(&mut self, method: &str) {
        if let Some(count) = self.unknown_methods.get_mut(method) {
            *count += 1;
        } else if self.unknown_methods.len() < UNKNOWN_METHODS {
            self.held.keep(size_of::<(String, u64)>() + method.len());
            self.unknown_methods.insert(method.to_owned(), 1);
        }
    }

    /// Returns the bot's commands of a scope and a language.
    pub(super) fn commands(&self, scope: &str) -> Option<&Value> {
        self.commands.get(scope)
    }

    /// Sets the bot's commands of a scope and a language, or removes them.
    pub(super) fn set_commands(
        &mut self,
        scope: &str,
        commands: Option<Value>,
    ) -> Result<(), ApiError> {
        let bytes = |commands: &Value| scope.len() + json_bytes(commands);
        let Some(commands) = commands else {
            if let Some(removed) = self.commands.remove(scope) {
                self.held.release(bytes(&removed));
            }
            return Ok(());
        };
        let most = self.settings.limits.scopes;
        if self.commands.len() >= most && !self.commands.contains_key(scope) {
            return Err(ApiError::bad(format!(
                "the chat server keeps commands of {most} scopes at most; raise the limit with `--max-scopes`"
            )));
        }
        self.held.keep(bytes(&commands));
        if let Some(before) = self.commands.insert(scope.to_owned(), commands) {
            self.held.release(bytes(&before));
        }
        Ok(())
    }

    /// Adds a line to the log, unless the log is full.
    pub(super) fn note(&mut self, line: &str) {
        let most = self.settings.limits.log;
        let end = format!(
            "the log has {most} lines, the rest is left out; raise the limit with `--max-log`"
        );
        let line = match self.log.len().cmp(&most) {
            std::cmp::Ordering::Less => cut(&self.token.masked(line), LINE).to_owned(),
            std::cmp::Ordering::Equal => end,
            std::cmp::Ordering::Greater => return,
        };
        self.held.keep(line.len() + size_of::<String>());
        self.log.push(line);
    }

    /// Adds a line about a request that was refused regardless of its sender. Their number is small, so that other
    /// programs can't fill the log.
    pub(super) fn note_refusal(&mut self, line: &str) {
        self.refusals += 1;
        self.last_refusal = Some(cut(&self.token.masked(line), LINE).to_owned());
        match self.refusals.cmp(&REFUSALS) {
            std::cmp::Ordering::Less => self.note(line),
            std::cmp::Ordering::Equal => {
                self.note(&format!(
                    "{line}; {REFUSALS} requests were refused, further ones are not listed"
                ));
            }
            std::cmp::Ordering::Greater => {}
        }
    }

    /// Returns the lines of the log behind the first `read` ones.
    pub(super) fn log(&self, read: usize) -> &[String] {
        self.log.get(read..).unwrap_or_default()
    }
}

impl From<Full> for ApiError {
    fn from(full: Full) -> Self {
        Self::bad(format!("the chat server is full: {full}"))
    }
}

/// Returns the seconds since 1970.
pub(super) fn unix_s() -> u64 {
    crate::clock::since_1970().as_secs()
}

/// The state of a server, and its signals.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<ServerState>,
    kept: Arc<KeptBytes>,
    /// The number of changes so far.
    changed: watch::Sender<u64>,
    /// The time until which the server accepts no connection; each change of it closes all connections.
    closed: watch::Sender<TokioInstant>,
}

impl Shared {
    pub(super) fn new(state: ServerState) -> Self {
        Self {
            kept: state.kept.clone(),
            state: Mutex::new(state),
            changed: watch::Sender::new(1),
            closed: watch::Sender::new(TokioInstant::now()),
        }
    }

    /// Reads the state.
    pub(super) fn read<T>(&self, read: impl FnOnce(&ServerState) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state and wakes the tasks that wait for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut ServerState) -> T) -> T {
        let changed = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_modify(|revision| *revision += 1);
        changed
    }

    /// Returns an empty part of the account of memory.
    pub(super) fn held(&self) -> Held {
        Held::of(&self.kept)
    }

    /// Returns a receiver of the number of changes.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns a receiver of the time until which the server accepts no connection.
    pub(super) fn closings(&self) -> watch::Receiver<TokioInstant> {
        self.closed.subscribe()
    }

    /// Closes all connections and accepts none for a time. Messages and updates are kept.
    pub(super) fn restart(&self, time: Duration) {
        self.change(|state| {
            state.note(&format!("the server restarts for {} ms", time.as_millis()));
        });
        self.closed.send_replace(TokioInstant::now() + time);
    }
}

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
    /// The id of the first message of its album, if it is of one.
    pub(super) group: Option<i64>,
    /// The rich message; the text and the entities are its drawing.
    pub(super) rich: Option<RichMessage>,
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
            + self.rich.as_ref().map_or(0, RichMessage::bytes)
    }

    /// Returns the rows of its buttons: those within a rich message, and those below it.
    pub(super) fn rows(&self) -> Vec<Vec<&Value>> {
        let rich = self.rich.iter().flat_map(|rich| &rich.rows).map(|row| row.iter().collect());
        let below = self.keyboard.iter().filter_map(Value::as_array).flatten();
        let below = below.map(|row| row.as_array().into_iter().flatten().collect());
        rich.chain(below).collect()
    }
}

/// A topic of a chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) name: String,
    /// The id of its custom emoji; empty without one.
    pub(super) icon: String,
    pub(super) is_closed: bool,
}

impl Topic {
    /// Creates a topic that has only a name.
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// The draft of a topic.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChatDraft {
    pub(super) id: i64,
    pub(super) text: FormattedText,
    /// The server's clock until which it is visible.
    pub(super) until: u64,
    /// True if the person has a button to stop it.
    pub(super) can_stop: bool,
    /// True if it stays when the person stops it.
    pub(super) keeps_on_stop: bool,
    /// True if the person has stopped it. Further texts with its number are not shown until a message comes.
    pub(super) is_stopped: bool,
    /// True if it is gone, and only its number is known because it was stopped.
    pub(super) is_gone: bool,
}

impl ChatDraft {
    /// Returns whether it is visible at a time.
    pub(super) fn is_visible(&self, now: u64) -> bool {
        !self.is_gone && self.until > now
    }

    /// Returns the bytes of memory that its text takes.
    pub(super) fn bytes(&self) -> usize {
        let entities = self.text.entities.iter().map(json_bytes);
        size_of::<Self>() + self.text.text.capacity() + entities.sum::<usize>()
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
    pub(super) topics: BTreeMap<i64, Topic>,
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
    /// The fault of the next numbered call, whatever its number.
    pub(super) due: Option<CallFault>,
    /// The bot's draft in each topic, or in the chat without topics.
    pub(super) drafts: BTreeMap<Option<i64>, ChatDraft>,
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

    /// Returns an error if the limit of messages is reached.
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
        let parts = data.get_mut("album").and_then(Value::as_array_mut).into_iter().flatten();
        parts.for_each(|part| part["message_id"] = number(&part["message_id"]).into());
    }

    /// Returns an error if the limit of entries is reached.
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

    /// Sets the bot's draft in a topic.
    pub(super) fn set_draft(&mut self, topic: Option<i64>, draft: ChatDraft) {
        self.held.keep(draft.bytes());
        if let Some(before) = self.drafts.insert(topic, draft) {
            self.held.release(before.bytes());
        }
    }

    /// Removes the bot's draft in a topic.
    pub(super) fn end_draft(&mut self, topic: Option<i64>) {
        if let Some(draft) = self.drafts.remove(&topic) {
            self.held.release(draft.bytes());
        }
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
        if let Some(group) = message.group {
            json["media_group_id"] = group.to_string().into();
        }
        if let Some(rich) = &message.rich {
            json["rich_message"] = rich.json.clone();
            if let Some(rows) = &message.keyboard {
                json["reply_markup"] = json!({ "inline_keyboard": rows });
            }
            return json;
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
        let draft = |text: &str| ChatDraft {
            text: FormattedText { text: text.to_owned(), ..FormattedText::default() },
            ..ChatDraft::default()
        };
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
        check(&|chat| chat.set_draft(None, draft(&"d".repeat(5_000))), 5_000, 5_200);
        check(&|chat| chat.set_draft(None, draft("e")), 1, 200);
        check(&|chat| chat.end_draft(None), number, number);
        let data = || Map::from_iter([("text".to_owned(), "e".repeat(3_000).into())]);
        check(&|chat| assert_eq!(chat.enter(0, "sendMessage", data()), 0), 3_000, 4_000);
        check(&|chat| chat.took(0, 40), 3_000, 5_000);
        drop(chat);
        assert_eq!(kept.bytes(), 0);
    }
}
