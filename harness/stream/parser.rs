//! The parser: bytes in, events out. Splits lines, reads the head of each record, and hands it
//! to the room that knows its type.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::calls::{Calls, Side};
use crate::ending::{Ending, Verdict};
use crate::event::{DiagnosticCode, Event};
use crate::json::{self, Field};
use crate::lane::Lane;
use crate::lines::{self, Lines};
use crate::notices;
use crate::session::Session;
use crate::snapshot::{self, MadeUp};
use crate::stream::{self, BAD_ID, NAMELESS_RESULT, Seen};
use crate::tell::{Ledger, Stats, Tell};

/// Turns the stdout bytes of one run into lifecycle events.
///
/// ```
/// use clitape_stream::{Event, Parser};
///
/// let mut parser = Parser::new();
/// let mut answer = String::new();
/// let mut sink = |event: Event<'_>| {
///     if let Event::Outcome(outcome) = event {
///         answer.clone_from(&outcome.text);
///     }
/// };
/// parser.feed(b"{\"type\":\"result\",\"subtype\":\"succ", &mut sink);
/// parser.feed(b"ess\",\"result\":\"Hi.\"}\n", &mut sink);
/// parser.finish(&mut sink);
/// assert_eq!(answer, "Hi.");
/// ```
#[derive(Debug, Default)]
pub struct Parser {
    lines: Lines,
    run: Run,
}

impl Parser {
    /// A parser at the start of a run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Feeds bytes, cut anywhere; calls `sink` for every event they complete.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        let Self { lines, run } = self;
        run.ledger.stats.bytes += bytes.len() as u64;
        lines.feed(bytes, &mut |line| run.line(line, true, sink));
    }

    /// End of the bytes: an unterminated last line counts; open calls get incomplete results; the
    /// outcome comes last.
    pub fn finish(self, sink: &mut dyn FnMut(Event<'_>)) -> Stats {
        let mut run = self.run;
        if let Some(line) = self.lines.finish() {
            run.line(&line, false, sink);
        }
        run.finish(sink)
    }

    /// What was read so far.
    pub fn stats(&self) -> &Stats {
        &self.run.ledger.stats
    }
}

/// All that is known of the run.
#[derive(Debug, Default)]
struct Run {
    ledger: Ledger,
    state: State,
}

impl Run {
    fn line(&mut self, bytes: &[u8], whole: bool, sink: &mut dyn FnMut(Event<'_>)) {
        let Self { ledger, state } = self;
        let mut tell = Tell::line(ledger, sink);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        let line = lines::trim(&text);
        if matches!(text, Cow::Owned(_)) {
            let what = "The line has bytes that are not UTF-8, shown as U+FFFD";
            tell.diagnostic(DiagnosticCode::InvalidUtf8, what, line);
        }
        if !line.is_empty() && !state.records(line, &mut tell) {
            let (code, what) = if whole {
                (DiagnosticCode::NotJson, "The line is not a record")
            } else {
                (DiagnosticCode::CutLine, "The output ends within a line")
            };
            tell.diagnostic(code, what, line);
        }
        tell.close();
    }

    fn finish(mut self, sink: &mut dyn FnMut(Event<'_>)) -> Stats {
        let mut tell = Tell::end(&mut self.ledger, sink);
        self.state.finish(&mut tell);
        self.ledger.stats
    }
}

#[derive(Debug)]
struct State {
    /// The main thread first, then each subagent.
    lanes: Vec<Lane>,
    calls: Calls,
    session: Session,
    ending: Ending,
}

impl Default for State {
    fn default() -> Self {
        Self {
            lanes: vec![Lane::default()],
            calls: Calls::default(),
            session: Session::default(),
            ending: Ending::default(),
        }
    }
}

/// The fields every record may have.
struct Head<'a> {
    kind: Field<'a>,
    subtype: Field<'a>,
    event: Field<'a>,
    message: Field<'a>,
    parent: Field<'a>,
    error: Field<'a>,
    api_error: Field<'a>,
    replay: Field<'a>,
    session: [Field<'a>; 4],
}

impl<'a> Head<'a> {
    fn read(record: &'a str) -> Option<Self> {
        let names = [
            "type",
            "subtype",
            "event",
            "message",
            "parent_tool_use_id",
            "error",
            "is_api_error_message",
            "isReplay",
            "session_id",
            "sessionId",
            "conversation_id",
            "conversationId",
        ];
        let [kind, subtype, event, message, parent, error, api_error, replay, a, b, c, d] =
            json::fields(record, &names).ok()?;
        let session = [a, b, c, d];
        Some(Self { kind, subtype, event, message, parent, error, api_error, replay, session })
    }
}

impl State {
    /// Reads a line; false when it is neither a record nor an array of them.
    fn records(&mut self, line: &str, tell: &mut Tell<'_>) -> bool {
        if !line.starts_with('[') {
            return self.record(line, tell);
        }
        let list = json::elements(line).unwrap_or_default();
        let records = !list.is_empty() && list.iter().all(|raw| raw.get().starts_with('{'));
        records && list.iter().all(|raw| self.record(raw.get(), tell))
    }

    fn record(&mut self, record: &str, tell: &mut Tell<'_>) -> bool {
        let Some(head) = Head::read(record) else { return false };
        let kind = json::string(head.kind).unwrap_or_default();
        let subtype = json::string(head.subtype);
        let init = if kind == "system" && subtype.as_deref() == Some("init") { record } else { "" };
        self.session.see(head.session, init, tell);
        match (&*kind, head.event, head.message) {
            ("stream_event", Some(event), _) => self.stream_event(&head, event, tell),
            ("assistant", _, Some(message)) => self.assistant(&head, message, tell),
            ("user", _, Some(message)) => self.user(&head, message, tell),
            ("stream_event" | "assistant" | "user", ..) => {
                tell.record(&kind, None);
                tell.diagnostic(DiagnosticCode::BadRecord, "The record has no body", record);
            }
            ("result", ..) => {
                tell.record(&kind, subtype.as_deref());
                self.result(record, tell);
            }
            _ if !init.is_empty() => tell.record(&kind, subtype.as_deref()),
            _ => {
                if kind == "error" {
                    let [message] = json::inner(head.error, &["message"]);
                    self.ending.api_error = json::word(message).map(|text| text.into_owned());
                }
                notices::notice(&kind, subtype.as_deref(), record, tell);
            }
        }
        true
    }

    fn stream_event(&mut self, head: &Head<'_>, event: &RawValue, tell: &mut Tell<'_>) {
        let at = self.lane(head.parent);
        let lane = &mut self.lanes[at];
        snapshot::release(lane, tell);
        match stream::event(lane, &mut self.calls, event, tell) {
            Seen::Start if at == 0 => self.ending.open = true,
            Seen::Usage(usage) if at == 0 => tell.event(Event::Usage { usage, is_final: false }),
            _ => {}
        }
    }

    fn assistant(&mut self, head: &Head<'_>, message: &RawValue, tell: &mut Tell<'_>) {
        tell.record("assistant", None);
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
                let subtype = Some("api_error");
                tell.event(Event::Notice { kind: "assistant", subtype, detail: &detail });
                if at == 0 {
                    self.ending.api_error = Some(text);
                }
            }
            Some(MadeUp::NoResponse) => self.ending.no_response |= at == 0,
            None => {
                self.ending.open |= at == 0;
                snapshot::assistant(lane, &mut self.calls, message, tell);
            }
        }
    }

    fn user(&mut self, head: &Head<'_>, message: &RawValue, tell: &mut Tell<'_>) {
        tell.record("user", None);
        let at = self.lane(head.parent);
        snapshot::release(&mut self.lanes[at], tell);
        let [content] = json::inner(Some(message), &["content"]);
        if content.is_none() {
            let what = "A user record's message has no content";
            tell.diagnostic(DiagnosticCode::BadRecord, what, message.get());
        }
        let blocks = content.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
        if json::is_true(head.replay) {
            return;
        }
        for block in blocks {
            let [kind, call] = json::inner(Some(block), &["type", "tool_use_id"]);
            let kind = json::string(kind).unwrap_or_default();
            match (&*kind, json::word(call)) {
                ("tool_result", Some(id)) => {
                    if self.calls.awaits_start(&id) {
                        for lane in &mut self.lanes {
                            stream::result_came(lane, &mut self.calls, &id, tell);
                        }
                    }
                    self.calls.result(&id, block, Side::User, tell);
                }
                ("tool_result", None) => tell.diagnostic(BAD_ID, NAMELESS_RESULT, block.get()),
                ("text" | "image" | "document" | "search_result" | "tool_reference", _) => {}
                (other, _) => tell.unknown(&format!("user/{other}"), None, block.get()),
            }
        }
    }

    fn result(&mut self, record: &str, tell: &mut Tell<'_>) {
        let verdict = Verdict::read(record);
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

    fn finish(mut self, tell: &mut Tell<'_>) {
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let (0, Some((_, text))) = (at, lane.doubtful.take()) {
                self.ending.api_error = Some(text);
            }
            stream::message_end(lane, &mut self.calls, tell);
        }
        self.calls.finish(tell);
        let outcome = self.ending.outcome(&self.lanes[0].answer, self.session.into_id());
        tell.event(Event::Outcome(&outcome));
    }

    /// The lane of a record; a subagent's is made when it is first seen (T3).
    fn lane(&mut self, parent: Field<'_>) -> usize {
        let Some(parent) = json::word(parent) else { return 0 };
        let known = self.lanes.iter().rposition(|lane| lane.parent.as_deref() == Some(&*parent));
        known.unwrap_or_else(|| {
            self.lanes.push(Lane::new(Some(parent.into_owned())));
            self.lanes.len() - 1
        })
    }
}
