//! JSON on its way to a terminal or a log.

use std::fmt::Write as _;

use super::safe::{commands, marked};

/// The same JSON value with every character escaped that steers or hides, and without text that GitHub
/// Actions takes for a command (`##[`). Such characters are only in strings, so the structure around
/// them need not be known; line breaks between values stay.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
