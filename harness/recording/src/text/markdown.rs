//! Writes recorded text into Markdown, as a block or a span of code, which the text cannot leave.
//!
//! GitHub shows text unchanged only in code: a backslash does not keep `@name` and `#1` from becoming a mention or a
//! reference. So all text that is not plain prose is written as code.

use super::safe::plain;

/// Returns a fence for a code block of `text`: longer than every run of backquotes or tildes in it.
pub fn fence(text: &str) -> String {
    "`".repeat((longest_run(text, '`').max(longest_run(text, '~')) + 1).max(3))
}

/// Writes a code block of `text`, in which `language` may be empty. Its lines end with LF; every other character is
/// copied unchanged.
pub fn block(language: &str, text: &str) -> String {
    let fence = fence(text);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// Writes `text` as a span of code on one line, whatever backquotes it has.
pub fn code(text: &str) -> String {
    let text = one_line(text);
    let ticks = "`".repeat(longest_run(&text, '`') + 1);
    let is_bare = !text.is_empty() && !text.starts_with('`') && !text.ends_with('`');
    let pad = if is_bare { "" } else { " " };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Writes `text` on one line within a paragraph: unchanged if only its own spans of code have a meaning in Markdown or
/// on GitHub, else as one span of code.
pub fn inline(text: &str) -> String {
    let text = one_line(text);
    if is_prose(&text) { text } else { code(&text) }
}

/// Joins blanks and line breaks to one blank, and escapes characters that steer or hide.
fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_prose(text: &str) -> bool {
    let is_known = |c: char| !c.is_ascii_punctuation() || "_-.,;:!?()'\"/+=%".contains(c);
    let shortcode = |word: &str| word.matches(':').count() > 1;
    let spans = !text.contains("``") && text.matches('`').count().is_multiple_of(2);
    let text = text.replace('`', "");
    let is_odd = |word: &str| is_link(word) || shortcode(word);
    spans && text.chars().all(is_known) && !text.split(' ').any(is_odd)
}

/// Returns whether GitHub makes a link of a word: an address, a commit, or an issue (`GH-1`).
fn is_link(word: &str) -> bool {
    let lower = word.to_lowercase();
    let address = lower.contains("://") || lower.contains("www.") || lower.contains("mailto:");
    let emphasis = word.split(|c: char| !c.is_alphanumeric() && c != '_');
    let emphasis = emphasis.into_iter().any(|word| word.starts_with('_') || word.ends_with('_'));
    let parts = || word.split(|c: char| !c.is_ascii_alphanumeric());
    let commit =
        parts().any(|part| part.len() >= 7 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let is_key =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
    let issue = word.split_once('-').is_some_and(|(key, number)| {
        key.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().is_some_and(is_key)
            && number.starts_with(|c: char| c.is_ascii_digit())
    });
    address || emphasis || commit || issue
}

fn longest_run(text: &str, mark: char) -> usize {
    text.split(|c| c != mark).map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        for (text, expect) in [("a", "```"), ("a ```` b ``", "`````"), ("~~~~\n", "`````")] {
            assert_eq!(fence(text), expect);
        }
        assert_eq!(block("sh", "a\n```"), "````sh\na\n```\n````\n");
    }

    #[test]
    fn code_holds_any_backquotes() {
        for (text, expect) in
            [("a", "`a`"), ("`a``", "``` `a`` ```"), ("", "`  `"), ("a\n  b\u{7}", r"`a b\u{7}`")]
        {
            assert_eq!(code(text), expect);
        }
    }

    #[test]
    fn prose_stays_and_all_else_is_code() {
        for text in [
            "Two equal calls in a row are two calls (shown as one line, times two), 0.7 s.",
            "--continue takes the session; NO_REPLY, 20,000 characters: Grüße 🛠️",
            "held by `clitape test`",
        ] {
            assert_eq!(inline(text), text);
        }
        for text in [
            "<img src=x>",
            "<!--",
            "*a*",
            "_a_ b",
            "@somebody",
            "openclaw#1",
            "[a](b)",
            "see https://e.org",
            "www.e.org",
            "GH-12",
            "(ABC-1)",
            "1a2b3c4",
            ":tada:",
            "a | b",
            "&amp;",
            "$x$",
            "\\",
            "``x`",
            "a ` b",
            "`<b>`c",
        ] {
            let made = inline(text);
            let events: Vec<Event<'_>> = Parser::new_ext(&made, Options::all()).collect();
            let [Event::Start(Tag::Paragraph), Event::Code(code), Event::End(_)] = &events[..]
            else {
                panic!("{made}: {events:?}");
            };
            assert_eq!(code.as_ref(), text);
        }
    }
}
