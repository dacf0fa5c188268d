//! The text of JSON strings: finds its special bytes, unescapes it, also in pieces, and finds how much
//! of an unfinished string is final.

use std::borrow::Cow;

use wide::u8x16;

/// Unescapes a whole string.
pub(crate) fn unescape(escaped: &str) -> Cow<'_, str> {
    if backslash(escaped.as_bytes()).is_none() {
        return Cow::Borrowed(escaped);
    }
    let mut text = String::with_capacity(escaped.len());
    let mut carry = SurrogateCarry::default();
    carry.append(escaped, &mut text);
    carry.close(&mut text);
    Cow::Owned(text)
}

/// Carries the first half of a surrogate pair from one piece of a string to the next.
#[derive(Debug, Default)]
pub(crate) struct SurrogateCarry(Option<u16>);

impl SurrogateCarry {
    /// Unescapes the next piece. A pair that is split over two pieces becomes one character, with
    /// the second piece.
    pub(crate) fn append(&mut self, escaped: &str, out: &mut String) {
        let mut rest = escaped;
        loop {
            let end = backslash(rest.as_bytes()).unwrap_or(rest.len());
            let (plain, escape) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if !plain.is_empty() {
                self.close(out);
                out.push_str(plain);
            }
            let width = match escape.as_bytes() {
                [] => return,
                [_, b'u', ..] => {
                    self.unit(escape.get(2..6).and_then(hex).unwrap_or(0xfffd), out);
                    6
                }
                [_, letter, ..] => {
                    self.close(out);
                    out.push(char::from(control(*letter)));
                    2
                }
                [_] => {
                    self.unit(0xfffd, out);
                    1
                }
            };
            rest = escape.get(width..).unwrap_or_default();
        }
    }

    /// Replaces a half without its partner by U+FFFD.
    #[inline]
    pub(crate) fn close(&mut self, out: &mut String) {
        if self.0.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn unit(&mut self, unit: u16, out: &mut String) {
        if let Some(high) = self.0.take() {
            if let Some(Ok(pair)) = char::decode_utf16([high, unit]).next() {
                out.push(pair);
                return;
            }
            out.push(char::REPLACEMENT_CHARACTER);
        }
        if let Ok(ascii @ 0..0x80) = u8::try_from(unit) {
            out.push(char::from(ascii));
        } else if (0xd800..0xdc00).contains(&unit) {
            self.0 = Some(unit);
        } else {
            out.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
}

/// Returns the offset of the first backslash. In a short text a plain search is faster than a call
/// of `memchr`.
fn backslash(text: &[u8]) -> Option<usize> {
    if text.len() < 24 {
        return text.iter().position(|byte| *byte == b'\\');
    }
    memchr::memchr(b'\\', text)
}

fn hex(digits: &str) -> Option<u16> {
    u16::from_str_radix(digits, 16).ok()
}

fn control(letter: u8) -> u8 {
    match letter {
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    }
}

/// The longest escape: `\u` and four digits.
const UNIT: usize = 6;

/// Returns the part of an unfinished string literal that later text cannot change, or `None` if the
/// text cannot become a string.
///
/// The literal includes its opening quote; the result is the text behind it, with escapes, but
/// without an unfinished escape or the first half of a surrogate pair at its end. `known` is the
/// length of the part that was final before.
pub(crate) fn stable_prefix(literal: &str, known: usize) -> Option<&str> {
    let bytes = literal.as_bytes();
    let mut specials = SpecialBytes::NONE;
    let mut at = 1 + known;
    while let Some(special) = specials.next(bytes, at) {
        let OpenEscape::Whole(length) = OpenEscape::read(&bytes[special..])? else {
            return literal.get(1..special);
        };
        let (this, next) = bytes[special..].split_at(length);
        if is_high(this) && (next.is_empty() || OpenEscape::read(next) == Some(OpenEscape::Cut)) {
            return literal.get(1..special);
        }
        at = special + length;
    }
    literal.get(1..)
}

/// An escape at the front of a text.
#[derive(PartialEq, Eq)]
enum OpenEscape {
    /// A complete escape with its length in bytes.
    Whole(usize),
    /// The escape has not ended yet.
    Cut,
}

impl OpenEscape {
    /// Reads the escape, or returns `None` if the text begins with none.
    fn read(text: &[u8]) -> Option<Self> {
        match text {
            [b'\\'] => Some(Self::Cut),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => {
                Some(Self::Whole(2))
            }
            [b'\\', b'u', ..] => {
                let unit = &text[..text.len().min(UNIT)];
                let is_hex = unit[2..].iter().all(u8::is_ascii_hexdigit);
                let whole = if unit.len() == UNIT { Self::Whole(UNIT) } else { Self::Cut };
                is_hex.then_some(whole)
            }
            _ => None,
        }
    }
}

/// Returns whether an escape is the first half of a surrogate pair.
fn is_high(escape: &[u8]) -> bool {
    matches!(escape, [_, b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', ..])
}

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
fn window(text: &[u8], at: usize) -> u64 {
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

    fn check(literal: &str, expect: Option<&str>) {
        assert_eq!(stable_prefix(literal, 0), expect, "{literal}");
        for known in (1..literal.len()).filter(|end| literal.is_char_boundary(*end)) {
            if let Some(shown) = stable_prefix(&literal[..known], 0) {
                assert_eq!(stable_prefix(literal, shown.len()), expect, "{literal} from {shown}");
            }
        }
    }

    #[test]
    fn u2_an_open_string_is_shown_up_to_what_may_change() {
        for whole in ["\"", "\"abc  ", "\"é😀", r#""\n\"\\"#, r#""\u00e9x"#, r#""\ud83d\ude00"#]
        {
            check(whole, Some(&whole[1..]));
        }
        for cut in [r"\", r"\u", r"\u1", r"\u12a", r"\uD83D", r"\udbFf\", r"\ud83d\ude0"] {
            check(&format!("\"ab{cut}"), Some("ab"));
        }
        check(r#""\ud83dx"#, Some(r"\ud83dx"));
        check(r#""\ud83d\n"#, Some(r"\ud83d\n"));
        check(r#""\ude00"#, Some(r"\ude00"));
        check(r#""\ud83d\ud83d"#, Some(r"\ud83d"));
    }

    #[test]
    fn u2_what_can_be_no_string_is_not_shown() {
        for bad in ["\"a\n", "\"\u{0}", r#""\q"#, r#""\u12g"#, r#""a" "#] {
            check(bad, None);
        }
        check(&format!("\"{}\t", "long ".repeat(99)), None);
    }

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
