//! The plan: what TodoWrite writes down, or what TaskCreate and TaskUpdate make of a list of tasks.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::update::{PlanEntry, PlanStatus, Priority};

/// The tool whose calls are the plan and are reported in no other way.
pub(super) const TOOL: &str = "TodoWrite";

/// The entries that a call's arguments list; none if they contain no list.
pub(super) fn entries(args: &Map<String, Value>) -> Option<Vec<PlanEntry>> {
    Some(args.get("todos")?.as_array()?.iter().filter_map(entry).collect())
}

/// The tool that puts a task on the list; its result gives the task a number.
const CREATE: &str = "TaskCreate";
/// The tool that changes a task.
const UPDATE: &str = "TaskUpdate";

/// Returns whether the calls of a tool change the list of tasks and are reported in no other way.
pub(super) fn is_task(tool: &str) -> bool {
    matches!(tool, CREATE | UPDATE)
}

/// The list of tasks, which all lanes of a session share.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Arguments of the calls that have started and have no result yet.
    open: HashMap<String, Map<String, Value>>,
    list: BTreeMap<u64, PlanEntry>,
}

impl Tasks {
    /// A call starts.
    pub(super) fn take(&mut self, id: &str, args: &Map<String, Value>) {
        self.open.insert(id.to_owned(), args.clone());
    }

    /// A call that has started is corrected.
    pub(super) fn correct(&mut self, id: &str, args: &Map<String, Value>) {
        if let Some(open) = self.open.get_mut(id) {
            open.extend(args.clone());
        }
    }

    /// A call of `tool` ends, `words` being its result: the list, if the call went well.
    pub(super) fn settle(
        &mut self,
        id: &str,
        tool: &str,
        is_error: bool,
        words: &str,
    ) -> Option<Vec<PlanEntry>> {
        let args = self.open.remove(id).filter(|_| !is_error)?;
        let word = |key: &str| args.get(key).and_then(Value::as_str);
        let number = match tool {
            CREATE => number(words).unwrap_or_else(|| self.next()),
            _ => word("taskId")?.parse().ok()?,
        };
        if word("status") == Some("deleted") {
            self.list.remove(&number);
        } else {
            let blank = || PlanEntry {
                content: format!("Task #{number}"),
                priority: Priority::Medium,
                status: PlanStatus::Pending,
            };
            let task = self.list.entry(number).or_insert_with(blank);
            if let Some(subject) = word("subject") {
                subject.clone_into(&mut task.content);
            }
            if let Some(word) = word("status") {
                task.status = status(word);
            }
        }
        Some(self.list.values().cloned().collect())
    }

    /// The number after the last one.
    fn next(&self) -> u64 {
        self.list.keys().last().map_or(1, |last| last + 1)
    }
}

/// The number in `Task #1 created successfully: …`.
fn number(words: &str) -> Option<u64> {
    let (_, rest) = words.split_once("Task #")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn status(word: &str) -> PlanStatus {
    match word {
        "in_progress" => PlanStatus::InProgress,
        "completed" => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    }
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
        status: status(word("status").unwrap_or_default()),
    })
}

#[cfg(test)]
pub(crate) mod tests {
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

    #[test]
    pub(crate) fn a1_tasks_are_entries_once_their_calls_have_ended() {
        let mut tasks = Tasks::default();
        let mut call = |tool: &str, args: Value, is_error, words: &str| {
            tasks.take("t", args.as_object().unwrap());
            let list = tasks.settle("t", tool, is_error, words)?;
            let shown = list.iter().map(|task| format!("{} {:?}", task.content, task.status));
            Some(shown.collect::<Vec<_>>().join(", "))
        };
        let mut check = |tool: &str, args: Value, words: &str, expect: Option<&str>| {
            assert_eq!(call(tool, args.clone(), false, words).as_deref(), expect, "{tool} {args}");
            assert_eq!(call(tool, args, true, words), None);
        };
        check(
            CREATE,
            json!({"subject": "a"}),
            "Task #1 created successfully: a",
            Some("a Pending"),
        );
        check(CREATE, json!({"subject": "b"}), "made", Some("a Pending, b Pending"));
        let doing = json!({"taskId": "1", "status": "in_progress"});
        check(UPDATE, doing, "", Some("a InProgress, b Pending"));
        let done = json!({"taskId": "2", "status": "completed", "subject": "c"});
        check(UPDATE, done, "", Some("a InProgress, c Completed"));
        let gone = json!({"taskId": "1", "status": "deleted"});
        check(UPDATE, gone, "", Some("c Completed"));
        let foreign = json!({"taskId": "7", "owner": "x"});
        check(UPDATE, foreign, "", Some("c Completed, Task #7 Pending"));
        check(UPDATE, json!({"taskId": "?"}), "", None);
    }
}
