//! The situations a client of the Claude adapter meets, and what it gets from us. Where that is
//! something else than the adapter gives it is said why.

use super::records::*;
use super::*;

/// The adapter sends empty chunks, announces the call before anything is known of it, and sends
/// each state of the input, the last one twice. Here a field is sent once, when it has ended; so
/// the call is announced when it starts, with all of it.
#[test]
fn a1_an_mcp_tool_from_its_input_to_its_result() {
    check(
        vec![
            message("m1"),
            block(0, json!({"type": "thinking", "thinking": ""})),
            delta(0, "thinking_delta", "thinking", "hmm"),
            stop(0),
            text(1),
            said(1, "Hi"),
            stop(1),
            block(2, call("t1", "mcp__posthog__exec", json!({}))),
            input(2, ""),
            input(2, "{\"command\":\"ca"),
            input(2, "ll x\"}"),
            stop(2),
            over(),
            snapshot("m1", json!([call("t1", "mcp__posthog__exec", json!({"command": "call x"}))])),
            result("t1", false, json!([{"type": "text", "text": "done"}])),
        ],
        &[
            r#"think m1 "hmm""#,
            r#"say m1 "Hi""#,
            r#"call t1 title="exec" other pending rawInput={"command":"ca"}"#,
            r#"more t1 rawInput={"command":"call x"}"#,
            r#"more t1 completed ["done"] rawOutput={"content":[{"type":"text","text":"done"}],"isError":false}"#,
        ],
    );
}

fn bash() -> Vec<Value> {
    vec![
        message("m1"),
        block(0, call("b1", "Bash", json!({}))),
        input(0, r#"{"command":"ls","#),
        input(0, r#""description":"List"}"#),
        stop(0),
        over(),
        result("b1", false, json!("a\nb\n\n")),
    ]
}

/// The adapter leaves title and content of the first half until the message is whole.
#[test]
fn a1_bash_without_a_terminal() {
    check(
        bash(),
        &[
            r#"call b1 title="Execute command" execute pending ["ls"] rawInput={"command":"ls"}"#,
            r#"more b1 title="List" rawInput={"command":"ls","description":"List"}"#,
            r#"more b1 completed ["```console\na\nb\n```"] rawOutput={"content":[{"type":"text","text":"a\nb\n\n"}],"isError":false}"#,
        ],
    );
}

/// The adapter sends the terminal again with each update.
#[test]
fn a1_bash_with_a_terminal() {
    check_with(
        true,
        bash(),
        &[
            r#"call b1 title="Execute command" execute pending [terminal b1] rawInput={"command":"ls"} +terminal"#,
            r#"more b1 title="List" rawInput={"command":"ls","description":"List"}"#,
            r#"more b1 +output "a\nb\n\n""#,
            r#"more b1 completed rawOutput={"content":[{"type":"text","text":"a\nb\n\n"}],"isError":false} +exit 0"#,
        ],
    );
}

/// In a terminal the adapter leaves a failed command without output and exit, and puts text in the
/// terminal's place.
#[test]
fn a1_bash_that_fails() {
    let records = || {
        vec![
            calls("b1", "Bash", json!({"command": "false"})),
            result("b1", true, json!("Exit code 3")),
        ]
    };
    let output = r#"rawOutput={"content":[{"type":"text","text":"Exit code 3"}],"isError":true}"#;
    check(
        records(),
        &[
            r#"call b1 title="Execute command" execute pending ["false"] rawInput={"command":"false"}"#,
            &format!(r#"more b1 failed ["```\nExit code 3\n```"] {output}"#),
        ],
    );
    check_with(
        true,
        records(),
        &[
            r#"call b1 title="Execute command" execute pending [terminal b1] rawInput={"command":"false"} +terminal"#,
            r#"more b1 +output "Exit code 3""#,
            &format!("more b1 failed {output} +exit 3"),
        ],
    );
}

#[test]
fn a1_a_read_of_some_lines() {
    let whisper = "     5\tfn x\n<system-reminder>be nice</system-reminder>";
    check(
        vec![
            calls("r1", "Read", json!({"file_path": "/repo/src/a.rs", "offset": 5, "limit": 10})),
            result("r1", false, json!(whisper)),
        ],
        &[
            r#"call r1 title="Read src/a.rs (5 - 14)" read pending locations=[{"path":"/repo/src/a.rs","line":5}] rawInput={"file_path":"/repo/src/a.rs","offset":5,"limit":10}"#,
            r#"more r1 completed ["```\n     5\tfn x\n```"] rawOutput={"content":[{"type":"text","text":"     5\tfn x\n<system-reminder>be nice</system-reminder>"}],"isError":false}"#,
        ],
    );
}

#[test]
fn a2_an_edit_after_a_whole_read_shows_the_whole_file() {
    let input = json!({"file_path": "/repo/f.txt", "old_string": "two", "new_string": "TWO"});
    check(
        vec![
            calls("r1", "Read", json!({"file_path": "/repo/f.txt"})),
            result("r1", false, json!("     1\tone\n     2→two\n")),
            calls("e1", "Edit", input),
            result("e1", false, json!("ok")),
        ],
        &[
            r#"call r1 title="Read f.txt" read pending locations=[{"path":"/repo/f.txt","line":1}] rawInput={"file_path":"/repo/f.txt"}"#,
            r#"more r1 completed ["```\n     1\tone\n     2→two\n```"] rawOutput={"content":[{"type":"text","text":"     1\tone\n     2→two\n"}],"isError":false}"#,
            r#"call e1 title="Edit `f.txt`" edit pending [/repo/f.txt "one\ntwo\n" -> "one\nTWO\n"] locations=[{"path":"/repo/f.txt"}] rawInput={"file_path":"/repo/f.txt","old_string":"two","new_string":"TWO"}"#,
            r#"more e1 completed rawOutput={"content":[{"type":"text","text":"ok"}],"isError":false}"#,
        ],
    );
}

/// The file has changed since the call began; what it would have made of the file was never done.
#[test]
fn a2_an_edit_that_fails_without_a_word_shows_no_other_diff() {
    let edit = |old: &str, new: &str| json!({"file_path": "/repo/f.txt", "old_string": old, "new_string": new});
    let output = |words: &str, is_error: bool| {
        format!(
            r#"rawOutput={{"content":[{{"type":"text","text":"{words}"}}],"isError":{is_error}}}"#
        )
    };
    check(
        vec![
            calls("w1", "Write", json!({"file_path": "/repo/f.txt", "content": "a b"})),
            result("w1", false, json!("ok")),
            calls("e1", "Edit", edit("a", "A")),
            calls("e2", "Edit", edit("b", "B")),
            result("e1", false, json!("ok")),
            result("e2", true, json!(" ")),
        ],
        &[
            r#"call w1 title="Write f.txt" edit pending [/repo/f.txt null -> "a b"] locations=[{"path":"/repo/f.txt"}] rawInput={"file_path":"/repo/f.txt","content":"a b"}"#,
            &format!("more w1 completed {}", output("ok", false)),
            r#"call e1 title="Edit `f.txt`" edit pending [/repo/f.txt "a b" -> "A b"] locations=[{"path":"/repo/f.txt"}] rawInput={"file_path":"/repo/f.txt","old_string":"a","new_string":"A"}"#,
            r#"call e2 title="Edit `f.txt`" edit pending [/repo/f.txt "a b" -> "a B"] locations=[{"path":"/repo/f.txt"}] rawInput={"file_path":"/repo/f.txt","old_string":"b","new_string":"B"}"#,
            &format!("more e1 completed {}", output("ok", false)),
            &format!("more e2 failed {}", output(" ", true)),
        ],
    );
}

/// The adapter gets the patch from a hook, and says so in one more update; the stream has none.
#[test]
fn a2_an_edit_of_an_unknown_file_shows_what_it_replaces() {
    check(
        vec![
            message("m1"),
            block(0, call("e1", "Edit", json!({}))),
            input(0, r#"{"file_path":"/repo/q.txt","old_string":"a","new_"#),
            input(0, r#"string":"b"}"#),
            stop(0),
            over(),
            result("e1", false, json!("ok")),
        ],
        &[
            r#"call e1 title="Edit `q.txt`" edit pending locations=[{"path":"/repo/q.txt"}] rawInput={"file_path":"/repo/q.txt","old_string":"a"}"#,
            r#"more e1 [/repo/q.txt "a" -> "b"] rawInput={"file_path":"/repo/q.txt","old_string":"a","new_string":"b"}"#,
            r#"more e1 completed rawOutput={"content":[{"type":"text","text":"ok"}],"isError":false}"#,
        ],
    );
}

/// The adapter sends the input of a call it never announced.
#[test]
fn a1_todos_are_a_plan_and_no_call() {
    let todo = |status: &str| json!([{"content": "x", "status": status, "activeForm": "X"}]);
    check(
        vec![
            message("m1"),
            block(0, call("w1", "TodoWrite", json!({}))),
            input(0, &json!({"todos": todo("pending")}).to_string()),
            stop(0),
            over(),
            result("w1", false, json!("ok")),
            calls("w2", "TodoWrite", json!({"todos": todo("pending")})),
            calls("w3", "TodoWrite", json!({"todos": todo("completed")})),
            calls("w4", "TodoWrite", json!({})),
        ],
        &[r#"plan "x" medium pending"#, r#"plan "x" medium completed"#],
    );
}

/// The adapter gives the rest of the main thread's input to the subagent's call, and loses it.
#[test]
fn a1_lanes_that_stream_at_the_same_index_stay_apart() {
    let sub = |record| under("task1", record);
    check(
        vec![
            message("m1"),
            block(0, call("main1", "Bash", json!({}))),
            input(0, r#"{"command":"sle"#),
            sub(message("m2")),
            sub(block(0, call("sub1", "Grep", json!({})))),
            sub(input(0, r#"{"pattern":"x"}"#)),
            sub(stop(0)),
            input(0, r#"ep 1"}"#),
            stop(0),
            over(),
        ],
        &[
            r#"call main1 title="Execute command" execute pending ["sle"] rawInput={"command":"sle"}"#,
            r#"call sub1 title="grep \"x\"" search pending rawInput={"pattern":"x"} <task1"#,
            r#"more main1 ["sleep 1"] rawInput={"command":"sleep 1"}"#,
            "more sub1 failed <task1",
            "more main1 failed",
        ],
    );
}

/// The adapter goes on to write the call of the message before.
#[test]
fn a1_a_block_that_was_never_stopped_takes_nothing_of_the_next_message() {
    check(
        vec![
            message("m1"),
            block(1, call("t1", "Grep", json!({}))),
            input(1, "{"),
            message("m2"),
            block(0, json!({"type": "text", "text": ""})),
            input(1, r#""pattern":"z"}"#),
        ],
        &[],
    );
}

/// The adapter does not stream the input of server tools.
#[test]
fn a1_server_tools_stream_their_input_too() {
    let server = json!({"type": "server_tool_use", "id": "sv1", "name": "web_search", "input": {}});
    check(
        vec![
            message("m1"),
            block(0, server),
            input(0, r#"{"query":"q","x"#),
            input(0, r#"":1}"#),
            input(7, r#"{"q":1}"#),
            stop(0),
            over(),
        ],
        &[
            r#"call sv1 title="\"q\"" fetch pending rawInput={"query":"q"}"#,
            r#"more sv1 rawInput={"query":"q","x":1}"#,
            "more sv1 failed",
        ],
    );
}

#[test]
fn a1_a_result_of_no_known_call_is_no_update() {
    check(vec![result("nope", false, json!("x"))], &[]);
}

/// The adapter echoes what the user wrote in several parts; the client knows what it sent.
#[test]
fn a1_the_text_of_the_user_is_not_sent_back() {
    let user = |content: Value| json!({"type": "user", "message": {"content": content}});
    let part = |text: &str| json!({"type": "text", "text": text});
    check(vec![user(json!("hi")), user(json!([part("x"), part("y")]))], &[]);
}
