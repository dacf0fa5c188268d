//! The state that the runs of one start of a gateway share: whose `claude` plays, which seats the gateway has served,
//! and whether it serves one seat only.
//!
//! A gateway may answer one person at a time, so a run without a `claude` waits while that of another run plays. A
//! gateway that has served one seat and leaves others without a `claude` is reported once, and not for each recording.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::spec::AtOnce;

/// The number of later runs that a gateway may serve before an earlier one counts as left out.
const OVERTAKEN: usize = 2;
/// The number of seats left without a `claude` after which the gateway counts as one for one seat.
const LEFT: usize = 2;
/// The factor by which a run waits longer for its `claude` than the slowest start so far took.
const PATIENCE: u32 = 3;

/// The runs of one start of a gateway.
#[derive(Debug)]
pub(crate) struct RunQueue {
    /// The number of seats of all recordings of this start.
    seats: usize,
    /// The most runs at a time.
    most: usize,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    /// The runs that were let in and have not ended, and the number that may be at a time.
    inside: usize,
    at_once: usize,
    /// The runs under way, in the order in which they began.
    under_way: BTreeMap<u64, QueuedRun>,
    next: u64,
    /// The seats in which `claude` was started.
    served: BTreeSet<i64>,
    /// The seats that were left without one, each with the words of the chat.
    left: BTreeMap<i64, Option<String>>,
    slowest_start: Duration,
    /// The sentence about a gateway that serves one seat only.
    verdict: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct QueuedRun {
    seat: i64,
    is_playing: bool,
    is_started: bool,
    overtaken: usize,
}

/// A run's place in the queue. Dropping it removes the run.
#[derive(Debug)]
pub(crate) struct Ticket<'a> {
    queue: &'a RunQueue,
    id: u64,
}

impl RunQueue {
    /// Creates the queue of a start that serves recordings in this number of seats.
    pub(crate) fn new(seats: usize, at_once: AtOnce) -> Self {
        let runs = Runs { at_once: at_once.first, ..Runs::default() };
        Self { seats, most: at_once.most, runs: Mutex::new(runs) }
    }

    /// Lets one more run in, if there is room for it.
    pub(crate) fn let_in(&self) -> bool {
        let mut runs = self.runs();
        let has_room = runs.inside < runs.at_once;
        runs.inside += usize::from(has_room);
        has_room
    }

    /// Records the end of a run that was let in.
    pub(crate) fn let_out(&self) {
        let mut runs = self.runs();
        runs.inside = runs.inside.saturating_sub(1);
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        // A poisoned lock is safe: changing these maps can't panic.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run in a seat.
    pub(crate) fn enter(&self, seat: i64) -> Ticket<'_> {
        let mut runs = self.runs();
        let id = runs.next;
        runs.next += 1;
        let run = QueuedRun { seat, is_playing: false, is_started: false, overtaken: 0 };
        runs.under_way.insert(id, run);
        Ticket { queue: self, id }
    }

    /// Returns the sentence about a gateway that serves one seat only, once that is certain.
    pub(crate) fn verdict(&self) -> Option<String> {
        self.runs().verdict.clone()
    }
}

impl Ticket<'_> {
    /// Records that `claude` was started, this long after the message. If the gateway plays half of the runs beside each
    /// other by now, more are let in.
    pub(crate) fn starts(&self, after: Duration) {
        let mut runs = self.queue.runs();
        let Some(run) = runs.under_way.get_mut(&self.id) else { return };
        if std::mem::replace(&mut run.is_started, true) {
            return;
        }
        let seat = run.seat;
        let playing = runs.under_way.values().filter(|run| run.is_playing).count() + 1;
        if playing * 2 >= runs.at_once {
            runs.at_once = (runs.at_once + 2).min(self.queue.most.max(runs.at_once));
        }
        for (_, earlier) in runs.under_way.range_mut(..self.id) {
            earlier.overtaken += usize::from(!earlier.is_started);
        }
        runs.served.insert(seat);
        runs.slowest_start = runs.slowest_start.max(after);
    }

    /// Records whether `claude` plays for this run.
    pub(crate) fn plays(&self, is_playing: bool) {
        if let Some(run) = self.queue.runs().under_way.get_mut(&self.id) {
            run.is_playing = is_playing;
        }
    }

    /// Returns whether the gateway may still start `claude` later, because it is busy with another run. If the chat
    /// says that the message waits, runs that overtake this one do not count.
    pub(crate) fn may_wait(&self, says_so: bool) -> bool {
        let runs = self.queue.runs();
        let is_left = runs.under_way.get(&self.id).is_some_and(|run| run.overtaken >= OVERTAKEN);
        let mut others = runs.under_way.iter().filter(|(id, _)| **id != self.id);
        others.any(|(_, run)| run.is_playing) && (says_so || !is_left)
    }

    /// Returns the time that a run waits for its `claude` if the gateway has served exactly one other seat; `None`
    /// otherwise.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let runs = self.queue.runs();
        let seat = runs.under_way.get(&self.id)?.seat;
        let is_other =
            self.queue.seats > 1 && runs.served.len() == 1 && !runs.served.contains(&seat);
        is_other.then(|| runs.slowest_start * PATIENCE)
    }

    /// Records that this run is left without `claude`, with the words of its chat.
    pub(crate) fn leave(&self, words: Option<String>) {
        let mut runs = self.queue.runs();
        let Some(run) = runs.under_way.get(&self.id).copied() else { return };
        runs.left.insert(run.seat, words);
        if runs.left.len() < LEFT.min(self.queue.seats.saturating_sub(1)) {
            return;
        }
        let Some(served) = runs.served.first().copied() else { return };
        let words = runs.left.values().flatten().next();
        let answer = match words {
            Some(words) => format!("where the chat says {words}"),
            None => "which it left without an answer".to_owned(),
        };
        let others = clitape_recording::text::plural(runs.left.len(), "other");
        runs.verdict = Some(format!(
            "`claude` was started for person {served} alone, and not for {others}, {answer}. A gateway that knows one \
             person or one chat needs `chats = \"one\"`, with `{{person}}` in its settings; one that allows a list needs \
             `{{persons}}`; one that drops a message while it works on another needs `at_once = 1`"
        ));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.queue.runs().under_way.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_waits_while_another_plays_unless_later_ones_overtake_it() {
        let queue = RunQueue::new(9, AtOnce::rising(4));
        let [first, second, third, fourth] = [1, 2, 3, 4].map(|seat| queue.enter(seat));
        assert!(!second.may_wait(true));
        first.starts(Duration::from_secs(1));
        first.plays(true);
        assert!(second.may_wait(false) && !first.may_wait(false));
        first.plays(false);
        for (later, may_wait) in [(&third, true), (&fourth, false)] {
            later.starts(Duration::ZERO);
            later.plays(true);
            assert_eq!((second.may_wait(false), second.may_wait(true)), (may_wait, true));
        }
        drop((third, fourth));
        assert!(!second.may_wait(true));
    }

    #[test]
    fn more_runs_are_let_in_while_the_gateway_plays_them_beside_each_other() {
        let queue = RunQueue::new(9, AtOnce { first: 4, most: 7 });
        let let_in =
            || std::iter::repeat_with(|| queue.let_in()).take_while(|is_in| *is_in).count();
        assert_eq!(let_in(), 4);
        let tickets: Vec<Ticket<'_>> = (1..=4).map(|seat| queue.enter(seat)).collect();
        for (ticket, more) in tickets.iter().zip([0, 2, 1, 0]) {
            ticket.starts(Duration::ZERO);
            ticket.plays(true);
            assert_eq!(let_in(), more);
        }
        queue.let_out();
        assert_eq!(let_in(), 1);
        // One after another, there are never more.
        let queue = RunQueue::new(9, AtOnce { first: 4, most: 7 });
        for seat in 1..=9 {
            let one = queue.enter(seat);
            one.starts(Duration::ZERO);
            one.plays(true);
            one.plays(false);
        }
        assert_eq!(queue.runs().at_once, 4);
    }

    /// Lets the gateway serve the first of some seats and leave some of the others, and returns the verdict.
    fn verdict(seats: usize, left: &[(i64, Option<&str>)]) -> Option<String> {
        let queue = RunQueue::new(seats, AtOnce::rising(4));
        let first = queue.enter(1);
        first.starts(Duration::from_secs(2));
        assert_eq!(first.patience(), None);
        drop(first);
        for (seat, words) in left {
            let run = queue.enter(*seat);
            assert_eq!(run.patience(), Some(Duration::from_secs(6)));
            run.leave(words.map(str::to_owned));
        }
        queue.verdict()
    }

    #[test]
    fn a_gateway_that_leaves_all_others_is_one_for_one_place() {
        for (seats, left, expect) in [
            (2, &[(2, None)][..], Some("person 1 alone, and not for 1 other, which it left")),
            (3, &[(2, None)], None),
            (3, &[(2, None), (2, None)], None),
            (
                9,
                &[(2, None), (3, Some("“No.”"))],
                Some("not for 2 others, where the chat says “No.”"),
            ),
        ] {
            let found = verdict(seats, left);
            match expect {
                Some(part) => assert!(found.as_ref().unwrap().contains(part), "{found:?}"),
                None => assert_eq!(found, None),
            }
        }
        let queue = RunQueue::new(9, AtOnce::rising(4));
        for seat in [1, 2] {
            queue.enter(seat).starts(Duration::ZERO);
        }
        assert_eq!(queue.enter(3).patience(), None);
        // A warm-up and one recording are too few for a verdict.
        let queue = RunQueue::new(1, AtOnce::rising(4));
        queue.enter(1).starts(Duration::ZERO);
        assert_eq!(queue.enter(2).patience(), None);
    }
}
