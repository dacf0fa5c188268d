//! Plays one cassette at an agent: the person writes the prompt in a separate session and follows the recorded
//! dialogue, and the run is watched until it is over.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clitape_judge::observation::ObservedEnding;
use clitape_recording::trace::Entry;

use super::boot::LOOK;
use super::dialogue::{Act, PersonStep, RecordedAnswers};
use super::drive::{DriveResult, Job, RunContext};
use super::log::Played;
use super::spec::GatewaySpec;
use crate::clock::now_ms;
use crate::editor::{Editor, EditorError, PermissionChoice, Session};

/// The time that a person takes to answer.
const REACTION: Duration = Duration::from_millis(300);
/// The time of a wait for a line after which only a person can end it, because agents answer hooks at once.
const LONG_WAIT: Duration = Duration::from_secs(1);
/// The time that an agent has to answer a prompt after the last byte of `claude`, or after its refusal of a line.
const AFTER_END: Duration = Duration::from_secs(10);

/// A run in progress.
struct AgentDrive<'a> {
    job: &'a Job,
    editor: &'a Editor,
    spec: &'a GatewaySpec,
    shared: &'a RunContext<'a>,
    session: Session<'a>,
    begin: Instant,
    answers: RecordedAnswers,
    /// The index of the next step of the dialogue.
    next: usize,
    /// The number of prompts so far.
    prompts: usize,
    /// The start of the stand-in's present wait, with the bytes printed by then and the line that it waits for.
    waiting: Option<(Instant, (u64, Option<String>))>,
    /// The time at which the next step became possible.
    due_since: Option<Instant>,
    /// True once the person has cancelled a turn.
    is_cancelled: bool,
    /// The number of entries that the caller has got.
    told: usize,
    /// The time of the agent's last message.
    last_entry: Instant,
    /// The time at which the stand-in was first seen to be done.
    done: Option<Instant>,
}

/// Plays a cassette in a separate session, and calls `watch` with the entries as they come. `None` if the caller
/// stops it.
pub(crate) fn drive(
    job: &Job,
    editor: &Editor,
    folder: &Path,
    spec: &GatewaySpec,
    shared: &RunContext<'_>,
    watch: &dyn Fn(&[Entry]),
) -> Option<DriveResult> {
    let (begin, begin_ms) = (Instant::now(), now_ms());
    // A warm-up may have played the same cassette.
    shared.log().forget(&job.name());
    let limit = Duration::from_secs(spec.within_s);
    let is_stopped = || shared.stop.load(Ordering::Relaxed) || shared.over().is_some();
    let session = match editor.open(folder, limit, &is_stopped) {
        Ok(session) => session,
        Err(error) => {
            let ending = no_session(&error, begin, shared)?;
            return Some(DriveResult { took: begin.elapsed(), ..DriveResult::nothing(ending) });
        }
    };
    let mut drive = AgentDrive {
        job,
        editor,
        spec,
        shared,
        session,
        begin,
        answers: RecordedAnswers::of(&job.cassette),
        next: 0,
        prompts: 0,
        waiting: None,
        due_since: None,
        is_cancelled: false,
        told: 0,
        last_entry: begin,
        done: None,
    };
    drive.say(&job.dialogue.prompt);
    let ending = shared.until_over(|| drive.step(watch))?;
    let played = shared.log().played(&job.name());
    let (turns, reads) = played.since(begin_ms, &job.cassette.stdout);
    let entries = drive.session.entries().to_vec();
    Some(DriveResult {
        entries,
        ending,
        turns,
        sessions: played.sessions,
        exited_ms: None,
        asks_nobody: false,
        reads,
        bus: None,
        took: begin.elapsed(),
    })
}

/// Returns the ending of a run whose session can't be opened; `None` if the caller stops it.
fn no_session(
    error: &EditorError,
    begin: Instant,
    shared: &RunContext<'_>,
) -> Option<ObservedEnding> {
    let is_refused = matches!(
        error,
        EditorError::Late { .. }
            | EditorError::Unread { .. }
            | EditorError::Refused { .. }
            | EditorError::Line(_)
    );
    shared.until_over(|| {
        // The thread that watches the agent reports one that ends or floods.
        if is_refused || begin.elapsed() >= AFTER_END {
            let waited_for = format!("no session could be opened: {error}");
            return Some(hung(begin, waited_for));
        }
        std::thread::sleep(LOOK);
        None
    })
}

fn hung(begin: Instant, waited_for: String) -> ObservedEnding {
    ObservedEnding::Hung {
        waited_s: begin.elapsed().as_secs(),
        waited_for,
        last_words: String::new(),
    }
}

impl AgentDrive<'_> {
    /// Sends a prompt with the marker by which the stand-in finds its cassette. From the second prompt on, the marker
    /// names the turn, because an agent may start another process for it.
    fn say(&mut self, text: &str) {
        self.prompts += 1;
        let turn = if self.prompts > 1 { format!("#{}", self.prompts) } else { String::new() };
        let marked = format!("{text} [[clitape:{}{turn}]]", self.job.name());
        // An agent that does not read ends, which the thread that watches it reports.
        let _ = self.session.prompt(&self.spec.say.replace("{prompt}", &marked));
    }

    /// Reads the agent's messages, does the acts that are due, and returns the ending of the run once it has one.
    fn step(&mut self, watch: &dyn Fn(&[Entry])) -> Option<ObservedEnding> {
        if self.session.is_over() {
            // The thread that watches the agent reports the ending.
            std::thread::sleep(LOOK);
        }
        if let Err(error) = self.session.read(LOOK) {
            return Some(ObservedEnding::Flooded(error.to_string()));
        }
        let entries = self.session.entries();
        if entries.len() > self.told {
            watch(&entries[self.told..]);
            self.told = entries.len();
            self.last_entry = Instant::now();
        }
        let played = self.shared.log().played(&self.job.name());
        self.answer(&played);
        self.act(&played);
        self.ending(&played)
    }

    /// Answers a question of the agent as the recorded host did, once the stand-in has printed what that host had read.
    fn answer(&mut self, played: &Played) {
        let questions = self.session.questions().iter().enumerate();
        let due = questions.filter(|(_, question)| question.since.elapsed() > REACTION);
        let answer = due.into_iter().find_map(|(index, question)| {
            let call = question.tool_call().map(str::to_owned);
            match self.answers.find(call.as_deref()) {
                Some(answer) if answer.offset.is_some_and(|offset| offset <= played.printed) => {
                    Some((index, call, answer.choice.clone()))
                }
                Some(_) => None,
                // The recorded CLI did not ask this: the question is the agent's own.
                None => Some((index, call, PermissionChoice::Option("allow_once".to_owned()))),
            }
        });
        if let Some((index, call, choice)) = answer {
            self.answers.take(call.as_deref());
            // An agent that does not read ends, which the thread that watches it reports.
            let _ = self.session.answer(index, &choice);
        }
    }

    /// Does the next step of the dialogue once the stand-in has printed what the recorded person had read.
    fn act(&mut self, played: &Played) {
        let is_waiting = played.waits_for.is_some() && self.waits_since(played) > LONG_WAIT;
        let job = self.job;
        let Some(PersonStep { offset, act, .. }) = job.dialogue.steps.get(self.next) else {
            return;
        };
        if *offset > played.printed && !is_waiting {
            self.due_since = None;
            return;
        }
        // Waits, because the bytes that the stand-in has just printed are still on their way.
        if self.due_since.get_or_insert_with(Instant::now).elapsed() < REACTION {
            return;
        }
        match act {
            Act::Say(text) => {
                let is_free = self.session.unanswered() == 0;
                if !is_free && !self.spec.writes_during_turn {
                    return;
                }
                self.say(text);
            }
            Act::Stop => {
                self.is_cancelled = true;
                // An agent that does not read ends, which the thread that watches it reports.
                let _ = self.session.cancel();
            }
            // Questions are answered as they come.
            Act::Answer { .. } | Act::Choose(_) => {}
        }
        self.next += 1;
        self.due_since = None;
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

    /// Returns the ending of the run, once it has one.
    fn ending(&mut self, played: &Played) -> Option<ObservedEnding> {
        let quiet = self.last_entry.elapsed();
        if self.is_done(played) {
            let done = self.done.get_or_insert_with(Instant::now).elapsed();
            let is_answered = self.session.unanswered() == 0;
            if is_answered && quiet.min(done) >= Duration::from_secs(self.spec.idle_s) {
                return Some(match &played.refused {
                    Some(sentence) if !self.is_cancelled => {
                        ObservedEnding::Refused(sentence.clone())
                    }
                    _ => ObservedEnding::Over,
                });
            }
            if quiet.min(done) >= AFTER_END {
                return Some(match &played.refused {
                    Some(sentence) => ObservedEnding::Refused(sentence.clone()),
                    None => self.hung("`claude` has printed its last byte, and the agent did not answer `session/prompt`"),
                });
            }
        } else {
            self.done = None;
        }
        // An agent that has answered without the CLI does not start it later.
        let gave_up = played.starts == 0 && self.session.unanswered() == 0 && quiet >= AFTER_END;
        let limit =
            Duration::from_secs(self.spec.within_s) + Duration::from_millis(self.job.recorded_ms());
        if self.begin.elapsed() < limit && !gave_up {
            return None;
        }
        Some(match &played.waits_for {
            _ if played.starts == 0 => match self.shared.log().stray() {
                Some(sentence) => {
                    self.hung(&format!("`claude` played nothing; it said: {sentence}"))
                }
                None => self.hung("`claude` was not started"),
            },
            Some(what) => self.hung(&format!("`claude` waits for {what}")),
            None => self.hung("the agent is never quiet, or `claude` does not come to its end"),
        })
    }

    fn hung(&self, waited_for: &str) -> ObservedEnding {
        let waited_for = match self.editor.unread() {
            Some(unread) => format!(
                "the agent does not read its stdin, where {} bytes wait for it",
                unread.bytes
            ),
            None => waited_for.to_owned(),
        };
        hung(self.begin, waited_for)
    }

    /// Returns whether the stand-in has printed everything that it will.
    fn is_done(&self, played: &Played) -> bool {
        let steps = self.job.dialogue.steps.get(self.next..).unwrap_or_default();
        let has_more = steps.iter().any(|step| matches!(step.act, Act::Say(_) | Act::Stop));
        let is_refused = played.refused.is_some();
        // The CLI's own acts after a turn are printed before it waits for a line.
        let is_waiting = played.waits_for.is_some() || played.exited;
        played.starts > 0
            && (played.turn_ended && is_waiting || is_refused)
            && (played.exited || is_refused || !has_more)
    }
}
