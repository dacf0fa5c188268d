//! Reads Telegram's HTML.

use clitape_recording::text::markup::entity;

use super::text::{EntityOutput, FormattedText, is_link};

/// Each tag with the entity that it makes; a `span` must be a spoiler.
const TAGS: [(&str, &str); 17] = [
    ("a", "text_link"),
    ("b", "bold"),
    ("strong", "bold"),
    ("i", "italic"),
    ("em", "italic"),
    ("s", "strikethrough"),
    ("strike", "strikethrough"),
    ("del", "strikethrough"),
    ("u", "underline"),
    ("ins", "underline"),
    ("tg-spoiler", "spoiler"),
    ("span", "spoiler"),
    ("tg-emoji", "custom_emoji"),
    ("tg-time", "date_time"),
    ("pre", "pre"),
    ("code", "code"),
    ("blockquote", "blockquote"),
];

/// A tag that is still open.
struct OpenTag {
    name: String,
    argument: String,
    /// The start of its text, in UTF-16 units.
    offset: usize,
    /// The start of its text, in bytes.
    start: usize,
}

/// The text with a position in it; a read past the end returns a zero byte.
pub(super) struct HtmlReader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl HtmlReader<'_> {
    pub(super) fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    pub(super) fn skip_while(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.byte() != 0 && is_skipped(self.byte()) {
            self.at += 1;
        }
    }

    pub(super) fn since(&self, start: usize) -> String {
        self.text.get(start..self.at).unwrap_or_default().to_owned()
    }

    pub(super) fn char(&mut self) -> Option<char> {
        let c = self.text.get(self.at..)?.chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads an entity such as `&lt;` or `&#38;`.
    pub(super) fn entity(&mut self) -> Option<char> {
        let (c, length) = entity(&self.text[self.at..])?;
        self.at += length;
        Some(c)
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Reads a text with HTML markup; the error is in Telegram's words.
pub(super) fn parse(text: &str) -> Result<FormattedText, String> {
    let mut reader = HtmlReader { text, at: 0 };
    let mut output = EntityOutput::default();
    let mut open: Vec<OpenTag> = Vec::new();
    while reader.at < text.len() {
        match reader.byte() {
            b'&' => {
                let c = reader.entity().or_else(|| reader.char());
                output.push(c.unwrap_or_default());
            }
            b'<' if text.as_bytes().get(reader.at + 1) == Some(&b'/') => {
                end_tag(&mut reader, &mut output, &mut open)?;
            }
            b'<' => {
                let (name, argument) = start_tag(&mut reader)?;
                let (offset, start) = (output.length, output.text.len());
                open.push(OpenTag { name, argument, offset, start });
            }
            _ => output.push(reader.char().unwrap_or_default()),
        }
    }
    match open.last() {
        None => Ok(output.done()),
        Some(tag) => Err(format!("Can't find end tag corresponding to start tag \"{}\"", tag.name)),
    }
}

/// Reads a start tag; returns its name and the attribute that counts.
fn start_tag(reader: &mut HtmlReader<'_>) -> Result<(String, String), String> {
    let begin = reader.at;
    reader.at += 1;
    reader.skip_while(|byte| !is_space(byte) && byte != b'>');
    if reader.byte() == 0 {
        return Err(format!("Unclosed start tag at byte offset {begin}"));
    }
    let name = reader.since(begin + 1).to_lowercase();
    if !TAGS.iter().any(|(known, _)| *known == name) {
        return Err(format!("Unsupported start tag \"{name}\" at byte offset {begin}"));
    }
    let mut argument = String::new();
    loop {
        reader.skip_while(is_space);
        match reader.byte() {
            b'>' => break,
            0 => return Err(format!("Unclosed start tag \"{name}\" at byte offset {begin}")),
            _ => {}
        }
        let (attribute, value) = attribute(reader, &name, begin)?;
        match (name.as_str(), attribute.as_str()) {
            ("a", "href") | ("tg-emoji", "emoji-id") => argument = value,
            ("code" | "span", "class") => argument = value,
            ("blockquote", "expandable") => argument = "expandable".to_owned(),
            _ => {}
        }
    }
    reader.at += 1;
    if name == "span" && argument != "tg-spoiler" {
        let words = "Tag \"span\" must have class \"tg-spoiler\" at byte offset";
        return Err(format!("{words} {begin}"));
    }
    Ok((name, argument))
}

/// Reads an attribute: its name, and its value if it has one.
fn attribute(
    reader: &mut HtmlReader<'_>,
    tag: &str,
    begin: usize,
) -> Result<(String, String), String> {
    let start = reader.at;
    reader.skip_while(|byte| !is_space(byte) && !b"=>/\"'".contains(&byte));
    let name = reader.since(start);
    if name.is_empty() {
        return Err(format!("Empty attribute name in the tag \"{tag}\" at byte offset {begin}"));
    }
    let unclosed = || format!("Unclosed start tag \"{tag}\" at byte offset {begin}");
    reader.skip_while(is_space);
    match reader.byte() {
        b'=' => reader.at += 1,
        0 => return Err(unclosed()),
        _ => return Ok((name, String::new())),
    }
    reader.skip_while(is_space);
    let value = match reader.byte() {
        0 => return Err(unclosed()),
        quote @ (b'"' | b'\'') => {
            reader.at += 1;
            let mut value = String::new();
            while reader.byte() != quote && reader.byte() != 0 {
                let entity = (reader.byte() == b'&').then(|| reader.entity()).flatten();
                value.extend(entity.or_else(|| reader.char()));
            }
            reader.at += usize::from(reader.byte() == quote);
            value
        }
        _ => {
            let start = reader.at;
            reader.skip_while(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
            if !is_space(reader.byte()) && reader.byte() != b'>' && reader.byte() != 0 {
                return Err(format!("Unexpected end of name token at byte offset {start}"));
            }
            reader.since(start).to_lowercase()
        }
    };
    match reader.byte() {
        0 => Err(format!("Unclosed start tag at byte offset {begin}")),
        _ => Ok((name, value)),
    }
}

/// Reads an end tag and adds the entity that ends there.
fn end_tag(
    reader: &mut HtmlReader<'_>,
    output: &mut EntityOutput,
    open: &mut Vec<OpenTag>,
) -> Result<(), String> {
    let begin = reader.at;
    let Some(tag) = open.pop() else {
        return Err(format!("Unexpected end tag at byte offset {begin}"));
    };
    reader.at += 2;
    reader.skip_while(|byte| !is_space(byte) && byte != b'>');
    let name = reader.since(begin + 2).to_lowercase();
    reader.skip_while(is_space);
    if reader.byte() != b'>' {
        return Err(format!("Unclosed end tag at byte offset {begin}"));
    }
    reader.at += 1;
    if !name.is_empty() && name != tag.name {
        return Err(format!(
            "Unmatched end tag at byte offset {begin}, expected \"</{}>\", found \"</{name}>\"",
            tag.name
        ));
    }
    close(output, &tag);
    Ok(())
}

/// Adds the entity of a tag whose text ends here.
fn close(output: &mut EntityOutput, tag: &OpenTag) {
    let row = TAGS.iter().find(|(name, _)| *name == tag.name);
    let kind = row.map_or("", |(_, kind)| kind);
    match kind {
        "text_link" => {
            let own = output.text[tag.start..].to_owned();
            let url = if tag.argument.is_empty() { own } else { tag.argument.clone() };
            if is_link(&url) {
                output.close(kind, tag.offset, &[("url", &url)]);
            }
        }
        "pre" => {
            let length = output.length - tag.offset;
            let is_its_code = output.entities.last().is_some_and(|last| {
                last["type"] == "code" && last["offset"] == tag.offset && last["length"] == length
            });
            let code = is_its_code.then(|| output.entities.pop()).flatten();
            let class = code.and_then(|code| code["class"].as_str().map(str::to_owned));
            match class {
                Some(language) => output.close(kind, tag.offset, &[("language", &language)]),
                None => output.close(kind, tag.offset, &[]),
            }
        }
        "code" => match tag.argument.strip_prefix("language-") {
            Some(language) => output.close(kind, tag.offset, &[("class", language)]),
            None => output.close(kind, tag.offset, &[]),
        },
        "blockquote" if !tag.argument.is_empty() => {
            output.close("expandable_blockquote", tag.offset, &[]);
        }
        "custom_emoji" => {
            output.close(kind, tag.offset, &[("custom_emoji_id", &tag.argument)]);
        }
        _ => output.close(kind, tag.offset, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::checks::check;
    use super::*;

    #[test]
    fn text_and_entities_come_out() {
        for (html, text, entities) in [
            ("a &lt;b&gt; &amp;amp; &#39;&#x1F600;", "a <b> &amp; '😀", ""),
            ("<b>x<i>y</i></b>", "xy", "italic 1+1, bold 0+2"),
            ("😀<code>x</code>", "😀x", "code 2+1"),
            ("<pre><code class=\"language-sh\">ls</code></pre>", "ls", "pre 0+2"),
            ("<a href=\"https://e.org/?a=1&amp;b\">x</a>", "x", "text_link 0+1"),
            ("<blockquote expandable>x</blockquote>", "x", "expandable_blockquote 0+1"),
            ("<span class=\"tg-spoiler\">x</span><b></b>", "x", "spoiler 0+1"),
            ("<B>x</>", "x", "bold 0+1"),
        ] {
            check(parse, html, text, entities);
        }
        let parsed = parse("<pre><code class=\"language-sh\">ls</code></pre>").unwrap();
        assert_eq!(parsed.entities[0]["language"], "sh");
    }

    #[test]
    fn errors_are_those_of_telegram() {
        for (html, expect) in [
            ("a <b>x", "Can't find end tag corresponding to start tag \"b\""),
            ("a <div>x</div>", "Unsupported start tag \"div\" at byte offset 2"),
            ("é < b", "Unsupported start tag \"\" at byte offset 3"),
            ("a <b", "Unclosed start tag at byte offset 2"),
            ("x</b>", "Unexpected end tag at byte offset 1"),
            (
                "<b><i>x</b></i>",
                "Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\"",
            ),
            ("<b>x</b", "Unclosed end tag at byte offset 4"),
            ("<br/>x", "Unsupported start tag \"br/\" at byte offset 0"),
            ("<a =x>y</a>", "Empty attribute name in the tag \"a\" at byte offset 0"),
            ("<a href=x/y>z</a>", "Unexpected end of name token at byte offset 8"),
            (
                "<span class=\"x\">y</span>",
                "Tag \"span\" must have class \"tg-spoiler\" at byte offset 0",
            ),
        ] {
            assert_eq!(parse(html).unwrap_err(), expect, "{html}");
        }
    }
}
