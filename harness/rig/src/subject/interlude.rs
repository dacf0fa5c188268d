//! Kills a gateway in the midst of a recording and starts it again, as machines and deployments do; or lets the person
//! write once more during the turn. Then the person goes on in the same chat.
//!
//! The chat server hands out again what the gateway has not acknowledged, and keeps what the person writes meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clitape_judge::observation::{
    Interlude, InterludeKind, Observation, ObservedEnding, SubjectTraits,
};
use clitape_judge::{FindingKind, Violation, judge};
use clitape_recording::trace::{Entry, Lane};
use serde_json::Map;

use super::boot::{Boot, LOOK, PersonSide, Playing, Start};
use super::drive::{DriveResult, Job, RunContext, drive, observation, violations};
use super::error::SubjectError;
use super::persons::{
    ChatPart, OpenedChats, Persons, TYPING, buttons, last_words, says_that_it_waits,
};
use super::prepare::RigHost;
use super::queue::RunQueue;
use super::run::{Play, while_watched};
use super::spec::Front;
use crate::chat_server::{Faults, PressTarget};
use crate::clock::now_ms;
use crate::limits::KeptBytes;

/// The time for which the gateway is down.
const DOWN: Duration = Duration::from_secs(1);
/// The time after which a person presses a button of a question that is still there.
const BACK: Duration = Duration::from_millis(500);
/// The time without a call, in addition to the quiet time of the gateway, after which nothing more comes of what the
/// restart broke off.
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest wait for that.
const SETTLED: Duration = Duration::from_secs(60);

/// A recording with an interlude, and the recording that the person plays next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InterludeTrial<'a> {
    pub(crate) job: &'a Job,
    pub(crate) next: &'a Job,
    pub(crate) kind: InterludeKind,
}

/// The result of an interlude.
#[derive(Debug)]
pub(crate) struct InterludeResult {
    /// The recording, up to the beginning of the interlude.
    pub(crate) first: DriveResult,
    /// The recording that the person played next; `None` if the gateway could not be started again.
    pub(crate) next: Option<DriveResult>,
    /// The whole chat, and the turns of the first recording.
    pub(crate) whole: DriveResult,
    /// The interlude; `None` if its moment never came.
    pub(crate) interlude: Option<Interlude>,
    /// True if `claude` came to the end of the turn.
    is_printed: bool,
}

impl InterludeTrial<'_> {
    /// Plays the trial.
    ///
    /// # Errors
    ///
    /// [`SubjectError`] if the gateway can't be started the first time, or if the caller stops it.
    pub(crate) fn play(
        self,
        how: Play<'_>,
        rig: RigHost<'_>,
    ) -> Result<InterludeResult, SubjectError> {
        let kept = Arc::new(KeptBytes::within(rig.limits.kept));
        kept.keep(how.kept);
        let persons = Persons::new(&how.spec.writers, 1, how.warm_up.is_some());
        let start = how.start(&persons, rig, &kept);
        let mut boot = Boot::start(start)?;
        let side = boot.person.clone();
        let ground = boot.ground.clone();
        let PersonSide::Chat(server) = &*side else {
            return Err(SubjectError::Kind("only a gateway in a chat is started again".to_owned()));
        };
        let opened = OpenedChats::default();
        let context = || {
            let queue = RunQueue::new(1, how.at_once);
            let context = how.context(&side, &ground, rig, &kept, &opened, queue);
            RunContext { shares_chat: true, ..context }
        };
        let seat = persons.seat(0);
        let play = |job: &Job, shared: &RunContext<'_>, seat, faults| {
            drive(job, server, seat, how.spec, shared, faults, &|_| {})
        };
        if let Some(job) = how.warm_up {
            let shared = context();
            let warm = || play(job, &shared, persons.warm_up(), &Faults::None);
            while_watched(&mut boot, &shared, warm, |_| Ok(()))?;
        }
        let before = RunContext { until: Some(self.kind), ..context() };
        let part = ChatPart::new(server, &ground.places, seat, None);
        let first = || play(self.job, &before, seat, how.faults);
        let first = while_watched(&mut boot, &before, first, |_| Ok(()))?;
        let first = first.ok_or(SubjectError::Stopped)?;
        let name = self.job.name();
        let played = before.log().played(&name);
        let begin_ms = now_ms().saturating_sub(ms(first.took));
        let is_missed = self.kind.is_in_turn() && !before.is_cut.load(Ordering::Relaxed);
        if first.ending != ObservedEnding::Over || is_missed {
            return Ok(InterludeResult {
                whole: first.clone(),
                first,
                next: None,
                interlude: None,
                is_printed: false,
            });
        }
        let begin = Instant::now().checked_sub(first.took).unwrap_or_else(Instant::now);
        let is_killed = self.kind != InterludeKind::SecondMessage;
        if is_killed {
            boot.kill(server, rig)?;
        }
        let mut it = Interlude {
            kind: self.kind,
            began_ms: ms(first.took),
            over_ms: ms(first.took),
            starts_again: 0,
            pressed: None,
            left: None,
            resumed: None,
            sessions: played.sessions.iter().map(|session| session.id.clone()).collect(),
        };
        let is_down = !self.kind.is_in_turn();
        let gone = self.kind == InterludeKind::SessionGone;
        let playing = &Playing { sessions_are_gone: gone, ..how.playing.clone() };
        let start = Start { playing, ..start };
        if self.kind.breaks_off() {
            std::thread::sleep(DOWN);
            it.left = not_again(boot.start_again(server, start))?;
            it.over_ms = ms(begin.elapsed());
            if it.left.is_none() {
                let ask = || self.settle(&part, &before, played.starts, how);
                it.pressed = while_watched(&mut boot, &before, ask, |_| Ok(()))?;
            }
        }
        let after = context();
        let mut next = None;
        if it.left.is_none() {
            let it = &mut it;
            let again = |boot: &mut Boot| {
                if is_down {
                    std::thread::sleep(DOWN);
                    it.left = not_again(boot.start_again(server, start))?;
                    it.over_ms = ms(begin.elapsed());
                }
                Ok(())
            };
            let written = || play(self.next, &after, seat, &Faults::None);
            next = while_watched(&mut boot, &after, written, again)?;
        }
        before.log().update()?;
        let of_first = before.log().played(&name);
        let of_next = after.log().played(&self.next.name());
        let is_printed =
            of_first.turn_ended && of_first.printed >= self.job.cassette.stdout.len() as u64;
        it.starts_again = of_first.starts.saturating_sub(played.starts);
        it.resumed = of_next.resumed();
        if let Some(next) = next.as_ref().filter(|_| of_next.starts == 0) {
            let is_told = last_words(&next.entries).is_some_and(|words| says_that_it_waits(&words));
            if is_killed || !is_told {
                it.left.get_or_insert_with(|| next.how());
            }
        }
        let (turns, reads) = of_first.since(begin_ms, &self.job.cassette.stdout);
        let mut entries = part.entries();
        if is_killed {
            enter(&mut entries, it.began_ms, "(killed)");
            enter(&mut entries, it.over_ms, "(started again)");
        }
        let whole = DriveResult { entries, turns, reads, ..first.clone() };
        Ok(InterludeResult { first, next, whole, interlude: Some(it), is_printed })
    }

    /// Presses a button of the question that the restart broke off, if there is one, and waits until nothing more comes.
    /// Returns the label.
    fn settle(
        self,
        part: &ChatPart<'_>,
        shared: &RunContext<'_>,
        starts: u64,
        how: Play<'_>,
    ) -> Option<String> {
        let (spec, begin) = (how.spec, Instant::now());
        let is_asked = self.kind == InterludeKind::MidQuestion;
        std::thread::sleep(BACK);
        let mut open = buttons(&part.entries());
        open.retain(|(_, label)| is_asked && spec.press.allow.is_match(label));
        let pressed = open.pop().map(|(id, label)| {
            let target = i64::try_from(id).map_or(PressTarget::Last, PressTarget::Message);
            let _ = part.press(target, &label);
            label
        });
        let idle = Duration::from_secs(spec.idle_s) + PATIENCE;
        let (mut calls, mut quiet) = (0, Instant::now());
        let _ = shared.until_over(|| {
            std::thread::sleep(LOOK);
            let is_call = |entry: &&Entry| entry.kind != TYPING;
            let seen = part.entries().iter().filter(is_call).count();
            let played = shared.log().played(&self.job.name());
            let is_playing = played.starts > starts && !played.turn_ended;
            if seen != calls || is_playing {
                (calls, quiet) = (seen, Instant::now());
            }
            (quiet.elapsed() > idle || begin.elapsed() > SETTLED).then_some(ObservedEnding::Over)
        });
        pressed
    }
}

/// The violations that count of the whole chat: those of the interlude, and what is left of a turn.
const LEFT_OPEN: [FindingKind; 6] = [
    FindingKind::RestartUntold,
    FindingKind::MessageLost,
    FindingKind::AnsweredAgain,
    FindingKind::OldSession,
    FindingKind::RunningLeft,
    FindingKind::ButtonsLeft,
];

impl InterludeResult {
    /// Returns the rules that the gateway broke, those of the interlude first.
    pub(crate) fn violations(
        &self,
        trial: InterludeTrial<'_>,
        traits: SubjectTraits,
    ) -> Vec<Violation> {
        let mut found = Vec::new();
        if let Some(it) = &self.interlude {
            let seen = observation(trial.job, &self.whole, traits, Front::Chat);
            found.extend(judge(&Observation { interlude: Some(it.clone()), ..seen }));
            let is_due = self.is_printed && trial.kind == InterludeKind::SecondMessage;
            found.retain(|Violation { kind, .. }| {
                LEFT_OPEN.contains(kind) || is_due && *kind == FindingKind::AnswerMissing
            });
        }
        let is_cut = self.interlude.is_some() && trial.kind.is_in_turn();
        if !is_cut {
            found.extend(violations(trial.job, &self.first, traits, Front::Chat, None));
        }
        let is_left = self.interlude.as_ref().is_some_and(|it| it.left.is_some());
        if let Some(next) = self.next.as_ref().filter(|_| !is_left) {
            let of_next = violations(trial.next, next, traits, Front::Chat, None);
            found.extend(of_next.into_iter().map(|violation| Violation {
                sentence: format!(
                    "{}, in {}: {}",
                    trial.kind.after(),
                    trial.next.name(),
                    violation.sentence
                ),
                entry: None,
                ..violation
            }));
        }
        found
    }

    /// Returns sentences about what was not tried, and about what a person may notice.
    pub(crate) fn notes(&self, trial: InterludeTrial<'_>) -> Vec<String> {
        let (name, kind) = (trial.job.name(), trial.kind);
        let Some(it) = &self.interlude else {
            return vec![format!("not tried: {kind} of {name}: its moment never came")];
        };
        let begins_anew =
            kind != InterludeKind::SecondMessage && it.left.is_none() && it.resumed.is_none();
        let words = "after the restart it began a new session: the agent has forgotten what was said before";
        begins_anew.then(|| format!("{name}: {words}")).into_iter().collect()
    }
}

/// Adds an entry about the gateway's program at its time.
fn enter(entries: &mut Vec<Entry>, at: u64, kind: &'static str) {
    let index = entries.partition_point(|entry| entry.at <= at);
    entries.insert(index, Entry::new(at, Lane::Telegram, kind, Map::new()));
}

fn ms(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

/// Returns the sentence about a gateway that can't be started again; `None` if it runs.
fn not_again(started: Result<(), SubjectError>) -> Result<Option<String>, SubjectError> {
    match started {
        Ok(()) => Ok(None),
        Err(SubjectError::NotReady { why, printed, .. }) => {
            let words = printed.last().map(|line| format!("; its last words: {line}"));
            Ok(Some(format!("it does not start again: {why}{}", words.unwrap_or_default())))
        }
        Err(error) => Err(error),
    }
}
