//! The way out of the parser: it emits the events and counts everything that was read.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;

use crate::event::{DiagnosticCode, Event};

/// Counts of what a parser has read.
///
/// Each line is counted once: `lines` is the sum of `blank`, `records`, `unknown` and `unusable`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes that were fed.
    pub bytes: u64,
    /// Bytes that were not read because of a limit ([`ParserLimits`](crate::ParserLimits)).
    pub unread: u64,
    /// Lines, including an unterminated last line.
    pub lines: u64,
    /// Lines that contain only white space.
    pub blank: u64,
    /// Lines in which the parser recognised everything.
    pub records: u64,
    /// Lines with a record, block or delta of an unknown type, which [`Event::Unknown`] reports.
    pub unknown: u64,
    /// Lines without a usable record, which [`Event::Diagnostic`] reports.
    pub unusable: u64,
    /// Diagnostics, including those about lines that could be used in part.
    pub diagnostics: u64,
    /// Byte sequences that are not UTF-8. Each was replaced by U+FFFD.
    pub replaced: u64,
    /// Records by kind: `type`, `type/subtype`, or `stream_event/` and the type of the event. Each
    /// record of a line that is an array counts. Beside the events of the API, the first 1,024 kinds have
    /// a count each, and all others one as [`OTHER_KINDS`].
    pub by_kind: BTreeMap<Cow<'static, str>, u64>,
    /// The number of [`Event::Unknown`] by kind: `type` or `type/subtype`. The first 1,024 kinds have a count each, and
    /// all others one as [`OTHER_KINDS`].
    pub unknown_kinds: BTreeMap<String, u64>,
}

/// The kind as which [`Stats`] counts records of all kinds that have no count of their own.
pub const OTHER_KINDS: &str = "(other kinds)";

/// Number of kinds that have a count each, so that memory stays bounded. A run of a real CLI has fewer than a hundred.
const COUNTED_KINDS: usize = 1024;

/// Classification of a line. If several apply, the last variant wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineClass {
    Blank,
    Record,
    Unknown,
    Unusable,
}

/// The counters of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineCounts {
    /// All counts except the kinds of records that are in `kinds` and `events`.
    stats: Stats,
    /// The first kinds, at most [`FEW`].
    kinds: Vec<(Cow<'static, str>, u64)>,
    /// Counts of stream events, in the order of [`EVENTS`].
    events: [u64; EVENTS.len()],
}

/// The events of the API that have a counter of their own, with the names of their kinds.
const EVENTS: [(&str, &str); 6] = [
    ("content_block_delta", "stream_event/content_block_delta"),
    ("content_block_start", "stream_event/content_block_start"),
    ("content_block_stop", "stream_event/content_block_stop"),
    ("message_start", "stream_event/message_start"),
    ("message_delta", "stream_event/message_delta"),
    ("message_stop", "stream_event/message_stop"),
];

/// The kinds of which each is looked at to find one. A run has fewer than these, and a few are found faster so than in a map.
const FEW: usize = 32;

/// Kinds that nearly every run has, so that their names need no allocation.
const OFTEN: [&str; 5] = ["assistant", "user", "system/init", "system/status", "result/success"];

/// Returns whether `name` is the kind, or the kind and its part joined by a slash.
fn is_named(name: &str, kind: &str, part: Option<&str>) -> bool {
    let rest = match part {
        Some(part) => name.strip_suffix(part).and_then(|rest| rest.strip_suffix('/')),
        None => Some(name),
    };
    rest == Some(kind)
}

impl LineCounts {
    /// Returns a copy of all counts.
    pub(crate) fn stats(&self) -> Stats {
        self.clone().into_stats()
    }

    /// Turns the counters into the final counts.
    pub(crate) fn into_stats(self) -> Stats {
        let events = EVENTS.iter().zip(self.events).filter(|(_, count)| *count > 0);
        let mut stats = self.stats;
        stats.by_kind.extend(self.kinds);
        stats.by_kind.extend(events.map(|((_, name), count)| (Cow::Borrowed(*name), count)));
        stats
    }

    /// Counts bytes that were fed.
    pub(crate) fn bytes(&mut self, count: usize) {
        self.stats.bytes += count as u64;
    }

    /// Counts bytes that a limit keeps from being read.
    pub(crate) fn unread(&mut self, count: u64) {
        self.stats.unread += count;
    }

    /// Bytes fed so far.
    pub(crate) fn fed(&self) -> u64 {
        self.stats.bytes
    }

    /// Number of lines so far that are not blank.
    pub(crate) fn records(&self) -> u64 {
        self.stats.lines - self.stats.blank
    }

    fn count(&mut self, kind: &str, part: Option<&str>) {
        if let Some((_, count)) = self.kinds.iter_mut().find(|(n, _)| is_named(n, kind, part)) {
            *count += 1;
        } else if self.kinds.len() == FEW {
            add(&mut self.stats.by_kind, COUNTED_KINDS - FEW, name(kind, part));
        } else {
            let often = OFTEN.iter().find(|name| is_named(name, kind, part));
            let name = often.map_or_else(|| name(kind, part).into(), |name| Cow::Borrowed(*name));
            self.kinds.push((name, 1));
        }
    }
}

/// Counts a kind by its name, or as one of the others when there are counts of `most` kinds.
fn add<K: Ord + From<String> + Borrow<str>>(
    counts: &mut BTreeMap<K, u64>,
    most: usize,
    name: String,
) {
    let has_count = counts.len() < most || counts.contains_key(&*name);
    let name = if has_count { name } else { OTHER_KINDS.to_owned() };
    *counts.entry(name.into()).or_default() += 1;
}

fn name(kind: &str, part: Option<&str>) -> String {
    part.map_or_else(|| kind.to_owned(), |part| [kind, part].join("/"))
}

/// Event sink and counters for the current line.
pub(crate) struct Emitter<'s> {
    sink: &'s mut dyn FnMut(Event<'_>),
    counts: &'s mut LineCounts,
    class: LineClass,
}

impl<'s> Emitter<'s> {
    /// Starts a line.
    pub(crate) fn line(counts: &'s mut LineCounts, sink: &'s mut dyn FnMut(Event<'_>)) -> Self {
        counts.stats.lines += 1;
        Self { sink, counts, class: LineClass::Blank }
    }

    /// Starts the events after the last line.
    pub(crate) fn end(counts: &'s mut LineCounts, sink: &'s mut dyn FnMut(Event<'_>)) -> Self {
        Self { sink, counts, class: LineClass::Blank }
    }

    /// Ends the line and counts it by its class.
    pub(crate) fn close(self) {
        let stats = &mut self.counts.stats;
        *match self.class {
            LineClass::Blank => &mut stats.blank,
            LineClass::Record => &mut stats.records,
            LineClass::Unknown => &mut stats.unknown,
            LineClass::Unusable => &mut stats.unusable,
        } += 1;
    }

    /// Counts a record of the line.
    pub(crate) fn record(&mut self, kind: &str, part: Option<&str>) {
        self.counts.count(kind, part);
        self.class = self.class.max(LineClass::Record);
    }

    /// Counts a stream event of the line.
    pub(crate) fn stream_event(&mut self, kind: &str) {
        match EVENTS.iter().position(|(known, _)| *known == kind) {
            Some(at) => self.counts.events[at] += 1,
            None => self.counts.count("stream_event", Some(kind)),
        }
        self.class = self.class.max(LineClass::Record);
    }

    /// Emits an event.
    pub(crate) fn emit(&mut self, event: Event<'_>) {
        (self.sink)(event);
    }

    pub(crate) fn unknown(&mut self, kind: &str, subtype: Option<&str>, raw: &str) {
        self.class = self.class.max(LineClass::Unknown);
        add(&mut self.counts.stats.unknown_kinds, COUNTED_KINDS, name(kind, subtype));
        self.emit(Event::Unknown {
            kind: kind.into(),
            subtype: subtype.map(Into::into),
            raw: raw.into(),
        });
    }

    /// Counts replaced byte sequences of the line and reports them.
    pub(crate) fn replaced(&mut self, count: u64, line: &str) {
        self.counts.stats.replaced += count;
        let what = "The line has bytes that are not UTF-8, shown as U+FFFD";
        self.diagnostic(DiagnosticCode::InvalidUtf8, what, line);
    }

    /// Reports how the arguments of a snapshot differ from those of the stream.
    pub(crate) fn differs(&mut self, name: &str, how: &str) {
        let what = "A snapshot's input is not what was streamed, and counts";
        self.diagnostic(DiagnosticCode::InputDiffers, what, &format!("{name}: {how}"));
    }

    /// Reports a problem, with the start of the offending text.
    pub(crate) fn diagnostic(&mut self, code: DiagnosticCode, what: &str, with: &str) {
        use super::event::DiagnosticCode as Code;
        if matches!(code, Code::NotJson | Code::CutLine | Code::BadRecord | Code::LineTooLong) {
            self.class = LineClass::Unusable;
        }
        self.counts.stats.diagnostics += 1;
        let message = match with {
            "" => format!("{what}."),
            with => format!("{what}: {}", clip(with)),
        };
        let line = self.counts.stats.lines;
        self.emit(Event::Diagnostic { code, message: message.into(), line });
    }
}

/// Returns the first 80 characters, with an ellipsis if there are more.
fn clip(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
