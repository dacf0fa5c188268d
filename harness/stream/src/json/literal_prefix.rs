//! What is ahead as it stands: text that most records have in one place is compared, not read, and
//! only the values behind it are.

use super::cursor::JsonCursor;
use super::text::EscapedText;
use super::{JsonField, RawJson};

impl<'a> JsonCursor<'a> {
    /// Passes `text`, when it is ahead as it stands.
    #[inline(always)]
    pub(crate) fn literal(&mut self, text: &str) -> bool {
        let rest = self.rest();
        let is_ahead = rest.starts_with(text.as_bytes());
        self.at += if is_ahead { text.len() } else { 0 };
        is_ahead
    }

    /// Takes what `take` takes; nothing, when that comes to nothing.
    #[inline(always)]
    pub(crate) fn attempt<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut scan = *self;
        let value = take(&mut scan)?;
        *self = scan;
        Some(value)
    }

    /// In an attempt: takes `text`, which must be ahead as it stands, and the value behind it.
    #[inline(always)]
    pub(crate) fn value_after(&mut self, text: &str) -> Option<JsonField<'a>> {
        if self.literal(text) { self.field().ok() } else { None }
    }

    /// The value that began at byte `from`, and was value.
    #[inline(always)]
    pub(crate) fn since(&self, from: usize) -> RawJson<'a> {
        self.raw(from, false)
    }

    /// What was not passed.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Whether nothing is left, blanks neither.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.at == self.text.len()
    }

    /// Takes the whole number of at most nine digits ahead, without blanks before it.
    #[inline(always)]
    pub(crate) fn small(&mut self) -> Option<u64> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let digits = rest.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        let digits =
            rest.get(..digits).filter(|digits| !digits.starts_with(b"0") || digits.len() == 1)?;
        let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        self.at += digits.len();
        (!digits.is_empty()).then_some(number)
    }

    /// Takes the string ahead, without blanks before it; gives its inside.
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
