//! Lays pieces out on pages that each fit a Telegram message (V5).
//!
//! The limit counts UTF-16 units of the HTML, tags and entities included: that is never less than
//! what Telegram counts. A page ends at whitespace, which is left out; a block of code stays whole
//! if a page can hold it, else it ends at a newline and goes on in a block of its own. Only a word
//! longer than a page is cut, between two characters.

use super::markup::{Piece, escape};

/// UTF-16 units of a message.
pub(super) const LIMIT: usize = 4_096;

/// A character and the piece it is of.
struct Glyph {
    c: char,
    piece: usize,
}

/// Where a page may end, and where the next one then begins.
#[derive(Clone, Copy)]
struct Break {
    end: usize,
    next: usize,
}

/// The pages that hold `pieces`, as HTML, each of at most `limit` UTF-16 units; none for blank
/// text.
pub(super) fn pages(pieces: &[Piece], limit: usize) -> Vec<String> {
    let sheet = Sheet::new(pieces, limit);
    let mut pages = Vec::new();
    let mut at = 0;
    while let Some((html, next)) = sheet.page(at) {
        pages.push(html);
        at = next;
    }
    pages
}

/// The first page, and whether it holds everything.
pub(super) fn first_page(pieces: &[Piece], limit: usize) -> Option<(String, bool)> {
    let sheet = Sheet::new(pieces, limit);
    let (html, next) = sheet.page(0)?;
    Some((html, sheet.page(next).is_none()))
}

/// Characters a person sees of `pieces`, up to `enough`.
pub(super) fn visible(pieces: &[Piece], enough: usize) -> usize {
    pieces.iter().flat_map(|p| p.text.chars()).take(enough).count()
}

struct Sheet<'a> {
    pieces: &'a [Piece],
    glyphs: Vec<Glyph>,
    limit: usize,
}

impl<'a> Sheet<'a> {
    fn new(pieces: &'a [Piece], limit: usize) -> Self {
        let glyphs =
            |(piece, p): (usize, &'a Piece)| p.text.chars().map(move |c| Glyph { c, piece });
        Self { pieces, glyphs: pieces.iter().enumerate().flat_map(glyphs).collect(), limit }
    }

    fn is_block(&self, at: usize) -> bool {
        matches!(self.pieces[self.glyphs[at].piece].style, super::markup::Style::Block(_))
    }

    /// Whether a break may swallow the character at `at`.
    fn is_gap(&self, at: usize) -> bool {
        self.glyphs[at].c.is_whitespace() && !self.is_block(at)
    }

    /// The page that begins at `from`, and where the next one begins. A page that would be blank,
    /// in the midst of code, is left out: Telegram refuses it.
    fn page(&self, from: usize) -> Option<(String, usize)> {
        let mut from = self.skip_gap(from);
        while from < self.glyphs.len() {
            let stop = self.stop(from);
            let end = self.trim_gap(from, stop.end);
            if self.glyphs[from..end].iter().any(|glyph| !glyph.c.is_whitespace()) {
                return Some((self.html(from, end), stop.next));
            }
            from = self.skip_gap(stop.next);
        }
        None
    }

    fn skip_gap(&self, from: usize) -> usize {
        (from..self.glyphs.len()).find(|at| !self.is_gap(*at)).unwrap_or(self.glyphs.len())
    }

    fn trim_gap(&self, from: usize, end: usize) -> usize {
        (from..end).rev().find(|at| !self.is_gap(*at)).map_or(from, |at| at + 1)
    }

    /// Where the page that begins at `from` ends.
    fn stop(&self, from: usize) -> Break {
        let mut used = 0;
        let mut word = None;
        let mut line = None;
        let mut piece = usize::MAX;
        for at in from..self.glyphs.len() {
            let glyph = &self.glyphs[at];
            let is_new = glyph.piece != piece;
            if is_new && self.is_block(at) && at > from {
                let stop = Break { end: at, next: at };
                (word, line) = (Some(stop), Some((stop, used)));
                if self.breaks_block(at, used) {
                    return stop;
                }
            }
            piece = glyph.piece;
            let stop = Break { end: at, next: at + 1 };
            if glyph.c == '\n' && at > from {
                (word, line) = (Some(stop), Some((stop, used)));
            } else if self.is_gap(at) && at > from {
                word = Some(stop);
            }
            used += self.cost(at, is_new);
            if used > self.limit && at > from {
                // A newline late on the page is a better place than the last word.
                let late = line.filter(|(_, used): &(Break, usize)| used * 4 > self.limit * 3);
                let hard = Break { end: at, next: at };
                return late.map(|(stop, _)| stop).or(word).unwrap_or(hard);
            }
        }
        let end = self.glyphs.len();
        Break { end, next: end }
    }

    /// Whether the block at `at` overflows a page on which `used` units stand, and would fit one
    /// of its own.
    fn breaks_block(&self, at: usize, used: usize) -> bool {
        let piece = self.glyphs[at].piece;
        let mut whole = 0;
        for inner in (at..self.glyphs.len()).take_while(|i| self.glyphs[*i].piece == piece) {
            whole += self.cost(inner, inner == at);
            if whole > self.limit {
                return false;
            }
        }
        used + whole > self.limit
    }

    /// UTF-16 units of the HTML for the character at `at`, with its piece's tags if `is_new`.
    fn cost(&self, at: usize, is_new: bool) -> usize {
        let glyph = &self.glyphs[at];
        let tags = if is_new {
            let (open, close) = self.pieces[glyph.piece].style.tags();
            open.len() + close.len()
        } else {
            0
        };
        tags + escape(glyph.c).map_or(glyph.c.len_utf16(), str::len)
    }

    fn html(&self, from: usize, end: usize) -> String {
        let mut html = String::new();
        let mut close = "";
        let mut piece = usize::MAX;
        for glyph in &self.glyphs[from..end] {
            if glyph.piece != piece {
                piece = glyph.piece;
                html.push_str(close);
                let tags = self.pieces[piece].style.tags();
                html.push_str(&tags.0);
                close = tags.1;
            }
            match escape(glyph.c) {
                Some(entity) => html.push_str(entity),
                None => html.push(glyph.c),
            }
        }
        html.push_str(close);
        html
    }
}

/// UTF-16 units of `html`.
pub(super) fn units(html: &str) -> usize {
    html.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::super::markup::{Style, piece, read};
    use super::*;

    fn check(pieces: &[Piece], limit: usize, expect: &[&str]) {
        let pages = pages(pieces, limit);
        assert_eq!(pages, expect);
        let first = first_page(pieces, limit);
        assert_eq!(first, pages.first().map(|p| (p.clone(), pages.len() == 1)));
    }

    #[test]
    fn v5_pages_end_at_words() {
        let plain = |text: &str| vec![piece(Style::Plain, text)];
        check(&plain("  \n "), 10, &[]);
        check(&plain(" one two "), 10, &["one two"]);
        check(&plain("0123456789 0123456789 tail"), 15, &["0123456789", "0123456789 tail"]);
        check(&plain("one two\n\nthree four"), 12, &["one two", "three four"]);
        check(&plain("abcdefghij"), 4, &["abcd", "efgh", "ij"]);
        check(&plain("a&b <c> d"), 9, &["a&amp;b", "&lt;c&gt;", "d"]);
        check(&plain("🦀🦀🦀"), 5, &["🦀🦀", "🦀"]);
        check(&read("ab **cd ef** gh"), 12, &["ab <b>cd</b>", "<b>ef</b> gh"]);
    }

    #[test]
    fn v5_code_stays_code() {
        let block = |text: &str| piece(Style::Block(String::new()), text);
        check(
            &[piece(Style::Plain, "some words\n"), block("x = 1\ny = 2")],
            30,
            &["some words", "<pre>x = 1\ny = 2</pre>"],
        );
        check(
            &[block("  a b\n  c d\n  e f")],
            23,
            &["<pre>  a b\n  c d</pre>", "<pre>  e f</pre>"],
        );
        // No page is blank.
        check(&[block("ab\n\n\n\n\n\n\ncd")], 14, &["<pre>ab\n</pre>", "<pre>\ncd</pre>"]);
        check(&[block("abcdef")], 15, &["<pre>abcd</pre>", "<pre>ef</pre>"]);
    }

    /// Takes tags and entities away, and then whitespace, which a seam may swallow.
    fn letters(html: &str) -> String {
        let mut text = String::new();
        let mut rest = html;
        while let Some(open) = rest.find('<') {
            text.push_str(&rest[..open]);
            let close = rest[open..].find('>').expect("a tag is whole on its page");
            rest = &rest[open + close + 1..];
        }
        text.push_str(rest);
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        text.split_whitespace().collect()
    }

    #[test]
    fn v5_nothing_is_lost_or_doubled_at_a_seam() {
        let text = "Wörds & <tags>, **bold parts** and `in line`; 日本語は空白がない 👩‍👩‍👧.\n\n\
                    ```rust\nlet a = b && c;\n    indented(\"<x>\");\n```\n- list **x** y\n";
        for text in [text.to_owned(), text.repeat(7), "x".repeat(99), "a ".repeat(99)] {
            let pieces = read(&text);
            let whole: String = pieces.iter().flat_map(|p| p.text.split_whitespace()).collect();
            for limit in 64..200 {
                let pages = pages(&pieces, limit);
                let joined: String = pages.iter().map(|page| letters(page)).collect();
                assert_eq!(joined, whole, "limit {limit}");
                for page in &pages {
                    assert!(units(page) <= limit, "{} > {limit}: {page}", units(page));
                    let tags = |tag: &str| page.matches(tag).count();
                    assert_eq!(tags("<pre"), tags("</pre>"), "{page}");
                    assert_eq!(tags("<b>"), tags("</b>"), "{page}");
                    assert_eq!(tags("<code"), tags("</code>"), "{page}");
                    assert!(!letters(page).is_empty(), "limit {limit}: an empty page");
                }
            }
        }
    }
}
