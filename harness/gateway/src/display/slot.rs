//! The slots in the phrases of `tools.toml`: `{content|newText:chars}`.

use std::str::FromStr;

use super::template::PhraseError;

/// A place in a phrase that arguments fill.
#[derive(Debug)]
pub(super) struct FieldSlot {
    /// The first of these that has something to say counts.
    pub(super) keys: Vec<String>,
    pub(super) form: ValueForm,
}

/// How a value is said; `tools.toml` shows them.
#[derive(Debug)]
pub(super) enum ValueForm {
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

impl FromStr for FieldSlot {
    type Err = PhraseError;

    fn from_str(slot: &str) -> Result<Self, PhraseError> {
        let (keys, form) = slot.split_once(':').unwrap_or((slot, ""));
        let form = match form.split_once(' ').unwrap_or((form, "")) {
            ("", "") => ValueForm::Words,
            ("quoted", "") => ValueForm::Quoted,
            ("verb", "") => ValueForm::Verb,
            ("chars", "") => ValueForm::Chars,
            ("count", one) if !one.is_empty() => ValueForm::Count(one.to_owned()),
            ("lines", "") => ValueForm::Lines,
            ("command", "") => ValueForm::Command,
            ("progress", "") => ValueForm::Progress,
            ("patch", "") => ValueForm::Patch,
            _ => return Err(PhraseError::Slot(slot.to_owned())),
        };
        let keys: Vec<String> = keys.split('|').map(str::to_owned).collect();
        match keys.iter().any(String::is_empty) {
            true => Err(PhraseError::Slot(slot.to_owned())),
            false => Ok(Self { keys, form }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_a_slot_names_keys_and_a_form() {
        for (slot, is_read) in [
            ("path", true),
            ("a|b:chars", true),
            ("edits:count edit", true),
            ("edits:count", false),
            ("edits:count ", false),
            ("a:verb b", false),
            ("a:loud", false),
            ("a|", false),
            ("", false),
        ] {
            assert_eq!(slot.parse::<FieldSlot>().is_ok(), is_read, "{slot}");
        }
    }
}
