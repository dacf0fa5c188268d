//! Random cuts, delays and faults from a seed: ChaCha8 with raw draws and our own arithmetic, so that a
//! seed means the same plan on every machine and with every version of the generator's crate.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use super::host_step::AnswerFault;
use crate::scenario::{Fault, FaultKind};

/// Largest piece of a stretch; a stretch of small pieces cuts inside records and characters, one
/// of large pieces glues records together.
const SIZES: [u32; 6] = [1, 4, 16, 128, 1024, 65_536];
/// Pieces of one size before another is drawn, at most; each seed has one of these.
const STRETCHES: [u32; 3] = [4, 40, 400];
/// Longest delay of a class in ms, and how many of 64 draws fall into it where the seed does not say otherwise. The
/// long ones cross a channel's throttle window.
const DELAYS: [(u32, u32); 4] = [(1, 44), (20, 14), (400, 5), (3_000, 1)];
/// What the delays within a line add up to at most, in ms; each seed has one of these. They are short, because a gateway
/// gives an agent up that prints no line for long.
const BUDGETS_MS: [u64; 3] = [100, 1_000, 3_000];
/// After this number of pieces the rest of a long run comes in large ones, because each piece takes time.
const MOST_PIECES: [usize; 2] = [150, 600];
/// How much more or less often than usual a seed draws a class of delays.
const FACTORS: [u32; 4] = [0, 1, 1, 6];

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

/// What the pieces of a seed are like. Seeds differ in it, so that some have what others never do: only large pieces, no
/// pause at all, many long ones.
#[derive(Debug)]
struct Weights {
    sizes: [u32; SIZES.len()],
    stretch: u32,
    delays: [u32; DELAYS.len()],
    budget_ms: u64,
    most_pieces: usize,
}

impl Weights {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        let mut sizes = SIZES.map(|_| below(rng, 2) * (1 + below(rng, 8)));
        if sizes.iter().all(|weight| *weight == 0) {
            sizes[below(rng, SIZES.len() as u32) as usize] = 1;
        }
        let stretch = STRETCHES[below(rng, STRETCHES.len() as u32) as usize];
        let mut delays = DELAYS.map(|(_, weight)| weight * FACTORS[below(rng, 4) as usize]);
        // Some pieces come at once.
        delays[0] = delays[0].max(1);
        let budget_ms = BUDGETS_MS[below(rng, BUDGETS_MS.len() as u32) as usize];
        let most_pieces = MOST_PIECES[below(rng, MOST_PIECES.len() as u32) as usize];
        Self { sizes, stretch, delays, budget_ms, most_pieces }
    }
}

/// Draws the pieces of the plan of a seed one by one.
#[derive(Debug)]
pub(super) struct PieceDraw {
    rng: ChaCha8Rng,
    weights: Weights,
    /// The pieces that are left of a stretch, and the size of its largest ones.
    in_stretch: u32,
    largest: u32,
    drawn: usize,
    /// The delays that the line may still have.
    budget_ms: u64,
}

impl PieceDraw {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = generator(seed, "");
        let weights = Weights::draw(&mut rng);
        let budget_ms = weights.budget_ms;
        Self { rng, weights, in_stretch: 0, largest: 1, drawn: 0, budget_ms }
    }

    /// The size of the next piece, if as many bytes are left. Its delay is drawn then.
    pub(super) fn bytes(&mut self) -> u64 {
        let Self { rng, weights, .. } = self;
        if self.in_stretch == 0 {
            self.in_stretch = 1 + below(rng, weights.stretch);
            self.largest = SIZES[weighted(rng, &weights.sizes)];
        }
        self.in_stretch -= 1;
        let is_long = self.drawn >= weights.most_pieces;
        let largest = if is_long { SIZES[SIZES.len() - 1] } else { self.largest };
        self.drawn += 1;
        u64::from(1 + below(rng, largest))
    }

    /// The delay of that piece in ms. `ends_line` says whether a line ends in it.
    pub(super) fn delay(&mut self, ends_line: bool) -> u64 {
        let Self { rng, weights, .. } = self;
        let (longest, _) = DELAYS[weighted(rng, &weights.delays)];
        let delay = u64::from(below(rng, longest)).min(self.budget_ms);
        self.budget_ms = if ends_line { weights.budget_ms } else { self.budget_ms - delay };
        delay
    }
}

/// Delay in ms and size of each piece of the plan of `seed` for bytes whose lines end at `ends`, of which the last one is
/// their number.
pub(super) fn pieces(ends: &[u64], seed: u64) -> Vec<(u64, u64)> {
    let mut draw = PieceDraw::new(seed);
    let mut pieces = Vec::new();
    let mut lines = ends.iter().peekable();
    let (mut at, total) = (0, ends.last().copied().unwrap_or_default());
    while at < total {
        let bytes = draw.bytes().min(total - at);
        at += bytes;
        let mut ends_line = false;
        while lines.next_if(|end| **end <= at).is_some() {
            ends_line = true;
        }
        pieces.push((draw.delay(ends_line), bytes));
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
        let kind = kinds[below(&mut rng, kinds.len() as u32) as usize];
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
pub(super) struct Dialogue(ChaCha8Rng);

impl Dialogue {
    pub(super) fn new(seed: u64) -> Self {
        Self(generator(seed, "dialogue"))
    }

    /// Milliseconds that the host takes for a line.
    pub(super) fn delay(&mut self) -> u64 {
        below(&mut self.0, SLOWEST_HOST_MS).into()
    }

    /// The fault of an answer; two of five answers have one.
    pub(super) fn fault(&mut self) -> Option<AnswerFault> {
        let is_faulty = below(&mut self.0, 5) < 2;
        let fault = AnswerFault::ALL[below(&mut self.0, AnswerFault::ALL.len() as u32) as usize];
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

/// A draw from `0..n`: multiply and shift, one raw draw each.
fn below(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}
