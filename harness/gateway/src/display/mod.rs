//! How a tool call is told to a person: `📖 Read: from /etc/hosts` ([V2](crate::rules::V2)).
//!
//! [`title`] is the whole line. A channel with a layout of its own takes the parts: [`label`],
//! [`detail`] and, where the client draws the icon, [`kind`]. Whatever is known of the arguments is
//! said; what is missing, because the input still streams, is not. Of an input that still streams
//! pass what [`sanitise`](crate::sanitise) leaves of it: half a secret looks like none.
//!
//! What a tool is called and what of its arguments is worth a word is data: `tools.toml`, read by
//! `tools`. `detail` turns arguments into words, `shell` a shell command, with a table of its own;
//! the phrases of both tables are `template`s.

mod detail;
mod kind;
pub(crate) mod shell;
mod slot;
mod template;
mod text;
mod tools;

use serde_json::Value;

pub use kind::ToolCategory;
use text::{clip, plain};
use tools::ToolName;

/// Characters of a whole line, and of a detail.
const LINE_LIMIT: usize = 200;
/// A tool of an MCP server.
const MCP: &str = "🔌";
/// A tool that is not in the table.
const UNKNOWN: &str = "🧩";

/// What a tool is called in a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// One emoji.
    pub emoji: &'static str,
    /// The name, the same in whatever case the call writes it (openclaw#116350).
    pub title: String,
}

/// The line for a call of the tool `name` with `args`, without markup, of at most 200 characters
/// ([V2](crate::rules::V2)). It is redacted, however whole `args` are ([B2](crate::rules::B2)).
#[must_use]
pub fn title(name: &str, args: &Value) -> String {
    let name = ToolName::from(name);
    let Label { emoji, title } = label_of(&name);
    let line = match (detail::of(&name, args), &name) {
        (Some(detail), ToolName::Mcp { .. }) => format!("{emoji} {title} ({detail})"),
        (Some(detail), _) => format!("{emoji} {title}: {detail}"),
        (None, _) => format!("{emoji} {title}"),
    };
    clip(&plain(&line), LINE_LIMIT)
}

/// What the tool `name` is called ([V2](crate::rules::V2)): `📖` and `Read`.
#[must_use]
pub fn label(name: &str) -> Label {
    label_of(&ToolName::from(name))
}

/// What a call of the tool `name` with `args` is about ([V2](crate::rules::V2)): `from /etc/hosts`,
/// redacted ([B2](crate::rules::B2)) and of at most 200 characters. `None` when `args` say nothing
/// that is worth a word.
#[must_use]
pub fn detail(name: &str, args: &Value) -> Option<String> {
    detail::of(&ToolName::from(name), args).map(|detail| clip(&plain(&detail), LINE_LIMIT))
}

/// What the tool `name` does ([A1](crate::rules::A1)). Tools of MCP servers, and tools without an
/// entry, are [`Other`](ToolCategory::Other).
#[must_use]
pub fn kind(name: &str) -> ToolCategory {
    match ToolName::from(name) {
        ToolName::Known(_, tool) => tool.kind,
        ToolName::Mcp { .. } | ToolName::Unknown(_) => ToolCategory::Other,
    }
}

fn label_of(name: &ToolName<'_>) -> Label {
    match name {
        ToolName::Known(_, tool) => Label { emoji: &tool.emoji, title: tool.title.clone() },
        ToolName::Mcp { server, tool } => {
            Label { emoji: MCP, title: plain(&format!("{server}: {tool}")) }
        }
        ToolName::Unknown(name) => Label { emoji: UNKNOWN, title: plain(&words_of(name)) },
    }
}

/// `Create Goal` for `create_goal`; letters that are large already stay so. A call without a name is
/// one of a `Tool`.
fn words_of(name: &str) -> String {
    let words = name.split(|c: char| c == '_' || c.is_whitespace()).filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect()
        })
        .collect();
    if words.is_empty() { "Tool".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
pub(crate) mod tests;
