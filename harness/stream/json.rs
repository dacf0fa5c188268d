//! Reading JSON leniently: fields picked by name, strings with lone surrogates, any nesting.
//!
//! The CLI prints halves of surrogate pairs as `\ud83d` escapes, which is well-formed JSON that
//! `String` and `Value` refuse. Here one validating pass slices a record into raw fields, and only
//! what is needed is read further, by a reader that never fails on JSON that was validated.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value that was validated.
pub(crate) type Raw<'a> = &'a RawValue;
/// A field that was found and is not `null`.
pub(crate) type Field<'a> = Option<Raw<'a>>;

/// Slices the named fields out of one JSON object; of equal keys the last wins, `null` is absent.
pub(crate) fn fields<'a, const N: usize>(
    json: &'a str,
    names: &[&str; N],
) -> Result<[Field<'a>; N], serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let found = Pick(names).deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

/// The fields of a field that should hold an object; all absent when it holds something else.
pub(crate) fn inner<'a, const N: usize>(
    field: Option<&'a RawValue>,
    names: &[&str; N],
) -> [Field<'a>; N] {
    field.and_then(|raw| fields(raw.get(), names).ok()).unwrap_or([None; N])
}

struct Pick<'n, const N: usize>(&'n [&'n str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Pick<'_, N> {
    type Value = [Field<'de>; N];

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Pick<'_, N> {
    type Value = [Field<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(key) = map.next_key::<&RawValue>()? {
            let key = unescape(quoted(key.get()));
            match self.0.iter().position(|name| *name == key) {
                Some(at) => {
                    let raw: &RawValue = map.next_value()?;
                    found[at] = (raw.get() != "null").then_some(raw);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// The one JSON value of a text, or `None` when it is something else.
pub(crate) fn parse(text: &str) -> Option<Raw<'_>> {
    serde_json::from_str(text).ok()
}

/// Whether two JSON texts are the same but for blanks between their tokens.
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    tokens(a).eq(tokens(b))
}

/// The bytes of JSON text without the blanks between its tokens.
fn tokens(text: &str) -> impl Iterator<Item = u8> {
    let (mut quoted, mut escaped) = (false, false);
    text.bytes().filter(move |byte| {
        if escaped {
            escaped = false;
        } else if *byte == b'"' {
            quoted = !quoted;
        } else {
            escaped = quoted && *byte == b'\\';
        }
        quoted || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    })
}

/// The elements of a JSON array, or `None` when the text is not one.
pub(crate) fn elements(json: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json).ok()
}

/// The string a field holds; a surrogate that stands alone becomes U+FFFD.
pub(crate) fn string<'a>(field: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    escaped(field).map(unescape)
}

/// The string a field holds, trimmed; `None` when nothing is left.
pub(crate) fn word<'a>(field: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let trimmed = match string(field)? {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    };
    (!trimmed.is_empty()).then_some(trimmed)
}

/// The inside of a string literal, escapes as they stand.
pub(crate) fn escaped(field: Option<&RawValue>) -> Option<&str> {
    let raw = field?.get();
    raw.starts_with('"').then(|| quoted(raw))
}

/// A count; 0 when the field is absent, negative or not a whole number.
pub(crate) fn count(field: Field<'_>) -> u64 {
    field.and_then(|raw| raw.get().parse().ok()).unwrap_or(0)
}

/// Whether a field holds `true`, and nothing that merely looks like it.
pub(crate) fn is_true(field: Field<'_>) -> bool {
    field.is_some_and(|raw| raw.get() == "true")
}

/// The inside of a string literal.
pub(crate) fn quoted(literal: &str) -> &str {
    literal.get(1..literal.len().saturating_sub(1)).unwrap_or("")
}

/// Undoes the escapes of one whole string.
pub(crate) fn unescape(escaped: &str) -> Cow<'_, str> {
    if !escaped.as_bytes().contains(&b'\\') {
        return Cow::Borrowed(escaped);
    }
    let mut text = String::with_capacity(escaped.len());
    let mut joint = Joint::default();
    joint.append(escaped, &mut text);
    joint.close(&mut text);
    Cow::Owned(text)
}

/// The seam between two pieces of one string: the high half of a pair whose low half is yet to
/// come.
#[derive(Debug, Default)]
pub(crate) struct Joint(Option<u16>);

impl Joint {
    /// Undoes the escapes of the next piece; a pair split over two pieces comes out as one
    /// character, with the second.
    pub(crate) fn append(&mut self, escaped: &str, out: &mut String) {
        let mut rest = escaped;
        while !rest.is_empty() {
            let plain = rest.bytes().position(|b| b == b'\\').unwrap_or(rest.len());
            if plain > 0 {
                self.close(out);
                out.push_str(&rest[..plain]);
                rest = &rest[plain..];
                continue;
            }
            let unit = match rest.as_bytes().get(1) {
                Some(b'u') => rest.get(2..6).and_then(|hex| u16::from_str_radix(hex, 16).ok()),
                Some(letter) => Some(u16::from(control(*letter))),
                None => None,
            };
            let width = if rest.as_bytes().get(1) == Some(&b'u') { 6 } else { 2 };
            self.unit(unit.unwrap_or(0xfffd), out);
            rest = rest.get(width..).unwrap_or("");
        }
    }

    /// A half that is still alone becomes U+FFFD.
    pub(crate) fn close(&mut self, out: &mut String) {
        if self.0.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn unit(&mut self, unit: u16, out: &mut String) {
        if let Some(high) = self.0.take() {
            if let Some(Ok(pair)) = char::decode_utf16([high, unit]).next() {
                out.push(pair);
                return;
            }
            out.push(char::REPLACEMENT_CHARACTER);
        }
        if (0xd800..0xdc00).contains(&unit) {
            self.0 = Some(unit);
        } else {
            out.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
}

fn control(letter: u8) -> u8 {
    match letter {
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_take_the_last_of_equal_keys_and_read_escaped_ones() {
        let json = r#"{"a":1,"\u0062":[{}],"c":null,"a":2,"\ud800":0}"#;
        let found = fields(json, &["a", "b", "c", "d"]).unwrap();
        let printed = found.map(|f| f.map_or("-", RawValue::get));
        assert_eq!(printed, ["2", "[{}]", "-", "-"]);
        assert!(fields("[1]", &["a"]).is_err() && fields("{} x", &["a"]).is_err());
    }

    #[test]
    fn a_pair_split_over_two_pieces_is_one_character() {
        let (mut joint, mut out) = (Joint::default(), String::new());
        for piece in [r"a\ud83d", "", r"\ude00b", r"\ud83d", r"c\n\ud83d"] {
            joint.append(piece, &mut out);
        }
        joint.close(&mut out);
        assert_eq!(out, "a😀b\u{fffd}c\n\u{fffd}");
    }
}
