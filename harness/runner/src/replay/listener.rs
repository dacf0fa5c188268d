//! Listens to the buses of a replay, and writes the lanes `bus`, `acp` and `sse`.
//!
//! A listener that follows what another replay has heard takes the entries of that replay for as long as the same
//! events come. The converters of an editor and of an event stream have a state: when another event comes, they first
//! get those that they have passed over.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_gateway::acp::AcpConverter;
use clitape_gateway::sse::{Collected, Collector, SseConverter, SseFrame, TurnProgress};
use clitape_gateway::{BusData, BusEvent, Phase};
use clitape_recording::scenario::AcpClient;
use clitape_recording::trace::Lane;
use serde_json::{Map, Value};

use super::heard::{EntryParts, HeardOnBus, HeardRun, HeardTurn, HeardTurns, is_same};
use super::lanes::{COLLECTED, acp_entries, acp_session, bus_data, collected_data, sse_entries};
use super::log::{TraceLog, turn_field};

/// The bytes of the events of calls of which an entry `collected` is made at the latest, so that a replay of a long turn
/// does not keep all of them.
const COLLECTED_PART: u64 = 256 * 1_024;

/// The listeners of all turns of a replay, and what they share.
#[derive(Clone)]
pub(super) struct Listeners {
    log: TraceLog,
    /// The session of the ACP client, if there is one.
    editor: Option<Arc<Mutex<TurnByTurn<AcpEditor>>>>,
    followed: Option<Arc<HeardRun>>,
    kept: Option<Arc<Mutex<HeardTurns>>>,
}

impl Listeners {
    /// Listens for an ACP client, if there is one, and follows what was heard, if that is known.
    pub(super) fn new(
        log: TraceLog,
        client: Option<AcpClient>,
        followed: Option<Arc<HeardRun>>,
        keeps: bool,
    ) -> Self {
        let editor = |client| AcpEditor {
            session: acp_session(client),
            passed: followed.as_ref().map(|_| 0),
        };
        let editor = client.map(|client| Arc::new(Mutex::new(TurnByTurn::new(editor(client)))));
        Self { log, editor, followed, kept: keeps.then(Arc::default) }
    }

    /// The listener of the bus of a turn, with an event stream unless the run is silent.
    pub(super) fn of_turn(&self, turn: u64, is_silent: bool) -> TurnListener {
        TurnListener {
            shared: self.clone(),
            turn,
            came: 0,
            stream: (!is_silent).then(|| EventStream {
                converter: SseConverter::new(),
                collector: Collector::new(),
                is_over: false,
                is_in_step: self.followed.is_some(),
            }),
        }
    }

    /// What was heard, if it was to be kept.
    pub(super) fn kept(&self) -> Option<HeardTurns> {
        self.kept.as_ref().map(|kept| std::mem::take(&mut *lock(kept)))
    }
}

/// Listens to the bus of one turn.
pub(super) struct TurnListener {
    shared: Listeners,
    turn: u64,
    /// The number of events that came.
    came: usize,
    stream: Option<EventStream>,
}

impl TurnListener {
    /// Takes an event of the bus, and writes its entries.
    pub(super) fn on(&mut self, event: &BusEvent) {
        let Self { shared, turn, came, stream } = self;
        let Listeners { log, editor, followed, kept } = shared;
        let turn = *turn;
        let heard = followed.as_ref().and_then(|run| run.turns.turns.get(&turn));
        let known = heard.and_then(|heard| heard.events.get(*came));
        let known = known.filter(|known| is_same(&known.event, event));
        let entry: EntryParts = match known {
            Some(known) => known.entry.clone(),
            None => (event.stream().into(), bus_data(event).into()),
        };
        add(log, Lane::Bus, &entry);
        if let Some(editor) = editor {
            lock(editor).on(turn, event, |editor, event| {
                let entries = editor.on(event, followed.as_deref());
                entries.iter().for_each(|entry| add(log, Lane::Acp, entry));
                if let Some(kept) = kept {
                    lock(kept).editor.push((event.clone(), entries.into_owned()));
                }
            });
        }
        let streamed = stream.as_mut().map(|stream| {
            let passed =
                heard.map_or(&[][..], |heard| &heard.events[..(*came).min(heard.events.len())]);
            stream.on(turn, event, known, passed)
        });
        let streamed = streamed.unwrap_or_default();
        streamed.iter().for_each(|entry| add(log, Lane::Sse, entry));
        if let Some(kept) = kept {
            let heard = HeardOnBus { event: event.clone(), entry, stream: streamed.into_owned() };
            lock(kept).turns.entry(turn).or_default().events.push(heard);
        }
        *came += 1;
    }

    /// Writes what the collector makes of the stream, if the stream is over.
    pub(super) fn collect(&mut self) {
        let Self { shared: Listeners { log, followed, kept, .. }, turn, came, stream } = self;
        let Some(stream) = stream else { return };
        let heard = followed.as_ref().and_then(|run| run.turns.turns.get(turn));
        let Some(collected) = stream.collected(*turn, heard.map(|heard| (heard, *came))) else {
            return;
        };
        if let Some(kept) = kept {
            lock(kept).turns.entry(*turn).or_default().collected = Some(collected.clone());
        }
        log.add(Lane::Sse, COLLECTED, collected);
    }
}

/// The editor of an ACP client.
struct AcpEditor {
    session: AcpConverter,
    /// The number of events that the session has passed over, for as long as they are those that are followed.
    passed: Option<usize>,
}

impl AcpEditor {
    /// The entries that an event makes.
    fn on<'h>(
        &mut self,
        event: &BusEvent,
        followed: Option<&'h HeardRun>,
    ) -> Cow<'h, [EntryParts]> {
        let heard = followed.map_or(&[][..], |run| &run.turns.editor);
        if let Some(passed) = &mut self.passed {
            if let Some((known, entries)) = heard.get(*passed)
                && is_same(known, event)
            {
                *passed += 1;
                return Cow::Borrowed(entries);
            }
            for (passed, _) in &heard[..*passed] {
                acp_entries(&mut self.session, passed);
            }
            self.passed = None;
        }
        let entries = acp_entries(&mut self.session, event).into_iter();
        entries.map(|(kind, data)| (kind.into(), data.into())).collect()
    }
}

/// The event stream of a turn, and a collector that reads it to its end.
struct EventStream {
    converter: SseConverter,
    collector: Collector,
    is_over: bool,
    /// Whether all events were those that are followed, so that the converter and the collector have none of them.
    is_in_step: bool,
}

impl EventStream {
    /// The entries of an event. It is the one that is `known`, or comes after those that have `passed`.
    fn on<'h>(
        &mut self,
        turn: u64,
        event: &BusEvent,
        known: Option<&'h HeardOnBus>,
        passed: &[HeardOnBus],
    ) -> Cow<'h, [EntryParts]> {
        if let Some(known) = known.filter(|_| self.is_in_step) {
            return Cow::Borrowed(&known.stream);
        }
        self.leave_step(turn, passed);
        Cow::Owned(self.converted(turn, event))
    }

    /// Gives the converter and the collector what they have passed over.
    fn leave_step(&mut self, turn: u64, passed: &[HeardOnBus]) {
        if std::mem::take(&mut self.is_in_step) {
            for heard in passed {
                self.converted(turn, &heard.event);
            }
        }
    }

    fn converted(&mut self, turn: u64, event: &BusEvent) -> Vec<EntryParts> {
        let Self { converter, collector, is_over, .. } = self;
        let mut entries = Vec::new();
        for (name, mut data) in sse_entries(converter, event) {
            if !*is_over {
                let text = serde_json::to_string(&data).unwrap_or_default();
                let frame = SseFrame { id: None, name: name.to_owned(), data: text };
                *is_over = collector.on(&frame) != TurnProgress::Open;
            }
            data.extend(turn_field(turn));
            entries.push((Cow::Borrowed(name), Arc::new(data)));
            if collector.retained_bytes() >= COLLECTED_PART {
                let mut part = Collected::default();
                part.metadata = collector.take_metadata();
                entries.push((Cow::Borrowed(COLLECTED), collected_of_turn(turn, &part)));
            }
        }
        entries
    }

    /// What the collector makes of the stream; none as long as the stream is not over. `heard` is what is followed, and
    /// how many events came.
    fn collected(
        &mut self,
        turn: u64,
        heard: Option<(&HeardTurn, usize)>,
    ) -> Option<Arc<Map<String, Value>>> {
        if let Some((heard, came)) = heard {
            if self.is_in_step && came == heard.events.len() {
                return heard.collected.clone();
            }
            self.leave_step(turn, &heard.events[..came.min(heard.events.len())]);
        }
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

fn add(log: &TraceLog, lane: Lane, (kind, data): &EntryParts) {
    log.add(lane, kind.clone(), data.clone());
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
