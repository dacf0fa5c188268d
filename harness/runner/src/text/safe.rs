//! Text without characters that steer a terminal, change the direction of what follows, or hide.
//!
//! Every control character, bidirectional mark, zero-width character and noncharacter is written as an
//! escape, `\n` or `\u{202e}`. Three kinds of invisible characters are text where they do their work, and
//! are kept there alone:
//!
//! * U+200D between two emoji, which it makes one (`👩‍👩‍👧`), and a skin tone or U+FE0F may come before it;
//! * U+200C and U+200D between two letters or marks of one of the scripts in [`JOINING`], whose spelling
//!   needs them (Persian, Devanagari, Malayalam, Sinhala, …);
//! * one variation selector after a character that has variants: an emoji or the base of a keycap
//!   (`🛠️`, `1️⃣`), a mathematical sign, a Han, Myanmar, Phags-pa or Mongolian letter.
//!
//! Elsewhere they hide, and are escaped as well.

use std::fmt;
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

/// Whether a character steers, hides or is none, wherever it is. U+200C, U+200D and variation
/// selectors are not among these: [`marked`] looks at what is around them.
pub fn is_hidden(c: char) -> bool {
    let is_none = (c as u32) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
    c.is_control() || is_none || is_in(HIDDEN, c)
}

/// The characters of a text, each with whether it must not be shown as it is; [`marked`] makes it.
#[derive(Debug, Clone)]
pub struct Marked<'a> {
    chars: Peekable<Chars<'a>>,
    /// The character before, where it is shown as it is, and the one before that.
    last: Option<char>,
    before: Option<char>,
}

/// The characters of `text`, each with whether it steers, hides or is none at its place.
pub fn marked(text: &str) -> Marked<'_> {
    Marked { chars: text.chars().peekable(), last: None, before: None }
}

impl Marked<'_> {
    /// Whether U+200C or U+200D joins what is on both of its sides.
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

    /// Whether a variation selector selects; `None` where the character is none.
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

/// Whether `c` makes what is before it a command that GitHub Actions (`##[…]`) or another reader of logs
/// (`##word[…]`) obeys anywhere in a line.
pub(super) fn commands(before: &str, c: char) -> bool {
    c == '[' && before.trim_end_matches(|c: char| c.is_ascii_lowercase()).ends_with("##")
}

/// Text with nothing in it that a terminal, an editor, a log or a parser of reports could obey.
///
/// A text that is safe stays as it is, so that making it safe again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TerminalSafe(String);

impl TerminalSafe {
    /// The text on one line: line breaks and tabs are escaped too.
    pub fn line(text: &str) -> Self {
        Self(escaped(text, false))
    }

    /// The text with its line breaks; a tab becomes blanks up to the next multiple of eight columns.
    pub fn lines(text: &str) -> Self {
        Self(escaped(&text.replace("\r\n", "\n"), true))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TerminalSafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<TerminalSafe> for String {
    fn from(text: TerminalSafe) -> Self {
        text.0
    }
}

fn escaped(text: &str, many: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut column = 0;
    for (c, hides) in marked(text) {
        column += 1;
        match c {
            '\n' if many => {
                safe.push(c);
                column = 0;
            }
            '\t' if many => {
                let stop = (column - 1) / 8 * 8 + 8;
                safe.extend(std::iter::repeat_n(' ', stop + 1 - column));
                column = stop;
            }
            c if hides => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    safe
}

/// `text` on one line, safe to be printed: [`TerminalSafe::line`].
pub fn plain(text: &str) -> String {
    TerminalSafe::line(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(plain(text), expect, "{}", text.escape_unicode());
        assert_eq!(plain(expect), expect, "what is safe stays");
    }

    #[test]
    fn what_could_be_obeyed_is_escaped_and_the_rest_stays() {
        for (text, expect) in [
            ("Grüße <b>&amp; \\n ]]>", "Grüße <b>&amp; \\n ]]>"),
            ("\u{1b}[31mred\r\n\tend\u{7}", r"\u{1b}[31mred\r\n\tend\u{7}"),
            ("\u{202e}gpj.exe\u{85}\u{2028}\u{ffff}", r"\u{202e}gpj.exe\u{85}\u{2028}\u{ffff}"),
            ("\u{9b}31m\u{7f}\0", r"\u{9b}31m\u{7f}\u{0}"),
            ("a\u{200b}b\u{ad}\u{2060}\u{e0041}", r"a\u{200b}b\u{ad}\u{2060}\u{e0041}"),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn invisible_characters_stay_where_they_are_text() {
        for text in [
            "🛠️ 👩‍👩‍👧 👩🏽‍🚀 👁️‍🗨️ ❤️‍🔥 1️⃣ 🇩🇪",
            // Persian, Hindi, Malayalam.
            "می\u{200c}خواهم क्\u{200d}ष ന്\u{200d}മ",
            "葛\u{e0100} \u{2229}\u{fe00}",
        ] {
            check(text, text);
        }
        for (text, expect) in [
            ("a\u{200d}b \u{200d}👩", r"a\u{200d}b \u{200d}👩"),
            ("👩\u{200d}\u{200d}👩", r"👩\u{200d}\u{200d}👩"),
            ("👩\u{fe0f}\u{fe0f}\u{200d}👩", "👩\u{fe0f}\\u{fe0f}\\u{200d}👩"),
            ("pass\u{fe0f}word\u{e0101}", r"pass\u{fe0f}word\u{e0101}"),
            ("न\u{200b}\u{200d}म", r"न\u{200b}\u{200d}म"),
            ("م\u{200c}x", r"م\u{200c}x"),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn whatever_unicode_calls_invisible_is_escaped_when_it_is_alone() {
        let invisible =
            regex::Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}]$").unwrap();
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            if invisible.is_match(&text) {
                assert_ne!(plain(&text), text, "U+{:04X}", u32::from(c));
            }
        }
    }

    #[test]
    fn lines_keep_their_breaks_and_nothing_else() {
        for (text, expect) in [
            ("a\n::b\r\nc\rd", "a\n::b\nc\\rd"),
            ("\tx\n12345678\ty\n1\tz", "        x\n12345678        y\n1       z"),
            ("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c"),
        ] {
            let safe = TerminalSafe::lines(text);
            assert_eq!(safe.as_str(), expect);
            assert_eq!(TerminalSafe::lines(expect), safe, "what is safe stays");
        }
    }
}
