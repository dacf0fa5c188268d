//! The rules of a chat: its draft, its final message, and when the server is called.

use std::collections::{BTreeMap, HashSet};

use clitape_gateway::MessageTools;
use clitape_recording::scenario::DeliverySpec;
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::violation::{Broken, by, by_turn, is_run_end, whole};
use super::{questions, turns};
use crate::case::Case;
use crate::words::seconds;

/// Shortest time between two calls of a draft, in ms (V4).
const THROTTLE_MS: u64 = 1_000;
/// Edits within a time that no server takes, in ms. Telegram allows about one a second in a chat.
const MOST_EDITS: usize = 25;
const MOST_EDITS_MS: u64 = 10_000;
/// The clocks of a gateway of others and of the chat may differ by this much, in ms.
const CLOCKS_MS: u64 = 250;
/// Drafts whose answer may be lost before none is sent any more (V3).
const LOST_LIMIT: usize = 2;

/// The first turn that breaks a rule of a chat.
fn any_turn<'r>(
    case: Case<'r>,
    rule: impl Fn(&[&'r Entry]) -> Option<Broken<'r>>,
) -> Option<Broken<'r>> {
    by_turn(case, Lane::Telegram).values().find_map(|calls| rule(calls))
}

/// V7: once a part of a turn's final text is in the chat, no edit of its draft comes.
pub(crate) fn edit_after_final(case: Case<'_>) -> Option<Broken<'_>> {
    any_turn(case, |calls| {
        let mut calls = calls.iter().skip_while(|entry| !entry.is_final());
        let late = calls.find(|entry| !entry.is_final())?;
        by(late, format!("after the final text came {}", late.headline()))
    })
}

/// V7, Q10: exactly one final for each turn, unless the run was silent or the turn answers nobody and says
/// nothing; it arrives, unless the answer to a new message of it was lost.
pub(crate) fn final_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    let is_shown = case.setup.channel.is_some() && !case.setup.run.silent;
    let calls = by_turn(case, Lane::Telegram);
    let outcomes: Vec<&Entry> = turns::outcomes(case).collect();
    let runs = by_turn(case, Lane::Bus).len().max(1);
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
    any_turn(case, |calls| {
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
pub(crate) fn second_message(case: Case<'_>) -> Option<Broken<'_>> {
    drafts(case).values().find_map(|calls| {
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
pub(crate) fn too_fast(case: Case<'_>) -> Option<Broken<'_>> {
    drafts(case).values().find_map(|calls| {
        let hasty = calls.windows(2).find(|pair| pair[1].at - pair[0].at < THROTTLE_MS)?;
        let gap = hasty[1].at - hasty[0].at;
        by(hasty[1], format!("{} came {gap} ms after the call before it", hasty[1].headline()))
    })
}

/// A chat is not edited far more often than any server takes.
pub(crate) fn too_many_edits(case: Case<'_>) -> Option<Broken<'_>> {
    let edits = case.calls().filter(|(_, entry)| entry.kind == "editMessageText");
    let edits: Vec<&Entry> = edits.map(|(_, entry)| entry).collect();
    let hasty = edits
        .windows(MOST_EDITS + 1)
        .find(|edits| edits.last().is_some_and(|last| last.at < edits[0].at + MOST_EDITS_MS))?;
    let last = hasty[MOST_EDITS];
    by(
        last,
        format!(
            "from {} to {} the chat was edited {} times; about once a second is what a server takes",
            seconds(hasty[0].at),
            seconds(last.at),
            hasty.len()
        ),
    )
}

/// G4: once a message was sent with a tool, the draft shows that call's end, and nothing more.
pub(crate) fn told_after_send(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.run.delivery != DeliverySpec::MessageToolOnly {
        return None;
    }
    let sent = sent_at(case.entries)?;
    let mut calls: Vec<&Entry> =
        case.entries[sent..].iter().filter(|entry| is_draft(entry)).collect();
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
pub(crate) fn silent_run_told(case: Case<'_>) -> Option<Broken<'_>> {
    let told = case.lane(Lane::Telegram).next().filter(|_| case.setup.run.silent)?;
    by(told, format!("the run is silent, and the chat got {}", told.headline()))
}

/// V6: the server that asks to wait is not called before that time is over. Of a chat of others only the texts count, and
/// clocks may differ.
pub(crate) fn wait_kept(case: Case<'_>) -> Option<Broken<'_>> {
    let (slack, latency) = match case.own {
        Some(own) => (0, own.latency_ms),
        None => (CLOCKS_MS, 0),
    };
    let is_call = |entry: &Entry| match case.own {
        Some(_) => entry.kind != "final",
        None => entry.sets_text(),
    };
    let calls: Vec<&Entry> = case.calls().map(|(_, entry)| entry).filter(|e| is_call(e)).collect();
    calls.iter().find_map(|limited| {
        let wait_s = limited.wait_s()?;
        // A call may come before the answer does.
        let answered = limited.answered_at() + latency;
        let until = answered + wait_s * 1_000;
        let is_early = |call: &&&Entry| call.at > answered + slack && call.at + slack < until;
        let early = calls.iter().find(is_early)?;
        let sentence = match case.own {
            Some(_) => {
                let after = early.at - answered;
                let asked = format!("{after} ms after it was asked to wait {wait_s} s");
                format!("{} came {asked}", early.headline())
            }
            None => {
                let asked = format!("at {} the server asked to wait {wait_s} s", seconds(answered));
                format!("{asked}, and {} came at {}", early.kind, seconds(early.at))
            }
        };
        by(early, sentence)
    })
}

/// G7: the bus says that a run is over only once every call of its chat has been made.
pub(crate) fn ended_early(case: Case<'_>) -> Option<Broken<'_>> {
    let mut over: HashSet<u64> = HashSet::new();
    case.entries.iter().find_map(|entry| match entry.lane {
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
pub(crate) fn calls_overlap(case: Case<'_>) -> Option<Broken<'_>> {
    let number = *case.own?.counted.overlapping_calls.first()?;
    let mut calls = case.lane(Lane::Telegram).filter(|entry| entry.field("text").is_some());
    let call = calls.nth(usize::try_from(number.checked_sub(1)?).ok()?)?;
    by(call, format!("{} was made while another call was under way", call.headline()))
}

/// Two edits of one message are never under way at a time, because which text it ends up with is up to the server.
pub(crate) fn edits_overlap(case: Case<'_>) -> Option<Broken<'_>> {
    let edits = case.shown().filter(|(_, entry)| entry.kind.starts_with("edit"));
    let edits: Vec<&Entry> = edits.map(|(_, entry)| entry).collect();
    edits.iter().enumerate().find_map(|(number, edit)| {
        let is_overtaken = |later: &&&Entry| {
            later.message_id() == edit.message_id() && later.at < edit.answered_at()
        };
        let later = edits[number + 1..].iter().find(is_overtaken)?;
        let took = edit.answered_at() - edit.at;
        let under_way = format!("the edit before it, which took {took} ms, was under way");
        by(later, format!("{} was made while {under_way}", later.headline()))
    })
}

/// The calls of the draft of each turn; those of a question are none.
fn drafts(case: Case<'_>) -> BTreeMap<u64, Vec<&Entry>> {
    let questions = questions::messages(case);
    let mut turns = by_turn(case, Lane::Telegram);
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
pub(crate) fn is_draft(entry: &Entry) -> bool {
    entry.lane == Lane::Telegram && entry.field("text").is_some() && !entry.is_final()
}
