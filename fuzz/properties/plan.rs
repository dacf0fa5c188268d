//! The JSON of a plan: what is read is written in the same words, and a replay under any plan ends
//! with the same lifecycle as the uncut one, in every channel.

use std::sync::OnceLock;

use clitape_recording::scenario::{AcpClient, Chat, ChatMode, ChatProfile, RunSpec, Setup};
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::replay::{PLAN_FORMAT, Plan, PlanError, PlanStep, Replay, replay};

/// The bytes that are replayed: a thought, a tool and an answer.
const STDOUT: &[u8] = include_bytes!("../seeds/stream/tool");

/// The agent is given up after a silence of 480 s in a run of 600 s, and of 180 s in one that
/// resumes a session; plans whose delays add up to less are read to their end.
const PATIENCE_MS: u64 = 120_000;

/// Reads and writes the plan, then replays it in a channel that the bytes choose.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(plan) = serde_json::from_str::<Plan>(text) else {
        assert!(Plan::parse(text, 0).is_err());
        return;
    };
    let total = plan.steps.iter().fold(0, |sum: u64, step| sum.saturating_add(step.bytes));
    let line = plan.to_line();
    assert!(!line.contains('\n'));
    match Plan::parse(&line, total) {
        Ok(again) => {
            assert_eq!(again, plan);
            assert_eq!(again.to_line(), line);
            assert!(plan.format <= PLAN_FORMAT);
        }
        Err(PlanError::TooNew(format)) => assert!(format > PLAN_FORMAT),
        Err(PlanError::TooMuch { what, most }) => {
            let is_past = plan.faults.len() as u64 > most
                || plan.steps.iter().any(|step| step.after_ms > most)
                || plan.host.iter().any(|step| step.after_ms > most);
            return assert!(is_past, "{what} is no more than {most}");
        }
        Err(error) => panic!("{error}"),
    }
    if plan.steps.len() + plan.host.len() > 400 || plan.faults.len() > 100 {
        return;
    }
    let mut random = super::numbers(bytes);
    let setups = setups();
    check_replay(&fitted(plan), random() % setups.len());
}

/// Replays under `plan` in one of the [`setups`] and compares it with the uncut replay.
fn check_replay(plan: &Plan, setup: usize) {
    let (setup, base) = &setups()[setup];
    let cut = replay(STDOUT, plan, *setup);
    assert!(cut.entries.is_sorted_by_key(|entry| entry.at), "an entry came before its time");
    let finals = cut.entries.iter().filter(|entry| entry.kind == "final").count();
    assert_eq!(finals, usize::from(setup.channel.is_some() && !setup.run.silent));
    let delays = plan.steps.iter().fold(0, |sum: u64, step| sum.saturating_add(step.after_ms));
    if delays >= PATIENCE_MS {
        return;
    }
    assert_eq!(cut.own().stats, base.own().stats, "{plan:?}");
    for lane in [Lane::Lifecycle, Lane::Bus, Lane::Acp, Lane::Sse] {
        assert_eq!(timeless(&cut.entries, lane), timeless(&base.entries, lane), "{lane}");
    }
    let twin = replay(STDOUT, &plan.uncut(STDOUT), *setup);
    let timed = |entries: &[Entry]| -> Vec<String> {
        entries.iter().filter(|entry| entry.lane != Lane::Read).map(Entry::to_line).collect()
    };
    assert_eq!(timed(&cut.entries), timed(&twin.entries), "cuts alone changed what came");
}

/// The same delays and faults for exactly the bytes there are.
fn fitted(mut plan: Plan) -> Plan {
    let mut left = STDOUT.len() as u64;
    for step in &mut plan.steps {
        // Large sizes become small ones, so that more than the first step has bytes.
        step.bytes = (step.bytes % 97).min(left);
        left -= step.bytes;
    }
    if left > 0 {
        plan.steps.push(PlanStep { after_ms: 0, bytes: left });
    }
    plan
}

fn timeless(entries: &[Entry], lane: Lane) -> Vec<String> {
    let of_lane = entries.iter().filter(|entry| entry.lane == lane);
    of_lane.map(|entry| entry.at_time(0).to_line()).collect()
}

/// The channels and runs, each with its uncut replay.
fn setups() -> &'static [(Setup, Replay)] {
    static SETUPS: OnceLock<Vec<(Setup, Replay)>> = OnceLock::new();
    SETUPS.get_or_init(|| {
        let run = RunSpec::default();
        let chat = |mode, reasoning, profile| Some(Chat { mode, reasoning, profile });
        let acp = |terminal| Some(AcpClient { terminal });
        let setups = [
            Setup { run, channel: None, acp: None },
            Setup {
                run,
                channel: chat(ChatMode::Off, false, ChatProfile::Telegram),
                acp: acp(false),
            },
            Setup {
                run,
                channel: chat(ChatMode::Partial, true, ChatProfile::Telegram),
                acp: acp(true),
            },
            Setup { run, channel: chat(ChatMode::Block, false, ChatProfile::Discord), acp: None },
            Setup { run, channel: chat(ChatMode::Progress, true, ChatProfile::Slack), acp: None },
            Setup {
                run: RunSpec { resume: true, ..run },
                channel: chat(ChatMode::Partial, false, ChatProfile::Telegram),
                acp: None,
            },
            Setup {
                run: RunSpec { silent: true, ..run },
                channel: chat(ChatMode::Partial, false, ChatProfile::Telegram),
                acp: acp(false),
            },
        ];
        let base = |setup| (setup, replay(STDOUT, &Plan::canonical(STDOUT, 200), setup));
        setups.map(base).into()
    })
}
