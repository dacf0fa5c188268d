//! Reads Markdown as pieces, with `pulldown-cmark`: CommonMark with tables, task lists and struck
//! out text, and an iterator that tells where in the source a block stands.
//!
//! What a chat has no marks for becomes text: bullets, boxes, aligned columns. Lines break where
//! they break in the source, and a blank line stands where one stands there. Raw HTML is text
//! ([V8](crate::rules::V8)).

use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::style::{Face, Style, StyledText, piece};
use super::table::TextTable;

/// Characters of a language's name.
const LANGUAGE_LIMIT: usize = 30;
/// Characters of an address that is worth a link; a longer one is text.
const URL_LIMIT: usize = 1_000;
/// How the address of a website begins.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// How deep lists are set in, at most.
const DEPTH_LIMIT: usize = 6;

/// What a piece is made of by the events of the parser.
pub(super) fn events(markdown: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(markdown, options).into_offset_iter()
}

/// `markdown` as pieces. A fence that is not closed reaches to the end.
pub(in super::super) fn read(markdown: &str) -> Vec<StyledText> {
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
    /// Whether text came since the last block began.
    is_written: bool,
    /// How many quotations, and bold, italic and struck out stretches are open.
    quotes: usize,
    bold: usize,
    italic: usize,
    strike: usize,
    /// The number of the next item, for each open list that has numbers.
    lists: Vec<Option<u64>>,
    links: Vec<Link>,
    /// Text that is no words: of a block of code, or of one of HTML.
    verbatim: Option<String>,
    /// The language of the block of code.
    language: String,
    table: Option<TextTable>,
}

struct Link {
    url: Arc<str>,
    /// Whether a chat can follow it.
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

/// Where the first address in `text` begins and ends.
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
