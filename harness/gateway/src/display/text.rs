//! Text on its way into a line: one line, short, without secrets, the home folder as `~`.

use std::borrow::Cow;

use crate::excerpt::prefix;
use crate::sanitise::redact_text;

/// What parts a path from the words before it.
const BEFORE_PATH: &[char] = &[' ', '"', '\'', '=', ':', '(', ','];
/// What ends the first name of a path.
const AFTER_NAME: &[char] = &['/', ' ', '"', '\'', ':', ')', ','];

/// The home folder that is in no folder of homes.
const SUPERUSER: &str = "/root";

/// Bytes of a text that are looked at: many more than are shown.
const SCAN_LIMIT: usize = 1 << 16;
/// Bytes that are kept of a word that is longer than that.
const WORD_LIMIT: usize = 1 << 10;

/// As much of `text` as is looked at, whole words, without its secrets. What ends in the middle of
/// a secret would show a part of it.
pub(super) fn redacted(text: &str) -> Cow<'_, str> {
    if text.len() <= SCAN_LIMIT {
        return redact_text(text);
    }
    let head = prefix(text, SCAN_LIMIT);
    let whole = head.rsplit_once(char::is_whitespace).map_or(prefix(head, WORD_LIMIT), |(h, _)| h);
    Cow::Owned(redact_text(&format!("{whole} …")).into_owned())
}

/// The first line of `text` that says something, in at most `limit` characters; `None` where there
/// is none.
pub(super) fn first_line(text: &str, limit: usize) -> Option<String> {
    let text = redacted(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(clip(&home(line), limit))
}

/// All of `text` on one line, in at most `limit` characters. Its secrets are out already.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&home(&line), limit)
}

/// `text` in at most `limit` characters, its middle left out.
pub(super) fn clip(text: &str, limit: usize) -> String {
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
pub(super) fn plain(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|c| !turns(c))
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

/// `count` things, `one` being what one is called: `1 char`, `2 chars`.
pub(super) fn counted(count: usize, one: &str) -> String {
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
