//! Two texts of one lane side by side: every entry beside the one it is, and what changed within it.

use clitape_recording::text::{MARK, end, start, width};
use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

use super::pairs::{EntryMark, Pair, pairs};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;
/// Columns shown on both sides of a change within a line.
const AROUND: usize = 60;

/// One line of an aligned diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffLine {
    /// Its side.
    pub side: DiffSide,
    /// Number of the line in the golden, from 1, where it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<usize>,
    /// Number of the line in what came, from 1, where it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<usize>,
    /// The text in parts; `true` for those that changed. Long unchanged parts are cut with `…`.
    pub parts: Vec<(bool, String)>,
}

/// On which side a line of a diff stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Side"))]
pub enum DiffSide {
    /// On both.
    Both,
    /// Only in what was expected.
    Expected,
    /// Only in what came.
    Got,
    /// Lines left out between two changes.
    Gap,
}

impl DiffSide {
    /// The mark at the start of the line.
    pub fn mark(self) -> char {
        match self {
            Self::Both => ' ',
            Self::Expected => '-',
            Self::Got => '+',
            Self::Gap => '┈',
        }
    }
}

/// Two texts aligned line by line, with a little of what is equal around each change. Two lanes of
/// entries are aligned by a [`TraceDiff`](crate::TraceDiff).
pub fn align_texts(expected: &str, got: &str) -> Vec<DiffLine> {
    let [old, new] = [expected, got].map(|text| text.lines().collect::<Vec<_>>());
    align(&pairs(&line_marks(&old), &line_marks(&new)), &old, &new)
}

/// What lines that are no entries are matched by.
pub(crate) fn line_marks<S: AsRef<str>>(lines: &[S]) -> Vec<EntryMark> {
    let mark =
        |line: &S| EntryMark { at: 0, identity: String::new(), content: line.as_ref().to_owned() };
    lines.iter().map(mark).collect()
}

/// The lines of two lanes by the pairs of their entries, with a little of what is equal around each
/// change.
pub(crate) fn align<S: AsRef<str>>(pairs: &[Pair], old: &[S], new: &[S]) -> Vec<DiffLine> {
    let places = pairs.iter().map(|pair| match *pair {
        Pair::Both(a, b) => (Some(a), Some(b)),
        Pair::Old(a) => (Some(a), None),
        Pair::New(b) => (None, Some(b)),
    });
    let places: Vec<_> = places.collect();
    let rows: Vec<_> = places
        .iter()
        .map(|(a, b)| (a.map(|a| old[a].as_ref()), b.map(|b| new[b].as_ref())))
        .collect();
    let changed: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].0 != rows[row].1).collect();
    let mut diff = Vec::new();
    let mut shown = 0;
    for row in 0..rows.len() {
        let next = changed.partition_point(|&changed| changed + CONTEXT < row);
        if changed.get(next).is_none_or(|&changed| row + CONTEXT < changed) {
            continue;
        }
        if row > shown && !diff.is_empty() {
            diff.push(DiffLine { side: DiffSide::Gap, old: None, new: None, parts: Vec::new() });
        }
        shown = row + 1;
        let (a, b) = places[row];
        let (old, new) = (a.map(|a| a + 1), b.map(|b| b + 1));
        diff.extend(beside(rows[row].0, rows[row].1).into_iter().map(|(side, parts)| match side {
            DiffSide::Expected => DiffLine { side, old, new: None, parts },
            DiffSide::Got => DiffLine { side, old: None, new, parts },
            DiffSide::Both | DiffSide::Gap => DiffLine { side, old, new, parts },
        }));
    }
    diff
}

/// A line beside the one it became, in parts.
fn beside(old: Option<&str>, new: Option<&str>) -> Vec<(DiffSide, Vec<(bool, String)>)> {
    let whole = |line: Option<&str>| line.map(|line| format!("{line}\n")).unwrap_or_default();
    let (old, new) = (whole(old), whole(new));
    let diff = TextDiff::from_lines(&old, &new);
    let changes = diff.ops().iter().flat_map(|op| diff.iter_inline_changes_deadline(op, None));
    let lines = changes.map(|change| {
        let side = match change.tag() {
            ChangeTag::Equal => DiffSide::Both,
            ChangeTag::Delete => DiffSide::Expected,
            ChangeTag::Insert => DiffSide::Got,
        };
        let parts = change
            .iter_strings_lossy()
            .map(|(changed, text)| (changed, text.trim_end_matches('\n').to_owned()));
        (side, shorten(parts.filter(|(_, text)| !text.is_empty()).collect()))
    });
    lines.collect()
}

/// Cuts what is unchanged and far from a change.
fn shorten(parts: Vec<(bool, String)>) -> Vec<(bool, String)> {
    let last = parts.len().saturating_sub(1);
    let cut = |i: usize, text: String| {
        let (head, tail) =
            (if i == 0 { AROUND } else { AROUND / 2 }, if i == last { 0 } else { AROUND / 2 });
        if width(&text) <= head + tail + AROUND {
            return text;
        }
        let head = start(&text, head + if i == last { AROUND } else { 0 });
        format!("{head}{MARK}{}", end(&text, tail))
    };
    parts
        .into_iter()
        .enumerate()
        .map(|(i, (changed, text))| (changed, if changed { text } else { cut(i, text) }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_diff(expected: &str, got: &str, lines: &[&str]) {
        let shown: Vec<String> = align_texts(expected, got)
            .iter()
            .map(|line| {
                let parts = line.parts.iter().map(|(changed, text)| {
                    if *changed { format!("[{text}]") } else { text.clone() }
                });
                format!("{}{}", line.side.mark(), parts.collect::<String>())
            })
            .collect();
        assert_eq!(shown, lines);
    }

    #[test]
    fn the_diff_marks_what_changed_within_a_line() {
        let (expected, got) = ("a\nb one c\nd\n", "a\nb two c\nd\n");
        check_diff(expected, got, &[" a", "-b [one] c", "+b [two] c", " d"]);
    }

    #[test]
    fn lines_that_changed_stand_in_pairs() {
        let (expected, got) = ("1 a\n2 a\nz\n", "1 b\n2 b\n3 b\nz\n");
        let lines = ["-1 [a]", "+1 [b]", "-2 [a]", "+2 [b]", "+3 b", " z"];
        check_diff(expected, got, &lines);
    }
}
