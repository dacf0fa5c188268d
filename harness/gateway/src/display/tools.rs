//! The table of tools, `tools.toml`: what each is called, what it does, and how its detail is said.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::kind::ToolCategory;
use super::slot::FieldSlot;
use super::template::Phrases;

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

/// How one tool is shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolDisplay {
    pub(super) emoji: String,
    pub(super) title: String,
    pub(super) kind: ToolCategory,
    pub(super) say: Option<Phrases<FieldSlot>>,
}

/// What a call's name says.
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

    /// What is said of the tool `name` when its `action` is this one.
    pub(super) fn action(&self, name: &str, action: &str) -> Option<&Phrases<FieldSlot>> {
        self.actions.get(name)?.get(action)
    }
}

fn read() -> Result<ToolTable, toml::de::Error> {
    toml::from_str(include_str!("tools.toml"))
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
}
