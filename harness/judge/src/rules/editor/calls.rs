//! The rules of tools: each call is told once, with its input, after the person's answer, and ends.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;
use clitape_recording::facts::{QuestionFacts, ToolFacts, ToolOutcome, texts_in};
use clitape_recording::text::shown::ShownTexts;
use clitape_recording::trace::Entry;
use serde_json::Value;

use super::super::violation::{Broken, by_index, whole};
use super::entries::{PLANS, entries, of_call, played};
use crate::case::{Case, is_text};
use crate::words::quoted;

/// The states of a call that runs, or has run.
const RAN: [&str; 2] = ["in_progress", "completed"];

/// The calls of the main thread. An id that the cassette uses twice names no call.
fn calls<'c>(case: Case<'c>) -> impl Iterator<Item = &'c ToolFacts> {
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for tool in case.turns().iter().flat_map(|turn| &turn.tools) {
        if !seen.insert(tool.id.as_str()) {
            twice.insert(tool.id.as_str());
        }
    }
    let all = played(case).flat_map(|turn| &turn.tools);
    all.filter(move |tool| !twice.contains(tool.id.as_str()))
}

/// The calls that ended, of turns that ended by themselves: what a cancelled turn leaves is the editor's affair.
fn ended<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c ToolFacts, ToolOutcome)> {
    calls(case).filter_map(|tool| Some((tool, tool.outcome?)))
}

/// A call as a sentence names it.
fn named(tool: &ToolFacts) -> String {
    let on = tool.main_argument.as_deref().map(|on| format!(" {}", quoted(on)));
    format!("{}{} ({})", tool.name, on.unwrap_or_default(), tool.id)
}

/// Whether the tool is shown as a plan.
fn is_planned(case: Case<'_>, tool: &ToolFacts) -> bool {
    PLANS.contains(&tool.name.as_str()) && entries(case).any(|(_, entry)| entry.kind == "plan")
}

/// Each call is told.
pub(crate) fn untold(case: Case<'_>) -> Option<Broken<'_>> {
    let is_told = |tool: &ToolFacts| {
        of_call(case, &tool.id).any(|(_, entry)| entry.kind == "tool_call")
            || is_planned(case, tool)
    };
    let tool = ended(case).map(|(tool, _)| tool).find(|tool| !is_told(tool))?;
    whole(format!("claude called {}, and no `tool_call` says so", named(tool)))
}

/// The input of each call is told: as `rawInput`, or what it works on somewhere in the call's updates. Secrets and
/// bulk in it may come masked.
pub(crate) fn input_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let is_told = |tool: &ToolFacts| {
        let Some(input) =
            tool.input.as_ref().filter(|input| **input != Value::Object(Default::default()))
        else {
            return true;
        };
        let mut entries = of_call(case, &tool.id).peekable();
        if entries.peek().is_none() {
            return true;
        }
        let main = tool.main_argument.as_deref();
        if main.is_some_and(|main| !sanitise::find(&format!("{main}\n")).is_empty()) {
            return true;
        }
        let masked = sanitise::sanitise_args(input);
        entries.any(|(_, entry)| {
            entry.data.get("rawInput").is_some_and(|raw| is_input(raw, input, &masked))
                || main.is_some_and(|main| entry.data.values().any(|value| has(value, main)))
        })
    };
    let tool = ended(case).map(|(tool, _)| tool).find(|tool| !is_told(tool))?;
    let last =
        of_call(case, &tool.id).filter(|(_, entry)| entry.data.contains_key("rawInput")).last();
    let shown = last.map_or_else(
        || "no `rawInput` came".to_owned(),
        |(_, entry)| {
            format!("the last `rawInput` is {}", quoted(&entry.data["rawInput"].to_string()))
        },
    );
    whole(format!("the input of {} never came to the editor: {shown}", named(tool)))
}

/// Whether `raw` is the input of a call. Where `masked`, the input as the sanitiser writes it, differs from the input,
/// `raw` may differ in its own way, because agents mask in other ways; elsewhere it is equal. An object or a list that
/// is not empty stays so.
fn is_input(raw: &Value, input: &Value, masked: &Value) -> bool {
    match (raw, input, masked) {
        (Value::Object(raw), Value::Object(input), Value::Object(masked)) => {
            let is_field = |(key, input): (&String, &Value)| match (raw.get(key), masked.get(key)) {
                (Some(raw), Some(masked)) => is_input(raw, input, masked),
                // The sanitiser masks the name of this field, or has put the size of its data in its place.
                (_, None) => true,
                (None, Some(_)) => false,
            };
            let is_extra = |key: &String| !input.contains_key(key);
            let may_add = masked.keys().any(is_extra);
            raw.is_empty() == input.is_empty()
                && input.iter().all(is_field)
                && (may_add || !raw.keys().any(is_extra))
        }
        (Value::Array(raw), Value::Array(input), Value::Array(masked)) => {
            let own = raw.iter().zip(input).zip(masked);
            raw.len() == input.len()
                && own.into_iter().all(|((raw, input), masked)| is_input(raw, input, masked))
        }
        (_, Value::Object(_) | Value::Array(_), _) => false,
        _ => raw == input || masked != input,
    }
}

/// Whether a text is in one of the strings of a value.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(list) => list.iter().any(|value| has(value, text)),
        Value::Object(map) => map.values().any(|value| has(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The last state of a call that was told, and the entry that has it.
fn state<'a>(case: Case<'a>, call: &str) -> Option<(usize, &'a str)> {
    let mut entries = of_call(case, call).peekable();
    entries.peek()?;
    let states = entries.map(|(index, entry)| (index, entry.text("status")));
    Some(states.filter(|(_, state)| !state.is_empty()).last().unwrap_or((0, "pending")))
}

/// A call that ended does not stay open.
pub(crate) fn left_open(case: Case<'_>) -> Option<Broken<'_>> {
    ended(case).find_map(|(tool, _)| {
        let (_, state) = state(case, &tool.id)?;
        if ["completed", "failed"].contains(&state) {
            return None;
        }
        whole(format!("{} has ended, and the editor still shows it as {state}", named(tool)))
    })
}

/// A call ends in the editor as it ended.
pub(crate) fn outcome_wrong(case: Case<'_>) -> Option<Broken<'_>> {
    ended(case).find_map(|(tool, outcome)| {
        let (index, state) = state(case, &tool.id)?;
        let wrong = match outcome {
            ToolOutcome::Completed => "failed",
            ToolOutcome::Failed => "completed",
        };
        if state != wrong {
            return None;
        }
        let was = match outcome {
            ToolOutcome::Completed => "ended well",
            ToolOutcome::Failed => "failed",
        };
        by_index(case, index, format!("{} {was}, and the editor shows it as {state}", named(tool)))
    })
}

/// A call is announced once, and changed only after that.
pub(crate) fn not_once(case: Case<'_>) -> Option<Broken<'_>> {
    calls(case).find_map(|tool| {
        let mut announced = false;
        of_call(case, &tool.id).find_map(|(index, entry)| {
            let is_call = entry.kind == "tool_call";
            let sentence = match (is_call, announced) {
                (true, true) => format!("{} is announced twice by `tool_call`", named(tool)),
                (false, false) => {
                    format!("{} is changed before any `tool_call` announces it", named(tool))
                }
                _ => {
                    announced = true;
                    return None;
                }
            };
            by_index(case, index, sentence)
        })
    })
}

/// Whether an entry asks the person about a call.
fn asks(entry: &Entry, call: &str) -> bool {
    let id = match entry.kind.as_ref() {
        "request_permission" => entry.data.get("toolCall").map(|tool| &tool["toolCallId"]),
        "elicitation/create" => entry.data.get("toolCallId"),
        _ => None,
    };
    id.is_some_and(|id| id == call)
}

/// The calls of turns that were played about which the CLI asked, each with the question.
fn questions<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c str, &'c QuestionFacts)> {
    let questions = played(case).flat_map(|turn| &turn.questions);
    questions.filter_map(|question| Some((question.call.as_deref()?, question)))
}

/// The same with the names of the tools alone.
fn asked<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c str, &'c str)> {
    questions(case).map(|(call, question)| (call, question.name.as_str()))
}

/// Before the person answers, the editor has all that the question is about: in the request, in what came of the call, or
/// in a text of the agent.
pub(crate) fn request_cut(case: Case<'_>) -> Option<Broken<'_>> {
    questions(case).find_map(|(call, question)| {
        let request = entries(case).filter(|(_, entry)| asks(entry, call)).last()?.0;
        let is_of_call = |entry: &Entry| {
            asks(entry, call)
                || is_text(entry)
                || entry.data.get("toolCallId").is_some_and(|id| id == call)
        };
        let mut shown = ShownTexts::default();
        let entries = entries(case).take(request + 1).filter(|(_, entry)| is_of_call(entry));
        entries
            .flat_map(|(_, entry)| entry.data.values().flat_map(texts_in))
            .for_each(|text| shown.add_alone(text));
        shown.add_alone(case.told());
        let missing = question.texts.iter().find_map(|text| text.lacking(&shown))?;
        let (name, missing) = (&question.name, quoted(&missing));
        let words = "the editor asks the person without";
        by_index(case, request, format!("{words} {missing} of what {name} ({call}) would do"))
    })
}

/// What the CLI asks, the person is asked.
pub(crate) fn question_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let is_asked = |call: &str| entries(case).any(|(_, entry)| asks(entry, call));
    let (call, name) = asked(case).find(|(call, _)| !is_asked(call))?;
    whole(format!("claude asked whether {name} ({call}) may run, and the agent asked nobody"))
}

/// No call runs before the person has answered.
pub(crate) fn ran_before_answer(case: Case<'_>) -> Option<Broken<'_>> {
    asked(case).find_map(|(call, name)| {
        let asked = entries(case).find(|(_, entry)| asks(entry, call))?.0;
        let is_answer =
            |entry: &Entry| entry.kind == "(answer)" && entry.text("toolCallId") == call;
        let answer = entries(case).find(|(index, entry)| *index > asked && is_answer(entry));
        let until = answer.map_or(usize::MAX, |(index, _)| index);
        let mut entries = of_call(case, call);
        let (index, entry) =
            entries.find(|(index, entry)| *index < until && RAN.contains(&entry.text("status")))?;
        let state = entry.text("status");
        by_index(case, index, format!("{name} ({call}) is {state} before the person has answered"))
    })
}
