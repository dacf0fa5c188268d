//! The progress of a command: one line that is rewritten on a terminal, or plain lines elsewhere.

use std::io::{self, Write};

use clitape_recording::text::{Keep, plain, plural, truncate};
use clitape_runner::suite::TrialEvent;

use crate::terminal::{self, Filtered};

/// The most columns of the line, so that it never wraps.
const WIDTH: usize = 70;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressStyle {
    Rewritten,
    Lines,
    Quiet,
}

/// Progress on stderr. Dropping it removes the line.
pub(crate) struct ProgressLine<W: Write = Filtered<Box<dyn Write>>> {
    how: ProgressStyle,
    shown: bool,
    /// The verb and the noun of the count, such as `checked` and `scenario`.
    counts: [&'static str; 2],
    /// The count in words; empty at first.
    counted: String,
    out: W,
}

impl ProgressLine {
    /// Progress in the style that stderr allows.
    pub(crate) fn new(quiet: bool) -> Self {
        let how = match terminal::can_rewrite() {
            _ if quiet => ProgressStyle::Quiet,
            true => ProgressStyle::Rewritten,
            false => ProgressStyle::Lines,
        };
        let (shown, counts, counted) = (false, ["checked", "scenario"], String::new());
        Self { how, shown, counts, counted, out: terminal::rewritable() }
    }
}

impl<W: Write> ProgressLine<W> {
    /// Shows the current work where a line can be rewritten.
    pub(crate) fn now(&mut self, text: &str) {
        if self.how == ProgressStyle::Rewritten {
            let text = plain(text);
            let text = truncate(&text, WIDTH, Keep::Start);
            // A failure to show progress does not stop the command.
            let _ = write!(self.out, "\r\u{1b}[2K{text}").and_then(|()| self.out.flush());
            self.shown = true;
        }
    }

    /// Shows the work that begins, as a new line where no line can be rewritten.
    pub(crate) fn step(&mut self, text: &str) {
        self.now(text);
        if self.how == ProgressStyle::Lines {
            // A failure to show progress does not stop the command.
            let _ = writeln!(self.out, "{}", plain(text));
        }
    }

    /// Begins a step whose events count these things: `compared 3 of 20 cassettes`.
    pub(crate) fn begin(&mut self, step: &str, counts: [&'static str; 2]) {
        self.counts = counts;
        self.step(step);
    }

    /// Returns a function that shows the events of a run, for the libraries that report them.
    pub(crate) fn reporter(&mut self) -> impl FnMut(TrialEvent<'_>) -> io::Result<()> {
        |event| {
            self.follow(&event);
            Ok(())
        }
    }

    /// Shows an event of a run, whatever the subject. A scenario that is judged removes the line only.
    pub(crate) fn follow(&mut self, event: &TrialEvent<'_>) {
        match *event {
            TrialEvent::Step(what) => self.step(what),
            TrialEvent::StepGoesOn(line) => self.now(line),
            TrialEvent::Judged { done, of } => {
                let [verb, noun] = self.counts;
                self.counted = format!("{verb} {done} of {}", plural(of, noun));
                let counted = self.counted.clone();
                self.now(&counted);
            }
            TrialEvent::UnderWay { scenario, check, replays } => {
                let replays = match replays {
                    0 => String::new(),
                    n => format!(", {}", plural(n, "replay")),
                };
                let separator = if self.counted.is_empty() { "" } else { "; " };
                let text = format!("{}{separator}{scenario} {check}{replays}", self.counted);
                self.now(&text);
            }
            TrialEvent::Scenario(_) => self.clear(),
            _ => {}
        }
    }

    /// Removes the line, before something else is printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            // A failure to show progress does not stop the command.
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
            let mut progress = ProgressLine {
                how,
                shown: false,
                counts: [""; 2],
                counted: String::new(),
                out: &mut out,
            };
            progress.step(&long);
            progress.clear();
            drop(progress);
            assert_eq!(String::from_utf8(out).unwrap(), expect, "{how:?}");
        }
    }
}
