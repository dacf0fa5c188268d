//! The page that shows the chats as they change, and the acts of a person by HTTP: `POST /person/say`,
//! `POST /person/press`, `POST /person/stop`, `GET /person/chat`.
//!
//! The page has the state in an attribute. Its script draws the state, waits for the next one, and sets `textContent`
//! only, so that a bot's text stays text. The policy allows the server's own style, script and requests, and forbids
//! all else.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use clitape_recording::text::marked;
use clitape_recording::trace::Entry;
use maud::{DOCTYPE, html};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::call::answer;
use super::person::{self, PersonError, PersonText, PressTarget};
use super::state::{BotChat, ChatDraft, Message, Shared};
use super::wire::{Params, WORD, cut};

/// The policy for the page's content.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The time that a request for the next state waits.
const WAIT: Duration = Duration::from_secs(20);
/// The number of calls that the page lists.
const CALLS: usize = 60;
/// The number of messages that the page shows.
const MESSAGES: usize = 200;

/// The bytes of messages that the page shows, the newest first. They have a limit of their own, because requests for
/// the page need no token.
const MESSAGES_BYTES: usize = 256 << 10;
/// The most bytes of a label, of a link and of the text of a call on the page.
const LABEL: usize = 200;

/// Answers with the page.
pub(super) async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/page.css";
                script defer src="/page.js" {}
                title { "Chats of clitape chat-server" }
            }
            body data-state=(snapshot(&shared, None)) {
                header {
                    h1 { "Chats" }
                    p #status role="status" { "connecting…" }
                }
                noscript { p { "This page needs its script, which asks the server for the chats." } }
                main {
                    nav #chats aria-label="Chats" {}
                    section #phone aria-label="The chat as a person sees it" {
                        div #messages aria-live="polite" {}
                        p #typing hidden { "typing…" }
                        form #say {
                            input #text name="text" autocomplete="off" placeholder="Write as the person"
                                aria-label="Message";
                            button { "Send" }
                        }
                        p #problem role="alert" hidden {}
                    }
                    section aria-label="Calls of the bot" {
                        h2 { "Calls" }
                        ol #calls {}
                    }
                }
            }
        }
    };
    let mut response = answer(200, "text/html; charset=utf-8", page.into_string());
    let policy = HeaderValue::from_static(POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

pub(super) async fn style() -> Response {
    answer(200, "text/css; charset=utf-8", include_str!("page.css"))
}

pub(super) async fn script() -> Response {
    answer(200, "text/javascript; charset=utf-8", include_str!("page.js"))
}

/// Answers with the chats and the contents of one of them, once the state is another one than `since`.
pub(super) async fn state(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = Params::of_query(&query.unwrap_or_default());
    let since = query.text("since").and_then(|since| since.parse().ok()).unwrap_or(0);
    let asked = query.integer("chat");
    let mut changes = shared.changes();
    let is_new = changes.wait_for(|revision: &u64| *revision != since);
    let _ = timeout(WAIT, is_new).await;
    answer(200, "application/json", snapshot(&shared, asked).to_string())
}

/// Returns the chats and the contents of one of them: the one that is asked for, or the newest.
fn snapshot(shared: &Shared, asked: Option<i64>) -> Value {
    let revision = *shared.changes().borrow();
    shared.read(|state| {
        let chats = state.chats.values().map(|chat| {
            json!({ "id": chat.id, "title": chat.title(), "messages": chat.messages().len(),
                "under_way": chat.under_way })
        });
        let last = || state.chats.values().max_by_key(|chat| chat.said_at);
        let shown = asked.and_then(|id| state.chats.get(&id)).or_else(last);
        let now = state.now();
        json!({ "revision": revision, "ready": state.updates.is_ready(),
            "chats": chats.collect::<Vec<Value>>(), "chat": shown.map(|chat| screen(chat, now)) })
    })
}

/// Returns the messages that a person sees in a chat now, and the newest calls.
fn screen(chat: &BotChat, now: u64) -> Value {
    let mut room = MESSAGES_BYTES;
    let newest =
        chat.messages().values().rev().take(MESSAGES).map(|message| shown_message(chat, message));
    let newest = newest.take_while(|message| {
        let bytes = message.to_string().len();
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    });
    let mut messages: Vec<Value> = newest.collect();
    messages.reverse();
    let start = chat.said_at.unwrap_or(0);
    let calls = chat.entries().iter().rev().take(CALLS).map(|entry| call(entry, start));
    json!({
        "chat": chat.id,
        "title": chat.title(),
        "messages": messages,
        "drafts": shown_drafts(chat, now),
        "typing": chat.typing_until > now,
        "typing_ms": chat.typing_until.saturating_sub(now),
        "under_way": chat.under_way,
        "calls": calls.collect::<Vec<Value>>(),
    })
}

/// Returns the drafts that a person sees in a chat now.
fn shown_drafts(chat: &BotChat, now: u64) -> Vec<Value> {
    let seen = chat.drafts.iter().filter(|(_, draft)| draft.is_visible(now));
    let shown = |(topic, draft): (&Option<i64>, &ChatDraft)| {
        json!({ "topic": topic, "text": visible(&draft.text.text),
            "spans": spans(&draft.text.text, &draft.text.entities),
            "can_stop": draft.can_stop && !draft.is_stopped, "left_ms": draft.until - now })
    };
    seen.map(shown).collect()
}

/// Returns a message as the page shows it.
fn shown_message(chat: &BotChat, message: &Message) -> Value {
    json!({
        "message_id": message.id,
        "number": chat.number_of(message.id),
        "from": if message.is_bot { "bot" } else { "person" },
        "text": visible(&message.text),
        "spans": spans(&message.text, &message.entities),
        "buttons": labels(message),
        "edited": message.edited.is_some(),
        "reply_to": message.reply_to,
        "topic": message.topic,
        "album": message.group.and_then(|first| chat.number_of(first)),
        "reactions": message.reactions,
        "file": message.file.as_ref().map(|(kind, file)| {
            cut(file["file_name"].as_str().unwrap_or(kind), LABEL).to_owned()
        }),
    })
}

/// Returns a call as the page lists it.
fn call(entry: &Entry, start: u64) -> Value {
    let number = |name: &str| entry.data.get(name).and_then(Value::as_u64);
    let text = |name: &str| entry.data.get(name).and_then(Value::as_str);
    let short = |text: &str| visible(cut(text, LABEL));
    json!({ "at": entry.at.saturating_sub(start), "kind": visible(&entry.kind), "took_ms": number("took_ms"),
        "message_id": number("message_id"), "text": text("text").or(text("action")).map(short),
        "problem": text("refused").or(text("answer")), "shown": entry.is_shown() })
}

/// Returns the labels of a message's buttons, row by row; those of links have an arrow.
fn labels(message: &Message) -> Vec<Vec<String>> {
    let label = |button: &Value| cut(button["text"].as_str().unwrap_or_default(), LABEL).to_owned();
    message.rows().into_iter().map(|row| row.into_iter().map(label).collect()).collect()
}

/// Returns the runs of a text, each with the kinds of its entities and the address of its link.
fn spans(text: &str, entities: &[Value]) -> Vec<Value> {
    let number = |entity: &Value, name: &str| {
        entity[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
    };
    let bounds: Vec<(usize, usize, &Value)> = entities
        .iter()
        .map(|entity| {
            let offset = number(entity, "offset");
            (offset, offset.saturating_add(number(entity, "length")), entity)
        })
        .collect();
    let mut edges: Vec<usize> = bounds.iter().flat_map(|(start, end, _)| [*start, *end]).collect();
    edges.sort_unstable();
    let mut edges = edges.into_iter().peekable();
    let look = |at: usize| {
        let over = || bounds.iter().filter(|(start, end, _)| (*start..*end).contains(&at));
        let kinds = over().filter_map(|(.., e)| e["type"].as_str()).map(|kind| cut(kind, WORD));
        let link = over().find_map(|(.., e)| e["url"].as_str()).map(|link| cut(link, LABEL));
        (kinds.collect::<Vec<&str>>().join(" "), link)
    };
    let mut spans = vec![(look(0), String::new())];
    let mut at = 0;
    for c in text.chars() {
        let mut is_edge = false;
        while edges.next_if(|edge| *edge <= at).is_some() {
            is_edge = true;
        }
        let changed = Some(at).filter(|_| is_edge).map(look);
        match (changed, spans.last_mut()) {
            (Some(look), Some(last)) if look != last.0 => spans.push((look, c.to_string())),
            (_, Some((_, text))) => text.push(c),
            (_, None) => {}
        }
        at += c.len_utf16();
    }
    let spans = spans.into_iter().filter(|(_, text)| !text.is_empty());
    let of = |((kinds, link), text): ((String, Option<&str>), String)| json!({ "text": visible(&text), "kinds": kinds, "link": link });
    spans.map(of).collect()
}

/// Returns a text in which invisible characters are replaced by signs; line breaks and tabs stay.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for (c, hides) in marked(text) {
        match c {
            '\n' | '\t' => visible.push(c),
            c if hides || c.is_control() => visible.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => visible.push(c),
        }
    }
    visible
}

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

/// The body of `/person/stop`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopBody {
    chat: i64,
    topic: Option<i64>,
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
            let said =
                shared.change(|state| person::say(state, chat, PersonText::of(&text, topic)));
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

pub(super) async fn stop(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match read::<StopBody>(&shared, &headers, body).await {
        Err(response) => response,
        Ok(StopBody { chat, topic }) => {
            let stopped = shared.change(|state| person::stop(state, chat, topic));
            acted(stopped.map(|()| json!({})))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_entities_begin_and_end() {
        let entities = [
            json!({ "type": "bold", "offset": 2, "length": 1 }),
            json!({ "type": "text_link", "offset": 3, "length": 2, "url": "https://e.org" }),
        ];
        let of = |span: &Value| format!("{}:{}", span["kinds"].as_str().unwrap(), span["text"]);
        let spans: Vec<String> = spans("😀ab\u{202e}c", &entities).iter().map(of).collect();
        assert_eq!(spans, [":\"😀\"", "bold:\"a\"", "text_link:\"b⟨U+202E⟩\"", ":\"c\""]);
    }
}
