//! All that is known of a run: what each record means for its lane, its calls and its end.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::body::Body;
use crate::calls::{Calls, Side};
use crate::ending::Ending;
use crate::event::{DiagnosticCode, Event};
use crate::frame::Frames;
use crate::head::{Api, Head};
use crate::json::{self, Field, Scan};
use crate::lane::Lane;
use crate::notices;
use crate::session::Session;
use crate::snapshot::{self, MadeUp, Shown};
use crate::stream::{self, BAD_ID, NAMELESS_RESULT, Seen, Stop};
use crate::tell::Tell;
use crate::verdict::Verdict;

/// How many records can be named by their uuid, to be taken back.
const NAMED: usize = 256;

/// How the CLI says that the turn was interrupted.
const INTERRUPTED: &str = "[Request interrupted by user";

/// How the CLI asks the model to go on in the middle of a sentence (2.1.100 and later).
const GO_ON: &str = "Output token limit hit";

/// How it asks the model to go on after a stream that broke: the whole blocks stay (2.1.329).
const BROKE_OFF: &str = "cut off mid-stream";

/// The state of one run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The main thread first, then each subagent.
    lanes: Vec<Lane>,
    subagents: BTreeMap<String, usize>,
    /// Records by uuid, with their lane.
    named: VecDeque<(String, usize, Shown)>,
    calls: Calls,
    session: Session,
    ending: Ending,
    frames: Frames,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            lanes: vec![Lane::default()],
            subagents: BTreeMap::new(),
            named: VecDeque::new(),
            calls: Calls::default(),
            session: Session::default(),
            ending: Ending::default(),
            frames: Frames::default(),
        }
    }
}

impl Run {
    /// A run that compares no record with the one before.
    #[cfg(test)]
    pub(crate) fn unframed() -> Self {
        let mut run = Self::default();
        run.frames.are_off = true;
        run
    }

    /// Takes a line; false when it is neither a record nor an array of them.
    pub(crate) fn records(&mut self, line: &str, tell: &mut Tell<'_>) -> bool {
        if !line.starts_with('[') {
            return self.record(line, tell);
        }
        let list = json::elements(line).unwrap_or_default();
        let records = !list.is_empty() && list.iter().all(|raw| raw.get().starts_with('{'));
        records && list.iter().all(|raw| self.record(raw.get(), tell))
    }

    /// Nothing more is read; `why` is a sentence for the person who waits.
    pub(crate) fn stop(&mut self, why: &str) {
        self.ending.limit = Some(why.to_owned());
    }

    fn record(&mut self, record: &str, tell: &mut Tell<'_>) -> bool {
        if self.piece(record, tell) {
            return true;
        }
        let mut head = Head::default();
        let mut scan = Scan::new(record);
        let Ok(begun) = head.begin(&mut scan) else { return false };
        if let Some(event) = &head.event
            && let Some(lane) = self.frames.lane(event, scan)
        {
            self.stream_event(lane, event, None, tell);
            return true;
        }
        if !head.end(begun, scan) {
            return false;
        }
        let kind = json::string(head.kind).unwrap_or_default();
        let subtype = json::string(head.subtype);
        let is_init = kind == "system" && subtype.as_deref() == Some("init");
        let init = is_init.then_some([head.model, head.version]);
        if self.session.see(head.session, init, tell) {
            self.frames.forget();
        }
        match (&*kind, &head.event, &head.message) {
            ("stream_event", Some(event), _) => {
                let lane = self.lane(head.parent);
                self.frames.learn(record, &head, lane);
                self.stream_event(lane, event, head.abandoned, tell);
            }
            ("assistant", _, Some(message)) => self.assistant(&head, message, tell),
            ("user", _, Some(message)) => self.user(&head, message, record, tell),
            ("stream_event" | "assistant" | "user", ..) => {
                tell.record(&kind, None);
                tell.diagnostic(DiagnosticCode::BadRecord, "The record has no body", record);
            }
            ("result", ..) => {
                tell.record(&kind, subtype.as_deref());
                self.result(&head, tell);
            }
            _ if is_init => {
                tell.record(&kind, subtype.as_deref());
                notices::pass(&kind, subtype.as_deref(), record, tell);
            }
            _ => {
                if kind == "error" {
                    let [message] = json::inner(head.error, &["message"]);
                    self.ending.api_error = json::word(message).map(|text| text.into_owned());
                }
                notices::notice(&kind, subtype.as_deref(), record, tell);
                self.retract(head.retracted, tell);
            }
        }
        true
    }

    /// Takes a piece of a block, when its record is framed like one before; false when it is not.
    fn piece(&mut self, record: &str, tell: &mut Tell<'_>) -> bool {
        let Some((lane, piece)) = self.frames.piece(record) else { return false };
        let lane = &mut self.lanes[lane];
        snapshot::release(lane, tell);
        stream::piece(lane, piece, tell)
    }

    /// Takes a stream event of the lane of this number.
    fn stream_event(
        &mut self,
        at: usize,
        event: &Api<'_>,
        abandoned: Field<'_>,
        tell: &mut Tell<'_>,
    ) {
        let lane = &mut self.lanes[at];
        snapshot::release(lane, tell);
        if abandoned.is_some() {
            abandon(lane, abandoned, tell);
        }
        match stream::event(lane, &mut self.calls, event, tell) {
            Seen::Start if at == 0 => (self.ending.open, self.ending.stop) = (true, Stop::Done),
            Seen::End(stop, usage) => {
                if stop == Stop::MaxTokens {
                    lane.answer.goes_on();
                }
                if at == 0 {
                    self.ending.stop = stop;
                    if let Some(usage) = usage {
                        tell.event(Event::Usage { usage, is_final: false });
                    }
                }
            }
            _ => {}
        }
    }

    fn assistant(&mut self, head: &Head<'_>, message: &Body<'_>, tell: &mut Tell<'_>) {
        tell.record("assistant", None);
        self.retract(head.supersedes, tell);
        let at = self.lane(head.parent);
        let lane = &mut self.lanes[at];
        snapshot::release(lane, tell);
        let marked = json::is_true(head.api_error) || json::word(head.error).is_some();
        match snapshot::made_up(lane, message, marked) {
            Some(MadeUp::ApiError(text)) => {
                let mut detail = Map::new();
                detail.insert("text".to_owned(), Value::String(text.clone()));
                if let Some(error) = json::word(head.error) {
                    detail.insert("error".to_owned(), Value::String(error.into_owned()));
                }
                notices::of_message("api_error", detail, lane.parent.as_deref(), tell);
                if at == 0 {
                    self.ending.api_error = Some(text);
                }
            }
            Some(MadeUp::NoResponse) => self.ending.no_response |= at == 0,
            None => {
                self.ending.open |= at == 0;
                let shown = snapshot::assistant(lane, &mut self.calls, message, tell);
                if let (Some(shown), Some(uuid)) = (shown, json::word(head.uuid)) {
                    self.named.push_back((uuid.into_owned(), at, shown));
                    self.named.drain(..self.named.len().saturating_sub(NAMED));
                }
            }
        }
        if json::is_true(head.aborted) {
            let id =
                json::word(message.id).map(|id| ("message_id".to_owned(), id.into_owned().into()));
            let parent = self.lanes[at].parent.as_deref();
            notices::of_message("aborted", Map::from_iter(id), parent, tell);
            self.ending.interrupted |= at == 0;
        }
    }

    fn user(&mut self, head: &Head<'_>, message: &Body<'_>, record: &str, tell: &mut Tell<'_>) {
        tell.record("user", None);
        let at = self.lane(head.parent);
        snapshot::release(&mut self.lanes[at], tell);
        let content = message.content;
        if content.is_none() {
            let what = "A user record's message has no content";
            tell.diagnostic(DiagnosticCode::BadRecord, what, message.raw.get());
        }
        if json::is_true(head.replay) {
            return notices::pass("user", None, record, tell);
        }
        let mut says = json::string(content);
        let mut told = content.is_none();
        for part in message.parts().into_iter().flatten() {
            let kind = json::string(part.kind).unwrap_or_default();
            match (&*kind, json::word(part.call)) {
                ("tool_result", Some(id)) => {
                    told = true;
                    if self.calls.awaits_start(&id) {
                        for lane in &mut self.lanes {
                            stream::result_came(lane, &mut self.calls, &id, tell);
                        }
                    }
                    self.calls.result(&id, &part, Side::User, tell);
                }
                ("tool_result", None) => {
                    told = true;
                    tell.diagnostic(BAD_ID, NAMELESS_RESULT, part.raw.get());
                }
                ("text", _) => says = says.or_else(|| json::string(part.text)),
                ("image" | "document" | "search_result" | "tool_reference", _) => {}
                (other, _) => {
                    told = true;
                    tell.unknown(&format!("user/{other}"), None, part.raw.get());
                }
            }
        }
        if let Some(refused) = json::word(head.refused)
            && let Some(refused) = self.lanes[at].known(&refused)
        {
            self.lanes[at].take_back(refused, |_| true, tell);
        }
        let says = says.unwrap_or_default();
        self.ending.interrupted |= at == 0 && says.starts_with(INTERRUPTED);
        if json::is_true(head.synthetic) {
            let answer = &mut self.lanes[at].answer;
            if says.contains(GO_ON) {
                answer.goes_on();
            } else if says.contains(BROKE_OFF) {
                answer.split();
            }
        }
        if !told {
            notices::pass("user", None, record, tell);
        }
    }

    fn result(&mut self, head: &Head<'_>, tell: &mut Tell<'_>) {
        let verdict = Verdict::read(head);
        let main = &mut self.lanes[0];
        if verdict.failed {
            main.doubtful = None;
        }
        snapshot::release(main, tell);
        stream::message_end(main, &mut self.calls, tell);
        if let Some(usage) = verdict.usage {
            tell.event(Event::Usage { usage, is_final: true });
        }
        self.ending.take(&verdict, &mut main.answer, self.calls.count());
    }

    /// The end of the bytes; `silent` says that there were none.
    pub(crate) fn finish(mut self, silent: bool, tell: &mut Tell<'_>) {
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let (0, Some((_, text))) = (at, lane.doubtful.take()) {
                self.ending.api_error = Some(text);
            }
            stream::message_end(lane, &mut self.calls, tell);
        }
        self.calls.finish(tell);
        let outcome = self.ending.outcome(&self.lanes[0].answer, self.session.into_id(), silent);
        tell.event(Event::Outcome(std::borrow::Cow::Owned(outcome)));
    }

    /// Takes back the records whose uuids are listed.
    fn retract(&mut self, uuids: Field<'_>, tell: &mut Tell<'_>) {
        let uuids = uuids.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
        for uuid in uuids.into_iter().filter_map(|raw| json::word(Some(raw))) {
            if let Some(found) = self.named.iter().position(|(name, ..)| *name == uuid)
                && let Some((_, at, shown)) = self.named.remove(found)
            {
                snapshot::take_back(&mut self.lanes[at], &mut self.calls, &shown, tell);
            }
        }
    }

    /// The lane of a record; a subagent's is made when it is first seen (T3).
    fn lane(&mut self, parent: Field<'_>) -> usize {
        let Some(parent) = json::word(parent) else { return 0 };
        if let Some(at) = self.subagents.get(&*parent) {
            return *at;
        }
        self.subagents.insert(parent.clone().into_owned(), self.lanes.len());
        self.lanes.push(Lane::new(Some(parent.into_owned())));
        self.lanes.len() - 1
    }
}

/// Takes back the blocks of a message that will never be whole: the CLI has made up its end.
fn abandon(lane: &mut Lane, blocks: Field<'_>, tell: &mut Tell<'_>) {
    let [id, from] = json::inner(blocks, &["api_message_id", "from_block_index"]);
    let known = json::word(id).and_then(|id| lane.known(&id));
    if let Some(at) = known.or(lane.current) {
        let from = json::count(from);
        lane.take_back(at, |block| block >= from, tell);
    }
}
