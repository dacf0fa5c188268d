//! The rules of an editor: the updates that a client of the Agent Client Protocol gets for the turns of a session.
//!
//! The expected calls and texts are those of stdout (`facts` of the recording), and the results are masked as on the
//! bus, so that no golden is needed. The rules guard against mistakes that agents of that protocol made: an update of a
//! call that the editor does not know, a call that runs while the person is asked, a result that is spread by
//! character.
//!
//! Each call is announced once, with its input, after the person's answer, and ends. The model's words come once and
//! whole. An agent's messages are valid, and a prompt's answer ends the turn.

use std::collections::{BTreeSet, HashMap, HashSet};

use clitape_gateway::sanitise::{self, sanitise_result};
use clitape_recording::facts::{
    QuestionFacts, ToolFacts, ToolOutcome, TurnEnding, TurnFacts, texts_in,
};
use clitape_recording::text::shown::ShownTexts;
use clitape_recording::text::{plural, quoted, solid};
use clitape_recording::trace::{Entry, Lane};
use serde_json::{Value, json};

use super::texts::{beginning, missing, repeated, whole_texts};
use crate::case::{Broken, Case, by, by_index, is_run_end, is_text, model_text, whole};
use crate::words::{FEW_LETTERS, letters, pieces_of_plain, seconds};

/// Checks that a call is announced once, before any update of it (A1).
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

/// Checks that a call is not yet in progress while the person is asked about it (Q6, F13).
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

/// Checks that each announced call ends once, before the response to its turn (A1).
pub(crate) fn call_end_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    // The open calls, in order.
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

/// Checks that each completed turn has one response, and that no update follows the last one (A1).
pub(crate) fn response_not_once(case: Case<'_>) -> Option<Broken<'_>> {
    if !has_editor(case) {
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

/// Checks that the result of a call in the editor is that of stdout, masked as on the bus (H18).
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

/// Checks that each whole text of the main conversation is in the editor, once and in order (A1, H18).
pub(crate) fn editor_text_lost(case: Case<'_>) -> Option<Broken<'_>> {
    if !has_editor(case) {
        return None;
    }
    let main = case.lane(Lane::Acp).filter(|entry| is_of_main(entry));
    let shown: String = main.filter_map(model_text).collect();
    let texts = whole_texts(case.facts);
    if let Some(text) = missing(&texts, &shown) {
        return whole(format!("the editor does not have the text “{}”", beginning(text)));
    }
    let twice = beginning(repeated(case.facts, &shown)?);
    whole(format!("the editor has the text “{twice}” more often than stdout"))
}

/// Checks that the answer of each turn is in the editor, each behind the one before, also if only the result has it (F31).
pub(crate) fn editor_answer_lost(case: Case<'_>) -> Option<Broken<'_>> {
    if !has_editor(case) {
        return None;
    }
    let shown = solid(case.told());
    let mut end = 0;
    let answered = case.facts.turns.iter().filter(|turn| turn.is_failure == Some(false));
    // A shorter one may be part of another text.
    let long = |answer: &&str| letters(answer).len() >= FEW_LETTERS;
    let lost = answered.map(|turn| turn.answer.as_str()).filter(long).find(|answer| {
        let answer = solid(answer);
        let at = shown[end..].find(&answer);
        end += at.map_or(0, |at| at + answer.len());
        at.is_none()
    });
    whole(format!("the editor does not have the answer “{}”", beginning(lost?)))
}

/// Checks that a text which the editor has, and which the model takes back, is followed by words that say so.
pub(crate) fn editor_withdrawal_untold(case: Case<'_>) -> Option<Broken<'_>> {
    // The text of each message on the bus, and the length to which it is taken back, if it is.
    let mut said: HashMap<&str, (String, Option<u64>)> = HashMap::new();
    let mut newest = "";
    let main = |entry: &&Entry| entry.kind == "assistant" && !entry.data.contains_key("parent");
    for entry in case.lane(Lane::Bus).filter(main) {
        if entry.data.contains_key("retract") {
            let length = entry.field("length").and_then(Value::as_u64);
            said.entry(newest).or_default().1 = length;
        } else {
            newest = entry.text("message_id");
            said.entry(newest).or_default().0.push_str(entry.text("delta"));
        }
    }
    said.retain(|_, (_, length)| length.is_some());
    let mut shown: HashMap<&str, (String, &Entry)> = HashMap::new();
    for entry in case.lane(Lane::Acp).filter(|entry| is_of_main(entry)) {
        let Some(text) = model_text(entry) else { continue };
        if said.contains_key(entry.text("messageId")) {
            let (all, last) =
                shown.entry(entry.text("messageId")).or_insert((String::new(), entry));
            all.push_str(text);
            *last = entry;
        }
    }
    let (id, (_, last)) = shown
        .into_iter()
        .filter(|(id, (shown, _))| {
            let (said, length) = &said[id];
            length.is_some_and(|length| shown.chars().count() as u64 > length)
                && said.starts_with(shown.as_str())
        })
        .min_by_key(|(_, (_, last))| last.at)?;
    by(last, format!("the text of message {id} was withdrawn, and the editor is not told so"))
}

/// Checks that the newest plan of the editor is the list that the last TodoWrite wrote.
pub(crate) fn plan_stale(case: Case<'_>) -> Option<Broken<'_>> {
    let written = calls(case)
        .filter(|call| call.name == "TodoWrite" && call.outcome == Some(ToolOutcome::Completed));
    let todos = written.last()?.input.as_ref()?.get("todos")?.as_array()?;
    let plans = case.lane(Lane::Acp).filter(|entry| entry.kind == "plan" && is_of_main(entry));
    let newest = plans.last();
    let list = |todos: &Vec<Value>| -> Vec<(String, String)> {
        let word = |one: &Value, key: &str| letters(one[key].as_str().unwrap_or_default());
        todos.iter().map(|one| (word(one, "content"), word(one, "status"))).collect()
    };
    let Some(entry) = newest else {
        // Others may show the call in place of a plan.
        return whole("the model writes a list, and the editor has no plan".to_owned())
            .filter(|_| case.own.is_some());
    };
    let shown = entry.field("entries").and_then(Value::as_array).map(list).unwrap_or_default();
    let wanted = list(todos);
    let other = wanted.iter().find(|one| !shown.contains(one));
    let what = match other {
        Some((content, status)) => format!("does not have {} as {status}", quoted(content)),
        None if shown.len() > wanted.len() => "has entries that the list does not have".to_owned(),
        None => return None,
    };
    by(entry, format!("the last plan {what}, as the model's last list has it"))
}

/// Returns whether an editor follows the run.
fn has_editor(case: Case<'_>) -> bool {
    case.setup.acp.is_some() && !case.setup.run.silent
}

/// Returns whether an update is of the main conversation.
fn is_of_main(entry: &Entry) -> bool {
    let meta = entry.field("_meta");
    meta.is_none_or(|meta| meta["claudeCode"]["parentToolCallId"].is_null())
}

/// Checks that each call of stdout with a result is announced to the editor (A1, H01). A call that becomes a plan is
/// left out.
pub(crate) fn editor_call_missing(case: Case<'_>) -> Option<Broken<'_>> {
    if !has_editor(case) {
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

/// Returns the id of the call that an update or a request belongs to.
fn call_id(entry: &Entry) -> Option<&str> {
    let call = || entry.field("toolCall")?.get("toolCallId");
    entry.field("toolCallId").or_else(call)?.as_str()
}

/// Returns the blocks of a result; a text is one block, and so is an object.
fn blocks(result: &Value) -> Vec<Value> {
    match result {
        Value::Null => Vec::new(),
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        other => vec![other.clone()],
    }
}

/// The states of a call that runs, or has run.
const RAN: [&str; 2] = ["in_progress", "completed"];

/// The calls of the main thread. An id that the cassette uses twice identifies no call, so both are left out.
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

/// The completed calls of turns that ended by themselves; after a cancel, the editor closes the calls.
fn ended<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c ToolFacts, ToolOutcome)> {
    calls(case).filter_map(|tool| Some((tool, tool.outcome?)))
}

/// Names a call in a sentence: the tool, its main argument and the id.
fn named(tool: &ToolFacts) -> String {
    let on = tool.main_argument.as_deref().map(|on| format!(" {}", quoted(on)));
    format!("{}{} ({})", tool.name, on.unwrap_or_default(), tool.id)
}

/// Returns whether the editor shows the tool as a plan.
fn is_planned(case: Case<'_>, tool: &ToolFacts) -> bool {
    PLANS.contains(&tool.name.as_str()) && entries(case).any(|(_, entry)| entry.kind == "plan")
}

/// Checks that each call is announced, or shown as a plan.
pub(crate) fn call_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let is_told = |tool: &ToolFacts| {
        of_call(case, &tool.id).any(|(_, entry)| entry.kind == "tool_call")
            || is_planned(case, tool)
    };
    let tool = ended(case).map(|(tool, _)| tool).find(|tool| !is_told(tool))?;
    whole(format!("claude called {}, and no `tool_call` says so", named(tool)))
}

/// Checks that the editor has the input of each call: as `rawInput`, or its main argument somewhere in the call's
/// updates. Secrets and bulk in it may be masked.
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

/// Returns whether `raw` is the input of a call. Where `masked`, the input as the sanitiser writes it, differs from
/// `input`, `raw` may differ in another way, because agents mask in other ways; elsewhere it is equal. An object or a
/// list that is not empty stays so.
fn is_input(raw: &Value, input: &Value, masked: &Value) -> bool {
    match (raw, input, masked) {
        (Value::Object(raw), Value::Object(input), Value::Object(masked)) => {
            let is_field = |(key, input): (&String, &Value)| match (raw.get(key), masked.get(key)) {
                (Some(raw), Some(masked)) => is_input(raw, input, masked),
                // The sanitiser masks the name of this field, or has replaced its data by their size.
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

/// Returns whether a text is in one of the strings of a value.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(list) => list.iter().any(|value| has(value, text)),
        Value::Object(map) => map.values().any(|value| has(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the last state of a call in the editor, and the index of the entry with it.
fn state<'a>(case: Case<'a>, call: &str) -> Option<(usize, &'a str)> {
    let mut entries = of_call(case, call).peekable();
    entries.peek()?;
    let states = entries.map(|(index, entry)| (index, entry.text("status")));
    Some(states.filter(|(_, state)| !state.is_empty()).last().unwrap_or((0, "pending")))
}

/// Checks that a completed call does not stay open.
pub(crate) fn call_left_open(case: Case<'_>) -> Option<Broken<'_>> {
    ended(case).find_map(|(tool, _)| {
        let (_, state) = state(case, &tool.id)?;
        if ["completed", "failed"].contains(&state) {
            return None;
        }
        whole(format!("{} has ended, and the editor still shows it as {state}", named(tool)))
    })
}

/// Checks that a call has the same outcome in the editor as on stdout.
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

/// Checks that a call is announced once, and changed only after that.
pub(crate) fn call_not_once(case: Case<'_>) -> Option<Broken<'_>> {
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

/// Returns whether an entry asks the person about a call.
fn asks(entry: &Entry, call: &str) -> bool {
    let id = match entry.kind.as_ref() {
        "request_permission" => entry.data.get("toolCall").map(|tool| &tool["toolCallId"]),
        "elicitation/create" => entry.data.get("toolCallId"),
        _ => None,
    };
    id.is_some_and(|id| id == call)
}

/// The calls of played turns about which the CLI asked, each with its question.
fn questions<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c str, &'c QuestionFacts)> {
    let questions = played(case).flat_map(|turn| &turn.questions);
    questions.filter_map(|question| Some((question.call.as_deref()?, question)))
}

/// The calls about which the CLI asked, each with the name of its tool.
fn asked<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c str, &'c str)> {
    questions(case).map(|(call, question)| (call, question.name.as_str()))
}

/// Checks that the editor has the whole subject of a question before the person answers: in the request, in the updates
/// of the call, or in a text of the agent.
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

/// Checks that each question of the CLI reaches the person.
pub(crate) fn question_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let is_asked = |call: &str| entries(case).any(|(_, entry)| asks(entry, call));
    let (call, name) = asked(case).find(|(call, _)| !is_asked(call))?;
    whole(format!("claude asked whether {name} ({call}) may run, and the agent asked nobody"))
}

/// Checks that no call runs before the person has answered.
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

/// The answers that must come, each with its letters.
fn answers<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c str, String)> {
    let turns = played(case).filter(|turn| turn.must_be_answered());
    let answers = turns.filter_map(|turn| turn.answer.as_deref());
    answers.map(|answer| (answer, letters(answer))).filter(|(_, letters)| !letters.is_empty())
}

/// Checks that at least a part of each answer comes.
pub(crate) fn answer_missing(case: Case<'_>) -> Option<Broken<'_>> {
    let told = letters(case.told());
    let is_missing = |answer: &str| {
        let pieces = pieces_of_plain(answer);
        !pieces.iter().any(|piece| told.contains(&piece.letters))
    };
    let (answer, _) = answers(case).find(|(answer, _)| is_missing(answer))?;
    whole(format!("the answer {} never came to the editor", quoted(answer)))
}

/// Checks that each answer comes whole.
pub(crate) fn answer_not_whole(case: Case<'_>) -> Option<Broken<'_>> {
    if answer_missing(case).is_some() {
        return None;
    }
    let told = letters(case.told());
    let (answer, _) = answers(case).find(|(_, letters)| !told.contains(letters))?;
    let pieces = pieces_of_plain(answer);
    let lost = pieces.iter().find(|piece| !told.contains(&piece.letters));
    let what = match lost {
        Some(piece) => format!("its words {} never came", quoted(&piece.words)),
        None => "its words came in another order".to_owned(),
    };
    whole(format!("the answer {} is not whole in the editor: {what}", quoted(answer)))
}

/// Checks that no answer comes more often than the model gave it.
pub(crate) fn answer_twice(case: Case<'_>) -> Option<Broken<'_>> {
    let told = letters(case.told());
    let said: Vec<String> = played(case).map(whole_text).collect();
    let times = |answer: &str| said.iter().map(|text| text.matches(answer).count()).sum::<usize>();
    let is_twice = |answer: &str| {
        answer.len() >= FEW_LETTERS && told.matches(answer).count() > times(answer).max(1)
    };
    let (answer, own) = answers(case).find(|(_, letters)| is_twice(letters))?;
    let last = entries(case).filter(|(_, entry)| entry.kind == "agent_message_chunk").last();
    let count = told.matches(&own).count();
    let sentence = format!("the answer {} came to the editor {count} times", quoted(answer));
    match last {
        Some((index, _)) => by_index(case, index, sentence),
        None => whole(sentence),
    }
}

/// Returns the letters of all texts of the model in a turn.
fn whole_text(turn: &TurnFacts) -> String {
    let segments: String = turn.segments.iter().map(|segment| letters(&segment.text)).collect();
    let answer = turn.answer.as_deref().map(letters).unwrap_or_default();
    match segments.contains(&answer) {
        true => segments,
        false => segments + &answer,
    }
}

/// Checks that the texts before the answer come too, because an editor keeps all of them.
pub(crate) fn text_untold(case: Case<'_>) -> Option<Broken<'_>> {
    if case.facts.has_retractions() {
        return None;
    }
    let told = letters(case.told());
    let turns = played(case).filter(|turn| turn.must_be_answered());
    let mut segments = turns.flat_map(|turn| {
        let answer = turn.answer.as_deref().map(letters).unwrap_or_default();
        let others = move |text: &&str| !answer.contains(&letters(text));
        turn.segments.iter().map(|segment| segment.text.as_str()).filter(others)
    });
    let lost = segments.find(|text| !told.contains(&letters(text)))?;
    whole(format!("the model said {}, which never came to the editor", quoted(lost)))
}

/// The kinds of entries that belong to a turn.
const OF_TURN: [&str; 5] =
    ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Checks that the official types accept each message.
pub(crate) fn message_invalid(case: Case<'_>) -> Option<Broken<'_>> {
    let (index, entry) = entries(case).find(|(_, entry)| entry.data.contains_key("refused"))?;
    let why = quoted(entry.text("refused"));
    by_index(
        case,
        index,
        format!("an editor with the official types loses the agent's `{}`: {why}", entry.kind),
    )
}

/// Returns whether the person cancelled the turn that this entry answers.
fn is_cancelled(case: Case<'_>, response: usize) -> bool {
    let before = &case.entries[..response];
    let begin = before.iter().rposition(|entry| entry.kind == "(user)").unwrap_or(0);
    before[begin..].iter().any(|entry| entry.kind == "(cancel)")
}

/// Checks that the person reads of a failed turn: as an error, as a stop reason, or in words.
pub(crate) fn failure_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let told = letters(case.told());
    answered(case).into_iter().find_map(|(turn, index)| {
        let words = match &turn.ending {
            TurnEnding::Failed(words) => words.as_str(),
            TurnEnding::CutOff => "",
            TurnEnding::Answered | TurnEnding::Silent | TurnEnding::Interrupted => return None,
        };
        let entry = &case.entries[index];
        let has_words = pieces_of_plain(words).iter().any(|piece| told.contains(&piece.letters));
        if entry.data.contains_key("error") || entry.text("stopReason") != "end_turn" || has_words {
            return None;
        }
        let what = match words {
            "" => "the CLI ended without a result".to_owned(),
            words => quoted(words),
        };
        by_index(
            case,
            index,
            format!("the turn failed ({what}), and the prompt is answered with end_turn"),
        )
    })
}

/// Checks that the stop reason is true: `cancelled` after a cancel and only then, and no error if the model answered.
pub(crate) fn stop_reason(case: Case<'_>) -> Option<Broken<'_>> {
    answered(case).into_iter().find_map(|(turn, index)| {
        let entry = &case.entries[index];
        let sentence = wrong_stop(turn, entry, is_cancelled(case, index))?;
        by_index(case, index, sentence)
    })
}

fn wrong_stop(
    turn: &TurnFacts,
    entry: &clitape_recording::trace::Entry,
    is_cancelled: bool,
) -> Option<String> {
    let reason = entry.text("stopReason");
    match (is_cancelled, reason) {
        // A turn may end by itself before the cancel comes.
        (true, "cancelled") => None,
        (true, _) if turn.ending != TurnEnding::Interrupted => None,
        (true, "") => Some(format!(
            "the person cancelled the turn, and the prompt is answered with the error {}",
            quoted(entry.text("error"))
        )),
        (true, other) => {
            Some(format!("the person cancelled the turn, and the stop reason is {other}"))
        }
        (false, "cancelled") if turn.ending == TurnEnding::Answered => {
            Some("nobody cancelled the turn, and the stop reason is cancelled".to_owned())
        }
        (false, "") if turn.ending == TurnEnding::Answered => Some(format!(
            "the model answered, and the prompt is answered with the error {}",
            quoted(entry.text("error"))
        )),
        (false, _) => None,
    }
}

/// Checks that no entry of a turn follows its end, unless work continues in the background.
pub(crate) fn told_after_end(case: Case<'_>) -> Option<Broken<'_>> {
    let goes_on = case.facts.has_background() || played(case).any(|turn| turn.is_interim);
    if goes_on {
        return None;
    }
    let mut open = 0_u64;
    let (index, entry) = entries(case).find(|(_, entry)| {
        match entry.kind.as_ref() {
            "(user)" => open += 1,
            "response" => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && OF_TURN.contains(&entry.kind.as_ref())
    })?;
    let at = seconds(entry.at);
    by_index(
        case,
        index,
        format!("`{}` came at {at}, when the prompt was already answered", entry.kind),
    )
}

/// The tools whose calls an agent may show as a plan.
const PLANS: [&str; 5] = ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"];

/// The turns that the stand-in played.
fn played(case: Case<'_>) -> impl Iterator<Item = &TurnFacts> {
    case.played().map(|(_, turn)| turn)
}

/// The entries of the editor and of the person, with their indexes.
fn entries(case: Case<'_>) -> impl Iterator<Item = (usize, &Entry)> {
    case.entries.iter().enumerate().filter(|(_, entry)| entry.lane == Lane::Acp)
}

/// The entries of one call of a tool, with their indexes.
fn of_call<'c>(case: Case<'c>, call: &str) -> impl Iterator<Item = (usize, &'c Entry)> {
    let is_own = move |entry: &Entry| {
        ["tool_call", "tool_call_update"].contains(&entry.kind.as_ref())
            && entry.data.get("toolCallId").is_some_and(|id| id == call)
    };
    entries(case).filter(move |(_, entry)| is_own(entry))
}

/// Pairs turns with the entries that answer their prompts, by index. The list is empty if their numbers differ, because
/// a process may add turns of its own, and the prompts do not show which.
fn answered(case: Case<'_>) -> Vec<(&TurnFacts, usize)> {
    let is_response = |(_, entry): &(usize, &Entry)| entry.kind == "response";
    let responses: Vec<usize> = entries(case).filter(is_response).map(|(index, _)| index).collect();
    let turns: Vec<&TurnFacts> = played(case).collect();
    match turns.len() == responses.len() {
        true => turns.into_iter().zip(responses).collect(),
        false => Vec::new(),
    }
}
