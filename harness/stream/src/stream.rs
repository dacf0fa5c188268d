//! `stream_event` records: the API's own events of a message while it comes.

use crate::block::{Block, Input, Kind, tool_kind};
use crate::body::Part;
use crate::calls::{Calls, Origin, Side};
use crate::event::DiagnosticCode;
use crate::frame::{Adds, Piece};
use crate::given::Given;
use crate::head::{Api, Delta};
use crate::json::{self, Field};
use crate::lane::Lane;
use crate::outcome::Usage;
use crate::said::By;
use crate::tell::Tell;
use crate::track::Flow;

/// What the rest of the parser must know of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A message begins.
    Start,
    /// A message is about to end: why, and its token counts.
    End(Stop, Option<Usage>),
    /// Anything else.
    Other,
}

/// Why a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stop {
    /// The model had said what it wanted to say, or nothing is known.
    #[default]
    Done,
    /// The limit of output tokens.
    MaxTokens,
    /// The model declined to go on.
    Refusal,
}

impl Stop {
    fn read(reason: Field<'_>) -> Self {
        match json::string(reason).as_deref() {
            Some("max_tokens") => Self::MaxTokens,
            Some("refusal") => Self::Refusal,
            _ => Self::Done,
        }
    }
}

/// Takes the event of one record.
pub(crate) fn event(
    lane: &mut Lane,
    calls: &mut Calls,
    api: &Api<'_>,
    tell: &mut Tell<'_>,
) -> Seen {
    let kind = json::string(api.kind).unwrap_or_default();
    tell.stream_event(&kind);
    let index = api.index.and_then(|raw| raw.get().parse::<u64>().ok());
    match (&*kind, index) {
        ("content_block_delta", Some(index)) => block_delta(lane, index, &api.delta, tell),
        ("content_block_start", Some(index)) => {
            block_start(lane, calls, (index, api.block.as_ref()), tell);
        }
        ("content_block_stop", Some(index)) => block_stop(lane, calls, index, tell),
        ("content_block_delta" | "content_block_start" | "content_block_stop", None) => {
            tell.diagnostic(BAD, "A stream event has no block index", api.raw.get());
        }
        ("message_start", _) => {
            lane.give_up_unfinished(tell);
            message_end(lane, calls, tell);
            let message = api.message.as_ref();
            let id = message.and_then(|message| json::word(message.id));
            let at = lane.open(&id.unwrap_or_default());
            let counts = message.and_then(|message| message.usage.as_ref());
            lane.messages[at].usage =
                counts.map_or_else(Usage::default, |counts| counts.usage(Usage::default()));
            return Seen::Start;
        }
        ("message_delta", _) => {
            let at = lane.streaming();
            let base = lane.messages[at].usage;
            let counts = api.usage.as_ref().map(|counts| counts.usage(base));
            return Seen::End(Stop::read(api.delta.stop_reason), counts);
        }
        ("message_stop", _) => message_end(lane, calls, tell),
        ("ping", _) => {}
        _ => tell.unknown(&format!("stream_event/{kind}"), None, api.raw.get()),
    }
    Seen::Other
}

const BAD: DiagnosticCode = DiagnosticCode::BadRecord;

/// Ends the message that streams: whatever of it still waits is settled (U1).
pub(crate) fn message_end(lane: &mut Lane, calls: &mut Calls, tell: &mut Tell<'_>) {
    if let Some(at) = lane.current {
        for block in std::mem::take(&mut lane.messages[at].blocks) {
            settle(lane, calls, (at, block), tell);
        }
    }
}

/// A result has come for a call whose block stopped as invalid JSON: no snapshot will repair it.
pub(crate) fn result_came(lane: &mut Lane, calls: &mut Calls, id: &str, tell: &mut Tell<'_>) {
    let Some(at) = lane.current else { return };
    let blocks = &mut lane.messages[at].blocks;
    let waits = |block: &Block| matches!(&block.kind, Kind::Tool(i) if i.stopped && i.id == id);
    if let Some(found) = blocks.iter().position(waits) {
        let block = blocks.remove(found);
        settle(lane, calls, (at, block), tell);
    }
}

fn block_start(
    lane: &mut Lane,
    calls: &mut Calls,
    (index, block): (u64, Option<&Part<'_>>),
    tell: &mut Tell<'_>,
) {
    let at = lane.streaming();
    while let Some(open) = open_block(lane, at, index) {
        let block = lane.messages[at].blocks.remove(open);
        settle(lane, calls, (at, block), tell);
    }
    let Some(part) = block else {
        return tell.diagnostic(BAD, "A block starts without a content_block", "");
    };
    let kind = json::string(part.kind).unwrap_or_default();
    let seed = |field| Flow::new(json::string(field).unwrap_or_default().into_owned());
    let kind = match (&*kind, tool_kind(&kind)) {
        ("text", _) => Kind::Text(seed(part.text)),
        ("thinking", _) => Kind::Thinking(seed(part.thinking)),
        ("redacted_thinking", _) => Kind::Quiet,
        (_, Some(tool)) => {
            lane.answer.split();
            match (json::word(part.id), json::word(part.name)) {
                (Some(id), Some(_)) if is_twice(lane, calls, at, &id) => {
                    tell.diagnostic(BAD_ID, TWICE, part.raw.get());
                    Kind::Quiet
                }
                (Some(id), Some(name)) => {
                    Kind::Tool(Box::new(Input::new(&id, &name, tool, part.input)))
                }
                _ => {
                    tell.diagnostic(BAD_ID, NAMELESS_CALL, part.raw.get());
                    Kind::Quiet
                }
            }
        }
        (other, None) if other.ends_with("_tool_result") => {
            match json::word(part.call) {
                Some(id) => calls.result(&id, part, Side::Assistant, tell),
                None => tell.diagnostic(BAD_ID, NAMELESS_RESULT, part.raw.get()),
            }
            Kind::Quiet
        }
        (other, None) => {
            tell.unknown(&format!("content_block_start/{other}"), None, part.raw.get());
            Kind::Unknown
        }
    };
    lane.messages[at].blocks.push(Block { index, kind, started: true });
}

/// Whether the message has a call of this id already.
fn is_twice(lane: &Lane, calls: &Calls, at: usize, id: &str) -> bool {
    let open = |block: &Block| matches!(&block.kind, Kind::Tool(input) if input.id == id);
    calls.knows(id, lane.place(at)) || lane.messages[at].blocks.iter().any(open)
}

const TWICE: &str = "A message calls a tool twice with one id; the second call is left out";
pub(crate) const BAD_ID: DiagnosticCode = DiagnosticCode::BadToolId;
pub(crate) const NAMELESS_CALL: &str = "A tool call without an id or a name is left out";
pub(crate) const NAMELESS_RESULT: &str = "A tool result without the id of its call is left out";

fn block_delta(lane: &mut Lane, index: u64, delta: &Delta<'_>, tell: &mut Tell<'_>) {
    let kind = json::string(delta.kind).unwrap_or_default();
    let unknown = |tell: &mut Tell<'_>| {
        tell.unknown(&format!("content_block_delta/{kind}"), None, delta.text());
    };
    let Some(adds) = Adds::read(&kind) else {
        match &*kind {
            "signature_delta" | "citations_delta" => {
                lane.streaming();
            }
            _ => unknown(tell),
        }
        return;
    };
    let added = match adds {
        Adds::Text => delta.text,
        Adds::Thinking => delta.thinking,
        Adds::Input => delta.json,
    };
    let Some(added) = json::escaped(added) else {
        return tell.diagnostic(BAD, "A delta carries no string", delta.text());
    };
    let at = lane.streaming();
    if open_block(lane, at, index).is_none() {
        let kind = match adds {
            Adds::Text => Kind::Text(Flow::default()),
            Adds::Thinking => Kind::Thinking(Flow::default()),
            Adds::Input => {
                let what = "Input comes for a block that is not open";
                return tell.diagnostic(BAD, what, delta.text());
            }
        };
        lane.messages[at].blocks.push(Block { index, kind, started: false });
    }
    if !add(Piece { index, adds, text: added.into() }, lane, tell) {
        unknown(tell);
    }
}

/// Takes another piece for an open block; false when the block is not one to add it to.
pub(crate) fn piece(lane: &mut Lane, piece: Piece<'_>, tell: &mut Tell<'_>) -> bool {
    let is_taken = add(piece, lane, tell);
    if is_taken {
        tell.stream_event("content_block_delta");
    }
    is_taken
}

/// Adds to the open block of this index; false when there is none, or it holds something else.
fn add(piece: Piece<'_>, lane: &mut Lane, tell: &mut Tell<'_>) -> bool {
    let Piece { index, adds, text } = piece;
    let Some(at) = lane.current else { return false };
    let Some(open) = open_block(lane, at, index) else { return false };
    let by = By { message: at, block: index };
    let block = &mut lane.messages[at].blocks[open].kind;
    if let (Adds::Input, Kind::Tool(input)) = (adds, &mut *block) {
        input.append(text, lane.parent.as_deref(), tell);
        return true;
    }
    let mut block = std::mem::replace(block, Kind::Quiet);
    let is_taken = match (adds, &mut block) {
        (Adds::Text, Kind::Text(flow)) => {
            lane.text(by, |out| flow.append(text, out), tell);
            true
        }
        (Adds::Thinking, Kind::Thinking(flow)) => {
            lane.think(by, |out| flow.append(text, out), tell);
            true
        }
        (_, Kind::Quiet) => true,
        _ => false,
    };
    lane.messages[at].blocks[open].kind = block;
    is_taken
}

fn block_stop(lane: &mut Lane, calls: &mut Calls, index: u64, tell: &mut Tell<'_>) {
    let at = lane.streaming();
    let Some(open) = open_block(lane, at, index) else { return };
    let mut block = lane.messages[at].blocks.remove(open);
    if let Kind::Tool(input) = &mut block.kind {
        input.stop();
        let waits = !input.hollow && !calls.knows(&input.id, lane.place(at));
        if waits && matches!(input.streamed(), Given::Cut(_)) {
            return lane.messages[at].blocks.insert(open, block);
        }
    }
    settle(lane, calls, (at, block), tell);
}

/// Ends a block for good.
fn settle(lane: &mut Lane, calls: &mut Calls, (at, block): (usize, Block), tell: &mut Tell<'_>) {
    let by = By { message: at, block: block.index };
    match block.kind {
        Kind::Text(mut flow) => {
            lane.text(by, |out| flow.close(out), tell);
            lane.text_ended(by, tell);
        }
        Kind::Thinking(mut flow) => lane.think(by, |out| flow.close(out), tell),
        Kind::Tool(mut input) => {
            let place = lane.place(at);
            if !calls.knows(&input.id, place) {
                input.close();
                let call = (input.id.as_str(), input.name.as_str(), input.kind);
                calls.start(call, &input.streamed(), Origin::Stream, place, tell);
            }
        }
        Kind::Quiet | Kind::Unknown => {}
    }
}

/// Where the block of this index is that has not stopped.
fn open_block(lane: &Lane, at: usize, index: u64) -> Option<usize> {
    let open = |block: &Block| {
        block.index == index && !matches!(&block.kind, Kind::Tool(input) if input.stopped)
    };
    lane.messages[at].blocks.iter().rposition(open)
}
