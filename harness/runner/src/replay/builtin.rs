//! The built-in subject: `stream` and `gateway` in process, in virtual time.
//!
//! The whole replay runs on a paused tokio runtime without any IO. At one virtual millisecond what
//! is due in the channel happens before the bytes that arrive, so that the trace does not hang on
//! which timer was set first.

use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::{Conversation, RunReport};
use clitape_stream::{Event, Parser, Stats};
use futures_util::future::join_all;
use serde_json::json;

use super::capture::Capture;
use super::dialogue::Action;
use super::lanes::lifecycle_entry;
use super::log::Log;
use super::person::Person;
use super::plan::Plan;
use super::played::PlayedPlan;
use super::pulse::replay_ended;
use super::setup::Setup;
use super::stated::LazyStated;
use super::trace::{Entry, Lane, object};
use super::turns::{Outside, conversation, given_up};
use super::wiring::{OnEvent, Wiring};

/// How long a replay goes on after the end of the last run, in virtual time: no call may come any more.
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
    /// The parser's counts of the lines.
    pub stats: Stats,
    /// What the replay counted itself, so that a check need not believe the parser or the gateway.
    pub counted: ReplayCounts,
    /// What the bytes state that were handed to the parser.
    pub stated: Arc<LazyStated>,
    /// Whether the host's side is as it was recorded; a plan may change its answers.
    pub is_faithful: bool,
    /// The gateway's reports of the runs, one for each turn.
    pub reports: Vec<RunReport>,
}

/// The counts of a replay that neither the parser nor the gateway made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// Bytes of stdout that were handed to the parser.
    pub bytes: u64,
    /// Line feeds among them.
    pub line_feeds: u64,
    /// Whether bytes without a line feed came last.
    pub is_line_open: bool,
    /// Listeners that are on the buses when the runs are over and the harness no longer listens.
    pub listeners_left: u64,
    /// The numbers, from 1, of the calls of the chat that were made while another one was under way.
    pub overlapping_calls: Vec<u64>,
    /// A sentence for each recorded answer that the chat's buttons and replies made another one of.
    pub misunderstood: Vec<String>,
}

impl ReplayCounts {
    /// The lines that were handed to the parser; a last one without a line feed counts.
    pub fn lines(&self) -> u64 {
        self.line_feeds + u64::from(self.is_line_open)
    }

    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.line_feeds += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.is_line_open = piece.last().map_or(self.is_line_open, |&last| last != b'\n');
    }
}

impl Replay {
    /// The entries of one lane.
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.lane == lane)
    }

    /// Takes what stdout states from `other` if both replays read the same bytes, so that it is read once.
    pub(crate) fn share_stated(&mut self, other: &Self) {
        if self.stated == other.stated {
            self.stated = other.stated.clone();
        }
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
    replay_played(&plan.played(capture), setups)
}

/// The same for a plan on the bytes that it plays.
pub(crate) fn replay_played(played: &PlayedPlan<'_>, setups: &[Setup]) -> Vec<Replay> {
    replay_wired(played, setups, Wiring::built_in)
}

/// Replays a plan in each of `setups` with a gateway that `wiring` puts together.
pub(super) fn replay_wired(
    played: &PlayedPlan<'_>,
    setups: &[Setup],
    wiring: impl Fn() -> Wiring,
) -> Vec<Replay> {
    debug_assert!(setups.iter().all(|setup| setup.run == setups[0].run), "one run: {setups:?}");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => {
            let replays = runtime.block_on(run(played, setups, wiring));
            replay_ended();
            replays
        }
        // A runtime without IO asks nothing of the system that could fail.
        Err(error) => unreachable!("no runtime in memory: {error}"),
    }
}

async fn run(
    played: &PlayedPlan<'_>,
    setups: &[Setup],
    wiring: impl Fn() -> Wiring,
) -> Vec<Replay> {
    let plan = &*played.plan;
    let mut runs: Vec<ObservedConversation> =
        setups.iter().map(|setup| ObservedConversation::start(*setup, plan, wiring())).collect();
    let limits = played.limits();
    let line_limit = limits.line;
    let mut parser = Parser::with_limits(limits);
    let mut counted = ReplayCounts::default();
    for (after_ms, action) in plan.actions(played.capture()) {
        if after_ms > 0 {
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_millis(after_ms)) => settle().await,
                // The gateway has given the agent up: what it would print is never read.
                () = all_given_up(&mut runs) => break,
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
                counted.add(piece);
                runs.iter_mut().for_each(|run| run.conversation.on_bytes());
                parser.feed_with(piece, &mut |event| dispatch(&mut runs, &event));
            }
            Action::Write(line) => {
                runs.iter_mut().for_each(|run| run.answer(&line));
                parser.feed_stdin_with(&line, &mut |event| dispatch(&mut runs, &event));
            }
        }
    }
    let stats = parser.finish_with(&mut |event| dispatch(&mut runs, &event));
    let came = played.capture().stdout;
    let read = usize::try_from(counted.bytes).map_or(came, |bytes| &came[..bytes]);
    let stated = Arc::new(LazyStated::new(read, line_limit));
    let input = ReplayInput { stats, counted, stated, is_faithful: played.is_faithful };
    join_all(runs.into_iter().map(|run| run.finish(input.clone()))).await
}

/// What the runs of one parse share when it is over: the fields of [`Replay`] with these names.
#[derive(Clone)]
struct ReplayInput {
    stats: Stats,
    counted: ReplayCounts,
    stated: Arc<LazyStated>,
    is_faithful: bool,
}

/// Settles when the gateway has given the agent up in every run. The runs share the watchdog's settings and the
/// bytes, so that they do it at the same moment.
async fn all_given_up(runs: &mut [ObservedConversation]) {
    join_all(runs.iter_mut().map(|run| given_up(&mut run.conversation))).await;
}

/// Hands an event of the parser to every run.
fn dispatch(runs: &mut [ObservedConversation], event: &Event<'_>) {
    let entries = std::iter::repeat_n(lifecycle_entry(event), runs.len());
    for (run, entry) in runs.iter_mut().zip(entries) {
        if let Some((kind, data)) = entry {
            run.log.add(Lane::Lifecycle, kind, data);
        }
        run.person.on_event(event);
        (run.on_event)(&mut run.conversation, event);
    }
}

/// The gateway's conversation in one setup, and the trace of it.
struct ObservedConversation {
    setup: Setup,
    log: Log,
    conversation: Conversation,
    on_event: OnEvent,
    outside: Outside,
    person: Person,
}

impl ObservedConversation {
    fn start(setup: Setup, plan: &Plan, wiring: Wiring) -> Self {
        let log = Log::new();
        let Wiring { on_event, open_chat, on_bus } = wiring;
        let outside = Outside::new(setup, plan, log.clone());
        let wired = (open_chat, on_bus, outside.clone());
        let conversation = conversation(setup, log.clone(), wired);
        let person = Person::new(outside.keyboards.clone());
        Self { setup, log, conversation, on_event, outside, person }
    }

    /// The host writes a line; if it is an answer, the person gives it in the chat.
    fn answer(&mut self, line: &[u8]) {
        let Self { person, outside, .. } = self;
        person.answer(line, |question| outside.chat.asking(question));
    }

    /// Ends the conversation, and waits for calls that come too late.
    async fn finish(self, input: ReplayInput) -> Replay {
        let Self { setup, log, conversation, on_event: _, outside, person } = self;
        let reports = conversation.finish().await;
        outside.end_of_stream();
        tokio::time::sleep(AFTERMATH).await;
        let ReplayInput { stats, counted, stated, is_faithful } = input;
        let counted = ReplayCounts {
            listeners_left: outside.listeners(),
            overlapping_calls: outside.chat.overlapping_calls(),
            misunderstood: person.misunderstood,
            ..counted
        };
        Replay { setup, entries: log.take(), stats, counted, stated, is_faithful, reports }
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
