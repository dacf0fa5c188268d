//! The rules of a process with several turns, which keep the content of each turn apart.
//!
//! They guard against mistakes that hosts of live sessions made: the result of an interrupted turn that ends the next
//! one (t3code#8997), a message in mid-turn that is lost or answered twice (claude-code#79656), a first answer that
//! shows nothing while a tool runs (openclaw#147260).

use std::collections::{HashMap, HashSet};

use clitape_gateway::{RunReport, SILENT_WORDS};
use clitape_recording::chat::TYPING_MS;
use clitape_recording::scenario::{ChatMode, DeliverySpec};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::{Broken, Case, by, by_turn, has_server_faults};

/// The time within which a person sees a sign of life once a tool runs, in ms.
const SIGN_OF_LIFE_MS: u64 = 10_000;
/// The time within which a person sees a first sign of life after the question, in ms.
const FIRST_SIGN_MS: u64 = 1_000;

/// Checks that a turn ends with its own outcome, and with text of messages that began in it (Q7).
pub(crate) fn ended_by_other(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = by_turn(case, Lane::Bus);
    let end = |turn: u64| ends.get(&turn)?.iter().rev().find(|entry| entry.kind == "lifecycle");
    // The CLI names the messages that began to stream. A second try that comes whole is not among them.
    let messages = case.facts.messages.iter();
    let come_whole = messages.filter(|said| said.parent.is_none() && said.comes_whole());
    let come_whole: HashSet<&str> = come_whole.map(|said| said.id.as_str()).collect();
    // The messages of the turn, each with the length of the turn's text before it, which grows; and their ids.
    let mut begun: Vec<(&str, u64)> = Vec::new();
    let mut ids: HashSet<&str> = HashSet::new();
    let (mut turn, mut length) = (0, 0);
    for entry in case.lane(Lane::Lifecycle) {
        let after = entry.field("length").and_then(Value::as_u64).unwrap_or(length);
        match entry.kind.as_ref() {
            "text" if entry.field("parent").is_none() => {
                let id = entry.text("message_id");
                if ids.insert(id) {
                    begun.push((id, length));
                }
                length = after;
            }
            "retract" if entry.field("parent").is_none() => {
                while let Some((id, _)) = begun.pop_if(|(_, before)| *before >= after) {
                    ids.remove(id);
                }
                length = after;
            }
            "outcome" => {
                turn += 1;
                let own = entry.field("turn").and_then(Value::as_u64).unwrap_or(1);
                if own != turn {
                    return by(entry, format!("outcome {turn} says that it ends turn {own}"));
                }
                let named: HashSet<&str> = names(entry, "message_ids").into_iter().collect();
                let is_other =
                    |id: &&str| !(id.is_empty() || named.contains(id) || come_whole.contains(id));
                let other = begun.iter().map(|(id, _)| *id).find(is_other);
                if let Some(id) = other.filter(|_| !named.is_empty()) {
                    let what = "which began in another turn";
                    return by(entry, format!("turn {turn} has text of message {id}, {what}"));
                }
                begun.clear();
                ids.clear();
                length = 0;
                let text = entry.text("text");
                let told = end(turn).filter(|end| end.text("phase") == "end");
                if let Some(told) = told.filter(|told| told.text("text") != text) {
                    return by(told, format!("turn {turn} ends with the text of another one"));
                }
            }
            _ => {}
        }
    }
    None
}

/// Checks that every message of the host is answered by one turn, or folded into one (Q7, Q9).
///
/// It applies where the CLI names the messages that a turn answers. A process that is cut off may owe an answer.
pub(crate) fn not_answered_once(case: Case<'_>) -> Option<Broken<'_>> {
    let mut turns: HashMap<&str, Vec<u64>> = HashMap::new();
    for (turn, outcome) in (1..).zip(outcomes(case)) {
        for id in names(outcome, "answers") {
            turns.entry(id).or_default().push(turn);
        }
    }
    if turns.is_empty() || !case.own?.is_faithful {
        return None;
    }
    let is_cut_off = outcomes(case).last().is_none_or(|last| last.text("status") == "incomplete");
    let messages = case.lane(Lane::Lifecycle).filter(|entry| {
        entry.kind == "host_message" && entry.text("type") == "user" && !entry.text("id").is_empty()
    });
    for message in messages {
        let id = message.text("id");
        match turns.get(id).map(Vec::as_slice) {
            None if is_cut_off => {}
            None => return by(message, format!("message {id} is answered by no turn")),
            Some([_]) => {}
            Some(several) => {
                let turns = several.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
                return by(message, format!("message {id} is answered by turns {turns}"));
            }
        }
    }
    None
}

/// Checks that no message that was in the chat at the end of its turn is edited afterwards (Q7, Q8).
pub(crate) fn edit_after_turn(case: Case<'_>) -> Option<Broken<'_>> {
    // The turn of each message, and the messages of completed turns.
    let (mut turns, mut over) = (HashMap::new(), HashSet::new());
    for entry in case.lane(Lane::Telegram) {
        let turn = entry.turn();
        if entry.kind == "final" {
            over.insert(turn);
            continue;
        }
        let Some(id) = entry.message_id() else { continue };
        let own = *turns.entry(id).or_insert(turn);
        if over.contains(&own) && own != turn {
            return by(entry, format!("turn {own} is over, and {} edits it", entry.headline()));
        }
    }
    None
}

/// Checks that a person sees a sign of life within a second of the question, and within some seconds once a tool runs: a
/// message, an edit, or a typing signal (G6, V4).
///
/// Replays with faults of the chat's server are left out, because the server decides what is seen.
pub(crate) fn silent_start(case: Case<'_>) -> Option<Broken<'_>> {
    let setup = &case.setup;
    let is_shown =
        setup.channel.is_some_and(|chat| chat.mode != ChatMode::Off) && !setup.run.silent;
    if !is_shown || has_server_faults(case) {
        return None;
    }
    slow_start(case).or_else(|| tool_unseen(case))
}

/// Checks the first second of each turn that a person began.
///
/// A turn that waits for the final message of the one before it, a callback that hangs and a message that the agent sends
/// by itself are left out.
fn slow_start(case: Case<'_>) -> Option<Broken<'_>> {
    let is_given_up = |report: &RunReport| report.channels.iter().any(|channel| channel.gave_up);
    let run = &case.setup.run;
    if run.stuck_callback.is_some()
        || run.delivery == DeliverySpec::MessageToolOnly
        || case.own.is_some_and(|own| own.reports.iter().any(is_given_up))
    {
        return None;
    }
    let calls = by_turn(case, Lane::Telegram);
    let is_asked = |turn: u64, start: &Entry| {
        let mut written = case.lane(Lane::Lifecycle);
        turn == 1
            || written.any(|it| {
                it.kind == "host_message" && it.text("type") == "user" && it.at == start.at
            })
    };
    by_turn(case, Lane::Bus).into_iter().find_map(|(turn, events)| {
        let (start, end) = (*events.first()?, events.last()?.at);
        let until = start.at + FIRST_SIGN_MS;
        let waits =
            || calls.range(..turn).any(|(_, calls)| calls.iter().any(|it| it.at > start.at));
        let is_seen = || calls.get(&turn)?.iter().find(|entry| entry.at <= until);
        if end <= until || !is_asked(turn, start) || waits() || is_seen().is_some() {
            return None;
        }
        by(start, format!("turn {turn} began, and a second later the chat showed nothing"))
    })
}

/// Checks that a tool that runs is seen.
fn tool_unseen(case: Case<'_>) -> Option<Broken<'_>> {
    let calls = by_turn(case, Lane::Telegram);
    by_turn(case, Lane::Bus).into_iter().find_map(|(turn, events)| {
        let end = events.last()?.at;
        let is_tool = |entry: &&&Entry| {
            entry.kind == "tool"
                && entry.text("phase") == "start"
                && entry.field("parent").is_none()
        };
        let start = events.iter().find(is_tool)?;
        let until = start.at + SIGN_OF_LIFE_MS;
        let signs = start.at.saturating_sub(TYPING_MS)..=until;
        let is_seen = || calls.get(&turn)?.iter().find(|entry| signs.contains(&entry.at));
        if end <= until || is_seen().is_some() {
            return None;
        }
        let s = SIGN_OF_LIFE_MS / 1_000;
        by(start, format!("{} ran for {s} s and the chat showed nothing", start.text("name")))
    })
}

/// The outcomes of the turns, in order.
pub(crate) fn outcomes(case: Case<'_>) -> impl Iterator<Item = &Entry> {
    case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "outcome")
}

/// Returns whether the agent says in a turn that it has nothing to say (G3).
pub(crate) fn is_silent(outcome: &Entry) -> bool {
    let text = outcome.text("text");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    outcome.text("status") == "ok"
        && lines.peek().is_some()
        && lines.all(|line| SILENT_WORDS.contains(&line))
}

/// Returns whether a turn answers no message and has no text, so that it is not shown.
pub(crate) fn says_nothing(outcome: &Entry) -> bool {
    outcome.field("origin").is_some()
        && outcome.text("status") == "ok"
        && outcome.text("text").trim().is_empty()
}

/// The texts in a field that is a list.
fn names<'e>(entry: &'e Entry, key: &str) -> Vec<&'e str> {
    let list = entry.field(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
