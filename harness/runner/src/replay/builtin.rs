//! The built-in subject: `stream` and `gateway` in process, in virtual time.
//!
//! [`driver`](super::driver) drives it; here it has a plan for bytes that are all there, and its whole trace is kept.

use std::sync::Arc;

use clitape_gateway::RunReport;
use clitape_stream::Stats;
use futures_util::future::join_all;

use super::capture::Capture;
use super::driver::{OverReplay, ReplayCounts, ReplayDriver};
use super::plan::Plan;
use super::played::PlayedPlan;
use super::pulse::replay_ended;
use super::setup::Setup;
use super::stated::LazyStated;
use super::trace::{Entry, Lane};
use super::virtual_time::in_virtual_time;
use super::wiring::Wiring;

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
    let replays = in_virtual_time(run(played, setups, wiring));
    replay_ended();
    replays
}

async fn run(
    played: &PlayedPlan<'_>,
    setups: &[Setup],
    wiring: impl Fn() -> Wiring,
) -> Vec<Replay> {
    let plan = &*played.plan;
    let limits = played.limits();
    let line_limit = limits.line;
    let mut driver = ReplayDriver::start(setups, plan, limits, wiring);
    for (after_ms, action) in plan.actions(played.capture()) {
        if driver.step(after_ms, &action).await.is_break() {
            break;
        }
    }
    let (input, runs) = driver.end_of_input();
    let came = played.capture().stdout;
    let read = usize::try_from(input.counted.bytes).map_or(came, |bytes| &came[..bytes]);
    let stated = Arc::new(LazyStated::new(read, line_limit));
    let replay = |(setup, OverReplay { entries, stats, counted, reports })| Replay {
        setup,
        entries,
        stats,
        counted,
        stated: stated.clone(),
        is_faithful: played.is_faithful,
        reports,
    };
    let over = join_all(runs.into_iter().map(|run| run.finish(input.clone()))).await;
    setups.iter().copied().zip(over).map(replay).collect()
}

#[cfg(test)]
mod tests;
