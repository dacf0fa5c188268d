//! Reads TOML that a person writes, and describes a mistake in the words of TOML, with its line; changes a value in it.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use toml_edit::Value;

use crate::text::{did_you_mean, near};

/// The words of serde's messages that name types of Rust, and their replacements for people. The longer ones come
/// first.
const TYPES: [(&str, &str); 14] = [
    ("internally tagged enum ", "a table"),
    ("adjacently tagged enum ", "a table"),
    ("untagged enum ", "a value"),
    ("tuple struct ", "an array"),
    ("struct ", "a table"),
    ("enum ", "one of the words for it"),
    ("newtype ", "a value"),
    ("a sequence", "an array"),
    ("sequence", "an array"),
    ("a map", "a table"),
    ("map", "a table"),
    ("string or table", "a string or a table"),
    ("a borrowed string", "a string"),
    ("unit", "nothing"),
];

/// The types of numbers in serde's messages.
const NUMBERS: [&str; 10] =
    ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];

/// A mistake in TOML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TomlMistake {
    /// The number of the line, from 1.
    pub line: usize,
    /// The mistake in words.
    pub what: String,
}

/// Reads TOML.
///
/// # Errors
///
/// [`TomlMistake`] if the text is not TOML, or has other keys or values than `T`.
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlMistake> {
    toml::from_str(text).map_err(|error: toml::de::Error| TomlMistake {
        line: line_of::<T>(text, &error),
        what: in_words(&error.message().trim().replace('\n', ", ")),
    })
}

/// Returns the line of an error, from 1.
///
/// For a mistake in one of several tables of a list, such as the second `[[channel]]`, the parser may report the place
/// of the first one. The table with the mistake is the last of the shortest beginning of the file that gives the same
/// error.
fn line_of<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> usize {
    let number = |offset: usize| text[..offset].matches('\n').count() + 1;
    let said = error.span().map_or(1, |span| number(span.start));
    let mut ends: Vec<usize> =
        text.match_indices("\n[").map(|(at, _)| at + 1).chain([text.len()]).collect();
    ends.dedup();
    let is_wrong = |end: &usize| {
        toml::from_str::<T>(&text[..*end]).is_err_and(|other| other.message() == error.message())
    };
    let shortest = ends.partition_point(|end| !is_wrong(end));
    let Some(end) = ends.get(shortest) else { return said };
    let begin = shortest.checked_sub(1).map_or(0, |before| ends[before]);
    let last = number(*end) + usize::from(!text[..*end].ends_with('\n'));
    let first = number(begin);
    if (first + 1..last.max(first + 1)).contains(&said) || begin == 0 {
        return said;
    }
    let word =
        error.message().split('`').nth(1).filter(|_| error.message().starts_with("unknown "));
    let has_word = |line: &str| word.is_some_and(|word| is_key(line, word) || is_value(line, word));
    let lines = text[begin..*end].lines().enumerate();
    lines.skip(1).find(|(_, line)| has_word(line)).map_or(first, |(below, _)| first + below)
}

/// Returns whether a line sets this key.
fn is_key(line: &str, key: &str) -> bool {
    let line = line.trim_start();
    line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// Returns whether a line has this text as a value.
fn is_value(line: &str, value: &str) -> bool {
    line.split_once('=').is_some_and(|(_, rest)| {
        ['"', '\''].iter().any(|mark| rest.contains(&format!("{mark}{value}{mark}")))
    })
}

/// Returns serde's message without names of types of Rust, with the name that a misspelt one may mean.
fn in_words(message: &str) -> String {
    let message = match message.strip_prefix("unknown variant") {
        Some(rest) => format!("unknown value{rest}"),
        None => message.to_owned(),
    };
    if message.starts_with("unknown ") {
        let mut names = message.split('`').skip(1).step_by(2);
        let asked = names.next().unwrap_or_default();
        return format!("{message}{}", did_you_mean(&near(asked, names)));
    }
    let Some((before, expected)) = message.split_once("expected ") else { return message };
    format!("{before}expected {}", without_types(expected))
}

/// Describes the expected value in the words of TOML.
fn without_types(expected: &str) -> Cow<'_, str> {
    if expected.strip_prefix("a nonzero ").is_some_and(|number| NUMBERS.contains(&number)) {
        return "a whole number other than 0".into();
    }
    if NUMBERS.contains(&expected) {
        return "a whole number".into();
    }
    if ["f32", "f64"].contains(&expected) {
        return "a number".into();
    }
    let found = TYPES.iter().find_map(|(rust, word)| Some((expected.strip_prefix(rust)?, *word)));
    match found {
        Some((rest, word)) => {
            // The name of a type is one word; details may follow it.
            let more = rest.split_once(' ').map(|(_, more)| format!(" {more}")).unwrap_or_default();
            format!("{word}{more}").into()
        }
        None => expected.into(),
    }
}

/// Replaces a value of a file, and keeps the blanks and the comment around it.
pub(crate) fn set_value(place: &mut Value, mut value: Value) {
    *value.decor_mut() = place.decor().clone();
    *place = value;
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scenario::Scenario;

    const HEAD: &str = "title = 't'\nabout = 'a'\n[record]\nprompt = 'p'\n";

    /// Reads a `scenario.toml`, and compares the line and the sentence of its mistake.
    fn check(text: &str, expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("scenario");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("scenario.toml"), text).unwrap();
        let error = Scenario::load(&dir).unwrap_err().to_string();
        let (_, said) = error.split_once("scenario.toml:").expect("a line");
        assert_eq!(said, expect, "{text}");
    }

    #[test]
    fn a_mistake_in_any_table_of_a_list_has_its_line() {
        const FIRST: &str = "[[channel]]\nkind = 'telegram'\nmode = 'partial'\n";
        let all = "expected one of `off`, `partial`, `block`, `progress`";
        let keys = "expected one of `mode`, `reasoning`, `profile`";
        for (more, expect) in [
            (
                "[[channel]]\nkind = 'telegram'\nmode = 'partal'\n",
                format!("10: unknown value `partal`, {all}; did you mean `partial`?"),
            ),
            (
                "[[channel]]\nkind = 'telegram'\nmode = 'off'\nresoning = true\n[sweep]\nplans = 1\n",
                format!("11: unknown field `resoning`, {keys}; did you mean `reasoning`?"),
            ),
            ("\n[[channel]]\nkind = 'telegram'\n[sweep]\n", "9: missing field `mode`".to_owned()),
            (
                "[[channel]]\nkind = 'acp'\nterminal = 1\n",
                "8: invalid type: integer `1`, expected a boolean".to_owned(),
            ),
        ] {
            check(&format!("{HEAD}{FIRST}{more}"), &expect);
        }
        check(
            &format!("{HEAD}{FIRST}").replace("'partial'", "'partal'"),
            &format!("7: unknown value `partal`, {all}; did you mean `partial`?"),
        );
    }

    #[test]
    fn no_message_has_a_type_of_rust() {
        for (text, expect) in [
            ("title = 1\n", "1: invalid type: integer `1`, expected a string"),
            (
                "title = 't'\nabout = 'a'\nrecord = 3\n",
                "3: invalid type: integer `3`, expected a table",
            ),
            (
                &*format!("{HEAD}[sweep]\nplans = 'x'\n"),
                "6: invalid type: string \"x\", expected a whole number",
            ),
            (
                &*format!("{HEAD}[sweep]\nplans = -1\n"),
                "6: invalid value: integer `-1`, expected a whole number",
            ),
            (&*format!("tracks = 'x'\n{HEAD}"), "1: invalid type: string \"x\", expected an array"),
            (
                &*format!("{HEAD}[run]\npace_ms = 1.5\n"),
                "6: invalid type: floating point `1.5`, expected a whole number",
            ),
            (
                &*format!("channel = 'x'\n{HEAD}"),
                "1: invalid type: string \"x\", expected an array",
            ),
            (
                &*format!("channel = ['x']\n{HEAD}"),
                "1: invalid type: string \"x\", expected a table",
            ),
            (
                &*format!("{HEAD}[swep]\n"),
                "5: unknown field `swep`, expected one of `title`, \
              `about`, `tracks`, `record`, `run`, `session`, `channel`, `chat`, `variant`, `sweep`, \
              `plan`, `proof`; did you mean `sweep`?",
            ),
        ] {
            check(text, expect);
        }
        assert_eq!(without_types("struct Name with 2 elements"), "a table with 2 elements");
    }
}
