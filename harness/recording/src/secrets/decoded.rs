//! A text with JSON's escapes undone, and where each of its bytes came from.

use std::ops::Range;

/// A text made from a stretch of bytes.
#[derive(Debug)]
pub(super) struct Decoded {
    /// The text.
    pub(super) text: String,
    /// Where the text goes on behind a character that has other bytes than the source: the places in the text and in the
    /// source, in order. The bytes up to the next of them are those of the source.
    resumptions: Vec<(usize, usize)>,
}

impl Decoded {
    /// The text of `bytes` as they are; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn plain(bytes: &[u8]) -> Self {
        if let Ok(text) = str::from_utf8(bytes) {
            return Self { text: text.to_owned(), resumptions: Vec::new() };
        }
        let (mut text, mut resumptions, mut at) = (String::new(), Vec::new(), 0);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                resumptions.push((text.len(), at));
            }
        }
        Self { text, resumptions }
    }

    /// The same text with one level of JSON's escapes undone; `None` when there are none.
    ///
    /// The text may be a whole JSON value or what is between the quotes of one: a backslash can only be
    /// part of a string. A backslash that begins no escape stays.
    pub(super) fn unescaped(&self) -> Option<Self> {
        if !self.text.contains('\\') {
            return None;
        }
        let (mut text, mut resumptions) = (String::with_capacity(self.text.len()), Vec::new());
        let mut own = self.resumptions.iter().peekable();
        let mut at = 0;
        loop {
            let found = next_escape(&self.text[at..]);
            let end = found.map_or(self.text.len(), |(begin, ..)| at + begin);
            while let Some((place, source)) = own.next_if(|(place, _)| *place <= end) {
                resumptions.push((text.len() + place - at, *source));
            }
            text.push_str(&self.text[at..end]);
            let Some((_, c, length)) = found else { break };
            text.push(c);
            at = end + length;
            // Those up to here are in the place of the source.
            while own.next_if(|(place, _)| *place <= at).is_some() {}
            resumptions.push((text.len(), self.source(at)));
        }
        Some(Self { text, resumptions })
    }

    /// Where a stretch of the text, from one character to another, is in the source.
    pub(super) fn source_of(&self, span: &Range<usize>) -> Range<usize> {
        self.source(span.start)..self.source(span.end)
    }

    fn source(&self, at: usize) -> usize {
        let before = self.resumptions.partition_point(|(place, _)| *place <= at);
        let last = before.checked_sub(1).map(|last| self.resumptions[last]);
        last.map_or(at, |(place, source)| source + (at - place))
    }
}

/// The first escape in `text`: its place, its character and its length.
fn next_escape(text: &str) -> Option<(usize, char, usize)> {
    text.match_indices('\\').find_map(|(at, _)| {
        let (c, length) = escape(&text[at..])?;
        Some((at, c, length))
    })
}

/// The character of the escape at the start of `text`, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let kind = *text.strip_prefix('\\')?.as_bytes().first()?;
    let c = match kind {
        b'"' | b'\\' | b'/' => char::from(kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let high = unit(text)?;
            let low = || unit(text.get(6..)?).filter(|low| (0xDC00..0xE000).contains(low));
            return match (high, low) {
                (0xD800..0xDC00, low) => {
                    Some(low().map_or((char::REPLACEMENT_CHARACTER, 6), |low| {
                        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                        (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                    }))
                }
                _ => Some((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)),
            };
        }
        _ => return None,
    };
    Some((c, 2))
}

/// The number of `\uXXXX` at the start of `text`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after one level, and where `of` came from.
    fn check(source: &[u8], expect: &str, of: &str, from: &str) {
        let plain = Decoded::plain(source);
        check_decoded(&plain.unescaped().unwrap_or(plain), source, expect, of, from);
    }

    fn check_decoded(decoded: &Decoded, source: &[u8], expect: &str, of: &str, from: &str) {
        assert_eq!(decoded.text, expect);
        let at = decoded.text.find(of).unwrap();
        let span = decoded.source_of(&(at..at + of.len()));
        assert_eq!(String::from_utf8_lossy(&source[span]), from);
    }

    #[test]
    fn escapes_are_undone_and_places_stay_known() {
        check(b"plain", "plain", "lai", "lai");
        check(br#"a\n\"b\" c"#, "a\n\"b\" c", "b", "b");
        check(br"x\u0041\u00e9y", "xA\u{e9}y", "A\u{e9}", r"\u0041\u00e9");
        check(br"\ud83d\udd11!", "\u{1f511}!", "\u{1f511}", r"\ud83d\udd11");
        check(br"\ud83d!", "\u{fffd}!", "!", "!");
        check(br"C:\x \u12", r"C:\x \u12", r"\x", r"\x");
        check(b"a\xffb", "a\u{fffd}b", "b", "b");
        check("é\\tz".as_bytes(), "é\tz", "é\tz", "é\\tz");
    }

    #[test]
    fn places_stay_known_in_json_in_a_string_of_json() {
        let check_twice = |source: &[u8], expect: &str, of: &str, from: &str| {
            let twice = Decoded::plain(source).unescaped().and_then(|once| once.unescaped());
            check_decoded(&twice.unwrap(), source, expect, of, from);
        };
        check_twice(br#"{\"a\":\"x\\ty\"} z"#, "{\"a\":\"x\ty\"} z", "y", "y");
        check_twice(br#"{\"a\":\"x\\ty\"} z"#, "{\"a\":\"x\ty\"} z", "\t", r"\\t");
        check_twice(br#"\n{\\"b\\n"#, "\n{\"b\n", "{", "{");
        check_twice(b"a\xff\\\\u0041b\\n", "a\u{fffd}Ab\n", "A", r"\\u0041");
        check_twice(b"a\xff\\\\u0041b\\n", "a\u{fffd}Ab\n", "b\n", r"b\n");
    }
}
