//! Pairs the entries of two lanes: first those with the same content at the same time, then those with the same content
//! at another time, then those with the same identity and another content, then those in the same position.
//!
//! The pairs give two texts side by side, each entry beside its counterpart, and the class of the whole change with its
//! consequences, grouped.

use std::fmt;
use std::ops::Range;

use clitape_recording::text::{MARK, end, start, width};
use clitape_recording::trace::Entry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices};

/// The keys by which an entry is matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryMark {
    /// The time in virtual ms.
    pub(crate) at: u64,
    /// The kind of the entry and its ids.
    pub identity: String,
    /// The identity and the fields, without the time.
    pub content: String,
}

/// An entry beside its counterpart, or alone; the numbers are indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// The two entries belong together.
    Both(usize, usize),
    /// The entry is in the old lane only.
    Old(usize),
    /// The entry is in the new lane only.
    New(usize),
}

/// The part of a mark that is equal in two marks that belong together.
type MatchKey<'m> = (Option<u64>, &'m str);

/// The keys by which marks are matched, the strictest first.
const KEYS: [fn(&EntryMark) -> MatchKey<'_>; 3] = [
    |mark| (Some(mark.at), &mark.content),
    |mark| (None, &mark.content),
    |mark| (None, &mark.identity),
];

/// Pairs the entries of two lanes, in their order.
pub(crate) fn pairs(old: &[EntryMark], new: &[EntryMark]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    by(&KEYS, old, 0..old.len(), new, 0..new.len(), &mut pairs);
    pairs
}

/// Pairs marks with an equal first key within two ranges, and the marks between those by the next key.
fn by(
    keys: &[fn(&EntryMark) -> MatchKey<'_>],
    old: &[EntryMark],
    olds: Range<usize>,
    new: &[EntryMark],
    news: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let Some((key, rest)) = keys.split_first() else {
        let both = olds.len().min(news.len());
        pairs.extend(olds.clone().zip(news.clone()).map(|(old, new)| Pair::Both(old, new)));
        pairs.extend(olds.skip(both).map(Pair::Old));
        pairs.extend(news.skip(both).map(Pair::New));
        return;
    };
    let keys = [&old[olds.clone()], &new[news.clone()]]
        .map(|marks| marks.iter().map(key).collect::<Vec<_>>());
    for op in capture_diff_slices(Algorithm::Myers, &keys[0], &keys[1]) {
        let shifted = |range: Range<usize>, by: usize| range.start + by..range.end + by;
        let was = shifted(op.old_range(), olds.start);
        let is = shifted(op.new_range(), news.start);
        match op {
            DiffOp::Equal { .. } => {
                pairs.extend(was.zip(is).map(|(old, new)| Pair::Both(old, new)));
            }
            _ => by(rest, old, was, new, is, pairs),
        }
    }
}

/// The number of unchanged lines shown around a change.
const CONTEXT: usize = 2;
/// The columns shown on both sides of a change within a line.
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
    /// Returns the mark at the start of the line.
    pub fn mark(self) -> char {
        match self {
            Self::Both => ' ',
            Self::Expected => '-',
            Self::Got => '+',
            Self::Gap => '┈',
        }
    }
}

/// Aligns two texts line by line, with a few equal lines around each change. Two lanes of entries are aligned by a
/// [`TraceDiff`](crate::TraceDiff).
pub fn align_texts(expected: &str, got: &str) -> Vec<DiffLine> {
    let [old, new] = [expected, got].map(|text| text.lines().collect::<Vec<_>>());
    align(&pairs(&line_marks(&old), &line_marks(&new)), &old, &new)
}

/// Returns the marks of lines that are no entries.
pub(crate) fn line_marks<S: AsRef<str>>(lines: &[S]) -> Vec<EntryMark> {
    let mark =
        |line: &S| EntryMark { at: 0, identity: String::new(), content: line.as_ref().to_owned() };
    lines.iter().map(mark).collect()
}

/// Returns the lines of two lanes by the pairs of their entries, with a few equal lines around each change.
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

/// Returns a line beside its changed form, both in parts.
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

/// Cuts the unchanged parts that are far from a change.
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

/// The fields of entries that a person reads; `length` counts the characters of `delta`.
const TEXTS: [&str; 10] = [
    "text",
    "delta",
    "length",
    "title",
    "content",
    "message",
    "result",
    "result_summary",
    "words",
    "sentence",
];

/// The fields that identify the object of an entry.
const IDS: [&str; 5] = ["message_id", "toolCallId", "id", "block", "run"];

/// What a change of a golden is about, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Class {
    /// The same entries at other times.
    Timing,
    /// The same entries with other words in them.
    Text,
    /// Entries that are missing, new or of another kind, or fields that programs read.
    Contract,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timing => "timing",
            Self::Text => "text",
            Self::Contract => "contract",
        })
    }
}

/// The summary of the difference between two lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The class of the difference as a whole.
    pub class: Class,
    /// The differences after the first one, grouped: `3 × editMessageText with another text`.
    pub consequences: Vec<String>,
}

/// Sums up the differences between two lanes, each with its class; `None` if there are none.
pub(crate) fn change_of(differences: impl Iterator<Item = (Class, String)>) -> Option<Change> {
    let differences: Vec<(Class, String)> = differences.collect();
    let class = differences.iter().map(|(class, _)| *class).max()?;
    let mut groups: Vec<(usize, String)> = Vec::new();
    for (_, what) in differences.into_iter().skip(1) {
        match groups.iter_mut().find(|(_, known)| *known == what) {
            Some((count, _)) => *count += 1,
            None => groups.push((1, what)),
        }
    }
    let consequences = groups.into_iter().map(|(count, what)| format!("{count} × {what}"));
    Some(Change { class, consequences: consequences.collect() })
}

/// Returns the keys by which an entry is matched. The content leaves out its number on the bus, because that depends on
/// the entries before it.
pub fn entry_mark(entry: &Entry) -> EntryMark {
    let Entry { at, lane, kind, data, .. } = entry;
    let ids = IDS.iter().filter_map(|id| data.get(*id)).map(|id| format!(" {id}"));
    let identity = format!("{lane} {kind}{}", ids.collect::<String>());
    let fields = data.iter().filter(|(key, _)| *key != "seq");
    let content = fields.map(|(key, value)| format!(" {key}={value}")).collect::<String>();
    EntryMark { at: *at, content: format!("{identity}{content}"), identity }
}

/// Returns the class of the difference between two entries, and its description if they have the same identity; `None`
/// if they are equal.
pub fn between(a: &Entry, b: &Entry) -> Option<(Class, Option<&'static str>)> {
    if a == b {
        return None;
    }
    let (old, new) = (entry_mark(a), entry_mark(b));
    if old.identity != new.identity {
        return Some((Class::Contract, None));
    }
    if a.data == b.data {
        return Some((Class::Timing, Some("at another time")));
    }
    if old.content == new.content {
        return Some((Class::Contract, Some("with another number")));
    }
    let (a, b) = (a.value(), b.value());
    Some(match only_texts(&a, &b, false) {
        true => (Class::Text, Some("with another text")),
        false => (Class::Contract, Some("with other fields")),
    })
}

/// Returns whether two values differ only in text that a person reads.
fn only_texts(a: &Value, b: &Value, in_text: bool) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| {
                    let in_text = in_text || TEXTS.contains(&key.as_str());
                    b.get(key).is_some_and(|b| only_texts(a, b, in_text))
                })
        }
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) if in_text => {
            true
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| only_texts(a, b, in_text))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs entries such as `e:text@7`: an identity, a content, and a time if it matters; expects pairs as `old|new`.
    fn check(old: &str, new: &str, expect: &str) {
        let marks = |text: &str| -> Vec<EntryMark> {
            let mark = |entry: &str| {
                let (content, at) = entry.split_once('@').unwrap_or((entry, "0"));
                let identity = content.split(':').next().unwrap().to_owned();
                EntryMark { at: at.parse().unwrap(), identity, content: content.to_owned() }
            };
            text.split_whitespace().map(mark).collect()
        };
        let (old, new) = (marks(old), marks(new));
        let tell = |mark: &EntryMark| match mark.at {
            0 => mark.content.clone(),
            at => format!("{}@{at}", mark.content),
        };
        let shown = pairs(&old, &new).into_iter().map(|pair| match pair {
            Pair::Both(i, j) => format!("{}|{}", tell(&old[i]), tell(&new[j])),
            Pair::Old(i) => format!("{}|", tell(&old[i])),
            Pair::New(j) => format!("|{}", tell(&new[j])),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn what_says_the_same_belongs_together_before_what_is_the_same() {
        check("e:a e:b", "e:a e:b", "e:a|e:a e:b|e:b");
        check("e:a e:b e:c", "e:a e:x e:b e:c", "e:a|e:a |e:x e:b|e:b e:c|e:c");
        check("e:a f:b e:c", "e:A f:b", "e:a|e:A f:b|f:b e:c|");
        check("s:1 e:a", "e:A", "s:1| e:a|e:A");
        check("a:1 b:2", "c:3", "a:1|c:3 b:2|");
        check("", "a:1", "|a:1");
        check("t:x@1 t:x@2 t:x@3", "t:x@1 t:x@3", "t:x@1|t:x@1 t:x@2| t:x@3|t:x@3");
        check("e:a@1 e:b@2 e:c@3", "e:a@1 e:c@9", "e:a@1|e:a@1 e:b@2| e:c@3|e:c@9");
    }

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
