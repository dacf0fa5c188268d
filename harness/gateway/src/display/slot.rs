//! The slots in the phrases of `tools.toml`: `{content|newText:chars}`.

use std::str::FromStr;

use super::template::PhraseError;

/// A place in a phrase that arguments fill.
#[derive(Debug)]
pub(super) struct Slot {
    /// The first of these that has something to say counts.
    pub(super) keys: Vec<String>,
    pub(super) form: Form,
}

/// How a value is said; `tools.toml` shows them.
#[derive(Debug)]
pub(super) enum Form {
    Words,
    Quoted,
    Verb,
    Chars,
    Count(String),
    Lines,
    Command,
    Progress,
    Patch,
}

impl FromStr for Slot {
    type Err = PhraseError;

    fn from_str(slot: &str) -> Result<Self, PhraseError> {
        let (keys, form) = slot.split_once(':').unwrap_or((slot, ""));
        let form = match form.split_once(' ').unwrap_or((form, "")) {
            ("", "") => Form::Words,
            ("quoted", "") => Form::Quoted,
            ("verb", "") => Form::Verb,
            ("chars", "") => Form::Chars,
            ("count", one) if !one.is_empty() => Form::Count(one.to_owned()),
            ("lines", "") => Form::Lines,
            ("command", "") => Form::Command,
            ("progress", "") => Form::Progress,
            ("patch", "") => Form::Patch,
            _ => return Err(PhraseError::Slot(slot.to_owned())),
        };
        let keys: Vec<String> = keys.split('|').map(str::to_owned).collect();
        match keys.iter().any(String::is_empty) {
            true => Err(PhraseError::Slot(slot.to_owned())),
            false => Ok(Self { keys, form }),
        }
    }
}
