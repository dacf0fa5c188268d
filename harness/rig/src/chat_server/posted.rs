//! The acts of a person by HTTP: `POST /person/say`, `POST /person/press`, `GET /person/chat`.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::page::screen;
use super::params::Params;
use super::person::{self, PersonError, PressTarget};
use super::response::answer;
use super::shared::Shared;

/// The body of `/person/say`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SayBody {
    chat: i64,
    text: String,
    topic: Option<i64>,
}

/// The body of `/person/press`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PressBody {
    chat: i64,
    /// The id of a message, or `last`.
    #[serde(default)]
    message_id: MessageField,
    label: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum MessageField {
    Number(i64),
    Word(String),
}

impl Default for MessageField {
    fn default() -> Self {
        Self::Word("last".to_owned())
    }
}

/// Answers with JSON.
fn json_answer(status: u16, value: &Value) -> Response {
    answer(status, "application/json", value.to_string())
}

fn refused(status: u16, words: &str) -> Response {
    json_answer(status, &json!({ "error": words }))
}

/// Reads the body of an act, or returns the response that refuses it.
async fn read<T: DeserializeOwned>(
    shared: &Shared,
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Response> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.unwrap_or_default().starts_with("application/json") {
        return Err(refused(415, "send JSON with the header `Content-Type: application/json`"));
    }
    let most = shared.read(|state| state.settings.limits.act);
    let body = to_bytes(body, usize::try_from(most.get()).unwrap_or(usize::MAX)).await;
    let words = format!("the request is longer than {most}; raise the limit with `--max-act`");
    let body = body.map_err(|_| refused(413, &words))?;
    serde_json::from_slice(&body).map_err(|error| refused(400, &error.to_string()))
}

/// Answers an act with its result.
fn acted(result: Result<Value, PersonError>) -> Response {
    match result {
        Ok(value) => json_answer(200, &value),
        Err(error) => refused(409, &error.to_string()),
    }
}

pub(super) async fn say(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match read::<SayBody>(&shared, &headers, body).await {
        Err(response) => response,
        Ok(SayBody { chat, text, topic }) => {
            let said = shared.change(|state| person::say(state, chat, topic, &text));
            acted(said.map(|id| json!({ "message_id": id })))
        }
    }
}

pub(super) async fn press(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let PressBody { chat, message_id, label } = match read(&shared, &headers, body).await {
        Err(response) => return response,
        Ok(read) => read,
    };
    let id = match message_id {
        MessageField::Number(id) => Some(id),
        MessageField::Word(word) if word == "last" => None,
        MessageField::Word(_) => {
            return refused(400, "`message_id` is a message's id, or \"last\"");
        }
    };
    let pressed = shared.change(|state| {
        let target = match id {
            None => PressTarget::Last,
            Some(id) => {
                let known = state.chats.get(&chat).ok_or(PersonError::NoChat(chat))?;
                let no_message = || PersonError::NoMessage { chat, message: id.to_string() };
                PressTarget::Message(known.number_of(id).ok_or_else(no_message)?)
            }
        };
        person::press(state, chat, target, &label)
    });
    acted(pressed.map(|()| json!({})))
}

/// Answers with the messages that a person sees in a chat now.
pub(super) async fn chat(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let Some(chat) = Params::of_query(&query.unwrap_or_default()).integer("chat") else {
        return refused(400, "say which chat: /person/chat?chat=1000");
    };
    shared.read(|state| match state.chats.get(&chat) {
        Some(chat) => json_answer(200, &screen(chat, state.now())),
        None => refused(404, &PersonError::NoChat(chat).to_string()),
    })
}
