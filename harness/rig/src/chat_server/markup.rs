//! The text of a message without its markup, or the words in which Telegram refuses it.
//!
//! The rules are those of Telegram's own parser: which tags and characters are markup, how they nest,
//! and what an error says. Byte offsets count from the start of the text as it was sent.

mod html;
mod legacy;
mod markdown;
mod output;

use serde_json::Value;

pub(super) use output::FormattedText;
use output::ReadMarkup;

/// The parse modes by their names in small letters.
const MODES: [(&str, ReadMarkup); 3] =
    [("html", html::parse), ("markdownv2", markdown::parse), ("markdown", legacy::parse)];

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

/// Returns the length of a text as Telegram counts it: in UTF-16 units.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}
