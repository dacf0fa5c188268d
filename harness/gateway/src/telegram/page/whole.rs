//! Writes pieces that fit one page run by run. Most texts do, and a page of them needs no look at each character a person sees.

use super::open_page::{OpenPage, StyleMark, as_is};
use crate::profile::{Profile, length};
use crate::telegram::markup::{StyledText, escaped};

/// The most bytes that a unit may have.
const UNIT_BYTES: usize = 4;

/// The one page that contains `pieces` from their first character to their last; none where more than one page, or a look at
/// each character, may be needed: for whitespace at an end, which a page leaves out, and for what could be the fence of a block.
pub(super) fn whole(pieces: &[StyledText], profile: &Profile, limit: usize) -> Option<String> {
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
