//! Reads `assistant` records, which are snapshots of finished blocks of a message (T4, U1, R1).

use crate::block::{BlockContent, BlockState, tool_kind};
use crate::calls::{CallName, CallOrigin, CallTable, ResultSource};
use crate::conversation::ConversationState;
use crate::emitter::Emitter;
use crate::event::DiagnosticCode;
use crate::json::{self, JsonField};
use crate::message::{MessageState, SnapshotContext};
use crate::record::{MessageBody, RecordBlock};
use crate::stream::{BAD_ID, NAMELESS_CALL, NAMELESS_RESULT};
use crate::tool_args::SourceArguments;
use crate::transcript::{BlockId, TextKind};

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
    /// The CLI had no message to answer.
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

/// Returns whether the CLI wrote the message instead of the model.
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

impl ShownBlocks {
    /// Moves the blocks to a turn that begins with the message at `first`. Returns false if they are
    /// of the turn before.
    pub(crate) fn is_in_turn_from(&mut self, first: usize) -> bool {
        let at = self.message.checked_sub(first);
        self.message = at.unwrap_or_default();
        at.is_some()
    }
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
        (None, _) => conversation.find_or_add(""),
    };
    let (alone, shown) =
        (message.is_single(), ShownBlocks { message: at, blocks: vec![], calls: vec![] });
    let mut record = SnapshotRecord {
        at,
        alone,
        synthetic,
        cursors: [None; 2],
        written: [false; 2],
        cleared: false,
        shown,
    };
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
    conversation.messages[shown.message].begin_again();
    for id in &shown.calls {
        calls.give_up(id, emitter);
    }
}

/// The state of one record while its blocks are read.
struct SnapshotRecord {
    at: usize,
    alone: bool,
    /// The CLI wrote the message instead of the model.
    synthetic: bool,
    /// The end of the last matched block, for each kind of text.
    cursors: [Option<usize>; 2],
    /// Set for each kind of text once its open blocks have written their withheld text.
    written: [bool; 2],
    /// Set once the open blocks have dropped halves of characters.
    cleared: bool,
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
        let MessageState { streamed, evicted, .. } = conversation.messages[self.at];
        if let Some(kind) = TextKind::of_block(&kind) {
            let text = part.text_of(kind);
            let is_empty = text.is_empty() || kind == TextKind::Answer && text == NO_CONTENT;
            if !(is_empty || evicted) {
                self.text(conversation, kind, index, &text, emitter);
            }
            return;
        }
        match (&*kind, tool_kind(&kind)) {
            ("redacted_thinking", _) => {}
            (_, Some(tool)) => match (json::trimmed(part.id), json::trimmed(part.name)) {
                (Some(id), Some(name)) => {
                    let call = CallName { id: &id, name: &name, kind: tool };
                    self.call(conversation, calls, call, part.input, emitter);
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
        kind: TextKind,
        index: u64,
        text: &str,
        emitter: &mut Emitter<'_>,
    ) {
        let here = BlockId { message: self.at, block: index };
        let is_written = std::mem::replace(&mut self.written[kind as usize], true);
        let open = if is_written { 0 } else { conversation.messages[self.at].blocks().len() };
        for open in 0..open {
            let write = |blocks: &mut [BlockState], out: &mut String| {
                if let Some(stream) = blocks[open].text(kind) {
                    stream.write_prefill(out);
                }
            };
            conversation.add_text(kind, here, write, emitter);
        }
        let is_answer = kind == TextKind::Answer;
        let message = &mut conversation.messages[self.at];
        let streamed = message.streamed;
        let context = match streamed {
            true => SnapshotContext::Streamed,
            false if is_answer && self.alone && conversation.transcript.is_split() => {
                SnapshotContext::AfterCall
            }
            false => SnapshotContext::Plain,
        };
        let cursor = &mut self.cursors[kind as usize];
        match message.content().consumed[kind as usize].fit(text, context, cursor) {
            None => emitter.diagnostic(DiagnosticCode::TextMismatch, MISMATCH, text),
            Some(known) if known == text.len() => {}
            Some(known) => {
                let doubtful = self.synthetic || text.starts_with(API_ERROR);
                if is_answer
                    && !streamed
                    && doubtful
                    && known == 0
                    && conversation.withheld.is_none()
                {
                    conversation.withheld = Some(Box::new((self.at, text.to_owned())));
                    return;
                }
                conversation.add_text(kind, here, |_, out| out.push_str(&text[known..]), emitter);
                let content = conversation.messages[self.at].content();
                content.consumed[kind as usize].confirm_all(cursor);
                if !std::mem::replace(&mut self.cleared, true) {
                    content.blocks.iter_mut().for_each(BlockState::clear_carry);
                }
            }
        }
        if !streamed {
            conversation.end_text(kind, here, emitter);
        }
    }

    /// Starts a call with the input of the snapshot, unless that is `{}` and the stream had more.
    fn call(
        &mut self,
        conversation: &mut ConversationState,
        calls: &mut CallTable,
        call: CallName<'_>,
        input: JsonField<'_>,
        emitter: &mut Emitter<'_>,
    ) {
        if !conversation.messages[self.at].streamed {
            conversation.transcript.split();
        }
        self.shown.calls.push(call.id.to_owned());
        let arguments = SourceArguments::read(input);
        let blocks = conversation.messages[self.at].blocks_mut().iter_mut();
        let open = blocks.filter_map(|block| match &mut block.content {
            BlockContent::Tool(input) if input.id == call.id && input.has_input() => Some(input),
            _ => None,
        });
        let (arguments, origin) = match { open }.next() {
            Some(input) if arguments.is_empty() && !input.stopped => {
                input.empty_snapshot = true;
                return;
            }
            Some(input) if arguments.is_empty() => {
                (input.streamed().into_owned(), CallOrigin::Stream)
            }
            input => {
                if let Some(input) = input
                    && !input.equals_deltas(&arguments)
                    && let Some((_, how)) = input.streamed().difference(&arguments)
                {
                    emitter.differs(call.name, &how);
                }
                (arguments, CallOrigin::Snapshot)
            }
        };
        let site = conversation.call_site(self.at);
        calls.start(call, &arguments, origin, site, emitter);
    }
}

const MISMATCH: &str = "A snapshot does not repeat what was streamed; the streamed text stands";

/// Emits text that was withheld because it looks like an API error: the run went on, so it is an
/// answer.
pub(crate) fn release_withheld(conversation: &mut ConversationState, emitter: &mut Emitter<'_>) {
    if let Some((at, text)) = conversation.withheld.take().map(|withheld| *withheld) {
        let by = BlockId { message: at, block: 0 };
        conversation.add_text(TextKind::Answer, by, |_, out| out.push_str(&text), emitter);
        conversation.end_text(TextKind::Answer, by, emitter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_move_to_the_turn_of_their_message() {
        for (message, first, expect) in
            [(3, 1, (true, 2)), (1, 1, (true, 0)), (0, 0, (true, 0)), (0, 1, (false, 0))]
        {
            let mut shown = ShownBlocks { message, blocks: vec![], calls: vec![] };
            let found = (shown.is_in_turn_from(first), shown.message);
            assert_eq!(found, expect, "message {message} of a turn from {first}");
        }
    }
}
