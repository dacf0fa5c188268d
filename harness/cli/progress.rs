//! What is going on, while it goes on: one line that is rewritten on a terminal, plain lines elsewhere.

use std::io::Write;

use clitape_runner::text::{Keep, plain, truncate};

use crate::terminal::{self, Filtered};

/// Columns at most, so that the line never wraps.
const WIDTH: usize = 70;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressStyle {
    Rewritten,
    Lines,
    Quiet,
}

/// Progress on stderr; the line goes when this is dropped.
pub(crate) struct ProgressLine<W: Write = Filtered<Box<dyn Write>>> {
    how: ProgressStyle,
    shown: bool,
    out: W,
}

impl ProgressLine {
    /// Progress as it befits where stderr goes.
    pub(crate) fn new(quiet: bool) -> Self {
        let how = match terminal::can_rewrite() {
            _ if quiet => ProgressStyle::Quiet,
            true => ProgressStyle::Rewritten,
            false => ProgressStyle::Lines,
        };
        Self { how, shown: false, out: terminal::rewritable() }
    }
}

impl<W: Write> ProgressLine<W> {
    /// Says what goes on where a line can be rewritten, and nothing elsewhere.
    pub(crate) fn now(&mut self, text: &str) {
        if self.how == ProgressStyle::Rewritten {
            let text = plain(text);
            let text = truncate(&text, WIDTH, Keep::Start);
            // What can't be shown is no reason to stop.
            let _ = write!(self.out, "\r\u{1b}[2K{text}").and_then(|()| self.out.flush());
            self.shown = true;
        }
    }

    /// Says what begins, as a line where none can be rewritten.
    pub(crate) fn step(&mut self, text: &str) {
        self.now(text);
        if self.how == ProgressStyle::Lines {
            let _ = writeln!(self.out, "{}", plain(text));
        }
    }

    /// Takes the line away, before something else is printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(self.out, "\r\u{1b}[2K").and_then(|()| self.out.flush());
        }
    }
}

impl<W: Write> Drop for ProgressLine<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_rewritten_on_a_terminal_only() {
        let long = format!("3 of 4 {}", "x".repeat(100));
        let cut = format!("\r\u{1b}[2K3 of 4 {}…\r\u{1b}[2K", "x".repeat(WIDTH - 8));
        for (how, expect) in [
            (ProgressStyle::Rewritten, cut),
            (ProgressStyle::Lines, format!("{long}\n")),
            (ProgressStyle::Quiet, String::new()),
        ] {
            let mut out = Vec::new();
            let mut progress = ProgressLine { how, shown: false, out: &mut out };
            progress.step(&long);
            progress.clear();
            drop(progress);
            assert_eq!(String::from_utf8(out).unwrap(), expect, "{how:?}");
        }
    }
}
