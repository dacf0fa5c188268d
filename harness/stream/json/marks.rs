//! The bytes of a string that need a look: a bit for each quote, backslash and control character.

/// Bytes in a block, which is what is looked at in one go.
const BLOCK: usize = 64;

/// The marks of one block of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// Where the block begins; a multiple of its size.
    block: usize,
    /// Bit `n` tells of byte `block + n`.
    bits: u64,
}

impl Marks {
    /// The marks of no block.
    pub(super) const NONE: Self = Self { block: 0_usize.wrapping_sub(BLOCK), bits: 0 };

    /// The place of the first mark from `at` on.
    #[inline(always)]
    pub(super) fn next(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let mut from = at;
        if at.wrapping_sub(self.block) < BLOCK {
            let ahead = self.bits >> (at % BLOCK);
            if ahead != 0 {
                return Some(at + ahead.trailing_zeros() as usize);
            }
            from = self.block + BLOCK;
        }
        (self.block, self.bits) = far(text, from);
        (self.bits != 0).then(|| self.block + self.bits.trailing_zeros() as usize)
    }
}

/// The first block that has marks from `at` on, and those marks; none when there is no such block.
#[inline(never)]
fn far(text: &[u8], at: usize) -> (usize, u64) {
    let block = at - at % BLOCK;
    if let Some(bytes) = text.get(block..).and_then(<[u8]>::first_chunk) {
        let bits = marks(bytes) & u64::MAX << (at % BLOCK);
        if bits != 0 {
            return (block, bits);
        }
    }
    farther(text, at)
}

/// The same where the block of `at` has none, or is the last one: a long string, or the end.
#[inline(never)]
fn farther(text: &[u8], at: usize) -> (usize, u64) {
    let next = at - at % BLOCK + BLOCK;
    let mut from = if next <= text.len() { next } else { at };
    let (blocks, _) = text.get(from..).unwrap_or_default().as_chunks::<BLOCK>();
    let quiet = |block: &&[u8; BLOCK]| !block.iter().fold(false, |any, byte| any | is_mark(*byte));
    from += BLOCK * blocks.iter().take_while(quiet).count();
    let block = from - from % BLOCK;
    let rest = text.get(block..).unwrap_or_default();
    if rest.is_empty() {
        return (block, 0);
    }
    let padded;
    let (bytes, behind) = match (rest.first_chunk(), text.last_chunk()) {
        (Some(bytes), _) => (bytes, 0),
        (None, Some(bytes)) => (bytes, BLOCK - rest.len()),
        (None, None) => {
            padded = pad(rest);
            (&padded, 0)
        }
    };
    (block, marks(bytes) >> behind & u64::MAX << (from % BLOCK))
}

#[inline(never)]
fn pad(text: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    block[..text.len()].copy_from_slice(text);
    block
}

/// One bit for each byte; written so that vector instructions come out of it, the sums too.
#[inline(always)]
fn marks(block: &[u8; BLOCK]) -> u64 {
    let mut found = [0; BLOCK];
    for (at, byte) in block.iter().enumerate() {
        found[at] = if is_mark(*byte) { 1 << (at % 8) } else { 0 };
    }
    let (groups, _) = found.as_chunks::<8>();
    let mut bits = [0; 8];
    for (sum, group) in bits.iter_mut().zip(groups) {
        *sum = group.iter().fold(0, |sum: u8, bit| sum.wrapping_add(*bit));
    }
    u64::from_le_bytes(bits)
}

/// A flipped bit puts the quote right behind the control characters.
#[inline(always)]
fn is_mark(byte: u8) -> bool {
    (byte ^ 2 <= b' ') | (byte == b'\\')
}
