//! Where events leave the parser, and where everything that was read is counted.

use std::collections::BTreeMap;

use crate::event::{DiagnosticCode, Event};

/// What was read so far. Each line is counted once: `lines` is the sum of `blank`, `records`,
/// `unknown` and `unusable`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes fed.
    pub bytes: u64,
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
    /// Records by kind: `type`, or `type/subtype`, or `stream_event/` and the event's type. A
    /// line that is an array counts once for each of its records.
    pub by_kind: BTreeMap<String, u64>,
}

/// What became of a line; of several the last in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Blank,
    Record,
    Unknown,
    Unusable,
}

/// Counts kinds without a new key each time.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) stats: Stats,
    key: String,
}

impl Ledger {
    fn count(&mut self, kind: &str, part: Option<&str>) {
        self.key.clear();
        self.key.push_str(kind);
        if let Some(part) = part {
            self.key.push('/');
            self.key.push_str(part);
        }
        match self.stats.by_kind.get_mut(&self.key) {
            Some(count) => *count += 1,
            None => drop(self.stats.by_kind.insert(self.key.clone(), 1)),
        }
    }
}

/// The way out, for the time of one line.
pub(crate) struct Tell<'s> {
    sink: &'s mut dyn FnMut(Event<'_>),
    ledger: &'s mut Ledger,
    line: u64,
    fate: Fate,
}

impl<'s> Tell<'s> {
    /// Opens the next line.
    pub(crate) fn line(ledger: &'s mut Ledger, sink: &'s mut dyn FnMut(Event<'_>)) -> Self {
        ledger.stats.lines += 1;
        Self { line: ledger.stats.lines, sink, ledger, fate: Fate::Blank }
    }

    /// Opens what comes after the last line.
    pub(crate) fn end(ledger: &'s mut Ledger, sink: &'s mut dyn FnMut(Event<'_>)) -> Self {
        Self { line: ledger.stats.lines, sink, ledger, fate: Fate::Blank }
    }

    /// Closes the line: it is counted.
    pub(crate) fn close(self) {
        let stats = &mut self.ledger.stats;
        *match self.fate {
            Fate::Blank => &mut stats.blank,
            Fate::Record => &mut stats.records,
            Fate::Unknown => &mut stats.unknown,
            Fate::Unusable => &mut stats.unusable,
        } += 1;
    }

    /// Counts a record of the line.
    pub(crate) fn record(&mut self, kind: &str, part: Option<&str>) {
        self.ledger.count(kind, part);
        self.fate = self.fate.max(Fate::Record);
    }

    pub(crate) fn event(&mut self, event: Event<'_>) {
        (self.sink)(event);
    }

    pub(crate) fn unknown(&mut self, kind: &str, subtype: Option<&str>, raw: &str) {
        self.fate = self.fate.max(Fate::Unknown);
        self.event(Event::Unknown { kind, subtype, raw });
    }

    /// Tells what is wrong and, clipped, with what.
    pub(crate) fn diagnostic(&mut self, code: DiagnosticCode, what: &str, with: &str) {
        if matches!(
            code,
            DiagnosticCode::NotJson | DiagnosticCode::CutLine | DiagnosticCode::BadRecord
        ) {
            self.fate = Fate::Unusable;
        }
        self.ledger.stats.diagnostics += 1;
        let message = format!("{what}: {}", clip(with));
        let line = self.line;
        self.event(Event::Diagnostic { code, message: &message, line });
    }
}

/// The first 80 characters, with a mark when there are more.
fn clip(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
