//! `assistant` records: snapshots of one or more finished blocks of a message (T4, U1, R1).

use crate::block::{Block, Kind, tool_kind};
use crate::body::{Body, Part};
use crate::calls::{Calls, Origin, Side};
use crate::event::{DiagnosticCode, ToolKind};
use crate::given::Given;
use crate::json::{self, Field};
use crate::lane::Lane;
use crate::said::By;
use crate::stream::{BAD_ID, NAMELESS_CALL, NAMELESS_RESULT};
use crate::tell::Tell;
use crate::track::{Fit, Snapshot};

/// How the text of an API error begins.
pub(crate) const API_ERROR: &str = "API Error";

/// What the CLI shows for an empty block, and for a result without text (1.0.128 and 2.0.70).
pub(crate) const NO_CONTENT: &str = "(no content)";

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

/// Whether a message was made up by the CLI, and why: it holds nothing but text and did not come
/// as stream events. `marked` says that the record itself names an error (2.0.70 and later); older
/// CLIs only name no model.
pub(crate) fn made_up(lane: &Lane, message: &Body<'_>, marked: bool) -> Option<MadeUp> {
    if !marked && !is_synthetic(message)
        || json::word(message.id).is_some_and(|id| lane.streams(&id))
    {
        return None;
    }
    let mut text = String::new();
    for part in message.parts()? {
        text.push_str(&json::string(part.text)?);
    }
    match text.trim() {
        NO_RESPONSE => Some(MadeUp::NoResponse),
        text if marked || text.starts_with(API_ERROR) => Some(MadeUp::ApiError(text.to_owned())),
        _ => None,
    }
}

/// Whether the CLI speaks, and not the model.
fn is_synthetic(message: &Body<'_>) -> bool {
    json::string(message.model).is_some_and(|model| model == "<synthetic>")
}

/// What one record has shown: named by the record's uuid when it is taken back.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Number of the message in its lane.
    pub(crate) message: usize,
    /// Indexes of its blocks.
    pub(crate) blocks: Vec<u64>,
    /// Ids of the calls among them.
    pub(crate) calls: Vec<String>,
}

/// Reads the message of one record.
pub(crate) fn assistant(
    lane: &mut Lane,
    calls: &mut Calls,
    message: &Body<'_>,
    tell: &mut Tell<'_>,
) -> Option<Shown> {
    let Some(parts) = message.parts() else {
        let what = "An assistant record's message has no list of blocks";
        tell.diagnostic(DiagnosticCode::BadRecord, what, message.raw.get());
        return None;
    };
    let synthetic = is_synthetic(message);
    let at = match (json::word(message.id), lane.current) {
        (Some(id), Some(_)) if lane.known(&id).is_none() && !lane.is_nameless() && !synthetic => {
            lane.give_up_unfinished(tell);
            lane.find(&id)
        }
        (Some(id), _) => lane.find(&id),
        (None, Some(at)) => at,
        (None, None) => lane.find(""),
    };
    let (alone, shown) = (message.is_alone(), Shown { message: at, blocks: vec![], calls: vec![] });
    let mut record = Record { at, alone, synthetic, text: None, thinking: None, shown };
    for part in parts {
        record.part(lane, calls, &part, tell);
    }
    Some(record.shown)
}

/// Takes back what a record has shown: another record of the CLI names it. What comes of the same
/// message later is told anew.
pub(crate) fn take_back(lane: &mut Lane, calls: &mut Calls, shown: &Shown, tell: &mut Tell<'_>) {
    lane.take_back(shown.message, |block| shown.blocks.contains(&block), tell);
    let message = &mut lane.messages[shown.message];
    (message.text, message.thinking, message.streamed) = Default::default();
    for id in &shown.calls {
        calls.give_up(id, tell);
    }
}

/// The state of one record: where the block before ended, in text and reasoning.
struct Record {
    at: usize,
    alone: bool,
    /// The CLI speaks.
    synthetic: bool,
    text: Option<usize>,
    thinking: Option<usize>,
    shown: Shown,
}

impl Record {
    fn part(&mut self, lane: &mut Lane, calls: &mut Calls, part: &Part<'_>, tell: &mut Tell<'_>) {
        let kind = json::string(part.kind).unwrap_or_default();
        let index = lane.messages[self.at].show(&kind);
        self.shown.blocks.push(index);
        let forgotten = lane.messages[self.at].forgotten;
        let streamed = lane.messages[self.at].streamed;
        match (&*kind, tool_kind(&kind)) {
            ("text", _) => {
                let text = json::string(part.text).unwrap_or_default();
                if !(text.is_empty() || text == NO_CONTENT || forgotten) {
                    self.text(lane, index, &text, tell);
                }
            }
            ("thinking", _) => {
                let text = json::string(part.thinking).unwrap_or_default();
                if !(text.is_empty() || forgotten) {
                    self.thinking(lane, index, &text, tell);
                }
            }
            ("redacted_thinking", _) => {}
            (_, Some(tool)) => match (json::word(part.id), json::word(part.name)) {
                (Some(id), Some(name)) => {
                    self.call(lane, calls, (&id, &name, tool), part.input, tell);
                }
                _ if streamed => {}
                _ => tell.diagnostic(BAD_ID, NAMELESS_CALL, part.raw.get()),
            },
            (other, None) if other.ends_with("_tool_result") => match json::word(part.call) {
                Some(id) => calls.result(&id, part, Side::Assistant, tell),
                None if streamed => {}
                None => tell.diagnostic(BAD_ID, NAMELESS_RESULT, part.raw.get()),
            },
            (other, None) => tell.unknown(&format!("assistant/{other}"), None, part.raw.get()),
        }
    }

    fn text(&mut self, lane: &mut Lane, index: u64, text: &str, tell: &mut Tell<'_>) {
        let here = By { message: self.at, block: index };
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
                let doubtful = !message.streamed && (self.synthetic || text.starts_with(API_ERROR));
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
        let here = By { message: self.at, block: index };
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
        self.shown.calls.push(id.to_owned());
        let given = Given::read(input);
        let open = |block: &Block| matches!(&block.kind, Kind::Tool(input) if input.id == id && input.says_something());
        let streams = lane.messages[self.at].blocks.iter().position(open);
        let streams = streams.map(|found| &mut lane.messages[self.at].blocks[found].kind);
        match streams {
            Some(Kind::Tool(streams)) if given.is_empty() && !streams.stopped => {
                streams.hollow = true;
            }
            Some(Kind::Tool(streams)) if given.is_empty() => {
                let streamed = streams.streamed().into_owned();
                calls.start((id, name, kind), &streamed, Origin::Stream, lane.place(self.at), tell);
            }
            streams => {
                if let Some(Kind::Tool(streams)) = streams
                    && !streams.spells(&given)
                    && let Some((_, how)) = streams.streamed().difference(&given)
                {
                    tell.differs(name, &how);
                }
                calls.start((id, name, kind), &given, Origin::Snapshot, lane.place(self.at), tell);
            }
        }
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
        let by = By { message: at, block: 0 };
        lane.text(by, |out| out.push_str(&text), tell);
        lane.text_ended(by, tell);
    }
}
