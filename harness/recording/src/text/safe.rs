//! Text without characters that steer a terminal, change the direction of what follows, or hide: each is written as an
//! escape, `\n` or `\u{202e}`. `clitape_gateway::hidden` says which they are.

use std::fmt;

pub use clitape_gateway::hidden::{Marked, is_hidden, marked};

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
