//! A lenient JSON reader: fields by name, strings with lone surrogates, any nesting.
//!
//! The CLI prints halves of surrogate pairs as `\ud83d` escapes. That is well-formed JSON, but
//! `String` and `Value` refuse it. Here one validating pass slices a record into raw fields; only
//! the fields that are needed are parsed further, by functions that cannot fail on validated JSON.

mod cursor;
mod object;
mod text;

use std::borrow::Cow;

pub use cursor::{Expected, Malformed};
pub(crate) use cursor::{JsonCursor, JsonField, JsonKey, JsonResult, RawJson};
pub(crate) use object::{ReadJson, json_object};
pub(crate) use text::{SurrogateCarry, stable_prefix, string_end, unescape};

/// Reads a text that consists of one value.
pub(crate) fn whole(json: &str) -> JsonResult<RawJson<'_>> {
    let mut scan = JsonCursor::new(json);
    let raw = scan.value()?;
    scan.end()?;
    Ok(raw)
}

/// Returns whether two JSON texts are equal except for blanks between tokens.
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    a == b || tokens(a).eq(tokens(b))
}

/// The bytes of a JSON text without the blanks between tokens.
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

/// Slices the named fields out of a text that is one JSON object. The last of equal keys counts,
/// and `null` counts as absent.
pub(crate) fn fields<'a, const N: usize>(
    json: &'a str,
    names: &[&str; N],
) -> JsonResult<[JsonField<'a>; N]> {
    let mut found = [None; N];
    members(json, &mut |key, scan| {
        let Some(at) = names.iter().position(|name| key == *name) else { return scan.skip() };
        found[at] = scan.field()?;
        Ok(())
    })?;
    Ok(found)
}

/// Slices the named fields out of a text; all are absent if the text is not one JSON object.
pub(crate) fn pick<'a, const N: usize>(json: &'a str, names: &[&str; N]) -> [JsonField<'a>; N] {
    fields(json, names).unwrap_or([None; N])
}

/// Visits the members of a text that is one JSON object.
#[inline(always)]
pub(crate) fn members<'a>(
    json: &'a str,
    member: &mut impl FnMut(JsonKey<'_>, &mut JsonCursor<'a>) -> JsonResult<()>,
) -> JsonResult<()> {
    let mut scan = JsonCursor::new(json);
    let whole = scan.object(member)?;
    scan.end()?;
    if whole.get().starts_with('{') { Ok(()) } else { Err(Malformed::at(0, Expected::Object)) }
}

/// Slices the fields of a nested object; all are absent if the field is not an object.
pub(crate) fn inner<'a, const N: usize>(
    field: JsonField<'a>,
    names: &[&str; N],
) -> [JsonField<'a>; N] {
    field.map_or([None; N], |raw| pick(raw.get(), names))
}

/// Returns the members of a text that is one JSON object, or `None` if it is not.
pub(crate) fn entries(json: &str) -> Option<Vec<(String, &str)>> {
    let mut list = Vec::new();
    let read = members(json, &mut |key, scan| {
        list.push((key.get().to_owned(), scan.value()?.get()));
        Ok(())
    });
    read.ok().map(|()| list)
}

/// Returns the elements of a text that is one JSON array, or `None` if it is not.
pub(crate) fn elements(json: &str) -> Option<Vec<RawJson<'_>>> {
    let mut list = Vec::new();
    let mut scan = JsonCursor::new(json);
    let whole = scan.array(&mut |scan| {
        list.push(scan.value()?);
        Ok(())
    });
    let whole = whole.and_then(|raw| scan.end().map(|()| raw)).ok()?;
    whole.get().starts_with('[').then_some(list)
}

/// Returns the strings of an array that are not blank, trimmed; none if the field is not an array.
pub(crate) fn strings(field: JsonField<'_>) -> Vec<String> {
    let elements = field.and_then(|raw| elements(raw.get())).unwrap_or_default();
    let texts = elements.into_iter().filter_map(|raw| trimmed(Some(raw)));
    texts.map(Cow::into_owned).collect()
}

/// Returns the text of a string field. A lone surrogate becomes U+FFFD.
pub(crate) fn string<'a>(field: JsonField<'a>) -> Option<Cow<'a, str>> {
    let raw = field?;
    if raw.plain {
        return Some(Cow::Borrowed(quoted(raw.text)));
    }
    escaped(field).map(unescape)
}

/// Returns the trimmed text of a string field, or `None` if it is empty.
pub(crate) fn trimmed<'a>(field: JsonField<'a>) -> Option<Cow<'a, str>> {
    let trimmed = match string(field)? {
        Cow::Borrowed(text) if is_trim(text) => Cow::Borrowed(text),
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    };
    (!trimmed.is_empty()).then_some(trimmed)
}

/// Returns whether a text begins and ends with a visible ASCII character, so that it needs no
/// trimming.
fn is_trim(text: &str) -> bool {
    let ends = [text.as_bytes().first(), text.as_bytes().last()];
    ends.iter().all(|byte| byte.is_some_and(u8::is_ascii_graphic))
}

/// Returns the inside of a string field with its escapes.
pub(crate) fn escaped(field: JsonField<'_>) -> Option<&str> {
    let raw = field?.get();
    raw.starts_with('"').then(|| quoted(raw))
}

/// Returns a whole number; 0 if the field is absent, negative or something else.
pub(crate) fn count(field: JsonField<'_>) -> u64 {
    field.and_then(|raw| raw.get().parse().ok()).unwrap_or(0)
}

/// Returns whether a field is exactly `true`.
pub(crate) fn is_true(field: JsonField<'_>) -> bool {
    field.is_some_and(|raw| raw.get() == "true")
}

/// Returns the inside of a string literal.
pub(crate) fn quoted(literal: &str) -> &str {
    &literal[1..literal.len() - 1]
}

#[cfg(test)]
pub(crate) mod tests;
