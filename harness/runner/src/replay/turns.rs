//! The conversation of a replay: a run of the gateway for each turn, and what each of them writes to the
//! trace.
//!
//! An entry of a chat or of an event stream says of which turn it is, from the second turn on. A client of the Agent Client Protocol
//! has one session for all turns and gets them one after another, even if a chat delivers the final message of
//! a turn late.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use clitape_gateway::telegram::Telegram;
use clitape_gateway::{
    Bus, BusEvent, Channel, Conversation, RunReport, Subscription, Turn, Waited,
};
use clitape_recording::scenario::Setup;

use super::chat::{ReplayChatServer, TurnChat};
use super::listener::{Listeners, TurnByTurn, lock};
use super::log::TraceLog;
use super::person::Keyboards;
use super::plan::Plan;
use super::setup::{chat_settings, run_id, settings};
use super::stream_reading::StreamReading;
use super::stuck::{Stuck, StuckCallback};

/// The buses of the turns, and who listens to them.
#[derive(Default)]
struct Buses {
    /// The buses of the turns that are not delivered, with the subscriptions of the harness, which end when they are
    /// dropped.
    open: BTreeMap<u64, (Bus, Vec<Subscription>)>,
    /// The listeners that were left on the bus of a turn that is delivered, the harness aside. Nothing more comes there.
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

/// What outlives the conversation: the server of its chats, and the buses of all turns.
#[derive(Clone)]
pub(super) struct Outside {
    pub(super) chat: Arc<ReplayChatServer>,
    pub(super) keyboards: Keyboards,
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
    pub(super) fn end_of_stream(&self) {
        if let Some(reader) = &self.reader {
            lock(reader).state.end();
        }
    }

    /// Takes the harness off all buses, and returns how many listeners are left on them.
    pub(super) fn listeners_left(&self) -> u64 {
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

/// Starts the conversation of a replay in `setup`; its entries go to `log`. `outside` has its chats and keeps its buses,
/// and `listeners` write what comes on the buses.
pub(super) fn conversation(
    setup: Setup,
    log: TraceLog,
    outside: Outside,
    listeners: Listeners,
) -> Conversation {
    let opener = TurnOpener { setup, outside, listeners, log };
    Conversation::new(settings(setup), move |turn| opener.open(turn))
}

/// Settles when the gateway has given the agent up. A question that nobody answers is denied meanwhile; the CLI,
/// which is a recording, does not read that.
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
