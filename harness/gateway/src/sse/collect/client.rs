//! A small HTTP client: one connection a request, to this machine unless told otherwise.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::limits::{
    COLLECTED_ANSWER, RECONNECT_CEILING, RECONNECT_FLOOR, RECONNECTS, STREAM_BYTES, STREAM_EVENT,
};
use crate::secret::masked;
use crate::size::ByteSize;
use crate::sse::Reach;
use crate::sse::collector::RetainedLimits;

/// Characters of an answer that a sentence quotes.
const QUOTED: usize = 200;

/// Why nothing could be collected.
#[derive(Debug, thiserror::Error)]
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
    /// The token can't stand in a header.
    #[error("the token has characters that a header can't hold; see what it is set to")]
    Token,
    /// Nobody answers.
    #[error("can't reach {host}: {reason}; see whether the gateway runs and listens there")]
    Unreachable {
        /// Host and port.
        host: String,
        /// What the system says.
        reason: String,
    },
    /// Nobody answered in time.
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
        /// What to do.
        advice: &'static str,
    },
    /// The answer is no event stream.
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
    /// The answer is no JSON.
    #[error("the gateway answered with no JSON; see whether the URL makes sessions")]
    NoJson,
    /// The answer names no session.
    #[error("the gateway named no `agentId`; see whether the URL makes sessions")]
    NoSession,
}

/// Where to collect from, and with which token.
#[derive(Clone)]
pub struct CollectTarget {
    uri: Uri,
    reach: Reach,
    token: Option<HeaderValue>,
    /// The token as it was given, to mask it in what the server says.
    secret: String,
    limits: CollectLimits,
}

/// How much is collected from a target at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectLimits {
    /// Bytes of the streams, of all connections together.
    pub stream: ByteSize,
    /// Bytes of one event.
    pub event: ByteSize,
    /// Bytes of one answer that is no stream.
    pub answer: ByteSize,
    /// What is kept of them.
    pub retained: RetainedLimits,
    /// How often a stream is opened again.
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
        let uri = url.parse::<Uri>().ok();
        let uri = uri.filter(|uri| uri.scheme_str() == Some("http"));
        let uri = uri.filter(|uri| uri.authority().is_some_and(|it| !it.as_str().contains('@')));
        let uri = uri.ok_or_else(|| CollectError::Url(without_user(url)))?;
        let limits = CollectLimits::default();
        let target = Self { uri, reach, token: None, secret: String::new(), limits };
        if reach == Reach::Loopback && !target.is_here() {
            return Err(CollectError::Remote(target.host().to_owned()));
        }
        Ok(target)
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

    pub(super) fn limits(&self) -> CollectLimits {
        self.limits
    }

    /// Path and query.
    pub(super) fn path(&self) -> &str {
        self.uri.path_and_query().map_or("/", |path| path.as_str())
    }

    fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_matches(['[', ']'])
    }

    fn is_here(&self) -> bool {
        let ip = self.host().parse::<std::net::IpAddr>();
        ip.map_or(self.host().eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback())
    }
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
pub(super) struct HttpClient {
    target: CollectTarget,
}

/// An answer, and the connection it comes on, which ends when this is dropped.
pub(super) struct HttpAnswer {
    pub(super) response: Response<Incoming>,
    path: String,
    pub(super) _connection: JoinSet<()>,
}

impl HttpClient {
    pub(super) fn new(target: &CollectTarget, token: Option<&str>) -> Self {
        let mut target = target.clone();
        target.token = token.and_then(bearer).or(target.token);
        Self { target }
    }

    pub(super) fn limits(&self) -> CollectLimits {
        self.target.limits
    }

    /// Sends JSON, and takes any good answer.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<&Value>,
    ) -> Result<HttpAnswer, CollectError> {
        let body = json.map(Value::to_string).unwrap_or_default();
        let mut request = self.request(method, path, body)?;
        if json.is_some() {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
        }
        self.exchange(request).await
    }

    /// Asks for the stream at `path`, after the event `last_id`; none when it is over.
    pub(super) async fn stream(
        &self,
        path: &str,
        last_id: Option<&str>,
    ) -> Result<Option<HttpAnswer>, CollectError> {
        let mut request = self.request(Method::GET, path, String::new())?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert("last-event-id", id);
        }
        let answer = self.exchange(request).await?;
        if answer.response.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let found = answer.response.headers().get(header::CONTENT_TYPE);
        let found = found.map_or("", |value| value.to_str().unwrap_or_default()).to_owned();
        let kind = found.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("text/event-stream") {
            return Err(CollectError::NoStream { path: answer.path, found });
        }
        Ok(Some(answer))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Request<Full<Bytes>>, CollectError> {
        let no_url = || CollectError::Url(path.to_owned());
        let host = self.target.uri.authority().ok_or_else(no_url)?.as_str();
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, host);
        if let Some(token) = &self.target.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        request.body(Full::from(body)).map_err(|_| no_url())
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<HttpAnswer, CollectError> {
        let path = request.uri().path().to_owned();
        let (mut sender, connection) = http1::handshake(TokioIo::new(self.connect().await?))
            .await
            .map_err(|e| self.gone(&e))?;
        let mut task = JoinSet::new();
        // How the connection ends is seen where its answer is read.
        task.spawn(async move { drop(connection.await) });
        let response = sender.send_request(request).await.map_err(|e| self.gone(&e))?;
        let status = response.status();
        let answer = HttpAnswer { response, path, _connection: task };
        if status.is_success() { Ok(answer) } else { Err(self.refused(answer, status).await) }
    }

    async fn connect(&self) -> Result<TcpStream, CollectError> {
        let place = (self.target.host(), self.target.uri.port_u16().unwrap_or(80));
        let found = tokio::net::lookup_host(place).await.map_err(|error| self.gone(&error))?;
        // Names of this machine lead to this machine, whatever a resolver says.
        let is_allowed = |address: &SocketAddr| {
            self.target.reach == Reach::Anywhere || address.ip().is_loopback()
        };
        let allowed: Vec<SocketAddr> = found.filter(is_allowed).collect();
        TcpStream::connect(&*allowed).await.map_err(|error| self.gone(&error))
    }

    fn gone(&self, reason: &dyn Display) -> CollectError {
        let host = self.target.uri.authority().map_or("", |host| host.as_str()).to_owned();
        CollectError::Unreachable { host, reason: reason.to_string() }
    }

    /// What the server says with an answer that is no good one.
    async fn refused(&self, answer: HttpAnswer, status: StatusCode) -> CollectError {
        let path = answer.path.clone();
        let text = match self.whole(answer).await {
            Ok(body) => masked(&String::from_utf8_lossy(&body), &self.target.secret),
            Err(Some(long)) => long.to_string(),
            Err(None) => String::new(),
        };
        refused(path, status, &text)
    }

    /// The JSON of an answer.
    pub(super) async fn json(&self, answer: HttpAnswer) -> Result<Value, CollectError> {
        let body = self.whole(answer).await;
        let body = body.map_err(|long| long.unwrap_or(CollectError::NoJson))?;
        serde_json::from_slice(&body).map_err(|_| CollectError::NoJson)
    }

    /// All bytes of an answer; on failure why, unless it broke off.
    async fn whole(&self, answer: HttpAnswer) -> Result<Bytes, Option<CollectError>> {
        let limit = self.target.limits.answer;
        let most = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        match Limited::new(answer.response.into_body(), most).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(Some(CollectError::LongAnswer(limit)))
            }
            Err(_) => Err(None),
        }
    }
}

fn refused(path: String, status: StatusCode, text: &str) -> CollectError {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Nothing that steers a terminal.
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
