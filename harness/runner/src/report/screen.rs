//! The place where a report for people is written: a stream, and the columns of its terminal.

use std::io::{self, Write};

use clitape_recording::text::markup::Span;
use clitape_recording::text::width;

use super::lines::wrap;
use super::text::DIM;

/// The fewest columns of a line, however narrow a terminal says that it is.
const NARROWEST: usize = 40;
/// The blanks before a further line of a text.
const INDENT: usize = 4;
/// The blank at which no line breaks.
const JOINED: char = '\u{a0}';

/// A stream for people. On a terminal, sentences and commands break between words, and chats have the width that is there.
pub struct Screen<'a> {
    out: &'a mut dyn Write,
    columns: Option<usize>,
}

impl std::fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// Takes a stream; `columns` are those of a terminal, `None` if it is a file or a pipe, where lines have any length.
    pub fn new(out: &'a mut dyn Write, columns: Option<usize>) -> Self {
        Self { out, columns: columns.map(|columns| columns.max(NARROWEST)) }
    }

    /// Returns the columns of the terminal.
    pub(super) fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Writes a sentence behind two blanks.
    pub(super) fn sentence(&mut self, text: &str) -> io::Result<()> {
        for (number, line) in self.lines(text, 2, 0).iter().enumerate() {
            writeln!(self.out, "{:1$}{line}", "", if number == 0 { 2 } else { INDENT })?;
        }
        Ok(())
    }

    /// Writes a text behind its name.
    pub(super) fn labelled(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.named(label, text, "")
    }

    /// Writes a command behind its name. Where it breaks, outside of quotes, a `\` stands, so that the lines can be
    /// copied.
    pub(super) fn command(&mut self, label: &str, command: &str) -> io::Result<()> {
        let mut quote = None;
        let joined = command.chars().map(|c| {
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                (' ', Some(_)) => return JOINED,
                _ => {}
            }
            c
        });
        self.named(label, &joined.collect::<String>(), " \\")
    }

    fn named(&mut self, label: &str, text: &str, at_break: &str) -> io::Result<()> {
        write!(self.out, "  {DIM}{label}:{DIM:#}")?;
        let lines = self.lines(text, 4 + width(label), width(at_break));
        for (number, line) in lines.iter().enumerate() {
            let before = if number == 0 { 1 } else { INDENT };
            let after = if number + 1 < lines.len() { at_break } else { "" };
            writeln!(self.out, "{:before$}{line}{after}", "")?;
        }
        Ok(())
    }

    /// Returns a text in lines of at most `columns` columns on a terminal, or as it is.
    pub(super) fn split(&self, text: &str, columns: usize) -> Vec<String> {
        match self.columns {
            Some(_) => whole_lines(text, columns),
            None => vec![text.to_owned()],
        }
    }

    /// Returns a text in lines that fit: the first behind `used` columns, the others behind the indent, and all but the
    /// last before `reserved` ones.
    fn lines(&self, text: &str, used: usize, reserved: usize) -> Vec<String> {
        let Some(columns) = self.columns else { return vec![text.replace(JOINED, " ")] };
        // What is used of the first line beyond the indent is put before it as a word, and taken off again.
        let before = "x".repeat(used.saturating_sub(INDENT).min(columns));
        let mut lines = whole_lines(&(before.clone() + text), columns - INDENT - reserved);
        lines.iter_mut().for_each(|line| *line = line.replace(JOINED, " "));
        if let Some(first) = lines.first_mut() {
            *first = first.split_off(before.len().min(first.len()));
        }
        lines
    }
}

/// Returns a text in lines of at most `columns` columns.
fn whole_lines(text: &str, columns: usize) -> Vec<String> {
    let span = Span { text: text.to_owned(), marks: String::new(), link: None };
    let lines = wrap(&[span], columns).into_iter().map(|line| {
        let line: String = line.into_iter().map(|(_, text)| text).collect();
        line.trim_end().to_owned()
    });
    lines.collect()
}

impl Write for Screen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::strip;

    #[test]
    fn sentences_and_commands_break_between_words() {
        let check = |columns, write: &dyn Fn(&mut Screen<'_>) -> io::Result<()>, expect: &str| {
            let mut out = Vec::new();
            write(&mut Screen::new(&mut out, columns)).expect("memory takes every write");
            assert_eq!(strip(&out), expect);
        };
        let text = "one two three four five six seven eight nine ten";
        check(None, &|screen| screen.sentence(text), &format!("  {text}\n"));
        check(
            Some(40),
            &|screen| screen.sentence(text),
            "  one two three four five six seven\n    eight nine ten\n",
        );
        check(
            Some(40),
            &|screen| screen.command("reproduce", text),
            "  reproduce: one two three four five \\\n    six seven eight nine ten\n",
        );
        check(
            Some(40),
            &|screen| screen.command("reproduce", "a --text 'one two three four' b"),
            "  reproduce: a --text \\\n    'one two three four' b\n",
        );
        check(Some(80), &|screen| screen.labelled("also in", "a b"), "  also in: a b\n");
        let long = "x".repeat(50);
        check(
            Some(40),
            &|screen| screen.labelled("is", &format!("{long} y")),
            &format!("  is: {}\n    {} y\n", "x".repeat(34), "x".repeat(16)),
        );
    }
}
