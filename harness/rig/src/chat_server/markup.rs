//! Reads the text of a message with its markup, as Telegram does, or returns Telegram's words of refusal.
//!
//! The rules are those of Telegram's own parser: the tags and characters of markup, their nesting, and the words of the
//! errors. Byte offsets count from the start of the text as it was sent.

mod html;
mod markdown;
mod rich;
mod rich_blocks;
mod rich_tree;
mod text;

use clitape_recording::chat::CALL_HTML;
use clitape_recording::trace::Entry;
use serde_json::{Map, Value};

pub(super) use rich::{RichMessage, SentRich};
pub(super) use rich_blocks::RichUse;
use text::ReadMarkup;
pub(super) use text::{FormattedText, html};

/// The parse modes by their names in lower case.
const MODES: [(&str, ReadMarkup); 3] =
    [("html", html::parse), ("markdownv2", markdown::parse_v2), ("markdown", markdown::parse_v1)];

/// Reads a text with the markup of `mode`. The error is the description of a 400 without its prefix.
pub(super) fn parse(text: &str, mode: Option<&str>) -> Result<FormattedText, String> {
    let mode = mode.unwrap_or_default().to_lowercase();
    if mode.is_empty() || mode == "none" {
        return Ok(FormattedText { text: text.to_owned(), entities: Vec::new() });
    }
    let row = MODES.iter().find(|(name, _)| *name == mode);
    let (_, parse) = row.ok_or_else(|| "unsupported parse_mode".to_owned())?;
    let mut parsed = parse(text).map_err(|words| format!("can't parse entities: {words}"))?;
    let key = |entity: &Value, name: &str| entity[name].as_u64().unwrap_or(0);
    parsed.entities.sort_by_key(|entity| (key(entity, "offset"), u64::MAX - key(entity, "length")));
    Ok(parsed)
}

/// Returns a call of a golden with its text as HTML, in the form that the entries of a server have.
pub fn drawn(entry: &Entry) -> Entry {
    let mut drawn = entry.clone();
    let data = drawn.data_mut();
    add_html(data);
    let parts = data.get_mut("album").and_then(Value::as_array_mut).into_iter().flatten();
    parts.filter_map(Value::as_object_mut).for_each(add_html);
    drawn
}

/// Adds the HTML of the text to the data of a call, or of a part of an album.
fn add_html(data: &mut Map<String, Value>) {
    let field = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
    let (text, mode) = (field("text"), field("parse_mode"));
    let read = match SentRich::of(mode, text) {
        Some(sent) => sent.read(RichUse::Draft).map(|rich| rich.text),
        None => parse(text, Some(mode)),
    };
    if let Ok(read) = read
        && !text.is_empty()
    {
        data.insert(CALL_HTML.to_owned(), html(&read).into());
    }
}

/// Returns the length of a text as Telegram counts it: in code points. Only the offsets of entities are UTF-16 units.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}
