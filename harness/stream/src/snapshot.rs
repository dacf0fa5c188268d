//! Reads `assistant` records, which are snapshots of finished blocks of a message (T4, U1, R1).

use crate::block::{BlockKind, BlockState, tool_kind};
use crate::body::{MessageBody, RecordBlock};
use crate::calls::{CallOrigin, CallTable, ResultSource};
use crate::conversation::ConversationState;
use crate::diagnostic::DiagnosticCode;
use crate::emitter::Emitter;
use crate::event::ToolKind;
use crate::json::{self, JsonField};
use crate::snapshot_reconciler::{SnapshotContext, SnapshotFit};
use crate::stream::{BAD_ID, NAMELESS_CALL, NAMELESS_RESULT};
use crate::tool_args::SourceArguments;
use crate::transcript_buffer::BlockId;

/// Beginning of the text of an API error.
pub(crate) const API_ERROR: &str = "API Error";

/// Text that the CLI shows for an empty block and for a result without text (1.0.128 and 2.0.70).
pub(crate) const NO_CONTENT: &str = "(no content)";

/// Text that the CLI prints as an answer if there was nothing to answer.
const NO_RESPONSE: &str = "No response requested.";

/// A message that the CLI made up instead of the model. Its text is not emitted (T6).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SyntheticMessage {
    /// The text of an API error.
    ApiError(String),
    /// There was nothing to answer.
    NoResponse,
}

/// Returns the kind of a message that the CLI made up, or `None` if the model wrote it. Such a
/// message contains only text and did not come as stream events.
///
/// `marked` is true if the record itself names an error (2.0.70 and later). Older CLIs only leave
/// out the model.
pub(crate) fn synthetic_message(
    conversation: &ConversationState,
    message: &MessageBody<'_>,
    marked: bool,
) -> Option<SyntheticMessage> {
    if !marked && !is_synthetic(message)
        || json::trimmed(message.id).is_some_and(|id| conversation.is_streamed(&id))
    {
        return None;
    }
    let mut text = String::new();
    for part in message.parts()? {
        text.push_str(&json::string(part.text)?);
    }
    match text.trim() {
        NO_RESPONSE => Some(SyntheticMessage::NoResponse),
        text if marked || text.starts_with(API_ERROR) => {
            Some(SyntheticMessage::ApiError(text.to_owned()))
        }
        _ => None,
    }
}

/// Whether the CLI wrote the message instead of the model.
fn is_synthetic(message: &MessageBody<'_>) -> bool {
    json::string(message.model).is_some_and(|model| model == "<synthetic>")
}

/// The blocks that one record has shown, to retract them by the uuid of the record.
#[derive(Debug)]
pub(crate) struct ShownBlocks {
    /// Index of the message in its conversation.
    pub(crate) message: usize,
    /// Indexes of the blocks.
    pub(crate) blocks: Vec<u64>,
    /// Ids of the calls among the blocks.
    pub(crate) calls: Vec<String>,
}

/// Reads the message of one record.
pub(crate) fn assistant(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    message: &MessageBody<'_>,
    emitter: &mut Emitter<'_>,
) -> Option<ShownBlocks> {
    let Some(parts) = message.parts() else {
        let what = "An assistant record's message has no list of blocks";
        emitter.diagnostic(DiagnosticCode::BadRecord, what, message.raw.get());
        return None;
    };
    let synthetic = is_synthetic(message);
    let at = match (json::trimmed(message.id), conversation.current) {
        (Some(id), Some(_))
            if conversation.lookup(&id).is_none() && !conversation.is_nameless() && !synthetic =>
        {
            conversation.retract_unfinished(emitter);
            conversation.find_or_add(&id)
        }
        (Some(id), _) => conversation.find_or_add(&id),
        (None, Some(at)) => at,
        (None, None) => conversation.find_or_add(""),
    };
    let (alone, shown) =
        (message.is_single(), ShownBlocks { message: at, blocks: vec![], calls: vec![] });
    let mut record = SnapshotRecord { at, alone, synthetic, text: None, thinking: None, shown };
    for part in parts {
        record.content_block(conversation, calls, &part, emitter);
    }
    Some(record.shown)
}

/// Retracts the blocks that a record has shown, because another record names it. Later content of
/// the same message is emitted anew.
pub(crate) fn retract(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    shown: &ShownBlocks,
    emitter: &mut Emitter<'_>,
) {
    conversation.retract(shown.message, |block| shown.blocks.contains(&block), emitter);
    let message = &mut conversation.messages[shown.message];
    (message.text, message.thinking, message.streamed) = Default::default();
    for id in &shown.calls {
        calls.give_up(id, emitter);
    }
}

/// The state of one record: how far its blocks have been matched in text and reasoning.
struct SnapshotRecord {
    at: usize,
    alone: bool,
    /// The CLI wrote the message instead of the model.
    synthetic: bool,
    text: Option<usize>,
    thinking: Option<usize>,
    shown: ShownBlocks,
}

impl SnapshotRecord {
    fn content_block(
        &mut self,
        conversation: &mut ConversationState,
        calls: &mut CallTable,
        part: &RecordBlock<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        let kind = json::string(part.kind).unwrap_or_default();
        let index = conversation.messages[self.at].next_shown_index(&kind);
        self.shown.blocks.push(index);
        let forgotten = conversation.messages[self.at].evicted;
        let streamed = conversation.messages[self.at].streamed;
        match (&*kind, tool_kind(&kind)) {
            ("text", _) => {
                let text = json::string(part.text).unwrap_or_default();
                if !(text.is_empty() || text == NO_CONTENT || forgotten) {
                    self.text(conversation, index, &text, emitter);
                }
            }
            ("thinking", _) => {
                let text = json::string(part.thinking).unwrap_or_default();
                if !(text.is_empty() || forgotten) {
                    self.thinking(conversation, index, &text, emitter);
                }
            }
            ("redacted_thinking", _) => {}
            (_, Some(tool)) => match (json::trimmed(part.id), json::trimmed(part.name)) {
                (Some(id), Some(name)) => {
                    self.call(conversation, calls, (&id, &name, tool), part.input, emitter);
                }
                _ if streamed => {}
                _ => emitter.diagnostic(BAD_ID, NAMELESS_CALL, part.raw.get()),
            },
            (other, None) if other.ends_with("_tool_result") => match json::trimmed(part.call) {
                Some(id) => calls.result(&id, part, ResultSource::Assistant, emitter),
                None if streamed => {}
                None => emitter.diagnostic(BAD_ID, NAMELESS_RESULT, part.raw.get()),
            },
            (other, None) => emitter.unknown(&format!("assistant/{other}"), None, part.raw.get()),
        }
    }

    fn text(
        &mut self,
        conversation: &mut ConversationState,
        index: u64,
        text: &str,
        emitter: &mut Emitter<'_>,
    ) {
        let here = BlockId { message: self.at, block: index };
        for_each_block(conversation, self.at, &mut |conversation, kind| {
            if let BlockKind::Text(flow) = kind {
                conversation.add_text(here, |out| flow.write_prefill(out), emitter);
            }
        });
        let message = &mut conversation.messages[self.at];
        let parted = self.alone && !message.streamed && conversation.answer.is_split();
        let how = SnapshotContext { streamed: message.streamed, after_call: parted };
        match message.text.fit(text, how, &mut self.text) {
            SnapshotFit::Differs => {
                emitter.diagnostic(DiagnosticCode::TextMismatch, MISMATCH, text);
            }
            SnapshotFit::From(known) if known == text.len() => {}
            SnapshotFit::From(known) => {
                let doubtful = !message.streamed && (self.synthetic || text.starts_with(API_ERROR));
                if doubtful && known == 0 && conversation.withheld.is_none() {
                    conversation.withheld = Some((self.at, text.to_owned()));
                    return;
                }
                let (new, cursor) = (&text[known..], &mut self.text);
                conversation.add_text(here, |out| out.push_str(new), emitter);
                conversation.messages[self.at].text.confirm_all(cursor);
                clear_carries(conversation, self.at);
            }
        }
        if !conversation.messages[self.at].streamed {
            conversation.end_text(here, emitter);
        }
    }

    fn thinking(
        &mut self,
        conversation: &mut ConversationState,
        index: u64,
        text: &str,
        emitter: &mut Emitter<'_>,
    ) {
        let here = BlockId { message: self.at, block: index };
        for_each_block(conversation, self.at, &mut |conversation, kind| {
            if let BlockKind::Thinking(flow) = kind {
                conversation.add_thinking(here, |out| flow.write_prefill(out), emitter);
            }
        });
        let message = &mut conversation.messages[self.at];
        let how = SnapshotContext { streamed: message.streamed, after_call: false };
        match message.thinking.fit(text, how, &mut self.thinking) {
            SnapshotFit::Differs => {
                emitter.diagnostic(DiagnosticCode::TextMismatch, MISMATCH, text);
            }
            SnapshotFit::From(known) if known == text.len() => {}
            SnapshotFit::From(known) => {
                let (new, cursor) = (&text[known..], &mut self.thinking);
                conversation.add_thinking(here, |out| out.push_str(new), emitter);
                conversation.messages[self.at].thinking.confirm_all(cursor);
                clear_carries(conversation, self.at);
            }
        }
    }

    /// Starts a call with the input of the snapshot, unless that is `{}` and the stream had more.
    fn call(
        &mut self,
        conversation: &mut ConversationState,
        calls: &mut CallTable,
        (id, name, kind): (&str, &str, ToolKind),
        input: JsonField<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        if !conversation.messages[self.at].streamed {
            conversation.answer.split();
        }
        self.shown.calls.push(id.to_owned());
        let arguments = SourceArguments::read(input);
        let open = |block: &BlockState| matches!(&block.kind, BlockKind::Tool(input) if input.id == id && input.has_input());
        let streams = conversation.messages[self.at].blocks.iter().position(open);
        let streams = streams.map(|found| &mut conversation.messages[self.at].blocks[found].kind);
        match streams {
            Some(BlockKind::Tool(streams)) if arguments.is_empty() && !streams.stopped => {
                streams.empty_snapshot = true;
            }
            Some(BlockKind::Tool(streams)) if arguments.is_empty() => {
                let streamed = streams.streamed().into_owned();
                calls.start(
                    (id, name, kind),
                    &streamed,
                    CallOrigin::Stream,
                    conversation.call_site(self.at),
                    emitter,
                );
            }
            streams => {
                if let Some(BlockKind::Tool(streams)) = streams
                    && !streams.equals_deltas(&arguments)
                    && let Some((_, how)) = streams.streamed().difference(&arguments)
                {
                    emitter.differs(name, &how);
                }
                calls.start(
                    (id, name, kind),
                    &arguments,
                    CallOrigin::Snapshot,
                    conversation.call_site(self.at),
                    emitter,
                );
            }
        }
    }
}

const MISMATCH: &str = "A snapshot does not repeat what was streamed; the streamed text stands";

/// Calls `visit` for each streaming block of a message.
fn for_each_block(
    conversation: &mut ConversationState,
    at: usize,
    visit: &mut dyn FnMut(&mut ConversationState, &mut BlockKind),
) {
    let mut blocks = std::mem::take(&mut conversation.messages[at].blocks);
    for block in &mut blocks {
        visit(conversation, &mut block.kind);
    }
    conversation.messages[at].blocks = blocks;
}

fn clear_carries(conversation: &mut ConversationState, at: usize) {
    for block in &mut conversation.messages[at].blocks {
        if let BlockKind::Text(flow) | BlockKind::Thinking(flow) = &mut block.kind {
            flow.clear_carry();
        }
    }
}

/// Emits text that was withheld because it looks like an API error: the run went on, so it is an
/// answer.
pub(crate) fn release_withheld(conversation: &mut ConversationState, emitter: &mut Emitter<'_>) {
    if let Some((at, text)) = conversation.withheld.take() {
        let by = BlockId { message: at, block: 0 };
        conversation.add_text(by, |out| out.push_str(&text), emitter);
        conversation.end_text(by, emitter);
    }
}
