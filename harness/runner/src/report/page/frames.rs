//! The frames of a chat: what a person saw after each call of the Bot API, as runs of marked text.

use std::collections::BTreeMap;

use clitape_recording::chat::ChatChange;
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::Span;
use clitape_recording::trace::Entry;
use maud::{Markup, html};
use serde::Serialize;

use crate::report::two_sided::{TwoSidedChat, TwoSidedMessage, asked};

/// The most messages of a frame: the last ones. Those above them are counted.
pub(crate) const MESSAGES: usize = 30;

/// The frames of a chat, and the messages that they show.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ChatFrames {
    /// Each message, once for each of its changes.
    pub(crate) messages: Vec<ChatMessage>,
    /// The frames, in the order of time.
    pub(crate) frames: Vec<ChatFrame>,
}

/// The chat from a moment on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChatFrame {
    /// The virtual time since the start of the replay, in ms.
    pub(crate) at: u64,
    /// The index of the entry that changed the chat; 0 for the prompt on the command line.
    pub(crate) entry: usize,
    /// The number of messages above those that are shown.
    pub(crate) earlier: usize,
    /// The number of messages of the person.
    #[serde(skip)]
    pub(crate) written: usize,
    /// The last messages, the oldest first, as indices in [`ChatFrames::messages`].
    pub(crate) messages: Vec<usize>,
}

/// A message in one of its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChatMessage {
    /// The virtual time of this state, in ms since the start of the replay.
    pub(crate) at: u64,
    /// The number of edits so far.
    pub(crate) edits: u64,
    /// True if it contains the final text.
    pub(crate) is_final: bool,
    /// True if the person wrote it.
    pub(crate) is_own: bool,
    /// The text.
    pub(crate) spans: Vec<Span>,
}

impl ChatFrames {
    /// Returns the frames of a trace, one for each change. `prompt` is the prompt on the command line: it is the
    /// person's first message, with its own frame.
    pub(crate) fn of(entries: &[Entry], profile: ChatProfile, prompt: Option<&str>) -> Self {
        let mut all = Self::default();
        let prompt = prompt.map(|prompt| {
            all.messages.push(ChatMessage {
                at: 0,
                edits: 0,
                is_final: false,
                is_own: true,
                spans: vec![asked(prompt)],
            });
            all.frames.push(ChatFrame {
                at: 0,
                entry: 0,
                earlier: 0,
                written: 1,
                messages: vec![0],
            });
            0
        });
        let asked = usize::from(prompt.is_some());
        let mut chat = TwoSidedChat::default();
        // The index of each message, by the entry with its text, its edits, and whether it is final.
        let mut places: BTreeMap<(usize, u64, bool), usize> = BTreeMap::new();
        for (number, entry) in entries.iter().enumerate() {
            if chat.apply(number, entry) == ChatChange::Nothing {
                continue;
            }
            let latest = chat.latest(MESSAGES).into_iter().map(|message| {
                let (edits, is_final) = state(message);
                *places.entry((message.entry(), edits, is_final)).or_insert_with(|| {
                    all.messages.push(seen(message, entries, profile));
                    all.messages.len() - 1
                })
            });
            let (count, written) = chat.count();
            let mut messages: Vec<usize> = latest.collect();
            if messages.len() < MESSAGES {
                messages.splice(..0, prompt);
            }
            let earlier = count + asked - messages.len();
            let written = written + asked;
            all.frames.push(ChatFrame { at: entry.at, entry: number, earlier, written, messages });
        }
        all
    }

    /// Returns the messages of a frame, the oldest first.
    pub(crate) fn shown(&self, frame: &ChatFrame) -> impl Iterator<Item = &ChatMessage> {
        frame.messages.iter().map(|place| &self.messages[*place])
    }
}

impl ChatFrame {
    /// Returns whether the agent has a message in it.
    pub(crate) fn is_answered(&self) -> bool {
        self.earlier + self.messages.len() > self.written
    }
}

/// Returns all messages in the chat at the end of a trace.
pub(crate) fn last_messages(entries: &[Entry], profile: ChatProfile) -> Vec<ChatMessage> {
    let mut chat = TwoSidedChat::default();
    for (number, entry) in entries.iter().enumerate() {
        chat.apply(number, entry);
    }
    let messages = chat.messages().into_iter();
    messages.map(|message| seen(message, entries, profile)).collect()
}

/// Returns the number of edits of a message, and whether it contains the final text.
fn state(message: TwoSidedMessage<'_>) -> (u64, bool) {
    match message {
        TwoSidedMessage::Written(_) => (0, false),
        TwoSidedMessage::Seen(seen) => (seen.edits, seen.is_final),
    }
}

fn seen(message: TwoSidedMessage<'_>, entries: &[Entry], profile: ChatProfile) -> ChatMessage {
    let (edits, is_final) = state(message);
    let (at, spans) = (entries[message.entry()].at, message.spans(profile));
    ChatMessage { at, edits, is_final, is_own: message.is_own(), spans }
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
        let chat = ChatFrames::of(&entries, ChatProfile::Telegram, None);
        let seen: Vec<_> = chat.frames.iter().map(|frame| (frame.at, frame.entry)).collect();
        assert_eq!(seen, [(5, 0), (9, 3)]);
        let [first, last] = [0, 1].map(|frame| chat.shown(&chat.frames[frame]).next().unwrap());
        assert_eq!(first.spans[0].marks, "b");
        assert_eq!((last.edits, last.is_final, last.spans[0].text.as_str()), (1, true, "b"));
    }

    #[test]
    fn what_the_command_line_asked_is_the_first_message() {
        let line =
            r#"{"at":5,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"a"}}"#;
        let entries: Vec<Entry> = vec![serde_json::from_str(line).unwrap()];
        let chat = ChatFrames::of(&entries, ChatProfile::Telegram, Some("<b>?"));
        let seen: Vec<Vec<_>> = chat
            .frames
            .iter()
            .map(|frame| {
                let messages = chat.shown(frame);
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
        let chat = ChatFrames::of(&entries, ChatProfile::Telegram, None);
        let is_final = |frame| chat.shown(frame).any(|message| message.is_final);
        let seen: Vec<_> = chat.frames.iter().map(|frame| (frame.at, is_final(frame))).collect();
        assert_eq!(seen, [(5, false), (6, true)]);
    }

    #[test]
    fn a_frame_of_a_long_chat_has_the_last_messages_and_counts_the_others() {
        let send = |id: usize| {
            let line = format!(
                r#"{{"at":5,"lane":"telegram","kind":"sendMessage","data":{{"message_id":{id},"text":"{id}"}}}}"#
            );
            serde_json::from_str(&line).unwrap()
        };
        let entries: Vec<Entry> = (1..=MESSAGES + 5).map(send).collect();
        for (prompt, asked) in [(None, 0), (Some("Go."), 1)] {
            let chat = ChatFrames::of(&entries, ChatProfile::Telegram, prompt);
            assert_eq!(chat.messages.len(), MESSAGES + 5 + asked, "each message is there once");
            let of = |sent: usize| {
                let frame = &chat.frames[asked + sent - 1];
                let texts = chat.shown(frame).map(|message| message.spans[0].text.clone());
                (frame.earlier, frame.written, texts.collect::<Vec<_>>())
            };
            let texts = |from: usize, to| (from..=to).map(|id| id.to_string()).collect::<Vec<_>>();
            let full = of(MESSAGES);
            assert_eq!((full.0, full.1, full.2), (asked, asked, texts(1, MESSAGES)));
            assert_eq!(of(MESSAGES + 5), (5 + asked, asked, texts(6, MESSAGES + 5)));
            assert_eq!(of(MESSAGES - 1).2.len(), MESSAGES - 1 + asked);
        }
        assert_eq!(last_messages(&entries, ChatProfile::Telegram).len(), MESSAGES + 5);
    }
}
