//! Decides when a run is over: the stand-in is done and the chat quiet, or neither happens for too long.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clitape_judge::observation::{Observation, ObservedEnding};
use clitape_judge::{FindingKind, judge};
use clitape_recording::trace::Entry;
use serde_json::Value;

use super::{Drive, SEARCH};
use crate::clock::now_ms;
use crate::subject::dialogue::Act;
use crate::subject::log::Played;
use crate::subject::patience::STILL;
use crate::subject::persons::{last_words, says_that_it_waits};

/// The time after which a gateway has given up a call that is never answered.
const GIVES_UP: Duration = Duration::from_secs(60);
/// The most by which the waits that the server asked for extend a run.
const LONGEST_WAITS: Duration = Duration::from_secs(600);

/// The time that a chat shows that the bot types after a typing signal.
const TYPING_LASTS: Duration = Duration::from_secs(6);
/// The factor by which an incomplete chat is watched longer.
const PATIENCE: u32 = 4;
/// The findings that a gateway may still avert after the chat is quiet.
const MAY_COME: [FindingKind; 7] = [
    FindingKind::AnswerMissing,
    FindingKind::AnswerNotWhole,
    FindingKind::AnswerTwice,
    FindingKind::FailureUntold,
    FindingKind::DraftLeft,
    FindingKind::RunningLeft,
    FindingKind::ButtonsLeft,
];

/// Returns the time that the server's answer to a call asked to wait.
fn wait_of(entry: &Entry) -> Duration {
    Duration::from_secs(entry.wait_s().unwrap_or(0))
}

impl Drive<'_> {
    /// Returns whether the run is over. An incomplete chat gets more time, because the final message comes late on a
    /// busy machine.
    pub(super) fn is_over(&mut self, played: &Played) -> bool {
        let idle = Duration::from_secs(self.spec.idle_s);
        if !self.is_quiet_since_done(played, idle) {
            return false;
        }
        let known = self.entries.len();
        let is_complete = match self.complete {
            Some((entries, is_complete)) if entries == known => is_complete,
            _ => self.is_complete(),
        };
        self.complete = Some((known, is_complete));
        is_complete && !self.is_typing() || self.is_quiet_since_done(played, idle * PATIENCE)
    }

    /// Returns whether the chat still shows that the bot types.
    fn is_typing(&self) -> bool {
        let last = self.entries.iter().rev().find(|entry| entry.is_typing());
        last.is_some_and(|last| {
            self.begin.elapsed() < Duration::from_millis(last.at) + TYPING_LASTS
        })
    }

    /// Returns whether a person has read everything that must come.
    fn is_complete(&self) -> bool {
        let played = self.shared.log().played(&self.job.name());
        let (turns, _) = played.since(self.begin_ms, &[]);
        let seen = Observation::of_chat(self.job.facts.clone(), self.entries.clone());
        let found = judge(&Observation { turns, traits: self.spec.traits, ..seen });
        !found.iter().any(|violation| MAY_COME.contains(&violation.kind))
    }

    /// Returns whether the stand-in has printed everything that it will. It may be silent for a while between a turn
    /// and one of its own, such as after a command in the background; so it is done only if it waits for a line, or has
    /// ended, and the person has no message to write.
    pub(super) fn is_done(&self, played: &Played) -> bool {
        let waits_for_person =
            self.job.dialogue.steps.get(self.next).is_some_and(|step| {
                matches!(step.act, Act::Say(_)) && step.offset <= played.printed
            });
        if waits_for_person || self.is_unread(played) {
            return false;
        }
        let is_stopped = self.stopped && played.refused.is_some();
        let is_silent = played.exited || played.waits_for.is_some();
        played.starts > 0 && (played.turn_ended || is_stopped) && is_silent
    }

    /// Returns whether the person's last message has not begun a turn. A message during a turn is not counted, because
    /// it may join that turn.
    fn is_unread(&self, played: &Played) -> bool {
        self.asked
            .is_some_and(|(starts, turns)| played.starts <= starts && played.turns.len() <= turns)
    }

    /// Reports the state of this run to the other runs of the start. Before the start of `claude`, the time of this run
    /// does not count while the gateway is busy with others.
    pub(super) fn queue(&mut self, played: &Played) {
        self.ticket.plays(played.starts > 0 && !self.is_done(played));
        if played.starts == 0 {
            if self.ticket.may_wait(self.says_that_it_waits()) || self.is_behind() {
                self.clock = Instant::now();
            }
        } else if !self.is_started {
            self.ticket.starts(self.clock.elapsed());
            (self.is_started, self.clock) = (true, Instant::now());
        }
    }

    /// Returns whether the turn in which the person wrote goes on, for at most the time of a run.
    fn is_behind(&self) -> bool {
        let is_open = |name: &String| {
            let played = self.shared.log().played(name);
            played.starts > 0 && !played.turn_ended
        };
        self.begin.elapsed() < Duration::from_secs(self.spec.within_s)
            && self.shared.behind.as_ref().is_some_and(is_open)
    }

    /// Returns whether the last words of the chat say that the person's message waits for others.
    fn says_that_it_waits(&self) -> bool {
        last_words(&self.entries).is_some_and(|words| says_that_it_waits(&words))
    }

    /// Returns whether the chat has been quiet for the time `idle` since the stand-in was done.
    pub(super) fn is_quiet_since_done(&mut self, played: &Played, idle: Duration) -> bool {
        let now = Instant::now();
        let since = match self.done {
            Some((since, starts)) if starts == played.starts => since,
            _ => {
                self.done = Some((now, played.starts));
                now
            }
        };
        since.elapsed() >= idle && self.last_call.elapsed() >= idle && self.waited_out(idle)
    }

    /// Returns whether every call is answered, and a gateway that waits as long as the server asked has had the time
    /// `idle` since.
    fn waited_out(&self, idle: Duration) -> bool {
        let now = self.begin.elapsed();
        self.entries.iter().filter(|entry| !entry.is_typing()).all(|entry| {
            let took = entry.data.get("took_ms").and_then(Value::as_u64);
            let answered = match took {
                Some(took) => Duration::from_millis(entry.at + took) + wait_of(entry),
                None if entry.text("answer") == "hang" => {
                    Duration::from_millis(entry.at) + GIVES_UP
                }
                // An act of the person has no answer.
                None if entry.kind.starts_with('(') => Duration::ZERO,
                None => return false,
            };
            answered + idle <= now
        })
    }

    /// Returns whether the server asked the gateway to wait, and the buttons may therefore come later.
    pub(super) fn is_put_off(&self) -> bool {
        let now = self.begin.elapsed();
        let waits = self.entries.iter().filter(|entry| entry.wait_s().is_some());
        waits
            .into_iter()
            .any(|entry| Duration::from_millis(entry.answered_at()) + wait_of(entry) + SEARCH > now)
    }

    /// Returns the ending of a run that hangs, once it has lasted too long.
    pub(super) fn hung(&self, played: &Played) -> Option<ObservedEnding> {
        if let Some(sentence) = self.refused_start(played) {
            return Some(ObservedEnding::Refused(sentence));
        }
        let waits: Duration = self.entries.iter().map(wait_of).sum();
        let limit = Duration::from_secs(self.spec.within_s)
            + Duration::from_millis(self.job.recorded_ms())
            + waits.min(LONGEST_WAITS);
        let waited = self.clock.elapsed();
        if played.starts == 0 {
            if let Some(sentence) = self.shared.queue.verdict() {
                return Some(ObservedEnding::NotServed(sentence));
            }
            let quiet = Duration::from_secs(self.spec.idle_s) + SEARCH;
            let is_silent =
                waited > quiet && self.last_call.elapsed() >= quiet && !self.says_that_it_waits();
            let words = last_words(&self.entries);
            if let Some(patience) = self.ticket.patience().filter(|_| is_silent) {
                if waited >= patience {
                    self.ticket.leave(words);
                    let sentence = self.shared.queue.verdict().unwrap_or_default();
                    return Some(ObservedEnding::NotServed(sentence));
                }
            } else if is_silent && words.is_some() {
                // A gateway that has answered without the CLI does not start it later.
                return Some(self.not_started(words, waited));
            }
        }
        if waited < limit && !self.is_given_up() {
            return None;
        }
        let mut waited_for = match &played.waits_for {
            _ if played.starts == 0 => {
                return Some(self.not_started(last_words(&self.entries), waited));
            }
            _ if self.is_unread(played) => {
                format!("no turn of `claude` began for message {} of the person", self.turn)
            }
            Some(what) => format!("`claude` waits for {what}{}", self.no_button()),
            None => "the chat is never quiet, or `claude` does not come to its end".to_owned(),
        };
        waited_for.push_str(&self.stillness());
        Some(ObservedEnding::Hung {
            waited_s: waited.as_secs(),
            waited_for,
            last_words: String::new(),
        })
    }

    /// Returns the words of `claude` about arguments that it refused, once the gateway had time to start it in another
    /// way and the chat is quiet.
    fn refused_start(&self, played: &Played) -> Option<String> {
        if played.starts > 0 || self.last_call.elapsed() < SEARCH {
            return None;
        }
        let log = self.shared.log();
        let (at, sentence) = log.refused_start(self.begin_ms)?;
        let since = now_ms().saturating_sub(at);
        (u128::from(since) >= SEARCH.as_millis()).then(|| sentence.to_owned())
    }

    /// Returns the ending of a run in which `claude` was not started, with the words of the chat.
    fn not_started(&self, words: Option<String>, waited: Duration) -> ObservedEnding {
        let log = self.shared.log();
        let mut waited_for = match (log.stray(), words, log.unheard(self.begin_ms).is_some()) {
            (Some(sentence), ..) => format!("`claude` played nothing; it said: {sentence}"),
            (None, Some(words), true) => format!(
                "`claude` was started and got no message on stdin, and the chat says {words}"
            ),
            (None, Some(words), false) => {
                let first = match self.spec.writers.first.is_empty() {
                    true => " a command that must come first is `first`,",
                    false => "",
                };
                format!(
                    "`claude` was not started, and the chat says {words}; a list of allowed persons needs \
                     `{{persons}}`,{first} one that works for one person at a time needs `at_once = 1`, and one \
                     that looks for `claude` elsewhere than in `PATH` may have started another one"
                )
            }
            (None, None, true) => "`claude` was started and got no message on stdin".to_owned(),
            (None, None, false) => "`claude` was not started".to_owned(),
        };
        if !self.chat.is_read() {
            waited_for
                .push_str(", because the gateway has asked for no updates and set no webhook");
        }
        if let Some(words) = &self.first_words {
            waited_for.push_str(&format!("; after the steps of `first`, the chat said {words}"));
        }
        waited_for.push_str(&self.stillness());
        ObservedEnding::Hung { waited_s: waited.as_secs(), waited_for, last_words: String::new() }
    }

    /// Returns whether a check gives the gateway up, because it has not worked since the person wrote.
    fn is_given_up(&self) -> bool {
        self.shared.is_given_up.load(Ordering::Relaxed) && self.begin.elapsed() >= STILL
    }

    /// Returns the end of a sentence about a gateway that a check gives up.
    fn stillness(&self) -> String {
        match self.is_given_up() {
            true => format!("; the gateway has done nothing for {} s", STILL.as_secs()),
            false => String::new(),
        }
    }

    /// Returns the end of a sentence about a missing button.
    fn no_button(&self) -> String {
        match self.job.dialogue.steps.get(self.next).map(|step| &step.act) {
            Some(Act::Answer { allows, .. }) => {
                let key = if *allows { "allow" } else { "deny" };
                format!("; no button in the chat matches `press.{key}`")
            }
            _ => String::new(),
        }
    }
}
