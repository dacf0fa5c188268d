//! The text of a message without its markup, or the words in which Telegram refuses it.
//!
//! The rules are those of Telegram's own parser: which tags and characters are markup, how they nest,
//! and what an error says. Byte offsets count from the start of the text as it was sent.

mod html;
mod legacy;
mod markdown;

use serde_json::{Map, Value, json};

/// A text without markup, and its entities as the Bot API has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FormattedText {
    /// The text that a person reads.
    pub(super) text: String,
    /// Its entities, ordered by their offsets.
    pub(super) entities: Vec<Value>,
}

/// Reads a text with markup; the error is in Telegram's words.
type ReadMarkup = fn(&str) -> Result<FormattedText, String>;

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
    text.encode_utf16().count()
}

/// Text that grows, with its length in UTF-16 units.
#[derive(Debug, Default)]
struct Output {
    text: String,
    length: usize,
    entities: Vec<Value>,
}

impl Output {
    fn push(&mut self, c: char) {
        self.text.push(c);
        self.length += c.len_utf16();
    }

    /// Adds an entity from `offset` to the end of the text; an empty one is left out.
    fn close(&mut self, kind: &str, offset: usize, extra: &[(&str, &str)]) {
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

    fn done(mut self) -> FormattedText {
        for entity in self.entities.iter_mut().filter_map(Value::as_object_mut) {
            // Only a `pre` around the code takes the language.
            entity.remove("class");
        }
        FormattedText { text: self.text, entities: self.entities }
    }
}

/// Returns whether Telegram makes a link of this address.
fn is_link(url: &str) -> bool {
    let known = ["http://", "https://", "tg://", "ton://", "mailto:", "tel:"];
    let has_scheme = known.iter().any(|scheme| url.starts_with(scheme));
    has_scheme || (url.contains('.') && !url.contains(char::is_whitespace) && !url.contains("://"))
}

#[cfg(test)]
mod checks {
    use super::ReadMarkup;

    /// Compares the text and the entities, each as `kind offset+length`.
    pub(super) fn check(parse: ReadMarkup, source: &str, text: &str, entities: &str) {
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
