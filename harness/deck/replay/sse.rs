//! Writes what a run's event stream tells as entries of the `sse` lane: the kind is the event's
//! name, the data its own, without the time, which the entry says.

use clitape_gateway::BusEvent;
use clitape_gateway::sse::{Converter, SseEvent};
use serde_json::{Map, Value};

/// Kind and data of the entries for `event`.
pub(super) fn entries(
    converter: &mut Converter,
    event: &BusEvent,
) -> impl Iterator<Item = (&'static str, Map<String, Value>)> {
    converter.on(event).into_iter().map(|SseEvent { name, mut data }| {
        data.shift_remove("timestamp");
        (name, data)
    })
}
