//! Splits the bytes into lines. Only LF ends a line, wherever the reads were cut.

use std::ops::ControlFlow;

/// A complete line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawLine<'a> {
    /// The line without its LF.
    Whole(&'a [u8]),
    /// The line without its LF, validated as UTF-8.
    Text(&'a str),
    /// The line is longer than the limit and was dropped; this is its length in bytes.
    TooLong(u64),
}

/// Collects the bytes of a line that has not ended yet.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    partial: Vec<u8>,
    limit: usize,
    /// Dropped bytes of the current line, which is too long.
    lost: u64,
}

impl LineSplitter {
    /// Makes a splitter for lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), limit, lost: 0 }
    }

    /// Splits the next bytes and calls `line` for each complete line, until `line` breaks. A line
    /// that lies completely in `bytes` is not copied. Returns the bytes that were not read.
    pub(crate) fn feed<'b>(
        &mut self,
        bytes: &'b [u8],
        line: &mut dyn FnMut(RawLine<'_>) -> ControlFlow<()>,
    ) -> &'b [u8] {
        let mut rest = bytes;
        if !self.partial.is_empty() || self.lost > 0 {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.keep(rest);
                return &[];
            };
            self.keep(&rest[..end]);
            rest = &rest[end + 1..];
            if self.end(line).is_break() {
                return rest;
            }
        }
        let Some(last) = memchr::memrchr(b'\n', rest) else {
            self.keep(rest);
            return &[];
        };
        // One UTF-8 check of all lines is faster than one for each line.
        let text = simdutf8::basic::from_utf8(&rest[..last]).ok();
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', rest) {
            let own = &rest[from..end];
            let flow = match text.and_then(|text| text.get(from..end)) {
                _ if own.len() > self.limit => {
                    self.keep(own);
                    self.end(line)
                }
                Some(text) => line(RawLine::Text(text)),
                None => line(RawLine::Whole(own)),
            };
            from = end + 1;
            if flow.is_break() {
                return &rest[from..];
            }
        }
        self.keep(&rest[from..]);
        &[]
    }

    /// Reports the last line if the bytes did not end with LF.
    pub(crate) fn finish(&mut self, line: &mut dyn FnMut(RawLine<'_>) -> ControlFlow<()>) {
        if !self.partial.is_empty() || self.lost > 0 {
            // Whether the callback breaks does not matter: no line follows.
            let _ = self.end(line);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.lost > 0 || self.partial.len() + bytes.len() > self.limit {
            self.lost += (self.partial.len() + bytes.len()) as u64;
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, line: &mut dyn FnMut(RawLine<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let flow = match std::mem::take(&mut self.lost) {
            0 => line(RawLine::Whole(&self.partial)),
            lost => line(RawLine::TooLong(lost)),
        };
        self.partial.clear();
        flow
    }
}

/// Removes white space, CR and a byte order mark around a record.
pub(crate) fn trim(line: &str) -> &str {
    if line.starts_with('{') && line.ends_with('}') {
        return line;
    }
    line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Replaces each raw control character of a record by what `replace` writes. Returns `None` if the
/// record has none.
///
/// JSON wants control characters in strings escaped, so a record is read a second time without them.
pub(crate) fn replace_controls(
    record: &str,
    replace: impl Fn(char, &mut String),
) -> Option<String> {
    let is_control = |c: char| c.is_ascii_control() && c != '\u{7f}';
    record.contains(is_control).then(|| {
        record.chars().fold(String::with_capacity(record.len()), |mut text, c| {
            if is_control(c) {
                replace(c, &mut text);
            } else {
                text.push(c);
            }
            text
        })
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Splits `pieces` and compares the lines; a line above the limit is shown as its length.
    fn check(limit: usize, pieces: &[&str], expect: &[&str]) {
        let mut lines = LineSplitter::new(limit);
        let mut seen = Vec::new();
        let mut keep = |line: RawLine<'_>| {
            seen.push(match line {
                RawLine::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                RawLine::Text(text) => text.to_owned(),
                RawLine::TooLong(bytes) => format!("{bytes} bytes"),
            });
            ControlFlow::Continue(())
        };
        for piece in pieces {
            assert!(lines.feed(piece.as_bytes(), &mut keep).is_empty());
        }
        lines.finish(&mut keep);
        assert_eq!(seen, expect);
    }

    #[test]
    pub(crate) fn only_lf_ends_a_line() {
        check(99, &["a\r\n\nb\u{2028}c\u{85}\rd\n"], &["a\r", "", "b\u{2028}c\u{85}\rd"]);
        check(99, &["a", "", "b\nc", "d", "\n", "\n"], &["ab", "cd", ""]);
        check(99, &["a\nb"], &["a", "b"]);
        check(99, &[""], &[]);
    }

    #[test]
    pub(crate) fn a_line_above_the_limit_is_not_kept() {
        for pieces in [&["abc\nabcd\nab\nabcde"][..], &["a", "bc\nab", "c", "d\na", "b\nabcd", "e"]]
        {
            check(3, pieces, &["abc", "4 bytes", "ab", "5 bytes"]);
        }
    }

    #[test]
    fn a_break_leaves_the_rest() {
        let mut lines = LineSplitter::new(9);
        let rest = lines.feed(b"a\nb\nc", &mut |_| ControlFlow::Break(()));
        assert_eq!(rest, b"b\nc");
    }

    #[test]
    pub(crate) fn byte_order_marks_and_spaces_around_a_record_are_trimmed() {
        assert_eq!(trim("\u{feff} {}\u{a0}\r"), "{}");
        assert_eq!(trim("\u{a0}\u{2028}\r"), "");
    }
}
