use crate::record::attended::*;

const CALL: &str = r#"{"type":"assistant","message":{"id":"M","content":[{"type":"tool_use","id":"I","name":"N","input":{}}]},"parent_tool_use_id":null}"#;
const TEXT: &str = r#"{"type":"assistant","message":{"id":"M","content":[{"type":"text","text":"N"}]},"parent_tool_use_id":P}"#;

fn call(id: &str, name: &str) -> String {
    format!(
        "{}\n",
        CALL.replace('M', id)
            .replace("\"I\"", &format!("{id:?}"))
            .replace("\"N\"", &format!("{name:?}"))
    )
}

fn text(id: &str, text: &str, parent: &str) -> String {
    format!(
        "{}\n",
        TEXT.replace('M', id)
            .replace("\"N\"", &format!("{text:?}"))
            .replace("P}", &format!("{parent}}}"))
    )
}

/// Checks after which of `lines` the signal is due.
fn check(when: Trigger, lines: &[String], expect: Option<usize>) {
    let plan = SignalPlan { send: SignalName::Term, when, delay_ms: 5 };
    let mut fuse = Fuse::new(Some(&plan));
    let begin = Instant::now();
    let due = lines.iter().position(|line| {
        fuse.feed(begin, line.as_bytes());
        assert_eq!(fuse.due(begin), None);
        fuse.due(begin + Duration::from_millis(5)).is_some()
    });
    assert_eq!(due, expect, "{:?}", plan.when);
    assert_eq!(fuse.due(begin + Duration::from_secs(9)), None);
}

#[test]
fn a_signal_is_due_once_when_its_trigger_was_seen() {
    let lines = [
        text("a", "one hal", "null"),
        call("b", "Read"),
        text("c", "f", "\"b\""),
        call("d", "Bash"),
        text("e", "half", "\"b\""),
    ];
    check(Trigger::Tool("Bash".into()), &lines, Some(3));
    check(Trigger::Calls(1), &lines, Some(1));
    check(Trigger::Calls(2), &lines, Some(3));
    check(Trigger::Text("half".into()), &lines, Some(4));
    check(Trigger::Tool("Write".into()), &lines, None);
}
