//! The results of reading: validated values and keys, or the place at which a text stops being
//! JSON.

use std::fmt;

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
