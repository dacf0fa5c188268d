//! Characters of a text that steer its reader, change the direction of what follows, or hide.
//!
//! Every control character, bidirectional mark, zero-width character and noncharacter steers or hides. Three kinds of
//! invisible characters are text where they do their work, and are kept there alone:
//!
//! * U+200D between two emoji, which it makes one (`👩‍👩‍👧`), and a skin tone or U+FE0F may come before it;
//! * U+200C and U+200D between two letters or marks of one of the scripts in `JOINING`, whose spelling
//!   needs them (Persian, Devanagari, Malayalam, Sinhala, …);
//! * one variation selector after a character that has variants: an emoji or the base of a keycap
//!   (`🛠️`, `1️⃣`), a mathematical sign, a Han, Myanmar, Phags-pa or Mongolian letter.
//!
//! Elsewhere they hide.

use std::iter::Peekable;
use std::ops::RangeInclusive;
use std::str::Chars;

type Ranges = &'static [RangeInclusive<char>];

/// Format characters and fillers that no reader sees. They are escaped wherever they are. Control
/// characters and noncharacters are recognised by their numbers.
const HIDDEN: Ranges = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200b}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e00ff}',
    '\u{e01f0}'..='\u{e0fff}',
];

/// Variation selectors, and the characters each of them may follow.
const SELECTORS: [(RangeInclusive<char>, &[Ranges]); 5] = [
    ('\u{fe0e}'..='\u{fe0f}', &[EMOJI, KEYCAPS, HAN]),
    ('\u{fe00}'..='\u{fe0d}', &[SIGNS, HAN]),
    ('\u{180b}'..='\u{180d}', &[MONGOLIAN]),
    ('\u{180f}'..='\u{180f}', &[MONGOLIAN]),
    ('\u{e0100}'..='\u{e01ef}', &[HAN]),
];

/// Emoji and the signs among which they are, without skin tones.
const EMOJI: Ranges = &[
    '\u{a9}'..='\u{a9}',
    '\u{ae}'..='\u{ae}',
    '\u{203c}'..='\u{203c}',
    '\u{2049}'..='\u{2049}',
    '\u{2122}'..='\u{2122}',
    '\u{2139}'..='\u{2139}',
    '\u{2190}'..='\u{21ff}',
    '\u{2300}'..='\u{23ff}',
    '\u{2460}'..='\u{24ff}',
    '\u{25a0}'..='\u{27bf}',
    '\u{2900}'..='\u{297f}',
    '\u{2b00}'..='\u{2bff}',
    '\u{3030}'..='\u{3030}',
    '\u{303d}'..='\u{303d}',
    '\u{3297}'..='\u{3297}',
    '\u{3299}'..='\u{3299}',
    '\u{1f000}'..='\u{1f3fa}',
    '\u{1f400}'..='\u{1faff}',
];
const KEYCAPS: Ranges = &['0'..='9', '#'..='#', '*'..='*'];
const SKIN_TONES: Ranges = &['\u{1f3fb}'..='\u{1f3ff}'];
/// Mathematical signs, and the Myanmar and Phags-pa letters that have variants.
const SIGNS: Ranges =
    &['\u{1000}'..='\u{109f}', '\u{2200}'..='\u{2aff}', '\u{a840}'..='\u{a87f}', '0'..='0'];
const HAN: Ranges = &['\u{2e80}'..='\u{9fff}', '\u{f900}'..='\u{faff}', '\u{20000}'..='\u{3ffff}'];
const MONGOLIAN: Ranges = &['\u{1820}'..='\u{18aa}'];
/// Scripts whose spelling needs U+200C and U+200D: Arabic and its kin, the Indic scripts, Myanmar, Khmer
/// and Mongolian.
const JOINING: Ranges = &[
    '\u{620}'..='\u{8ff}',
    '\u{900}'..='\u{dff}',
    '\u{1000}'..='\u{109f}',
    '\u{1780}'..='\u{17ff}',
    '\u{1820}'..='\u{18aa}',
    '\u{a840}'..='\u{a87f}',
    '\u{fb50}'..='\u{fdff}',
    '\u{fe70}'..='\u{fefc}',
];

fn is_in(ranges: Ranges, c: char) -> bool {
    ranges.iter().any(|range| range.contains(&c))
}

/// Returns whether a character steers, hides or is a noncharacter, wherever it is. U+200C, U+200D
/// and variation selectors are not among these: [`marked`] looks at their neighbours.
pub fn is_hidden(c: char) -> bool {
    let is_none = (c as u32) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
    c.is_control() || is_none || is_in(HIDDEN, c)
}

/// The characters of a text, each with `true` if it must not be shown as it is; [`marked`] makes
/// it.
#[derive(Debug, Clone)]
pub struct Marked<'a> {
    chars: Peekable<Chars<'a>>,
    /// The character before, where it is shown as it is, and the one before that.
    last: Option<char>,
    before: Option<char>,
}

/// Returns the characters of `text`, each with `true` if it steers, hides or is a noncharacter at
/// its place.
pub fn marked(text: &str) -> Marked<'_> {
    Marked { chars: text.chars().peekable(), last: None, before: None }
}

impl Marked<'_> {
    /// Returns whether U+200C or U+200D joins its two neighbours.
    fn joins(&mut self, c: char) -> bool {
        let (Some(last), Some(next)) = (self.last, self.chars.peek().copied()) else {
            return false;
        };
        let is_after = last == '\u{fe0f}' || is_in(SKIN_TONES, last);
        let base = if is_after { self.before } else { Some(last) };
        let emoji = base.is_some_and(|base| is_in(EMOJI, base)) && is_in(EMOJI, next);
        let is_letter = |c: char| is_in(JOINING, c) && !is_hidden(c);
        (c == '\u{200d}' && emoji) || (is_letter(last) && is_letter(next))
    }

    /// Returns whether a variation selector selects; `None` for any other character.
    fn selects(&self, c: char) -> Option<bool> {
        let (_, bases) = SELECTORS.iter().find(|(selectors, _)| selectors.contains(&c))?;
        Some(self.last.is_some_and(|last| bases.iter().any(|ranges| is_in(ranges, last))))
    }
}

impl Iterator for Marked<'_> {
    type Item = (char, bool);

    fn next(&mut self) -> Option<(char, bool)> {
        let c = self.chars.next()?;
        let hides = match c {
            '\u{200c}' | '\u{200d}' => !self.joins(c),
            _ => self.selects(c).map_or_else(|| is_hidden(c), |selects| !selects),
        };
        (self.before, self.last) = (self.last, (!hides).then_some(c));
        Some((c, hides))
    }
}

/// Returns a text in which control characters, direction marks and other characters that no reader sees
/// are signs. Line breaks and tabs stay.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for (c, hides) in marked(text) {
        match c {
            '\n' | '\t' => visible.push(c),
            '\0'..='\u{1f}' => visible.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => visible.push('␡'),
            c if hides => visible.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => visible.push(c),
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_has_a_sign_and_words_stay() {
        for (text, expect) in [
            (
                "a\u{202e}\u{2066}b\u{200b}c\u{ad}d\u{e0041}",
                "a⟨U+202E⟩⟨U+2066⟩b⟨U+200B⟩c⟨U+00AD⟩d⟨U+E0041⟩",
            ),
            ("a\rb\u{7}c\u{85}d\n\te", "a␍b␇c⟨U+0085⟩d\n\te"),
            ("👩‍👩‍👧 🛠️ क्\u{200d}ष مرحبا שלום", "👩‍👩‍👧 🛠️ क्\u{200d}ष مرحبا שלום"),
        ] {
            assert_eq!(visible(text), expect);
            assert_eq!(visible(expect), expect, "what is visible stays");
        }
    }
}
