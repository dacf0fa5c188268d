//! The text of a conversation so far, and the message and block of each part, so that a part can be
//! retracted.

/// Bytes reserved for a text, so that short texts need one allocation.
pub(crate) const ROOM: usize = 512;

/// A growing text whose parts remember their message and block (T1, R1).
#[derive(Debug, Default)]
pub(crate) struct TranscriptBuffer {
    text: String,
    /// Length of the text in characters.
    length: u64,
    parts: Vec<TranscriptPart>,
}

/// Consecutive text of one block.
#[derive(Debug, Clone, Copy)]
struct TranscriptPart {
    by: BlockId,
    /// Offset of the newlines that separate this part from the previous one.
    from: usize,
    /// Offset of the text of the part.
    start: usize,
}

/// Identifies a block by the index of its message in the conversation and its own index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockId {
    pub(crate) message: usize,
    pub(crate) block: u64,
}

/// How a piece is joined to the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartJoin {
    /// Append the piece verbatim.
    Append,
    /// Append the piece verbatim, as a part of its own.
    NewPart,
    /// Append the piece after a blank line.
    BlankLine,
}

impl TranscriptBuffer {
    /// Adds a piece. Returns the offset at which it begins, including the newlines before it.
    pub(crate) fn add(&mut self, by: BlockId, join: PartJoin, piece: &str) -> usize {
        let from = self.text.len();
        if self.text.capacity() == 0 {
            self.text.reserve(ROOM.max(piece.len()));
        }
        if join == PartJoin::BlankLine {
            separate(&mut self.text, piece);
        }
        if join != PartJoin::Append || self.parts.last().is_none_or(|last| last.by != by) {
            self.parts.push(TranscriptPart { by, from, start: self.text.len() });
        }
        self.text.push_str(piece);
        self.length += characters(&self.text[from..]);
        from
    }

    /// Length of the text in characters.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Number of parts, which is also the number of the next part.
    pub(crate) fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The text from part `number` on, without the blank line before it.
    pub(crate) fn since(&self, number: usize) -> &str {
        self.parts.get(number).map_or("", |part| &self.text[part.start..])
    }

    /// The trimmed text from part `from` up to part `to`, or to the end.
    pub(crate) fn between(&self, from: usize, to: Option<usize>) -> &str {
        let start = self.parts.get(from).map_or(self.text.len(), |part| part.start);
        let end = to.and_then(|to| self.parts.get(to)).map_or(self.text.len(), |part| part.from);
        self.text[start..end.max(start)].trim()
    }

    /// The text of the message that the last part belongs to.
    pub(crate) fn last_message_text(&self) -> &str {
        let last = self.parts.last().map(|part| part.by.message);
        let by_last = |part: &&TranscriptPart| Some(part.by.message) == last;
        let first = self.parts.iter().rev().take_while(by_last).last();
        first.map_or("", |part| &self.text[part.start..])
    }

    /// Removes the parts for which `retracted` returns true, and remaps the part numbers in
    /// `marks`. Returns whether any part was removed.
    pub(crate) fn retract(
        &mut self,
        retracted: impl Fn(BlockId) -> bool,
        marks: &mut [usize],
    ) -> bool {
        let Some(first) = self.parts.iter().position(|part| retracted(part.by)) else {
            return false;
        };
        for mark in marks.iter_mut().filter(|mark| **mark > first) {
            let before = self.parts.iter().take(*mark).skip(first);
            *mark = first + before.filter(|part| !retracted(part.by)).count();
        }
        let parts = self.parts.split_off(first);
        let text = self.text.split_off(parts[0].from);
        self.length -= characters(&text);
        let base = self.text.len();
        let ends = parts.iter().skip(1).map(|next| next.from).chain([base + text.len()]);
        for (part, end) in parts.iter().zip(ends).filter(|(part, _)| !retracted(part.by)) {
            let join = if part.from < part.start { PartJoin::BlankLine } else { PartJoin::NewPart };
            self.add(part.by, join, &text[part.start - base..end - base]);
        }
        true
    }
}

/// Completes the newlines at the end of `text` and the start of `piece` to a blank line.
fn separate(text: &mut String, piece: &str) {
    if text.is_empty() {
        return;
    }
    let before = text.bytes().rev().take(2).take_while(|b| *b == b'\n').count();
    let after = piece.bytes().take(2).take_while(|b| *b == b'\n').count();
    for _ in (before + after)..2 {
        text.push('\n');
    }
}

/// Number of characters in a text.
fn characters(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    text.chars().count() as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    pub(crate) fn t1_line_ends_on_both_sides_make_up_the_blank_line() {
        for (text, piece, expect) in [
            ("one", "two", "one\n\n"),
            ("one\n", "two", "one\n\n"),
            ("one\n", "\ntwo", "one\n"),
            ("one", "\n\ntwo", "one"),
            ("one\n\n\n", "two", "one\n\n\n"),
            ("", "two", ""),
        ] {
            let mut parted = text.to_owned();
            separate(&mut parted, piece);
            assert_eq!(parted, expect);
        }
    }

    /// Adds parts of the form `(message, block, text)`, each after a blank line, then retracts
    /// some.
    fn check(
        parts: &[(usize, u64, &str)],
        retracted: &[usize],
        expect: (&str, u64),
        marks: [usize; 2],
    ) {
        let mut said = TranscriptBuffer::default();
        for (message, block, text) in parts {
            said.add(BlockId { message: *message, block: *block }, PartJoin::BlankLine, text);
        }
        let mut moved = [1, parts.len()];
        let was_any = said.retract(|by| retracted.contains(&by.message), &mut moved);
        assert_eq!(was_any, !retracted.is_empty());
        assert_eq!((said.text(), said.length()), expect, "{parts:?} less {retracted:?}");
        assert_eq!(moved, marks, "{parts:?} less {retracted:?}");
    }

    #[test]
    pub(crate) fn a_retracted_part_leaves_no_seam() {
        let parts = [(0, 0, "añ\n"), (1, 0, "b"), (1, 2, "c"), (2, 0, "d")];
        check(&parts, &[], ("añ\n\nb\n\nc\n\nd", 11), [1, 4]);
        check(&parts, &[0], ("b\n\nc\n\nd", 7), [0, 3]);
        check(&parts, &[1], ("añ\n\nd", 5), [1, 2]);
        check(&parts, &[2], ("añ\n\nb\n\nc", 8), [1, 3]);
        check(&parts, &[0, 1, 2], ("", 0), [0, 0]);
    }

    #[test]
    fn the_last_message_and_what_came_since_a_part() {
        let mut said = TranscriptBuffer::default();
        let by = |message, block| BlockId { message, block };
        assert_eq!((said.since(0), said.last_message_text()), ("", ""));
        said.add(by(0, 0), PartJoin::Append, "a");
        said.add(by(1, 0), PartJoin::BlankLine, "b");
        let from = said.add(by(1, 1), PartJoin::Append, "c");
        assert_eq!((&said.text()[from..], said.text(), said.length()), ("c", "a\n\nbc", 5));
        let from = said.add(by(1, 1), PartJoin::BlankLine, "d");
        assert_eq!((&said.text()[from..], said.length()), ("\n\nd", 8));
        assert_eq!(
            (said.part_count(), said.since(2), said.last_message_text()),
            (4, "c\n\nd", "bc\n\nd")
        );
    }
}
