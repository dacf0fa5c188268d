//! Plays one cassette at a gateway: the person writes the prompt in a chat and follows the recorded dialogue, and the
//! run is watched until it is over.
//!
//! The page of a run says of each of its parts whether it is recorded or real.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clitape_judge::neighbours::Neighbours;
use clitape_judge::observation::{
    FurtherAct, InterludeKind, Observation, ObservedEnding, PlayedTurn, RestartMoment,
    SessionOrigin, SubjectEvent, SubjectTraits, TurnSession,
};
use clitape_judge::{Finding, Violation, judge};
use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::chat::{ChatView, SeenMessage};
use clitape_recording::facts::LazyFacts;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Scenario;
use clitape_recording::trace::Entry;
use clitape_runner::report::SeenRun;
use clitape_runner::suite::{CaseRun, ScenarioRun};

use super::boot::{LOOK, PersonSide};
use super::bus::{self, BusError};
use super::deed::{TextAnswer, WrittenAnswer};
use super::dialogue::{Act, PersonDialogue, PersonStep};
use super::log::{Played, StandInLog};
use super::persons::{self, ChatPart, NotOpened, OpenedChat, OpenedChats, Seat, buttons};
use super::queue::{RunQueue, Ticket};
use super::spec::{Conditions, Front, GatewaySpec, NamedGateway, Places, Printing};
use crate::chat_server::{ChatServer, Faults, PressTarget};
use crate::clock::now_ms;
use crate::limits::{Held, KeptBytes, RigLimits, entry_bytes, json_bytes};
use crate::stand_in::cut_off;

mod folder;
mod more;
mod over;

/// The time that a person takes for an act once it is possible.
const REACTION: Duration = Duration::from_millis(400);
/// The time without a call after a turn that a person waits before the next message, because the answer may still be on
/// its way.
const READING: Duration = Duration::from_secs(3);
/// The time that a person looks for a button before writing its label or going on.
const SEARCH: Duration = Duration::from_secs(3);
/// The time of a wait for a line after which only a person can end it, because gateways answer hooks at once.
const LONG_WAIT: Duration = Duration::from_secs(1);
/// The time that a gateway has to write something after the stand-in refused.
const AFTER_REFUSAL: Duration = Duration::from_secs(2);
/// The time between two looks at the whole chat.
const CHAT_LOOK: Duration = Duration::from_millis(100);
/// The part of stdout, one of so many, after which a turn is in its middle.
const CUT_AT: u64 = 3;
/// The number of calls of a chat for which faults are drawn.
const CALLS_WITH_FAULTS: u64 = 5_000;

/// A cassette that is played at a gateway.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scenario.
    pub scenario: Scenario,
    /// Its cassette.
    pub cassette: Cassette,
    /// The facts of its cassette.
    pub facts: Arc<LazyFacts>,
    /// The acts of the person.
    pub(crate) dialogue: PersonDialogue,
}

impl Job {
    /// Returns the cassette as [`CliFault::Cut`](crate::stand_in::CliFault::Cut) leaves it.
    pub(crate) fn cut_off(mut self) -> Self {
        if cut_off(&mut self.cassette) {
            self.facts = Arc::new(LazyFacts::of_runs(&self.cassette));
            self.dialogue = PersonDialogue::of(&self.cassette, &self.scenario.record);
        }
        self
    }

    /// Returns the version of the recorded CLI.
    pub fn version(&self) -> &CliVersion {
        &self.cassette.manifest.cli.version
    }

    /// Returns the name of the cassette, `NAME/VERSION`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.scenario.name, self.version())
    }

    /// Returns where its recording comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.cassette.manifest.origin
    }

    /// Returns whether it is one message and an interrupt.
    pub(crate) fn is_stopped_once(&self) -> bool {
        matches!(&self.dialogue.steps[..], [step] if step.act == Act::Stop)
    }

    /// Returns the length of the recorded runs in milliseconds.
    pub(crate) fn recorded_ms(&self) -> u64 {
        self.cassette.runs().flat_map(|run| run.timeline).map(|tick| tick.after_ms).sum()
    }
}

/// The result of playing a cassette at a gateway.
#[derive(Debug, Clone)]
pub struct DriveResult {
    /// The entries of the chat or of the session.
    pub entries: Vec<Entry>,
    /// The ending of the run.
    pub ending: ObservedEnding,
    /// The turns that the stand-in played, on the clock of the entries.
    pub turns: Vec<PlayedTurn>,
    /// The sessions of these turns.
    pub sessions: Vec<TurnSession>,
    /// The time at which the last process of `claude` ended, on the clock of the entries.
    pub exited_ms: Option<u64>,
    /// True if `claude` asked for no permissions, because it was started without a tool or a host for them.
    pub asks_nobody: bool,
    /// The time at which each line of stdout was printed, as far as they were, on the clock of the entries.
    pub reads: Vec<u64>,
    /// The events of the gateway's bus in this chat; `None` if it has no bus.
    pub bus: Option<Vec<SubjectEvent>>,
    /// The duration of the run.
    pub took: Duration,
}

impl DriveResult {
    /// Creates the result of a cassette that was not played.
    pub(crate) fn nothing(ending: ObservedEnding) -> Self {
        Self {
            entries: Vec::new(),
            ending,
            turns: Vec::new(),
            sessions: Vec::new(),
            exited_ms: None,
            asks_nobody: false,
            reads: Vec::new(),
            bus: None,
            took: Duration::ZERO,
        }
    }

    /// Returns the bytes of memory that the result takes.
    pub(crate) fn bytes(&self) -> usize {
        let event = |event: &SubjectEvent| {
            let texts = [event.phase.as_ref(), event.id.as_ref(), event.name.as_ref()];
            let texts = texts.into_iter().flatten().chain([&event.kind]);
            let args = event.args.as_ref().map_or(0, json_bytes);
            size_of::<SubjectEvent>() + texts.map(String::len).sum::<usize>() + args
        };
        let bus = self.bus.iter().flatten().map(event).sum::<usize>();
        self.entries.iter().map(entry_bytes).sum::<usize>() + bus + size_of_val(&*self.reads)
    }
}

/// The state that the runs of one start share.
pub(crate) struct RunContext<'a> {
    pub(crate) person: &'a PersonSide,
    /// The placeholders of the start, with their values.
    pub(crate) places: &'a Places,
    pub(crate) log: Mutex<StandInLog>,
    /// The ending of the gateway, by itself or by a flood; once it is set, all runs end.
    pub(crate) over: Mutex<Option<ObservedEnding>>,
    pub(crate) stop: &'a AtomicBool,
    /// The path of the gateway's bus, if it has one.
    pub(crate) bus: Option<&'a Path>,
    /// True while a check gives the gateway up because it does not work.
    pub(crate) is_given_up: AtomicBool,
    pub(crate) limits: RigLimits,
    /// The chats in which the person has done the first steps.
    pub(crate) opened: &'a OpenedChats,
    /// The queue through which the runs know of each other.
    pub(crate) queue: RunQueue,
    /// True if several recordings are played in one chat.
    pub(crate) shares_chat: bool,
    /// The account of the memory that the gateway makes clitape keep.
    pub(crate) kept: &'a Arc<KeptBytes>,
    /// The interlude at whose beginning a run is left as it is.
    pub(crate) until: Option<InterludeKind>,
    /// True once it began, or once the person has edited the prompt.
    pub(crate) is_cut: AtomicBool,
    /// The act of the person that the recorded one did not do, if this run has it.
    pub(crate) deed: Option<FurtherAct>,
    /// The answer to a question that the person wrote in place of a press.
    pub(crate) written: Mutex<Option<WrittenAnswer>>,
    /// The recording in whose turn the person writes, `NAME/VERSION`; a gateway may end that turn first.
    pub(crate) behind: Option<String>,
}

impl RunContext<'_> {
    /// Returns the events of the bus in a chat, or the limit that they reach. An unreadable file counts as empty, which
    /// a rule reports.
    fn bus_of(&self, chat: i64) -> Result<Option<Vec<SubjectEvent>>, String> {
        let Some(path) = self.bus else { return Ok(None) };
        let mut held = Held::of(self.kept);
        match bus::read(path, chat, self.limits.subject.output, &mut held) {
            Ok(events) => Ok(Some(events)),
            Err(BusError::Io(_)) => Ok(Some(Vec::new())),
            Err(BusError::Limit(what)) => Err(what),
        }
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, StandInLog> {
        // A poisoned lock is safe: reading a log can't panic.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn over(&self) -> Option<ObservedEnding> {
        // A poisoned lock is safe: setting a value can't panic.
        self.over.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls `step` until it returns the ending of the run, or until the gateway itself has ended. `None` if the caller
    /// stops it.
    pub(crate) fn until_over(
        &self,
        mut step: impl FnMut() -> Option<ObservedEnding>,
    ) -> Option<ObservedEnding> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(ending) = self.over().or_else(&mut step) {
                return Some(ending);
            }
        }
    }

    pub(crate) fn end(&self, ending: ObservedEnding) {
        // A poisoned lock is safe: setting a value can't panic.
        self.over.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(ending);
    }
}

/// A run in progress.
struct Drive<'a> {
    job: &'a Job,
    chat: ChatPart<'a>,
    /// The last words of the chat after the steps of `first`, in quotes.
    first_words: Option<String>,
    ticket: Ticket<'a>,
    spec: &'a GatewaySpec,
    shared: &'a RunContext<'a>,
    begin: Instant,
    /// The same time, in milliseconds since 1970.
    begin_ms: u64,
    /// The index of the next step of the dialogue.
    next: usize,
    /// The number of messages of the person so far.
    turn: usize,
    /// The number of starts and of turns at the person's last message, if that message begins a turn.
    asked: Option<(u64, usize)>,
    /// The start of the run's time, moved on while the gateway is busy with other runs.
    clock: Instant,
    /// True once `claude` was started.
    is_started: bool,
    /// The time at which the next step became possible.
    due_since: Option<Instant>,
    /// The start of the stand-in's present wait, with the bytes printed by then and the line that it waits for.
    waiting: Option<(Instant, (u64, Option<String>))>,
    /// The faults of the chat, and the number of results that have begun.
    faults: &'a Faults,
    results: usize,
    /// The buttons that were pressed, by the message and the label.
    pressed: BTreeSet<(u64, String)>,
    /// The messages whose question was answered by a press, each with its text then.
    answered: HashMap<u64, Arc<str>>,
    /// The labels of the present question that are chosen.
    chosen: Vec<String>,
    /// True once the person has interrupted.
    stopped: bool,
    /// The time at which the stand-in was first seen to be done, and the number of its starts then.
    done: Option<(Instant, u64)>,
    entries: Vec<Entry>,
    /// The number of entries at the last check for completeness, and its result.
    complete: Option<(usize, bool)>,
    last_look: Option<Instant>,
    /// The time of the last call that was not a typing signal.
    last_call: Instant,
}

/// Plays a cassette in its seat, and calls `watch` with the entries as they come. `None` if the caller stops it.
pub(crate) fn drive(
    job: &Job,
    server: &ChatServer,
    seat: Seat,
    spec: &GatewaySpec,
    shared: &RunContext<'_>,
    faults: &Faults,
    watch: &dyn Fn(&[Entry]),
) -> Option<DriveResult> {
    let begin = Instant::now();
    let goes_on = || match shared.stop.load(Ordering::Relaxed) {
        true => Err(None),
        false => shared.over().map_or(Ok(()), |ending| Err(Some(ending))),
    };
    let opened = persons::open_chat(
        server,
        shared.places,
        seat,
        spec,
        shared.opened,
        shared.behind.is_some(),
        &goes_on,
    );
    let OpenedChat { part: mut chat, words: first_words } = match opened {
        Ok(opened) => opened,
        Err(NotOpened { ending, entries }) => {
            let took = begin.elapsed();
            return ending.map(|ending| DriveResult {
                entries,
                took,
                ..DriveResult::nothing(ending)
            });
        }
    };
    // A chat that can't be made gets no message either, which ends the run as one that hangs.
    let _ = server.set_faults(seat.chat, faults.for_key(&job.name(), CALLS_WITH_FAULTS));
    // A warm-up may have played the same cassette.
    shared.log().forget(&job.name());
    // The events of an earlier recording in the same chat do not count.
    let known_events = shared.bus_of(seat.chat).ok().flatten().map_or(0, |events| events.len());
    chat.begin();
    let mut drive = Drive {
        job,
        chat,
        first_words,
        ticket: shared.queue.enter(seat.number),
        spec,
        shared,
        begin: Instant::now(),
        begin_ms: now_ms(),
        next: 0,
        turn: 0,
        asked: None,
        clock: Instant::now(),
        is_started: false,
        due_since: None,
        waiting: None,
        faults,
        results: 0,
        pressed: BTreeSet::new(),
        answered: HashMap::new(),
        chosen: Vec::new(),
        stopped: false,
        done: None,
        entries: Vec::new(),
        complete: None,
        last_look: None,
        last_call: Instant::now(),
    };
    drive.write_prompt();
    let ending = shared.until_over(|| {
        drive.look(watch);
        let ending = drive.step();
        if ending.is_none() {
            std::thread::sleep(LOOK);
        }
        ending
    })?;
    drive.last_look = None;
    drive.look(watch);
    let played = shared.log().played(&job.name());
    let (turns, reads) = played.since(drive.begin_ms, &job.cassette.whole_stdout());
    let (bus, ending) = match shared.bus_of(seat.chat) {
        Ok(bus) => (bus.map(|events| events.into_iter().skip(known_events).collect()), ending),
        Err(what) => (None, ObservedEnding::Flooded(what)),
    };
    let asks_nobody = played.asks_nobody(&job.cassette);
    let took = drive.begin.elapsed();
    let exited_ms = played.exited_at.map(|at| at.saturating_sub(drive.begin_ms));
    let sessions = match shared.shares_chat {
        true => played.sessions.into_iter().map(of_one_chat).collect(),
        false => played.sessions,
    };
    let entries = drive.entries;
    Some(DriveResult { entries, ending, turns, sessions, exited_ms, asks_nobody, reads, bus, took })
}

/// Returns the session of a turn in a chat in which other recordings are played too.
fn of_one_chat(session: TurnSession) -> TurnSession {
    let from = match session.from {
        SessionOrigin::Resumed { id, .. } => SessionOrigin::Resumed { id, of_other: None },
        from => from,
    };
    TurnSession { from, ..session }
}

impl Drive<'_> {
    /// Writes a message of the person with the marker by which the stand-in finds its cassette. From the second turn
    /// on, the marker names the turn, because a gateway may start another process for it. In a recording of several
    /// runs it names the first one too, because the gateway may resume an earlier session of the chat for it.
    fn say(&mut self, text: &str) {
        self.turn += 1;
        self.write(&self.marked(text));
    }

    /// Returns a message of the present turn with its marker, as the settings frame it.
    fn marked(&self, text: &str) -> String {
        let is_named = self.turn > 1 || !self.job.cassette.further.is_empty();
        let turn = if is_named { format!("#{}", self.turn) } else { String::new() };
        let marked = format!("{text} [[clitape:{}{turn}]]", self.job.name());
        self.chat.fill(&self.spec.say).replace("{prompt}", &marked)
    }

    /// Writes a text of the person as it is.
    fn write(&mut self, text: &str) {
        // A full chat has more calls than a run may have, which ends the run.
        let _ = self.chat.say(text);
        // A message of the person ends the quiet of the chat.
        (self.last_call, self.done) = (Instant::now(), None);
    }

    /// Reads the chat, unless the last look was a moment ago.
    fn look(&mut self, watch: &dyn Fn(&[Entry])) {
        if self.last_look.is_some_and(|last| last.elapsed() < CHAT_LOOK) {
            return;
        }
        self.last_look = Some(Instant::now());
        let mut entries = self.chat.entries();
        if let Some(folder) = self.shared.log().played(&self.job.name()).folder {
            folder::put_back(&mut entries, &folder);
        }
        let known = self.entries.len().min(entries.len());
        if entries.len() > known {
            watch(&entries[known..]);
        }
        if entries[known..].iter().any(|entry| !entry.is_typing()) {
            self.last_call = Instant::now();
        }
        self.entries = entries;
    }

    /// Does the acts that are due, and returns the ending of the run once it has one.
    fn step(&mut self) -> Option<ObservedEnding> {
        let most = self.shared.limits.subject.calls;
        if self.entries.len() > most {
            let what =
                format!("more than {most} calls in one chat; raise the limit with `--max-calls`");
            return Some(ObservedEnding::Flooded(what));
        }
        let played = self.shared.log().played(&self.job.name());
        self.queue(&played);
        self.fail_after_result(&played);
        if self.is_cut(&played) {
            self.shared.is_cut.store(true, Ordering::Relaxed);
            return Some(ObservedEnding::Over);
        }
        self.edit_prompt(&played);
        self.act(&played);
        if let Some(sentence) = &played.refused {
            // A refusal after an interruption is expected: many gateways end the process where the recorded host asked
            // it to stop. One that does neither has ignored the person.
            let ending = ObservedEnding::Refused(sentence.clone());
            if !self.stopped || ending.ignored_stop().is_some() {
                return self.is_quiet_since_done(&played, AFTER_REFUSAL).then_some(ending);
            }
        }
        if self.is_done(&played) {
            if self.is_over(&played) {
                return Some(ObservedEnding::Over);
            }
        } else {
            self.done = None;
        }
        self.hung(&played)
    }

    /// Returns whether the interlude begins that leaves a turn in its middle.
    fn is_cut(&self, played: &Played) -> bool {
        match self.shared.until {
            Some(
                InterludeKind::Restart(RestartMoment::MidTurn)
                | InterludeKind::Person(FurtherAct::MessageInTurn),
            ) => self.is_in_midst(played),
            Some(
                InterludeKind::Restart(RestartMoment::MidQuestion)
                | InterludeKind::Person(FurtherAct::MessageAtQuestion),
            ) => self.is_asked(played),
            Some(InterludeKind::Person(FurtherAct::StopAtOnce)) => true,
            _ => false,
        }
    }

    /// Returns whether a turn is in its middle.
    fn is_in_midst(&self, played: &Played) -> bool {
        played.printed * CUT_AT >= self.job.cassette.stdout.len() as u64 && !played.turn_ended
    }

    /// Returns whether a question has its buttons.
    fn is_asked(&self, played: &Played) -> bool {
        let allow = &self.spec.press.allow;
        played.waits_for.is_some()
            && buttons(&self.entries).iter().any(|(_, label)| allow.is_match(label))
    }

    /// Lets the next call fail if a result has begun after which one fails.
    fn fail_after_result(&mut self, played: &Played) {
        let results = &self.job.dialogue.results;
        while results.get(self.results).is_some_and(|result| result.start < played.printed) {
            self.results += 1;
            if let Some(fault) = self.faults.after_result(self.results as u64) {
                self.chat.fail_next(fault);
            }
        }
    }

    /// Returns the time for which the stand-in has waited for the same line.
    fn waits_since(&mut self, played: &Played) -> Duration {
        let key = (played.printed, played.waits_for.clone());
        match &self.waiting {
            Some((since, known)) if *known == key => since.elapsed(),
            _ => {
                self.waiting = Some((Instant::now(), key));
                Duration::ZERO
            }
        }
    }

    /// Does the next step of the dialogue once the stand-in has printed what the recorded person had read.
    fn act(&mut self, played: &Played) {
        let (job, spec) = (self.job, self.spec);
        let steps = &job.dialogue.steps;
        let is_waiting = played.waits_for.is_some() && self.waits_since(played) > LONG_WAIT;
        let is_due = |step: &&PersonStep| step.offset <= played.printed || is_waiting;
        let Some(step) = steps.get(self.next).filter(is_due) else {
            self.due_since = None;
            return;
        };
        if step.begins_run && !played.turn_ended {
            return;
        }
        let since = *self.due_since.get_or_insert_with(Instant::now);
        if since.elapsed() < REACTION {
            return;
        }
        let is_next_turn = matches!(step.act, Act::Say(_)) && played.turn_ended;
        if is_next_turn && (since.elapsed() < READING || self.last_call.elapsed() < READING) {
            return;
        }
        let is_late = since.elapsed() > SEARCH && !self.is_put_off();
        if !is_late && self.waits_for_question(&step.act, played) {
            return;
        }
        let by_text = self.answered_by_text(&step.act, played, is_late);
        let is_done = match &step.act {
            _ if by_text.is_some() => by_text == Some(TextAnswer::Taken),
            Act::Say(text) => {
                self.asked = is_next_turn.then_some((played.starts, played.turns.len()));
                self.say(text);
                true
            }
            Act::Stop => {
                if let Some(stop) = &spec.stop {
                    self.write(&self.chat.fill(stop));
                    self.stopped = true;
                }
                true
            }
            Act::Answer { allows, about, is_only } => {
                // A gateway may answer by itself, and the stand-in then goes on.
                let goes_on = steps
                    .get(self.next + 1)
                    .is_some_and(|next| next.offset > step.offset && next.offset <= played.printed);
                // Where two questions are open, a gateway may show the other one first.
                let takes_other = *is_only || is_late;
                let is_no = |label: &str| spec.press.deny.is_match(label);
                let is_pressed = match allows {
                    true => self.press_allow(about, takes_other),
                    false => self.press_answer(about, takes_other, is_no),
                };
                is_pressed || is_late && (goes_on || played.turn_ended)
            }
            Act::Choose(labels) => self.choose(labels, played, is_late),
        };
        if is_done {
            self.next += 1;
            self.due_since = None;
            self.chosen.clear();
        }
    }

    /// Chooses the labels one after another, and then presses the button that ends the choice, because some gateways
    /// mark a label and wait for another button. Labels without a button are written. Returns whether the act is done.
    fn choose(&mut self, labels: &[String], played: &Played, is_late: bool) -> bool {
        let open: Vec<&String> =
            labels.iter().filter(|label| !self.chosen.contains(label)).collect();
        let pressed =
            open.iter().find(|label| self.press(|button| button.contains(label.as_str())));
        if let Some(label) = pressed {
            self.chosen.push((*label).clone());
            self.due_since = Some(Instant::now());
            return false;
        }
        if !open.is_empty() {
            // A question that was not asked gets no answer.
            if is_late && self.chosen.is_empty() && !played.asks_nobody(&self.job.cassette) {
                open.iter().for_each(|label| self.write(label));
            }
            return is_late;
        }
        let spec = self.spec;
        if played.waits_for.is_some() && self.press(|button| spec.press.done.is_match(button)) {
            self.due_since = Some(Instant::now());
            return false;
        }
        played.waits_for.is_none() || is_late
    }

    /// Presses a button that means yes, the one that means no more than that if there is one.
    fn press_allow(&mut self, about: &str, takes_other: bool) -> bool {
        let labels = &self.spec.press;
        self.press_always()
            || self.press_answer(about, takes_other, |label| labels.is_once(label))
            || self.press_answer(about, takes_other, |label| labels.allow.is_match(label))
    }

    /// Presses a wanted button below the question that has these letters, or else, if it takes another, one of the oldest
    /// question. A message that has had its press is another question only once it has changed.
    fn press_answer(
        &mut self,
        about: &str,
        takes_other: bool,
        is_wanted: impl Fn(&str) -> bool,
    ) -> bool {
        let view = ChatView::after(&self.entries);
        let is_open = |(id, message): &(u64, &SeenMessage)| {
            self.answered.get(id).is_none_or(|text| **text != *message.text)
        };
        let open: Vec<(u64, &SeenMessage)> = view
            .numbered()
            .filter(|(_, message)| message.buttons.iter().flatten().any(|label| is_wanted(label)))
            .filter(is_open)
            .collect();
        let its = open.iter().find(|(_, message)| message.letters().contains(about));
        let other = open.first().filter(|_| takes_other);
        let Some((id, message)) = its.or(other) else { return false };
        let (id, text) = (*id, message.text.clone());
        let is_pressed = self.press_of(|message, label| message == id && is_wanted(label));
        if is_pressed {
            self.answered.insert(id, text);
        }
        is_pressed
    }

    /// Presses the first wanted button that was not pressed yet, from the oldest message on. Returns whether there was
    /// one.
    fn press(&mut self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.press_of(|_, label| is_wanted(label))
    }

    /// The same for buttons of the messages that are wanted, too.
    fn press_of(&mut self, is_wanted: impl Fn(u64, &str) -> bool) -> bool {
        let buttons = buttons(&self.entries).into_iter();
        let mut wanted = buttons.filter(|(id, label)| is_wanted(*id, label.as_str()));
        let Some(button) = wanted.find(|button| !self.pressed.contains(button)) else {
            return false;
        };
        let target = i64::try_from(button.0).map_or(PressTarget::Last, PressTarget::Message);
        let is_pressed = self.chat.press(target, &button.1).is_ok();
        self.pressed.insert(button);
        is_pressed
    }
}

impl DriveResult {
    /// Returns the ending of the run, in words.
    pub fn how(&self) -> String {
        self.ending.to_string()
    }

    /// Returns the parts of the run, each as recorded, real, or played by clitape.
    pub fn legs(
        &self,
        job: &Job,
        gateway: NamedGateway<'_>,
        conditions: &Conditions,
    ) -> [(&'static str, String); 5] {
        let cli = &job.cassette.manifest.cli;
        let (front, played) = match gateway.spec.front {
            Front::Chat => {
                ("chat", "clitape\u{2019}s Bot API server on this machine, no real Telegram")
            }
            Front::Editor => ("editor", "clitape\u{2019}s client of the Agent Client Protocol"),
        };
        let faults = match &conditions.faults {
            Faults::None => String::new(),
            faults => format!("; calls that fail: {faults}"),
        };
        let more = match conditions.interlude {
            Some(InterludeKind::Person(act)) => format!("; played: {act}"),
            _ => String::new(),
        };
        let times = match conditions.printing {
            Printing::Recorded => String::new(),
            Printing::Paced(ms) => format!(", a line each {ms} ms"),
            Printing::Seeded(seed) => format!(", cut and delayed by seed {seed}"),
        };
        [
            (
                "person",
                format!("recorded: does what the recorded host of {} did{more}", job.name()),
            ),
            (front, format!("played: {played}{faults}")),
            ("gateway", format!("real: {}, `{}`", gateway.shown(), gateway.spec.command.join(" "))),
            (
                "claude",
                format!("recorded: what CLI {} printed on {}{times}", cli.version, cli.date),
            ),
            (
                "not covered",
                "the server and network of a real chat service, and answers of a live model"
                    .to_owned(),
            ),
        ]
    }
}

/// Returns the rules that a run broke.
pub(super) fn violations(
    job: &Job,
    seen: &DriveResult,
    traits: SubjectTraits,
    front: Front,
    neighbours: Option<Neighbours>,
) -> Vec<Violation> {
    judge(&Observation { neighbours, ..observation(job, seen, traits, front) })
}

/// Returns the observation of a run.
pub(super) fn observation(
    job: &Job,
    seen: &DriveResult,
    traits: SubjectTraits,
    front: Front,
) -> Observation {
    let (facts, entries) = (job.facts.clone(), seen.entries.clone());
    let observation = match front {
        Front::Chat => Observation::of_chat(facts, entries),
        Front::Editor => Observation::of_editor(facts, entries),
    };
    Observation {
        turns: seen.turns.clone(),
        sessions: seen.sessions.clone(),
        exited_ms: seen.exited_ms,
        ending: seen.ending.clone(),
        traits: SubjectTraits { lets_claude_ask: !seen.asks_nobody, ..traits },
        bus: seen.bus.clone(),
        ..observation
    }
}

/// Pairs the runs that were judged with what was played, for their pages and for a proof.
pub fn seen_runs<'p>(
    gateway: NamedGateway<'_>,
    conditions: &Conditions,
    judged: &[ScenarioRun],
    played: &'p [(Job, DriveResult)],
) -> Vec<(&'p Job, SeenRun)> {
    let seen = judged.iter().filter_map(|run| {
        let is_of_it = |(job, _): &&(Job, DriveResult)| {
            let check = format!("{}::", job.version());
            run.name == job.scenario.name.as_str()
                && run.checks.iter().any(|one| one.name.starts_with(&check))
        };
        let (job, seen) = played.iter().find(is_of_it)?;
        let found = run.checks.iter().flat_map(|check| check.findings.iter().cloned());
        Some((job, seen_run(gateway, conditions, job, seen, found.collect())))
    });
    seen.collect()
}

/// Returns a run for its page and for a proof, with these findings.
pub fn seen_run(
    gateway: NamedGateway<'_>,
    conditions: &Conditions,
    job: &Job,
    seen: &DriveResult,
    findings: Vec<Finding>,
) -> SeenRun {
    SeenRun {
        title: job.scenario.title.clone(),
        name: job.name(),
        about: job.scenario.about.clone(),
        legs: seen.legs(job, gateway, conditions).into(),
        ending: seen.how(),
        run: CaseRun::of_subject(&job.scenario, &job.cassette, &seen.reads, &seen.entries),
        findings,
    }
}
