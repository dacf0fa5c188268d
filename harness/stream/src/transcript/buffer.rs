//! A growing text whose parts remember the message and block that they come from (T1, R1).

/// Bytes reserved for a text, so that short texts need one allocation.
pub(crate) const ROOM: usize = 512;

/// Identifies a block by the index of its message in the conversation and its own index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockId {
    pub(crate) message: usize,
    pub(crate) block: u64,
}

/// A growing text whose parts remember their message and block (T1, R1).
#[derive(Debug, Default)]
pub(crate) struct TranscriptBuffer {
    text: String,
    /// Length of the text in characters.
    length: u64,
    parts: Vec<TranscriptPart>,
    /// Number of the first of the parts at the end that are of one message, which may be all of them.
    last_message: usize,
    /// The block of the last piece, even if it was retracted.
    pub(super) last: Option<BlockId>,
}

/// Consecutive text of one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct TranscriptPart {
    pub(super) by: BlockId,
    /// Offset of the newlines that separate this part from the previous one.
    from: usize,
    /// Offset of the text of the part.
    start: usize,
    /// The lead of its first piece, which decided on the newlines before it.
    pub(super) lead: usize,
}

/// The way a piece is joined to the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartJoin {
    /// Append the piece verbatim.
    Append,
    /// Append the piece verbatim, as a part of its own.
    NewPart,
    /// Append the piece after a blank line.
    BlankLine,
}

impl TranscriptBuffer {
    /// A buffer without text.
    pub(super) const EMPTY: Self =
        Self { text: String::new(), length: 0, parts: Vec::new(), last_message: 0, last: None };

    /// Adds a piece with its lead. Returns the offset at which it begins, including the newlines before it.
    pub(super) fn add(&mut self, by: BlockId, join: PartJoin, piece: &str, lead: usize) -> usize {
        self.last = Some(by);
        self.append(by, join, piece, lead)
    }

    fn append(&mut self, by: BlockId, join: PartJoin, piece: &str, lead: usize) -> usize {
        let from = self.text.len();
        if self.text.capacity() == 0 {
            self.text.reserve(ROOM.max(piece.len()));
        }
        if join == PartJoin::BlankLine {
            separate(&mut self.text, lead);
        }
        if join != PartJoin::Append || self.parts.last().is_none_or(|last| last.by != by) {
            if self.parts.last().is_some_and(|last| last.by.message != by.message) {
                self.last_message = self.parts.len();
            }
            self.parts.push(TranscriptPart { by, from, start: self.text.len(), lead });
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
    pub(super) fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The text from part `number` on, without the blank line before it.
    pub(super) fn since(&self, number: usize) -> &str {
        self.parts.get(number).map_or("", |part| &self.text[part.start..])
    }

    /// The trimmed text from part `from` up to part `to`, or to the end.
    pub(super) fn between(&self, from: usize, to: Option<usize>) -> &str {
        let start = self.parts.get(from).map_or(self.text.len(), |part| part.start);
        let end = to.and_then(|to| self.parts.get(to)).map_or(self.text.len(), |part| part.from);
        self.text[start..end.max(start)].trim()
    }

    /// The parts and their texts, without the newlines before them.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&TranscriptPart, &str)> {
        let ends = self.parts.iter().skip(1).map(|next| next.from).chain([self.text.len()]);
        self.parts.iter().zip(ends).map(|(part, end)| (part, &self.text[part.start..end]))
    }

    /// The text of the message that the last part belongs to.
    pub(super) fn last_message_text(&self) -> &str {
        self.since(self.last_message)
    }

    /// Removes the parts for which `retracted` returns true, and remaps the part numbers in
    /// `marks`. Returns whether any part was removed.
    pub(super) fn retract(
        &mut self,
        retracted: &dyn Fn(BlockId) -> bool,
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
        let last = self.parts.last().map(|part| part.by.message);
        let by_last = |part: &&TranscriptPart| Some(part.by.message) == last;
        self.last_message = first - self.parts.iter().rev().take_while(by_last).count();
        let text = self.text.split_off(parts[0].from);
        self.length -= characters(&text);
        let base = self.text.len();
        let ends = parts.iter().skip(1).map(|next| next.from).chain([base + text.len()]);
        for (part, end) in parts.iter().zip(ends).filter(|(part, _)| !retracted(part.by)) {
            let join = if part.from < part.start { PartJoin::BlankLine } else { PartJoin::NewPart };
            self.append(part.by, join, &text[part.start - base..end - base], part.lead);
        }
        true
    }
}

/// The lead of a piece: the newlines of a blank line with which it begins, two at most. A part that is added again as
/// one piece keeps the lead that its first piece had when it came, so that the text before it stays the same.
pub(super) fn lead_of(piece: &str) -> usize {
    newlines(piece.bytes())
}

/// Completes the newlines at the end of `text`, and those of the lead that comes next, to a blank line.
fn separate(text: &mut String, lead: usize) {
    if text.is_empty() {
        return;
    }
    for _ in (newlines(text.bytes().rev()) + lead)..2 {
        text.push('\n');
    }
}

fn newlines(bytes: impl Iterator<Item = u8>) -> usize {
    bytes.take(2).take_while(|byte| *byte == b'\n').count()
}

/// Number of characters in a text.
fn characters(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    text.chars().count() as u64
}
