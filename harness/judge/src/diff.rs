//! Compares two lanes of entries, and describes in one sentence where they diverge.
//!
//! Goldens, plans, variants and the comparison of two sides all use [`TraceDiff`], so that one difference is always
//! described in the same way: the first divergence, the pairs of entries, the kind of the whole change, and the aligned
//! lines. Entries become text only for these. [`ChatDiff`] shows the same place as a person sees it, and [`context`]
//! the input around it. [`FinalTextDiff`] compares the text at the end of a chat with the text that it would have
//! without faults or cuts.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use clitape_recording::chat::{ChatChange, ChatView, SeenMessage};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::visible;
use clitape_recording::text::{Keep, quoted, truncate, width};
use clitape_recording::trace::{Entry, Lane};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use divergence::{Divergence, divergence, zoom};
use pairs::{
    Change, Class, DiffLine, EntryMark, Pair, align, between, change_of, entry_mark, line_marks,
    pairs,
};

pub(crate) mod divergence;
#[cfg(test)]
pub(crate) mod entry_line;
pub(crate) mod pairs;

/// The treatment of the times of entries in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// Entries at different times differ.
    Compared,
    /// All entries count as if their time were 0 ms.
    Ignored,
}

impl Times {
    /// Returns the time of an entry that is compared: 0 if times are ignored.
    fn at(self, entry: &Entry) -> u64 {
        match self {
            Self::Compared => entry.at,
            Self::Ignored => 0,
        }
    }

    /// Returns the line of an entry in a text that is compared in this way.
    pub fn line(self, entry: &Entry) -> String {
        match self {
            Self::Compared => entry.to_line(),
            Self::Ignored => entry.at_time(0).to_line(),
        }
    }

    /// Returns whether two entries have the same line; unlike with `==`, the order of their fields counts.
    fn same_line(self, a: &Entry, b: &Entry) -> bool {
        self.at(a) == self.at(b)
            && a.lane == b.lane
            && a.kind == b.kind
            && same_data(&a.data, &b.data)
    }

    /// Returns whether two lists of entries have the same lines.
    pub fn equal(self, a: &[Entry], b: &[Entry]) -> bool {
        self.same_lines(a, b)
    }

    /// Returns whether two lanes have the same lines.
    pub fn same_lines<'a, 'b>(
        self,
        a: impl IntoIterator<Item = &'a Entry>,
        b: impl IntoIterator<Item = &'b Entry>,
    ) -> bool {
        let (mut a, mut b) = (a.into_iter(), b.into_iter());
        loop {
            match (a.next(), b.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if self.same_line(a, b) => {}
                _ => return false,
            }
        }
    }
}

/// Returns whether the fields of two entries have the same text, in the same order.
fn same_data(a: &Arc<Map<String, Value>>, b: &Arc<Map<String, Value>>) -> bool {
    Arc::ptr_eq(a, b)
        || a.len() == b.len()
            && a.iter().zip(&**b).all(|((key, a), (of, b))| key == of && same_text(a, b))
}

/// Returns whether two values have the same text in JSON.
fn same_text(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let mut fields = a.iter().zip(b);
            a.len() == b.len() && fields.all(|((key, a), (of, b))| key == of && same_text(a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_text(a, b))
        }
        // The floats 0.0 and -0.0 are equal and have different texts.
        (Value::Number(a), Value::Number(b)) if a.is_f64() => a.to_string() == b.to_string(),
        _ => a == b,
    }
}

/// Two lanes of entries that are compared.
#[derive(Debug)]
pub struct TraceDiff<'a> {
    times: Times,
    old: Vec<&'a Entry>,
    new: Vec<&'a Entry>,
    /// The trace that the new entries are part of; empty if it is unknown.
    trace: &'a [Entry],
    /// The texts that the old and the new entries were read from, one entry a line; `None` for entries of a replay.
    sources: [Option<&'a str>; 2],
    pairs: OnceCell<Vec<Pair>>,
}

impl<'a> TraceDiff<'a> {
    /// Compares the entries of one lane; the old ones are the expected ones.
    pub fn new(
        old: impl IntoIterator<Item = &'a Entry>,
        new: impl IntoIterator<Item = &'a Entry>,
        times: Times,
    ) -> Self {
        let (old, new) = (old.into_iter().collect(), new.into_iter().collect());
        Self { times, old, new, trace: &[], sources: [None; 2], pairs: OnceCell::new() }
    }

    /// Adds the trace that the new entries are part of, which gives the turn and the time of a divergence.
    #[must_use]
    pub fn within(self, trace: &'a [Entry]) -> Self {
        Self { trace, ..self }
    }

    /// Adds the texts that the entries were read from, one a line. If these differ, in blanks or in the order of
    /// fields, the lanes differ even if the entries are equal.
    #[must_use]
    pub fn read_from(self, old: &'a str, new: Option<&'a str>) -> Self {
        Self { sources: [Some(old), new], ..self }
    }

    /// Returns the first divergence of the lanes; `None` if they are equal.
    pub fn first(&self) -> Option<Divergence> {
        let texts = self.sources.iter().any(Option::is_some).then(|| self.texts());
        let is_same = |number: usize, old: &Entry, new: &Entry| match &texts {
            Some([a, b]) => a.get(number) == b.get(number),
            None => self.times.same_line(old, new),
        };
        for number in 0..self.old.len().max(self.new.len()) {
            let (old, new) = (self.old.get(number).copied(), self.new.get(number).copied());
            if old.zip(new).is_some_and(|(old, new)| is_same(number, old, new)) {
                continue;
            }
            let sent = self.new.iter().take(number).filter(|entry| is_sent(entry)).count();
            let time_of = |entry: &Entry| self.times.at(entry);
            return Some(divergence(old, new, number, sent, self.trace, &time_of));
        }
        // The lines are all equal, so only their ends can differ.
        let whole =
            texts?.map(|lines| lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        let [old, new] = [0, 1].map(|side| self.sources[side].unwrap_or(&whole[side]));
        let sentence = "the texts differ in their line ends only".to_owned();
        (old != new).then_some(Divergence { at: None, sentence })
    }

    /// Returns the pairs of entries that belong together, computed once.
    pub fn pairs(&self) -> &[Pair] {
        self.pairs.get_or_init(|| pairs(&self.marks(&self.old), &self.marks(&self.new)))
    }

    /// Returns the kind of the whole difference; `None` if no entry differs.
    pub fn change(&self) -> Option<Change> {
        change_of(self.pairs().iter().filter_map(|pair| self.difference(*pair)))
    }

    /// Returns the lines of both lanes, aligned entry by entry, with a few equal lines around each change.
    pub fn lines(&self) -> Vec<DiffLine> {
        let [old, new] = self.texts();
        align(self.pairs(), &old, &new)
    }

    /// Returns both chats at the moment at which they first show different text; `None` if they never do.
    pub fn chat(&self, profile: ChatProfile) -> Option<ChatDiff> {
        let is_timed = self.times == Times::Compared;
        ChatDiff::find([&self.old, &self.new], self.pairs(), is_timed, profile)
    }

    /// Returns both chats as a person reads them at the end; `None` if they are the same.
    pub fn last_chat(&self, profile: ChatProfile) -> Option<ChatDiff> {
        ChatDiff::at_end([&self.old, &self.new], profile)
    }

    /// Returns the lines of both lanes, old and new.
    fn texts(&self) -> [Vec<Cow<'a, str>>; 2] {
        let lines = |entries: &[&Entry], source: Option<&'a str>| match source {
            Some(source) => source.lines().map(Cow::Borrowed).collect(),
            None => entries.iter().map(|entry| Cow::Owned(self.times.line(entry))).collect(),
        };
        [lines(&self.old, self.sources[0]), lines(&self.new, self.sources[1])]
    }

    /// Returns the class and the description of the difference within a pair; `None` if the entries are equal.
    fn difference(&self, pair: Pair) -> Option<(Class, String)> {
        let (old, new) = match pair {
            Pair::Old(i) => {
                return Some((Class::Contract, format!("{} missing", self.old[i].kind)));
            }
            Pair::New(j) => {
                return Some((Class::Contract, format!("{} too many", self.new[j].kind)));
            }
            Pair::Both(i, j) => (self.old[i], self.new[j]),
        };
        if self.times == Times::Ignored && old.same_but_time(new) {
            return None;
        }
        let (class, how) = between(old, new)?;
        let how = match how {
            Some(how) => format!("{} {how}", new.kind),
            None => format!("{} in place of {}", new.kind, old.kind),
        };
        Some((class, how))
    }

    fn marks(&self, entries: &[&Entry]) -> Vec<EntryMark> {
        let mark = |entry: &&Entry| EntryMark { at: self.times.at(entry), ..entry_mark(entry) };
        entries.iter().map(mark).collect()
    }
}

/// Returns whether an entry is a new message that reached the chat.
fn is_sent(entry: &Entry) -> bool {
    entry.kind == "sendMessage" && entry.is_shown()
}

/// The number of messages of each side that are shown, from the first one that differs.
const MESSAGES: usize = 3;

/// What a person was to see in a chat, and what a person sees, at the first moment at which the two differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatDiff {
    /// Virtual milliseconds since the replay began; absent where times are left aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The number of messages above, which are the same on both sides and left out.
    pub above: usize,
    /// The messages that were expected, each as its lines; few of many.
    pub expected: Vec<Vec<String>>,
    /// The messages that came, each as its lines; few of many.
    pub got: Vec<Vec<String>>,
}

impl ChatDiff {
    /// Finds the first moment at which the chats of two lanes show different text; `None` if they never do. `is_timed`
    /// is true if the times of entries are meaningful.
    pub(crate) fn find(
        [old, new]: [&[&Entry]; 2],
        pairs: &[Pair],
        is_timed: bool,
        profile: ChatProfile,
    ) -> Option<Self> {
        let mut views = [ChatView::default(), ChatView::default()];
        for pair in pairs {
            let (old, new) = match *pair {
                Pair::Both(i, j) => (Some(old[i]), Some(new[j])),
                Pair::Old(i) => (Some(old[i]), None),
                Pair::New(j) => (None, Some(new[j])),
            };
            let mut is_changed = false;
            for (view, entry) in views.iter_mut().zip([old, new]) {
                is_changed |= entry.is_some_and(|entry| view.apply(0, entry) == ChatChange::Text);
            }
            if is_changed && let Some(above) = first_difference(&views) {
                let at = new.or(old).filter(|_| is_timed).map(|entry| entry.at);
                return Some(Self::of(&views, above, at, profile));
            }
        }
        None
    }

    /// Compares the texts at the end of two chats; `None` if they are the same.
    fn at_end([old, new]: [&[&Entry]; 2], profile: ChatProfile) -> Option<Self> {
        let views = [old, new].map(|entries| {
            let mut view = ChatView::default();
            for (number, entry) in entries.iter().enumerate() {
                view.apply(number, entry);
            }
            view
        });
        Some(Self::of(&views, first_difference(&views)?, None, profile))
    }

    /// Takes the chats from the message with the index `above` on.
    fn of(views: &[ChatView; 2], above: usize, at: Option<u64>, profile: ChatProfile) -> Self {
        let shown = |lines: &dyn Fn(&SeenMessage) -> String| {
            views.each_ref().map(|view| {
                let messages = view.messages().skip(above).take(MESSAGES);
                let lines = messages.map(|message| split(&lines(message)));
                lines.collect::<Vec<_>>()
            })
        };
        let read = shown(&|message| {
            let spans = message.spans(profile).into_iter();
            spans.map(|span| span.text).collect()
        });
        // If only the marks differ, the texts are shown with their marks.
        let [expected, got] = match read[0] == read[1] {
            true => shown(&|message| visible(&message.text)),
            false => read,
        };
        Self { at, above, expected, got }
    }

    /// Returns all lines, to make them safe to print.
    pub(crate) fn lines_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.expected.iter_mut().chain(&mut self.got).flatten()
    }
}

fn split(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}

/// Returns the index of the first message that differs, if one does.
fn first_difference(views: &[ChatView; 2]) -> Option<usize> {
    let [mut old, mut new] = views.each_ref().map(ChatView::messages);
    let same = |a: &SeenMessage, b: &SeenMessage| a.text == b.text && a.buttons == b.buttons;
    for number in 0.. {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if same(a, b) => {}
            _ => return Some(number),
        }
    }
    None
}

/// The name of a line of a chat's text in the consequences of a change, which otherwise name kinds of entries.
const KIND: &str = "a line that is no entry";

/// The final texts of two chats, compared message by message.
#[derive(Debug)]
pub struct FinalTextDiff {
    old: Vec<String>,
    new: Vec<String>,
}

impl FinalTextDiff {
    /// Takes the final texts of the chat in `old`, which are the expected ones, and of the chat in `new`.
    pub(crate) fn new(old: &[Entry], new: &[Entry]) -> Self {
        Self { old: final_text(old), new: final_text(new) }
    }

    /// Returns the first difference in one sentence, or `None` if the texts are equal.
    fn first(&self) -> Option<String> {
        (0..self.old.len().max(self.new.len())).find_map(|number| {
            match (self.old.get(number), self.new.get(number)) {
                (Some(old), Some(new)) if old == new => None,
                (Some(old), Some(new)) => {
                    let (old, new) = zoom(old, new);
                    Some(format!("expected “{old}”, got “{new}”"))
                }
                (Some(old), None) => Some(format!("expected {}, got nothing more", quoted(old))),
                (None, Some(new)) => Some(format!("expected nothing more, got {}", quoted(new))),
                (None, None) => None,
            }
        })
    }

    /// Returns a summary of the whole difference, and the texts side by side, each as a JSON string.
    pub fn difference(&self) -> (Option<Change>, Vec<DiffLine>) {
        let [old, new] = [&self.old, &self.new].map(|texts| {
            texts.iter().map(|text| Value::from(text.as_str()).to_string()).collect::<Vec<_>>()
        });
        let pairs = pairs(&line_marks(&old), &line_marks(&new));
        let change = change_of(pairs.iter().filter_map(|pair| {
            let how = match *pair {
                Pair::Both(i, j) if old[i] == new[j] => return None,
                Pair::Both(..) => "with other bytes",
                Pair::Old(_) => "missing",
                Pair::New(_) => "too many",
            };
            Some((Class::Contract, format!("{KIND} {how}")))
        }));
        (change, align(&pairs, &old, &new))
    }
}

/// Compares the text at the end of `entries` with the text at the end of `base`; returns a sentence and the difference,
/// or `None` if they are equal.
pub fn wrong_final_text(base: &[Entry], entries: &[Entry]) -> Option<(String, FinalTextDiff)> {
    let diff = FinalTextDiff::new(base, entries);
    // A run in which the agent sends its message with a tool may end before a draft is sent.
    if diff.new.is_empty() && is_by_tool(entries) {
        return None;
    }
    let sentence = format!("in the end a person reads something else: {}", diff.first()?);
    Some((sentence, diff))
}

/// Returns whether the agent sent its message itself, with a tool.
fn is_by_tool(entries: &[Entry]) -> bool {
    let word = |entry: &Entry| entry.field("delivery").is_some_and(|word| word == "by-tool");
    entries.iter().any(|entry| entry.kind == "final" && word(entry))
}

/// Returns the final text of a chat, message by message. The message of a question is left out, because it shows how
/// long the question waited.
fn final_text(entries: &[Entry]) -> Vec<String> {
    let view = ChatView::after(entries);
    let messages = view.final_messages().filter(|message| !message.is_question);
    messages.map(|message| message.text.to_string()).collect()
}

/// The number of moments shown; the last one is that of the divergence.
const MOMENTS: usize = 5;
/// The columns shown of the end of a chat's text.
const TAIL: usize = 36;

/// One moment of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Moment"))]
pub struct ContextMoment {
    /// Virtual milliseconds since the replay began.
    pub at: u64,
    /// What came in, in a few words each.
    #[serde(rename = "came")]
    pub input: Vec<String>,
    /// What was seen on the lane, in a few words each.
    #[serde(rename = "seen")]
    pub output: Vec<String>,
}

impl ContextMoment {
    /// The width of a report's line of output, in columns.
    pub const COLUMNS: usize = 60;
}

/// Returns the moments of `lane` up to `until`, in virtual ms; without `until`, the last moments.
pub fn context(entries: &[Entry], lane: Lane, until: Option<u64>) -> Vec<ContextMoment> {
    let source = match lane {
        Lane::Read | Lane::Session => return Vec::new(),
        Lane::Lifecycle => Lane::Read,
        Lane::Bus | Lane::Telegram | Lane::Acp | Lane::Sse => Lane::Lifecycle,
    };
    let until = until.unwrap_or(u64::MAX);
    let mut moments: Vec<ContextMoment> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.at <= until) {
        if entry.lane != source && entry.lane != lane {
            continue;
        }
        if moments.last().is_none_or(|moment| moment.at != entry.at) {
            moments.push(ContextMoment { at: entry.at, input: Vec::new(), output: Vec::new() });
        }
        if let Some(moment) = moments.last_mut() {
            let words = if entry.lane == lane { &mut moment.output } else { &mut moment.input };
            words.extend(in_words(entry));
        }
    }
    moments.split_off(moments.len().saturating_sub(MOMENTS))
}

/// Describes an entry in a few words; a chat's text grows, so its end is shown. The reply to a refused call comes in
/// separate lines.
fn in_words(entry: &Entry) -> Vec<String> {
    let text = entry.field("text").and_then(Value::as_str).unwrap_or_default();
    if entry.lane != Lane::Telegram || width(text) <= TAIL {
        return entry.headline_lines(ContextMoment::COLUMNS);
    }
    let end = truncate(text, TAIL + 1, Keep::End);
    let id = entry.field("message_id").map(|id| format!(" #{id}")).unwrap_or_default();
    let words = format!("{}{id} {}", entry.kind, Value::from(end));
    [vec![words], entry.refusal_lines(ContextMoment::COLUMNS)].concat()
}

#[cfg(test)]
mod tests;
