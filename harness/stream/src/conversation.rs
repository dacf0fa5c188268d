//! One conversation, that of the main thread or of one subagent: its messages, its answer and its
//! reasoning so far (T1, T3, R1).

use std::collections::BTreeMap;

use crate::answer::AnswerText;
use crate::block::{BlockKind, BlockState};
use crate::calls::CallSite;
use crate::emitter::Emitter;
use crate::event::Event;
use crate::outcome::Usage;
use crate::snapshot_reconciler::SnapshotReconciler;
use crate::think_tags::{FilteredText, ThinkTagFilter};
use crate::transcript_buffer::{BlockId, PartJoin, TranscriptBuffer};

/// Number of messages in a conversation whose text is retained for the comparison with late
/// snapshots. A snapshot of an older message causes no event.
const RETAINED_MESSAGES: usize = 64;

/// The state of one conversation.
#[derive(Debug, Default)]
pub(crate) struct ConversationState {
    /// Id of the subagent's tool call; `None` on the main thread.
    pub(crate) parent: Option<String>,
    /// Index of the message whose stream events come now.
    pub(crate) current: Option<usize>,
    pub(crate) messages: Vec<MessageState>,
    pub(crate) answer: AnswerText,
    pub(crate) reasoning: ReasoningText,
    /// Text that may be an error: either the CLI itself said it, or a snapshot begins with `API
    /// Error`, and the record marks no error. It becomes an answer only if the run goes on or ends
    /// well (T6).
    pub(crate) withheld: Option<(usize, String)>,
    by_id: BTreeMap<String, usize>,
}

/// The state of one message.
#[derive(Debug, Default)]
pub(crate) struct MessageState {
    pub(crate) id: String,
    /// The message came as stream events.
    pub(crate) streamed: bool,
    pub(crate) text: SnapshotReconciler,
    pub(crate) thinking: SnapshotReconciler,
    pub(crate) think_tags: ThinkTagFilter,
    pub(crate) blocks: Vec<BlockState>,
    /// Number of blocks that snapshots have shown.
    pub(crate) shown: u64,
    /// Token counts of `message_start`.
    pub(crate) usage: Usage,
    /// The message was evicted from the bounded history; its text is no longer available.
    pub(crate) evicted: bool,
}

impl MessageState {
    /// Returns the index of the block of this type that a snapshot shows now, and counts the block
    /// as shown.
    ///
    /// That is the open block of this type. Without one it is the number of blocks shown before,
    /// because an empty block has no snapshot.
    pub(crate) fn next_shown_index(&mut self, block_type: &str) -> u64 {
        let open =
            self.blocks.iter().find(|block| block.is_of_type(block_type)).map(|block| block.index);
        let index = open.unwrap_or(self.shown);
        self.shown = index + 1;
        index
    }
}

impl ConversationState {
    pub(crate) fn new(parent: Option<String>) -> Self {
        Self { parent, ..Self::default() }
    }

    /// Retracts the current message if it was left in the middle of a block. The next message is a
    /// second try at it: CLIs up to 2.1.148 print nothing about such a failure.
    pub(crate) fn retract_unfinished(&mut self, emitter: &mut Emitter<'_>) {
        let Some(at) = self.current else { return };
        if self.messages[at].blocks.iter().any(|block| block.is_unfinished()) {
            self.retract(at, |_| true, emitter);
        }
    }

    /// Starts a streamed message. An earlier message with the same id is a different one.
    pub(crate) fn start_message(&mut self, id: &str) -> usize {
        let at = self.add(id);
        self.messages[at].streamed = true;
        self.current = Some(at);
        at
    }

    /// Returns the current message, or starts one without an id.
    pub(crate) fn current_or_new(&mut self) -> usize {
        match self.current {
            Some(at) => at,
            None => self.start_message(""),
        }
    }

    /// Returns the message that a snapshot belongs to, and adds it if it is new.
    pub(crate) fn find_or_add(&mut self, id: &str) -> usize {
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

    /// Whether the current message was started without an id.
    pub(crate) fn is_nameless(&self) -> bool {
        self.current.is_some_and(|at| self.messages[at].id.is_empty())
    }

    /// Returns the index of the message with this id.
    pub(crate) fn lookup(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Whether the message with this id came as stream events.
    pub(crate) fn is_streamed(&self, id: &str) -> bool {
        self.lookup(id).is_some_and(|at| self.messages[at].streamed)
    }

    fn add(&mut self, id: &str) -> usize {
        let at = self.messages.len();
        self.messages.push(MessageState { id: id.to_owned(), ..MessageState::default() });
        self.by_id.insert(id.to_owned(), at);
        if let Some(old) = at.checked_sub(RETAINED_MESSAGES) {
            let old = &mut self.messages[old];
            (old.text, old.thinking, old.blocks) = Default::default();
            old.evicted = true;
        }
        at
    }

    /// The place at which the calls of a message are announced.
    pub(crate) fn call_site(&self, at: usize) -> CallSite<'_> {
        let message = &self.messages[at];
        CallSite {
            parent: self.parent.as_deref(),
            message: &message.id,
            streamed: message.streamed,
        }
    }

    /// Adds text to a message and emits it, sorted into answer and reasoning (T6).
    pub(crate) fn add_text(
        &mut self,
        by: BlockId,
        write: impl FnOnce(&mut String),
        emitter: &mut Emitter<'_>,
    ) {
        self.filter_text(by, write, |prefix, piece, out| prefix.push(piece, out), emitter);
    }

    /// Ends a text block: the think-tag filter releases what it withholds.
    pub(crate) fn end_text(&mut self, by: BlockId, emitter: &mut Emitter<'_>) {
        self.filter_text(by, |_| {}, |prefix, _, out| prefix.end(out), emitter);
    }

    fn filter_text(
        &mut self,
        by: BlockId,
        write: impl FnOnce(&mut String),
        prefix: impl FnOnce(&mut ThinkTagFilter, &str, &mut dyn FnMut(FilteredText<'_>)),
        emitter: &mut Emitter<'_>,
    ) {
        let message = &mut self.messages[by.message];
        let piece = message.text.append(write);
        let (id, parent) = (message.id.as_str(), self.parent.as_deref());
        let (answer, thoughts) = (&mut self.answer, &mut self.reasoning);
        prefix(&mut message.think_tags, piece, &mut |part| match part {
            FilteredText::Visible(piece) => answer.emit(by, id, parent, piece, emitter),
            FilteredText::Reasoning(piece) => thoughts.emit(by, id, parent, piece, emitter),
        });
    }

    /// Adds reasoning to a message and emits it.
    pub(crate) fn add_thinking(
        &mut self,
        by: BlockId,
        write: impl FnOnce(&mut String),
        emitter: &mut Emitter<'_>,
    ) {
        let message = &mut self.messages[by.message];
        let piece = message.thinking.append(write);
        self.reasoning.emit(by, &message.id, self.parent.as_deref(), piece, emitter);
    }

    /// Retracts the blocks of a message for which `retracted` returns true, and drops those that
    /// are open. Emits an event if any of their content had been emitted.
    pub(crate) fn retract(
        &mut self,
        at: usize,
        retracted: impl Fn(u64) -> bool,
        emitter: &mut Emitter<'_>,
    ) {
        let (message, answer) = (&mut self.messages[at], &mut self.answer);
        let mut calls = Vec::new();
        message.blocks.retain_mut(|block| {
            let keep = !retracted(block.index);
            if let (false, BlockKind::Tool(input)) = (keep, &mut block.kind) {
                answer.unsplit();
                calls.extend(input.is_emitted().then(|| std::mem::take(&mut input.id)));
            }
            keep
        });
        let named = |by: BlockId| by.message == at && retracted(by.block);
        let from_answer = self.answer.retract(named);
        let from_reasoning = self.reasoning.transcript.retract(named, &mut []);
        if !(from_answer || from_reasoning) && calls.is_empty() {
            return;
        }
        let (answer, thoughts) = (self.answer.transcript(), &self.reasoning.transcript);
        emitter.emit(Event::Retract {
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

/// The reasoning of a conversation so far (R1).
#[derive(Debug, Default)]
pub(crate) struct ReasoningText {
    transcript: TranscriptBuffer,
    last: Option<BlockId>,
}

impl ReasoningText {
    fn emit(
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
        let is_other = self.last.replace(by).is_some_and(|last| last != by);
        let from = self.transcript.add(
            by,
            if is_other { PartJoin::BlankLine } else { PartJoin::Append },
            piece,
        );
        let text = self.transcript.text();
        emitter.emit(Event::Thinking {
            message_id: id.into(),
            block: by.block,
            delta: text[from..].into(),
            length: self.transcript.length(),
            text,
            block_text: self.transcript.since(self.transcript.part_count() - 1),
            parent: parent.map(Into::into),
        });
    }
}
