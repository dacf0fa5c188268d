//! A call of the bot, from its arrival to its answer, and the responses in which an answer leaves the server.
//!
//! A call is under way for the server's latency, and takes effect at the end of that time, so that the calls of a bot
//! that does not wait for answers overlap. A call is done even if the bot hangs up, as with Telegram.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use clitape_recording::chat::CALL_HTML;
use clitape_recording::scenario::FaultKind;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout};

use super::api::{self, CallNumbers, ChatMethod, MethodEffect};
use super::connections::without_panic;
use super::faults::{CallFault, ConnectionFault, Faults, FloodWait, NumberedCall};
use super::markup::SentRich;
use super::messages::ChatCall;
use super::state::{OpenPresses, ServerState, Shared};
use super::updates::Polled;
use super::wire::{ApiError, ApiResult, Params, WORD, cut, noted, shorten, wire};
use crate::limits::Held;

/// The time that a call with the fault `hang` stays without an answer, unless the bot hangs up.
const HANG: Duration = Duration::from_secs(600);
/// The time that the server accepts no connection after the fault `restart`.
const RESTART: Duration = Duration::from_secs(1);
/// The most characters of a text in the log.
const LOG_TEXT: usize = 60;

/// The end of a call on its connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Reply {
    /// An answer: its status, type of content and body.
    Answer(u16, &'static str, String),
    /// A reset of the connection.
    #[default]
    Cut,
}

impl Reply {
    /// Creates the reply for a result.
    pub(super) fn of(result: &ApiResult) -> Self {
        let (status, body) = wire(result);
        Self::Answer(status, "application/json", body)
    }
}

/// Makes a call and returns its reply. `held` is the call's part of the account until it is done.
pub(super) async fn make(shared: Arc<Shared>, name: String, params: Params, held: Held) -> Reply {
    let latency = shared.read(|state| state.settings.latency);
    match api::method(&name) {
        None => {
            sleep(latency).await;
            Reply::of(&unknown(&shared, &name, &params))
        }
        Some((_, MethodEffect::Poll)) => Reply::of(&poll(&shared, &params).await),
        Some((name, MethodEffect::Bot(run))) => {
            sleep(latency).await;
            Reply::of(&shared.change(|state| {
                let result = run(state, &params);
                let mut data = api::bot_data(&params);
                if let Err(error) = &result {
                    data.insert("refused".into(), error.description.as_str().into());
                    state.note(&format!("{name}: {}", error.description));
                }
                state.enter(name, data);
                result
            }))
        }
        Some((name, MethodEffect::Chat(method))) => {
            let begun = shared.change(|state| begin(state, name, method, &params));
            match begun {
                Err(error) => {
                    sleep(latency).await;
                    Reply::of(&Err(error))
                }
                // A separate task, because the call goes on if the bot hangs up.
                Ok(begun) => {
                    let task = tokio::spawn(async move {
                        let reply = finish(shared, begun, params, latency).await;
                        drop(held);
                        reply
                    });
                    without_panic(task.await)
                }
            }
        }
    }
}

/// Answers a call of an unknown method with 404, and reports it.
fn unknown(shared: &Shared, name: &str, params: &Params) -> ApiResult {
    let error = ApiError::new(404, "Not Found");
    shared.change(|state| {
        let name = cut(name, WORD);
        state.count_unknown(name);
        state.note(&format!("{name}: the chat server does not know this method; it answers 404"));
        let mut data = Map::new();
        data.insert("refused".into(), error.description.as_str().into());
        data.insert("shown".into(), false.into());
        let chat = params.integer("chat_id");
        let (at, limits) = (state.now(), state.settings.limits);
        match chat.and_then(|id| state.chats.get_mut(&id)) {
            Some(chat) if chat.check_entries(&limits).is_ok() => {
                let entry = chat.enter(at, name, data);
                chat.took(entry, 0);
            }
            _ => state.enter(name, data),
        }
    });
    Err(error)
}

/// Answers a poll: waits for updates, at most as long as the poll wants.
async fn poll(shared: &Shared, params: &Params) -> ApiResult {
    let mut changes = shared.changes();
    let poll = shared.change(|state| state.updates.accept(params))?;
    let end = Instant::now() + Duration::from_secs(poll.timeout_s);
    loop {
        changes.borrow_and_update();
        match shared.read(|state| state.updates.answer(poll)) {
            Polled::Answer(answer) => return answer,
            Polled::Wait => {}
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || timeout(left, changes.changed()).await.is_err() {
            return Ok(Value::Array(Vec::new()));
        }
    }
}

/// A call about a chat that is under way.
struct BegunCall {
    name: &'static str,
    method: ChatMethod,
    chat: i64,
    asked_at: u64,
    fault: Option<CallFault>,
}

/// Finds the chat of a call, numbers the call and finds its fault.
fn begin(
    state: &mut ServerState,
    name: &'static str,
    method: ChatMethod,
    params: &Params,
) -> Result<BegunCall, ApiError> {
    let asked_at = state.now();
    let found = api::chat_of(state, name, params);
    let chat = found.inspect_err(|error| {
        let mut data = Map::new();
        data.insert("chat_id".into(), params.raw("chat_id").map(noted).unwrap_or_default());
        data.insert("refused".into(), error.description.as_str().into());
        data.insert("shown".into(), false.into());
        state.note(&format!("{name}: {}", error.description));
        state.enter(name, data);
    })?;
    let (faults, limits) = (state.settings.faults.clone(), state.settings.limits);
    let known = state.chats.get_mut(&chat).ok_or_else(|| ApiError::bad("chat not found"))?;
    if let Err(error) = known.check_entries(&limits) {
        state.note(&format!("{name} in chat {chat}: {}", error.description));
        return Err(error);
    }
    known.under_way += 1;
    known.last_call = Some((asked_at, name.to_owned()));
    let of_method = known.calls_of.entry(name).or_default();
    *of_method += 1;
    let mut call = NumberedCall { of_chat: None, method: name, of_method: *of_method };
    let mut due = None;
    if method.numbers == CallNumbers::InChat {
        known.calls += 1;
        call.of_chat = Some(known.calls);
        due = known.due.take();
    }
    let faults: &Faults = known.faults.as_ref().unwrap_or(&faults);
    let fault = due.or_else(|| faults.of(chat, call));
    Ok(BegunCall { name, method, chat, asked_at, fault })
}

/// Waits for the latency, does the call, and replies as its fault says.
async fn finish(shared: Arc<Shared>, call: BegunCall, params: Params, latency: Duration) -> Reply {
    sleep(latency).await;
    let (result, entry) = shared.change(|state| act(state, &call, &params));
    let fault = call.fault;
    let reply = match fault {
        Some(CallFault::Connection(_, ConnectionFault::BadGateway)) => {
            let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
                        <center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";
            Reply::Answer(502, "text/html", page.to_owned())
        }
        Some(CallFault::Connection(_, ConnectionFault::Reset)) => Reply::Cut,
        Some(CallFault::Connection(_, ConnectionFault::Restart)) => {
            shared.restart(RESTART);
            Reply::Cut
        }
        Some(CallFault::Known(fault)) => match fault.kind {
            FaultKind::LostReply => Reply::Cut,
            FaultKind::Hang => {
                sleep(HANG).await;
                Reply::Cut
            }
            FaultKind::Slow => {
                sleep(Duration::from_millis(fault.amount).saturating_sub(latency)).await;
                Reply::of(&result)
            }
            _ => Reply::of(&result),
        },
        None => Reply::of(&result),
    };
    shared.change(|state| {
        let now = state.now();
        let Some(chat) = state.chats.get_mut(&call.chat) else { return };
        chat.under_way = chat.under_way.saturating_sub(1);
        chat.last_call = Some((now, call.name.to_owned()));
        chat.took(entry, now - call.asked_at);
    });
    reply
}

/// Does a call, and returns its result and the index of its entry.
fn act(state: &mut ServerState, call: &BegunCall, params: &Params) -> (ApiResult, usize) {
    let now = state.now();
    let (pace, limits) = (state.settings.pace, state.settings.limits);
    let press_time = u64::try_from(state.settings.press_time.as_millis()).unwrap_or(u64::MAX);
    let ServerState { chats, files, bot, token, last_message, callbacks, .. } = state;
    let Some(chat) = chats.get_mut(&call.chat) else {
        return (Err(ApiError::bad("chat not found")), usize::MAX);
    };
    let is_group = chat.is_group();
    // A call before the end of an earlier wait is refused again.
    let asked_wait = call.method.waits.and_then(|of| chat.pace.asked_wait(of, now));
    let mut paced = || chat.pace.wait(now, is_group, pace).filter(|_| call.method.is_paced);
    let wait = asked_wait.or_else(&mut paced);
    let data = Map::new();
    let presses = OpenPresses { queries: callbacks, time_ms: press_time };
    let mut chat_call =
        ChatCall { chat, bot, files, last_message, presses, limits, params, now, data };
    let answer;
    let mut is_done = false;
    let result = match (call.fault, wait) {
        (_, Some(wait)) => {
            answer = Some(format!("{}:{wait}s", FaultKind::RateLimit.as_str()));
            describe(&mut chat_call);
            Err(ApiError::too_many(wait))
        }
        (Some(fault), None) if fault.is_refusal() => {
            answer = Some(fault.answer());
            describe(&mut chat_call);
            Err(refusal(&mut chat_call, fault, call.method.waits))
        }
        (fault, None) => {
            let result = (call.method.run)(&mut chat_call);
            match &result {
                Err(error) if error.is_not_modified() => {
                    answer = Some(FaultKind::NotModified.as_str().to_owned());
                    result
                }
                Ok(_) if is_called_not_modified(call) => {
                    is_done = true;
                    answer = fault.map(CallFault::answer);
                    Err(ApiError::not_modified())
                }
                _ => {
                    answer = fault.map(CallFault::answer).filter(|answer| {
                        // The server never gives this answer to a new message.
                        answer != FaultKind::NotModified.as_str()
                    });
                    result
                }
            }
        }
    };
    let mut data = chat_call.data;
    let chat = chat_call.chat;
    is_done |= result.is_ok();
    if call.method.is_paced && is_done {
        chat.pace.count(now);
    }
    if let Some(answer) = answer {
        data.insert("answer".into(), answer.into());
    }
    if let Err(error) = &result {
        data.insert("refused".into(), error.description.as_str().into());
    }
    if !is_done {
        data.shift_remove(CALL_HTML);
        data.insert("shown".into(), false.into());
        shorten(&mut data);
    }
    data.values_mut().for_each(|value| token.mask(value));
    chat.count_from_one(&mut data);
    let line = line(call, &data);
    let index = chat.enter(call.asked_at, call.name, data);
    state.note(&line);
    (result, index)
}

/// Puts the request of a refused call into its entry. The chat stays as it is.
fn describe(call: &mut ChatCall<'_>) {
    for (name, parameter) in
        [("message_id", "message_id"), ("draft_id", "draft_id"), ("topic", "message_thread_id")]
    {
        if let Some(value) = call.params.integer(parameter) {
            call.data.insert(name.to_owned(), value.into());
        }
    }
    for name in ["text", "parse_mode", "action"] {
        if let Some(value) = call.params.text(name) {
            call.data.insert(name.to_owned(), value.into());
        }
    }
    let rich = call.params.json("rich_message");
    if let Some(Ok(sent)) = rich.as_ref().map(SentRich::parameter) {
        call.data.insert("text".to_owned(), sent.source.into());
        call.data.insert("parse_mode".to_owned(), sent.mode.into());
    }
}

/// Returns whether the call's fault answers an edit as not modified although it is done.
fn is_called_not_modified(call: &BegunCall) -> bool {
    let kind =
        |fault| matches!(fault, CallFault::Known(fault) if fault.kind == FaultKind::NotModified);
    call.name.starts_with("edit") && call.fault.is_some_and(kind)
}

/// Returns the error of a fault that prevents the call. The wait of a 429 holds for the other calls that `waits` names.
fn refusal(call: &mut ChatCall<'_>, fault: CallFault, waits: Option<FloodWait>) -> ApiError {
    match fault {
        CallFault::Known(fault) if fault.kind == FaultKind::RateLimit => {
            if let Some(of) = waits {
                call.chat.pace.ask_wait(of, call.now, fault.amount);
            }
            ApiError::too_many(fault.amount)
        }
        _ => ApiError::new(500, "Internal Server Error"),
    }
}

/// Returns the line of the log about a call.
fn line(call: &BegunCall, data: &Map<String, Value>) -> String {
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let number = data.get("message_id").map(|id| format!(" #{id}")).unwrap_or_default();
    let cut = |text: &str| text.chars().take(LOG_TEXT).collect::<String>();
    let words = text("text").map(|text| format!(" {:?}", cut(text))).unwrap_or_default();
    let answer = text("answer").map(|answer| format!(" [{answer}]")).unwrap_or_default();
    let refused = text("refused").map(|words| format!(" → {words}")).unwrap_or_default();
    format!("chat {} {}{number}{words}{answer}{refused}", call.chat, call.name)
}

/// The bytes of a body that are handed to a connection at a time.
const FRAME: usize = 64 << 10;

/// Builds a response from a status, a type of content and a body.
pub(super) fn answer(status: u16, kind: &'static str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, body.into()).into_response()
}

/// Builds the response of a reply that is an answer.
pub(super) fn answered(reply: Reply) -> Response {
    match reply {
        Reply::Answer(status, kind, body) => answer(status, kind, body),
        Reply::Cut => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Builds Telegram's response for a path or file that does not exist.
pub(super) fn not_found() -> Response {
    answered(Reply::of(&Err(ApiError::new(404, "Not Found"))))
}

/// Builds a response whose body counts in the account until the connection has taken it, because a client may never
/// read it.
pub(super) fn counted(
    status: u16,
    kind: &'static str,
    body: impl Into<Bytes>,
    held: Held,
) -> Response {
    answer(status, kind, Body::new(CountedBody { rest: body.into(), _held: held }))
}

/// A body that counts in an account.
struct CountedBody {
    rest: Bytes,
    _held: Held,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.rest.len().min(FRAME);
        // A copy, so that a slow connection keeps one frame and not the whole body.
        let frame = Bytes::copy_from_slice(&self.rest.split_to(size));
        Poll::Ready((size > 0).then_some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
