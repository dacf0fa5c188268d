//! The chat as a person sees it: Telegram calls applied to a screen that is drawn in a terminal.

use std::io::{self, Write};

use super::page::chat::{StyledRun, spans, wrap};
use super::style::{BOLD, DIM};
use crate::replay::{ChatChange, ChatView, Entry, SeenMessage};

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
            for line in wrap(&spans(html), WIDTH) {
                let line: String = line.iter().map(run).collect();
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

/// Returns a run of text as a terminal shows it: bold and code are bold, italics dim.
fn run((marks, text): &StyledRun) -> String {
    let has = |known: &[&str]| marks.split(' ').any(|mark| known.contains(&mark));
    match (has(&["b", "pre", "code"]), has(&["i"])) {
        (true, _) => format!("{BOLD}{text}{BOLD:#}"),
        (false, true) => format!("{DIM}{text}{DIM:#}"),
        (false, false) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_shown_as_a_person_sees_it() {
        for (html, expect) in [
            ("a &lt;b&gt; &amp;amp; <a href=\"x\">link</a>", "a <b> &amp; link".to_owned()),
            ("<b>x</b>", format!("{BOLD}x{BOLD:#}")),
            ("<i>a b</i> \u{1b}[2J<script>", format!("{DIM}a b{DIM:#} ␛[2J<script>")),
        ] {
            let [line] = &wrap(&spans(html), WIDTH)[..] else { panic!("one line") };
            assert_eq!(line.iter().map(run).collect::<String>(), expect);
        }
    }
}
