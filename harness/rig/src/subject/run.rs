//! Plays many cassettes at one gateway. By default one start serves them all, several at the same time, each in a chat
//! of its own; settings can put them into one chat, one after another, or give each a separate start.
//!
//! The requests that the gateway made in vain, of hosts that were refused and methods that the chat server does not
//! have, are reported at the end and are not findings.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_judge::observation::ObservedEnding;
use clitape_judge::{FindingKind, Violation};
use clitape_process::threads::{NoMoreThreads, start_in, start_some};
use clitape_process::{Overflow, ProcessError, Program};
use clitape_recording::text::plain;
use clitape_recording::trace::Entry;

use super::agent;
use super::boot::{Boot, ENDING, Ground, LOOK, PersonSide, Playing, Start, ended};
use super::drive::{DriveResult, Job, RunContext, drive, violations};
use super::error::SubjectError;
use super::log::StandInLog;
use super::patience::{Patience, STILL, Stillness};
use super::persons::{OpenedChats, Persons, Seat};
use super::prepare::{Prepared, RigHost};
use super::queue::RunQueue;
use super::spec::{AtOnce, ChatReach, GatewaySpec, Starts};
use crate::chat_server::Faults;
use crate::limits::{KeptBytes, entry_bytes};
use crate::reach::{Refused, refused_host};
use crate::stand_in::argument_differences;

/// The bytes of entries that are kept of a run that flooded.
const LEFT_OF_FLOOD: usize = 1 << 20;
/// The number of times that a gateway may end by itself before it is not started again.
const MOST_DEATHS: usize = 8;

/// The starts of `claude` by a gateway, from the log of the stand-in.
#[derive(Debug, Clone, Default)]
pub struct ClaudeStarts {
    /// The arguments of the last start for a run, if it got no message.
    pub unheard: Option<Vec<String>>,
    /// The sentence with which the stand-in refused before it had a recording.
    pub refused: Option<String>,
    /// The differences from the recorded arguments, as sentences.
    pub differences: Vec<String>,
}

/// An event while a gateway plays.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// The gateway is ready.
    Ready {
        /// The time until it was ready.
        after: Duration,
        /// The way by which it reaches the chat server.
        reach: ChatReach,
    },
    /// The gateway was asked to end.
    Stopped {
        /// The time that it took to end.
        after: Duration,
        /// True if it ended in time; otherwise it was killed.
        in_time: bool,
        /// The last lines that it had printed before.
        printed: Vec<String>,
        /// The hosts and methods that it asked for in vain.
        in_vain: InVain,
        /// The starts of `claude` that the log of the stand-in has.
        claude: ClaudeStarts,
    },
    /// A cassette begins.
    Begins(&'a Job),
    /// New entries came in the chat of a cassette.
    Entries(&'a Job, &'a [Entry]),
    /// A cassette has ended.
    Ended {
        /// The cassette.
        job: &'a Job,
        /// The result of the cassette.
        seen: &'a DriveResult,
        /// The number of cassettes that have ended so far.
        done: usize,
    },
}

/// A message of a thread that plays cassettes, with the index of the cassette.
enum PlayMessage {
    Begins(usize),
    Entries(usize, Vec<Entry>),
    /// The cassette is played again after the others, because the gateway may serve them first.
    Later(usize),
    /// The cassette has ended; `None` if the caller stopped it.
    Ended(usize, Option<DriveResult>),
}

/// The cassettes that are still to be played, and the results of the others.
struct CassetteQueue<'a> {
    jobs: &'a [Job],
    /// The cassettes that may be played beside others.
    open: VecDeque<usize>,
    /// The cassettes that were under way when the gateway ended; each gets a separate start.
    alone: VecDeque<usize>,
    seen: Vec<Option<DriveResult>>,
    deaths: usize,
    persons: Persons,
    /// The bytes of memory that the results take.
    kept: usize,
}

/// The gateway and the manner of playing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Play<'a> {
    /// The settings of the gateway.
    pub(crate) spec: &'a GatewaySpec,
    /// The packages that were installed for it.
    pub(crate) prepared: &'a Prepared,
    /// The manner in which the stand-in plays.
    pub(crate) playing: &'a Playing,
    /// The cassette of the warm-up, a turn that does not count and begins every start.
    pub(crate) warm_up: Option<&'a Job>,
    /// The calls of each chat that fail.
    pub(crate) faults: &'a Faults,
    /// The number of cassettes that are played at a time.
    pub(crate) at_once: AtOnce,
    /// The bytes of memory that earlier results of the gateway take.
    pub(crate) kept: usize,
}

impl<'a> Play<'a> {
    pub(super) fn start(
        self,
        persons: &'a Persons,
        rig: RigHost<'a>,
        kept: &'a Arc<KeptBytes>,
    ) -> Start<'a> {
        let Self { spec, prepared, playing, .. } = self;
        Start { spec, prepared, playing, persons, rig, kept }
    }

    /// Makes the state that the runs of one start share; the log of the stand-in is read from its beginning.
    pub(super) fn context(
        self,
        person: &'a PersonSide,
        ground: &'a Ground,
        rig: RigHost<'a>,
        kept: &'a Arc<KeptBytes>,
        opened: &'a OpenedChats,
        queue: RunQueue,
    ) -> RunContext<'a> {
        RunContext {
            person,
            places: &ground.places,
            log: Mutex::new(StandInLog::at(ground.log.clone(), rig.limits.subject.output, kept)),
            over: Mutex::new(None),
            stop: rig.stop,
            bus: self.spec.has_bus().then_some(ground.bus.as_path()),
            is_given_up: AtomicBool::new(false),
            limits: rig.limits,
            opened,
            queue,
            shares_chat: self.spec.writers.share_chat(),
            kept,
            until: None,
            is_cut: AtomicBool::new(false),
            deed: None,
            written: Mutex::new(None),
            behind: None,
        }
    }
}

/// Plays cassettes at a gateway, and returns their results in the same order. Once the caller has stopped the gateway,
/// the cassettes that had not ended have none.
///
/// # Errors
///
/// [`SubjectError`] if the gateway can't be started, or if the caller stops it before a cassette has ended.
pub(crate) fn play(
    jobs: &[Job],
    how: Play<'_>,
    rig: RigHost<'_>,
    report: &mut dyn FnMut(RunEvent<'_>),
) -> Result<Vec<Option<DriveResult>>, SubjectError> {
    let mut queue = CassetteQueue {
        jobs,
        open: (0..jobs.len()).collect(),
        alone: VecDeque::new(),
        seen: jobs.iter().map(|_| None).collect(),
        deaths: 0,
        persons: Persons::new(&how.spec.writers, jobs.len(), how.warm_up.is_some()),
        kept: how.kept,
    };
    while !(queue.open.is_empty() && queue.alone.is_empty()) {
        let kept = Arc::new(KeptBytes::within(rig.limits.kept));
        kept.keep(queue.kept);
        let boot = match Boot::start(how.start(&queue.persons, rig, &kept)) {
            Ok(boot) if queue.deaths <= MOST_DEATHS => boot,
            Ok(_) => {
                queue.give_up(&format!("ended by itself {} times", queue.deaths), report);
                break;
            }
            Err(SubjectError::NotReady { why, .. }) if queue.deaths > 0 => {
                queue.give_up(&format!("can't be started again: {why}"), report);
                break;
            }
            Err(error) => return Err(error),
        };
        report(RunEvent::Ready { after: boot.ready_after, reach: boot.reach });
        match queue.serve(boot, &kept, how, rig, report) {
            Err(error) if error.is_stop() && queue.seen.iter().any(Option::is_some) => {
                return Ok(queue.seen);
            }
            served => served?,
        }
    }
    let lost = || {
        let (waited_for, last_words) = ("it was not played".to_owned(), String::new());
        DriveResult::nothing(ObservedEnding::Hung { waited_s: 0, waited_for, last_words })
    };
    Ok(queue.seen.into_iter().map(|seen| seen.or_else(|| Some(lost()))).collect())
}

impl CassetteQueue<'_> {
    /// Ends every cassette that is left, because the gateway keeps ending.
    fn give_up(&mut self, how: &str, report: &mut dyn FnMut(RunEvent<'_>)) {
        let left: Vec<usize> = self.alone.drain(..).chain(self.open.drain(..)).collect();
        for index in left {
            let ending = ObservedEnding::Died { how: how.to_owned(), last_words: String::new() };
            self.end(index, DriveResult::nothing(ending), report);
        }
    }

    fn end(&mut self, index: usize, mut seen: DriveResult, report: &mut dyn FnMut(RunEvent<'_>)) {
        if matches!(seen.ending, ObservedEnding::Flooded(_)) {
            let mut room = LEFT_OF_FLOOD;
            let fits = |entry: &Entry| {
                let rest = room.checked_sub(entry_bytes(entry));
                room = rest.unwrap_or(0);
                rest.is_some()
            };
            let left = seen.entries.drain(..).take_while(fits).collect();
            seen.entries = left;
        }
        self.kept += seen.bytes();
        self.seen[index] = Some(seen);
        let done = self.seen.iter().flatten().count();
        if let Some(seen) = &self.seen[index] {
            report(RunEvent::Ended { job: &self.jobs[index], seen, done });
        }
    }

    /// Plays cassettes at one start of the gateway, until none is left or the gateway has ended.
    fn serve(
        &mut self,
        mut boot: Boot,
        kept: &Arc<KeptBytes>,
        how: Play<'_>,
        rig: RigHost<'_>,
        report: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<(), SubjectError> {
        let (spec, faults) = (how.spec, how.faults);
        let writers = &spec.writers;
        // Recordings that share a chat are played one after another.
        let shares_chat = writers.share_chat();
        let at_once = if shares_chat { AtOnce::fixed(1) } else { how.at_once };
        let one =
            |index: Option<usize>| (index.into_iter().collect::<VecDeque<_>>(), AtOnce::fixed(1));
        let (batch, at_once) = match self.alone.pop_front() {
            Some(suspect) => one(Some(suspect)),
            None if writers.starts == Starts::Each => one(self.open.pop_front()),
            None => (std::mem::take(&mut self.open), at_once),
        };
        let rest = std::mem::take(&mut self.open);
        let opened = OpenedChats::default();
        let (side, ground) = (boot.person.clone(), boot.ground.clone());
        let queue = RunQueue::new(self.persons.seats(), at_once);
        let shared = how.context(&side, &ground, rig, kept, &opened, queue);
        let workers = at_once.most.min(batch.len());
        let waiting = Mutex::new(batch);
        let jobs = self.jobs;
        let persons = self.persons.clone();
        let play_one = |job: &Job, seat: Seat, faults: &Faults, watch: &dyn Fn(&[Entry])| {
            one_cassette(job, seat, spec, &shared, faults, watch)
        };
        let (sender, receiver) = channel();
        let mut under_way = Vec::new();
        let mut result = Ok(());
        let is_check = how.playing.patience == Patience::Check;
        let mut stillness = is_check.then(|| (Stillness::new(Instant::now()), 0));
        if let Some(job) = how.warm_up {
            let warm_up = || drop(play_one(job, persons.warm_up(), &Faults::None, &|_| {}));
            result = while_watched(&mut boot, &shared, warm_up, |_| Ok(()));
        }
        let program = &mut boot.program;
        std::thread::scope(|scope| {
            let started = start_some(scope, workers, || {
                let (sender, shared, waiting) = (sender.clone(), &shared, &waiting);
                let (persons, play_one) = (&persons, &play_one);
                move || {
                    while let Some(index) = next(shared, waiting) {
                        // Can't fail: the receiver lives until all threads have ended.
                        let tell = |message| drop(sender.send(message));
                        tell(PlayMessage::Begins(index));
                        let watch =
                            |entries: &[Entry]| tell(PlayMessage::Entries(index, entries.to_vec()));
                        let seen = play_one(&jobs[index], persons.seat(index), faults, &watch);
                        shared.queue.let_out();
                        let is_stuck = |seen| is_stuck(&jobs[index], spec, seen);
                        let is_stuck = shares_chat && seen.as_ref().is_some_and(is_stuck);
                        if seen.as_ref().is_some_and(is_put_off) {
                            // A poisoned lock is safe: pushing an index can't panic.
                            waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(index);
                            tell(PlayMessage::Later(index));
                        } else {
                            tell(PlayMessage::Ended(index, seen));
                        }
                        if is_stuck {
                            return;
                        }
                    }
                }
            });
            if started.is_empty() {
                result = Err(ProcessError::from(NoMoreThreads).into());
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(PlayMessage::Begins(index)) => {
                        under_way.push(index);
                        report(RunEvent::Begins(&jobs[index]));
                    }
                    Ok(PlayMessage::Later(index)) => under_way.retain(|other| *other != index),
                    Ok(PlayMessage::Entries(index, entries)) => {
                        if let Some((_, events)) = &mut stillness {
                            *events += entries.len() as u64;
                        }
                        report(RunEvent::Entries(&jobs[index], &entries));
                    }
                    Ok(PlayMessage::Ended(index, seen)) => {
                        let is_alone = under_way.len() == 1;
                        under_way.retain(|other| *other != index);
                        match seen {
                            Some(seen) if is_innocent(&seen) && !(is_alone && workers == 1) => {
                                self.alone.push_back(index);
                            }
                            Some(mut seen) => {
                                if let ObservedEnding::Hung { last_words, .. } = &mut seen.ending {
                                    *last_words = words(&shared, program);
                                }
                                let before = self.kept;
                                // A chat server still counts its entries; an editor's session has ended.
                                let counted = match shared.person {
                                    PersonSide::Editor(..) => 0,
                                    PersonSide::Chat(_) => {
                                        seen.entries.iter().map(entry_bytes).sum()
                                    }
                                };
                                self.end(index, seen, report);
                                kept.keep((self.kept - before).saturating_sub(counted));
                            }
                            None => result = Err(SubjectError::Stopped),
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if let Err(error) = watch(program, &shared) {
                    result = Err(error);
                }
                if let Some((still, events)) = &mut stillness {
                    let is_still = still.look(program, *events) >= STILL;
                    let mut names = under_way.iter().map(|index| jobs[*index].name());
                    let waits = is_still && names.all(|name| shared.log().waits(&name));
                    shared.is_given_up.store(waits, Ordering::Relaxed);
                }
            }
        });
        let is_over = shared.over().is_some();
        // A poisoned lock is safe: all threads that could change it have ended.
        self.open = waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.open.extend(rest);
        if let Some(sentence) = shared.queue.verdict() {
            for index in std::mem::take(&mut self.open) {
                self.end(
                    index,
                    DriveResult::nothing(ObservedEnding::NotServed(sentence.clone())),
                    report,
                );
            }
        }
        self.deaths += usize::from(is_over);
        result?;
        // Read before the end, because lines that it prints while it ends do not explain the runs.
        let printed = boot.person.last_lines(&boot.program);
        let claude = claude_starts(jobs, &shared.log());
        let begin = Instant::now();
        let in_time = boot.program.ask_to_end(ENDING, rig.stop)?.is_some();
        if rig.stop.load(Ordering::Relaxed) {
            return Err(SubjectError::Stopped);
        }
        report(RunEvent::Stopped {
            after: begin.elapsed(),
            in_time,
            printed,
            in_vain: InVain::of(&boot.ground.refused, &boot.person),
            claude,
        });
        Ok(())
    }
}

/// Reads the starts of `claude` by a gateway from the log of the stand-in.
fn claude_starts(jobs: &[Job], log: &StandInLog) -> ClaudeStarts {
    let differences = jobs.iter().find_map(|job| {
        let recorded = &job.cassette.manifest.cli.argv;
        Some(argument_differences(recorded, log.arguments(&job.name())?))
    });
    ClaudeStarts {
        unheard: log.unheard(0).map(<[String]>::to_vec),
        refused: log.stray().map(str::to_owned),
        differences: differences.unwrap_or_default(),
    }
}

/// Returns whether a run ended only because the gateway did, which another run may have caused.
fn is_innocent(seen: &DriveResult) -> bool {
    matches!(seen.ending, ObservedEnding::Died { .. } | ObservedEnding::Flooded(_))
}

/// Does `work` on another thread, and `meanwhile` first on this one, which then watches the gateway until the work is
/// done.
pub(super) fn while_watched<T: Send>(
    boot: &mut Boot,
    shared: &RunContext<'_>,
    work: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce(&mut Boot) -> Result<(), SubjectError>,
) -> Result<T, SubjectError> {
    std::thread::scope(|scope| {
        let work = start_in(scope, work).map_err(io::Error::from)?;
        let mut result = meanwhile(boot);
        if result.is_err() {
            shared.end(ObservedEnding::Over);
        }
        while !work.is_finished() {
            if let Err(error) = watch(&mut boot.program, shared) {
                result = Err(error);
            }
            std::thread::sleep(LOOK);
        }
        #[allow(clippy::expect_used, reason = "a panic goes on")]
        let done = work.join().expect("the work does not panic");
        result.map(|()| done)
    })
}

/// Reads the log, and ends the runs if the gateway has ended, or has printed or sent too much.
///
/// # Errors
///
/// [`SubjectError::Thread`] if a thread of clitape itself has ended; the runs end too.
fn watch(program: &mut Program, shared: &RunContext<'_>) -> Result<(), SubjectError> {
    if let Err(died) = shared.person.check() {
        shared.end(ObservedEnding::Died { how: died.to_string(), last_words: String::new() });
        return Err(died.into());
    }
    let ending = match look(program, shared) {
        Ok(ending) => ending,
        Err(error) => {
            Some(ObservedEnding::Died { how: error.to_string(), last_words: String::new() })
        }
    };
    if let Some(ending) = ending {
        shared.end(ending);
    }
    Ok(())
}

fn look(
    program: &mut Program,
    shared: &RunContext<'_>,
) -> Result<Option<ObservedEnding>, SubjectError> {
    let of_log = {
        let mut log = shared.log();
        log.update()?;
        log.overflow().map(str::to_owned)
    };
    let of_editor = || match shared.person {
        PersonSide::Editor(editor, _) => editor.overflow(),
        PersonSide::Chat(_) => None,
    };
    let of_all = || shared.kept.overflow().map(|full| full.to_string());
    let overflow = of_log
        .or_else(|| program.overflow().map(Overflow::with_option))
        .or_else(of_editor)
        .or_else(of_all);
    if let Some(what) = overflow {
        return Ok(Some(ObservedEnding::Flooded(what)));
    }
    let is_known = shared.over().is_some();
    let Some(exit) = program.poll()?.filter(|_| !is_known) else { return Ok(None) };
    program.wait(Duration::from_secs(1), shared.stop)?;
    Ok(Some(ObservedEnding::Died { how: ended(exit), last_words: words(shared, program) }))
}

/// Returns the last lines of a gateway, joined to one.
fn words(shared: &RunContext<'_>, program: &Program) -> String {
    shared.person.last_lines(program).join(" / ")
}

/// Takes the next cassette that waits once there is room for it, unless the gateway does not serve any more.
fn next(shared: &RunContext<'_>, waiting: &Mutex<VecDeque<usize>>) -> Option<usize> {
    loop {
        if shared.over().is_some() || shared.queue.verdict().is_some() {
            return None;
        }
        // A poisoned lock is safe: taking an index can't panic.
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_empty() || shared.stop.load(Ordering::Relaxed) {
            return None;
        }
        if shared.queue.let_in() {
            return waiting.pop_front();
        }
        drop(waiting);
        std::thread::sleep(LOOK);
    }
}

/// Returns whether a run ended before it was certain that the gateway serves no other person.
fn is_put_off(seen: &DriveResult) -> bool {
    matches!(&seen.ending, ObservedEnding::NotServed(sentence) if sentence.is_empty())
}

/// Returns whether a run did not come to its end, or an answer never came, so that the next one in the same chat would
/// have no answer either.
fn is_stuck(job: &Job, spec: &GatewaySpec, seen: &DriveResult) -> bool {
    let is_missing = |found: &Violation| found.kind == FindingKind::AnswerMissing;
    match seen.ending {
        ObservedEnding::Hung { .. } | ObservedEnding::Refused(_) => true,
        _ => violations(job, seen, spec.traits, spec.front, None).iter().any(is_missing),
    }
}

/// Plays one cassette in its seat, or in a separate session.
fn one_cassette(
    job: &Job,
    seat: Seat,
    spec: &GatewaySpec,
    shared: &RunContext<'_>,
    faults: &Faults,
    watch: &dyn Fn(&[Entry]),
) -> Option<DriveResult> {
    match shared.person {
        PersonSide::Chat(chat) => drive(job, chat, seat, spec, shared, faults, watch),
        PersonSide::Editor(editor, folder) => {
            agent::drive(job, editor, folder, spec, shared, watch)
        }
    }
}

/// The number of methods that the sentence lists.
const LISTED: usize = 12;

/// The hosts and methods that a gateway asked for in vain, each with the number of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InVain {
    hosts: BTreeMap<String, u64>,
    methods: BTreeMap<String, u64>,
}

impl InVain {
    /// Returns the requests in vain of one start of a gateway.
    pub(super) fn of(refused: &Refused, person: &PersonSide) -> Self {
        let methods = match person {
            PersonSide::Chat(chat) => chat.unknown_methods(),
            PersonSide::Editor(..) => BTreeMap::new(),
        };
        Self { hosts: refused.hosts().into_iter().collect(), methods }
    }

    /// Adds those of another start.
    pub(super) fn add(&mut self, other: &Self) {
        for (all, more) in [(&mut self.hosts, &other.hosts), (&mut self.methods, &other.methods)] {
            for (name, count) in more {
                *all.entry(name.clone()).or_default() += count;
            }
        }
    }

    /// Returns a sentence for each host, and one for the methods.
    pub fn sentences(&self) -> Vec<String> {
        let hosts = self.hosts.iter().map(|(host, count)| refused_host(host, *count));
        hosts.chain(self.of_methods()).collect()
    }

    fn of_methods(&self) -> Option<String> {
        let of = |(method, count): (&String, &u64)| format!("{} ×{count}", plain(method));
        let listed: Vec<String> = self.methods.iter().take(LISTED).map(of).collect();
        let more = match self.methods.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!listed.is_empty()).then(|| {
            format!(
                "it called methods that the chat server does not know: {}{more}; they were answered with 404",
                listed.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_added_up() {
        let counts = |counts: &[(&str, u64)]| {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let mut all = InVain::default();
        assert!(all.sentences().is_empty());
        for (hosts, methods) in [
            (&[("pypi.org", 1)][..], &[("sendDice", 2), ("sendGame", 1)][..]),
            (&[("pypi.org", 2), ("a.example", 1)], &[("sendDice", 1)]),
        ] {
            all.add(&InVain { hosts: counts(hosts), methods: counts(methods) });
        }
        assert_eq!(
            all.sentences(),
            [
                "it asked for a.example: refused",
                "it asked for pypi.org 3 times: refused",
                "it called methods that the chat server does not know: sendDice ×3, sendGame ×1; they were answered \
                 with 404",
            ]
        );
        let many: Vec<String> = (10..30).map(|number| format!("m{number}")).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        let many = InVain { hosts: BTreeMap::new(), methods: counts(&many) };
        assert!(many.sentences()[0].contains("m21 ×1 and 8 more; they"), "{many:?}");
    }
}
