//! Long text on few columns.
//!
//! A column is what a terminal gives to a letter: `字` and `🛠️` take two of them. A text is only ever cut
//! between two grapheme clusters, so that an accent stays on its letter and `👩‍👩‍👧` stays one family.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The mark that replaces what is cut away; it takes one column.
pub const MARK: char = '…';

/// The most characters of a cluster whose width is that of what it draws. The longest emoji has ten.
/// A letter may carry thousands of accents: such a cluster counts as many columns as it has characters,
/// so that a text that was cut is short in every sense.
const LONGEST_CLUSTER: usize = 16;

/// Which part of a long text [`truncate`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The start, with the mark behind it.
    Start,
    /// Both ends, two thirds of the columns before the mark and the rest behind it.
    Ends,
    /// The end, with the mark before it.
    End,
}

/// The number of columns that `text` takes. A character without width counts as one column, because
/// it is shown as an escape.
pub fn width(text: &str) -> usize {
    clusters(text).map(|(_, width)| width).sum()
}

/// `text` on no more than `columns` columns. A text that fits stays as it is; in any other, [`MARK`]
/// replaces what is cut away.
pub fn truncate(text: &str, columns: usize, keep: Keep) -> Cow<'_, str> {
    if fits(text, columns) {
        return Cow::Borrowed(text);
    }
    let Some(rest) = columns.checked_sub(1) else { return Cow::Borrowed("") };
    let head = match keep {
        Keep::Start => rest,
        Keep::Ends => rest.min(columns * 2 / 3),
        Keep::End => 0,
    };
    Cow::Owned(format!("{}{MARK}{}", start(text, head), end(text, rest - head)))
}

/// The longest start of `text` that takes no more than `columns` columns, without a mark.
pub fn start(text: &str, columns: usize) -> &str {
    &text[..taken(clusters(text), columns)]
}

/// The longest end of `text` that takes no more than `columns` columns, without a mark.
pub fn end(text: &str, columns: usize) -> &str {
    &text[text.len() - taken(clusters(text).rev(), columns)..]
}

/// The start that two texts have in common, in whole clusters.
pub fn common_start<'a>(a: &'a str, b: &str) -> &'a str {
    &a[..common(a.graphemes(true).zip(b.graphemes(true)))]
}

/// The end that two texts have in common, in whole clusters.
pub fn common_end<'a>(a: &'a str, b: &str) -> &'a str {
    &a[a.len() - common(a.graphemes(true).rev().zip(b.graphemes(true).rev()))..]
}

/// The bytes of the first pairs that are equal.
fn common<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum()
}

/// `text`, and blanks up to `columns` columns. The formatter's own padding counts characters instead.
pub fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Whether `text` takes no more than `columns` columns. Only as much of it is read as decides this.
fn fits(text: &str, columns: usize) -> bool {
    text.len() <= columns || taken(clusters(text), columns) == text.len()
}

/// The bytes of the first clusters that fit on `columns` columns together.
fn taken<'a>(clusters: impl Iterator<Item = (&'a str, usize)>, columns: usize) -> usize {
    let mut left = columns;
    let fitting = clusters.map_while(|(cluster, width)| {
        left = left.checked_sub(width)?;
        Some(cluster.len())
    });
    fitting.sum()
}

/// The grapheme clusters of a text, each with its number of columns.
fn clusters(text: &str) -> impl DoubleEndedIterator<Item = (&str, usize)> {
    text.graphemes(true).map(|cluster| {
        let count = cluster.chars().count();
        let width = if count > LONGEST_CLUSTER { count } else { cluster.width().max(1) };
        (cluster, width)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_columns_and_between_clusters() {
        use Keep::{End, Ends, Start};
        for (text, columns, keep, expect) in [
            ("abcdef", 6, Start, "abcdef"),
            ("abcdefg", 6, Start, "abcde…"),
            ("abcdefg", 6, End, "…cdefg"),
            ("abcdefg", 6, Ends, "abcd…g"),
            ("abcdefg", 1, Ends, "…"),
            ("abcdefg", 0, Start, ""),
            ("", 0, End, ""),
            // Two columns each.
            ("字字字", 6, Start, "字字字"),
            ("字字字", 5, Start, "字字…"),
            ("字字字", 4, Start, "字…"),
            ("字字字", 4, End, "…字"),
            // One cluster each, of several characters.
            ("a👩‍👩‍👧bc", 4, Start, "a👩‍👩‍👧…"),
            ("a👩‍👩‍👧bc", 3, Start, "a…"),
            ("ab👩‍👩‍👧", 3, End, "…👩‍👩‍👧"),
            ("ab👩‍👩‍👧", 2, End, "…"),
            ("🛠️🛠️🛠️", 5, Ends, "🛠️…"),
            ("e\u{301}e\u{301}e\u{301}", 2, Start, "e\u{301}…"),
            ("🇩🇪🇫🇷🇮🇹", 3, End, "…🇮🇹"),
            // No width of their own, but shown as escapes.
            ("\u{202e}\u{200b}\u{7}a", 3, Start, "\u{202e}\u{200b}…"),
        ] {
            let cut = truncate(text, columns, keep);
            assert_eq!(cut, expect, "{text:?} on {columns}, {keep:?}");
            assert!(width(&cut) <= columns, "{cut:?}");
        }
    }

    #[test]
    fn a_letter_with_many_accents_is_as_long_as_it_is() {
        let text = format!("a{}", "\u{301}".repeat(10_000));
        assert_eq!(truncate(&text, 80, Keep::Start), "…");
        assert_eq!(truncate(&text, 80, Keep::Ends), "…");
    }

    #[test]
    fn two_texts_part_between_clusters() {
        for (a, b, head, tail) in [
            ("abcd", "abxd", "ab", "d"),
            ("abc", "abc", "abc", "abc"),
            ("", "a", "", ""),
            ("x👩‍👩‍👧y", "x👩‍👩‍👦y", "x", "y"),
            ("ae\u{301}", "ae\u{300}", "a", ""),
        ] {
            assert_eq!((common_start(a, b), common_end(a, b)), (head, tail), "{a:?} {b:?}");
        }
    }

    #[test]
    fn columns_are_padded_as_they_are_seen() {
        for (text, expect) in [("ab", "ab  "), ("字", "字  "), ("👩‍👩‍👧", "👩‍👩‍👧  "), ("abcde", "abcde")]
        {
            assert_eq!(pad(text, 4), expect);
        }
    }
}
