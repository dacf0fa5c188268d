//! Runs a check with a limit of time, so that one that hangs does not keep the others from running.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::cassette::CassetteError;
use crate::check::{Check, CheckResult, Finding, FindingKind, ScenarioChecks};
use crate::replay::count_replays;

/// Runs one check as [`ScenarioChecks::judge`] does. Where no replay ends for `limit`, the check hangs, which is its
/// finding; its thread goes on until the process ends, because nothing can end it.
///
/// # Errors
///
/// [`CassetteError`] when a cassette is damaged or a file can't be read or written.
pub fn judge_within(
    limit: Duration,
    checks: &Arc<ScenarioChecks>,
    check: &Check,
    update: bool,
) -> Result<CheckResult, CassetteError> {
    let (own, judged) = (checks.clone(), check.clone());
    watched(limit, move || own.judge(&judged, update))
        .unwrap_or_else(|| Ok(hung(limit, checks, check)))
}

/// Whether a check hangs, as its result says.
pub(super) fn hangs(result: &CheckResult) -> bool {
    result.findings.iter().any(|finding| finding.id == FindingKind::CheckHangs)
}

/// The result of a check that hangs.
fn hung(limit: Duration, checks: &ScenarioChecks, check: &Check) -> CheckResult {
    let name = &checks.scenario().name;
    let place = format!("{name} {}", check.to_string().replace("::", " "));
    let sentence = format!(
        "the check hangs: no replay of it has ended for {} s; it was given up",
        limit.as_secs_f64()
    );
    let reproduce = format!("{} test {name}", checks.workspace().program());
    let finding = Finding::new(FindingKind::CheckHangs, &place, sentence, reproduce);
    CheckResult { findings: vec![finding], ..CheckResult::default() }
}

/// Runs `job` on a thread of its own; `None` when no replay of it has ended for `limit`.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn watched<R: Send + 'static>(
    limit: Duration,
    job: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let replays = Arc::new(AtomicU64::new(0));
    let (sender, receiver) = sync_channel(1);
    let count = replays.clone();
    let thread = thread::spawn(move || {
        count_replays(count);
        // Nobody receives any more once the job was given up.
        let _ = sender.send(job());
    });
    let mut before = 0;
    loop {
        match receiver.recv_timeout(limit) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Disconnected) => {
                resume_unwind(thread.join().expect_err("a job that ends without a panic sends"))
            }
            Err(RecvTimeoutError::Timeout) => {
                let ended = replays.load(Ordering::Relaxed);
                if ended == before {
                    return None;
                }
                before = ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use super::*;
    use crate::replay::replay_ended;
    use crate::scenario::Workspace;

    /// Short for a check, and long for a thread that only counts.
    const LIMIT: Duration = Duration::from_secs(1);

    #[test]
    fn issue_17_a_job_that_hangs_is_given_up() {
        assert_eq!(
            watched(Duration::from_millis(20), || loop {
                thread::park();
            }),
            None::<()>
        );
        assert_eq!(watched(LIMIT, || 7), Some(7));
    }

    #[test]
    fn issue_17_a_job_whose_replays_end_may_take_any_time() {
        let job = || {
            let began = Instant::now();
            while began.elapsed() < 3 * LIMIT {
                thread::sleep(Duration::from_millis(1));
                replay_ended();
            }
            7
        };
        assert_eq!(watched(LIMIT, job), Some(7));
    }

    #[test]
    fn issue_17_a_panic_of_a_check_is_passed_on() {
        let panics = || watched(LIMIT, || assert_eq!(1, 2, "planted"));
        assert!(std::panic::catch_unwind(panics).is_err());
    }

    #[test]
    fn issue_17_a_check_that_hangs_names_its_scenario_and_version() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let scenario = workspace.load("plain-text").unwrap();
        let checks = ScenarioChecks::new(&workspace, scenario).unwrap();
        let result = hung(LIMIT, &checks, &checks.checks()[1]);
        assert!(hangs(&result));
        let Finding { place, sentence, .. } = &result.findings[0];
        assert_eq!(place, "plain-text 2.1.330 bus");
        let expect = "the check hangs: no replay of it has ended for 1 s; it was given up";
        assert_eq!(sentence, expect);
    }
}
