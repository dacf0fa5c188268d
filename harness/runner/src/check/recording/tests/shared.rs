use std::cell::RefCell;

use clitape_recording::scenario::{AcpClient, RunSpec};

use crate::check::recording::*;
use crate::replay::{Plan, replay};

/// Asks for replays in setups with these numbers, of which all are kept or the last one, and expects so many to be made
/// for each.
fn check(keeps_all: bool, asked: &[(usize, usize)]) {
    let run = RunSpec::default();
    let acp = [None, Some(false), Some(true)].map(|it| it.map(|terminal| AcpClient { terminal }));
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
