//! The rules of a chat: its draft, its final message, and when the server is called.

use std::collections::{BTreeMap, HashSet};

use clitape_gateway::MessageTools;
use clitape_recording::scenario::DeliverySpec;
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::violation::{Violation, by, by_turn, is_run_end, whole};
use super::{questions, turns};
use crate::replay::{LATENCY, Replay};

/// Shortest time between two calls of a draft, in ms (V4).
const THROTTLE_MS: u64 = 1_000;
/// Drafts whose answer may be lost before none is sent any more (V3).
const LOST_LIMIT: usize = 2;

/// The first turn that breaks a rule of a chat.
fn any_turn<'r>(
    replay: &'r Replay,
    rule: impl Fn(&[&'r Entry]) -> Option<Violation<'r>>,
) -> Option<Violation<'r>> {
    by_turn(replay, Lane::Telegram).values().find_map(|calls| rule(calls))
}

/// V7: once a part of a turn's final text is in the chat, no edit of its draft comes.
pub(super) fn edit_after_final(replay: &Replay) -> Option<Violation<'_>> {
    any_turn(replay, |calls| {
        let mut calls = calls.iter().skip_while(|entry| !entry.is_final());
        let late = calls.find(|entry| !entry.is_final())?;
        by(late, format!("after the final text came {}", late.headline()))
    })
}

/// V7, Q10: exactly one final for each turn, unless the run was silent or the turn answers nobody and says
/// nothing; it arrives, unless the answer to a new message of it was lost.
pub(super) fn final_not_once(replay: &Replay) -> Option<Violation<'_>> {
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
pub(super) fn second_message(replay: &Replay) -> Option<Violation<'_>> {
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
pub(super) fn too_fast(replay: &Replay) -> Option<Violation<'_>> {
    drafts(replay).values().find_map(|calls| {
        let hasty = calls.windows(2).find(|pair| pair[1].at - pair[0].at < THROTTLE_MS)?;
        let gap = hasty[1].at - hasty[0].at;
        by(hasty[1], format!("{} came {gap} ms after the call before it", hasty[1].headline()))
    })
}

/// G4: once a message was sent with a tool, the draft shows that call's end, and nothing more.
pub(super) fn told_after_send(replay: &Replay) -> Option<Violation<'_>> {
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
                let args = entry.field("args").unwrap_or(&Value::Null);
                if tools.sends(&own(entry.text("name")), args) {
                    sending.insert(id);
                }
                false
            }
            (Lane::Bus, "result") => {
                let is_well = entry.field("is_error") == Some(&Value::Bool(false))
                    && entry.field("incomplete").is_none();
                sending.remove(id) && is_well
            }
            _ => false,
        }
    })
}

/// G3: nothing of a silent run reaches the chat.
pub(super) fn silent_run_told(replay: &Replay) -> Option<Violation<'_>> {
    let told = replay.lane(Lane::Telegram).next().filter(|_| replay.setup.run.silent)?;
    by(told, format!("the run is silent, and the chat got {}", told.headline()))
}

/// V6: the server that asks to wait is not called before that time is over.
pub(super) fn called_too_early(replay: &Replay) -> Option<Violation<'_>> {
    let calls: Vec<&Entry> =
        replay.lane(Lane::Telegram).filter(|entry| entry.kind != "final").collect();
    calls.iter().enumerate().find_map(|(i, limited)| {
        let wait_s = limited.wait_s()?;
        // A typing signal may come before the answer does.
        let answered = limited.at + LATENCY.as_millis() as u64;
        let until = answered + wait_s * 1_000;
        let mut within = calls[i + 1..].iter().take_while(|call| call.at < until);
        let early = within.find(|call| call.at > answered)?;
        let after = early.at - answered;
        let asked = format!("{after} ms after it was asked to wait {wait_s} s");
        by(early, format!("{} came {asked}", early.headline()))
    })
}

/// G7: the bus says that a run is over only once every call of its chat has been made.
pub(super) fn ended_early(replay: &Replay) -> Option<Violation<'_>> {
    let mut over: HashSet<u64> = HashSet::new();
    replay.entries.iter().find_map(|entry| match entry.lane {
        Lane::Bus => {
            if is_run_end(entry) {
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
pub(super) fn calls_overlap(replay: &Replay) -> Option<Violation<'_>> {
    let number = *replay.counted.overlapping_calls.first()?;
    let mut calls = replay.lane(Lane::Telegram).filter(|entry| entry.field("text").is_some());
    let call = calls.nth(usize::try_from(number.checked_sub(1)?).ok()?)?;
    by(call, format!("{} was made while another call was under way", call.headline()))
}

/// The calls of the draft of each turn; those of a question are none.
fn drafts(replay: &Replay) -> BTreeMap<u64, Vec<&Entry>> {
    let questions = questions::messages(replay);
    let mut turns = by_turn(replay, Lane::Telegram);
    for calls in turns.values_mut() {
        calls.retain(|entry| {
            // A question's message that the server refuses has no id, and one that is closed has no buttons. A gateway
            // that is another program does not say which question a message is for.
            let is_question = ["question", "buttons"].iter().any(|key| entry.field(key).is_some())
                || entry.message_id().is_some_and(|id| questions.contains(&id));
            is_draft(entry) && !is_question
        });
    }
    turns
}

/// A call of the draft; a typing signal is none.
pub(super) fn is_draft(entry: &Entry) -> bool {
    entry.lane == Lane::Telegram && entry.field("text").is_some() && !entry.is_final()
}
