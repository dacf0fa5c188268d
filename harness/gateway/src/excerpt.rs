//! Short excerpts of text that other programs wrote, for a line of a chat.

use crate::sanitise::redact_text;

/// `words` without their secrets, on one line of at most `limit` characters and a `…`.
pub(crate) fn short(words: &str, limit: usize) -> String {
    let words = redact_text(words);
    cut(words.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}

/// The beginning of `text`, whole characters of at most `limit` bytes.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The first `limit` characters of `line`, and a `…` if there were more.
pub(crate) fn cut(mut line: String, limit: usize) -> String {
    if let Some((end, _)) = line.char_indices().nth(limit) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// As [`short`], but cut before a space or a slash where one is in the second half.
pub(crate) fn short_by_words(words: &str, limit: usize) -> String {
    let whole = short(words, limit);
    let Some(line) = whole.strip_suffix('…').filter(|line| line.chars().count() == limit) else {
        return whole;
    };
    let next = short(words, limit + 1).chars().nth(limit);
    let end = if matches!(next, Some(' ' | '/')) { None } else { line.rfind([' ', '/']) };
    let end = end.filter(|end| *end >= line.len() / 2).unwrap_or(line.len());
    format!("{}…", line[..end].trim_end())
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

    #[test]
    fn an_excerpt_ends_with_a_whole_word() {
        for (words, expect) in [
            ("touch made", "touch made"),
            ("touch made here", "touch made…"),
            ("touch a/made now", "touch a/made…"),
            ("touch a/made/now", "touch a/made…"),
            ("a touch/made/now", "a touch/made…"),
            ("touch a; ls /made", "touch a; ls…"),
        ] {
            assert_eq!(short_by_words(words, 12), expect, "{words}");
        }
    }
}
