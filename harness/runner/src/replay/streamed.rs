//! A replay whose capture is read, and whose trace is given away, while it goes on: its memory is that of the gateway,
//! whatever the size of the two.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use clitape_gateway::RunReport;
use clitape_gateway::sanitise::Masked;
use clitape_stream::{ParserLimits, Stats};

use super::builtin::Replay;
use super::dialogue::Action;
use super::driver::{OverReplay, ReplayDriver, in_virtual_time};
use super::pieces::CapturePieces;
use super::plan::Plan;
use super::setup::Setup;
use super::trace::{Entry, Lane};
use super::wiring::Wiring;
use crate::scenario::Fault;

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
        let (entries, stats) = (self.entries.len() as u64, self.stats.clone());
        let mut summary = ReplaySummary { entries, stats, masked: Masked::default() };
        summary.add_masked(&self.reports);
        summary
    }
}

impl ReplaySummary {
    fn add_masked(&mut self, reports: &[RunReport]) {
        reports.iter().for_each(|report| self.masked.extend(&report.masked));
    }
}

/// Replays a capture without lines of a host, while it is read. Calls of the chat's server have `faults`. The entries
/// of `lanes` are given to `take` in their order, each once nothing changes it any more, until it breaks.
///
/// Returns the replay in short, without the counts of the lines if `take` broke.
///
/// # Errors
///
/// When the capture can't be read. What was replayed before is given away.
pub fn replay_streamed(
    pieces: CapturePieces<impl BufRead>,
    faults: Vec<Fault>,
    setup: Setup,
    lanes: &[Lane],
    mut take: impl FnMut(Entry) -> ControlFlow<()>,
) -> io::Result<ReplaySummary> {
    let plan = Plan::at_once(0).with_faults(faults);
    let mut summary =
        ReplaySummary { entries: 0, stats: Stats::default(), masked: Masked::default() };
    let mut count = 0;
    let mut take = |entry| {
        count += 1;
        take(entry)
    };
    let read = in_virtual_time(async {
        let limits = ParserLimits::default();
        let mut driver = ReplayDriver::start(&[setup], lanes, &plan, limits, Wiring::built_in);
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
            summary.add_masked(&driver.delivered());
            if driver.settled().try_for_each(&mut take).is_break() {
                return Ok(());
            }
            if step.is_break() {
                break;
            }
        }
        let (input, runs) = driver.end_of_input();
        for run in runs {
            let OverReplay { entries, stats, reports, .. } = run.finish(input.clone()).await;
            summary.stats = stats;
            summary.add_masked(&reports);
            if entries.into_iter().try_for_each(&mut take).is_break() {
                break;
            }
        }
        read
    });
    summary.entries = count;
    read.map(|()| summary)
}
