//! One lane: the main thread, or one subagent. Its messages, its answer and its reasoning so far
//! (T1, T3, R1).

use std::collections::BTreeMap;

use crate::answer::Answer;
use crate::block::{Block, Kind};
use crate::calls::Place;
use crate::event::Event;
use crate::lead::{Lead, Part};
use crate::outcome::Usage;
use crate::said::{By, Join, Said};
use crate::tell::Tell;
use crate::track::Track;

/// How many of a lane's messages keep their text, to be compared with snapshots that come late. Of
/// older ones no snapshot is told any more.
const REMEMBERED: usize = 64;

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
    /// What the CLI itself said, or a snapshot that begins with `API Error`, neither marked as an
    /// error: an answer only if the run goes on, or ends well (T6).
    pub(crate) doubtful: Option<(usize, String)>,
    by_id: BTreeMap<String, usize>,
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
    /// Too many came since: what it said is not known any more.
    pub(crate) forgotten: bool,
}

impl Message {
    /// The index of the block of this type that a snapshot shows now: of the one that is open, else
    /// as many as were shown before (an empty block has no snapshot, and one that has stopped may).
    pub(crate) fn show(&mut self, block_type: &str) -> u64 {
        let open =
            self.blocks.iter().find(|block| block.holds(block_type)).map(|block| block.index);
        let index = open.unwrap_or(self.shown);
        self.shown = index + 1;
        index
    }
}

impl Lane {
    pub(crate) fn new(parent: Option<String>) -> Self {
        Self { parent, ..Self::default() }
    }

    /// Another message comes. Where the one that streams was left in the middle of a block it is
    /// the second try at it (CLIs up to 2.1.148 print nothing of the failure): the first is taken
    /// back.
    pub(crate) fn give_up_unfinished(&mut self, tell: &mut Tell<'_>) {
        let Some(at) = self.current else { return };
        if self.messages[at].blocks.iter().any(|block| block.is_unfinished()) {
            self.take_back(at, |_| true, tell);
        }
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

    /// Whether the message that streams was started without an id.
    pub(crate) fn is_nameless(&self) -> bool {
        self.current.is_some_and(|at| self.messages[at].id.is_empty())
    }

    /// The message of this id, if it is known.
    pub(crate) fn known(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Whether the message of this id came as stream events.
    pub(crate) fn streams(&self, id: &str) -> bool {
        self.known(id).is_some_and(|at| self.messages[at].streamed)
    }

    fn add(&mut self, id: &str) -> usize {
        let at = self.messages.len();
        self.messages.push(Message { id: id.to_owned(), ..Message::default() });
        self.by_id.insert(id.to_owned(), at);
        if let Some(old) = at.checked_sub(REMEMBERED) {
            let old = &mut self.messages[old];
            (old.text, old.thinking, old.blocks) = Default::default();
            old.forgotten = true;
        }
        at
    }

    /// Where calls of a message are announced.
    pub(crate) fn place(&self, at: usize) -> Place<'_> {
        let message = &self.messages[at];
        Place { parent: self.parent.as_deref(), message: &message.id, streamed: message.streamed }
    }

    /// Takes more text of a message and tells what of it is answer and what reasoning (T6).
    pub(crate) fn text(&mut self, by: By, write: impl FnOnce(&mut String), tell: &mut Tell<'_>) {
        self.sort(by, write, |lead, piece, out| lead.push(piece, out), tell);
    }

    /// A text block has ended: nothing of it is withheld any more.
    pub(crate) fn text_ended(&mut self, by: By, tell: &mut Tell<'_>) {
        self.sort(by, |_| {}, |lead, _, out| lead.end(out), tell);
    }

    fn sort(
        &mut self,
        by: By,
        write: impl FnOnce(&mut String),
        lead: impl FnOnce(&mut Lead, &str, &mut dyn FnMut(Part<'_>)),
        tell: &mut Tell<'_>,
    ) {
        let message = &mut self.messages[by.message];
        let piece = message.text.take(write);
        let (id, parent) = (message.id.as_str(), self.parent.as_deref());
        let (answer, thoughts) = (&mut self.answer, &mut self.thoughts);
        lead(&mut message.lead, piece, &mut |part| match part {
            Part::Visible(piece) => answer.tell(by, id, parent, piece, tell),
            Part::Reasoning(piece) => thoughts.tell(by, id, parent, piece, tell),
        });
    }

    /// Takes more reasoning of a message and tells it.
    pub(crate) fn think(&mut self, by: By, write: impl FnOnce(&mut String), tell: &mut Tell<'_>) {
        let message = &mut self.messages[by.message];
        let piece = message.thinking.take(write);
        self.thoughts.tell(by, &message.id, self.parent.as_deref(), piece, tell);
    }

    /// Takes back what the blocks of a message have said that `gone` names, and drops those of
    /// them that are open. It is told if anything that was told is gone.
    pub(crate) fn take_back(&mut self, at: usize, gone: impl Fn(u64) -> bool, tell: &mut Tell<'_>) {
        let (message, answer) = (&mut self.messages[at], &mut self.answer);
        let mut calls = Vec::new();
        message.blocks.retain_mut(|block| {
            let keep = !gone(block.index);
            if let (false, Kind::Tool(input)) = (keep, &mut block.kind) {
                answer.unsplit();
                calls.extend(input.is_told().then(|| std::mem::take(&mut input.id)));
            }
            keep
        });
        let named = |by: By| by.message == at && gone(by.block);
        let said = self.answer.take_back(named);
        let thought = self.thoughts.said.take_back(named, &mut []);
        if !(said || thought) && calls.is_empty() {
            return;
        }
        let (answer, thoughts) = (self.answer.said(), &self.thoughts.said);
        tell.event(Event::Retract {
            message_id: message.id.as_str().into(),
            length: answer.length(),
            thinking_length: thoughts.length(),
            calls: calls.into(),
            text: answer.text(),
            thinking: thoughts.text(),
            parent: self.parent.as_deref().map(Into::into),
        });
    }
}

/// The reasoning so far (R1).
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    said: Said,
    last: Option<By>,
}

impl Thoughts {
    fn tell(&mut self, by: By, id: &str, parent: Option<&str>, piece: &str, tell: &mut Tell<'_>) {
        if piece.is_empty() {
            return;
        }
        let is_other = self.last.replace(by).is_some_and(|last| last != by);
        let from = self.said.add(by, if is_other { Join::Apart } else { Join::On }, piece);
        let text = self.said.text();
        tell.event(Event::Thinking {
            message_id: id.into(),
            block: by.block,
            delta: text[from..].into(),
            length: self.said.length(),
            text,
            block_text: self.said.since(self.said.parts() - 1),
            parent: parent.map(Into::into),
        });
    }
}
