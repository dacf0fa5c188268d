//! Short excerpts of text that other programs wrote, for a line of a chat.

use crate::sanitise::redact_text;

/// `words` without their secrets, on one line of at most `limit` characters and a `…`.
pub(crate) fn short(words: &str, limit: usize) -> String {
    let words = redact_text(words);
    cut(words.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}

/// The first `limit` characters of `line`, and a `…` if there were more.
pub(crate) fn cut(mut line: String, limit: usize) -> String {
    if let Some((end, _)) = line.char_indices().nth(limit) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b2_words_are_short_and_keep_no_secret() {
        for (words, expect) in [
            ("", ""),
            (" a\n\tb ", "a b"),
            ("TOKEN=abcdefgh\n broke", "TOKEN=*** br…"),
            ("éééééééééééé", "éééééééééééé"),
            ("éééééééééééééé", "éééééééééééé…"),
        ] {
            assert_eq!(short(words, 12), expect, "{words}");
        }
    }
}
