//! The methods of the Bot API that are about a chat and write no text: files, pins, presses, and the properties of a
//! chat.

use serde_json::{Value, json};

use super::answer::{ApiError, ApiResult};
use super::markup;
use super::messages::{ChatCall, MAX_CAPTION};

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

/// Answers a press. It exists, because its chat was found by it.
pub(super) fn answer_callback_query(call: &mut ChatCall<'_>) -> ApiResult {
    if let Some(text) = call.params.text("text") {
        if markup::length(&text) > 200 {
            return Err(ApiError::bad("MESSAGE_TOO_LONG"));
        }
        call.set("text", text);
    }
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
