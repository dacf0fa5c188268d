//! The rules of the bus. Clitape's own bus has each event of the parser about text, reasoning, a call or a person,
//! under the same conversation; another gateway's bus has the calls of tools.

use std::collections::BTreeMap;

use clitape_recording::facts::{ToolFacts, TurnEnding};
use clitape_recording::text::{plural, quoted};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::{Broken, Case, by, whole};
use crate::observation::SubjectEvent;

/// The key of an event on the bus: its kind, its id, and its conversation.
type BusKey<'r> = (&'static str, &'r str, Option<&'r str>);

/// Checks that the bus has each event of the parser as often, with the parent of a subagent (B1, T3, U5).
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

/// Checks that a connected bus has an event of every run.
pub(crate) fn bus_silent(case: Case<'_>) -> Option<Broken<'_>> {
    let bus = case.bus?;
    let has_played = case.has_times();
    (has_played && bus.is_empty()).then(|| {
        let sentence = "claude played, and the bus has no event of this chat: is the hook loaded, and does it write \
                        to `{bus}` with the number of the chat?";
        whole(sentence.to_owned())
    })?
}

/// Checks that every call of a tool on the main thread is on the bus, with its start, and with its result if it has
/// one.
pub(crate) fn tools_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let bus = case.bus.filter(|bus| !bus.is_empty())?;
    // A gateway may end `claude` when the person interrupts it, so that the rest is never printed.
    let turns = case.played().filter(|(_, turn)| turn.ending != TurnEnding::Interrupted);
    let calls: Vec<&ToolFacts> =
        turns.flat_map(|(_, turn)| &turn.tools).filter(|tool| tool.input.is_some()).collect();
    let unstarted: Vec<&&ToolFacts> =
        calls.iter().filter(|call| start_of(bus, call).is_none()).collect();
    let ended = || calls.iter().filter(|call| call.outcome.is_some());
    let unended: Vec<&&ToolFacts> = ended().filter(|call| !has_result(bus, call)).collect();
    let (first, what) = match (unstarted.first(), unended.first()) {
        (Some(first), _) => (first, "start"),
        (None, Some(first)) => (first, "result"),
        (None, None) => return arguments_lost(bus, &calls),
    };
    let on = first.main_argument.as_deref().map(quoted).unwrap_or_default();
    whole(format!(
        "claude called {} and got {}; the bus has {} events of this chat, the starts of {} calls and the results of {}; \
         the first {what} that is missing is of {} {on}",
        tools(calls.len()),
        results(ended().count()),
        bus.len(),
        calls.len() - unstarted.len(),
        ended().count() - unended.len(),
        first.name,
    ))
}

/// Checks that a start on the bus with arguments has those of the call.
fn arguments_lost<'c>(bus: &[SubjectEvent], calls: &[&ToolFacts]) -> Option<Broken<'c>> {
    let is_empty =
        |args: &Value| args.is_null() || args.as_object().is_some_and(|map| map.is_empty());
    let call = calls.iter().find(|call| {
        let args = start_of(bus, call).and_then(|event| event.args.as_ref());
        call.main_argument.is_some() && args.is_some_and(is_empty)
    })?;
    let on = call.main_argument.as_deref().map(quoted).unwrap_or_default();
    whole(format!(
        "the bus has the start of {} without its arguments, and claude called it on {on}",
        call.name
    ))
}

/// Finds the start of a call: by its id, else by the tool and its main argument, because a process that resumes a
/// session has other ids.
fn start_of<'b>(bus: &'b [SubjectEvent], call: &ToolFacts) -> Option<&'b SubjectEvent> {
    let mut starts = of_phase(bus, "start");
    starts.clone().find(|event| event.id.as_ref() == Some(&call.id)).or_else(|| {
        starts.find(|event| is_named(event, call) && (event.id.is_none() || works_on(event, call)))
    })
}

/// Returns whether the bus has the result of a call: by the id of its start, else by the tool.
fn has_result(bus: &[SubjectEvent], call: &ToolFacts) -> bool {
    let id = start_of(bus, call).and_then(|start| start.id.as_ref());
    of_phase(bus, "result").any(|event| match &event.id {
        Some(known) => *known == call.id || id == Some(known),
        None => is_named(event, call),
    })
}

fn of_phase<'b>(
    bus: &'b [SubjectEvent],
    phase: &'static str,
) -> impl Iterator<Item = &'b SubjectEvent> + Clone {
    bus.iter().filter(move |event| event.kind == "tool" && event.phase.as_deref() == Some(phase))
}

fn is_named(event: &SubjectEvent, call: &ToolFacts) -> bool {
    event.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&call.name))
}

/// Returns whether the arguments of an event contain the main argument of the call.
fn works_on(event: &SubjectEvent, call: &ToolFacts) -> bool {
    match (&call.main_argument, &event.args) {
        (Some(argument), Some(args)) => {
            args.to_string().contains(Value::from(argument.as_str()).to_string().trim_matches('"'))
        }
        _ => true,
    }
}

fn tools(count: usize) -> String {
    plural(count, "tool")
}

fn results(count: usize) -> String {
    plural(count, "result")
}
