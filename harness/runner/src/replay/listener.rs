//! Listens to the buses of a replay, and writes the lanes `bus`, `acp` and `sse`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_gateway::acp::AcpConverter;
use clitape_gateway::sse::{Collected, Collector, SseConverter, SseFrame, TurnProgress};
use clitape_gateway::{BusData, BusEvent, Phase};
use clitape_recording::scenario::AcpClient;
use clitape_recording::trace::Lane;
use serde_json::{Map, Value};

use super::lanes::{COLLECTED, acp_entries, acp_session, bus_data, collected_data, sse_entries};
use super::log::{EntryParts, TraceLog, turn_field};

/// The bytes of the events of calls of which an entry `collected` is made at the latest, so that a replay of a long turn
/// does not keep all of them.
const COLLECTED_PART: u64 = 256 * 1_024;

/// The listeners of all turns of a replay, and what they share.
#[derive(Clone)]
pub(super) struct Listeners {
    log: TraceLog,
    /// The session of the ACP client, if there is one.
    editor: Option<Arc<Mutex<TurnByTurn<AcpConverter>>>>,
}

impl Listeners {
    /// Listens for an ACP client, if there is one.
    pub(super) fn new(log: TraceLog, client: Option<AcpClient>) -> Self {
        let editor = |client| Arc::new(Mutex::new(TurnByTurn::new(acp_session(client))));
        Self { log, editor: client.map(editor) }
    }

    /// The listener of the bus of a turn, with an event stream unless the run is silent.
    pub(super) fn of_turn(&self, turn: u64, is_silent: bool) -> TurnListener {
        TurnListener {
            shared: self.clone(),
            turn,
            stream: (!is_silent).then(|| EventStream {
                converter: SseConverter::new(),
                collector: Collector::new(),
                is_over: false,
            }),
        }
    }
}

/// Listens to the bus of one turn.
pub(super) struct TurnListener {
    shared: Listeners,
    turn: u64,
    stream: Option<EventStream>,
}

impl TurnListener {
    /// Writes the entries of an event of the bus.
    pub(super) fn on(&mut self, event: &BusEvent) {
        let Self { shared: Listeners { log, editor }, turn, stream } = self;
        log.add(Lane::Bus, event.stream(), bus_data(event));
        if let Some(editor) = editor {
            lock(editor).on(*turn, event, |session, event| {
                for (kind, data) in acp_entries(session, event) {
                    log.add(Lane::Acp, kind, data);
                }
            });
        }
        if let Some(stream) = stream {
            for (kind, data) in stream.on(*turn, event) {
                log.add(Lane::Sse, kind, data);
            }
        }
    }

    /// Writes what the collector makes of the stream, if the stream is over.
    pub(super) fn collect(&mut self) {
        let Self { shared, turn, stream } = self;
        if let Some(collected) = stream.as_mut().and_then(|stream| stream.collected(*turn)) {
            shared.log.add(Lane::Sse, COLLECTED, collected);
        }
    }
}

/// The event stream of a turn, and a collector that reads it to its end.
struct EventStream {
    converter: SseConverter,
    collector: Collector,
    is_over: bool,
}

impl EventStream {
    /// Returns the entries of an event.
    fn on(&mut self, turn: u64, event: &BusEvent) -> Vec<EntryParts> {
        let Self { converter, collector, is_over, .. } = self;
        let mut entries = Vec::new();
        for (name, mut data) in sse_entries(converter, event) {
            if !*is_over {
                let text = serde_json::to_string(&data).unwrap_or_default();
                let frame = SseFrame { id: None, name: name.to_owned(), data: text };
                *is_over = collector.on(&frame) != TurnProgress::Open;
            }
            data.extend(turn_field(turn));
            entries.push((name.into(), data.into()));
            if collector.retained_bytes() >= COLLECTED_PART {
                let mut part = Collected::default();
                part.metadata = collector.take_metadata();
                entries.push((COLLECTED.into(), collected_of_turn(turn, &part)));
            }
        }
        entries
    }

    /// Returns what the collector makes of the stream; `None` as long as the stream is not over.
    fn collected(&mut self, turn: u64) -> Option<Arc<Map<String, Value>>> {
        let collector = self.is_over.then(|| std::mem::take(&mut self.collector))?;
        Some(collected_of_turn(turn, &collector.collected()))
    }
}

/// Data of the entry of what was collected of a turn.
fn collected_of_turn(turn: u64, collected: &Collected) -> Arc<Map<String, Value>> {
    let mut data = collected_data(collected);
    data.extend(turn_field(turn));
    data.into()
}

/// Something that outlives a turn, such as the session of an ACP client, and gets the turns one after another.
pub(super) struct TurnByTurn<S> {
    pub(super) state: S,
    /// The turn whose events it gets.
    turn: u64,
    /// The events of later turns.
    waiting: BTreeMap<u64, Vec<BusEvent>>,
}

impl<S> TurnByTurn<S> {
    pub(super) fn new(state: S) -> Self {
        Self { state, turn: 1, waiting: BTreeMap::new() }
    }

    /// Gives `hand` an event of `turn` once it is that turn's time, and later events that waited for it.
    pub(super) fn on(
        &mut self,
        turn: u64,
        event: &BusEvent,
        mut hand: impl FnMut(&mut S, &BusEvent),
    ) {
        if turn != self.turn {
            self.waiting.entry(turn).or_default().push(event.clone());
            return;
        }
        hand(&mut self.state, event);
        let mut is_over = is_end(event);
        while is_over {
            self.turn += 1;
            let events = self.waiting.remove(&self.turn).unwrap_or_default();
            for event in &events {
                hand(&mut self.state, event);
            }
            is_over = events.last().is_some_and(is_end);
        }
    }
}

/// Whether nothing of the turn comes after this event.
fn is_end(event: &BusEvent) -> bool {
    matches!(event.data, BusData::Lifecycle(Phase::End { .. } | Phase::Error { .. }))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
