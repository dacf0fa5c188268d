//! Decides how long a check waits for a gateway that does not work.
//!
//! A gateway with a wrong setting waits for an event that never comes: it asks another server for updates, or ignores
//! the person who writes. A slow one works meanwhile. Their processor time differs, so a check gives up the first
//! within ten seconds and waits for the second as long as its limits allow.

use std::time::{Duration, Instant};

use clitape_process::{Program, Work};

/// The gateways that are given up before their limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Patience {
    /// No gateways.
    #[default]
    Limits,
    /// Gateways that do not work for [`STILL`].
    Check,
}

/// The time without work after which a gateway is given up.
pub(crate) const STILL: Duration = Duration::from_secs(8);
/// The time from the first request that the chat server refused to the giving up, because a gateway may try another
/// token next.
const REFUSED: Duration = Duration::from_secs(3);
/// The seconds of `ready.within_s` above which a gateway counts as a slow starter, which is never given up.
pub(crate) const SLOW_START_S: u64 = 60;

/// The time between two looks at the work of a program.
const LOOK: Duration = Duration::from_millis(250);
/// The looks in one span, and the most of them at which a program without work may be running, because it may retry now
/// and then.
const LOOKS: u32 = 4;
const MOST_RUNNING: u32 = 1;
/// The clock ticks, of 10 ms each, that a program without work may use in a span.
const MOST_TICKS: u64 = 20;

/// The time since which a gateway does not work.
#[derive(Debug)]
pub(crate) struct Stillness {
    /// The start of the first of the latest spans without work.
    since: Instant,
    /// The processor time at the start of the present span.
    ticks: u64,
    looks: u32,
    running: u32,
    last_look: Instant,
    /// A number that changes with every event in the chat or in the log of `claude`.
    events: u64,
    refused_since: Option<Instant>,
    /// The last line of its output, if that asks for an answer, and the time since which it does.
    asks_since: Option<(Instant, String)>,
}

impl Stillness {
    /// Begins with a gateway that has just worked.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            since: now,
            ticks: 0,
            looks: 0,
            running: 0,
            last_look: now,
            events: 0,
            refused_since: None,
            asks_since: None,
        }
    }

    /// Returns the time for which the gateway has not worked. `events` is a number that changes with every event.
    pub(crate) fn look(&mut self, program: &Program, events: u64) -> Duration {
        let now = Instant::now();
        if now.duration_since(self.last_look) >= LOOK {
            self.take(now, program.work().unwrap_or_default(), events);
        }
        now.duration_since(self.since)
    }

    /// Takes a look at the work of a program. A system that does not report the work counts as no work.
    fn take(&mut self, now: Instant, work: Work, events: u64) {
        self.last_look = now;
        if events != self.events {
            self.events = events;
            self.since = now;
        }
        self.looks += 1;
        self.running += u32::from(work.is_running);
        if self.looks < LOOKS {
            return;
        }
        let is_still =
            self.running <= MOST_RUNNING && work.ticks.saturating_sub(self.ticks) <= MOST_TICKS;
        if !is_still {
            self.since = now;
        }
        (self.ticks, self.looks, self.running) = (work.ticks, 0, 0);
    }

    /// Returns whether the last line of a program has asked for an answer for too long.
    fn waits_for_answer(&mut self, last: Option<String>, now: Instant) -> bool {
        let asked = last.filter(|line| asks(line));
        let since = match (self.asks_since.take(), &asked) {
            (Some((since, line)), Some(asked)) if line == *asked => since,
            _ => now,
        };
        self.asks_since = asked.map(|line| (since, line));
        self.asks_since.is_some() && now.duration_since(since) >= STILL
    }

    /// Returns the reason to give up a gateway that is not ready, if there is one. `is_refused` is true once the chat
    /// server has refused a request of it; `within_s` is the time that its settings allow.
    pub(crate) fn gives_up_start(
        &mut self,
        program: &Program,
        is_refused: bool,
        within_s: u64,
    ) -> Option<GiveUpReason> {
        let still = self.look(program, 0);
        if self.waits_for_answer(program.last_lines(1).pop(), Instant::now()) {
            return Some(GiveUpReason::Asks);
        }
        if is_refused {
            let since = *self.refused_since.get_or_insert_with(Instant::now);
            return (since.elapsed() >= REFUSED).then_some(GiveUpReason::Refused);
        }
        (still >= STILL && within_s <= SLOW_START_S).then_some(GiveUpReason::Still)
    }
}

/// Returns whether a line asks for a yes or a no, as programs do on a terminal.
fn asks(line: &str) -> bool {
    let line = line.trim_end().to_lowercase();
    let choices = ["(y/n)", "[y/n]", "(yes/no)", "[yes/no]"];
    choices.iter().any(|choice| line.trim_end_matches([':', '?', '>', ' ']).ends_with(choice))
}

/// The reason to give up a gateway that is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GiveUpReason {
    /// The chat server refused its requests.
    Refused,
    /// It does not work.
    Still,
    /// It asks for an answer on a terminal, which it does not have; it may read the end of its input again and again.
    Asks,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_works_or_hears_something_is_not_still() {
        /// Compares the seconds without work at the end, after seconds that each have the ticks used, the number of
        /// looks at which it ran, and whether an event happened.
        fn check(seconds: &[(u64, u32, bool)], expect: u64) {
            let begin = Instant::now();
            let mut still = Stillness::new(begin);
            let (mut ticks, mut events, mut now) = (0, 0, begin);
            for &(used, running, happens) in seconds {
                ticks += used;
                events += u64::from(happens);
                for look in 0..LOOKS {
                    now += LOOK;
                    still.take(now, Work { ticks, is_running: look < running }, events);
                }
            }
            let is = now.duration_since(still.since).as_secs_f64().round() as u64;
            assert_eq!(is, expect, "{seconds:?}");
        }
        const NOTHING: (u64, u32, bool) = (0, 0, false);
        check(&[NOTHING; 9], 9);
        check(&[(5, 1, false); 9], 9);
        check(&[(90, 4, false); 9], 0);
        // On a busy machine a program waits for a processor.
        check(&[(2, 4, false); 9], 0);
        // The look before the last one is that of the main thread alone.
        check(&[(40, 0, false); 9], 0);
        check(&[(90, 4, false), NOTHING, NOTHING], 2);
        check(&[NOTHING, NOTHING, (0, 0, true), NOTHING], 2);
    }

    #[test]
    fn a_program_that_asks_on_a_terminal_is_given_up() {
        /// Compares whether a program is given up at the end, after seconds that each have the last line of its output.
        fn check(lines: &[&str], expect: bool) {
            let begin = Instant::now();
            let mut still = Stillness::new(begin);
            let mut is_given_up = false;
            for (second, line) in (0..).zip(lines) {
                let now = begin + Duration::from_secs(second);
                is_given_up = still.waits_for_answer(Some((*line).to_owned()), now);
            }
            assert_eq!(is_given_up, expect, "{lines:?}");
        }
        for line in ["Want to fix these now? (y/n): ", "Overwrite it? [y/N]", "Go on [yes/no]?"] {
            check(&[line; 9], true);
            check(&[line; 8], false);
        }
        check(&["polling", "Is it (y/n) or not: yes", ""], false);
        check(&["Now? (y/n)", "started", "Now? (y/n)"], false);
        check(&["started"; 20], false);
    }
}
