//! What a replay heard from the parser and on its buses, with the entries that it made of it.
//!
//! The replays of a sweep read the same bytes, cut and delayed in other ways. One that follows what another has heard
//! compares what it hears itself as types, event by event, and takes the entry of what is the same; only what differs is
//! written anew. An event comes in step if the piece of stdout that brings it is the one that ends its line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use clitape_gateway::BusEvent;
use clitape_recording::facts::LazyFacts;
use clitape_stream::{Event, OwnedEvent};
use serde_json::{Map, Value};

use super::lanes::lifecycle_entry;

/// The kind and the particulars of an entry, which traces share.
pub(super) type EntryParts = (Cow<'static, str>, Arc<Map<String, Value>>);

/// What a replay has heard; empty where nobody asked for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Option<Arc<HeardRun>>);

/// It says nothing of a replay that the entries do not say.
impl PartialEq for Heard {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Heard {
    pub(super) fn of(run: HeardRun) -> Self {
        Self(Some(Arc::new(run)))
    }

    pub(super) fn get(&self) -> Option<&Arc<HeardRun>> {
        self.0.as_ref()
    }
}

/// What one replay has heard.
#[derive(Debug, Default)]
pub(super) struct HeardRun {
    /// The events of the parser, which replays of one parse share.
    pub(super) events: Arc<[HeardEvent]>,
    /// What came on the buses.
    pub(super) turns: HeardTurns,
}

/// An event of the parser.
#[derive(Debug, Clone)]
pub(super) struct HeardEvent {
    event: OwnedEvent,
    came: Came,
    /// Its entry, if it has one.
    entry: Option<EntryParts>,
}

impl HeardEvent {
    pub(super) fn new(event: &Event<'_>, came: Came, entry: Option<EntryParts>) -> Self {
        Self { event: event.clone().into_owned(), came, entry }
    }
}

/// With what an event of the parser comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// With the bytes of stdout from the first of these places to the second.
    Printed(u64, u64),
    /// With the line of the host that has this number, from 1.
    Written(u64),
    /// When nothing more comes.
    AtTheEnd,
}

impl Came {
    /// Whether an event that came so where lines came whole comes with the same line.
    fn is_in_step(self, whole: Self) -> bool {
        match (self, whole) {
            (Self::Printed(from, to), Self::Printed(_, end)) => from < end && end <= to,
            _ => self == whole,
        }
    }
}

/// What came on the buses of a replay.
#[derive(Debug, Clone, Default)]
pub(super) struct HeardTurns {
    /// The turns, by their numbers.
    pub(super) turns: BTreeMap<u64, HeardTurn>,
    /// The events as an editor got them, turn by turn, each with the entries of the editor.
    pub(super) editor: Vec<(BusEvent, Vec<EntryParts>)>,
}

/// What came on the bus of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct HeardTurn {
    pub(super) events: Vec<HeardOnBus>,
    /// What was collected of its event stream.
    pub(super) collected: Option<Arc<Map<String, Value>>>,
}

/// An event of a bus, with its entry and those of the event stream.
#[derive(Debug, Clone)]
pub(super) struct HeardOnBus {
    pub(super) event: BusEvent,
    pub(super) entry: EntryParts,
    pub(super) stream: Vec<EntryParts>,
}

/// Whether two events of buses are the same, times aside.
pub(super) fn is_same(a: &BusEvent, b: &BusEvent) -> bool {
    a.seq == b.seq && a.run_id == b.run_id && a.data == b.data
}

/// What a replay does about what is heard.
#[derive(Clone, Copy)]
pub(super) enum Hearing<'a> {
    /// It hears for itself.
    Alone,
    /// It keeps what it hears.
    Kept,
    /// It follows what was heard in each of its setups, and what the bytes state that were read there.
    Following(&'a [Heard], &'a Arc<LazyFacts>),
}

impl Hearing<'_> {
    /// What the setup with this index follows.
    pub(super) fn followed(self, setup: usize) -> Option<Arc<HeardRun>> {
        match self {
            Self::Following(all, _) => all.get(setup)?.get().cloned(),
            Self::Alone | Self::Kept => None,
        }
    }

    /// What these bytes state. It is not read again if they are those that were read there.
    pub(super) fn facts(self, stdout: &[u8], line_limit: usize) -> Arc<LazyFacts> {
        match self {
            Self::Following(_, facts) if facts.is_of(stdout, line_limit) => facts.clone(),
            _ => Arc::new(LazyFacts::new(stdout, line_limit)),
        }
    }
}

/// Compares the parser's events with those that are followed.
pub(super) struct EventComparison {
    followed: Arc<[HeardEvent]>,
    /// The number of events that came.
    came: usize,
    /// Whether each of them was the one that is followed, and in step.
    is_in_step: bool,
}

impl EventComparison {
    /// Follows the events of a replay, if they were kept.
    pub(super) fn with(heard: &Heard) -> Option<Self> {
        Some(Self { followed: heard.get()?.events.clone(), came: 0, is_in_step: true })
    }

    /// The event that is followed, if `event` is the same.
    pub(super) fn next(&mut self, event: &Event<'_>, came: Came) -> Option<&HeardEvent> {
        let known = self.followed.get(self.came);
        self.came += 1;
        let known = known.filter(|known| event.clone().without_texts() == known.event);
        self.is_in_step &= known.is_some_and(|known| came.is_in_step(known.came));
        known
    }

    /// Whether all events that are followed have come, each in step.
    pub(super) fn has_kept_step(&self) -> bool {
        self.is_in_step && self.came == self.followed.len()
    }
}

/// Makes the entries of the parser's events.
pub(super) struct EventEntries {
    followed: Option<EventComparison>,
    kept: Option<Vec<HeardEvent>>,
}

impl EventEntries {
    pub(super) fn new(hearing: Hearing<'_>) -> Self {
        let followed = match hearing {
            Hearing::Following(all, _) => all.first().and_then(EventComparison::with),
            Hearing::Alone | Hearing::Kept => None,
        };
        Self { followed, kept: matches!(hearing, Hearing::Kept).then(Vec::new) }
    }

    /// Kind and data of the entry for `event`; none for a record without an event of its own.
    pub(super) fn entry(&mut self, event: &Event<'_>, came: Came) -> Option<EntryParts> {
        if let Some(known) = self.followed.as_mut().and_then(|it| it.next(event, came)) {
            return known.entry.clone();
        }
        let entry = lifecycle_entry(event).map(|(kind, data)| (Cow::from(kind), Arc::new(data)));
        if let Some(kept) = &mut self.kept {
            kept.push(HeardEvent::new(event, came, entry.clone()));
        }
        entry
    }

    /// Whether all events that are followed have come, each in step.
    pub(super) fn has_kept_step(&self) -> bool {
        self.followed.as_ref().is_some_and(EventComparison::has_kept_step)
    }

    /// The events that were kept.
    pub(super) fn kept(self) -> Option<Arc<[HeardEvent]>> {
        self.kept.map(Arc::from)
    }
}
