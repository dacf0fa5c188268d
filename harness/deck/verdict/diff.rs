//! Two texts of one lane side by side: the first divergence as a sentence, and an aligned diff.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::replay::Entry;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;
/// Characters shown on both sides of a change within a line.
const AROUND: usize = 60;

/// One line of an aligned diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffLine {
    /// Its side.
    pub side: Side,
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
pub enum Side {
    /// On both.
    Both,
    /// Only in what was expected.
    Expected,
    /// Only in what came.
    Got,
    /// Lines left out between two changes.
    Gap,
}

impl Side {
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

/// Where two texts part, in one sentence; `None` when they are equal.
pub fn first_divergence(expected: &str, got: &str) -> Option<String> {
    let (mut old, mut new) = (expected.lines(), got.lines());
    for number in 1.. {
        let sentence = match (old.next(), new.next()) {
            (None, None) => break,
            (Some(a), Some(b)) if a == b => continue,
            (Some(a), Some(b)) => differ(a, b),
            (Some(a), None) => format!("expected {}, but nothing more came", tell(a)),
            (None, Some(b)) => format!("{} came, where nothing more is expected", tell(b)),
        };
        return Some(format!("entry {number}: {sentence}"));
    }
    // Equal line by line: only the ends of lines can differ.
    (expected != got).then(|| "the texts differ in their line ends only".to_owned())
}

fn differ(a: &str, b: &str) -> String {
    let (Ok(old), Ok(new)) = (parse(a), parse(b)) else {
        return format!("expected {}, got {}", tell(a), tell(b));
    };
    if old.lane != new.lane || old.kind != new.kind {
        return format!("expected {}, got {}", tell(a), tell(b));
    }
    if old.same_but_time(&new) {
        let what = new.headline();
        return format!("expected at {} ms, it came at {} ms: {what}", old.at, new.at);
    }
    let (kind, at) = (new.kind, time(new.at));
    match first_difference("", &Value::Object(old.data), &Value::Object(new.data)) {
        Some((path, a, b)) => format!("{kind}{at}: `{path}` should be {a}, it is {b}"),
        None => format!("{kind}{at}: its fields stand in another order"),
    }
}

fn parse(line: &str) -> serde_json::Result<Entry> {
    serde_json::from_str(line)
}

fn tell(line: &str) -> String {
    match parse(line) {
        Ok(entry) => entry.headline() + &time(entry.at),
        Err(_) => format!("{:?}, which is no trace entry", clip(line)),
    }
}

/// When an entry came; 0 says nothing, as it also stands where times are left aside.
fn time(at: u64) -> String {
    if at == 0 { String::new() } else { format!(" (at {at} ms)") }
}

/// The first path, in the order of the fields, at which two values differ, with both values.
fn first_difference(path: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(old), Value::Object(new)) = (a, b) {
        let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let (a, b) = (old.get(key), new.get(key));
            if let (Some(a), Some(b)) = (a, b) {
                if let Some(found) = first_difference(&path, a, b) {
                    return Some(found);
                }
            } else {
                let show = |value: Option<&Value>| match value {
                    Some(value) => clip(&value.to_string()),
                    None => "absent".to_owned(),
                };
                return Some((path, show(a), show(b)));
            }
        }
        return None;
    }
    if a == b {
        return None;
    }
    let (a, b) = zoom(&a.to_string(), &b.to_string());
    Some((path.to_owned(), a, b))
}

/// Two long values from shortly before they part.
fn zoom(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = if same > AROUND / 2 { same - AROUND / 4 } else { 0 };
    let cut = |text: &str| {
        let rest: String = text.chars().skip(from).collect();
        let shown = clip(&rest);
        if from > 0 { format!("…{shown}") } else { shown }
    };
    (cut(a), cut(b))
}

fn clip(text: &str) -> String {
    if text.chars().count() <= AROUND * 2 {
        return text.to_owned();
    }
    text.chars().take(AROUND * 2).chain(['…']).collect()
}

/// The two texts aligned line by line, with a little of what is equal around each change.
pub fn align(expected: &str, got: &str) -> Vec<DiffLine> {
    let diff = TextDiff::from_lines(expected, got);
    let mut lines = Vec::new();
    for (i, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if i > 0 {
            lines.push(DiffLine { side: Side::Gap, old: None, new: None, parts: Vec::new() });
        }
        for op in group {
            let from = lines.len();
            for change in diff.iter_inline_changes_deadline(op, None) {
                let side = match change.tag() {
                    ChangeTag::Equal => Side::Both,
                    ChangeTag::Delete => Side::Expected,
                    ChangeTag::Insert => Side::Got,
                };
                let parts = change
                    .iter_strings_lossy()
                    .map(|(changed, text)| (changed, text.trim_end_matches('\n').to_owned()));
                lines.push(DiffLine {
                    side,
                    old: change.old_index().map(|i| i + 1),
                    new: change.new_index().map(|i| i + 1),
                    parts: shorten(parts.filter(|(_, text)| !text.is_empty()).collect()),
                });
            }
            pair(&mut lines[from..]);
        }
    }
    lines
}

/// Puts each line that came under the one it came for.
fn pair(replaced: &mut [DiffLine]) {
    let (mut expected, mut got) = (0, 0);
    replaced.sort_by_cached_key(|line| {
        let count = if line.side == Side::Got { &mut got } else { &mut expected };
        *count += 1;
        (*count, line.side == Side::Got)
    });
}

/// Cuts what is unchanged and far from a change.
fn shorten(parts: Vec<(bool, String)>) -> Vec<(bool, String)> {
    let last = parts.len().saturating_sub(1);
    let cut = |i: usize, text: String| {
        let chars: Vec<char> = text.chars().collect();
        let (head, tail) =
            (if i == 0 { AROUND } else { AROUND / 2 }, if i == last { 0 } else { AROUND / 2 });
        if chars.len() <= head + tail + AROUND {
            return text;
        }
        let head: String = chars[..head + if i == last { AROUND } else { 0 }].iter().collect();
        let tail: String = chars[chars.len() - tail..].iter().collect();
        format!("{head}…{tail}")
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

    const ONE: &str =
        r#"{"at":0,"lane":"telegram","kind":"sendMessage","data":{"message_id":1,"text":"Hello"}}"#;
    const TWO: &str = r#"{"at":900,"lane":"telegram","kind":"editMessageText","data":{"message_id":1,"text":"Hello you"}}"#;

    fn check(expected: &[&str], got: &[&str], sentence: Option<&str>) {
        let text =
            |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(first_divergence(&text(expected), &text(got)).as_deref(), sentence);
    }

    #[test]
    fn the_first_divergence_is_one_sentence() {
        check(&[ONE, TWO], &[ONE, TWO], None);
        check(
            &[ONE, TWO],
            &[ONE, &TWO.replace("you", "you!")],
            Some(
                r#"entry 2: editMessageText (at 900 ms): `text` should be "Hello you", it is "Hello you!""#,
            ),
        );
        check(
            &[ONE, TWO],
            &[ONE, &TWO.replace("900", "950")],
            Some(
                "entry 2: expected at 900 ms, it came at 950 ms: editMessageText #1 \"Hello you\"",
            ),
        );
        check(
            &[ONE, TWO],
            &[ONE, &ONE.replace(":0", ":900")],
            Some(concat!(
                "entry 2: expected editMessageText #1 \"Hello you\" (at 900 ms), ",
                "got sendMessage #1 \"Hello\" (at 900 ms)"
            )),
        );
        check(
            &[ONE],
            &[ONE, TWO],
            Some(
                "entry 2: editMessageText #1 \"Hello you\" (at 900 ms) came, where nothing more is expected",
            ),
        );
        check(
            &[ONE, TWO],
            &[ONE],
            Some(
                "entry 2: expected editMessageText #1 \"Hello you\" (at 900 ms), but nothing more came",
            ),
        );
        check(
            &[ONE],
            &[&ONE.replace(r#""message_id":1,"#, "")],
            Some("entry 1: sendMessage: `message_id` should be 1, it is absent"),
        );
        check(
            &["x"],
            &[ONE],
            Some(concat!(
                "entry 1: expected \"x\", which is no trace entry, ",
                "got sendMessage #1 \"Hello\""
            )),
        );
    }

    fn check_diff(expected: &str, got: &str, lines: &[&str]) {
        let shown: Vec<String> = align(expected, got)
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
        let lines = ["-1 [a]", "+1 [b]", "-2 [a]", "+2 [b]", "+[3 b]", " z"];
        check_diff(expected, got, &lines);
    }
}
