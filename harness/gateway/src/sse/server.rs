//! The endpoint: `GET /runs/{id}/events`, and `POST /runs/{id}/answer` where the host takes answers, for
//! readers on this machine that know the token.
//!
//! An answer ([Q11](crate::rules::Q11)) has these fields:
//!
//! | field | content |
//! |---|---|
//! | `question` | `questionId` of the `question` event |
//! | `behavior` | `allow`, `deny`, `stop` (deny, and end the turn) or `choose` |
//! | `suggestions` | of `allow`: which of the suggestions are taken, from 0 |
//! | `answers` | of `choose`, for each choice: a list of options, from 0, or a text |
//! | `message` | of `deny` and `stop`: why, for the model |
//! | `by` | who answers |

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::unfold;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::broker::{Broker, ReadRefusal, StreamReader};
use super::wire::{Reach, SseEvent, WireEvent};
use crate::limits::{
    CONNECTIONS, CONNECTIONS_WAITING, POSTED_ANSWER, POSTED_ANSWER_TIME, REQUEST_HEAD,
};
use crate::question::{Answer, AnswerError, Chosen};

/// The settings of the endpoint.
#[derive(Clone)]
pub struct ServerSettings {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Which addresses may be listened on.
    pub reach: Reach,
    /// The token that a request must bear, as `Authorization: Bearer TOKEN`; visible ASCII
    /// characters.
    pub token: String,
    /// The longest silence; after it a comment is sent, so that no proxy closes the connection.
    pub heartbeat: Duration,
    /// Connections at a time; one more is answered 503 with `Retry-After: 1`.
    pub connections: usize,
    /// Connections at a time whose request has not come yet. One more takes the place of the oldest,
    /// which is answered 503 with `Retry-After: 1`: who says nothing locks no reader out.
    pub waiting: usize,
    /// The time that the head of a request may take to come.
    pub head_time: Duration,
    /// Where answers to questions go ([Q11](crate::rules::Q11)); without it the endpoint takes none.
    pub answers: Option<mpsc::Sender<PostedAnswer>>,
}

/// The token is shown as `***`.
impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings")
            .field("address", &self.address)
            .field("reach", &self.reach)
            .field("token", &"***")
            .field("heartbeat", &self.heartbeat)
            .field("connections", &self.connections)
            .field("waiting", &self.waiting)
            .field("head_time", &self.head_time)
            .field("answers", &self.answers.is_some())
            .finish()
    }
}

impl ServerSettings {
    /// Listens on a free port of 127.0.0.1, and is never silent for more than 15 s. Has 1,024
    /// connections at a time, 128 of them waiting for their request, for 3 s at most
    /// ([`crate::limits`]).
    pub fn new(token: impl Into<String>) -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            reach: Reach::Loopback,
            token: token.into(),
            heartbeat: Duration::from_secs(15),
            connections: CONNECTIONS,
            waiting: CONNECTIONS_WAITING,
            head_time: REQUEST_HEAD,
            answers: None,
        }
    }
}

/// Why the endpoint can't be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others than this machine could read the runs.
    #[error(
        "{0} can be reached from other machines, and what is sent there is not encrypted; listen \
         on 127.0.0.1, or set `reach` to `Reach::Anywhere` if that is what you want"
    )]
    NotLoopback(SocketAddr),
    /// The token is empty, or has characters that a header can't contain.
    #[error(
        "the token is empty or has characters that a header can't hold; take a long random word \
         of letters and digits"
    )]
    Token,
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}; choose another port, or 0 for a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The words of the system.
        source: std::io::Error,
    },
}

/// The time that readers have to read their last event at a shutdown.
const GRACE: Duration = Duration::from_secs(2);
/// The time that a connection that is turned away has to read the answer.
const FAREWELL: Duration = Duration::from_millis(200);
/// Connections that get this answer at a time; further ones are closed without it.
const FAREWELLS: usize = 64;
/// The time that a reader should wait before it connects again.
const RETRY: Duration = Duration::from_secs(1);

/// A running endpoint. Dropping it cuts every connection; [`SseServer::shutdown`] tells the readers
/// first.
#[derive(Debug)]
pub struct SseServer {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl SseServer {
    /// Serves the streams of `broker`, on the current tokio runtime, which needs IO and time.
    ///
    /// # Errors
    ///
    /// [`ServeError`] when the settings or the system do not allow it.
    pub async fn start(settings: ServerSettings, broker: Broker) -> Result<Self, ServeError> {
        let ServerSettings { address, reach, token, .. } = &settings;
        let address = *address;
        if *reach == Reach::Loopback && !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::Token);
        }
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (closing, closed) = watch::channel(false);
        let router = router(Arc::new(SseState::new(&settings, broker, closed.clone())));
        let accepting = tokio::spawn(accept(listener, router, settings, closed));
        Ok(Self { address, closing, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the stream `id`; the id must not need escapes.
    pub fn url(&self, id: &str) -> String {
        format!("http://{}/runs/{id}/events", self.address)
    }

    /// Accepts no more connections, sends every reader a last event, and returns once they have
    /// disconnected; a reader that does not read is cut off after 2 s.
    pub async fn shutdown(mut self) {
        self.closing.send_replace(true);
        // It was not aborted and does not panic: an error is impossible.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for SseServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The state that the answers to all requests share.
pub(super) struct SseState {
    broker: Broker,
    token: String,
    heartbeat: Duration,
    answers: Option<mpsc::Sender<PostedAnswer>>,
    closed: watch::Receiver<bool>,
}

impl SseState {
    pub(super) fn new(
        settings: &ServerSettings,
        broker: Broker,
        closed: watch::Receiver<bool>,
    ) -> Self {
        let ServerSettings { token, heartbeat, answers, .. } = settings;
        let (token, answers) = (token.clone(), answers.clone());
        Self { broker, token, heartbeat: *heartbeat, answers, closed }
    }
}

/// Builds the router that answers each request.
pub(super) fn router(shared: Arc<SseState>) -> Router {
    Router::new()
        .route("/runs/{id}/events", get(events))
        .route("/runs/{id}/answer", post(answer))
        .fallback(not_found)
        .with_state(shared)
}

async fn accept(
    listener: TcpListener,
    router: Router,
    settings: ServerSettings,
    mut closed: watch::Receiver<bool>,
) {
    let (mut connections, mut turned_away) = (JoinSet::new(), JoinSet::new());
    let farewells = Arc::new(Semaphore::new(FAREWELLS));
    // Those whose request has not come, the oldest first.
    let mut waiting: VecDeque<Arc<Waiting>> = VecDeque::new();
    loop {
        tokio::select! {
            () = until_closed(&mut closed) => break,
            Some(_) = connections.join_next() => {}
            Some(_) = turned_away.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) if connections.len() < settings.connections => {
                    waiting.retain(|one| Arc::strong_count(one) > 1 && !one.is_over());
                    if waiting.len() >= settings.waiting.max(1)
                        && let Some(oldest) = waiting.pop_front()
                    {
                        oldest.evicted.notify_one();
                    }
                    let state = Arc::new(Waiting::default());
                    waiting.push_back(state.clone());
                    let (router, farewells) = (router.clone(), farewells.clone());
                    connections.spawn(serve(socket, router, state, settings.head_time, farewells));
                }
                Ok((socket, _)) => {
                    if let Ok(permit) = farewells.clone().try_acquire_owned() {
                        turned_away.spawn(async move {
                            turn_away(socket).await;
                            drop(permit);
                        });
                    }
                }
                // Too many open files, most likely: some will be closed.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    // A reader that takes longer is cut off below.
    let _ = timeout(GRACE, finished).await;
    connections.shutdown().await;
}

/// A connection until its request has come.
#[derive(Default)]
struct Waiting {
    has_come: AtomicBool,
    /// Another connection takes its place.
    evicted: Notify,
}

impl Waiting {
    fn is_over(&self) -> bool {
        self.has_come.load(Ordering::Relaxed)
    }
}

/// Says that there are too many connections, and when to come back.
async fn turn_away(mut socket: TcpStream) {
    let words = "there are too many connections; connect again in a second\n";
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: text/plain\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{words}",
        words.len()
    );
    let farewell = async {
        socket.write_all(answer.as_bytes()).await?;
        socket.shutdown().await?;
        // With bytes of it unread, the answer would be lost with the connection.
        while socket.read(&mut [0; 1_024]).await? > 0 {}
        std::io::Result::Ok(())
    };
    // The connection is closed also when the client does not read the answer.
    let _ = timeout(FAREWELL, farewell).await;
}

/// Waits until the server closes.
async fn until_closed(closed: &mut watch::Receiver<bool>) {
    // A sender that is gone closes too.
    drop(closed.wait_for(|closed| *closed).await);
}

/// One request, and the stream that answers it.
async fn serve(
    socket: TcpStream,
    router: Router,
    state: Arc<Waiting>,
    head_time: Duration,
    farewells: Arc<Semaphore>,
) {
    // Without the option events may come later, but they come.
    let _ = socket.set_nodelay(true);
    let (router, come) = (TowerToHyperService::new(router), state.clone());
    let service = service_fn(move |request| {
        come.has_come.store(true, Ordering::Relaxed);
        router.call(request)
    });
    let mut connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        biased;
        // A reader may hang up.
        _ = &mut connection => return,
        () = state.evicted.notified() => {}
    }
    if state.is_over() {
        // The request came at the last moment. A reader may hang up.
        let _ = connection.await;
    } else if let Ok(_permit) = farewells.try_acquire() {
        turn_away(connection.into_parts().io.into_inner()).await;
    }
}

async fn not_found(State(shared): State<Arc<SseState>>, headers: HeaderMap) -> Response {
    if !is_known(&headers, &shared.token) {
        return unknown_reader();
    }
    let words = "there is nothing here; a run's events are at /runs/ID/events";
    (StatusCode::NOT_FOUND, words).into_response()
}

async fn events(
    State(shared): State<Arc<SseState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    if !is_known(&headers, &shared.token) {
        return unknown_reader();
    }
    let read = match headers.get("last-event-id").map(|id| id.to_str().map(str::parse::<u64>)) {
        None => None,
        Some(Ok(Ok(read))) => Some(read),
        Some(_) => return refuse(ReadRefusal::Ahead),
    };
    let reader = match shared.broker.read(&id, read) {
        Ok(reader) => reader,
        Err(refusal) => return refuse(refusal),
    };
    let connected = json!({ "runId": id }).to_string();
    let body = EventBody {
        connected: Some(Event::default().retry(RETRY).event("connected").data(connected)),
        reader: Some(reader),
        closed: shared.closed.clone(),
    };
    let events = unfold(body, async |mut body| {
        let event = body.next().await?;
        Some((Ok::<_, Infallible>(event), body))
    });
    let keep_alive = KeepAlive::new().interval(shared.heartbeat).text("ping");
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that buffers would delay the events.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Sse::new(events).keep_alive(keep_alive)).into_response()
}

/// Hands an answer to the host, and says what became of it.
async fn answer(
    State(shared): State<Arc<SseState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if !is_known(&headers, &shared.token) {
        return unknown_reader();
    }
    let Some(answers) = shared.answers.as_ref().filter(|_| shared.broker.is_open(&id)) else {
        let words = "there is no such run, or it takes no answers; see its id";
        return (StatusCode::NOT_FOUND, words).into_response();
    };
    take(answers, &id, body).await
}

/// Compares the whole token whatever comes first; only its length can be found out by its time.
fn is_known(headers: &HeaderMap, token: &str) -> bool {
    let value = headers.get(header::AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
    let Some((scheme, given)) = value.split_at_checked("Bearer ".len()) else { return false };
    scheme.eq_ignore_ascii_case(b"Bearer ") && given.ct_eq(token.as_bytes()).into()
}

fn unknown_reader() -> Response {
    let words = "the token is missing or wrong; send `Authorization: Bearer TOKEN`";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], words).into_response()
}

fn refuse(refusal: ReadRefusal) -> Response {
    let (status, words) = match refusal {
        // A browser's reader does not connect again after this one.
        ReadRefusal::Over => return StatusCode::NO_CONTENT.into_response(),
        ReadRefusal::Unknown => {
            (StatusCode::NOT_FOUND, "there is no such run, or it ended too long ago; see its id")
        }
        ReadRefusal::Ahead => (
            StatusCode::BAD_REQUEST,
            "`Last-Event-ID` is no id of this stream; leave it out to read from the start",
        ),
        ReadRefusal::Busy => {
            let words = "too many read this run; try again in a while";
            let headers = [(header::RETRY_AFTER, "1")];
            return (StatusCode::SERVICE_UNAVAILABLE, headers, words).into_response();
        }
    };
    (status, words).into_response()
}

/// The events that are sent to one reader.
struct EventBody {
    /// The event that a reader gets when it is connected, until it is sent.
    connected: Option<Event>,
    /// `None` once the server has closed the stream.
    reader: Option<StreamReader>,
    closed: watch::Receiver<bool>,
}

impl EventBody {
    async fn next(&mut self) -> Option<Event> {
        if let Some(connected) = self.connected.take() {
            return Some(connected);
        }
        let reader = self.reader.as_mut()?;
        tokio::select! {
            biased;
            () = until_closed(&mut self.closed) => {
                self.reader = None;
                let words = "the gateway shuts down; connect again when it is back";
                let dropped = SseEvent::new("dropped", json!({ "error": words }));
                Some(WireEvent::new(None, &dropped).into())
            }
            event = reader.next() => event,
        }
    }
}

/// An answer that a reader posted, for the host of the run.
#[derive(Debug)]
#[non_exhaustive]
pub struct PostedAnswer {
    /// Id of the stream it was posted to.
    pub run: String,
    /// Id of the question.
    pub question: String,
    /// The answer, for [`Conversation::answer`](crate::Conversation::answer).
    pub answer: Answer,
    /// Who answered, as the reader says.
    pub by: Option<String>,
    /// Takes what became of it, which the reader reads; one that is dropped says that nobody took it.
    pub reply: oneshot::Sender<Result<(), AnswerError>>,
}

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    question: String,
    behavior: Behavior,
    #[serde(default)]
    suggestions: Vec<usize>,
    #[serde(default)]
    answers: Vec<ChosenOptions>,
    #[serde(default)]
    message: String,
    by: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Behavior {
    Allow,
    Deny,
    Stop,
    Choose,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ChosenOptions {
    Options(Vec<usize>),
    Text(String),
}

/// Hands the answer in `body` to the host, and says what became of it.
async fn take(answers: &mpsc::Sender<PostedAnswer>, run: &str, body: Body) -> Response {
    let limit = usize::try_from(POSTED_ANSWER.get()).unwrap_or(usize::MAX);
    let body = match timeout(POSTED_ANSWER_TIME, to_bytes(body, limit)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let words =
                format!("the answer broke off or is longer than {POSTED_ANSWER}; shorten it");
            return (StatusCode::PAYLOAD_TOO_LARGE, words).into_response();
        }
        Err(_) => {
            let words = "the answer did not arrive in time; post it again";
            return (StatusCode::REQUEST_TIMEOUT, words).into_response();
        }
    };
    let (posted, replied) = match read(run, &body) {
        Ok(read) => read,
        Err(words) => return (StatusCode::BAD_REQUEST, words).into_response(),
    };
    if answers.try_send(posted).is_err() {
        return nobody_took_it();
    }
    match timeout(POSTED_ANSWER_TIME, replied).await {
        Ok(Ok(Ok(()))) => StatusCode::NO_CONTENT.into_response(),
        Ok(Ok(Err(error))) => (status(&error), error.to_string()).into_response(),
        Ok(Err(_)) | Err(_) => nobody_took_it(),
    }
}

fn nobody_took_it() -> Response {
    let words = "the gateway did not take the answer; look at the stream before you post it again";
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], words).into_response()
}

/// Reads the body of a request: what is posted, and where its reply comes.
///
/// # Errors
///
/// The words for the reader that say why the body can't be read.
fn read(
    run: &str,
    body: &[u8],
) -> Result<(PostedAnswer, oneshot::Receiver<Result<(), AnswerError>>), String> {
    let AnswerBody { question, behavior, suggestions, answers, message, by } =
        serde_json::from_slice(body)
            .map_err(|error| format!("the answer can't be read: {error}"))?;
    let chosen = |chosen| match chosen {
        ChosenOptions::Options(options) => Chosen::Options(options),
        ChosenOptions::Text(text) => Chosen::Text(text),
    };
    let answer = match behavior {
        Behavior::Allow => Answer::Allow { input: None, suggestions },
        Behavior::Deny => Answer::Deny { message },
        Behavior::Stop => Answer::Stop { message },
        Behavior::Choose => Answer::Choose(answers.into_iter().map(chosen).collect()),
    };
    let (reply, replied) = oneshot::channel();
    Ok((PostedAnswer { run: run.to_owned(), question, answer, by, reply }, replied))
}

/// The status for what became of an answer.
fn status(error: &AnswerError) -> StatusCode {
    match error {
        AnswerError::Unknown { .. } => StatusCode::NOT_FOUND,
        AnswerError::Twice { .. } | AnswerError::Late { .. } => StatusCode::CONFLICT,
        AnswerError::NoSuggestion { .. }
        | AnswerError::NotAChoice
        | AnswerError::NeedsChoice { .. }
        | AnswerError::WrongOption { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
