//! The state of the server: its chats, the updates for the bot, and a log.
//!
//! Each part has a limit on its number and counts in the account of memory. Data beyond a limit is refused with a
//! sentence that names the option to raise it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use clitape_gateway::ByteSize;
use clitape_process::NetworkDoor;
use clitape_recording::trace::{Entry, Lane};
use hyper::body::Bytes;
use serde_json::{Map, Value};

use super::answer::ApiError;
use super::chat::{Bot, BotChat};
use super::settings::ChatServerSettings;
use super::token::Token;
use super::updates::Updates;
use super::words::{LINE, cut};
use crate::kept::{Full, Held, KeptBytes, entry_bytes, json_bytes};

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
    pub(super) is_answered: bool,
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
        self.callbacks.insert(id.clone(), CallbackQuery { chat, is_answered: false });
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
