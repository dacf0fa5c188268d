//! Unescapes the text of JSON strings, including strings that come in pieces.

use std::borrow::Cow;

/// Unescapes a whole string.
pub(crate) fn unescape(escaped: &str) -> Cow<'_, str> {
    if backslash(escaped.as_bytes()).is_none() {
        return Cow::Borrowed(escaped);
    }
    let mut text = String::with_capacity(escaped.len());
    let mut carry = SurrogateCarry::default();
    carry.append(escaped, &mut text);
    carry.close(&mut text);
    Cow::Owned(text)
}

/// Carries the first half of a surrogate pair from one piece of a string to the next.
#[derive(Debug, Default)]
pub(crate) struct SurrogateCarry(Option<u16>);

impl SurrogateCarry {
    /// Unescapes the next piece. A pair that is split over two pieces becomes one character, with
    /// the second piece.
    pub(crate) fn append(&mut self, escaped: &str, out: &mut String) {
        let mut rest = escaped;
        loop {
            let end = backslash(rest.as_bytes()).unwrap_or(rest.len());
            let (plain, escape) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if !plain.is_empty() {
                self.close(out);
                out.push_str(plain);
            }
            let width = match escape.as_bytes() {
                [] => return,
                [_, b'u', ..] => {
                    self.unit(escape.get(2..6).and_then(hex).unwrap_or(0xfffd), out);
                    6
                }
                [_, letter, ..] => {
                    self.close(out);
                    out.push(char::from(control(*letter)));
                    2
                }
                [_] => {
                    self.unit(0xfffd, out);
                    1
                }
            };
            rest = escape.get(width..).unwrap_or_default();
        }
    }

    /// Replaces a half without its partner by U+FFFD.
    #[inline]
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
        if let Ok(ascii @ 0..0x80) = u8::try_from(unit) {
            out.push(char::from(ascii));
        } else if (0xd800..0xdc00).contains(&unit) {
            self.0 = Some(unit);
        } else {
            out.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
}

/// Returns the offset of the first backslash. In a short text a plain search is faster than a call
/// of `memchr`.
fn backslash(text: &[u8]) -> Option<usize> {
    if text.len() < 24 {
        return text.iter().position(|byte| *byte == b'\\');
    }
    memchr::memchr(b'\\', text)
}

fn hex(digits: &str) -> Option<u16> {
    u16::from_str_radix(digits, 16).ok()
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
