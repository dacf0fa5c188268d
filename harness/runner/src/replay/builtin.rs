//! The built-in subject: `stream` and `gateway` in process, in virtual time.
//!
//! [`driver`](super::driver) drives it; here it has a plan for bytes that are all there, and its whole trace is kept.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use clitape_judge::observation::{Observation, OwnReports};
use clitape_recording::capture::Capture;
use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::Setup;
use clitape_recording::trace::{Entries, Entry, Lane, millis};
use futures_util::future::join_all;

use super::chat::LATENCY;
use super::driver::{OverReplay, ReplayDriver};
use super::heard::{Heard, Hearing};
use super::plan::Plan;
use super::played::PlayedPlan;
use super::pulse::replay_ended;
use super::virtual_time::in_virtual_time;
use super::wiring::Wiring;

/// The result of a replay: what was seen of clitape's own gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    observation: Observation,
    /// What it has heard, where another replay is to follow that.
    pub(crate) heard: Heard,
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

    /// Whether the parser's events, and those of the buses, of an editor and of the event stream are those of `other`,
    /// times aside, because they were taken from there; both were run in the same way and read what the same bytes
    /// state.
    pub(crate) fn has_events_of(&self, other: &Self) -> bool {
        // Entries are the same if they share their particulars.
        let identity = |entry| {
            let Entry { kind, data, .. }: &Entry = entry;
            (&**kind, Arc::as_ptr(data))
        };
        let has_lane = |lane| self.lane(lane).map(identity).eq(other.lane(lane).map(identity));
        self.setup == other.setup
            && self.own().is_faithful == other.own().is_faithful
            && Arc::ptr_eq(&self.facts, &other.facts)
            && [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse].into_iter().all(has_lane)
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

/// The same for replays that others follow.
pub(crate) fn replay_heard(capture: Capture<'_>, plan: &Plan, setups: &[Setup]) -> Vec<Replay> {
    replay_wired(&plan.played(capture), setups, Wiring::built_in, Hearing::Kept).0
}

/// The same for a plan on the bytes that it plays.
pub(crate) fn replay_played(played: &PlayedPlan<'_>, setups: &[Setup]) -> Vec<Replay> {
    replay_wired(played, setups, Wiring::built_in, Hearing::Alone).0
}

/// Replays a plan once in the setup of each of `bases`, and takes the entries of what is the same there. The replay is
/// the one that [`replay_played`] makes. Says also whether each event of the parser was that of `bases`, and came with the
/// piece that ended its line.
pub(crate) fn replay_following(played: &PlayedPlan<'_>, bases: &[&Replay]) -> (Vec<Replay>, bool) {
    let setups: Vec<Setup> = bases.iter().map(|base| base.setup).collect();
    let heard: Vec<Heard> = bases.iter().map(|base| base.heard.clone()).collect();
    let hearing = match bases {
        [base, ..] => Hearing::Following(&heard, &base.facts),
        [] => Hearing::Alone,
    };
    replay_wired(played, &setups, Wiring::built_in, hearing)
}

/// Replays a plan in each of `setups` with a gateway that `wiring` puts together. Says also whether each
/// event of the parser was the one that is followed, and in step.
pub(super) fn replay_wired(
    played: &PlayedPlan<'_>,
    setups: &[Setup],
    wiring: impl Fn() -> Wiring,
    hearing: Hearing<'_>,
) -> (Vec<Replay>, bool) {
    debug_assert!(setups.iter().all(|setup| setup.run == setups[0].run), "one run: {setups:?}");
    let replays = in_virtual_time(run(played, setups, wiring, hearing));
    replay_ended();
    replays
}

async fn run(
    played: &PlayedPlan<'_>,
    setups: &[Setup],
    wiring: impl Fn() -> Wiring,
    hearing: Hearing<'_>,
) -> (Vec<Replay>, bool) {
    let plan = &*played.plan;
    let limits = played.limits();
    let line_limit = limits.line;
    let mut driver = ReplayDriver::start(setups, plan, limits, wiring, hearing);
    for (after_ms, action) in plan.actions(played.capture()) {
        if driver.step(after_ms, &action).await.is_break() {
            break;
        }
    }
    let (input, runs) = driver.end_of_input();
    let came = played.capture().stdout;
    let read = usize::try_from(input.counted.bytes).map_or(came, |bytes| &came[..bytes]);
    let facts = hearing.facts(read, line_limit);
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
        Replay { observation: Observation { own: Some(own), ..seen }, heard: over.heard }
    };
    let over = join_all(runs.into_iter().map(|run| run.finish(input.clone()))).await;
    (setups.iter().copied().zip(over).map(replay).collect(), input.has_kept_step)
}

#[cfg(test)]
mod tests;
