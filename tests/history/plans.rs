//! What a sweep finds does not depend on what its replays share, nor on the cores: held against the slow way on planted bugs.

use clitape_judge::Finding;
use clitape_recording::scenario::Workspace;
use clitape_runner::check::{Check, IdleCores, PlanSharing, ScenarioChecks};
use clitape_stream::plant::{Plant, plant};

use super::table::ROWS;

/// Seeded plans of a scenario.
const PLANS: u64 = 2;
/// The number of bugs that the plans have to find at least.
const BUGS: usize = 20;
/// The cores that the fast way may take beside that of the test.
const CORES: usize = 3;

/// The checks of a scenario, with few plans.
pub(crate) fn checks_of(workspace: &Workspace, name: &str) -> ScenarioChecks {
    let mut scenario = workspace.load(name).expect("the scenario can be used");
    scenario.sweep.plans = scenario.sweep.plans.min(PLANS);
    ScenarioChecks::new(workspace, scenario).expect("its folders can be read")
}

/// What the plans of a scenario find of each bug of the history, they find the slow way too: the same finding, with the
/// same plan, sentence and line to reproduce it. Returns the number of bugs that they find.
///
/// # Errors
///
/// A sentence, when they find something else or too little.
pub(crate) fn find_the_same(workspace: &Workspace) -> Result<usize, String> {
    let mut found = 0;
    for row in ROWS {
        let Some(scenario) = row.scenarios.first() else { continue };
        let [fast, slow] = [PlanSharing::Shared, PlanSharing::Nothing]
            .map(|sharing| with_bug(workspace, (row.plant, scenario), sharing));
        if fast != slow {
            let bug = row.plant;
            return Err(format!("{bug:?} in {scenario}: {fast:#?}\nthe slow way: {slow:#?}"));
        }
        found += usize::from(!fast.is_empty());
    }
    match found >= BUGS {
        true => Ok(found),
        false => Err(format!("the plans find {found} bugs, and not {BUGS}")),
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
