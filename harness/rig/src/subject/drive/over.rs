//! When a run is over: the stand-in is done and the chat quiet, or nothing happens for too long.

use std::time::{Duration, Instant};

use clitape_runner::check::FindingKind;
use clitape_runner::replay::Entry;
use serde_json::Value;

use super::{Drive, SEARCH, TYPING};
use crate::clock::now_ms;
use crate::judge::judge;
use crate::observation::{Observation, RunEnding};
use crate::subject::dialogue::Act;
use crate::subject::log::Played;

/// When a gateway gives a call up that is never answered, at the latest.
const GIVES_UP: Duration = Duration::from_secs(60);
/// The most that a run gets longer by the times that the server asked to wait.
const LONGEST_WAITS: Duration = Duration::from_secs(600);

/// How long a chat shows that the bot types, after it has said so.
const TYPING_LASTS: Duration = Duration::from_secs(6);
/// How many times longer a chat is watched in which something is missing or left.
const PATIENCE: u32 = 4;
/// What a gateway may still mend when the chat is quiet.
const MAY_COME: [FindingKind; 7] = [
    FindingKind::AnswerMissing,
    FindingKind::AnswerNotWhole,
    FindingKind::AnswerTwice,
    FindingKind::FailureUntold,
    FindingKind::DraftLeft,
    FindingKind::RunningLeft,
    FindingKind::ButtonsLeft,
];

/// How long the server asked to wait in its answer to a call.
fn wait_of(entry: &Entry) -> Duration {
    Duration::from_secs(entry.wait_s().unwrap_or(0))
}

impl Drive<'_> {
    /// Whether the run is over. A chat in which something is missing or left gets more time: on a busy machine the
    /// final message comes late.
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

    /// Whether the person still reads that the bot types.
    fn is_typing(&self) -> bool {
        let last = self.entries.iter().rev().find(|entry| entry.kind == TYPING);
        last.is_some_and(|last| {
            self.begin.elapsed() < Duration::from_millis(last.at) + TYPING_LASTS
        })
    }

    /// Whether a person has read all that there is to read.
    fn is_complete(&self) -> bool {
        let played = self.shared.log().played(&self.job.name());
        let (turns, _) = played.since(self.begin_ms, &self.job.cassette.stdout);
        let found = judge(&Observation {
            cassette: &self.job.cassette,
            entries: self.entries.clone(),
            turns,
            ending: RunEnding::Over,
            traits: self.spec.traits,
            bus: None,
        });
        !found.iter().any(|violation| MAY_COME.contains(&violation.kind))
    }

    /// Whether the stand-in has printed all that it will. After a turn it may be silent for a while before a turn of
    /// its own, such as after a command in the background; it is done only when it waits for a line.
    pub(super) fn is_done(&self, played: &Played) -> bool {
        let waits_for_person =
            self.job.dialogue.steps.get(self.next).is_some_and(|step| {
                matches!(step.act, Act::Say(_)) && step.offset <= played.printed
            });
        let is_stopped = self.stopped && played.refused.is_some();
        let waits_for_line = played.waits_for.is_some() && !waits_for_person;
        played.starts > 0 && (played.turn_ended || is_stopped) && (played.exited || waits_for_line)
    }

    /// Whether the chat has been quiet for a time, and the stand-in done.
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

    /// Whether every call is answered, and a gateway that waits as long as the server asked has had time since.
    fn waited_out(&self, idle: Duration) -> bool {
        let now = self.begin.elapsed();
        self.entries.iter().filter(|entry| entry.kind != TYPING).all(|entry| {
            let took = entry.data.get("took_ms").and_then(Value::as_u64);
            let answered = match took {
                Some(took) => Duration::from_millis(entry.at + took) + wait_of(entry),
                None if entry.text("answer") == "hang" => {
                    Duration::from_millis(entry.at) + GIVES_UP
                }
                // The person does not wait for an answer.
                None if entry.kind.starts_with('(') => Duration::ZERO,
                None => return false,
            };
            answered + idle <= now
        })
    }

    /// Says that the run hangs, once it has lasted too long.
    pub(super) fn hung(&self, played: &Played) -> Option<RunEnding> {
        if let Some(sentence) = self.refused_start(played) {
            return Some(RunEnding::Refused(sentence));
        }
        let waits: Duration = self.entries.iter().map(wait_of).sum();
        let limit = Duration::from_secs(self.spec.within_s)
            + Duration::from_millis(self.job.recorded_ms())
            + waits.min(LONGEST_WAITS);
        let waited = self.begin.elapsed();
        // A gateway that has answered without the CLI does not start it later.
        let has_answered = self
            .entries
            .iter()
            .any(|entry| entry.kind == "sendMessage" && entry.data.contains_key("text"));
        let quiet = Duration::from_secs(self.spec.idle_s) + SEARCH;
        let gave_up = played.starts == 0
            && has_answered
            && waited > quiet
            && self.last_call.elapsed() >= quiet;
        if waited < limit && !gave_up {
            return None;
        }
        let waited_for = match &played.waits_for {
            _ if played.starts == 0 => match self.shared.log().stray() {
                Some(sentence) => format!("`claude` played nothing; it said: {sentence}"),
                None if self.shared.log().is_unheard(self.begin_ms) => {
                    "`claude` was started and got no message on stdin".to_owned()
                }
                None if has_answered => "`claude` was not started, though the chat has a message; a gateway that \
                                         looks for `claude` elsewhere than in `PATH` may have started another one"
                    .to_owned(),
                None => "`claude` was not started".to_owned(),
            },
            Some(what) => format!("`claude` waits for {what}{}", self.no_button()),
            None => "the chat is never quiet, or `claude` does not come to its end".to_owned(),
        };
        Some(RunEnding::Hung { waited_s: waited.as_secs(), waited_for, last_words: String::new() })
    }

    /// Returns what `claude` said of arguments that it refused, once the gateway had time to start it in another way and
    /// the chat is quiet.
    fn refused_start(&self, played: &Played) -> Option<String> {
        if played.starts > 0 || self.last_call.elapsed() < SEARCH {
            return None;
        }
        let log = self.shared.log();
        let (at, sentence) = log.refused_start(self.begin_ms)?;
        let since = now_ms().saturating_sub(at);
        (u128::from(since) >= SEARCH.as_millis()).then(|| sentence.to_owned())
    }

    /// The end of a sentence about a button that is not there.
    fn no_button(&self) -> String {
        match self.job.dialogue.steps.get(self.next).map(|step| &step.act) {
            Some(Act::Answer { allows }) => {
                let key = if *allows { "allow" } else { "deny" };
                format!("; no button in the chat matches `press.{key}`")
            }
            _ => String::new(),
        }
    }
}
