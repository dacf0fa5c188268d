//! Makes a plan that fails as small as it gets.

use crate::replay::Plan;

/// Replays spent at most on making a plan smaller.
const SHRINK_TRIES: u32 = 600;

/// Takes cuts, delays and faults out of a plan for as long as it still `shows` what is looked for.
pub(in crate::check) fn smallest(mut plan: Plan, shows: impl Fn(&Plan) -> bool) -> Plan {
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
