//! Reasoning that a model writes at the beginning of its text, between tags.

/// The names of the tags.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "antthinking"];

/// A text of the model without the reasoning at its beginning; a tag that never closes begins none.
pub(super) fn without_reasoning(text: &str) -> &str {
    let rest = || {
        let inner = text.trim_start().strip_prefix('<')?;
        let (name, inner) = inner.split_once('>')?;
        let name = name.trim().to_ascii_lowercase();
        let end = format!("</{name}>");
        let at = inner.to_ascii_lowercase().find(&end).filter(|_| TAGS.contains(&name.as_str()))?;
        Some(inner[at + end.len()..].trim_start())
    };
    rest().unwrap_or(text)
}
