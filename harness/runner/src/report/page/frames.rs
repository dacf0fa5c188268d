//! The frames of a chat, what a person saw after each call of the Bot API, as runs of marked text; and its key frames,
//! the few moments that summarise a run, each as a small chat with a link to its moment.

use std::collections::BTreeMap;

use clitape_recording::chat::ChatChange;
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::Span;
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use maud::{Markup, html};
use serde::Serialize;

use super::waterfall::seconds;
use crate::report::chat::{TwoSidedChat, TwoSidedMessage, asked};

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
    earlier: usize,
    /// The number of messages of the person.
    #[serde(skip)]
    written: usize,
    /// The last messages, the oldest first, as indices in [`ChatFrames::messages`].
    pub(crate) messages: Vec<usize>,
}

/// A message in one of its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChatMessage {
    /// The virtual time of this state, in ms since the start of the replay.
    pub(crate) at: u64,
    /// The number of edits so far.
    edits: u64,
    /// True if it contains the final text.
    is_final: bool,
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
    fn shown(&self, frame: &ChatFrame) -> impl Iterator<Item = &ChatMessage> {
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

/// The most key frames of a run: the first and the last ones are shown, those between are counted.
const MOST_KEY_FRAMES: usize = 8;

/// A moment with something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyFrame {
    /// The words for what is new.
    title: String,
    /// Its index among the frames.
    pub(crate) frame: usize,
}

/// Returns the key frames in their order: the first sign of life, each frame that comes after tool calls began, the
/// first one with text, a message of the person, and the final text; the last one where no text is said to be final.
pub(crate) fn key_frames(entries: &[Entry], chat: &ChatFrames) -> Vec<KeyFrame> {
    let mut found = Vec::new();
    let (mut next, mut has_sign, mut has_text, mut own) = (0, false, false, 0);
    let is_final = |frame: &ChatFrame| chat.shown(frame).any(|message| message.is_final);
    // A gateway of others does not say which of its texts is the final one.
    let is_over =
        entries.iter().any(|entry| entry.lane == Lane::Lifecycle && entry.kind == "outcome");
    let says_none = is_over && !chat.frames.iter().any(is_final);
    for (number, frame) in chat.frames.iter().enumerate() {
        let mut titles: Vec<String> = Vec::new();
        if frame.written > own {
            titles.push("asked".into());
        }
        own = frame.written;
        if frame.is_answered() {
            if !has_sign {
                titles.push("first sign".into());
            }
            has_sign = true;
            let since = entries.get(next..=frame.entry).unwrap_or_default();
            next = frame.entry + 1;
            let since = || since.iter().filter(|entry| entry.lane == Lane::Lifecycle);
            let names = since().filter(|entry| entry.kind == "tool_start").map(|entry| {
                let name = entry.field("name").and_then(|name| name.as_str());
                name.unwrap_or("a tool").to_owned()
            });
            titles.extend(names);
            if !has_text && since().any(|entry| entry.kind == "text") {
                has_text = true;
                titles.push("text".into());
            }
        }
        let before = number.checked_sub(1).and_then(|before| chat.frames.get(before));
        if is_final(frame) && !before.is_some_and(is_final) {
            titles.push("final".into());
        } else if says_none && number + 1 == chat.frames.len() && frame.is_answered() {
            titles.push("last".into());
        }
        if !titles.is_empty() {
            found.push(KeyFrame { title: titles.join(", "), frame: number });
        }
    }
    found
}

/// Returns the key frames that are shown, and the number of those that are left out before the last ones.
fn shown_key_frames(frames: &[KeyFrame]) -> (&[KeyFrame], usize, &[KeyFrame]) {
    let more = frames.len().saturating_sub(MOST_KEY_FRAMES);
    let (first, last) = frames.split_at(if more > 0 { MOST_KEY_FRAMES / 2 } else { frames.len() });
    (first, more, &last[more..])
}

/// Returns the strip of a run; `place` is the index of the run among all of the page.
pub(super) fn key_frame_strip(place: usize, entries: &[Entry], chat: &ChatFrames) -> Markup {
    let all = key_frames(entries, chat);
    let (first, more, last) = shown_key_frames(&all);
    let link =
        |at: u64| if place == 0 { format!("#t={at}") } else { format!("#run={place}&t={at}") };
    let one = |key: &KeyFrame| {
        let frame = &chat.frames[key.frame];
        html! {
            a.moment href=(link(frame.at)) {
                b { (key.title) } " " span.when { (seconds(frame.at)) }
                div.small { @for message in chat.shown(frame) { (bubble(message)) } }
            }
            "\n"
        }
    };
    html! {
        @if !all.is_empty() {
            nav.moments aria-label="key frames" {
                @for key in first { (one(key)) }
                @if more > 0 { span.more { "… " (plural(more, "more moment")) " …" } }
                @for key in last { (one(key)) }
            }
            "\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use clitape_recording::scenario::ChatProfile;

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

    fn entries(lines: &[(u64, &str, &str)]) -> Vec<Entry> {
        let entry = |(at, kind, data): &(u64, &str, &str)| {
            let lane = if kind.contains("Message") { "telegram" } else { "lifecycle" };
            let line =
                format!(r#"{{"at":{at},"lane":"{lane}","kind":"{kind}","data":{{{data}}}}}"#);
            serde_json::from_str(&line).unwrap()
        };
        lines.iter().map(entry).collect()
    }

    #[track_caller]
    fn check(lines: &[(u64, &str, &str)], prompt: Option<&str>, expect: &[(u64, &str)]) {
        let entries = entries(lines);
        let chat = ChatFrames::of(&entries, ChatProfile::Telegram, prompt);
        let found = key_frames(&entries, &chat);
        let found: Vec<_> =
            found.iter().map(|key| (chat.frames[key.frame].at, key.title.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_key_frame_is_what_is_new() {
        let read = (1, "tool_start", r#""id":"a","name":"Read""#);
        let bash = (5, "tool_start", r#""id":"b","name":"Bash""#);
        let text = (6, "text", r#""text":"Hi.""#);
        let send = (2, "sendMessage", r#""message_id":1,"text":"Read""#);
        let edit = (7, "editMessageText", r#""message_id":1,"text":"Bash""#);
        let same = (8, "editMessageText", r#""message_id":1,"text":"Bash.""#);
        let last = (9, "editMessageText", r#""message_id":1,"text":"Hi.","final":true"#);
        check(&[read, send], None, &[(2, "first sign, Read")]);
        check(
            &[read, send, bash, text, edit, same, last],
            Some("Go."),
            &[(0, "asked"), (2, "first sign, Read"), (7, "Bash, text"), (9, "final")],
        );
        let end = (8, "outcome", r#""status":"ok""#);
        check(&[read, send, edit, end], None, &[(2, "first sign, Read"), (7, "last")]);
        check(&[read], Some("Go."), &[(0, "asked")]);
        check(&[read], None, &[]);
    }

    #[test]
    fn of_many_key_frames_the_first_and_the_last_are_shown() {
        let all: Vec<_> = (0..12).map(|frame| KeyFrame { title: "t".into(), frame }).collect();
        let places = |frames: &[KeyFrame]| frames.iter().map(|key| key.frame).collect::<Vec<_>>();
        let (first, more, last) = shown_key_frames(&all);
        assert_eq!((places(first), more, places(last)), (vec![0, 1, 2, 3], 4, vec![8, 9, 10, 11]));
        let (first, more, last) = shown_key_frames(&all[..MOST_KEY_FRAMES]);
        assert_eq!((first.len(), more, last.len()), (MOST_KEY_FRAMES, 0, 0));
    }

    #[test]
    fn a_draft_is_a_message_of_a_frame() {
        let draft = [(4200, "sendMessageDraft", r#""draft_id":1,"text":"a""#)];
        let chat = ChatFrames::of(&entries(&draft), ChatProfile::Telegram, None);
        let last = chat.frames.last().unwrap();
        assert_eq!((last.earlier, last.messages.len(), last.is_answered()), (0, 1, true));
    }

    #[test]
    fn a_key_frame_leads_to_its_moment() {
        let entries = entries(&[(4200, "sendMessage", r#""message_id":1,"text":"<b>a</b>&lt;""#)]);
        let chat = ChatFrames::of(&entries, ChatProfile::Telegram, None);
        let strip = |place| key_frame_strip(place, &entries, &chat).into_string();
        assert!(strip(0).contains("href=\"#t=4200\""), "{}", strip(0));
        assert!(strip(2).contains("href=\"#run=2&amp;t=4200\""), "{}", strip(2));
        assert!(strip(0).contains("<span class=\"b\">a</span><span>&lt;</span>"), "{}", strip(0));
    }
}
