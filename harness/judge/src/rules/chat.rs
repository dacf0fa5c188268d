//! The rules of a chat: its draft, its final message, the times of its calls, and the rest that it shows of a turn: no
//! reasoning and no words of a subagent, a line for each call, a notice of a pause, and no page that the server would
//! refuse.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use clitape_gateway::{MessageTools, ends_silent};
use clitape_recording::facts::{RecordedBlock, RecordedMessage};
use clitape_recording::scenario::{Chat, ChatMode, ChatProfile, DeliverySpec};
use clitape_recording::text::markup::plain;
use clitape_recording::text::{TextSearch, plural, solid, solid_chars};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::{questions, turns};
use crate::case::{Broken, Case, by, by_turn, has_server_faults, is_run_end, whole};
use crate::words::seconds;

/// The shortest time between two calls of a draft, in ms (V4).
const THROTTLE_MS: u64 = 1_000;
/// The largest number of edits within [`MOST_EDITS_MS`] that a server takes. Telegram allows about one a second in a
/// chat.
const MOST_EDITS: usize = 25;
const MOST_EDITS_MS: u64 = 10_000;
/// The possible difference between the clocks of another gateway and of the chat, in ms.
const CLOCKS_MS: u64 = 250;
/// The number of drafts with a lost reply after which no other is sent (V3).
const LOST_LIMIT: usize = 2;

/// Returns the first turn that breaks a rule of a chat.
fn any_turn<'r>(
    case: Case<'r>,
    rule: impl Fn(&[&'r Entry]) -> Option<Broken<'r>>,
) -> Option<Broken<'r>> {
    by_turn(case, Lane::Telegram).values().find_map(|calls| rule(calls))
}

/// Checks that no edit of a turn's draft follows the first part of its final text (V7).
pub(crate) fn edit_after_final(case: Case<'_>) -> Option<Broken<'_>> {
    any_turn(case, |calls| {
        let mut calls = calls.iter().skip_while(|entry| !entry.is_final());
        let late = calls.find(|entry| !entry.is_final())?;
        by(late, format!("after the final text came {}", late.headline()))
    })
}

/// Checks that each turn has exactly one final, unless the run was silent, the agent said that it has nothing to say, or
/// the turn answers no message and has no text; the final arrives, unless the reply to its new message was lost; no
/// message ends with a word for silence (V7, Q10, G3).
pub(crate) fn final_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    let is_shown = case.setup.channel.is_some() && !case.setup.run.silent;
    let calls = by_turn(case, Lane::Telegram);
    let outcomes: Vec<&Entry> = turns::outcomes(case).collect();
    let runs = by_turn(case, Lane::Bus).len().max(1);
    for (turn, number) in (1..).zip(0..runs) {
        let of_turn = calls.get(&turn).map(Vec::as_slice).unwrap_or_default();
        let count = of_turn.iter().filter(|entry| entry.kind == "final").count();
        let outcome = outcomes.get(number);
        // A run after the last outcome shows the work in the background.
        let may_be_none = outcome.map_or(number > 0, |outcome| turns::says_nothing(outcome));
        let is_silent = outcome.is_some_and(|outcome| turns::is_silent(outcome));
        let expect = usize::from(is_shown && !is_silent);
        if count != expect && !(may_be_none && count == 0) {
            let finals = plural(count, "final");
            return whole(format!("{finals} reached the chat, {expect} should have"));
        }
    }
    let broken = any_turn(case, |calls| {
        let told = calls.iter().find(|entry| ends_silent(&entry.plain_text()))?;
        by(told, format!("the agent has nothing to say, and the chat got {}", told.headline()))
    });
    if broken.is_some() {
        return broken;
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

/// Checks that the draft of a turn is one message, sent once and edited forward. A draft with a lost reply can't be
/// edited, so that another may follow; after two of them none does (V3).
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

/// Checks that a draft has at most one call per throttle window, also while a slow one is answered (V4).
pub(crate) fn too_fast(case: Case<'_>) -> Option<Broken<'_>> {
    drafts(case).values().find_map(|calls| {
        let hasty = calls.windows(2).find(|pair| pair[1].at - pair[0].at < THROTTLE_MS)?;
        let gap = hasty[1].at - hasty[0].at;
        by(hasty[1], format!("{} came {gap} ms after the call before it", hasty[1].headline()))
    })
}

/// Checks that a chat is not edited far more often than any server takes. A draft counts as an edit.
pub(crate) fn too_many_edits(case: Case<'_>) -> Option<Broken<'_>> {
    let is_edit = |entry: &Entry| entry.kind == "editMessageText" || entry.shows_draft();
    let edits: Vec<&Entry> = case.calls().map(|(_, entry)| entry).filter(|e| is_edit(e)).collect();
    let hasty = edits
        .windows(MOST_EDITS + 1)
        .find(|edits| edits.last().is_some_and(|last| last.at < edits[0].at + MOST_EDITS_MS))?;
    let (last, times) = (hasty[MOST_EDITS], hasty.len());
    let what = match hasty.iter().any(|edit| edit.shows_draft()) {
        true => format!("got {times} drafts and edits"),
        false => format!("was edited {times} times"),
    };
    let (from, to) = (seconds(hasty[0].at), seconds(last.at));
    let sentence =
        format!("from {from} to {to} the chat {what}; about once a second is what a server takes");
    by(last, sentence)
}

/// Checks that once the agent has sent a message with a tool, the draft shows the end of that call and no more (G4).
pub(crate) fn told_after_send(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.run.delivery != DeliverySpec::MessageToolOnly {
        return None;
    }
    let sent = sent_at(case.entries)?;
    let mut calls: Vec<&Entry> =
        case.entries[sent..].iter().filter(|entry| is_draft(entry)).collect();
    // A call that failed is repeated.
    calls.dedup_by_key(|entry| entry.text("text"));
    let late = calls.get(1)?;
    by(late, format!("after the agent had sent its message came {}", late.headline()))
}

/// Finds the first result of a tool that reports a sent message.
fn sent_at(entries: &[Entry]) -> Option<usize> {
    let tools = MessageTools::default();
    // The name of an MCP server's tool begins with the server.
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

/// Checks that a silent run makes no call of the chat (G3).
pub(crate) fn silent_run_told(case: Case<'_>) -> Option<Broken<'_>> {
    let told = case.lane(Lane::Telegram).next().filter(|_| case.setup.run.silent)?;
    by(told, format!("the run is silent, and the chat got {}", told.headline()))
}

/// Checks that a server that asks to wait is not called before that time is over (V6). For another gateway only texts
/// count, and its clock may differ.
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

/// Checks that the bus ends a run only after the last call of its chat (G7).
pub(crate) fn ended_early(case: Case<'_>) -> Option<Broken<'_>> {
    let mut over: HashSet<u64> = HashSet::new();
    case.entries.iter().find_map(|entry| match entry.lane {
        Lane::Bus => {
            if is_run_end(entry) {
                over.insert(entry.turn());
            }
            None
        }
        // The harness adds the entry `final` when the run is over; it does not stand for a call.
        Lane::Telegram if entry.kind != "final" && over.contains(&entry.turn()) => {
            let (turn, call) = (entry.turn(), entry.headline());
            by(entry, format!("the bus has said that turn {turn} is over, and then came {call}"))
        }
        _ => None,
    })
}

/// Checks that two calls of a chat never overlap, because the server may take them in another order (V6). Typing
/// signals do not count.
pub(crate) fn calls_overlap(case: Case<'_>) -> Option<Broken<'_>> {
    let number = *case.own?.counted.overlapping_calls.first()?;
    let mut calls = case.lane(Lane::Telegram).filter(|entry| entry.field("text").is_some());
    let call = calls.nth(usize::try_from(number.checked_sub(1)?).ok()?)?;
    by(call, format!("{} was made while another call was under way", call.headline()))
}

/// Checks that two edits of one message never overlap, because the server then decides which text remains.
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

/// The calls of the draft of each turn, without those of questions.
fn drafts(case: Case<'_>) -> BTreeMap<u64, Vec<&Entry>> {
    let questions = questions::messages(case);
    let mut turns = by_turn(case, Lane::Telegram);
    for calls in turns.values_mut() {
        calls.retain(|entry| {
            // The message of a question has no id if the server refuses it, and no buttons once it is closed. Another
            // gateway does not mark the messages of questions.
            let is_question = ["question", "buttons"].iter().any(|key| entry.field(key).is_some())
                || entry.message_id().is_some_and(|id| questions.contains(&id));
            is_draft(entry) && !is_question
        });
    }
    turns
}

/// Returns whether an entry is a call of the draft; a typing signal is none.
fn is_draft(entry: &Entry) -> bool {
    entry.lane == Lane::Telegram && entry.field("text").is_some() && !entry.is_final()
}

/// The number of characters that are enough to recognise a text.
const SAMPLE: usize = 16;
/// The time within which the chat shows that the conversation is compacted, in ms.
const PAUSE_MS: u64 = 1_000;
/// The time that a draft may wait for its window, in ms (V4).
const WINDOW_MS: u64 = 1_000;
/// The word behind the number of lines that have scrolled off.
const EARLIER: &str = " earlier";

/// Checks that reasoning is not in a chat that hides it (V9).
pub(crate) fn reasoning_shown(case: Case<'_>) -> Option<Broken<'_>> {
    let is_hidden = case.setup.channel.is_some_and(|chat| !chat.reasoning);
    let blocks = case.facts.messages.iter().flat_map(|message| &message.reasoning);
    words_shown(case, &samples(case, blocks.filter(|_| is_hidden)), "reasoning of the model")
}

/// Checks that the words of a subagent are not in the main chat (T3).
pub(crate) fn subagent_shown(case: Case<'_>) -> Option<Broken<'_>> {
    let others = case.facts.messages.iter().filter(|message| message.parent.is_some());
    let blocks = others.flat_map(|message| &message.texts);
    words_shown(case, &samples(case, blocks), "what a subagent says")
}

fn words_shown<'r>(case: Case<'r>, samples: &[String], what: &str) -> Option<Broken<'r>> {
    let search = TextSearch::new(samples.iter().map(String::as_str));
    let mut calls = case.lane(Lane::Telegram).filter(|_| !samples.is_empty());
    calls.find_map(|entry| {
        let found = search.times_in(&solid(&plain(entry.text("text"))));
        let (first, _) = found.first_key_value()?;
        by(entry, format!("{what} is in the chat: “{}…”", samples[*first]))
    })
}

/// The beginnings of blocks, without blanks, that are neither in the answer nor in the input of a call.
fn samples<'r>(case: Case<'_>, blocks: impl Iterator<Item = &'r RecordedBlock>) -> Vec<String> {
    let samples: Vec<String> = blocks
        .map(|block| solid_chars(block.text()).take(SAMPLE).collect::<String>())
        .filter(|sample| sample.chars().count() == SAMPLE)
        .collect();
    if samples.is_empty() {
        return samples;
    }
    let facts = case.facts;
    let is_main = |message: &&RecordedMessage| message.parent.is_none();
    let texts = facts.messages.iter().filter(is_main).flat_map(|message| &message.texts);
    let mut others: Vec<String> = texts.map(|block| solid(block.text())).collect();
    others.extend(facts.calls.iter().map(|call| solid(&call.streamed)));
    others.extend(facts.turns.iter().map(|turn| solid(&turn.text)));
    let inputs = facts.calls.iter().filter_map(|call| call.whole.as_ref());
    others.extend(inputs.map(|input| solid(&input.to_string())));
    let search = TextSearch::new(samples.iter().map(String::as_str));
    let known = others.iter().flat_map(|other| search.times_in(other).into_keys());
    let known: HashSet<&str> = known.map(|number| samples[number].as_str()).collect();
    samples.iter().filter(|sample| !known.contains(sample.as_str())).cloned().collect()
}

/// Checks that the lines of a draft, including folded ones, are the calls of its turn so far (V2, V3). A draft may wait
/// for its window, so calls of the last second may be missing.
///
/// A chat that shows reasoning has other lines, and one whose agent sends its messages with a tool has none after that.
pub(crate) fn lines_miscounted(case: Case<'_>) -> Option<Broken<'_>> {
    let has_lines = |chat: &Chat| {
        chat.profile == ChatProfile::Telegram && chat.mode != ChatMode::Off && !chat.reasoning
    };
    case.setup.channel.filter(has_lines)?;
    if case.setup.run.delivery == DeliverySpec::MessageToolOnly || case.facts.objects == 0 {
        return None;
    }
    // The calls of each turn, and the words at the beginning of their lines.
    let mut calls: HashMap<u64, KnownCalls<'_>> = HashMap::new();
    let mut labels: BTreeSet<&str> = BTreeSet::new();
    let of_both = |entry: &&Entry| matches!(entry.lane, Lane::Bus | Lane::Telegram);
    case.entries.iter().filter(of_both).find_map(|entry| {
        let known = calls.entry(entry.turn()).or_default();
        match entry.lane {
            Lane::Bus if entry.kind == "tool" => {
                let id = entry.text("id");
                let title = entry.text("title");
                labels.extend(label(title));
                if !known.open.contains(id) {
                    known.begun.push((id, entry.at));
                }
                match entry.text("phase") {
                    "result" => known.open.remove(id),
                    _ => known.open.insert(id),
                };
                None
            }
            Lane::Bus if entry.field("calls").is_some() => {
                let gone = entry.field("calls").and_then(Value::as_array);
                gone.into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .for_each(|id| known.take_back(id));
                None
            }
            Lane::Telegram if is_draft(entry) && entry.field("question").is_none() => {
                let lines = lines(&plain(entry.text("text")), &labels);
                let most = known.begun.len();
                let least = known.begun.partition_point(|(_, at)| at + WINDOW_MS < entry.at);
                if (least..=most).contains(&lines) {
                    return None;
                }
                let (lines, calls) = (plural(lines as u64, "call"), plural(most as u64, "call"));
                by(entry, format!("the draft has the lines of {lines}, and the turn {calls}"))
            }
            _ => None,
        }
    })
}

/// The calls of a turn on the bus.
#[derive(Default)]
struct KnownCalls<'r> {
    /// The ids and the times of the calls, in milliseconds since the replay began, in order.
    begun: Vec<(&'r str, u64)>,
    /// The ids of the calls that have not ended.
    open: HashSet<&'r str>,
}

impl KnownCalls<'_> {
    /// Removes a call that the run has taken back, which is one of the newest.
    fn take_back(&mut self, id: &str) {
        if self.open.remove(id)
            && let Some(place) = self.begun.iter().rposition(|(begun, _)| *begun == id)
        {
            self.begun.remove(place);
        }
    }
}

/// Returns the emoji and the name at the beginning of a call's line.
fn label(title: &str) -> Option<&str> {
    let (emoji, rest) = title.split_once(' ')?;
    let name = rest.split([':', ' ']).next()?;
    Some(&title[..emoji.len() + 1 + name.len()])
}

/// Counts the calls that the lines of a draft represent.
fn lines(text: &str, labels: &BTreeSet<&str>) -> usize {
    let of_line = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "↳└·".contains(c));
        if let Some(earlier) = line.strip_prefix('+').and_then(|line| line.strip_suffix(EARLIER)) {
            return earlier.parse().unwrap_or(0);
        }
        if !labels.iter().any(|label| line.starts_with(label)) {
            return 0;
        }
        let times = line.rsplit_once(" ×").and_then(|(_, times)| times.parse().ok());
        times.unwrap_or(1)
    };
    text.lines().map(of_line).sum()
}

/// Checks that the chat shows a compaction of the conversation (V6), unless the compaction or its turn is over before the
/// chat must show it. Replays with faults of the chat's server are left out.
pub(crate) fn pause_unshown(case: Case<'_>) -> Option<Broken<'_>> {
    let setup = &case.setup;
    let is_shown =
        setup.channel.is_some_and(|chat| chat.mode != ChatMode::Off) && !setup.run.silent;
    if !is_shown || has_server_faults(case) {
        return None;
    }
    let is_pause = |entry: &&Entry| {
        entry.kind == "notice"
            && entry.text("subtype") == "status"
            && entry.text("status") == "compacting"
    };
    let pauses: Vec<&Entry> = case.lane(Lane::Lifecycle).filter(is_pause).collect();
    if pauses.is_empty() {
        return None;
    }
    let has_ended =
        |entry: &&Entry| entry.kind == "notice" && !entry.text("compact_result").is_empty();
    let ended = case.lane(Lane::Lifecycle).filter(has_ended);
    let ends: BTreeSet<u64> = turns::outcomes(case).chain(ended).map(|entry| entry.at).collect();
    let says_so = |entry: &&Entry| entry.text("text").contains("ompact");
    let said: BTreeSet<u64> =
        case.lane(Lane::Telegram).filter(says_so).map(|entry| entry.at).collect();
    pauses.into_iter().find_map(|notice| {
        let until = notice.at + PAUSE_MS;
        let is_over = ends.range(notice.at..until).next().is_some();
        let is_said = said.range(notice.at..=until).next().is_some();
        let sentence = "the conversation is compacted, and the chat does not say so".to_owned();
        (!is_over && !is_said).then_some(sentence).and_then(|said| by(notice, said))
    })
}

/// Checks that no page is longer than the service takes (V5, V10).
pub(crate) fn page_too_long(case: Case<'_>) -> Option<Broken<'_>> {
    let chat = case.setup.channel?;
    case.lane(Lane::Telegram).find_map(|entry| {
        let text = entry.text("text");
        let (size, limit) = match chat.profile {
            // A text has no more characters without its markup.
            ChatProfile::Telegram if text.chars().count() <= 4_096 => return None,
            ChatProfile::Telegram => (plain(text).chars().count(), 4_096),
            ChatProfile::Discord => (text.chars().count(), 2_000),
            ChatProfile::Slack => (text.chars().count(), 4_000),
        };
        let sentence =
            || format!("{} has {size} characters, and {limit} are the most", entry.headline());
        (size > limit).then(sentence).and_then(|sentence| by(entry, sentence))
    })
}
