//! The methods of the Bot API that are about a chat and write to it.
//!
//! A method checks its parameters in Telegram's order, changes the chat, and puts the facts about the call into the
//! entry's data.

use clitape_recording::chat::CALL_HTML;
use serde_json::{Map, Value, json};

use super::answer::{ApiError, ApiResult};
use super::chat::{Bot, BotChat, Message};
use super::markup::{self, FormattedText};
use super::params::{Params, integer};
use super::state::{Files, unix_s};
use crate::limits::ChatServerLimits;

/// The most code points of a message.
const MAX_TEXT: usize = 4_096;
/// The most code points of a caption.
pub(super) const MAX_CAPTION: usize = 1_024;
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
    pub(super) fn formatted(&mut self, name: &str, most: usize) -> Result<FormattedText, ApiError> {
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
    pub(super) fn next_id(&mut self) -> Result<i64, ApiError> {
        self.chat.check_messages(&self.limits)?;
        *self.last_message += 1;
        Ok(*self.last_message)
    }

    /// Adds a message of the bot and returns it.
    pub(super) fn add(
        &mut self,
        text: FormattedText,
        file: Option<(&'static str, Value)>,
    ) -> ApiResult {
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
    pub(super) fn message_id(&mut self) -> Result<i64, ApiError> {
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
