//! Which entry of one text is which of another. Entries are matched by what they are: first those
//! that are the same, between these the same at another time, and between those the ones of the same
//! lane, kind and ids, whatever they say.

use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::replay::Entry;

/// Fields that say which one an entry is about.
const IDS: [&str; 5] = ["message_id", "toolCallId", "id", "block", "run"];

/// One line of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// As it stands.
    pub(super) text: String,
    /// What it says; none when it is no entry.
    pub(super) entry: Option<Entry>,
}

/// Places of a line in the one text and in the other, from 0; none where it has no match.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let line = |line: &str| Line { text: line.to_owned(), entry: serde_json::from_str(line).ok() };
    text.lines().map(line).collect()
}

impl Line {
    /// Lane, kind and ids.
    fn identity(&self) -> String {
        let Some(entry) = &self.entry else { return String::new() };
        let ids = IDS.iter().filter_map(|id| entry.data.get(*id)).map(Value::to_string);
        let words = [entry.lane.to_string(), entry.kind.to_string()].into_iter().chain(ids);
        words.collect::<Vec<_>>().join(" ")
    }

    fn without_time(&self) -> String {
        match &self.entry {
            Some(entry) => Entry { at: 0, ..entry.clone() }.to_line(),
            None => self.text.clone(),
        }
    }
}

/// Ways to say what a line is, the strictest first.
const KEYS: [fn(&Line) -> String; 3] =
    [|line| line.text.clone(), Line::without_time, Line::identity];

/// Every line of both, in order; what has no match stands beside what came in its place.
pub(super) fn matched(old: &[Line], new: &[Line]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    by(&KEYS, (old, 0), (new, 0), &mut pairs);
    pairs
}

/// Matches what stands from a place on; what is left by the first key goes to the next.
fn by(
    keys: &[fn(&Line) -> String],
    (old, old_from): (&[Line], usize),
    (new, new_from): (&[Line], usize),
    pairs: &mut Vec<Pair>,
) {
    let Some((key, rest)) = keys.split_first().filter(|_| !old.is_empty() && !new.is_empty())
    else {
        pairs.extend((0..old.len().max(new.len())).map(|i| {
            let place = |from: usize, length: usize| (i < length).then_some(from + i);
            (place(old_from, old.len()), place(new_from, new.len()))
        }));
        return;
    };
    let said = |lines: &[Line]| lines.iter().map(key).collect::<Vec<_>>();
    for op in joined(&capture_diff_slices(Algorithm::Myers, &said(old), &said(new))) {
        let (was, is) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { len, .. } => pairs.extend(
                (0..len).map(|i| (Some(old_from + was.start + i), Some(new_from + is.start + i))),
            ),
            _ => by(
                rest,
                (&old[was.clone()], old_from + was.start),
                (&new[is.clone()], new_from + is.start),
                pairs,
            ),
        }
    }
}

/// The same with neighbours that are not equal made one.
fn joined(ops: &[DiffOp]) -> Vec<DiffOp> {
    let mut joined: Vec<DiffOp> = Vec::new();
    for op in ops {
        let is_equal = |op: &DiffOp| matches!(op, DiffOp::Equal { .. });
        match joined.last_mut() {
            Some(last) if !is_equal(last) && !is_equal(op) => {
                let (was, is) = (last.old_range(), last.new_range());
                *last = DiffOp::Replace {
                    old_index: was.start,
                    old_len: was.len() + op.old_range().len(),
                    new_index: is.start,
                    new_len: is.len() + op.new_range().len(),
                };
            }
            _ => joined.push(*op),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages as `at:id:text`; pairs as `old-new`.
    fn check(old: &[&str], new: &[&str], expect: &str) {
        let text = |entries: &[&str]| -> String {
            let line = |entry: &&str| {
                let [at, id, text] = entry.split(':').collect::<Vec<_>>()[..] else {
                    return format!("{entry}\n");
                };
                let kind = if at == "0" { "sendMessage" } else { "editMessageText" };
                let data = format!(r#"{{"message_id":{id},"text":"{text}"}}"#);
                format!(r#"{{"at":{at},"lane":"telegram","kind":"{kind}","data":{data}}}"#) + "\n"
            };
            entries.iter().map(line).collect()
        };
        let place = |at: Option<usize>| at.map(|at| at.to_string()).unwrap_or_default();
        let pairs = matched(&lines(&text(old)), &lines(&text(new)));
        let pairs: Vec<String> =
            pairs.into_iter().map(|(a, b)| format!("{}-{}", place(a), place(b))).collect();
        assert_eq!(pairs.join(" "), expect, "{old:?} {new:?}");
    }

    #[test]
    fn entries_are_matched_by_what_they_are() {
        check(&["0:1:a", "1:1:b"], &["0:1:a", "1:1:b"], "0-0 1-1");
        // One is missing, and the rest stays what it was, at other times too.
        check(&["0:1:a", "1:1:b", "2:1:c"], &["0:1:a", "2:1:c"], "0-0 1- 2-1");
        check(&["0:1:a", "1:1:b", "2:1:c"], &["0:1:a", "9:1:c"], "0-0 1- 2-1");
        // Other words in all of them: matched by what they are about.
        check(&["0:1:a", "1:1:b", "2:2:c"], &["0:1:A", "2:2:C"], "0-0 1- 2-1");
        check(&["1:1:a"], &["0:7:a", "1:1:A"], "-0 0-1");
        // Something else in its place.
        check(&["0:1:a", "1:1:b"], &["0:1:a", "0:2:b"], "0-0 1-1");
        check(&["x"], &["y", "z"], "0-0 -1");
        check(&[], &["0:1:a"], "-0");
    }
}
