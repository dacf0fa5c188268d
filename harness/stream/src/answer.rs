//! The answer of a lane so far (T1), and what of it the final text is made of (T2).

use crate::event::Event;
use crate::said::{By, Join, Said};
use crate::tell::Tell;

/// The answer so far.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    said: Said,
    /// The message that spoke last.
    last: Option<usize>,
    /// Tool calls and broken streams that came since it did.
    split: usize,
    /// The next message goes on where the last one was cut off.
    continues: bool,
    /// What no result has used yet.
    pieces: Vec<Piece>,
}

/// A stretch of text that nothing has split: numbers of parts.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it begins.
    start: usize,
    /// Where the text begins that only tool calls and cuts part from it.
    unsplit: usize,
}

impl Answer {
    /// All of it.
    pub(crate) fn said(&self) -> &Said {
        &self.said
    }

    /// A tool call splits the text (T1), or a stream that broke between two blocks.
    pub(crate) fn split(&mut self) {
        self.split += 1;
    }

    /// A tool call was taken back.
    pub(crate) fn unsplit(&mut self) {
        self.split = self.split.saturating_sub(1);
    }

    /// Whether a tool call came since the last piece.
    pub(crate) fn is_split(&self) -> bool {
        self.split > 0
    }

    /// The message was cut off, and the next one goes on in the middle of its sentence.
    pub(crate) fn goes_on(&mut self) {
        self.continues = true;
    }

    /// What was told since the last result.
    pub(crate) fn since_result(&self) -> &str {
        self.pieces.first().map_or("", |piece| self.said.since(piece.start).trim())
    }

    /// The final text for a result that says `result`, both trimmed, and how many pieces it uses
    /// (T2). The CLI may hold results back until several turns are over: then the text of an
    /// earlier piece is the result.
    pub(crate) fn final_text<'a>(&'a self, result: &'a str) -> (&'a str, usize) {
        let all = self.pieces.len();
        if result.is_empty() {
            return (self.since_result(), all);
        }
        let until = |at: usize| self.pieces.get(at + 1).map(|next| next.start);
        let says = |at: &usize| self.said.between(self.pieces[*at].start, until(*at)) == result;
        let last = all.checked_sub(1).filter(|last| says(last));
        match last.or_else(|| (0..all).find(says)) {
            Some(at) => (self.said.between(self.pieces[at].unsplit, until(at)), at + 1),
            None => (result, all),
        }
    }

    /// How many pieces no result has used.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// A result has used so many pieces.
    pub(crate) fn settle(&mut self, used: usize) {
        self.pieces.drain(..used);
        self.continues &= !self.pieces.is_empty();
    }

    /// Takes back what `gone` names; says whether there was any.
    pub(crate) fn take_back(&mut self, gone: impl Fn(By) -> bool) -> bool {
        let mut marks: Vec<_> = self.pieces.iter().flat_map(|p| [p.start, p.unsplit]).collect();
        let was_any = self.said.take_back(gone, &mut marks);
        let (marks, _) = marks.as_chunks();
        let ends = marks.iter().skip(1).map(|[start, _]| *start).chain([self.said.parts()]);
        let left = marks.iter().zip(ends).filter(|([start, _], end)| start < end);
        self.pieces =
            left.map(|([start, unsplit], _)| Piece { start: *start, unsplit: *unsplit }).collect();
        was_any
    }

    /// Adds a piece of a message and tells it.
    pub(crate) fn tell(
        &mut self,
        by: By,
        id: &str,
        parent: Option<&str>,
        piece: &str,
        tell: &mut Tell<'_>,
    ) {
        if piece.is_empty() {
            return;
        }
        let is_other = self.last.is_some_and(|last| last != by.message);
        let goes_on = is_other && self.continues && !self.is_split();
        let is_apart = (is_other || self.is_split()) && !goes_on;
        let start = self.said.parts();
        let join = match self.pieces.last().copied() {
            Some(_) if !is_other && !is_apart => Join::On,
            before => {
                let before = before.filter(|_| goes_on || self.is_split());
                let unsplit = before.map_or(start, |before| before.unsplit);
                self.pieces.push(Piece { start, unsplit });
                if is_apart { Join::Apart } else { Join::New }
            }
        };
        (self.last, self.split) = (Some(by.message), 0);
        self.continues &= !is_other;
        let from = self.said.add(by, join, piece);
        let text = self.said.text();
        tell.event(Event::Text {
            message_id: id.into(),
            delta: text[from..].into(),
            length: self.said.length(),
            text,
            message_text: self.said.of_message(),
            parent: parent.map(Into::into),
        });
    }
}
