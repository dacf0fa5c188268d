//! The endpoint: `GET /runs/{id}/events`, and `POST /runs/{id}/answer` where the host takes answers, for
//! readers on this machine that know the token.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
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
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::answers::{self, PostedAnswer};
use super::broker::{Broker, ReadRefusal, StreamReader};
use super::event::{SseEvent, WireEvent};
use super::reach::Reach;
use super::settings::{ServeError, ServerSettings};

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
    answers::take(answers, &id, body).await
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
