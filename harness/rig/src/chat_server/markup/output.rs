//! The output of the parsers of all parse modes: a text without markup, which grows with its entities.

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
