//! One short label for each change of permissions that the CLI suggests.

use serde_json::Value;

use crate::excerpt::short_by_words;
use crate::sanitise::redact_text;

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

/// The effect of a rule: its `behavior` and the words before the rule.
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
    labelled(suggestion, LABEL_LIMIT)
}

/// Returns everything that a suggestion changes, one rule or path a line, where its label has no room for it: a person
/// would allow it unseen. None too for the rule of the `command` that is asked about, which is shown anyway.
pub(crate) fn in_full(suggestion: &Value, command: Option<&str>) -> Option<String> {
    let items = ["rules", "directories"].iter().find_map(|key| suggestion[*key].as_array());
    let items = items.map(Vec::as_slice).unwrap_or_default();
    let whole = labelled(suggestion, usize::MAX);
    let is_asked = |item: &Value| {
        command.is_some() && item["ruleContent"].as_str().map(str::trim) == command.map(str::trim)
    };
    match items {
        [item] if is_asked(item) => return None,
        [] | [_] if whole == label(suggestion) => return None,
        [] => return Some(whole),
        _ => {}
    }
    let line = |item: &Value| match (item.as_str(), item["ruleContent"].as_str()) {
        (Some(path), _) => redact_text(path).into_owned(),
        (None, content) => {
            let name = item["toolName"].as_str().unwrap_or(UNNAMED);
            let content = content.filter(|content| !content.is_empty());
            let content = content.map(|content| format!("({})", redact_text(content)));
            format!("{name}{}", content.unwrap_or_default())
        }
    };
    Some(items.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The words for a suggestion, of at most `limit` characters.
fn labelled(suggestion: &Value, limit: usize) -> String {
    let fitted = |before: &str, name: &str, after: &str| fitted(before, name, after, limit);
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

/// `name` between `before` and `after`, cut so that the whole fits into `limit`.
fn fitted(before: &str, name: &str, after: &str, limit: usize) -> String {
    let around = before.chars().count() + after.chars().count();
    // The mark of the cut counts too.
    let name = short_by_words(name, limit.saturating_sub(around + 1));
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

    #[test]
    pub(crate) fn q1_what_a_label_has_no_room_for_is_said_in_full() {
        let check = |suggestion: Value, expect: Option<&str>| {
            assert_eq!(in_full(&suggestion, Some("make a")).as_deref(), expect, "{suggestion}");
        };
        let rule = |content: &str| json!({"toolName": "Bash", "ruleContent": content});
        let rules = |rules: &[Value]| {
            json!({"type": "addRules", "behavior": "allow", "rules": rules,
            "destination": "session"})
        };
        let long = "touch /clitape/project/made.txt && ls /clitape/project";
        check(rules(&[rule("make b")]), None);
        check(rules(&[rule(long)]), Some(&format!("Bash({long})")));
        let lines = "Bash(make a)\nBash(TOKEN=*** make)\nRead";
        let secret = rule("TOKEN=abcdefgh make");
        check(rules(&[rule("make a"), secret, json!({"toolName": "Read"})]), Some(lines));
        let folders = |all: &[&str]| json!({"type": "addDirectories", "directories": all});
        check(folders(&["/a"]), None);
        check(folders(&["/a", "/b"]), Some("/a\n/b"));
        check(json!({"type": "setMode", "mode": "acceptEdits"}), None);
        let mode = format!("Switch to the mode {}", "m".repeat(90));
        check(json!({"type": "setMode", "mode": "m".repeat(90)}), Some(&mode));
        // The rule of a long command says no more than the command.
        assert_eq!(in_full(&rules(&[rule(long)]), Some(long)), None);
    }
}
