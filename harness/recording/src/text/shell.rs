//! Words of a shell.

use std::fmt::Write as _;

use super::safe::{commands, marked};

/// `word` as one word of a POSIX shell; a plain one stays as it is. A word with what must not be printed
/// becomes `$'…'`, as bash, zsh and ksh read it.
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

/// The words of the commands in a line that joins them with `&&`; `None` when a word is not quoted as [`shell_quote`]
/// quotes it, so that a shell could read something else.
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

/// The first word of a line, and what comes after it.
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

/// A word after its `$'`, and what comes after it.
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
