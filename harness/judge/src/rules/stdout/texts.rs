//! Text and reasoning: what the parser says of each message is what stdout has of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::zoom;
use clitape_recording::facts::{RecordedBlock, RecordedMessage};
use clitape_recording::text::solid;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::Case;
use crate::rules::violation::{Broken, by, whole};

/// T1, T4, T6, R1: the text and the reasoning of each message are those of stdout, blanks aside; what the CLI says of
/// an error of the API is no text. Where nothing says whether it is of an error, it may be either.
pub(in crate::rules) fn text_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let texts = told(case, "text");
    let reasoning = told(case, "thinking");
    messages(case).into_iter().find_map(|((parent, id), messages)| {
        let is_plain = blocks(&messages, |m| &m.texts).all(RecordedBlock::is_plain);
        let text = |message: &&RecordedMessage| !message.is_error;
        let said: Vec<&RecordedMessage> = messages.iter().copied().filter(text).collect();
        let is_doubtful = messages.iter().any(|message| message.is_doubtful);
        let may_be_text = |message: &&RecordedMessage| !message.is_error || message.is_doubtful;
        let with_doubtful: Vec<&RecordedMessage> =
            messages.iter().copied().filter(may_be_text).collect();
        let kinds = [
            ("text", &texts, joined(&said, |m| &m.texts)),
            ("reasoning", &reasoning, joined(&messages, |m| &m.reasoning)),
        ];
        kinds.into_iter().filter(|_| is_plain).find_map(|(kind, told, recorded)| {
            let of = if parent.is_some() { "of a subagent’s message" } else { "of message" };
            let (last, told) = told.get(&(parent, id)).cloned().unwrap_or_default();
            let or_doubtful = || joined(&with_doubtful, |m| &m.texts);
            if told == recorded || kind == "text" && is_doubtful && told == or_doubtful() {
                return None;
            }
            let (told, recorded) = zoom(&told, &recorded);
            let sentence = format!("the {kind} {of} {id} is “{told}”, and stdout has “{recorded}”");
            match last {
                Some(last) => by(last, sentence),
                None => whole(sentence),
            }
        })
    })
}

/// T5: what a message said that broke off, or that the CLI takes back, is retracted once another message follows it in
/// a turn that goes well.
pub(in crate::rules) fn text_kept(case: Case<'_>) -> Option<Broken<'_>> {
    let facts = case.facts;
    let retracted: HashSet<&str> = case
        .lane(Lane::Lifecycle)
        .filter(|entry| entry.kind == "retract")
        .map(|entry| entry.text("message_id"))
        .collect();
    let texts = told(case, "text");
    let is_gone = |(_, message): &(usize, &RecordedMessage)| {
        let is_well =
            facts.turns.get(message.turn).is_some_and(|turn| turn.is_failure == Some(false));
        is_well && message.parent.is_none() && (message.is_refused || message.has_open_text())
    };
    // The last message of each turn.
    let main = facts.messages.iter().enumerate().filter(|(_, message)| message.parent.is_none());
    let last: HashMap<usize, usize> = main.map(|(at, message)| (message.turn, at)).collect();
    let mut gone = facts.messages.iter().enumerate().filter(is_gone);
    gone.find_map(|(at, message)| {
        let is_followed = last.get(&message.turn).is_some_and(|last| *last > at);
        let (last, text) = texts.get(&(None, message.id.as_str()))?;
        let is_kept = is_followed && !text.is_empty() && !retracted.contains(message.id.as_str());
        let sentence =
            || format!("message {} broke off, and its text is not retracted", message.id);
        is_kept.then(sentence).and_then(|sentence| by((*last)?, sentence))
    })
}

/// R1: no event of text or of reasoning is empty.
pub(in crate::rules) fn empty_delta(case: Case<'_>) -> Option<Broken<'_>> {
    let is_text = |entry: &&Entry| matches!(entry.kind.as_ref(), "text" | "thinking" | "assistant");
    let lanes = [Lane::Lifecycle, Lane::Bus].into_iter().flat_map(|lane| case.lane(lane));
    let is_empty =
        |entry: &&Entry| entry.field("delta").and_then(Value::as_str).is_some_and(str::is_empty);
    let empty = lanes.filter(is_text).find(is_empty)?;
    by(empty, format!("an event of {} has no word", empty.kind))
}

/// A message's conversation and id.
type MessageKey<'r> = (Option<&'r str>, &'r str);

/// The messages of stdout by conversation and id.
fn messages(case: Case<'_>) -> BTreeMap<MessageKey<'_>, Vec<&RecordedMessage>> {
    let mut messages: BTreeMap<MessageKey<'_>, Vec<&RecordedMessage>> = BTreeMap::new();
    for message in &case.facts.messages {
        messages.entry((message.parent.as_deref(), &message.id)).or_default().push(message);
    }
    messages
}

/// What the events of a kind say of each message without blanks, and the last of them.
///
/// A result may come when the next turn has begun: what has come of that turn is retracted, and said again after the
/// outcome. It counts once.
fn told<'r>(case: Case<'r>, kind: &str) -> BTreeMap<MessageKey<'r>, (Option<&'r Entry>, String)> {
    let mut told: BTreeMap<MessageKey<'_>, (Option<&Entry>, String)> = BTreeMap::new();
    // The messages whose text was retracted, and those of them whose turn is over.
    let (mut retracted, mut over): (HashSet<MessageKey<'_>>, HashSet<MessageKey<'_>>) =
        Default::default();
    for entry in case.lane(Lane::Lifecycle) {
        let parent = entry.field("parent").and_then(Value::as_str);
        let key = (parent, entry.text("message_id"));
        match entry.kind.as_ref() {
            "retract" => {
                retracted.insert(key);
            }
            "outcome" => over = std::mem::take(&mut retracted),
            of if of == kind => {
                let (last, text) = told.entry(key).or_default();
                if over.remove(&key) {
                    text.clear();
                }
                *last = Some(entry);
                text.push_str(&solid(entry.text("delta")));
            }
            _ => {}
        }
    }
    told
}

fn blocks<'m>(
    messages: &[&'m RecordedMessage],
    of: fn(&RecordedMessage) -> &Vec<RecordedBlock>,
) -> impl Iterator<Item = &'m RecordedBlock> {
    messages.iter().flat_map(move |message| of(message))
}

fn joined(
    messages: &[&RecordedMessage],
    of: fn(&RecordedMessage) -> &Vec<RecordedBlock>,
) -> String {
    blocks(messages, of).map(|block| solid(block.text())).collect()
}
