//! Tests of the bytes of scripted messages.

use serde_json::Value;

use super::*;
use crate::record::script::{Attempts, ModelRequest, RunStage, choose};

mod cut;

fn write<T>(turn: &str, with: impl FnOnce(&Writer<'_>) -> T) -> T {
    let script: Model = toml::from_str(turn).unwrap();
    let answer =
        choose(&script, &ModelRequest::default(), &RunStage::default(), &mut Attempts::new())
            .unwrap();
    with(&Writer {
        script: &script,
        folders: &Folders::canonical(),
        answer: &answer,
        model: "claude-x",
    })
}

/// Checks the stream, as lines `delay: event fields, event fields` without the envelope of message_start.
#[track_caller]
fn check(turn: &str, expect: &[&str]) {
    let steps = write(turn, |writer| writer.stream());
    let lines: Vec<String> = steps
        .iter()
        .map(|step| {
            let Some(bytes) = &step.bytes else {
                return format!("{}: lost", step.delay.as_millis());
            };
            let text = std::str::from_utf8(bytes).unwrap();
            let events = text.strip_suffix("\n\n").unwrap().split("\n\n").map(short);
            format!("{}: {}", step.delay.as_millis(), events.collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert_eq!(lines, expect);
}

/// Returns the last step: the end of a block, the reason why the message ends, its tokens in and out.
fn end(block: usize, reason: &str, [input, output]: [u64; 2]) -> String {
    format!(
        r#"0: content_block_stop "index":{block}, message_delta "delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"input_tokens":{input},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":{output}}}, message_stop"#
    )
}

fn short(event: &str) -> String {
    let (name, data) = event.split_once('\n').unwrap();
    let name = name.strip_prefix("event: ").unwrap();
    let data = data.strip_prefix(&format!("data: {{\"type\":\"{name}\"")).unwrap();
    if name == "message_start" {
        return name.to_owned();
    }
    format!("{name}{}", data.strip_suffix('}').unwrap().replacen(',', " ", 1))
}

#[test]
fn a_text_streams_delta_by_delta() {
    check(
        "[[turn]]\n[[turn.block]]\ntext = 'One 😀'\ncut_utf16 = 5\ndelay_ms = 9",
        &[
            r#"0: message_start, content_block_start "index":0,"content_block":{"type":"text","text":""}"#,
            r#"9: content_block_delta "index":0,"delta":{"type":"text_delta","text":"One \ud83d"}"#,
            r#"9: content_block_delta "index":0,"delta":{"type":"text_delta","text":"\ude00"}"#,
            &end(0, "end_turn", [1000, 2]),
        ],
    );
}

#[test]
fn thinking_is_signed_and_a_call_opens_with_an_empty_delta() {
    check(
        "[[turn]]\nstop_reason = 'max_tokens'\n\
         [[turn.block]]\nthinking = 'Hm.'\nsignature = 'c2ln'\n\
         [[turn.block]]\ntool = 'Bash'\ninput_json = ['{\"a\": ', '1']\ndelay_ms = 0",
        &[
            r#"0: message_start, content_block_start "index":0,"content_block":{"type":"thinking","thinking":"","signature":""}"#,
            r#"30: content_block_delta "index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}"#,
            concat!(
                r#"0: content_block_delta "index":0,"delta":{"type":"signature_delta","signature":"c2ln"}, content_block_stop "index":0, "#,
                r#"content_block_start "index":1,"content_block":{"type":"tool_use","id":"toolu_clitape_main_1_2","name":"Bash","input":{}}, "#,
                r#"content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":""}"#,
            ),
            r#"0: content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}"#,
            r#"0: content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":"1"}"#,
            &end(1, "max_tokens", [1000, 3]),
        ],
    );
}

#[test]
fn an_empty_message_is_one_step() {
    check(
        "[[turn]]\nblock = []",
        &[concat!(
            r#"0: message_start, message_delta "delta":{"stop_reason":"end_turn","stop_sequence":null},"#,
            r#""usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}, "#,
            "message_stop"
        )],
    );
}

#[test]
fn a_message_that_is_not_streamed_says_the_same() {
    let turn = "[[turn]]\n[[turn.block]]\nthinking = 'Hm.'\nsignature = 'c2ln'\n\
                [[turn.block]]\ntext = ['In ', '{{tmp}}']\n\
                [[turn.block]]\ntool = 'Bash'\nid = 't1'\ninput = { command = 'ls {{home}}' }\n\
                [[turn.block]]\ntool = 'Bash'\ninput_json = '{\"broken'";
    let message: Value = serde_json::from_slice(&write(turn, |writer| writer.whole())).unwrap();
    let expect = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "In /clitape/tmp"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls /clitape/home"}},
        {"type": "tool_use", "id": "toolu_clitape_main_1_4", "name": "Bash", "input": {}},
    ]);
    assert_eq!(message["content"], expect);
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(message["id"], "msg_clitape_main_1");
    assert_eq!(write(turn, |writer| writer.request_id()), "req_clitape_main_1");
}

#[test]
fn an_answer_aside_comes_at_once_and_counts_no_tokens() {
    check(
        "[[turn]]\nblock = []\n[[side]]\ncontains = ''\ntext = 'A rather long title.'",
        &[
            r#"0: message_start, content_block_start "index":0,"content_block":{"type":"text","text":""}"#,
            r#"0: content_block_delta "index":0,"delta":{"type":"text_delta","text":"A rather long title."}"#,
            &end(0, "end_turn", [0, 0]),
        ],
    );
}

#[test]
fn a_raw_block_has_no_deltas_and_a_server_tool_has() {
    check(
        "[[turn]]\n[[turn.block]]\nraw = { data = 'b3BhcXVl', type = 'redacted_thinking' }\n\
         [[turn.block]]\nserver_tool = 'web_search'\ninput = { query = 'x' }\n\
         [[turn.block]]\ntext = 'So.'\ncitations = [{ url = 'u', type = 'web_search_result_location' }]",
        &[
            concat!(
                r#"0: message_start, content_block_start "index":0,"content_block":{"type":"redacted_thinking","data":"b3BhcXVl"}, "#,
                r#"content_block_stop "index":0, content_block_start "index":1,"content_block":{"type":"server_tool_use","#,
                r#""id":"srvtoolu_clitape_main_1_2","name":"web_search","input":{}}, "#,
                r#"content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":""}"#,
            ),
            r#"30: content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\""}"#,
            r#"30: content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":"}"}"#,
            r#"0: content_block_stop "index":1, content_block_start "index":2,"content_block":{"type":"text","text":"","citations":[]}"#,
            r#"30: content_block_delta "index":2,"delta":{"type":"text_delta","text":"So."}"#,
            concat!(
                r#"0: content_block_delta "index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"u"}}, "#,
                r#"content_block_stop "index":2, message_delta "delta":{"stop_reason":"end_turn","stop_sequence":null},"#,
                r#""usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4,"server_tool_use":{"web_search_requests":1}}, "#,
                "message_stop"
            ),
        ],
    );
}

/// Checks the last two steps of a turn with a text and a call.
#[track_caller]
fn check_end(failure: &str, expect: [&str; 2]) {
    let turn = format!(
        "[[turn]]\n[[turn.failure]]\n{failure}\n[[turn.block]]\ntext = 'abcd'\ncut = 2\n\
         [[turn.block]]\ntool = 'Bash'\ninput_json = '{{}}'"
    );
    let steps = write(&turn, |writer| writer.stream());
    let ends = steps.iter().rev().take(2).rev().map(|step| {
        let Some(bytes) = &step.bytes else {
            return "lost".to_owned();
        };
        let text = std::str::from_utf8(bytes).unwrap();
        text.strip_suffix("\n\n").unwrap().split("\n\n").map(short).collect::<Vec<_>>().join(", ")
    });
    assert_eq!(ends.collect::<Vec<_>>(), expect, "{failure}");
}

#[test]
fn a_stream_breaks_off_where_the_script_says() {
    let text = |text: &str| {
        format!(r#"content_block_delta "index":0,"delta":{{"type":"text_delta","text":"{text}"}}"#)
    };
    let error = r#"error "error":{"type":"overloaded_error","message":"Later in /clitape/tmp"}"#;
    let told = "type = 'overloaded_error'\nmessage = 'Later in {{tmp}}'";
    let start =
        r#"message_start, content_block_start "index":0,"content_block":{"type":"text","text":""}"#;
    let call = concat!(
        r#"content_block_stop "index":0, content_block_start "index":1,"content_block":"#,
        r#"{"type":"tool_use","id":"toolu_clitape_main_1_2","name":"Bash","input":{}}, "#,
        r#"content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":""}"#,
    );
    check_end("drop_after = { block = 1, deltas = 0 }", [start, "lost"]);
    check_end("drop_after = { block = 1, deltas = 1 }", [&text("ab"), "lost"]);
    check_end("drop_after = { block = 2, deltas = 0 }", [call, "lost"]);
    check_end(&format!("error_after = {{ block = 1, deltas = 2 }}\n{told}"), [&text("cd"), error]);
    check_end(
        &format!("error_after = {{ block = 1 }}\n{told}"),
        [&text("cd"), &format!(r#"content_block_stop "index":0, {error}"#)],
    );
}

#[test]
fn the_end_may_wait_for_a_fast_tool() {
    check(
        "[[turn]]\nend_delay_ms = 400\n[[turn.block]]\nraw = { type = 'x' }",
        &[
            r#"0: message_start, content_block_start "index":0,"content_block":{"type":"x"}, content_block_stop "index":0"#,
            concat!(
                r#"400: message_delta "delta":{"stop_reason":"end_turn","stop_sequence":null},"#,
                r#""usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}, "#,
                "message_stop"
            ),
        ],
    );
}

#[test]
fn a_refusal_says_its_details() {
    let turn = "[[turn]]\nblock = []\nstop_reason = 'refusal'\n\
                stop_details = { category = 'cyber', type = 'refusal' }";
    check(
        turn,
        &[concat!(
            r#"0: message_start, message_delta "delta":{"stop_reason":"refusal","stop_sequence":null,"#,
            r#""stop_details":{"type":"refusal","category":"cyber"}},"#,
            r#""usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}, "#,
            "message_stop"
        )],
    );
}

#[test]
fn tokens_of_the_cache_are_counted() {
    for (key, expect) in [("", [0, 0]), ("cache = { read = 900 }", [900, 0])] {
        let whole = write(&format!("[[turn]]\nblock = []\n{key}"), |writer| writer.whole());
        let usage = &serde_json::from_slice::<Value>(&whole).unwrap()["usage"];
        let counts =
            ["read", "creation"].map(|kind| usage[format!("cache_{kind}_input_tokens")].as_u64());
        assert_eq!(counts, expect.map(Some), "{key}");
        assert_eq!(usage["input_tokens"], 1000);
    }
}

#[test]
fn a_message_may_lack_its_id() {
    for (key, expect) in [("", Some("msg_clitape_main_1")), ("message_id = false", None)] {
        let whole = write(&format!("[[turn]]\nblock = []\n{key}"), |writer| writer.whole());
        let message: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(message["id"].as_str(), expect);
        assert_eq!(message["type"], "message");
    }
}
