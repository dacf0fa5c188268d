//! Reads the text of a message with its markup, as Telegram does, or returns Telegram's words of refusal.
//!
//! The rules are those of Telegram's own parser: the tags and characters of markup, their nesting, and the words of the
//! errors. Byte offsets count from the start of the text as it was sent.

mod html;
mod markdown;
mod text;

use clitape_recording::chat::CALL_HTML;
use clitape_recording::trace::Entry;
use serde_json::Value;

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
    let text = entry.text("text");
    if let Ok(read) = parse(text, Some(entry.text("parse_mode")))
        && !text.is_empty()
    {
        drawn.data_mut().insert(CALL_HTML.to_owned(), html(&read).into());
    }
    drawn
}

/// Returns the length of a text as Telegram counts it: in code points. Only the offsets of entities are UTF-16 units.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}
