//! Kills a gateway in the midst of a recording and starts it again, as machines and deployments do; or lets the person
//! do more than the recorded one. Then the person goes on in the same chat.
//!
//! The chat server hands out again what the gateway has not acknowledged, and keeps what the person writes meanwhile.
//! The log of the stand-in says which of the person's words reached `claude`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clitape_judge::observation::{
    FurtherAct, INTERRUPT, Interlude, InterludeKind, MARK, Observation, ObservedEnding,
    RestartMoment, SubjectTraits, WAITED_IN_VAIN,
};
use clitape_judge::{FindingKind, Violation, judge};
use clitape_recording::chat::PRESS;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Map;

use super::boot::{Boot, LOOK, PersonSide, Playing, Start};
use super::deed::{PARTS, WrittenAnswer, part_marks};
use super::dialogue::Act;
use super::drive::{DriveResult, Job, RunContext, drive, observation, violations};
use super::error::SubjectError;
use super::log::Played;
use super::persons::{ChatPart, OpenedChats, Persons, buttons, last_words, says_that_it_waits};
use super::prepare::RigHost;
use super::queue::RunQueue;
use super::run::{Play, while_watched};
use super::spec::{Front, GatewaySpec, HostKind, Printing};
use crate::chat_server::{Faults, PressTarget};
use crate::clock::now_ms;
use crate::limits::KeptBytes;
use crate::stand_in::OWN_PROMPT;

/// The time for which the gateway is down.
const DOWN: Duration = Duration::from_secs(1);
/// The time after which a person presses a button of a question that is still there.
const BACK: Duration = Duration::from_millis(500);
/// The time without a call, in addition to the quiet time of the gateway, after which nothing more comes of what the
/// restart broke off.
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest wait for that.
const SETTLED: Duration = Duration::from_secs(60);
/// The time after which a person answers a question, if a message has come in between.
const ANSWERED: Duration = Duration::from_secs(3);
/// What a host writes to `claude` that allows the like from now on: the kinds of `updatedPermissions`, and the request.
const RULES: [&str; 5] =
    ["addRules", "replaceRules", "setMode", "addDirectories", "set_permission_mode"];
/// The pace of a turn that is stopped at once.
const SLOWLY: Printing = Printing::Paced(150);

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
    /// The number of turns that `claude` played for the recording's message.
    turns: usize,
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
        let (playing, spec) = (self.playing(how), how.spec);
        let with_own = self.spec(spec);
        let how = Play { playing: &playing, spec: &with_own, ..how };
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
        let deed = match self.kind {
            InterludeKind::Person(act) => Some(act),
            InterludeKind::Restart(_) => None,
        };
        let (deed, deed_of_next) = match deed {
            Some(FurtherAct::Reply) => (None, deed),
            deed => (deed, None),
        };
        let before = RunContext { until: Some(self.kind), deed, ..context() };
        let part = ChatPart::new(server, &ground.places, seat, None);
        let first = || play(self.job, &before, seat, how.faults);
        let first = while_watched(&mut boot, &before, first, |_| Ok(()))?;
        let first = first.ok_or(SubjectError::Stopped)?;
        let name = self.job.name();
        let played = before.log().played(&name);
        let begin_ms = now_ms().saturating_sub(ms(first.took));
        let is_missed = match self.kind {
            InterludeKind::Person(FurtherAct::AnswerByText) => before.written().is_none(),
            InterludeKind::Person(FurtherAct::Edit | FurtherAct::AllowAlways) => {
                !before.is_cut.load(Ordering::Relaxed)
            }
            kind => kind.is_in_turn() && !before.is_cut.load(Ordering::Relaxed),
        };
        if first.ending != ObservedEnding::Over || is_missed {
            let is_unread = self.kind == InterludeKind::Person(FurtherAct::Album)
                && matches!(first.ending, ObservedEnding::Hung { .. })
                && played.starts == 0;
            let unheard = "an album of two photos with the prompt as its caption";
            let interlude = is_unread
                .then(|| Interlude { unheard: Some(unheard.to_owned()), ..self.begun(0, &played) });
            return Ok(InterludeResult {
                whole: first.clone(),
                first,
                next: None,
                interlude,
                is_printed: false,
                turns: 1,
            });
        }
        let begin = Instant::now().checked_sub(first.took).unwrap_or_else(Instant::now);
        let is_killed = matches!(self.kind, InterludeKind::Restart(_));
        if is_killed {
            boot.kill(server, rig)?;
        }
        let mut it = self.begun(ms(first.took), &played);
        let is_down = is_killed && !self.kind.is_in_turn();
        let gone = self.kind == InterludeKind::Restart(RestartMoment::SessionGone);
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
        if self.kind == InterludeKind::Person(FurtherAct::StopAtOnce) {
            let ask = || self.settle(&part, &before, played.starts, how);
            while_watched(&mut boot, &before, ask, |_| Ok(()))?;
            before.log().update()?;
            it.went_on = self.went_on(&before.log().played(&name), begin_ms + it.began_ms);
        }
        let behind = self.kind.is_further_message().then(|| name.clone());
        let after = RunContext { behind, deed: deed_of_next, ..context() };
        let mut next = None;
        if it.left.is_none() {
            let it = &mut it;
            let again = |boot: &mut Boot| {
                if is_down {
                    std::thread::sleep(DOWN);
                    it.left = not_again(boot.start_again(server, start))?;
                    it.over_ms = ms(begin.elapsed());
                }
                if self.kind == InterludeKind::Person(FurtherAct::MessageAtQuestion) {
                    std::thread::sleep(ANSWERED);
                    it.pressed = press_allow(&part, how.spec);
                }
                Ok(())
            };
            let written = || play(self.next, &after, seat, &Faults::None);
            next = while_watched(&mut boot, &after, written, again)?;
            if let Some(next) = &mut next {
                // A process that lives on was started in the first recording.
                next.asks_nobody &= first.asks_nobody;
            }
        }
        let of_first = self.conclude(&mut it, next.as_ref(), &before, &after)?;
        let turns = of_first.turns.len().max(usize::try_from(of_first.starts).unwrap_or(1));
        it.starts_again = match self.kind {
            InterludeKind::Person(FurtherAct::Album) => self.asked_again(turns, spec, &before)?,
            _ => of_first.starts.saturating_sub(played.starts),
        };
        let is_printed =
            of_first.turn_ended && of_first.printed >= self.job.cassette.stdout.len() as u64;
        let (played_turns, reads) = of_first.since(begin_ms, &self.job.cassette.stdout);
        let mut entries = part.entries();
        let of_next = after.log().played(&self.next.name());
        it.forgotten = self.forgotten(&entries, [&played, &of_next], &before)?;
        if is_killed {
            enter(&mut entries, it.began_ms, "(killed)");
            enter(&mut entries, it.over_ms, "(started again)");
        }
        let whole = DriveResult {
            entries,
            turns: played_turns,
            reads,
            took: begin.elapsed(),
            ..first.clone()
        };
        Ok(InterludeResult { first, next, whole, interlude: Some(it), is_printed, turns })
    }

    /// Returns the interlude at its beginning.
    fn begun(self, at_ms: u64, played: &Played) -> Interlude {
        Interlude {
            kind: self.kind,
            began_ms: at_ms,
            over_ms: at_ms,
            starts_again: 0,
            pressed: None,
            unheard: None,
            went_on: None,
            left: None,
            forgotten: None,
            resumed: None,
            sessions: played.sessions.iter().map(|session| session.id.clone()).collect(),
        }
    }

    /// Adds to an interlude what became of the messages, and returns the state of the first recording.
    fn conclude(
        self,
        it: &mut Interlude,
        next: Option<&DriveResult>,
        before: &RunContext<'_>,
        after: &RunContext<'_>,
    ) -> io::Result<Played> {
        before.log().update()?;
        let of_next = after.log().played(&self.next.name());
        it.resumed = of_next.resumed();
        if let Some(written) = before.written() {
            (it.began_ms, it.over_ms) = (ms(written.at), ms(written.until));
        }
        it.unheard = self.unheard(before)?;
        if let Some(next) = next.filter(|_| of_next.starts == 0) {
            let is_told = last_words(&next.entries).is_some_and(|words| says_that_it_waits(&words));
            // It may be the answer to a question.
            let marker = format!("{MARK}{}", self.next.name());
            let is_heard = before.log().heard(&[marker])? != [0];
            if matches!(self.kind, InterludeKind::Restart(_)) || !is_told && !is_heard {
                it.left.get_or_insert_with(|| next.how());
            }
        }
        let of_first = before.log().played(&self.job.name());
        Ok(of_first)
    }

    /// Returns the manner in which the stand-in plays. A stop right behind the prompt needs a turn that lasts a while.
    fn playing(self, how: Play<'_>) -> Playing {
        let is_short = self.kind == InterludeKind::Person(FurtherAct::StopAtOnce)
            && how.playing.printing == Printing::Recorded
            && !self.job.is_stopped_once();
        let printing = if is_short { SLOWLY } else { how.playing.printing };
        Playing { printing, ..how.playing.clone() }
    }

    /// Returns how often `claude` was asked once more for a part of an album: with its caption, or with a photo alone.
    fn asked_again(
        self,
        turns: usize,
        spec: &GatewaySpec,
        shared: &RunContext<'_>,
    ) -> io::Result<u64> {
        let with_caption = turns.saturating_sub(1);
        // A live host may write each photo into the same turn, and some gateways have prompts of their own.
        let is_clear = spec.host == HostKind::OneShot && !spec.own_prompts;
        let alone = shared.log().heard(&[OWN_PROMPT.to_owned()])?;
        let alone: usize = alone.iter().filter(|_| is_clear).sum();
        Ok(u64::try_from(with_caption + alone).unwrap_or(u64::MAX))
    }

    /// Returns the settings of the gateway. A text that answers a question, or a photo without a caption, may become a
    /// prompt of its own, without a marker.
    fn spec(self, spec: &GatewaySpec) -> GatewaySpec {
        let acts = [FurtherAct::AnswerByText, FurtherAct::Album];
        let is_bare = acts.map(InterludeKind::Person).contains(&self.kind);
        GatewaySpec { own_prompts: spec.own_prompts || is_bare, ..spec.clone() }
    }

    /// Returns the words about a `claude` that went on after the stop at this time, in milliseconds since 1970.
    fn went_on(self, played: &Played, stop_ms: u64) -> Option<String> {
        let [before, behind] = WAITED_IN_VAIN;
        let waited = played.refused.as_ref().and_then(|sentence| {
            sentence.strip_prefix(before)?.strip_prefix(INTERRUPT)?.strip_prefix(behind)
        });
        if let Some(time) = waited {
            return Some(format!("claude got no interrupt in {time}"));
        }
        let is_at_end = played.printed >= self.job.cassette.stdout.len() as u64;
        let (end, _) = played.prints.last().filter(|_| is_at_end && !self.job.is_stopped_once())?;
        let after = seconds(Duration::from_millis(end.saturating_sub(stop_ms)));
        Some(format!("claude went on for {after}, to the end of the turn"))
    }

    /// Returns the button that allowed the like from now on, if the same call was asked about again although `claude` had
    /// got no rule. A gateway may also keep the rule itself.
    fn forgotten(
        self,
        entries: &[Entry],
        [first, next]: [&Played; 2],
        shared: &RunContext<'_>,
    ) -> io::Result<Option<String>> {
        if self.kind != InterludeKind::Person(FurtherAct::AllowAlways) {
            return Ok(None);
        }
        let rules = shared.log().heard(&RULES.map(str::to_owned))?;
        let questions = self.job.facts.turn_facts().iter().flat_map(|turn| &turn.questions);
        let names: Vec<&str> = questions.map(|question| question.name.as_str()).collect();
        let is_rule = |argument: &String| {
            !first.arguments.contains(argument) && names.iter().any(|name| argument.contains(name))
        };
        let is_told = rules.iter().any(|count| *count > 0) || next.arguments.iter().any(is_rule);
        let mut presses = entries.iter().filter(|entry| entry.kind == PRESS);
        let label = presses.next().map(|entry| entry.text("label").to_owned());
        Ok(label.filter(|_| !is_told && presses.next().is_some()))
    }

    /// Returns the words for what the person wrote and `claude` never got.
    fn unheard(self, shared: &RunContext<'_>) -> io::Result<Option<String>> {
        let log = shared.log();
        if let Some(written) = shared.written().filter(|written| !written.is_taken) {
            let WrittenAnswer { text, at, .. } = written;
            let heard = log.heard(&[format!("\"{text}\"")])?;
            // An answer by buttons has the label too.
            let by_buttons = self
                .job
                .dialogue
                .steps
                .iter()
                .any(|step| matches!(&step.act, Act::Choose(labels) if labels.contains(&text)));
            let at = seconds(at);
            let words = format!("“{text}”, by which the person answered the question at {at},");
            return Ok((heard <= vec![usize::from(by_buttons)]).then_some(words));
        }
        if self.kind == InterludeKind::Person(FurtherAct::Reply) {
            let object = "[object Object]";
            let is_object = log.heard(&[object.to_owned()])? != [0];
            let words = format!("a text of the reply (“{object}” came in its place)");
            return Ok(is_object.then_some(words));
        }
        if self.kind != InterludeKind::Person(FurtherAct::LongPrompt) {
            return Ok(None);
        }
        let marks: Vec<String> = (1..=PARTS).flat_map(part_marks).collect();
        let heard = log.heard(&marks)?;
        let lost = (1..).zip(heard.chunks(2)).filter_map(|(number, counts)| match counts {
            [0, _] => Some(format!("part {number}")),
            [_, 0] => Some(format!("the end of part {number}")),
            _ => None,
        });
        let lost = lost.collect::<Vec<_>>().join(" and ");
        let of = format!("of {PARTS} of a prompt of 9,000 characters");
        Ok((!lost.is_empty()).then(|| format!("{lost} {of}")))
    }

    /// Presses a button of the question that a restart broke off, if there is one, and waits until nothing more comes.
    /// Returns the label.
    fn settle(
        self,
        part: &ChatPart<'_>,
        shared: &RunContext<'_>,
        starts: u64,
        how: Play<'_>,
    ) -> Option<String> {
        let (spec, begin) = (how.spec, Instant::now());
        let is_asked = self.kind == InterludeKind::Restart(RestartMoment::MidQuestion);
        std::thread::sleep(BACK);
        let pressed = is_asked.then(|| press_allow(part, spec)).flatten();
        let idle = Duration::from_secs(spec.idle_s) + PATIENCE;
        let pauses = self.job.cassette.timeline.iter().map(|tick| tick.after_ms);
        let longest = Duration::from_millis(pauses.max().unwrap_or(0));
        let (mut known, mut quiet) = ((0, 0), Instant::now());
        let _ = shared.until_over(|| {
            std::thread::sleep(LOOK);
            let is_call = |entry: &&Entry| !entry.is_typing();
            let seen = part.entries().iter().filter(is_call).count();
            let played = shared.log().played(&self.job.name());
            let is_playing = played.starts > starts && !played.turn_ended;
            let is_waiting = is_playing && played.waits_for.is_some() && played.refused.is_none();
            if (seen, played.printed) != known || is_waiting {
                (known, quiet) = ((seen, played.printed), Instant::now());
            }
            // A process that was killed says nothing of its end.
            let idle = if is_playing { idle + longest } else { idle };
            (quiet.elapsed() > idle || begin.elapsed() > SETTLED).then_some(ObservedEnding::Over)
        });
        pressed
    }
}

/// Presses the button for yes of the newest question that still has one, and returns its label.
fn press_allow(part: &ChatPart<'_>, spec: &GatewaySpec) -> Option<String> {
    let (open, labels) = (buttons(&part.entries()), &spec.press);
    let (id, last) = open.iter().rfind(|(_, label)| labels.allow.is_match(label))?;
    let once = open.iter().find(|(of, label)| of == id && labels.is_once(label));
    let label = once.map_or(last, |(_, label)| label);
    let target = i64::try_from(*id).map_or(PressTarget::Last, PressTarget::Message);
    // A button that is gone meanwhile was answered in another way.
    part.press(target, label).is_ok().then(|| label.clone())
}

/// The violations of the interlude itself.
const OF_INTERLUDE: [FindingKind; 6] = [
    FindingKind::StopIgnored,
    FindingKind::RuleForgotten,
    FindingKind::RestartUntold,
    FindingKind::MessageLost,
    FindingKind::AnsweredAgain,
    FindingKind::OldSession,
];
/// The violations that count wherever a turn was left in its middle, or played more than once.
const LEFT_OPEN: [FindingKind; 2] = [FindingKind::RunningLeft, FindingKind::ButtonsLeft];

impl InterludeResult {
    /// Returns the rules that the gateway broke, those of the interlude first.
    pub(crate) fn violations(
        &self,
        trial: InterludeTrial<'_>,
        traits: SubjectTraits,
    ) -> Vec<Violation> {
        let mut found = Vec::new();
        let is_cut = self.interlude.is_some() && trial.kind.is_in_turn();
        // Of a turn that was played more than once, a person reads the answer as often.
        let is_repeated = self.turns > trial.job.facts.turn_facts().len().max(1);
        if let Some(it) = &self.interlude {
            let seen = observation(trial.job, &self.whole, traits, Front::Chat);
            found.extend(judge(&Observation { interlude: Some(it.clone()), ..seen }));
            let is_killed = matches!(trial.kind, InterludeKind::Restart(_));
            let is_due = self.is_printed && (trial.kind.is_further_message() || is_repeated);
            // The gateway may not know a message that it sent when it was killed.
            let is_unknown = |entry: Option<usize>| {
                let entry = entry.and_then(|entry| self.whole.entries.get(entry));
                entry.is_some_and(|entry| {
                    is_killed && (it.began_ms..=it.over_ms).contains(&entry.at)
                })
            };
            let is_left = is_cut || is_killed || is_repeated;
            found.retain(|Violation { kind, entry, .. }| {
                OF_INTERLUDE.contains(kind)
                    || is_left && LEFT_OPEN.contains(kind) && !is_unknown(*entry)
                    || is_due && *kind == FindingKind::AnswerMissing
            });
        }
        let is_first_due = self.interlude.is_none()
            || !is_cut && !is_repeated && self.first.ending == ObservedEnding::Over;
        if is_first_due {
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
            let is_missed = self.first.ending == ObservedEnding::Over;
            let words = format!("not tried: {kind} of {name}: its moment never came");
            return is_missed.then_some(words).into_iter().collect();
        };
        let words = match kind {
            InterludeKind::Restart(_) if it.left.is_none() && it.resumed.is_none() => {
                "after the restart it began a new session: the agent has forgotten what was said before"
            }
            InterludeKind::Person(FurtherAct::LongPrompt) if self.turns > 1 => {
                "the messages of the long prompt are prompts of their own, so that the agent answers each of them"
            }
            InterludeKind::Person(FurtherAct::Album) if self.next.is_none() => {
                "`claude` was not started for the album"
            }
            InterludeKind::Person(FurtherAct::Edit) if self.turns > 1 => {
                "an edit of the prompt is a prompt of its own, so that the agent answers both"
            }
            _ => return Vec::new(),
        };
        vec![format!("{name}: {words}")]
    }
}

/// Adds an entry about the gateway's program at its time.
fn enter(entries: &mut Vec<Entry>, at: u64, kind: &'static str) {
    let index = entries.partition_point(|entry| entry.at <= at);
    entries.insert(index, Entry::new(at, Lane::Telegram, kind, Map::new()));
}

/// Returns a time for a person, such as `1.5 s`.
fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
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
