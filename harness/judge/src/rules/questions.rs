//! The rules of questions: who asks, what runs before the answer, and what is left of a question.
//!
//! They guard what chats around the CLI got wrong: a tool that runs unasked (claude-code#34046), buttons that
//! stay after a question was withdrawn (factory-factory#468), two askers that are mixed up
//! (claude-agent-acp#851).

use std::collections::{HashMap, HashSet};

use clitape_recording::chat::ChatView;
use clitape_recording::trace::{Entry, Lane};
use serde_json::{Map, Value};

use super::violation::{Broken, by, has_server_faults, text, whole};
use crate::case::Case;

/// Milliseconds within which a question is in the chat.
const SHOWN_MS: u64 = 1_000;

/// No tool of a question runs before its yes, or after a no, and no editor is told so (Q6).
pub(crate) fn tool_before_yes(case: Case<'_>) -> Option<Broken<'_>> {
    ran_before_yes(case).or_else(|| in_progress_before_yes(case))
}

/// Without the host's side, or under a plan that changes it, nobody knows the answer.
fn ran_before_yes(case: Case<'_>) -> Option<Broken<'_>> {
    let knows_host = |entry: &Entry| matches!(entry.kind.as_ref(), "host_message" | "answered");
    if !case.own?.is_faithful || !case.lane(Lane::Lifecycle).any(knows_host) {
        return None;
    }
    // The question that each call waits for, and the answers.
    let (mut asked, mut answers) = (HashMap::new(), HashMap::new());
    for entry in case.lane(Lane::Lifecycle) {
        let id = entry.text("id");
        match entry.kind.as_ref() {
            "question" => {
                asked.insert(entry.text("call"), id);
            }
            "answered" => {
                answers.insert(id, entry.text("decision"));
            }
            "tool_result" if !has(entry, "is_error") && entry.field("incomplete").is_none() => {
                let Some(question) = asked.get(id) else { continue };
                let why = match answers.get(question) {
                    Some(&"allow") => continue,
                    Some(answer) => format!("although the answer was {answer}"),
                    None => "before its question was answered".to_owned(),
                };
                return by(entry, format!("call {id} ran {why}"));
            }
            _ => {}
        }
    }
    None
}

/// Q6: the call of an open question is not in progress for an editor.
fn in_progress_before_yes(case: Case<'_>) -> Option<Broken<'_>> {
    // The calls of open questions, by the id of the question.
    let mut open: HashMap<&str, &str> = HashMap::new();
    for entry in case.entries {
        let fields = |what: &str| entry.field(what).and_then(Value::as_object);
        match (entry.lane, entry.kind.as_ref()) {
            (Lane::Bus, "question") => {
                if let Some(asked) = fields("asked") {
                    open.insert(text(asked, "id"), text(asked, "call"));
                }
                if let Some(closed) = fields("closed") {
                    open.remove(text(closed, "id"));
                }
            }
            (Lane::Acp, "tool_call_update") if entry.text("status") == "in_progress" => {
                let call = entry.text("toolCallId");
                if open.values().any(|open| *open == call) {
                    let what = "is in progress for the editor before its question is closed";
                    return by(entry, format!("call {call} {what}"));
                }
            }
            _ => {}
        }
    }
    None
}

/// A question that is open for a while is in the chat. A replay with faults of the chat's server is left out,
/// because the server decides what is shown.
pub(crate) fn never_shown(case: Case<'_>) -> Option<Broken<'_>> {
    if case.setup.channel.is_none() || case.setup.run.silent || has_server_faults(case) {
        return None;
    }
    let shown: HashSet<&str> =
        case.lane(Lane::Telegram).map(|entry| entry.text("question")).collect();
    let events: Vec<&Entry> = case.lane(Lane::Lifecycle).collect();
    events.iter().enumerate().find_map(|(index, question)| {
        let (id, call) = (question.text("id"), question.text("call"));
        if question.kind != "question" || shown.contains(id) {
            return None;
        }
        let ends = |event: &&&Entry| match event.kind.as_ref() {
            "answered" | "question_withdrawn" => event.text("id") == id,
            "tool_result" => event.text("id") == call,
            "outcome" => true,
            _ => false,
        };
        let end = events[index..].iter().find(ends)?;
        let ms = end.at - question.at;
        let name = question.text("name");
        let what = format!(
            "the CLI asks about {name} and waits {ms} ms for the answer, but the chat never asks"
        );
        if ms < SHOWN_MS { None } else { by(question, what) }
    })
}

pub(crate) fn never_closed(case: Case<'_>) -> Option<Broken<'_>> {
    let closed: HashSet<&str> =
        events(case, "closed").map(|(_, fields)| text(fields, "id")).collect();
    let (entry, fields) =
        events(case, "asked").find(|(_, fields)| !closed.contains(text(fields, "id")))?;
    let (id, name) = (text(fields, "id"), text(fields, "name"));
    by(entry, format!("question {id} about {name} is never closed"))
}

pub(crate) fn buttons_stay(case: Case<'_>) -> Option<Broken<'_>> {
    let view = ChatView::after(case.entries);
    let left =
        view.messages().find(|message| !message.buttons.is_empty() && !message.is_orphaned())?;
    match case.entries.get(left.entry) {
        Some(entry) => by(entry, format!("the buttons of {} stay in the chat", entry.headline())),
        None => whole("the buttons of a question stay in the chat".to_owned()),
    }
}

/// Q2, Q4: a person who presses the button that says the recorded answer, or replies with it, gives that answer. The
/// replay does it (`replay/person.rs`).
pub(crate) fn answer_misunderstood(case: Case<'_>) -> Option<Broken<'_>> {
    whole(case.own?.counted.misunderstood.first()?.clone())
}

/// Q1, Q2: a question is closed once, and its message gets no buttons afterwards.
pub(crate) fn answered_twice(case: Case<'_>) -> Option<Broken<'_>> {
    let mut closed = HashSet::new();
    for (entry, fields) in events(case, "closed") {
        let id = text(fields, "id");
        if !closed.insert(id) {
            return by(entry, format!("question {id} is closed a second time"));
        }
    }
    let mut without = HashSet::new();
    let questions = messages(case);
    for entry in case.lane(Lane::Telegram).filter(|entry| entry.is_shown()) {
        let Some(id) = entry.message_id().filter(|id| questions.contains(id)) else { continue };
        match entry.field("buttons").is_some() {
            false => {
                without.insert(id);
            }
            true if without.contains(&id) => {
                return by(entry, format!("a closed question is open again: {}", entry.headline()));
            }
            true => {}
        }
    }
    None
}

/// Q1: a question has the parent of the call that waits for it.
pub(crate) fn wrong_asker(case: Case<'_>) -> Option<Broken<'_>> {
    let mut parents = HashMap::new();
    for entry in case.lane(Lane::Lifecycle).filter(|entry| entry.kind == "tool_start") {
        parents.insert(entry.text("id"), entry.text("parent"));
    }
    events(case, "asked").find_map(|(entry, fields)| {
        let (call, parent) = (text(fields, "call"), text(fields, "parent"));
        let right = parents.get(call).filter(|right| **right != parent)?;
        let who = |parent: &str| match parent {
            "" => "the main thread".to_owned(),
            parent => format!("the subagent of {parent}"),
        };
        let (right, wrong) = (who(right), who(parent));
        by(entry, format!("call {call} belongs to {right}, and its question to {wrong}"))
    })
}

/// Q3: a question that the CLI takes back is closed as withdrawn, unless it was closed before.
pub(crate) fn withdrawn_left(case: Case<'_>) -> Option<Broken<'_>> {
    let asked: HashSet<&str> =
        events(case, "asked").map(|(_, fields)| text(fields, "id")).collect();
    // How each question is closed first.
    let mut closed: HashMap<&str, (&Entry, &Map<String, Value>)> = HashMap::new();
    for (entry, fields) in events(case, "closed") {
        closed.entry(text(fields, "id")).or_insert((entry, fields));
    }
    let withdrawn = case.facts.withdrawn.iter().filter(|id| asked.contains(id.as_str()));
    withdrawn.into_iter().find_map(|id| {
        let &(entry, closed) = closed.get(id.as_str())?;
        let how = text(closed, "how");
        let is_late = how == "settled";
        let sentence = || format!("the CLI took question {id} back, and it is closed as {how}");
        is_late.then(sentence).and_then(|sentence| by(entry, sentence))
    })
}

/// The numbers of the messages that ask a question.
pub(crate) fn messages(case: Case<'_>) -> HashSet<u64> {
    let calls = case.lane(Lane::Telegram).filter(|entry| entry.field("question").is_some());
    calls.filter_map(Entry::message_id).collect()
}

/// The events of questions on the bus that have the field `what`, with its fields.
fn events<'r>(
    case: Case<'r>,
    what: &'static str,
) -> impl Iterator<Item = (&'r Entry, &'r Map<String, Value>)> {
    let questions = case.lane(Lane::Bus).filter(|entry| entry.kind == "question");
    questions.filter_map(move |entry| Some((entry, entry.field(what)?.as_object()?)))
}

/// Whether a field is true.
fn has(entry: &Entry, key: &str) -> bool {
    entry.field(key) == Some(&Value::Bool(true))
}
