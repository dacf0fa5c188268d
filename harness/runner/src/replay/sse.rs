//! Writes the events of a run's event stream as entries of the `sse` lane: the kind is the event's
//! name, the data its own, without the time, which the entry says. Last comes `collected`, what the
//! collector makes of those very events (S2).

use clitape_gateway::BusEvent;
use clitape_gateway::sse::{Collector, SseConverter, SseEvent, SseFrame, TurnProgress};
use serde_json::{Map, Value};

use super::trace::{Entry, Lane, object};

/// Kind and data of the entries for `event`.
pub(super) fn entries(
    converter: &mut SseConverter,
    event: &BusEvent,
) -> impl Iterator<Item = (&'static str, Map<String, Value>)> {
    converter.on(event).into_iter().map(|SseEvent { name, mut data }| {
        data.shift_remove("timestamp");
        (name, data)
    })
}

/// A collector's result for the stream in `entries`: the data of the last entry; none without a stream.
pub(super) fn collected(entries: &[Entry]) -> Option<Map<String, Value>> {
    let mut gather = Collector::new();
    let stream = entries.iter().filter(|entry| entry.lane == Lane::Sse);
    let frames = stream.map(|entry| SseFrame {
        id: None,
        name: entry.kind.clone().into_owned(),
        data: Value::Object(entry.data.clone()).to_string(),
    });
    // As one that listens does, it is over with the turn.
    frames.map(|frame| gather.on(&frame)).find(|progress| *progress != TurnProgress::Open)?;
    // A struct of texts and numbers always serialises.
    serde_json::to_value(gather.collected()).ok().map(object)
}
