//! The rules that compare the parser's events with stdout.
//!
//! [`Facts`](clitape_recording::facts::Facts) is read without the parser, so that these rules need no golden. Where
//! stdout is ambiguous, each reading is accepted.
//!
//! Each message has the text and the reasoning that stdout has of it. Each call on stdout starts once, with its
//! arguments, and ends with its result; the reports of its input while that streams are beginnings of it, and complete.
//! Each turn ends as its result states, with the text on stdout.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ptr;

use clitape_recording::facts::{RecordedBlock, RecordedCall, RecordedMessage, RecordedTurn};
use clitape_recording::text::{plural, quoted, solid};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::{Broken, Case, by, by_turn, is_run_end, whole};
use crate::rules::turns::outcomes;
use crate::zoom;

/// Checks that the parser takes each line that is a JSON object for a record (L1).
pub(crate) fn record_refused(case: Case<'_>) -> Option<Broken<'_>> {
    let stats = &case.own?.stats;
    let others = case.own?.counted.lines().saturating_sub(case.facts.objects);
    let refused =
        (stats.blank + stats.unusable).checked_sub(others).filter(|refused| *refused > 0)?;
    let refused = plural(refused, "line");
    whole(format!(
        "{refused} of stdout is a JSON object, and the parser takes none of it for a record"
    ))
}

/// Checks that the text and the reasoning of each message are those of stdout, ignoring blanks (T1, T4, T6, R1). Words
/// of the CLI about an API error are no text; if stdout leaves open whether they are, both readings are accepted.
pub(super) fn text_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let texts = told_texts(case, "text");
    let reasoning = told_texts(case, "thinking");
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

/// Checks that the text of a message that broke off, or that the CLI takes back, is retracted once another message
/// follows it in a successful turn (T5).
pub(super) fn text_kept(case: Case<'_>) -> Option<Broken<'_>> {
    let facts = case.facts;
    let retracted: HashSet<&str> = case
        .lane(Lane::Lifecycle)
        .filter(|entry| entry.kind == "retract")
        .map(|entry| entry.text("message_id"))
        .collect();
    let texts = told_texts(case, "text");
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

/// Checks that no event of text or of reasoning is empty (R1).
pub(super) fn empty_delta(case: Case<'_>) -> Option<Broken<'_>> {
    let is_text = |entry: &&Entry| matches!(entry.kind.as_ref(), "text" | "thinking" | "assistant");
    let lanes = [Lane::Lifecycle, Lane::Bus].into_iter().flat_map(|lane| case.lane(lane));
    let is_empty =
        |entry: &&Entry| entry.field("delta").and_then(Value::as_str).is_some_and(str::is_empty);
    let empty = lanes.filter(is_text).find(is_empty)?;
    by(empty, format!("an event of {} has no word", empty.kind))
}

/// The conversation and the id of a message.
type MessageKey<'r> = (Option<&'r str>, &'r str);

/// Groups the messages of stdout by conversation and id.
fn messages(case: Case<'_>) -> BTreeMap<MessageKey<'_>, Vec<&RecordedMessage>> {
    let mut messages: BTreeMap<MessageKey<'_>, Vec<&RecordedMessage>> = BTreeMap::new();
    for message in &case.facts.messages {
        messages.entry((message.parent.as_deref(), &message.id)).or_default().push(message);
    }
    messages
}

/// Joins the events of a kind to the text of each message, without blanks; returns it with the last of the events.
///
/// A result may come after the next turn has begun: the first part of that turn is then retracted, and repeated after
/// the outcome. It counts once.
fn told_texts<'r>(
    case: Case<'r>,
    kind: &str,
) -> BTreeMap<MessageKey<'r>, (Option<&'r Entry>, String)> {
    let mut told: BTreeMap<MessageKey<'_>, (Option<&Entry>, String)> = BTreeMap::new();
    // The messages with retracted text, and those of them whose turn is over.
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

/// Checks that each whole call on stdout starts once, and no other call does (U1).
pub(super) fn call_not_stated(case: Case<'_>) -> Option<Broken<'_>> {
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

/// Checks that a call starts with the name, the arguments and the parent on stdout (U1, U5).
pub(super) fn call_misread(case: Case<'_>) -> Option<Broken<'_>> {
    call_pairs(case, "tool_start").find_map(|(start, call)| {
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

/// Checks that a call ends with the result and the success or failure on stdout (U3).
pub(super) fn result_misread(case: Case<'_>) -> Option<Broken<'_>> {
    call_pairs(case, "tool_result").find_map(|(end, call)| {
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

/// Returns the starts of calls.
fn starts(case: Case<'_>) -> impl Iterator<Item = &Entry> {
    case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_start")
}

/// Pairs the events of a kind with the calls of stdout by their ids, in order: the first event with the first call.
fn call_pairs<'r>(
    case: Case<'r>,
    kind: &'static str,
) -> impl Iterator<Item = (&'r Entry, &'r RecordedCall)> {
    let mut left = by_id(case);
    let events = case.lane(Lane::Lifecycle).filter(move |entry| entry.kind == kind);
    events.filter_map(move |event| Some((event, left.get_mut(event.text("id"))?.pop_front()?)))
}

/// Groups the calls of stdout by their ids, in order.
fn by_id(case: Case<'_>) -> HashMap<&str, VecDeque<&RecordedCall>> {
    let mut calls: HashMap<&str, VecDeque<&RecordedCall>> = HashMap::new();
    for call in &case.facts.calls {
        calls.entry(&call.id).or_default().push_back(call);
    }
    calls
}

/// Checks that each report of a growing input is a beginning of it, and continues the report before it (U2).
pub(super) fn input_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let mut before: HashMap<(&str, &str), &Value> = HashMap::new();
    let mut inputs: HashMap<&str, Option<Value>> = HashMap::new();
    reports(case).find_map(|(report, call)| {
        let input = inputs.entry(&call.id).or_insert_with(|| call.input()).as_ref()?;
        let open = report.text("open");
        report.field("args")?.as_object()?.iter().find_map(|(key, value)| {
            let last = before.insert((&call.id, key), value);
            let is_right = match key == open {
                true => is_beginning(value, &input[key]),
                false => is_same(value, &input[key]),
            };
            if is_right && last.is_none_or(|last| is_beginning(last, value)) {
                return None;
            }
            by(
                report,
                format!(
                    "`{key}` of {} is reported as {value}, which is no beginning of it",
                    call.name
                ),
            )
        })
    })
}

/// Checks that a field that is complete while the input continues is reported before the call starts (U2).
pub(super) fn field_unreported(case: Case<'_>) -> Option<Broken<'_>> {
    let mut told: HashMap<&str, Vec<&Entry>> = HashMap::new();
    reports(case).for_each(|(report, call)| told.entry(&call.id).or_default().push(report));
    case.facts.single_calls().find_map(|call| {
        let input = call.input().filter(|_| !call.streamed.is_empty())?;
        let mut keys = places(input.as_object()?.keys(), &call.streamed);
        keys.sort_unstable();
        keys.windows(2).find_map(|pair| {
            let (next, key) = (pair[1].0, pair[0].1);
            let first = call.pieces.partition_point(|end| *end <= next);
            let came = call.pieces.get(first).is_some_and(|end| *end < call.streamed.len());
            let is_told = || {
                told.get(call.id.as_str())
                    .is_some_and(|all| all.iter().any(|it| has_field(it, key)))
            };
            let name = &call.name;
            let sentence =
                || format!("`{key}` of {name} is whole before its input is, and not reported");
            (came && !is_told()).then(sentence).and_then(whole)
        })
    })
}

/// Checks that an open text is reported again only when it has grown by a good part of its reported size (U2).
pub(super) fn field_repeated(case: Case<'_>) -> Option<Broken<'_>> {
    let mut before: HashMap<(&str, &str), usize> = HashMap::new();
    reports(case).find_map(|(report, call)| {
        let key = report.text("open");
        let size =
            report.field("args")?.get(key).filter(|value| value.is_string())?.to_string().len();
        let last = before.insert((&call.id, key), size)?;
        let grown = format!(
            "`{key}` of {} is reported with {size} bytes, and had {last} before",
            call.name
        );
        (size < last + LITTLE.max(last / SHARE))
            .then_some(grown)
            .and_then(|grown| by(report, grown))
    })
}

/// Returns the places of keys in an input as it streams, as far as they are there. Each key is searched behind the one
/// before it, because most come in order.
fn places<'k>(keys: impl Iterator<Item = &'k String>, streamed: &str) -> Vec<(usize, &'k String)> {
    let mut behind = 0;
    let place = |key: &'k String| {
        let written = format!("{}:", Value::from(key.as_str()));
        let later = streamed[behind..].find(&written).map(|at| behind + at);
        let at = later.or_else(|| streamed.find(&written))?;
        behind = behind.max(at + written.len());
        Some((at, key))
    };
    keys.filter_map(place).collect()
}

fn has_field(report: &Entry, key: &str) -> bool {
    report.field("args").is_some_and(|args| args.get(key).is_some())
}

/// The growth of a field, in bytes of JSON, that needs no report.
const LITTLE: usize = 8;
/// The divisor of a field's size that gives the growth that needs no report.
const SHARE: usize = 4;

/// Pairs the reports of growing inputs with their calls on stdout. An id that stdout uses twice is left out.
fn reports(case: Case<'_>) -> impl Iterator<Item = (&Entry, &RecordedCall)> {
    let inputs = case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_input");
    let calls = case.facts.single_calls_by_id();
    inputs.filter_map(move |report| Some((report, *calls.get(report.text("id"))?)))
}

/// Returns whether `part` is a beginning of `value`.
fn is_beginning(part: &Value, value: &Value) -> bool {
    match (part, value) {
        (Value::String(part), Value::String(value)) => value.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(value)) => {
            let last = part.len().saturating_sub(1);
            part.len() <= value.len()
                && part.iter().zip(value).enumerate().all(|(at, (part, value))| {
                    if at == last { is_beginning(part, value) } else { is_same(part, value) }
                })
        }
        // A model may write a key twice, so that an object has another value in the end.
        (Value::Object(part), Value::Object(value)) => {
            part.keys().all(|key| value.contains_key(key))
        }
        (part, value) => is_same(part, value),
    }
}

/// Returns whether two values are equal. The CLI's snapshot has a number `1.0` of the model as `1`.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Checks that each result on stdout ends a turn, which fails if and only if the result does, also on the bus (B3, T5).
pub(super) fn ending_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = turn_ends(case);
    if ends.len() < case.facts.turns.len() {
        let results = plural(case.facts.turns.len() as u64, "result");
        return whole(format!("stdout has {results}, and {} of them end a turn", ends.len()));
    }
    let runs = by_turn(case, Lane::Bus);
    (1..).zip(ends).zip(&case.facts.turns).find_map(|((turn, outcome), result)| {
        let is_failure = result.is_failure?;
        let words = if is_failure { "a failure" } else { "no failure" };
        if (outcome.text("status") != "ok") != is_failure {
            return by(outcome, format!("the result of turn {turn} on stdout is {words}"));
        }
        let run: &Vec<&Entry> = runs.get(&turn)?;
        let last = run.iter().rev().find(|entry| entry.kind == "lifecycle");
        let end = last.filter(|last| is_run_end(last))?;
        let says_so = (end.text("phase") == "error") == is_failure;
        let sentence = format!("the bus ends turn {turn} otherwise: on stdout it is {words}");
        (!says_so).then_some(sentence).and_then(|sentence| by(end, sentence))
    })
}

/// Checks that the text of a successful turn is all text of the model in it, once and in order, if its last message is
/// the result; text of a message that broke off is left out (T2).
///
/// Stdout is ambiguous in two cases: the CLI may continue with the complete part of a message that broke off; and if a
/// message follows another one without a call between them, the turn may end with the text from there on, because the
/// CLI may answer two messages of its host with one result.
pub(super) fn answer_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = turn_ends(case);
    let mut said = said_in_turns(case);
    (0..).zip(ends.iter().zip(&case.facts.turns)).find_map(|(turn, (outcome, result))| {
        let RecordedTurn { is_failure: Some(false), text, .. } = result else { return None };
        let told = solid(outcome.text("text"));
        let [whole, resumed] = said
            .remove(&turn)
            .unwrap_or_default()
            .blocks()?
            .map(|said| expected(&said, &solid(text)));
        let (whole, resumed) = (whole?, resumed?);
        if whole.iter().chain(&resumed).any(|expect| *expect == told) {
            return None;
        }
        let (told, expect) = zoom(&told, &whole[0]);
        by(outcome, format!("the answer is “{told}”, and stdout has “{expect}”"))
    })
}

/// Returns the texts, without blanks, with which a turn of these blocks may end, if its result is `result`; `None` if
/// the last text is not the result.
fn expected(said: &[(usize, &RecordedBlock)], result: &str) -> Option<Vec<String>> {
    let (_, last) = said.last()?;
    if solid(last.text()) != result {
        return None;
    }
    let from =
        |at: usize| -> String { said[at..].iter().map(|(_, block)| solid(block.text())).collect() };
    let goes_on = |pair: &[(usize, &RecordedBlock)]| {
        pair[0].0 == pair[1].0 || pair[0].1.calls_before < pair[1].1.calls_before
    };
    let begun = said.windows(2).rposition(|pair| !goes_on(pair)).map_or(0, |at| at + 1);
    let is_split = said[begun].1.calls_before < last.calls_before;
    let alone = (!is_split).then(|| result.to_owned());
    Some([from(begun), from(0)].into_iter().chain(alone).collect())
}

/// The blocks of text of the main conversation in a turn, with the numbers of their messages.
#[derive(Default)]
struct SaidInTurn<'s> {
    /// The complete blocks.
    all: Vec<(usize, &'s RecordedBlock)>,
    /// The blocks of messages that did not break off.
    of_whole_messages: Vec<(usize, &'s RecordedBlock)>,
}

impl<'s> SaidInTurn<'s> {
    /// Returns the blocks without those of messages that broke off, and all blocks; `None` if reasoning is hidden in
    /// one of them.
    fn blocks(self) -> Option<[Vec<(usize, &'s RecordedBlock)>; 2]> {
        let is_plain = self.all.iter().all(|(_, block)| block.is_plain());
        is_plain.then_some([self.of_whole_messages, self.all])
    }
}

/// Collects the blocks of the main conversation by turn.
fn said_in_turns(case: Case<'_>) -> HashMap<usize, SaidInTurn<'_>> {
    let facts = case.facts;
    let broken_off = facts.broken_off();
    let mut turns: HashMap<usize, SaidInTurn<'_>> = HashMap::new();
    for (at, message) in facts.messages.iter().enumerate() {
        if message.parent.is_some() || message.is_error {
            continue;
        }
        let turn = turns.entry(message.turn).or_default();
        for block in message.texts.iter().filter(|block| block.whole.is_some()) {
            turn.all.push((at, block));
            if !broken_off.contains(&at) {
                turn.of_whole_messages.push((at, block));
            }
        }
    }
    turns
}

/// Returns the outcomes of turns that a result ended.
fn turn_ends(case: Case<'_>) -> Vec<&Entry> {
    outcomes(case).filter(|outcome| outcome.text("status") != "incomplete").collect()
}
