//! Cuts texts of other programs before they are stored as notes, so that a long text takes little memory.

use serde_json::{Map, Value};

/// The most bytes of a word, such as the name of a method or of a host.
pub(super) const WORD: usize = 64;
/// The most bytes of a line of the log, and of the words of an error.
pub(super) const LINE: usize = 1_000;
/// The most bytes of a parameter in the entry of a refused call.
const PARAMETER: usize = 4 << 10;
/// The most bytes of the text in the entry of a refused call. It is longer, because the judge looks for its words in
/// later messages.
const REFUSED_TEXT: usize = 64 << 10;

/// Returns the longest prefix of a text that has at most `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Returns a parameter cut to [`PARAMETER`] bytes.
pub(super) fn noted(value: &Value) -> Value {
    start(value, &mut { PARAMETER })
}

/// Cuts the data in the entry of a refused call.
pub(super) fn shorten(data: &mut Map<String, Value>) {
    for (name, value) in data {
        *value = start(value, &mut if name == "text" { REFUSED_TEXT } else { PARAMETER });
    }
}

/// Returns a value of the same kind, cut to the texts, elements and members that fit into `room` bytes.
fn start(value: &Value, room: &mut usize) -> Value {
    match value {
        Value::String(text) => {
            let text = cut(text, *room);
            *room -= text.len();
            text.into()
        }
        Value::Array(values) => {
            let fitting = values
                .iter()
                .map_while(|value| take(room, size_of::<Value>()).then(|| start(value, room)));
            fitting.collect()
        }
        Value::Object(map) => {
            let fitting = map.iter().map_while(|(name, value)| {
                take(room, size_of::<Value>() + name.len())
                    .then(|| (name.clone(), start(value, room)))
            });
            fitting.collect()
        }
        value => value.clone(),
    }
}

/// Subtracts bytes from the room that is left, and returns whether they fit.
fn take(room: &mut usize, bytes: usize) -> bool {
    let rest = room.checked_sub(bytes);
    *room = rest.unwrap_or(0);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, most, expect) in
            [("abc", 2, "ab"), ("abc", 3, "abc"), ("aé", 2, "a"), ("é", 1, ""), ("", 5, "")]
        {
            assert_eq!(cut(text, most), expect, "{text} {most}");
        }
    }

    #[test]
    fn what_is_noted_of_a_refused_call_is_short() {
        let long = "x".repeat(100_000);
        let mut data = Map::new();
        for (name, value) in [
            ("text", json!(long)),
            ("action", json!(long)),
            ("reaction", json!([long, long])),
            ("message_id", json!(7)),
            ("parse_mode", json!("HTML")),
        ] {
            data.insert(name.to_owned(), value);
        }
        shorten(&mut data);
        let length = |name: &str| data[name].as_str().map(str::len);
        assert_eq!((length("text"), length("action")), (Some(REFUSED_TEXT), Some(PARAMETER)));
        assert!(data["reaction"].is_array() && data["reaction"].to_string().len() <= PARAMETER);
        assert_eq!((&data["message_id"], &data["parse_mode"]), (&json!(7), &json!("HTML")));
        let short = json!({ "a": [1, { "b": "c" }], "d": null });
        assert_eq!(noted(&short), short);
        for long in [
            json!([vec![0; 99], vec![0; 9_999]]),
            json!({ long: 1 }),
            json!(vec![json!({}); 9_999]),
        ] {
            assert!(noted(&long).to_string().len() <= PARAMETER);
        }
    }
}
