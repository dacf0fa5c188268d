//! The cursor that validates and slices JSON in one pass.

use super::container_stack::ContainerStack;
use super::raw::{Expected, JsonField, JsonKey, JsonResult, Malformed, RawJson};
use super::special_bytes::SpecialBytes;
use super::text::unescape;
use super::token::{blanks, escape, scalar};

/// A cursor over JSON text that validates everything it passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonCursor<'a> {
    text: &'a str,
    /// Offset of the next byte.
    at: usize,
    specials: SpecialBytes,
}

impl<'a> JsonCursor<'a> {
    /// Makes a cursor at the first byte.
    #[inline(always)]
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, specials: SpecialBytes::NONE }
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Reads the value at the cursor.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> JsonResult<RawJson<'a>> {
        let first = self.ahead();
        let from = self.at;
        let plain = self.pass_value(first)?;
        Ok(self.raw(from, plain))
    }

    /// Reads the value at the cursor; `null` counts as absent.
    #[inline(always)]
    pub(crate) fn field(&mut self) -> JsonResult<JsonField<'a>> {
        let raw = self.value()?;
        Ok((raw.get() != "null").then_some(raw))
    }

    /// Skips the value at the cursor.
    #[inline(always)]
    pub(crate) fn skip(&mut self) -> JsonResult<()> {
        let first = self.ahead();
        self.pass_value(first).map(drop)
    }

    /// Reads the object at the cursor. Calls `member` with each key and the cursor at its value,
    /// which `member` must read. A value that is not an object is read without a call.
    #[inline(always)]
    pub(crate) fn object(
        &mut self,
        member: &mut impl FnMut(JsonKey<'_>, &mut Self) -> JsonResult<()>,
    ) -> JsonResult<RawJson<'a>> {
        if self.ahead() != b'{' {
            return self.value();
        }
        let mut scan = *self; // a copy, so that it can stay in registers
        let from = scan.at;
        let mut next = scan.pass();
        while next != b'}' {
            next = scan.member(next, member)?;
        }
        scan.at += 1;
        *self = scan;
        Ok(scan.raw(from, false))
    }

    /// Reads the member whose key begins with `first`. Returns the first byte of the next key, or
    /// `}`.
    #[inline(always)]
    fn member(
        &mut self,
        first: u8,
        member: &mut impl FnMut(JsonKey<'_>, &mut Self) -> JsonResult<()>,
    ) -> JsonResult<u8> {
        let (key, plain, _) = self.key(first)?;
        let unescaped;
        let key = if plain {
            key
        } else {
            unescaped = unescape_key(key);
            &unescaped
        };
        member(JsonKey(key), self)?;
        self.more(b'}')
    }

    /// Reads the array at the cursor. Calls `element` with the cursor at each element, which
    /// `element` must read. A value that is not an array is read without a call.
    #[inline(always)]
    pub(crate) fn array(
        &mut self,
        element: &mut impl FnMut(&mut Self) -> JsonResult<()>,
    ) -> JsonResult<RawJson<'a>> {
        if self.ahead() != b'[' {
            return self.value();
        }
        let from = self.at;
        let mut next = self.pass();
        while next != b']' {
            element(self)?;
            next = self.more(b']')?;
        }
        self.at += 1;
        Ok(self.raw(from, false))
    }

    /// Behind an element of an array: whether another element follows.
    pub(crate) fn has_next_element(&mut self) -> bool {
        self.more(b']').is_ok_and(|next| next != b']')
    }

    /// Skips blanks and returns the next byte, or 0 at the end. JSON allows 0 nowhere.
    #[inline(always)]
    pub(crate) fn ahead(&mut self) -> u8 {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if *byte > b' ' => *byte,
            _ => {
                let (blanks, next) = blanks(self.rest());
                self.at += blanks;
                next
            }
        }
    }

    /// Fails unless only blanks are left.
    #[inline]
    pub(crate) fn end(&mut self) -> JsonResult<()> {
        self.ahead();
        if self.at == self.text.len() { Ok(()) } else { Err(self.expected(Expected::End)) }
    }

    /// Skips the value that begins with `first`. Returns whether it is a string without escapes.
    #[inline(always)]
    fn pass_value(&mut self, first: u8) -> JsonResult<bool> {
        match first {
            b'"' => return self.string(),
            b'{' | b'[' => {
                let mut inner = *self; // a copy, so that the caller's can stay in registers
                nested(&mut inner)?;
                *self = inner;
            }
            _ => self.scalar()?,
        }
        Ok(false)
    }

    /// Behind an element: skips the comma and returns the first byte of the next element, or
    /// returns `close`.
    #[inline(always)]
    fn more(&mut self, close: u8) -> JsonResult<u8> {
        match self.pair(b',') {
            Some(next) if next != close => Ok(next),
            Some(_) if close == b'}' => Err(self.expected(Expected::Key)),
            Some(_) => Err(self.expected(Expected::Value)),
            None if self.ahead() == close => Ok(close),
            None => Err(self.expected(Expected::CommaOrClose)),
        }
    }

    /// Skips `first` if it is the next byte, and returns the byte behind it.
    #[inline(always)]
    fn pair(&mut self, first: u8) -> Option<u8> {
        if self.text.as_bytes().get(self.at) == Some(&first) {
            return Some(self.pass());
        }
        (self.ahead() == first).then(|| self.pass())
    }

    /// Reads the key that begins with `first`, and its colon. Returns the key, whether it has no
    /// escapes, and the first byte of the value.
    #[inline(always)]
    fn key(&mut self, first: u8) -> JsonResult<(&'a [u8], bool, u8)> {
        if first != b'"' {
            return Err(self.expected(Expected::Key));
        }
        let from = self.at + 1;
        let plain = self.string()?;
        let key = &self.text.as_bytes()[from..self.at - 1];
        let next = self.pair(b':').ok_or(self.expected(Expected::Colon))?;
        Ok((key, plain, next))
    }

    /// Skips the string at the cursor. Returns whether it has no escapes.
    #[inline(always)]
    fn string(&mut self) -> JsonResult<bool> {
        let text = self.text.as_bytes();
        let mut at = self.at + 1;
        let mut plain = true;
        loop {
            at = self
                .specials
                .next(text, at)
                .ok_or(Malformed::at(text.len(), Expected::ClosingQuote))?;
            match text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    at += escape(&text[at + 1..]).ok_or(Malformed::at(at, Expected::Escape))?;
                }
                _ => return Err(Malformed::at(at, Expected::EscapedControl)),
            }
            plain = false;
        }
        self.at = at + 1;
        Ok(plain)
    }

    #[inline(always)]
    fn scalar(&mut self) -> JsonResult<()> {
        let rest = self.rest();
        self.at += match rest {
            [b'0', b',' | b'}', ..] => 1,
            [b'n', b'u', b'l', b'l', ..] => 4,
            _ => scalar(rest).ok_or(self.expected(Expected::Value))?,
        };
        Ok(())
    }

    /// The rest of the text.
    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Makes the error that JSON needs something else at the next byte.
    #[inline(always)]
    fn expected(&self, expected: Expected) -> Malformed {
        Malformed::at(self.at, expected)
    }

    /// Skips one byte and the blanks behind it. Returns the next byte.
    #[inline(always)]
    fn pass(&mut self) -> u8 {
        self.at += 1;
        self.ahead()
    }

    /// Returns the value that began at byte `from` and ends at the cursor.
    #[inline(always)]
    fn raw(&self, from: usize, plain: bool) -> RawJson<'a> {
        RawJson { text: &self.text[from..self.at], plain }
    }
}

/// Skips the array or object at the cursor without recursion.
#[inline(never)]
fn nested(outer: &mut JsonCursor<'_>) -> JsonResult<()> {
    let mut scan = *outer;
    let mut open = ContainerStack::default();
    let mut full = Vec::new();
    let mut first = scan.ahead();
    loop {
        match first {
            b'"' => {
                scan.string()?;
                // Most arrays contain only strings.
                while !open.is_object() && scan.rest().starts_with(b",\"") {
                    scan.at += 1;
                    scan.string()?;
                }
            }
            b'{' => {
                first = scan.pass();
                if first != b'}' {
                    open.open(true, &mut full);
                    first = scan.key(first)?.2;
                    continue;
                }
                scan.at += 1;
            }
            b'[' => {
                first = scan.pass();
                if first != b']' {
                    open.open(false, &mut full);
                    continue;
                }
                scan.at += 1;
            }
            _ => scan.scalar()?,
        }
        loop {
            if open.is_closed() {
                *outer = scan;
                return Ok(());
            }
            let object = open.is_object();
            if let Some(next) = scan.pair(b',') {
                first = if object { scan.key(next)?.2 } else { next };
                break;
            }
            if scan.ahead() != if object { b'}' } else { b']' } {
                return Err(scan.expected(Expected::CommaOrClose));
            }
            scan.at += 1;
            open.close(&mut full);
        }
    }
}

/// Unescapes a key.
#[cold]
#[allow(clippy::expect_used, reason = "the bytes are a part of a text between two quotes")]
fn unescape_key(key: &[u8]) -> Vec<u8> {
    let key = std::str::from_utf8(key).expect("a key is UTF-8 like the text it is in");
    unescape(key).into_owned().into_bytes()
}
