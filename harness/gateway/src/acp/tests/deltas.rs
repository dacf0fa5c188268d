//! Mistakes of the adapter that this converter must not make, from the bus on.

use clitape_stream::{FailureKind, Incomplete};

use super::*;

fn said(message_id: &str, delta: &str, length: u64) -> BusData {
    let (message_id, delta) = (message_id.to_owned(), delta.to_owned());
    BusData::Assistant { message_id, delta, length, parent: None }
}

fn retract(length: u64, calls: &[&str]) -> BusData {
    BusData::Retract {
        text: "x".repeat(usize::try_from(length).unwrap()),
        length,
        thinking: String::new(),
        thinking_length: 0,
        calls: calls.iter().map(|id| (*id).to_owned()).collect(),
        parent: None,
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn update(id: &str, name: &str, args: &Value) -> BusData {
    BusData::Tool(Tool::Update {
        id: id.into(),
        name: name.into(),
        title: String::new(),
        args: object(args),
        parent: None,
    })
}

fn start_under(parent: Option<&str>, id: &str, name: &str, args: Value) -> BusData {
    BusData::Tool(Tool::Start {
        id: id.into(),
        name: name.into(),
        title: String::new(),
        args: args.into(),
        truncated: None,
        parent: parent.map(Into::into),
    })
}

fn start(id: &str, name: &str, args: Value) -> BusData {
    start_under(None, id, name, args)
}

fn ended(id: &str, incomplete: Option<Incomplete>) -> BusData {
    let result = if incomplete.is_some() { Value::Null } else { json!("ok") };
    BusData::Tool(Tool::Result {
        id: id.into(),
        name: "X".into(),
        is_error: false,
        result,
        incomplete,
        parent: None,
    })
}

fn end(text: &str) -> BusData {
    BusData::Lifecycle(Phase::End { text: text.into() })
}

/// The updates of a session's bus events; a client that shows terminals.
fn check(data: Vec<BusData>, expect: &[&str]) {
    let mut converter = AcpConverter::new(settings(true));
    assert_eq!(show_all(&convert(&mut converter, data)), expect);
}

const OK: &str = r#"rawOutput={"content":[{"type":"text","text":"ok"}],"isError":false}"#;

#[test]
fn a1_a_message_that_was_shown_is_withdrawn_with_a_word() {
    check(
        vec![said("m1", "Let me", 6), retract(0, &[]), said("m2", "Let me look", 11)],
        &[
            r#"say m1 "Let me""#,
            r#"say m1 "\n\n_The message above was withdrawn._\n\n""#,
            r#"say m2 "Let me look""#,
        ],
    );
    // What is left is all that was shown: reasoning, or a call, was withdrawn.
    check(vec![said("m1", "Let me", 6), retract(6, &[])], &[r#"say m1 "Let me""#]);
    check(vec![retract(0, &[])], &[]);
}

#[test]
fn a_call_of_many_fields_is_not_sent_whole_for_each_of_them() {
    let fields = |count: usize| -> Map<String, Value> {
        (0..count).map(|number| (format!("k{number}"), json!(number))).collect()
    };
    let parts =
        (0..1_000).map(|number| update("t1", "X", &json!({ format!("k{number}"): number })));
    let whole = start("t1", "X", Value::Object(fields(1_000)));
    let mut converter = AcpConverter::new(settings(false));
    let updates = convert(&mut converter, parts.chain([whole]));
    let counts: Vec<usize> = updates
        .iter()
        .filter_map(|update| match update {
            Update::ToolCall(call) | Update::ToolCallUpdate(call) => call.raw_input.as_ref(),
            _ => None,
        })
        .map(|input| input.as_object().unwrap().len())
        .collect();
    let few: Vec<usize> = (1..=32).collect();
    assert_eq!(counts[..32], few);
    assert_eq!(counts[32..], [48, 72, 108, 162, 243, 365, 548, 822, 1_000]);
}

#[test]
fn a1_a_call_that_will_never_start_ends_failed() {
    check(
        vec![
            update("t1", "Bash", &json!({"command": "ls"})),
            retract(0, &["t1", "t2"]),
            end("done"),
        ],
        &[
            r#"call t1 title="Execute command" execute pending [terminal t1] rawInput={"command":"ls"} +terminal"#,
            "more t1 failed +exit null",
            r#"say - "done""#,
        ],
    );
}

#[test]
pub(crate) fn a1_a_cancelled_turn_leaves_no_call_open() {
    let mut converter = AcpConverter::new(settings(false));
    let before = [
        BusData::Lifecycle(Phase::Start),
        update("t1", "X", &json!({"a": 1})),
        start("t2", "Y", json!({})),
        start("t3", "TodoWrite", json!({"todos": []})),
        start("t4", "Z", json!({})),
        ended("t4", Some(Incomplete::Incomplete)),
    ];
    convert(&mut converter, before);
    converter.cancel();
    assert_eq!(converter.turn_end(), None);
    let (kind, message) = (FailureKind::NoResult, "Killed.".to_owned());
    let updates = convert(&mut converter, [BusData::Lifecycle(Phase::Error { kind, message })]);
    assert_eq!(show_all(&updates), ["more t1 failed", "more t2 failed"]);
    assert_eq!(converter.turn_end(), Some(&TurnEnd::Stop(StopReason::Cancelled)));
    // The next turn is another one.
    let next = [BusData::Lifecycle(Phase::Start), said("m1", "Hi", 2)];
    assert_eq!(show_all(&convert(&mut converter, next)), [r#"say m1 "Hi""#]);
    assert_eq!(converter.turn_end(), None);
    assert_eq!(show_all(&convert(&mut converter, [end("Hi")])), [""; 0]);
    assert_eq!(converter.turn_end(), Some(&TurnEnd::Stop(StopReason::EndTurn)));
}

#[test]
fn u3_calls_that_are_open_at_the_end_fail_in_the_order_of_their_announcements() {
    let ids = ["t8", "t3", "t5", "t1", "t7", "t2", "t6", "t4"];
    let mut converter = AcpConverter::new(settings(false));
    convert(&mut converter, ids.map(|id| start(id, "X", json!({}))));
    let failed = ids.map(|id| format!("more {id} failed"));
    assert_eq!(show_all(&convert(&mut converter, [end("")])), failed);
}

#[test]
fn u3_a_call_without_a_result_ends_failed() {
    check(
        vec![start("t1", "Bash", json!({})), ended("t1", Some(Incomplete::Ambiguous))],
        &[
            r#"call t1 title="Execute command" execute pending [terminal t1] rawInput={} +terminal"#,
            "more t1 failed +exit null",
        ],
    );
}

#[test]
fn a1_a_field_of_the_input_stays_and_nothing_is_sent_twice() {
    check(
        vec![
            update("t1", "X", &json!({"a": 1, "b": 2})),
            update("t1", "X", &json!({"b": 2})),
            start("t1", "X", json!({"b": 3})),
            start("t1", "X", json!({"b": 3})),
            update("t1", "X", &json!({"c": 4})),
        ],
        &[
            r#"call t1 title="X" other pending rawInput={"a":1,"b":2}"#,
            r#"more t1 rawInput={"a":1,"b":3}"#,
            r#"more t1 rawInput={"a":1,"b":3,"c":4}"#,
        ],
    );
}

#[test]
fn a1_a_title_and_a_place_follow_the_input() {
    check(
        vec![
            update("t1", "Read", &json!({"file_path": "/repo/a"})),
            update("t1", "Read", &json!({"offset": 5})),
            update("t1", "Read", &json!({"limit": 5})),
        ],
        &[
            r#"call t1 title="Read a" read pending locations=[{"path":"/repo/a","line":1}] rawInput={"file_path":"/repo/a"}"#,
            r#"more t1 title="Read a (from line 5)" locations=[{"path":"/repo/a","line":5}] rawInput={"file_path":"/repo/a","offset":5}"#,
            r#"more t1 title="Read a (5 - 9)" rawInput={"file_path":"/repo/a","offset":5,"limit":5}"#,
        ],
    );
}

#[test]
fn u4_an_id_that_is_used_again_is_another_call() {
    check(
        vec![
            start("t1", "Task", json!({})),
            ended("t1", None),
            ended("t1", None),
            start("t1", "Task", json!({})),
            start_under(Some("t1"), "t2", "X", json!({})),
            ended("t1", None),
        ],
        &[
            r#"call t1 title="Task" think pending rawInput={}"#,
            &format!(r#"more t1 completed ["ok"] {OK}"#),
            r#"call t1#2 title="Task" think pending rawInput={}"#,
            r#"call t2 title="X" other pending rawInput={} <t1#2"#,
            &format!(r#"more t1#2 completed ["ok"] {OK}"#),
        ],
    );
}

#[test]
fn a1_a_correction_of_the_todos_changes_the_plan() {
    let todos = |content: &str| json!({"todos": [{"content": content, "status": "in_progress"}]});
    check(
        vec![
            update("w1", "TodoWrite", &todos("never started")),
            retract(0, &["w1"]),
            start("w2", "TodoWrite", todos("a")),
            update("w2", "TodoWrite", &todos("b")),
            ended("w2", None),
        ],
        &[r#"plan "a" medium in_progress"#, r#"plan "b" medium in_progress"#],
    );
}

#[test]
fn a1_a_final_text_that_was_not_streamed_is_said() {
    check(
        vec![BusData::Lifecycle(Phase::Start), said("", "", 0), end("Only here.")],
        &[r#"say - "Only here.""#],
    );
    check(
        vec![BusData::Lifecycle(Phase::Start), said("m1", "Hi", 2), end("Hi there")],
        &[r#"say m1 "Hi""#],
    );
    check(vec![BusData::Lifecycle(Phase::Start), end(" \n")], &[]);
}

#[test]
fn a2_a_diff_is_sent_again_when_the_file_has_changed_meanwhile() {
    let path = "/repo/f";
    let edit =
        |old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new});
    let mut converter = AcpConverter::new(settings(false));
    let write = json!({"file_path": path, "content": "a b"});
    convert(&mut converter, [start("w", "Write", write), ended("w", None), end("")]);
    let updates = convert(
        &mut converter,
        [
            start("e1", "Edit", edit("a", "A")),
            start("e2", "Edit", edit("b", "B")),
            ended("e1", None),
            ended("e2", None),
        ],
    );
    let place = r#"locations=[{"path":"/repo/f"}]"#;
    let input = |old: &str, new: &str| format!("rawInput={}", edit(old, new));
    assert_eq!(
        show_all(&updates),
        [
            format!(
                r#"call e1 title="Edit `f`" edit pending [/repo/f "a b" -> "A b"] {place} {}"#,
                input("a", "A")
            ),
            format!(
                r#"call e2 title="Edit `f`" edit pending [/repo/f "a b" -> "a B"] {place} {}"#,
                input("b", "B")
            ),
            format!("more e1 completed {OK}"),
            format!(r#"more e2 completed [/repo/f "A b" -> "A B"] {OK}"#),
        ]
    );
}

#[test]
fn a1_the_bytes_of_an_update_are_known() {
    let mut converter = AcpConverter::new(settings(true));
    let mut updates = convert(
        &mut converter,
        [
            said("m1", "Hi", 2),
            start_under(Some("p"), "b1", "Bash", json!({"command": "ls"})),
            ended("b1", None),
            start("w1", "Write", json!({"file_path": "/repo/f", "content": "x"})),
            start("p1", "TodoWrite", json!({"todos": [{"content": "a"}]})),
        ],
    );
    let lines: Vec<_> = updates.iter().map(|u| serde_json::to_string(u).unwrap()).collect();
    let expect = [
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi"},"messageId":"m1"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"b1","title":"Execute command","kind":"execute","status":"pending","content":[{"type":"terminal","terminalId":"b1"}],"rawInput":{"command":"ls"},"_meta":{"claudeCode":{"toolName":"Bash","parentToolCallId":"p","bashCommand":"ls"},"terminal_info":{"terminal_id":"b1"}}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"b1","_meta":{"claudeCode":{"toolName":"Bash","parentToolCallId":"p","bashCommand":"ls"},"terminal_output":{"terminal_id":"b1","data":"ok"}}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"b1","status":"completed","rawOutput":{"content":[{"type":"text","text":"ok"}],"isError":false},"_meta":{"claudeCode":{"toolName":"Bash","parentToolCallId":"p","bashCommand":"ls"},"terminal_exit":{"terminal_id":"b1","exit_code":0,"signal":null}}}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"w1","title":"Write f","kind":"edit","status":"pending","content":[{"type":"diff","path":"/repo/f","oldText":null,"newText":"x"}],"locations":[{"path":"/repo/f"}],"rawInput":{"file_path":"/repo/f","content":"x"},"_meta":{"claudeCode":{"toolName":"Write"}}}"#,
        r#"{"sessionUpdate":"plan","entries":[{"content":"a","priority":"medium","status":"pending"}]}"#,
    ];
    assert_eq!(lines, expect);
    let first = updates.swap_remove(0);
    assert_eq!(
        serde_json::to_string(&converter.notification(&first)).unwrap(),
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{}}}}}"#,
            expect[0]
        )
    );
}
