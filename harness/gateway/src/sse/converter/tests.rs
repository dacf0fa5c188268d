//! The events of a stream for bus events: a table a rule.

use clitape_stream::FailureKind;

use super::*;

/// Converts `data`; expects `name data` a line, without `timestamp` and `messageId`.
#[track_caller]
fn check(data: Vec<BusData>, expect: &[&str]) {
    let mut converter = SseConverter::new();
    let mut lines = Vec::new();
    for (seq, data) in (1..).zip(data) {
        for mut event in converter.on(&BusEvent { run_id: "r1".into(), seq, at: seq * 10, data }) {
            assert_eq!(event.data.shift_remove("timestamp"), Some(json!(seq * 10)));
            assert_eq!(event.data.shift_remove("messageId"), Some(json!("r1")));
            lines.push(format!("{} {}", event.name, Value::Object(event.data)));
        }
    }
    assert_eq!(lines, expect);
}

fn text(delta: &str, length: u64, parent: Option<&str>) -> BusData {
    BusData::Assistant {
        message_id: "m".into(),
        delta: delta.into(),
        length,
        parent: parent.map(Into::into),
    }
}

fn thinking(delta: &str) -> BusData {
    BusData::Thinking { message_id: "m".into(), delta: delta.into(), length: 1, parent: None }
}

fn start(id: &str, name: &str, args: Value) -> BusData {
    BusData::Tool(Tool::Start {
        id: id.into(),
        name: name.into(),
        title: String::new(),
        args: args.into(),
        truncated: None,
        parent: None,
    })
}

fn update(id: &str, args: Value) -> BusData {
    let Value::Object(args) = args else { panic!("{args}") };
    let (id, name, title) = (id.into(), "Bash".into(), String::new());
    BusData::Tool(Tool::Update { id, name, title, args, parent: None })
}

fn result(id: &str, name: &str, is_error: bool, result: Value) -> BusData {
    let (id, name) = (id.into(), name.into());
    BusData::Tool(Tool::Result { id, name, is_error, result, incomplete: None, parent: None })
}

fn retract(text: &str) -> BusData {
    BusData::Retract {
        text: text.into(),
        length: text.len() as u64,
        thinking: String::new(),
        thinking_length: 0,
        calls: vec!["t9".into()],
        parent: None,
    }
}

fn end(text: &str) -> BusData {
    BusData::Lifecycle(Phase::End { text: text.into() })
}

fn failed() -> BusData {
    BusData::Lifecycle(Phase::Error { kind: FailureKind::NoResult, message: "It broke.".into() })
}

const COMPLETE: &str = r#"complete {"processedMessageIds":["r1"]}"#;

#[test]
pub(crate) fn s1_a_call_is_sent_once_it_has_ended_after_the_text_before_it() {
    check(
        vec![
            BusData::Lifecycle(Phase::Start),
            thinking("hm"),
            text("Look", 4, None),
            text(":", 5, None),
            update("t1", json!({"command": "l"})),
            start("t1", "Bash", json!({"command": "ls"})),
            result("t1", "Bash", false, json!("ok")),
            text("\n\nDone", 11, None),
            end("Done"),
        ],
        &[
            r#"output {"type":"delta","content":"Look"}"#,
            r#"output {"type":"delta","content":":"}"#,
            r#"tool_use {"toolCallId":"t1","name":"Bash","input":{"command":"ls"},"isError":false}"#,
            r#"output {"type":"delta","content":"\n\nDone"}"#,
            r#"complete {"processedMessageIds":["r1"],"text":"Done"}"#,
        ],
    );
}

#[test]
pub(crate) fn s1_input_comes_from_the_start() {
    let broken = BusData::Tool(Tool::Start {
        id: "t4".into(),
        name: "Bash".into(),
        title: String::new(),
        args: Value::Null.into(),
        truncated: Some("{\"command\":\"l".into()),
        parent: Some("t0".into()),
    });
    check(
        vec![
            // Two calls of one tool at once, one of them corrected, that end the other way round.
            start("t1", "Bash", json!({"command": "a", "x": 1})),
            start("t2", "Bash", json!(0)),
            update("t1", json!({"command": "b"})),
            result("t2", "Bash", false, json!("")),
            result("t1", "Bash", true, json!("no")),
            // No start, and arguments that never became JSON.
            result("t3", "Read", false, json!("")),
            broken,
            result("t4", "Bash", false, json!("")),
        ],
        &[
            r#"tool_use {"toolCallId":"t2","name":"Bash","input":0,"isError":false}"#,
            concat!(
                r#"tool_use {"toolCallId":"t1","name":"Bash","input":{"command":"b","x":1},"#,
                r#""isError":true,"result_summary":{"error":"no"}}"#
            ),
            r#"tool_use {"toolCallId":"t3","name":"Read","input":null,"isError":false}"#,
            concat!(
                r#"tool_use {"toolCallId":"t4","name":"Bash","input":"{\"command\":\"l","#,
                r#""isError":false,"parentToolCallId":"t0"}"#
            ),
        ],
    );
}

#[test]
pub(crate) fn s1_every_call_is_sent_before_the_end_and_none_twice() {
    let unanswered = concat!(
        r#"tool_use {"toolCallId":"t2","name":"Read","input":{},"isError":true,"#,
        r#""result_summary":{"error":"the run ended before the tool answered"}}"#
    );
    let bash = r#"tool_use {"toolCallId":"t1","name":"Bash","input":{},"isError":false}"#;
    let ambiguous = BusData::Tool(Tool::Result {
        id: "t3".into(),
        name: "web_search".into(),
        is_error: false,
        result: Value::Null,
        incomplete: Some(Incomplete::Ambiguous),
        parent: None,
    });
    let calls = || {
        vec![
            start("t1", "Bash", json!({})),
            result("t1", "Bash", false, json!("")),
            result("t1", "Bash", false, json!("")),
            start("t2", "Read", json!({})),
        ]
    };
    let then = |more: Vec<BusData>| calls().into_iter().chain(more).collect();
    check(
        then(vec![end("")]),
        &[bash, unanswered, r#"complete {"processedMessageIds":["r1"],"text":""}"#],
    );
    check(
        then(vec![failed()]),
        &[bash, unanswered, r#"error {"error":"It broke.","kind":"no_result"}"#, COMPLETE],
    );
    check(
        vec![ambiguous],
        &[concat!(
            r#"tool_use {"toolCallId":"t3","name":"web_search","input":null,"isError":true,"#,
            r#""result_summary":{"error":"the run ended before the tool answered; "#,
            r#"whether it took effect is not known"}}"#
        )],
    );
}

#[test]
fn u4_an_id_that_begins_again_is_another_call() {
    let told = |input: u8| {
        format!(r#"tool_use {{"toolCallId":"t1","name":"Bash","input":{input},"isError":false}}"#)
    };
    let call = |n: u8| [start("t1", "Bash", json!(n)), result("t1", "Bash", false, json!(""))];
    check(call(1).into_iter().chain(call(2)).collect(), &[&told(1), &told(2)]);
}

#[test]
fn t3_no_text_of_a_subagent() {
    check(
        vec![text("child", 5, Some("t0")), text("b", 1, None)],
        &[r#"output {"type":"delta","content":"b"}"#],
    );
}

#[test]
fn t7_what_was_taken_back_is_replaced() {
    check(
        vec![text("one", 3, None), text(" two", 7, None), retract("one"), retract("one")],
        &[
            r#"output {"type":"delta","content":"one"}"#,
            r#"output {"type":"delta","content":" two"}"#,
            r#"output {"type":"replace","content":"one"}"#,
        ],
    );
}

#[test]
pub(crate) fn s1_what_a_person_waits_for_is_a_status() {
    let notice = |subtype: &str, detail: Value| {
        let Value::Object(detail) = detail else { panic!("{detail}") };
        BusData::Notice(crate::notice::Notice::new("system", Some(subtype), &detail))
    };
    check(
        vec![
            notice("status", json!({"status": "compacting"})),
            notice("hook_response", json!({"exit_code": 2})),
            notice("api_retry", json!({"error_status": 529})),
            notice("api_retry", json!({"error_status": 529})),
            text("Hi", 2, None),
            notice("api_retry", json!({"error_status": 529})),
        ],
        &[
            r#"status {"text":"🗜️ Compacting the conversation…"}"#,
            r#"status {"text":"⏳ The API failed (529); trying again"}"#,
            r#"output {"type":"delta","content":"Hi"}"#,
            r#"status {"text":"⏳ The API failed (529); trying again"}"#,
        ],
    );
}
