//! The rules of a chat: its draft, its final message, when the server is called, and what it shows of a turn beside the
//! answer: no reasoning and no words of a subagent, a line for each call, a word about a pause, and no page that the server
//! would refuse.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use clitape_gateway::MessageTools;
use clitape_recording::facts::{RecordedBlock, RecordedMessage};
use clitape_recording::scenario::{Chat, ChatMode, ChatProfile, DeliverySpec};
use clitape_recording::text::markup::plain;
use clitape_recording::text::{TextSearch, plural, solid, solid_chars};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::{questions, turns};
use crate::case::{Broken, Case, by, by_turn, has_server_faults, is_run_end, whole};
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
fn is_draft(entry: &Entry) -> bool {
    entry.lane == Lane::Telegram && entry.field("text").is_some() && !entry.is_final()
}

/// Characters of a text that are not in another one by chance.
const SAMPLE: usize = 16;
/// Milliseconds within which the chat says that the conversation is compacted.
const PAUSE_MS: u64 = 1_000;
/// Milliseconds that a draft may wait for its window (V4).
const WINDOW_MS: u64 = 1_000;
/// The word for lines that have scrolled off.
const EARLIER: &str = " earlier";

/// V9: no reasoning is in a chat that does not show it.
pub(crate) fn reasoning_shown(case: Case<'_>) -> Option<Broken<'_>> {
    let is_hidden = case.setup.channel.is_some_and(|chat| !chat.reasoning);
    let blocks = case.facts.messages.iter().flat_map(|message| &message.reasoning);
    words_shown(case, &samples(case, blocks.filter(|_| is_hidden)), "reasoning of the model")
}

/// T3: what a subagent says is not in the main chat.
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

/// The beginnings of blocks, without blanks, that neither the answer nor the input of a call has.
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

/// V2, V3: the lines of a draft, those that are folded included, are the calls of its turn so far. A draft may wait
/// for its window, so that calls of the last second may be missing.
///
/// A chat that shows reasoning has lines of its own, and one for which the agent sends its messages with a tool has
/// none after that.
pub(crate) fn lines_miscounted(case: Case<'_>) -> Option<Broken<'_>> {
    let has_lines = |chat: &Chat| {
        chat.profile == ChatProfile::Telegram && chat.mode != ChatMode::Off && !chat.reasoning
    };
    case.setup.channel.filter(has_lines)?;
    if case.setup.run.delivery == DeliverySpec::MessageToolOnly || case.facts.objects == 0 {
        return None;
    }
    // The calls of each turn, and the words with which lines begin.
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

/// The calls that the bus has of a turn.
#[derive(Default)]
struct KnownCalls<'r> {
    /// Their ids and when they came, in milliseconds since the replay began, in their order.
    begun: Vec<(&'r str, u64)>,
    /// The ids of those that have not ended.
    open: HashSet<&'r str>,
}

impl KnownCalls<'_> {
    /// Takes a call away that the run has taken back, which is one of the newest.
    fn take_back(&mut self, id: &str) {
        if self.open.remove(id)
            && let Some(place) = self.begun.iter().rposition(|(begun, _)| *begun == id)
        {
            self.begun.remove(place);
        }
    }
}

/// The emoji and the name with which the line of a call begins.
fn label(title: &str) -> Option<&str> {
    let (emoji, rest) = title.split_once(' ')?;
    let name = rest.split([':', ' ']).next()?;
    Some(&title[..emoji.len() + 1 + name.len()])
}

/// The calls that the lines of a draft stand for.
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

/// V6: while the conversation is compacted, the chat says so. A replay with faults of the chat's server is left out.
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
    let ends: BTreeSet<u64> = turns::outcomes(case).map(|outcome| outcome.at).collect();
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

/// V5, V10: no page is longer than the service takes.
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
