//! The trace of a replay: listens to the parts of the gateway, and writes what they say as entries of their lanes, in
//! the order in which things happen.
//!
//! - `lifecycle`: the parser's events, as they serialise.
//! - `bus`: the envelope's `seq` and `run_id`, then the event's own fields; the kind is the stream.
//! - `acp`: the kind is the `sessionUpdate` tag, the data is the rest. A request to the client has the last part
//!   of its method as the kind, such as `request_permission`. The answer to `session/prompt` comes last, as
//!   `response`.
//! - `sse`: the kind is the event's name, the data its own, without the time, which the entry says. Last comes
//!   `collected`, what the collector makes of those very events (S2). A turn with many calls has several: each has the
//!   calls that came after the one before, and the last has the answer. A [`StreamReading`] adds entries of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_gateway::acp::{AcpConverter, AcpSettings, TurnEnd, Update};
use clitape_gateway::question::{Choice, Closing, Question, QuestionKind};
use clitape_gateway::sse::{
    Broker, BrokerLimits, Collected, Collector, LocalEndpoint, LocalReader, LocalRefusal,
    PostedAnswer, ServerSettings, SseConverter, SseEvent, SseFrame, StreamFeed, StreamLifetime,
    TurnProgress,
};
use clitape_gateway::{BusData, BusEvent, Delivery, Notice, Phase, RunReport, Tool};
use clitape_recording::cassette::canon::MachineFolder;
use clitape_recording::scenario::{AcpClient, StreamBreak};
use clitape_recording::trace::{Entry, Lane, millis, object};
use clitape_stream::Event;
use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

/// The kind and the particulars of an entry, which traces share.
pub(super) type EntryParts = (Cow<'static, str>, Arc<Map<String, Value>>);

/// The trace as it is written; clones write to the same one.
#[derive(Clone)]
pub(super) struct TraceLog {
    began: Instant,
    written: Arc<Mutex<BufferedEntries>>,
}

/// The entries that are written and not yet taken.
#[derive(Default)]
struct BufferedEntries {
    entries: VecDeque<Entry>,
    /// The number of entries that were given away before them.
    given: usize,
    /// The indices of the entries that may still change.
    open: BTreeSet<usize>,
}

impl TraceLog {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), written: Arc::default() }
    }

    /// The milliseconds since the replay began.
    pub(super) fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// Adds an entry, and returns its index in the trace.
    pub(super) fn add(
        &self,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: impl Into<Arc<Map<String, Value>>>,
    ) -> usize {
        let at = self.now();
        let mut written = self.written();
        written.entries.push_back(Entry::new(at, lane, kind, data));
        written.given + written.entries.len() - 1
    }

    /// Adds an entry that may still change, until [`close`](Self::close). Returns its index in the trace.
    pub(super) fn add_open(
        &self,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: impl Into<Arc<Map<String, Value>>>,
    ) -> usize {
        let index = self.add(lane, kind, data);
        self.written().open.insert(index);
        index
    }

    /// Changes the data of the entry with this index, unless the entry was taken.
    pub(super) fn change(&self, index: usize, change: impl FnOnce(&mut Map<String, Value>)) {
        let mut written = self.written();
        let place = index.checked_sub(written.given);
        if let Some(entry) = place.and_then(|place| written.entries.get_mut(place)) {
            change(entry.data_mut());
        }
    }

    /// Says that the entry with this index does not change any more.
    pub(super) fn close(&self, index: usize) {
        self.written().open.remove(&index);
    }

    /// Gives the next entry away, unless it or one before it may still change.
    pub(super) fn settled(&self) -> Option<Entry> {
        let mut written = self.written();
        if written.open.first() == Some(&written.given) {
            return None;
        }
        let entry = written.entries.pop_front()?;
        written.given += 1;
        Some(entry)
    }

    /// Adds the entry that names the messages with the final text of a turn, for the one channel.
    pub(super) fn final_message(&self, report: &RunReport, turn: u64) {
        let Some(channel) = report.channels.first() else { return };
        let (delivery, message_ids, reason) = match &channel.final_delivered {
            Delivery::Nobody => return,
            Delivery::Sent { message_ids } => ("sent", message_ids.clone(), None),
            Delivery::AlreadyShown { message_id } => ("already-shown", vec![*message_id], None),
            Delivery::ByTool => ("by-tool", Vec::new(), None),
            Delivery::Failed { reason } => ("failed", Vec::new(), Some(reason)),
        };
        let mut data = object(json!({ "delivery": delivery, "message_ids": message_ids }));
        if let Some(reason) = reason {
            data.insert("reason".into(), reason.as_str().into());
        }
        if let Some(why) = &channel.first_failure {
            data.insert("callback_failures".into(), channel.callback_failures.into());
            data.insert("first_failure".into(), why.as_str().into());
        }
        data.extend(turn_field(turn));
        self.add(Lane::Telegram, "final", data);
    }

    /// Gives away what is left.
    pub(super) fn take(&self) -> Vec<Entry> {
        let mut written = self.written();
        written.given += written.entries.len();
        written.open.clear();
        std::mem::take(&mut written.entries).into()
    }

    fn written(&self) -> MutexGuard<'_, BufferedEntries> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The field with the turn of an entry of a chat; entries of the first turn have none.
pub(super) fn turn_field(turn: u64) -> Option<(String, Value)> {
    (turn > 1).then(|| ("turn".to_owned(), turn.into()))
}

/// The bytes of the events of calls of which an entry `collected` is made at the latest, so that a replay of a long
/// turn does not keep all of them.
const COLLECTED_PART: u64 = 256 * 1_024;

/// The listeners of all turns of a replay, and what they share.
#[derive(Clone)]
pub(super) struct Listeners {
    log: TraceLog,
    /// The session of the ACP client, if there is one.
    editor: Option<Arc<Mutex<TurnByTurn<AcpConverter>>>>,
}

impl Listeners {
    /// Listens for an ACP client, if there is one.
    pub(super) fn new(log: TraceLog, client: Option<AcpClient>) -> Self {
        let editor = |client| Arc::new(Mutex::new(TurnByTurn::new(acp_session(client))));
        Self { log, editor: client.map(editor) }
    }

    /// The listener of the bus of a turn, with an event stream unless the run is silent.
    pub(super) fn of_turn(&self, turn: u64, is_silent: bool) -> TurnListener {
        TurnListener {
            shared: self.clone(),
            turn,
            stream: (!is_silent).then(|| EventStream {
                converter: SseConverter::new(),
                collector: Collector::new(),
                is_over: false,
            }),
        }
    }
}

/// Listens to the bus of one turn.
pub(super) struct TurnListener {
    shared: Listeners,
    turn: u64,
    stream: Option<EventStream>,
}

impl TurnListener {
    /// Writes the entries of an event of the bus.
    pub(super) fn on(&mut self, event: &BusEvent) {
        let Self { shared: Listeners { log, editor }, turn, stream } = self;
        log.add(Lane::Bus, event.stream(), bus_data(event));
        if let Some(editor) = editor {
            lock(editor).on(*turn, event, |session, event| {
                for (kind, data) in acp_entries(session, event) {
                    log.add(Lane::Acp, kind, data);
                }
            });
        }
        if let Some(stream) = stream {
            for (kind, data) in stream.on(*turn, event) {
                log.add(Lane::Sse, kind, data);
            }
        }
    }

    /// Writes what the collector makes of the stream, if the stream is over.
    pub(super) fn collect(&mut self) {
        let Self { shared, turn, stream } = self;
        if let Some(collected) = stream.as_mut().and_then(|stream| stream.collected(*turn)) {
            shared.log.add(Lane::Sse, COLLECTED, collected);
        }
    }
}

/// The event stream of a turn, and a collector that reads it to its end.
struct EventStream {
    converter: SseConverter,
    collector: Collector,
    is_over: bool,
}

impl EventStream {
    /// Returns the entries of an event.
    fn on(&mut self, turn: u64, event: &BusEvent) -> Vec<EntryParts> {
        let Self { converter, collector, is_over, .. } = self;
        let mut entries = Vec::new();
        for (name, mut data) in sse_entries(converter, event) {
            if !*is_over {
                let text = serde_json::to_string(&data).unwrap_or_default();
                let frame = SseFrame { id: None, name: name.to_owned(), data: text };
                *is_over = collector.on(&frame) != TurnProgress::Open;
            }
            data.extend(turn_field(turn));
            entries.push((name.into(), data.into()));
            if collector.retained_bytes() >= COLLECTED_PART {
                let mut part = Collected::default();
                part.metadata = collector.take_metadata();
                entries.push((COLLECTED.into(), collected_of_turn(turn, &part)));
            }
        }
        entries
    }

    /// Returns what the collector makes of the stream; `None` as long as the stream is not over.
    fn collected(&mut self, turn: u64) -> Option<Arc<Map<String, Value>>> {
        let collector = self.is_over.then(|| std::mem::take(&mut self.collector))?;
        Some(collected_of_turn(turn, &collector.collected()))
    }
}

/// Data of the entry of what was collected of a turn.
fn collected_of_turn(turn: u64, collected: &Collected) -> Arc<Map<String, Value>> {
    let mut data = collected_data(collected);
    data.extend(turn_field(turn));
    data.into()
}

/// Something that outlives a turn, such as the session of an ACP client, and gets the turns one after another.
pub(super) struct TurnByTurn<S> {
    pub(super) state: S,
    /// The turn whose events it gets.
    turn: u64,
    /// The events of later turns.
    waiting: BTreeMap<u64, Vec<BusEvent>>,
}

impl<S> TurnByTurn<S> {
    pub(super) fn new(state: S) -> Self {
        Self { state, turn: 1, waiting: BTreeMap::new() }
    }

    /// Gives `hand` an event of `turn` once it is that turn's time, and later events that waited for it.
    pub(super) fn on(
        &mut self,
        turn: u64,
        event: &BusEvent,
        mut hand: impl FnMut(&mut S, &BusEvent),
    ) {
        if turn != self.turn {
            self.waiting.entry(turn).or_default().push(event.clone());
            return;
        }
        hand(&mut self.state, event);
        let mut is_over = is_end(event);
        while is_over {
            self.turn += 1;
            let events = self.waiting.remove(&self.turn).unwrap_or_default();
            for event in &events {
                hand(&mut self.state, event);
            }
            is_over = events.last().is_some_and(is_end);
        }
    }
}

/// Returns whether this event is the last one of its turn.
fn is_end(event: &BusEvent) -> bool {
    matches!(event.data, BusData::Lifecycle(Phase::End { .. } | Phase::Error { .. }))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kind of the entries with what a reader of an event stream has collected.
const COLLECTED: &str = "collected";

/// Kind and data of the entry for `event`; none for a record without an event of its own.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(super) fn lifecycle_entry(event: &Event<'_>) -> Option<(String, Map<String, Value>)> {
    if matches!(event, Event::Record { .. }) {
        return None;
    }
    let event = serde_json::to_value(event).expect("strings, numbers and JSON serialise");
    let mut entry = object(event);
    let kind = entry.remove("kind")?.as_str()?.to_owned();
    Some((kind, object(entry.remove("data").unwrap_or_default())))
}

/// Data of the entry of what a reader of an event stream has collected.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn collected_data(collected: &Collected) -> Map<String, Value> {
    let collected = serde_json::to_value(collected);
    object(collected.expect("a struct of texts and numbers serialises"))
}

/// Data of the entry of the bus for `event`.
fn bus_data(event: &BusEvent) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("seq".into(), event.seq.into());
    data.insert("run_id".into(), event.run_id.as_ref().into());
    let own = match &event.data {
        BusData::Assistant { message_id, delta, length, parent }
        | BusData::Thinking { message_id, delta, length, parent } => json!({
            "message_id": message_id, "delta": delta, "length": length, "parent": parent,
        }),
        BusData::Retract { length, thinking_length, calls, parent, .. } => json!({
            "retract": true, "length": length, "thinking_length": thinking_length,
            "calls": Some(calls).filter(|calls| !calls.is_empty()), "parent": parent,
        }),
        BusData::Tool(tool) => tool_fields(tool),
        BusData::Notice(Notice { kind, subtype, detail }) => json!({
            "type": kind, "subtype": subtype, "detail": detail,
        }),
        BusData::Question(question) => asked(question),
        BusData::QuestionWaits(waits) => json!({
            "waits": {
                "id": waits.id, "after_ms": millis(waits.after),
                "denied_in_ms": millis(waits.denied_in),
            },
        }),
        BusData::QuestionClosed(closed) => json!({
            "closed": present(json!({
                "id": closed.id, "how": closed.closing.as_str(), "answers": answers(&closed.closing),
                "message": denial(&closed.closing), "by": closed.by,
            })),
        }),
        BusData::Heard { id, text } => json!({ "id": id, "text": text }),
        BusData::Lifecycle(Phase::Start) => json!({ "phase": "start" }),
        BusData::Lifecycle(Phase::End { text }) => json!({ "phase": "end", "text": text }),
        BusData::Lifecycle(Phase::Error { kind, message }) => {
            json!({ "phase": "error", "error": { "kind": kind.as_str(), "message": message } })
        }
        other => json!({ "raw": format!("{other:?}") }),
    };
    data.extend(object(own).into_iter().filter(|(_, value)| !value.is_null()));
    data
}

/// The fields of a question that are there.
fn asked(question: &Question) -> Value {
    let kind = match &question.kind {
        QuestionKind::Permission { input } => json!({ "input": input }),
        QuestionKind::Choices(choices) => {
            let choice = |choice: &Choice| {
                let options = choice.options.iter().map(|option| &option.label);
                json!({
                    "question": choice.question, "header": choice.header,
                    "options": options.collect::<Vec<_>>(), "multi_select": choice.multi_select,
                })
            };
            json!({ "choices": choices.iter().map(choice).collect::<Vec<_>>() })
        }
        other => json!({ "raw": format!("{other:?}") }),
    };
    let mut fields = object(json!({
        "id": question.id, "call": question.call, "name": question.name, "title": question.title,
    }));
    fields.extend(object(kind));
    fields.extend(object(json!({
        "suggestions": Some(&question.suggestions).filter(|labels| !labels.is_empty()),
        "in_full": Some(&question.in_full).filter(|all| all.iter().any(Option::is_some)),
        "description": question.description, "blocked_path": question.blocked_path,
        "parent": question.parent,
    })));
    json!({ "asked": present(Value::Object(fields)) })
}

/// The fields of `fields` that are not `null`.
fn present(fields: Value) -> Map<String, Value> {
    object(fields).into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Returns the chosen answers; `null` if there was no choice.
fn answers(closing: &Closing) -> Value {
    match closing {
        Closing::Allowed { answers } if !answers.is_empty() => {
            answers.iter().map(|(question, answer)| (question.clone(), json!(answer))).collect()
        }
        _ => Value::Null,
    }
}

/// The sentence with which a question was denied.
fn denial(closing: &Closing) -> Option<&str> {
    match closing {
        Closing::Denied { message } => Some(message),
        _ => None,
    }
}

/// The fields of a call.
fn tool_fields(tool: &Tool) -> Value {
    // What may be large is copied into its place, because `json!` writes each map anew.
    let (mut fields, key, large) = match tool {
        Tool::Update { id, name, title, args, parent } => {
            let fields = json!({
                "phase": "update", "id": id, "name": name, "title": title, "args": null,
                "parent": parent,
            });
            (fields, "args", Value::Object(args.clone()))
        }
        Tool::Start { id, name, title, args, truncated, parent } => {
            let fields = json!({
                "phase": "start", "id": id, "name": name, "title": title, "args": null,
                "truncated": truncated, "parent": parent,
            });
            (fields, "args", Value::clone(args))
        }
        Tool::Result { id, name, is_error, result, incomplete, parent } => {
            let fields = json!({
                "phase": "result", "id": id, "name": name, "is_error": is_error, "result": null,
                "incomplete": incomplete.map(|why| why.as_str()), "parent": parent,
            });
            (fields, "result", result.clone())
        }
    };
    fields[key] = large;
    fields
}

/// The id of the one session of a replay.
const SESSION_ID: &str = "session-1";

/// The session of a client.
fn acp_session(client: AcpClient) -> AcpConverter {
    AcpConverter::new(AcpSettings {
        session_id: SESSION_ID.to_owned(),
        cwd: Some(MachineFolder::Project.path().to_owned()),
        terminal: client.terminal,
    })
}

/// Kind and data of the entry for an update.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn acp_update(mut update: Update) -> (String, Map<String, Value>) {
    // The arguments may be large, so that they are moved and not written anew.
    let raw_input = match &mut update {
        Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
            call.raw_input.as_mut().map(std::mem::take)
        }
        _ => None,
    };
    let update = serde_json::to_value(update);
    let mut data = object(update.expect("strings, numbers and JSON serialise"));
    let tag = data.shift_remove("sessionUpdate");
    let kind = tag.as_ref().and_then(Value::as_str).expect("every update has its tag");
    if let Some(raw_input) = raw_input {
        data.insert("rawInput".to_owned(), Arc::unwrap_or_clone(raw_input));
    }
    (kind.to_owned(), data)
}

/// Kinds and data of the entries of an ACP client that `event` makes.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn acp_entries(session: &mut AcpConverter, event: &BusEvent) -> Vec<(String, Map<String, Value>)> {
    let mut entries: Vec<_> = session.on(event).into_iter().map(acp_update).collect();
    entries.extend(session.requests().iter().map(|request| {
        let mut call = object(session.request(request));
        let kind = call.remove("method").expect("every request has its method");
        let kind = kind.as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let mut data = object(call.remove("params").unwrap_or_default());
        data.shift_remove("sessionId");
        data.extend(call.remove("id").map(|id| ("id".to_owned(), id)));
        (kind.to_owned(), data)
    }));
    let response = session.turn_end().map(|end| match end {
        TurnEnd::Stop(reason) => json!({ "stopReason": reason }),
        TurnEnd::Error { code, message } => {
            json!({ "error": { "code": code, "message": message } })
        }
    });
    entries.extend(response.map(|data| ("response".to_owned(), object(data))));
    entries
}

/// Kind and data of the entries of the event stream for `event`.
fn sse_entries(
    converter: &mut SseConverter,
    event: &BusEvent,
) -> impl Iterator<Item = (&'static str, Map<String, Value>)> {
    converter.on(event).into_iter().map(|SseEvent { name, mut data }| {
        // The times of the entries say it.
        data.shift_remove("timestamp");
        data.shift_remove("after");
        (name, data)
    })
}

/// The id of the one stream of a replay.
const STREAM: &str = "conversation-1";
/// The token of the endpoint, and the one of a stranger.
const TOKENS: [&str; 2] = ["token-of-readers", "another-token-16"];

/// A reader of the event stream of a whole conversation, whose connection breaks once (S2).
///
/// The stream of all turns comes from the library's endpoint, as over HTTP, but without any IO. The reader takes each
/// event at once. After the event that `run.stream_break` names, its connection breaks, and it comes back with the id
/// of an earlier event; a stranger who has another token asks for the stream at that moment, too. The lane `sse` gets
/// the stranger's `refused`, then `reconnect`, the number of events that came `again`, and at the end `collected` with
/// the number of `turns`: what one collector makes of all turns.
///
/// The host of a replay takes no answers from a reader, because those of the recording count. One that the reader posts
/// when it reads a question is dropped, so that the lane gets the `refused` of it.
pub(super) struct StreamReading {
    endpoint: LocalEndpoint,
    feed: StreamFeed,
    /// The answers that readers post.
    inbox: mpsc::Receiver<PostedAnswer>,
    /// Converts the events of the turn that is under way.
    converter: SseConverter,
    reader: LocalReader,
    collector: Collector,
    /// Turns that have begun.
    turns: u64,
    /// Events that were read.
    read: u64,
    at: StreamBreak,
    log: TraceLog,
}

impl StreamReading {
    /// Opens the stream, and connects the reader to it. A new endpoint refuses neither.
    pub(super) fn new(at: StreamBreak, log: TraceLog) -> Option<Self> {
        let broker = Broker::new(BrokerLimits::default());
        let feed = broker.open(STREAM, StreamLifetime::Conversation).ok()?;
        let (outbox, inbox) = mpsc::channel(1);
        let settings = ServerSettings { answers: Some(outbox), ..ServerSettings::new(TOKENS[0]) };
        let endpoint = LocalEndpoint::new(&settings, broker);
        let reader = endpoint.connect(STREAM, TOKENS[0], None).ok()?;
        let (converter, collector) = (SseConverter::new(), Collector::new());
        let (turns, read) = (0, 0);
        Some(Self { endpoint, feed, inbox, converter, reader, collector, turns, read, at, log })
    }

    /// Adds an event of the turn that is under way to the stream, and reads what is new there.
    pub(super) fn on(&mut self, event: &BusEvent) {
        if matches!(event.data, BusData::Lifecycle(Phase::Start)) {
            self.converter = SseConverter::new();
            self.turns += 1;
            if self.turns > 1 {
                self.collector.begin(None);
            }
        }
        self.feed.add(&self.converter.on(event));
        for frame in self.reader.frames() {
            self.collector.on(&frame);
            if frame.name == "question" {
                self.post(&frame);
            }
            // A frame of the endpoint itself has no id, and is not an event of the run.
            if frame.id.is_none() {
                continue;
            }
            self.read += 1;
            if self.read == self.at.after {
                return self.reconnect();
            }
        }
    }

    /// Says yes to a question, and gets the reply that the host did not take it.
    fn post(&mut self, question: &SseFrame) {
        let data: Value = serde_json::from_str(&question.data).unwrap_or_default();
        let body = json!({ "question": data["questionId"], "behavior": "allow" }).to_string();
        let mut posted = Box::pin(unconstrained(self.endpoint.post(STREAM, TOKENS[0], body)));
        let early = posted.as_mut().now_or_never();
        let inbox = &mut self.inbox;
        let said = early.or_else(|| {
            drop(inbox.try_recv());
            posted.as_mut().now_or_never()
        });
        let status = said.map(|said| said.map_or_else(|refusal| refusal.status, |()| 204));
        let data = json!({ "reader": "one who answers", "status": status });
        self.log.add(Lane::Sse, "refused", object(data));
    }

    /// Comes back with the id of an earlier event, and reads on from there.
    fn reconnect(&mut self) {
        let StreamBreak { after, last } = self.at;
        let [token, another] = TOKENS;
        let refused = |who: &str, refusal: LocalRefusal| {
            let data = json!({ "reader": who, "last_event_id": last, "status": refusal.status });
            self.log.add(Lane::Sse, "refused", object(data));
        };
        let last_id = (last > 0).then_some(last);
        if let Err(refusal) = self.endpoint.connect(STREAM, another, last_id) {
            refused("stranger", refusal);
        }
        let mut reader = match self.endpoint.connect(STREAM, token, last_id) {
            Ok(reader) => reader,
            Err(refusal) => return refused("the one who comes back", refusal),
        };
        let frames = reader.frames();
        let is_again = |id: &Option<String>| {
            id.as_deref().and_then(|id| id.parse().ok()).is_some_and(|id: u64| id <= after)
        };
        let again = frames.iter().filter(|frame| is_again(&frame.id)).count();
        let data = json!({ "after": after, "last_event_id": last, "again": again });
        self.log.add(Lane::Sse, "reconnect", object(data));
        for frame in &frames {
            self.collector.on(frame);
        }
        self.read += frames.iter().filter(|frame| frame.id.is_some()).count() as u64;
        self.reader = reader;
    }

    /// Adds what was collected to the trace.
    pub(super) fn end(&mut self) {
        let collected = std::mem::take(&mut self.collector).collected();
        let mut data = collected_data(&collected);
        data.insert("turns".into(), self.turns.into());
        self.log.add(Lane::Sse, COLLECTED, data);
    }
}

#[cfg(test)]
mod tests {
    use clitape_stream::{ToolArguments, ToolKind};

    use super::*;

    fn check(event: &Event<'_>, expect: &str) {
        let told = lifecycle_entry(event).map_or_else(
            || "nothing".to_owned(),
            |(kind, data)| format!("{kind} {}", Value::Object(data)),
        );
        assert_eq!(told, expect);
    }

    #[test]
    fn entries_are_what_events_serialise_to() {
        check(
            &Event::Text {
                message_id: "m".into(),
                delta: "añ".into(),
                length: 2,
                text: "añ",
                message_text: "añ",
                parent: Some("t".into()),
            },
            r#"text {"message_id":"m","delta":"añ","length":2,"parent":"t"}"#,
        );
        let raw = "{}".into();
        check(&Event::Record { kind: "keep_alive".into(), subtype: None, raw }, "nothing");
    }

    #[test]
    fn u1_truncated_arguments_are_never_an_empty_object() {
        check(
            &Event::ToolStart {
                id: "t".into(),
                name: "Bash".into(),
                kind: ToolKind::ToolUse,
                args: ToolArguments::Truncated("{\"command\":\"l".into()),
                parent: None,
            },
            concat!(
                r#"tool_start {"id":"t","name":"Bash","type":"tool_use","args":null,"#,
                r#""truncated":"{\"command\":\"l"}"#
            ),
        );
    }
}
