//! The acts of a person in a chat: writing, pressing buttons, and stopping drafts, one by one or as a script has them.

use std::sync::Arc;
use std::time::Duration;

use clitape_recording::chat::{PRESS, WRITES};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::settings::PersonScript;
use super::state::{BotChat, ChatDraft, Message, ServerState, Shared, Topic, unix_s};
use super::wire::{ApiError, LINE, cut};
use crate::limits::{Held, json_bytes};

/// The most bytes of memory that an act of a person takes, its text aside.
const ACT: usize = 4 << 10;

/// The reason why an act of a person fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PersonError {
    /// The server has the most chats already.
    #[error(
        "the chat server keeps {0} chats at most; use one of them, or raise the limit with `--max-chats`"
    )]
    TooManyChats(usize),
    /// The chat has too many messages or entries, or the account of memory is full.
    #[error("chat {0} is full: {1}")]
    Full(i64, String),
    /// The number of the chat is 0, or the text is empty.
    #[error("{0}")]
    Wrong(&'static str),
    /// The chat does not exist.
    #[error("there is no chat {0}; a chat begins with the person's first message")]
    NoChat(i64),
    /// The message does not exist.
    #[error("chat {chat} shows no message {message}")]
    NoMessage {
        /// The number of the chat.
        chat: i64,
        /// The number of the message, or `with buttons`.
        message: String,
    },
    /// The message has no button with this label.
    #[error("the message has no button `{label}`; it has {known}")]
    NoButton {
        /// The wanted label.
        label: String,
        /// The labels of the message's buttons.
        known: String,
    },
    /// The chat shows no draft that can be stopped.
    #[error(
        "chat {0} shows no draft with a Stop button; the bot sends one by sendMessageDraft with can_stop"
    )]
    NoDraft(i64),
    /// The button opens a link and sends no press.
    #[error("the button `{0}` sends nothing to the bot; it opens a link")]
    NoData(String),
}

/// A message that a person writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PersonText<'t> {
    /// The text, or the caption of an album.
    pub text: &'t str,
    /// The topic of the chat, if it is written in one.
    pub topic: Option<i64>,
    /// The number in its chat, from 1, of the message that it answers.
    pub reply_to: Option<i64>,
    /// The number of photos in the album; 0 for a text alone. Each photo is a message, and the first has the caption.
    pub photos: usize,
}

impl<'t> PersonText<'t> {
    /// Makes a text in a topic, or in none.
    pub fn of(text: &'t str, topic: Option<i64>) -> Self {
        Self { text, topic, ..Self::default() }
    }
}

/// The photo that a person sends, a white dot.
const PHOTO: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\0\0\0\nIDAT\x78\x9c\
    \x63\xf8\x0f\0\x01\x01\x01\0\xb1\x38\xf6\x14\0\0\0\0IEND\xae\x42\x60\x82";
/// The most photos of an album.
const MOST_PHOTOS: usize = 10;

/// Writes a message as the person and returns its id, that of the first one for an album.
pub(super) fn say(
    state: &mut ServerState,
    id: i64,
    written: PersonText<'_>,
) -> Result<i64, PersonError> {
    let PersonText { text, topic, reply_to, photos } = written;
    if id == 0 {
        return Err(PersonError::Wrong("a chat has no number 0; a group's number is negative"));
    }
    if text.trim().is_empty() {
        return Err(PersonError::Wrong("the text is empty; nobody can send it"));
    }
    if photos > MOST_PHOTOS {
        return Err(PersonError::Wrong("an album has ten photos at most"));
    }
    let (now, username) = (state.now(), state.bot.username.clone());
    let bot = state.bot.clone();
    let limits = state.settings.limits;
    let full = |error: ApiError| PersonError::Full(id, error.description);
    // The message, its entry and its update are copies of the text.
    let mut held = Held::of(&state.kept);
    held.try_keep(ACT * photos.max(1) + 4 * text.len()).map_err(|error| full(error.into()))?;
    let mut files = Vec::new();
    for _ in 0..photos {
        files.push(photo(&state.files.keep("photo.png", PHOTO).map_err(full)?));
    }
    let first_id = state.last_message + 1;
    let chat = state.open(id).ok_or(PersonError::TooManyChats(limits.chats))?;
    chat.check_entries(&limits).map_err(full)?;
    chat.check_messages(&limits).map_err(full)?;
    if let Some(topic) = topic {
        let known =
            chat.topics.entry(topic).or_insert_with(|| Topic::named(&format!("Topic {topic}")));
        if known.is_closed {
            return Err(PersonError::Wrong(
                "the topic is closed; the bot opens it by reopenForumTopic",
            ));
        }
    }
    let answered = match reply_to {
        Some(number) => Some(chat.id_of(number).ok_or_else(|| no_message(id, number))?),
        // A message in a topic answers the message with which the topic begins.
        None => topic.filter(|topic| chat.messages().contains_key(topic)),
    };
    let mut updates = Vec::new();
    let files = files.into_iter().map(Some).chain((photos == 0).then_some(None));
    for (message_id, file) in (first_id..).zip(files) {
        let text = if message_id == first_id { text } else { "" };
        let message = Message {
            id: message_id,
            date: unix_s(),
            text: text.to_owned(),
            source: text.to_owned(),
            entities: entities(text, &username),
            topic,
            reply_to: answered,
            group: (photos > 1).then_some(first_id),
            file: file.map(|file| ("photo", file)),
            ..Message::default()
        };
        updates.push((message_id, chat.message_json(&message, &bot)));
        chat.put(message);
    }
    chat.said_at.get_or_insert(now);
    let mut data = Map::new();
    data.insert("text".into(), text.into());
    data.insert("user_message_id".into(), first_id.into());
    let further = [("topic", topic), ("reply_to", answered.filter(|_| reply_to.is_some()))];
    let further = further.into_iter().filter_map(|(name, id)| Some((name, Value::from(id?))));
    data.extend(further.map(|(name, value)| (name.to_owned(), value)));
    if photos > 0 {
        data.insert("photos".into(), photos.into());
    }
    chat.count_from_one(&mut data);
    chat.enter(now, WRITES, data);
    for (message_id, json) in updates {
        state.last_message = message_id;
        state.update("message", json);
    }
    state.note(&format!("chat {id} (user) {:?}", cut(text, LINE)));
    Ok(first_id)
}

/// Returns the sizes of a photo that is stored under this id, as the Bot API has them.
fn photo(file_id: &str) -> Value {
    let unique = format!("unique-{file_id}");
    json!([{ "file_id": file_id, "file_unique_id": unique, "file_size": PHOTO.len(), "width": 1, "height": 1 }])
}

fn no_message(chat: i64, number: i64) -> PersonError {
    PersonError::NoMessage { chat, message: number.to_string() }
}

/// Edits the person's message with this number in its chat.
pub(super) fn edit(
    state: &mut ServerState,
    id: i64,
    number: i64,
    text: &str,
) -> Result<(), PersonError> {
    let (now, limits) = (state.now(), state.settings.limits);
    let (bot, username) = (state.bot.clone(), state.bot.username.clone());
    let full = |error: ApiError| PersonError::Full(id, error.description);
    let mut held = Held::of(&state.kept);
    held.try_keep(ACT + 4 * text.len()).map_err(|error| full(error.into()))?;
    let chat = state.chats.get_mut(&id).ok_or(PersonError::NoChat(id))?;
    chat.check_entries(&limits).map_err(full)?;
    let known = chat.id_of(number).and_then(|id| chat.messages().get(&id));
    let known = known.filter(|message| !message.is_bot);
    let known = known.ok_or_else(|| no_message(id, number))?;
    let message = Message {
        edited: Some(unix_s()),
        text: text.to_owned(),
        source: text.to_owned(),
        entities: entities(text, &username),
        ..known.clone()
    };
    let json = chat.message_json(&message, &bot);
    let mut data = Map::new();
    data.insert("text".into(), text.into());
    data.insert("user_message_id".into(), message.id.into());
    chat.put(message);
    chat.count_from_one(&mut data);
    chat.enter(now, "(edit)", data);
    state.update("edited_message", json);
    state.note(&format!("chat {id} (edit) {:?}", cut(text, LINE)));
    Ok(())
}

/// Returns the entities that Telegram finds in a person's text: commands, and mentions of the bot.
fn entities(text: &str, username: &str) -> Vec<Value> {
    let mut entities = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let length = bare.encode_utf16().count();
        let kind = match bare.strip_prefix('/') {
            Some(name) if name.starts_with(|c: char| c.is_ascii_alphabetic()) => "bot_command",
            _ if bare.strip_prefix('@') == Some(username) => "mention",
            _ => "",
        };
        if !kind.is_empty() {
            entities.push(json!({ "type": kind, "offset": offset, "length": length }));
        }
        offset += word.encode_utf16().count();
    }
    entities
}

/// The message with the button to press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PressTarget {
    /// The message with this number in its chat, from 1.
    Message(i64),
    /// The newest message that has a button with the label.
    Last,
}

/// Presses a button of a message.
pub(super) fn press(
    state: &mut ServerState,
    id: i64,
    target: PressTarget,
    label: &str,
) -> Result<(), PersonError> {
    let now = state.now();
    let bot = state.bot.clone();
    let limits = state.settings.limits;
    let chat = state.chats.get(&id).ok_or(PersonError::NoChat(id))?;
    let has_label = |message: &&Message| buttons(message).any(|button| button["text"] == label);
    let message = match target {
        PressTarget::Message(number) => chat.id_of(number).and_then(|id| chat.messages().get(&id)),
        PressTarget::Last => {
            let with_label = chat.messages().values().rev().find(has_label);
            let any = || chat.messages().values().rev().find(|message| message.keyboard.is_some());
            with_label.or_else(any)
        }
    };
    let message = message.ok_or_else(|| PersonError::NoMessage {
        chat: id,
        message: match target {
            PressTarget::Message(number) => number.to_string(),
            PressTarget::Last => "with buttons".to_owned(),
        },
    })?;
    let button = buttons(message).find(|button| button["text"] == label);
    let button = button.ok_or_else(|| PersonError::NoButton {
        label: label.to_owned(),
        known: match buttons(message)
            .filter_map(|button| button["text"].as_str())
            .collect::<Vec<_>>()
        {
            known if known.is_empty() => "none".to_owned(),
            known => known.join(", "),
        },
    })?;
    let data = button["callback_data"].as_str();
    let data = data.ok_or_else(|| PersonError::NoData(label.to_owned()))?;
    let full = |error: ApiError| PersonError::Full(id, error.description);
    chat.check_entries(&limits).map_err(full)?;
    let mut query = json!({ "from": chat.person(), "chat_instance": id.to_string(),
        "message": chat.message_json(message, &bot), "data": data });
    let mut held = Held::of(&state.kept);
    held.try_keep(ACT + json_bytes(&query)).map_err(|error| full(error.into()))?;
    let mut entry = Map::new();
    entry.insert("message_id".into(), message.id.into());
    entry.insert("label".into(), label.into());
    if let Some(chat) = state.chats.get_mut(&id) {
        chat.count_from_one(&mut entry);
        chat.enter(now, PRESS, entry);
    }
    query["id"] = state.add_callback(id).into();
    state.update("callback_query", query);
    state.note(&format!("chat {id} (press) {:?}", cut(label, LINE)));
    Ok(())
}

/// Presses the button that stops the draft of a topic, as the person.
pub(super) fn stop(
    state: &mut ServerState,
    id: i64,
    topic: Option<i64>,
) -> Result<(), PersonError> {
    let (now, limits) = (state.now(), state.settings.limits);
    let chat = state.chats.get_mut(&id).ok_or(PersonError::NoChat(id))?;
    chat.check_entries(&limits).map_err(|error| PersonError::Full(id, error.description))?;
    let is_there =
        |draft: &&ChatDraft| draft.is_visible(now) && draft.can_stop && !draft.is_stopped;
    let draft = chat.drafts.get(&topic).filter(is_there).cloned();
    let mut draft = draft.ok_or(PersonError::NoDraft(id))?;
    let (draft_id, keeps) = (draft.id, draft.keeps_on_stop);
    (draft.is_stopped, draft.is_gone) = (true, !keeps);
    chat.set_draft(topic, draft);
    let mut stopped = json!({ "chat": chat.json(), "draft_id": draft_id });
    let mut entry = Map::new();
    entry.insert("draft_id".into(), draft_id.into());
    if let Some(topic) = topic {
        stopped["message_thread_id"] = topic.into();
        entry.insert("topic".into(), topic.into());
    }
    if keeps {
        entry.insert("kept".into(), Value::Bool(true));
    }
    chat.enter(now, "(stop)", entry);
    state.update("stopped_message_generation", stopped);
    state.note(&format!("chat {id} (stop) draft {draft_id}"));
    Ok(())
}

/// Returns the buttons of a message.
fn buttons(message: &Message) -> impl Iterator<Item = &Value> {
    message.rows().into_iter().flatten()
}

/// Returns whether a message or a draft of the bot, as it is now, contains a text.
pub(super) fn shows(state: &ServerState, id: i64, text: &str) -> bool {
    let now = state.now();
    let contains = |message: &Message| {
        let on_button = buttons(message).any(|button| button["text"] == text);
        message.is_bot && (message.text.contains(text) || on_button)
    };
    let drafted = |draft: &ChatDraft| draft.is_visible(now) && draft.text.text.contains(text);
    let shows = |chat: &BotChat| {
        chat.messages().values().any(contains) || chat.drafts.values().any(drafted)
    };
    state.chats.get(&id).is_some_and(shows)
}

/// Does the steps of a script once the bot is ready. A step that fails ends the script with a line in the log.
pub(super) async fn play_script(shared: Arc<Shared>, script: PersonScript) {
    wait_until(&shared, None, |shared| shared.read(|state| state.updates.is_ready())).await;
    for (index, step) in script.steps.into_iter().enumerate() {
        let number = index + 1;
        let chat = step.chat;
        if let Some(when) = &step.when {
            let within = when.within();
            let is_shown = |shared: &Shared| shared.read(|state| shows(state, chat, &when.shows));
            if !wait_until(&shared, Some(within), is_shown).await {
                let words = format!(
                    "step {number} of the script: chat {chat} did not show {:?} within {} s; the \
                     script ends here",
                    when.shows,
                    within.as_secs()
                );
                shared.change(|state| state.note(&words));
                return;
            }
        }
        sleep(Duration::from_millis(step.after_ms)).await;
        let done = shared.change(|state| match (&step.say, &step.press) {
            (Some(text), _) => say(state, chat, PersonText::of(text, step.topic)).map(|_| ()),
            (None, Some(label)) => press(state, chat, PressTarget::Last, label),
            (None, None) => stop(state, chat, step.topic),
        });
        if let Err(error) = done {
            let words = format!("step {number} of the script: {error}; the script ends here");
            shared.change(|state| state.note(&words));
            return;
        }
    }
    shared.change(|state| state.note("the script is done"));
}

/// Waits until a condition is true, and returns whether that came in time.
async fn wait_until(
    shared: &Shared,
    within: Option<Duration>,
    holds: impl Fn(&Shared) -> bool,
) -> bool {
    let mut changes = shared.changes();
    // A time that is too large for the clock has no end.
    let end = within.and_then(|within| Instant::now().checked_add(within));
    loop {
        changes.borrow_and_update();
        if holds(shared) {
            return true;
        }
        let changed = match end {
            None => changes.changed().await.is_ok(),
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                timeout(left, changes.changed()).await.is_ok_and(|changed| changed.is_ok())
            }
        };
        if !changed {
            return false;
        }
    }
}
