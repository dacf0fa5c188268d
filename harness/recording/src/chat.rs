//! The chat as a person sees it: one fold over the calls of the Telegram lane.
//!
//! Everything that shows, compares or judges a chat uses this fold, so that no two of them can disagree: the
//! equivalence of plans, the comparison of two sides, the proof, the page, the pictures, the terminal, and the rules
//! for other gateways. [`ChatView`] is the chat at one moment and stores only that. [`ChatHistory`] builds on it and
//! also stores every earlier text of a message.
//!
//! There is one policy for the calls:
//!
//! - **Refused.** A call with `"shown": false` changes nothing, and neither does one with `refused`. The exception is
//!   "not modified": without `"shown": false` the server made that edit, so it counts.
//! - **Lost replies.** A call whose reply was lost changes the chat like any other: the person sees it, although the
//!   caller does not know. A new message whose reply was lost is [out of reach](SeenMessage::is_out_of_reach), because
//!   the caller lacks its number, until a call about it comes nevertheless. If it has no part of the final text, it is
//!   an [orphan](SeenMessage::is_orphaned): a person sees it, but it is not in the [final text](ChatView::final_text).
//! - **Deletes.** `deleteMessage` and `deleteMessages` remove the messages of `message_id` and `message_ids`. Edits do
//!   not bring a message back: Telegram refuses them, and an edit that is entered behind the delete was made before it.
//!   A new message with the number of a deleted one is another message, because entries may be of several chats.
//! - **Drafts.** A text of `sendMessageDraft` or `sendRichMessageDraft` is a [draft](SeenDraft) below the messages of its
//!   topic, and no message: it goes by itself after 30 s, when a message comes to the topic, or when the person stops it,
//!   which is the entry `(stop)`. `sendChatAction` changes nothing.
//! - **Albums.** `sendMediaGroup` sends a message for each part of `album`.
//! - **Captions and files.** A caption is a text like any other; what stands in a file is its [text](SeenFile::text). A message keeps its file when its caption or its
//!   buttons are edited.
//! - **Buttons.** `editMessageReplyMarkup` gives a message other buttons, or none; its text stays.
//! - **Calls that overlap** (`done_at`). The call that the server handled last gives a message its text, whatever their
//!   order. In the history, the text of the other one comes before it.
//! - **Time.** A text is visible from `done_at` on, or else from the reply on, `took_ms` after the call.
//! - **Markup.** A text is the Bot API's HTML, which [`text::markup`](crate::text::markup) reads: the field `html` of
//!   the call, or else its text. The chat's server writes `html` if the text was sent as Markdown, without markup, or
//!   with unusual entities. Texts of services other than Telegram are shown unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::scenario::{ChatProfile, FaultKind};
use crate::text::markup::{BUTTON, Span, button, literal, read, spans};
use crate::text::shown::letters;
use crate::trace::{Entry, Lane};

/// A chat at one moment.
#[derive(Debug, Clone, Default)]
pub struct ChatView {
    messages: BTreeMap<u64, SeenMessage>,
    /// The numbers of the deleted messages.
    deleted: BTreeSet<u64>,
    /// The draft of each topic, or of the chat without topics.
    drafts: BTreeMap<Option<u64>, SeenDraft>,
}

/// A text that the bot is still writing, as a person sees it below the messages.
#[derive(Debug, Clone)]
pub struct SeenDraft {
    /// The bot's number for it; a further text with this number goes on with it.
    pub id: i64,
    /// The present text.
    pub text: SeenMessage,
}

/// One message of a chat at one moment.
#[derive(Debug, Clone)]
pub struct SeenMessage {
    /// The text in the markup of the chat's service.
    pub text: Arc<str>,
    /// Its file; `None` without one.
    pub file: Option<SeenFile>,
    /// The labels of its buttons, row by row; empty without buttons.
    pub buttons: Vec<Vec<String>>,
    /// True if the message asks a question, or shows the outcome of one.
    pub is_question: bool,
    /// The number of edits of its text.
    pub edits: u64,
    /// True if the message contains a part of the final text.
    pub is_final: bool,
    /// True if the reply to the call that sent it was lost, so that the caller can't change or delete it.
    pub is_out_of_reach: bool,
    /// True if it is the text of a draft.
    pub is_draft: bool,
    /// The index of the entry that set its text, among the applied entries.
    pub entry: usize,
    /// The time from which it is visible, in ms.
    pub at: u64,
    /// The time at which the server handled the call that set its text, if that call overlapped another one.
    done_at: Option<u64>,
    /// The text that a person reads, computed on first use.
    reading: OnceLock<Reading>,
}

/// The file of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Its name, as the bot gave it.
    pub name: String,
    /// What a person reads who opens it; `None` if that is unknown, or no text.
    pub text: Option<String>,
}

/// The ends of the names of files that a person opens to read them.
const TEXT_FILES: [&str; 4] = [".txt", ".md", ".markdown", ".html"];

/// The text of a message without its markup.
#[derive(Debug, Clone)]
struct Reading {
    text: String,
    letters: String,
}

/// The effect of an entry on a chat.
enum Effect {
    /// The entry changes nothing.
    Nothing,
    /// The message with this number is new, or has changed to this.
    Seen(u64, SeenMessage),
    /// The message with this number was this before its present text, because its call was overtaken.
    Overtaken(u64, SeenMessage),
    /// The messages with these numbers are gone.
    Deleted(Vec<u64>),
    /// The messages with these numbers have the final text.
    Final(Vec<u64>),
    /// An album came, with these messages.
    Album(Vec<(u64, SeenMessage)>),
    /// The draft of a topic is new, or has changed to this.
    Drafted(Option<u64>, SeenDraft),
    /// The person stopped the draft of a topic, and it is gone.
    Stopped(Option<u64>),
}

/// The change of a chat by an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatChange {
    /// The entry is of another lane, was refused, or marks a message that was marked before.
    Nothing,
    /// A call gave a message the text that it already had.
    SameText,
    /// A message is new, has another text, or is deleted.
    Text,
    /// A message's present text became final.
    Final,
}

impl ChatView {
    /// Returns the chat after all of `entries`; other lanes are ignored.
    pub fn after(entries: &[Entry]) -> Self {
        let mut view = Self::default();
        for (number, entry) in entries.iter().enumerate() {
            view.apply(number, entry);
        }
        view
    }

    /// Applies the entry with the index `number`.
    pub fn apply(&mut self, number: usize, entry: &Entry) -> ChatChange {
        self.end_drafts(entry);
        let effect = self.effect(number, entry);
        self.take(effect)
    }

    /// Removes the drafts that are gone by the time of an entry, and the one that its message replaces; returns their
    /// topics.
    fn end_drafts(&mut self, entry: &Entry) -> Vec<Option<u64>> {
        if self.drafts.is_empty() || entry.lane != Lane::Telegram {
            return Vec::new();
        }
        let replaced = (entry.makes_message() && entry.is_shown()).then(|| entry.topic());
        let is_gone = |topic: &Option<u64>, draft: &mut SeenDraft| {
            replaced == Some(*topic) || draft.text.at + DRAFT_MS <= entry.seen_at()
        };
        self.drafts.extract_if(.., is_gone).map(|(topic, _)| topic).collect()
    }

    /// Returns the effect of the entry with the index `number` on the present chat.
    fn effect(&self, number: usize, entry: &Entry) -> Effect {
        if entry.lane != Lane::Telegram || !entry.is_shown() {
            return Effect::Nothing;
        }
        let known = || entry.message_ids().filter(|id| self.messages.contains_key(id)).collect();
        match entry.kind.as_ref() {
            "final" => Effect::Final(known()),
            "deleteMessage" | "deleteMessages" => Effect::Deleted(known()),
            "sendMediaGroup" => Effect::Album(album(number, entry)),
            "sendMessageDraft" | "sendRichMessageDraft" => {
                let id = entry.field("draft_id").and_then(Value::as_i64).unwrap_or(0);
                let text = entry.html().filter(|text| !text.is_empty()).unwrap_or(THINKING);
                let text = SeenMessage { is_draft: true, ..SeenMessage::of(number, entry, text) };
                Effect::Drafted(entry.topic(), SeenDraft { id, text })
            }
            "(stop)" if entry.field("kept").is_none() => Effect::Stopped(entry.topic()),
            _ => self.text_effect(number, entry).unwrap_or(Effect::Nothing),
        }
    }

    /// Returns the effect of a call that gives a message a text or buttons; `None` for any other call.
    fn text_effect(&self, number: usize, entry: &Entry) -> Option<Effect> {
        let edits_buttons = entry.kind == EDIT_BUTTONS;
        if !entry.sets_text() && !edits_buttons {
            return None;
        }
        let id = entry.message_id()?;
        if !entry.makes_message() && self.deleted.contains(&id) {
            return None;
        }
        let before = self.messages.get(&id);
        let text = match entry.html() {
            Some(html) => html,
            None => &before.filter(|_| edits_buttons)?.text,
        };
        let file = SeenFile::of(&entry.data);
        let kept = || before.filter(|_| !entry.makes_message())?.file.clone();
        let done_at = entry.field("done_at").and_then(Value::as_u64);
        let message = SeenMessage {
            file: file.or_else(kept),
            edits: before.map_or(0, |before| before.edits + 1),
            done_at,
            ..SeenMessage::of(number, entry, text)
        };
        let is_overtaken =
            before.is_some_and(|before| done_at.is_some() && done_at < before.done_at);
        Some(if is_overtaken { Effect::Overtaken(id, message) } else { Effect::Seen(id, message) })
    }

    /// Applies the effect of an entry to the chat.
    fn take(&mut self, effect: Effect) -> ChatChange {
        match effect {
            Effect::Nothing | Effect::Overtaken(..) => ChatChange::Nothing,
            Effect::Seen(id, message) => {
                self.deleted.remove(&id);
                let is_same = self.messages.get(&id).is_some_and(|before| {
                    before.text == message.text && before.buttons == message.buttons
                });
                self.messages.insert(id, message);
                if is_same { ChatChange::SameText } else { ChatChange::Text }
            }
            Effect::Album(messages) => {
                for (id, message) in messages {
                    self.deleted.remove(&id);
                    self.messages.insert(id, message);
                }
                ChatChange::Text
            }
            Effect::Drafted(topic, draft) => {
                let text = draft.text.text.clone();
                let before = self.drafts.insert(topic, draft);
                let is_same = before.is_some_and(|before| before.text.text == text);
                if is_same { ChatChange::SameText } else { ChatChange::Text }
            }
            Effect::Stopped(topic) => match self.drafts.remove(&topic) {
                Some(_) => ChatChange::Text,
                None => ChatChange::Nothing,
            },
            Effect::Deleted(ids) => {
                for id in &ids {
                    self.messages.remove(id);
                }
                let is_changed = !ids.is_empty();
                self.deleted.extend(ids);
                if is_changed { ChatChange::Text } else { ChatChange::Nothing }
            }
            Effect::Final(ids) => {
                let mut is_new = false;
                for id in ids {
                    if let Some(message) = self.messages.get_mut(&id) {
                        is_new |= !std::mem::replace(&mut message.is_final, true);
                    }
                }
                if is_new { ChatChange::Final } else { ChatChange::Nothing }
            }
        }
    }

    /// Returns all visible messages, the oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &SeenMessage> + ExactSizeIterator {
        self.messages.values()
    }

    /// Returns all visible messages with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &SeenMessage)> {
        self.messages.iter().map(|(id, message)| (*id, message))
    }

    /// Returns the drafts that are visible after the last entry, each with its topic.
    pub fn drafts(&self) -> impl Iterator<Item = (Option<u64>, &SeenDraft)> {
        self.drafts.iter().map(|(topic, draft)| (*topic, draft))
    }

    /// Returns the messages that a person reads at the end, the oldest first: all but orphaned drafts.
    pub fn final_messages(&self) -> impl Iterator<Item = &SeenMessage> {
        self.messages().filter(|message| !message.is_orphaned())
    }

    /// Returns the texts of the [final messages](Self::final_messages).
    pub fn final_text(&self) -> Vec<&str> {
        self.final_messages().map(|message| &*message.text).collect()
    }
}

/// Returns the messages of an album.
fn album(number: usize, entry: &Entry) -> Vec<(u64, SeenMessage)> {
    let parts = entry.field("album").and_then(Value::as_array).into_iter().flatten();
    let message = |part: &Value| {
        let id = part["message_id"].as_u64()?;
        let text = [CALL_HTML, "text"].iter().find_map(|key| part[*key].as_str());
        let file = SeenFile::of(part.as_object()?);
        let text = text.unwrap_or_default();
        Some((id, SeenMessage { file, ..SeenMessage::of(number, entry, text) }))
    };
    parts.filter_map(message).collect()
}

impl SeenFile {
    /// Returns the file of a call, or of a part of an album.
    fn of(data: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self { name: text("file")?, text: text(FILE_TEXT) })
    }

    /// Returns whether a person reads a file with this name.
    pub fn is_text(name: &str) -> bool {
        TEXT_FILES.iter().any(|end| name.to_lowercase().ends_with(end))
    }
}

impl SeenMessage {
    /// Creates the message of the entry with the index `number`.
    fn of(number: usize, entry: &Entry, text: &str) -> Self {
        Self {
            text: text.into(),
            file: None,
            buttons: entry.buttons(),
            is_question: entry.field("question").is_some(),
            edits: 0,
            is_final: entry.is_final(),
            is_out_of_reach: entry.makes_message() && entry.is_lost(),
            is_draft: false,
            entry: number,
            at: entry.seen_at(),
            done_at: None,
            reading: OnceLock::new(),
        }
    }

    /// Returns whether it is a draft that no caller can reach: it stays for good and has no part of the final text.
    pub fn is_orphaned(&self) -> bool {
        self.is_out_of_reach && !self.is_final
    }

    /// Returns the text that a person reads in Telegram: without its markup, and with its hiding characters.
    pub fn plain_text(&self) -> &str {
        &self.reading().text
    }

    /// Returns what a person reads: the text, and that of the file.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [self.plain_text()]
            .into_iter()
            .chain(self.file.as_ref().and_then(|file| file.text.as_deref()))
    }

    /// Returns the letters and digits of the [text](Self::plain_text), in lower case.
    pub fn letters(&self) -> &str {
        &self.reading().letters
    }

    fn reading(&self) -> &Reading {
        self.reading.get_or_init(|| {
            let text = read(&self.text);
            let letters = letters(&text);
            Reading { text, letters }
        })
    }

    /// Returns the text as runs with marks; the file and the buttons are below it, a line for each row, and a draft says
    /// that it is one.
    pub fn spans(&self, profile: ChatProfile) -> Vec<Span> {
        let mut all = match profile {
            ChatProfile::Telegram => spans(&self.text),
            // The marks of other services are shown unchanged.
            ChatProfile::Discord | ChatProfile::Slack => vec![literal(&self.text, "")],
        };
        if let Some(file) = &self.file {
            all.push(literal(&format!("\n📎 {}", file.name), ""));
        }
        for row in &self.buttons {
            for (place, label) in row.iter().enumerate() {
                all.push(literal(if place == 0 { "\n" } else { " " }, ""));
                all.push(literal(&button(label), BUTTON));
            }
        }
        if self.is_draft {
            all.push(literal("\n✎ draft", "i"));
        }
        all
    }
}

/// A chat with every state of its messages.
#[derive(Debug, Clone, Default)]
pub struct ChatHistory {
    now: ChatView,
    /// The messages by their numbers and by the first entry of each, because a number may be used again.
    messages: BTreeMap<(u64, usize), MessageHistory>,
    /// The drafts in the order in which they came.
    drafts: Vec<DraftHistory>,
}

/// A draft with each text that it had.
#[derive(Debug, Clone)]
pub struct DraftHistory {
    /// The bot's number for it.
    pub id: i64,
    /// Its topic, if it is in one.
    pub topic: Option<u64>,
    /// Its texts, and its end, as those of a message.
    pub text: MessageHistory,
}

/// A message with each text that it had.
#[derive(Debug, Clone)]
pub struct MessageHistory {
    /// The number of the message.
    pub id: u64,
    /// The states of the message after each change, the oldest first; at least one.
    pub versions: Vec<SeenMessage>,
    /// The call that deleted it; `None` if it stays.
    pub deleted: Option<Deletion>,
}

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// The time, in ms.
    pub at: u64,
    /// The index of the entry, among the entries that were applied.
    pub entry: usize,
}

impl ChatHistory {
    /// Returns the history of all of `entries`; other lanes are ignored.
    pub fn of(entries: &[Entry]) -> Self {
        let mut history = Self::default();
        for (number, entry) in entries.iter().enumerate() {
            history.apply(number, entry);
        }
        history
    }

    /// Applies the entry with the index `number`.
    pub fn apply(&mut self, number: usize, entry: &Entry) -> ChatChange {
        for topic in self.now.end_drafts(entry) {
            self.end_draft(topic, Deletion { at: entry.seen_at(), entry: number });
        }
        let effect = self.now.effect(number, entry);
        match &effect {
            // A final text looks the same as before.
            Effect::Nothing | Effect::Final(_) => {}
            Effect::Seen(id, seen) => self.add(*id, seen.clone()),
            Effect::Album(messages) => {
                for (id, seen) in messages {
                    self.add(*id, seen.clone());
                }
            }
            Effect::Drafted(topic, draft) => self.add_draft(*topic, draft),
            Effect::Stopped(topic) => {
                self.end_draft(*topic, Deletion { at: entry.seen_at(), entry: number });
            }
            Effect::Overtaken(id, seen) => {
                if let Some(message) = self.newest(*id) {
                    let last = message.versions.len() - 1;
                    message.versions.insert(last, seen.clone());
                }
            }
            Effect::Deleted(ids) => {
                let deletion = Deletion { at: entry.seen_at(), entry: number };
                for id in ids {
                    if let Some(message) = self.newest(*id) {
                        message.deleted = Some(deletion);
                    }
                }
            }
        }
        self.now.take(effect)
    }

    /// Adds a version to the message with this number, which may be a new one.
    fn add(&mut self, id: u64, seen: SeenMessage) {
        match self.newest(id).filter(|message| message.deleted.is_none()) {
            Some(message) => message.versions.push(seen),
            None => {
                let place = (id, seen.entry);
                let message = MessageHistory { id, versions: vec![seen], deleted: None };
                self.messages.insert(place, message);
            }
        }
    }

    /// Adds a text to the draft of a topic, or begins a new one.
    fn add_draft(&mut self, topic: Option<u64>, draft: &SeenDraft) {
        match self.open_draft(topic) {
            Some(known) if known.id == draft.id => known.text.versions.push(draft.text.clone()),
            other => {
                if let Some(replaced) = other {
                    let SeenMessage { at, entry, .. } = draft.text;
                    replaced.text.deleted = Some(Deletion { at, entry });
                }
                let versions = vec![draft.text.clone()];
                let text = MessageHistory { id: draft.id.unsigned_abs(), versions, deleted: None };
                self.drafts.push(DraftHistory { id: draft.id, topic, text });
            }
        }
    }

    /// Ends the draft of a topic; one that went by itself went 30 s after its last text.
    fn end_draft(&mut self, topic: Option<u64>, end: Deletion) {
        if let Some(draft) = self.open_draft(topic) {
            let at = end.at.min(draft.text.last().at + DRAFT_MS);
            draft.text.deleted = Some(Deletion { at, ..end });
        }
    }

    /// Returns the draft of a topic that is visible.
    fn open_draft(&mut self, topic: Option<u64>) -> Option<&mut DraftHistory> {
        let is_it =
            |known: &&mut DraftHistory| known.topic == topic && known.text.deleted.is_none();
        self.drafts.iter_mut().rfind(is_it)
    }

    /// Returns the newest message with this number.
    fn newest(&mut self, id: u64) -> Option<&mut MessageHistory> {
        self.messages.range_mut((id, 0)..=(id, usize::MAX)).next_back().map(|(_, message)| message)
    }

    /// Returns the chat after the last entry.
    pub fn now(&self) -> &ChatView {
        &self.now
    }

    /// Returns all messages, including deleted ones, in the order of their numbers.
    pub fn messages(&self) -> impl Iterator<Item = &MessageHistory> {
        self.messages.values()
    }

    /// Returns the messages that are visible after the entry with this index, each in its state at that time.
    pub fn after(&self, entry: usize) -> impl Iterator<Item = &SeenMessage> {
        self.messages().filter_map(move |message| message.after(entry))
    }

    /// Returns the messages that stay in the chat.
    pub fn at_end(&self) -> impl Iterator<Item = &MessageHistory> {
        self.messages().filter(|message| message.deleted.is_none())
    }

    /// Returns the messages that stay in the chat although the caller could have changed or deleted them.
    pub fn left(&self) -> impl Iterator<Item = &MessageHistory> {
        self.at_end().filter(|message| !message.last().is_out_of_reach)
    }

    /// Returns every state of every message, in the order of the messages.
    pub fn versions(&self) -> impl Iterator<Item = &SeenMessage> {
        self.messages().flat_map(|message| &message.versions)
    }

    /// Returns all drafts, those that are gone too, in the order in which they came.
    pub fn drafts(&self) -> impl Iterator<Item = &DraftHistory> {
        self.drafts.iter()
    }

    /// Returns every text that a person could ever read: the states of all messages, then those of all drafts.
    pub fn ever_seen(&self) -> impl Iterator<Item = &SeenMessage> {
        self.versions().chain(self.drafts().flat_map(|draft| &draft.text.versions))
    }
}

impl MessageHistory {
    /// Returns the first state of the message.
    pub fn first(&self) -> &SeenMessage {
        &self.versions[0]
    }

    /// Returns the last state of the message.
    pub fn last(&self) -> &SeenMessage {
        &self.versions[self.versions.len() - 1]
    }

    /// Returns the time from which it was visible, in ms.
    pub fn born(&self) -> u64 {
        self.first().at
    }

    /// Returns the state of the message after the entry with this index; `None` if it was not visible.
    pub fn after(&self, entry: usize) -> Option<&SeenMessage> {
        if self.deleted.is_some_and(|deletion| deletion.entry <= entry) {
            return None;
        }
        self.versions.iter().rev().find(|version| version.entry <= entry)
    }
}

/// The field of a call with the visible text as the Bot API's HTML, if the text was sent in another form: in Markdown,
/// without markup, or with unusual entities. Every drawing of a chat uses it.
pub const CALL_HTML: &str = "html";

/// The kind of an entry for a button that the person pressed.
pub const PRESS: &str = "(press)";
/// The kind of the entry of a message that the person wrote.
pub const WRITES: &str = "(user)";

/// The field of a call, or of a part of an album, with the text of its [file](SeenFile::text).
pub const FILE_TEXT: &str = "file_text";

/// The milliseconds for which a draft is visible after its last text, as the Bot API says of `sendMessageDraft`
/// (<https://core.telegram.org/bots/api#sendmessagedraft>).
pub const DRAFT_MS: u64 = 30_000;
/// The time for which a chat shows that somebody types, in ms (Bot API, `sendChatAction`).
pub const TYPING_MS: u64 = 5_000;

/// The words that an app shows for a draft without text.
pub const THINKING: &str = "Thinking…";

/// The call that changes only the buttons of a message.
const EDIT_BUTTONS: &str = "editMessageReplyMarkup";

/// The fields that a call sends.
impl Entry {
    /// Returns whether the call says in the chat that the agent is at work.
    pub fn is_typing(&self) -> bool {
        self.kind == "sendChatAction"
    }

    /// Returns whether the call sets a message's text: it is a new message or an edit, but no draft and no typing
    /// signal.
    pub fn sets_text(&self) -> bool {
        self.makes_message()
            || matches!(self.kind.as_ref(), "editMessageText" | "editMessageCaption")
    }

    /// Returns whether the call shows a draft, which a person reads until it is gone by itself.
    pub fn shows_draft(&self) -> bool {
        matches!(self.kind.as_ref(), "sendMessageDraft" | "sendRichMessageDraft")
    }

    /// Returns whether the call sends a new message.
    pub fn makes_message(&self) -> bool {
        self.kind.starts_with("send") && !self.is_typing() && !self.shows_draft()
    }

    /// Returns the text or the caption of a call as it was sent.
    pub fn sent_text(&self) -> Option<&str> {
        ["text", "caption"].iter().find_map(|key| self.field(key)?.as_str())
    }

    /// Returns the text of a call as the Bot API's HTML.
    pub fn html(&self) -> Option<&str> {
        self.field(CALL_HTML).and_then(Value::as_str).or_else(|| self.sent_text())
    }

    /// Returns the text of a call as a person reads it in Telegram.
    pub fn plain_text(&self) -> String {
        read(self.html().unwrap_or_default())
    }

    /// Returns the topic in which a call or an act of the person is.
    fn topic(&self) -> Option<u64> {
        self.field("topic").and_then(Value::as_u64)
    }

    /// Returns the number of the message that a call changes.
    pub fn message_id(&self) -> Option<u64> {
        self.field("message_id").and_then(Value::as_u64)
    }

    /// Returns the numbers of all messages that a call changes.
    pub fn message_ids(&self) -> impl Iterator<Item = u64> {
        let several = self.field("message_ids").and_then(Value::as_array);
        several.into_iter().flatten().filter_map(Value::as_u64).chain(self.message_id())
    }

    /// Returns the labels of the buttons that a call gives its message, row by row.
    pub fn buttons(&self) -> Vec<Vec<String>> {
        let rows = self.field("buttons").and_then(Value::as_array);
        let label = |button: &Value| button.as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| row.as_array().into_iter().flatten().map(label).collect();
        rows.into_iter().flatten().map(row).collect()
    }

    /// Returns whether a call has a part of the final text, or the entry reports its delivery.
    pub fn is_final(&self) -> bool {
        self.kind == "final" || self.field("final") == Some(&Value::Bool(true))
    }
}

/// The reply of the chat's server to a call.
impl Entry {
    /// Returns whether the call changed the visible chat; a refused call did not.
    pub fn is_shown(&self) -> bool {
        let refused = self.text("refused");
        self.field("shown") != Some(&Value::Bool(false))
            && (refused.is_empty() || self.is_not_modified())
    }

    /// Returns whether the server refused an edit because the text is there already.
    pub fn is_not_modified(&self) -> bool {
        self.text("refused").contains("not modified")
    }

    /// Returns the time of the reply, in ms; for a call without a reply, its own time.
    pub fn answered_at(&self) -> u64 {
        self.at + self.field("took_ms").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns the time from which the effect of the call is visible, in ms.
    fn seen_at(&self) -> u64 {
        self.field("done_at").and_then(Value::as_u64).unwrap_or_else(|| self.answered_at())
    }

    /// Returns whether this is a new message of the draft that reached the chat and whose reply was lost.
    pub fn is_lost_draft(&self) -> bool {
        self.makes_message() && !self.is_final() && self.is_lost()
    }

    /// Returns whether the call took effect and its reply was lost.
    pub fn is_lost(&self) -> bool {
        [FaultKind::LostReply, FaultKind::Hang].map(FaultKind::as_str).contains(&self.answer())
    }

    /// Returns the seconds that the server asked to wait, if it did.
    pub fn wait_s(&self) -> Option<u64> {
        let (kind, wait) = self.answer().split_once(':')?;
        (kind == FaultKind::RateLimit.as_str()).then(|| wait.strip_suffix('s')?.parse().ok())?
    }

    /// Returns the error of the call, or an empty text.
    fn answer(&self) -> &str {
        self.text("answer")
    }
}

#[cfg(test)]
mod tests;
