//! `{{lines:N}}` in the texts and inputs of `model.toml`: N numbered lines, so that a long text
//! is one word in the file.

use std::cell::Cell;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::limits::MODEL_LINES;

/// A text, and the places of its cuts if the file lists them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a string, or a list of strings that are one delta each")]
pub enum Pieces {
    /// To be cut by a [`DeltaCut`](super::DeltaCut).
    Whole(String),
    /// Cut as listed; a `{{…}}` must not go over two pieces.
    Listed(Vec<String>),
}

impl Pieces {
    /// The whole text.
    pub fn joined(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Listed(pieces) => pieces.concat(),
        }
    }
}

thread_local! {
    /// How many lines the file that is being read may still ask for. The conversions that write them
    /// out are called by serde, which has no place for a count.
    static LEFT: Cell<FillLines> = const { Cell::new(FillLines { left: MODEL_LINES, most: MODEL_LINES }) };
}

/// The lines that a file may ask for.
#[derive(Debug, Clone, Copy)]
struct FillLines {
    left: usize,
    most: usize,
}

/// Reads one file, whose texts may ask for `most` lines.
pub(super) fn limited<T>(most: usize, read: impl FnOnce() -> T) -> T {
    LEFT.set(FillLines { left: most, most });
    read()
}

const OPEN: &str = "{{lines:";
const CLOSE: &str = "}}";

/// The line of this number; quotes and `é`, because what is long should be escaped and more than
/// one byte a character now and then.
fn line(number: usize) -> String {
    format!("{number:05} A \"line\" of a long text, all of the same length, même ici.\n")
}

/// The text with every `{{lines:N}}` in it written out.
pub(super) fn text(text: &str) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let number = after.split_once(CLOSE).and_then(|(n, after)| Some((n.parse().ok()?, after)));
        let Some((lines, after)) = number else {
            return Err(
                "`{{lines:…}}` says how many lines; write a number, as in `{{lines:500}}`".into()
            );
        };
        let FillLines { left, most } = LEFT.get();
        let left = left.checked_sub(lines).ok_or_else(|| {
            format!(
                "the `{{{{lines:…}}}}` of a file may ask for {most} lines in all, and \
                 `{{{{lines:{lines}}}}}` is past that; write a smaller number, or raise the limit with \
                 `--max-model-lines`"
            )
        })?;
        LEFT.set(FillLines { left, most });
        filled.push_str(before);
        filled.extend((1..=lines).map(line));
        rest = after;
    }
    Ok(filled + rest)
}

/// The pieces with every `{{lines:N}}` in them written out.
pub(super) fn pieces(pieces: Pieces) -> Result<Pieces, String> {
    match pieces {
        Pieces::Whole(whole) => Ok(Pieces::Whole(text(&whole)?)),
        Pieces::Listed(list) => {
            Ok(Pieces::Listed(list.iter().map(|piece| text(piece)).collect::<Result<_, _>>()?))
        }
    }
}

/// The table with every `{{lines:N}}` in its texts written out.
pub(super) fn table(table: Map<String, Value>) -> Result<Map<String, Value>, String> {
    table.into_iter().map(|(key, value)| Ok((key, self::value(value)?))).collect()
}

fn value(value: Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(string) => Value::String(text(&string)?),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(self::value).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => Value::Object(table(members)?),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_out_wherever_a_text_stands() {
        let two = line(1) + &line(2);
        assert_eq!(two.lines().count(), 2);
        assert_eq!(line(1).chars().count(), 65);
        for (from, expect) in [
            ("", String::new()),
            ("{{project}}", "{{project}}".to_owned()),
            ("a {{lines:2}}b{{lines:0}}", format!("a {two}b")),
        ] {
            assert_eq!(text(from).unwrap(), expect, "{from}");
            assert_eq!(pieces(Pieces::Listed(vec![from.into()])).unwrap().joined(), expect);
            let deep = serde_json::json!({"a": [{"b": from}, 1]});
            let expect = serde_json::json!({"a": [{"b": expect}, 1]});
            assert_eq!(value(deep).unwrap(), expect);
        }
    }

    #[test]
    fn the_lines_of_a_file_have_a_limit() {
        let two = format!("{{{{lines:{}}}}} {{{{lines:2}}}}", MODEL_LINES - 2);
        let filled = limited(MODEL_LINES, || text(&two)).unwrap();
        assert_eq!(filled.lines().count(), MODEL_LINES);
        for more in [&format!("{two}{{{{lines:1}}}}"), "{{lines:18446744073709551615}}"] {
            let error = limited(MODEL_LINES, || text(more)).unwrap_err();
            assert!(error.contains("may ask for 100000 lines in all"), "{error}");
        }
        let error = limited(5, || text("{{lines:2}}{{lines:4}}")).unwrap_err();
        assert!(error.contains("5 lines in all, and `{{lines:4}}` is past that"), "{error}");
        assert!(error.ends_with("raise the limit with `--max-model-lines`"), "{error}");
        assert!(limited(MODEL_LINES, || text(&two)).is_ok(), "the next file has all of them again");
    }

    #[test]
    fn a_number_is_asked_for() {
        let expect = "`{{lines:…}}` says how many lines; write a number, as in `{{lines:500}}`";
        for wrong in ["{{lines:}}", "{{lines:x}}", "{{lines:5"] {
            assert_eq!(text(wrong).unwrap_err(), expect, "{wrong}");
        }
    }
}
