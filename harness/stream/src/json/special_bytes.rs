//! Finds the special bytes of a string: quotes, backslashes and control characters, as one bit for
//! each byte.

use wide::u8x16;

/// Number of bytes that are searched at once.
const BLOCK: usize = 64;

/// The special bytes of one block of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpecialBytes {
    /// Offset of the block, a multiple of its size.
    block: usize,
    /// Bit `n` is set if byte `block + n` is special.
    bits: u64,
}

impl SpecialBytes {
    /// The state before any block was searched.
    pub(super) const NONE: Self = Self { block: 0_usize.wrapping_sub(BLOCK), bits: 0 };

    /// Returns the offset of the first special byte from `at` on.
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
        (self.block, self.bits) = next_block(text, from);
        (self.bits != 0).then(|| self.block + self.bits.trailing_zeros() as usize)
    }
}

/// Returns the offset and the bits of the first block with special bytes from `at` on, or no bits
/// if there is none.
#[inline(never)]
fn next_block(text: &[u8], at: usize) -> (usize, u64) {
    let block = at - at % BLOCK;
    if let Some(bytes) = text.get(block..).and_then(<[u8]>::first_chunk) {
        let bits = special_mask(bytes) & u64::MAX << (at % BLOCK);
        if bits != 0 {
            return (block, bits);
        }
    }
    search_blocks(text, at)
}

/// Continues [`next_block`] if the block of `at` has no special byte or is incomplete.
#[inline(never)]
fn search_blocks(text: &[u8], at: usize) -> (usize, u64) {
    let first = at - at % BLOCK;
    let (blocks, rest) = text.get(first..).unwrap_or_default().as_chunks::<BLOCK>();
    let quiet =
        |block: &&[u8; BLOCK]| !block.iter().fold(false, |any, byte| any | is_special(*byte));
    let looked_at = blocks.len().min(1);
    let quiet = looked_at + blocks[looked_at..].iter().take_while(quiet).count();
    let block = first + BLOCK * quiet;
    match blocks.get(quiet) {
        Some(bytes) => (block, special_mask(bytes)),
        None if rest.is_empty() => (block, 0),
        None => (block, window(text, block) & u64::MAX << at.saturating_sub(block)),
    }
}

/// Returns the bits of the 64 bytes from `at` on. Bytes behind the end are not special.
#[inline(always)]
pub(super) fn window(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    match (rest.first_chunk(), text.last_chunk()) {
        (Some(bytes), _) => special_mask(bytes),
        (None, Some(bytes)) if !rest.is_empty() => special_mask(bytes) >> (BLOCK - rest.len()),
        _ => short(rest),
    }
}

/// The bits of a text of less than 64 bytes.
#[inline(never)]
fn short(rest: &[u8]) -> u64 {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    special_mask(&block)
}

/// One bit for each of 16 bytes.
#[inline(always)]
fn mask(quarter: &[u8; 16]) -> u64 {
    u64::from(special_lanes(u8x16::new(*quarter)).move_mask().cast_unsigned())
}

/// Sets all bits of each special byte.
#[inline(always)]
fn special_lanes(bytes: u8x16) -> u8x16 {
    // Flipping a bit puts the quote directly behind the control characters.
    let flipped = bytes ^ u8x16::splat(FLIP);
    let low = flipped.min(u8x16::splat(b' ')).cmp_eq(flipped);
    low | bytes.cmp_eq(u8x16::splat(b'\\'))
}

/// Returns the offset at which a string ends that continues at `at`: at a quote, at a final
/// backslash, or at the end of the text.
#[inline]
pub(crate) fn string_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        let mut bits = window(text, at);
        let mut next = at + BLOCK;
        while bits != 0 {
            let bit = bits.trailing_zeros();
            let mark = at + bit as usize;
            match text[mark] {
                b'"' => return mark,
                b'\\' if mark + 1 == text.len() => return mark,
                b'\\' => {
                    next = next.max(mark + 2);
                    bits &= !(0b11 << bit); // what is escaped may be marked as well
                }
                _ => bits &= bits - 1,
            }
        }
        at = next;
    }
    text.len()
}

/// One bit for each byte of a block.
#[inline(always)]
fn special_mask(block: &[u8; BLOCK]) -> u64 {
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().rev().fold(0, |all, quarter| all << 16 | mask(quarter))
}

const FLIP: u8 = 2;

/// Returns whether a byte is special.
#[inline(always)]
fn is_special(byte: u8) -> bool {
    (byte ^ FLIP <= b' ') | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_a_bit_for_each_special_byte() {
        for length in [0, 1, 63, 64, 65, 130, 200] {
            let text: Vec<u8> =
                (0..length).map(|at| if at % 7 == 3 { b'"' } else { b'a' }).collect();
            for at in 0..=length {
                let bit = |bit: usize| at + bit < length && (at + bit) % 7 == 3;
                let expect =
                    (0..BLOCK).filter(|at| bit(*at)).fold(0, |all, bit| all | 1_u64 << bit);
                assert_eq!(window(&text, at), expect, "from {at} of {length}");
                let mut specials = SpecialBytes::NONE;
                let next = (at..length).find(|at| at % 7 == 3);
                assert_eq!(specials.next(&text, at), next, "from {at} of {length}");
            }
        }
    }

    #[test]
    fn the_inside_of_a_string_goes_on_to_a_quote_that_is_not_escaped() {
        for before in [0, 1, 30, 61, 62, 63, 64, 65, 127] {
            for (text, expect) in [
                ("\"x", 0),
                (r#"\""#, 2),
                (r#"\\""#, 2),
                (r#"\\\"a"b"#, 5),
                (r"\", 0),
                (r"\\", 2),
                ("\n\t\u{1}é\"", 5),
                ("abc", 3),
                ("", 0),
            ] {
                let text = format!("{}{text}", "a".repeat(before));
                for from in 0..=before {
                    let end = string_end(text.as_bytes(), from);
                    assert_eq!(end, before + expect, "{text:?} from {from}");
                }
            }
        }
    }

    #[test]
    fn quotes_backslashes_and_control_characters_are_marked() {
        for byte in 0..=255 {
            let is_marked = byte < b' ' || byte == b'"' || byte == b'\\';
            assert_eq!(is_special(byte), is_marked, "{byte}");
            for at in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[at] = byte;
                assert_eq!(special_mask(&block), u64::from(is_marked) << at, "{byte} at {at}");
            }
        }
    }
}
