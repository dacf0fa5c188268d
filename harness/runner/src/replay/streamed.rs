//! A replay whose capture is read and cut, and whose trace is given away, while it goes on: its memory is that of the
//! gateway, whatever the size of the two, because neither the capture nor its plan is kept.

use std::io::{self, BufRead, Read as _};
use std::ops::ControlFlow;

use clitape_gateway::RunReport;
use clitape_gateway::sanitise::Masked;
use clitape_recording::cassette::LINE_PACE_MS;
use clitape_recording::scenario::{Fault, Setup};
use clitape_recording::trace::Entry;
use clitape_stream::{ParserLimits, Stats};

use super::builtin::Replay;
use super::driver::{OverReplay, ReplayDriver, in_virtual_time};
use super::plan::{Action, Cut, Plan, line_feeds};
use super::random::{LineBytes, PieceDraw};

/// The counts of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySummary {
    /// The number of entries of its trace.
    pub entries: u64,
    /// The parser's counts of the lines.
    pub stats: Stats,
    /// The sanitiser's counts of masked parts, in all turns.
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

/// Replays a capture without lines of a host, while it is read. Calls of the chat's server have `faults`. The entries
/// of the trace are given to `take` in their order, each as soon as it is final, until `take` breaks.
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

/// The most bytes of a line that come as one piece.
const LONGEST: u64 = 1 << 20;

/// The way in which a capture is cut while it is read.
#[derive(Debug)]
enum ReadCut {
    /// Into whole lines, so many ms apart.
    Lines { pace_ms: u64 },
    /// Into blocks of so many bytes, each of which comes with the line of its last byte.
    Blocks(u64),
    /// As a seed draws it.
    Random(Box<PieceDraw>),
}

/// The pieces of a capture that is cut while it is read.
///
/// They are those of the plan for the whole capture ([`Plan::cut`]), whose lines come one by one
/// ([`line_by_line`](clitape_recording::cassette::line_by_line)). Only a line of more than a mebibyte comes in several
/// pieces at the same time, so that one without an end, which the parser skips, takes no memory here. The items are the
/// milliseconds since the piece before, and the piece.
#[derive(Debug)]
pub struct CapturePieces<R> {
    reader: R,
    cut: ReadCut,
    /// Set if the piece before ended a line; not set before the first one.
    line_ended: bool,
}

impl<R: BufRead> CapturePieces<R> {
    /// Cuts a capture as `cut` says; `seed` draws random pieces.
    pub fn cut(reader: R, cut: Cut, seed: u64) -> Self {
        let cut = match cut {
            Cut::None | Cut::Line => ReadCut::Lines { pace_ms: LINE_PACE_MS },
            Cut::Byte => ReadCut::Blocks(1),
            Cut::Size(bytes) => ReadCut::Blocks(bytes),
            Cut::Random => ReadCut::Random(Box::new(PieceDraw::new(seed))),
        };
        Self { reader, cut, line_ended: false }
    }

    /// Cuts a capture into whole lines, `pace_ms` apart.
    pub fn paced(reader: R, pace_ms: u64) -> Self {
        Self { reader, cut: ReadCut::Lines { pace_ms }, line_ended: false }
    }

    fn read(&mut self) -> io::Result<(u64, Vec<u8>)> {
        let Self { reader, cut, line_ended } = self;
        let mut piece = Vec::new();
        let after_ms = match cut {
            ReadCut::Lines { pace_ms } => {
                reader.take(LONGEST).read_until(b'\n', &mut piece)?;
                if *line_ended { *pace_ms } else { 0 }
            }
            ReadCut::Blocks(bytes) => {
                reader.take(*bytes).read_to_end(&mut piece)?;
                let before_last = piece.split_last().map_or(&[][..], |(_, before)| before);
                (u64::from(*line_ended) + line_feeds(before_last)) * LINE_PACE_MS
            }
            ReadCut::Random(draw) => draw.piece(&mut LinesRead { reader, piece: &mut piece })?,
        };
        *line_ended = piece.ends_with(b"\n");
        Ok((after_ms, piece))
    }
}

/// Takes a piece from a reader.
struct LinesRead<'a, R> {
    reader: &'a mut R,
    piece: &'a mut Vec<u8>,
}

impl<R: BufRead> LineBytes for LinesRead<'_, R> {
    type Error = io::Error;

    fn take(&mut self, most: u64, may_end: bool) -> io::Result<(u64, bool)> {
        let Self { reader, piece } = self;
        if may_end {
            let taken = reader.take(most).read_until(b'\n', piece)?;
            return Ok((taken as u64, taken > 0 && piece.ends_with(b"\n")));
        }
        let mut taken = 0;
        loop {
            let bytes = reader.fill_buf()?;
            let in_line = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
            let room = usize::try_from(most - taken).unwrap_or(usize::MAX);
            let size = in_line.min(room);
            let is_over = size == room || in_line < bytes.len() || bytes.is_empty();
            piece.extend_from_slice(&bytes[..size]);
            reader.consume(size);
            taken += size as u64;
            if is_over {
                return Ok((taken, false));
            }
        }
    }
}

impl<R: BufRead> Iterator for CapturePieces<R> {
    type Item = io::Result<(u64, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        let is_over = read.as_ref().is_ok_and(|(_, piece)| piece.is_empty());
        (!is_over).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use clitape_recording::cassette::line_by_line;

    use super::*;
    use crate::replay::Plan;

    /// Compares the pieces of a capture that is read with those of a plan for the whole of it.
    fn check<'a>(read: CapturePieces<&'a [u8]>, plan: &Plan, stdout: &'a [u8]) {
        let read: Vec<(u64, Vec<u8>)> = read.map(Result::unwrap).collect();
        let planned: Vec<_> =
            plan.pieces(stdout).map(|(after_ms, piece)| (after_ms, piece.to_vec())).collect();
        assert_eq!(read, planned, "{}", plan.to_line());
    }

    #[test]
    fn a_capture_that_is_read_is_cut_as_a_plan_cuts_it() {
        let long = ["0123456789".repeat(400), "x".repeat(90_000), "é".repeat(3)].join("\n");
        for text in ["", "\n", "a", "a\n", "\n\na\nbc\n\ndef", "ab\ncd\nef\n", &long] {
            let stdout = text.as_bytes();
            let timeline = line_by_line(stdout);
            for cut in ["none", "line", "byte", "2", "3", "7", "1000", "random"] {
                let cut = cut.parse().unwrap();
                for seed in 1..=if cut == Cut::Random { 40 } else { 1 } {
                    let plan = Plan::cut(stdout, &timeline, cut, seed);
                    check(CapturePieces::cut(stdout, cut, seed), &plan, stdout);
                }
            }
            check(CapturePieces::paced(stdout, 5), &Plan::canonical(stdout, 5), stdout);
        }
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces_at_the_same_time() {
        let endless = vec![b'x'; 3 << 20];
        let pieces = CapturePieces::cut(endless.as_slice(), Cut::Line, 1);
        let sizes = pieces.map(|piece| piece.map(|(after_ms, piece)| (after_ms, piece.len())));
        assert_eq!(sizes.map(Result::unwrap).collect::<Vec<_>>(), [(0, 1 << 20); 3]);
    }
}
