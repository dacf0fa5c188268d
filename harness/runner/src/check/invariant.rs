//! Invariants: what must hold of every replay of every cassette, whatever the plan.
//!
//! A process has one turn or several. The rules of a chat and of the bus hold for each turn by itself.

mod bus;
mod editor;
mod event_stream;
mod questions;
mod secrets;
pub(super) mod session;
mod shown;
mod stake;
mod stdout;
mod table;
mod texts;
mod turns;
mod violation;
mod watchdog;

use std::collections::{BTreeMap, HashMap, HashSet};

use clitape_gateway::MessageTools;
use serde_json::Value;

use super::context::{ContextMoment, context};
use super::divergence::moment;
use super::finding::FindingKind;
use crate::replay::{Entry, LATENCY, Lane, Replay};
use crate::scenario::DeliverySpec;
use crate::text::plural;
pub use session::SESSION_RULES;
pub use stake::Stake;
pub use table::{INVARIANTS, Invariant};
use violation::{Violation, by, by_turn, message_id, whole};

/// Shortest time between two calls of a draft, in ms (V4).
const THROTTLE_MS: u64 = 1_000;

/// A rule that a replay breaks.
#[derive(Debug)]
pub(super) struct BrokenInvariant {
    pub(super) kind: FindingKind,
    /// When, and how.
    pub(super) sentence: String,
    /// What came in beside what was seen, up to then.
    pub(super) context: Vec<ContextMoment>,
}

/// Drafts whose answer may be lost before none is sent any more (V3).
const LOST_LIMIT: usize = 2;

/// The rules that `replay` breaks.
pub(super) fn broken(replay: &Replay) -> Vec<BrokenInvariant> {
    let told = INVARIANTS.iter().filter_map(|rule| Some((rule.kind, (rule.broken)(replay)?)));
    told.map(|(kind, Violation { entry, sentence })| {
        let is_it =
            |index: &usize| entry.is_some_and(|entry| std::ptr::eq(entry, &replay.entries[*index]));
        let Some(index) = (0..replay.entries.len()).find(is_it) else {
            return BrokenInvariant { kind, sentence, context: Vec::new() };
        };
        let Entry { lane, at, .. } = replay.entries[index];
        let sentence = format!("{}: {sentence}", moment(&replay.entries, index));
        BrokenInvariant { kind, sentence, context: context(&replay.entries, lane, Some(at)) }
    })
    .collect()
}

/// Every line of stdout was read and is accounted for.
///
/// The lines are those of the bytes that came in, so that a parser that passes over a line is convicted even if it
/// does not count the line either. A replay parses without limits, so that a line of any length counts as one.
fn line_lost(replay: &Replay) -> Option<Violation<'_>> {
    let stats = &replay.stats;
    let came = replay.counted.lines();
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
fn tool_unbalanced(replay: &Replay) -> Option<Violation<'_>> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    for entry in replay.lane(Lane::Lifecycle) {
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

/// The first turn that breaks a rule of a chat.
fn any_turn<'r>(
    replay: &'r Replay,
    rule: impl Fn(&[&'r Entry]) -> Option<Violation<'r>>,
) -> Option<Violation<'r>> {
    by_turn(replay, Lane::Telegram).values().find_map(|calls| rule(calls))
}

/// B1, B3: in each run, seq from 1 without gaps, `start` first, one `end` or `error`, last.
fn bus_broken(replay: &Replay) -> Option<Violation<'_>> {
    let runs = by_turn(replay, Lane::Bus);
    if runs.is_empty() {
        return whole("the first event of the bus is not the run's start".into());
    }
    runs.values().find_map(|events| run_broken(events))
}

fn run_broken<'r>(events: &[&'r Entry]) -> Option<Violation<'r>> {
    let phases: Vec<&str> = events
        .iter()
        .map(|entry| match entry.kind.as_ref() {
            "lifecycle" => entry.data.get("phase").and_then(Value::as_str).unwrap_or("?"),
            _ => "",
        })
        .collect();
    for (expect, entry) in (1..).zip(events) {
        let seq = entry.data.get("seq").and_then(Value::as_u64);
        if seq != Some(expect) {
            return by(entry, format!("event {expect} of the bus has seq {seq:?}"));
        }
    }
    if phases.first() != Some(&"start") {
        return whole("the first event of the bus is not the run's start".into());
    }
    let ends = phases.iter().filter(|phase| matches!(**phase, "end" | "error")).count();
    let last_ends = matches!(phases.last(), Some(&("end" | "error")));
    if ends == 1 && last_ends {
        return None;
    }
    whole(format!("the bus tells {} of the run, where one must come last", plural(ends, "end")))
}

/// V7: once a part of a turn's final text is in the chat, no edit of its draft comes.
fn edit_after_final(replay: &Replay) -> Option<Violation<'_>> {
    any_turn(replay, |calls| {
        let mut calls = calls.iter().skip_while(|entry| !entry.is_final());
        let late = calls.find(|entry| !entry.is_final())?;
        by(late, format!("after the final text came {}", late.headline()))
    })
}

/// V7, Q10: exactly one final for each turn, unless the run was silent or the turn answers nobody and says
/// nothing; it arrives, unless the answer to a new message of it was lost.
fn final_not_once(replay: &Replay) -> Option<Violation<'_>> {
    let is_shown = replay.setup.channel.is_some() && !replay.setup.run.silent;
    let calls = by_turn(replay, Lane::Telegram);
    let outcomes: Vec<&Entry> = turns::outcomes(replay).collect();
    let runs = by_turn(replay, Lane::Bus).len().max(1);
    for (turn, number) in (1..).zip(0..runs) {
        let of_turn = calls.get(&turn).map(Vec::as_slice).unwrap_or_default();
        let count = of_turn.iter().filter(|entry| entry.kind == "final").count();
        let outcome = outcomes.get(number);
        // A run after the last outcome shows what goes on in the background.
        let may_be_none = outcome.map_or(number > 0, |outcome| turns::says_nothing(outcome));
        let expect = usize::from(is_shown);
        if count != expect && !(may_be_none && count == 0) {
            let finals = plural(count, "final");
            return whole(format!("{finals} reached the chat, {expect} should have"));
        }
    }
    any_turn(replay, |calls| {
        let is_in_doubt =
            |entry: &&&Entry| entry.kind == "sendMessage" && entry.is_final() && entry.is_lost();
        let failed = calls.iter().find(|entry| entry.text("delivery") == "failed")?;
        let why = failed.text("reason");
        match calls.iter().find(is_in_doubt) {
            Some(_) => None,
            None => by(failed, format!("the final text did not arrive: {why}")),
        }
    })
}

/// V3: the draft of a turn is one message, sent once and edited forward. One whose answer was lost can't be
/// edited, so that another may follow; after two of them none does.
fn second_message(replay: &Replay) -> Option<Violation<'_>> {
    drafts(replay).values().find_map(|calls| {
        let sent: Vec<&Entry> = calls
            .iter()
            .copied()
            .filter(|entry| entry.kind == "sendMessage" && entry.is_shown())
            .collect();
        let lost = sent.iter().take_while(|entry| entry.is_lost_draft()).count();
        let second = sent.get((lost + 1).min(LOST_LIMIT))?;
        by(second, format!("a second message was sent: {}", second.headline()))
    })
}

/// V4: at most one call of a draft per throttle window, also while a slow one is answered.
fn too_fast(replay: &Replay) -> Option<Violation<'_>> {
    drafts(replay).values().find_map(|calls| {
        let hasty = calls.windows(2).find(|pair| pair[1].at - pair[0].at < THROTTLE_MS)?;
        let gap = hasty[1].at - hasty[0].at;
        by(hasty[1], format!("{} came {gap} ms after the call before it", hasty[1].headline()))
    })
}

/// G4: once a message was sent with a tool, the draft shows that call's end, and nothing more.
fn told_after_send(replay: &Replay) -> Option<Violation<'_>> {
    if replay.setup.run.delivery != DeliverySpec::MessageToolOnly {
        return None;
    }
    let sent = sent_at(&replay.entries)?;
    let mut calls: Vec<&Entry> =
        replay.entries[sent..].iter().filter(|entry| is_draft(entry)).collect();
    // A call that failed is made again.
    calls.dedup_by_key(|entry| entry.text("text"));
    let late = calls.get(1)?;
    by(late, format!("after the agent had sent its message came {}", late.headline()))
}

/// The place of the first result that says a message was sent well.
fn sent_at(entries: &[Entry]) -> Option<usize> {
    let tools = MessageTools::default();
    // The name of a tool of an MCP server says the server first.
    let own = |name: &str| match name.strip_prefix("mcp__").and_then(|rest| rest.rsplit_once("__"))
    {
        Some((_, tool)) => tool.to_owned(),
        None => name.to_owned(),
    };
    let mut sending: HashSet<&str> = HashSet::new();
    entries.iter().position(|entry| {
        let id = entry.text("id");
        match (entry.lane, entry.text("phase")) {
            (Lane::Bus, "start") => {
                let args = entry.data.get("args").unwrap_or(&Value::Null);
                if tools.sends(&own(entry.text("name")), args) {
                    sending.insert(id);
                }
                false
            }
            (Lane::Bus, "result") => {
                let is_well = entry.data.get("is_error") == Some(&Value::Bool(false))
                    && !entry.data.contains_key("incomplete");
                sending.remove(id) && is_well
            }
            _ => false,
        }
    })
}

/// G3: nothing of a silent run reaches the chat.
fn silent_run_told(replay: &Replay) -> Option<Violation<'_>> {
    let told = replay.lane(Lane::Telegram).next().filter(|_| replay.setup.run.silent)?;
    by(told, format!("the run is silent, and the chat got {}", told.headline()))
}

/// G2: no callback of a channel of our own fails, but for one that never settles, which is given up
/// alone.
fn callback_failed(replay: &Replay) -> Option<Violation<'_>> {
    if replay.setup.run.stuck_callback.is_some() {
        let channel = replay.reports.first()?.channels.first()?;
        let failures = channel.callback_failures;
        let is_given_up = failures == 1 && channel.gave_up;
        if is_given_up {
            return None;
        }
        return whole(format!("one callback never settles; {failures} were given up or failed"));
    }
    let channels = || replay.reports.iter().flat_map(|report| &report.channels);
    let why = channels().find_map(|channel| channel.first_failure.clone());
    let gave_up = || channels().any(|channel| channel.gave_up);
    let late = || gave_up().then(|| "the final message did not settle in time".to_owned());
    why.or_else(late).and_then(whole)
}

/// V6: the server that asks to wait is not called before that time is over.
fn called_too_early(replay: &Replay) -> Option<Violation<'_>> {
    let calls: Vec<&Entry> =
        replay.lane(Lane::Telegram).filter(|entry| entry.kind != "final").collect();
    calls.iter().enumerate().find_map(|(i, limited)| {
        let wait_s = limited.wait_s()?;
        // A typing signal may come before the answer does.
        let answered = limited.at + LATENCY.as_millis() as u64;
        let until = answered + wait_s * 1_000;
        let early = calls[i + 1..].iter().find(|call| (answered + 1..until).contains(&call.at))?;
        let after = early.at - answered;
        let asked = format!("{after} ms after it was asked to wait {wait_s} s");
        by(early, format!("{} came {asked}", early.headline()))
    })
}

/// G2: no listener of the bus panics. The bus goes on without it, so that what the listener would have shown of an
/// event is missing, be it in a channel that no golden shows.
fn listener_panicked(replay: &Replay) -> Option<Violation<'_>> {
    let mut turns = (1..).zip(&replay.reports);
    let (turn, report) = turns.find(|(_, report)| report.listener_panics > 0)?;
    let times = plural(report.listener_panics, "time");
    whole(format!("a listener of the bus of turn {turn} panicked {times}"))
}

/// G7: when the runs are over, nothing of the gateway listens on a bus.
fn listener_left(replay: &Replay) -> Option<Violation<'_>> {
    let left = replay.counted.listeners_left;
    let listeners = plural(left, "listener");
    let sentence = format!("the runs are over, and the bus still has {listeners} of the gateway");
    (left > 0).then_some(sentence).and_then(whole)
}

/// G7: the bus says that a run is over only once every call of its chat has been made.
fn ended_early(replay: &Replay) -> Option<Violation<'_>> {
    let mut over: HashSet<u64> = HashSet::new();
    replay.entries.iter().find_map(|entry| match entry.lane {
        Lane::Bus => {
            if entry.kind == "lifecycle" && matches!(entry.text("phase"), "end" | "error") {
                over.insert(entry.turn());
            }
            None
        }
        // The entry `final` is no call: the harness adds it when the run is over.
        Lane::Telegram if entry.kind != "final" && over.contains(&entry.turn()) => {
            let (turn, call) = (entry.turn(), entry.headline());
            by(entry, format!("the bus has said that turn {turn} is over, and then came {call}"))
        }
        _ => None,
    })
}

/// V6: two calls of a chat are never under way at a time, because the server may take them in another order. Typing
/// signals do not count.
fn calls_overlap(replay: &Replay) -> Option<Violation<'_>> {
    let number = *replay.counted.overlapping_calls.first()?;
    let mut calls = replay.lane(Lane::Telegram).filter(|entry| entry.data.contains_key("text"));
    let call = calls.nth(usize::try_from(number.checked_sub(1)?).ok()?)?;
    by(call, format!("{} was made while another call was under way", call.headline()))
}

/// The calls of the draft of each turn; those of a question are none.
fn drafts(replay: &Replay) -> BTreeMap<u64, Vec<&Entry>> {
    let questions = questions::messages(replay);
    let mut turns = by_turn(replay, Lane::Telegram);
    for calls in turns.values_mut() {
        calls.retain(|entry| {
            is_draft(entry) && !message_id(entry).is_some_and(|id| questions.contains(&id))
        });
    }
    turns
}

/// A call of the draft; a typing signal is none.
fn is_draft(entry: &Entry) -> bool {
    entry.lane == Lane::Telegram && entry.data.contains_key("text") && !entry.is_final()
}

#[cfg(test)]
mod tests;
