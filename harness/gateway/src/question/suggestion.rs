//! One short label for each change of permissions that the CLI suggests.

use serde_json::Value;

use crate::excerpt::{cut, short};

/// Characters of a rule or a path in a label, and of a whole label.
const RULE_LIMIT: usize = 40;
const LABEL_LIMIT: usize = 80;

/// Where a change counts: the CLI's `destination` and the words for it.
const PLACES: [(&str, &str); 4] = [
    ("session", " in this session"),
    ("localSettings", " here"),
    ("projectSettings", " in this project"),
    ("userSettings", " everywhere"),
];

/// What a rule does: its `behavior` and the words before the rule.
const BEHAVIOURS: [(&str, &str); 3] =
    [("allow", "Always allow"), ("deny", "Never allow"), ("ask", "Always ask for")];

/// The modes that `setMode` sets.
const MODES: [(&str, &str); 5] = [
    ("acceptEdits", "Accept all edits"),
    ("plan", "Plan only"),
    ("default", "Ask each time"),
    ("bypassPermissions", "Allow everything"),
    ("dontAsk", "Deny what is not allowed, without asking"),
];

/// Returns the label of a suggestion, such as "Always allow `touch made` here".
pub(crate) fn label(suggestion: &Value) -> String {
    let field = |key: &str| suggestion[key].as_str().unwrap_or_default();
    let what = match field("type") {
        "addRules" => {
            let verb = word(&BEHAVIOURS, field("behavior")).unwrap_or("Change the rule for");
            format!("{verb} {}", first_of(&suggestion["rules"], rule))
        }
        "addDirectories" => {
            let path = |path: &Value| path.as_str().map(|path| short(path, RULE_LIMIT));
            format!("Allow access to {}", first_of(&suggestion["directories"], path))
        }
        "setMode" => match word(&MODES, field("mode")) {
            Some(words) => words.to_owned(),
            None => format!("Switch to the mode {}", short(field("mode"), RULE_LIMIT)),
        },
        "" => "Change the permissions".to_owned(),
        other => format!("Change the permissions ({})", short(other, RULE_LIMIT)),
    };
    let place = word(&PLACES, field("destination")).unwrap_or_default();
    cut(format!("{what}{place}"), LABEL_LIMIT)
}

fn word(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == key).map(|(_, words)| *words)
}

/// The words for the first of `all`, and how many more there are.
fn first_of(all: &Value, words: impl Fn(&Value) -> Option<String>) -> String {
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let first = all.first().and_then(words).unwrap_or_else(|| "this".to_owned());
    match all.len() {
        0 | 1 => first,
        count => format!("{first} and {} more", count - 1),
    }
}

/// The rule's content as code, and the tool's name where the rule has none.
fn rule(rule: &Value) -> Option<String> {
    match rule["ruleContent"].as_str().filter(|content| !content.is_empty()) {
        Some(content) => Some(format!("`{}`", short(content, RULE_LIMIT))),
        None => rule["toolName"].as_str().map(|name| short(name, RULE_LIMIT)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    fn check(suggestion: &Value, expect: &str) {
        assert_eq!(label(suggestion), expect, "{suggestion}");
    }

    #[test]
    pub(crate) fn q1_every_suggestion_has_a_short_label() {
        let rules = |rules: Value| {
            json!({"type": "addRules", "behavior": "allow", "rules": rules,
            "destination": "localSettings"})
        };
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": "touch made"}])),
            "Always allow `touch made` here",
        );
        check(&rules(json!([{"toolName": "Read"}, {}])), "Always allow Read and 1 more here");
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": "TOKEN=abcdefgh\nls"}])),
            "Always allow `TOKEN=*** ls` here",
        );
        check(
            &json!({"type": "addDirectories", "directories": ["/a"], "destination": "session"}),
            "Allow access to /a in this session",
        );
        check(
            &json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
            "Accept all edits in this session",
        );
        check(&json!({"type": "setMode", "mode": "new"}), "Switch to the mode new");
        check(&json!({"type": "removeRules"}), "Change the permissions (removeRules)");
        check(&Value::Null, "Change the permissions");
    }
}
