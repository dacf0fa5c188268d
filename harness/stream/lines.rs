//! Cuts the bytes into lines: only LF ends one, wherever the reads were cut.

/// The bytes of a line that has not ended yet.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Takes the next bytes and calls back with each line they complete, without its LF. A line
    /// that lies whole in `bytes` is not copied.
    pub(crate) fn feed(&mut self, bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(end) = line_end(rest) {
            if self.partial.is_empty() {
                line(&rest[..end]);
            } else {
                self.partial.extend_from_slice(&rest[..end]);
                line(&self.partial);
                self.partial.clear();
            }
            rest = &rest[end + 1..];
        }
        self.partial.extend_from_slice(rest);
    }

    /// The last line, when the bytes did not end with LF.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        (!self.partial.is_empty()).then_some(self.partial)
    }
}

/// Where the next LF is; whole chunks are skipped at a time.
fn line_end(bytes: &[u8]) -> Option<usize> {
    const CHUNK: usize = 64;
    let chunk = bytes.chunks(CHUNK).position(|chunk| chunk.contains(&b'\n'))?;
    let start = chunk * CHUNK;
    bytes[start..].iter().position(|byte| *byte == b'\n').map(|at| start + at)
}

/// What may stand around a record: white space, CR, and a byte order mark.
pub(crate) fn trim(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expect: &[&str]) {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for piece in pieces {
            lines
                .feed(piece.as_bytes(), &mut |l| seen.push(String::from_utf8(l.to_vec()).unwrap()));
        }
        seen.extend(lines.finish().map(|l| String::from_utf8(l).unwrap()));
        assert_eq!(seen, expect);
    }

    #[test]
    fn only_lf_ends_a_line() {
        check(&["a\r\n\nb\u{2028}c\u{85}\rd\n"], &["a\r", "", "b\u{2028}c\u{85}\rd"]);
        check(&["a", "", "b\nc", "d", "\n", "\n"], &["ab", "cd", ""]);
        check(&["a\nb"], &["a", "b"]);
        check(&[""], &[]);
    }

    #[test]
    fn marks_and_spaces_around_a_record_go() {
        assert_eq!(trim("\u{feff} {}\u{a0}\r"), "{}");
        assert_eq!(trim("\u{a0}\u{2028}\r"), "");
    }
}
