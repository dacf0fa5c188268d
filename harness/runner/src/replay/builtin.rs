//! The built-in subject: `stream` and `gateway` in process, in virtual time.
//!
//! The whole replay runs on a paused tokio runtime without any IO. At one virtual millisecond what
//! is due in the channel happens before the bytes that arrive, so that the trace does not hang on
//! which timer was set first.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clitape_gateway::sse::SseConverter;
use clitape_gateway::telegram::{self, Telegram, TelegramSettings};
use clitape_gateway::{
    Bus, BusEvent, Channel, Delivery, DeliveryMode, Run, RunReport, RunSettings, Watchdog, profile,
};
use clitape_stream::{Event, Parser, Stats};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::chat::ChatServer;
use super::plan::Plan;
use super::stuck::Stuck;
use super::trace::{Entry, Lane, object};
use super::{acp, bus, lifecycle, sse};
use crate::scenario::{self, Chat, ChatMode};

/// How long a replay goes on after the run's end, in virtual time: no call may come any more.
const AFTERMATH: Duration = Duration::from_secs(60);
/// Turns given to the channel before bytes that arrive at the same millisecond are fed.
const SETTLE: u32 = 16;
/// The id of the one run of a replay.
pub(super) const RUN_ID: &str = "run-1";

/// How a replay is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How the gateway runs it.
    pub run: scenario::RunSpec,
    /// The chat; none means that there is none.
    pub channel: Option<Chat>,
    /// The ACP client, if there is one.
    pub acp: Option<AcpClient>,
}

/// A client of the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcpClient {
    /// Whether it shows terminals.
    pub terminal: bool,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// How it was run.
    pub setup: Setup,
    /// The trace.
    pub entries: Vec<Entry>,
    /// The counts of the lines.
    pub stats: Stats,
    /// The gateway's report of the run.
    pub report: RunReport,
}

impl Replay {
    /// The entries of one lane.
    pub(crate) fn lane(&self, lane: Lane) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.lane == lane)
    }
}

/// Replays `stdout` as `plan` says.
pub fn replay(stdout: &[u8], plan: &Plan, setup: Setup) -> Replay {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(run(stdout, plan, setup)),
        // A runtime without IO asks nothing of the system that could fail.
        Err(error) => unreachable!("no runtime in memory: {error}"),
    }
}

async fn run(stdout: &[u8], plan: &Plan, setup: Setup) -> Replay {
    let log = Log::new();
    let bus = Bus::new(RUN_ID);
    let listener = log.clone();
    let _subscription = bus.subscribe(move |event: &BusEvent| {
        listener.add(Lane::Bus, event.stream(), bus::data(event));
    });
    let _client = setup.acp.filter(|_| !setup.run.silent).map(|client| {
        let (log, mut session) = (log.clone(), acp::session(client));
        bus.subscribe(move |event: &BusEvent| {
            for (kind, data) in acp::entries(&mut session, event) {
                log.add(Lane::Acp, kind, data);
            }
        })
    });
    // A silent run has no stream.
    let _stream = (!setup.run.silent).then(|| {
        let (log, mut converter) = (log.clone(), SseConverter::new());
        bus.subscribe(move |event: &BusEvent| {
            for (name, data) in sse::entries(&mut converter, event) {
                log.add(Lane::Sse, name, data);
            }
        })
    });
    let channel = setup.channel.map(|chat| {
        let settings = chat_settings(chat);
        let api = Arc::new(ChatServer::new(log.clone(), plan.faults.clone()));
        let telegram = Box::new(Telegram::new(settings, api)) as Box<dyn Channel>;
        match setup.run.stuck_callback {
            Some(number) => Box::new(Stuck::new(telegram, number)),
            None => telegram,
        }
    });
    let mut run = Run::start(bus, settings(setup.run), channel);
    let mut parser = Parser::new();
    let tell = |run: &mut Run, event: &Event<'_>| {
        if let Some((kind, data)) = lifecycle::entry(event) {
            log.add(Lane::Lifecycle, kind, data);
        }
        run.on_event(event);
    };

    for (after_ms, piece) in plan.pieces(stdout) {
        if after_ms > 0 {
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_millis(after_ms)) => settle().await,
                // The gateway has given the agent up: what it would print is never read.
                () = run.stalled() => break,
            }
        }
        log.add(Lane::Read, "chunk", object(json!({ "bytes": piece.len() })));
        run.on_bytes();
        parser.feed_with(piece, &mut |event| tell(&mut run, &event));
    }
    let stats = parser.finish_with(&mut |event| tell(&mut run, &event));
    let report = run.finish().await;
    log.final_word(&report);
    log.collected();
    // A call that comes late would come now.
    tokio::time::sleep(AFTERMATH).await;
    Replay { setup, entries: log.take(), stats, report }
}

/// Lets every other task do what is due now.
async fn settle() {
    for _ in 0..SETTLE {
        tokio::task::yield_now().await;
    }
}

/// How the gateway runs a scenario.
pub(super) fn settings(run: scenario::RunSpec) -> RunSettings {
    let limit = Duration::from_secs(run.limit_s);
    RunSettings {
        silent: run.silent,
        delivery: match run.delivery {
            scenario::DeliverySpec::Automatic => DeliveryMode::Automatic,
            scenario::DeliverySpec::MessageToolOnly => DeliveryMode::MessageToolOnly,
        },
        watchdog: Some(if run.resume { Watchdog::resumed(limit) } else { Watchdog::fresh(limit) }),
        ..RunSettings::default()
    }
}

/// How the gateway's channel shows a chat; its day begins with the run.
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

/// The trace as it is written; clones write to the same one.
#[derive(Clone)]
pub(super) struct Log {
    began: Instant,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Log {
    fn new() -> Self {
        Self { began: Instant::now(), entries: Arc::default() }
    }

    pub(super) fn add(
        &self,
        lane: Lane,
        kind: impl Into<Cow<'static, str>>,
        data: Map<String, Value>,
    ) {
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.entries().push(Entry { at, lane, kind: kind.into(), data });
    }

    /// Adds the entry that names the messages with the final text, for the one channel.
    fn final_word(&self, report: &RunReport) {
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
        self.add(Lane::Telegram, "final", data);
    }

    /// Says what a collector makes of the event stream.
    fn collected(&self) {
        let collected = sse::collected(&self.entries());
        if let Some(data) = collected {
            self.add(Lane::Sse, "collected", data);
        }
    }

    fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries())
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
