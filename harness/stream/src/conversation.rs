//! The state of a conversation, that of the main thread or of one subagent: its messages and its
//! transcript so far (T1, T3, R1).

use crate::block::{BlockContent, BlockState};
use crate::calls::CallSite;
use crate::emitter::Emitter;
use crate::event::Event;
use crate::id_index::IdIndex;
use crate::message::{MessageState, StreamedContent};
use crate::transcript::{BlockId, MessagePlace, RunTranscript, TextKind, TextPiece};

/// Number of messages in a conversation whose text is retained for the comparison with late
/// snapshots. A snapshot of an older message causes no event.
const RETAINED_MESSAGES: usize = 64;

/// Number of messages of which each is looked at to find one by its id. More of them have an index.
const FEW: usize = 16;

/// The state of one conversation. A run may have many subagents, so that little is kept of a silent one.
#[derive(Debug, Default)]
pub(crate) struct ConversationState {
    /// Id of the subagent's tool call; `None` on the main thread.
    pub(crate) parent: Option<Box<str>>,
    /// Index of the message whose stream events come now.
    pub(crate) current: Option<usize>,
    pub(crate) messages: Vec<MessageState>,
    pub(crate) transcript: RunTranscript,
    /// Text that may be an error: either the CLI itself wrote it, or a snapshot begins with `API
    /// Error`, and the record marks no error. It becomes an answer only if the run goes on or ends
    /// well (T6).
    pub(crate) withheld: Option<Box<(usize, String)>>,
    /// Finds the newest message of each id, once there are more than [`FEW`].
    by_id: Option<Box<IdIndex>>,
    /// The newest message that began without an id, even if a snapshot has named it since.
    nameless: Option<usize>,
}

impl ConversationState {
    pub(crate) fn new(parent: Option<Box<str>>) -> Self {
        Self { parent, ..Self::default() }
    }

    /// Returns the index of the last message that has one of these ids.
    pub(crate) fn last_of(&self, ids: &[String]) -> Option<usize> {
        self.messages.iter().rposition(|message| ids.iter().any(|id| **id == *message.id))
    }

    /// Begins a turn with the message at `first`: all before it is dropped. Returns the transcript
    /// of the turn that ends, and the text that was emitted as a part of it and belongs to the turn
    /// that begins.
    pub(crate) fn begin_turn(
        &mut self,
        first: usize,
        emitter: &mut Emitter<'_>,
    ) -> (RunTranscript, Vec<TextPiece>) {
        let mut pieces = self.transcript.pieces_from(first);
        for at in first..self.messages.len() {
            if pieces.iter().any(|piece| piece.by.message == at) {
                self.transcript.retract(&|by| by.message == at);
                self.emit_retract(at, Vec::new(), emitter);
            }
        }
        pieces.iter_mut().for_each(|piece| piece.by.message -= first);
        let parent = self.parent.take();
        let ended = std::mem::replace(self, Self::new(parent));
        self.messages = ended.messages.into_iter().skip(first).collect();
        self.current = ended.current.and_then(|at| at.checked_sub(first));
        (0..self.messages.len()).for_each(|at| self.index(at));
        let mut transcript = ended.transcript;
        if !self.messages.is_empty() {
            (0..transcript.take_splits()).for_each(|_| self.transcript.split());
        }
        (transcript, pieces)
    }

    /// Emits text again that was emitted as a part of the turn before.
    pub(crate) fn emit_again(&mut self, pieces: &[TextPiece], emitter: &mut Emitter<'_>) {
        let splits = self.transcript.take_splits();
        for piece in pieces {
            let id = &*self.messages[piece.by.message].id;
            let place = MessagePlace { id, parent: self.parent.as_deref() };
            self.transcript.emit_again(piece, place, emitter);
        }
        (0..splits).for_each(|_| self.transcript.split());
    }

    /// Adds a message of an ended turn whose snapshot comes late: its text is known already.
    pub(crate) fn add_evicted(&mut self, id: &str) {
        let at = self.add(id);
        let message = &mut self.messages[at];
        (message.streamed, message.evicted) = (true, true);
    }

    /// Retracts the current message if it was left in the middle of a block. The next message is a
    /// second try at it: CLIs up to 2.1.148 print nothing about such a failure.
    pub(crate) fn retract_unfinished(&mut self, emitter: &mut Emitter<'_>) {
        let Some(at) = self.current else { return };
        if self.messages[at].blocks().iter().any(|block| block.is_unfinished()) {
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
        match (self.lookup(id), self.current) {
            (Some(at), _) => at,
            (None, Some(at)) if self.messages[at].id.is_empty() => {
                self.messages[at].id = id.into();
                self.index(at);
                at
            }
            (None, _) => self.add(id),
        }
    }

    /// Returns whether the current message has blocks that have not ended.
    pub(crate) fn has_open_blocks(&self) -> bool {
        self.current.is_some_and(|at| !self.messages[at].blocks().is_empty())
    }

    /// Returns whether the current message was started without an id.
    pub(crate) fn is_nameless(&self) -> bool {
        self.current.is_some_and(|at| self.messages[at].id.is_empty())
    }

    /// Returns the index of the message with this id.
    pub(crate) fn lookup(&self, id: &str) -> Option<usize> {
        match (id, &self.by_id) {
            ("", _) => self.nameless,
            (_, Some(index)) => index.get(id, |at| &self.messages[at].id),
            (_, None) => self.messages.iter().rposition(|message| *message.id == *id),
        }
    }

    /// Returns whether the message with this id came as stream events.
    pub(crate) fn is_streamed(&self, id: &str) -> bool {
        self.lookup(id).is_some_and(|at| self.messages[at].streamed)
    }

    fn add(&mut self, id: &str) -> usize {
        let at = self.messages.len();
        if at == 0 {
            self.messages.reserve_exact(1); // many subagents have one message
        }
        self.messages.push(MessageState::new(id));
        self.index(at);
        if let Some(old) = at.checked_sub(RETAINED_MESSAGES) {
            self.messages[old].evict();
        }
        at
    }

    /// Makes a message the newest of its id.
    fn index(&mut self, at: usize) {
        let Self { messages, by_id, nameless, .. } = self;
        let id_at = |at: usize| &*messages[at].id;
        match by_id {
            _ if id_at(at).is_empty() => *nameless = Some(at),
            Some(index) => drop(index.insert(at, id_at)),
            None if messages.len() > FEW => {
                let index = by_id.insert(Box::default());
                for named in (0..messages.len()).filter(|at| !id_at(*at).is_empty()) {
                    index.insert(named, id_at);
                }
            }
            None => {}
        }
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

    /// Adds what `write` writes to the text of a message and emits it. The answer passes the
    /// think-tag filter, which sorts it into answer and reasoning (T6). `write` gets the open blocks
    /// of the message, too.
    pub(crate) fn add_text(
        &mut self,
        kind: TextKind,
        by: BlockId,
        write: impl FnOnce(&mut [BlockState], &mut String),
        emitter: &mut Emitter<'_>,
    ) {
        let (id, content) = self.messages[by.message].parts();
        let StreamedContent { blocks, consumed, think_tags, .. } = content;
        let piece = consumed[kind as usize].append(|out| write(blocks, out));
        let place = MessagePlace { id, parent: self.parent.as_deref() };
        let transcript = &mut self.transcript;
        match kind {
            TextKind::Answer => think_tags
                .push(piece, &mut |kind, piece| transcript.emit(kind, by, place, piece, emitter)),
            TextKind::Reasoning => transcript.emit(kind, by, place, piece, emitter),
        }
    }

    /// Ends a block of this kind of text: the think-tag filter releases what it withholds.
    pub(crate) fn end_text(&mut self, kind: TextKind, by: BlockId, emitter: &mut Emitter<'_>) {
        if kind == TextKind::Answer {
            let (id, content) = self.messages[by.message].parts();
            let place = MessagePlace { id, parent: self.parent.as_deref() };
            let transcript = &mut self.transcript;
            content
                .think_tags
                .end(&mut |kind, piece| transcript.emit(kind, by, place, piece, emitter));
        }
    }

    /// Retracts the blocks of a message for which `retracted` returns true, and drops those that
    /// are open. Emits an event if any of their content had been emitted.
    pub(crate) fn retract(
        &mut self,
        at: usize,
        retracted: impl Fn(u64) -> bool,
        emitter: &mut Emitter<'_>,
    ) {
        let (message, transcript) = (&mut self.messages[at], &mut self.transcript);
        let mut calls = Vec::new();
        message.blocks_mut().retain_mut(|block| {
            let keep = !retracted(block.index);
            if let (false, BlockContent::Tool(input)) = (keep, &mut block.content) {
                transcript.unsplit();
                calls.extend(input.is_emitted().then(|| std::mem::take(&mut input.id)));
            }
            keep
        });
        let was_any = transcript.retract(&|by| by.message == at && retracted(by.block));
        if was_any || !calls.is_empty() {
            self.emit_retract(at, calls, emitter);
        }
    }

    /// Reports that a message was retracted, and what is left.
    fn emit_retract(&self, at: usize, calls: Vec<String>, emitter: &mut Emitter<'_>) {
        let [answer, reasoning] =
            [TextKind::Answer, TextKind::Reasoning].map(|kind| self.transcript.text(kind));
        emitter.emit(Event::Retract {
            message_id: (&*self.messages[at].id).into(),
            length: answer.length(),
            thinking_length: reasoning.length(),
            calls: calls.into(),
            text: answer.text(),
            thinking: reasoning.text(),
            parent: self.parent.as_deref().map(Into::into),
        });
    }
}
