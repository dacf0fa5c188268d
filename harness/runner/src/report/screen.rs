//! The chat as a person sees it: Telegram calls applied to a screen that is drawn in a terminal.

use std::io::{self, Write};

use super::page::markup::{Span, spans};
use super::{BOLD, DIM};
use crate::replay::{ChatChange, ChatView, Entry, SeenMessage};

/// What a tab is in a terminal.
const TAB: &str = "    ";
/// Width of a message in columns.
const WIDTH: usize = 64;

/// A chat that is drawn in a terminal, and how many lines it takes there.
#[derive(Debug, Default)]
pub struct Screen {
    view: ChatView,
    drawn: usize,
}

impl Screen {
    /// Applies one entry; `true` when it changed what is seen.
    pub fn apply(&mut self, entry: &Entry) -> bool {
        self.view.apply(0, entry) == ChatChange::Text
    }

    /// Draws the screen over what was drawn before.
    ///
    /// # Errors
    ///
    /// When `out` can't be written to.
    pub fn draw(&mut self, out: &mut dyn Write, at: u64) -> io::Result<()> {
        if self.drawn > 0 {
            write!(out, "\u{1b}[{}A\u{1b}[J", self.drawn)?;
        }
        let mut lines = vec![format!("{DIM}{:>5}.{:03} s{DIM:#}", at / 1000, at % 1000)];
        for SeenMessage { text: html, .. } in self.view.messages() {
            lines.push(format!("{DIM}╭{}{DIM:#}", "─".repeat(WIDTH + 1)));
            for line in wrap(&visible(html)) {
                lines.push(format!("{DIM}│{DIM:#} {line}"));
            }
            lines.push(format!("{DIM}╰{}{DIM:#}", "─".repeat(WIDTH + 1)));
        }
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        self.drawn = lines.len();
        out.flush()
    }
}

/// Telegram HTML as terminal text: bold and code are bold, italics dim, control characters signs.
fn visible(html: &str) -> String {
    let mark = |span: Span| {
        let has = |marks: &[&str]| span.marks.split(' ').any(|mark| marks.contains(&mark));
        match (has(&["b", "pre", "code"]), has(&["i"])) {
            (true, _) => format!("{BOLD}{}{BOLD:#}", span.text),
            (false, true) => format!("{DIM}{}{DIM:#}", span.text),
            (false, false) => span.text,
        }
    };
    spans(html).into_iter().map(mark).collect::<String>().replace('\t', TAB)
}

/// Breaks lines at words so that none is wider than a message; escape sequences take no room.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut current, mut width) = (String::new(), 0);
        for word in line.split_inclusive(' ') {
            if width > 0 && width + columns(word.trim_end()) > WIDTH {
                lines.push(std::mem::take(&mut current));
                width = 0;
            }
            current.push_str(word);
            width += columns(word);
        }
        lines.push(current);
    }
    lines
}

fn columns(word: &str) -> usize {
    let mut escape = false;
    word.chars()
        .filter(|&c| {
            let inside = escape || c == '\u{1b}';
            escape = inside && c != 'm';
            !inside
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_shown_as_a_person_sees_it() {
        let plain = visible("a &lt;b&gt; &amp;amp; <a href=\"x\">link</a>");
        assert_eq!(plain, "a <b> &amp; link");
        assert_eq!(visible("<b>x</b>"), format!("{BOLD}x{BOLD:#}"));
        assert_eq!(visible("\u{1b}[2J<script>"), "␛[2J<script>");
    }

    #[test]
    fn long_lines_break_at_words() {
        let text = "word ".repeat(20);
        let lines = wrap(&text);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| columns(line.trim_end()) <= WIDTH), "{lines:?}");
        assert_eq!(lines.concat(), text);
    }
}
