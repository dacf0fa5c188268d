//! The methods of the Bot API that are about a chat: messages, files, pins, presses, and the topics of a forum.
//!
//! A method checks its parameters in Telegram's order, changes the chat, and puts the facts about the call into the
//! entry's data.

use clitape_recording::chat::CALL_HTML;
use serde_json::{Map, Value, json};

use super::markup::{self, FormattedText};
use super::person::PersonError;
use super::state::{Bot, BotChat, Files, Message, OpenPresses, ServerState, unix_s};
use super::wire::{ApiError, ApiResult, Params, integer};
use crate::limits::{ChatServerLimits, Held};

/// The most code points of a message.
const MAX_TEXT: usize = 4_096;
/// The most code points of a caption.
const MAX_CAPTION: usize = 1_024;
/// The most bytes of the data of a button.
const MAX_BUTTON_DATA: usize = 64;
/// The most entities of a message; Telegram ignores further ones.
const MAX_ENTITIES: usize = 100;
/// The most buttons of a message.
const MAX_BUTTONS: usize = 100;
/// The milliseconds for which a chat shows that the bot types.
const TYPING_MS: u64 = 5_000;

/// The actions that a bot can show.
const ACTIONS: [&str; 12] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
    "cancel",
];

/// The emoji with which a bot may react.
const REACTIONS: &str = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 \
    🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 \
    🤷‍♂ 🤷 🤷‍♀ 😡";

/// A call about a chat, at the moment at which the server does it.
pub(super) struct ChatCall<'a> {
    pub(super) chat: &'a mut BotChat,
    pub(super) bot: &'a Bot,
    pub(super) files: &'a mut Files,
    /// The id of the newest message of all chats.
    pub(super) last_message: &'a mut i64,
    pub(super) presses: OpenPresses<'a>,
    pub(super) limits: ChatServerLimits,
    pub(super) params: &'a Params,
    /// The server's clock in milliseconds.
    pub(super) now: u64,
    /// The data of the entry of this call.
    pub(super) data: Map<String, Value>,
}

impl ChatCall<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.data.insert(name.to_owned(), value.into());
    }

    /// Reads the text or caption of a message with its markup.
    fn formatted(&mut self, name: &str, most: usize) -> Result<FormattedText, ApiError> {
        let is_caption = name == "caption";
        let source = self.params.text(name).unwrap_or_default();
        self.set("text", source.as_str());
        let mode = self.params.text("parse_mode").filter(|mode| !mode.is_empty());
        if let Some(mode) = &mode {
            self.set("parse_mode", mode.as_str());
        }
        if source.trim().is_empty() && !is_caption {
            return Err(ApiError::bad("message text is empty"));
        }
        let mut parsed = markup::parse(&source, mode.as_deref()).map_err(ApiError::bad)?;
        let entities = if is_caption { "caption_entities" } else { "entities" };
        if mode.is_none()
            && let Some(Value::Array(given)) = self.params.json(entities)
        {
            parsed.entities = given;
        }
        parsed.entities.truncate(MAX_ENTITIES);
        // Telegram drops blanks at the end; it keeps those at the start only within an entity.
        parsed.text.truncate(parsed.text.trim_end().len());
        if parsed.text.is_empty() && !is_caption {
            return Err(ApiError::bad("text must be non-empty"));
        }
        if markup::length(&parsed.text) > most {
            let words =
                if is_caption { "message caption is too long" } else { "message is too long" };
            return Err(ApiError::bad(words));
        }
        self.draw(&source, &parsed);
        Ok(parsed)
    }

    /// Puts the HTML of the text that a person reads into the entry, if it differs from the text as it was sent.
    fn draw(&mut self, source: &str, read: &FormattedText) {
        let html = markup::html(read);
        if html != source {
            self.set(CALL_HTML, html);
        }
    }

    /// Reads the rows of buttons below a message. Keyboards of other kinds are not part of the message.
    fn keyboard(&mut self) -> Result<Option<Value>, ApiError> {
        if self.params.raw("reply_markup").is_none() {
            return Ok(None);
        }
        let markup = self.params.json("reply_markup").filter(Value::is_object);
        let markup = markup.ok_or_else(|| ApiError::bad("object expected as reply markup"))?;
        let Some(rows) = markup.get("inline_keyboard") else { return Ok(None) };
        let broken = || {
            ApiError::bad(
                "field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array of Arrays",
            )
        };
        let rows = rows.as_array().ok_or_else(broken)?;
        let mut labels: Vec<Vec<&str>> = Vec::new();
        for row in rows {
            let mut line = Vec::new();
            for button in row.as_array().ok_or_else(broken)? {
                let no_text = "can't parse inline keyboard button: can't find field \"text\"";
                let text = button["text"].as_str().ok_or_else(|| ApiError::bad(no_text))?;
                let data = button["callback_data"].as_str();
                let has_kind = button.as_object().is_some_and(|button| button.len() > 1);
                if !has_kind {
                    let words = "can't parse inline keyboard button: Text buttons are unallowed in \
                                 the inline keyboard";
                    return Err(ApiError::bad(words));
                }
                if data.is_some_and(|data| data.is_empty() || data.len() > MAX_BUTTON_DATA) {
                    return Err(ApiError::bad("BUTTON_DATA_INVALID"));
                }
                line.push(text);
            }
            labels.push(line);
        }
        if labels.iter().map(Vec::len).sum::<usize>() > MAX_BUTTONS {
            return Err(ApiError::bad("reply markup is too long"));
        }
        labels.retain(|row| !row.is_empty());
        if labels.is_empty() {
            return Ok(None);
        }
        self.set("buttons", json!(labels));
        let full = rows.iter().filter(|row| row.as_array().is_some_and(|row| !row.is_empty()));
        Ok(Some(full.cloned().collect()))
    }

    /// Reads the id of the message that the new one answers.
    fn reply(&mut self) -> Result<Option<i64>, ApiError> {
        let parameters = self.params.json("reply_parameters").unwrap_or_default();
        let id = integer(&parameters["message_id"]);
        let id = id.or_else(|| self.params.integer("reply_to_message_id"));
        let Some(id) = id.filter(|id| *id != 0) else { return Ok(None) };
        let may_lack = parameters["allow_sending_without_reply"] == true
            || self.params.flag("allow_sending_without_reply");
        let Some(answered) = self.chat.messages().get(&id) else {
            if may_lack {
                return Ok(None);
            }
            return Err(ApiError::bad("message to be replied not found"));
        };
        let quote = parameters["quote"].as_str().unwrap_or_default();
        if !answered.text.contains(quote) {
            return Err(ApiError::bad("QUOTE_TEXT_INVALID"));
        }
        self.set("reply_to", id);
        Ok(Some(id))
    }

    /// Reads the topic of a new message.
    fn topic(&mut self) -> Result<Option<i64>, ApiError> {
        let topic = self.params.integer("message_thread_id").filter(|topic| *topic != 0);
        let Some(topic) = topic else { return Ok(None) };
        self.set("topic", topic);
        if !self.chat.topics.contains(&topic) {
            return Err(ApiError::bad("message thread not found"));
        }
        Ok(Some(topic))
    }

    /// Returns the id for a new message.
    fn next_id(&mut self) -> Result<i64, ApiError> {
        self.chat.check_messages(&self.limits)?;
        *self.last_message += 1;
        Ok(*self.last_message)
    }

    /// Adds a message of the bot and returns it.
    fn add(&mut self, text: FormattedText, file: Option<(&'static str, Value)>) -> ApiResult {
        let (reply_to, topic, keyboard) = (self.reply()?, self.topic()?, self.keyboard()?);
        let message = Message {
            id: self.next_id()?,
            date: unix_s(),
            is_bot: true,
            text: text.text,
            entities: text.entities,
            source: self.data.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
            parse_mode: self.params.text("parse_mode"),
            keyboard,
            topic,
            reply_to,
            file,
            ..Message::default()
        };
        self.data.shift_insert(0, "message_id".into(), message.id.into());
        let json = self.chat.message_json(&message, self.bot);
        self.chat.put(message);
        self.chat.set_draft(None);
        self.chat.typing_until = 0;
        Ok(json)
    }

    /// Returns the id of the message to edit, delete or otherwise handle.
    fn message_id(&mut self) -> Result<i64, ApiError> {
        let id = self.params.integer("message_id").filter(|id| *id != 0);
        let id = id.ok_or_else(|| ApiError::bad("message identifier is not specified"))?;
        self.set("message_id", id);
        Ok(id)
    }

    /// Returns a message of the bot that can be edited, or Telegram's error.
    fn editable(&self, id: i64) -> Result<Message, ApiError> {
        match self.chat.messages().get(&id) {
            None => Err(ApiError::bad("message to edit not found")),
            Some(message) if !message.is_bot => Err(ApiError::bad("message can't be edited")),
            Some(message) => Ok(message.clone()),
        }
    }

    /// Replaces a message by its edited form, or returns Telegram's error if they are equal.
    fn replace(&mut self, mut edited: Message) -> ApiResult {
        let same = self.chat.messages().get(&edited.id).is_some_and(|before| {
            before.text == edited.text
                && before.entities == edited.entities
                && before.keyboard == edited.keyboard
        });
        if same {
            return Err(ApiError::not_modified());
        }
        edited.edited = Some(unix_s());
        let json = self.chat.message_json(&edited, self.bot);
        self.chat.put(edited);
        Ok(json)
    }
}

pub(super) fn send_message(call: &mut ChatCall<'_>) -> ApiResult {
    let text = call.formatted("text", MAX_TEXT)?;
    call.add(text, None)
}

pub(super) fn edit_message_text(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let text = call.formatted("text", MAX_TEXT)?;
    let keyboard = call.keyboard()?;
    let mut message = call.editable(id)?;
    if message.file.is_some() {
        return Err(ApiError::bad("there is no text in the message to edit"));
    }
    message.source = call.params.text("text").unwrap_or_default();
    message.parse_mode = call.params.text("parse_mode");
    (message.text, message.entities, message.keyboard) = (text.text, text.entities, keyboard);
    call.replace(message)
}

pub(super) fn edit_message_caption(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let text = call.formatted("caption", MAX_CAPTION)?;
    let keyboard = call.keyboard()?;
    let mut message = call.editable(id)?;
    if message.file.is_none() {
        return Err(ApiError::bad("there is no caption in the message to edit"));
    }
    (message.text, message.entities, message.keyboard) = (text.text, text.entities, keyboard);
    call.replace(message)
}

pub(super) fn edit_message_reply_markup(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let keyboard = call.keyboard()?;
    let mut message = call.editable(id)?;
    // Enters the unchanged text, so that a reader of the entries sees it with its new buttons.
    call.set("text", message.source.as_str());
    if let Some(mode) = message.parse_mode.clone() {
        call.set("parse_mode", mode);
    }
    message.keyboard = keyboard;
    let read = FormattedText { text: message.text.clone(), entities: message.entities.clone() };
    call.draw(&message.source, &read);
    call.replace(message)
}

pub(super) fn delete_message(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let Some(message) = call.chat.messages().get(&id) else {
        return Err(ApiError::bad("message to delete not found"));
    };
    if !message.is_bot && call.chat.is_group() {
        return Err(ApiError::bad("message can't be deleted"));
    }
    call.chat.remove(id);
    Ok(true.into())
}

/// Deletes several messages; ids that do not exist are skipped, as with Telegram.
pub(super) fn delete_messages(call: &mut ChatCall<'_>) -> ApiResult {
    let ids = call.params.json("message_ids");
    let ids = ids.as_ref().and_then(Value::as_array).filter(|ids| !ids.is_empty());
    let ids = ids.ok_or_else(|| ApiError::bad("message identifiers are not specified"))?;
    if ids.len() > 100 {
        return Err(ApiError::bad("too many message identifiers specified"));
    }
    let ids: Vec<i64> = ids.iter().filter_map(integer).collect();
    call.set("message_ids", json!(ids));
    for id in ids {
        let can_delete = |message: &Message| message.is_bot || !call.chat.is_group();
        if call.chat.messages().get(&id).is_some_and(can_delete) {
            call.chat.remove(id);
        }
    }
    Ok(true.into())
}

pub(super) fn send_chat_action(call: &mut ChatCall<'_>) -> ApiResult {
    let action = call.params.text("action").unwrap_or_default();
    call.set("action", action.as_str());
    if !ACTIONS.contains(&action.as_str()) {
        return Err(ApiError::bad("wrong parameter action in request"));
    }
    call.topic()?;
    call.chat.typing_until = if action == "cancel" { 0 } else { call.now + TYPING_MS };
    Ok(true.into())
}

pub(super) fn set_message_reaction(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let reactions = call.params.json("reaction").unwrap_or_default();
    let reactions = reactions.as_array().cloned().unwrap_or_default();
    let of = |reaction: &Value| reaction["emoji"].as_str().unwrap_or_default().to_owned();
    let emoji: Vec<String> = reactions.iter().map(of).collect();
    call.set("reaction", json!(emoji));
    // Telegram accepts a few of them with and without the variation selector of their coloured form.
    let bare = |emoji: &str| emoji.replace('\u{fe0f}', "");
    let is_known = |emoji: &String| REACTIONS.split(' ').any(|known| known == bare(emoji));
    if emoji.len() > 1 {
        return Err(ApiError::bad("REACTIONS_TOO_MANY"));
    }
    if !emoji.iter().all(is_known) {
        return Err(ApiError::bad("REACTION_INVALID"));
    }
    match call.chat.react(id, emoji) {
        true => Ok(true.into()),
        false => Err(ApiError::bad("message to react not found")),
    }
}

pub(super) fn send_message_draft(call: &mut ChatCall<'_>) -> ApiResult {
    let draft = call.params.integer("draft_id").filter(|id| *id != 0);
    let draft = draft.ok_or_else(|| ApiError::bad("draft identifier must be non-zero"))?;
    call.set("draft_id", draft);
    if call.chat.is_group() {
        return Err(ApiError::bad("method is available only for private chats"));
    }
    let text = call.formatted("text", MAX_TEXT)?;
    call.topic()?;
    call.chat.set_draft(Some(text.text));
    Ok(true.into())
}

/// The default colour of a topic's icon, from Telegram.
const ICON_COLOR: i64 = 7_322_096;
/// The most characters of a topic's name.
const MAX_TOPIC_NAME: usize = 128;
/// The most bytes of memory that a topic takes.
const TOPIC_BYTES: usize = 4 << 10;

/// Makes a topic as the person, reports it to the bot, and returns its number, which is the number of the message that
/// announces it.
pub(super) fn make_topic(state: &mut ServerState, id: i64, name: &str) -> Result<i64, PersonError> {
    let (bot, limits) = (state.bot.clone(), state.settings.limits);
    let full = |error: ApiError| PersonError::Full(id, error.description);
    let mut held = Held::of(&state.kept);
    held.try_keep(TOPIC_BYTES).map_err(|error| full(error.into()))?;
    let number = state.last_message + 1;
    let chat = state.chats.get_mut(&id).ok_or(PersonError::NoChat(id))?;
    chat.check_messages(&limits).map_err(full)?;
    let message = topic_root(number, name, ICON_COLOR, false);
    chat.topics.push(number);
    let json = chat.message_json(&message, &bot);
    chat.put(message);
    state.last_message = number;
    state.update("message", json);
    state.note(&format!("chat {id} (user) makes topic {number}"));
    Ok(number)
}

/// Makes the message with which a topic begins.
fn topic_root(number: i64, name: &str, icon_color: i64, is_bot: bool) -> Message {
    let made = json!({ "name": name, "icon_color": icon_color });
    Message {
        id: number,
        date: unix_s(),
        is_bot,
        topic: Some(number),
        file: Some(("forum_topic_created", made)),
        ..Message::default()
    }
}

/// Returns an error if a chat has no topics.
fn check_forum(chat: &BotChat) -> Result<(), ApiError> {
    match chat.is_forum() {
        true => Ok(()),
        false => Err(ApiError::bad("the chat is not a forum")),
    }
}

/// Reads the topic of a call.
fn topic_of(call: &mut ChatCall<'_>) -> Result<i64, ApiError> {
    check_forum(call.chat)?;
    let topic = call.params.integer("message_thread_id").unwrap_or_default();
    call.set("topic", topic);
    match call.chat.topics.contains(&topic) {
        true => Ok(topic),
        false => Err(ApiError::bad("message thread not found")),
    }
}

pub(super) fn create_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    check_forum(call.chat)?;
    let name = call.params.text("name").unwrap_or_default();
    call.set("name", name.as_str());
    if name.trim().is_empty() || markup::length(&name) > MAX_TOPIC_NAME {
        return Err(ApiError::bad("TOPIC_TITLE_INVALID"));
    }
    let icon_color = call.params.integer("icon_color").unwrap_or(ICON_COLOR);
    let number = call.next_id()?;
    call.chat.put(topic_root(number, &name, icon_color, true));
    call.chat.topics.push(number);
    call.set("topic", number);
    Ok(json!({ "message_thread_id": number, "name": name, "icon_color": icon_color }))
}

/// Changes a topic in a way that no message shows: its name, or whether it is open.
pub(super) fn change_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    topic_of(call)?;
    Ok(true.into())
}

/// Changes the general topic of a forum, which has no number.
pub(super) fn change_general_topic(call: &mut ChatCall<'_>) -> ApiResult {
    check_forum(call.chat)?;
    Ok(true.into())
}

/// Removes a topic with its messages.
pub(super) fn delete_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    let topic = topic_of(call)?;
    call.chat.topics.retain(|other| *other != topic);
    let of_topic = |message: &&Message| message.topic == Some(topic);
    let gone = call.chat.messages().values().filter(of_topic);
    let gone: Vec<i64> = gone.map(|message| message.id).collect();
    gone.iter().for_each(|id| call.chat.remove(*id));
    Ok(true.into())
}

/// Lists the icons of topics, which is an empty list.
pub(super) fn get_forum_topic_icon_stickers(
    _: &mut ServerState,
    _: &super::wire::Params,
) -> ApiResult {
    Ok(json!([]))
}

pub(super) fn send_document(call: &mut ChatCall<'_>) -> ApiResult {
    send_file(call, "document")
}

pub(super) fn send_photo(call: &mut ChatCall<'_>) -> ApiResult {
    send_file(call, "photo")
}

/// Sends a file: one in the request, one that is known by its id, or one at an address.
fn send_file(call: &mut ChatCall<'_>, field: &'static str) -> ApiResult {
    let text = call.formatted("caption", MAX_CAPTION)?;
    let (id, name, size) = match (call.params.file(field), call.params.text(field)) {
        (Some(file), _) => {
            (call.files.keep(&file.name, &file.bytes)?, file.name.clone(), file.bytes.len())
        }
        (None, Some(id)) if call.files.get(&id).is_some() => {
            let known = call.files.get(&id).map(|file| (file.name.clone(), file.bytes.len()));
            let (name, size) = known.unwrap_or_default();
            (id, name, size)
        }
        (None, Some(url)) if url.starts_with("http") => {
            let name = url.rsplit('/').next().unwrap_or_default().to_owned();
            (call.files.keep(&name, b"")?, name, 0)
        }
        (None, Some(_)) => return Err(ApiError::bad("wrong file identifier/HTTP URL specified")),
        (None, None) => {
            return Err(ApiError::bad(format!("there is no {field} in the request")));
        }
    };
    call.set("file", name.as_str());
    let file =
        json!({ "file_id": id, "file_unique_id": format!("unique-{id}"), "file_size": size });
    let file = match field {
        "photo" => {
            let mut size = file;
            size["width"] = 320.into();
            size["height"] = 240.into();
            json!([size])
        }
        _ => {
            let mut document = file;
            document["file_name"] = name.into();
            document
        }
    };
    call.add(text, Some((field, file)))
}

/// Answers a press. A call that a fault refuses leaves it open, so that the bot may try again.
pub(super) fn answer_callback_query(call: &mut ChatCall<'_>) -> ApiResult {
    if let Some(text) = call.params.text("text") {
        call.set("text", text.as_str());
        if markup::length(&text) > 200 {
            return Err(ApiError::bad("MESSAGE_TOO_LONG"));
        }
    }
    let id = call.params.text("callback_query_id").unwrap_or_default();
    call.presses.answer(&id, call.now)?;
    Ok(true.into())
}

/// Returns the chat as the Bot API describes it.
pub(super) fn get_chat(call: &mut ChatCall<'_>) -> ApiResult {
    let mut chat = call.chat.json();
    chat["accent_color_id"] = 0.into();
    chat["max_reaction_count"] = 11.into();
    Ok(chat)
}

/// Returns a member of a chat: the person, or the bot.
pub(super) fn get_chat_member(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.params.integer("user_id");
    let members = [(call.bot.json(), "administrator"), (call.chat.person(), "member")];
    let found = members.into_iter().find(|(user, _)| user["id"].as_i64() == id);
    let (user, status) = found.ok_or_else(|| ApiError::bad("member not found"))?;
    Ok(json!({ "user": user, "status": status }))
}

pub(super) fn pin_chat_message(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    match call.chat.messages().contains_key(&id) {
        true => Ok(Value::Bool(true)),
        false => Err(ApiError::bad("message to pin not found")),
    }
}

pub(super) fn unpin_chat_message(call: &mut ChatCall<'_>) -> ApiResult {
    if call.params.raw("message_id").is_some() {
        call.message_id()?;
    }
    Ok(true.into())
}
