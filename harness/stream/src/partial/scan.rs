//! Finds where the top-level members of an object begin and end while its JSON text streams.
//!
//! The scanner keeps its state between calls and looks at each byte once. It follows only strings,
//! escapes and brackets; a parser checks later whether a value is well-formed.

use std::ops::Range;

use crate::json;

/// A complete part of a top-level member, with its span in the text.
#[derive(Debug)]
pub(super) enum MemberPart {
    /// A key, with its quotes.
    Key(Range<usize>),
    /// The value of the key that was found last.
    Value(Range<usize>),
}

/// The role of the next byte. Keys, members and values are those of the top level.
#[derive(Debug, Default, Clone, Copy)]
enum ScanState {
    /// Before the object; only blanks so far.
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
    /// In a string that is a value.
    Text,
    /// In an array or object, outside its strings.
    Nested,
    /// In a string, key or value, inside an array or object.
    NestedText,
    /// After a value.
    After,
    /// The object has ended or its structure is broken: no further part is found.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct MemberScanner {
    state: ScanState,
    /// Number of bytes that were scanned.
    position: usize,
    /// Position at which the current key or value begins.
    start: usize,
    /// In a string: the previous byte is a backslash.
    escaped: bool,
    /// Position of a number or literal at the end of the open array or object.
    scalar: Option<usize>,
    /// The open array or object contains `-0`, which partial JSON parsers read as an integer.
    minus_zero: bool,
    /// The brackets that will close the open containers of the value, innermost last.
    closers: Vec<u8>,
}

impl MemberScanner {
    /// Scans on in `text`, which is the whole text so far, up to the next end of a key or value.
    pub(super) fn next(&mut self, text: &str) -> Option<MemberPart> {
        let bytes = text.as_bytes();
        while self.position < bytes.len() {
            let in_string =
                matches!(self.state, ScanState::Key | ScanState::Text | ScanState::NestedText);
            if in_string && !self.escaped {
                // Other bytes inside a string do not matter here.
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

    /// Returns the span of the unfinished string, array or object, without a number or literal at
    /// its end that could continue.
    pub(super) fn open(&self) -> Option<Range<usize>> {
        let is_open =
            matches!(self.state, ScanState::Text | ScanState::Nested | ScanState::NestedText);
        (is_open && !self.minus_zero).then(|| self.start..self.scalar.unwrap_or(self.position))
    }

    /// Returns whether the object has ended or the text is not an object.
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

    /// Starts a key or value at the next byte.
    fn begin(&mut self, state: ScanState) -> ScanState {
        self.start = self.position;
        state
    }

    /// Processes a byte of an array or object outside its strings.
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
