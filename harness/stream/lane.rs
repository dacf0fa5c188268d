//! One lane: the main thread, or one subagent. Its answer and its reasoning so far (T1, T3, R1).

use std::collections::HashMap;

use crate::block::Block;
use crate::calls::Place;
use crate::event::{Event, Usage};
use crate::lead::{Lead, Part};
use crate::tell::Tell;
use crate::track::Track;

/// The state of one lane.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The subagent's tool call; `None` on the main thread.
    pub(crate) parent: Option<String>,
    /// The message whose stream events come now.
    pub(crate) current: Option<usize>,
    pub(crate) messages: Vec<Message>,
    pub(crate) answer: Answer,
    pub(crate) thoughts: Thoughts,
    /// `API Error` text of an unmarked snapshot: an answer only if the run goes on (T6).
    pub(crate) doubtful: Option<(usize, String)>,
    by_id: HashMap<String, usize>,
}

/// The state of one message.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) id: String,
    /// It came as stream events.
    pub(crate) streamed: bool,
    pub(crate) text: Track,
    pub(crate) thinking: Track,
    pub(crate) lead: Lead,
    pub(crate) blocks: Vec<Block>,
    /// Blocks that snapshots have shown.
    pub(crate) shown: u64,
    /// What `message_start` counted.
    pub(crate) usage: Usage,
}

impl Lane {
    pub(crate) fn new(parent: Option<String>) -> Self {
        Self { parent, ..Self::default() }
    }

    /// A message begins to stream; one of the same id before it is another one.
    pub(crate) fn open(&mut self, id: &str) -> usize {
        let at = self.add(id);
        self.messages[at].streamed = true;
        self.current = Some(at);
        at
    }

    /// The message that streams, or a nameless one if none was started.
    pub(crate) fn streaming(&mut self) -> usize {
        match self.current {
            Some(at) => at,
            None => self.open(""),
        }
    }

    /// The message a snapshot belongs to.
    pub(crate) fn find(&mut self, id: &str) -> usize {
        match (self.by_id.get(id), self.current) {
            (Some(at), _) => *at,
            (None, Some(at)) if self.messages[at].id.is_empty() => {
                self.messages[at].id.push_str(id);
                self.by_id.insert(id.to_owned(), at);
                at
            }
            (None, _) => self.add(id),
        }
    }

    /// Whether the message of this id came as stream events.
    pub(crate) fn streams(&self, id: &str) -> bool {
        self.by_id.get(id).is_some_and(|at| self.messages[*at].streamed)
    }

    fn add(&mut self, id: &str) -> usize {
        let at = self.messages.len();
        self.messages.push(Message { id: id.to_owned(), ..Message::default() });
        self.by_id.insert(id.to_owned(), at);
        at
    }

    /// Where calls of a message are announced.
    pub(crate) fn place(&self, at: usize) -> Place<'_> {
        let message = &self.messages[at];
        Place { parent: self.parent.as_deref(), message: &message.id, streamed: message.streamed }
    }

    /// Takes more text of a message and tells what of it is answer and what reasoning (T6).
    pub(crate) fn text(
        &mut self,
        (at, block): (usize, u64),
        write: impl FnOnce(&mut String),
        tell: &mut Tell<'_>,
    ) {
        let message = &mut self.messages[at];
        let piece = message.text.take(write);
        let mut sorted = Sorted {
            at,
            block,
            id: &message.id,
            parent: self.parent.as_deref(),
            answer: &mut self.answer,
            thoughts: &mut self.thoughts,
        };
        message.lead.push(piece, &mut |part| sorted.tell(part, tell));
    }

    /// A text block has ended: nothing of it is withheld any more.
    pub(crate) fn text_ended(&mut self, (at, block): (usize, u64), tell: &mut Tell<'_>) {
        let message = &mut self.messages[at];
        let mut sorted = Sorted {
            at,
            block,
            id: &message.id,
            parent: self.parent.as_deref(),
            answer: &mut self.answer,
            thoughts: &mut self.thoughts,
        };
        message.lead.end(&mut |part| sorted.tell(part, tell));
    }

    /// Takes more reasoning of a message and tells it.
    pub(crate) fn think(
        &mut self,
        (at, block): (usize, u64),
        write: impl FnOnce(&mut String),
        tell: &mut Tell<'_>,
    ) {
        let message = &mut self.messages[at];
        let piece = message.thinking.take(write);
        let parent = self.parent.as_deref();
        self.thoughts.tell((at, block), &message.id, parent, piece, tell);
    }
}

/// Where sorted text goes.
struct Sorted<'a> {
    at: usize,
    block: u64,
    id: &'a str,
    parent: Option<&'a str>,
    answer: &'a mut Answer,
    thoughts: &'a mut Thoughts,
}

impl Sorted<'_> {
    fn tell(&mut self, part: Part<'_>, tell: &mut Tell<'_>) {
        let (id, parent) = (self.id, self.parent);
        match part {
            Part::Visible(piece) => self.answer.tell(self.at, id, parent, piece, tell),
            Part::Reasoning(piece) => {
                self.thoughts.tell((self.at, self.block), id, parent, piece, tell);
            }
        }
    }
}

/// The answer so far (T1), and the marks that the final text needs (T2).
#[derive(Debug, Default)]
pub(crate) struct Answer {
    text: String,
    /// The message of the last piece.
    last: Option<usize>,
    /// A tool call came since the last piece.
    split: bool,
    /// Text came since the last result.
    fresh: bool,
    /// Where the text of this turn begins.
    turn: usize,
    /// Where the text begins that only tool calls have split.
    unsplit: usize,
    /// Where the text begins that nothing has split.
    piece: usize,
}

impl Answer {
    /// A tool call splits the text (T1).
    pub(crate) fn split(&mut self) {
        self.split = true;
    }

    /// Whether a tool call came since the last piece.
    pub(crate) fn is_split(&self) -> bool {
        self.split
    }

    /// A result has used the text so far.
    pub(crate) fn settle(&mut self) {
        self.fresh = false;
    }

    /// What was told since the last result.
    pub(crate) fn since_result(&self) -> &str {
        if self.fresh { self.text[self.turn..].trim() } else { "" }
    }

    /// The final text for a result that says `result` (T2), both trimmed.
    pub(crate) fn final_text<'a>(&'a self, result: &'a str) -> &'a str {
        if result.is_empty() {
            self.since_result()
        } else if self.fresh && self.text[self.piece..].trim() == result {
            self.text[self.unsplit..].trim()
        } else {
            result
        }
    }

    fn tell(
        &mut self,
        at: usize,
        id: &str,
        parent: Option<&str>,
        piece: &str,
        tell: &mut Tell<'_>,
    ) {
        if piece.is_empty() {
            return;
        }
        let start = self.text.len();
        let other_message = self.last.is_some_and(|last| last != at);
        if other_message || self.split {
            part(&mut self.text, piece);
            self.piece = self.text.len();
            if !self.split {
                self.unsplit = self.piece;
            }
        }
        if !self.fresh {
            (self.turn, self.unsplit, self.piece) =
                (self.text.len(), self.text.len(), self.text.len());
        }
        self.text.push_str(piece);
        (self.last, self.split, self.fresh) = (Some(at), false, true);
        let (delta, text) = (&self.text[start..], self.text.as_str());
        tell.event(Event::Text { message_id: id, delta, text, parent });
    }
}

/// The reasoning so far (R1).
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    text: String,
    last: Option<(usize, u64)>,
}

impl Thoughts {
    fn tell(
        &mut self,
        block: (usize, u64),
        id: &str,
        parent: Option<&str>,
        piece: &str,
        tell: &mut Tell<'_>,
    ) {
        if piece.is_empty() {
            return;
        }
        let start = self.text.len();
        if self.last.replace(block).is_some_and(|last| last != block) {
            part(&mut self.text, piece);
        }
        self.text.push_str(piece);
        let (delta, text) = (&self.text[start..], self.text.as_str());
        tell.event(Event::Thinking { message_id: id, block: block.1, delta, text, parent });
    }
}

/// Puts a blank line between a text and the piece to come, counting the line ends both have.
fn part(text: &mut String, piece: &str) {
    if text.is_empty() {
        return;
    }
    let before = text.bytes().rev().take(2).take_while(|b| *b == b'\n').count();
    let after = piece.bytes().take(2).take_while(|b| *b == b'\n').count();
    for _ in (before + after)..2 {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn t1_line_ends_on_both_sides_make_up_the_blank_line() {
        for (text, piece, expect) in [
            ("one", "two", "one\n\n"),
            ("one\n", "two", "one\n\n"),
            ("one\n", "\ntwo", "one\n"),
            ("one", "\n\ntwo", "one"),
            ("one\n\n\n", "two", "one\n\n\n"),
            ("", "two", ""),
        ] {
            let mut parted = text.to_owned();
            part(&mut parted, piece);
            assert_eq!(parted, expect);
        }
    }
}
