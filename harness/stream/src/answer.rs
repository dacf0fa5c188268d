//! The answer of a conversation so far (T1), and what of it the final text is made of (T2).

use crate::emitter::Emitter;
use crate::event::Event;
use crate::transcript_buffer::{BlockId, PartJoin, TranscriptBuffer};

/// The answer so far.
#[derive(Debug, Default)]
pub(crate) struct AnswerText {
    transcript: TranscriptBuffer,
    /// The message that spoke last.
    last: Option<usize>,
    /// Tool calls and broken streams that came since it did.
    splits: usize,
    /// The next message goes on where the last one was cut off.
    continues: bool,
    /// What no result has used yet.
    runs: Vec<TextRun>,
}

/// A stretch of text that nothing has split: numbers of parts.
#[derive(Debug, Clone, Copy)]
struct TextRun {
    /// Where it begins.
    start: usize,
    /// Where the text begins that only tool calls and cuts part from it.
    unsplit: usize,
}

impl AnswerText {
    /// All of it.
    pub(crate) fn transcript(&self) -> &TranscriptBuffer {
        &self.transcript
    }

    /// A tool call splits the text (T1), or a stream that broke between two blocks.
    pub(crate) fn split(&mut self) {
        self.splits += 1;
    }

    /// A tool call was taken back.
    pub(crate) fn unsplit(&mut self) {
        self.splits = self.splits.saturating_sub(1);
    }

    /// Whether a tool call came since the last piece.
    pub(crate) fn is_split(&self) -> bool {
        self.splits > 0
    }

    /// The message was cut off, and the next one goes on in the middle of its sentence.
    pub(crate) fn continue_next(&mut self) {
        self.continues = true;
    }

    /// What was told since the last result.
    pub(crate) fn since_result(&self) -> &str {
        self.runs.first().map_or("", |piece| self.transcript.since(piece.start).trim())
    }

    /// The final text for a result that says `result`, both trimmed, and how many pieces it uses
    /// (T2). The CLI may hold results back until several turns are over: then the text of an
    /// earlier piece is the result.
    pub(crate) fn final_text<'a>(&'a self, result: &'a str) -> (&'a str, usize) {
        let all = self.runs.len();
        if result.is_empty() {
            return (self.since_result(), all);
        }
        let until = |at: usize| self.runs.get(at + 1).map(|next| next.start);
        let says = |at: &usize| self.transcript.between(self.runs[*at].start, until(*at)) == result;
        let last = all.checked_sub(1).filter(|last| says(last));
        match last.or_else(|| (0..all).find(says)) {
            Some(at) => (self.transcript.between(self.runs[at].unsplit, until(at)), at + 1),
            None => (result, all),
        }
    }

    /// How many pieces no result has used.
    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// A result has used so many pieces.
    pub(crate) fn settle(&mut self, used: usize) {
        self.runs.drain(..used);
        self.continues &= !self.runs.is_empty();
    }

    /// Takes back what `retracted` names; says whether there was any.
    pub(crate) fn retract(&mut self, retracted: impl Fn(BlockId) -> bool) -> bool {
        let mut parts: Vec<_> = self.runs.iter().flat_map(|p| [p.start, p.unsplit]).collect();
        let was_any = self.transcript.retract(retracted, &mut parts);
        let (parts, _) = parts.as_chunks();
        let ends =
            parts.iter().skip(1).map(|[start, _]| *start).chain([self.transcript.part_count()]);
        let left = parts.iter().zip(ends).filter(|([start, _], end)| start < end);
        self.runs = left
            .map(|([start, unsplit], _)| TextRun { start: *start, unsplit: *unsplit })
            .collect();
        was_any
    }

    /// Adds a piece of a message and tells it.
    pub(crate) fn emit(
        &mut self,
        by: BlockId,
        id: &str,
        parent: Option<&str>,
        piece: &str,
        emitter: &mut Emitter<'_>,
    ) {
        if piece.is_empty() {
            return;
        }
        let is_other = self.last.is_some_and(|last| last != by.message);
        let goes_on = is_other && self.continues && !self.is_split();
        let is_apart = (is_other || self.is_split()) && !goes_on;
        let start = self.transcript.part_count();
        let join = match self.runs.last().copied() {
            Some(_) if !is_other && !is_apart => PartJoin::Append,
            before => {
                let before = before.filter(|_| goes_on || self.is_split());
                let unsplit = before.map_or(start, |before| before.unsplit);
                self.runs.push(TextRun { start, unsplit });
                if is_apart { PartJoin::BlankLine } else { PartJoin::NewPart }
            }
        };
        (self.last, self.splits) = (Some(by.message), 0);
        self.continues &= !is_other;
        let from = self.transcript.add(by, join, piece);
        let text = self.transcript.text();
        emitter.emit(Event::Text {
            message_id: id.into(),
            delta: text[from..].into(),
            length: self.transcript.length(),
            text,
            message_text: self.transcript.last_message_text(),
            parent: parent.map(Into::into),
        });
    }
}
