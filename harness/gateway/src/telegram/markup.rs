//! Text in pieces of one style each, read from Markdown, and the marks a profile puts around them
//! ([V8](crate::rules::V8)).
//!
//! [`read`] uses `pulldown-cmark`: CommonMark with tables, task lists and struck out text, and an iterator that has the
//! place of each block in the source. Blocks for which a chat has no marks become text: bullets, boxes, aligned columns.
//! Lines break where they break in the source, and a blank line stays one. Raw HTML is text. Telegram takes no other
//! entity within code, so that a piece of code has no other style. `page` lays the pieces out.
//!
//! A draft shows text before its marks are closed. [`mend`] and [`finished`] make such text look as it will when they
//! are, so that it does not jump from one meaning to another with each piece that comes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::profile::{Escapes, Profile};

#[cfg(test)]
pub(crate) mod properties;

/// The kind of a piece's letters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Face {
    /// Words.
    #[default]
    Text,
    /// The address of a website.
    Address,
    /// Code within a line.
    Code,
    /// A block of code; the language may be empty.
    Block(String),
}

/// The look of a piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Style {
    pub(super) quote: bool,
    pub(super) link: Option<Arc<str>>,
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) strike: bool,
    pub(super) face: Face,
}

impl Style {
    pub(super) const PLAIN: Self = Self {
        quote: false,
        link: None,
        bold: false,
        italic: false,
        strike: false,
        face: Face::Text,
    };
    pub(super) const ITALIC: Self = Self { italic: true, ..Self::PLAIN };

    /// A block of code.
    pub(super) fn block(language: &str) -> Self {
        Self { face: Face::Block(language.to_owned()), ..Self::PLAIN }
    }

    pub(super) fn is_block(&self) -> bool {
        matches!(self.face, Face::Block(_))
    }

    /// The marks around a piece, the outermost first.
    pub(super) fn marks(&self, profile: &Profile) -> Vec<(String, String)> {
        let mut marks = Vec::new();
        let mut add = |(open, close): (&str, &str), name: &str, value: &str| {
            marks.push((open.replace(name, value), close.replace(name, value)));
        };
        if self.quote {
            add(profile.quote, "", "");
        }
        if let Some(url) = &self.link {
            let url: String = url.chars().map(|c| escaped(profile.url_escapes, c)).collect();
            add(profile.link, "{url}", &url);
        }
        let flags = [
            (self.bold, profile.bold),
            (self.italic, profile.italic),
            (self.strike, profile.strike),
        ];
        for (_, around) in flags.into_iter().filter(|(is_set, _)| *is_set) {
            add(around, "{}", "");
        }
        match &self.face {
            Face::Text | Face::Address => {}
            Face::Code => add(profile.code, "{}", ""),
            Face::Block(language) if language.is_empty() => add(profile.block, "{}", ""),
            Face::Block(language) => add(profile.block_in, "{language}", language),
        }
        marks
    }

    /// The characters that are escaped in a piece.
    pub(super) fn escapes(&self, profile: &Profile) -> Escapes {
        match self.face {
            Face::Text => profile.escapes,
            Face::Address => profile.address_escapes,
            Face::Code => profile.code_escapes,
            Face::Block(_) => profile.block_escapes,
        }
    }
}

/// `c` as it is written where `escapes` count.
pub(super) fn escaped(escapes: Escapes, c: char) -> String {
    let found = escapes.iter().find(|(special, _)| *special == c);
    found.map_or_else(|| c.to_string(), |(_, written)| (*written).to_owned())
}

/// A stretch of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledText {
    pub(super) style: Style,
    pub(super) text: String,
}

/// A piece of `text`.
pub(super) fn piece(style: Style, text: impl Into<String>) -> StyledText {
    StyledText { style, text: text.into() }
}

/// A piece of text without a mark.
pub(super) fn plain(text: impl Into<String>) -> StyledText {
    piece(Style::PLAIN, text)
}

/// A piece of bold text.
pub(super) fn bold(text: impl Into<String>) -> StyledText {
    piece(Style { bold: true, ..Style::PLAIN }, text)
}

/// A piece of text in italics.
pub(super) fn italic(text: impl Into<String>) -> StyledText {
    piece(Style::ITALIC, text)
}

/// Characters of a language's name.
const LANGUAGE_LIMIT: usize = 30;
/// Characters of an address that is worth a link; a longer one is text.
const URL_LIMIT: usize = 1_000;
/// The beginnings of a website's address.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// The deepest list that is still set in.
const DEPTH_LIMIT: usize = 6;

/// The parser's events for `markdown`, each with its place.
fn events(markdown: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(markdown, options).into_offset_iter()
}

/// `markdown` as pieces. A fence that is not closed reaches to the end.
pub(super) fn read(markdown: &str) -> Vec<StyledText> {
    let mut reader = MarkdownReader { source: markdown, ..MarkdownReader::default() };
    for (event, place) in events(markdown) {
        reader.event(event, place.start);
    }
    with_addresses(reader.out)
}

#[derive(Default)]
struct MarkdownReader<'a> {
    source: &'a str,
    out: Vec<StyledText>,
    /// Newlines, and blanks after them, that come before the next text.
    gap: String,
    /// True if text came since the last block began.
    is_written: bool,
    /// The numbers of quotations, and of bold, italic and struck out stretches that are open.
    quotes: usize,
    bold: usize,
    italic: usize,
    strike: usize,
    /// The number of the next item, for each open list that has numbers.
    lists: Vec<Option<u64>>,
    links: Vec<Link>,
    /// The text of a block of code, or of one of HTML.
    verbatim: Option<String>,
    /// The language of the block of code.
    language: String,
    table: Option<TextTable>,
}

struct Link {
    url: Arc<str>,
    /// True if a chat can follow it.
    is_web: bool,
    words: String,
}

impl MarkdownReader<'_> {
    fn event(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => match self.table {
                Some(_) => self.text(&text),
                None => self.push(Face::Code, &text),
            },
            Event::SoftBreak | Event::HardBreak => self.line(),
            Event::Rule => {
                self.block(at);
                self.text("———");
            }
            Event::TaskListMarker(is_done) => {
                if let Some(last) = self.out.last_mut().filter(|last| last.text.ends_with("• ")) {
                    last.text.truncate(last.text.len() - "• ".len());
                }
                self.text(if is_done { "☑ " } else { "☐ " });
            }
            // Not asked for: see `events`.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph => self.block(at),
            Tag::Heading { .. } => {
                self.block(at);
                self.bold += 1;
            }
            Tag::BlockQuote(_) => {
                self.block(at);
                self.quotes += 1;
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock => {
                self.block(at);
                self.verbatim = Some(String::new());
                if let Tag::CodeBlock(CodeBlockKind::Fenced(info)) = tag {
                    self.language = language(&info);
                }
            }
            Tag::List(first) => {
                self.block(at);
                self.lists.push(first);
            }
            Tag::Item => self.item(at),
            Tag::Table(_) => {
                self.block(at);
                self.table = Some(TextTable::default());
            }
            Tag::TableHead | Tag::TableRow => self.in_table(TextTable::row),
            Tag::TableCell => self.in_table(TextTable::cell),
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(&dest_url),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                let code = self.end_of_verbatim();
                let language = std::mem::take(&mut self.language);
                self.code(&language, code.trim_end());
            }
            TagEnd::HtmlBlock => {
                let html = self.end_of_verbatim();
                self.text(html.trim_end());
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.code("", &table.render());
                }
            }
            TagEnd::Link | TagEnd::Image => self.end_of_link(),
            _ => {}
        }
    }
}

impl MarkdownReader<'_> {
    /// Begins a block at `at`, as many lines below the block before it as in the source.
    fn block(&mut self, at: usize) {
        if !self.is_written {
            return;
        }
        self.is_written = false;
        let before = &self.source[..at];
        let end = before.trim_end_matches(|c: char| c.is_whitespace() || c == '>').len();
        let newlines = before[end..].matches('\n').count().clamp(1, 2);
        self.gap = "\n".repeat(newlines) + &indent(self.lists.len());
    }

    /// A line goes on in the next one.
    fn line(&mut self) {
        if self.table.is_some() {
            self.text(" ");
        } else {
            self.gap = "\n".to_owned() + &indent(self.lists.len());
        }
    }

    fn item(&mut self, at: usize) {
        self.block(at);
        let depth = self.lists.len().saturating_sub(1);
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let newlines = self.gap.trim_end_matches(' ').len();
        self.gap.truncate(newlines);
        let bullet = if self.out.is_empty() { bullet } else { indent(depth) + &bullet };
        self.text(&bullet);
        // The item's first block is beside its bullet.
        self.is_written = false;
    }

    fn text(&mut self, text: &str) {
        if let Some(verbatim) = &mut self.verbatim {
            verbatim.push_str(text);
        } else if let Some(table) = &mut self.table {
            table.text(text);
            self.links.iter_mut().for_each(|link| link.words.push_str(text));
        } else {
            self.push(Face::Text, text);
        }
    }

    fn push(&mut self, face: Face, text: &str) {
        for link in &mut self.links {
            link.words.push_str(text);
        }
        let link = self.links.iter().rev().find(|link| link.is_web).map(|link| link.url.clone());
        let is_plain_code = face == Face::Code && link.is_none();
        let style = if is_plain_code {
            Style { face, quote: self.quotes > 0, ..Style::PLAIN }
        } else {
            Style {
                quote: self.quotes > 0,
                link,
                bold: self.bold > 0,
                italic: self.italic > 0,
                strike: self.strike > 0,
                face: Face::Text,
            }
        };
        self.write(style, text);
    }

    fn code(&mut self, language: &str, code: &str) {
        if !code.is_empty() {
            let newlines = self.gap.trim_end_matches(' ').len();
            self.gap.truncate(newlines);
            self.write(Style::block(language), code);
        }
    }

    /// Writes the gap and then `text`. The gap is of the quotation that is on both sides of it.
    fn write(&mut self, style: Style, text: &str) {
        let gap = std::mem::take(&mut self.gap);
        if let Some(last) = self.out.last().filter(|_| !gap.is_empty()) {
            let quote = last.style.quote && style.quote;
            self.add(Style { quote, ..Style::PLAIN }, &gap);
        }
        self.add(style, text);
        self.is_written = true;
    }

    fn add(&mut self, style: Style, text: &str) {
        match self.out.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style && !style.is_block() => last.text.push_str(text),
            _ => self.out.push(piece(style, text)),
        }
    }

    #[allow(clippy::expect_used, reason = "the parser ends only the blocks that it began")]
    fn end_of_verbatim(&mut self) -> String {
        self.verbatim.take().expect("a block of code or HTML ends after it has begun")
    }

    fn in_table(&mut self, change: impl FnOnce(&mut TextTable)) {
        if let Some(table) = &mut self.table {
            change(table);
        }
    }

    fn link(&mut self, url: &str) {
        let is_web = SCHEMES.iter().any(|scheme| url.starts_with(scheme))
            && url.chars().count() <= URL_LIMIT;
        self.links.push(Link { url: url.into(), is_web, words: String::new() });
    }

    /// Writes the address of a link as text where the link has no words or can't be followed. A table
    /// is written as code, in which no link can be followed.
    fn end_of_link(&mut self) {
        let Some(link) = self.links.pop() else {
            return;
        };
        let is_followed = link.is_web && self.table.is_none();
        if link.words.is_empty() {
            self.text(&link.url);
        } else if !is_followed && !link.url.is_empty() && *link.url != *link.words {
            self.text(&format!(" ({})", link.url));
        }
    }
}

/// `pieces` with the addresses of websites in pieces of their own, so that they stay whole.
fn with_addresses(pieces: Vec<StyledText>) -> Vec<StyledText> {
    let mut out = Vec::new();
    for whole in pieces {
        if whole.style.face != Face::Text {
            out.push(whole);
            continue;
        }
        // A link whose words are where it leads is an address.
        if whole.style.link.as_deref() == Some(whole.text.as_str()) {
            out.push(piece(Style { link: None, face: Face::Address, ..whole.style }, whole.text));
            continue;
        }
        let mut rest = whole.text.as_str();
        while whole.style.link.is_none()
            && let Some((from, to)) = address(rest)
        {
            let address = Style { face: Face::Address, ..whole.style.clone() };
            out.push(piece(whole.style.clone(), &rest[..from]));
            out.push(piece(address, &rest[from..to]));
            rest = &rest[to..];
        }
        out.push(piece(whole.style.clone(), rest));
    }
    out.retain(|piece| !piece.text.is_empty());
    out
}

/// The beginning and the end of the first address in `text`.
fn address(text: &str) -> Option<(usize, usize)> {
    let from = SCHEMES.iter().filter_map(|scheme| text.find(scheme)).min()?;
    let is_end = |c: char| c.is_whitespace() || "<>\"".contains(c);
    let to = text[from..].find(is_end).map_or(text.len(), |length| from + length);
    let to = from + text[from..to].trim_end_matches(|c| ".,;:!?)]'*_~".contains(c)).len();
    Some((from, to))
}

/// The blanks before a line that is in `depth` lists.
fn indent(depth: usize) -> String {
    "  ".repeat(depth.min(DEPTH_LIMIT))
}

/// The name of a language, without what could be markup.
fn language(info: &str) -> String {
    let name = info.split_whitespace().next().unwrap_or_default();
    let is_name = |c: &char| c.is_ascii_alphanumeric() || "_+#.-".contains(*c);
    name.chars().filter(is_name).take(LANGUAGE_LIMIT).collect()
}

/// The cells of a table, row by row; the first row is its head.
#[derive(Default)]
struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(text);
        }
    }

    /// The rows one below the other, columns aligned, a line under the head.
    fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| table_line(row, &widths)).collect();
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        if !lines.is_empty() {
            lines.insert(1, rules.join("-+-"));
        }
        lines.join("\n")
    }
}

fn table_line(row: &[String], widths: &[usize]) -> String {
    let pad = |(cell, width): (&String, &usize)| {
        let missing = width.saturating_sub(cell.chars().count());
        format!("{cell}{}", " ".repeat(missing))
    };
    let cells: Vec<String> = row.iter().zip(widths).map(pad).collect();
    cells.join(" | ").trim_end().to_owned()
}

/// Marks that can be alone at the end, and mean something else with the next character.
const MARKS: &[char] = &['*', '_', '~', '`', '#', '-', '=', '+', '|', '>', '[', ']', '!', ' '];
/// Marks that are closed for the reader when they are open at the end.
const PAIRS: [&str; 2] = ["**", "~~"];

/// `text` as it looks when the marks that are open at its end are closed. Marks at its very end
/// have no meaning yet and are left out.
pub(super) fn mend(text: &str) -> Cow<'_, str> {
    let text = without_open_marks(text);
    let (start, is_code) = last_block(text);
    if is_code {
        return Cow::Borrowed(text);
    }
    let close = open_marks(&text[start..]);
    if close.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.trim_end().to_owned() + &close)
}

/// Returns the part of `text` in blocks that have ended: a paragraph ends with a blank line or where
/// something else begins, a block of code with its fence.
pub(super) fn finished(text: &str) -> &str {
    // What would come next goes into the last block, or begins one if the last has ended.
    let is_at_line_start = text.trim_end_matches([' ', '\t']).ends_with('\n');
    let probe = if is_at_line_start { "x" } else { "" };
    let whole = format!("{text}{probe}");
    let (start, _) = last_block(&whole);
    text[..start.min(text.len())].trim_end()
}

/// The beginning of the last block that is in no other, and `true` if it is fenced code.
fn last_block(text: &str) -> (usize, bool) {
    let (mut depth, mut last) = (0_usize, (0, false));
    for (event, place) in events(text) {
        let is_code = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last = (place.start, is_code);
                } else if is_code {
                    last.1 = true;
                }
                depth += 1;
            }
            // Code within a list or a quotation that goes on after it.
            Event::End(TagEnd::CodeBlock) => {
                depth = depth.saturating_sub(1);
                last.1 &= place.end == text.len();
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last = (place.start, false),
            _ => {}
        }
    }
    last
}

/// `text` without an unfinished last line, or the end of one, that is marks alone.
fn without_open_marks(text: &str) -> &str {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let is_number = |line: &str| line.trim_end_matches(['.', ')']).parse::<u64>().is_ok();
    let rest = &text[line..];
    if rest.chars().all(|c| MARKS.contains(&c)) || is_number(rest) {
        return text[..line].trim_end();
    }
    // A fence that is about to close, or emphasis that may open or not.
    text.trim_end_matches(['*', '~', '`'])
}

/// The marks that close the open ones at the end of `block`, the innermost first.
fn open_marks(block: &str) -> String {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = block;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if c == '\\' {
            length += rest[1..].chars().next().map_or(0, char::len_utf8);
        } else if c == '`' {
            let run = &rest[..rest.len() - rest.trim_start_matches('`').len()];
            match closing(&rest[run.len()..], run) {
                Some(end) => length = run.len() + end,
                // The rest is code.
                None => {
                    open.push(run);
                    break;
                }
            }
        } else if let Some(mark) = PAIRS.into_iter().find(|mark| rest.starts_with(mark)) {
            length = mark.len();
            let opens = rest[length..].starts_with(|c: char| !c.is_whitespace());
            if open.last() == Some(&mark) {
                open.pop();
            } else if opens && !before.is_alphanumeric() {
                open.push(mark);
            }
        }
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    open.iter().rev().copied().collect()
}

/// The end of the code that a run of backticks like `run` closes.
fn closing(text: &str, run: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|start| at + start) {
        let end = text.len() - text[start..].trim_start_matches('`').len();
        if end - start == run.len() {
            return Some(end);
        }
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::page::pages;
    use super::*;
    use crate::profile::{DISCORD, Profile, SLACK, TELEGRAM};

    fn check(profile: &Profile, cases: &[(&str, &str)]) {
        for (markdown, expect) in cases {
            assert_eq!(pages(&read(markdown), profile), [*expect], "{markdown}");
        }
    }

    #[test]
    pub(crate) fn v8_markdown_becomes_html() {
        check(
            &TELEGRAM,
            &[
                ("plain", "plain"),
                ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
                ("<b>not bold</b>", "&lt;b&gt;not bold&lt;/b&gt;"),
                ("<div>\n<b>x\n</div>\n\ny", "&lt;div&gt;\n&lt;b&gt;x\n&lt;/div&gt;\n\ny"),
                ("&lt; \\*", "&lt; *"),
                ("use `a<b` now", "use <code>a&lt;b</code> now"),
                ("``a`b`` x", "<code>a`b</code> x"),
                ("a ` b", "a ` b"),
                ("a **bold & co** b", "a <b>bold &amp; co</b> b"),
                ("**a `x**y` b**", "<b>a </b><code>x**y</code><b> b</b>"),
                ("**a _b ~~c~~_** d", "<b>a <i>b <s>c</s></i></b> d"),
                ("2 ** 3 ** 4", "2 ** 3 ** 4"),
                ("**open", "**open"),
                ("snake_case_name", "snake_case_name"),
                ("# Head `x`\ntext", "<b>Head </b><code>x</code>\ntext"),
                ("one\ntwo  \nthree\n\n\nfour", "one\ntwo\nthree\n\nfour"),
                ("a\n\n---\n\nb", "a\n\n———\n\nb"),
            ],
        );
    }

    #[test]
    fn v8_lists_quotes_links_and_tables_become_html() {
        check(
            &TELEGRAM,
            &[
                ("Files:\n- a\n- b\n  - c\n    d\n- e", "Files:\n• a\n• b\n  • c\n    d\n• e"),
                ("3. x\n4. y\n\n   more", "3. x\n4. y\n\n  more"),
                ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
                ("> a **b**\n> c\n\nd", "<blockquote>a <b>b</b>\nc</blockquote>\n\nd"),
                (
                    "[a **b**](https://x.y/?q=\"&z) c",
                    "<a href=\"https://x.y/?q=&quot;&amp;z\">a <b>b</b></a> c",
                ),
                ("[main](src/main.rs)", "main (src/main.rs)"),
                ("<https://x.y>", "https://x.y"),
                ("**see https://x.y/a_b.**", "<b>see https://x.y/a_b.</b>"),
                ("![pic](https://x.y/z.png)", "<a href=\"https://x.y/z.png\">pic</a>"),
                ("[`x`](https://x.y)", "<a href=\"https://x.y\">x</a>"),
                (
                    "| a | b&c |\n|---|---|\n| `long` | 1 |\n",
                    "<pre>a    | b&amp;c\n-----+----\nlong | 1</pre>",
                ),
            ],
        );
    }

    #[test]
    fn v8_code_stays_code() {
        check(
            &TELEGRAM,
            &[
                (
                    "see\n```rust\nlet a = &b;\n\n**x**\n```\ndone",
                    "see\n<pre><code class=\"language-rust\">let a = &amp;b;\n\n**x**</code></pre>\ndone",
                ),
                ("```\ncode", "<pre>code</pre>"),
                ("```sh\"><b>\nx\n```", "<pre><code class=\"language-shb\">x</code></pre>"),
                ("~~~\na\n```\nb\n~~~", "<pre>a\n```\nb</pre>"),
                ("````\n```\n````", "<pre>```</pre>"),
                ("```inline``` x", "<code>inline</code> x"),
                ("a\n\n    b\n\nc", "a\n\n<pre>b</pre>\n\nc"),
            ],
        );
    }

    #[test]
    fn v10_an_address_is_left_as_it_is() {
        let markdown = "(https://x.y/a_b_c?d=1), http:// <https://z/*a*> a_b";
        check(&DISCORD, &[(markdown, "(https://x.y/a_b_c?d=1), http:// https://z/*a* a\\_b")]);
        check(&DISCORD, &[("https://x.y/?a&amp;b_c", "https://x.y/?a&b_c")]);
        let slack = "(https://x.y/a_b_c?d=1), http:// https://z/*a* a\u{200b}_\u{200b}b";
        check(&SLACK, &[(markdown, slack)]);
    }

    #[test]
    pub(crate) fn v10_discord_and_slack_have_marks_of_their_own() {
        let markdown = "# Head\n**b** *i* ~~s~~ `a<b` 2*3 <@1> [t](https://x.y)\n\n> q\n> r\n\n```rust\na ``` b\n```";
        check(
            &DISCORD,
            &[(
                markdown,
                "**Head**\n**b** *i* ~~s~~ `a<b` 2\\*3 \\<@\u{200b}1\\> [t](<https://x.y>)\n\n> q\n> r\n\n```rust\na ``\u{200b}` b\n```",
            )],
        );
        check(
            &SLACK,
            &[(
                markdown,
                "*Head*\n*b* _i_ ~s~ `a&lt;b` 2\u{200b}*\u{200b}3 &lt;@1&gt; <https://x.y|t>\n\n> q\n> r\n\n```\na ``\u{200b}` b\n```",
            )],
        );
    }

    #[test]
    fn v8_open_marks_of_a_draft_are_closed() {
        let cases = [
            ("plain", "plain"),
            ("a **bo", "a **bo**"),
            ("a **bo **", "a **bo**"),
            ("a **", "a "),
            ("**a** b", "**a** b"),
            ("**a ~~b", "**a ~~b~~**"),
            ("say `x", "say `x`"),
            ("say ``a ` b", "say ``a ` b``"),
            ("say `a` b **c", "say `a` b **c**"),
            ("say ``a ` b ``` c`` d **e", "say ``a ` b ``` c`` d **e**"),
            ("say \\`a **b", "say \\`a **b**"),
            ("**see `x", "**see `x`**"),
            ("2 ** 3", "2 ** 3"),
            ("2**3", "2**3"),
            ("one **x\n\ntwo", "one **x\n\ntwo"),
            ("Title\n--", "Title"),
            ("Title\n- ", "Title"),
            ("Steps\n12.", "Steps"),
            ("```\nlet **x", "```\nlet **x"),
            ("```\ncode\n``", "```\ncode"),
            ("- a\n- **b", "- a\n- **b**"),
            ("- a\n  ```\n  x **y", "- a\n  ```\n  x **y"),
        ];
        for (text, expect) in cases {
            assert_eq!(mend(text), expect, "{text}");
        }
    }

    #[test]
    fn v1_a_block_has_ended_when_nothing_more_can_come_into_it() {
        let cases = [
            ("one", ""),
            ("one\n", ""),
            ("one\n\n", "one"),
            ("one\n\ntwo", "one"),
            ("# Head\n", "# Head"),
            ("# Head\ntext", "# Head"),
            ("one\n```\ncode\n\nmore", "one"),
            ("one\n```\ncode\n```", "one"),
            ("one\n```\ncode\n```\n", "one\n```\ncode\n```"),
            ("- a\n- b", ""),
            ("- a\n- b\n\n", "- a\n- b"),
            ("one\n\n---", "one"),
        ];
        for (text, expect) in cases {
            assert_eq!(finished(text), expect, "{text}");
        }
    }
}
