//! The answer text of one conversation so far, and the choice of the final text (T1, T2).

use crate::emitter::Emitter;
use crate::event::Event;
use crate::transcript_buffer::{BlockId, PartJoin, TranscriptBuffer};

/// The answer text so far, and where tool calls and messages divide it.
#[derive(Debug, Default)]
pub(crate) struct AnswerText {
    transcript: TranscriptBuffer,
    /// Index of the message that the last piece belongs to.
    last: Option<usize>,
    /// Number of tool calls and broken streams since the last piece.
    splits: usize,
    /// The next message continues the sentence at which the output limit cut the last message.
    continues: bool,
    /// The text runs that no result has used yet.
    runs: Vec<TextRun>,
}

/// A stretch of text that no tool call interrupts. Positions are part numbers of the transcript.
#[derive(Debug, Clone, Copy)]
struct TextRun {
    /// First part of the run.
    start: usize,
    /// First part of the text that only tool calls and the output limit divide. It is the final
    /// text if the result repeats this run.
    unsplit: usize,
}

impl AnswerText {
    /// The whole text.
    pub(crate) fn transcript(&self) -> &TranscriptBuffer {
        &self.transcript
    }

    /// Records that a tool call, or a stream that broke between two blocks, splits the text here
    /// (T1).
    pub(crate) fn split(&mut self) {
        self.splits += 1;
    }

    /// Undoes one split, because its tool call was retracted.
    pub(crate) fn unsplit(&mut self) {
        self.splits = self.splits.saturating_sub(1);
    }

    /// Whether a tool call came after the last piece.
    pub(crate) fn is_split(&self) -> bool {
        self.splits > 0
    }

    /// Marks the message as cut by the output limit: the next message continues its sentence, so no
    /// blank line goes between the two.
    pub(crate) fn continue_next(&mut self) {
        self.continues = true;
    }

    /// The text since the last result, trimmed.
    pub(crate) fn since_result(&self) -> &str {
        self.runs.first().map_or("", |piece| self.transcript.since(piece.start).trim())
    }

    /// Returns the final text for the result text `result`, and the number of runs it uses (T2).
    /// Both texts are trimmed.
    ///
    /// The CLI may print a result only after several later turns. If an earlier run equals the
    /// result, that run is the final text.
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

    /// Number of runs that no result has used yet.
    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Removes the first `used` runs, because a result has used them.
    pub(crate) fn settle(&mut self, used: usize) {
        self.runs.drain(..used);
        self.continues &= !self.runs.is_empty();
    }

    /// Removes the text of the blocks for which `retracted` returns true. Returns whether there was
    /// any.
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

    /// Adds a piece of a message and emits the text event.
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
