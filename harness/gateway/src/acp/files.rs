//! The virtual file table: what the stream alone says of files, and the diffs it makes of edits
//! ([A2](crate::rules::A2)).
//!
//! A whole Read, a Write and an Edit that went well say what a file contains. The CLI refuses to
//! write a file that has changed since it was read, so what the table knows is what a change
//! that went well was made to. The disk is never asked: what the stream did not say is unknown.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::update::CallContent;

/// The mark of the sanitiser where it cut a long text: such a text is not the whole file.
const CUT_MARK: &str = "…(truncated)…";
/// The most lines that a Read without a range gives.
const READ_LINES: usize = 2_000;

#[allow(clippy::expect_used, reason = "a test uses the pattern")]
static REMINDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)\s*<system-reminder>.*?</system-reminder>\s*")
        .expect("the built-in pattern is valid; a test uses it")
});

/// The known contents of files, by the path the tools name.
#[derive(Debug, Default)]
pub(crate) struct FileTable {
    known: HashMap<String, String>,
}

/// The change of a file by a call.
enum FileChange<'a> {
    /// Writes all of it.
    Write { path: &'a str, text: &'a str },
    /// Replaces parts of it.
    Edit { path: &'a str, edits: Vec<Replacement<'a>> },
}

/// One replacement.
struct Replacement<'a> {
    old: &'a str,
    new: &'a str,
    all: bool,
}

impl<'a> FileChange<'a> {
    /// The change a call makes; none while its arguments do not say enough.
    fn of(name: &str, input: &'a Map<String, Value>) -> Option<Self> {
        let path = str_of(input, "file_path")?;
        match name {
            "Write" => Some(Self::Write { path, text: str_of(input, "content")? }),
            "Edit" => Some(Self::Edit { path, edits: vec![Replacement::of(input)?] }),
            "MultiEdit" => {
                let edits = input.get("edits")?.as_array()?.iter();
                let edits: Option<_> =
                    edits.map(|edit| Replacement::of(edit.as_object()?)).collect();
                Some(Self::Edit { path, edits: edits? })
            }
            _ => None,
        }
    }
}

impl<'a> Replacement<'a> {
    fn of(input: &'a Map<String, Value>) -> Option<Self> {
        Some(Self {
            old: str_of(input, "old_string")?,
            new: str_of(input, "new_string")?,
            all: input.get("replace_all").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// `text` after the edit; none if it does not fit, so that `text` is not what the file contains.
    /// Where all of a line is taken out the CLI takes its line feed too.
    fn apply(&self, text: &str) -> Option<String> {
        let line = format!("{}\n", self.old);
        let is_line =
            self.new.is_empty() && !self.old.ends_with('\n') && text.contains(line.as_str());
        match (if is_line { line.as_str() } else { self.old }, self.all) {
            _ if self.old.is_empty() => text.is_empty().then(|| self.new.to_owned()),
            (old, _) if !text.contains(old) => None,
            (old, true) => Some(text.replace(old, self.new)),
            (old, false) => Some(text.replacen(old, self.new, 1)),
        }
    }

    /// The replaced text, if it replaces any.
    fn old_text(&self) -> Option<String> {
        Some(self.old).filter(|old| !old.is_empty()).map(str::to_owned)
    }
}

/// `text` after all of `edits`.
fn applied(edits: &[Replacement<'_>], text: &str) -> Option<String> {
    edits.iter().try_fold(text.to_owned(), |text, edit| edit.apply(&text))
}

impl FileTable {
    /// Returns the changes of a call as diffs: of the whole file where the table knows it, else of
    /// the replaced parts. Empty while the arguments do not say enough.
    pub(crate) fn diffs(&self, name: &str, input: &Map<String, Value>) -> Vec<CallContent> {
        let diff = |path: &str, old_text, new_text| CallContent::Diff {
            path: path.to_owned(),
            old_text,
            new_text,
        };
        match FileChange::of(name, input) {
            None => Vec::new(),
            Some(FileChange::Write { path, text }) => {
                vec![diff(path, self.known.get(path).cloned(), text.to_owned())]
            }
            Some(FileChange::Edit { path, edits }) => {
                let known = self.known.get(path).map(String::as_str);
                let whole = known.and_then(|text| Some((text, applied(&edits, text)?)));
                match whole {
                    Some((old, new)) => vec![diff(path, Some(old.to_owned()), new)],
                    None => edits
                        .iter()
                        .map(|edit| diff(path, edit.old_text(), edit.new.to_owned()))
                        .collect(),
                }
            }
        }
    }

    /// Records what a successful call says of a file.
    pub(crate) fn record(&mut self, name: &str, input: &Map<String, Value>, result: &str) {
        let (path, text) = if name == "Read" {
            let is_part = ["offset", "limit", "pages"].iter().any(|key| input.contains_key(*key));
            let Some(path) = str_of(input, "file_path").filter(|_| !is_part) else { return };
            (path, listed(result))
        } else {
            match FileChange::of(name, input) {
                None => return,
                Some(FileChange::Write { path, text }) => (path, Some(text.to_owned())),
                Some(FileChange::Edit { path, edits }) => {
                    let before = self.known.get(path).map_or("", String::as_str);
                    (path, applied(&edits, before))
                }
            }
        };
        match text.filter(|text| !text.ends_with(CUT_MARK)) {
            Some(text) => self.known.insert(path.to_owned(), text),
            None => self.known.remove(path),
        };
    }
}

/// The text that a Read lists with its line numbers; `None` for a partial listing.
fn listed(result: &str) -> Option<String> {
    let text = without_reminders(result);
    let (text, end) = match text.strip_suffix('\n') {
        Some(text) => (text, "\n"),
        None => (text.as_str(), ""),
    };
    let mut lines = Vec::new();
    for (number, line) in (1_usize..).zip(text.split('\n')) {
        let digits = line.trim_start_matches(' ');
        let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        let counted = &digits[..digits.len() - rest.len()];
        if counted.parse() != Ok(number) {
            return None;
        }
        lines.push(rest.strip_prefix(['\t', '→'])?);
    }
    (lines.len() < READ_LINES).then(|| lines.join("\n") + end)
}

/// `text` without what the CLI whispers to the model in it.
pub(super) fn without_reminders(text: &str) -> String {
    REMINDER.replace_all(text, "").into_owned()
}

/// The string under `key`.
pub(super) fn str_of<'a>(input: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    input.get(key)?.as_str()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "`json!` borrows what a test hands over")]

    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    /// Calls that went well, as `(tool, input, result)`; then the diffs of the last call.
    fn check(before: &[(&str, Value, &str)], call: (&str, Value), expect: &Value) {
        let mut files = FileTable::default();
        for (name, input, result) in before {
            files.record(name, &object(input), result);
        }
        let diffs = files.diffs(call.0, &object(&call.1));
        let got: Vec<_> = diffs
            .into_iter()
            .map(|diff| match diff {
                CallContent::Diff { old_text, new_text, .. } => json!([old_text, new_text]),
                other => panic!("no diff: {other:?}"),
            })
            .collect();
        assert_eq!(json!(got), *expect, "{before:?} {call:?}");
    }

    fn write(text: &str) -> (&'static str, Value) {
        ("Write", json!({"file_path": "/f", "content": text}))
    }

    fn edit(old: &str, new: &str) -> (&'static str, Value) {
        ("Edit", json!({"file_path": "/f", "old_string": old, "new_string": new}))
    }

    fn done(call: (&'static str, Value)) -> (&'static str, Value, &'static str) {
        (call.0, call.1, "ok")
    }

    fn read(result: &str) -> (&'static str, Value, &str) {
        ("Read", json!({"file_path": "/f"}), result)
    }

    #[test]
    fn a2_what_a_read_lists_is_the_old_text() {
        for (listing, old) in [
            ("1\ta\n2\tb\n3\t", json!("a\nb\n")),
            ("1\ta\n2\tb", json!("a\nb")),
            ("     1→a\n     2→\n     3→c\n", json!("a\n\nc\n")),
            (
                "     1→a\n     2→\n\n<system-reminder>\nbe\nnice\n</system-reminder>\n",
                json!("a\n"),
            ),
            ("File is empty", json!(null)),
            ("5\ta\n6\tb", json!(null)),
            ("1\ta\n2\tb\n…(truncated)…", json!(null)),
        ] {
            check(&[read(listing)], write("n"), &json!([[old, "n"]]));
        }
        let long: Vec<_> = (1..=READ_LINES).map(|n| format!("{n}\tx")).collect();
        check(&[read(&long.join("\n"))], write("n"), &json!([[null, "n"]]));
        let part = ("Read", json!({"file_path": "/f", "limit": 2}), "1\ta\n2\tb");
        check(&[part], write("n"), &json!([[null, "n"]]));
    }

    #[test]
    pub(crate) fn a2_an_edit_of_a_known_file_shows_all_of_it() {
        check(
            &[read("1\tone\n2\ttwo\n")],
            edit("two", "TWO"),
            &json!([["one\ntwo\n", "one\nTWO\n"]]),
        );
        check(&[done(write("a a"))], edit("a", "b"), &json!([["a a", "b a"]]));
        let all = (
            "Edit",
            json!({"file_path": "/f", "old_string": "a", "new_string": "b", "replace_all": true}),
        );
        check(&[done(write("a a"))], all, &json!([["a a", "b b"]]));
        check(&[done(write("a")), done(edit("a", "b"))], edit("b", "c"), &json!([["b", "c"]]));
        check(&[done(write("a\nb\n"))], edit("a", ""), &json!([["a\nb\n", "b\n"]]));
        let two = json!({"file_path": "/f", "edits": [
            {"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"},
        ]});
        check(&[done(write("a"))], ("MultiEdit", two.clone()), &json!([["a", "c"]]));
        check(&[], ("MultiEdit", two), &json!([["a", "b"], ["b", "c"]]));
    }

    #[test]
    pub(crate) fn a2_what_is_not_known_is_null_or_the_replaced_part() {
        check(&[], write("n"), &json!([[null, "n"]]));
        check(&[], edit("a", "b"), &json!([["a", "b"]]));
        check(&[], edit("", "b"), &json!([[null, "b"]]));
        // An edit that went well though it does not fit: the table was wrong.
        check(&[done(write("a")), done(edit("x", "y"))], write("n"), &json!([[null, "n"]]));
        // An edit that makes a file has its whole text.
        check(&[done(edit("", "b"))], write("n"), &json!([["b", "n"]]));
        check(&[], ("Edit", json!({"file_path": "/f", "old_string": "a"})), &json!([]));
    }

    #[test]
    fn a2_a_text_the_sanitiser_cut_is_no_file() {
        let args = json!({"file_path": "/f", "content": "x".repeat(9_000)});
        let cut = crate::sanitise::sanitise_args(&args);
        assert!(cut["content"].as_str().unwrap().ends_with(CUT_MARK));
        check(&[("Write", cut, "ok")], write("n"), &json!([[null, "n"]]));
    }
}
