//! Reads the Bot API's HTML: the text of a message as runs with marks, or alone.
//!
//! A tag that the API does not know, or one that does not close the open tag, stays text. Entities are decoded only
//! here, by the rules of Telegram, so that `I&#x27;ll` is `I'll` in every drawing and for every rule.

use serde::Serialize;

pub use clitape_gateway::hidden::visible;

/// A run of text and the marks on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The text, with control characters as signs.
    pub text: String,
    /// The marks, with a space between: `b i u s code pre quote spoiler link`, or `own` for a message of the person, or
    /// `button`.
    pub marks: String,
    /// The address of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The mark on a button.
pub const BUTTON: &str = "button";

/// The tags of the Bot API, and the mark of each.
const TAGS: [(&str, &str); 14] = [
    ("b", "b"),
    ("strong", "b"),
    ("i", "i"),
    ("em", "i"),
    ("u", "u"),
    ("ins", "u"),
    ("s", "s"),
    ("strike", "s"),
    ("del", "s"),
    ("code", "code"),
    ("pre", "pre"),
    ("blockquote", "quote"),
    ("tg-spoiler", "spoiler"),
    ("a", "link"),
];

/// The attributes of tags, up to the value: tag, beginning, end.
const ATTRIBUTES: [(&str, &str, &str); 3] = [
    ("a", " href=\"", "\""),
    ("code", " class=\"language-", "\""),
    ("blockquote", " expandable", ""),
];

/// The named entities of the Bot API; any other name is shown as it is written.
const ENTITIES: [(&str, char); 4] = [("lt", '<'), ("gt", '>'), ("amp", '&'), ("quot", '"')];

/// An open tag: its name, its mark, and the address of a link.
struct MarkupTag<'h> {
    name: &'h str,
    mark: &'static str,
    link: Option<String>,
}

/// Returns the runs of a message, with a sign for each hiding character.
pub fn spans(html: &str) -> Vec<Span> {
    let mut spans = runs(html);
    for span in &mut spans {
        span.text = visible(&span.text);
    }
    spans
}

/// Returns the runs of a message, with its characters unchanged.
fn runs(html: &str) -> Vec<Span> {
    let mut open: Vec<MarkupTag<'_>> = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    let mut rest = html;
    loop {
        let (text, special) = rest.split_at(rest.find(['<', '&']).unwrap_or(rest.len()));
        push(&mut spans, &open, text);
        let Some(c) = special.chars().next() else { break };
        if c == '<'
            && let Some((tag, after)) = tag(special)
            && apply(tag, &mut open)
        {
            rest = after;
            continue;
        }
        let (c, length) = entity(special).unwrap_or((c, c.len_utf8()));
        push(&mut spans, &open, c.encode_utf8(&mut [0; 4]));
        rest = &special[length..];
    }
    spans
}

/// Returns a text that is shown unchanged, as a run with these marks.
pub fn literal(text: &str, marks: &str) -> Span {
    Span { text: visible(text), marks: marks.to_owned(), link: None }
}

/// Returns a button as text.
pub fn button(label: &str) -> String {
    format!("[ {label} ]")
}

/// Returns the text that a person reads, with a sign for each hiding character.
pub fn plain(html: &str) -> String {
    spans(html).into_iter().map(|span| span.text).collect()
}

/// Returns the text that a person reads, with its hiding characters, for rules that search them.
pub fn read(html: &str) -> String {
    runs(html).into_iter().map(|span| span.text).collect()
}

/// Returns the text of HTML that the Bot API may refuse: every tag is left out, known or not.
pub fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_name = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic());
        let tag = rest.strip_prefix('<').filter(|tag| is_name(tag.trim_start_matches('/')));
        if let Some((_, after)) = tag.and_then(|tag| tag.split_once('>')) {
            rest = after;
            continue;
        }
        let decoded = entity(rest);
        match decoded {
            Some((c, _)) => text.push(c),
            None => text.push_str(&rest[..1]),
        }
        rest = &rest[decoded.map_or(1, |(_, length)| length)..];
    }
    text + rest
}

/// Splits off the content of a tag, between `<` and `>`; returns it with the rest.
fn tag(html: &str) -> Option<(&str, &str)> {
    let (tag, after) = html.strip_prefix('<')?.split_once('>')?;
    (!tag.contains('<')).then_some((tag, after))
}

/// Opens or closes a tag; returns `false` if the Bot API lacks the tag, or if it closes one that is not open.
fn apply<'h>(tag: &'h str, open: &mut Vec<MarkupTag<'h>>) -> bool {
    if let Some(name) = tag.strip_prefix('/') {
        return match open.last() {
            Some(last) if last.name == name => open.pop().is_some(),
            _ => false,
        };
    }
    let (name, rest) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
    let Some((_, mark)) = TAGS.iter().find(|(known, _)| *known == name) else { return false };
    let value = ATTRIBUTES.iter().find_map(|(of, begin, end)| {
        let value = rest.strip_prefix(begin)?.strip_suffix(end)?;
        (*of == name && !value.contains('"')).then_some(value)
    });
    if !rest.is_empty() && value.is_none() {
        return false;
    }
    let link = value.filter(|_| name == "a").map(plain);
    open.push(MarkupTag { name, mark, link });
    true
}

/// Reads the entity at the start of `html`, such as `&lt;` or `&#x27;`: its character and its length. As in Telegram,
/// its semicolon may be missing.
pub fn entity(html: &str) -> Option<(char, usize)> {
    let name = html.strip_prefix('&')?;
    let (c, length) = if let Some(number) = name.strip_prefix('#') {
        let (digits, radix) = match number.strip_prefix('x') {
            Some(digits) => (digits, 16),
            None => (number, 10),
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let code = u32::from_str_radix(&digits[..end], radix).ok()?;
        let c = char::from_u32(code).filter(|c| *c != '\0')?;
        (c, name.len() - digits.len() + end)
    } else {
        let end = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
        let (_, c) = ENTITIES.iter().find(|(known, _)| *known == &name[..end])?;
        (*c, end)
    };
    let semicolon = usize::from(name[length..].starts_with(';'));
    Some((c, "&".len() + length + semicolon))
}

/// Adds a text with the marks of the open tags.
fn push(spans: &mut Vec<Span>, open: &[MarkupTag<'_>], text: &str) {
    if text.is_empty() {
        return;
    }
    let mut marks: Vec<&str> = open.iter().map(|open| open.mark).collect();
    marks.dedup();
    let marks = marks.join(" ");
    let link = open.iter().find_map(|open| open.link.clone());
    match spans.last_mut() {
        Some(last) if last.marks == marks && last.link == link => last.text.push_str(text),
        _ => spans.push(Span { text: text.to_owned(), marks, link }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares runs, written as `marks:text` with a bar between.
    fn check(html: &str, expect: &str) {
        let runs: Vec<String> =
            spans(html).iter().map(|span| format!("{}:{}", span.marks, span.text)).collect();
        assert_eq!(runs.join("|"), expect, "{html}");
    }

    #[test]
    fn v8_tags_of_the_bot_api_are_marks() {
        check("a <b>b<i>c</i></b> d", ":a |b:b|b i:c|: d");
        check("<pre><code class=\"language-sh\">ls</code></pre>", "pre code:ls");
        check("<a href=\"https://e.org/?a=1&amp;b\">x</a>", "link:x");
        assert_eq!(
            spans("<a href=\"https://e.org/?a=1&amp;b\">x</a>")[0].link.as_deref(),
            Some("https://e.org/?a=1&b")
        );
        check("1 &lt; 2 &amp;amp; &#39;", ":1 < 2 &amp; '");
    }

    #[test]
    fn entities_are_those_of_telegram() {
        for (html, expect) in [
            ("I&#x27;ll, I&#39;ll", "I'll, I'll"),
            ("&lt;b&gt; &quot;&amp;amp;", "<b> \"&amp;"),
            ("&#x1F600;&#65", "😀A"),
            // Telegram knows no other names, and no zero.
            (
                "&apos; &nbsp; &bogus; & &; &#; &#x; &#0; &#xD800;",
                "&apos; &nbsp; &bogus; & &; &#; &#x; &#0; &#xD800;",
            ),
        ] {
            assert_eq!(read(html), expect, "{html}");
            assert_eq!(without_tags(html), expect, "{html}");
        }
    }

    #[test]
    fn a_text_without_tags_has_none_that_the_api_refuses() {
        for (html, expect) in
            [("<b>a</b> &amp; <x y=\"z\">c</x></p>", "a & c"), ("1 < 2 <3 </ <", "1 < 2 <3 </ <")]
        {
            assert_eq!(without_tags(html), expect, "{html}");
        }
    }

    #[test]
    fn v8_everything_else_is_text() {
        for html in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<b onclick=\"x\">",
            "<a href=\"x\" onclick=\"y\">",
            "</b>",
            "a < b > c",
            "<",
            "<b",
        ] {
            assert_eq!(plain(html), html);
        }
        check("<b>x</i>", "b:x</i>");
    }

    #[test]
    fn control_characters_are_signs() {
        check("a\u{1b}[31mb\n\u{202e}", ":a␛[31mb\n⟨U+202E⟩");
        assert_eq!(read("<b>a</b>\u{202e}"), "a\u{202e}");
    }
}
