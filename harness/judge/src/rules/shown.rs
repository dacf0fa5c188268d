//! What a chat shows of a turn beside the answer: no reasoning and no words of a subagent, a line for each call, a word
//! about a pause, and no page that the server would refuse.

use std::collections::{BTreeSet, HashMap, HashSet};

use clitape_recording::facts::{RecordedBlock, RecordedMessage};
use clitape_recording::scenario::{Chat, ChatMode, ChatProfile, DeliverySpec};
use clitape_recording::text::markup::plain;
use clitape_recording::text::{TextSearch, plural, solid, solid_chars};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::chat::is_draft;
use super::turns;
use super::violation::{Broken, by, has_server_faults};
use crate::case::Case;

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
