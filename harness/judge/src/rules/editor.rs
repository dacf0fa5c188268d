//! The rules of an editor: what a client of the Agent Client Protocol gets of the turns of a session.
//!
//! The calls and the texts that must come are those of stdout (`facts` of the recording), and the results are masked as the bus
//! masks them; no golden is needed. They guard what agents of that protocol got wrong: an update of a call that the
//! editor does not know, a call that runs while the person is asked, a result that is spread by character.

pub(super) mod calls;
pub(super) mod ending;
mod entries;
pub(super) mod text;

use std::collections::{HashMap, HashSet};

use clitape_gateway::sanitise::sanitise_result;
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::{Value, json};

use entries::PLANS;

use super::texts::{beginning, missing, repeated, whole_texts};
use super::violation::{Broken, by, is_run_end, whole};
use crate::case::{Case, model_text};

/// A1: a call is announced once, before anything else is said of it.
pub(crate) fn unannounced_update(case: Case<'_>) -> Option<Broken<'_>> {
    let mut known: HashSet<&str> = HashSet::new();
    case.lane(Lane::Acp).find_map(|entry| {
        let id = call_id(entry)?;
        match entry.kind.as_ref() {
            "tool_call" if !known.insert(id) => {
                by(entry, format!("call {id} is announced a second time"))
            }
            "tool_call_update" if !known.contains(id) => {
                by(entry, format!("an update names call {id}, which was not announced"))
            }
            _ => None,
        }
    })
}

/// Q6, F13: a call about which the person is asked is not in progress yet.
pub(crate) fn in_progress_while_asked(case: Case<'_>) -> Option<Broken<'_>> {
    let mut states: HashMap<&str, &str> = HashMap::new();
    case.lane(Lane::Acp).find_map(|entry| {
        let id = call_id(entry)?;
        if entry.kind == "request_permission" {
            let state = states.get(id).copied().filter(|state| *state != "pending")?;
            let asked = "when the person is asked whether it may run";
            return by(entry, format!("call {id} is {state} for the editor {asked}"));
        }
        if let Some(state) = entry.field("status").and_then(Value::as_str) {
            states.insert(id, state);
        }
        None
    })
}

/// A1: each call that is announced ends once, before its turn is answered.
pub(crate) fn call_end_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    // The calls that are open, in their order.
    let mut open: Vec<&str> = Vec::new();
    case.lane(Lane::Acp).find_map(|entry| {
        if entry.kind == "response" {
            let id = open.first()?;
            return by(entry, format!("the turn is over for the editor, and call {id} is open"));
        }
        let id = call_id(entry)?;
        match (entry.kind.as_ref(), entry.text("status")) {
            ("tool_call", "completed" | "failed") => {}
            ("tool_call", _) => open.push(id),
            ("tool_call_update", state) if !state.is_empty() => {
                let Some(place) = open.iter().position(|open| *open == id) else {
                    return by(entry, format!("call {id} is {state} for the editor after its end"));
                };
                if matches!(state, "completed" | "failed") {
                    open.remove(place);
                }
            }
            _ => {}
        }
        None
    })
}

/// A1: each turn that is over has one response, and nothing comes after the last one.
pub(crate) fn response_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.acp.is_none() || case.setup.run.silent {
        return None;
    }
    let over = case.lane(Lane::Bus).filter(|event| is_run_end(event)).count();
    let mut responses = 0;
    for entry in case.lane(Lane::Acp) {
        if responses == over {
            return by(entry, format!("{} comes after the last response", entry.kind));
        }
        responses += usize::from(entry.kind == "response");
    }
    let [turns, had] = [plural(over, "turn"), plural(responses, "response")];
    let sentence = format!("{turns} ended, and the editor has {had}");
    (responses < over).then_some(sentence).and_then(whole)
}

/// H18: the result of a call in the editor is that of stdout, masked as the bus does.
pub(crate) fn result_altered(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = case.lane(Lane::Acp).filter(|entry| entry.field("rawOutput").is_some());
    let ends: Vec<(&str, &Entry)> =
        ends.filter_map(|entry| Some((call_id(entry)?, entry))).collect();
    case.facts.single_calls().find_map(|call| {
        let (result, is_error) = call.result.as_ref()?;
        let mut told = ends.iter().filter(|(id, _)| *id == call.id);
        let (Some((_, entry)), None) = (told.next(), told.next()) else { return None };
        let output = entry.field("rawOutput")?;
        let has_failed = output["isError"] == true;
        if has_failed != *is_error {
            let words = |failed| if failed { "failed" } else { "succeeded" };
            let [stdout, editor] = [*is_error, has_failed].map(words);
            let sentence =
                format!("call {} {stdout}, and the editor learns that it {editor}", call.id);
            return by(entry, sentence);
        }
        if output["content"] == json!(blocks(&sanitise_result(result))) {
            return None;
        }
        by(entry, format!("the result of call {} is not the one of stdout", call.id))
    })
}

/// A1, H18: each whole text of the main conversation is in the editor, once and in order.
pub(crate) fn editor_text_lost(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.acp.is_none() || case.setup.run.silent {
        return None;
    }
    let is_main = |entry: &&Entry| {
        let meta = entry.field("_meta");
        meta.is_none_or(|meta| meta["claudeCode"]["parentToolCallId"].is_null())
    };
    let shown: String = case.lane(Lane::Acp).filter(is_main).filter_map(model_text).collect();
    let texts = whole_texts(case.facts);
    if let Some(text) = missing(&texts, &shown) {
        return whole(format!("the editor does not have the text “{}”", beginning(text)));
    }
    let twice = beginning(repeated(case.facts, &shown)?);
    whole(format!("the editor has the text “{twice}” more often than stdout"))
}

/// A1, H01: each call of stdout that has a result is announced to the editor. A call that becomes a plan is none.
pub(crate) fn editor_call_missing(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.acp.is_none() || case.setup.run.silent {
        return None;
    }
    let announced = case.lane(Lane::Acp).filter(|entry| entry.kind == "tool_call");
    let announced: HashSet<&str> = announced.filter_map(call_id).collect();
    let calls = case.facts.single_calls();
    let shown = calls.filter(|call| !PLANS.contains(&call.name.as_str()));
    let mut ended = shown.filter(|call| call.result.is_some());
    let lost = ended.find(|call| !announced.contains(&call.id.as_str()))?;
    whole(format!("call {} of {} ran, and the editor never learns of it", lost.id, lost.name))
}

/// The call that an update, or a request, is about.
fn call_id(entry: &Entry) -> Option<&str> {
    let call = || entry.field("toolCall")?.get("toolCallId");
    entry.field("toolCallId").or_else(call)?.as_str()
}

/// The blocks of a result: a text is one, and so is an object.
fn blocks(result: &Value) -> Vec<Value> {
    match result {
        Value::Null => Vec::new(),
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        other => vec![other.clone()],
    }
}
