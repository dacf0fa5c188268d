//! The plan: what TodoWrite writes down.

use serde_json::{Map, Value};

use super::update::{PlanEntry, PlanStatus, Priority};

/// The tool whose calls are the plan, and are told as nothing else.
pub(super) const TOOL: &str = "TodoWrite";

/// The entries that a call's arguments list; none if they hold no list.
pub(super) fn entries(args: &Map<String, Value>) -> Option<Vec<PlanEntry>> {
    Some(args.get("todos")?.as_array()?.iter().filter_map(entry).collect())
}

fn entry(todo: &Value) -> Option<PlanEntry> {
    let word = |key: &str| todo.get(key).and_then(Value::as_str);
    Some(PlanEntry {
        content: word("content").or_else(|| word("activeForm"))?.to_owned(),
        priority: match word("priority") {
            Some("high") => Priority::High,
            Some("low") => Priority::Low,
            _ => Priority::Medium,
        },
        status: match word("status") {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            _ => PlanStatus::Pending,
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "`json!` borrows what a test hands over")]

    use serde_json::json;

    use super::*;

    fn check(args: Value, expect: Value) {
        assert_eq!(json!(entries(args.as_object().unwrap())), expect, "{args}");
    }

    #[test]
    fn a1_todos_are_entries_with_status_and_priority() {
        let entry = |content: &str, priority: &str, status: &str| json!({"content": content, "priority": priority, "status": status});
        check(
            json!({"todos": [
                {"content": "a", "status": "completed", "activeForm": "A"},
                {"content": "b", "status": "in_progress", "priority": "high"},
                {"activeForm": "C", "status": "odd", "priority": "odd"},
                {"status": "pending"},
                7,
            ]}),
            json!([
                entry("a", "medium", "completed"),
                entry("b", "high", "in_progress"),
                entry("C", "medium", "pending"),
            ]),
        );
        check(json!({"todos": []}), json!([]));
        check(json!({"todos": "a"}), json!(null));
        check(json!({}), json!(null));
    }
}
