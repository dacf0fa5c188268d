//! Calls of tools: each one that stdout states starts once, with its arguments, and ends with its result.

use std::collections::{HashMap, VecDeque};
use std::ptr;

use clitape_judge::{quoted, zoom};
use clitape_recording::facts::RecordedCall;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::super::violation::{Violation, by, whole};
use crate::replay::Replay;

/// U1: each call that stdout has as a whole starts once, and no other does.
pub(in super::super) fn call_not_stated(replay: &Replay) -> Option<Violation<'_>> {
    let mut left = by_id(replay);
    if replay.facts.objects == 0 {
        return None;
    }
    for start in starts(replay) {
        let id = start.text("id");
        if left.get_mut(id).and_then(VecDeque::pop_front).is_none() {
            return by(start, format!("call {id} starts, and stdout has no such call left"));
        }
    }
    let is_left = |call: &RecordedCall| left[call.id.as_str()].iter().any(|it| ptr::eq(*it, call));
    let missing = replay.facts.calls.iter().find(|call| call.whole.is_some() && is_left(call))?;
    whole(format!("stdout has the call {} of {}, and it never starts", missing.id, missing.name))
}

/// U1, U5: a call starts with the name, the arguments and the parent that stdout states.
pub(in super::super) fn call_misread(replay: &Replay) -> Option<Violation<'_>> {
    pairs(replay, "tool_start").find_map(|(start, call)| {
        let parent = start.field("parent").and_then(Value::as_str);
        if start.text("name") != call.name || parent != call.parent.as_deref() {
            let recorded = format!("{} {}", call.name, call.parent.as_deref().unwrap_or("(main)"));
            return by(start, format!("call {} is one of {recorded} on stdout", call.id));
        }
        let args = start.field("args").unwrap_or(&Value::Null);
        let streamed = || serde_json::from_str::<Value>(&call.streamed).ok();
        let is_recorded = match &call.whole {
            Some(whole) => args == whole || streamed().is_some_and(|streamed| *args == streamed),
            None => args.is_null() || streamed().is_none_or(|streamed| *args == streamed),
        };
        if is_recorded {
            return None;
        }
        let input = call.input()?;
        let (args, input) = zoom(&args.to_string(), &input.to_string());
        by(start, format!("{} starts with “{args}”, and stdout has “{input}”", call.name))
    })
}

/// U3: a call ends with the result that stdout states, and as it states it: well, or with an error.
pub(in super::super) fn result_misread(replay: &Replay) -> Option<Violation<'_>> {
    pairs(replay, "tool_result").find_map(|(end, call)| {
        let is_incomplete = end.field("incomplete").is_some();
        let Some((result, is_error)) = &call.result else {
            let sentence = format!("{} ends with a result, and stdout has none", call.name);
            return if is_incomplete { None } else { by(end, sentence) };
        };
        let told = end.field("result").unwrap_or(&Value::Null);
        let told_error = end.field("is_error") == Some(&Value::Bool(true));
        if !is_incomplete && told == result && told_error == *is_error {
            return None;
        }
        let result = quoted(&result.to_string());
        by(
            end,
            format!("{} ends otherwise than stdout says: {result}, error {is_error}", call.name),
        )
    })
}

/// The starts of calls.
fn starts(replay: &Replay) -> impl Iterator<Item = &Entry> {
    replay.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_start")
}

/// The events of a kind with the calls of stdout that they are about: the first one is about the first call with
/// its id.
fn pairs<'r>(
    replay: &'r Replay,
    kind: &'static str,
) -> impl Iterator<Item = (&'r Entry, &'r RecordedCall)> {
    let mut left = by_id(replay);
    let events = replay.lane(Lane::Lifecycle).filter(move |entry| entry.kind == kind);
    events.filter_map(move |event| Some((event, left.get_mut(event.text("id"))?.pop_front()?)))
}

/// The calls of stdout by their ids, the first of an id first.
fn by_id(replay: &Replay) -> HashMap<&str, VecDeque<&RecordedCall>> {
    let mut calls: HashMap<&str, VecDeque<&RecordedCall>> = HashMap::new();
    for call in &replay.facts.calls {
        calls.entry(&call.id).or_default().push_back(call);
    }
    calls
}
