//! Collects turns from a URL: one that listens to a stream, and one that holds a conversation with
//! a gateway ([S2](crate::rules::S2)).
//!
//! A stream that breaks off is opened again after the last event that came. The HTTP client makes a
//! connection for each request, to this machine unless other machines are allowed.

use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{self, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::collector::{Collected, Collector, TurnProgress};
use crate::limits::ByteSize;
use crate::limits::{
    COLLECTED_ANSWER, RECONNECT_CEILING, RECONNECT_FLOOR, RECONNECTS, STREAM_BYTES, STREAM_EVENT,
};
use crate::secret::masked;
use crate::secret::{builder, root_cause};
use crate::sse::collector::RetainedLimits;
use crate::sse::wire::{Reach, SseDecoder, SseFrame, TooLong};

/// Listens at the URL of an event stream until this many turns have ended.
///
/// Each turn may take `limit`; the [`CollectLimits`] of the target hold for all turns together. A
/// failure after the stream was opened is reported in `error`, and what was collected before it is
/// kept.
///
/// # Errors
///
/// [`CollectError`] when the stream can't be opened.
pub async fn listen(
    target: &CollectTarget,
    turns: u32,
    limit: Duration,
) -> Result<Collected, CollectError> {
    let client = HttpClient::new(target, None)?;
    let mut collector = Collector::within(target.limits().retained);
    let mut events = within(Instant::now() + limit, Events::open(client, target.path())).await?;
    for turn in 0..turns {
        if turn > 0 {
            collector.begin(None);
        }
        if !turn_of(&mut events, &mut collector, Instant::now() + limit, limit).await {
            break;
        }
    }
    Ok(collector.collected())
}

/// Holds a conversation with a gateway: one session, a turn for each of `messages`, and at the end
/// the session is deleted, once, whatever happened.
///
/// The URL is the one that makes sessions: `POST URL` answers `{agentId, token}`,
/// `POST URL/ID/messages` takes `{content}` and answers `{messageId}`, `GET URL/ID/events` is the
/// stream, `DELETE URL/ID` ends it. `agent` names the agent that is asked. Each turn may take
/// `limit`; the first that fails is the last. Dropped before it is done, it leaves the session.
///
/// # Errors
///
/// [`CollectError`] when no session can be made.
pub async fn converse(
    target: &CollectTarget,
    agent: Option<&str>,
    messages: &[String],
    limit: Duration,
) -> Result<Collected, CollectError> {
    let mut request = json!({ "forceNew": true, "dryRun": true });
    if let Some(agent) = agent {
        request["agentId"] = agent.into();
    }
    let base = target.path().trim_end_matches('/');
    let deadline = || Instant::now() + limit;
    let client = HttpClient::new(target, None)?;
    let made = within(deadline(), client.send(Method::POST, base, Some(&request))).await?;
    let made = within(deadline(), client.json(made)).await?;
    let text = |name: &str| made.get(name).and_then(Value::as_str);
    let (Some(id), token) = (text("agentId"), text("token")) else {
        return Err(CollectError::NoSession);
    };
    let session = format!("{base}/{}", segment(id));
    let client = HttpClient::new(target, token)?;
    let mut collector = Collector::within(target.limits().retained);
    let path = format!("{session}/events");
    let failed = match within(deadline(), Events::open(client.clone(), &path)).await {
        Err(error) => Some(error),
        Ok(mut events) => {
            turns_of(&client, &session, messages, limit, &mut events, &mut collector).await.err()
        }
    };
    if let Some(error) = failed {
        collector.fail(error.to_string());
    }
    // The turns are over; a session that stays behind does not change what they gave.
    let _ = within(deadline(), client.send(Method::DELETE, &session, None)).await;
    Ok(collector.collected())
}

async fn turns_of(
    client: &HttpClient,
    session: &str,
    messages: &[String],
    limit: Duration,
    events: &mut Events,
    collector: &mut Collector,
) -> Result<(), CollectError> {
    for message in messages {
        let deadline = Instant::now() + limit;
        let body = json!({ "content": message });
        let path = format!("{session}/messages");
        let sent = within(deadline, client.send(Method::POST, &path, Some(&body))).await?;
        let sent = within(deadline, client.json(sent)).await?;
        collector.begin(sent.get("messageId").and_then(Value::as_str).map(str::to_owned));
        if !turn_of(events, collector, deadline, limit).await {
            break;
        }
    }
    Ok(())
}

/// Collects one turn; whether it came to a good end.
async fn turn_of(
    events: &mut Events,
    collector: &mut Collector,
    deadline: Instant,
    limit: Duration,
) -> bool {
    loop {
        let lost = match timeout_at(deadline, events.next()).await {
            Ok(Ok(frame)) => match collector.on(&frame) {
                TurnProgress::Open => continue,
                progress => return progress == TurnProgress::Complete,
            },
            Ok(Err(lost)) => lost,
            Err(_) => Lost::Late(limit),
        };
        collector.fail(lost.to_string());
        return false;
    }
}

/// Gives up at `deadline`.
async fn within<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, CollectError>>,
) -> Result<T, CollectError> {
    timeout_at(deadline, work).await.unwrap_or(Err(CollectError::Silent))
}

/// The characters that RFC 3986 does not reserve stay as they are in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns `word` as one segment of a path.
fn segment(word: &str) -> PercentEncode<'_> {
    utf8_percent_encode(word, SEGMENT)
}

/// Connections in a row that may fail or stay empty.
const TRIES: u32 = 5;
/// The wait before a stream is opened again, unless the server says.
const WAIT: Duration = Duration::from_millis(500);

/// Why no frame comes any more.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("the stream ended before the turn was complete; see the gateway's log")]
    Ended,
    #[error(
        "the stream broke off before the turn was complete, and its events have no ids to go on \
         from; collect it again"
    )]
    NoIds,
    #[error("the stream broke off {TRIES} times without a new event; see the gateway's log")]
    Broken,
    #[error(
        "the turn was not complete after {} s; raise the limit with `--timeout`, or see the gateway's log",
        .0.as_secs_f64()
    )]
    Late(Duration),
    #[error(
        "the stream has more than {0}; raise the limit with `--max-stream` if it is to be collected"
    )]
    TooMuch(ByteSize),
    #[error(
        "the stream broke off more than {0} times; raise the limit with `--max-reconnects`, or see \
         the gateway's log"
    )]
    Reconnects(u32),
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error(transparent)]
    Refused(#[from] CollectError),
}

/// A stream.
struct Events {
    client: HttpClient,
    path: String,
    answer: Option<HttpAnswer>,
    decoder: SseDecoder,
    ready: VecDeque<SseFrame>,
    /// The id of the last event, where it has one.
    last_id: Option<String>,
    /// An event came that can't be asked for again.
    is_unnumbered: bool,
    failures: u32,
    wait: Duration,
    limits: CollectLimits,
    /// Bytes that came so far.
    bytes: usize,
    /// The number of times that the stream was opened again.
    reconnects: u32,
}

impl Events {
    /// Opens the stream at `path`.
    async fn open(client: HttpClient, path: &str) -> Result<Self, CollectError> {
        let (path, limits) = (path.to_owned(), client.limits());
        let answer = client.stream(&path, None).await?;
        Ok(Self {
            client,
            path,
            answer,
            decoder: SseDecoder::within(limits.event),
            ready: VecDeque::new(),
            last_id: None,
            is_unnumbered: false,
            failures: 0,
            wait: WAIT,
            limits,
            bytes: 0,
            reconnects: 0,
        })
    }

    /// The next frame.
    async fn next(&mut self) -> Result<SseFrame, Lost> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.took(&frame);
                return Ok(frame);
            }
            let Some(answer) = &mut self.answer else {
                return Err(Lost::Ended);
            };
            match answer.chunk().await {
                Some(piece) => {
                    self.bytes = self.bytes.saturating_add(piece.len());
                    if self.limits.stream.is_below(self.bytes) {
                        return Err(Lost::TooMuch(self.limits.stream));
                    }
                    self.ready.extend(self.decoder.feed(&piece)?);
                }
                None => self.reopen().await?,
            }
        }
    }

    fn took(&mut self, frame: &SseFrame) {
        match frame.id.as_deref() {
            Some("") => self.last_id = None,
            Some(id) => self.last_id = Some(id.to_owned()),
            // What an endpoint says of the connection itself bears no id.
            None if matches!(&*frame.name, "connected" | "ping" | "gap" | "dropped") => return,
            None => self.is_unnumbered |= self.last_id.is_none(),
        }
        self.failures = 0;
    }

    /// Opens the stream again, after a while.
    async fn reopen(&mut self) -> Result<(), Lost> {
        if self.is_unnumbered && self.last_id.is_none() {
            return Err(Lost::NoIds);
        }
        let asked = self.decoder.retry_ms().map(Duration::from_millis);
        let CollectLimits { retry_min, retry_max, event, .. } = self.limits;
        self.wait = asked.unwrap_or(self.wait).min(retry_max).max(retry_min);
        self.decoder = SseDecoder::within(event);
        loop {
            self.failures += 1;
            if self.failures > TRIES {
                return Err(Lost::Broken);
            }
            self.reconnects += 1;
            if self.reconnects > self.limits.reconnects {
                return Err(Lost::Reconnects(self.limits.reconnects));
            }
            sleep(self.wait).await;
            match self.client.stream(&self.path, self.last_id.as_deref()).await {
                Ok(answer) => {
                    self.answer = answer;
                    return Ok(());
                }
                Err(CollectError::Unreachable { .. }) => {}
                Err(CollectError::Refused { status: 500.., .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Characters of an answer that a sentence quotes.
const QUOTED: usize = 200;

/// The reason for which collecting failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The URL is none, or not of `http`.
    #[error(
        "`{0}` is no URL to collect from; write http://HOST:PORT/PATH (for https, put a tunnel \
         such as `ssh -L` before it)"
    )]
    Url(String),
    /// The URL is of another machine.
    #[error(
        "`{0}` is not on this machine, and what is sent there is not encrypted; collect from \
         127.0.0.1, or allow other machines (`--allow-remote`, `Reach::Anywhere`)"
    )]
    Remote(String),
    /// The token has characters that a header can't contain.
    #[error("the token has characters that a header can't hold; see what it is set to")]
    Token,
    /// The client can't be set up.
    #[error("no HTTP client can be made: {0}; this is a fault of this build, report it")]
    Setup(String),
    /// The host does not answer.
    #[error("can't reach {host}: {reason}; see whether the gateway runs and listens there")]
    Unreachable {
        /// Host and port.
        host: String,
        /// The words of the system.
        reason: String,
    },
    /// The gateway did not answer in time.
    #[error(
        "the gateway did not answer in time; see whether it works, or raise the limit with `--timeout`"
    )]
    Silent,
    /// The answer is a refusal.
    #[error("{path} answered {status}: {words}{advice}")]
    Refused {
        /// The path that was asked for.
        path: String,
        /// The status.
        status: u16,
        /// The beginning of the answer.
        words: String,
        /// The advice.
        advice: &'static str,
    },
    /// The answer is not an event stream.
    #[error("{path} is no event stream (`{found}`); give the URL of one")]
    NoStream {
        /// The path that was asked for.
        path: String,
        /// Its content type.
        found: String,
    },
    /// The answer is longer than what is read of one.
    #[error(
        "the gateway's answer is longer than {0}; raise the limit with `--max-answer`, or see whether \
         the URL makes sessions"
    )]
    LongAnswer(ByteSize),
    /// The answer is not JSON.
    #[error("the gateway answered with no JSON; see whether the URL makes sessions")]
    NoJson,
    /// The answer names no session.
    #[error("the gateway named no `agentId`; see whether the URL makes sessions")]
    NoSession,
}

/// Where to collect from, and with which token.
#[derive(Clone)]
pub struct CollectTarget {
    /// Host and port, as they are written in the URL.
    authority: String,
    /// Path and query.
    path: String,
    reach: Reach,
    token: Option<HeaderValue>,
    /// The token as it was given, to mask it in what the server says.
    secret: String,
    limits: CollectLimits,
}

/// The limits of collecting from a target at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectLimits {
    /// Bytes of the streams, of all connections together.
    pub stream: ByteSize,
    /// Bytes of one event.
    pub event: ByteSize,
    /// Bytes of one answer other than a stream.
    pub answer: ByteSize,
    /// The limits of stored text and calls.
    pub retained: RetainedLimits,
    /// The number of times that a stream is opened again.
    pub reconnects: u32,
    /// The shortest wait before it is, whatever the server asks for.
    pub retry_min: Duration,
    /// The longest wait before it is, whatever the server asks for; at least `retry_min`.
    pub retry_max: Duration,
}

impl Default for CollectLimits {
    fn default() -> Self {
        Self {
            stream: STREAM_BYTES,
            event: STREAM_EVENT,
            answer: COLLECTED_ANSWER,
            retained: RetainedLimits::default(),
            reconnects: RECONNECTS,
            retry_min: RECONNECT_FLOOR,
            retry_max: RECONNECT_CEILING,
        }
    }
}

/// The token is not shown.
impl fmt::Debug for CollectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectTarget")
            .field("authority", &self.authority)
            .field("path", &self.path)
            .field("reach", &self.reach)
            .field("has_token", &self.token.is_some())
            .field("limits", &self.limits)
            .finish()
    }
}

impl CollectTarget {
    /// A URL of this machine: `http://127.0.0.1:8080/…`, `http://localhost/…`.
    ///
    /// # Errors
    ///
    /// [`CollectError::Url`] or [`CollectError::Remote`].
    pub fn new(url: &str) -> Result<Self, CollectError> {
        Self::within(url, Reach::Loopback)
    }

    /// A URL of a machine within `reach`.
    ///
    /// # Errors
    ///
    /// [`CollectError::Url`] or [`CollectError::Remote`].
    pub fn within(url: &str, reach: Reach) -> Result<Self, CollectError> {
        let no_url = || CollectError::Url(without_user(url));
        let parsed = Url::parse(url).map_err(|_| no_url())?;
        let has_user = !parsed.username().is_empty() || parsed.password().is_some();
        if parsed.scheme() != "http" || has_user {
            return Err(no_url());
        }
        let host = parsed.host_str().ok_or_else(no_url)?;
        let authority = match parsed.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if reach == Reach::Loopback && !is_here(host) {
            return Err(CollectError::Remote(bare(host).to_owned()));
        }
        let query = parsed.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", parsed.path());
        let limits = CollectLimits::default();
        Ok(Self { authority, path, reach, token: None, secret: String::new(), limits })
    }

    /// Sends `Authorization: Bearer TOKEN` with every request.
    ///
    /// # Errors
    ///
    /// [`CollectError::Token`].
    pub fn set_token(&mut self, token: &str) -> Result<(), CollectError> {
        self.token = Some(bearer(token).ok_or(CollectError::Token)?);
        token.clone_into(&mut self.secret);
        Ok(())
    }

    /// Collects no more than this; [`CollectLimits::default`] unless set.
    pub fn set_limits(&mut self, limits: CollectLimits) {
        self.limits = limits;
    }

    fn limits(&self) -> CollectLimits {
        self.limits
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn authority(&self) -> &str {
        &self.authority
    }
}

/// Returns `host` without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.trim_matches(['[', ']'])
}

fn is_here(host: &str) -> bool {
    let ip = bare(host).parse::<IpAddr>();
    ip.map_or(host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback())
}

/// A URL without the user's name and password, if it has them.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://***{}", &rest[at..]),
        None => url.to_owned(),
    }
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Sends requests to a target, with the target's token or a session's.
#[derive(Clone)]
struct HttpClient {
    target: CollectTarget,
    client: Client,
}

/// A response with a good status, and the path that was asked for.
struct HttpAnswer {
    response: Response,
    path: String,
}

impl HttpAnswer {
    /// Returns the next bytes of the body; `None` at its end, and where the connection breaks off.
    ///
    /// A stream is opened again in both cases, so that the reason is of no use to the caller.
    async fn chunk(&mut self) -> Option<Bytes> {
        self.response.chunk().await.ok().flatten()
    }
}

/// Resolves host names to addresses of this machine only, whatever the system's resolver answers.
struct LoopbackResolver;

impl Resolve for LoopbackResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|it| it.ip().is_loopback()).collect();
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

impl HttpClient {
    /// Makes the client of a target; `token` replaces the target's own.
    ///
    /// # Errors
    ///
    /// [`CollectError::Setup`].
    fn new(target: &CollectTarget, token: Option<&str>) -> Result<Self, CollectError> {
        let mut target = target.clone();
        target.token = token.and_then(bearer).or(target.token);
        // Each request has a connection of its own, so that a server can't answer the next request
        // before it is sent. No certificate is loaded: only `http` is collected from.
        let builder =
            builder().no_proxy().http1_only().pool_max_idle_per_host(0).tls_certs_only([]);
        let builder = match target.reach {
            Reach::Loopback => builder.dns_resolver(LoopbackResolver),
            Reach::Anywhere => builder,
        };
        let client = builder.build().map_err(|error| CollectError::Setup(root_cause(&error)))?;
        Ok(Self { target, client })
    }

    fn limits(&self) -> CollectLimits {
        self.target.limits
    }

    /// Sends JSON and returns any answer with a good status.
    async fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<&Value>,
    ) -> Result<HttpAnswer, CollectError> {
        let mut request = self.request(method, path)?;
        if let Some(json) = json {
            request =
                request.header(header::CONTENT_TYPE, "application/json").body(json.to_string());
        }
        self.exchange(request, path).await
    }

    /// Asks for the stream at `path`, after the event `last_id`; `None` when the stream is over.
    async fn stream(
        &self,
        path: &str,
        last_id: Option<&str>,
    ) -> Result<Option<HttpAnswer>, CollectError> {
        let mut request =
            self.request(Method::GET, path)?.header(header::ACCEPT, "text/event-stream");
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header("last-event-id", id);
        }
        let answer = self.exchange(request, path).await?;
        if answer.response.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let found = answer.response.headers().get(header::CONTENT_TYPE);
        let found = found.map_or(String::new(), |it| String::from_utf8_lossy(it.as_bytes()).into());
        let kind = found.split(';').next().map_or("", str::trim);
        if !kind.eq_ignore_ascii_case("text/event-stream") {
            return Err(CollectError::NoStream { path: answer.path, found });
        }
        Ok(Some(answer))
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, CollectError> {
        let no_url = || CollectError::Url(path.to_owned());
        let url = Url::parse(&format!("http://{}{path}", self.target.authority()));
        let mut request = self.client.request(method, url.map_err(|_| no_url())?);
        if let Some(token) = &self.target.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        Ok(request)
    }

    async fn exchange(
        &self,
        request: RequestBuilder,
        path: &str,
    ) -> Result<HttpAnswer, CollectError> {
        let path = path.split('?').next().map_or("/", |path| path).to_owned();
        let response = request.send().await.map_err(|error| CollectError::Unreachable {
            host: self.target.authority().to_owned(),
            reason: root_cause(&error),
        })?;
        let status = response.status();
        let answer = HttpAnswer { response, path };
        if status.is_success() { Ok(answer) } else { Err(self.refused(answer, status).await) }
    }

    /// Returns the error for an answer whose status is not a good one.
    async fn refused(&self, answer: HttpAnswer, status: StatusCode) -> CollectError {
        let path = answer.path.clone();
        let text = match self.whole(answer).await {
            Ok(body) => masked(&String::from_utf8_lossy(&body), &self.target.secret),
            Err(Some(long)) => long.to_string(),
            Err(None) => String::new(),
        };
        refused(path, status, &text)
    }

    /// Reads the JSON of an answer.
    async fn json(&self, answer: HttpAnswer) -> Result<Value, CollectError> {
        let body = self.whole(answer).await;
        let body = body.map_err(|long| long.unwrap_or(CollectError::NoJson))?;
        serde_json::from_slice(&body).map_err(|_| CollectError::NoJson)
    }

    /// Reads all bytes of an answer and never more than the limit; the error is `None` where the
    /// answer broke off.
    async fn whole(&self, mut answer: HttpAnswer) -> Result<Vec<u8>, Option<CollectError>> {
        let limit = self.target.limits.answer;
        let mut body = Vec::new();
        while let Some(piece) = answer.response.chunk().await.map_err(|_| None)? {
            if limit.is_below(body.len() + piece.len()) {
                return Err(Some(CollectError::LongAnswer(limit)));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

fn refused(path: String, status: StatusCode, text: &str) -> CollectError {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Without the characters that steer a terminal.
    let mut words: String = text.chars().filter(|c| !c.is_control()).take(QUOTED).collect();
    if words.is_empty() {
        status.canonical_reason().unwrap_or("no word why").clone_into(&mut words);
    }
    let advice = match status.as_u16() {
        401 | 403 => " (see the token)",
        404 => " (see the URL)",
        300..=399 => " (redirects are not followed; give the URL it leads to)",
        500.. => " (see the gateway's log)",
        _ => "",
    };
    CollectError::Refused { path, status: status.as_u16(), words, advice }
}
