//! The bus against the parser: it has each event of text, reasoning, a call or a person, under the same conversation.

use std::collections::BTreeMap;

use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::violation::{Broken, by, whole};
use crate::case::Case;

/// What the bus has of an event: the word for it, the field with the id, and the conversation.
type BusKey<'r> = (&'static str, &'r str, Option<&'r str>);

/// B1, T3, U5: what the parser says is on the bus, as often, and with the parent of a subagent.
pub(crate) fn bus_differs(case: Case<'_>) -> Option<Broken<'_>> {
    if case.facts.objects == 0 {
        return None;
    }
    let mut told: BTreeMap<BusKey<'_>, Vec<&Entry>> = BTreeMap::new();
    for entry in case.lane(Lane::Bus) {
        if let Some(key) = on_bus(entry) {
            told.entry(key).or_default().push(entry);
        }
    }
    let mut parsed: BTreeMap<BusKey<'_>, usize> = BTreeMap::new();
    for entry in case.lane(Lane::Lifecycle) {
        if let Some(key) = of_parser(entry) {
            *parsed.entry(key).or_default() += 1;
            let on_bus = told.get(&key).map_or(0, Vec::len);
            if on_bus < parsed[&key] {
                return by(entry, format!("{} is not on the bus", name(key)));
            }
        }
    }
    let (key, events) =
        told.iter().find(|(key, events)| events.len() > parsed.get(*key).copied().unwrap_or(0))?;
    match events.last() {
        Some(event) => by(event, format!("{} is on the bus, and the parser has none", name(*key))),
        None => whole(format!("{} is on the bus, and the parser has none", name(*key))),
    }
}

fn name((what, id, parent): BusKey<'_>) -> String {
    match parent {
        Some(parent) => format!("{what} {id} of the subagent {parent}"),
        None => format!("{what} {id}"),
    }
}

fn parent(entry: &Entry) -> Option<&str> {
    entry.field("parent").and_then(Value::as_str)
}

fn of_parser(entry: &Entry) -> Option<BusKey<'_>> {
    let is_folded = entry.field("folded") == Some(&Value::Bool(true));
    let (what, field) = match entry.kind.as_ref() {
        "text" => ("text of", "message_id"),
        "thinking" => ("reasoning of", "message_id"),
        "tool_start" => ("the start of", "id"),
        "tool_result" => ("the result of", "id"),
        "heard" if is_folded => return Some(("the message of the host", "", None)),
        _ => return None,
    };
    Some((what, entry.text(field), parent(entry)))
}

fn on_bus(entry: &Entry) -> Option<BusKey<'_>> {
    let is_retraction = entry.field("retract").is_some();
    let (what, field) = match (entry.kind.as_ref(), entry.text("phase")) {
        ("assistant", _) if !is_retraction => ("text of", "message_id"),
        ("thinking", _) if !is_retraction => ("reasoning of", "message_id"),
        ("tool", "start") => ("the start of", "id"),
        ("tool", "result") => ("the result of", "id"),
        ("heard", _) => return Some(("the message of the host", "", None)),
        _ => return None,
    };
    Some((what, entry.text(field), parent(entry)))
}
