//! The topics of a chat: those of a forum, and those of a private chat with a bot that has topics.
//!
//! The rules and the words are those of TDLib, which is Telegram's own server of the Bot API
//! (`ForumTopicManager.cpp` of <https://github.com/tdlib/td>); the words in capitals are of the server behind it
//! (<https://core.telegram.org/method/channels.editForumTopic>).

use serde_json::{Value, json};

use super::markup;
use super::messages::ChatCall;
use super::person::PersonError;
use super::state::{BotChat, Message, ServerState, Topic, unix_s};
use super::wire::{ApiError, ApiResult, Params};
use crate::limits::Held;

/// The colour of a topic's icon if the bot names none.
const ICON_COLOR: i64 = 7_322_096;
/// The largest colour, which is white.
const MAX_COLOR: i64 = 0x00ff_ffff;
/// The most characters of a topic's name; the rest is cut off.
const MAX_NAME: usize = 128;
/// The most bytes of memory that a topic takes.
const TOPIC_BYTES: usize = 4 << 10;

/// A few of the icons that `getForumTopicIconStickers` lists, each with the id of its custom emoji.
const ICONS: [(&str, &str); 5] = [
    ("📰", "5434144690511290129"),
    ("💡", "5312536423851630001"),
    ("⚡️", "5312016608254762256"),
    ("🎙", "5377544228505134960"),
    ("🔝", "5418085807791545980"),
];

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
    let message = topic_root(number, json!({ "name": name, "icon_color": ICON_COLOR }), false);
    chat.topics.insert(number, Topic::named(name));
    let json = chat.message_json(&message, &bot);
    chat.put(message);
    state.last_message = number;
    state.update("message", json);
    state.note(&format!("chat {id} (user) makes topic {number}"));
    Ok(number)
}

/// Makes the message with which a topic begins.
fn topic_root(number: i64, made: Value, is_bot: bool) -> Message {
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
fn check_topics(call: &ChatCall<'_>) -> Result<(), ApiError> {
    let has_topics = match call.chat.is_group() {
        true => call.chat.is_forum(),
        false => call.bot.has_topics,
    };
    match has_topics {
        true => Ok(()),
        false => Err(ApiError::bad("the chat is not a forum")),
    }
}

/// Returns an error if a chat is not a group with topics, because a topic of a private chat can't be closed.
fn check_forum(call: &ChatCall<'_>) -> Result<(), ApiError> {
    check_topics(call)?;
    match call.chat.is_group() {
        true => Ok(()),
        false => Err(ApiError::bad("the chat is not a supergroup forum")),
    }
}

/// Reads the topic that a call is about.
fn topic_of<'c>(call: &'c mut ChatCall<'_>) -> Result<(i64, &'c mut Topic), ApiError> {
    let number = call.params.integer("message_thread_id").unwrap_or_default();
    call.set("topic", number);
    if number <= 0 {
        return Err(ApiError::bad("invalid forum topic identifier specified"));
    }
    let topic = call.chat.topics.get_mut(&number);
    topic.map(|topic| (number, topic)).ok_or_else(|| ApiError::bad("TOPIC_ID_INVALID"))
}

/// Reads the name of a topic; `None` if it is empty or missing.
fn name_of(call: &mut ChatCall<'_>) -> Option<String> {
    let name = call.params.text("name").unwrap_or_default();
    call.set("name", name.as_str());
    let name: String = name.trim().chars().take(MAX_NAME).collect();
    (markup::length(&name) > 0).then_some(name)
}

pub(super) fn create_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    let name = name_of(call);
    check_topics(call)?;
    let name = name.ok_or_else(|| ApiError::bad("name must be non-empty"))?;
    let icon_color = call.params.integer("icon_color").filter(|color| *color != 0);
    let icon_color = icon_color.unwrap_or(ICON_COLOR);
    if !(0..=MAX_COLOR).contains(&icon_color) {
        return Err(ApiError::bad("invalid icon color specified"));
    }
    let icon = call.params.text("icon_custom_emoji_id").unwrap_or_default();
    let number = call.next_id()?;
    let mut made = json!({ "name": name, "icon_color": icon_color });
    if !icon.is_empty() {
        made["icon_custom_emoji_id"] = icon.as_str().into();
    }
    call.chat.put(topic_root(number, made.clone(), true));
    call.chat.topics.insert(number, Topic { name, icon, is_closed: false });
    call.set("topic", number);
    made["message_thread_id"] = number.into();
    Ok(made)
}

/// Changes the name or the icon of a topic. A call without either changes nothing, and an empty name keeps it.
pub(super) fn edit_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    let name = name_of(call);
    let icon = call.params.text("icon_custom_emoji_id");
    let is_empty = name.is_none() && icon.is_none();
    check_topics(call)?;
    let (_, topic) = topic_of(call)?;
    let edited = Topic {
        name: name.unwrap_or_else(|| topic.name.clone()),
        icon: icon.unwrap_or_else(|| topic.icon.clone()),
        ..topic.clone()
    };
    change(topic, edited, is_empty)
}

pub(super) fn close_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    open_or_close(call, true)
}

pub(super) fn reopen_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    open_or_close(call, false)
}

fn open_or_close(call: &mut ChatCall<'_>, is_closed: bool) -> ApiResult {
    check_forum(call)?;
    let (_, topic) = topic_of(call)?;
    let edited = Topic { is_closed, ..topic.clone() };
    change(topic, edited, false)
}

/// Replaces a topic by its edited form, or returns Telegram's error if they are equal.
fn change(topic: &mut Topic, edited: Topic, may_be_same: bool) -> ApiResult {
    if *topic == edited && !may_be_same {
        return Err(ApiError::bad("TOPIC_NOT_MODIFIED"));
    }
    *topic = edited;
    Ok(true.into())
}

/// Unpins the messages of a topic, which no message shows.
pub(super) fn unpin_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    check_topics(call)?;
    topic_of(call)?;
    Ok(true.into())
}

/// Changes the general topic of a forum, which has no number.
pub(super) fn change_general_topic(call: &mut ChatCall<'_>) -> ApiResult {
    check_forum(call)?;
    Ok(true.into())
}

/// Removes a topic with its messages.
pub(super) fn delete_forum_topic(call: &mut ChatCall<'_>) -> ApiResult {
    check_topics(call)?;
    let (number, _) = topic_of(call)?;
    remove(call.chat, number);
    Ok(true.into())
}

fn remove(chat: &mut BotChat, number: i64) {
    chat.topics.remove(&number);
    chat.end_draft(Some(number));
    let of_topic = |message: &&Message| message.topic == Some(number);
    let gone = chat.messages().values().filter(of_topic);
    let gone: Vec<i64> = gone.map(|message| message.id).collect();
    gone.iter().for_each(|id| chat.remove(*id));
}

/// Lists the icons that a bot may give a topic.
pub(super) fn get_forum_topic_icon_stickers(_: &mut ServerState, _: &Params) -> ApiResult {
    let sticker = |(emoji, id): (&str, &str)| {
        json!({ "file_id": format!("icon-{id}"), "file_unique_id": format!("unique-{id}"),
            "type": "custom_emoji", "width": 512, "height": 512, "is_animated": true,
            "is_video": false, "emoji": emoji, "set_name": "Topics", "custom_emoji_id": id })
    };
    Ok(ICONS.into_iter().map(sticker).collect())
}
