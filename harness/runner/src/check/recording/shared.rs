//! The canonical replays that the checks of a recording share: all of them, or of a long recording the last one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use clitape_recording::scenario::Setup;

use crate::replay::Replay;

/// Canonical replays of a recording, one in each setup.
#[derive(Debug, Default)]
pub(super) struct SharedReplays {
    /// Those in all setups; none where they are too much for the memory.
    all: OnceLock<Vec<Arc<Replay>>>,
    /// The last one that was made where there are not all.
    last: Mutex<Option<Arc<Replay>>>,
}

impl SharedReplays {
    /// The replay in `setup`. `replay` makes one in each of the setups that it gets. `all` gives all setups; none where
    /// their replays are too much for the memory.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn get(
        &self,
        setup: Setup,
        all: impl FnOnce() -> Option<Vec<Setup>>,
        replay: impl Fn(&[Setup]) -> Vec<Arc<Replay>>,
    ) -> Arc<Replay> {
        let all = self.all.get_or_init(|| all().map_or_else(Vec::new, |all| replay(&all)));
        if let Some(known) = all.iter().find(|replay| replay.setup == setup) {
            return known.clone();
        }
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Another one is given back before this one is made.
        let known = last().take().filter(|last| last.setup == setup);
        let one = known.or_else(|| replay(&[setup]).pop()).expect("one setup gives one replay");
        *last() = Some(one.clone());
        one
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use clitape_recording::scenario::{AcpClient, RunSpec};

    use super::*;
    use crate::replay::{Plan, replay};

    /// Asks for replays in setups with these numbers, of which all are kept or the last one, and expects so many to be made
    /// for each.
    fn check(keeps_all: bool, asked: &[(usize, usize)]) {
        let run = RunSpec::default();
        let acp =
            [None, Some(false), Some(true)].map(|it| it.map(|terminal| AcpClient { terminal }));
        let setups = acp.map(|acp| Setup { run, channel: None, acp });
        let made = RefCell::new(0);
        let make = |setups: &[Setup]| {
            *made.borrow_mut() += setups.len();
            let one = |setup: &Setup| Arc::new(replay(&b""[..], &Plan::at_once(0), *setup));
            setups.iter().map(one).collect()
        };
        let shared = SharedReplays::default();
        for (place, (setup, expect)) in asked.iter().enumerate() {
            let found = shared.get(setups[*setup], || keeps_all.then(|| setups.to_vec()), make);
            assert_eq!(found.setup, setups[*setup]);
            assert_eq!(made.take(), *expect, "keeps all: {keeps_all}, place {place}");
        }
    }

    #[test]
    fn of_a_long_recording_the_last_replay_is_kept() {
        check(true, &[(1, 3), (0, 0), (2, 0), (1, 0)]);
        check(false, &[(1, 1), (1, 0), (0, 1), (0, 0), (1, 1)]);
        check(false, &[(2, 1), (2, 0), (1, 1), (2, 1)]);
    }
}
