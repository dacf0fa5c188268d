//! Words: the text of a message without its markup, and whether it contains the words of an answer.
//!
//! A gateway may send Markdown as it is, HTML, MarkdownV2 or plain text with entities, may cut an answer into
//! pages anywhere, and may draw lists and tables in its own way. So an answer is compared by its letters and
//! digits alone, in pieces of some words ([`Piece`]), and what a renderer may leave out is in no piece: the
//! address of a link, the number of an item, the language of a code block, raw HTML.

use clitape_gateway::sanitise;
use clitape_runner::text::{Keep, truncate};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Words of a piece.
const WORDS: usize = 6;
/// A piece with fewer letters may be in a text by chance.
pub(super) const FEW_LETTERS: usize = 12;
/// The most letters that a gateway writes around a page, such as `(2/3)`.
const AROUND_PAGE: usize = 60;
/// Named entities of HTML that chats know.
const ENTITIES: [(&str, &str); 7] = [
    ("lt", "<"),
    ("gt", ">"),
    ("amp", "&"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("#39", "'"),
];

/// Some words of a text, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Their letters and digits in lower case.
    pub(super) letters: String,
    /// The words as they are written.
    pub(super) words: String,
}

/// The letters and digits of a text, in lower case.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The text that a person reads of a message in this parse mode.
pub(super) fn plain(text: &str, parse_mode: &str) -> String {
    match parse_mode {
        "HTML" | "html" => without_tags(text),
        "MarkdownV2" | "Markdown" | "markdown" => without_escapes(text),
        _ => text.to_owned(),
    }
}

/// The text of HTML; what is no tag and no entity stays.
fn without_tags(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let replaced = if rest.starts_with('<') {
            tag(rest).map(|n| (String::new(), n))
        } else {
            entity(rest)
        };
        let (text, length) = replaced.unwrap_or_else(|| (rest[..1].to_owned(), 1));
        out.push_str(&text);
        rest = &rest[length..];
    }
    out + rest
}

/// The length of the tag at the start of `html`.
fn tag(html: &str) -> Option<usize> {
    let name = html[1..].trim_start_matches('/');
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| html.find('>'))?.map(|end| end + 1)
}

/// The text of the entity at the start of `html`, and its length.
fn entity(html: &str) -> Option<(String, usize)> {
    let end = html.find(';').filter(|end| *end <= 10)?;
    let name = &html[1..end];
    let named =
        ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let number = || {
        let number = name.strip_prefix('#')?;
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        Some(char::from_u32(code.ok()?)?.to_string())
    };
    Some((named.or_else(number)?, end + 1))
}

/// The text of Telegram's Markdown without backslashes; other marks stay, because they are no letters.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

/// The pieces of an answer in Markdown, without what a renderer may leave out and without secrets, which a
/// gateway may mask.
pub(super) fn pieces(markdown: &str) -> Vec<Piece> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut runs = vec![String::new()];
    let mut images = 0_usize;
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        let run = runs.last_mut();
        match (event, run) {
            (Event::Start(Tag::Image { .. }), _) => images += 1,
            (Event::End(TagEnd::Image), _) => images = images.saturating_sub(1),
            (Event::Text(text), Some(run))
                if images == 0 && !markdown[range.clone()].starts_with('&') =>
            {
                run.push_str(&text);
                continue;
            }
            (Event::Code(text), Some(run)) if images == 0 => {
                run.push_str(&text);
                continue;
            }
            (Event::SoftBreak | Event::HardBreak, Some(run)) => {
                run.push(' ');
                continue;
            }
            (
                Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })
                | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough),
                _,
            ) => continue,
            _ => {}
        }
        runs.push(String::new());
    }
    let pieces = runs.iter().flat_map(|run| pieces_of_plain(run));
    pieces.filter(|piece| sanitise::find(&format!("{}\n", piece.words)).is_empty()).collect()
}

/// The pieces of a text without markup.
pub(super) fn pieces_of_plain(text: &str) -> Vec<Piece> {
    let words: Vec<(&str, String)> = text
        .split_whitespace()
        .map(|word| (word, letters(word)))
        .filter(|(_, letters)| !letters.is_empty())
        .collect();
    let mut starts: Vec<usize> = (0..words.len()).step_by(WORDS).collect();
    // A short rest belongs to the piece before it.
    if starts.len() > 1 && words.len() % WORDS == 1 {
        starts.pop();
    }
    let ends = starts.iter().skip(1).copied().chain([words.len()]);
    let piece = |(start, end): (usize, usize)| {
        let (shown, plain): (Vec<&str>, Vec<&str>) =
            words[start..end].iter().map(|(word, letters)| (*word, letters.as_str())).unzip();
        Piece { letters: plain.concat(), words: shown.join(" ") }
    };
    starts.iter().copied().zip(ends).map(piece).collect()
}

/// Whether the piece is in one of the pages, or is cut by the end of one.
pub(super) fn contains(pages: &[&str], piece: &str) -> bool {
    pages.iter().any(|page| page.contains(piece))
        || pages.windows(2).any(|two| is_cut_between(two[0], two[1], piece))
}

/// Whether the end of `left` and the start of `right` together have the piece.
fn is_cut_between(left: &str, right: &str, piece: &str) -> bool {
    piece.char_indices().skip(1).any(|(cut, _)| {
        let (a, b) = piece.split_at(cut);
        tail(left, a.len() + AROUND_PAGE).contains(a)
            && head(right, b.len() + AROUND_PAGE).contains(b)
    })
}

/// At least the last `bytes` bytes.
fn tail(text: &str, bytes: usize) -> &str {
    let mut at = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[at..]
}

/// At least the first `bytes` bytes.
fn head(text: &str, bytes: usize) -> &str {
    let mut at = bytes.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    &text[..at]
}

/// How often the piece is in the pages.
pub(super) fn count<S: AsRef<str>>(pages: &[S], piece: &str) -> usize {
    pages.iter().map(|page| page.as_ref().matches(piece).count()).sum()
}

/// A text in quotation marks, short.
pub(super) fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("“{}”", truncate(&line, 70, Keep::Ends))
}

/// The last words of a subject, as a part of a sentence.
pub(super) fn told(last_words: &str) -> String {
    match last_words.trim() {
        "" => "it printed nothing".to_owned(),
        words => format!("its last words are {}", quoted(words)),
    }
}

/// A time for a person: `12.3 s`.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_without_its_markup() {
        for (mode, text, expect) in [
            ("HTML", "<b>a</b> &amp; &lt;c&gt; &#x41;&#66; 1 < 2", "a & <c> AB 1 < 2"),
            ("HTML", "<a href=\"x\">t</a>&bogus; &", "t&bogus; &"),
            ("MarkdownV2", r"a\.b \\ c", r"a.b \ c"),
            ("", "<b> \\.", "<b> \\."),
        ] {
            assert_eq!(plain(text, mode), expect, "{text}");
        }
    }

    #[test]
    fn pieces_have_only_what_every_renderer_shows() {
        let check = |markdown: &str, expect: &[&str]| {
            let pieces: Vec<String> = pieces(markdown).into_iter().map(|p| p.letters).collect();
            assert_eq!(pieces, expect, "{markdown}");
        };
        check("They **do** n`o`t [agree](http://x.y): 1.", &["theydonotagree", "1"]);
        check("1. one\n2. two\n\n- [x] done", &["one", "two", "done"]);
        check("| a | b |\n|---|---|\n| c | d |", &["a", "b", "c", "d"]);
        check("```rust\nlet x = 1;\n```\n![alt](p.png)", &["letx1"]);
        check("a &amp; b <br> c", &["a", "b", "c"]);
        check("1\\. a b c d e f g", &["1abcde", "fg"]);
        check("👍", &[]);
    }

    #[test]
    fn a_piece_may_be_cut_by_the_end_of_a_page() {
        let check = |pages: &[&str], piece: &str, expect: bool| {
            assert_eq!(contains(pages, piece), expect, "{pages:?} {piece}");
        };
        check(&["wesayhello"], "sayhel", true);
        check(&["wesayhel12", "22loworld"], "hello", true);
        check(&["wesay", "world"], "hello", false);
    }
}
