//! A text without markup and its entities: the output of the parsers of all parse modes, and the source of the HTML of
//! the Bot API, from which all chats are drawn.
//!
//! A bot may send HTML with entities of any kind, Markdown, or a text without markup in which `&lt;` stands for itself.
//! A person reads the same in all of them, so they are drawn from one form.

use serde_json::{Map, Value, json};

/// A text without markup, and its entities as objects of the Bot API.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::chat_server) struct FormattedText {
    /// The text that a person reads.
    pub(in crate::chat_server) text: String,
    /// The entities, ordered by their offsets.
    pub(in crate::chat_server) entities: Vec<Value>,
}

/// A parser of a text with markup; its error is in Telegram's words.
pub(super) type ReadMarkup = fn(&str) -> Result<FormattedText, String>;

/// A text that grows, with its length in UTF-16 units.
#[derive(Debug, Default)]
pub(super) struct EntityOutput {
    pub(super) text: String,
    pub(super) length: usize,
    pub(super) entities: Vec<Value>,
}

impl EntityOutput {
    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
        self.length += c.len_utf16();
    }

    /// Adds an entity from `offset` to the end of the text; an empty one is left out.
    pub(super) fn close(&mut self, kind: &str, offset: usize, extra: &[(&str, &str)]) {
        if self.length == offset {
            return;
        }
        let mut entity = Map::new();
        entity.insert("type".into(), kind.into());
        entity.insert("offset".into(), offset.into());
        entity.insert("length".into(), (self.length - offset).into());
        entity.extend(extra.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        self.entities.push(entity.into());
    }

    pub(super) fn done(mut self) -> FormattedText {
        for entity in self.entities.iter_mut().filter_map(Value::as_object_mut) {
            // Only a `pre` around the code has the language.
            entity.remove("class");
        }
        FormattedText { text: self.text, entities: self.entities }
    }
}

/// Returns whether Telegram makes a link from this address.
pub(super) fn is_link(url: &str) -> bool {
    let known = ["http://", "https://", "tg://", "ton://", "mailto:", "tel:"];
    let has_scheme = known.iter().any(|scheme| url.starts_with(scheme));
    has_scheme || (url.contains('.') && !url.contains(char::is_whitespace) && !url.contains("://"))
}

/// The tag of each kind of entity, links excepted.
const TAGS: [(&str, &str); 9] = [
    ("bold", "b"),
    ("italic", "i"),
    ("underline", "u"),
    ("strikethrough", "s"),
    ("spoiler", "tg-spoiler"),
    ("code", "code"),
    ("pre", "pre"),
    ("blockquote", "blockquote"),
    ("expandable_blockquote", "blockquote"),
];

/// An entity as tags, with its bounds in UTF-16 units.
struct Tagged {
    start: usize,
    end: usize,
    opening: String,
    closing: String,
}

impl Tagged {
    /// Reads an entity; `None` if its kind looks like plain text.
    fn of(entity: &Value) -> Option<Self> {
        let number = |name: &str| usize::try_from(entity[name].as_u64()?).ok();
        let start = number("offset")?;
        let end = start.saturating_add(number("length")?);
        let kind = entity["type"].as_str()?;
        let (opening, closing) = match (kind, entity["url"].as_str(), entity["language"].as_str()) {
            ("text_link", Some(url), _) => {
                (format!("<a href=\"{}\">", escaped(url)), "</a>".to_owned())
            }
            ("pre", _, Some(language)) if !language.is_empty() => (
                format!("<pre><code class=\"language-{}\">", escaped(language)),
                "</code></pre>".to_owned(),
            ),
            _ => {
                let (_, tag) = TAGS.iter().find(|(known, _)| *known == kind)?;
                (format!("<{tag}>"), format!("</{tag}>"))
            }
        };
        Some(Self { start, end, opening, closing })
    }
}

/// Returns the HTML of a text. Of two entities that overlap without nesting, the later one is closed and opened again,
/// as Telegram splits them.
pub(in crate::chat_server) fn html(text: &FormattedText) -> String {
    let mut tagged: Vec<Tagged> = text.entities.iter().filter_map(Tagged::of).collect();
    tagged.sort_by_key(|one| (one.start, usize::MAX - one.end));
    let mut waiting = tagged.into_iter().peekable();
    let mut open: Vec<Tagged> = Vec::new();
    let mut html = String::with_capacity(text.text.len());
    let mut at = 0;
    for c in text.text.chars() {
        close(&mut open, at, &mut html);
        while let Some(next) = waiting.next_if(|next| next.start <= at) {
            if next.end > at {
                html.push_str(&next.opening);
                open.push(next);
            }
        }
        push(c, &mut html);
        at += c.len_utf16();
    }
    close(&mut open, usize::MAX, &mut html);
    html
}

/// Closes the entities that end at a place, and those within them, which are opened again if they continue.
fn close(open: &mut Vec<Tagged>, at: usize, html: &mut String) {
    let Some(first) = open.iter().position(|one| one.end <= at) else { return };
    let closed = open.split_off(first);
    closed.iter().rev().for_each(|one| html.push_str(&one.closing));
    for one in closed.into_iter().filter(|one| one.end > at) {
        html.push_str(&one.opening);
        open.push(one);
    }
}

fn push(c: char, html: &mut String) {
    match c {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        c => html.push(c),
    }
}

/// Returns a text escaped for the value of an attribute.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' => escaped.push_str("&quot;"),
            c => push(c, &mut escaped),
        }
    }
    escaped
}

#[cfg(test)]
pub(super) mod checks {
    use super::ReadMarkup;

    /// Compares the text and the entities, each as `kind offset+length`.
    pub(in crate::chat_server::markup) fn check(
        parse: ReadMarkup,
        source: &str,
        text: &str,
        entities: &str,
    ) {
        let parsed = parse(source).unwrap();
        assert_eq!(parsed.text, text, "{source}");
        let of = |entity: &serde_json::Value| {
            let kind = entity["type"].as_str().unwrap();
            format!("{kind} {}+{}", entity["offset"], entity["length"])
        };
        let found: Vec<String> = parsed.entities.iter().map(of).collect();
        assert_eq!(found.join(", "), entities, "{source}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;
    use super::*;

    #[test]
    fn a_text_of_every_mode_is_drawn_from_one_form() {
        for (mode, source, expect) in [
            (
                Some("HTML"),
                "I&#x27;ll &lt;do&gt; <b>a<i>b</i></b>",
                "I'll &lt;do&gt; <b>a<i>b</i></b>",
            ),
            (
                Some("HTML"),
                "<a href=\"https://e.org/?a&amp;b\">x</a>",
                "<a href=\"https://e.org/?a&amp;b\">x</a>",
            ),
            (
                Some("HTML"),
                "<pre><code class=\"language-sh\">ls &amp;</code></pre>",
                "<pre><code class=\"language-sh\">ls &amp;</code></pre>",
            ),
            (Some("MarkdownV2"), "😀 *b _i_* 1\\.", "😀 <b>b <i>i</i></b> 1."),
            (None, "a &lt; <b>", "a &amp;lt; &lt;b&gt;"),
        ] {
            assert_eq!(html(&parse(source, mode).unwrap()), expect, "{source}");
        }
    }

    #[test]
    fn entities_that_overlap_are_split() {
        let entity = |kind: &str, offset: u64, length: u64| json!({ "type": kind, "offset": offset, "length": length });
        let entities = vec![
            entity("bold", 0, 3),
            entity("italic", 2, 3),
            entity("hashtag", 0, 9),
            entity("code", 9, 9),
        ];
        let text = FormattedText { text: "abcdef".to_owned(), entities };
        assert_eq!(html(&text), "<b>ab<i>c</i></b><i>de</i>f");
    }
}
