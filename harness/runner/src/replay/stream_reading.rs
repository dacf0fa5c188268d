//! A reader of the event stream of a whole conversation, whose connection breaks once (S2).
//!
//! The stream of all turns comes from the library's endpoint, as over HTTP, but without any IO. The reader takes each
//! event at once. After the event that `run.stream_break` names, its connection breaks, and it comes back with the id of
//! an earlier event; a stranger who has another token asks for the stream at that moment, too. The lane `sse` gets the
//! stranger's `refused`, then `reconnect`, the number of events that came `again`, and at the end `collected` with the
//! number of `turns`: what one collector makes of all turns.
//!
//! The host of a replay takes no answers from a reader, because those of the recording count. One that the reader posts
//! when it reads a question is dropped, so that the lane gets the `refused` of it.

use clitape_gateway::sse::{
    Broker, BrokerLimits, Collector, LocalEndpoint, LocalReader, LocalRefusal, PostedAnswer,
    ServerSettings, SseConverter, SseFrame, StreamFeed, StreamLifetime,
};
use clitape_gateway::{BusData, BusEvent, Phase};
use clitape_recording::scenario::StreamBreak;
use clitape_recording::trace::{Lane, object};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::coop::unconstrained;

use super::lanes::{COLLECTED, collected_data};
use super::log::TraceLog;

/// The id of the one stream of a replay.
const STREAM: &str = "conversation-1";
/// The token of the endpoint, and the one of a stranger.
const TOKENS: [&str; 2] = ["token-of-readers", "another-token-16"];

/// The stream of a conversation, and its reader.
pub(super) struct StreamReading {
    endpoint: LocalEndpoint,
    feed: StreamFeed,
    /// What readers post.
    inbox: mpsc::Receiver<PostedAnswer>,
    /// Converts the events of the turn that is under way.
    converter: SseConverter,
    reader: LocalReader,
    collector: Collector,
    /// Turns that have begun.
    turns: u64,
    /// Events that were read.
    read: u64,
    at: StreamBreak,
    log: TraceLog,
}

impl StreamReading {
    /// Opens the stream, and connects the reader to it. A new endpoint refuses neither.
    pub(super) fn new(at: StreamBreak, log: TraceLog) -> Option<Self> {
        let broker = Broker::new(BrokerLimits::default());
        let feed = broker.open(STREAM, StreamLifetime::Conversation).ok()?;
        let (outbox, inbox) = mpsc::channel(1);
        let settings = ServerSettings { answers: Some(outbox), ..ServerSettings::new(TOKENS[0]) };
        let endpoint = LocalEndpoint::new(&settings, broker);
        let reader = endpoint.connect(STREAM, TOKENS[0], None).ok()?;
        let (converter, collector) = (SseConverter::new(), Collector::new());
        let (turns, read) = (0, 0);
        Some(Self { endpoint, feed, inbox, converter, reader, collector, turns, read, at, log })
    }

    /// Adds an event of the turn that is under way to the stream, and reads what is new there.
    pub(super) fn on(&mut self, event: &BusEvent) {
        if matches!(event.data, BusData::Lifecycle(Phase::Start)) {
            self.converter = SseConverter::new();
            self.turns += 1;
            if self.turns > 1 {
                self.collector.begin(None);
            }
        }
        self.feed.add(&self.converter.on(event));
        for frame in self.reader.frames() {
            self.collector.on(&frame);
            if frame.name == "question" {
                self.post(&frame);
            }
            // What the endpoint says itself has no id, and is no event of the run.
            if frame.id.is_none() {
                continue;
            }
            self.read += 1;
            if self.read == self.at.after {
                return self.reconnect();
            }
        }
    }

    /// Says yes to a question, and is told that the host did not take it.
    fn post(&mut self, question: &SseFrame) {
        let data: Value = serde_json::from_str(&question.data).unwrap_or_default();
        let body = json!({ "question": data["questionId"], "behavior": "allow" }).to_string();
        let mut posted = Box::pin(unconstrained(self.endpoint.post(STREAM, TOKENS[0], body)));
        let early = posted.as_mut().now_or_never();
        let inbox = &mut self.inbox;
        let said = early.or_else(|| {
            drop(inbox.try_recv());
            posted.as_mut().now_or_never()
        });
        let status = said.map(|said| said.map_or_else(|refusal| refusal.status, |()| 204));
        let data = json!({ "reader": "one who answers", "status": status });
        self.log.add(Lane::Sse, "refused", object(data));
    }

    /// Comes back with the id of an earlier event, and reads on from there.
    fn reconnect(&mut self) {
        let StreamBreak { after, last } = self.at;
        let [token, another] = TOKENS;
        let refused = |who: &str, refusal: LocalRefusal| {
            let data = json!({ "reader": who, "last_event_id": last, "status": refusal.status });
            self.log.add(Lane::Sse, "refused", object(data));
        };
        let last_id = (last > 0).then_some(last);
        if let Err(refusal) = self.endpoint.connect(STREAM, another, last_id) {
            refused("stranger", refusal);
        }
        let mut reader = match self.endpoint.connect(STREAM, token, last_id) {
            Ok(reader) => reader,
            Err(refusal) => return refused("the one who comes back", refusal),
        };
        let frames = reader.frames();
        let is_again = |id: &Option<String>| {
            id.as_deref().and_then(|id| id.parse().ok()).is_some_and(|id: u64| id <= after)
        };
        let again = frames.iter().filter(|frame| is_again(&frame.id)).count();
        let data = json!({ "after": after, "last_event_id": last, "again": again });
        self.log.add(Lane::Sse, "reconnect", object(data));
        for frame in &frames {
            self.collector.on(frame);
        }
        self.read += frames.iter().filter(|frame| frame.id.is_some()).count() as u64;
        self.reader = reader;
    }

    /// Adds what was collected to the trace.
    pub(super) fn end(&mut self) {
        let collected = std::mem::take(&mut self.collector).collected();
        let mut data = collected_data(&collected);
        data.insert("turns".into(), self.turns.into());
        self.log.add(Lane::Sse, COLLECTED, data);
    }
}
