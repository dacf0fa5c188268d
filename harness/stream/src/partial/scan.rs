//! Where the top-level members of an object begin and end, while its JSON text comes.
//!
//! The scanner keeps its state between calls and looks at each byte once. It follows strings,
//! escapes and brackets, no more: whether a value is well-formed inside is for a parser to say.

use std::ops::Range;

use crate::json;

/// A part of a top-level member that has ended: where it stands in the text.
#[derive(Debug)]
pub(super) enum MemberPart {
    /// A key, with its quotes.
    Key(Range<usize>),
    /// The value of the key found last.
    Value(Range<usize>),
}

/// What the byte ahead belongs to. Keys, members and values are those of the top level.
#[derive(Debug, Default, Clone, Copy)]
enum ScanState {
    /// Nothing yet but blanks.
    #[default]
    Start,
    /// After the opening brace or a comma.
    Member,
    /// In a key.
    Key,
    /// After a key.
    Colon,
    /// After a colon.
    Value,
    /// In a number or a literal.
    Scalar,
    /// In a string.
    Text,
    /// In an array or object, outside of its strings.
    Nested,
    /// In a string, a key or not, of an array or object.
    NestedText,
    /// After a value.
    After,
    /// The object has ended, its structure is broken or it never was one: nothing is found any more.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct MemberScanner {
    state: ScanState,
    /// How many bytes of the text were looked at.
    position: usize,
    /// Where the key or value begins.
    start: usize,
    /// In a string: a backslash stands before the byte ahead.
    escaped: bool,
    /// Where the number or literal that the open array or object ends with begins.
    scalar: Option<usize>,
    /// The open array or object holds a `-0`, which parsers of partial JSON take for an integer.
    minus_zero: bool,
    /// The brackets that close what is open in the value, innermost last.
    closers: Vec<u8>,
}

impl MemberScanner {
    /// Goes on in `text`, the whole of it so far, to the next end of a key or value.
    pub(super) fn next(&mut self, text: &str) -> Option<MemberPart> {
        let bytes = text.as_bytes();
        while self.position < bytes.len() {
            let in_string =
                matches!(self.state, ScanState::Key | ScanState::Text | ScanState::NestedText);
            if in_string && !self.escaped {
                // Nothing else of a string matters here.
                self.position = json::string_end(bytes, self.position);
            }
            let Some(byte) = bytes.get(self.position) else { break };
            let found = self.step(text, *byte);
            self.position += 1;
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Where the string, array or object stands that is yet to end, without a number or literal at
    /// its end that may go on.
    pub(super) fn open(&self) -> Option<Range<usize>> {
        let is_open =
            matches!(self.state, ScanState::Text | ScanState::Nested | ScanState::NestedText);
        (is_open && !self.minus_zero).then(|| self.start..self.scalar.unwrap_or(self.position))
    }

    /// Whether the object has ended, or can't be one.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, ScanState::Over)
    }

    #[inline]
    fn step(&mut self, text: &str, byte: u8) -> Option<MemberPart> {
        use ScanState::{
            After, Colon, Key, Member, Nested, NestedText, Over, Scalar, Start, Text, Value,
        };
        let (from, at) = (self.start, self.position);
        let mut found = None;
        self.state = match (self.state, byte) {
            (Over, _) => Over,
            (state @ (Key | Text | NestedText), _) if self.escaped => {
                self.escaped = false;
                state
            }
            (state @ (Key | Text | NestedText), b'\\') => {
                self.escaped = true;
                state
            }
            (Key, b'"') => {
                found = Some(MemberPart::Key(from..at + 1));
                Colon
            }
            (Text, b'"') => {
                found = Some(MemberPart::Value(from..at + 1));
                After
            }
            (NestedText, b'"') => Nested,
            (state @ (Key | Text | NestedText), _) => state,
            (Nested, _) => {
                let state = self.nested(text, byte);
                if matches!(state, After) {
                    found = Some(MemberPart::Value(from..at + 1));
                }
                state
            }
            (Scalar, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'}') => {
                found = Some(MemberPart::Value(from..at));
                match byte {
                    b',' => Member,
                    b'}' => Over,
                    _ => After,
                }
            }
            (Scalar, b'"' | b':' | b'[' | b']' | b'{') => Over,
            (Scalar, _) => Scalar,
            (state, b' ' | b'\t' | b'\r' | b'\n') => state,
            (Start, b'{') => Member,
            (Member, b'"') => self.begin(Key),
            (Colon, b':') => Value,
            (Value, b'"') => self.begin(Text),
            (Value, b'[' | b'{') => {
                self.minus_zero = false;
                self.begin(Nested);
                self.nested(text, byte)
            }
            (Value, b',' | b':' | b']' | b'}') => Over,
            (Value, _) => self.begin(Scalar),
            (After, b',') => Member,
            (Start | Member | Colon | After, _) => Over,
        };
        found
    }

    /// A key or value begins with the byte ahead.
    fn begin(&mut self, state: ScanState) -> ScanState {
        self.start = self.position;
        state
    }

    /// A byte of an array or object, outside of its strings.
    fn nested(&mut self, text: &str, byte: u8) -> ScanState {
        if !b" \t\r\n\",:[]{}".contains(&byte) {
            self.scalar.get_or_insert(self.position);
            return ScanState::Nested;
        }
        if let Some(from) = self.scalar.take() {
            self.minus_zero |= text.get(from..self.position) == Some("-0");
        }
        match byte {
            b'"' => return ScanState::NestedText,
            b'[' => self.closers.push(b']'),
            b'{' => self.closers.push(b'}'),
            b']' | b'}' if self.closers.pop() != Some(byte) => return ScanState::Over,
            b']' | b'}' if self.closers.is_empty() => return ScanState::After,
            _ => {}
        }
        ScanState::Nested
    }
}
