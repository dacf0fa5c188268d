//! How two lanes of entries differ: where they diverge first, which entries belong together, what the
//! difference is about as a whole, and the aligned lines.
//!
//! Goldens, plans, variants and the comparison of two sides all use [`TraceDiff`], so that one
//! difference is described in one way. Entries become text only for the aligned lines.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use clitape_recording::scenario::ChatProfile;
use clitape_recording::trace::Entry;
use serde_json::{Map, Value};

use super::change::{Change, Class, between, change_of, entry_mark};
use super::chat_diff::ChatDiff;
use super::divergence::{Divergence, divergence};
use super::lines::{DiffLine, align};
use super::pairs::{EntryMark, Pair, pairs};

/// Whether the times of entries are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// Entries at different times differ.
    Compared,
    /// All entries count as if they were at 0 ms.
    Ignored,
}

impl Times {
    /// The time of an entry, as far as it is compared.
    fn at(self, entry: &Entry) -> u64 {
        match self {
            Self::Compared => entry.at,
            Self::Ignored => 0,
        }
    }

    /// The line of an entry in a text that is compared in this way.
    pub fn line(self, entry: &Entry) -> String {
        match self {
            Self::Compared => entry.to_line(),
            Self::Ignored => entry.at_time(0).to_line(),
        }
    }

    /// Whether two entries have the same line: unlike `==`, the order of their fields counts.
    pub(crate) fn same_line(self, a: &Entry, b: &Entry) -> bool {
        self.at(a) == self.at(b)
            && a.lane == b.lane
            && a.kind == b.kind
            && same_data(&a.data, &b.data)
    }

    /// Whether two lists of entries have the same lines.
    pub fn equal(self, a: &[Entry], b: &[Entry]) -> bool {
        self.same_lines(a, b)
    }

    /// Whether two lanes have the same lines.
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

/// Whether the particulars of two entries are written in the same way.
fn same_data(a: &Arc<Map<String, Value>>, b: &Arc<Map<String, Value>>) -> bool {
    Arc::ptr_eq(a, b)
        || a.len() == b.len()
            && a.iter().zip(&**b).all(|((key, a), (of, b))| key == of && same_text(a, b))
}

/// Whether two values are written in the same way.
fn same_text(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let mut fields = a.iter().zip(b);
            a.len() == b.len() && fields.all(|((key, a), (of, b))| key == of && same_text(a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_text(a, b))
        }
        // 0.0 and -0.0 are equal and written differently.
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
    /// The trace that the new entries are part of; empty where it is not known.
    trace: &'a [Entry],
    /// The texts that the old and the new entries were read from, one entry a line, where they were.
    sources: [Option<&'a str>; 2],
    pairs: OnceCell<Vec<Pair>>,
}

impl<'a> TraceDiff<'a> {
    /// Compares the entries of one lane; the old ones are what is expected.
    pub fn new(
        old: impl IntoIterator<Item = &'a Entry>,
        new: impl IntoIterator<Item = &'a Entry>,
        times: Times,
    ) -> Self {
        let (old, new) = (old.into_iter().collect(), new.into_iter().collect());
        Self { times, old, new, trace: &[], sources: [None; 2], pairs: OnceCell::new() }
    }

    /// The same with the trace that the new entries are part of, which says in which turn and when a
    /// divergence is.
    #[must_use]
    pub fn within(self, trace: &'a [Entry]) -> Self {
        Self { trace, ..self }
    }

    /// The same with the texts that the entries were read from, one a line. Where these differ, the
    /// lanes differ, even if the entries are equal: in blanks or in the order of fields.
    #[must_use]
    pub fn read_from(self, old: &'a str, new: Option<&'a str>) -> Self {
        Self { sources: [Some(old), new], ..self }
    }

    /// Where the lanes diverge first; `None` when they are equal.
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
        // All lines are equal: only their ends can differ.
        let whole =
            texts?.map(|lines| lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        let [old, new] = [0, 1].map(|side| self.sources[side].unwrap_or(&whole[side]));
        let sentence = "the texts differ in their line ends only".to_owned();
        (old != new).then_some(Divergence { at: None, sentence })
    }

    /// Which entries belong together.
    pub fn pairs(&self) -> &[Pair] {
        self.pairs.get_or_init(|| pairs(&self.marks(&self.old), &self.marks(&self.new)))
    }

    /// What the difference is about as a whole; `None` when no entry differs.
    pub fn change(&self) -> Option<Change> {
        change_of(self.pairs().iter().filter_map(|pair| self.difference(*pair)))
    }

    /// The lines of both, aligned entry by entry, with a little of what is equal around each change.
    pub fn lines(&self) -> Vec<DiffLine> {
        let [old, new] = self.texts();
        align(self.pairs(), &old, &new)
    }

    /// What a person sees in a chat of both lanes where the chats first part; `None` where they never do.
    pub fn chat(&self, profile: ChatProfile) -> Option<ChatDiff> {
        let is_timed = self.times == Times::Compared;
        ChatDiff::find([&self.old, &self.new], self.pairs(), is_timed, profile)
    }

    /// What a person ends up reading in a chat of both lanes; `None` where it is the same.
    pub fn last_chat(&self, profile: ChatProfile) -> Option<ChatDiff> {
        ChatDiff::at_end([&self.old, &self.new], profile)
    }

    /// The lines of both.
    fn texts(&self) -> [Vec<Cow<'a, str>>; 2] {
        let lines = |entries: &[&Entry], source: Option<&'a str>| match source {
            Some(source) => source.lines().map(Cow::Borrowed).collect(),
            None => entries.iter().map(|entry| Cow::Owned(self.times.line(entry))).collect(),
        };
        [lines(&self.old, self.sources[0]), lines(&self.new, self.sources[1])]
    }

    /// What a pair of entries differs in; `None` when they are equal.
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

/// Whether an entry is a new message that reached the chat.
fn is_sent(entry: &Entry) -> bool {
    entry.kind == "sendMessage" && entry.is_shown()
}

#[cfg(test)]
mod tests;
