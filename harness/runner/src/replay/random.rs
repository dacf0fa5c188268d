//! Random cuts, times and faults from a seed: ChaCha8 with raw draws and our own arithmetic, so that a
//! seed means the same plan on every machine and with every version of the generator's crate.
//!
//! Cuts have a generator apart from times, because the parser alone is concerned with cuts. [`SEEDS_PER_TIMES`] seeds
//! draw the same times of lines and the same host, so that few replays show many cuts.

use std::convert::Infallible;

use clitape_recording::scenario::{Fault, FaultKind};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use super::faults::AnswerFault;

/// The number of seeds whose lines end at the same times.
pub(super) const SEEDS_PER_TIMES: u64 = 4;

/// Largest piece of a stretch; a stretch of small pieces cuts inside records and characters, one
/// of large pieces glues records together where they come at the same time.
const SIZES: [u32; 6] = [1, 4, 16, 128, 1024, 65_536];
/// Pieces of one size before another is drawn, at most; each seed has one of these.
const STRETCHES: [u32; 3] = [4, 40, 400];
/// After this number of pieces the rest of a long run comes in large ones, because each piece takes time.
const MOST_PIECES: [usize; 2] = [150, 600];

/// The number of 64 lines that come at the same time as the line before; seeds with the same times have one of these.
const TOGETHER: [u32; 4] = [0, 16, 52, 63];
/// Longest delay of a class in ms, and how many of 60 lines that come later fall into it where the times do not say
/// otherwise. The long ones cross a channel's throttle window.
const DELAYS: [(u32, u32); 4] = [(1, 20), (20, 16), (400, 14), (3_000, 10)];
/// The factors by which times have a class of delays more or less often than usual.
const FACTORS: [u32; 4] = [0, 1, 1, 6];
/// The longest delay of a line in ms; times have one of these. They are short, because a gateway gives an agent up that
/// prints no line for long.
const LONGEST_MS: [u64; 3] = [100, 1_000, 3_000];
/// After this number of lines that come later, most lines of a long run come together, because each moment takes time.
const MOST_MOMENTS: [usize; 2] = [150, 600];

/// Most faults of a plan, and the last call that may fail.
const MOST_FAULTS: u32 = 4;
const LAST_CALL: u32 = 8;
/// Of this number of seeds, one has no fault.
const ONE_WITHOUT_FAULTS: u32 = 8;
/// Longest wait that a 429 asks for, and the most that the waits of a plan add up to, in s: the final message is
/// tried for 300 s.
const LONGEST_WAIT_S: u32 = 150;
const MOST_WAITS_S: u32 = 240;
/// The slowest answer, in ms.
const SLOWEST_MS: u32 = 4_000;

/// The bytes of a capture, from which pieces are taken.
pub(super) trait LineBytes {
    /// Why no bytes can be taken.
    type Error;

    /// Takes `most` bytes of the line that is under way, or fewer where it has no more; its end only if it `may_end`.
    /// Returns their number, and whether the line has ended.
    ///
    /// # Errors
    ///
    /// Those of whatever holds the bytes.
    fn take(&mut self, most: u64, may_end: bool) -> Result<(u64, bool), Self::Error>;
}

/// Lines of which only the ends are known.
struct KnownLines<'a> {
    /// Where the lines end that have not, the last one with the bytes.
    ends: &'a [u64],
    /// The bytes that were taken.
    at: u64,
    /// Set if the last line has a line feed.
    is_last_ended: bool,
}

impl LineBytes for KnownLines<'_> {
    type Error = Infallible;

    fn take(&mut self, most: u64, may_end: bool) -> Result<(u64, bool), Infallible> {
        let Some((&end, further)) = self.ends.split_first() else { return Ok((0, false)) };
        let is_ended = self.is_last_ended || !further.is_empty();
        let feed = u64::from(is_ended && !may_end);
        let taken = most.min(end - self.at - feed);
        self.at += taken;
        let is_over = self.at == end;
        if is_over {
            self.ends = further;
        }
        Ok((taken, is_over && is_ended))
    }
}

/// Draws the pieces of the plan of a seed one by one.
#[derive(Debug)]
pub(super) struct PieceDraw {
    cuts: CutDraw,
    times: TimeDraw,
    /// Milliseconds until the line that is under way ends.
    line_ms: u64,
}

impl PieceDraw {
    pub(super) fn new(seed: u64) -> Self {
        let mut times = TimeDraw::new(seed);
        Self { cuts: CutDraw::new(seed), line_ms: times.delay(), times }
    }

    /// Takes the next piece, and returns the milliseconds since the piece before. A line ends in it only at the time of
    /// the line, so that several lines are in one piece if they come at the same time.
    ///
    /// # Errors
    ///
    /// Those of `bytes`.
    pub(super) fn piece<B: LineBytes>(&mut self, bytes: &mut B) -> Result<u64, B::Error> {
        let mut room = self.cuts.bytes();
        let mut after_ms = None;
        while room > 0 {
            let (taken, has_ended) = bytes.take(room, after_ms.is_none() || self.line_ms == 0)?;
            room -= taken;
            if !has_ended {
                break;
            }
            after_ms.get_or_insert(self.line_ms);
            self.line_ms = self.times.delay();
        }
        Ok(after_ms.unwrap_or_else(|| self.cuts.pause(&mut self.line_ms)))
    }
}

/// Draws the sizes of the pieces of a seed. Seeds differ in their weights, so that some have what others never do, such
/// as only large pieces.
#[derive(Debug)]
struct CutDraw {
    rng: ChaCha8Rng,
    sizes: [u32; SIZES.len()],
    stretch: u32,
    most_pieces: usize,
    /// The pieces that are left of a stretch, and the size of its largest ones.
    in_stretch: u32,
    largest: u32,
    drawn: usize,
}

impl CutDraw {
    fn new(seed: u64) -> Self {
        let mut rng = generator(seed, "cuts");
        let mut sizes = SIZES.map(|_| below(&mut rng, 2) * (1 + below(&mut rng, 8)));
        if sizes.iter().all(|weight| *weight == 0) {
            sizes[below(&mut rng, SIZES.len() as u32) as usize] = 1;
        }
        let stretch = one_of(&mut rng, &STRETCHES);
        let most_pieces = one_of(&mut rng, &MOST_PIECES);
        Self { rng, sizes, stretch, most_pieces, in_stretch: 0, largest: 1, drawn: 0 }
    }

    /// The size of the next piece, if as many bytes may come.
    fn bytes(&mut self) -> u64 {
        let Self { rng, sizes, stretch, .. } = self;
        if self.in_stretch == 0 {
            self.in_stretch = 1 + below(rng, *stretch);
            self.largest = SIZES[weighted(rng, sizes)];
        }
        self.in_stretch -= 1;
        let is_long = self.drawn >= self.most_pieces;
        let largest = if is_long { SIZES[SIZES.len() - 1] } else { self.largest };
        self.drawn += 1;
        u64::from(1 + below(rng, largest))
    }

    /// The delay in ms of a piece in which no line ends, of what is left until the end of its line.
    fn pause(&mut self, line_ms: &mut u64) -> u64 {
        let rng = &mut self.rng;
        if *line_ms == 0 || below(rng, 2) == 0 {
            return 0;
        }
        let pause = u64::from(below(rng, u32::try_from(*line_ms).unwrap_or(u32::MAX)));
        *line_ms -= pause;
        pause
    }
}

/// Draws the times at which lines end. Times differ in their weights: some have no pause at all, others many long ones.
#[derive(Debug)]
struct TimeDraw {
    rng: ChaCha8Rng,
    together: u32,
    delays: [u32; DELAYS.len()],
    longest_ms: u64,
    most_moments: usize,
    /// The lines that came later than the line before.
    moments: usize,
}

impl TimeDraw {
    fn new(seed: u64) -> Self {
        let mut rng = generator(first_of_times(seed), "times");
        let together = one_of(&mut rng, &TOGETHER);
        let mut delays = DELAYS.map(|(_, weight)| weight * one_of(&mut rng, &FACTORS));
        // There is a class to draw.
        delays[0] = delays[0].max(1);
        let longest_ms = one_of(&mut rng, &LONGEST_MS);
        let most_moments = one_of(&mut rng, &MOST_MOMENTS);
        Self { rng, together, delays, longest_ms, most_moments, moments: 0 }
    }

    /// Milliseconds from the end of a line to that of the next one.
    fn delay(&mut self) -> u64 {
        let is_long = self.moments >= self.most_moments;
        let together = if is_long { TOGETHER[TOGETHER.len() - 1] } else { self.together };
        if below(&mut self.rng, 64) < together {
            return 0;
        }
        self.moments += 1;
        let (longest, _) = DELAYS[weighted(&mut self.rng, &self.delays)];
        u64::from(below(&mut self.rng, longest)).min(self.longest_ms)
    }
}

/// The first of the seeds that have the same times as this one.
fn first_of_times(seed: u64) -> u64 {
    seed - seed % SEEDS_PER_TIMES
}

/// Delay in ms and size of each piece of the plan of `seed` for bytes whose lines end at `ends`, of which the last one
/// is their number; `is_last_ended` says whether the last line has a line feed.
pub(super) fn pieces(ends: &[u64], is_last_ended: bool, seed: u64) -> Vec<(u64, u64)> {
    let mut draw = PieceDraw::new(seed);
    let mut pieces = Vec::new();
    let mut lines = KnownLines { ends, at: 0, is_last_ended };
    while !lines.ends.is_empty() {
        let from = lines.at;
        let Ok(after_ms) = draw.piece(&mut lines);
        pieces.push((after_ms, lines.at - from));
    }
    pieces
}

/// Faults of `kinds` at different calls, in the order of the calls.
pub(super) fn faults(seed: u64, kinds: &[FaultKind]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut rng = generator(seed, "faults");
    if kinds.is_empty() || below(&mut rng, ONE_WITHOUT_FAULTS) == 0 {
        return faults;
    }
    let mut waits_left = MOST_WAITS_S;
    for _ in 0..=below(&mut rng, MOST_FAULTS) {
        let call = u64::from(1 + below(&mut rng, LAST_CALL));
        let kind = one_of(&mut rng, kinds);
        let amount = match kind {
            FaultKind::RateLimit => wait_s(&mut rng).min(waits_left),
            FaultKind::Slow => 1 + below(&mut rng, SLOWEST_MS),
            _ => 0,
        };
        let is_over = kind == FaultKind::RateLimit && amount == 0;
        if !is_over && faults.iter().all(|fault| fault.call != call) {
            if kind == FaultKind::RateLimit {
                waits_left -= amount;
            }
            faults.push(Fault { call, kind, amount: amount.into() });
        }
    }
    faults.sort_by_key(|fault| fault.call);
    faults
}

/// The wait that a 429 asks for, in s, as services do: mostly a few seconds, each twice as long half as often, and a
/// minute or two now and then.
fn wait_s(rng: &mut ChaCha8Rng) -> u32 {
    let doublings = below(rng, 256).leading_zeros() - 24;
    let shortest = 1 << doublings;
    (shortest + below(rng, shortest)).min(LONGEST_WAIT_S)
}

/// Longest time that the host takes for a line, in ms.
const SLOWEST_HOST_MS: u32 = 8_000;

/// The random host of a seed.
pub(super) struct RandomDialogue(ChaCha8Rng);

impl RandomDialogue {
    pub(super) fn new(seed: u64) -> Self {
        Self(generator(first_of_times(seed), "dialogue"))
    }

    /// Milliseconds that the host takes for a line.
    pub(super) fn delay(&mut self) -> u64 {
        below(&mut self.0, SLOWEST_HOST_MS).into()
    }

    /// The fault of an answer; two of five answers have one.
    pub(super) fn fault(&mut self) -> Option<AnswerFault> {
        let is_faulty = below(&mut self.0, 5) < 2;
        let fault = one_of(&mut self.0, &AnswerFault::ALL);
        is_faulty.then_some(fault)
    }
}

/// The random fault of the agent's side of a seed and a capture.
pub(super) struct AgentDraw(ChaCha8Rng);

impl AgentDraw {
    /// The size of the capture takes part, so that the same seed draws other kinds for other captures.
    pub(super) fn new(seed: u64, total: u64) -> Self {
        let mut rng = generator(seed, "agent");
        for _ in 0..total % 64 {
            rng.next_u32();
        }
        Self(rng)
    }

    /// A draw from `0..n`, which is 0 for an `n` of 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        below(&mut self.0, u32::try_from(n).unwrap_or(u32::MAX)).into()
    }
}

/// A generator of its own for every seed and purpose.
fn generator(seed: u64, purpose: &str) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..8 + purpose.len()].copy_from_slice(purpose.as_bytes());
    ChaCha8Rng::from_seed(key)
}

/// An index of `weights`, as often as its weight says; they are not all 0.
fn weighted(rng: &mut ChaCha8Rng, weights: &[u32]) -> usize {
    let mut draw = below(rng, weights.iter().sum());
    for (index, &weight) in weights.iter().enumerate() {
        if draw < weight {
            return index;
        }
        draw -= weight;
    }
    0
}

/// One of `all`, each as often as the others.
fn one_of<T: Copy>(rng: &mut ChaCha8Rng, all: &[T]) -> T {
    all[below(rng, u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize]
}

/// A draw from `0..n`: multiply and shift, one raw draw each.
fn below(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}
