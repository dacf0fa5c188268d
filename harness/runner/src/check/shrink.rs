//! Makes a recording and a plan that fail as small as they get: records are left out of stdout, and cuts, delays and
//! faults of the plan.

use std::sync::Arc;

use clitape_judge::{Finding, View};
use clitape_recording::cassette::CassetteError;
use clitape_recording::scenario::{Scenario, Setup};

use super::recording::{Recording, setups};
use super::sweep::{PlanSweep, SweptPlans, smallest};
use super::variant;
use crate::replay::{AgentFaultKind, Capture, HostStep, Plan, PlanStep, Replay, StdinLine, replay};

/// The most recordings that are tried with some of their records left out.
const TRIES: u32 = 3_000;

/// A recording and a plan that still show what they showed before they were made smaller.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The remaining bytes of stdout.
    pub stdout: Vec<u8>,
    /// The lines of the host, at their places in it.
    pub stdin: Vec<StdinLine>,
    /// The plan.
    pub plan: Plan,
    /// The finding of a replay of the plan.
    pub finding: Finding,
    /// The number of lines of stdout before and after.
    pub lines: [usize; 2],
    /// The view that has another outcome with the plan than without, if that is the finding.
    pub outcome_of: Option<View>,
}

/// Looks for the first plan of a recording that fails, or takes `plan`, and makes both as small as they get: as long as
/// the same kind of finding shows. A plan that breaks no rule fails if its outcome has no name. Gives `None` if all plans
/// pass.
///
/// # Errors
///
/// [`CassetteError`] when a golden can't be read.
pub fn shrink(
    recording: &Recording,
    given: Option<&Plan>,
) -> Result<Option<Shrunk>, CassetteError> {
    let scenario = &*recording.scenario;
    if let Some((plan, setup, finding)) = broken(recording, given.cloned()) {
        // The same kind of finding in the same setup; other records may well show another kind.
        let shows = |capture: Capture<'_>, plan: &Plan| {
            let base = replay(capture, &Plan::canonical(capture, scenario.run.pace_ms), setup);
            let found = sweep(scenario, capture, &[], vec![Arc::new(base)], |sweep| {
                sweep.finding_of("the smallest plan", plan)
            });
            found.map(|(_, found)| found).filter(|found| found.id == finding.id)
        };
        return Ok(made_small(recording, plan, None, &shows));
    }
    let Some((plan, view)) = variant::nameless(recording, given)? else { return Ok(None) };
    let shows =
        |capture: Capture<'_>, plan: &Plan| variant::other_outcome(scenario, view, capture, plan);
    Ok(made_small(recording, plan, Some(view), &shows))
}

/// Returns the first plan that breaks a rule, or `given` if it does, with the setup and the finding.
fn broken(recording: &Recording, given: Option<Plan>) -> Option<(Plan, Setup, Finding)> {
    let scenario = &*recording.scenario;
    let bases = setups(scenario).into_iter().map(|setup| recording.fault_free(setup)).collect();
    let (pinned, _) = recording.pinned_plans();
    let capture = recording.capture();
    sweep(scenario, capture, &pinned, bases, |sweep| match given {
        Some(plan) => {
            let (setup, finding) = sweep.finding_of("the plan", &plan)?;
            Some((plan, setup, finding))
        }
        None => {
            let (name, plan, setup) = sweep.first(&mut SweptPlans::default())?;
            let (_, finding) = sweep.finding_of(&name, &plan)?;
            Some((plan, setup, finding))
        }
    })
}

/// Makes a plan and its recording as small as they get while the finding `shows`.
fn made_small(
    recording: &Recording,
    plan: Plan,
    outcome_of: Option<View>,
    shows: &dyn Fn(Capture<'_>, &Plan) -> Option<Finding>,
) -> Option<Shrunk> {
    let capture = recording.capture();
    let plan = smallest(plan, |plan| shows(capture, plan).is_some());
    let records = Records::of(capture);
    let left = records.fewest(&plan, TRIES, |capture, plan| shows(capture, plan).is_some());
    let (stdout, stdin, plan) = records.without(&left, &plan)?;
    let capture = Capture { stdout: &stdout, stdin: &stdin };
    let plan = smallest(plan, |plan| shows(capture, plan).is_some());
    let finding = shows(capture, &plan)?;
    let lines = [records.lines.len(), left.iter().filter(|is_kept| **is_kept).count()];
    Some(Shrunk { stdout, stdin, plan, finding, lines, outcome_of })
}

/// A recording with as few records as possible.
#[derive(Debug, Clone)]
pub struct FewerRecords {
    /// The remaining bytes of stdout.
    pub stdout: Vec<u8>,
    /// The lines of the host, at their places in it.
    pub stdin: Vec<StdinLine>,
    /// The number of lines of stdout before and after.
    pub lines: [usize; 2],
}

/// Leaves records out of a recording as long as the rest `shows` what is looked for, and tries at most `most` times.
pub fn fewer_records(
    recording: &Recording,
    most: u32,
    mut shows: impl FnMut(&FewerRecords) -> bool,
) -> Option<FewerRecords> {
    let (records, plan) = (Records::of(recording.capture()), Plan::at_once(0));
    let before = records.lines.len();
    let fewer = |capture: Capture<'_>| FewerRecords {
        stdout: capture.stdout.to_vec(),
        stdin: capture.stdin.to_vec(),
        lines: [before, capture.stdout.split_inclusive(|&byte| byte == b'\n').count()],
    };
    let left = records.fewest(&plan, most, |capture, _| shows(&fewer(capture)));
    let (stdout, stdin, _) = records.without(&left, &plan)?;
    Some(fewer(Capture { stdout: &stdout, stdin: &stdin }))
}

/// Uses a sweep over a capture of a scenario, with these plans beside the seeded ones.
fn sweep<T>(
    scenario: &Scenario,
    capture: Capture<'_>,
    pinned: &[(String, Plan)],
    bases: Vec<Arc<Replay>>,
    use_it: impl FnOnce(&PlanSweep<'_>) -> T,
) -> T {
    use_it(&PlanSweep {
        capture,
        pace_ms: scenario.run.pace_ms,
        bases,
        seeds: scenario.sweep.seeds(),
        pinned,
        faults: &scenario.chat.faults,
        drawn: &scenario.sweep.faults,
        place: scenario.name.to_string(),
        reproduce: &|plan: &Plan, _: Setup, _| plan.to_line(),
        replayed: &|_, _, _| (),
    })
}

/// The lines of a capture, each of which may be left out.
struct Records<'a> {
    lines: Vec<&'a [u8]>,
    stdin: &'a [StdinLine],
}

impl<'a> Records<'a> {
    fn of(capture: Capture<'a>) -> Self {
        let lines = capture.stdout.split_inclusive(|&byte| byte == b'\n').collect();
        Self { lines, stdin: capture.stdin }
    }

    /// The lines that are kept when as many as possible are left out and the rest still `shows` it.
    fn fewest(
        &self,
        plan: &Plan,
        most: u32,
        mut shows: impl FnMut(Capture<'_>, &Plan) -> bool,
    ) -> Vec<bool> {
        let mut kept = vec![true; self.lines.len()];
        let mut width = self.lines.len() / 2;
        let mut tries = 0;
        while width > 0 {
            let (mut from, mut is_smaller) = (0, false);
            loop {
                let numbers = (0..kept.len()).filter(|number| kept[*number]);
                let window: Vec<usize> = numbers.skip(from).take(width).collect();
                if window.is_empty() || tries >= most {
                    break;
                }
                tries += 1;
                let mut fewer = kept.clone();
                window.iter().for_each(|number| fewer[*number] = false);
                let shown = self.without(&fewer, plan).is_some_and(|(stdout, stdin, plan)| {
                    shows(Capture { stdout: &stdout, stdin: &stdin }, &plan)
                });
                if shown {
                    (kept, is_smaller) = (fewer, true);
                } else {
                    from += width;
                }
            }
            // What was needed before may not be needed any more.
            if !is_smaller || width > 1 {
                width /= 2;
            }
        }
        kept
    }

    /// Returns the recording with these lines alone, and the plan for it; `None` if a fault is in another line, or all
    /// lines are left out.
    fn without(&self, kept: &[bool], plan: &Plan) -> Option<(Vec<u8>, Vec<StdinLine>, Plan)> {
        let mut stdout = Vec::new();
        // Where each line begins, before and after.
        let mut places = vec![(0_u64, 0_u64)];
        let mut begin = 0;
        for (line, is_kept) in self.lines.iter().zip(kept) {
            if *is_kept {
                stdout.extend_from_slice(line);
            }
            begin += line.len() as u64;
            places.push((begin, stdout.len() as u64));
        }
        if stdout.is_empty() {
            return None;
        }
        let moved = |place: u64| {
            let index = places.partition_point(|(before, _)| *before <= place) - 1;
            let (before, after) = places[index];
            let is_kept = kept.get(index).copied().unwrap_or(false);
            if is_kept { after + (place - before) } else { after }
        };
        let is_kept = |number: u64| {
            let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            index.and_then(|index| kept.get(index)).copied().unwrap_or(false)
        };
        let mut agent = Vec::with_capacity(plan.agent.len());
        for fault in &plan.agent {
            let mut fault = *fault;
            if !fault.kind.is_of_channel() {
                let needs_next = fault.kind == AgentFaultKind::Swapped;
                if !is_kept(fault.number) || needs_next && !is_kept(fault.number + 1) {
                    return None;
                }
                fault.number = (1..=fault.number).filter(|number| is_kept(*number)).count() as u64;
            }
            agent.push(fault);
        }
        let (mut from, mut to) = (0, 0);
        let step = |step: &PlanStep| {
            from += step.bytes;
            let bytes = moved(from) - to;
            to += bytes;
            PlanStep { after_ms: step.after_ms, bytes }
        };
        let steps = plan.steps.iter().map(step).collect();
        let host = plan.host.iter().map(|step| HostStep { at: moved(step.at), ..step.clone() });
        let host = host.collect();
        let stdin = self.stdin.iter();
        let stdin = stdin.map(|line| StdinLine { offset: moved(line.offset), ..line.clone() });
        Some((stdout, stdin.collect(), Plan { steps, host, agent, ..plan.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_left_out_of_a_plan() {
        let stdout = b"aa\nbbb\nc\nddd\n";
        let stdin = [StdinLine::new(b"{}\n", 7)];
        let records = Records::of(Capture { stdout, stdin: &stdin });
        let plan = r#"{"format":1,"steps":[[0,1],[5,5],[7,7]],"host":[{"line":1,"at":7}],"agent":["4:cut:2"]}"#;
        let plan = Plan::parse(plan, 13).unwrap();
        let (left, lines, smaller) = records.without(&[true, false, false, true], &plan).unwrap();
        assert_eq!((left.as_slice(), lines[0].offset), (&b"aa\nddd\n"[..], 3));
        let expect = r#"{"format":1,"steps":[[0,1],[5,2],[7,4]],"host":[{"line":1,"at":3,"after_ms":0}],"agent":["2:cut:2"]}"#;
        assert_eq!(smaller.to_line(), expect);
        // The line with the fault must be kept, and something must.
        assert!(records.without(&[true, true, true, false], &plan).is_none());
        assert!(records.without(&[false; 4], &plan).is_none());
        // As long as `c` is there, it fails.
        let plan = Plan { agent: Vec::new(), ..plan };
        let kept = records.fewest(&plan, TRIES, |capture, _| capture.stdout.contains(&b'c'));
        assert_eq!(kept, [false, false, true, false]);
    }
}
