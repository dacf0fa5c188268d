//! The only place that writes to stdout and stderr.
//!
//! [`Terminal`] makes text for people safe ([`TerminalSafe`]). Only the writers of reports, which make recorded text
//! safe themselves, may add styles. Below both, [`Filtered`] passes printable text, line breaks and the few escape
//! sequences that clitape writes. It passes no command that GitHub Actions would obey; only [`Terminal::workflow`]
//! prints such commands.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clitape_recording::text::{TerminalSafe, is_hidden, json, plain};
use clitape_runner::report::Screen;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use terminal_size::{Height, Width, terminal_size_of};

/// The style of the word `error:`.
const RED: Style = AnsiColor::Red.on_default().bold();

/// The most bytes of an escape sequence that passes the filter.
const SEQUENCE: usize = 32;

/// A stream on which a command prints for people.
pub(crate) struct Terminal<W: Write = Box<dyn Write>> {
    out: Filtered<W>,
}

/// Returns the locked standard output. A reader that goes away does not cause an error.
pub(crate) fn stdout() -> Terminal {
    Terminal::over(Box::new(UntilGone(anstream::stdout().lock())))
}

/// Returns the locked standard error.
pub(crate) fn stderr() -> Terminal {
    Terminal::over(Box::new(anstream::stderr().lock()))
}

/// Returns the standard error for a line that is rewritten. It is not locked, and keeps escape sequences
/// even if colours are off.
pub(crate) fn rewritable() -> Filtered<Box<dyn Write>> {
    Filtered::over(Box::new(AutoStream::always_ansi(io::stderr())))
}

/// Returns whether standard error is a terminal on which a line can be rewritten.
pub(crate) fn can_rewrite() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Returns the columns and the rows of the terminal of standard output; `None` if it is none, or does not know them.
pub(crate) fn size() -> Option<(usize, usize)> {
    let (Width(columns), Height(rows)) = terminal_size_of(io::stdout())?;
    (columns > 0 && rows > 0).then_some((columns.into(), rows.into()))
}

/// Sets when colours are printed: always, never, or (`None`) on a terminal.
pub(crate) fn set_colors(always: Option<bool>) {
    match always {
        None => ColorChoice::Auto,
        Some(true) => ColorChoice::Always,
        Some(false) => ColorChoice::Never,
    }
    .write_global();
}

/// Prints an error with its line breaks on stderr.
pub(crate) fn error(text: impl Display) {
    // There is no other stream on which to report that stderr can't be written.
    let _ = stderr().marked("error:", &text);
}

/// Prints a line on stderr.
pub(crate) fn note(text: impl Display) {
    // As in `error`, a failure to write can't be reported.
    let _ = stderr().line(text);
}

/// Writes bytes that clitape generates, such as shell completions, to stdout unchanged.
pub(crate) fn verbatim(bytes: &[u8]) -> io::Result<()> {
    UntilGone(io::stdout()).write_all(bytes)
}

/// Prints the message of clap about a command line, and returns whether it is an error.
///
/// The message repeats the arguments unchanged, so it keeps its colours only if they are plain text.
pub(crate) fn usage(error: &clap::Error) -> bool {
    let is_plain = |arg: std::ffi::OsString| arg.to_str().is_some_and(|arg| plain(arg) == arg);
    let text = error.render();
    let mut out = if error.use_stderr() { stderr() } else { stdout() };
    // An error means that the reader of the help has closed the stream.
    let _ = match std::env::args_os().all(is_plain) {
        true => write!(out.styled(), "{}", text.ansi()).and_then(|()| out.flush()),
        false => out.lines(text.to_string().trim_end()),
    };
    error.use_stderr()
}

/// Prints panics through the filter, because their messages may contain recorded text.
pub(crate) fn catch_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("of no name");
        let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
        let mut out = stderr();
        // As in `error`, a failure to write can't be reported.
        let _ = out.line(format_args!("thread '{name}' panicked{place}:"));
        let _ = out.lines(words(panic));
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = out.lines(trace);
        }
    }));
}

fn words<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = panic.payload();
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

impl<W: Write> Terminal<W> {
    fn over(out: W) -> Self {
        Self { out: Filtered::over(out) }
    }

    /// Prints a text as one line.
    pub(crate) fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{}", TerminalSafe::line(&text.to_string()))?;
        self.flush()
    }

    /// Prints a text with its line breaks.
    pub(crate) fn lines(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{}", TerminalSafe::lines(&text.to_string()))?;
        self.flush()
    }

    /// Prints a text with its line breaks after a red word.
    fn marked(&mut self, word: &str, text: &impl Display) -> io::Result<()> {
        let text = text.to_string();
        writeln!(self.out, "{RED}{word}{RED:#} {}", TerminalSafe::lines(&text))?;
        self.flush()
    }

    /// Prints a question without a line break, so that the answer is typed on the same line.
    pub(crate) fn ask(&mut self, text: &str) -> io::Result<()> {
        write!(self.out, "{}", TerminalSafe::line(text))?;
        self.flush()
    }

    /// Prints a line of JSON.
    pub(crate) fn json(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", json(text))?;
        self.flush()
    }

    /// Prints commands that GitHub Actions obeys.
    pub(crate) fn workflow(&mut self, commands: &str) -> io::Result<()> {
        self.flush()?;
        writeln!(self.out.out, "{}", TerminalSafe::lines(commands.trim_end()))?;
        self.out.out.flush()
    }

    /// Returns the filter for a writer of reports, which makes recorded text safe itself.
    pub(crate) fn styled(&mut self) -> &mut Filtered<W> {
        &mut self.out
    }

    /// Returns the same for a writer that draws for the width of the terminal, if standard output is one.
    pub(crate) fn screen(&mut self) -> Screen<'_> {
        Screen::new(&mut self.out, size().map(|(columns, _)| columns))
    }

    /// Writes all buffered text to the stream.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A writer that escapes control characters, unknown escape sequences, and commands to a CI service.
pub(crate) struct Filtered<W: Write> {
    out: W,
    /// The first bytes of a character or escape sequence that is not complete yet.
    retained: Vec<u8>,
    line: LineStart,
}

/// The part of a command that a line contains so far: `::…` at its start, or `##[…` or `##word[…` anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineStart {
    /// Only blanks.
    Start,
    /// Blanks and one colon.
    Colon,
    /// One `#`.
    Hash,
    /// `##`, maybe followed by small letters.
    Hashes,
    /// No part of a command.
    Inside,
}

impl LineStart {
    /// Returns the state after `c`, or `None` if `c` completes a command.
    fn after(self, c: char) -> Option<Self> {
        Some(match (self, c) {
            (Self::Colon, ':') | (Self::Hashes, '[') => return None,
            (_, '\n') => Self::Start,
            (Self::Start, ':') => Self::Colon,
            (Self::Hash | Self::Hashes, '#') => Self::Hashes,
            (_, '#') => Self::Hash,
            (Self::Hashes, 'a'..='z') => Self::Hashes,
            (Self::Start, c) if c.is_whitespace() => Self::Start,
            // Some readers ignore invisible characters inside a command.
            (same, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}') => same,
            _ => Self::Inside,
        })
    }
}

impl<W: Write> Filtered<W> {
    fn over(out: W) -> Self {
        Self { out, retained: Vec::new(), line: LineStart::Start }
    }

    /// Writes the retained bytes. `all` also writes an incomplete character or sequence, escaped.
    fn pass(&mut self, all: bool) -> io::Result<()> {
        let retained = std::mem::take(&mut self.retained);
        let mut safe = String::with_capacity(retained.len());
        let mut rest = &retained[..];
        while !rest.is_empty() {
            let length = match sequence(rest) {
                Sequence::Whole { length, starts_line } => {
                    safe.push_str(&String::from_utf8_lossy(&rest[..length]));
                    if starts_line {
                        self.line = LineStart::Start;
                    }
                    length
                }
                Sequence::Begun if !all => break,
                Sequence::Begun | Sequence::None => match character(rest) {
                    None if !all => break,
                    found => {
                        let cut = (char::REPLACEMENT_CHARACTER, rest.len());
                        let (c, length) = found.unwrap_or(cut);
                        self.push(&mut safe, c);
                        length
                    }
                },
            };
            rest = &rest[length..];
        }
        self.retained = rest.to_vec();
        self.out.write_all(safe.as_bytes())
    }

    fn push(&mut self, safe: &mut String, c: char) {
        match self.line.after(c) {
            Some(line) if c == '\n' || !is_hidden(c) => {
                self.line = line;
                safe.push(c);
            }
            Some(_) => {
                self.line = LineStart::Inside;
                safe.extend(c.escape_default());
            }
            None => {
                self.line = LineStart::Inside;
                safe.extend(c.escape_unicode());
            }
        }
    }
}

impl<W: Write> Write for Filtered<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retained.extend_from_slice(bytes);
        self.pass(false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass(true)?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Filtered<W> {
    fn drop(&mut self) {
        // A caller that needs the error calls `flush` itself.
        let _ = self.flush();
    }
}

/// The escape sequence at the start of bytes.
enum Sequence {
    /// A sequence that clitape writes; `starts_line` if the cursor is then at the start of a line.
    Whole { length: usize, starts_line: bool },
    /// The first bytes of such a sequence.
    Begun,
    /// Other bytes.
    None,
}

/// Finds a sequence that clitape writes: a colour (`ESC [ … m`), or one of those of
/// [`TerminalChat`](clitape_runner::report::TerminalChat) and `progress.rs` (`ESC [ n A`, `ESC [ J`, CR `ESC [ 2 K`).
fn sequence(bytes: &[u8]) -> Sequence {
    let cr = usize::from(bytes[0] == b'\r');
    let (body, begin) = (&bytes[cr..], b"\x1b[");
    if !body.starts_with(begin) {
        let begun = begin.starts_with(body) && (cr == 1 || !body.is_empty());
        return if begun { Sequence::Begun } else { Sequence::None };
    }
    let parameters = body[2..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    let length = cr + 2 + parameters + 1;
    match (bytes.get(length - 1), cr, &body[2..2 + parameters]) {
        (Some(b'm'), 0, _) => Sequence::Whole { length, starts_line: false },
        (Some(b'A'), 0, _) | (Some(b'J'), 0, []) => Sequence::Whole { length, starts_line: true },
        (Some(b'K'), 1, b"2") => Sequence::Whole { length, starts_line: true },
        (None, ..) if length < SEQUENCE => Sequence::Begun,
        _ => Sequence::None,
    }
}

/// Returns the first character and its length in bytes, or `None` if the character is not complete.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn character(bytes: &[u8]) -> Option<(char, usize)> {
    let bytes = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("the error comes later")
        }
        Err(error) => {
            return error.error_len().map(|length| (char::REPLACEMENT_CHARACTER, length));
        }
    };
    valid.chars().next().map(|c| (c, c.len_utf8()))
}

/// True once the reader of standard output has gone away.
static IS_GONE: AtomicBool = AtomicBool::new(false);

/// Returns whether the reader of standard output has gone away, so that the output can end.
pub(crate) fn reader_is_gone() -> bool {
    IS_GONE.load(Ordering::Relaxed)
}

/// Waits until the reader of a standard output that is a pipe or a socket has gone away. Without end if it is neither.
pub(crate) fn wait_until_reader_is_gone() {
    let out = io::stdout();
    loop {
        // No event is asked for: the end of the reader is always reported.
        let mut watched = [PollFd::new(out.as_fd(), PollFlags::empty())];
        match poll(&mut watched, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Ok(1..) => return,
            _ => std::thread::park(),
        }
    }
}

/// A writer that passes bytes to standard output until its reader goes away, and drops them from then on.
struct UntilGone<W>(W);

/// Turns the error of a closed pipe into success.
fn unless_gone<T>(result: io::Result<T>, instead: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            IS_GONE.store(true, Ordering::Relaxed);
            Ok(instead)
        }
        result => result,
    }
}

impl<W: Write> Write for UntilGone<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match reader_is_gone() {
            true => Ok(bytes.len()),
            false => unless_gone(self.0.write(bytes), bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match reader_is_gone() {
            true => Ok(()),
            false => unless_gone(self.0.flush(), ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the output for a text that is written whole and byte by byte.
    fn check(text: &[u8], expect: &str) {
        for size in [text.len().max(1), 1] {
            let mut out = Vec::new();
            let mut filtered = Filtered::over(&mut out);
            text.chunks(size).for_each(|part| filtered.write_all(part).unwrap());
            drop(filtered);
            assert_eq!(String::from_utf8(out).unwrap(), expect, "{size} at a time");
        }
    }

    #[test]
    fn only_own_sequences_pass() {
        for own in ["\x1b[31m\x1b[1;4mx\x1b[0m", "\x1b[12A\x1b[J", "\r\x1b[2Ka", "👩‍👩‍👧 🛠️ ü\n"]
        {
            check(own.as_bytes(), own);
        }
        for (text, expect) in [
            ("\x1b[2J\x1b[H", r"\u{1b}[2J\u{1b}[H"),
            ("\x1b]52;c;QQ==\x07", r"\u{1b}]52;c;QQ==\u{7}"),
            ("a\rb\tc\u{9b}31m", r"a\rb\tc\u{9b}31m"),
            ("\u{202e}\u{200b}", r"\u{202e}\u{200b}"),
            ("\x1b[\r\x1b", r"\u{1b}[\r\u{1b}"),
        ] {
            check(text.as_bytes(), expect);
        }
        check(b"a\xffb\xe2\x80", "a\u{fffd}b\u{fffd}");
        let endless = format!("\x1b[{}", "1".repeat(99));
        check(endless.as_bytes(), &endless.replace('\x1b', r"\u{1b}"));
    }

    #[test]
    fn no_line_is_a_command_of_github() {
        for (text, expect) in [
            ("::error::x\n a::b\n", ":\\u{3a}error::x\n a::b\n"),
            (" \u{3000}::add-mask::x", " \u{3000}:\\u{3a}add-mask::x"),
            ("\x1b[31m::error::x", "\x1b[31m:\\u{3a}error::x"),
            ("\x1b[1A\x1b[J::error::x", "\x1b[1A\x1b[J:\\u{3a}error::x"),
            ("a ##[error]x ###[y ##vso[z]", "a ##\\u{5b}error]x ###\\u{5b}y ##vso\\u{5b}z]"),
            ("a::b #[derive] ## [x]", "a::b #[derive] ## [x]"),
        ] {
            check(text.as_bytes(), expect);
        }
    }

    #[test]
    fn commands_of_reports_are_commands() {
        let mut out = Vec::new();
        let mut terminal = Terminal::over(&mut out);
        terminal.line("::error::no\n::").unwrap();
        terminal.workflow("::error title=x::##[y\n::t::\n").unwrap();
        terminal.lines("::error::no").unwrap();
        drop(terminal);
        let expect = ":\\u{3a}error::no\\n::\n::error title=x::##[y\n::t::\n:\\u{3a}error::no\n";
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }
}
