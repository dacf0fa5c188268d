//! All that a question is about: what a person must have been shown before they answer it.

use std::collections::BTreeSet;

use clitape_gateway::sanitise::{Masked, sanitise_whole};
use clitape_runner::text::shown::ShownTexts;
use serde_json::{Map, Value};

/// The field that says what a call is for, which a gateway may leave out beside what it does.
const PURPOSE: &str = "description";

/// A text that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedText {
    /// Text that is shown as it is, in any form.
    Plain(String),
    /// Text in Markdown, which may be shown as it is meant.
    Markdown(String),
}

impl AskedText {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        let (Self::Plain(text) | Self::Markdown(text)) = self;
        text
    }

    /// The first of its words that were not shown.
    pub(super) fn lacking(&self, shown: &ShownTexts) -> Option<String> {
        match self {
            Self::Plain(text) => shown.lack(text),
            Self::Markdown(text) => shown.lack_markdown(text),
        }
    }
}

/// Reads what a question about the tool `name` is about. Secrets are masked in it, because a gateway may mask them.
pub(super) fn asked_texts(name: &str, input: &Value) -> Vec<AskedText> {
    let input = sanitise_whole(input, &mut Masked::default());
    let Value::Object(fields) = &input else { return texts(&input).collect() };
    match name {
        "AskUserQuestion" => {
            let asked = fields.get("questions").and_then(Value::as_array).into_iter().flatten();
            asked.filter_map(|one| one["question"].as_str()).map(plain).collect()
        }
        "Edit" | "MultiEdit" => changes(fields),
        _ => {
            let only_purpose = !fields.iter().any(|(key, value)| key != PURPOSE && has_text(value));
            let asked = fields.iter().filter(|(key, _)| only_purpose || *key != PURPOSE);
            asked
                .flat_map(|(key, value)| match (name, key.as_str(), value.as_str()) {
                    ("ExitPlanMode", "plan", Some(plan)) => {
                        vec![AskedText::Markdown(plan.to_owned())]
                    }
                    _ => texts(value).collect(),
                })
                .collect()
        }
    }
}

/// The file of an edit, and the lines that it takes away or adds: a gateway may show the difference alone.
fn changes(fields: &Map<String, Value>) -> Vec<AskedText> {
    let edits = fields.get("edits").and_then(Value::as_array).into_iter().flatten();
    let edits = edits.filter_map(Value::as_object).chain([fields]);
    let changed = edits.flat_map(|edit| {
        let [old, new] = ["old_string", "new_string"]
            .map(|key| edit.get(key).and_then(Value::as_str).unwrap_or_default());
        let [before, after]: [BTreeSet<&str>; 2] = [old, new].map(|text| text.lines().collect());
        before.symmetric_difference(&after).map(|line| plain(line)).collect::<Vec<_>>()
    });
    fields.get("file_path").into_iter().flat_map(texts).chain(changed).collect()
}

fn has_text(value: &Value) -> bool {
    texts(value).next().is_some()
}

/// The texts in a value. Of a path, its last name counts: a gateway may leave out the folder.
fn texts(value: &Value) -> Box<dyn Iterator<Item = AskedText> + '_> {
    match value {
        Value::String(text) => {
            let is_path = text.starts_with(['/', '~']) && !text.contains(char::is_whitespace);
            let name = text.rsplit('/').find(|_| is_path);
            Box::new(std::iter::once(plain(name.unwrap_or(text))))
        }
        Value::Array(list) => Box::new(list.iter().flat_map(texts)),
        Value::Object(map) => Box::new(map.values().flat_map(texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Box::new(std::iter::empty()),
    }
}

fn plain(text: &str) -> AskedText {
    AskedText::Plain(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_about_all_texts_of_its_input() {
        let check = |name: &str, input: Value, expect: &[&str]| {
            let texts = asked_texts(name, &input);
            let texts: Vec<&str> = texts.iter().map(AskedText::as_str).collect();
            assert_eq!(texts, expect, "{input}");
        };
        check(
            "Bash",
            json!({"command": "ls\nrm x", "description": "d", "timeout": 5}),
            &["ls\nrm x"],
        );
        check("mcp__a__b", json!({"description": "d", "sure": true}), &["d"]);
        check("mcp__a__b", json!({"a": [{"b": "x"}], "api_key": "Ab3dEf6hIj9k"}), &["x", "***"]);
        check("Write", json!({"file_path": "/a/b.txt", "content": "/a b"}), &["b.txt", "/a b"]);
        let edit =
            json!({"file_path": "/a/b.txt", "old_string": "one\ntwo", "new_string": "one\n2"});
        check("Edit", edit, &["b.txt", "2", "two"]);
        let edits = json!({"file_path": "c", "edits": [{"old_string": "x", "new_string": "y"}]});
        check("MultiEdit", edits, &["c", "x", "y"]);
        let choices = json!({"questions": [{"question": "Which?", "header": "h", "options": []}]});
        check("AskUserQuestion", choices, &["Which?"]);
        check("ExitPlanMode", json!({"plan": "# P", "allowed": ["x"]}), &["# P", "x"]);
        check("Odd", json!("x"), &["x"]);
    }
}
