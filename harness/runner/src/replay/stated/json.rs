//! Reads a line of stdout as JSON, whatever its strings contain.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

/// The mark that some programs write before UTF-8 text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The record that a line of stdout is; none for a line that is no JSON object.
pub(crate) fn record(line: &[u8]) -> Option<Value> {
    value(line).filter(Value::is_object)
}

/// The records of stdout; a line that is no record is left out.
pub(crate) fn records(stdout: &[u8]) -> impl Iterator<Item = Value> {
    stdout.split(|byte| *byte == b'\n').filter_map(record)
}

/// The value of a line. An escape of half a character, which JSON allows and UTF-8 can't say, becomes U+FFFD.
pub(super) fn value(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    serde_json::from_str(text).ok().or_else(|| {
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        serde_json::from_str(&without_halves(text)).ok()
    })
}

/// The text in which every `\u` escape of half a character is one of U+FFFD.
fn without_halves(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at) = (0, 0);
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        let unit = |at: usize| {
            let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let length = match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&text[from..at]);
                out.push_str("\\ufffd");
                from = at + 6;
                6
            }
            Some(_) => 6,
            None => 2,
        };
        at = (at + length).min(bytes.len());
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_replaced() {
        let check = |line: &str, expect: Option<&str>| {
            let read = value(line.as_bytes()).map(|value| value.as_str().unwrap().to_owned());
            assert_eq!(read.as_deref(), expect, "{line}");
        };
        check(r#""\ud83d\ude00""#, Some("😀"));
        check(r#""a\ud83db""#, Some("a\u{fffd}b"));
        check(r#""\\ud83d \ude00""#, Some("\\ud83d \u{fffd}"));
        check("\u{feff}\"a\"", Some("a"));
        check(r#""a"#, None);
    }
}
