//! Odd JSON: the value of one field changes no other field, and the stream goes on.

use super::*;

/// Records in which `ODD` marks places, at every level, for values that no code reads.
fn roomy(odd: &str) -> Vec<u8> {
    let records = [
        r#"{"odd":ODD,"type":"system","subtype":"status","status":"requesting","session_id":"s"}"#,
        r#"{"type":"stream_event","event":{"odd":ODD,"type":"message_start","message":{"odd":ODD,"id":"a","usage":{"odd":ODD,"input_tokens":3}}}}"#,
        r#"{"odd":ODD,"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"odd":ODD,"type":"text","text":""}}}"#,
        r#"{"type":"stream_event","odd":ODD,"event":{"type":"content_block_delta","odd":ODD,"index":0,"delta":{"odd":ODD,"type":"text_delta","text":"Hi"}}}"#,
        r#"{"message":{"odd":ODD,"content":[{"odd":ODD,"type":"text","text":"Hi"}],"id":"a"},"odd":ODD,"type":"assistant"}"#,
        r#"{"message":{"content":[{"odd":ODD,"type":"tool_use","id":"t","name":"Bash","input":{"a":1}}],"id":"a"},"type":"assistant"}"#,
        r#"{"message":{"content":[{"odd":ODD,"type":"tool_result","tool_use_id":"t","content":"ok"}],"odd":ODD},"tool_use_result":ODD,"type":"user"}"#,
        r#"{"odd":ODD,"result":"Hi","usage":{"odd":ODD,"output_tokens":4},"modelUsage":ODD,"type":"result","subtype":"success"}"#,
    ];
    records.map(|record| record.replace("ODD", odd) + "\n").concat().into_bytes()
}

/// The events of the records, except those that are passed through raw.
fn events(bytes: &[u8]) -> Vec<String> {
    let (mut seen, stats) = run(bytes, || usize::MAX);
    assert_eq!((stats.records, stats.unusable, stats.diagnostics), (8, 0, 0));
    seen.retain(|event| !event.starts_with("record"));
    seen
}

#[test]
fn a_snapshot_without_an_id_is_of_the_message_that_streams() {
    let nameless = r#"{"message":{"content":[{"type":"text","text":"one"}]},"type":"assistant"}"#;
    check(
        &[message("a"), text(0, "on"), nameless.into(), stop(0), over(), result("one")],
        &[r#"text a "on""#, r#"text a "e""#, r#"ok "one""#],
    );
}

#[test]
fn a_block_that_is_open_stays_when_a_snapshot_names_its_message() {
    check(
        &[
            message(""),
            block(0, r#"{"type":"text","text":""}"#),
            text(0, "one"),
            snapshot("a", &text_block("one")),
            stop(0),
            over(),
            result("one"),
        ],
        &[r#"text  "one""#, r#"ok "one""#],
    );
}

#[test]
fn a_result_of_the_host_after_that_of_the_model_is_a_second_one() {
    let own = r#"{"type":"server_tool_use","id":"t","name":"search","input":{}}"#;
    let done = r#"{"type":"web_search_tool_result","tool_use_id":"t","content":[]}"#;
    check(
        &[snapshot("a", own), snapshot("a", done), tool_result("t", "x"), result("x")],
        &[
            "start t search server_tool_use{}",
            "result t search []",
            "diagnostic duplicate-result 3",
            END,
        ],
    );
}

#[test]
fn a_result_without_the_id_of_its_call_is_reported_once() {
    let nameless = r#"{"type":"web_search_tool_result","content":[]}"#;
    check(
        &[message("a"), block(0, nameless), snapshot("a", nameless), over(), result("x")],
        &["diagnostic bad-tool-id 2", END],
    );
}

#[test]
pub(crate) fn a_field_that_is_not_read_may_have_any_value() {
    let plain = events(&roomy("null"));
    assert_eq!(plain.last().unwrap(), r#"ok "Hi" of 0"#);
    assert_eq!(plain.len(), 6, "{plain:?}");
    let deep =
        |open: &str, close: &str| format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
    for odd in [
        r#""\ud83d""#,
        r#""\ude00\ud83d""#,
        r#"{"\udc00":"\ud800"}"#,
        r#""\u0000 \u2028 \u001b""#,
        "\"\u{2028}\u{2029}\u{85}\u{feff}\"",
        "123456789012345678901234567890",
        "-0",
        "1e999",
        "0.1000000000000000055511151231257827",
        r#"{"type":"result","type":"assistant","result":"no","text":"no","event":{}}"#,
        r#"{"a":1,"a":2,"":3,"":4}"#,
        r#"[{"type":"tool_use","id":"u","name":"No","input":{}}]"#,
        r#""}]}\" \\""#,
        &deep("[", "]"),
        &deep(r#"{"a":"#, "}"),
        &deep(r#"[{"type":"#, "}]"),
    ] {
        let clip: String = odd.chars().take(60).collect();
        assert_eq!(events(&roomy(odd)), plain, "with {clip}");
    }
}

#[test]
pub(crate) fn any_key_may_come_twice_or_escaped() {
    // The last of equal keys counts, however the keys are written.
    check(
        &[
            r#"{"type":"result","event":{"type":"message_start"},"type":"stream_event","event":{"type":"ping","type":"content_block_delta","index":7,"index":0,"delta":{"type":"text_delta","text":"no","t\u0065xt":"Hi"}}}"#.into(),
            r#"{"\u0074ype":"result","result":"no","resul\u0074":"Hi","subtype":"success"}"#.into(),
        ],
        &[r#"text  "Hi""#, r#"ok "Hi""#],
    );
}

#[test]
pub(crate) fn an_escaped_nul_is_a_character() {
    check(
        &[message("a"), text(0, r"a\u0000b"), snapshot("a", &text_block(r"a\u0000b")), result("x")],
        &[r#"text a "a\0b""#, r#"ok "x""#],
    );
    check(
        &[snapshot("a", &call("t", r#"{"a\u0000":"\u0000"}"#)), result("x")],
        &[r#"start t Bash {"a\u0000":"\u0000"}"#, "result t Bash incompletenull", r#"ok "x""#],
    );
}

#[test]
pub(crate) fn a_raw_nul_in_a_string_is_a_character_and_changes_nothing_else() {
    check(
        &[message("a"), text(0, "o\0n\u{1f}e\t"), result("o\0n\u{1f}e\t")],
        &[
            "text a \"o\\0n\\u{1f}e\\t\"",
            "diagnostic control-character 2",
            "diagnostic control-character 3",
            "ok \"o\\0n\\u{1f}e\"",
        ],
    );
    let bad = "{\"type\":\"keep\0alive\"}";
    check(
        &[message("a"), text(0, "one"), bad.into(), text(0, " two"), result("one two")],
        &[
            r#"text a "one""#,
            &format!("unknown keep\0alive {}", bad.replace('\0', r"\u0000")),
            "diagnostic control-character 3",
            r#"text a " two""#,
            r#"ok "one two""#,
        ],
    );
}

#[test]
pub(crate) fn a_raw_nul_elsewhere_costs_its_own_line_only() {
    for bad in ["\0", "\0{}", "{\"type\":\"keep_alive\"\0}", "{\"type\":\"keep\0al"] {
        check(
            &[message("a"), text(0, "one"), bad.into(), text(0, " two"), result("one two")],
            &[r#"text a "one""#, "diagnostic not-json 3", r#"text a " two""#, r#"ok "one two""#],
        );
    }
}

/// The JSON text of the arguments with which `records` start a call.
fn raw_args(records: &[String]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut parser = Parser::new();
    let mut sink = |event: Event<'_>| {
        if let Event::ToolStart { args: ToolArguments::Complete(json), .. } = &event {
            seen.push(json.get().to_owned());
        }
        assert!(serde_json::to_string(&event).is_ok());
    };
    parser.feed_with(records.join("\n").as_bytes(), &mut sink);
    parser.finish_with(&mut sink);
    seen
}

#[test]
pub(crate) fn u1_arguments_keep_every_digit_and_key() {
    for args in [
        r#"{"10":1,"2":123456789012345678901234567890,"a":1.0}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":"\ud83d"}"#,
        r#"{"a":1e999}"#,
    ] {
        let streamed = [message("a"), tool(0, "t", "{}"), json(0, args), stop(0)];
        assert_eq!(raw_args(&streamed), [args]);
        assert_eq!(raw_args(&[snapshot("a", &call("t", args))]), [args]);
    }
}

#[test]
pub(crate) fn u1_arguments_and_results_100_000_levels_deep() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let args = format!(r#"{{"a":{deep}}}"#);
    let result_of = tool_result("t", "x").replace("\"x\"", &deep);
    let streamed = [message("a"), tool(0, "t", "{}"), json(0, &args), stop(0), over()];
    let shown = [snapshot("a", &call("t", &args))];
    for call in [&streamed[..], &shown[..]] {
        let records = [call, &[result_of.clone(), result("x")]].concat();
        assert_eq!(raw_args(&records), [args.as_str()]);
        let bytes = records.join("\n");
        let (seen, stats) = run(bytes.as_bytes(), || 4_096);
        assert_eq!((seen.len(), stats.diagnostics), (3, 0));
        assert!(seen[1].starts_with("result t Bash [[["));
    }
}
