//! The rules of the event stream, which a remote reader has in place of the bus.
//!
//! The expected events follow from stdout (`facts` of the recording) and from the bus, so that no golden is needed.
//! Channels do not mask the texts of the answer, so these must be unchanged.

use std::collections::{BTreeMap, HashMap, HashSet};

use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::texts::{TextsSoFar, beginning, missing, repeated, whole_texts};
use crate::case::{Broken, Case, by, by_turn, is_run_end, whole};

/// The tools whose results are summarised, without the server of an MCP tool.
const SEARCHES: [&str; 2] = ["search_memory", "lobu_search_memory"];
/// The entries about the acts of a reader of the stream, which are no events.
const OF_THE_READER: [&str; 3] = ["collected", "reconnect", "refused"];
/// The number of characters to which a longer result is cut.
const CUT_AT: usize = 8_000;
/// The bytes of hits that come before the cut of a long result in any case.
const BEFORE_CUT: usize = 4_000;

/// Checks that each turn ends with its one `complete`, after a possible error (S1).
pub(crate) fn event_after_complete(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = by_turn(case, Lane::Bus);
    let streams = by_turn(case, Lane::Sse);
    streams.iter().find_map(|(turn, events)| {
        let is_sent = |event: &&&Entry| !OF_THE_READER.contains(&event.kind.as_ref());
        let mut events = events.iter().filter(is_sent);
        let is_complete = |event: &&&Entry| event.kind == "complete";
        let is_over = || ends.get(turn)?.iter().find(|event| is_run_end(event));
        if !events.any(|event| is_complete(&event)) {
            let sentence = format!("the event stream of turn {turn} never says `complete`");
            return is_over().and_then(|_| whole(sentence));
        }
        let late = events.next()?;
        by(late, format!("`{}` comes after `complete`", late.kind))
    })
}

/// Checks that a text that came before a call is in the stream before the call (H20).
pub(crate) fn text_after_call(case: Case<'_>) -> Option<Broken<'_>> {
    let facts = case.facts;
    let texts = whole_texts(facts);
    let main = facts.calls.iter().filter(|call| call.parent.is_none());
    let places: HashMap<&str, usize> = main.map(|call| call.id.as_str()).zip(0..).collect();
    let single = facts.single_calls_by_id();
    let mut so_far = TextsSoFar::new(&texts);
    let (mut shown, mut last) = (String::new(), 1);
    for event in case.lane(Lane::Sse) {
        if event.kind == "output" {
            // Replaced text counts too, because a message that broke off may have had a whole text.
            let parts = event.text("type") == "replace" || event.turn() != last;
            shown.push_str(if parts { "\n\n" } else { "" });
            shown.push_str(event.text("content"));
            last = event.turn();
        }
        if event.kind != "tool_use" {
            continue;
        }
        let id = event.text("toolCallId");
        let Some(place) = places.get(id).filter(|_| single.contains_key(id)) else { continue };
        if let Some(text) = so_far.missing_before(*place, &shown) {
            let call = event.text("name");
            return by(event, format!("{call} comes before the text “{}”", beginning(text)));
        }
    }
    None
}

/// Checks that each call that the bus has started is one `tool_use`, once its turn is over (S1).
pub(crate) fn streamed_call_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    let streams = by_turn(case, Lane::Sse);
    by_turn(case, Lane::Bus).into_iter().find_map(|(turn, bus)| {
        let uses = uses_by_call(streams.get(&turn)?);
        let end = bus.iter().find(|event| is_run_end(event))?;
        calls_of(&bus).into_iter().filter(|(_, events)| is_one_call(events)).find_map(|(id, _)| {
            match uses.get(id).map_or(&[][..], Vec::as_slice) {
                [_] => None,
                [] => by(end, format!("the stream has no `tool_use` of call {id}")),
                [_, again, ..] => by(again, format!("call {id} is told a second time")),
            }
        })
    })
}

/// Checks that a `tool_use` has the name and the input of the call's start, and its success or failure (H19).
pub(crate) fn streamed_call_altered(case: Case<'_>) -> Option<Broken<'_>> {
    let streams = by_turn(case, Lane::Sse);
    by_turn(case, Lane::Bus).into_iter().find_map(|(turn, bus)| {
        let uses = uses_by_call(streams.get(&turn)?);
        calls_of(&bus).into_iter().filter(|(_, events)| is_one_call(events)).find_map(
            |(id, events)| {
                let told = *uses.get(id)?.first()?;
                let start = events.iter().find(|event| event.text("phase") == "start")?;
                let is_corrected = events
                    .iter()
                    .skip_while(|event| event.text("phase") != "start")
                    .any(|event| event.text("phase") == "update");
                let field =
                    |entry: &Entry, key: &str| entry.field(key).cloned().unwrap_or_default();
                let input = match start.field("truncated") {
                    Some(raw) => raw.clone(),
                    None => field(start, "args"),
                };
                if told.text("name") != start.text("name") {
                    let [name, now] = [start, told].map(|event| event.text("name"));
                    return by(told, format!("call {id} started as {name} and ends as {now}"));
                }
                if !is_corrected && field(told, "input") != input {
                    return by(
                        told,
                        format!("the input of call {id} is not that with which it started"),
                    );
                }
                let result = events.iter().find(|event| event.text("phase") == "result")?;
                let has_failed = result.field("incomplete").is_some()
                    || result.field("is_error") == Some(&Value::Bool(true));
                let is_error = told.field("isError") == Some(&Value::Bool(true));
                if is_error == has_failed {
                    return None;
                }
                let words = |failed| if failed { "failed" } else { "succeeded" };
                let [bus, stream] = [has_failed, is_error].map(words);
                by(told, format!("call {id} {bus}, and the stream says that it {stream}"))
            },
        )
    })
}

/// Checks that the collected calls of a turn include each call of its stream (S2, H22).
pub(crate) fn call_uncollected(case: Case<'_>) -> Option<Broken<'_>> {
    by_turn(case, Lane::Sse).into_values().find_map(|events| {
        // A turn of many calls has several of these entries.
        let all = || events.iter().filter(|event| event.kind == "collected");
        let collected = all().next_back()?;
        let lists = all().filter_map(|event| event.field("metadata")?.get("toolCalls")?.as_array());
        let named =
            lists.flatten().map(|call| ["toolCallId", "name"].map(|key| call[key].as_str()));
        let kept: HashSet<[Option<&str>; 2]> = named.collect();
        let is_kept =
            |event: &Entry| kept.contains(&["toolCallId", "name"].map(|key| Some(event.text(key))));
        let is_named = |event: &&&Entry| event.kind == "tool_use" && !event.text("name").is_empty();
        let lost = events.iter().filter(is_named).find(|event| !is_kept(event))?;
        let id = lost.text("toolCallId");
        by(collected, format!("call {id} of the stream is not collected"))
    })
}

/// Checks that the summary of a search names each hit in the result of stdout (H21).
pub(crate) fn hit_lost(case: Case<'_>) -> Option<Broken<'_>> {
    let calls = &case.facts.calls;
    // The entries of each call in the stream, collected for the first search.
    let mut told: Option<HashMap<&str, Vec<&Entry>>> = None;
    calls.iter().filter(|call| is_search(&call.name)).find_map(|call| {
        let (result, false) = call.result.as_ref()? else { return None };
        let hits = hits(result)?;
        let stream = || uses_by_call(&case.lane(Lane::Sse).collect::<Vec<_>>());
        let told = *told.get_or_insert_with(stream).get(call.id.as_str())?.first()?;
        let ids = told.field("result_summary").and_then(|summary| summary.get("event_ids"));
        let ids = ids.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let lost = hits.iter().find(|id| !ids.contains(id))?;
        by(told, format!("the summary of {} does not name the hit {lost}", call.name))
    })
}

/// Checks that each whole text of the main conversation is in the stream, once and in order (S1, H18).
pub(crate) fn streamed_text_lost(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.run.silent {
        return None;
    }
    let mut shown = StreamedText::default();
    case.lane(Lane::Sse).for_each(|event| shown.apply(event));
    if let Some(text) = missing(&whole_texts(case.facts), &shown.ever()) {
        return whole(format!("the event stream does not have the text “{}”", beginning(text)));
    }
    let twice = beginning(repeated(case.facts, &shown.all())?);
    whole(format!("the event stream has the text “{twice}” more often than stdout"))
}

/// The answer of each turn in a stream so far.
#[derive(Default)]
struct StreamedText {
    answers: BTreeMap<u64, String>,
    /// The text of each turn before the stream replaced it.
    replaced: BTreeMap<u64, String>,
}

impl StreamedText {
    fn apply(&mut self, event: &Entry) {
        if event.kind != "output" {
            return;
        }
        let turn = event.turn();
        let answer = self.answers.entry(turn).or_default();
        if event.text("type") == "replace" {
            let before = self.replaced.entry(turn).or_default();
            before.push_str(&std::mem::take(answer));
            before.push_str("\n\n");
        }
        answer.push_str(event.text("content"));
    }

    /// The answers of all turns.
    fn all(&self) -> String {
        self.answers.values().map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }

    /// The answers of all turns, each after its replaced text, because a message that broke off may have had a whole
    /// text.
    fn ever(&self) -> String {
        let of_turn = |(turn, answer): (&u64, &String)| {
            let before = self.replaced.get(turn).map_or("", String::as_str);
            format!("{before}{answer}")
        };
        self.answers.iter().map(of_turn).collect::<Vec<_>>().join("\n\n")
    }
}

/// The events of each call on the bus of a turn.
fn calls_of<'r>(bus: &[&'r Entry]) -> BTreeMap<&'r str, Vec<&'r Entry>> {
    let mut calls: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for event in bus.iter().filter(|event| event.kind == "tool") {
        calls.entry(event.text("id")).or_default().push(event);
    }
    calls
}

/// Returns whether the events are those of one started call, whose id is used once.
fn is_one_call(events: &[&Entry]) -> bool {
    let mut phases: HashMap<&str, usize> = HashMap::new();
    for event in events {
        *phases.entry(event.text("phase")).or_default() += 1;
    }
    let of = |phase: &str| phases.get(phase).copied().unwrap_or_default();
    of("start") == 1 && of("result") <= 1
}

/// The `tool_use` events of a stream, by the id of their call.
fn uses_by_call<'r>(stream: &[&'r Entry]) -> HashMap<&'r str, Vec<&'r Entry>> {
    let mut uses: HashMap<&str, Vec<&Entry>> = HashMap::new();
    for event in stream.iter().filter(|event| event.kind == "tool_use") {
        uses.entry(event.text("toolCallId")).or_default().push(event);
    }
    uses
}

/// Returns whether the results of a tool are summarised.
pub(crate) fn is_search(name: &str) -> bool {
    let tool = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    SEARCHES.contains(&tool.map_or(name, |(_, tool)| tool))
}

/// Returns the ids of the hits in the first text of a result that has some; for a cut text, those before the cut.
fn hits(result: &Value) -> Option<Vec<Value>> {
    let parts = result.as_array().map_or(&[][..], Vec::as_slice).iter();
    let parts =
        parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    result.as_str().into_iter().chain(parts).find_map(|text| {
        let body: Value = serde_json::from_str(text).ok()?;
        let is_cut = text.chars().count() > CUT_AT;
        let mut size = 0;
        let items = body["content"].as_array()?.iter().take_while(|item| {
            size += item.to_string().len();
            !is_cut || size < BEFORE_CUT
        });
        let ids: Vec<Value> =
            items.map(|item| item["id"].clone()).filter(Value::is_number).collect();
        (!ids.is_empty()).then_some(ids)
    })
}
