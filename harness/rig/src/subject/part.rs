//! The part of a chat that belongs to one run: its entries since the person wrote the prompt.

use std::collections::BTreeSet;

use clitape_judge::finally_read;
use clitape_recording::chat::ChatView;
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::Entry;
use serde_json::Value;

use super::persons::Seat;
use super::placeholders::Places;
use crate::chat_server::{ChatServer, PersonError, PressTarget};

/// The call that shows that the bot types; a gateway repeats it while a run lasts.
pub(crate) const TYPING: &str = "sendChatAction";
/// The characters that a sentence quotes from a chat.
const QUOTE: usize = 160;
/// The most labels of buttons that it quotes.
const LABELS: usize = 8;

/// The part of a chat that belongs to one run.
#[derive(Debug, Clone)]
pub(crate) struct ChatPart<'a> {
    server: &'a ChatServer,
    /// The placeholders of the start, with their values.
    places: &'a Places,
    seat: Seat,
    topic: Option<i64>,
    /// The number of entries of the chat before this part.
    known: usize,
    /// The messages of the bot before this part. Entries about them belong to an earlier run.
    before: BTreeSet<i64>,
}

impl<'a> ChatPart<'a> {
    /// Begins a part at the present end of the chat.
    pub(crate) fn new(
        server: &'a ChatServer,
        places: &'a Places,
        seat: Seat,
        topic: Option<i64>,
    ) -> Self {
        let mut part = Self { server, places, seat, topic, known: 0, before: BTreeSet::new() };
        part.begin();
        part
    }

    /// Moves the start of the part to the present end of the chat.
    pub(crate) fn begin(&mut self) {
        let entries = self.server.entries_after(self.seat.chat, 0);
        self.before = entries.iter().filter(|entry| sends(entry)).filter_map(number).collect();
        self.known = entries.len();
    }

    /// Returns a text of the settings with its placeholders filled, as this person writes it.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.seat.fill(text, self.places)
    }

    /// Returns whether the gateway reads messages: it asks for updates, or has set a webhook.
    pub(crate) fn is_read(&self) -> bool {
        self.server.polled()
    }

    /// Writes a text as the person, in the topic if there is one.
    pub(crate) fn say(&self, text: &str) -> Result<(), PersonError> {
        let said = match self.topic {
            Some(topic) => self.server.say_in_topic(self.seat.chat, topic, text),
            None => self.server.say(self.seat.chat, text),
        };
        said.map(drop)
    }

    /// Presses a button as the person.
    pub(crate) fn press(&self, target: PressTarget, label: &str) -> Result<(), PersonError> {
        self.server.press(self.seat.chat, target, label)
    }

    /// Returns the entries of this part; `at` counts from the person's first message in it.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let entries = self.server.entries_after(self.seat.chat, self.known);
        own(entries, self.topic, &self.before)
    }

    /// Returns the topics that the bot made in this part.
    pub(crate) fn new_topics(&self) -> Vec<i64> {
        let entries = self.server.entries_after(self.seat.chat, self.known);
        let made = entries.iter().filter(|entry| entry.kind == "createForumTopic");
        made.filter(|entry| entry.is_shown()).filter_map(topic).collect()
    }
}

/// Returns whether an entry adds a message.
fn sends(entry: &Entry) -> bool {
    entry.kind.starts_with("send") && entry.field("message_id").is_some()
}

/// Returns the number of the message that an entry is about.
fn number(entry: &Entry) -> Option<i64> {
    entry.field("message_id").and_then(Value::as_i64)
}

fn topic(entry: &Entry) -> Option<i64> {
    entry.field("topic").and_then(Value::as_i64)
}

/// Keeps the entries that belong to the topic, if there is one, and that are not about earlier messages.
fn own(mut entries: Vec<Entry>, of: Option<i64>, before: &BTreeSet<i64>) -> Vec<Entry> {
    let mut in_topic = BTreeSet::new();
    entries.retain(|entry| {
        let id = number(entry);
        if id.is_some_and(|id| before.contains(&id)) {
            return false;
        }
        if of.is_none() {
            return true;
        }
        if topic(entry).is_some() {
            let is_own = topic(entry) == of;
            in_topic.extend(id.filter(|_| is_own));
            return is_own;
        }
        let several = entry.field("message_ids").and_then(Value::as_array).into_iter().flatten();
        id.into_iter().chain(several.filter_map(Value::as_i64)).any(|id| in_topic.contains(&id))
    });
    if of.is_some() {
        // The number of a topic differs from run to run.
        entries.iter_mut().for_each(|entry| drop(entry.data_mut().shift_remove("topic")));
    }
    entries
}

/// Returns the last words in a chat: the text and the buttons of the bot's newest message.
pub(crate) fn last_words(entries: &[Entry]) -> Option<String> {
    let text = finally_read(entries).pop()?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let view = ChatView::after(entries);
    let buttons = view.messages().next_back().into_iter().flat_map(|last| last.buttons.iter());
    let buttons = buttons.flatten().take(LABELS).map(|label| format!(" [{label}]"));
    Some(format!("“{}”{}", truncate(&text, QUOTE, Keep::Start), buttons.collect::<String>()))
}

#[cfg(test)]
pub(super) mod tests {

    use clitape_recording::trace::Lane;

    use super::*;

    /// Makes entries of a lane at 1 ms, each from a line `KIND DATA`.
    pub(in crate::subject) fn entries_of(lane: Lane, lines: &[&str]) -> Vec<Entry> {
        let entry = |line: &&str| {
            let (kind, data) = line.split_once(' ').unwrap();
            let line = format!(r#"{{"at":1,"lane":"{lane}","kind":"{kind}","data":{data}}}"#);
            serde_json::from_str(&line).unwrap()
        };
        lines.iter().map(entry).collect()
    }

    #[track_caller]
    fn check(lines: &[&str], topic: Option<i64>, before: &[i64], expect: &[usize]) {
        let all = entries_of(Lane::Telegram, lines);
        let own = own(all.clone(), topic, &before.iter().copied().collect());
        let kinds = |entries: &[Entry]| -> Vec<(String, Option<i64>)> {
            entries.iter().map(|entry| (entry.kind.to_string(), number(entry))).collect()
        };
        let expect: Vec<Entry> = expect.iter().map(|at| all[*at].clone()).collect();
        assert_eq!(kinds(&own), kinds(&expect));
    }

    #[test]
    fn late_calls_of_the_run_before_are_left_out() {
        let lines = [
            r#"(user) {"text":"a","user_message_id":3}"#,
            r#"editMessageText {"message_id":2,"text":"late"}"#,
            r#"sendMessage {"message_id":4,"text":"b"}"#,
            r#"sendChatAction {"action":"typing"}"#,
            r#"editMessageText {"message_id":4,"text":"c"}"#,
        ];
        check(&lines, None, &[2], &[0, 2, 3, 4]);
        check(&lines, None, &[], &[0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_topic_has_its_own_messages() {
        let lines = [
            r#"(user) {"text":"a","user_message_id":3,"topic":9}"#,
            r#"sendMessage {"message_id":4,"text":"b","topic":9}"#,
            r#"sendMessage {"message_id":5,"text":"b","topic":8}"#,
            r#"editMessageText {"message_id":4,"text":"c"}"#,
            r#"editMessageText {"message_id":5,"text":"c"}"#,
            r#"sendChatAction {"action":"typing","topic":9}"#,
            r#"sendChatAction {"action":"typing"}"#,
            r#"(press) {"message_id":4,"label":"x"}"#,
            r#"deleteMessages {"message_ids":[4,5]}"#,
        ];
        check(&lines, Some(9), &[], &[0, 1, 3, 5, 7, 8]);
    }

    #[test]
    fn the_last_words_of_a_chat_are_its_newest_message_with_buttons() {
        let lines = [
            r#"sendMessage {"message_id":4,"text":"first"}"#,
            r#"sendMessage {"message_id":5,"text":"<b>Choose</b>\n one","parse_mode":"HTML","buttons":[["a","b"]]}"#,
        ];
        assert_eq!(
            last_words(&entries_of(Lane::Telegram, &lines)).unwrap(),
            "“Choose one” [a] [b]"
        );
        assert_eq!(last_words(&[]), None);
    }
}
