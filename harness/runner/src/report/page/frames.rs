//! The chat moment by moment: what a person saw after each call of the Bot API, as runs of marked text.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;

use crate::replay::{ChatChange, Entry};
use crate::report::history::{ChatHistory, HistoryMessage, asked};
use crate::scenario::ChatProfile;
use crate::text::markup::Span;

/// The chat from a moment on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChatFrame {
    /// Since the replay began, in virtual ms.
    pub(crate) at: u64,
    /// Which entry of the trace made it so; the first one for what the command line asked.
    pub(crate) entry: usize,
    /// The messages, oldest first.
    pub(crate) messages: Vec<ChatMessage>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChatMessage {
    /// Since when it says this, in virtual ms since the replay began.
    pub(crate) at: u64,
    /// How often it was edited.
    pub(crate) edits: u64,
    /// Whether it holds the final text.
    pub(crate) is_final: bool,
    /// Whether the person wrote it.
    pub(crate) is_own: bool,
    /// What it says.
    pub(crate) spans: Vec<Span>,
}

/// The frames of a trace, one for each change. `prompt` is what the command line asked: it is the person's first
/// message, and has a frame of its own.
pub(crate) fn frames(
    entries: &[Entry],
    profile: ChatProfile,
    prompt: Option<&str>,
) -> Vec<ChatFrame> {
    let prompt = prompt.map(|prompt| ChatMessage {
        at: 0,
        edits: 0,
        is_final: false,
        is_own: true,
        spans: vec![asked(prompt)],
    });
    let mut history = ChatHistory::default();
    // The runs of text of each message, by the entry that gave it its text.
    let mut runs: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
    let mut frames = Vec::new();
    if let Some(prompt) = &prompt {
        frames.push(ChatFrame { at: 0, entry: 0, messages: vec![prompt.clone()] });
    }
    for (number, entry) in entries.iter().enumerate() {
        if history.apply(number, entry) == ChatChange::Nothing {
            continue;
        }
        let messages = history.messages().into_iter().map(|message| {
            let spans = runs.entry(message.entry()).or_insert_with(|| message.spans(profile));
            let (edits, is_final) = match message {
                HistoryMessage::Written(_) => (0, false),
                HistoryMessage::Seen(seen) => (seen.edits, seen.is_final),
            };
            let at = entries[message.entry()].at;
            ChatMessage { at, edits, is_final, is_own: message.is_own(), spans: spans.clone() }
        });
        let messages = prompt.clone().into_iter().chain(messages).collect();
        frames.push(ChatFrame { at: entry.at, entry: number, messages });
    }
    frames
}

/// Draws a message.
pub(crate) fn bubble(message: &ChatMessage) -> Markup {
    html! {
        div.bubble.own[message.is_own] {
            @for span in &message.spans {
                span class=[(!span.marks.is_empty()).then_some(&span.marks)] { (span.text) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v3_an_edit_changes_the_message_in_place() {
        let entries: Vec<Entry> = [
            r#"{"at":5,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"<b>a</b>"}}"#,
            r#"{"at":5,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"no","answer":"server-error","shown":false}}"#,
            r#"{"at":6,"lane":"bus","kind":"assistant","data":{"text":"x","message_id":1}}"#,
            r#"{"at":9,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"b","final":true}}"#,
        ]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
        let frames = frames(&entries, ChatProfile::Telegram, None);
        let seen: Vec<_> = frames.iter().map(|frame| (frame.at, frame.entry)).collect();
        assert_eq!(seen, [(5, 0), (9, 3)]);
        assert_eq!(frames[0].messages[0].spans[0].marks, "b");
        let [last] = &frames[1].messages[..] else { panic!("one message") };
        assert_eq!((last.edits, last.is_final, last.spans[0].text.as_str()), (1, true, "b"));
    }

    #[test]
    fn issue_19_point_15_what_the_command_line_asked_is_the_first_message() {
        let line =
            r#"{"at":5,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"a"}}"#;
        let entries: Vec<Entry> = vec![serde_json::from_str(line).unwrap()];
        let seen: Vec<Vec<_>> = frames(&entries, ChatProfile::Telegram, Some("<b>?"))
            .iter()
            .map(|frame| {
                let messages = frame.messages.iter();
                messages.map(|one| (one.at, one.is_own, one.spans[0].text.clone())).collect()
            })
            .collect();
        let asked = (0, true, "<b>?".to_owned());
        assert_eq!(seen, [vec![asked.clone()], vec![asked, (5, false, "a".to_owned())]]);
    }

    #[test]
    fn v3_a_text_that_was_there_already_becomes_the_final_one() {
        let entries: Vec<Entry> = [
            r#"{"at":5,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"a"}}"#,
            r#"{"at":6,"lane":"telegram","kind":"final","data":{"delivery":"already-shown","message_ids":[1]}}"#,
        ]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
        let frames = frames(&entries, ChatProfile::Telegram, None);
        let seen: Vec<_> =
            frames.iter().map(|frame| (frame.at, frame.messages[0].is_final)).collect();
        assert_eq!(seen, [(5, false), (6, true)]);
    }
}
