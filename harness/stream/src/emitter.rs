//! Where events leave the parser, and where everything that was read is counted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::event::{DiagnosticCode, Event};

/// What was read so far. Each line is counted once: `lines` is the sum of `blank`, `records`,
/// `unknown` and `unusable`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes fed.
    pub bytes: u64,
    /// Bytes that were not read because of a limit ([`Limits`](crate::Limits)).
    pub unread: u64,
    /// Lines, an unterminated last one included.
    pub lines: u64,
    /// Lines of white space.
    pub blank: u64,
    /// Lines of which everything was recognised.
    pub records: u64,
    /// Lines that held a record, block or delta of an unknown type, told as [`Event::Unknown`].
    pub unknown: u64,
    /// Lines that are no record or a broken one, told as [`Event::Diagnostic`].
    pub unusable: u64,
    /// Diagnostics told, also of lines that could be used in part.
    pub diagnostics: u64,
    /// Sequences of bytes that are not UTF-8, each shown as one U+FFFD.
    pub replaced: u64,
    /// Records by kind: `type`, or `type/subtype`, or `stream_event/` and the event's type. A
    /// line that is an array counts once for each of its records.
    pub by_kind: BTreeMap<Cow<'static, str>, u64>,
    /// What was told as [`Event::Unknown`], by kind: `type`, or `type/subtype`.
    pub unknown_kinds: BTreeMap<String, u64>,
}

/// What became of a line; of several the last in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineClass {
    Blank,
    Record,
    Unknown,
    Unusable,
}

/// All that is counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineCounts {
    /// Without the kinds of records, which are in `kinds` until they are asked for.
    stats: Stats,
    kinds: Vec<(Cow<'static, str>, u64)>,
    /// Stream events, in the order of [`EVENTS`].
    events: [u64; EVENTS.len()],
}

/// The events of the API that are counted without looking for their names.
const EVENTS: [(&str, &str); 6] = [
    ("content_block_delta", "stream_event/content_block_delta"),
    ("content_block_start", "stream_event/content_block_start"),
    ("content_block_stop", "stream_event/content_block_stop"),
    ("message_start", "stream_event/message_start"),
    ("message_delta", "stream_event/message_delta"),
    ("message_stop", "stream_event/message_stop"),
];

/// Kinds that every run has: their names need not be made.
const OFTEN: [&str; 5] = ["assistant", "user", "system/init", "system/status", "result/success"];

/// Whether this is the name of a kind, or of this part of it.
fn is_named(name: &str, kind: &str, part: Option<&str>) -> bool {
    let rest = match part {
        Some(part) => name.strip_suffix(part).and_then(|rest| rest.strip_suffix('/')),
        None => Some(name),
    };
    rest == Some(kind)
}

impl LineCounts {
    /// All counts.
    pub(crate) fn stats(&self) -> Stats {
        self.clone().into_stats()
    }

    /// All counts, when no more are to come.
    pub(crate) fn into_stats(self) -> Stats {
        let events = EVENTS.iter().zip(self.events).filter(|(_, count)| *count > 0);
        let mut kinds = self.kinds;
        kinds.reserve(EVENTS.len());
        kinds.extend(events.map(|((_, name), count)| (Cow::Borrowed(*name), count)));
        Stats { by_kind: kinds.into_iter().collect(), ..self.stats }
    }

    /// Counts bytes that were fed.
    pub(crate) fn bytes(&mut self, count: usize) {
        self.stats.bytes += count as u64;
    }

    /// Counts bytes that will not be read.
    pub(crate) fn unread(&mut self, count: u64) {
        self.stats.unread += count;
    }

    /// Bytes fed so far.
    pub(crate) fn fed(&self) -> u64 {
        self.stats.bytes
    }

    /// Lines that held anything so far.
    pub(crate) fn records(&self) -> u64 {
        self.stats.lines - self.stats.blank
    }

    fn count(&mut self, kind: &str, part: Option<&str>) {
        if let Some((_, count)) = self.kinds.iter_mut().find(|(n, _)| is_named(n, kind, part)) {
            *count += 1;
        } else {
            let often = OFTEN.iter().find(|name| is_named(name, kind, part));
            let name = often.map_or_else(|| name(kind, part).into(), |name| Cow::Borrowed(*name));
            self.kinds.push((name, 1));
        }
    }
}

fn name(kind: &str, part: Option<&str>) -> String {
    part.map_or_else(|| kind.to_owned(), |part| [kind, part].join("/"))
}

/// The way out, for the time of one line.
pub(crate) struct Emitter<'s> {
    sink: &'s mut dyn FnMut(Event<'_>),
    counts: &'s mut LineCounts,
    class: LineClass,
}

impl<'s> Emitter<'s> {
    /// Opens the next line.
    pub(crate) fn line(counts: &'s mut LineCounts, sink: &'s mut dyn FnMut(Event<'_>)) -> Self {
        counts.stats.lines += 1;
        Self { sink, counts, class: LineClass::Blank }
    }

    /// Opens what comes after the last line.
    pub(crate) fn end(counts: &'s mut LineCounts, sink: &'s mut dyn FnMut(Event<'_>)) -> Self {
        Self { sink, counts, class: LineClass::Blank }
    }

    /// Closes the line: it is counted.
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

    /// Tells an event.
    pub(crate) fn emit(&mut self, event: Event<'_>) {
        (self.sink)(event);
    }

    pub(crate) fn unknown(&mut self, kind: &str, subtype: Option<&str>, raw: &str) {
        self.class = self.class.max(LineClass::Unknown);
        *self.counts.stats.unknown_kinds.entry(name(kind, subtype)).or_default() += 1;
        self.emit(Event::Unknown {
            kind: kind.into(),
            subtype: subtype.map(Into::into),
            raw: raw.into(),
        });
    }

    /// Counts and tells that bytes of the line were replaced.
    pub(crate) fn replaced(&mut self, count: u64, line: &str) {
        self.counts.stats.replaced += count;
        let what = "The line has bytes that are not UTF-8, shown as U+FFFD";
        self.diagnostic(DiagnosticCode::InvalidUtf8, what, line);
    }

    /// Tells how the arguments that count differ from those that streamed.
    pub(crate) fn differs(&mut self, name: &str, how: &str) {
        let what = "A snapshot's input is not what was streamed, and counts";
        self.diagnostic(DiagnosticCode::InputDiffers, what, &format!("{name}: {how}"));
    }

    /// Tells what is wrong and, clipped, with what.
    pub(crate) fn diagnostic(&mut self, code: DiagnosticCode, what: &str, with: &str) {
        use DiagnosticCode as Code;
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

/// The first 80 characters, with a mark when there are more.
fn clip(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
