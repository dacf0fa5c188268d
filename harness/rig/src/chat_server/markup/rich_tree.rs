//! Reads the HTML and the Markdown of rich messages into blocks.
//!
//! Markdown may contain HTML, so that both become one tree of elements, from which the blocks are made. The Markdown is
//! that of GitHub with formulas, marked text and spoilers (<https://core.telegram.org/bots/api#rich-markdown-style>). In
//! HTML each tag must be closed; in Markdown a tag that closes none is left out. A tag that the Bot API does not know is
//! left out, and so is the content of a script.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use serde_json::{Value, json};

use super::html::{HtmlReader, is_space};
use super::text::is_link;

/// An element of the tree.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    Text(String),
    Element(Element),
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        let attribute = self.attributes.iter().find(|(known, _)| known == name);
        attribute.map(|(_, value)| value.as_str())
    }

    /// Returns the elements with a name among the children.
    fn elements<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Self> {
        self.children.iter().filter_map(move |child| match child {
            Node::Element(element) if element.name == name => Some(element),
            _ => None,
        })
    }

    /// Returns the whole text, with its blanks.
    fn text(&self) -> String {
        let of = |child: &Node| match child {
            Node::Text(text) => text.clone(),
            Node::Element(element) => element.text(),
        };
        self.children.iter().map(of).collect()
    }
}

/// The elements that have no content.
const VOID: [&str; 5] = ["br", "hr", "img", "input", "tg-map"];
/// The elements whose content nobody sees.
const HIDDEN: [&str; 2] = ["script", "style"];
/// The named entities of rich HTML beside those of every message.
const ENTITIES: [(&str, char); 10] = [
    ("&apos;", '\''),
    ("&nbsp;", '\u{a0}'),
    ("&hellip;", '…'),
    ("&mdash;", '—'),
    ("&ndash;", '–'),
    ("&lsquo;", '‘'),
    ("&rsquo;", '’'),
    ("&ldquo;", '“'),
    ("&rdquo;", '”'),
    ("&quot;", '"'),
];

/// A tree that grows; the first open element is its root.
#[derive(Debug)]
struct Tree {
    open: Vec<Element>,
}

/// An error: a tag is not closed, or closes none.
struct Unbalanced;

impl Tree {
    fn new() -> Self {
        Self { open: vec![Element::default()] }
    }

    fn top(&mut self) -> &mut Vec<Node> {
        let last = self.open.len() - 1;
        &mut self.open[last].children
    }

    fn text(&mut self, text: &str) {
        match self.top().last_mut() {
            Some(Node::Text(before)) => before.push_str(text),
            _ => self.top().push(Node::Text(text.to_owned())),
        }
    }

    fn start(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let attributes = attributes.iter().map(owned).collect();
        self.push(Element { name: name.to_owned(), attributes, children: Vec::new() });
    }

    fn push(&mut self, element: Element) {
        match VOID.contains(&element.name.as_str()) {
            true => self.top().push(Node::Element(element)),
            false => self.open.push(element),
        }
    }

    /// Closes the innermost element with this name, and those within it, of which there are none in a balanced text.
    fn end(&mut self, name: &str) -> Result<(), Unbalanced> {
        let Some(at) = self.open.iter().rposition(|open| open.name == name).filter(|at| *at > 0)
        else {
            return Err(Unbalanced);
        };
        let is_balanced = at + 1 == self.open.len();
        while self.open.len() > at {
            self.close();
        }
        if is_balanced { Ok(()) } else { Err(Unbalanced) }
    }

    fn close(&mut self) {
        if let Some(element) = self.open.pop() {
            self.top().push(Node::Element(element));
        }
    }

    /// Reads HTML into the tree. The error is a tag without an end, or one that closes no element.
    fn html(&mut self, html: &str) -> Result<(), Unbalanced> {
        let mut reader = HtmlReader { text: html, at: 0 };
        let mut balanced = Ok(());
        while reader.at < html.len() {
            let rest = &html[reader.at..];
            let is_name = |c: char| c.is_ascii_alphabetic() || c == '/';
            let is_tag = rest.strip_prefix('<').is_some_and(|tag| tag.starts_with(is_name));
            if let Some(comment) = rest.strip_prefix("<!--") {
                reader.at =
                    html.len() - comment.split_once("-->").map_or(0, |(_, after)| after.len());
            } else if is_tag {
                let tag = self.tag(&mut reader);
                balanced = balanced.and(tag);
            } else if reader.byte() == b'&' {
                let named = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
                reader.at += named.map_or(0, |(name, _)| name.len());
                let c =
                    named.map(|(_, c)| *c).or_else(|| reader.entity()).or_else(|| reader.char());
                self.text(c.unwrap_or_default().encode_utf8(&mut [0; 4]));
            } else {
                let c = reader.char().unwrap_or_default();
                self.text(c.encode_utf8(&mut [0; 4]));
            }
        }
        balanced
    }

    /// Reads a tag.
    fn tag(&mut self, reader: &mut HtmlReader<'_>) -> Result<(), Unbalanced> {
        reader.at += 1;
        let is_end = reader.byte() == b'/';
        reader.at += usize::from(is_end);
        let start = reader.at;
        reader.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let name = reader.since(start).to_lowercase();
        let mut element = Element { name, ..Element::default() };
        let mut is_closed = false;
        loop {
            let before = reader.at;
            reader.skip_while(|byte| is_space(byte) || byte == b'/');
            is_closed |= reader.since(before).contains('/');
            match reader.byte() {
                0 => return Err(Unbalanced),
                b'>' => break,
                _ => element.attributes.push(attribute(reader)),
            }
        }
        reader.at += 1;
        if is_end {
            return self.end(&element.name);
        }
        let name = element.name.clone();
        self.push(element);
        match is_closed && !VOID.contains(&name.as_str()) {
            true => self.end(&name),
            false => Ok(()),
        }
    }

    /// Returns the root.
    fn done(mut self) -> Element {
        while self.open.len() > 1 {
            self.close();
        }
        self.open.pop().unwrap_or_default()
    }
}

/// Reads an attribute with its value.
fn attribute(reader: &mut HtmlReader<'_>) -> (String, String) {
    let start = reader.at;
    reader.skip_while(|byte| !is_space(byte) && !b"=>/".contains(&byte));
    if reader.at == start {
        // A sign that begins no name is left out.
        reader.char();
    }
    let name = reader.since(start).to_lowercase();
    reader.skip_while(is_space);
    if reader.byte() != b'=' {
        return (name, String::new());
    }
    reader.at += 1;
    reader.skip_while(is_space);
    let quote = Some(reader.byte()).filter(|byte| b"\"'".contains(byte));
    reader.at += usize::from(quote.is_some());
    let mut value = String::new();
    let is_end = |byte: u8| match quote {
        Some(quote) => byte == quote,
        None => is_space(byte) || byte == b'>',
    };
    while reader.byte() != 0 && !is_end(reader.byte()) {
        let entity = (reader.byte() == b'&').then(|| reader.entity()).flatten();
        value.extend(entity.or_else(|| reader.char()));
    }
    reader.at += usize::from(quote.is_some() && reader.byte() != 0);
    (name, value)
}

/// Reads rich HTML into blocks.
pub(super) fn html_blocks(html: &str) -> Result<Value, String> {
    let mut tree = Tree::new();
    let balanced = tree.html(html);
    if balanced.is_err() || tree.open.len() > 1 {
        return Err("RICH_MESSAGE_HTML_INVALID".to_owned());
    }
    Ok(blocks(&tree.done())?.into())
}

/// The pairs of signs in Markdown that pulldown-cmark leaves as they are, each with its element.
const SIGNS: [(&str, &str); 3] = [("||", "tg-spoiler"), ("==", "mark"), ("__", "b")];

/// Reads rich Markdown into blocks.
pub(super) fn markdown_blocks(markdown: &str) -> Result<Value, String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH;
    let mut tree = Tree::new();
    let mut is_literal = false;
    for event in TextMergeStream::new(Parser::new_ext(markdown, options)) {
        match event {
            Event::Start(tag) => {
                is_literal |= matches!(tag, Tag::CodeBlock(_));
                start(&mut tree, &tag);
            }
            Event::End(tag) => {
                is_literal &= tag != TagEnd::CodeBlock;
                end(&mut tree, tag);
            }
            Event::Text(text) if is_literal => tree.text(&text),
            Event::Text(text) => signed(&mut tree, &text),
            Event::Code(text) => leaf(&mut tree, "code", &text),
            Event::InlineMath(text) => leaf(&mut tree, "tg-math", &text),
            Event::DisplayMath(text) => leaf(&mut tree, "tg-math-block", &text),
            // A tag that closes no element is left out.
            Event::Html(html) | Event::InlineHtml(html) => drop(tree.html(&html)),
            Event::SoftBreak => tree.text(" "),
            Event::HardBreak => tree.start("br", &[]),
            Event::Rule => tree.start("hr", &[]),
            Event::TaskListMarker(is_checked) => {
                let checked = [("type", "checkbox"), ("checked", "")];
                tree.start("input", &checked[..1 + usize::from(is_checked)]);
            }
            Event::FootnoteReference(label) => leaf(&mut tree, "tg-note", &label),
        }
    }
    Ok(blocks(&tree.done())?.into())
}

fn leaf(tree: &mut Tree, name: &str, text: &str) {
    tree.start(name, &[]);
    tree.text(text);
    // It was opened here.
    let _ = tree.end(name);
}

/// Adds a text with its pairs of signs.
fn signed(tree: &mut Tree, text: &str) {
    let pair = SIGNS.iter().filter_map(|(sign, name)| {
        let (before, rest) = text.split_once(sign)?;
        let (within, after) = rest.split_once(sign)?;
        (!within.trim().is_empty()).then_some((before, within, after, *name))
    });
    match pair.min_by_key(|(before, ..)| before.len()) {
        None => tree.text(text),
        Some((before, within, after, name)) => {
            tree.text(before);
            tree.start(name, &[]);
            signed(tree, within);
            let _ = tree.end(name);
            signed(tree, after);
        }
    }
}

/// Returns the name of the element of a Markdown tag.
fn element_of(tag: TagEnd) -> &'static str {
    const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];
    match tag {
        TagEnd::Heading(level) => HEADINGS[level as usize - 1],
        TagEnd::BlockQuote(_) => "blockquote",
        TagEnd::CodeBlock => "pre",
        TagEnd::List(is_ordered) => {
            if is_ordered {
                "ol"
            } else {
                "ul"
            }
        }
        TagEnd::Item => "li",
        TagEnd::Table => "table",
        TagEnd::TableHead | TagEnd::TableRow => "tr",
        TagEnd::TableCell => "td",
        TagEnd::Emphasis => "i",
        TagEnd::Strong => "b",
        TagEnd::Strikethrough => "s",
        TagEnd::Link => "a",
        TagEnd::Image => "figure",
        TagEnd::FootnoteDefinition => "tg-footnote",
        _ => "p",
    }
}

fn start(tree: &mut Tree, tag: &Tag<'_>) {
    let name = element_of(tag.to_end());
    match tag {
        Tag::HtmlBlock | Tag::MetadataBlock(_) => {}
        Tag::CodeBlock(kind) => {
            let language = match kind {
                CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default(),
                CodeBlockKind::Indented => "",
            };
            let class = format!("language-{language}");
            tree.start(name, &[("class", class.as_str())]);
        }
        Tag::List(Some(number)) => tree.start(name, &[("start", number.to_string().as_str())]),
        Tag::TableHead => tree.start(name, &[("head", "")]),
        Tag::Link { dest_url, .. } => tree.start(name, &[("href", dest_url)]),
        Tag::Image { dest_url, title, .. } => {
            tree.start(name, &[]);
            tree.start("img", &[("src", dest_url)]);
            leaf(tree, "figcaption", title);
        }
        Tag::FootnoteDefinition(label) => {
            tree.start(name, &[]);
            leaf(tree, "tg-note", label);
            tree.text(" ");
        }
        _ => tree.start(name, &[]),
    }
}

fn end(tree: &mut Tree, tag: TagEnd) {
    if !matches!(tag, TagEnd::HtmlBlock | TagEnd::MetadataBlock(_)) {
        // HTML within may have closed it already.
        let _ = tree.end(element_of(tag));
    }
}

/// The formats of a rich text by their elements.
const FORMATS: [(&str, &str); 16] = [
    ("b", "bold"),
    ("strong", "bold"),
    ("i", "italic"),
    ("em", "italic"),
    ("u", "underline"),
    ("ins", "underline"),
    ("s", "strikethrough"),
    ("strike", "strikethrough"),
    ("del", "strikethrough"),
    ("code", "code"),
    ("mark", "marked"),
    ("sub", "subscript"),
    ("sup", "superscript"),
    ("tg-spoiler", "spoiler"),
    ("tg-time", "date_time"),
    ("tg-reference", "reference"),
];

/// The elements that are blocks or have blocks; all others are part of a paragraph.
const BLOCKS: [&str; 32] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "footer",
    "hr",
    "tg-math-block",
    "ul",
    "ol",
    "blockquote",
    "aside",
    "tg-collage",
    "tg-slideshow",
    "table",
    "details",
    "tg-map",
    "figure",
    "img",
    "video",
    "audio",
    "tg-document",
    "tg-button-row",
    "tg-thinking",
    "tg-footnote",
    "div",
    "summary",
    "figcaption",
    "cite",
];

/// Makes the blocks of the children of an element. Text between blocks is a paragraph.
fn blocks(parent: &Element) -> Result<Vec<Value>, String> {
    let mut made = Vec::new();
    let mut inline: Vec<&Node> = Vec::new();
    for child in &parent.children {
        match child {
            Node::Element(element) if is_block(element) => {
                paragraph(&mut made, &inline)?;
                inline.clear();
                block(&mut made, element)?;
            }
            child => inline.push(child),
        }
    }
    paragraph(&mut made, &inline)?;
    Ok(made)
}

/// Returns whether an element is a block; an image of an emoji is part of a text.
fn is_block(element: &Element) -> bool {
    let is_emoji = element.attribute("src").is_some_and(|src| src.starts_with("tg://emoji"));
    BLOCKS.contains(&element.name.as_str()) && !is_emoji
}

/// Adds a paragraph, unless it is empty.
fn paragraph(made: &mut Vec<Value>, inline: &[&Node]) -> Result<(), String> {
    let text = rich_text(inline)?;
    if !is_empty(&text) {
        made.push(json!({ "type": "paragraph", "text": text }));
    }
    Ok(())
}

fn is_empty(text: &Value) -> bool {
    matches!(text, Value::String(text) if text.is_empty()) || *text == json!([])
}

/// Makes the block of an element.
fn block(made: &mut Vec<Value>, element: &Element) -> Result<(), String> {
    let inner = || rich_text(&element.children.iter().collect::<Vec<_>>());
    let name = element.name.as_str();
    let block = match name {
        "p" | "div" => {
            made.extend(blocks(element)?);
            return Ok(());
        }
        "tg-footnote" => return paragraph(made, &element.children.iter().collect::<Vec<_>>()),
        "summary" | "figcaption" | "cite" => return Ok(()),
        "hr" => json!({ "type": "divider" }),
        "tg-math-block" => {
            json!({ "type": "mathematical_expression", "expression": element.text() })
        }
        "pre" => pre(element),
        "ul" | "ol" => json!({ "type": "list", "items": items(element)? }),
        "blockquote" if element.attribute("expandable").is_some() => {
            quoted("expandable_blockquote", element, ("text", without(element, "cite")?))?
        }
        "blockquote" => quoted(name, element, ("blocks", blocks(element)?.into()))?,
        "aside" => quoted("pullquote", element, ("text", without(element, "cite")?))?,
        "tg-collage" | "tg-slideshow" => {
            let kind = name.trim_start_matches("tg-");
            captioned(json!({ "type": kind, "blocks": blocks(element)? }), element)?
        }
        "table" => table(element)?,
        "details" => {
            let summary = element.elements("summary").next();
            let summary = summary.map_or_else(|| Ok("".into()), text_of)?;
            json!({ "type": "details", "summary": summary, "blocks": blocks(element)?,
                "is_open": element.attribute("open").is_some() })
        }
        "tg-map" => {
            let number = |name: &str| element.attribute(name)?.parse::<f64>().ok();
            json!({ "type": "map", "zoom": number("zoom"),
                "location": { "latitude": number("lat"), "longitude": number("long") } })
        }
        "figure" => {
            // The alternative text of an image in Markdown is not shown.
            let media = blocks(element)?.into_iter().filter(|block| block["type"] != "paragraph");
            for block in media {
                made.push(captioned(block, element)?);
            }
            return Ok(());
        }
        "tg-button-row" => {
            let buttons = element.elements("tg-button").map(button);
            json!({ "type": "buttons", "buttons": buttons.collect::<Result<Vec<_>, _>>()? })
        }
        "tg-thinking" => json!({ "type": "thinking", "text": inner()? }),
        "footer" => json!({ "type": "footer", "text": inner()? }),
        "img" | "video" | "audio" | "tg-document" => media(element),
        heading => {
            let text = inner()?;
            if is_empty(&text) {
                return Ok(());
            }
            let size = heading.trim_start_matches('h').parse::<u8>().unwrap_or(1);
            json!({ "type": "heading", "text": text, "size": size })
        }
    };
    made.push(block);
    Ok(())
}

fn text_of(element: &Element) -> Result<Value, String> {
    rich_text(&element.children.iter().collect::<Vec<_>>())
}

/// Returns the text of an element without the elements of a name.
fn without(element: &Element, name: &str) -> Result<Value, String> {
    let is_other = |child: &&Node| !matches!(child, Node::Element(inner) if inner.name == name);
    rich_text(&element.children.iter().filter(is_other).collect::<Vec<_>>())
}

/// Makes a quotation with its author.
fn quoted(kind: &str, element: &Element, content: (&str, Value)) -> Result<Value, String> {
    let mut block = json!({ "type": kind });
    block[content.0] = content.1;
    if let Some(cite) = element.elements("cite").next() {
        block["credit"] = text_of(cite)?;
    }
    Ok(block)
}

/// Adds the caption within an element to a block.
fn captioned(mut block: Value, element: &Element) -> Result<Value, String> {
    if let Some(caption) = element.elements("figcaption").next() {
        let text = without(caption, "cite")?;
        if !is_empty(&text) {
            block["caption"] = json!({ "text": text });
        }
        if let Some(cite) = caption.elements("cite").next() {
            block["caption"]["credit"] = text_of(cite)?;
        }
    }
    Ok(block)
}

/// Makes a block of code; the language is that of the `code` within.
fn pre(element: &Element) -> Value {
    let class = element.elements("code").next().and_then(|code| code.attribute("class"));
    let class = class.or_else(|| element.attribute("class")).unwrap_or_default();
    let language = class.strip_prefix("language-").filter(|language| !language.is_empty());
    let text = element.text();
    let text = text.trim_end_matches('\n');
    match language {
        Some("math") => json!({ "type": "mathematical_expression", "expression": text }),
        Some(language) => json!({ "type": "pre", "text": text, "language": language }),
        None => json!({ "type": "pre", "text": text }),
    }
}

/// Makes the items of a list.
fn items(list: &Element) -> Result<Vec<Value>, String> {
    let mut number = list.attribute("start").and_then(|start| start.parse().ok()).unwrap_or(1_i64);
    let mut items = Vec::new();
    for item in list.elements("li") {
        let mut made = json!({ "blocks": blocks(item)? });
        if list.name == "ol" {
            let value = item.attribute("value").and_then(|value| value.parse().ok());
            number = value.unwrap_or(number);
            made["value"] = number.into();
            made["label"] = format!("{number}.").into();
            number += 1;
        } else {
            made["label"] = "•".into();
        }
        let boxes = |parent: &Element| {
            parent.elements("input").next().map(|found| found.attribute("checked").is_some())
        };
        let checked = boxes(item).or_else(|| item.elements("p").next().and_then(boxes));
        if let Some(is_checked) = checked {
            made["has_checkbox"] = true.into();
            made["is_checked"] = is_checked.into();
        }
        if made["blocks"] != json!([]) {
            items.push(made);
        }
    }
    Ok(items)
}

/// Makes a table. The rows may be within parts of it.
fn table(element: &Element) -> Result<Value, String> {
    let mut rows: Vec<&Element> = Vec::new();
    for part in ["thead", "", "tbody", "tfoot"] {
        match part {
            "" => rows.extend(element.elements("tr")),
            part => rows.extend(element.elements(part).flat_map(|part| part.elements("tr"))),
        }
    }
    let mut cells = Vec::new();
    for row in rows {
        let mut line = Vec::new();
        for child in &row.children {
            let Node::Element(cell) = child else { continue };
            let mut made = json!({ "text": text_of(cell)?, "align": "left", "valign": "top" });
            if cell.name == "th" || row.attribute("head").is_some() {
                made["is_header"] = true.into();
            }
            for span in ["colspan", "rowspan"] {
                if let Some(count) =
                    cell.attribute(span).and_then(|count| count.parse::<u64>().ok())
                {
                    made[span] = count.into();
                }
            }
            line.push(made);
        }
        cells.push(line);
    }
    let mut made = json!({ "type": "table", "cells": cells });
    if let Some(caption) = element.elements("caption").next() {
        made["caption"] = text_of(caption)?;
    }
    Ok(made)
}

/// Makes the block of a file; its kind follows from the tag and from the end of its address.
fn media(element: &Element) -> Value {
    let source = element.attribute("src").unwrap_or_default();
    let path = source.split(['?', '#']).next().unwrap_or_default().to_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    let kind = match element.name.as_str() {
        "tg-document" => "document",
        _ if ends(&[".gif"]) => "animation",
        _ if ends(&[".ogg", ".oga"]) => "voice_note",
        "audio" => "audio",
        "video" => "video",
        _ if ends(&[".mp3", ".m4a"]) => "audio",
        _ if ends(&[".mp4", ".mov"]) => "video",
        _ if ends(&[".zip", ".pdf", ".txt"]) => "document",
        _ => "photo",
    };
    let file = json!({ "file_id": source, "file_unique_id": format!("unique-{source}") });
    let mut block = json!({ "type": kind });
    block[kind] = if kind == "photo" { json!([file]) } else { file };
    block
}

/// Makes a button.
fn button(element: &Element) -> Result<Value, String> {
    let mut made = json!({ "text": text_of(element)? });
    let value = |name: &str| Value::from(element.attribute(name).unwrap_or_default());
    match element.attribute("type").unwrap_or_default() {
        "callback_data" => made["callback_data"] = value("data"),
        "copy_text" => made["copy_text"] = json!({ "text": value("text") }),
        "disabled" => made["disabled"] = json!({}),
        "url" => made["url"] = value("url"),
        kind => made[kind] = value(if kind.starts_with("switch") { "query" } else { "url" }),
    }
    Ok(made)
}

/// Makes a rich text. As in a browser, blanks are one blank, and none at the ends.
fn rich_text(nodes: &[&Node]) -> Result<Value, String> {
    let mut parts = Vec::new();
    let mut text = RichParts { parts: &mut parts, ends_blank: true };
    for node in nodes {
        text.node(node)?;
    }
    trim_end(&mut parts);
    Ok(match parts.len() {
        0 => "".into(),
        1 if parts[0].is_string() => parts.remove(0),
        _ => parts.into(),
    })
}

/// Removes the blanks at the end.
fn trim_end(parts: &mut Vec<Value>) {
    while let Some(Value::String(last)) = parts.last_mut() {
        let length = last.trim_end_matches([' ', '\n']).len();
        last.truncate(length);
        if !last.is_empty() {
            return;
        }
        parts.pop();
    }
}

/// The parts of a rich text that grows.
struct RichParts<'p> {
    parts: &'p mut Vec<Value>,
    /// True if a further blank would be a second one.
    ends_blank: bool,
}

impl RichParts<'_> {
    fn push(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Value::String(before)) => before.push_str(text),
            _ => self.parts.push(text.into()),
        }
    }

    fn node(&mut self, node: &Node) -> Result<(), String> {
        match node {
            Node::Text(text) => {
                let mut plain = String::new();
                for c in text.chars() {
                    let is_blank = c.is_ascii_whitespace();
                    if !(is_blank && self.ends_blank) {
                        plain.push(if is_blank { ' ' } else { c });
                    }
                    self.ends_blank = is_blank;
                }
                if !plain.is_empty() {
                    self.push(&plain);
                }
                Ok(())
            }
            Node::Element(element) => self.element(element),
        }
    }

    /// Adds the content of an element to the parts.
    fn content(&mut self, element: &Element) -> Result<(), String> {
        element.children.iter().try_for_each(|child| self.node(child))
    }

    /// Adds an element as a part of its own with these fields.
    fn part(&mut self, element: &Element, mut fields: Value) -> Result<(), String> {
        let mut parts = Vec::new();
        let mut within = RichParts { parts: &mut parts, ends_blank: self.ends_blank };
        within.content(element)?;
        self.ends_blank = within.ends_blank;
        if parts.is_empty() {
            return Ok(());
        }
        fields["text"] = if parts.len() == 1 { parts.remove(0) } else { parts.into() };
        self.parts.push(fields);
        Ok(())
    }

    fn element(&mut self, element: &Element) -> Result<(), String> {
        let name = element.name.as_str();
        match name {
            "br" => {
                self.push("\n");
                self.ends_blank = true;
                Ok(())
            }
            "a" => self.link(element),
            "tg-math" => {
                self.ends_blank = false;
                let expression = element.text();
                self.parts
                    .push(json!({ "type": "mathematical_expression", "expression": expression }));
                Ok(())
            }
            "tg-note" => self.part(
                element,
                json!({ "type": "reference_link", "reference_name": element.text() }),
            ),
            "tg-emoji" | "img" => {
                self.ends_blank = false;
                let alternative =
                    element.attribute("alt").map_or_else(|| element.text(), str::to_owned);
                let id = element.attribute("emoji-id").unwrap_or_default();
                self.parts.push(json!({ "type": "custom_emoji", "custom_emoji_id": id,
                    "alternative_text": alternative }));
                Ok(())
            }
            "tg-button" => {
                let button = button(element)?;
                self.parts.push(json!({ "type": "button", "button": button }));
                Ok(())
            }
            name if HIDDEN.contains(&name) => Ok(()),
            name => match FORMATS.iter().find(|(known, _)| *known == name) {
                Some((_, kind)) => self.part(element, json!({ "type": kind })),
                // The Bot API does not know the tag, or it is a block within a text.
                None => self.content(element),
            },
        }
    }

    /// Adds a link. A script is no link for Telegram, and its text stays.
    fn link(&mut self, element: &Element) -> Result<(), String> {
        let href = element.attribute("href").unwrap_or_default();
        if let Some(anchor) = href.strip_prefix('#') {
            return self.part(element, json!({ "type": "anchor_link", "anchor_name": anchor }));
        }
        if let Some(address) = href.strip_prefix("mailto:") {
            if !is_email(address) {
                return Err("RICH_MESSAGE_EMAIL_INVALID".to_owned());
            }
            return self
                .part(element, json!({ "type": "email_address", "email_address": address }));
        }
        if let Some(number) = href.strip_prefix("tel:") {
            return self.part(element, json!({ "type": "phone_number", "phone_number": number }));
        }
        if let Some(id) = href.strip_prefix("tg://user?id=") {
            let user = json!({ "id": id.parse::<i64>().unwrap_or(0), "is_bot": false });
            return self.part(element, json!({ "type": "text_mention", "user": user }));
        }
        match element.attribute("name") {
            Some(name) if href.is_empty() => {
                self.parts.push(json!({ "type": "anchor", "name": name }));
                Ok(())
            }
            _ if href.starts_with("javascript:") => self.content(element),
            _ if is_link(href) && !href.starts_with(['/', '.']) => {
                self.part(element, json!({ "type": "url", "url": href }))
            }
            _ => Err("RICH_MESSAGE_URL_INVALID".to_owned()),
        }
    }
}

/// Returns whether Telegram takes an address for that of an e-mail.
fn is_email(address: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_+%".contains(c);
    let Some((name, host)) = address.split_once('@') else { return false };
    !name.is_empty()
        && name.chars().all(is_name)
        && host.contains('.')
        && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
}
