//! Plans of the same times differ in nothing but their cuts. They have one uncut twin, in which every line comes whole. The
//! gateway hears the same of each of them, at the same times, as long as each event of the parser comes with the piece
//! that ends its line: then the replay of the twin stands for it, and the parser is enough to know.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::iter::Peekable;
use std::sync::{Mutex, PoisonError};

use clitape_recording::trace::millis;

use crate::replay::{Heard, Plan, PlayedPlan, Replay, first_of_times, parsed, parsed_in_step};

/// A plan with its name in a finding.
pub(super) type NamedPlan = (String, Plan);

/// Plans in their order, those in one group that follow each other and may have the same times.
pub(super) struct Groups<I: Iterator<Item = NamedPlan>>(Peekable<I>);

impl<I: Iterator<Item = NamedPlan>> Groups<I> {
    pub(super) fn of(plans: I) -> Self {
        Self(plans.peekable())
    }
}

impl<I: Iterator<Item = NamedPlan>> Iterator for Groups<I> {
    type Item = Vec<NamedPlan>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.0.next()?;
        let times = times_of(&first.1);
        let mut group = vec![first];
        while times.is_some()
            && let Some(plan) = self.0.next_if(|(_, plan)| times_of(plan) == times)
        {
            group.push(plan);
        }
        Some(group)
    }
}

/// The first seed with the times of this plan; none for a plan that has times of its own.
fn times_of(plan: &Plan) -> Option<u64> {
    plan.seed.filter(|_| plan.agent.is_empty()).map(first_of_times)
}

/// Which plans of a recording have a twin that stands for them, by the numbers of their groups and their places there. The
/// parser is the same in all setups, so that a setup that comes later need not ask it again.
#[derive(Debug, Default)]
pub(in crate::check) struct ParsedPlans(Mutex<HashMap<(usize, usize), bool>>);

impl ParsedPlans {
    /// What is known of a plan; what `ask` says of one of which nothing is known.
    pub(super) fn known_or(&self, plan: (usize, usize), ask: impl FnOnce() -> bool) -> bool {
        let parsed = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = parsed().get(&plan).copied();
        known.unwrap_or_else(|| {
            let stands_for = ask();
            parsed().insert(plan, stands_for);
            stands_for
        })
    }
}

/// The uncut twin of plans, as it was replayed.
pub(super) struct Twin {
    /// The plan without cuts.
    whole: Plan,
    /// The replays in the setups of the canonical ones, in their order.
    pub(super) replays: Vec<Replay>,
    /// What the parser tells of it, once somebody asks.
    heard: OnceCell<Heard>,
    /// Whether no setup gives the agent up while it waits for a line.
    is_heard_in_time: bool,
}

impl Twin {
    /// The twin `uncut` with its replays, and what its parser tells if that is known.
    pub(super) fn new(uncut: &PlayedPlan<'_>, replays: Vec<Replay>, heard: Option<Heard>) -> Self {
        let silence = |replay: &Replay| millis(replay.setup.watchdog().silence());
        let patience = replays.iter().map(silence).min();
        Self {
            whole: (*uncut.plan).clone(),
            replays,
            heard: heard.map(OnceCell::from).unwrap_or_default(),
            is_heard_in_time: patience.is_none_or(|patience| uncut.ends_lines_within(patience)),
        }
    }

    /// Whether this is the twin of the plan whose uncut bytes come as in `uncut`.
    pub(super) fn is_of(&self, uncut: &PlayedPlan<'_>) -> bool {
        let Plan { steps, host, faults, agent, .. } = &*uncut.plan;
        let whole = &self.whole;
        *steps == whole.steps
            && *host == whole.host
            && *faults == whole.faults
            && *agent == whole.agent
    }

    /// Whether the gateway hears the same of one of its plans, at the same times, but for how often the agent prints, by
    /// which it tells only that the agent is alive.
    pub(super) fn stands_for(&self, played: &PlayedPlan<'_>) -> bool {
        if *played.plan == self.whole {
            // Its lines come whole as they are.
            return true;
        }
        if !self.is_heard_in_time {
            return false;
        }
        let heard = self.heard.get_or_init(|| parsed(&played.uncut()));
        let stats = self.replays.first().map(|replay| &replay.own().stats);
        parsed_in_step(played, heard).as_ref() == stats
    }
}
