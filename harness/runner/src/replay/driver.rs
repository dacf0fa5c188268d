//! Drives a replay step by step in virtual time: one parser feeds the gateway's conversations, each in a setup of its
//! own and with a run of the gateway for each turn.
//!
//! At one virtual millisecond what is due in the channel happens before the bytes that arrive, so that the trace does
//! not hang on which timer was set first.
//!
//! An entry of a chat or of an event stream says of which turn it is, from the second turn on. A client of the Agent
//! Client Protocol has one session for all turns and gets them one after another, even if a chat delivers the final
//! message of a turn late.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use clitape_gateway::question::{Question, QuestionClosed, QuestionWaits};
use clitape_gateway::telegram::{self, Telegram, TelegramSettings};
use clitape_gateway::{
    Bus, BusEvent, Callback, CallbackError, Channel, Conversation, DeliveryMode, FinishFuture,
    Notice, RunEnding, RunReport, RunSettings, Subscription, Tool, Turn, Waited, profile,
};
use clitape_judge::observation::ReplayCounts;
use clitape_recording::scenario::{self, Chat, ChatMode, Setup};
use clitape_recording::trace::{Entry, Lane, object};
use clitape_stream::{Event, Parser, ParserLimits, Stats};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::chat::{Keyboards, Person, ReplayChatServer, TurnChat};
use super::faults::{AgentFault, AgentFaultKind};
use super::lanes::{
    EntryParts, Listeners, StreamReading, TraceLog, TurnByTurn, lifecycle_entry, lock,
};
use super::plan::{Action, Plan, line_feeds};

/// The time for which a replay goes on after the end of the last run, in virtual time: no call may come any more.
const AFTERMATH: Duration = Duration::from_secs(60);

/// Counts a piece that is handed to the parser.
fn count(counted: &mut ReplayCounts, piece: &[u8]) {
    counted.bytes += piece.len() as u64;
    counted.line_feeds += line_feeds(piece);
    counted.is_line_open = piece.last().map_or(counted.is_line_open, |&last| last != b'\n');
}

/// A replay whose input still comes. It works on the current tokio runtime, whose time is paused.
pub(super) struct ReplayDriver {
    runs: Vec<ObservedConversation>,
    parser: Parser,
    counted: ReplayCounts,
    /// The particulars of the entries of the lane `read`, by the bytes that they say.
    read: HashMap<usize, Arc<Map<String, Value>>>,
}

/// The counts that the runs of one parse share at the end of the input.
#[derive(Clone)]
pub(super) struct ReplayInput {
    pub(super) stats: Stats,
    pub(super) counted: ReplayCounts,
}

/// A replay that is over: the fields of [`Replay`](super::Replay) with these names.
pub(super) struct OverReplay {
    pub(super) entries: Vec<Entry>,
    pub(super) stats: Stats,
    pub(super) counted: ReplayCounts,
    pub(super) reports: Vec<RunReport>,
}

impl ReplayDriver {
    /// Starts a conversation in each of `setups`, whose chats and agents have the faults of `plan`.
    pub(super) fn start(setups: &[Setup], plan: &Plan, limits: ParserLimits) -> Self {
        let runs = setups.iter().map(|setup| ObservedConversation::start(*setup, plan)).collect();
        Self {
            runs,
            parser: Parser::with_limits(limits),
            counted: ReplayCounts::default(),
            read: HashMap::new(),
        }
    }

    /// Waits, and then does what comes next; breaks when the gateway has given the agent up, so that what it would
    /// print is never read.
    pub(super) async fn step(&mut self, after_ms: u64, action: &Action<'_>) -> ControlFlow<()> {
        let Self { runs, parser, counted, read } = self;
        if after_ms > 0 {
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_millis(after_ms)) => {
                    if may_bring_events(action) {
                        nothing_is_due().await;
                    }
                }
                () = all_given_up(runs) => return ControlFlow::Break(()),
            }
        }
        let (kind, bytes) = match action {
            Action::Print(piece) => ("chunk", piece.len()),
            Action::Write(line) => ("written", line.len()),
        };
        let said = read.entry(bytes).or_insert_with(|| object(json!({ "bytes": bytes })).into());
        for run in runs.iter() {
            run.log.add(Lane::Read, kind, said.clone());
        }
        match action {
            Action::Print(piece) => {
                count(counted, piece);
                runs.iter_mut().for_each(|run| run.conversation.on_bytes());
                parser.feed_with(piece, &mut |event| dispatch(runs, &event));
            }
            Action::Write(line) => {
                runs.iter_mut().for_each(|run| run.answer(line));
                parser.feed_stdin_with(line, &mut |event| dispatch(runs, &event));
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes the entries of the first setup that are final, in the order of the trace.
    pub(super) fn settled(&self) -> impl Iterator<Item = Entry> {
        let log = self.runs.first().map(|run| run.log.clone());
        std::iter::from_fn(move || log.as_ref()?.settled())
    }

    /// The reports of the turns of the first setup that are delivered, which [`end_of_input`](Self::end_of_input) does
    /// not have again.
    pub(super) fn delivered(&mut self) -> Vec<RunReport> {
        let run = self.runs.first_mut();
        run.map(|run| run.conversation.take_delivered()).unwrap_or_default()
    }

    /// Ends the parser's input; the caller finishes the runs.
    pub(super) fn end_of_input(mut self) -> (ReplayInput, Vec<ObservedConversation>) {
        let runs = &mut self.runs;
        let stats = self.parser.finish_with(&mut |event| dispatch(runs, &event));
        (ReplayInput { stats, counted: self.counted }, self.runs)
    }
}

/// Settles when the gateway has given the agent up in every run. The runs share the watchdog's settings and the
/// bytes, so that they do it at the same moment.
async fn all_given_up(runs: &mut [ObservedConversation]) {
    join_all(runs.iter_mut().map(|run| given_up(&mut run.conversation))).await;
}

/// Hands an event of the parser to every run. They share its entry.
fn dispatch(runs: &mut [ObservedConversation], event: &Event<'_>) {
    let entry: Option<EntryParts> =
        lifecycle_entry(event).map(|(kind, data)| (kind.into(), data.into()));
    for run in runs {
        if let Some((kind, data)) = &entry {
            run.log.add(Lane::Lifecycle, kind.clone(), data.clone());
        }
        run.person.on_event(event);
        run.conversation.on_event(event);
    }
}

/// The gateway's conversation in one setup, and the trace of it.
pub(super) struct ObservedConversation {
    log: TraceLog,
    conversation: Conversation,
    outside: Outside,
    person: Person,
}

impl ObservedConversation {
    /// Starts the conversation of a setup, whose chat and agent have the faults of `plan`.
    fn start(setup: Setup, plan: &Plan) -> Self {
        let log = TraceLog::new();
        let outside = Outside::new(setup, plan, log.clone());
        let client = setup.acp.filter(|_| !setup.run.silent);
        let listeners = Listeners::new(log.clone(), client);
        let conversation = conversation(setup, log.clone(), outside.clone(), listeners);
        let person = Person::new(outside.keyboards.clone());
        Self { log, conversation, outside, person }
    }

    /// The host writes a line; if it is an answer, the person gives it in the chat.
    fn answer(&mut self, line: &[u8]) {
        let Self { person, outside, .. } = self;
        person.answer(line, |question| outside.chat.asking(question));
    }

    /// Ends the conversation, and waits for calls that come too late.
    pub(super) async fn finish(self, input: ReplayInput) -> OverReplay {
        let Self { log, conversation, outside, person } = self;
        let reports = conversation.finish().await;
        outside.end_of_stream();
        tokio::time::sleep(AFTERMATH).await;
        let ReplayInput { stats, counted } = input;
        let counted = ReplayCounts {
            listeners_left: outside.listeners_left(),
            overlapping_calls: outside.chat.overlapping_calls(),
            misunderstood: person.misunderstood,
            ..counted
        };
        OverReplay { entries: log.take(), stats, counted, reports }
    }
}

/// Returns whether the parser may have events of it: it has none before a line ends.
fn may_bring_events(action: &Action<'_>) -> bool {
    match action {
        Action::Print(piece) => memchr::memchr(b'\n', piece).is_some(),
        Action::Write(_) => true,
    }
}

/// The buses of the turns, and who listens to them.
#[derive(Default)]
struct Buses {
    /// The buses of the turns that are not delivered, with the subscriptions of the harness, which end when they are
    /// dropped.
    open: BTreeMap<u64, (Bus, Vec<Subscription>)>,
    /// The listeners that were left on the bus of a turn that is delivered, the harness aside. Nothing more comes
    /// there.
    left: u64,
}

impl Buses {
    /// Takes the harness off the bus of a turn that is over.
    fn leave(&mut self, turn: u64) {
        if let Some((bus, listeners)) = self.open.remove(&turn) {
            drop(listeners);
            self.left += bus.listeners() as u64;
        }
    }
}

/// The parts that outlive the conversation: the server of its chats, and the buses of all turns.
#[derive(Clone)]
struct Outside {
    chat: Arc<ReplayChatServer>,
    keyboards: Keyboards,
    buses: Arc<Mutex<Buses>>,
    /// The callbacks of the first turn's channel that go wrong.
    callbacks: Arc<[StuckCallback]>,
    /// The reader of the event stream of all turns, if there is one.
    reader: Option<Arc<Mutex<TurnByTurn<StreamReading>>>>,
}

impl Outside {
    pub(super) fn new(setup: Setup, plan: &Plan, log: TraceLog) -> Self {
        // A silent run has no stream.
        let at = setup.run.stream_break.filter(|_| !setup.run.silent);
        let reading = at.and_then(|at| StreamReading::new(at, log.clone()));
        let reader = reading.map(|reading| Arc::new(Mutex::new(TurnByTurn::new(reading))));
        let chat = Arc::new(ReplayChatServer::new(log, plan.faults.clone()));
        let callbacks = plan.agent.iter().filter_map(StuckCallback::of_fault).collect();
        Self { chat, keyboards: Keyboards::default(), buses: Arc::default(), callbacks, reader }
    }

    /// Adds what the reader of all turns has collected to the trace; no turn is under way any more.
    fn end_of_stream(&self) {
        if let Some(reader) = &self.reader {
            lock(reader).state.end();
        }
    }

    /// Takes the harness off all buses, and returns how many listeners are left on them.
    fn listeners_left(&self) -> u64 {
        let mut buses = lock(&self.buses);
        while let Some((&turn, _)) = buses.open.first_key_value() {
            buses.leave(turn);
        }
        buses.left
    }
}

/// Opens the turns of a replay; it has what all of them share.
struct TurnOpener {
    setup: Setup,
    log: TraceLog,
    outside: Outside,
    listeners: Listeners,
}

/// Starts the conversation of a replay in `setup`; its entries go to `log`. `outside` has its chats and keeps its
/// buses, and `listeners` write what comes on the buses.
fn conversation(
    setup: Setup,
    log: TraceLog,
    outside: Outside,
    listeners: Listeners,
) -> Conversation {
    let opener = TurnOpener { setup, outside, listeners, log };
    Conversation::new(run_settings(setup), move |turn| opener.open(turn))
}

/// Settles when the gateway has given the agent up. An unanswered question is denied meanwhile; the CLI, which is a
/// recording, does not read that.
pub(super) async fn given_up(conversation: &mut Conversation) {
    while conversation.waited().await != Waited::Stalled {}
}

impl TurnOpener {
    /// The bus and the chat of a turn.
    fn open(&self, turn: u64) -> Turn {
        let Self { setup, log, .. } = self;
        let bus = Bus::new(run_id(turn));
        // A silent run has no stream.
        let listener = Arc::new(Mutex::new(self.listeners.of_turn(turn, setup.run.silent)));
        let heard = listener.clone();
        let mut listeners = vec![bus.subscribe(move |event: &BusEvent| lock(&heard).on(event))];
        if let Some(reader) = &self.outside.reader {
            let reader = reader.clone();
            listeners.push(bus.subscribe(move |event: &BusEvent| {
                lock(&reader).on(turn, event, StreamReading::on);
            }));
        }
        lock(&self.outside.buses).open.insert(turn, (bus.clone(), listeners));
        let channel = setup.channel.map(|chat| {
            let api = Arc::new(TurnChat::new(self.outside.chat.clone(), turn));
            let chat = Telegram::new(chat_settings(chat), api);
            self.outside.keyboards.add(chat.keyboard());
            let chat: Box<dyn Channel> = Box::new(chat);
            let never = setup.run.stuck_callback.map(StuckCallback::hangs).into_iter();
            let callbacks: Vec<_> = never.chain(self.outside.callbacks.iter().copied()).collect();
            match callbacks.is_empty() || turn > 1 {
                true => chat,
                false => Box::new(Stuck::new(chat, callbacks)),
            }
        });
        let (log, buses) = (log.clone(), self.outside.buses.clone());
        let delivered = move |report: &RunReport| {
            lock(&buses).leave(turn);
            log.final_message(report, turn);
            lock(&listener).collect();
        };
        Turn { bus, channels: channel.into_iter().collect(), delivered: Box::new(delivered) }
    }
}

/// A callback that goes wrong. Typing and the final message are none.
#[derive(Debug, Clone, Copy)]
struct StuckCallback {
    /// Its number, from 1.
    number: u64,
    /// Set if it never settles; otherwise it fails.
    hangs: bool,
}

impl StuckCallback {
    /// The callback with this number, which never settles.
    fn hangs(number: u64) -> Self {
        Self { number, hangs: true }
    }

    /// The callback of a fault of a plan; none for a fault that changes the bytes.
    fn of_fault(fault: &AgentFault) -> Option<Self> {
        let hangs = fault.kind == AgentFaultKind::CallbackHangs;
        fault.kind.is_of_channel().then_some(Self { number: fault.number, hangs })
    }
}

/// A channel some of whose callbacks fail or never settle, as a gateway's own may (G2). Passes everything else on to
/// `channel`.
struct Stuck {
    channel: Box<dyn Channel>,
    callbacks: Vec<StuckCallback>,
    /// The number of callbacks so far.
    count: u64,
}

impl Stuck {
    /// The channel with these callbacks.
    pub(super) fn new(channel: Box<dyn Channel>, callbacks: Vec<StuckCallback>) -> Self {
        Self { channel, callbacks, count: 0 }
    }

    /// The callback that `pass` makes, or one that goes wrong.
    fn call<'a>(
        &'a mut self,
        pass: impl FnOnce(&'a mut dyn Channel) -> Callback<'a>,
    ) -> Callback<'a> {
        self.count += 1;
        match self.callbacks.iter().find(|callback| callback.number == self.count) {
            None => pass(self.channel.as_mut()),
            Some(StuckCallback { hangs: true, .. }) => Box::pin(std::future::pending()),
            Some(_) => Box::pin(std::future::ready(Err(CallbackError::new("planned")))),
        }
    }
}

impl Channel for Stuck {
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.call(move |channel| channel.text(text))
    }

    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.call(move |channel| channel.thinking(text))
    }

    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a> {
        self.call(move |channel| channel.tool(tool))
    }

    fn tool_result<'a>(&'a mut self, result: &'a Tool) -> Callback<'a> {
        self.call(move |channel| channel.tool_result(result))
    }

    fn tools_dropped<'a>(&'a mut self, calls: &'a [String]) -> Callback<'a> {
        self.call(move |channel| channel.tools_dropped(calls))
    }

    fn notice<'a>(&'a mut self, notice: &'a Notice) -> Callback<'a> {
        self.call(move |channel| channel.notice(notice))
    }

    fn question<'a>(&'a mut self, question: &'a Question) -> Callback<'a> {
        self.call(move |channel| channel.question(question))
    }

    fn question_waits<'a>(&'a mut self, waits: &'a QuestionWaits) -> Callback<'a> {
        self.call(move |channel| channel.question_waits(waits))
    }

    fn question_closed<'a>(&'a mut self, closed: &'a QuestionClosed) -> Callback<'a> {
        self.call(move |channel| channel.question_closed(closed))
    }

    fn heard<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.call(move |channel| channel.heard(text))
    }

    fn typing(&mut self, on: bool) {
        self.channel.typing(on);
    }

    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a> {
        self.channel.finish(ending)
    }

    fn leave(&mut self) -> Callback<'_> {
        self.channel.leave()
    }
}

/// The id of the run of a turn.
pub(super) fn run_id(turn: u64) -> String {
    format!("run-{turn}")
}

/// Returns the gateway's settings for the run of a scenario.
pub(super) fn run_settings(setup: Setup) -> RunSettings {
    let run = setup.run;
    RunSettings {
        silent: run.silent,
        delivery: match run.delivery {
            scenario::DeliverySpec::Automatic => DeliveryMode::Automatic,
            scenario::DeliverySpec::MessageToolOnly => DeliveryMode::MessageToolOnly,
        },
        watchdog: Some(setup.watchdog()),
        ..RunSettings::default()
    }
}

/// Returns the settings of the gateway's channel for a chat; its day begins with the run.
pub(super) fn chat_settings(chat: Chat) -> TelegramSettings {
    TelegramSettings {
        mode: match chat.mode {
            ChatMode::Off => telegram::DraftMode::Off,
            ChatMode::Partial => telegram::DraftMode::Partial,
            ChatMode::Block => telegram::DraftMode::Block,
            ChatMode::Progress => telegram::DraftMode::Progress,
        },
        reasoning: chat.reasoning,
        profile: match chat.profile {
            scenario::ChatProfile::Telegram => &profile::TELEGRAM,
            scenario::ChatProfile::Discord => &profile::DISCORD,
            scenario::ChatProfile::Slack => &profile::SLACK,
        },
        ..TelegramSettings::default()
    }
}

thread_local! {
    /// The waker of the task on this thread that awaits [`nothing_is_due`].
    static WAITING: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Runs `work` to its end in virtual time: on a paused tokio runtime without any IO, in which a wait takes no time.
pub(super) fn in_virtual_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_park(|| WAITING.take().into_iter().for_each(Waker::wake))
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(work),
        // A runtime without IO makes no system calls that could fail.
        Err(error) => unreachable!("no runtime in memory: {error}"),
    }
}

/// Waits within [`in_virtual_time`] until every task waits for a later moment, and settles before time goes on. The
/// work that is run there awaits it, and one at a time.
async fn nothing_is_due() {
    let mut waits = false;
    poll_fn(|context| {
        WAITING.with_borrow_mut(|waiting| {
            if waits && waiting.is_none() {
                return Poll::Ready(());
            }
            waits = true;
            *waiting = Some(context.waker().clone());
            Poll::Pending
        })
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use tokio::task::yield_now;
    use tokio::time::{Instant, sleep};

    use super::*;

    /// Another task gives way so often, and then waits a millisecond.
    fn check(times: u32) {
        in_virtual_time(async {
            let began = Instant::now();
            let count = Arc::new(AtomicU32::new(0));
            let counted = count.clone();
            let task = tokio::spawn(async move {
                for _ in 0..times {
                    yield_now().await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                sleep(Duration::from_millis(1)).await;
                counted.fetch_add(1, Ordering::Relaxed);
            });
            let now = || (count.load(Ordering::Relaxed), began.elapsed());
            nothing_is_due().await;
            assert_eq!(now(), (times, Duration::ZERO));
            task.await.unwrap();
            assert_eq!(now(), (times + 1, Duration::from_millis(1)));
        });
    }

    #[test]
    fn nothing_is_due_once_every_task_waits() {
        [0, 1, 100].into_iter().for_each(check);
    }
}
