//! The endpoint without a socket: a reader in this process sends the requests of one that connects over HTTP, and
//! reads the same bytes, as soon as they are there.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::request::Builder;
use axum::http::{Request, header};
use axum::response::Response;
use futures_util::{FutureExt as _, StreamExt as _};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::coop::unconstrained;

use super::broker::Broker;
use super::server::{ServerSettings, SseState, router};
use super::wire::{SseDecoder, SseFrame};

/// Bytes of the sentence of a refusal.
const WORDS_LIMIT: usize = 4_096;

/// An endpoint that listens nowhere: the requests come from this process.
#[derive(Debug)]
pub struct LocalEndpoint {
    router: Router,
    /// Open as long as the endpoint is.
    _closing: watch::Sender<bool>,
}

/// The answer to a request that gets no stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the endpoint answered {status}: {words}")]
pub struct LocalRefusal {
    /// The status of HTTP.
    pub status: u16,
    /// The words of the body; empty where it has none.
    pub words: String,
}

/// A connection to a [`LocalEndpoint`]. Dropping it hangs up.
pub struct LocalReader {
    body: BodyDataStream,
    decoder: SseDecoder,
}

impl fmt::Debug for LocalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalReader").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

impl LocalEndpoint {
    /// Makes the endpoint of `broker`; of `settings`, those about sockets do not count.
    pub fn new(settings: &ServerSettings, broker: Broker) -> Self {
        let (closing, closed) = watch::channel(false);
        let router = router(Arc::new(SseState::new(settings, broker, closed)));
        Self { router, _closing: closing }
    }

    /// Requests the stream `id` with `token`, and with the id of the `last` event that was read, if there is one.
    ///
    /// Works on the current tokio runtime, which needs time and no IO.
    ///
    /// # Errors
    ///
    /// The [`LocalRefusal`] that a reader over HTTP gets as well.
    pub fn connect(
        &self,
        id: &str,
        token: &str,
        last: Option<u64>,
    ) -> Result<LocalReader, LocalRefusal> {
        let mut request = Request::get(format!("/runs/{id}/events"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        // The handler of a reader never waits.
        let answer = unconstrained(self.request(request, token, Body::empty())).now_or_never();
        let Some(answer) = answer else {
            return Err(LocalRefusal { status: 504, words: String::new() });
        };
        let (head, body) = answer?.into_parts();
        if head.status.as_u16() == 200 {
            let (body, decoder) = (body.into_data_stream(), SseDecoder::new());
            return Ok(LocalReader { body, decoder });
        }
        let words = unconstrained(words(body)).now_or_never().unwrap_or_default();
        Err(LocalRefusal { status: head.status.as_u16(), words })
    }

    /// Posts an answer to the stream `id` with `token`; `body` is the JSON of it. Returns once the host has said what
    /// became of the answer.
    ///
    /// # Errors
    ///
    /// The [`LocalRefusal`] that a reader over HTTP gets as well.
    pub async fn post(&self, id: &str, token: &str, body: String) -> Result<(), LocalRefusal> {
        let request = Request::post(format!("/runs/{id}/answer"));
        let (head, body) = self.request(request, token, Body::from(body)).await?.into_parts();
        match head.status.as_u16() {
            204 => Ok(()),
            status => Err(LocalRefusal { status, words: words(body).await }),
        }
    }

    /// Sends a request, and returns the answer to it.
    async fn request(
        &self,
        request: Builder,
        token: &str,
        body: Body,
    ) -> Result<Response, LocalRefusal> {
        let no_request = |error: axum::http::Error| LocalRefusal {
            status: 400,
            words: format!("the id of the stream or the token can't be sent: {error}"),
        };
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(body).map_err(no_request)?;
        match TowerToHyperService::new(self.router.clone()).call(request).await {
            Ok(answer) => Ok(answer),
            Err(never) => match never {},
        }
    }
}

/// The sentence of a refusal.
async fn words(body: Body) -> String {
    let words = to_bytes(body, WORDS_LIMIT).await.unwrap_or_default();
    String::from_utf8_lossy(&words).into_owned()
}

impl LocalReader {
    /// Returns the events that are there and that it has not read yet. The first one of a connection is `connected`.
    pub fn frames(&mut self) -> Vec<SseFrame> {
        let mut frames = Vec::new();
        while let Some(Some(Ok(bytes))) = unconstrained(self.body.next()).now_or_never() {
            // No event of this process is too long for a decoder.
            frames.extend(self.decoder.feed(&bytes).unwrap_or_default());
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::super::broker::{BrokerLimits, StreamLifetime};
    use super::super::server::PostedAnswer;
    use super::super::wire::SseEvent;
    use super::*;

    const TOKEN: &str = "hidden-token-1";

    fn endpoint(events: usize) -> (LocalEndpoint, Broker) {
        let broker = Broker::new(BrokerLimits { events, ..BrokerLimits::default() });
        (LocalEndpoint::new(&ServerSettings::new(TOKEN), broker.clone()), broker)
    }

    /// The events that can be read: an id or a name for each.
    fn read(reader: &mut LocalReader) -> Vec<String> {
        let frames = reader.frames().into_iter();
        frames.map(|frame| frame.id.unwrap_or(frame.name)).collect()
    }

    fn event(number: u64) -> SseEvent {
        SseEvent::new("output", json!({ "number": number }))
    }

    #[tokio::test(start_paused = true)]
    async fn s1_a_reader_in_the_process_reads_on_after_its_last_id() {
        let (endpoint, broker) = endpoint(2);
        let feed = broker.open("s", StreamLifetime::Conversation).unwrap();
        feed.add(&[event(1), event(2)]);
        let mut reader = endpoint.connect("s", TOKEN, None).unwrap();
        assert_eq!(read(&mut reader), ["connected", "1", "2"]);
        assert_eq!(read(&mut reader), [""; 0]);
        feed.add(&[event(3)]);
        assert_eq!(read(&mut reader), ["3"]);
        let again = |last| read(&mut endpoint.connect("s", TOKEN, Some(last)).unwrap());
        assert_eq!(again(2), ["connected", "3"]);
        assert_eq!(again(0), ["connected", "gap", "2", "3"]);
        // Many events at once are no reason to stop half-way.
        for number in 4..600 {
            feed.add(&[event(number)]);
            assert_eq!(read(&mut reader), [number.to_string()]);
        }
        feed.add(&[event(600), event(601), event(602)]);
        assert_eq!(read(&mut reader), ["dropped"]);
    }

    #[tokio::test(start_paused = true)]
    async fn s1_a_reader_in_the_process_is_refused_as_over_http() {
        let (endpoint, broker) = endpoint(9);
        let check = |id: &str, token: &str, last: Option<u64>, status: u16, words: &str| {
            let refusal = endpoint.connect(id, token, last).unwrap_err();
            assert_eq!(refusal.status, status, "{refusal}");
            assert!(refusal.words.contains(words), "{refusal}");
        };
        let feed = broker.open("s", StreamLifetime::Conversation).unwrap();
        feed.add(&[event(1)]);
        check("s", "hidden-token-2", None, 401, "missing or wrong");
        check("other", TOKEN, None, 404, "no such run");
        check("s", TOKEN, Some(2), 400, "leave it out");
        check("a b", TOKEN, None, 400, "can't be sent");
        drop(feed);
        check("s", TOKEN, Some(1), 204, "");
    }

    #[tokio::test(start_paused = true)]
    async fn q11_a_reader_in_the_process_answers_a_question() {
        let broker = Broker::new(BrokerLimits::default());
        let feed = broker.open("s", StreamLifetime::Conversation).unwrap();
        let (outbox, mut inbox) = mpsc::channel(1);
        let settings = ServerSettings { answers: Some(outbox), ..ServerSettings::new(TOKEN) };
        let endpoint = LocalEndpoint::new(&settings, broker);
        let yes = r#"{"question": "q1", "behavior": "allow"}"#.to_owned();
        let host = async {
            let posted: PostedAnswer = inbox.recv().await.unwrap();
            posted.reply.send(Ok(())).unwrap();
            // The next one is dropped.
            drop(inbox.recv().await);
        };
        let reader = async {
            assert_eq!(endpoint.post("s", TOKEN, yes.clone()).await, Ok(()));
            endpoint.post("s", TOKEN, yes.clone()).await.unwrap_err().status
        };
        assert_eq!(tokio::join!(host, reader).1, 503);
        drop(feed);
        assert_eq!(endpoint.post("s", TOKEN, yes).await.unwrap_err().status, 404);
    }
}
