//! The streams of runs, kept for those who read them: a bounded backlog for each stream, and any
//! number of readers that each read it at their own pace.
//!
//! A reader owns only a position in the backlog, so a slow reader costs no memory. A reader whose next
//! event has been evicted gets one last event that says so, and no more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::response::sse::Event;
use serde_json::json;
use tokio::sync::watch;

use super::converter::SseConverter;
use super::wire::{SseEvent, WireEvent};
use crate::bus::{Bus, BusData, Phase, Subscription, lock};

/// The limits of a [`Broker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokerLimits {
    /// Events in the backlog of a stream.
    pub events: usize,
    /// Bytes of the names and the data in the backlog of a stream; the newest event is kept whatever
    /// its size.
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

/// The time that a stream is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamLifetime {
    /// Until the end of the first run that the stream follows.
    OneRun,
    /// Until its [`StreamFeed`] is dropped; the stream may follow one run after another.
    Conversation,
}

/// Why a stream can't be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// A stream of this id is open.
    #[error("the stream `{0}` is open already; end it first, or give the new one another id")]
    AlreadyOpen(String),
}

/// Why a stream can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadRefusal {
    /// The stream does not exist.
    Unknown,
    /// The reader's last id is one that was never sent.
    Ahead,
    /// The reader has read everything, and the stream has ended.
    Over,
    /// The stream has as many readers as the limit allows.
    Busy,
}

/// The streams of a gateway. Clones are handles to the same broker.
#[derive(Debug, Clone)]
pub struct Broker {
    limits: BrokerLimits,
    /// By id, in the order they were opened.
    streams: Arc<Mutex<Vec<(String, SharedBacklog)>>>,
}

type SharedBacklog = Arc<watch::Sender<Backlog>>;

/// The events of a stream that are kept.
#[derive(Debug, Default)]
struct Backlog {
    /// Events that were evicted; the first that is kept has the id after this number.
    evicted: u64,
    events: VecDeque<WireEvent>,
    bytes: usize,
    ended: bool,
}

impl Backlog {
    fn last(&self) -> u64 {
        self.evicted + self.events.len() as u64
    }

    fn push(&mut self, event: &SseEvent, limits: BrokerLimits) {
        let event = WireEvent::new(Some(self.last() + 1), event);
        self.bytes += event.size();
        self.events.push_back(event);
        while self.events.len() > limits.events.max(1)
            || (self.bytes > limits.bytes && self.events.len() > 1)
        {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.size();
            self.evicted += 1;
        }
    }

    /// Returns the event after `read`; `None` when it has not come yet, or was evicted.
    fn after(&self, read: u64) -> Option<WireEvent> {
        let index = usize::try_from(read.checked_sub(self.evicted)?).ok()?;
        self.events.get(index).cloned()
    }
}

impl Broker {
    /// Makes a broker without streams.
    pub fn new(limits: BrokerLimits) -> Self {
        Self { limits, streams: Arc::default() }
    }

    /// Opens the stream `id`. A stream of this id that has ended is forgotten.
    ///
    /// # Errors
    ///
    /// [`BrokerError::AlreadyOpen`] when a stream of this id has not ended.
    pub fn open(
        &self,
        id: impl Into<String>,
        lifetime: StreamLifetime,
    ) -> Result<StreamFeed, BrokerError> {
        let id = id.into();
        let mut streams = lock(&self.streams);
        let is_open = |stream: &SharedBacklog| !stream.borrow().ended;
        match streams.iter().position(|(other, _)| *other == id) {
            Some(index) if is_open(&streams[index].1) => return Err(BrokerError::AlreadyOpen(id)),
            Some(index) => drop(streams.remove(index)),
            None => {}
        }
        let ended = streams.iter().filter(|(_, stream)| !is_open(stream)).count();
        let mut excess = ended.saturating_sub(self.limits.ended);
        streams.retain(|(_, stream)| {
            let is_evicted = excess > 0 && !is_open(stream);
            excess -= usize::from(is_evicted);
            !is_evicted
        });
        let stream = SharedBacklog::new(watch::Sender::default());
        streams.push((id, stream.clone()));
        Ok(StreamFeed { stream, lifetime, limits: self.limits, run: None })
    }

    /// Returns whether the stream `id` is open.
    pub(super) fn is_open(&self, id: &str) -> bool {
        lock(&self.streams).iter().any(|(other, stream)| other == id && !stream.borrow().ended)
    }

    /// Makes a reader of the stream `id` from the event after `read`; without `read`, from the
    /// start.
    pub(super) fn read(&self, id: &str, read: Option<u64>) -> Result<StreamReader, ReadRefusal> {
        let streams = lock(&self.streams);
        let found = streams.iter().find(|(other, _)| other == id);
        let stream = &found.ok_or(ReadRefusal::Unknown)?.1;
        let (evicted, last, ended) = {
            let backlog = stream.borrow();
            (backlog.evicted, backlog.last(), backlog.ended)
        };
        match read {
            Some(read) if read > last => Err(ReadRefusal::Ahead),
            Some(read) if read == last && ended => Err(ReadRefusal::Over),
            _ if stream.receiver_count() >= self.limits.readers => Err(ReadRefusal::Busy),
            _ => {
                let read = read.unwrap_or(0);
                let lost = (read < evicted).then(|| gap(evicted - read));
                let read = read.max(evicted);
                Ok(StreamReader { backlog: stream.subscribe(), read, lost, is_over: false })
            }
        }
    }
}

/// The writing end of a stream; dropping it ends the stream.
#[derive(Debug)]
pub struct StreamFeed {
    stream: SharedBacklog,
    lifetime: StreamLifetime,
    limits: BrokerLimits,
    run: Option<Subscription>,
}

impl StreamFeed {
    /// Adds every later event of `bus`, which belongs to one run, to the stream; a run that was
    /// followed before is not followed any more. To follow a run from its first event, call this
    /// before the run starts.
    ///
    /// A silent run must not be followed ([G3](crate::rules::G3)).
    pub fn follow(&mut self, bus: &Bus) {
        let (stream, limits, lifetime) = (self.stream.clone(), self.limits, self.lifetime);
        let mut converter = SseConverter::new();
        self.run = Some(bus.subscribe(move |event| {
            let events = converter.on(event);
            let is_end = matches!(&event.data,
                BusData::Lifecycle(phase) if *phase != Phase::Start);
            add(&stream, limits, &events, is_end && lifetime == StreamLifetime::OneRun);
        }));
    }

    /// Adds events to the stream. This is for a caller that converts the events of a run by itself, such as
    /// one that puts the runs of a conversation one after another.
    pub fn add(&self, events: &[SseEvent]) {
        add(&self.stream, self.limits, events, false);
    }
}

/// Adds events to a stream that has not ended, and ends it if `ends`.
fn add(stream: &SharedBacklog, limits: BrokerLimits, events: &[SseEvent], ends: bool) {
    if events.is_empty() && !ends {
        return;
    }
    stream.send_modify(|backlog| {
        if !backlog.ended {
            events.iter().for_each(|event| backlog.push(event, limits));
            backlog.ended = ends;
        }
    });
}

impl Drop for StreamFeed {
    fn drop(&mut self) {
        self.run = None;
        self.stream.send_modify(|backlog| backlog.ended = true);
    }
}

/// A reader of a stream, and its position in it.
#[derive(Debug)]
pub(super) struct StreamReader {
    backlog: watch::Receiver<Backlog>,
    /// The id of the last event that was read.
    read: u64,
    /// The event that comes first when events before it were evicted.
    lost: Option<SseEvent>,
    is_over: bool,
}

impl StreamReader {
    /// Returns the next event. `None` means that the stream has ended, or has evicted what the
    /// reader would read next; in the second case the event before it says so. No event is lost when
    /// the future is dropped before it is done.
    pub(super) async fn next(&mut self) -> Option<Event> {
        if let Some(lost) = self.lost.take() {
            return Some(WireEvent::new(None, &lost).into());
        }
        while !self.is_over {
            {
                let backlog = self.backlog.borrow_and_update();
                if self.read < backlog.evicted {
                    self.is_over = true;
                    return Some(WireEvent::new(None, &too_slow()).into());
                }
                if let Some(event) = backlog.after(self.read) {
                    self.read += 1;
                    return Some(event.into());
                }
                self.is_over = backlog.ended;
            }
            if !self.is_over {
                self.is_over = self.backlog.changed().await.is_err();
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
pub(crate) mod tests;
