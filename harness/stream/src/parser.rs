//! The parser: bytes in, events out. Cuts them into lines, keeps to the limits, and hands each
//! record to the run.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::event::{DiagnosticCode, Event};
use crate::feed::{Feed, Finish};
use crate::limits::Limits;
use crate::lines::{self, Line, Lines};
use crate::run::Run;
use crate::tell::{Ledger, Stats, Tell};

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
///     }
/// }
/// for event in parser.finish() {
///     if let Event::Outcome(outcome) = event {
///         answer = outcome.into_owned().text;
///     }
/// }
/// assert_eq!(answer, "Hi.");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    lines: Lines,
    ledger: Ledger,
    run: Run,
    /// A limit was reached: nothing more is read.
    closed: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limits(Limits::default())
    }
}

impl Parser {
    /// A parser at the start of a run.
    pub fn new() -> Self {
        Self::default()
    }

    /// A parser that takes only so much.
    pub fn with_limits(limits: Limits) -> Self {
        let lines = Lines::new(limits.line);
        Self { limits, lines, ledger: Ledger::default(), run: Run::default(), closed: false }
    }

    /// A parser that compares no record with the one before.
    #[cfg(test)]
    pub(crate) fn unframed() -> Self {
        Self { run: Run::unframed(), ..Self::default() }
    }

    /// Feeds bytes, cut anywhere; gives the events they complete.
    pub fn feed<'p, 'b>(&'p mut self, bytes: &'b [u8]) -> Feed<'p, 'b> {
        Feed::new(self, bytes)
    }

    /// End of the bytes: gives the last events, the outcome last of all, and what was read.
    pub fn finish(self) -> Finish {
        Finish::new(self)
    }

    /// Feeds bytes, cut anywhere; calls `sink` for every event they complete. The events lend the
    /// texts so far, so nothing is copied.
    pub fn feed_with(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        let room = self.limits.bytes - self.ledger.fed().min(self.limits.bytes);
        self.ledger.bytes(bytes.len());
        if self.closed {
            return self.ledger.unread(bytes.len() as u64);
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let (bytes, over) = bytes.split_at(room);
        let Self { lines, ledger, run, limits, closed } = self;
        let mut reader = Reader { ledger, run, limits, sink };
        let left = lines.feed(bytes, &mut |line| {
            let flow = reader.line(line, true);
            *closed = flow.is_break();
            flow
        });
        let left = left.len() + over.len();
        if !over.is_empty() && !*closed {
            *closed = true;
            lines.finish(&mut |line| reader.line(line, false));
            let most = limits.bytes;
            reader.stop(DiagnosticCode::TooManyBytes, &format!("more than {most} bytes"));
        }
        if *closed {
            self.ledger.unread(left as u64);
        }
    }

    /// End of the bytes: an unterminated last line counts; open calls get incomplete results; the
    /// outcome comes last.
    pub fn finish_with(mut self, sink: &mut dyn FnMut(Event<'_>)) -> Stats {
        if !self.closed {
            let Self { lines, ledger, run, limits, .. } = &mut self;
            let mut reader = Reader { ledger, run, limits, sink };
            lines.finish(&mut |line| reader.line(line, false));
        }
        let silent = self.ledger.records() == 0;
        self.run.finish(silent, &mut Tell::end(&mut self.ledger, sink));
        self.ledger.into_stats()
    }

    /// What was read so far.
    pub fn stats(&self) -> Stats {
        self.ledger.stats()
    }
}

/// Reads lines into a run.
struct Reader<'p, 's> {
    ledger: &'p mut Ledger,
    run: &'p mut Run,
    limits: &'p Limits,
    sink: &'s mut dyn FnMut(Event<'_>),
}

impl Reader<'_, '_> {
    fn line(&mut self, line: Line<'_>, ended: bool) -> ControlFlow<()> {
        let (text, replaced, size) = match line {
            Line::Text(text) => (Cow::Borrowed(text), 0, text.len()),
            Line::Whole(bytes) => {
                let (text, replaced) = decode(bytes);
                (text, replaced, bytes.len())
            }
            Line::TooLong(bytes) => {
                self.too_long(bytes);
                return ControlFlow::Continue(());
            }
        };
        let record = lines::trim(&text);
        if !record.is_empty() && self.ledger.records() >= self.limits.records {
            let most = self.limits.records;
            self.ledger.unread(size as u64 + u64::from(ended));
            self.stop(DiagnosticCode::TooManyRecords, &format!("more than {most} records"));
            return ControlFlow::Break(());
        }
        let mut tell = Tell::line(self.ledger, self.sink);
        if replaced > 0 {
            tell.replaced(replaced, record);
        }
        if !record.is_empty() && !read(self.run, record, &mut tell) {
            let (code, what) = if ended {
                (DiagnosticCode::NotJson, "The line is not a record")
            } else {
                (DiagnosticCode::CutLine, "The output ends within a line")
            };
            tell.diagnostic(code, what, record);
        }
        tell.close();
        ControlFlow::Continue(())
    }

    fn too_long(&mut self, bytes: u64) {
        let mut tell = Tell::line(self.ledger, self.sink);
        let what =
            format!("A line of {bytes} bytes was not read: the limit is {}", self.limits.line);
        tell.diagnostic(DiagnosticCode::LineTooLong, &what, "");
        tell.close();
        self.ledger.unread(bytes);
    }

    fn stop(&mut self, code: DiagnosticCode, what: &str) {
        let mut tell = Tell::end(self.ledger, self.sink);
        tell.diagnostic(code, &format!("The output has {what}, and the rest is not read"), "");
        self.run.stop(&format!("The output has {what}; raise the limit to read the rest."));
    }
}

/// Takes a record, as it is or, where characters stand raw in its strings that JSON wants escaped,
/// with those escaped; false when it is none.
fn read(run: &mut Run, record: &str, tell: &mut Tell<'_>) -> bool {
    if run.records(record, tell) {
        return true;
    }
    let is_raw = |c: char| c.is_ascii_control() && c != '\u{7f}';
    if !record.contains(is_raw) {
        return false;
    }
    let escaped = record.chars().fold(String::with_capacity(record.len()), |mut text, c| {
        if is_raw(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
        text
    });
    let is_read = run.records(&escaped, tell);
    if is_read {
        let what =
            "The line has control characters that JSON wants escaped; they are taken as such";
        tell.diagnostic(DiagnosticCode::ControlCharacter, what, record);
    }
    is_read
}

/// The text of a line, and how many sequences of bytes in it are no UTF-8: each becomes U+FFFD.
fn decode(bytes: &[u8]) -> (Cow<'_, str>, u64) {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), 0),
        Err(_) => {
            let bad = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
            (String::from_utf8_lossy(bytes), bad as u64)
        }
    }
}
