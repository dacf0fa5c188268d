//! Random cuts, delays and faults from a seed: ChaCha8 with raw draws and our own arithmetic, so that a
//! seed means the same plan on every machine and with every version of the generator's crate.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use super::host_step::AnswerFault;
use crate::scenario::{Fault, FaultKind};

/// Largest piece of a stretch; a stretch of small pieces cuts inside records and characters, one
/// of large pieces glues records together.
const SIZES: [u32; 6] = [1, 4, 16, 128, 1024, 65_536];
/// Pieces of one size before another is drawn.
const STRETCH: u32 = 40;
/// Longest delay of a class in ms, and how many of 64 draws fall into it. The long ones cross a
/// channel's throttle window.
const DELAYS: [(u32, u32); 4] = [(1, 44), (20, 14), (400, 5), (3_000, 1)];

/// Most faults of a plan, and the last call that may fail.
const MOST_FAULTS: u32 = 4;
const LAST_CALL: u32 = 8;
/// Longest wait that a 429 asks for, in s, and the slowest answer, in ms.
const LONGEST_WAIT_S: u32 = 5;
const SLOWEST_MS: u32 = 4_000;

/// Delay in ms and size of each piece of the plan of `seed` for `total` bytes.
pub(super) fn pieces(total: u64, seed: u64) -> Vec<(u64, u64)> {
    let mut rng = generator(seed, "");
    let mut pieces = Vec::new();
    let (mut left, mut in_stretch, mut largest) = (total, 0, 1);
    while left > 0 {
        if in_stretch == 0 {
            in_stretch = 1 + below(&mut rng, STRETCH);
            largest = SIZES[below(&mut rng, SIZES.len() as u32) as usize];
        }
        in_stretch -= 1;
        let bytes = u64::from(1 + below(&mut rng, largest)).min(left);
        left -= bytes;
        pieces.push((delay(&mut rng), bytes));
    }
    pieces
}

/// Faults of `kinds` at different calls, in the order of the calls.
pub(super) fn faults(seed: u64, kinds: &[FaultKind]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    if kinds.is_empty() {
        return faults;
    }
    let mut rng = generator(seed, "faults");
    for _ in 0..=below(&mut rng, MOST_FAULTS) {
        let call = u64::from(1 + below(&mut rng, LAST_CALL));
        let kind = kinds[below(&mut rng, kinds.len() as u32) as usize];
        let amount = match kind {
            FaultKind::RateLimit => 1 + below(&mut rng, LONGEST_WAIT_S),
            FaultKind::Slow => 1 + below(&mut rng, SLOWEST_MS),
            _ => 0,
        };
        if faults.iter().all(|fault| fault.call != call) {
            faults.push(Fault { call, kind, amount: amount.into() });
        }
    }
    faults.sort_by_key(|fault| fault.call);
    faults
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

fn delay(rng: &mut ChaCha8Rng) -> u64 {
    let mut draw = below(rng, DELAYS.iter().map(|(_, weight)| weight).sum());
    for (longest, weight) in DELAYS {
        if draw < weight {
            return u64::from(below(rng, longest));
        }
        draw -= weight;
    }
    0
}

/// A draw from `0..n`: multiply and shift, one raw draw each.
fn below(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}
