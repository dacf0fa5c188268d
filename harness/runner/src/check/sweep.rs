//! Equivalence of plans: however the bytes are cut and delayed, the trace is that of the uncut
//! replay.
//!
//! For every seed the cut replay is held against two uncut ones. Against the paced one: the
//! lifecycle, the bus, the ACP updates and the event stream are the same, times aside, and the person
//! ends up reading the same. And against its own twin, in which every line comes whole at the very
//! moment the plan completes it: every lane is the same, times included.

use serde_json::Value;

use super::change::change;
use super::context::{ContextMoment, context};
use super::diff::align_texts;
use super::divergence::{self, first_divergence};
use super::finding::{Finding, FindingKind};
use super::invariant::{self, BrokenInvariant};
use crate::replay::{ChatView, Entry, Lane, Plan, Replay, Setup, replay};
use crate::scenario::{Fault, FaultKind};

/// Replays spent at most on making a plan smaller.
const SHRINK_TRIES: u32 = 600;

/// What one sweep needs to know.
pub(super) struct PlanSweep<'a> {
    /// The bytes.
    pub(super) stdout: &'a [u8],
    /// How they are run.
    pub(super) setup: Setup,
    /// How many seeds, from 1.
    pub(super) plans: u64,
    /// What goes wrong at the chat's server in every plan.
    pub(super) faults: &'a [Fault],
    /// The kinds of faults that the plans draw on top.
    pub(super) drawn: &'a [FaultKind],
    /// The uncut replay of the same bytes with the same setup, without faults.
    pub(super) base: &'a Replay,
    /// Where this is, for a finding.
    pub(super) place: String,
    /// The command that replays the cassette with the setup under a plan.
    pub(super) command: &'a dyn Fn(&Plan) -> String,
}

/// Why a cut replay is wrong.
struct PlanDivergence {
    kind: FindingKind,
    sentence: String,
    lane: Option<Lane>,
    expected: String,
    got: String,
    context: Vec<ContextMoment>,
}

impl PlanSweep<'_> {
    /// Replays every seed; the first divergence is told with the smallest plan that shows it.
    pub(super) fn run(&self) -> Option<Finding> {
        let total = self.stdout.len() as u64;
        (1..=self.plans).find_map(|seed| {
            let drawn = Plan::random_faults(seed, self.drawn);
            let plan = Plan::random(total, seed).with_faults(self.faults.iter().copied());
            let plan = plan.with_faults(drawn);
            self.judge(&plan)?;
            let small = smallest(plan, |plan| self.judge(plan).is_some());
            let divergence = self.judge(&small)?;
            Some(self.finding(seed, &small, &divergence))
        })
    }

    fn judge(&self, plan: &Plan) -> Option<PlanDivergence> {
        let cut = replay(self.stdout, plan, self.setup);
        if let Some(BrokenInvariant { kind, sentence, context }) =
            invariant::broken(&cut).into_iter().next()
        {
            let (expected, got) = (String::new(), String::new());
            return Some(PlanDivergence { kind, sentence, lane: None, expected, got, context });
        }
        let twin = replay(self.stdout, &plan.uncut(self.stdout), self.setup);
        let against = |lane, expected: String, got: String| {
            let divergence::Divergence { at, sentence } =
                first_divergence(&expected, &got, &cut.entries)?;
            let context = context(&cut.entries, lane, at);
            let (kind, lane) = (FindingKind::PlanDiverges, Some(lane));
            Some(PlanDivergence { kind, sentence, lane, expected, got, context })
        };
        [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse]
            .into_iter()
            .find_map(|lane| {
                let text = |replay: &Replay| timeless(&replay.entries, lane);
                against(lane, text(self.base), text(&cut))
            })
            .or_else(|| {
                Lane::ALL.into_iter().filter(|lane| *lane != Lane::Read).find_map(|lane| {
                    against(lane, timed(&twin.entries, lane), timed(&cut.entries, lane))
                })
            })
            .or_else(|| {
                let sentence = wrong_final_text(&self.base.entries, &cut.entries)?;
                let seen = |replay: &Replay| last_seen(&replay.entries);
                let (expected, got) = (seen(self.base), seen(&cut));
                let context = context(&cut.entries, Lane::Telegram, None);
                let (kind, lane) = (FindingKind::PlanDiverges, Some(Lane::Telegram));
                Some(PlanDivergence { kind, sentence, lane, expected, got, context })
            })
    }

    fn finding(&self, seed: u64, plan: &Plan, divergence: &PlanDivergence) -> Finding {
        let lane = divergence.lane.map(|lane| format!(" --lane {lane}")).unwrap_or_default();
        let sentence = format!("seed {seed}: {}", divergence.sentence);
        let reproduce = (self.command)(plan) + &lane;
        let (expected, got) = (&divergence.expected, &divergence.got);
        Finding::new(divergence.kind, &self.place, sentence, reproduce)
            .with_difference(change(expected, got), align_texts(expected, got))
            .with_context(divergence.context.clone())
    }
}

/// How what a person reads in the end of `entries` differs from what they read of `base`.
pub(super) fn wrong_final_text(base: &[Entry], entries: &[Entry]) -> Option<String> {
    let seen = last_seen(entries);
    // A run whose answer is the agent's own message may be over before a draft is sent.
    if seen.is_empty() && is_by_tool(entries) {
        return None;
    }
    let found = first_divergence(&last_seen(base), &seen, &[])?;
    Some(format!("in the end a person reads something else: {}", found.sentence))
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

fn timed(entries: &[Entry], lane: Lane) -> String {
    text(entries, lane, |entry| entry.at)
}

pub(super) fn timeless(entries: &[Entry], lane: Lane) -> String {
    text(entries, lane, |_| 0)
}

fn text(entries: &[Entry], lane: Lane, at: fn(&Entry) -> u64) -> String {
    let of_lane = entries.iter().filter(|entry| entry.lane == lane);
    of_lane.map(|entry| Entry { at: at(entry), ..entry.clone() }.to_line() + "\n").collect()
}

/// Whether the agent has sent its message itself, with a tool.
fn is_by_tool(entries: &[Entry]) -> bool {
    let word = |entry: &Entry| entry.data.get("delivery").is_some_and(|word| word == "by-tool");
    entries.iter().any(|entry| entry.kind == "final" && word(entry))
}

/// The final text of a chat, each message as a JSON string on a line.
fn last_seen(entries: &[Entry]) -> String {
    let view = ChatView::after(entries);
    view.final_text().into_iter().map(|text| Value::from(text).to_string() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::AcpClient;
    use crate::scenario::{Chat, ChatMode, RunSpec};

    const RUN: &str = concat!(
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

    /// Sweeps [`RUN`] against the paced replay of `base`.
    fn sweep(base: &str) -> Option<Finding> {
        let acp = Some(AcpClient { terminal: false });
        let setup =
            Setup { run: RunSpec::default(), channel: Some(Chat::of(ChatMode::Partial)), acp };
        let base = replay(base.as_bytes(), &Plan::paced(base.as_bytes(), 200), setup);
        PlanSweep {
            stdout: RUN.as_bytes(),
            setup,
            plans: 16,
            faults: &[],
            drawn: &[],
            base: &base,
            place: "x 1.0 plans".into(),
            command: &|plan| format!("clitape replay x --plan '{}'", plan.to_line()),
        }
        .run()
    }

    #[test]
    fn every_plan_tells_what_the_uncut_replay_does() {
        assert_eq!(sweep(RUN), None);
    }

    #[test]
    fn a_divergence_is_told_with_the_smallest_plan() {
        let finding = sweep(&RUN.replace("Worte", "Wörter")).unwrap();
        assert_eq!(finding.id, FindingKind::PlanDiverges);
        let plan = format!(r#"{{"format":1,"seed":1,"steps":[[0,{}]]}}"#, RUN.len());
        assert!(finding.sentence.contains("`delta` of text should be"), "{}", finding.sentence);
        assert!(finding.sentence.starts_with("seed 1: turn 1, +0 ms: "), "{}", finding.sentence);
        let line = format!("clitape replay x --plan '{plan}' --lane lifecycle");
        assert_eq!(finding.reproduce, line);
    }

    #[test]
    fn v6_a_finding_names_the_faults_it_takes() {
        let setup =
            Setup { run: RunSpec::default(), channel: Some(Chat::of(ChatMode::Off)), acp: None };
        let base = replay(RUN.as_bytes(), &Plan::paced(RUN.as_bytes(), 200), setup);
        let sweep = |faults: &[&str]| {
            let faults: Vec<Fault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
            PlanSweep {
                stdout: RUN.as_bytes(),
                setup,
                plans: 4,
                faults: &faults,
                drawn: &[FaultKind::Slow],
                base: &base,
                place: "x 1.0 plans".into(),
                command: &|plan| format!("clitape replay x --plan '{}'", plan.to_line()),
            }
            .run()
        };
        let errors = ["1", "2", "3", "4", "5"].map(|call| format!("{call}:server-error"));
        let mut faults: Vec<&str> = errors.iter().map(String::as_str).collect();
        faults.push("7:hang");
        assert_eq!(sweep(&faults[1..]), None, "the last word is tried five times");
        let finding = sweep(&faults).unwrap();
        assert_eq!(finding.id, FindingKind::FinalNotOnce);
        let listed = format!(r#""faults":["{}"]}}"#, errors.join("\",\""));
        assert!(finding.reproduce.contains(&listed), "{}", finding.reproduce);
    }
}
