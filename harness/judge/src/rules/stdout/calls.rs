//! Calls of tools: each one that stdout states starts once, with its arguments, and ends with its result.

use std::collections::{HashMap, VecDeque};
use std::ptr;

use crate::{quoted, zoom};
use clitape_recording::facts::RecordedCall;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::Case;
use crate::rules::violation::{Broken, by, whole};

/// U1: each call that stdout has as a whole starts once, and no other does.
pub(in crate::rules) fn call_not_stated(case: Case<'_>) -> Option<Broken<'_>> {
    let mut left = by_id(case);
    if case.facts.objects == 0 {
        return None;
    }
    for start in starts(case) {
        let id = start.text("id");
        if left.get_mut(id).and_then(VecDeque::pop_front).is_none() {
            return by(start, format!("call {id} starts, and stdout has no such call left"));
        }
    }
    let is_left = |call: &RecordedCall| left[call.id.as_str()].iter().any(|it| ptr::eq(*it, call));
    let missing = case.facts.calls.iter().find(|call| call.whole.is_some() && is_left(call))?;
    whole(format!("stdout has the call {} of {}, and it never starts", missing.id, missing.name))
}

/// U1, U5: a call starts with the name, the arguments and the parent that stdout states.
pub(in crate::rules) fn call_misread(case: Case<'_>) -> Option<Broken<'_>> {
    pairs(case, "tool_start").find_map(|(start, call)| {
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
pub(in crate::rules) fn result_misread(case: Case<'_>) -> Option<Broken<'_>> {
    pairs(case, "tool_result").find_map(|(end, call)| {
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
fn starts(case: Case<'_>) -> impl Iterator<Item = &Entry> {
    case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_start")
}

/// The events of a kind with the calls of stdout that they are about: the first one is about the first call with
/// its id.
fn pairs<'r>(
    case: Case<'r>,
    kind: &'static str,
) -> impl Iterator<Item = (&'r Entry, &'r RecordedCall)> {
    let mut left = by_id(case);
    let events = case.lane(Lane::Lifecycle).filter(move |entry| entry.kind == kind);
    events.filter_map(move |event| Some((event, left.get_mut(event.text("id"))?.pop_front()?)))
}

/// The calls of stdout by their ids, the first of an id first.
fn by_id(case: Case<'_>) -> HashMap<&str, VecDeque<&RecordedCall>> {
    let mut calls: HashMap<&str, VecDeque<&RecordedCall>> = HashMap::new();
    for call in &case.facts.calls {
        calls.entry(&call.id).or_default().push_back(call);
    }
    calls
}
