//! The rules of a run: its lines, its calls, its bus, and the callbacks and listeners of its channels.

use std::collections::HashMap;

use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::violation::{Broken, by, by_turn, is_run_end, whole};
use crate::case::Case;

/// Every line of stdout was read and is accounted for.
///
/// The lines are those of the bytes that came in, so that a parser that passes over a line is convicted even if it
/// does not count the line either. A replay parses without limits, so that a line of any length counts as one.
pub(crate) fn line_lost(case: Case<'_>) -> Option<Broken<'_>> {
    let stats = &case.own?.stats;
    let came = case.own?.counted.lines();
    if stats.lines != came {
        let lines = plural(came, "line");
        return whole(format!("stdout brought {lines}, and the parser counts {}", stats.lines));
    }
    let told = stats.blank + stats.records + stats.unknown + stats.unusable;
    if told == stats.lines {
        return None;
    }
    whole(format!("{} came in, {told} are accounted for", plural(stats.lines, "line")))
}

/// U1, U3: every call starts once and ends once, in this order.
pub(crate) fn tool_unbalanced(case: Case<'_>) -> Option<Broken<'_>> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    for entry in case.lane(Lane::Lifecycle) {
        let id = entry.text("id");
        let wrong = match entry.kind.as_ref() {
            "tool_start" if open.insert(id, true) == Some(true) => {
                "starts again before it has ended"
            }
            "tool_result" if open.insert(id, false) != Some(true) => "ends without having started",
            _ => continue,
        };
        return by(entry, format!("call {id} {wrong}"));
    }
    let id = open.into_iter().filter(|(_, open)| *open).map(|(id, _)| id).min()?;
    whole(format!("call {id} never ends"))
}

/// B1, B3: in each run, seq from 1 without gaps, `start` first, one `end` or `error`, last.
pub(crate) fn bus_broken(case: Case<'_>) -> Option<Broken<'_>> {
    let runs = by_turn(case, Lane::Bus);
    if runs.is_empty() {
        return whole("the first event of the bus is not the run's start".into());
    }
    runs.values().find_map(|events| run_broken(events))
}

fn run_broken<'r>(events: &[&'r Entry]) -> Option<Broken<'r>> {
    for (expect, entry) in (1..).zip(events) {
        let seq = entry.field("seq").and_then(Value::as_u64);
        if seq != Some(expect) {
            return by(entry, format!("event {expect} of the bus has seq {seq:?}"));
        }
    }
    let is_start = |entry: &&&Entry| entry.kind == "lifecycle" && entry.text("phase") == "start";
    if events.first().filter(is_start).is_none() {
        return whole("the first event of the bus is not the run's start".into());
    }
    let ends = events.iter().filter(|entry| is_run_end(entry)).count();
    if ends == 1 && events.last().is_some_and(|last| is_run_end(last)) {
        return None;
    }
    whole(format!("the bus tells {} of the run, where one must come last", plural(ends, "end")))
}

/// G2: no callback of a channel of our own fails, but for one that never settles, which is given up
/// alone.
pub(crate) fn callback_failed(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.run.stuck_callback.is_some() {
        let channel = case.own?.reports.first()?.channels.first()?;
        let failures = channel.callback_failures;
        let is_given_up = failures == 1 && channel.gave_up;
        if is_given_up {
            return None;
        }
        return whole(format!("one callback never settles; {failures} were given up or failed"));
    }
    let own = case.own?;
    let channels = || own.reports.iter().flat_map(|report| &report.channels);
    let why = channels().find_map(|channel| channel.first_failure.clone());
    let gave_up = || channels().any(|channel| channel.gave_up);
    let late = || gave_up().then(|| "the final message did not settle in time".to_owned());
    why.or_else(late).and_then(whole)
}

/// G2: no listener of the bus panics. The bus goes on without it, so that what the listener would have shown of an
/// event is missing, be it in a channel that no golden shows.
pub(crate) fn listener_panicked(case: Case<'_>) -> Option<Broken<'_>> {
    let mut turns = (1..).zip(&case.own?.reports);
    let (turn, report) = turns.find(|(_, report)| report.listener_panics > 0)?;
    let times = plural(report.listener_panics, "time");
    whole(format!("a listener of the bus of turn {turn} panicked {times}"))
}

/// G7: when the runs are over, nothing of the gateway listens on a bus.
pub(crate) fn listener_left(case: Case<'_>) -> Option<Broken<'_>> {
    let left = case.own?.counted.listeners_left;
    let listeners = plural(left, "listener");
    let sentence = format!("the runs are over, and the bus still has {listeners} of the gateway");
    (left > 0).then_some(sentence).and_then(whole)
}
