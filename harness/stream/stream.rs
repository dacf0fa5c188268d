//! `stream_event` records: the API's own events of a message while it comes.

use serde_json::value::RawValue;

use crate::block::{Block, Given, Input, Kind, tool_kind};
use crate::calls::{Calls, Side};
use crate::event::{DiagnosticCode, Usage};
use crate::json::{self, Field};
use crate::lane::Lane;
use crate::tell::Tell;
use crate::track::Flow;

/// What the rest of the parser must know of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A message begins.
    Start,
    /// Token counts of a message.
    Usage(Usage),
    /// Anything else.
    Other,
}

/// Reads the event of one record.
pub(crate) fn event(
    lane: &mut Lane,
    calls: &mut Calls,
    event: &RawValue,
    tell: &mut Tell<'_>,
) -> Seen {
    let [kind, index, message, block, delta, usage] =
        json::inner(Some(event), &["type", "index", "message", "content_block", "delta", "usage"]);
    let kind = json::string(kind).unwrap_or_default();
    tell.record("stream_event", Some(&kind));
    let index = index.and_then(|raw| raw.get().parse::<u64>().ok());
    match (&*kind, index) {
        ("content_block_delta", Some(index)) => block_delta(lane, index, delta, tell),
        ("content_block_start", Some(index)) => block_start(lane, calls, (index, block), tell),
        ("content_block_stop", Some(index)) => block_stop(lane, calls, index, tell),
        ("content_block_delta" | "content_block_start" | "content_block_stop", None) => {
            tell.diagnostic(BAD, "A stream event has no block index", event.get());
        }
        ("message_start", _) => {
            message_end(lane, calls, tell);
            let [id, counts] = json::inner(message, &["id", "usage"]);
            let at = lane.open(&json::word(id).unwrap_or_default());
            lane.messages[at].usage = counted(counts, Usage::default());
            return Seen::Start;
        }
        ("message_delta", _) => {
            let at = lane.streaming();
            let base = lane.messages[at].usage;
            return usage.map_or(Seen::Other, |counts| Seen::Usage(counted(Some(counts), base)));
        }
        ("message_stop", _) => message_end(lane, calls, tell),
        ("ping", _) => {}
        _ => tell.unknown(&format!("stream_event/{kind}"), None, event.get()),
    }
    Seen::Other
}

const BAD: DiagnosticCode = DiagnosticCode::BadRecord;

/// Token counts of a `usage` object; what it does not name is taken from `base`.
pub(crate) fn counted(usage: Field<'_>, base: Usage) -> Usage {
    let names =
        ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    let [input, output, read, write] = json::inner(usage, &names);
    let or = |field: Field<'_>, base: u64| field.map_or(base, |_| json::count(field));
    Usage {
        input: or(input, base.input),
        output: or(output, base.output),
        cache_read: or(read, base.cache_read),
        cache_write: or(write, base.cache_write),
    }
}

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
    (index, block): (u64, Field<'_>),
    tell: &mut Tell<'_>,
) {
    let at = lane.streaming();
    while let Some(open) = open_block(lane, at, index) {
        let block = lane.messages[at].blocks.remove(open);
        settle(lane, calls, (at, block), tell);
    }
    let Some(raw) = block else {
        return tell.diagnostic(BAD, "A block starts without a content_block", "");
    };
    let [kind, text, thinking, id, name, input, result_of] =
        json::inner(block, &["type", "text", "thinking", "id", "name", "input", "tool_use_id"]);
    let kind = json::string(kind).unwrap_or_default();
    let seed = |field| Flow::new(json::string(field).unwrap_or_default().into_owned());
    let kind = match (&*kind, tool_kind(&kind)) {
        ("text", _) => Kind::Text(seed(text)),
        ("thinking", _) => Kind::Thinking(seed(thinking)),
        ("redacted_thinking", _) => Kind::Quiet,
        (_, Some(tool)) => {
            lane.answer.split();
            match (json::word(id), json::word(name)) {
                (Some(id), Some(name)) => Kind::Tool(Input::new(&id, &name, tool, input)),
                _ => {
                    tell.diagnostic(BAD_ID, NAMELESS_CALL, raw.get());
                    Kind::Quiet
                }
            }
        }
        (other, None) if other.ends_with("_tool_result") => {
            match json::word(result_of) {
                Some(id) => calls.result(&id, raw, Side::Assistant, tell),
                None => tell.diagnostic(BAD_ID, NAMELESS_RESULT, raw.get()),
            }
            Kind::Quiet
        }
        (other, None) => {
            tell.unknown(&format!("content_block_start/{other}"), None, raw.get());
            Kind::Unknown
        }
    };
    lane.messages[at].blocks.push(Block { index, kind });
}

pub(crate) const BAD_ID: DiagnosticCode = DiagnosticCode::BadToolId;
pub(crate) const NAMELESS_CALL: &str = "A tool call without an id or a name is left out";
pub(crate) const NAMELESS_RESULT: &str = "A tool result without the id of its call is left out";

fn block_delta(lane: &mut Lane, index: u64, delta: Field<'_>, tell: &mut Tell<'_>) {
    let at = lane.streaming();
    let [kind, text, thinking, json] =
        json::inner(delta, &["type", "text", "thinking", "partial_json"]);
    let kind = json::string(kind).unwrap_or_default();
    let piece = match &*kind {
        "text_delta" => text,
        "thinking_delta" => thinking,
        "input_json_delta" => json,
        "signature_delta" | "citations_delta" => return,
        other => {
            let raw = delta.map_or("", RawValue::get);
            return tell.unknown(&format!("content_block_delta/{other}"), None, raw);
        }
    };
    let Some(piece) = json::escaped(piece) else {
        return tell.diagnostic(BAD, "A delta carries no string", delta.map_or("", RawValue::get));
    };
    let open = match (open_block(lane, at, index), &*kind) {
        (Some(open), _) => open,
        (None, "input_json_delta") => {
            let raw = delta.map_or("", RawValue::get);
            return tell.diagnostic(BAD, "Input comes for a block that is not open", raw);
        }
        (None, other) => {
            let flow = Flow::default();
            let kind = if other == "text_delta" { Kind::Text(flow) } else { Kind::Thinking(flow) };
            lane.messages[at].blocks.push(Block { index, kind });
            lane.messages[at].blocks.len() - 1
        }
    };
    let here = (at, index);
    let mut block = std::mem::replace(&mut lane.messages[at].blocks[open].kind, Kind::Quiet);
    match (&*kind, &mut block) {
        ("text_delta", Kind::Text(flow)) => lane.text(here, |out| flow.append(piece, out), tell),
        ("thinking_delta", Kind::Thinking(flow)) => {
            lane.think(here, |out| flow.append(piece, out), tell);
        }
        ("input_json_delta", Kind::Tool(input)) => input.append(piece),
        (_, Kind::Quiet) => {}
        (other, _) => {
            let raw = delta.map_or("", RawValue::get);
            tell.unknown(&format!("content_block_delta/{other}"), None, raw);
        }
    }
    lane.messages[at].blocks[open].kind = block;
}

fn block_stop(lane: &mut Lane, calls: &mut Calls, index: u64, tell: &mut Tell<'_>) {
    let at = lane.streaming();
    let Some(open) = open_block(lane, at, index) else { return };
    if let Kind::Tool(input) = &mut lane.messages[at].blocks[open].kind {
        input.stopped = true;
        let cut = !input.hollow && matches!(input.streamed(), Given::Cut(_));
        let id = input.id.clone();
        if cut && !calls.knows(&id, lane.place(at)) {
            return;
        }
    }
    let block = lane.messages[at].blocks.remove(open);
    settle(lane, calls, (at, block), tell);
}

/// Ends a block for good.
fn settle(lane: &mut Lane, calls: &mut Calls, (at, block): (usize, Block), tell: &mut Tell<'_>) {
    let here = (at, block.index);
    match block.kind {
        Kind::Text(mut flow) => {
            lane.text(here, |out| flow.close(out), tell);
            lane.text_ended(here, tell);
        }
        Kind::Thinking(mut flow) => lane.think(here, |out| flow.close(out), tell),
        Kind::Tool(mut input) => {
            let place = lane.place(at);
            if !calls.knows(&input.id, place) {
                let given = input.streamed();
                calls.start((&input.id, &input.name, input.kind), given.args(), place, tell);
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
