//! Draws the expected chat beside the actual one, from the first message that differs, with the changed words marked:
//! in a terminal, as plain lines, and on a page. In a narrow terminal one stands above the other.

use std::io::{self, Write};

use anstyle::Style;
use clitape_judge::{ChatDiff, DiffLine, align_texts};
use clitape_recording::text::markup::Span;
use clitape_recording::text::{changed_words, pad, plain, plural, width};
use maud::{Markup, html};

use super::lines::{StyledRun, columns, wrap};
use super::screen::Screen;
use super::text::{BAD, COOL, DIM, STRONG_BAD, STRONG_COOL};

/// The most columns of a message beside another, and of one alone.
const WIDTH: usize = 48;
const WIDTH_ALONE: usize = 64;
/// The columns of the terminal from which two messages stand beside each other, and those around both, or around one.
const WIDE: usize = 90;
const AROUND_BOTH: usize = 9;
const AROUND_ONE: usize = 4;
/// The most rows that are shown before the first one that differs.
const BEFORE: usize = 4;
/// The most rows that are shown.
const ROWS: usize = 14;
/// The most lines of a chat as plain text.
const LINES: usize = 12;
/// The mark on a run of changed words.
const CHANGED: &str = "changed";

/// A row of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ChatRow {
    /// The upper or the lower end of a message.
    End(char),
    /// A line of a message.
    Line(Vec<StyledRun>),
    /// The side lacks this message.
    Empty,
}

impl ChatRow {
    fn is_changed(&self) -> bool {
        matches!(self, Self::Line(runs) if runs.iter().any(|(marks, _)| marks == CHANGED))
    }
}

/// The two sides of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatSides {
    /// What is right, and what came in its place.
    Finding,
    /// A golden, and what is proposed to replace it: neither is wrong yet.
    Proposal,
}

impl ChatSides {
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Finding => ["expected", "came"],
            Self::Proposal => ["old", "new"],
        }
    }

    /// Returns the styles of the sides. Red is what is wrong, and nothing else.
    fn styles(self) -> [SideStyle; 2] {
        let neutral = SideStyle { plain: COOL, changed: STRONG_COOL };
        match self {
            Self::Finding => [neutral, SideStyle { plain: BAD, changed: STRONG_BAD }],
            Self::Proposal => [neutral, neutral],
        }
    }
}

/// The style of a side, and that of its changed words.
#[derive(Debug, Clone, Copy)]
struct SideStyle {
    plain: Style,
    changed: Style,
}

/// The marks of the two sides.
const MARKS: [char; 2] = ['-', '+'];

/// Draws both sides in a terminal.
pub(super) fn write_chat(
    out: &mut Screen<'_>,
    chat: &ChatDiff,
    sides: ChatSides,
) -> io::Result<()> {
    let at = chat.at.map(|at| format!("   at {}.{:03} s", at / 1000, at % 1000));
    let at = at.unwrap_or_default();
    let (names, styles) = (sides.names(), sides.styles());
    let named = |side: usize| format!("{} {}", MARKS[side], names[side]);
    match out.columns() {
        Some(columns) if columns < WIDE => {
            let width = WIDTH_ALONE.min(columns - AROUND_ONE);
            for (side, style) in styles.into_iter().enumerate() {
                let at = if side == 0 { at.as_str() } else { "" };
                let name = style.plain;
                writeln!(out, "  {name}{}{name:#}{DIM}{at}{DIM:#}", named(side))?;
                let rows = rows(chat, width).into_iter().map(|[old, new]| match side {
                    0 => [old],
                    _ => [new],
                });
                let rows: Vec<_> = rows.filter(|[row]| *row != ChatRow::Empty).collect();
                write_rows(out, chat, &rows, |[row]| cell(row, MARKS[side], style, width, false))?;
            }
        }
        columns => {
            let half = columns.map_or(WIDTH, |columns| (columns - AROUND_BOTH) / 2);
            let width = WIDTH.min(half);
            let [left, right] = styles.map(|style| style.plain);
            let old = pad(&named(0), width + 2);
            let new = named(1);
            writeln!(out, "  {left}{old}{left:#}   {right}{new}{right:#}{DIM}{at}{DIM:#}")?;
            write_rows(out, chat, &rows(chat, width), |[old, new]| {
                let old = cell(old, MARKS[0], styles[0], width, true);
                let new = cell(new, MARKS[1], styles[1], width, false);
                format!("{old}   {new}")
            })?;
        }
    }
    Ok(())
}

/// Writes the rows from a few before the first one that differs.
fn write_rows<const N: usize>(
    out: &mut Screen<'_>,
    chat: &ChatDiff,
    rows: &[[ChatRow; N]],
    drawn: impl Fn(&[ChatRow; N]) -> String,
) -> io::Result<()> {
    let first = rows.iter().position(|row| row.iter().any(ChatRow::is_changed));
    let start = match first.unwrap_or_default().saturating_sub(BEFORE) {
        // The mark for rows that are left out would take a row itself.
        1 => 0,
        start => start,
    };
    if chat.above > 0 || start > 0 {
        let above = match chat.above {
            0 => String::new(),
            above => format!(" {} above", plural(above, "equal message")),
        };
        writeln!(out, "  {DIM}⋮{above}{DIM:#}")?;
    }
    for row in rows.iter().skip(start).take(ROWS) {
        writeln!(out, "  {}", drawn(row))?;
    }
    if rows.len() > start + ROWS {
        writeln!(out, "  {DIM}⋮{DIM:#}")?;
    }
    Ok(())
}

/// Returns one row of a side for messages of these columns; `mark` is put before a line that differs.
fn cell(
    row: &ChatRow,
    mark: char,
    SideStyle { plain: style, changed: strong }: SideStyle,
    columns: usize,
    is_padded: bool,
) -> String {
    let fill = |used: usize| match is_padded {
        true => " ".repeat((columns + 2).saturating_sub(used)),
        false => String::new(),
    };
    match row {
        ChatRow::Empty => fill(0),
        ChatRow::End(corner) => {
            format!("{DIM}{corner}{}{DIM:#}", "─".repeat(columns + 1))
        }
        ChatRow::Line(runs) => {
            let edge = match row.is_changed() {
                true => format!("{style}{mark}{style:#}"),
                false => format!("{DIM}│{DIM:#}"),
            };
            let run = |(marks, text): &StyledRun| match marks == CHANGED {
                true => format!("{strong}{}{strong:#}", plain(text)),
                false => plain(text),
            };
            let text: String = runs.iter().map(run).collect();
            let used = runs.iter().map(|(_, text)| width(text)).sum::<usize>();
            format!("{edge} {text}{}", fill(2 + used))
        }
    }
}

/// Returns the rows of both sides, message beside message.
fn rows(chat: &ChatDiff, columns: usize) -> Vec<[ChatRow; 2]> {
    let mut rows = Vec::new();
    for number in 0..chat.expected.len().max(chat.got.len()) {
        let [old, new] = message(chat, number).map(|spans| {
            let Some(spans) = spans else { return Vec::new() };
            let lines = wrap(&spans, columns).into_iter().map(trimmed).map(ChatRow::Line);
            let ends = |corner| std::iter::once(ChatRow::End(corner));
            ends('╭').chain(lines).chain(ends('╰')).collect::<Vec<_>>()
        });
        let (mut old, mut new) = (old.into_iter(), new.into_iter());
        loop {
            let row = [old.next(), new.next()];
            if row.iter().all(Option::is_none) {
                break;
            }
            rows.push(row.map(|cell| cell.unwrap_or(ChatRow::Empty)));
        }
    }
    let nothing = [chat.expected.is_empty(), chat.got.is_empty()];
    if let Some(first) = rows.first_mut() {
        for (cell, _) in first.iter_mut().zip(nothing).filter(|(_, nothing)| *nothing) {
            *cell = ChatRow::Line(vec![(CHANGED.to_owned(), "nothing".to_owned())]);
        }
    }
    rows
}

/// Removes the blanks at the end of a line.
fn trimmed(mut line: Vec<StyledRun>) -> Vec<StyledRun> {
    let used = columns(&line);
    let all: usize = line.iter().map(|(_, text)| width(text)).sum();
    if all > used
        && let Some((_, text)) = line.last_mut()
    {
        text.truncate(text.trim_end().len());
    }
    line
}

/// Returns a message of both sides as runs, with a mark on those that differ.
fn message(chat: &ChatDiff, number: usize) -> [Option<Vec<Span>>; 2] {
    let spans = |parts: Vec<(bool, String)>| {
        let span = |(changed, text): (bool, String)| {
            let marks = if changed { CHANGED } else { "" };
            Span { text, marks: marks.to_owned(), link: None }
        };
        Some(parts.into_iter().map(span).collect())
    };
    match [&chat.expected, &chat.got].map(|side| side.get(number).map(|lines| lines.join("\n"))) {
        [Some(old), Some(new)] => changed_words(&old, &new).map(spans),
        alone => alone.map(|text| spans(vec![(true, text?)])),
    }
}

/// Returns both sides as plain lines, with `-` and `+`.
pub(super) fn chat_lines(chat: &ChatDiff) -> Vec<String> {
    let whole = |side: &[Vec<String>]| {
        side.iter().flatten().map(|line| format!("{line}\n")).collect::<String>()
    };
    let diff = align_texts(&whole(&chat.expected), &whole(&chat.got));
    let line = |line: &DiffLine| {
        let text: String = line.parts.iter().map(|(_, text)| text.as_str()).collect();
        format!("{} {text}", line.side.mark()).trim_end().to_owned()
    };
    let mut lines: Vec<String> = diff.iter().take(LINES).map(line).collect();
    if let more @ 1.. = diff.len().saturating_sub(LINES) {
        lines.push(format!("  … {}", plural(more, "more line")));
    }
    lines
}

/// Returns both sides for a page, drawn as the page of a comparison draws them.
pub(super) fn chat_markup(chat: &ChatDiff, sides: ChatSides) -> Markup {
    let [old, new] = sides.names();
    let messages = (0..chat.expected.len().max(chat.got.len())).map(|number| message(chat, number));
    let messages: Vec<_> = messages.collect();
    let mark = |span: &Span, is_old: bool| {
        html! {
            @if span.marks != CHANGED { (span.text) }
            @else if is_old { del { (span.text) } }
            @else { ins { (span.text) } }
        }
    };
    html! {
        div.chats.wrong[sides == ChatSides::Finding] {
            @for (side, (class, name)) in [("a", old), ("b", new)].into_iter().enumerate() {
                div.phone.(class) {
                    span.tag { (name) }
                    div.chat {
                        @for spans in messages.iter().filter_map(|message| message[side].as_ref()) {
                            div.bubble { @for span in spans { (mark(span, side == 0)) } }
                        }
                        @if messages.iter().all(|message| message[side].is_none()) {
                            p.nothing { "nothing" }
                        }
                    }
                }
                "\n"
            }
        }
        "\n"
    }
}
