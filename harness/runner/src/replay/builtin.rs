//! The built-in subject: `stream` and `gateway` in process, in virtual time.
//!
//! [`driver`](super::driver) drives it; here it has a plan for bytes that are all there, and its whole trace is kept.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use clitape_judge::observation::{Observation, OwnReports};
use clitape_recording::capture::Capture;
use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::Setup;
use clitape_recording::trace::{Entries, millis};
use futures_util::future::join_all;

use super::chat::LATENCY;
use super::driver::{OverReplay, ReplayDriver};
use super::plan::Plan;
use super::played::PlayedPlan;
use super::pulse::replay_ended;
use super::virtual_time::in_virtual_time;

/// The result of a replay: what was seen of clitape's own gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    observation: Observation,
}

/// A replay is an observation.
impl Deref for Replay {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        &self.observation
    }
}

impl DerefMut for Replay {
    fn deref_mut(&mut self) -> &mut Observation {
        &mut self.observation
    }
}

impl Replay {
    /// Returns its entries alone.
    pub fn into_entries(self) -> Entries {
        self.observation.entries
    }

    /// Returns what the gateway and the replay report of themselves.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn own(&self) -> &OwnReports {
        self.observation.own.as_ref().expect("a replay is of clitape's own gateway")
    }

    /// Returns the same to change it.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn own_mut(&mut self) -> &mut OwnReports {
        self.observation.own.as_mut().expect("a replay is of clitape's own gateway")
    }

    /// Takes the facts of another replay if both read the same bytes, so that they are read once.
    pub(crate) fn share_facts(&mut self, facts: &Arc<LazyFacts>) {
        if self.facts == *facts {
            self.facts = facts.clone();
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

/// Replays a plan on the bytes that it plays, once in each of `setups`.
pub(crate) fn replay_played(played: &PlayedPlan<'_>, setups: &[Setup]) -> Vec<Replay> {
    debug_assert!(setups.iter().all(|setup| setup.run == setups[0].run), "one run: {setups:?}");
    let replays = in_virtual_time(run(played, setups));
    replay_ended();
    replays
}

async fn run(played: &PlayedPlan<'_>, setups: &[Setup]) -> Vec<Replay> {
    let plan = &*played.plan;
    let limits = played.limits();
    let line_limit = limits.line;
    let mut driver = ReplayDriver::start(setups, plan, limits);
    for (after_ms, action) in plan.actions(played.capture()) {
        if driver.step(after_ms, &action).await.is_break() {
            break;
        }
    }
    let (input, runs) = driver.end_of_input();
    let came = played.capture().stdout;
    let read = usize::try_from(input.counted.bytes).map_or(came, |bytes| &came[..bytes]);
    let facts = Arc::new(LazyFacts::new(read, line_limit));
    let replay = |(setup, over): (Setup, OverReplay)| {
        let own = OwnReports {
            stats: over.stats,
            counted: over.counted,
            reports: over.reports,
            is_faithful: played.is_faithful,
            latency_ms: millis(LATENCY),
            transcripts: Vec::new(),
        };
        let seen = Observation::new(setup, over.entries, facts.clone());
        Replay { observation: Observation { own: Some(own), ..seen } }
    };
    let over = join_all(runs.into_iter().map(|run| run.finish(input.clone()))).await;
    setups.iter().copied().zip(over).map(replay).collect()
}

#[cfg(test)]
mod tests;
