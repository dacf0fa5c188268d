//! The table of tools, `tools.toml`: the title of each tool, its category, and the phrases of its detail with their
//! slots, such as `{content|newText:chars}`.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

use super::template::{PhraseError, Phrases};

/// The built-in table.
#[allow(clippy::expect_used, reason = "a test reads the table")]
pub(super) static TABLE: LazyLock<ToolTable> =
    LazyLock::new(|| read().expect("the built-in table is valid; a test reads it"));

/// All of `tools.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolTable {
    own_servers: Vec<String>,
    /// The arguments worth showing of a tool that has no entry.
    pub(super) generic_keys: Vec<String>,
    tools: HashMap<String, ToolDisplay>,
    actions: HashMap<String, HashMap<String, Phrases<FieldSlot>>>,
}

/// The display of one tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolDisplay {
    pub(super) emoji: String,
    pub(super) title: String,
    pub(super) kind: ToolCategory,
    pub(super) say: Option<Phrases<FieldSlot>>,
}

/// A call's name, looked up in the table.
#[derive(Debug)]
pub(super) enum ToolName<'a> {
    /// A tool of the table, under this name.
    Known(String, &'static ToolDisplay),
    /// A tool of an MCP server.
    Mcp { server: &'a str, tool: &'a str },
    /// Any other name; it may be empty.
    Unknown(&'a str),
}

impl<'a> From<&'a str> for ToolName<'a> {
    /// Blanks around the name and the case of its letters do not matter (openclaw#116350).
    fn from(name: &'a str) -> Self {
        let name = name.trim();
        if let Some(known) = TABLE.known(name) {
            return known;
        }
        match name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            Some((server, tool)) if TABLE.own_servers.iter().any(|own| own == server) => {
                TABLE.known(tool).unwrap_or(Self::Mcp { server, tool })
            }
            Some((server, tool)) => Self::Mcp { server, tool },
            None => Self::Unknown(name),
        }
    }
}

impl ToolTable {
    fn known<'a>(&'static self, name: &str) -> Option<ToolName<'a>> {
        let key = name.to_lowercase();
        self.tools.get(&key).map(|tool| ToolName::Known(key, tool))
    }

    /// The phrases for the tool `name` if its `action` is this one.
    pub(super) fn action(&self, name: &str, action: &str) -> Option<&Phrases<FieldSlot>> {
        self.actions.get(name)?.get(action)
    }
}

fn read() -> Result<ToolTable, toml::de::Error> {
    toml::from_str(include_str!("tools.toml"))
}

/// The category of a tool, in the words of the Agent Client Protocol's `ToolKind`
/// ([A1](crate::rules::A1)).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, Display, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it, and the protocol defines them")]
#[non_exhaustive]
pub enum ToolCategory {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

impl ToolCategory {
    /// Returns the word of the protocol: `switch_mode`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A place in a phrase that arguments fill.
#[derive(Debug)]
pub(super) struct FieldSlot {
    /// The first of these that has something to say counts.
    pub(super) keys: Vec<String>,
    pub(super) form: ValueForm,
}

/// The form of a value in words; `tools.toml` shows them.
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
    fn v2_the_table_of_tools_can_be_read() {
        let table = read().unwrap();
        assert!(table.tools.len() > 100 && table.generic_keys.len() > 20);
        for (name, tool) in &table.tools {
            assert!(!tool.emoji.is_ascii() && !tool.title.is_empty(), "{name}");
            assert_eq!(*name, name.to_lowercase(), "an upper-case name is never found");
        }
        for name in table.actions.keys() {
            assert!(table.tools.contains_key(name), "{name} has actions and no entry");
        }
    }

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
