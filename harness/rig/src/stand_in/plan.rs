//! `CLITAPE_PLAY`: the cuts and the delays of the bytes.

use std::path::Path;

use clitape_recording::cassette::{Cassette, TickKind};
use clitape_recording::files;
use clitape_recording::scenario::RunSpec;
use clitape_runner::replay::Plan;

use super::error::StandInError;

/// The pieces of a cassette, and the time that the CLI takes to end after them.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The milliseconds since the piece before, and the end of the piece.
    pieces: Vec<(u64, usize)>,
    /// The index of the next piece.
    next: usize,
    /// The milliseconds between the last byte and the end of the process.
    pub(super) exit_ms: u64,
}

impl Schedule {
    /// Makes the schedule of a cassette from the value of `CLITAPE_PLAY`.
    pub(super) fn new(cassette: &Cassette, play: Option<&str>) -> Result<Self, StandInError> {
        let total = cassette.stdout.len() as u64;
        let play = play.unwrap_or("recorded");
        let (plan, is_recorded) = match play.split_once(':') {
            None if play == "recorded" => (Plan::recorded(&cassette.timeline), true),
            None if play == "canonical" => {
                (Plan::canonical(&cassette.stdout, RunSpec::default().pace_ms), false)
            }
            None if play == "instant" => (Plan::at_once(total), false),
            Some(("pace", pace)) => match pace.parse() {
                Ok(pace) => (Plan::canonical(&cassette.stdout, pace), false),
                Err(_) => return Err(StandInError::Play(play.to_owned())),
            },
            Some(("seed", seed)) => match seed.parse() {
                Ok(seed) => (Plan::seeded(&cassette.stdout, seed), false),
                Err(_) => return Err(StandInError::Play(play.to_owned())),
            },
            Some(("plan", path)) => {
                let text = files::read_named_text(Path::new(path))?;
                let plan = Plan::parse(&text, total).and_then(Plan::without_agent_faults);
                let path = path.into();
                (plan.map_err(|error| StandInError::Plan { path, error })?, false)
            }
            _ => return Err(StandInError::Play(play.to_owned())),
        };
        let mut end = 0_usize;
        let pieces = plan.steps.iter().map(|step| {
            end = end.saturating_add(usize::try_from(step.bytes).unwrap_or(usize::MAX));
            (step.after_ms, end)
        });
        let last = cassette.timeline.last().filter(|tick| matches!(tick.kind, TickKind::Exit(_)));
        let exit_ms = last.filter(|_| is_recorded).map_or(0, |tick| tick.after_ms);
        Ok(Self { pieces: pieces.collect(), next: 0, exit_ms })
    }

    /// Returns the delay and the end of the piece that begins at `from`; the end is at most `limit`.
    pub(super) fn piece(&mut self, from: usize, limit: usize) -> (u64, usize) {
        let mut after_ms = 0;
        while let Some((wait, end)) = self.pieces.get_mut(self.next) {
            // The delay counts once: the rest of a piece that was cut at a line of the host comes without one.
            after_ms += std::mem::take(wait);
            if *end > from {
                return (after_ms, (*end).min(limit));
            }
            self.next += 1;
        }
        (after_ms, limit)
    }

    /// Returns the sum of the delays behind the last byte.
    pub(super) fn rest_ms(&mut self) -> u64 {
        let rest = self.pieces.iter_mut().skip(self.next);
        rest.map(|(wait, _)| std::mem::take(wait)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_cut_where_the_cli_waits() {
        let mut schedule =
            Schedule { pieces: vec![(0, 10), (5, 10), (7, 30), (9, 30)], next: 0, exit_ms: 0 };
        assert_eq!(schedule.piece(0, 4), (0, 4));
        assert_eq!(schedule.piece(4, 20), (0, 10));
        assert_eq!(schedule.piece(10, 20), (12, 20));
        assert_eq!(schedule.piece(20, 30), (0, 30));
        assert_eq!(schedule.rest_ms(), 9);
        assert_eq!(schedule.rest_ms(), 0);
    }
}
