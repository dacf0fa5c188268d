//! The transcript of a conversation: its answer and its reasoning so far, and the choice of the
//! final text (T1, T2, R1). Each part of a text remembers the message and block that it comes from.

use crate::emitter::Emitter;
use crate::event::Event;

/// The two kinds of text. Pairs of one item for each kind are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Answer,
    Reasoning,
}

impl TextKind {
    /// Returns the kind of text in a block of this type, or `None` if the block is not text.
    pub(crate) fn of_block(block_type: &str) -> Option<Self> {
        match block_type {
            "text" => Some(Self::Answer),
            "thinking" => Some(Self::Reasoning),
            _ => None,
        }
    }
}

/// The message that a text belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessagePlace<'a> {
    /// The id of the message.
    pub(crate) id: &'a str,
    /// The call of the subagent that wrote it, if one did.
    pub(crate) parent: Option<&'a str>,
}

/// Text of a block that is emitted again in the turn that it belongs to.
#[derive(Debug)]
pub(crate) struct TextPiece {
    pub(crate) kind: TextKind,
    pub(crate) by: BlockId,
    pub(crate) text: String,
    /// The newlines of a blank line with which it began when it came.
    lead: usize,
    /// A tool call splits the answer before it.
    is_split: bool,
}

/// The answer and the reasoning so far, and where tool calls and messages divide the answer.
#[derive(Debug, Default)]
pub(crate) struct RunTranscript {
    /// The texts, once there is one: many subagents stay silent.
    texts: Option<Box<[TranscriptBuffer; 2]>>,
    /// Number of tool calls and broken streams since the last piece of the answer.
    splits: usize,
    /// The next message continues the sentence at which the output limit cut the last message.
    continues: bool,
    /// The runs of the answer that no result has used yet.
    runs: Vec<TextRun>,
}

/// A stretch of text that no tool call interrupts. Positions are part numbers of the answer.
#[derive(Debug, Clone, Copy)]
struct TextRun {
    /// First part of the run.
    start: usize,
    /// First part of the text that only tool calls and the output limit divide. It is the final
    /// text if the result repeats this run.
    unsplit: usize,
}

impl RunTranscript {
    /// The text of this kind.
    pub(crate) fn text(&self, kind: TextKind) -> &TranscriptBuffer {
        static NONE: [TranscriptBuffer; 2] = [TranscriptBuffer::EMPTY; 2];
        &self.texts.as_deref().unwrap_or(&NONE)[kind as usize]
    }

    fn answer(&self) -> &TranscriptBuffer {
        self.text(TextKind::Answer)
    }

    /// Records that a tool call, or a stream that broke between two blocks, splits the answer here
    /// (T1).
    pub(crate) fn split(&mut self) {
        self.splits += 1;
    }

    /// Returns the number of splits since the last piece of the answer, and undoes them.
    pub(crate) fn take_splits(&mut self) -> usize {
        std::mem::take(&mut self.splits)
    }

    /// Undoes one split, because its tool call was retracted.
    pub(crate) fn unsplit(&mut self) {
        self.splits = self.splits.saturating_sub(1);
    }

    /// Returns whether a tool call came after the last piece of the answer.
    pub(crate) fn is_split(&self) -> bool {
        self.splits > 0
    }

    /// Marks the message as cut by the output limit: the next message continues its sentence, so no
    /// blank line goes between the two.
    pub(crate) fn continue_next(&mut self) {
        self.continues = true;
    }

    /// The text that no result has used yet, trimmed.
    pub(crate) fn unused(&self) -> &str {
        self.runs.first().map_or("", |run| self.answer().since(run.start).trim())
    }

    /// Returns the final text for the result text `result`, and the number of runs it uses (T2).
    /// Both texts are trimmed.
    ///
    /// The CLI may print a result only after several later turns were streamed. If an earlier run
    /// equals the result, that run is the final text. Of a message with several text blocks the CLI's
    /// result has the last block alone, and the final text has them all.
    pub(crate) fn final_text<'a>(&'a self, result: &'a str) -> (&'a str, usize) {
        if result.is_empty() {
            return (self.unused(), self.runs.len());
        }
        match self.run_of(result) {
            Some(at) => (self.run_text(at, self.runs[at].unsplit), at + 1),
            None => (result, self.runs.len()),
        }
    }

    /// Returns whether a run, or the last block of one, equals the result text `result`.
    pub(crate) fn repeats(&self, result: &str) -> bool {
        self.run_of(result).is_some()
    }

    /// The last run or, if that is another text, the first run that equals the result text, or whose last block
    /// does.
    fn run_of(&self, result: &str) -> Option<usize> {
        let last_block = |at: usize| {
            let end = self.runs.get(at + 1).map_or(self.answer().part_count(), |next| next.start);
            self.run_text(at, end.saturating_sub(1))
        };
        let repeats = |at: &usize| {
            self.run_text(*at, self.runs[*at].start) == result || last_block(*at) == result
        };
        let last = self.runs.len().checked_sub(1).filter(|last| repeats(last));
        last.or_else(|| (0..self.runs.len()).find(repeats))
    }

    /// The text from part `from` to the end of a run.
    fn run_text(&self, at: usize, from: usize) -> &str {
        self.answer().between(from, self.runs.get(at + 1).map(|next| next.start))
    }

    /// Returns whether all runs that a result can use are used up.
    pub(crate) fn is_used_up(&self) -> bool {
        self.runs.is_empty()
    }

    /// Removes the first `used` runs, because a result has used them.
    pub(crate) fn settle(&mut self, used: usize) {
        self.runs.drain(..used);
    }

    /// Removes the text of the blocks for which `retracted` returns true. Returns whether there was
    /// any.
    pub(crate) fn retract(&mut self, retracted: &dyn Fn(BlockId) -> bool) -> bool {
        let Some([answer, reasoning]) = self.texts.as_deref_mut() else { return false };
        let mut marks: Vec<_> = self.runs.iter().flat_map(|run| [run.start, run.unsplit]).collect();
        let was_any = answer.retract(retracted, &mut marks) | reasoning.retract(retracted, &mut []);
        let (marks, _) = marks.as_chunks();
        let ends = marks.iter().skip(1).map(|[start, _]| *start).chain([answer.part_count()]);
        let left = marks.iter().zip(ends).filter(|([start, _], end)| start < end);
        self.runs = left
            .map(|([start, unsplit], _)| TextRun { start: *start, unsplit: *unsplit })
            .collect();
        was_any
    }

    /// Returns the text of the message at `first` and of those behind it, block by block.
    pub(crate) fn pieces_from(&self, first: usize) -> Vec<TextPiece> {
        let kinds = [TextKind::Answer, TextKind::Reasoning];
        // Runs are in the order of their starts.
        let splits = |at: usize| {
            let begin = self.runs.partition_point(|run| run.start < at);
            let mut begun = self.runs[begin..].iter().take_while(|run| run.start == at);
            begun.any(|run| run.unsplit < at)
        };
        let pieces = kinds.into_iter().flat_map(|kind| {
            let parts = self.text(kind).parts().enumerate();
            let parts = parts.filter(|(_, (part, _))| part.by.message >= first);
            parts.map(move |(at, (part, text))| {
                let is_split = kind == TextKind::Answer && splits(at);
                let &TranscriptPart { by, lead, .. } = part;
                TextPiece { kind, by, text: text.to_owned(), lead, is_split }
            })
        });
        let mut pieces: Vec<_> = pieces.collect();
        pieces.sort_by_key(|piece| (piece.by.message, piece.by.block));
        pieces
    }

    /// Adds a piece that was a part of the transcript of the turn before.
    pub(crate) fn emit_again(
        &mut self,
        TextPiece { kind, by, text, lead, is_split }: &TextPiece,
        place: MessagePlace<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        if *is_split {
            self.split();
        }
        self.emit_joined(*kind, *by, place, text, *lead, emitter);
    }

    /// Adds a piece of a block and emits its event.
    pub(crate) fn emit(
        &mut self,
        kind: TextKind,
        by: BlockId,
        place: MessagePlace<'_>,
        piece: &str,
        emitter: &mut Emitter<'_>,
    ) {
        self.emit_joined(kind, by, place, piece, lead_of(piece), emitter);
    }

    /// Adds a piece with its lead and emits its event.
    fn emit_joined(
        &mut self,
        kind: TextKind,
        by: BlockId,
        place: MessagePlace<'_>,
        piece: &str,
        lead: usize,
        emitter: &mut Emitter<'_>,
    ) {
        if piece.is_empty() {
            return;
        }
        let join = match kind {
            TextKind::Answer => self.join_answer(by),
            TextKind::Reasoning => match self.text(kind).last {
                Some(last) if last != by => PartJoin::BlankLine,
                _ => PartJoin::Append,
            },
        };
        let buffer = &mut self.texts.get_or_insert_default()[kind as usize];
        let from = buffer.add(by, join, piece, lead);
        let (message_id, parent) = (place.id.into(), place.parent.map(Into::into));
        let (text, length) = (buffer.text(), buffer.length());
        let delta = text[from..].into();
        emitter.emit(match kind {
            TextKind::Answer => {
                let message_text = buffer.last_message_text();
                Event::Text { message_id, delta, length, text, message_text, parent }
            }
            TextKind::Reasoning => {
                let block_text = buffer.since(buffer.part_count() - 1);
                let block = by.block;
                Event::Thinking { message_id, block, delta, length, text, block_text, parent }
            }
        });
    }

    /// Chooses how the next piece of the answer is joined to the text before it, and begins a run
    /// where one begins.
    fn join_answer(&mut self, by: BlockId) -> PartJoin {
        let is_other = self.answer().last.is_some_and(|last| last.message != by.message);
        let goes_on = is_other && self.continues && !self.is_split();
        let is_apart = (is_other || self.is_split()) && !goes_on;
        let start = self.answer().part_count();
        let join = match self.runs.last().copied() {
            Some(_) if !is_other && !is_apart => PartJoin::Append,
            before => {
                let before = before.filter(|_| goes_on || self.is_split());
                let unsplit = before.map_or(start, |before| before.unsplit);
                self.runs.push(TextRun { start, unsplit });
                if is_apart { PartJoin::BlankLine } else { PartJoin::NewPart }
            }
        };
        self.splits = 0;
        self.continues &= !is_other;
        join
    }
}

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
    last: Option<BlockId>,
}

/// Consecutive text of one block.
#[derive(Debug, Clone, Copy)]
struct TranscriptPart {
    by: BlockId,
    /// Offset of the newlines that separate this part from the previous one.
    from: usize,
    /// Offset of the text of the part.
    start: usize,
    /// The lead of its first piece, which decided on the newlines before it.
    lead: usize,
}

/// The way a piece is joined to the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartJoin {
    /// Append the piece verbatim.
    Append,
    /// Append the piece verbatim, as a part of its own.
    NewPart,
    /// Append the piece after a blank line.
    BlankLine,
}

impl TranscriptBuffer {
    /// A buffer without text.
    const EMPTY: Self =
        Self { text: String::new(), length: 0, parts: Vec::new(), last_message: 0, last: None };

    /// Adds a piece with its lead. Returns the offset at which it begins, including the newlines before it.
    fn add(&mut self, by: BlockId, join: PartJoin, piece: &str, lead: usize) -> usize {
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
    fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The text from part `number` on, without the blank line before it.
    fn since(&self, number: usize) -> &str {
        self.parts.get(number).map_or("", |part| &self.text[part.start..])
    }

    /// The trimmed text from part `from` up to part `to`, or to the end.
    fn between(&self, from: usize, to: Option<usize>) -> &str {
        let start = self.parts.get(from).map_or(self.text.len(), |part| part.start);
        let end = to.and_then(|to| self.parts.get(to)).map_or(self.text.len(), |part| part.from);
        self.text[start..end.max(start)].trim()
    }

    /// The parts and their texts, without the newlines before them.
    fn parts(&self) -> impl Iterator<Item = (&TranscriptPart, &str)> {
        let ends = self.parts.iter().skip(1).map(|next| next.from).chain([self.text.len()]);
        self.parts.iter().zip(ends).map(|(part, end)| (part, &self.text[part.start..end]))
    }

    /// The text of the message that the last part belongs to.
    fn last_message_text(&self) -> &str {
        self.since(self.last_message)
    }

    /// Removes the parts for which `retracted` returns true, and remaps the part numbers in
    /// `marks`. Returns whether any part was removed.
    fn retract(&mut self, retracted: &dyn Fn(BlockId) -> bool, marks: &mut [usize]) -> bool {
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
fn lead_of(piece: &str) -> usize {
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

#[cfg(test)]
mod tests;
