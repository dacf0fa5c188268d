//! The topics of a group that is a forum: a person makes them, or a bot by the methods in this file.

use serde_json::json;

use super::answer::{ApiError, ApiResult};
use super::chat::{BotChat, Message};
use super::markup;
use super::messages::ChatCall;
use super::person::PersonError;
use super::state::{ServerState, unix_s};
use crate::kept::Held;

/// The default colour of a topic's icon, from Telegram.
const ICON_COLOR: i64 = 7_322_096;
/// The most characters of a topic's name.
const MAX_NAME: usize = 128;
/// The most bytes of memory that a topic takes.
const TOPIC: usize = 4 << 10;

/// Makes a topic as the person, reports it to the bot, and returns its number, which is the number of the message that
/// announces it.
pub(super) fn make(state: &mut ServerState, id: i64, name: &str) -> Result<i64, PersonError> {
    let (bot, limits) = (state.bot.clone(), state.settings.limits);
    let full = |error: ApiError| PersonError::Full(id, error.description);
    let mut held = Held::of(&state.kept);
    held.try_keep(TOPIC).map_err(|error| full(error.into()))?;
    let number = state.last_message + 1;
    let chat = state.chats.get_mut(&id).ok_or(PersonError::NoChat(id))?;
    chat.check_messages(&limits).map_err(full)?;
    let message = root(number, name, ICON_COLOR, false);
    chat.topics.push(number);
    let json = chat.message_json(&message, &bot);
    chat.put(message);
    state.last_message = number;
    state.update("message", json);
    state.note(&format!("chat {id} (user) makes topic {number}"));
    Ok(number)
}

/// Makes the message with which a topic begins.
fn root(number: i64, name: &str, icon_color: i64, is_bot: bool) -> Message {
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
    if name.trim().is_empty() || markup::length(&name) > MAX_NAME {
        return Err(ApiError::bad("TOPIC_TITLE_INVALID"));
    }
    let icon_color = call.params.integer("icon_color").unwrap_or(ICON_COLOR);
    let number = call.next_id()?;
    call.chat.put(root(number, &name, icon_color, true));
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
    _: &super::params::Params,
) -> ApiResult {
    Ok(json!([]))
}
