//! Text in lines of a width, with marks on its runs.

use clitape_recording::text::markup::Span;
use clitape_recording::text::{start, width};
use unicode_segmentation::UnicodeSegmentation;

/// The blanks that replace a tab.
const TAB: &str = "    ";

/// A run of text on a line: its marks and its text.
pub(crate) type StyledRun = (String, String);

/// Returns the columns of a line without the blanks at its end.
pub(crate) fn columns(line: &[StyledRun]) -> usize {
    let text: String = line.iter().map(|(_, text)| text.as_str()).collect();
    width(text.trim_end())
}

/// Returns a message in lines of at most `columns` columns. Lines break at blanks, and a word that is longer than a
/// line breaks between two grapheme clusters. A cluster that is wider than a line gets its own.
pub(crate) fn wrap(spans: &[Span], columns: usize) -> Vec<Vec<StyledRun>> {
    let mut lines = Vec::new();
    let (mut line, mut used): (Vec<StyledRun>, usize) = (Vec::new(), 0);
    for Span { text, marks, .. } in spans {
        let text = text.replace('\t', TAB);
        for word in text.split_inclusive([' ', '\n']) {
            let mut rest = word.trim_end_matches('\n');
            while !rest.is_empty() {
                let piece = piece(rest, columns);
                if used > 0 && used + width(piece.trim_end()) > columns {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
                used += width(piece);
                match line.last_mut() {
                    Some((last, text)) if last == marks => text.push_str(piece),
                    _ => line.push((marks.clone(), piece.to_owned())),
                }
                rest = &rest[piece.len()..];
            }
            if word.ends_with('\n') {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
        }
    }
    lines.push(line);
    lines
}

/// Returns the start of a word that fits on a line; the blank behind the word may be beyond the line.
fn piece(word: &str, columns: usize) -> &str {
    if width(word.trim_end()) <= columns {
        return word;
    }
    match start(word, columns) {
        "" => word.graphemes(true).next().unwrap_or(word),
        start => start,
    }
}
