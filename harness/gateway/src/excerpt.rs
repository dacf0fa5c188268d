//! Short excerpts of text that other programs wrote, for a line of a chat: without secrets and control characters, and
//! with the home folder as `~`.

use std::borrow::Cow;

use crate::sanitise::redact_text;

/// The characters that may come before a path.
const BEFORE_PATH: &[char] = &[' ', '"', '\'', '=', ':', '(', ','];
/// The characters that end the first name of a path.
const AFTER_NAME: &[char] = &['/', ' ', '"', '\'', ':', ')', ','];
/// The home folder that has a place of its own, outside the folders of homes.
const SUPERUSER: &str = "/root";

/// The bytes of a text that are read: many more than are shown.
const SCAN_LIMIT: usize = 1 << 16;
/// The bytes that are kept of a word that is longer than [`SCAN_LIMIT`].
const WORD_LIMIT: usize = 1 << 10;

/// `words` without their secrets, on one line of at most `limit` characters and a `…`.
pub(crate) fn short(words: &str, limit: usize) -> String {
    let words = redact_text(words);
    cut(words.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}

/// The beginning of `text`, whole characters of at most `limit` bytes.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The first `limit` characters of `line`, and a `…` if there were more.
pub(crate) fn cut(mut line: String, limit: usize) -> String {
    if let Some((end, _)) = line.char_indices().nth(limit) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Shortens `words` as [`short`] does, but cuts before a space or a slash if one is in the second
/// half.
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

/// The part of `text` that is read, whole words, without its secrets. A cut in the middle of a
/// secret would show a part of it.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    if text.len() <= SCAN_LIMIT {
        return redact_text(text);
    }
    let head = prefix(text, SCAN_LIMIT);
    let whole = head.rsplit_once(char::is_whitespace).map_or(prefix(head, WORD_LIMIT), |(h, _)| h);
    Cow::Owned(redact_text(&format!("{whole} …")).into_owned())
}

/// The first line of `text` that says something, in at most `limit` characters; `None` where there
/// is none.
pub(crate) fn first_line(text: &str, limit: usize) -> Option<String> {
    let text = redacted(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(clip(&home(line), limit))
}

/// All of `text` on one line, in at most `limit` characters. Its secrets are out already.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&home(&line), limit)
}

/// `text` in at most `limit` characters, its middle left out.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let tail = limit / 2;
    let head: String = text.chars().take(limit - tail - 1).collect();
    let tail: String = text.chars().skip(count - tail).collect();
    format!("{head}…{tail}")
}

/// `text` as a chat shows it: a control character is a space, and none turns the direction of what
/// follows it.
pub(crate) fn plain(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|c| !turns(c))
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

/// `count` things with the singular `one`: `1 char`, `2 chars`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// `text` with the home folder of each path as `~`.
fn home(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, path) = rest.split_at(at);
        out.push_str(before);
        let length = match out.chars().next_back() {
            Some(c) if !BEFORE_PATH.contains(&c) => None,
            _ => home_length(path),
        };
        out.push(if length.is_some() { '~' } else { '/' });
        rest = &path[length.unwrap_or(1)..];
    }
    out.push_str(rest);
    out
}

/// Bytes of the home folder that `path` begins with.
fn home_length(path: &str) -> Option<usize> {
    let name = |start: usize| {
        let name = &path[start..];
        name.find(AFTER_NAME).unwrap_or(name.len())
    };
    match ["/home/", "/Users/"].iter().find(|folder| path.starts_with(**folder)) {
        Some(folder) => Some(folder.len() + name(folder.len())).filter(|end| *end > folder.len()),
        None => Some(1 + name(1)).filter(|end| path[..*end] == *SUPERUSER),
    }
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

    #[test]
    fn v2_the_home_folder_is_short() {
        for (text, expect) in [
            ("/home/anna/a.txt", "~/a.txt"),
            ("/Users/anna", "~"),
            ("host:/home/anna/b,/home/bob", "host:~/b,~"),
            ("/rootfs /home/ /homes/x a/home/anna", "/rootfs /home/ /homes/x a/home/anna"),
            ("https://x.example/home/anna", "https://x.example/home/anna"),
            ("//home/anna", "//home/anna"),
        ] {
            assert_eq!(home(text), expect, "{text}");
        }
        let of_root = "DIR/x DIR \"DIR\"".replace("DIR", SUPERUSER);
        assert_eq!(home(&of_root), "~/x ~ \"~\"");
    }

    #[test]
    fn v2_values_are_one_short_line() {
        assert_eq!(first_line("\n  a b \nc", 9), Some("a b".to_owned()));
        assert_eq!(first_line(" \n\t", 9), None);
        let words = "x ".repeat(SCAN_LIMIT);
        assert!(redacted(&words).len() < SCAN_LIMIT + 4 && redacted(&words).ends_with("x …"));
        assert_eq!(redacted(&"é".repeat(SCAN_LIMIT)).len(), WORD_LIMIT + 4);
        assert_eq!(one_line(" a\n\tb ", 9), "a b");
        assert_eq!(clip("äbcdefgh", 5), "äb…gh");
        assert_eq!(clip(&"x".repeat(161), 160).chars().filter(|c| *c == 'x').count(), 159);
        assert_eq!(plain("a\u{202e}b\u{7}c\u{2028}d"), "ab c d");
        assert_eq!((counted(1, "char"), counted(2, "edit")), ("1 char".into(), "2 edits".into()));
    }
}
