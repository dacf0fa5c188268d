//! What a sweep finds does not depend on what its replays share, nor on the cores: held against the slow way on planted bugs.

use clitape_runner::check::{Check, Finding, IdleCores, PlanSharing};
use clitape_runner::scenario::Workspace;
use clitape_stream::plant::{Plant, plant};
use libtest_mimic::Failed;

use super::checks_of;
use super::table::ROWS;

/// The number of bugs that the plans have to find at least.
const BUGS: usize = 20;
/// The cores that the fast way may take beside that of the test.
const CORES: usize = 3;

/// What the plans of a scenario find of each bug of the history, they find the slow way too: the same finding, with the
/// same plan, sentence and line to reproduce it.
pub(crate) fn find_the_same(workspace: &Workspace) -> Result<(), Failed> {
    let mut found = 0;
    for row in ROWS {
        let Some(scenario) = row.scenarios.first() else { continue };
        let [fast, slow] = [PlanSharing::Shared, PlanSharing::Nothing]
            .map(|sharing| with_bug(workspace, (row.plant, scenario), sharing));
        if fast != slow {
            let bug = row.plant;
            return Err(format!("{bug:?} in {scenario}: {fast:#?}\nthe slow way: {slow:#?}").into());
        }
        found += usize::from(!fast.is_empty());
    }
    match found >= BUGS {
        true => Ok(()),
        false => Err(format!("the plans find {found} bugs, and not {BUGS}").into()),
    }
}

/// What the plans of the newest recording of a scenario find in a gateway with a bug.
fn with_bug(
    workspace: &Workspace,
    (bug, scenario): (Plant, &str),
    sharing: PlanSharing,
) -> Vec<Finding> {
    let cores = IdleCores::default();
    cores.add(CORES);
    let checks = checks_of(workspace, scenario).on_idle(cores).sharing(sharing);
    let is_plans = |check: &&Check| matches!(check, Check::Plans { .. });
    let check = checks.checks().iter().find(is_plans).expect("it is recorded");
    plant(Some(bug));
    let judged = checks.judge(check, false);
    plant(None);
    judged.expect("its cassette can be read").findings
}
