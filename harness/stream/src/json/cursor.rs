//! The cursor that validates and slices JSON in one pass, and the values, keys and errors that it
//! returns.

use std::fmt;

use super::text::{SpecialBytes, unescape};

/// A validated JSON value: its text, without blanks around it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RawJson<'a> {
    pub(super) text: &'a str,
    /// The value is a string without escapes.
    pub(super) plain: bool,
}

impl<'a> RawJson<'a> {
    /// The text of the value.
    pub(crate) fn get(self) -> &'a str {
        self.text
    }
}

/// The unescaped key of a member; it compares with a `&str`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonKey<'a>(pub(super) &'a [u8]);

impl<'a> JsonKey<'a> {
    /// The key as text.
    #[allow(clippy::expect_used, reason = "the bytes are a part of a text between two quotes")]
    pub(crate) fn get(self) -> &'a str {
        std::str::from_utf8(self.0).expect("a key is UTF-8 like the text it is in")
    }
}

impl PartialEq<&str> for JsonKey<'_> {
    #[inline(always)]
    fn eq(&self, name: &&str) -> bool {
        self.0 == name.as_bytes()
    }
}

/// The text is not one JSON value.
///
/// The error says where reading stopped and what JSON allows there, so that a cut or changed text
/// can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// Offset in bytes from the start of the text at which reading stopped.
    pub offset: usize,
    /// The tokens that JSON allows at that place.
    pub expected: Expected,
}

impl Malformed {
    /// The error at byte `offset`.
    #[inline(always)]
    pub(crate) const fn at(offset: usize, expected: Expected) -> Self {
        Self { offset, expected }
    }
}

impl std::error::Error for Malformed {}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, expected } = self;
        write!(f, "The text is not one JSON value: expected {expected} at byte {offset}")
    }
}

/// The tokens that JSON allows at the place where reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// Any value.
    Value,
    /// An object, where another value is.
    Object,
    /// The key of a member.
    Key,
    /// The colon between a key and its value.
    Colon,
    /// A comma, or the bracket that closes the array or object.
    CommaOrClose,
    /// An escape such as `\n` or `\u00e9` behind a backslash.
    Escape,
    /// A control character written as an escape, where it is raw.
    EscapedControl,
    /// The quote that ends the string.
    ClosingQuote,
    /// The end of the text, where more follows the value.
    End,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "a value",
            Self::Object => "an object",
            Self::Key => "a key in quotes",
            Self::Colon => "a colon",
            Self::CommaOrClose => "a comma or a closing bracket",
            Self::Escape => "a valid escape",
            Self::EscapedControl => "an escape instead of a raw control character",
            Self::ClosingQuote => "a closing quote",
            Self::End => "the end of the text",
        })
    }
}

/// Result of reading JSON.
pub(crate) type JsonResult<T> = Result<T, Malformed>;

/// A field that is present and not `null`.
pub(crate) type JsonField<'a> = Option<RawJson<'a>>;

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

/// The open containers.
#[derive(Debug, Clone, Copy, Default)]
struct ContainerStack {
    depth: usize,
    /// Kinds of the innermost levels, the last one in the lowest bit: 1 is an object, 0 an array.
    bits: u64,
}

impl ContainerStack {
    /// Returns whether all containers are closed.
    #[inline(always)]
    pub(super) fn is_closed(self) -> bool {
        self.depth == 0
    }

    /// Returns whether the innermost container is an object.
    #[inline(always)]
    pub(super) fn is_object(self) -> bool {
        self.bits & 1 == 1
    }

    /// Opens a container. Every 64 levels, the bits of the outer levels move to `full`.
    #[inline(always)]
    pub(super) fn open(&mut self, object: bool, full: &mut Vec<u64>) {
        if self.depth % 64 == 63 {
            full.push(self.bits);
        }
        self.depth += 1;
        self.bits = self.bits << 1 | u64::from(object);
    }

    /// Closes the innermost container.
    #[inline(always)]
    pub(super) fn close(&mut self, full: &mut Vec<u64>) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth % 64 == 63 {
            self.bits = full.pop().unwrap_or(0);
        }
    }
}

/// Returns the length of the escape in front of `rest`, including its backslash, which was passed
/// before; `None` if it is invalid.
#[inline(always)]
fn escape(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|b| b.is_ascii_hexdigit()) => Some(6),
        _ => None,
    }
}

/// Returns the length of the number, `true`, `false` or `null` at the front.
#[inline(never)]
fn scalar(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'n' => text.starts_with(b"null").then_some(4),
        b't' => text.starts_with(b"true").then_some(4),
        b'f' => text.starts_with(b"false").then_some(5),
        _ => number(text),
    }
}

/// Returns the length of the number at the front.
#[inline(always)]
fn number(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = text.get(from..)?;
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        at = digits(at + usize::from(matches!(text.get(at), Some(b'+' | b'-'))))?;
    }
    Some(at)
}

/// Returns the number of blanks at the front, and the byte behind them.
#[cold]
fn blanks(text: &[u8]) -> (usize, u8) {
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
    let blanks = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    (blanks, text.get(blanks).copied().unwrap_or(0))
}
