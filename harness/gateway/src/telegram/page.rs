//! Lays pieces out on pages that each fit a message ([V5](crate::rules::V5)).
//!
//! The limit counts the written text, marks and escapes included: that is never less than the
//! service's own count. A page ends at whitespace, which is left out; a block of code stays whole
//! if a page can hold it, else it ends at a newline and goes on in a block of its own. Only a word
//! longer than a page is cut, between two characters as a person sees them: an emoji made of
//! several stays one.
//!
//! Pieces that fit one page are written run by run: most texts do, and such a page needs no look at each character.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::markup::{StyledText, escaped};
use crate::profile::{Profile, length};

/// Bytes of a character as a person sees it; what pretends to be a longer one can be cut.
const GLYPH_LIMIT: usize = 64;

/// The mark of a cut.
const CUT: &str = "…";

/// A character as a person sees it, and the piece it is of.
struct Glyph<'a> {
    text: &'a str,
    piece: usize,
}

/// The end of a page, and the beginning of the next one.
#[derive(Clone, Copy)]
struct PageBreak {
    end: usize,
    next: usize,
}

/// The pages that contain `pieces`, in the markup of `profile`; none for blank text.
pub(super) fn pages(pieces: &[StyledText], profile: &Profile) -> Vec<String> {
    pages_within(pieces, profile, profile.limit)
}

/// The pages of at most `limit` characters that contain `pieces`; none for blank text.
pub(super) fn pages_within(pieces: &[StyledText], profile: &Profile, limit: usize) -> Vec<String> {
    match whole(pieces, profile, limit) {
        Some(page) => vec![page],
        None => laid_out(pieces, profile, limit),
    }
}

/// The pages of at most `limit` characters, laid out character by character.
fn laid_out(pieces: &[StyledText], profile: &Profile, limit: usize) -> Vec<String> {
    let sheet = Sheet::new(pieces, profile, limit);
    let mut pages = Vec::new();
    let mut at = 0;
    while let Some((page, next)) = sheet.page(at) {
        pages.push(page);
        at = next;
    }
    pages
}

/// The first page of at most `limit` characters, and `true` if it contains everything.
pub(super) fn first_page(
    pieces: &[StyledText],
    profile: &Profile,
    limit: usize,
) -> Option<(String, bool)> {
    if let Some(page) = whole(pieces, profile, limit) {
        return Some((page, true));
    }
    let sheet = Sheet::new(pieces, profile, limit);
    let (page, next) = sheet.page(0)?;
    Some((page, sheet.are_blank(next..sheet.glyphs.len())))
}

/// Returns whether one message of `profile` holds `pieces`. A text that is far too long is not laid
/// out for that.
pub(super) fn fits(pieces: &[StyledText], profile: &Profile) -> bool {
    let characters: usize = pieces.iter().map(|piece| piece.text.chars().count()).sum();
    let is_whole = |(_, is_whole)| is_whole;
    characters <= 2 * profile.limit
        && first_page(pieces, profile, profile.limit).is_none_or(is_whole)
}

/// The text of one message that contains `pieces`, or their beginning and the mark of a cut.
pub(super) fn shortened(pieces: &[StyledText], profile: &Profile) -> String {
    match first_page(pieces, profile, profile.limit) {
        Some((page, true)) => page,
        _ => {
            let room = profile.limit.saturating_sub(length(CUT));
            first_page(pieces, profile, room).unwrap_or_default().0 + CUT
        }
    }
}

/// Characters a person sees of `pieces`, up to `enough`.
pub(super) fn visible(pieces: &[StyledText], enough: usize) -> usize {
    pieces.iter().flat_map(|p| p.text.chars()).take(enough).count()
}

struct Sheet<'a> {
    pieces: &'a [StyledText],
    /// The marks around each piece, the outermost first.
    marks: Vec<Vec<StyleMark>>,
    /// The ASCII characters that are written as they are in each piece, as bits.
    as_is: Vec<u128>,
    glyphs: Vec<Glyph<'a>>,
    profile: &'a Profile,
    limit: usize,
}

impl<'a> Sheet<'a> {
    fn new(pieces: &'a [StyledText], profile: &'a Profile, limit: usize) -> Self {
        let mut glyphs = Vec::with_capacity(pieces.iter().map(|piece| piece.text.len()).sum());
        for (piece, p) in pieces.iter().enumerate() {
            for text in graphemes(&p.text) {
                if text.len() <= GLYPH_LIMIT {
                    glyphs.push(Glyph { text, piece });
                    continue;
                }
                let parts = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
                glyphs.extend(parts.map(|text| Glyph { text, piece }));
            }
        }
        let marks = pieces.iter().map(|piece| piece.style.marks(profile)).collect();
        let as_is = pieces.iter().map(|piece| as_is(piece, profile)).collect();
        Self { pieces, marks, as_is, glyphs, profile, limit }
    }

    /// Returns whether the glyph at `at` is one ASCII character that is written as it is.
    fn is_as_is(&self, at: usize) -> bool {
        let glyph = &self.glyphs[at];
        match glyph.text.as_bytes() {
            [byte] if byte.is_ascii() => self.as_is[glyph.piece] >> byte & 1 == 1,
            _ => false,
        }
    }

    fn is_block(&self, at: usize) -> bool {
        self.pieces[self.glyphs[at].piece].style.is_block()
    }

    fn is_blank(&self, at: usize) -> bool {
        self.glyphs[at].text.chars().all(char::is_whitespace)
    }

    /// Returns whether these glyphs are all blank, so that they make no page.
    fn are_blank(&self, mut places: Range<usize>) -> bool {
        places.all(|at| self.is_blank(at))
    }

    /// Returns whether a break may swallow the glyph at `at`.
    fn is_gap(&self, at: usize) -> bool {
        self.is_blank(at) && !self.is_block(at)
    }

    /// The page that begins at `from`, and where the next one begins. A page that would be blank,
    /// in the midst of code, is left out: it would be refused.
    fn page(&self, from: usize) -> Option<(String, usize)> {
        let mut from = self.skip_gap(from);
        while from < self.glyphs.len() {
            let stop = self.stop(from);
            let end = self.trim_gap(from, stop.end);
            if !self.are_blank(from..end) {
                return Some((self.write(from, end), stop.next));
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

    /// The end of the page that begins at `from`.
    fn stop(&self, from: usize) -> PageBreak {
        let mut used = 0;
        let mut word = None;
        let mut line = None;
        let mut piece = None;
        for at in from..self.glyphs.len() {
            let glyph = &self.glyphs[at];
            if piece != Some(glyph.piece) && self.is_block(at) && at > from {
                let stop = PageBreak { end: at, next: at };
                (word, line) = (Some(stop), Some((stop, used)));
                if self.breaks_block(at, used) {
                    return stop;
                }
            }
            let stop = PageBreak { end: at, next: at + 1 };
            if glyph.text.ends_with('\n') && at > from {
                (word, line) = (Some(stop), Some((stop, used)));
            } else if self.is_gap(at) && at > from {
                word = Some(stop);
            }
            used += self.cost(at, piece);
            piece = Some(glyph.piece);
            if used > self.limit && at > from {
                // A newline late on the page is a better place than the last word.
                let late = line.filter(|(_, used): &(PageBreak, usize)| used * 4 > self.limit * 3);
                let hard = PageBreak { end: at, next: at };
                return late.map(|(stop, _)| stop).or(word).unwrap_or(hard);
            }
        }
        let end = self.glyphs.len();
        PageBreak { end, next: end }
    }

    /// Returns whether the block at `at` overflows a page that has `used` characters already, and would fit one
    /// of its own.
    fn breaks_block(&self, at: usize, used: usize) -> bool {
        let piece = self.glyphs[at].piece;
        let mut whole = 0;
        let mut before = None;
        for inner in (at..self.glyphs.len()).take_while(|i| self.glyphs[*i].piece == piece) {
            whole += self.cost(inner, before);
            before = Some(piece);
            if whole > self.limit {
                return false;
            }
        }
        used + whole > self.limit
    }

    /// Characters of the glyph at `at` as it is written, with the marks that open with it after the
    /// piece `before`; a mark counts with the one that closes it.
    fn cost(&self, at: usize, before: Option<usize>) -> usize {
        let glyph = &self.glyphs[at];
        let mut cost = if self.is_as_is(at) { 1 } else { length(&self.glyph(at)) };
        if before != Some(glyph.piece) {
            let marks = &self.marks[glyph.piece];
            let opened = &marks[self.shared(before, glyph.piece)..];
            cost += opened.iter().map(|(a, b)| length(a) + length(b)).sum::<usize>();
        }
        cost
    }

    /// The number of the outermost marks of `piece` that are open from the piece `before`.
    fn shared(&self, before: Option<usize>, piece: usize) -> usize {
        let before = before.filter(|before| !self.pieces[*before].style.is_block());
        before.map_or(0, |before| shared(&self.marks[before], &self.marks[piece]))
    }

    /// The glyph at `at` as it is written.
    fn glyph(&self, at: usize) -> Cow<'a, str> {
        let glyph = &self.glyphs[at];
        if self.is_as_is(at) {
            return Cow::Borrowed(glyph.text);
        }
        let style = &self.pieces[glyph.piece].style;
        let escapes = style.escapes(self.profile);
        let is_escaped = |c| escapes.iter().any(|(special, _)| *special == c);
        let begins_line = style.quote && glyph.text.ends_with('\n');
        if !style.is_block() && !begins_line && !glyph.text.chars().any(is_escaped) {
            return Cow::Borrowed(glyph.text);
        }
        let mut written: String = glyph.text.chars().map(|c| escaped(escapes, c)).collect();
        if begins_line {
            written.push_str(self.profile.quote_line);
        }
        let is_tick = |at: Option<usize>| at.is_some_and(|at| self.glyphs[at].text == "`");
        if style.is_block() && (0..3).all(|back| is_tick(at.checked_sub(back))) {
            written.insert_str(0, self.profile.fence_break);
        }
        Cow::Owned(written)
    }

    fn write(&self, from: usize, end: usize) -> String {
        let mut page = OpenPage::default();
        let mut open: Option<usize> = None;
        for at in from..end {
            let piece = self.glyphs[at].piece;
            if open.replace(piece) != Some(piece) {
                page.begin(&self.marks[piece], self.is_block(at));
            }
            page.text.push_str(&self.glyph(at));
        }
        page.end()
    }
}

/// The characters of a text as a person sees them. Two ASCII characters in a row are never one, but for CR LF.
fn graphemes(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = match rest.as_bytes() {
            [] => return None,
            [one] if one.is_ascii() => 1,
            [one, next, ..] if one.is_ascii() && next.is_ascii() && *one != b'\r' => 1,
            _ => rest.graphemes(true).next()?.len(),
        };
        let (grapheme, after) = rest.split_at(size);
        rest = after;
        Some(grapheme)
    })
}

/// The mark that opens a style and the one that closes it.
type StyleMark = (String, String);

/// A page that is written, and the marks that are open on it.
#[derive(Default)]
struct OpenPage<'m> {
    text: String,
    open: &'m [StyleMark],
    /// True if these are the marks of a block, which goes on in no other piece.
    is_block: bool,
}

impl<'m> OpenPage<'m> {
    /// Opens the marks of the next piece, and closes those before that are not its own. Returns how many stay open.
    fn begin(&mut self, marks: &'m [StyleMark], is_block: bool) -> usize {
        let shared = if self.is_block { 0 } else { shared(self.open, marks) };
        self.close(shared);
        marks[shared..].iter().for_each(|(mark, _)| self.text.push_str(mark));
        (self.open, self.is_block) = (marks, is_block);
        shared
    }

    /// Closes the open marks but for the `kept` outermost.
    fn close(&mut self, kept: usize) {
        self.open[kept..].iter().rev().for_each(|(_, mark)| self.text.push_str(mark));
    }

    /// The page, with all marks closed.
    fn end(mut self) -> String {
        self.close(0);
        self.text
    }
}

/// The number of the outermost marks that are the same.
fn shared(before: &[StyleMark], marks: &[StyleMark]) -> usize {
    before.iter().zip(marks).take_while(|(a, b)| a == b).count()
}

/// The ASCII characters that are written as they are in a piece: all but those that are escaped,
/// that begin a line of a quotation, or that are ticks of a fence.
fn as_is(piece: &StyledText, profile: &Profile) -> u128 {
    let style = &piece.style;
    let special = style.escapes(profile).iter().map(|(special, _)| *special);
    let special = special.chain(['\n']).chain(style.is_block().then_some('`'));
    special
        .filter(char::is_ascii)
        .fold(u128::MAX, |mask, special| mask & !(1 << u32::from(special)))
}

/// The most bytes that a unit may have.
const UNIT_BYTES: usize = 4;

/// The one page that contains `pieces` from their first character to their last; none where more than one page, or a look at
/// each character, may be needed: for whitespace at an end, which a page leaves out, and for what could be the fence of a block.
fn whole(pieces: &[StyledText], profile: &Profile, limit: usize) -> Option<String> {
    let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    if bytes > limit.saturating_mul(UNIT_BYTES) {
        return None;
    }
    let shown: Vec<&StyledText> = pieces.iter().filter(|piece| !piece.text.is_empty()).collect();
    let (first, last) = (shown.first()?, shown.last()?);
    let is_gap = |piece: &StyledText, letter: Option<char>| {
        !piece.style.is_block() && letter.is_some_and(char::is_whitespace)
    };
    if is_gap(first, first.text.chars().next()) || is_gap(last, last.text.chars().next_back()) {
        return None;
    }
    if shown.iter().all(|piece| piece.text.chars().all(char::is_whitespace)) {
        return None;
    }
    let marks: Vec<Vec<StyleMark>> = shown.iter().map(|piece| piece.style.marks(profile)).collect();
    let mut page = OpenPage::default();
    page.text.reserve(bytes);
    for (piece, marks) in shown.into_iter().zip(&marks) {
        let is_block = piece.style.is_block();
        let shared = page.begin(marks, is_block);
        // A block in marks that are open already costs a page less than one for which they are opened.
        if is_block && (shared > 0 || piece.text.contains('`')) {
            return None;
        }
        write(piece, profile, &mut page.text);
    }
    let page = page.end();
    (length(&page) <= limit).then_some(page)
}

/// Writes a piece that is not part of a fence, without its marks.
fn write(piece: &StyledText, profile: &Profile, page: &mut String) {
    let (escapes, as_is) = (piece.style.escapes(profile), as_is(piece, profile));
    let is_special = |c: char| match u32::from(c) {
        ascii @ 0..128 => as_is >> ascii & 1 == 0,
        _ => escapes.iter().any(|(special, _)| *special == c),
    };
    let mut rest = piece.text.as_str();
    while let Some(at) = rest.find(is_special) {
        let (run, after) = rest.split_at(at);
        page.push_str(run);
        let mut letters = after.chars();
        if let Some(special) = letters.next() {
            page.push_str(&escaped(escapes, special));
            if special == '\n' && piece.style.quote {
                page.push_str(profile.quote_line);
            }
        }
        rest = letters.as_str();
    }
    page.push_str(rest);
}

#[cfg(test)]
mod tests;
