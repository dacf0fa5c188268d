//! Equivalence of plans: however the bytes are cut and delayed, the trace is that of the uncut
//! replay.
//!
//! For every seed the cut replay is compared with two uncut ones. In the canonical one, the lifecycle,
//! the bus, the ACP updates and the event stream are the same, times aside, and the person ends up
//! reading the same. In its own twin, every line comes whole at the moment at which the plan completes
//! it, and every lane is the same, times included.
//!
//! Some further plans have a fault of the agent's side each. The replay is compared with its twin, which has the
//! same fault, and a person must see what `check/agent.rs` says.

mod same_times;
mod smallest;

use std::sync::Arc;

use clitape_recording::scenario::{Fault, FaultKind, Seeds, Setup};
use clitape_recording::trace::{Entry, Lane, sort_by_turn};

use super::agent::{self, FaultyRun, Unseen};
use super::broken::{BrokenRule, broken, broken_beside_events};
use super::idle_cores::IdleCores;
use super::unmet;
use crate::replay::{
    AgentFault, Capture, Plan, PlayedPlan, Replay, replay_following, replay_played,
};
use clitape_judge::{
    Divergence, FinalTextDiff, Finding, FindingKind, Times, TraceDiff, context, wrong_final_text,
};
pub(super) use same_times::ParsedPlans;
use same_times::{Groups, NamedPlan, Twin};
pub(super) use smallest::smallest;

/// The number of seeds for each plan with a fault of the agent's side.
const SEEDS_PER_AGENT_FAULT: u64 = 16;

/// Of this number of groups of plans, the first plan of one is replayed although its twin stands for it. The recording says
/// which one, so that it is another one in each.
const GROUPS_PER_REPLAY: usize = 16;

/// One sweep: a cassette under its seeded plans, in every channel.
pub(super) struct PlanSweep<'a> {
    /// The bytes, and the lines of the host.
    pub(super) capture: Capture<'a>,
    /// Milliseconds between two lines where only the host's side varies.
    pub(super) pace_ms: u64,
    /// The canonical replays of the same bytes without faults, one for each setup.
    pub(super) bases: Vec<Arc<Replay>>,
    /// The seeds of the plans.
    pub(super) seeds: Seeds,
    /// Plans that the scenario names, each with its name in a finding.
    pub(super) pinned: &'a [(String, Plan)],
    /// The faults of the chat's server in every plan.
    pub(super) faults: &'a [Fault],
    /// The kinds of faults that each plan draws in addition.
    pub(super) drawn: &'a [FaultKind],
    /// The place of the cassette in a finding.
    pub(super) place: String,
    /// The line that replays the cassette under a plan in a setup and shows a lane.
    pub(super) reproduce: &'a (dyn Fn(&Plan, Setup, Option<Lane>) -> String + Sync),
    /// Gets the name, the plan and the replays of every plan that is judged, but not of one whose twin has been judged for
    /// another plan; in their order if there are no `cores`.
    pub(super) replayed: &'a (dyn Fn(&str, &Plan, &[Replay]) + Sync),
    /// The cores that may be used beside this thread's.
    pub(super) cores: &'a IdleCores,
    /// What the replays of a plan share.
    pub(super) sharing: PlanSharing,
    /// What the parser said of the plans in other setups.
    pub(super) parsed: &'a ParsedPlans,
}

/// What the replays of a plan in several setups share. It changes how long a sweep takes and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanSharing {
    /// One parse for all setups, what the bytes state, which is read once for all plans, what a plan has in common with the
    /// canonical replay, and the twin of plans with the same times. Such a plan is not replayed where the parser says that it
    /// must be the same. Plans are replayed on several cores.
    #[default]
    Shared,
    /// Nothing: each plan is parsed and read anew in each setup, and one replay comes after another.
    Nothing,
}

/// A plan that fails, made as small as it gets.
pub(super) struct FailedPlan {
    /// What it was made from: `seed 7`.
    pub(super) name: String,
    pub(super) plan: Plan,
    pub(super) finding: Finding,
}

/// Why a cut replay is wrong.
enum Mismatch<'a> {
    /// It breaks an invariant.
    Broken(BrokenRule),
    /// A lane is not that of the uncut replay.
    Lane(Lane, Divergence, TraceDiff<'a>, &'a Replay),
    /// A person ends up reading something else.
    FinalText(String, FinalTextDiff, &'a Replay),
    /// With a fault of the agent's side, a person does not see what they must.
    Unseen(AgentFault, Unseen<'a>, &'a Replay),
}

/// The canonical replay of the recorded bytes in one setup.
#[derive(Clone, Copy)]
struct Base<'a> {
    replay: &'a Arc<Replay>,
    /// Whether it is known to break no invariant.
    holds: bool,
}

/// The replays of a plan in one setup.
struct PlannedReplays<'a> {
    base: Base<'a>,
    /// The replay of the plan.
    cut: &'a Replay,
    /// The replay of its uncut twin; none where `cut` is that one.
    twin: Option<&'a Replay>,
}

impl PlanSweep<'_> {
    /// Replays every plan, and adds the kinds of faults that a call got to `met`; the first mismatch is reported
    /// with the smallest plan that shows it.
    pub(super) fn run(&self, met: &mut Vec<FaultKind>) -> Option<FailedPlan> {
        let (name, plan, setup) = self.first(met)?;
        let base = self.bases.iter().find(|base| base.setup == setup)?;
        let plan = smallest(plan, |plan| self.judge(base, plan, |_| ()).is_some());
        let report = |mismatch: Mismatch<'_>| self.finding(&name, &plan, setup, mismatch);
        let finding = self.judge(base, &plan, report)?;
        Some(FailedPlan { name, plan, finding })
    }

    /// The first plan that fails, with its name and the setup in which it does.
    pub(super) fn first(&self, met: &mut Vec<FaultKind>) -> Option<(String, Plan, Setup)> {
        let is_shared = self.sharing == PlanSharing::Shared;
        let holds = |replay: &Replay| is_shared && broken(replay).is_empty();
        let bases = self.bases.iter().map(|replay| Base { replay, holds: holds(replay) });
        let bases: Vec<_> = bases.collect();
        let mut groups = Groups::of(self.all_plans()).enumerate();
        loop {
            let cores = self.cores.take();
            let batch: Vec<_> = groups.by_ref().take(cores.batch()).collect();
            if batch.is_empty() {
                return None;
            }
            let judged =
                cores.map(&batch, |(number, plans)| self.judge_group(&bases, *number, plans));
            for ((_, plans), (kinds, failing)) in batch.into_iter().zip(judged) {
                for kind in kinds {
                    if !met.contains(&kind) {
                        met.push(kind);
                    }
                }
                if let Some((index, setup)) = failing {
                    let failed = plans.into_iter().nth(index);
                    return failed.map(|(name, plan)| (name, plan, setup));
                }
            }
        }
    }

    /// Judges the plans of a group, which has a number, in all setups. Returns the kinds of their faults that a call got, and
    /// the index of the first plan that fails, with the setup in which it does.
    fn judge_group(
        &self,
        bases: &[Base<'_>],
        number: usize,
        plans: &[NamedPlan],
    ) -> (Vec<FaultKind>, Option<(usize, Setup)>) {
        let mut met = Vec::new();
        let is_shared = self.sharing == PlanSharing::Shared;
        // The twin of the plans so far, and whether one holds that it stands for.
        let mut known: Option<(Twin, bool)> = None;
        for (index, (name, plan)) in plans.iter().enumerate() {
            let played = plan.played(self.capture);
            let uncut = played.uncut();
            let (twin, holds) = match known.take() {
                Some((twin, holds)) if is_shared && twin.is_of(&uncut) => (twin, holds),
                _ => (self.twin(bases, &uncut), false),
            };
            let stands_for = || twin.stands_for(&played);
            let is_twin = is_shared && self.parsed.known_or((number, index), stands_for);
            let is_sample = (number + self.capture.stdout.len()).is_multiple_of(GROUPS_PER_REPLAY);
            let is_replayed = is_sample && index == 0;
            let is_alone = !is_twin || is_replayed;
            let own = is_alone.then(|| self.replays(bases, &played).0);
            if let Some(cuts) = own.as_ref().or_else(|| (!holds).then_some(&twin.replays)) {
                (self.replayed)(name, plan, cuts);
                let kinds = cuts.iter().flat_map(|cut| unmet::met(cut, &plan.faults));
                met.extend(kinds.map(|fault| fault.kind));
                let twins = own.as_ref().map(|_| &twin.replays[..]);
                if let Some(setup) = self.failing(bases, &played, cuts, twins) {
                    return (met, Some((index, setup)));
                }
            }
            known = Some((twin, holds || is_twin));
        }
        (met, None)
    }

    /// The first setup in which a plan fails whose replays are `cuts`. There are no `twins` where these are those of the twin.
    fn failing(
        &self,
        bases: &[Base<'_>],
        played: &PlayedPlan<'_>,
        cuts: &[Replay],
        twins: Option<&[Replay]>,
    ) -> Option<Setup> {
        let replays = bases.iter().zip(cuts).enumerate().map(|(index, (&base, cut))| {
            PlannedReplays { base, cut, twin: twins.map(|twins| &twins[index]) }
        });
        let mut wrong = replays.filter(|replays| self.mismatch(played, replays).is_some());
        wrong.next().map(|replays| replays.base.replay.setup)
    }

    /// Replays the twin of a plan in all setups.
    fn twin(&self, bases: &[Base<'_>], uncut: &PlayedPlan<'_>) -> Twin {
        let (replays, is_in_step) = self.replays(bases, uncut);
        let followed = bases.first().filter(|_| is_in_step);
        Twin::new(uncut, replays, followed.map(|base| base.replay.heard.clone()))
    }

    /// Replays a plan in all setups. Says also whether the parser's events are those of the canonical replays, with the same
    /// lines.
    fn replays(&self, bases: &[Base<'_>], played: &PlayedPlan<'_>) -> (Vec<Replay>, bool) {
        if self.sharing == PlanSharing::Nothing {
            let each =
                bases.iter().filter_map(|base| replay_played(played, &[base.replay.setup]).pop());
            return (each.collect(), false);
        }
        let followed: Vec<&Replay> = bases.iter().map(|base| &**base.replay).collect();
        replay_following(played, &followed)
    }

    /// The first setup in which the replay of a plan is wrong, and what is wrong with it.
    pub(super) fn finding_of(&self, name: &str, plan: &Plan) -> Option<(Setup, Finding)> {
        self.bases.iter().find_map(|base| {
            let report = |mismatch: Mismatch<'_>| self.finding(name, plan, base.setup, mismatch);
            Some((base.setup, self.judge(base, plan, report)?))
        })
    }

    /// The plans with their names: those that the scenario names, one for each seed, one for each fault of each answer of the host, and some with
    /// a fault of the agent's side.
    fn all_plans(&self) -> impl Iterator<Item = (String, Plan)> {
        let seeded = move |seed| {
            let plan = seeded(self.capture, self.faults, self.drawn, seed);
            (format!("seed {seed}"), plan)
        };
        let plan = Plan::canonical(self.capture, self.pace_ms);
        let plan = plan.with_faults(self.faults.iter().copied());
        // A sweep without seeds is a sweep that its scenario turned off.
        let faulty = (self.seeds.count > 0).then(|| plan.faulty_dialogues(self.capture));
        let agent = move |seed| {
            let plan = Plan::seeded_agent_fault(self.capture, seed, self.pace_ms);
            let words: Vec<String> = plan.agent.iter().map(AgentFault::to_string).collect();
            let name = format!("seed {seed} with {}", words.join(" "));
            (name, plan.with_faults(self.faults.iter().copied()))
        };
        let agents = self.seeds.one_of(SEEDS_PER_AGENT_FAULT).each().map(agent);
        let pinned = self.pinned.iter().cloned();
        let faulty = faulty.into_iter().flatten();
        pinned.chain(self.seeds.each().map(seeded)).chain(faulty).chain(agents)
    }

    /// Replays a plan in the setup of `base`, and gives what `report` makes of the first mismatch.
    fn judge<T>(
        &self,
        base: &Arc<Replay>,
        plan: &Plan,
        report: impl FnOnce(Mismatch<'_>) -> T,
    ) -> Option<T> {
        let played = plan.played(self.capture);
        let replay = |played: &PlayedPlan<'_>| replay_played(played, &[base.setup]).pop();
        let (mut cut, twin) = (replay(&played)?, replay(&played.uncut())?);
        cut.share_facts(&base.facts);
        let base = Base { replay: base, holds: false };
        let replays = PlannedReplays { base, cut: &cut, twin: Some(&twin) };
        self.mismatch(&played, &replays).map(report)
    }

    /// The first thing that is wrong with the replay of a plan.
    fn mismatch<'r>(
        &'r self,
        played: &'r PlayedPlan<'_>,
        replays: &PlannedReplays<'r>,
    ) -> Option<Mismatch<'r>> {
        let &PlannedReplays { base: Base { replay: base, holds }, cut, twin } = replays;
        let has_events_of_base = holds && cut.has_events_of(base);
        let agent = &played.plan.agent;
        let run = &base.setup.run;
        let is_exempt = |rule| agent.iter().any(|fault| agent::is_exempt(*fault, rule, run));
        let broken = match has_events_of_base {
            true => broken_beside_events(cut),
            false => broken(cut),
        };
        let mut broken = broken.into_iter().filter(|it| !is_exempt(it.kind));
        if let Some(broken) = broken.next() {
            return Some(Mismatch::Broken(broken));
        }
        let all = Lane::ALL.into_iter().filter(|lane| *lane != Lane::Read);
        let other_than_twin = || other_lane(twin?, cut, all, Times::Compared);
        match agent[..] {
            [] => {}
            // What a person must see is known of one fault alone.
            [fault] => {
                let (recorded, came) = (self.capture.stdout, &*played.stdout);
                let run = FaultyRun { fault, recorded, came, base, faulty: cut };
                let unseen = || Some(Mismatch::Unseen(fault, run.unseen()?, cut));
                return other_than_twin().or_else(unseen);
            }
            [..] => return other_than_twin(),
        }
        // Where the plan is not faithful to the host's side, the gateway hears something else than in `base`, so
        // that only what a person ends up reading is compared with it.
        let inner = [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse].into_iter();
        let inner = inner.filter(|_| cut.own().is_faithful && !has_events_of_base);
        other_lane(base, cut, inner, Times::Ignored).or_else(other_than_twin).or_else(|| {
            let (sentence, diff) = wrong_final_text(&base.entries, &cut.entries)?;
            Some(Mismatch::FinalText(sentence, diff, cut))
        })
    }

    fn finding(&self, name: &str, plan: &Plan, setup: Setup, mismatch: Mismatch<'_>) -> Finding {
        let new = |kind, lane: Option<Lane>, sentence: &str| {
            let reproduce = (self.reproduce)(plan, setup, lane);
            Finding::new(kind, &self.place, format!("{name}: {sentence}"), reproduce)
        };
        let kind = FindingKind::PlanDiverges;
        match mismatch {
            Mismatch::Broken(BrokenRule { kind, sentence, context }) => {
                new(kind, None, &sentence).with_context(context)
            }
            Mismatch::Lane(lane, Divergence { at, sentence }, diff, cut) => {
                new(kind, Some(lane), &sentence)
                    .with_difference(diff.change(), diff.lines())
                    .with_context(context(&cut.entries, lane, at))
            }
            Mismatch::FinalText(sentence, diff, cut) => {
                let (change, lines) = diff.difference();
                new(kind, Some(Lane::Telegram), &sentence)
                    .with_difference(change, lines)
                    .with_context(context(&cut.entries, Lane::Telegram, None))
            }
            Mismatch::Unseen(fault, unseen, cut) => {
                let kind = FindingKind::FaultUnseen;
                let (lane, sentence, change, lines, at) = match unseen {
                    Unseen::Lane(lane, Divergence { at, sentence }, diff) => {
                        (lane, sentence, diff.change(), diff.lines(), at)
                    }
                    Unseen::FinalText(sentence, diff) => {
                        let (change, lines) = diff.difference();
                        (Lane::Telegram, sentence, change, lines, None)
                    }
                    Unseen::Missing(lane, sentence) => (lane, sentence, None, Vec::new(), None),
                };
                new(kind, Some(lane), &format!("with the fault {fault}: {sentence}"))
                    .with_difference(change, lines)
                    .with_context(context(&cut.entries, lane, at))
            }
        }
    }
}

/// The plan of a seed with these faults of the chat's server, and with those of the kinds that it draws.
pub(super) fn seeded(
    capture: Capture<'_>,
    faults: &[Fault],
    drawn: &[FaultKind],
    seed: u64,
) -> Plan {
    let plan = Plan::seeded(capture, seed).with_faults(faults.iter().copied());
    plan.with_faults(Plan::random_faults(seed, drawn))
}

/// The first of `lanes` in which a replay differs from an uncut one.
fn other_lane<'r>(
    uncut: &'r Replay,
    cut: &'r Replay,
    mut lanes: impl Iterator<Item = Lane>,
    times: Times,
) -> Option<Mismatch<'r>> {
    lanes.find_map(|lane| {
        let [old, new] = [uncut, cut].map(|replay| {
            let mut entries: Vec<&Entry> = replay.lane(lane).collect();
            if times == Times::Ignored {
                sort_by_turn(&mut entries);
            }
            entries
        });
        let diff = TraceDiff::new(old, new, times).within(&cut.entries);
        let divergence = diff.first()?;
        Some(Mismatch::Lane(lane, divergence, diff, cut))
    })
}

#[cfg(test)]
pub(super) mod tests;
