//! Handles `stream_event` records: the API's own events of a message while it streams.

use crate::block::{BlockContent, BlockInput, BlockState, BlockStream, tool_kind};
use crate::calls::{CallName, CallOrigin, CallTable, ResultSource};
use crate::conversation::ConversationState;
use crate::emitter::Emitter;
use crate::event::DiagnosticCode;
use crate::json::{self, JsonField};
use crate::outcome::Usage;
use crate::record::{ApiDelta, ApiEvent, RecordBlock};
use crate::tool_args::SourceArguments;
use crate::transcript::{BlockId, TextKind};

/// The effect of an event on the rest of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventEffect {
    /// A message begins.
    Start,
    /// A message is about to end, for this reason and with these token counts.
    End(MessageEnd, Option<Usage>),
    /// Anything else.
    Other,
}

/// Why a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MessageEnd {
    /// The model had finished, or the reason is unknown.
    #[default]
    Done,
    /// The message reached the limit of output tokens.
    MaxTokens,
    /// The model declined to go on.
    Refusal,
}

impl MessageEnd {
    fn read(reason: JsonField<'_>) -> Self {
        match json::string(reason).as_deref() {
            Some("max_tokens") => Self::MaxTokens,
            Some("refusal") => Self::Refusal,
            _ => Self::Done,
        }
    }
}

/// Handles the event of one record.
pub(crate) fn event(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    api: &ApiEvent<'_>,
    emitter: &mut Emitter<'_>,
) -> EventEffect {
    let kind = json::string(api.kind).unwrap_or_default();
    emitter.stream_event(&kind);
    let index = api.index.and_then(|raw| raw.get().parse::<u64>().ok());
    match (&*kind, index) {
        ("content_block_delta", Some(index)) => {
            let delta = api.delta.as_ref();
            block_delta(conversation, index, delta.unwrap_or(&ApiDelta::default()), emitter);
        }
        ("content_block_start", Some(index)) => {
            block_start(conversation, calls, index, api.block.as_ref(), emitter);
        }
        ("content_block_stop", Some(index)) => block_stop(conversation, calls, index, emitter),
        ("content_block_delta" | "content_block_start" | "content_block_stop", None) => {
            emitter.diagnostic(BAD, "A stream event has no block index", api.raw.get());
        }
        ("message_start", _) => {
            conversation.retract_unfinished(emitter);
            message_end(conversation, calls, emitter);
            let message = api.message.as_ref();
            let id = message.and_then(|message| json::trimmed(message.id));
            let at = conversation.start_message(&id.unwrap_or_default());
            let counts = message.and_then(|message| message.usage.as_ref());
            conversation.messages[at].content().usage =
                counts.map_or_else(Usage::default, |counts| counts.usage(Usage::default()));
            return EventEffect::Start;
        }
        ("message_delta", _) => {
            let at = conversation.current_or_new();
            let base = conversation.messages[at].usage();
            let counts = api.usage.as_ref().map(|counts| counts.usage(base));
            let reason = api.delta.as_ref().and_then(|delta| delta.stop_reason);
            return EventEffect::End(MessageEnd::read(reason), counts);
        }
        ("message_stop", _) => message_end(conversation, calls, emitter),
        ("ping", _) => {}
        _ => emitter.unknown(&format!("stream_event/{kind}"), None, api.raw.get()),
    }
    EventEffect::Other
}

const BAD: DiagnosticCode = DiagnosticCode::BadRecord;

/// Ends the current message and settles all blocks that are still open (U1).
pub(crate) fn message_end(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    emitter: &mut Emitter<'_>,
) {
    if let Some(at) = conversation.current {
        for block in conversation.messages[at].take_blocks() {
            settle(conversation, calls, at, block, emitter);
        }
        conversation.messages[at].end();
    }
}

/// Settles a call whose deltas ended as invalid JSON, because its result has come and no snapshot
/// will repair it.
pub(crate) fn settle_before_result(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    id: &str,
    emitter: &mut Emitter<'_>,
) {
    let Some(at) = conversation.current else { return };
    let blocks = conversation.messages[at].blocks_mut();
    let waits =
        |block: &BlockState| block.is_stopped() && block.tool().is_some_and(|input| input.id == id);
    if let Some(found) = blocks.iter().position(waits) {
        let block = blocks.remove(found);
        settle(conversation, calls, at, block, emitter);
    }
}

fn block_start(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    index: u64,
    block: Option<&RecordBlock<'_>>,
    emitter: &mut Emitter<'_>,
) {
    let at = conversation.current_or_new();
    while let Some(open) = open_block(conversation, at, index) {
        let block = conversation.messages[at].blocks_mut().remove(open);
        settle(conversation, calls, at, block, emitter);
    }
    let Some(part) = block else {
        return emitter.diagnostic(BAD, "A block starts without a content_block", "");
    };
    let kind = json::string(part.kind).unwrap_or_default();
    if let Some(text) = TextKind::of_block(&kind) {
        let stream = BlockStream::new(part.text_of(text).into_owned());
        let content = BlockContent::Text(text, stream);
        return conversation.messages[at].blocks_mut().push(BlockState {
            index,
            content,
            started: true,
        });
    }
    let content = match (&*kind, tool_kind(&kind)) {
        ("redacted_thinking", _) => BlockContent::Quiet,
        (_, Some(tool)) => {
            conversation.transcript.split();
            match (json::trimmed(part.id), json::trimmed(part.name)) {
                (Some(id), Some(_)) if is_repeated_call(conversation, calls, at, &id) => {
                    emitter.diagnostic(BAD_ID, TWICE, part.raw.get());
                    BlockContent::Quiet
                }
                (Some(id), Some(name)) => {
                    BlockContent::Tool(Box::new(BlockInput::new(&id, &name, tool, part.input)))
                }
                _ => {
                    emitter.diagnostic(BAD_ID, NAMELESS_CALL, part.raw.get());
                    BlockContent::Quiet
                }
            }
        }
        (other, None) if other.ends_with("_tool_result") => {
            match json::trimmed(part.call) {
                Some(id) => calls.result(&id, part, ResultSource::Assistant, emitter),
                None => emitter.diagnostic(BAD_ID, NAMELESS_RESULT, part.raw.get()),
            }
            BlockContent::Quiet
        }
        (other, None) => {
            emitter.unknown(&format!("content_block_start/{other}"), None, part.raw.get());
            BlockContent::Unknown
        }
    };
    conversation.messages[at].blocks_mut().push(BlockState { index, content, started: true });
}

/// Returns whether the message already has a call with this id.
fn is_repeated_call(
    conversation: &ConversationState,
    calls: &CallTable,
    at: usize,
    id: &str,
) -> bool {
    let open = |block: &BlockState| block.tool().is_some_and(|input| input.id == id);
    calls.has_call_at(id, conversation.call_site(at))
        || conversation.messages[at].blocks().iter().any(open)
}

const TWICE: &str = "A message calls a tool twice with one id; the second call is left out";
pub(crate) const BAD_ID: DiagnosticCode = DiagnosticCode::BadToolId;
pub(crate) const NAMELESS_CALL: &str = "A tool call without an id or a name is left out";
pub(crate) const NAMELESS_RESULT: &str = "A tool result without the id of its call is left out";

fn block_delta(
    conversation: &mut ConversationState,
    index: u64,
    delta: &ApiDelta<'_>,
    emitter: &mut Emitter<'_>,
) {
    let kind = json::string(delta.kind).unwrap_or_default();
    let unknown = |emitter: &mut Emitter<'_>| {
        emitter.unknown(&format!("content_block_delta/{kind}"), None, delta.raw.get());
    };
    // The kind of text that the delta extends; `None` for the input of a call.
    let (target, added) = match &*kind {
        "text_delta" => (Some(TextKind::Answer), delta.text),
        "thinking_delta" => (TextKind::of_block("thinking"), delta.thinking),
        "input_json_delta" => (None, delta.json),
        "signature_delta" | "citations_delta" => {
            conversation.current_or_new();
            return;
        }
        _ => return unknown(emitter),
    };
    let Some(added) = json::escaped(added) else {
        return emitter.diagnostic(BAD, "A delta carries no string", delta.raw.get());
    };
    let at = conversation.current_or_new();
    let open = match (open_block(conversation, at, index), target) {
        (Some(open), _) => open,
        (None, Some(text)) => {
            let content = BlockContent::Text(text, BlockStream::default());
            let blocks = conversation.messages[at].blocks_mut();
            blocks.push(BlockState { index, content, started: false });
            blocks.len() - 1
        }
        (None, None) => {
            let what = "Input comes for a block that is not open";
            return emitter.diagnostic(BAD, what, delta.raw.get());
        }
    };
    match (target, &mut conversation.messages[at].blocks_mut()[open].content) {
        (None, BlockContent::Tool(input)) => {
            input.append(added, conversation.parent.as_deref(), emitter);
        }
        (Some(target), BlockContent::Text(kind, _)) if target == *kind => {
            let write = |blocks: &mut [BlockState], out: &mut String| {
                if let Some(stream) = blocks[open].text(target) {
                    stream.append(added, out);
                }
            };
            conversation.add_text(target, BlockId { message: at, block: index }, write, emitter);
        }
        (_, BlockContent::Quiet) => {}
        _ => unknown(emitter),
    }
}

fn block_stop(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    index: u64,
    emitter: &mut Emitter<'_>,
) {
    let at = conversation.current_or_new();
    let Some(open) = open_block(conversation, at, index) else { return };
    let mut block = conversation.messages[at].blocks_mut().remove(open);
    if let BlockContent::Tool(input) = &mut block.content {
        input.stop();
        let waits =
            !input.empty_snapshot && !calls.has_call_at(&input.id, conversation.call_site(at));
        if waits && matches!(input.streamed(), SourceArguments::Cut(_)) {
            return conversation.messages[at].blocks_mut().insert(open, block);
        }
    }
    settle(conversation, calls, at, block, emitter);
}

/// Ends a block for good.
fn settle(
    conversation: &mut ConversationState,
    calls: &mut CallTable,
    at: usize,
    block: BlockState,
    emitter: &mut Emitter<'_>,
) {
    let by = BlockId { message: at, block: block.index };
    match block.content {
        BlockContent::Text(kind, mut stream) => {
            conversation.add_text(kind, by, |_, out| stream.close(out), emitter);
            conversation.end_text(kind, by, emitter);
        }
        BlockContent::Tool(mut input) => {
            let place = conversation.call_site(at);
            if !calls.has_call_at(&input.id, place) {
                input.close();
                let call = CallName { id: &input.id, name: &input.name, kind: input.kind };
                calls.start(call, &input.streamed(), CallOrigin::Stream, place, emitter);
            }
        }
        BlockContent::Quiet | BlockContent::Unknown => {}
    }
}

/// Returns the position of the block with this index that has not stopped.
fn open_block(conversation: &ConversationState, at: usize, index: u64) -> Option<usize> {
    let open = |block: &BlockState| block.index == index && !block.is_stopped();
    conversation.messages[at].blocks().iter().rposition(open)
}
