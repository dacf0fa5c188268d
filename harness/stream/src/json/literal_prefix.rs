//! Steps of the cursor for text in a known form, without blanks, as the CLI prints it. Only the
//! fast path for stream events uses them.

use super::cursor::JsonCursor;
use super::text::EscapedText;

impl<'a> JsonCursor<'a> {
    /// Skips `text` if it comes next.
    #[inline(always)]
    pub(crate) fn literal(&mut self, text: &str) -> bool {
        let rest = self.rest();
        let is_ahead = rest.starts_with(text.as_bytes());
        self.at += if is_ahead { text.len() } else { 0 };
        is_ahead
    }

    /// The rest of the text.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Whether the cursor is at the end, without skipping blanks.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.at == self.text.len()
    }

    /// Reads a whole number of at most nine digits, without blanks before it.
    #[inline(always)]
    pub(crate) fn small_number(&mut self) -> Option<u64> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let digits = rest.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        let digits =
            rest.get(..digits).filter(|digits| !digits.starts_with(b"0") || digits.len() == 1)?;
        let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        self.at += digits.len();
        (!digits.is_empty()).then_some(number)
    }

    /// Reads the string that comes next, without blanks before it, and returns its inside.
    #[inline(always)]
    pub(crate) fn string_here(&mut self) -> Option<EscapedText<'a>> {
        let from = self.at + 1;
        if self.text.as_bytes().get(self.at) != Some(&b'"') {
            return None;
        }
        let plain = self.string().ok()?;
        Some(EscapedText { text: self.text.get(from..self.at - 1)?, plain })
    }
}
