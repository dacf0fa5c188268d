//! Equivalence of plans: however the bytes are cut and delayed, the trace is that of the uncut
//! replay.
//!
//! For every seed the cut replay is compared with two uncut ones. In the canonical one, the lifecycle,
//! the bus, the ACP updates and the event stream are the same, times aside, and the person ends up
//! reading the same. In its own twin, every line comes whole at the moment at which the plan completes
//! it, and every lane is the same, times included.

use std::sync::Arc;

use super::context::context;
use super::divergence::Divergence;
use super::final_text::{FinalTextDiff, wrong_final_text};
use super::finding::{Finding, FindingKind};
use super::invariant::{self, BrokenInvariant};
use super::trace_diff::{Times, TraceDiff};
use super::unmet;
use crate::replay::{Capture, Entry, Lane, Plan, Replay, Setup, replay, replay_all};
use crate::scenario::{Fault, FaultKind};

/// Replays spent at most on making a plan smaller.
const SHRINK_TRIES: u32 = 600;

/// One sweep: a cassette under its seeded plans, in every channel.
pub(super) struct PlanSweep<'a> {
    /// The bytes, and the lines of the host.
    pub(super) capture: Capture<'a>,
    /// Milliseconds between two lines where only the host's side varies.
    pub(super) pace_ms: u64,
    /// The canonical replays of the same bytes without faults, one for each setup.
    pub(super) bases: Vec<Arc<Replay>>,
    /// The number of seeds, which begin with 1.
    pub(super) plans: u64,
    /// The faults of the chat's server in every plan.
    pub(super) faults: &'a [Fault],
    /// The kinds of faults that each plan draws in addition.
    pub(super) drawn: &'a [FaultKind],
    /// The place of the cassette in a finding.
    pub(super) place: String,
    /// The line that replays the cassette under a plan in a setup and shows a lane.
    pub(super) reproduce: &'a dyn Fn(&Plan, Setup, Option<Lane>) -> String,
}

/// Why a cut replay is wrong.
enum Mismatch<'a> {
    /// It breaks an invariant.
    Broken(BrokenInvariant),
    /// A lane is not that of the uncut replay.
    Lane(Lane, Divergence, TraceDiff<'a>, &'a Replay),
    /// A person ends up reading something else.
    FinalText(String, FinalTextDiff, &'a Replay),
}

impl PlanSweep<'_> {
    /// Replays every plan, and adds the kinds of faults that a call got to `met`; the first mismatch is reported
    /// with the smallest plan that shows it.
    pub(super) fn run(&self, met: &mut Vec<FaultKind>) -> Option<Finding> {
        let setups: Vec<Setup> = self.bases.iter().map(|base| base.setup).collect();
        self.all_plans().find_map(|(name, plan)| {
            let twin = plan.uncut(self.capture.stdout);
            let cuts = replay_all(self.capture, &plan, &setups);
            for fault in cuts.iter().flat_map(|cut| unmet::met(cut, &plan.faults)) {
                if !met.contains(&fault.kind) {
                    met.push(fault.kind);
                }
            }
            let twins = replay_all(self.capture, &twin, &setups);
            let mut replays = self.bases.iter().zip(cuts.iter().zip(&twins));
            let (base, _) =
                replays.find(|(base, (cut, twin))| mismatch(base, cut, twin).is_some())?;
            let small = smallest(plan, |plan| self.judge(base, plan, |_| ()).is_some());
            self.judge(base, &small, |mismatch| self.finding(&name, &small, base.setup, mismatch))
        })
    }

    /// The plans with their names: one for each seed, and one for each fault of each answer of the host.
    fn all_plans(&self) -> impl Iterator<Item = (String, Plan)> {
        let seeded = move |seed| {
            let drawn = Plan::random_faults(seed, self.drawn);
            let plan = Plan::seeded(self.capture, seed).with_faults(self.faults.iter().copied());
            (format!("seed {seed}"), plan.with_faults(drawn))
        };
        let plan = Plan::canonical(self.capture, self.pace_ms);
        let plan = plan.with_faults(self.faults.iter().copied());
        // A sweep without seeds is a sweep that its scenario turned off.
        let faulty = (self.plans > 0).then(|| plan.faulty_dialogues(self.capture));
        (1..=self.plans).map(seeded).chain(faulty.into_iter().flatten())
    }

    /// Replays a plan in the setup of `base`, and gives what `report` makes of the first mismatch.
    fn judge<T>(
        &self,
        base: &Replay,
        plan: &Plan,
        report: impl FnOnce(Mismatch<'_>) -> T,
    ) -> Option<T> {
        let cut = replay(self.capture, plan, base.setup);
        let twin = replay(self.capture, &plan.uncut(self.capture.stdout), base.setup);
        mismatch(base, &cut, &twin).map(report)
    }

    fn finding(&self, name: &str, plan: &Plan, setup: Setup, mismatch: Mismatch<'_>) -> Finding {
        let new = |kind, lane: Option<Lane>, sentence: &str| {
            let reproduce = (self.reproduce)(plan, setup, lane);
            Finding::new(kind, &self.place, format!("{name}: {sentence}"), reproduce)
        };
        let kind = FindingKind::PlanDiverges;
        match mismatch {
            Mismatch::Broken(BrokenInvariant { kind, sentence, context }) => {
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
        }
    }
}

/// The first thing that is wrong with a cut replay: `base` is the canonical replay, `twin` the uncut one with
/// the same arrival times. Where the plan is not faithful to the host's side, the gateway hears something else
/// than in `base`, so that only what a person ends up reading is compared with it.
fn mismatch<'r>(base: &'r Replay, cut: &'r Replay, twin: &'r Replay) -> Option<Mismatch<'r>> {
    if let Some(broken) = invariant::broken(cut).into_iter().next() {
        return Some(Mismatch::Broken(broken));
    }
    let inner = [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse].into_iter();
    let inner = inner.filter(|_| cut.is_faithful).map(|lane| (base, lane, Times::Ignored));
    let all = Lane::ALL.into_iter().filter(|lane| *lane != Lane::Read);
    let all = all.map(|lane| (twin, lane, Times::Compared));
    for (uncut, lane, times) in inner.chain(all) {
        let [old, new] = [uncut, cut].map(|replay| {
            let mut entries: Vec<&Entry> = replay.lane(lane).collect();
            if times == Times::Ignored {
                // A turn may begin while the chat still delivers the one before.
                entries.sort_by_key(|entry| entry.turn());
            }
            entries
        });
        let diff = TraceDiff::new(old, new, times).within(&cut.entries);
        if let Some(divergence) = diff.first() {
            return Some(Mismatch::Lane(lane, divergence, diff, cut));
        }
    }
    let (sentence, diff) = wrong_final_text(&base.entries, &cut.entries)?;
    Some(Mismatch::FinalText(sentence, diff, cut))
}

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
    plan
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::replay::AcpClient;
    use crate::scenario::{Chat, ChatMode, RunSpec};

    /// The output of a run with one answer.
    pub(in crate::check) const RUN: &str = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
        "\n",
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","#,
        r#""text":"Grüße aus 世界 🌍, und noch ein paar Worte mehr."}],"stop_reason":null},"#,
        r#""session_id":"s"}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":false,"#,
        r#""result":"Grüße aus 世界 🌍, und noch ein paar Worte mehr.","session_id":"s"}"#,
        "\n",
    );

    /// Sweeps [`RUN`] with a chat in `mode` against the canonical replay of `base`.
    fn sweep(mode: ChatMode, base: &str, plans: u64, faults: &[&str]) -> Option<Finding> {
        let acp = Some(AcpClient { terminal: false });
        let setup = Setup { run: RunSpec::default(), channel: Some(Chat::of(mode)), acp };
        let base = replay(base.as_bytes(), &Plan::canonical(base.as_bytes(), 200), setup);
        let faults: Vec<Fault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        PlanSweep {
            capture: RUN.as_bytes().into(),
            pace_ms: 200,
            bases: vec![Arc::new(base)],
            plans,
            faults: &faults,
            drawn: if faults.is_empty() { &[] } else { &[FaultKind::Slow] },
            place: "x 1.0 plans".into(),
            reproduce: &|plan, _, lane| format!("{} {lane:?}", plan.to_line()),
        }
        .run(&mut Vec::new())
    }

    #[test]
    fn every_plan_tells_what_the_uncut_replay_does() {
        assert_eq!(sweep(ChatMode::Partial, RUN, 16, &[]), None);
    }

    #[test]
    fn a_divergence_is_told_with_the_smallest_plan() {
        let base = RUN.replace("Worte", "Wörter");
        let finding = sweep(ChatMode::Partial, &base, 16, &[]).unwrap();
        assert_eq!(finding.id, FindingKind::PlanDiverges);
        let plan = format!(r#"{{"format":1,"seed":1,"steps":[[0,{}]]}}"#, RUN.len());
        assert!(finding.sentence.contains("`delta` of text should be"), "{}", finding.sentence);
        assert!(finding.sentence.starts_with("seed 1: turn 1, +0 ms: "), "{}", finding.sentence);
        assert_eq!(finding.reproduce, format!("{plan} Some(Lifecycle)"));
    }

    #[test]
    fn v6_a_finding_names_the_faults_it_takes() {
        let errors = ["1", "2", "3", "4", "5"].map(|call| format!("{call}:server-error"));
        let mut faults: Vec<&str> = errors.iter().map(String::as_str).collect();
        faults.push("7:hang");
        let found = sweep(ChatMode::Off, RUN, 4, &faults[1..]);
        assert_eq!(found, None, "the final message is tried five times");
        let finding = sweep(ChatMode::Off, RUN, 4, &faults).unwrap();
        assert_eq!(finding.id, FindingKind::FinalNotOnce);
        let listed = format!(r#""faults":["{}"]}}"#, errors.join("\",\""));
        assert!(finding.reproduce.contains(&listed), "{}", finding.reproduce);
    }
}
