//! The key frames of a chat: the few moments that summarise a run, each as a small chat with a link to its moment.

use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use maud::{Markup, html};

use super::frames::{ChatFrame, ChatFrames, bubble};
use super::waterfall::seconds;

/// The most key frames of a run: the first and the last ones are shown, those between are counted.
const MOST: usize = 8;

/// A moment with something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyFrame {
    /// The words for what is new.
    pub(crate) title: String,
    /// Its index among the frames.
    pub(crate) frame: usize,
}

/// Returns the key frames in their order: the first sign of life, each frame that comes after tool calls began, the
/// first one with text, a message of the person, and the final text.
pub(crate) fn key_frames(entries: &[Entry], chat: &ChatFrames) -> Vec<KeyFrame> {
    let mut found = Vec::new();
    let (mut next, mut has_sign, mut has_text, mut own) = (0, false, false, 0);
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
        let is_final = |frame: &ChatFrame| chat.shown(frame).any(|message| message.is_final);
        let before = number.checked_sub(1).and_then(|before| chat.frames.get(before));
        if is_final(frame) && !before.is_some_and(is_final) {
            titles.push("final".into());
        }
        if !titles.is_empty() {
            found.push(KeyFrame { title: titles.join(", "), frame: number });
        }
    }
    found
}

/// Returns the key frames that are shown, and the number of those that are left out before the last ones.
pub(crate) fn shown(frames: &[KeyFrame]) -> (&[KeyFrame], usize, &[KeyFrame]) {
    let more = frames.len().saturating_sub(MOST);
    let (first, last) = frames.split_at(if more > 0 { MOST / 2 } else { frames.len() });
    (first, more, &last[more..])
}

/// Returns the strip of a run; `place` is the index of the run among all of the page.
pub(super) fn strip(place: usize, entries: &[Entry], chat: &ChatFrames) -> Markup {
    let all = key_frames(entries, chat);
    let (first, more, last) = shown(&all);
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
        check(&[read], Some("Go."), &[(0, "asked")]);
        check(&[read], None, &[]);
    }

    #[test]
    fn of_many_key_frames_the_first_and_the_last_are_shown() {
        let all: Vec<_> = (0..12).map(|frame| KeyFrame { title: "t".into(), frame }).collect();
        let places = |frames: &[KeyFrame]| frames.iter().map(|key| key.frame).collect::<Vec<_>>();
        let (first, more, last) = shown(&all);
        assert_eq!((places(first), more, places(last)), (vec![0, 1, 2, 3], 4, vec![8, 9, 10, 11]));
        let (first, more, last) = shown(&all[..MOST]);
        assert_eq!((first.len(), more, last.len()), (MOST, 0, 0));
    }

    #[test]
    fn a_key_frame_leads_to_its_moment() {
        let entries = entries(&[(4200, "sendMessage", r#""message_id":1,"text":"<b>a</b>&lt;""#)]);
        let chat = ChatFrames::of(&entries, ChatProfile::Telegram, None);
        let strip = |place| strip(place, &entries, &chat).into_string();
        assert!(strip(0).contains("href=\"#t=4200\""), "{}", strip(0));
        assert!(strip(2).contains("href=\"#run=2&amp;t=4200\""), "{}", strip(2));
        assert!(strip(0).contains("<span class=\"b\">a</span><span>&lt;</span>"), "{}", strip(0));
    }
}
