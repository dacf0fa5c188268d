//! The streams of runs, held for those who listen: a bounded backlog each, and any number of
//! readers that each take it at their own pace.
//!
//! Readers own nothing but a place in the backlog, so a slow one costs no memory. One whose place
//! the backlog has left behind is told so and dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::watch;

use super::converter::SseConverter;
use super::event::SseEvent;
use crate::bus::{Bus, BusData, Phase, Subscription, lock};

/// How much is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokerLimits {
    /// Events in the backlog of a stream.
    pub events: usize,
    /// Bytes in the backlog of a stream; its newest event is held whatever its size.
    pub bytes: usize,
    /// Readers of a stream at a time.
    pub readers: usize,
    /// Streams that have ended and can still be read.
    pub ended: usize,
}

impl Default for BrokerLimits {
    fn default() -> Self {
        Self { events: 4_096, bytes: 4 << 20, readers: 64, ended: 32 }
    }
}

/// How long a stream lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamLifetime {
    /// Until the end of the first run it follows.
    OneRun,
    /// Until its [`StreamFeed`] is dropped; it may follow one run after another.
    Conversation,
}

/// Why a stream can't be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// There is one already.
    #[error("the stream `{0}` is open already; end it first, or give the new one another id")]
    AlreadyOpen(String),
}

/// Why a stream can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such stream.
    Unknown,
    /// The reader says it has read what was never sent.
    Ahead,
    /// Everything was read, and there will be no more.
    Over,
    /// Too many read it already.
    Busy,
}

/// The streams of a gateway. Clones are handles to the same hub.
#[derive(Clone)]
pub struct Broker {
    limits: BrokerLimits,
    /// By id, in the order they were opened.
    streams: Arc<Mutex<Vec<(String, SharedBacklog)>>>,
}

type SharedBacklog = Arc<watch::Sender<Backlog>>;

/// What is held of a stream.
#[derive(Default)]
struct Backlog {
    /// Events that were left behind; the first that is held has the id after it.
    evicted: u64,
    frames: VecDeque<Bytes>,
    bytes: usize,
    ended: bool,
}

impl Backlog {
    fn last(&self) -> u64 {
        self.evicted + self.frames.len() as u64
    }

    fn push(&mut self, event: &SseEvent, limits: BrokerLimits) {
        let frame = Bytes::from(event.frame(Some(self.last() + 1)));
        self.bytes += frame.len();
        self.frames.push_back(frame);
        while self.frames.len() > limits.events.max(1)
            || (self.bytes > limits.bytes && self.frames.len() > 1)
        {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.len();
            self.evicted += 1;
        }
    }

    /// The event after `read`; `None` when it is not there yet, or no more.
    fn after(&self, read: u64) -> Option<Bytes> {
        let place = usize::try_from(read.checked_sub(self.evicted)?).ok()?;
        self.frames.get(place).cloned()
    }
}

impl Broker {
    /// Makes a hub without streams.
    pub fn new(limits: BrokerLimits) -> Self {
        Self { limits, streams: Arc::default() }
    }

    /// Opens the stream `id`. One of this id that has ended is forgotten.
    ///
    /// # Errors
    ///
    /// [`BrokerError::AlreadyOpen`] when one of this id has not ended.
    pub fn open(
        &self,
        id: impl Into<String>,
        life: StreamLifetime,
    ) -> Result<StreamFeed, BrokerError> {
        let id = id.into();
        let mut streams = lock(&self.streams);
        let is_open = |stream: &SharedBacklog| !stream.borrow().ended;
        match streams.iter().position(|(other, _)| *other == id) {
            Some(place) if is_open(&streams[place].1) => return Err(BrokerError::AlreadyOpen(id)),
            Some(place) => drop(streams.remove(place)),
            None => {}
        }
        let ended = streams.iter().filter(|(_, stream)| !is_open(stream)).count();
        let mut excess = ended.saturating_sub(self.limits.ended);
        streams.retain(|(_, stream)| {
            let goes = excess > 0 && !is_open(stream);
            excess -= usize::from(goes);
            !goes
        });
        let stream = SharedBacklog::new(watch::Sender::default());
        streams.push((id, stream.clone()));
        Ok(StreamFeed { stream, life, limits: self.limits, run: None })
    }

    /// A reader of the stream `id` from the event after `read`; without it, from the start.
    pub(super) fn read(&self, id: &str, read: Option<u64>) -> Result<StreamReader, Refusal> {
        let streams = lock(&self.streams);
        let found = streams.iter().find(|(other, _)| other == id);
        let stream = &found.ok_or(Refusal::Unknown)?.1;
        let (gone, last, ended) = {
            let backlog = stream.borrow();
            (backlog.evicted, backlog.last(), backlog.ended)
        };
        match read {
            Some(read) if read > last => Err(Refusal::Ahead),
            Some(read) if read == last && ended => Err(Refusal::Over),
            _ if stream.receiver_count() >= self.limits.readers => Err(Refusal::Busy),
            _ => {
                let read = read.unwrap_or(0);
                let lost = (read < gone).then(|| gap(gone - read));
                Ok(StreamReader {
                    backlog: stream.subscribe(),
                    read: read.max(gone),
                    lost,
                    over: false,
                })
            }
        }
    }
}

/// The writing end of a stream; dropping it ends the stream.
pub struct StreamFeed {
    stream: SharedBacklog,
    life: StreamLifetime,
    limits: BrokerLimits,
    run: Option<Subscription>,
}

impl StreamFeed {
    /// Tells every later event of `bus`, which belongs to one run; a run followed before is not
    /// followed any more. To follow a run from its first event, call this before the run starts.
    ///
    /// A run that nobody is to see is not to be followed (G3).
    pub fn follow(&mut self, bus: &Bus) {
        let (stream, limits, life) = (self.stream.clone(), self.limits, self.life);
        let mut converter = SseConverter::new();
        self.run = Some(bus.subscribe(move |event| {
            let told = converter.on(event);
            let is_end = matches!(&event.data,
                BusData::Lifecycle(phase) if *phase != Phase::Start);
            let ends = is_end && life == StreamLifetime::OneRun;
            if told.is_empty() && !ends {
                return;
            }
            stream.send_modify(|backlog| {
                if !backlog.ended {
                    told.iter().for_each(|event| backlog.push(event, limits));
                    backlog.ended = ends;
                }
            });
        }));
    }
}

impl Drop for StreamFeed {
    fn drop(&mut self) {
        self.run = None;
        self.stream.send_modify(|backlog| backlog.ended = true);
    }
}

/// One who reads a stream, and the place where.
pub(super) struct StreamReader {
    backlog: watch::Receiver<Backlog>,
    /// The id of the last event that was read.
    read: u64,
    /// What is said first: that events before were lost.
    lost: Option<SseEvent>,
    over: bool,
}

impl StreamReader {
    /// The next frame; none when the stream has ended, or has left the reader behind, which the
    /// last frame says. Nothing is lost when this is dropped before it is done.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(lost) = self.lost.take() {
            return Some(Bytes::from(lost.frame(None)));
        }
        while !self.over {
            {
                let backlog = self.backlog.borrow_and_update();
                if self.read < backlog.evicted {
                    self.over = true;
                    return Some(Bytes::from(too_slow().frame(None)));
                }
                if let Some(frame) = backlog.after(self.read) {
                    self.read += 1;
                    return Some(frame);
                }
                self.over = backlog.ended;
            }
            if !self.over {
                self.over = self.backlog.changed().await.is_err();
            }
        }
        None
    }
}

fn gap(missed: u64) -> SseEvent {
    let words = "these events are not held any more; what follows is the rest";
    SseEvent::new("gap", json!({ "missed": missed, "error": words }))
}

fn too_slow() -> SseEvent {
    let words = "the reader is too slow: the stream has gone on without it; connect again with the \
                 last id to read what is left";
    SseEvent::new("dropped", json!({ "error": words }))
}

#[cfg(test)]
mod tests;
