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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn issue_13_finding_16_a_word_is_one_word_of_a_shell() {
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
            let shell = Command::new("bash").args(["-c", &format!("printf %s {quoted}")]).output();
            assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap(), word);
        }
    }
}
