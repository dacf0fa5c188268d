//! Runs a check with a time limit, so that the others run even if it hangs.

use std::cell::Cell;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clitape_judge::{CheckResult, Finding, FindingKind};
use clitape_process::threads::{NoMoreThreads, start};
use clitape_recording::cassette::CassetteError;

use crate::check::{Check, ScenarioChecks};
use crate::replay::count_replays;

/// The interval at which the replays of a running check are counted.
const TICK: Duration = Duration::from_millis(500);

/// The most tries to start a thread for a check, with a pause between them, because a thread that has just ended still
/// counts for a moment.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// The time when a scenario is given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// The time that the scenario may take.
    pub(super) time: Duration,
    /// The end of that time.
    pub(super) at: Instant,
}

/// The limits on the time of a check.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimits {
    /// The longest time without the end of a replay.
    pub(super) without_replay: Duration,
    /// The deadline of its scenario.
    pub(super) deadline: Option<Deadline>,
}

/// The reason why a job was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobTimeout {
    /// None of its replays ended for that time.
    Hangs(Duration),
    /// The time of the scenario is over.
    TimeIsOver(Duration),
}

impl Deadline {
    /// Returns whether the time is over.
    pub(super) fn is_over(self) -> bool {
        Instant::now() >= self.at
    }
}

/// Runs one check as [`ScenarioChecks::judge`] does, and calls `replays` with the number of ended replays from time to
/// time. If no replay ends for the time of the limits, the check hangs, which is its finding; its thread goes on until
/// the process ends, because a thread can't be ended.
///
/// # Errors
///
/// [`CassetteError`] when a cassette is damaged or a file can't be read or written.
pub(super) fn judge_within(
    limits: TimeLimits,
    checks: &Arc<ScenarioChecks>,
    check: &Check,
    update: bool,
    replays: &dyn Fn(u64),
) -> Result<CheckResult, CassetteError> {
    let (own, judged) = (checks.clone(), check.clone());
    let thread = JobThread::take().map_err(io::Error::from)?;
    watched(thread, limits, move || own.judge(&judged, update), replays)
        .unwrap_or_else(|why| Ok(given_up(why, checks, check)))
}

/// Returns whether the check was given up.
pub(super) fn hangs(result: &CheckResult) -> bool {
    result.findings.iter().any(|finding| finding.id == FindingKind::CheckHangs)
}

/// Returns the result of a check that was given up.
fn given_up(why: JobTimeout, checks: &ScenarioChecks, check: &Check) -> CheckResult {
    let name = &checks.scenario().name;
    let place = check.place(name);
    let sentence = match why {
        JobTimeout::Hangs(limit) => format!(
            "the check hangs: no replay of it has ended for {} s; it was given up",
            limit.as_secs_f64()
        ),
        JobTimeout::TimeIsOver(time) => format!(
            "the scenario took longer than the {} s that `--timeout` allows; the check was given up",
            time.as_secs_f64()
        ),
    };
    let reproduce = format!("{} test {name}", checks.workspace().program());
    let finding = Finding::new(FindingKind::CheckHangs, &place, sentence, reproduce);
    CheckResult { findings: vec![finding], ..CheckResult::default() }
}

/// A thread that runs one job after another, until its channel is closed.
struct JobThread {
    jobs: Sender<Box<dyn FnOnce() + Send>>,
    handle: JoinHandle<()>,
}

thread_local! {
    /// The thread that ran the last job of this thread, if the job came to its end. It also runs the next one: values
    /// that are cached for each thread, such as the states of a search for secrets, might have to be computed again for
    /// a new one.
    static USED: Cell<Option<JobThread>> = const { Cell::new(None) };
}

impl JobThread {
    /// Takes the thread that this thread used before, or starts one.
    fn take() -> Result<Self, NoMoreThreads> {
        let mut tries = 1;
        USED.take().map_or_else(Self::start, Ok).or_else(|_| {
            loop {
                thread::sleep(PAUSE);
                tries += 1;
                match Self::start() {
                    Err(_) if tries < TRIES => {}
                    started => return started,
                }
            }
        })
    }

    fn start() -> Result<Self, NoMoreThreads> {
        let (jobs, receiver) = channel::<Box<dyn FnOnce() + Send>>();
        let handle = start("check", move || receiver.into_iter().for_each(|job| job()))?;
        Ok(Self { jobs, handle })
    }
}

/// Returns whether this thread can watch a check, for which it needs another one.
pub(super) fn can_watch() -> bool {
    JobThread::take().map(|thread| USED.set(Some(thread))).is_ok()
}

/// Runs `job` on `thread`, and calls `tell` with the number of its replays from time to time.
#[allow(clippy::expect_used, reason = "the state is impossible")]
fn watched<R: Send + 'static>(
    thread: JobThread,
    TimeLimits { without_replay, deadline }: TimeLimits,
    job: impl FnOnce() -> R + Send + 'static,
    tell: &dyn Fn(u64),
) -> Result<R, JobTimeout> {
    if let Some(Deadline { time, .. }) = deadline.filter(|deadline| deadline.is_over()) {
        USED.set(Some(thread));
        return Err(JobTimeout::TimeIsOver(time));
    }
    let replays = Arc::new(AtomicU64::new(0));
    let (sender, receiver) = sync_channel(1);
    let count = replays.clone();
    let counted = move || {
        count_replays(count);
        // The receiver is gone once the job was given up.
        let _ = sender.send(job());
    };
    thread.jobs.send(Box::new(counted)).expect("a thread whose last job came to its end waits");
    let (mut before, mut last) = (0, Instant::now());
    loop {
        let mut wait = TICK.min(without_replay.saturating_sub(last.elapsed()));
        if let Some(Deadline { at, .. }) = deadline {
            wait = wait.min(at.saturating_duration_since(Instant::now()));
        }
        match receiver.recv_timeout(wait) {
            Ok(result) => {
                USED.set(Some(thread));
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.handle.join();
                resume_unwind(panic.expect_err("a job that ends without a panic sends"))
            }
            Err(RecvTimeoutError::Timeout) => {
                let ended = replays.load(Ordering::Relaxed);
                if ended != before {
                    (before, last) = (ended, Instant::now());
                    tell(ended);
                }
                match deadline {
                    Some(deadline) if deadline.is_over() => {
                        return Err(JobTimeout::TimeIsOver(deadline.time));
                    }
                    _ if last.elapsed() >= without_replay => {
                        return Err(JobTimeout::Hangs(without_replay));
                    }
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::scenario::{RunSpec, Setup, Workspace};

    use super::*;
    use crate::replay::{Plan, replay};

    /// A limit that is short for a check, and long for a thread that only counts.
    const LIMIT: Duration = Duration::from_secs(1);

    fn limits(without_replay: Duration, time: Option<Duration>) -> TimeLimits {
        let deadline = time.map(|time| Deadline { time, at: Instant::now() + time });
        TimeLimits { without_replay, deadline }
    }

    fn within<R: Send + 'static>(
        limit: Duration,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, JobTimeout> {
        watched(JobThread::take().unwrap(), limits(limit, None), job, &|_| ())
    }

    fn park() {
        loop {
            thread::park();
        }
    }

    #[test]
    fn jobs_share_a_thread_until_one_does_not_come_to_its_end() {
        let id = || thread::current().id();
        let first = within(LIMIT, id);
        assert_ne!(first, Ok(id()));
        assert_eq!(within(LIMIT, id), first);
        assert!(within(Duration::from_millis(20), park).is_err());
        let second = within(LIMIT, id);
        assert_ne!(second, first);
        let panics = || within(LIMIT, || assert_eq!(1, 2, "planted"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_ne!(within(LIMIT, id), second);
    }

    #[test]
    fn a_job_that_hangs_is_given_up() {
        let short = Duration::from_millis(20);
        assert_eq!(within(short, park), Err(JobTimeout::Hangs(short)));
        assert_eq!(within(LIMIT, || 7), Ok(7));
    }

    #[test]
    fn a_job_is_given_up_when_the_time_of_its_scenario_is_over() {
        let short = Duration::from_millis(20);
        assert_eq!(
            watched(JobThread::take().unwrap(), limits(LIMIT, Some(short)), park, &|_| ()),
            Err(JobTimeout::TimeIsOver(short))
        );
        assert_eq!(
            watched(JobThread::take().unwrap(), limits(LIMIT, Some(Duration::ZERO)), || 7, &|_| ()),
            Err(JobTimeout::TimeIsOver(Duration::ZERO)),
            "it does not even begin"
        );
        assert_eq!(
            watched(JobThread::take().unwrap(), limits(LIMIT, Some(LIMIT)), || 7, &|_| ()),
            Ok(7)
        );
    }

    #[test]
    fn a_job_whose_replays_end_may_take_any_time() {
        let job = || {
            let began = Instant::now();
            while began.elapsed() < 3 * LIMIT {
                thread::sleep(Duration::from_millis(1));
                let setup = Setup { run: RunSpec::default(), channel: None, acp: None };
                replay(&b""[..], &Plan::at_once(0), setup);
            }
            7
        };
        let told = AtomicU64::new(0);
        let tell = |ended| told.store(ended, Ordering::Relaxed);
        assert_eq!(watched(JobThread::take().unwrap(), limits(LIMIT, None), job, &tell), Ok(7));
        assert!(told.into_inner() > 0, "the number of replays is told");
    }

    #[test]
    fn a_panic_of_a_check_is_passed_on() {
        let panics = || within(LIMIT, || assert_eq!(1, 2, "planted"));
        assert!(std::panic::catch_unwind(panics).is_err());
    }

    #[test]
    fn a_check_that_hangs_names_its_scenario_and_version() {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let scenario = workspace.load("plain-text").unwrap();
        let checks = ScenarioChecks::new(&workspace, scenario).unwrap();
        let result = given_up(JobTimeout::Hangs(LIMIT), &checks, &checks.checks()[1]);
        assert!(hangs(&result));
        let Finding { place, sentence, .. } = &result.findings[0];
        assert_eq!(place, "plain-text 2.1.332 bus");
        let expect = "the check hangs: no replay of it has ended for 1 s; it was given up";
        assert_eq!(sentence, expect);
    }
}
