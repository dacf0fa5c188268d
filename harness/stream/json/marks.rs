//! The bytes of a string that need a look: a bit for each quote, backslash and control character.

use wide::u8x16;

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
    // The last block is looked at with what stands before it.
    let from = block.min(text.len().saturating_sub(BLOCK));
    if let Some(bytes) = text.get(from..).and_then(<[u8]>::first_chunk)
        && block < text.len()
    {
        let bits = marks(bytes) >> (block - from) & u64::MAX << (at % BLOCK);
        if bits != 0 {
            return (block, bits);
        }
    }
    farther(text, at)
}

/// The same where the block of `at` has none: a long string, the end, or a short text.
#[inline(never)]
fn farther(text: &[u8], at: usize) -> (usize, u64) {
    let next = at - at % BLOCK + BLOCK;
    if text.len() < BLOCK {
        let rest = text.get(at..).unwrap_or_default();
        let mut block = [b' '; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        return if next == BLOCK { (0, marks(&block) << at) } else { (next - BLOCK, 0) };
    }
    let (blocks, rest) = text.get(next..).unwrap_or_default().as_chunks::<BLOCK>();
    let quiet = |block: &&[u8; BLOCK]| !block.iter().fold(false, |any, byte| any | is_mark(*byte));
    let quiet = blocks.iter().take_while(quiet).count();
    let block = next + BLOCK * quiet;
    match (blocks.get(quiet), text.last_chunk()) {
        (Some(bytes), _) => (block, marks(bytes)),
        (None, Some(bytes)) if !rest.is_empty() => (block, marks(bytes) >> (BLOCK - rest.len())),
        _ => (block, 0),
    }
}

/// One bit for each of 16 bytes.
#[inline(always)]
fn mask(quarter: &[u8; 16]) -> u64 {
    u64::from(found(u8x16::new(*quarter)).move_mask().cast_unsigned())
}

/// All bits of each byte that is marked.
#[inline(always)]
fn found(bytes: u8x16) -> u8x16 {
    // A flipped bit puts the quote right behind the control characters.
    let flipped = bytes ^ u8x16::splat(FLIP);
    let low = flipped.min(u8x16::splat(b' ')).cmp_eq(flipped);
    low | bytes.cmp_eq(u8x16::splat(b'\\'))
}

/// Whether `text` is like `other`, which is as long: the same where `free` is 0, and without marks
/// where it is 255.
#[inline]
pub(crate) fn is_like(text: &[u8], other: &[u8], free: &[u8]) -> bool {
    if text.len() != other.len() || text.len() != free.len() {
        return false;
    }
    let differ = |text: &[u8; 16], other: &[u8; 16], free: &[u8; 16]| {
        let [text, other, free] = [*text, *other, *free].map(u8x16::new);
        (found(text) & free) | ((text ^ other) & !free)
    };
    let ends = (text.last_chunk(), other.last_chunk(), free.last_chunk());
    let (Some(text_end), Some(other_end), Some(free_end)) = ends else { return false };
    let ((text, _), (other, _), (free, _)) =
        (text.as_chunks(), other.as_chunks(), free.as_chunks());
    let mut all = differ(text_end, other_end, free_end);
    for ((text, other), free) in text.iter().zip(other).zip(free) {
        all |= differ(text, other, free);
    }
    all.cmp_eq(u8x16::ZERO).move_mask() == 0xffff
}

/// One bit for each byte.
#[inline(always)]
fn marks(block: &[u8; BLOCK]) -> u64 {
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().rev().fold(0, |all, quarter| all << 16 | mask(quarter))
}

const FLIP: u8 = 2;

/// The same of one byte.
#[inline(always)]
fn is_mark(byte: u8) -> bool {
    (byte ^ FLIP <= b' ') | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_like_another_but_for_free_bytes_without_marks() {
        let other = b"\"uuid\":\"0123-4567\",\"id\":null}";
        let free: Vec<u8> =
            (0..other.len()).map(|at| if (8..17).contains(&at) { 255 } else { 0 }).collect();
        assert!(is_like(other, other, &free));
        for at in 0..other.len() {
            for byte in 0..=255 {
                let mut text = *other;
                text[at] = byte;
                let expect = byte == other[at] || free[at] == 255 && !is_mark(byte);
                assert_eq!(is_like(&text, other, &free), expect, "{byte} at {at}");
            }
        }
        assert!(!is_like(&other[1..], other, &free) && !is_like(b"", b"", b""));
    }

    #[test]
    fn quotes_backslashes_and_control_characters_are_marked() {
        for byte in 0..=255 {
            let is_marked = byte < b' ' || byte == b'"' || byte == b'\\';
            assert_eq!(is_mark(byte), is_marked, "{byte}");
            for at in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[at] = byte;
                assert_eq!(marks(&block), u64::from(is_marked) << at, "{byte} at {at}");
            }
        }
    }
}
