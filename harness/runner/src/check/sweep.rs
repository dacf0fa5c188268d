//! Plans of a recording: cuts are the parser's business, times are the gateway's.
//!
//! *Cuts*: under the cuts of each plan the parser has the events that it has of whole lines, each with the piece that
//! ends its line. *Times*: at the times of each plan, with its faults and the host's answers, whole lines are replayed;
//! the lifecycle, the bus, the ACP updates and the event stream are those of the canonical replay, times aside, and the
//! person ends up reading the same. Plans whose lines end at the same times are replayed once.
//!
//! One seeded plan, and each pinned one, is also replayed with its cuts; every lane is that of the whole lines then,
//! times included. Some further plans have a fault of the agent's side each, and a person must see what
//! `check/agent.rs` says.

use std::sync::Arc;

use clitape_judge::{
    Divergence, FinalTextDiff, Finding, FindingKind, Times, TraceDiff, context, wrong_final_text,
};
use clitape_recording::scenario::{Fault, FaultKind, Seeds, Setup};
use clitape_recording::trace::{Entry, Lane, sort_by_turn};

use super::agent::{self, FaultyRun, Unseen};
use super::broken::{BrokenRule, broken, met_faults};
use crate::replay::{AgentFault, Capture, ParserReport, Plan, PlayedPlan, Replay, replay_played};

/// The number of seeds for each plan with a fault of the agent's side.
const SEEDS_PER_AGENT_FAULT: u64 = 16;

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
    /// Called with the name, the plan and the replays of every plan that is replayed, in their order.
    pub(super) replayed: &'a (dyn Fn(&str, &Plan, &[Replay]) + Sync),
}

/// The work of a sweep so far.
#[derive(Debug, Default)]
pub(super) struct SweptPlans {
    /// The number of seeded plans that were replayed; the others end their lines at the times of one of these.
    pub(super) replayed: u64,
    /// The kinds of faults of the chat's server that a call got.
    pub(super) faults_met: Vec<FaultKind>,
}

/// The source of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanOrigin {
    /// The scenario names it.
    Pinned,
    /// A seed draws its cuts, its times and its faults.
    Seeded,
    /// A seed draws them, and the plan is also replayed with its cuts.
    SeededAndCut,
    /// All bytes come in one read.
    AtOnce,
    /// It has a fault of an answer of the host.
    Answer,
    /// It has a fault of the agent's side.
    Agent,
}

/// A plan of a sweep.
struct NamedPlan {
    /// The name in a finding: `seed 7`.
    name: String,
    plan: Plan,
    origin: PlanOrigin,
}

/// Whole lines at the times of a plan.
struct WholeLines {
    plan: Plan,
    events: ParserReport,
    /// The replays, one for each setup.
    replays: Vec<Replay>,
}

/// A plan that fails, made as small as it gets.
pub(super) struct FailedPlan {
    /// The name of the plan that it was made from: `seed 7`.
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
    /// The parser reports something else than of whole lines, and no lane shows it.
    Cuts(String),
}

impl PlanSweep<'_> {
    /// Judges every plan; the first one that fails is reported as the smallest plan that shows it.
    pub(super) fn run(&self, swept: &mut SweptPlans) -> Option<FailedPlan> {
        let (name, plan, setup) = self.first(swept)?;
        let base = self.bases.iter().find(|base| base.setup == setup)?;
        let plan = smallest(plan, |plan| self.judge(base, plan, |_| ()).is_some());
        let report = |mismatch: Mismatch<'_>| self.finding(&name, &plan, setup, mismatch);
        let finding = self.judge(base, &plan, report)?;
        Some(FailedPlan { name, plan, finding })
    }

    /// Returns the first plan that fails, with its name and a setup in which it does.
    pub(super) fn first(&self, swept: &mut SweptPlans) -> Option<(String, Plan, Setup)> {
        let mut last: Option<WholeLines> = None;
        for NamedPlan { name, plan, origin } in self.all_plans() {
            let played = plan.played(self.capture);
            let uncut = played.uncut();
            let is_whole = uncut.plan == played.plan;
            // Those of the plan before are given back before others are made.
            drop(last.take_if(|last| !last.plan.is_replayed_as(&uncut.plan)));
            let whole = match last.take() {
                Some(known) => known,
                None => {
                    let replays = self.replays(&uncut);
                    swept.add(origin, &plan, &replays);
                    (self.replayed)(&name, &plan, &replays);
                    if let Some(setup) = self.failing(&uncut, &replays, None) {
                        return Some((name, plan, setup));
                    }
                    let events = ParserReport::of(&uncut);
                    WholeLines { plan: uncut.plan.into_owned(), events, replays }
                }
            };
            let whole = last.insert(whole);
            if !is_whole && whole.events.difference(&played).is_some() {
                let fails = |base: &&Arc<Replay>| self.judge(base, &plan, |_| ()).is_some();
                let setup = self.bases.iter().find(fails)?.setup;
                return Some((name, plan, setup));
            }
            let is_cut = matches!(origin, PlanOrigin::Pinned | PlanOrigin::SeededAndCut);
            if is_cut && !is_whole {
                let cut = self.replays(&played);
                (self.replayed)(&name, &plan, &cut);
                if let Some(setup) = self.failing(&played, &cut, Some(&whole.replays)) {
                    return Some((name, plan, setup));
                }
            }
        }
        None
    }

    /// Replays a plan in all setups.
    fn replays(&self, played: &PlayedPlan<'_>) -> Vec<Replay> {
        let setups: Vec<Setup> = self.bases.iter().map(|base| base.setup).collect();
        let mut replays = replay_played(played, &setups);
        for (replay, base) in replays.iter_mut().zip(&self.bases) {
            replay.share_facts(&base.facts);
        }
        replays
    }

    /// Returns the first setup in which the replays of a plan are wrong. Those of whole lines at the same times are
    /// given for a plan that cuts them.
    fn failing(
        &self,
        played: &PlayedPlan<'_>,
        replays: &[Replay],
        whole: Option<&[Replay]>,
    ) -> Option<Setup> {
        let mut all = self.bases.iter().zip(replays).enumerate();
        let is_wrong = |&(index, (base, replay)): &(usize, (&Arc<Replay>, &Replay))| {
            let whole = whole.map(|whole| &whole[index]);
            self.mismatch(played, base, replay, whole).is_some()
        };
        all.find(is_wrong).map(|(_, (base, _))| base.setup)
    }

    /// Returns the first setup in which a plan fails, and its finding.
    pub(super) fn finding_of(&self, name: &str, plan: &Plan) -> Option<(Setup, Finding)> {
        self.bases.iter().find_map(|base| {
            let report = |mismatch: Mismatch<'_>| self.finding(name, plan, base.setup, mismatch);
            Some((base.setup, self.judge(base, plan, report)?))
        })
    }

    /// Returns the plans: those that the scenario names, one in which all comes in one read, one for each seed, one for each fault of each answer of the
    /// host, and some with a fault of the agent's side.
    fn all_plans(&self) -> impl Iterator<Item = NamedPlan> {
        // The size of the recording chooses the seed, so that recordings are cut in different ways.
        let cut_seed = (self.capture.stdout.len() as u64).checked_rem(self.seeds.count);
        let cut_seed = cut_seed.map(|index| self.seeds.first.wrapping_add(index));
        let seeded = move |seed| NamedPlan {
            name: format!("seed {seed}"),
            plan: seeded(self.capture, self.faults, self.drawn, seed),
            origin: match cut_seed == Some(seed) {
                true => PlanOrigin::SeededAndCut,
                false => PlanOrigin::Seeded,
            },
        };
        let plan = Plan::canonical(self.capture, self.pace_ms);
        let plan = plan.with_faults(self.faults.iter().copied());
        // A sweep without seeds is a sweep that its scenario turned off.
        let faulty = (self.seeds.count > 0).then(|| plan.faulty_dialogues(self.capture));
        let answer = |(name, plan)| NamedPlan { name, plan, origin: PlanOrigin::Answer };
        let agent = move |seed| {
            let plan = Plan::seeded_agent_fault(self.capture, seed, self.pace_ms);
            let words: Vec<String> = plan.agent.iter().map(AgentFault::to_string).collect();
            let name = format!("seed {seed} with {}", words.join(" "));
            let plan = plan.with_faults(self.faults.iter().copied());
            NamedPlan { name, plan, origin: PlanOrigin::Agent }
        };
        let agents = self.seeds.one_of(SEEDS_PER_AGENT_FAULT).each().map(agent);
        let pinned = self.pinned.iter().cloned();
        let pinned =
            pinned.map(|(name, plan)| NamedPlan { name, plan, origin: PlanOrigin::Pinned });
        let faulty = faulty.into_iter().flatten().map(answer);
        let at_once = (self.seeds.count > 0).then(|| {
            let mut plan = plan.glued(0, plan.steps.len());
            // The read comes at once, so that no silence before it counts.
            plan.steps[0].after_ms = 0;
            NamedPlan { name: "all in one read".to_owned(), plan, origin: PlanOrigin::AtOnce }
        });
        let seeded = self.seeds.each().map(seeded);
        pinned.chain(at_once).chain(seeded).chain(faulty).chain(agents)
    }

    /// Judges a plan with its cuts and without them in the setup of `base`, and returns what `report` makes of the
    /// first mismatch.
    fn judge<T>(
        &self,
        base: &Arc<Replay>,
        plan: &Plan,
        report: impl FnOnce(Mismatch<'_>) -> T,
    ) -> Option<T> {
        let played = plan.played(self.capture);
        let replay = |played: &PlayedPlan<'_>| {
            let mut replay = replay_played(played, &[base.setup]).pop()?;
            replay.share_facts(&base.facts);
            Some(replay)
        };
        let uncut = played.uncut();
        let (cut, whole) = (replay(&played)?, replay(&uncut)?);
        let mismatch = self.mismatch(&played, base, &cut, Some(&whole));
        let by_cuts = || ParserReport::of(&uncut).difference(&played).map(Mismatch::Cuts);
        mismatch.or_else(by_cuts).map(report)
    }

    /// Returns the first thing that is wrong with the replay of a plan. A replay with cuts is also held against the one
    /// of `whole` lines at the same times.
    fn mismatch<'r>(
        &'r self,
        played: &'r PlayedPlan<'_>,
        base: &'r Replay,
        replay: &'r Replay,
        whole: Option<&'r Replay>,
    ) -> Option<Mismatch<'r>> {
        let agent = &played.plan.agent;
        let run = &base.setup.run;
        let is_exempt = |rule| agent.iter().any(|fault| agent::is_exempt(*fault, rule, run));
        let mut broken = broken(replay).into_iter().filter(|it| !is_exempt(it.kind));
        if let Some(broken) = broken.next() {
            return Some(Mismatch::Broken(broken));
        }
        let all = Lane::ALL.into_iter().filter(|lane| *lane != Lane::Read);
        let other_than_whole = || other_lane(whole?, replay, all, Times::Compared);
        match agent[..] {
            [] => {}
            // What a person must see is known of one fault alone.
            [fault] => {
                let (recorded, came) = (self.capture.stdout, &*played.stdout);
                let run = FaultyRun { fault, recorded, came, base, faulty: replay };
                let unseen = || Some(Mismatch::Unseen(fault, run.unseen()?, replay));
                return other_than_whole().or_else(unseen);
            }
            [..] => return other_than_whole(),
        }
        // Where the plan is not faithful to the host's side, the gateway hears something else than in `base`, so
        // that only what a person ends up reading is compared with it.
        let inner = [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse].into_iter();
        let inner = inner.filter(|_| replay.own().is_faithful);
        other_lane(base, replay, inner, Times::Ignored).or_else(other_than_whole).or_else(|| {
            let (sentence, diff) = wrong_final_text(&base.entries, &replay.entries)?;
            Some(Mismatch::FinalText(sentence, diff, replay))
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
            Mismatch::Cuts(sentence) => new(kind, Some(Lane::Lifecycle), &sentence),
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

impl SweptPlans {
    /// Counts a plan that was replayed.
    fn add(&mut self, origin: PlanOrigin, plan: &Plan, replays: &[Replay]) {
        let is_seeded = matches!(origin, PlanOrigin::Seeded | PlanOrigin::SeededAndCut);
        self.replayed += u64::from(is_seeded);
        for fault in replays.iter().flat_map(|replay| met_faults(replay, &plan.faults)) {
            if !self.faults_met.contains(&fault.kind) {
                self.faults_met.push(fault.kind);
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

/// Replays spent at most on making a plan smaller.
const SHRINK_TRIES: u32 = 600;

/// Takes cuts, delays and faults out of a plan for as long as it still `shows` what is looked for.
pub(super) fn smallest(mut plan: Plan, shows: impl Fn(&Plan) -> bool) -> Plan {
    let mut width = plan.steps.len() / 2;
    let mut tries = 0;
    while width > 0 {
        let mut from = 0;
        while from + 1 < plan.steps.len() && tries < SHRINK_TRIES {
            let to = (from + width + 1).min(plan.steps.len());
            let smaller = plan.glued(from, to);
            if shows(&smaller) {
                plan = smaller;
            }
            from += 1.max(width / 2);
            tries += 1;
        }
        width /= 2;
    }
    for i in 0..plan.steps.len() {
        let mut smaller = plan.clone();
        smaller.steps[i].after_ms = 0;
        if plan.steps[i].after_ms > 0 && shows(&smaller) {
            plan = smaller;
        }
    }
    for i in (0..plan.faults.len()).rev() {
        let mut smaller = plan.clone();
        smaller.faults.remove(i);
        if shows(&smaller) {
            plan = smaller;
        }
    }
    for i in (0..plan.agent.len()).rev() {
        let mut smaller = plan.clone();
        smaller.agent.remove(i);
        if shows(&smaller) {
            plan = smaller;
        }
    }
    plan
}

#[cfg(test)]
pub(super) mod tests;
