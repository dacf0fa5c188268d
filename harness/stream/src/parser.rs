//! The parser: it splits the bytes into lines, applies the limits, and hands each record to the
//! run. Its events go to a callback, or come from an iterator.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::emitter::{Emitter, LineCounts, Stats};
use crate::event::{DiagnosticCode, Event, OwnedEvent};
use crate::lines::{self, LineSplitter, RawLine};
use crate::run::RunState;

/// Turns the stdout bytes of one run into lifecycle events.
///
/// Events can be had by callback ([`feed_with`](Self::feed_with)), which lends the text so far, or
/// as an iterator of owned ones ([`feed`](Self::feed)):
///
/// ```
/// use clitape_stream::{Event, Parser};
///
/// let mut parser = Parser::new();
/// let mut answer = String::new();
/// for piece in [&b"{\"type\":\"result\",\"subtype\":\"succ"[..], b"ess\",\"result\":\"Hi.\"}\n"] {
///     for event in parser.feed(piece) {
///         println!("{}", serde_json::to_string(&event)?);
///         if let Event::Outcome(outcome) = event {
///             answer = outcome.into_owned().text;
///         }
///     }
/// }
/// // The turn has ended, so no outcome is left.
/// assert_eq!(parser.finish().count(), 0);
/// assert_eq!(answer, "Hi.");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    limits: ParserLimits,
    lines: LineSplitter,
    counts: LineCounts,
    /// The lines of the host's side.
    stdin: LineSplitter,
    stdin_counts: LineCounts,
    run: RunState,
    /// A limit was reached: reading has ended.
    is_closed: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limits(ParserLimits::default())
    }
}

impl Parser {
    /// Makes a parser for one run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a parser with limits.
    pub fn with_limits(limits: ParserLimits) -> Self {
        let lines = LineSplitter::new(limits.line);
        Self {
            limits,
            lines,
            counts: LineCounts::default(),
            stdin: LineSplitter::new(limits.line),
            stdin_counts: LineCounts::default(),
            run: RunState::default(),
            is_closed: false,
        }
    }

    /// Feeds bytes, cut anywhere, and calls `sink` for every event that they complete. The events
    /// lend the texts so far, so that no text is copied.
    pub fn feed_with(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        let room = self.limits.bytes - self.counts.fed().min(self.limits.bytes);
        self.counts.bytes(bytes.len());
        if self.is_closed {
            return self.counts.unread(bytes.len() as u64);
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let (bytes, over) = bytes.split_at(room);
        let Self { lines, counts, run, limits, is_closed, .. } = self;
        let mut reader = LineReader { counts, run, limits, sink };
        let left = lines.feed(bytes, &mut |line| {
            let flow = reader.line(line, true);
            *is_closed = flow.is_break();
            flow
        });
        let left = left.len() + over.len();
        if !over.is_empty() && !*is_closed {
            *is_closed = true;
            lines.finish(&mut |line| reader.line(line, false));
            let most = limits.bytes;
            reader.stop(DiagnosticCode::TooManyBytes, &format!("more than {most} bytes"));
        }
        if *is_closed {
            self.counts.unread(left as u64);
        }
    }

    /// Feeds bytes of the host's side, the lines that it writes to the CLI's stdin, cut anywhere, and
    /// calls `sink` for what they say: [`Event::HostMessage`] and [`Event::Answered`].
    ///
    /// The order of the calls of this method and of [`feed_with`](Self::feed_with) is the order in which
    /// the host saw the two sides. Without it, the parser reads stdout alone.
    pub fn feed_stdin_with(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        let Self { stdin, stdin_counts, run, limits, .. } = self;
        stdin_counts.bytes(bytes.len());
        stdin.feed(bytes, &mut |line| {
            host_line(line, run, limits, Emitter::line(stdin_counts, sink));
            ControlFlow::Continue(())
        });
    }

    /// Counts of what was read of the host's side. They are not part of [`stats`](Self::stats).
    pub fn stdin_stats(&self) -> Stats {
        self.stdin_counts.stats()
    }

    /// Ends the bytes and calls `sink` for the last events. An unterminated last line counts, and
    /// open calls get incomplete results. A turn without a result gets an outcome that says so.
    pub fn finish_with(mut self, sink: &mut dyn FnMut(Event<'_>)) -> Stats {
        let Self { stdin, stdin_counts, run, limits, .. } = &mut self;
        stdin.finish(&mut |line| {
            host_line(line, run, limits, Emitter::line(stdin_counts, sink));
            ControlFlow::Continue(())
        });
        if !self.is_closed {
            let Self { lines, counts, run, limits, .. } = &mut self;
            let mut reader = LineReader { counts, run, limits, sink };
            lines.finish(&mut |line| reader.line(line, false));
        }
        let silent = self.counts.records() == 0;
        self.run.finish(silent, &mut Emitter::end(&mut self.counts, sink));
        self.counts.into_stats()
    }

    /// Counts of what was read so far.
    pub fn stats(&self) -> Stats {
        self.counts.stats()
    }
}

/// Reads lines into a run.
struct LineReader<'p, 's> {
    counts: &'p mut LineCounts,
    run: &'p mut RunState,
    limits: &'p ParserLimits,
    sink: &'s mut dyn FnMut(Event<'_>),
}

impl LineReader<'_, '_> {
    fn line(&mut self, line: RawLine<'_>, ended: bool) -> ControlFlow<()> {
        let (text, replaced, size) = match line {
            RawLine::Text(text) => (Cow::Borrowed(text), 0, text.len()),
            RawLine::Whole(bytes) => {
                let (text, replaced) = decode(bytes);
                (text, replaced, bytes.len())
            }
            RawLine::TooLong(bytes) => {
                self.too_long(bytes);
                return ControlFlow::Continue(());
            }
        };
        let record = lines::trim(&text);
        if !record.is_empty() && self.counts.records() >= self.limits.records {
            let most = self.limits.records;
            self.counts.unread(size as u64 + u64::from(ended));
            self.stop(DiagnosticCode::TooManyRecords, &format!("more than {most} records"));
            return ControlFlow::Break(());
        }
        let mut emitter = Emitter::line(self.counts, self.sink);
        if replaced > 0 {
            emitter.replaced(replaced, record);
        }
        if !record.is_empty() && !read(self.run, record, &mut emitter) {
            let (code, what) = if ended {
                (DiagnosticCode::NotJson, "The line is not a record")
            } else {
                (DiagnosticCode::CutLine, "The output ends within a line")
            };
            emitter.diagnostic(code, what, record);
        }
        self.run.emit_outcome(&mut emitter);
        emitter.close();
        ControlFlow::Continue(())
    }

    fn too_long(&mut self, bytes: u64) {
        let mut emitter = Emitter::line(self.counts, self.sink);
        let what =
            format!("A line of {bytes} bytes was not read: the limit is {}", self.limits.line);
        emitter.diagnostic(DiagnosticCode::LineTooLong, &what, "");
        emitter.close();
        self.counts.unread(bytes);
    }

    fn stop(&mut self, code: DiagnosticCode, what: &str) {
        let mut emitter = Emitter::end(self.counts, self.sink);
        emitter.diagnostic(code, &format!("The output has {what}, and the rest is not read"), "");
        self.run.stop(&format!("The output has {what}; raise the limit to read the rest."));
    }
}

/// Reads a line of the host's side.
fn host_line(
    line: RawLine<'_>,
    run: &mut RunState,
    limits: &ParserLimits,
    mut emitter: Emitter<'_>,
) {
    let text = match line {
        RawLine::Text(text) => Cow::Borrowed(text),
        RawLine::Whole(bytes) => decode(bytes).0,
        RawLine::TooLong(bytes) => {
            let limit = limits.line;
            let what = format!("A line of the host has {bytes} bytes, and the limit is {limit}");
            emitter.diagnostic(DiagnosticCode::LineTooLong, &what, "");
            return emitter.close();
        }
    };
    let record = lines::trim(&text);
    if !record.is_empty() && !run.host_record(record, &mut emitter) {
        emitter.diagnostic(DiagnosticCode::NotJson, "A line of the host is not a record", record);
    }
    emitter.close();
}

/// Reads a record; returns false if the text is not a record.
///
/// If raw control characters in its strings make the record invalid, it is read a second time with
/// these characters escaped.
fn read(run: &mut RunState, record: &str, emitter: &mut Emitter<'_>) -> bool {
    if run.records(record, emitter) {
        return true;
    }
    let escape = |c: char, text: &mut String| text.push_str(&format!("\\u{:04x}", u32::from(c)));
    let Some(escaped) = lines::replace_controls(record, escape) else { return false };
    let is_read = run.records(&escaped, emitter);
    if is_read {
        let what =
            "The line has control characters that JSON wants escaped; they are taken as such";
        emitter.diagnostic(DiagnosticCode::ControlCharacter, what, record);
    }
    is_read
}

/// Decodes a line. Returns the text and the number of byte sequences that are not UTF-8, each of
/// which became U+FFFD.
fn decode(bytes: &[u8]) -> (Cow<'_, str>, u64) {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), 0),
        Err(_) => {
            let bad = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
            (String::from_utf8_lossy(bytes), bad as u64)
        }
    }
}

/// Limits on what a parser reads.
///
/// The parser reports what exceeds a limit as a diagnostic and counts it
/// ([`Stats::unread`](crate::Stats::unread)). To change a limit, start from the default:
///
/// ```
/// let mut limits = clitape_stream::ParserLimits::default();
/// limits.records = 20_000;
/// ```
///
/// Memory is bounded by the longest line, the answer and the reasoning so far (which events lend),
/// the input of open calls, and a few words for each message, call and subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParserLimits {
    /// Maximum length of a line in bytes, 256 MiB by default. A longer line is skipped
    /// ([`LineTooLong`](crate::DiagnosticCode::LineTooLong)).
    pub line: usize,
    /// Maximum number of lines that are not blank, unlimited by default. The rest of the run is not
    /// read ([`TooManyRecords`](crate::DiagnosticCode::TooManyRecords)).
    pub records: u64,
    /// Maximum size of the run in bytes, unlimited by default. The rest is not read
    /// ([`TooManyBytes`](crate::DiagnosticCode::TooManyBytes)).
    pub bytes: u64,
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self { line: 256 << 20, records: u64::MAX, bytes: u64::MAX }
    }
}

impl Parser {
    /// Feeds bytes, cut anywhere, and returns the events that they complete.
    pub fn feed<'p, 'b>(&'p mut self, bytes: &'b [u8]) -> FeedEvents<'p, 'b> {
        FeedEvents { parser: self, rest: bytes, ready: VecDeque::new() }
    }

    /// Ends the bytes and returns the last events.
    pub fn finish(self) -> FinishEvents {
        let mut events = Vec::new();
        let stats = self.finish_with(&mut |event| events.push(event.into_owned()));
        FinishEvents { events: events.into_iter(), stats }
    }
}

/// Iterator over the events that some bytes complete; [`Parser::feed`] returns it.
///
/// The iterator reads the bytes line by line on demand. Dropping it reads the rest of them.
#[derive(Debug)]
pub struct FeedEvents<'p, 'b> {
    parser: &'p mut Parser,
    rest: &'b [u8],
    ready: VecDeque<OwnedEvent>,
}

impl Iterator for FeedEvents<'_, '_> {
    type Item = OwnedEvent;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |at| at + 1);
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest;
            let Self { parser, ready, .. } = self;
            parser.feed_with(line, &mut |event| ready.push_back(event.into_owned()));
        }
        self.ready.pop_front()
    }
}

impl Drop for FeedEvents<'_, '_> {
    fn drop(&mut self) {
        self.parser.feed_with(self.rest, &mut |_| {});
    }
}

/// Iterator over the last events of a run; [`Parser::finish`] returns it.
#[derive(Debug)]
pub struct FinishEvents {
    events: std::vec::IntoIter<OwnedEvent>,
    stats: Stats,
}

impl FinishEvents {
    /// Counts of what the parser read.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

impl Iterator for FinishEvents {
    type Item = OwnedEvent;

    fn next(&mut self) -> Option<Self::Item> {
        self.events.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    const RUN: &[u8] = b"{\"type\":\"holo\"}\n{\"type\":\"keep_alive\"}\n{\"type\":\"result\",\"result\":\"Hi.\"}\n{";

    fn kinds(events: impl Iterator<Item = OwnedEvent>) -> Vec<String> {
        events.map(|event| serde_json::to_value(event).unwrap()["kind"].to_string()).collect()
    }

    #[test]
    pub(crate) fn the_iterator_gives_what_the_callback_gets() {
        let mut parser = Parser::new();
        let mut seen = kinds(parser.feed(&RUN[..20]));
        seen.extend(kinds(parser.feed(&RUN[20..])));
        let finish = parser.finish();
        assert_eq!(finish.stats().lines, 4);
        seen.extend(kinds(finish));
        assert_eq!(seen, [r#""unknown""#, r#""record""#, r#""outcome""#, r#""diagnostic""#]);
    }

    #[test]
    pub(crate) fn a_dropped_iterator_has_read_its_bytes() {
        let mut parser = Parser::new();
        assert!(matches!(parser.feed(RUN).next(), Some(Event::Unknown { .. })));
        drop(parser.feed(b"}"));
        assert_eq!(parser.finish().stats().lines, 4);
    }
}
