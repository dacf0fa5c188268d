//! A Bot API server on loopback: answers as scripted, refuses what Telegram would refuse, and knows
//! what a person sees in the chat.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::html::visible;

pub(crate) const TOKEN: &str = "123456:AbC-secret_token";
pub(crate) const CHAT: i64 = 42;

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerReply {
    /// It is done after so many milliseconds.
    After(u64),
    /// 429 with `retry_after`.
    RetryAfter(u64),
    /// A refusal with this code and these words.
    Refuse(u16, &'static str),
    /// A proxy's HTML page with this status.
    Page(u16),
    /// It is done, and the connection is closed before the answer.
    Lost,
    /// The connection is closed, and nothing was done.
    Closed,
    /// It is done, and the answer never comes.
    Hangs,
}

/// A message as a person has seen it: each of its texts, the newest last.
pub(crate) type History = Vec<String>;

#[derive(Default)]
struct ServedChat {
    script: Vec<ServerReply>,
    /// What becomes of the first call with this text.
    surprise: Option<(String, ServerReply)>,
    calls: Vec<String>,
    /// Typing signals.
    signals: usize,
    messages: BTreeMap<i64, History>,
    /// What Telegram would not have taken.
    faults: Vec<String>,
}

/// The server. It ends when it is dropped.
pub(crate) struct FakeBotServer {
    pub(crate) address: String,
    chat: Arc<Mutex<ServedChat>>,
    task: JoinHandle<()>,
}

impl Drop for FakeBotServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeBotServer {
    /// Listens, and answers by `script`; calls beyond it go well at once.
    pub(crate) async fn start(script: &[ServerReply]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let chat =
            Arc::new(Mutex::new(ServedChat { script: script.to_vec(), ..ServedChat::default() }));
        let shared = chat.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let chat = shared.clone();
                let service = service_fn(move |request| answer(chat.clone(), request));
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, chat, task }
    }

    /// The first call with the text `seen` gets `reply`, whatever the script says.
    pub(crate) fn surprise(&self, seen: &str, reply: ServerReply) {
        self.chat.lock().unwrap().surprise = Some((seen.to_owned(), reply));
    }

    /// The methods that were called, in order, with the texts a person would see.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.chat.lock().unwrap().calls.clone()
    }

    /// How often somebody was said to be typing.
    pub(crate) fn signals(&self) -> usize {
        self.chat.lock().unwrap().signals
    }

    /// The messages in the chat, oldest first.
    pub(crate) fn messages(&self) -> Vec<History> {
        self.chat.lock().unwrap().messages.values().cloned().collect()
    }

    /// What Telegram would have refused.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.chat.lock().unwrap().faults.clone()
    }
}

type Answered = Result<Response<Full<Bytes>>, io::Error>;

async fn answer(chat: Arc<Mutex<ServedChat>>, request: Request<Incoming>) -> Answered {
    let path = request.uri().path().to_owned();
    let is_call = request.method() == Method::POST
        && request.headers().get("content-type").is_some_and(|kind| kind == "application/json");
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let method = path.strip_prefix(&format!("/bot{TOKEN}/")).filter(|_| is_call);
    if method == Some("sendChatAction") {
        chat.lock().unwrap().signal(&body);
        return Ok(respond(200, json!({"ok": true, "result": true}).to_string()));
    }
    let reply = {
        let mut chat = chat.lock().unwrap();
        let index = chat.calls.len();
        chat.calls.push(method.unwrap_or("no call").to_owned());
        let seen = serde_json::from_slice(&body)
            .ok()
            .and_then(|body: Value| visible(body["text"].as_str()?).ok());
        match chat.surprise.take_if(|(text, _)| Some(&*text) == seen.as_ref()) {
            Some((_, reply)) => reply,
            None => chat.script.get(index).copied().unwrap_or(ServerReply::After(0)),
        }
    };
    if let ServerReply::After(ms) = reply {
        sleep(Duration::from_millis(ms)).await;
    }
    let is_done = matches!(reply, ServerReply::After(_) | ServerReply::Lost | ServerReply::Hangs);
    let done = chat.lock().unwrap().take(method.unwrap_or_default(), &body, is_done);
    match (reply, done) {
        (ServerReply::RetryAfter(seconds), _) => {
            Ok(refuse(429, "Too Many Requests", Some(seconds)))
        }
        (ServerReply::Refuse(code, words), _) => Ok(refuse(code, words, None)),
        (ServerReply::Page(code), _) => {
            Ok(respond(code, "<html><h1>Bad Gateway</h1></html>".to_owned()))
        }
        (ServerReply::Lost | ServerReply::Closed, _) => Err(io::Error::other("closed")),
        (ServerReply::Hangs, _) => std::future::pending().await,
        (ServerReply::After(_), Err(words)) => Ok(refuse(400, &words, None)),
        (ServerReply::After(_), Ok(id)) => {
            let from = json!({"id": 7, "is_bot": true, "first_name": "Bot"});
            let chat = json!({"id": CHAT, "type": "private", "first_name": "Ann"});
            let message = json!({"message_id": id, "from": from, "chat": chat, "date": 1});
            Ok(respond(200, json!({"ok": true, "result": message}).to_string()))
        }
    }
}

fn refuse(code: u16, words: &str, retry_after: Option<u64>) -> Response<Full<Bytes>> {
    let mut body = json!({"ok": false, "error_code": code, "description": words});
    if let Some(seconds) = retry_after {
        body["parameters"] = json!({"retry_after": seconds});
    }
    respond(code, body.to_string())
}

fn respond(code: u16, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(code);
    response.body(Full::new(Bytes::from(body))).unwrap()
}

impl ServedChat {
    /// Takes a typing signal.
    fn signal(&mut self, body: &[u8]) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if body != json!({"chat_id": CHAT, "action": "typing"}) {
            self.faults.push(format!("sendChatAction: {body}"));
        }
        self.signals += 1;
    }

    /// Checks a call, and does it if `is_done`. An error is what Telegram would say.
    fn take(&mut self, method: &str, body: &[u8], is_done: bool) -> Result<i64, String> {
        let call = self.check(method, body);
        match call {
            Err(words) => {
                self.faults.push(format!("{method}: {words}"));
                Err(format!("Bad Request: {words}"))
            }
            Ok((id, text)) => {
                let index = self.calls.len() - 1;
                self.calls[index].push_str(&format!(" {text}"));
                let id = id.unwrap_or_else(|| self.messages.keys().max().unwrap_or(&99) + 1);
                let history = self.messages.entry(id).or_default();
                if history.last() == Some(&text) {
                    return Err("Bad Request: message is not modified: same text".to_owned());
                }
                history.extend(is_done.then_some(text));
                self.messages.retain(|_, history| !history.is_empty());
                Ok(id)
            }
        }
    }

    /// The message an edit is for, and the text a person would see.
    fn check(&self, method: &str, body: &[u8]) -> Result<(Option<i64>, String), String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let fields: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        let (id, expect): (_, &[&str]) = match method {
            "sendMessage" => (None, &["chat_id", "text", "parse_mode"]),
            "editMessageText" => {
                let id = body["message_id"].as_i64().ok_or("no message_id")?;
                if !self.messages.contains_key(&id) {
                    return Err("message to edit not found".to_owned());
                }
                (Some(id), &["chat_id", "message_id", "text", "parse_mode"])
            }
            _ => return Err("no such method".to_owned()),
        };
        if fields != expect || body["parse_mode"] != "HTML" {
            return Err(format!("fields {fields:?}"));
        }
        if body["chat_id"] != CHAT {
            return Err("chat not found".to_owned());
        }
        visible(body["text"].as_str().ok_or("no text")?).map(|text| (id, text))
    }
}
