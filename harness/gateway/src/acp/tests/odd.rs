//! More situations a client of the Claude adapter meets: whole messages, subagents, odd arguments
//! and odd results.

use super::records::*;
use super::*;

#[test]
fn a1_text_comes_without_partial_messages_too() {
    // The adapter leaves text and reasoning of whole messages out.
    check(
        vec![
            snapshot("m1", json!([{"type": "thinking", "thinking": "hmm"}])),
            snapshot("m1", json!([{"type": "text", "text": "One."}])),
            snapshot("m2", json!([{"type": "text", "text": "Two."}])),
        ],
        &[r#"think m1 "hmm""#, r#"say m1 "One.""#, r#"say m2 "\n\nTwo.""#],
    );
    check(
        vec![calls("t9", "Glob", json!({"pattern": "*.rs", "path": "/repo"}))],
        &[
            r#"call t9 title="Find \"/repo\" \"*.rs\"" search pending locations=[{"path":"/repo"}] rawInput={"pattern":"*.rs","path":"/repo"}"#,
            "more t9 failed",
        ],
    );
}

/// The adapter leaves the parent out of an update of the input.
#[test]
fn a1_each_update_of_a_subagent_names_its_parent() {
    let sub = |record| under("task1", record);
    let records = || {
        vec![
            sub(message("m1")),
            sub(block(0, json!({"type": "thinking", "thinking": ""}))),
            sub(delta(0, "thinking_delta", "thinking", "th")),
            sub(stop(0)),
            sub(text(1)),
            sub(said(1, "sub")),
            sub(stop(1)),
            sub(block(2, call("st", "Bash", json!({})))),
            sub(input(2, r#"{"command":"ls","#)),
            sub(input(2, r#""description":"List"}"#)),
            sub(stop(2)),
            sub(over()),
            sub(result("st", false, json!("m"))),
            sub(calls("sw", "TodoWrite", json!({"todos": [{"content": "x"}]}))),
        ]
    };
    let output = r#"rawOutput={"content":[{"type":"text","text":"m"}],"isError":false}"#;
    check(
        records(),
        &[
            r#"think m1 "th" <task1"#,
            r#"say m1 "sub" <task1"#,
            r#"call st title="Execute command" execute pending ["ls"] rawInput={"command":"ls"} <task1"#,
            r#"more st title="List" rawInput={"command":"ls","description":"List"} <task1"#,
            &format!(r#"more st completed ["```console\nm\n```"] {output} <task1"#),
            r#"plan "x" medium pending <task1"#,
        ],
    );
    let mut converter = AcpConverter::new(settings(true));
    let updates = convert(&mut converter, published(&records()));
    assert_eq!(updates.len(), 7, "{updates:?}");
    for update in updates {
        let update = json!(update);
        let parent = &update["_meta"]["claudeCode"]["parentToolCallId"];
        assert_eq!(parent, "task1", "{update}");
    }
}

/// A message whose content is one string, which the parser has no place for: the result says it.
#[test]
fn a1_text_that_only_the_result_contains_is_sent_at_the_end() {
    let records = [snapshot("m1", json!("plain")), done("plain")];
    let mut converter = AcpConverter::new(settings(false));
    let updates = convert(&mut converter, published(&records));
    assert_eq!(show_all(&updates), [r#"say - "plain""#]);
    assert_eq!(converter.turn_end(), Some(&TurnEnd::Stop(StopReason::EndTurn)));
}

/// The adapter sends an array while it grows, and never a scalar.
#[test]
fn a1_arguments_that_are_no_object_are_sent_whole() {
    let streamed = |args: &[&str]| {
        let mut records = vec![message("m1"), block(0, call("t1", "X", json!({})))];
        records.extend(args.iter().map(|piece| input(0, piece)));
        records.extend([stop(0), over()]);
        records
    };
    check(
        streamed(&["[1,", "2]"]),
        &[r#"call t1 title="X" other pending rawInput=[1,2]"#, "more t1 failed"],
    );
    // One scalar does not count as arguments of a tool.
    check(
        streamed(&[r#""str""#]),
        &[r#"call t1 title="X" other pending ["```\n\"str\"\n```"]"#, "more t1 failed"],
    );
}

#[test]
fn u1_arguments_that_never_became_valid_are_shown_as_they_came() {
    for (came, expect) in [
        (r#"{"comma"#, r#"["```\n{\"comma\n```"]"#),
        (r#"{"command": "ls"#, r#"["ls"] rawInput={"command":"ls"}"#),
    ] {
        let start = format!(r#"call t1 title="Execute command" execute pending {expect}"#);
        check(
            vec![
                message("m1"),
                block(0, call("t1", "Bash", json!({}))),
                input(0, came),
                stop(0),
                over(),
            ],
            &[&start, "more t1 failed"],
        );
    }
}

#[test]
fn a1_an_agent_that_is_not_logged_in_fails_the_prompt() {
    let sentence = "Not logged in · Please run /login";
    let records = [
        json!({
            "type": "assistant", "error": "authentication_failed",
            "message": {"id": "m1", "model": "<synthetic>", "content": [
                {"type": "text", "text": sentence},
            ]},
        }),
        json!({"type": "result", "subtype": "success", "is_error": true, "result": sentence}),
    ];
    let mut converter = AcpConverter::new(settings(false));
    assert_eq!(show_all(&convert(&mut converter, published(&records))), [""; 0]);
    let message = format!("{sentence}. Check the API key, or log the agent in.");
    assert_eq!(converter.turn_end(), Some(&TurnEnd::Error { code: -32_000, message }));
}

#[test]
fn a1_what_is_no_text_in_a_result_is_shown_as_json() {
    let server = json!({"type": "server_tool_use", "id": "ws", "name": "web_search", "input": {"query": "q"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "ws", "content": [
        {"type": "web_search_result", "url": "u", "title": "t"},
    ]});
    check(
        vec![snapshot("m1", json!([server, found]))],
        &[
            r#"call ws title="\"q\"" fetch pending rawInput={"query":"q"}"#,
            r#"more ws completed ["{\n  \"type\": \"web_search_result\",\n  \"url\": \"u\",\n  \"title\": \"t\"\n}"] rawOutput={"content":[{"type":"web_search_result","url":"u","title":"t"}],"isError":false}"#,
        ],
    );
    // The data of an image is off the bus already (B2); the adapter passes it on.
    let image = json!({"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "AAAA",
    }});
    check(
        vec![calls("t1", "mcp__a__b", json!({})), result("t1", false, json!([image]))],
        &[
            r#"call t1 title="b" other pending rawInput={}"#,
            r#"more t1 completed ["{\n  \"type\": \"image\",\n  \"source\": {\n    \"type\": \"base64\",\n    \"media_type\": \"image/png\",\n    \"bytes\": 3,\n    \"omitted\": true\n  }\n}"] rawOutput={"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","bytes":3,"omitted":true}}],"isError":false}"#,
        ],
    );
}

/// The adapter spreads a `tool_use_result` that is a string into its letters, and shows `[]` as a
/// text. We go by the blocks that the model reads.
#[test]
fn a1_odd_results_stay_what_they_are() {
    let mut failed = result("t1", true, json!("boom"));
    failed["tool_use_result"] = "Error: boom".into();
    check(
        vec![calls("t1", "mcp__a__b", json!({})), failed],
        &[
            r#"call t1 title="b" other pending rawInput={}"#,
            r#"more t1 failed ["```\nboom\n```"] rawOutput={"content":[{"type":"text","text":"boom"}],"isError":true}"#,
        ],
    );
    check(
        vec![
            calls("t2", "mcp__a__c", json!({})),
            result("t2", false, json!([])),
            calls("t3", "mcp__a__d", json!({})),
            result("t3", false, json!({"a": 1})),
        ],
        &[
            r#"call t2 title="c" other pending rawInput={}"#,
            r#"more t2 completed rawOutput={"content":[],"isError":false}"#,
            r#"call t3 title="d" other pending rawInput={}"#,
            r#"more t3 completed ["{\n  \"a\": 1\n}"] rawOutput={"content":[{"a":1}],"isError":false}"#,
        ],
    );
}

#[test]
fn a1_an_unknown_record_is_no_update() {
    check(
        vec![
            message("m1"),
            block(0, json!({"type": "brand_new"})),
            delta(0, "new_delta", "x", "y"),
            stream(json!({"type": "ping"})),
            result("t1", false, Value::Null),
            json!({"type": "user", "message": {"content": [{"type": "advisor_tool_result"}]}}),
        ],
        &[],
    );
}
