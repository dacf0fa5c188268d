//! A replay whose capture is read, and whose trace is given away, while it goes on: its memory is that of the gateway,
//! whatever the size of the two.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use clitape_gateway::RunReport;
use clitape_gateway::sanitise::Masked;
use clitape_recording::scenario::{Fault, Setup};
use clitape_recording::trace::Entry;
use clitape_stream::{ParserLimits, Stats};

use super::builtin::Replay;
use super::dialogue::Action;
use super::driver::{OverReplay, ReplayDriver};
use super::pieces::CapturePieces;
use super::plan::Plan;
use super::virtual_time::in_virtual_time;

/// What is said of a replay in short.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySummary {
    /// The number of entries of its trace.
    pub entries: u64,
    /// The parser's counts of the lines.
    pub stats: Stats,
    /// What the sanitiser masked, in all turns.
    pub masked: Masked,
}

impl Replay {
    /// The replay in short.
    pub fn summary(&self) -> ReplaySummary {
        let mut masked = Masked::default();
        add_masked(&mut masked, &self.own().reports);
        ReplaySummary {
            entries: self.entries.len() as u64,
            stats: self.own().stats.clone(),
            masked,
        }
    }
}

/// Adds what was masked in some turns.
fn add_masked(masked: &mut Masked, reports: &[RunReport]) {
    reports.iter().for_each(|report| masked.extend(&report.masked));
}

/// Replays a capture without lines of a host, while it is read. Calls of the chat's server have `faults`. The entries of
/// the trace are given to `take` in their order, each once nothing changes it any more, until it breaks.
///
/// Returns the replay in short; none if `take` broke.
///
/// # Errors
///
/// When the capture can't be read. What was replayed before is given away.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub fn replay_streamed(
    pieces: CapturePieces<impl BufRead>,
    faults: Vec<Fault>,
    setup: Setup,
    mut take: impl FnMut(Entry) -> ControlFlow<()>,
) -> io::Result<Option<ReplaySummary>> {
    let plan = Plan::at_once(0).with_faults(faults);
    let (mut entries, mut masked) = (0, Masked::default());
    let mut take = |entry| {
        entries += 1;
        take(entry)
    };
    let (read, stats) = in_virtual_time(async {
        let limits = ParserLimits::default();
        let mut driver = ReplayDriver::start(&[setup], &plan, limits);
        let mut read = Ok(());
        for piece in pieces {
            let (after_ms, piece) = match piece {
                Ok(piece) => piece,
                Err(error) => {
                    read = Err(error);
                    break;
                }
            };
            let step = driver.step(after_ms, &Action::Print(&piece)).await;
            add_masked(&mut masked, &driver.delivered());
            if driver.settled().try_for_each(&mut take).is_break() {
                return (read, None);
            }
            if step.is_break() {
                break;
            }
        }
        let (input, mut runs) = driver.end_of_input();
        let run = runs.pop().expect("one setup has one run");
        let OverReplay { entries, stats, reports, .. } = run.finish(input).await;
        add_masked(&mut masked, &reports);
        let taken = entries.into_iter().try_for_each(&mut take);
        (read, taken.is_continue().then_some(stats))
    });
    read.map(|()| stats.map(|stats| ReplaySummary { entries, stats, masked }))
}
