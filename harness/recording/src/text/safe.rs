//! Makes text safe: each character that steers a terminal, changes the direction of the text behind it, or hides
//! becomes an escape, `\n` or `\u{202e}`. `clitape_gateway::hidden` lists these characters. JSON and the words of a
//! shell keep their syntax.

use std::fmt::{self, Write as _};

pub use clitape_gateway::hidden::{Marked, is_hidden, marked};

/// Returns whether `c` turns the text before it into a command that GitHub Actions (`##[…]`) or another reader of logs
/// (`##word[…]`) obeys anywhere in a line.
fn commands(before: &str, c: char) -> bool {
    c == '[' && before.trim_end_matches(|c: char| c.is_ascii_lowercase()).ends_with("##")
}

/// A text without characters that a terminal, an editor, a log or a parser of reports could obey.
///
/// A safe text stays unchanged, so that making it safe again has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TerminalSafe(String);

impl TerminalSafe {
    /// Makes a text safe on one line: line breaks and tabs are escaped too.
    pub fn line(text: &str) -> Self {
        Self(escaped(text, false))
    }

    /// Makes a text safe with its line breaks; a tab becomes blanks up to the next multiple of eight columns.
    pub fn lines(text: &str) -> Self {
        Self(escaped(&text.replace("\r\n", "\n"), true))
    }

    /// Returns the text.
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

/// Returns `text` on one line, safe to be printed: [`TerminalSafe::line`].
pub fn plain(text: &str) -> String {
    TerminalSafe::line(text).into()
}

/// Returns the same JSON value with every steering or hiding character escaped, and without text that GitHub Actions
/// takes for a command (`##[`). Such characters are only in strings, so the structure around them need not be known;
/// line breaks between values stay.
pub fn json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for (c, hides) in marked(json) {
        if commands(&safe, c) || hides && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A write to a `String` never fails.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Quotes `word` as one word of a POSIX shell; a plain one stays unchanged. A word with unprintable characters becomes
/// `$'…'`, as bash, zsh and ksh read it.
pub fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@+,=".contains(c);
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let speaks = |(at, c): (usize, char)| commands(&word[..at], c);
    if marked(word).all(|(_, hides)| !hides) && !word.char_indices().any(speaks) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for (c, hides) in marked(word) {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if hides || commands(&quoted, c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    // A write to a `String` never fails.
                    let _ = write!(quoted, "\\x{byte:02x}");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

/// Returns the words of the commands in a line that joins them with `&&`; `None` if a word is not quoted as
/// [`shell_quote`] does it, because a shell could then read it differently.
pub fn shell_words(line: &str) -> Option<Vec<Vec<String>>> {
    let (mut commands, mut words, mut rest) = (Vec::new(), Vec::new(), line);
    loop {
        let (word, after) = first_word(rest)?;
        let raw = &rest[..rest.len() - after.len()];
        match raw {
            "&&" => commands.push(std::mem::take(&mut words)),
            _ if shell_quote(&word) == raw => words.push(word),
            _ => return None,
        }
        match after.strip_prefix(' ') {
            Some(more) => rest = more,
            None if after.is_empty() => break,
            None => return None,
        }
    }
    commands.push(words);
    Some(commands)
}

/// Returns the first word of a line, and the rest.
fn first_word(line: &str) -> Option<(String, &str)> {
    if let Some(escaped) = line.strip_prefix("$'") {
        return escaped_word(escaped);
    }
    if !line.starts_with('\'') {
        let end = line.find(' ').unwrap_or(line.len());
        return Some((line[..end].to_owned(), &line[end..]));
    }
    let (mut word, mut rest) = (String::new(), &line[1..]);
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        match after.strip_prefix(r"\''") {
            Some(more) => {
                word.push('\'');
                rest = more;
            }
            None => return Some((word, after)),
        }
    }
}

/// Returns a word after its `$'`, and the rest.
fn escaped_word(line: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = line.as_bytes();
    loop {
        rest = match rest {
            [b'\'', after @ ..] => {
                let after = &line[line.len() - after.len()..];
                return Some((String::from_utf8(bytes).ok()?, after));
            }
            [b'\\', b'x', high, low, after @ ..] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                after
            }
            [b'\\', escape, after @ ..] => {
                bytes.push(match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

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
            // Words of Persian, Hindi and Malayalam, which need these characters.
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

    #[test]
    fn json_has_no_character_a_terminal_obeys() {
        for (text, expect) in [
            ("a\u{9b}31m\u{7f}\u{202e}\u{200b}", r#""a\u009b31m\u007f\u202e\u200b""#),
            ("\u{e0041}🛠️ ü", r#""\udb40\udc41🛠️ ü""#),
            ("##[error]x ##vso[y] #[z] [", r###""##\u005berror]x ##vso\u005by] #[z] [""###),
        ] {
            let made = json(&serde_json::to_string(text).unwrap());
            assert_eq!(made, expect);
            assert_eq!(serde_json::from_str::<String>(&made).unwrap(), text, "the same value");
        }
        assert_eq!(json("[\n  []\n]\n"), "[\n  []\n]\n");
    }

    #[test]
    fn a_word_is_one_word_of_a_shell() {
        for (word, expect) in [
            ("plain-text", "plain-text"),
            ("scenarios/a/golden/bus.2.1.329.snap", "scenarios/a/golden/bus.2.1.329.snap"),
            ("npm:2.1.329", "npm:2.1.329"),
            ("", "''"),
            ("=ls", "'=ls'"),
            ("~", "'~'"),
            ("a b;touch pwned;$(id).snap", "'a b;touch pwned;$(id).snap'"),
            ("it's `x`", r"'it'\''s `x`'"),
            ("Grüße 🛠️", "'Grüße 🛠️'"),
            ("a ##[x", r"$'a ##\x5bx'"),
            ("\u{1b}]52;c\u{7}\n'\\\u{202e}", r"$'\x1b]52;c\x07\n\'\\\xe2\x80\xae'"),
        ] {
            let quoted = shell_quote(word);
            assert_eq!(quoted, expect);
            let line = format!("a {quoted} && {quoted}");
            let commands = [vec!["a".to_owned(), word.to_owned()], vec![word.to_owned()]];
            assert_eq!(shell_words(&line).as_deref(), Some(&commands[..]), "{line}");
            let shell = Command::new("bash").args(["-c", &format!("printf %s {quoted}")]).output();
            assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap(), word);
        }
    }
}
