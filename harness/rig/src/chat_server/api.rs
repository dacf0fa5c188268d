//! The table of the Bot API's methods, as far as the server has them.

use serde_json::{Map, Value, json};

use super::drafts;
use super::faults::FloodWait;
use super::files;
use super::messages::{self, ChatCall};
use super::state::ServerState;
use super::topics;
use super::updates::{Webhook, webhook_target};
use super::wire::{ApiError, ApiResult, Params, noted};

/// The most commands of one scope.
const MAX_COMMANDS: usize = 100;
/// The most characters of a webhook's secret.
const MAX_SECRET: usize = 256;

/// The kind of a method, with the function that runs it.
#[derive(Clone, Copy)]
pub(super) enum MethodEffect {
    /// A method that waits for updates.
    Poll,
    /// A method that is about the bot, and not about a chat.
    Bot(fn(&mut ServerState, &Params) -> ApiResult),
    /// A method that is about a chat.
    Chat(ChatMethod),
}

/// The numbers of the calls of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallNumbers {
    /// One among the numbered calls of the chat, and one among the calls of the method.
    InChat,
    /// One among the calls of the method alone. The number of such calls depends on the time, such as that of typing
    /// signals, so that they must not move the numbers of messages.
    OfMethod,
}

/// A method that is about a chat.
#[derive(Clone, Copy)]
pub(super) struct ChatMethod {
    /// The numbers of its calls, by which a fault hits them.
    pub(super) numbers: CallNumbers,
    /// The wait of a 429 that holds for its calls and that they begin; `None` if each is refused alone.
    pub(super) waits: Option<FloodWait>,
    /// True if its calls count towards the pace of messages.
    pub(super) is_paced: bool,
    pub(super) run: fn(&mut ChatCall<'_>) -> ApiResult,
}

/// Makes a method that sends or edits a message.
const fn writes(run: fn(&mut ChatCall<'_>) -> ApiResult) -> MethodEffect {
    let (numbers, waits) = (CallNumbers::InChat, Some(FloodWait::Messages));
    MethodEffect::Chat(ChatMethod { numbers, waits, is_paced: true, run })
}

/// Makes a method that changes the chat without writing to it.
pub(super) const fn changes(run: fn(&mut ChatCall<'_>) -> ApiResult) -> MethodEffect {
    let (numbers, waits) = (CallNumbers::InChat, Some(FloodWait::Messages));
    MethodEffect::Chat(ChatMethod { numbers, waits, is_paced: false, run })
}

/// Makes a method that leaves the messages as they are.
const fn signals(run: fn(&mut ChatCall<'_>) -> ApiResult) -> MethodEffect {
    let numbers = CallNumbers::OfMethod;
    MethodEffect::Chat(ChatMethod { numbers, waits: None, is_paced: false, run })
}

/// Makes a method that shows a draft.
const fn drafts(run: fn(&mut ChatCall<'_>) -> ApiResult) -> MethodEffect {
    let (numbers, waits) = (CallNumbers::OfMethod, Some(FloodWait::Drafts));
    MethodEffect::Chat(ChatMethod { numbers, waits, is_paced: false, run })
}

/// The methods by name; the case of letters does not matter, as with Telegram.
const METHODS: [(&str, MethodEffect); 51] = [
    ("getMe", MethodEffect::Bot(get_me)),
    ("getUpdates", MethodEffect::Poll),
    ("setWebhook", MethodEffect::Bot(set_webhook)),
    ("deleteWebhook", MethodEffect::Bot(delete_webhook)),
    ("getWebhookInfo", MethodEffect::Bot(get_webhook_info)),
    ("logOut", MethodEffect::Bot(done)),
    ("close", MethodEffect::Bot(done)),
    ("getMyCommands", MethodEffect::Bot(get_my_commands)),
    ("setMyCommands", MethodEffect::Bot(set_my_commands)),
    ("deleteMyCommands", MethodEffect::Bot(delete_my_commands)),
    ("getMyName", MethodEffect::Bot(get_my_name)),
    ("setMyName", MethodEffect::Bot(done)),
    ("getMyDescription", MethodEffect::Bot(get_my_description)),
    ("setMyDescription", MethodEffect::Bot(done)),
    ("getMyShortDescription", MethodEffect::Bot(get_my_short_description)),
    ("setMyShortDescription", MethodEffect::Bot(done)),
    ("getChatMenuButton", MethodEffect::Bot(get_chat_menu_button)),
    ("setChatMenuButton", MethodEffect::Bot(done)),
    ("setMyDefaultAdministratorRights", MethodEffect::Bot(done)),
    ("getFile", MethodEffect::Bot(get_file)),
    ("getChat", signals(messages::get_chat)),
    ("getChatMember", signals(messages::get_chat_member)),
    ("sendMessage", writes(messages::send_message)),
    ("sendRichMessage", writes(messages::send_rich_message)),
    ("sendDocument", writes(files::send_document)),
    ("sendPhoto", writes(files::send_photo)),
    ("sendMediaGroup", writes(files::send_media_group)),
    ("editMessageText", writes(messages::edit_message_text)),
    ("editMessageCaption", writes(messages::edit_message_caption)),
    ("editMessageReplyMarkup", writes(messages::edit_message_reply_markup)),
    ("deleteMessage", changes(messages::delete_message)),
    ("deleteMessages", changes(messages::delete_messages)),
    ("setMessageReaction", changes(messages::set_message_reaction)),
    ("pinChatMessage", changes(messages::pin_chat_message)),
    ("unpinChatMessage", changes(messages::unpin_chat_message)),
    ("unpinAllChatMessages", changes(messages::unpin_chat_message)),
    ("sendChatAction", signals(messages::send_chat_action)),
    ("sendMessageDraft", drafts(drafts::send_message_draft)),
    ("sendRichMessageDraft", drafts(drafts::send_rich_message_draft)),
    ("createForumTopic", changes(topics::create_forum_topic)),
    ("editForumTopic", changes(topics::edit_forum_topic)),
    ("closeForumTopic", changes(topics::close_forum_topic)),
    ("reopenForumTopic", changes(topics::reopen_forum_topic)),
    ("deleteForumTopic", changes(topics::delete_forum_topic)),
    ("unpinAllForumTopicMessages", changes(topics::unpin_forum_topic)),
    ("editGeneralForumTopic", changes(topics::change_general_topic)),
    ("closeGeneralForumTopic", changes(topics::change_general_topic)),
    ("reopenGeneralForumTopic", changes(topics::change_general_topic)),
    ("hideGeneralForumTopic", changes(topics::change_general_topic)),
    ("unhideGeneralForumTopic", changes(topics::change_general_topic)),
    ("getForumTopicIconStickers", MethodEffect::Bot(topics::get_forum_topic_icon_stickers)),
];

/// The method that answers a press; its chat is the one with the pressed button.
const ANSWER_PRESS: (&str, MethodEffect) =
    ("answerCallbackQuery", signals(messages::answer_callback_query));

/// Finds a method by its name.
pub(super) fn method(name: &str) -> Option<(&'static str, MethodEffect)> {
    let mut all = METHODS.into_iter().chain([ANSWER_PRESS]);
    all.find(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// Finds the chat of a call.
pub(super) fn chat_of(
    state: &mut ServerState,
    name: &str,
    params: &Params,
) -> Result<i64, ApiError> {
    if name == ANSWER_PRESS.0 {
        let id = params.text("callback_query_id").unwrap_or_default();
        let pressed = state.callbacks.get(&id).map(|query| query.chat);
        return pressed.ok_or_else(ApiError::query_too_old);
    }
    if params.raw("chat_id").is_none() {
        return Err(ApiError::bad("chat_id is empty"));
    }
    let id = params.integer("chat_id").filter(|id| state.chats.contains_key(id));
    id.ok_or_else(|| ApiError::bad("chat not found"))
}

fn done(_: &mut ServerState, _: &Params) -> ApiResult {
    Ok(true.into())
}

fn get_me(state: &mut ServerState, _: &Params) -> ApiResult {
    let mut bot = state.bot.json();
    let abilities = [
        ("can_join_groups", true),
        ("can_read_all_group_messages", true),
        ("supports_inline_queries", false),
        ("can_connect_to_business", false),
        ("has_main_web_app", false),
        ("has_topics_enabled", state.bot.has_topics),
        ("allows_users_to_create_topics", state.bot.has_topics),
    ];
    for (name, has) in abilities {
        bot[name] = has.into();
    }
    Ok(bot)
}

fn get_my_name(state: &mut ServerState, _: &Params) -> ApiResult {
    Ok(json!({ "name": state.bot.json()["first_name"] }))
}

fn get_my_description(_: &mut ServerState, _: &Params) -> ApiResult {
    Ok(json!({ "description": "" }))
}

fn get_my_short_description(_: &mut ServerState, _: &Params) -> ApiResult {
    Ok(json!({ "short_description": "" }))
}

fn get_chat_menu_button(_: &mut ServerState, _: &Params) -> ApiResult {
    Ok(json!({ "type": "commands" }))
}

fn set_webhook(state: &mut ServerState, params: &Params) -> ApiResult {
    let url = params.text("url").unwrap_or_default();
    if url.is_empty() {
        return delete_webhook(state, params);
    }
    let secret = params.text("secret_token").filter(|secret| !secret.is_empty());
    let is_secret_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match &secret {
        Some(secret) if secret.len() > MAX_SECRET => {
            return Err(ApiError::bad("secret token is too long"));
        }
        Some(secret) if !secret.chars().all(is_secret_char) => {
            return Err(ApiError::bad("secret token contains unallowed characters"));
        }
        _ => {}
    }
    webhook_target(&url).map_err(ApiError::bad)?;
    state.updates.allow(params);
    if params.flag("drop_pending_updates") {
        state.updates.drop_pending();
    }
    state.updates.webhook = Some(Webhook { url, secret, last_error: None });
    Ok(true.into())
}

fn delete_webhook(state: &mut ServerState, params: &Params) -> ApiResult {
    if params.flag("drop_pending_updates") {
        state.updates.drop_pending();
    }
    state.updates.webhook = None;
    Ok(true.into())
}

fn get_webhook_info(state: &mut ServerState, _: &Params) -> ApiResult {
    let webhook = state.updates.webhook.as_ref();
    let mut info = json!({
        "url": webhook.map_or("", |webhook| webhook.url.as_str()),
        "has_custom_certificate": false,
        "pending_update_count": state.updates.pending(),
    });
    if let Some(error) = webhook.and_then(|webhook| webhook.last_error.as_ref()) {
        info["last_error_message"] = error.as_str().into();
    }
    Ok(info)
}

/// Returns the key under which the commands of a scope and a language are stored.
fn scope(params: &Params) -> String {
    let scope = params.json("scope").unwrap_or_else(|| json!({ "type": "default" }));
    format!("{scope} {}", params.text("language_code").unwrap_or_default())
}

fn get_my_commands(state: &mut ServerState, params: &Params) -> ApiResult {
    Ok(state.commands(&scope(params)).cloned().unwrap_or_else(|| json!([])))
}

fn set_my_commands(state: &mut ServerState, params: &Params) -> ApiResult {
    let commands = params.json("commands").filter(Value::is_array);
    let commands = commands.ok_or_else(|| ApiError::bad("commands must be an Array"))?;
    let all = commands.as_array().map(Vec::as_slice).unwrap_or_default();
    if all.len() > MAX_COMMANDS {
        return Err(ApiError::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    let is_command_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_command = |command: &Value| {
        let name = command["command"].as_str().unwrap_or_default().trim_start_matches('/');
        (1..=32).contains(&name.len()) && name.chars().all(is_command_char)
    };
    if !all.iter().all(is_command) {
        return Err(ApiError::bad("BOT_COMMAND_INVALID"));
    }
    let is_described = |command: &Value| {
        let length = command["description"].as_str().unwrap_or_default().chars().count();
        (1..=256).contains(&length)
    };
    if !all.iter().all(is_described) {
        return Err(ApiError::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
    }
    state.set_commands(&scope(params), Some(commands))?;
    Ok(true.into())
}

fn delete_my_commands(state: &mut ServerState, params: &Params) -> ApiResult {
    state.set_commands(&scope(params), None)?;
    Ok(true.into())
}

fn get_file(state: &mut ServerState, params: &Params) -> ApiResult {
    let id = params.text("file_id").unwrap_or_default();
    let file = state.files.get(&id).ok_or_else(|| ApiError::bad("invalid file_id"))?;
    Ok(json!({ "file_id": id, "file_unique_id": format!("unique-{id}"),
        "file_size": file.bytes.len(), "file_path": format!("documents/{id}") }))
}

/// Returns the entry's data for a call that is about no chat: its parameters without a secret.
pub(super) fn bot_data(params: &Params) -> Map<String, Value> {
    let mut data = Map::new();
    for name in ["url", "drop_pending_updates", "allowed_updates", "scope", "file_id"] {
        if let Some(value) = params.raw(name) {
            data.insert(name.to_owned(), noted(value));
        }
    }
    if let Some(commands) = params.json("commands") {
        data.insert("commands".into(), commands.as_array().map_or(0, Vec::len).into());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::super::faults::COUNTED;
    use super::*;

    #[test]
    fn the_methods_that_a_list_of_faults_counts_are_about_a_chat() {
        for name in COUNTED {
            let found = method(name);
            let is_known = matches!(found, Some((known, MethodEffect::Chat(_))) if known == name);
            assert!(is_known, "{name}");
        }
    }
}
