//! The built-in subject: `stream` and `gateway` in process, in virtual time.
//!
//! The whole replay runs on a paused tokio runtime without any IO. At one virtual millisecond what
//! is due in the channel happens before the bytes that arrive, so that the trace does not hang on
//! which timer was set first.

use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::sse::SseConverter;
use clitape_gateway::telegram::Telegram;
use clitape_gateway::{Bus, BusEvent, Channel, Run, RunReport, Subscription};
use clitape_stream::{Event, Parser, Stats};
use futures_util::future::join_all;
use serde_json::json;

use super::capture::Capture;
use super::chat::ChatServer;
use super::dialogue::Action;
use super::lanes::{acp_entries, acp_session, bus_data, lifecycle_entry, sse_entries};
use super::log::Log;
use super::plan::Plan;
use super::setup::{RUN_ID, Setup, chat_settings, settings};
use super::stuck::Stuck;
use super::trace::{Entry, Lane, object};

/// How long a replay goes on after the run's end, in virtual time: no call may come any more.
const AFTERMATH: Duration = Duration::from_secs(60);
/// Turns given to the channel before bytes that arrive at the same millisecond are fed.
const SETTLE: u32 = 16;

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

/// Replays a capture as `plan` says.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub fn replay<'a>(capture: impl Into<Capture<'a>>, plan: &Plan, setup: Setup) -> Replay {
    replay_all(capture.into(), plan, &[setup]).pop().expect("one setup gives one replay")
}

/// Replays `capture` as `plan` says, once in each of `setups`, which share how the run is run. One parse feeds
/// all of them, and none knows of the others.
pub(crate) fn replay_all(capture: Capture<'_>, plan: &Plan, setups: &[Setup]) -> Vec<Replay> {
    debug_assert!(setups.iter().all(|setup| setup.run == setups[0].run), "one run: {setups:?}");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(run(capture, plan, setups)),
        // A runtime without IO asks nothing of the system that could fail.
        Err(error) => unreachable!("no runtime in memory: {error}"),
    }
}

async fn run(capture: Capture<'_>, plan: &Plan, setups: &[Setup]) -> Vec<Replay> {
    let mut runs: Vec<ObservedRun> =
        setups.iter().map(|setup| ObservedRun::start(*setup, plan)).collect();
    let mut parser = Parser::new();
    for (after_ms, action) in plan.actions(capture) {
        if after_ms > 0 {
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_millis(after_ms)) => settle().await,
                // The gateway has given the agent up: what it would print is never read.
                () = stalled(&mut runs) => break,
            }
        }
        let (kind, bytes) = match &action {
            Action::Print(piece) => ("chunk", piece.len()),
            Action::Write(line) => ("written", line.len()),
        };
        for run in &mut runs {
            run.log.add(Lane::Read, kind, object(json!({ "bytes": bytes })));
        }
        match action {
            Action::Print(piece) => {
                runs.iter_mut().for_each(|run| run.run.on_bytes());
                parser.feed_with(piece, &mut |event| dispatch(&mut runs, &event));
            }
            Action::Write(line) => {
                parser.feed_stdin_with(&line, &mut |event| dispatch(&mut runs, &event));
            }
        }
    }
    let stats = parser.finish_with(&mut |event| dispatch(&mut runs, &event));
    join_all(runs.into_iter().map(|run| run.finish(stats.clone()))).await
}

/// Settles when the gateway has given the agent up. The runs share the watchdog's settings and the bytes, so
/// that they do it at the same moment.
async fn stalled(runs: &mut [ObservedRun]) {
    for run in runs {
        run.run.stalled().await;
    }
}

/// Hands an event of the parser to every run.
fn dispatch(runs: &mut [ObservedRun], event: &Event<'_>) {
    let entries = std::iter::repeat_n(lifecycle_entry(event), runs.len());
    for (run, entry) in runs.iter_mut().zip(entries) {
        if let Some((kind, data)) = entry {
            run.log.add(Lane::Lifecycle, kind, data);
        }
        run.run.on_event(event);
    }
}

/// A run of the gateway and the trace of it in one setup.
struct ObservedRun {
    setup: Setup,
    log: Log,
    run: Run,
    /// The subscriptions to the bus, which end when they are dropped.
    _listeners: Vec<Subscription>,
}

impl ObservedRun {
    fn start(setup: Setup, plan: &Plan) -> Self {
        let log = Log::new();
        let bus = Bus::new(RUN_ID);
        let listener = log.clone();
        let mut listeners = vec![bus.subscribe(move |event: &BusEvent| {
            listener.add(Lane::Bus, event.stream(), bus_data(event));
        })];
        listeners.extend(setup.acp.filter(|_| !setup.run.silent).map(|client| {
            let (log, mut session) = (log.clone(), acp_session(client));
            bus.subscribe(move |event: &BusEvent| {
                for (kind, data) in acp_entries(&mut session, event) {
                    log.add(Lane::Acp, kind, data);
                }
            })
        }));
        // A silent run has no stream.
        listeners.extend((!setup.run.silent).then(|| {
            let (log, mut converter) = (log.clone(), SseConverter::new());
            bus.subscribe(move |event: &BusEvent| {
                for (name, data) in sse_entries(&mut converter, event) {
                    log.add(Lane::Sse, name, data);
                }
            })
        }));
        let channel = setup.channel.map(|chat| {
            let api = Arc::new(ChatServer::new(log.clone(), plan.faults.clone()));
            let telegram = Box::new(Telegram::new(chat_settings(chat), api)) as Box<dyn Channel>;
            match setup.run.stuck_callback {
                Some(number) => Box::new(Stuck::new(telegram, number)),
                None => telegram,
            }
        });
        let run = Run::start(bus, settings(setup.run), channel);
        Self { setup, log, run, _listeners: listeners }
    }

    /// Ends the run, and waits for calls that come too late.
    async fn finish(self, stats: Stats) -> Replay {
        let Self { setup, log, run, _listeners } = self;
        let report = run.finish().await;
        log.final_message(&report);
        log.collected();
        tokio::time::sleep(AFTERMATH).await;
        Replay { setup, entries: log.take(), stats, report }
    }
}

/// Lets every other task do what is due now.
async fn settle() {
    for _ in 0..SETTLE {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
