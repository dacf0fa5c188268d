//! `assistant` records: snapshots of one or more finished blocks of a message (T4, U1, R1).

use serde_json::value::RawValue;

use crate::block::{Given, Kind, tool_kind};
use crate::calls::{Calls, Side};
use crate::event::{DiagnosticCode, ToolKind};
use crate::json::{self, Field};
use crate::lane::Lane;
use crate::stream::{BAD_ID, NAMELESS_CALL, NAMELESS_RESULT};
use crate::tell::Tell;
use crate::track::{Fit, Snapshot};

/// How the text of an API error begins.
pub(crate) const API_ERROR: &str = "API Error";

/// What the CLI shows for an empty block (1.0.128 and 2.0.70).
const NO_CONTENT: &str = "(no content)";

/// What the CLI answers for the model when there was nothing to answer.
const NO_RESPONSE: &str = "No response requested.";

/// A message that the CLI made up: its text is not told (T6).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MadeUp {
    /// The API's error, in words.
    ApiError(String),
    /// There was nothing to answer.
    NoResponse,
}

/// The blocks of a message's `content`; `None` when it is no array.
fn blocks(content: Field<'_>) -> Option<Vec<&RawValue>> {
    content.and_then(|raw| json::elements(raw.get()))
}

/// Whether a message was made up by the CLI, and why: it holds nothing but text and did not come
/// as stream events. `marked` says that the record itself names an error (2.0.70 and later); older
/// CLIs only name no model.
pub(crate) fn made_up(lane: &Lane, message: &RawValue, marked: bool) -> Option<MadeUp> {
    let [id, model, content] = json::inner(Some(message), &["id", "model", "content"]);
    let nameless = json::string(model).is_some_and(|model| model == "<synthetic>");
    if !marked && !nameless || json::word(id).is_some_and(|id| lane.streams(&id)) {
        return None;
    }
    let mut text = String::new();
    for block in blocks(content)? {
        let [part] = json::inner(Some(block), &["text"]);
        text.push_str(&json::string(part)?);
    }
    match text.trim() {
        NO_RESPONSE => Some(MadeUp::NoResponse),
        text if marked || text.starts_with(API_ERROR) => Some(MadeUp::ApiError(text.to_owned())),
        _ => None,
    }
}

/// Reads the message of one record.
pub(crate) fn assistant(
    lane: &mut Lane,
    calls: &mut Calls,
    message: &RawValue,
    tell: &mut Tell<'_>,
) {
    let [id, content] = json::inner(Some(message), &["id", "content"]);
    let Some(blocks) = blocks(content) else {
        let what = "An assistant record's message has no list of blocks";
        return tell.diagnostic(DiagnosticCode::BadRecord, what, message.get());
    };
    let at = match (json::word(id), lane.current) {
        (Some(id), _) => lane.find(&id),
        (None, Some(at)) => at,
        (None, None) => lane.find(""),
    };
    let mut record = Record { at, alone: blocks.len() == 1, text: None, thinking: None };
    for block in blocks {
        record.block(lane, calls, block, tell);
    }
}

/// The state of one record: where the block before ended, in text and reasoning.
struct Record {
    at: usize,
    alone: bool,
    text: Option<usize>,
    thinking: Option<usize>,
}

impl Record {
    fn block(&mut self, lane: &mut Lane, calls: &mut Calls, block: &RawValue, tell: &mut Tell<'_>) {
        let [kind, text, thinking, id, name, input, result_of] = json::inner(
            Some(block),
            &["type", "text", "thinking", "id", "name", "input", "tool_use_id"],
        );
        let kind = json::string(kind).unwrap_or_default();
        let index = lane.messages[self.at].shown;
        lane.messages[self.at].shown += 1;
        let streamed = lane.messages[self.at].streamed;
        match (&*kind, tool_kind(&kind)) {
            ("text", _) => {
                let text = json::string(text).unwrap_or_default();
                if !(text.is_empty() || streamed && text == NO_CONTENT) {
                    self.text(lane, index, &text, tell);
                }
            }
            ("thinking", _) => {
                let text = json::string(thinking).unwrap_or_default();
                if !text.is_empty() {
                    self.thinking(lane, index, &text, tell);
                }
            }
            ("redacted_thinking", _) => {}
            (_, Some(tool)) => match (json::word(id), json::word(name)) {
                (Some(id), Some(name)) => self.call(lane, calls, (&id, &name, tool), input, tell),
                _ if streamed => {}
                _ => tell.diagnostic(BAD_ID, NAMELESS_CALL, block.get()),
            },
            (other, None) if other.ends_with("_tool_result") => match json::word(result_of) {
                Some(id) => calls.result(&id, block, Side::Assistant, tell),
                None if streamed => {}
                None => tell.diagnostic(BAD_ID, NAMELESS_RESULT, block.get()),
            },
            (other, None) => tell.unknown(&format!("assistant/{other}"), None, block.get()),
        }
    }

    fn text(&mut self, lane: &mut Lane, index: u64, text: &str, tell: &mut Tell<'_>) {
        let here = (self.at, index);
        each_flow(lane, self.at, &mut |lane, kind| {
            if let Kind::Text(flow) = kind {
                lane.text(here, |out| flow.sow(out), tell);
            }
        });
        let message = &mut lane.messages[self.at];
        let parted = self.alone && !message.streamed && lane.answer.is_split();
        let how = Snapshot { streamed: message.streamed, parted };
        match message.text.fit(text, how, &mut self.text) {
            Fit::Differs => tell.diagnostic(DiagnosticCode::TextMismatch, MISMATCH, text),
            Fit::From(known) if known == text.len() => {}
            Fit::From(known) => {
                let doubtful = !message.streamed && text.starts_with(API_ERROR);
                if doubtful && known == 0 && lane.doubtful.is_none() {
                    lane.doubtful = Some((self.at, text.to_owned()));
                    return;
                }
                let (new, cursor) = (&text[known..], &mut self.text);
                lane.text(here, |out| out.push_str(new), tell);
                lane.messages[self.at].text.confirm_all(cursor);
                forget_halves(lane, self.at);
            }
        }
        if !lane.messages[self.at].streamed {
            lane.text_ended(here, tell);
        }
    }

    fn thinking(&mut self, lane: &mut Lane, index: u64, text: &str, tell: &mut Tell<'_>) {
        let here = (self.at, index);
        each_flow(lane, self.at, &mut |lane, kind| {
            if let Kind::Thinking(flow) = kind {
                lane.think(here, |out| flow.sow(out), tell);
            }
        });
        let message = &mut lane.messages[self.at];
        let how = Snapshot { streamed: message.streamed, parted: false };
        match message.thinking.fit(text, how, &mut self.thinking) {
            Fit::Differs => tell.diagnostic(DiagnosticCode::TextMismatch, MISMATCH, text),
            Fit::From(known) if known == text.len() => {}
            Fit::From(known) => {
                let (new, cursor) = (&text[known..], &mut self.thinking);
                lane.think(here, |out| out.push_str(new), tell);
                lane.messages[self.at].thinking.confirm_all(cursor);
                forget_halves(lane, self.at);
            }
        }
    }

    /// A call's snapshot starts it, unless all it says is `{}` where the stream said more.
    fn call(
        &mut self,
        lane: &mut Lane,
        calls: &mut Calls,
        (id, name, kind): (&str, &str, ToolKind),
        input: Field<'_>,
        tell: &mut Tell<'_>,
    ) {
        if !lane.messages[self.at].streamed {
            lane.answer.split();
        }
        let mut given = Given::read(input);
        let streams =
            lane.messages[self.at].blocks.iter_mut().find_map(|block| match &mut block.kind {
                Kind::Tool(input) if input.id == id && input.has_deltas() => Some(input),
                _ => None,
            });
        if let (true, Some(streams)) = (given.is_empty(), streams) {
            if !streams.stopped {
                streams.hollow = true;
                return;
            }
            given = streams.streamed();
        }
        calls.start((id, name, kind), given.args(), lane.place(self.at), tell);
    }
}

const MISMATCH: &str = "A snapshot does not repeat what was streamed; the streamed text stands";

/// Visits the blocks that stream in a message.
fn each_flow(lane: &mut Lane, at: usize, visit: &mut dyn FnMut(&mut Lane, &mut Kind)) {
    let mut blocks = std::mem::take(&mut lane.messages[at].blocks);
    for block in &mut blocks {
        visit(lane, &mut block.kind);
    }
    lane.messages[at].blocks = blocks;
}

fn forget_halves(lane: &mut Lane, at: usize) {
    for block in &mut lane.messages[at].blocks {
        if let Kind::Text(flow) | Kind::Thinking(flow) = &mut block.kind {
            flow.forget_half();
        }
    }
}

/// Tells the text that was held because it looks like an API error: the run went on.
pub(crate) fn release(lane: &mut Lane, tell: &mut Tell<'_>) {
    if let Some((at, text)) = lane.doubtful.take() {
        lane.text((at, 0), |out| out.push_str(&text), tell);
        lane.text_ended((at, 0), tell);
    }
}
