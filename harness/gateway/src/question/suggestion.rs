//! One short label for each change of permissions that the CLI suggests.

use serde_json::Value;

use crate::excerpt::short_by_words;

/// Characters of a label. With the mark before it, it fits on a button whole, because its last words say how far
/// the change goes.
const LABEL_LIMIT: usize = 58;

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

/// The word for a rule or a path that the CLI does not name.
const UNNAMED: &str = "this";

/// The modes that `setMode` sets.
const MODES: [(&str, &str); 5] = [
    ("acceptEdits", "Accept all edits"),
    ("plan", "Plan only"),
    ("default", "Ask each time"),
    ("bypassPermissions", "Allow everything"),
    ("dontAsk", "Deny what is not allowed, without asking"),
];

/// Returns the label of a suggestion, such as "Always allow `touch made` here". Where it is too long, the rule
/// or the path is cut, and the words around it stay.
pub(crate) fn label(suggestion: &Value) -> String {
    let field = |key: &str| suggestion[key].as_str().unwrap_or_default();
    let place = word(&PLACES, field("destination")).unwrap_or_default();
    match field("type") {
        "addRules" => {
            let verb = word(&BEHAVIOURS, field("behavior")).unwrap_or("Change the rule for");
            let (rule, more) = first_of(&suggestion["rules"]);
            let after = format!("{more}{place}");
            match rule["ruleContent"].as_str().filter(|content| !content.is_empty()) {
                Some(content) => fitted(&format!("{verb} `"), content, &format!("`{after}")),
                None => {
                    let name = rule["toolName"].as_str().unwrap_or(UNNAMED);
                    fitted(&format!("{verb} "), name, &after)
                }
            }
        }
        "addDirectories" => {
            let (path, more) = first_of(&suggestion["directories"]);
            let path = path.as_str().unwrap_or(UNNAMED);
            fitted("Allow access to ", path, &format!("{more}{place}"))
        }
        "setMode" => match word(&MODES, field("mode")) {
            Some(words) => format!("{words}{place}"),
            None => fitted("Switch to the mode ", field("mode"), place),
        },
        "" => format!("Change the permissions{place}"),
        other => fitted("Change the permissions (", other, &format!("){place}")),
    }
}

/// `name` between `before` and `after`, cut so that the whole is no longer than a label.
fn fitted(before: &str, name: &str, after: &str) -> String {
    let around = before.chars().count() + after.chars().count();
    // The mark of the cut counts too.
    let name = short_by_words(name, LABEL_LIMIT.saturating_sub(around + 1));
    format!("{before}{name}{after}")
}

fn word(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == key).map(|(_, words)| *words)
}

/// The first of `all`, and words for how many more there are.
fn first_of(all: &Value) -> (&Value, String) {
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let more = match all.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    (all.first().unwrap_or(&Value::Null), more)
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
        // What is long is cut, and what follows it stays.
        let long = "touch /clitape/project/made.txt && ls /clitape/project";
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": long}])),
            "Always allow `touch /clitape/project/made.txt && ls…` here",
        );
        check(
            &rules(json!([{"toolName": "Bash", "ruleContent": long}, {}, {}])),
            "Always allow `touch /clitape/project…` and 2 more here",
        );
        check(
            &json!({"type": "addDirectories", "directories": ["/a/".repeat(40)],
            "destination": "projectSettings"}),
            &format!("Allow access to {}… in this project", "/a/".repeat(8)),
        );
        check(&json!({"type": "setMode", "mode": "new"}), "Switch to the mode new");
        check(&json!({"type": "removeRules"}), "Change the permissions (removeRules)");
        check(&Value::Null, "Change the permissions");
    }
}
