//! One run of the suite: what is selected, tried at one subject, as one stream of events and one result.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clitape_judge::observation::SubjectTraits;
use clitape_recording::limits::{CHECK_TIME, ReplayLimits};
use clitape_recording::scenario::Seeds;

use super::case::ProofCase;
use super::pool::{Progress, in_order_noting};
use super::result::{CheckRun, ScenarioRun};
use super::select::Selection;
use crate::check::{FailureMemory, Marks};

/// Whatever turns recordings into what a person would have seen of them, and judges that: clitape's own gateway in
/// virtual time, a gateway in a chat, an agent in an editor, a parser, or a program that is called.
///
/// [`run`] does what is the same for all of them.
pub trait Subject {
    /// A part of the run that has a result of its own: a recording, or a scenario with all its recordings.
    type Trial;
    /// An error that ends the run.
    type Error: From<io::Error>;

    /// Returns the promises of the subject, which decide the rules that apply to it.
    fn promises(&self) -> SubjectTraits {
        SubjectTraits::default()
    }

    /// Sorts what is selected into the trials that fit the subject, and the others.
    ///
    /// # Errors
    ///
    /// When a scenario or a cassette can't be read.
    fn fits(&mut self, options: SuiteOptions<'_>) -> Result<Trials<Self::Trial>, Self::Error>;

    /// Observes the trials under the conditions of the run, judges each, and passes it to `tell`, in any order. Once
    /// `tell` breaks, no further trial begins.
    ///
    /// # Errors
    ///
    /// When the subject can't be started, or if the caller ends the run before any trial is judged.
    fn observe(
        &mut self,
        trials: &[Self::Trial],
        options: SuiteOptions<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, Self::Error>;

    /// Adds to the result what belongs to the run as a whole, and takes the trials back.
    ///
    /// # Errors
    ///
    /// When a folder can't be read.
    fn finish(
        &mut self,
        trials: Vec<Self::Trial>,
        run: &mut SuiteRun,
        options: SuiteOptions<'_>,
    ) -> Result<(), Self::Error> {
        let _ = (trials, run, options);
        Ok(())
    }
}

/// The trials of a run, as [`Subject::fits`] sorts them.
#[derive(Debug)]
pub struct Trials<T> {
    /// The trials that fit, in the order of the selection.
    pub fit: Vec<T>,
    /// The recordings that do not fit.
    pub left_out: Vec<LeftOut>,
    /// The scenarios that can't be used, each with its finding.
    pub unusable: Vec<ScenarioRun>,
}

impl<T> Default for Trials<T> {
    fn default() -> Self {
        Self { fit: Vec::new(), left_out: Vec::new(), unusable: Vec::new() }
    }
}

/// A message of a subject that observes its trials.
#[derive(Debug)]
pub enum Observing<'a> {
    /// An event of the run, which is reported at once.
    Event(TrialEvent<'a>),
    /// The trial with this index has its result, which is reported when it is next.
    Judged(usize, ScenarioRun),
}

impl<'a> From<TrialEvent<'a>> for Observing<'a> {
    fn from(event: TrialEvent<'a>) -> Self {
        Self::Event(event)
    }
}

/// The reason why [`Subject::observe`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// All trials are judged, or `tell` broke.
    Complete,
    /// The caller ended the run.
    Stopped,
}

/// Tries what is selected at a subject. `report` is called with the progress, and with each scenario in order as soon as
/// all before it are judged. A run that the caller ends has the results until then.
///
/// # Errors
///
/// Those of the subject, and that of `report`.
pub fn run<S: Subject>(
    subject: &mut S,
    options: SuiteOptions<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<SuiteRun, S::Error> {
    let Trials { fit: trials, left_out, unusable } = subject.fits(options)?;
    let mut run = SuiteRun::default();
    left_out.into_iter().for_each(|one| run.leave_out(one));
    let mut results = InOrder {
        results: trials.iter().map(|_| None).collect(),
        next: 0,
        fail_fast: options.fail_fast,
        is_enough: false,
        failed: None,
        report,
    };
    for scenario in unusable {
        results.show(&scenario)?;
        run.scenarios.push(scenario);
    }
    if !trials.is_empty() && !results.is_enough {
        let end = subject.observe(&trials, options, &mut |event| results.take(event));
        // It ends the subject, which may say that it was stopped.
        if let Some(error) = results.failed.take() {
            return Err(error.into());
        }
        run.is_stopped = end? == RunEnd::Stopped;
    }
    run.unchecked = results.end(&mut run.scenarios)?;
    subject.finish(trials, &mut run, options)?;
    Ok(run)
}

/// The results of a run, reported in the order of the trials.
struct InOrder<'a> {
    results: Vec<Option<ScenarioRun>>,
    /// The number of trials that were reported.
    next: usize,
    fail_fast: bool,
    /// True once a reported trial has a finding and [`SuiteOptions::fail_fast`] is set.
    is_enough: bool,
    /// The error of `report`.
    failed: Option<io::Error>,
    report: &'a mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
}

impl InOrder<'_> {
    /// Takes an event of the subject, and reports the trials that are next.
    fn take(&mut self, event: Observing<'_>) -> ControlFlow<()> {
        let reported = match event {
            Observing::Event(event) => (self.report)(event),
            Observing::Judged(index, result) => {
                self.results[index] = Some(result);
                self.show_next()
            }
        };
        if let Err(error) = reported {
            self.failed.get_or_insert(error);
        }
        match self.is_enough || self.failed.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Reports the results from the next one on, up to the first that is missing.
    fn show_next(&mut self) -> io::Result<()> {
        while let Some(Some(result)) = self.results.get_mut(self.next).filter(|_| !self.is_enough) {
            let result = std::mem::take(result);
            self.show(&result)?;
            self.results[self.next] = Some(result);
            self.next += 1;
        }
        Ok(())
    }

    fn show(&mut self, result: &ScenarioRun) -> io::Result<()> {
        (self.report)(TrialEvent::Scenario(result))?;
        self.is_enough |= self.fail_fast && !result.holds();
        Ok(())
    }

    /// Reports the other results, adds all to those of the run, and returns the number of trials without one.
    fn end(mut self, scenarios: &mut Vec<ScenarioRun>) -> io::Result<usize> {
        let mut unchecked = 0;
        for (index, result) in std::mem::take(&mut self.results).into_iter().enumerate() {
            let Some(result) = result.filter(|_| index < self.next || !self.is_enough) else {
                unchecked += 1;
                continue;
            };
            if index >= self.next {
                self.show(&result)?;
            }
            scenarios.push(result);
        }
        Ok(unchecked)
    }
}

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct SuiteOptions<'a> {
    /// The scenarios.
    pub selection: &'a Selection,
    /// Writes a result that differs from its golden as a pending golden.
    pub update: bool,
    /// The recordings of which a [`ProofCase`] is gathered.
    pub cases: GatheredCases,
    /// The most plans and channels that a scenario may have.
    pub limits: ReplayLimits,
    /// The longest time that a check may go on without the end of a replay.
    pub check_time: Duration,
    /// The longest time of a scenario; without a limit by default.
    pub scenario_time: Option<Duration>,
    /// The seeds of the plans, instead of those that each scenario asks for.
    pub seeds: Option<Seeds>,
    /// The number of scenarios that are judged at a time; as many as there are cores by default.
    pub jobs: Option<usize>,
    /// Begins no further scenario after the first one with a finding.
    pub fail_fast: bool,
    /// The use of stored plans that failed before.
    pub memory: FailureMemory,
    /// Replays the plans, and skips all other checks.
    pub only_plans: bool,
    /// Gathers what was at stake.
    pub marks: bool,
    /// A flag by which the caller ends the run. The scenarios that were judged until then are the result.
    pub stop: Option<&'a AtomicBool>,
}

/// The recordings of which a run gathers a [`ProofCase`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatheredCases {
    /// None.
    None,
    /// Those with a finding.
    Failed,
    /// All, each with the variants of its scenario.
    All,
}

impl<'a> SuiteOptions<'a> {
    /// Returns the default options for the selected scenarios.
    pub fn new(selection: &'a Selection) -> Self {
        Self {
            selection,
            update: false,
            cases: GatheredCases::None,
            limits: ReplayLimits::default(),
            check_time: CHECK_TIME,
            scenario_time: None,
            seeds: None,
            jobs: None,
            fail_fast: false,
            memory: FailureMemory::Off,
            only_plans: false,
            marks: false,
            stop: None,
        }
    }

    /// Returns whether the caller has asked for the end of the run.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// The results of a run of the suite, whatever the subject.
#[derive(Debug, Default)]
pub struct SuiteRun {
    /// The scenarios: those that can't be used, then the others by name.
    pub scenarios: Vec<ScenarioRun>,
    /// The checks of the workspace as a whole.
    pub workspace: Vec<CheckRun>,
    /// The recordings that [`SuiteOptions::cases`] asks for.
    pub cases: Vec<ProofCase>,
    /// The number of scenarios that were not judged, because one before them has a finding or the caller ended the run.
    pub unchecked: usize,
    /// True if the caller ended the run.
    pub is_stopped: bool,
    /// The marks of what was at stake, if [`SuiteOptions::marks`] is set.
    pub marks: Marks,
    /// The recordings that do not fit the subject.
    pub left_out: Vec<LeftOut>,
    /// The sentences about the run as a whole that are no findings, such as the known differences that were met.
    pub notes: Vec<String>,
}

/// A recording that is not tried, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The scenario, with the version if it has a cassette.
    pub name: String,
    /// The reason, in words.
    pub why: String,
}

impl SuiteRun {
    /// Adds a recording that does not fit, also as a check that is skipped.
    pub fn leave_out(&mut self, one: LeftOut) {
        self.workspace.push(CheckRun::left_out(&one.name, &one.why));
        self.left_out.push(one);
    }

    /// Returns the recordings that were left out, by the reason.
    pub fn left_out_by_reason(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for LeftOut { name, why } in &self.left_out {
            reasons.entry(why).or_default().push(name);
        }
        reasons
    }
}

/// An event of a run of the suite, whatever the subject.
#[derive(Debug)]
#[non_exhaustive]
pub enum TrialEvent<'a> {
    /// A slow step begins that belongs to no single scenario, such as an install.
    Step(&'a str),
    /// The step goes on: the last line that its program printed.
    StepGoesOn(&'a str),
    /// A part of a scenario begins or goes on.
    UnderWay {
        /// The name of the scenario.
        scenario: &'a str,
        /// The name of the check.
        check: &'a str,
        /// The replays of it that have ended.
        replays: u64,
    },
    /// A further scenario is judged, recorded or compared.
    Judged {
        /// The number of scenarios that are judged.
        done: usize,
        /// The number of all scenarios that can be used.
        of: usize,
    },
    /// The next scenario in their order has its result.
    Scenario(&'a ScenarioRun),
}

/// A part of a trial that begins or goes on, for [`TrialEvent::UnderWay`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialNote {
    /// The name of the scenario, with the version if the trial is one recording.
    pub scenario: String,
    /// The name of the check; empty if the trial has one only.
    pub check: String,
    /// The replays of it that have ended.
    pub replays: u64,
}

/// Judges trials on all cores, or on `jobs` threads that are ready, and tells the progress. `take` gets what is judged in
/// the order of the trials, and returns the result of the trial, or `None` if it is told later. Returns how many trials
/// were taken, and the first error, after which no further trial begins. For [`Subject::observe`].
pub fn judge_each<T: Sync, R: Send, E: Send>(
    trials: &[T],
    jobs: Option<usize>,
    is_ready: fn() -> bool,
    judge: impl Fn(&T, &dyn Fn(TrialNote)) -> Result<R, E> + Sync,
    mut take: impl FnMut(R) -> Option<ScenarioRun>,
    tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
) -> (usize, Result<(), E>) {
    let (of, mut taken) = (trials.len(), 0);
    let ended = in_order_noting(trials, jobs, is_ready, judge, |progress| {
        let told = match progress {
            Progress::Note(TrialNote { scenario, check, replays }) => {
                let (scenario, check) = (scenario.as_str(), check.as_str());
                tell(TrialEvent::UnderWay { scenario, check, replays }.into())
            }
            Progress::Result(judged) => {
                let result = take(judged.map_err(Some)?);
                taken += 1;
                result.map_or(ControlFlow::Continue(()), |result| {
                    tell(Observing::Judged(taken - 1, result))
                })
            }
            Progress::Ended(done) => tell(TrialEvent::Judged { done, of }.into()),
        };
        // The suite has enough.
        if told.is_break() { Err(None) } else { Ok(()) }
    });
    (taken, ended.or_else(|error| error.map_or(Ok(()), Err)))
}

/// Does a job for each item on all cores, or on `jobs` threads, and reports the progress. `take` gets the results in the
/// order of the items.
///
/// # Errors
///
/// The first error of a job, after which no further one begins, and that of `report`.
pub(crate) fn each<T: Sync, R: Send, E: Send + From<io::Error>>(
    items: &[T],
    jobs: Option<usize>,
    job: impl Fn(&T) -> Result<R, E> + Sync,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
    mut take: impl FnMut(R),
) -> Result<(), E> {
    let of = items.len();
    let job = |item: &T, _: &dyn Fn(Infallible)| job(item);
    in_order_noting(
        items,
        jobs,
        || true,
        job,
        |progress| {
            match progress {
                Progress::Ended(done) => report(TrialEvent::Judged { done, of })?,
                Progress::Result(result) => take(result?),
                Progress::Note(never) => match never {},
            }
            Ok(())
        },
    )
}
