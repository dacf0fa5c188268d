//! The methods of the Bot API that are about a chat: messages, pins and presses; and the parts of a call that the
//! methods for files, rich messages, drafts and topics share.
//!
//! A method checks its parameters in Telegram's order, changes the chat, and puts the facts about the call into the
//! entry's data.

use clitape_recording::chat::{CALL_HTML, TYPING_MS};
use serde_json::{Map, Value, json};

use super::markup::{self, FormattedText, RichMessage, RichUse, SentRich};
use super::state::{Bot, BotChat, Files, Message, OpenPresses, unix_s};
use super::wire::{ApiError, ApiResult, Params, integer};
use crate::limits::ChatServerLimits;

/// The most bytes of the data of a button.
const MAX_BUTTON_DATA: usize = 64;
/// The most entities of a message; Telegram ignores further ones.
const MAX_ENTITIES: usize = 100;
/// The most buttons of a message.
const MAX_BUTTONS: usize = 100;

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

/// The place of a text, which decides its length and whether it may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPlace {
    /// The text of a message.
    Message,
    /// The text of a draft; an empty one shows a placeholder.
    Draft,
    /// The caption of a file.
    Caption,
}

impl TextPlace {
    /// Returns the names of the parameters with the text and with its entities.
    fn parameters(self) -> [&'static str; 2] {
        match self {
            Self::Caption => ["caption", "caption_entities"],
            Self::Message | Self::Draft => ["text", "entities"],
        }
    }

    /// Returns the most code points of the text.
    fn most(self) -> usize {
        if self == Self::Caption { 1_024 } else { 4_096 }
    }
}

/// A text as the bot sent it.
#[derive(Debug, Default)]
pub(super) struct BotText {
    pub(super) source: String,
    pub(super) mode: Option<String>,
    pub(super) entities: Option<Value>,
}

impl BotText {
    /// Reads the text with its markup.
    pub(super) fn read(&self, place: TextPlace) -> Result<FormattedText, ApiError> {
        let may_be_empty = place != TextPlace::Message;
        if self.source.trim().is_empty() && !may_be_empty {
            return Err(ApiError::bad("message text is empty"));
        }
        let mut parsed =
            markup::parse(&self.source, self.mode.as_deref()).map_err(ApiError::bad)?;
        if let (None, Some(Value::Array(given))) = (&self.mode, &self.entities) {
            parsed.entities.clone_from(given);
        }
        parsed.entities.truncate(MAX_ENTITIES);
        // Telegram drops blanks at the end; it keeps those at the start only within an entity.
        parsed.text.truncate(parsed.text.trim_end().len());
        if parsed.text.is_empty() && !may_be_empty {
            return Err(ApiError::bad("text must be non-empty"));
        }
        if markup::length(&parsed.text) > place.most() {
            let what = if place == TextPlace::Caption { "message caption" } else { "message" };
            return Err(ApiError::bad(format!("{what} is too long")));
        }
        Ok(parsed)
    }
}

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
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.data.insert(name.to_owned(), value.into());
    }

    /// Reads the text or caption of a message with its markup.
    pub(super) fn formatted(&mut self, place: TextPlace) -> Result<FormattedText, ApiError> {
        let [text, entities] = place.parameters();
        let sent = BotText {
            source: self.params.text(text).unwrap_or_default(),
            mode: self.params.text("parse_mode").filter(|mode| !mode.is_empty()),
            entities: self.params.json(entities),
        };
        self.set("text", sent.source.as_str());
        if let Some(mode) = &sent.mode {
            self.set("parse_mode", mode.as_str());
        }
        let parsed = sent.read(place)?;
        self.draw(&sent.source, &parsed);
        Ok(parsed)
    }

    /// Reads the rich message of a call, and puts its text into the entry.
    pub(super) fn rich_message(&mut self, using: RichUse) -> Result<RichMessage, ApiError> {
        let input = self.params.json("rich_message").filter(Value::is_object);
        let input = input.ok_or_else(|| ApiError::bad("rich message must be non-empty"))?;
        let sent = SentRich::parameter(&input).map_err(ApiError::bad)?;
        self.set("text", sent.source.as_str());
        self.set("parse_mode", sent.mode);
        let rich = sent.read(using).map_err(ApiError::bad)?;
        self.draw(&sent.source, &rich.text);
        Ok(rich)
    }

    /// Puts the HTML of the text that a person reads into the entry, if it differs from the text as it was sent.
    pub(super) fn draw(&mut self, source: &str, read: &FormattedText) {
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

    /// Puts the labels of all buttons of a message into the entry, if it has buttons within its rich text.
    pub(super) fn list_buttons(&mut self, message: &Message) {
        if message.rich.as_ref().is_some_and(|rich| !rich.rows.is_empty()) {
            let label = |button: &&Value| button["text"].clone();
            let row = |row: Vec<&Value>| row.iter().map(label).collect::<Value>();
            self.set("buttons", message.rows().into_iter().map(row).collect::<Value>());
        }
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

    /// Reads the topic of a new message. As with Telegram, a group without topics ignores it, and General, whose number
    /// is 1, can't be named
    /// (`Client::check_message_topic` of <https://github.com/tdlib/telegram-bot-api>).
    pub(super) fn topic(&mut self) -> Result<Option<i64>, ApiError> {
        let topic = self.params.integer("message_thread_id").filter(|topic| *topic > 0);
        let Some(topic) = topic else { return Ok(None) };
        if self.chat.is_group() && !self.chat.is_forum() {
            return Ok(None);
        }
        self.set("topic", topic);
        match self.chat.topics.contains_key(&topic) {
            true => Ok(Some(topic)),
            false => Err(ApiError::bad("message thread not found")),
        }
    }

    /// Returns the id for a new message.
    pub(super) fn next_id(&mut self) -> Result<i64, ApiError> {
        self.chat.check_messages(&self.limits)?;
        *self.last_message += 1;
        Ok(*self.last_message)
    }

    /// Reads the parts of a new message that all methods share: its reply, its topic and its buttons.
    pub(super) fn new_message(&mut self) -> Result<Message, ApiError> {
        let (reply_to, topic, keyboard) = (self.reply()?, self.topic()?, self.keyboard()?);
        Ok(Message {
            date: unix_s(),
            is_bot: true,
            keyboard,
            topic,
            reply_to,
            ..Message::default()
        })
    }

    /// Adds a message of the bot and returns it.
    pub(super) fn add(&mut self, text: FormattedText, message: Message) -> ApiResult {
        let message = Message {
            source: self.data.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
            parse_mode: self.data.get("parse_mode").and_then(Value::as_str).map(str::to_owned),
            text: text.text,
            entities: text.entities,
            id: self.next_id()?,
            ..message
        };
        self.data.shift_insert(0, "message_id".into(), message.id.into());
        Ok(self.show(message))
    }

    /// Shows a new message, and returns it as the Bot API describes it. It replaces the draft of its topic.
    pub(super) fn show(&mut self, message: Message) -> Value {
        let json = self.chat.message_json(&message, self.bot);
        self.chat.end_draft(message.topic);
        self.chat.put(message);
        self.chat.typing_until = 0;
        json
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
                && before.rich == edited.rich
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
    let text = call.formatted(TextPlace::Message)?;
    let message = call.new_message()?;
    call.add(text, message)
}

pub(super) fn send_rich_message(call: &mut ChatCall<'_>) -> ApiResult {
    let rich = call.rich_message(RichUse::Message)?;
    let mut message = call.new_message()?;
    let text = rich.text.clone();
    message.rich = Some(rich);
    call.list_buttons(&message);
    call.add(text, message)
}

pub(super) fn edit_message_text(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let (text, rich) = match call.params.raw("rich_message") {
        Some(_) => {
            let rich = call.rich_message(RichUse::Message)?;
            (rich.text.clone(), Some(rich))
        }
        None => (call.formatted(TextPlace::Message)?, None),
    };
    let keyboard = call.keyboard()?;
    let mut message = call.editable(id)?;
    if message.file.is_some() {
        return Err(ApiError::bad("there is no text in the message to edit"));
    }
    let sent = |name: &str| call.data.get(name).and_then(Value::as_str).map(str::to_owned);
    (message.source, message.parse_mode) = (sent("text").unwrap_or_default(), sent("parse_mode"));
    (message.text, message.entities, message.keyboard) = (text.text, text.entities, keyboard);
    message.rich = rich;
    call.list_buttons(&message);
    call.replace(message)
}

pub(super) fn edit_message_caption(call: &mut ChatCall<'_>) -> ApiResult {
    let id = call.message_id()?;
    let text = call.formatted(TextPlace::Caption)?;
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
    call.list_buttons(&message);
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
    // A bot shows that it types in General by its number.
    let is_general = call.chat.is_forum() && call.params.integer("message_thread_id") == Some(1);
    if !is_general {
        call.topic()?;
    }
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
