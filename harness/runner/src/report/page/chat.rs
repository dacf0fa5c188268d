//! The chat moment by moment: what a person saw after each call of the Bot API.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::escape::visible;
use super::markup::{Span, spans};
use crate::replay::{Entry, Lane};
use crate::scenario::Profile;

/// The chat from a moment on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Frame {
    /// Since the replay began, in virtual ms.
    pub(crate) at: u64,
    /// Which entry of the trace made it so.
    pub(crate) entry: usize,
    /// The messages, oldest first.
    pub(crate) messages: Vec<Message>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Message {
    /// How often it was edited.
    pub(crate) edits: u64,
    /// Whether it holds the final text.
    pub(crate) is_final: bool,
    /// What it says.
    pub(crate) spans: Vec<Span>,
}

/// The frames of a trace, one for each change.
pub(crate) fn frames(entries: &[Entry], profile: Profile) -> Vec<Frame> {
    let mut messages: BTreeMap<u64, Message> = BTreeMap::new();
    let mut frames = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        if entry.lane == Lane::Telegram && entry.kind == "final" {
            if mark_final(&mut messages, entry) {
                let messages = messages.values().cloned().collect();
                frames.push(Frame { at: entry.at, entry: number, messages });
            }
            continue;
        }
        let id = entry.data.get("message_id").and_then(Value::as_u64);
        let text = entry.data.get("text").and_then(Value::as_str);
        let (Lane::Telegram, Some(id), Some(text)) = (entry.lane, id, text) else { continue };
        if !entry.is_shown() {
            continue;
        }
        let spans = match profile {
            Profile::Telegram => spans(text),
            // Marks of other services stand as they are.
            Profile::Discord | Profile::Slack => {
                vec![Span { text: visible(text), marks: String::new(), link: None }]
            }
        };
        let edits = messages.get(&id).map_or(0, |before| before.edits + 1);
        let is_final = entry.data.get("final") == Some(&Value::Bool(true));
        messages.insert(id, Message { edits, is_final, spans });
        let messages = messages.values().cloned().collect();
        frames.push(Frame { at: entry.at, entry: number, messages });
    }
    frames
}

/// Marks the messages that hold the final text, if it was there before it was final; whether one is.
fn mark_final(messages: &mut BTreeMap<u64, Message>, entry: &Entry) -> bool {
    let ids = entry.data.get("message_ids").and_then(Value::as_array);
    let mut is_new = false;
    for id in ids.into_iter().flatten().filter_map(Value::as_u64) {
        if let Some(message) = messages.get_mut(&id) {
            is_new |= !std::mem::replace(&mut message.is_final, true);
        }
    }
    is_new
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
        let frames = frames(&entries, Profile::Telegram);
        let seen: Vec<_> = frames.iter().map(|frame| (frame.at, frame.entry)).collect();
        assert_eq!(seen, [(5, 0), (9, 3)]);
        assert_eq!(frames[0].messages[0].spans[0].marks, "b");
        let [last] = &frames[1].messages[..] else { panic!("one message") };
        assert_eq!((last.edits, last.is_final, last.spans[0].text.as_str()), (1, true, "b"));
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
        let frames = frames(&entries, Profile::Telegram);
        let seen: Vec<_> =
            frames.iter().map(|frame| (frame.at, frame.messages[0].is_final)).collect();
        assert_eq!(seen, [(5, false), (6, true)]);
    }
}
