//! A text with JSON's escapes undone, and where each of its bytes came from.

use std::ops::Range;

/// A text made from a stretch of bytes.
#[derive(Debug)]
pub(super) struct Decoded {
    /// The text.
    pub(super) text: String,
    /// For each byte of the text, where the bytes that gave its character begin in the source; and, last,
    /// the length of the source. `None` when the text is the source.
    starts: Option<Vec<usize>>,
}

impl Decoded {
    /// The text of `bytes` as they are; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn plain(bytes: &[u8]) -> Self {
        if let Ok(text) = str::from_utf8(bytes) {
            return Self { text: text.to_owned(), starts: None };
        }
        let (mut text, mut starts, mut at) = (String::new(), Vec::new(), 0);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            starts.extend(at..at + chunk.valid().len());
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                starts.extend([at; char::REPLACEMENT_CHARACTER.len_utf8()]);
                at += chunk.invalid().len();
            }
        }
        starts.push(at);
        Self { text, starts: Some(starts) }
    }

    /// The same text with one level of JSON's escapes undone; `None` when there are none.
    ///
    /// The text may be a whole JSON value or what is between the quotes of one: a backslash can only be
    /// part of a string. A backslash that begins no escape stays.
    pub(super) fn unescaped(&self) -> Option<Self> {
        if !self.text.contains('\\') {
            return None;
        }
        let (mut text, mut starts) = (String::with_capacity(self.text.len()), Vec::new());
        let mut rest = &*self.text;
        while let Some(first) = rest.chars().next() {
            let at = self.text.len() - rest.len();
            let (c, length) = escape(rest).unwrap_or((first, first.len_utf8()));
            text.push(c);
            starts.resize(text.len(), self.source(at));
            rest = &rest[length..];
        }
        starts.push(self.source(self.text.len()));
        Some(Self { text, starts: Some(starts) })
    }

    /// Where a stretch of the text is in the source.
    pub(super) fn source_of(&self, span: &Range<usize>) -> Range<usize> {
        self.source(span.start)..self.source(span.end)
    }

    fn source(&self, at: usize) -> usize {
        self.starts.as_ref().map_or(at, |starts| starts[at])
    }
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
        let decoded = plain.unescaped().unwrap_or(plain);
        assert_eq!(decoded.text, expect);
        let at = decoded.text.find(of).unwrap();
        let span = decoded.source_of(&(at..at + of.len()));
        assert_eq!(String::from_utf8_lossy(&source[span]), from);
    }

    #[test]
    fn issue_13_finding_8_escapes_are_undone_and_places_stay_known() {
        check(b"plain", "plain", "lai", "lai");
        check(br#"a\n\"b\" c"#, "a\n\"b\" c", "b", "b");
        check(br"x\u0041\u00e9y", "xA\u{e9}y", "A\u{e9}", r"\u0041\u00e9");
        check(br"\ud83d\udd11!", "\u{1f511}!", "\u{1f511}", r"\ud83d\udd11");
        check(br"\ud83d!", "\u{fffd}!", "!", "!");
        check(br"C:\x \u12", r"C:\x \u12", r"\x", r"\x");
        check(b"a\xffb", "a\u{fffd}b", "b", "b");
        check("é\\tz".as_bytes(), "é\tz", "é\tz", "é\\tz");
    }
}
