//! Shortens text for people: long text on few columns, or with its end, and counts and sizes in words.
//!
//! A column is the width of a letter in a terminal: `字` and `🛠️` take two of them. A text is cut only between two
//! grapheme clusters, so that an accent stays on its letter and `👩‍👩‍👧` stays one family.

use std::borrow::Cow;
use std::fmt::Display;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::safe::plain;

/// The mark that replaces the part that is cut; it takes one column.
pub const MARK: char = '…';

/// The most characters of a cluster whose drawn width is used. The longest emoji has ten. A letter may have thousands
/// of accents: such a cluster counts as many columns as it has characters, so that a cut text is short in every
/// respect.
const LONGEST_CLUSTER: usize = 16;

/// The part of a long text that [`truncate`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The start, with the mark behind it.
    Start,
    /// Both ends, two thirds of the columns before the mark and the rest behind it.
    Ends,
    /// The end, with the mark before it.
    End,
}

/// Returns the number of columns that `text` takes. A character without width counts as one column, because it is shown
/// as an escape.
pub fn width(text: &str) -> usize {
    clusters(text).map(|(_, width)| width).sum()
}

/// Returns `text` on at most `columns` columns. A text that fits stays unchanged; in any other, [`MARK`] replaces the
/// part that is cut.
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

/// The most columns of a text that a sentence quotes.
const QUOTED: usize = 72;

/// Returns the text as a sentence quotes it; a long one without its middle.
pub fn shortened(text: &str) -> Cow<'_, str> {
    truncate(text, QUOTED, Keep::Ends)
}

/// Returns `text` in quotation marks, on one line, [`shortened`], and safe to print.
pub fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("“{}”", plain(&shortened(&line)))
}

/// Returns the longest start of `text` that takes at most `columns` columns, without a mark.
pub fn start(text: &str, columns: usize) -> &str {
    &text[..taken(clusters(text), columns)]
}

/// Returns the longest end of `text` that takes at most `columns` columns, without a mark.
pub fn end(text: &str, columns: usize) -> &str {
    &text[text.len() - taken(clusters(text).rev(), columns)..]
}

/// Returns the start that two texts have in common, in whole clusters.
pub fn common_start<'a>(a: &'a str, b: &str) -> &'a str {
    &a[..common(a.graphemes(true).zip(b.graphemes(true)))]
}

/// Returns the end that two texts have in common, in whole clusters.
pub fn common_end<'a>(a: &'a str, b: &str) -> &'a str {
    &a[a.len() - common(a.graphemes(true).rev().zip(b.graphemes(true).rev()))..]
}

/// Counts the bytes of the first pairs that are equal.
fn common<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum()
}

/// Returns `text` with blanks up to `columns` columns. The formatter's own padding counts characters instead.
pub fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Returns whether `text` takes at most `columns` columns. It reads only as much as this needs.
fn fits(text: &str, columns: usize) -> bool {
    text.len() <= columns || taken(clusters(text), columns) == text.len()
}

/// Counts the bytes of the first clusters that together fit on `columns` columns.
fn taken<'a>(clusters: impl Iterator<Item = (&'a str, usize)>, columns: usize) -> usize {
    let mut left = columns;
    let fitting = clusters.map_while(|(cluster, width)| {
        left = left.checked_sub(width)?;
        Some(cluster.len())
    });
    fitting.sum()
}

/// Splits a text into grapheme clusters, each with its number of columns.
fn clusters(text: &str) -> impl DoubleEndedIterator<Item = (&str, usize)> {
    text.graphemes(true).map(|cluster| {
        let count = cluster.chars().count();
        let width = if count > LONGEST_CLUSTER { count } else { cluster.width().max(1) };
        (cluster, width)
    })
}

/// The most characters of a text that is listed as a whole.
const WHOLE: usize = 4_000;
/// The characters of each end of a longer one.
const END: usize = 1_500;

/// Lists a text below or behind its label, one line for each of its lines. A very long one is reduced to both ends,
/// with the number of characters between them and `place`, the file that has all.
pub fn whole(label: &str, text: &str, place: &str) -> Vec<String> {
    if text.chars().nth(WHOLE).is_none() {
        return match text.contains('\n') {
            false => vec![format!("{label}: {text}")],
            true => indented(format!("{label}:"), text),
        };
    }
    let at = |n| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let count = text.chars().count();
    let (start, end) = (&text[..at(END)], &text[at(count - END)..]);
    let mut lines = indented(format!("{label}:"), start);
    let left_out = plural(count - 2 * END, "character");
    lines.push(format!("    {MARK} ({left_out} left out here; read {place})"));
    indented_onto(&mut lines, end);
    lines
}

fn indented(head: String, text: &str) -> Vec<String> {
    let mut lines = vec![head];
    indented_onto(&mut lines, text);
    lines
}

fn indented_onto(lines: &mut Vec<String>, text: &str) {
    lines.extend(text.split('\n').map(|line| format!("    {line}")));
}

/// Formats a number and the noun it counts, `1 cassette` or `2 cassettes`.
///
/// `noun` is the singular; words may come before it: `more line`, `pending golden`.
pub fn plural<N: Copy + Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    if n == N::from(1) {
        return format!("{n} {noun}");
    }
    let is_vowel = |c: char| "aeiou".contains(c);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{n} {stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => {
            format!("{n} {noun}es")
        }
        _ => format!("{n} {noun}s"),
    }
}

/// Formats a size in megabytes of a million bytes, rounded up to a tenth: `4.1 MB`.
pub fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
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
            // Letters of two columns each.
            ("字字字", 6, Start, "字字字"),
            ("字字字", 5, Start, "字字…"),
            ("字字字", 4, Start, "字…"),
            ("字字字", 4, End, "…字"),
            // A cluster of several characters.
            ("a👩‍👩‍👧bc", 4, Start, "a👩‍👩‍👧…"),
            ("a👩‍👩‍👧bc", 3, Start, "a…"),
            ("ab👩‍👩‍👧", 3, End, "…👩‍👩‍👧"),
            ("ab👩‍👩‍👧", 2, End, "…"),
            ("🛠️🛠️🛠️", 5, Ends, "🛠️…"),
            ("e\u{301}e\u{301}e\u{301}", 2, Start, "e\u{301}…"),
            ("🇩🇪🇫🇷🇮🇹", 3, End, "…🇮🇹"),
            // Characters without width, which are shown as escapes.
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

    #[test]
    fn a_text_is_listed_with_its_end() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(whole("a", text, "f.toml"), expect, "{text}");
        };
        check("b", &["a: b"]);
        check("b\n  c\n", &["a:", "    b", "      c", "    "]);
        let long = "ü".repeat(4_000);
        check(&long, &[&format!("a: {long}")]);
        let ends = "ü".repeat(1_497);
        check(
            &format!("bb\n{long}\ncc"),
            &[
                "a:",
                "    bb",
                &format!("    {ends}"),
                "    … (1006 characters left out here; read f.toml)",
                &format!("    {ends}"),
                "    cc",
            ],
        );
    }

    #[test]
    fn one_is_singular_and_all_else_plural() {
        for (n, noun, expect) in [
            (0, "cassette", "0 cassettes"),
            (1, "cassette", "1 cassette"),
            (2, "cassette", "2 cassettes"),
            (1, "more kind", "1 more kind"),
            (11, "more kind", "11 more kinds"),
            (1, "entry", "1 entry"),
            (3, "entry", "3 entries"),
            (3, "replay", "3 replays"),
            (3, "process", "3 processes"),
            (3, "patch", "3 patches"),
        ] {
            assert_eq!(plural(n, noun), expect);
            assert_eq!(plural(n as u64, noun), expect, "of any width");
        }
    }

    #[test]
    fn a_size_is_rounded_up_so_that_only_nothing_is_0() {
        for (bytes, expect) in
            [(0, "0.0 MB"), (1, "0.1 MB"), (4_100_000, "4.1 MB"), (12_345_678_901, "12345.7 MB")]
        {
            assert_eq!(megabytes(bytes), expect);
        }
    }
}
