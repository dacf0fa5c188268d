//! The frames of a stream that may break off: it is opened again after the last event that came.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::sleep;

use super::client::{CollectError, CollectLimits, HttpAnswer, HttpClient};
use crate::limits::ByteSize;
use crate::sse::decode::{SseDecoder, SseFrame, TooLong};

/// Connections in a row that may fail or stay empty.
const TRIES: u32 = 5;
/// The wait before a stream is opened again, unless the server says.
const WAIT: Duration = Duration::from_millis(500);

/// Why no frame comes any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
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
pub(super) struct Events {
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
    pub(super) async fn open(client: HttpClient, path: &str) -> Result<Self, CollectError> {
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
    pub(super) async fn next(&mut self) -> Result<SseFrame, Lost> {
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
