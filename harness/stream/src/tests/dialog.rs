//! The control protocol as stdout shows it: questions and other requests of the CLI, and its answers
//! to the host.

use super::*;

/// A request of the CLI.
pub(super) fn request(id: &str, subtype: &str, fields: &str) -> String {
    format!(
        r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"{subtype}"{fields}}}}}"#
    )
}

/// A question about the call `call` of the tool Bash.
pub(super) fn question(id: &str, call: &str) -> String {
    let fields = format!(r#","tool_name":"Bash","input":{{"a":1}},"tool_use_id":"{call}""#);
    request(id, "can_use_tool", &fields)
}

/// An answer to the request with this id.
pub(super) fn response(id: &str, body: &str) -> String {
    format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}","response":{body}}}}}"#
    )
}

/// The CLI takes a request back.
pub(super) fn cancel(id: &str) -> String {
    format!(r#"{{"type":"control_cancel_request","request_id":"{id}"}}"#)
}

#[test]
pub(crate) fn a_question_has_all_that_a_person_needs() {
    let fields = r#","tool_name":" Bash ","display_name":"Bash","input":{"command":"touch x"},"description":"make","permission_suggestions":[{"type":"setMode","mode":"acceptEdits"}],"blocked_path":"/p/x","decision_reason":"why","tool_use_id":"t","requires_user_interaction":true,"new":1"#;
    check(
        &records![called("a", "t"), [request("q", "can_use_tool", fields), result("x")]],
        &[
            r#"start t Bash {"a":1}"#,
            r#"question q Bash t {"command":"touch x"} [{"type":"setMode","mode":"acceptEdits"}] {"display_name":"Bash","description":"make","blocked_path":"/p/x","decision_reason":"why","requires_user_interaction":true}"#,
            "withdrawn q",
            "result t Bash incompletenull",
            END,
        ],
    );
    check(
        &[
            request("q", "can_use_tool", r#","tool_name":"Bash""#),
            request("", "can_use_tool", r#","tool_name":"Bash""#),
            request("r", "can_use_tool", ""),
            result("x"),
        ],
        &[
            "question q Bash - {} null {}",
            "diagnostic bad-record 2",
            "diagnostic bad-record 3",
            "withdrawn q",
            END,
        ],
    );
}

#[test]
pub(crate) fn u5_a_question_names_the_subagent_that_asks() {
    let by_agent = |id: &str, agent: &str| {
        let fields = format!(r#","tool_name":"Bash","agent_id":"{agent}""#);
        request(id, "can_use_tool", &fields)
    };
    check(
        &[
            snapshot("a", &call("p", "{}")),
            system("task_started", r#","task_id":"a1","tool_use_id":"p""#),
            tool_result("p", "launched"),
            under("p", &snapshot("s", &call("t", "{}"))),
            question("q1", "t"),
            by_agent("q2", "a1"),
            by_agent("q3", "a2"),
        ],
        &[
            "start p Bash {}",
            r#"notice system/task_started {"task_id":"a1","tool_use_id":"p"}"#,
            r#"result p Bash "launched""#,
            "start t Bash {} @p",
            r#"question q1 Bash t {"a":1} null {} @p"#,
            "question q2 Bash - {} null {} @p",
            "question q3 Bash - {} null {} @a2",
            "withdrawn q1",
            "withdrawn q2",
            "withdrawn q3",
            "result t Bash incompletenull @p",
            r#"incomplete "" no_result"#,
        ],
    );
}

#[test]
pub(crate) fn a_question_without_an_id_is_about_the_open_call_with_its_input() {
    let asks = |id: &str, input: &str| {
        request(id, "can_use_tool", &format!(r#","tool_name":"Bash","input":{input}"#))
    };
    // A subagent's call, whose fields come in another order.
    check(
        &[
            snapshot("a", &call("p", "{}")),
            under("p", &snapshot("s", &call("t", r#"{"a":1,"b":2}"#))),
            asks("q1", r#"{"b":2,"a":1}"#),
            asks("q2", r#"{"b":3}"#),
            under("p", &tool_result("t", "ok")),
            asks("q3", r#"{"b":2,"a":1}"#),
            tool_result("p", "ok"),
            result("x"),
        ],
        &[
            "start p Bash {}",
            r#"start t Bash {"a":1,"b":2} @p"#,
            r#"question q1 Bash t {"b":2,"a":1} null {} @p"#,
            r#"question q2 Bash - {"b":3} null {}"#,
            r#"result t Bash "ok" @p"#,
            r#"question q3 Bash - {"b":2,"a":1} null {}"#,
            r#"result p Bash "ok""#,
            "withdrawn q2",
            "withdrawn q3",
            END,
        ],
    );
    // A call of another tool is not meant.
    check(
        &[
            snapshot("a", &call("t", r#"{"a":1}"#).replace("Bash", "Edit")),
            asks("q", r#"{"a":1}"#),
            tool_result("t", "ok"),
            cancel("q"),
            result("x"),
        ],
        &[
            r#"start t Edit {"a":1}"#,
            r#"question q Bash - {"a":1} null {}"#,
            r#"result t Edit "ok""#,
            "withdrawn q",
            END,
        ],
    );
    // Equal calls of one message are asked about in their order; equal calls of two askers are not told apart.
    let two = [call("t", r#"{"a":1}"#), call("u", r#"{"a":1}"#)].join(",");
    check(
        &[
            snapshot("a", &two),
            asks("q1", r#"{"a":1}"#),
            asks("q2", r#"{"a":1}"#),
            under("p", &snapshot("s", &call("v", r#"{"a":1}"#))),
            asks("q3", r#"{"a":1}"#),
            under("p", &tool_result("v", "ok")),
            tool_result("t", "ok"),
            tool_result("u", "ok"),
            result("x"),
        ],
        &[
            r#"start t Bash {"a":1}"#,
            r#"start u Bash {"a":1}"#,
            r#"question q1 Bash t {"a":1} null {}"#,
            r#"question q2 Bash u {"a":1} null {}"#,
            r#"start v Bash {"a":1} @p"#,
            r#"question q3 Bash - {"a":1} null {}"#,
            r#"result v Bash "ok" @p"#,
            r#"result t Bash "ok""#,
            r#"result u Bash "ok""#,
            "withdrawn q3",
            END,
        ],
    );
}

#[test]
pub(crate) fn a_question_is_withdrawn_once_by_the_cli_or_by_the_end_of_the_turn() {
    check(
        &[
            question("q1", "t"),
            cancel("q1"),
            cancel("q1"),
            cancel("holo"),
            question("q2", "u"),
            question("q3", "v"),
            result("x"),
            cancel("q2"),
            question("q4", "w"),
        ],
        &[
            r#"question q1 Bash t {"a":1} null {}"#,
            "withdrawn q1",
            "record control_cancel_request/-",
            "record control_cancel_request/-",
            r#"question q2 Bash u {"a":1} null {}"#,
            r#"question q3 Bash v {"a":1} null {}"#,
            "withdrawn q2",
            "withdrawn q3",
            END,
            "record control_cancel_request/-",
            r#"question q4 Bash w {"a":1} null {}"#,
            "withdrawn q4",
        ],
    );
}

#[test]
pub(crate) fn a_question_of_a_background_subagent_outlives_the_turn() {
    check(
        &[
            snapshot("a", &call("p", "{}")),
            tool_result("p", "launched"),
            under("p", &snapshot("s", &call("t", "{}"))),
            question("q", "t"),
            result("x"),
            under("p", &tool_result("t", "ok")),
            cancel("q"),
        ],
        &[
            "start p Bash {}",
            r#"result p Bash "launched""#,
            "start t Bash {} @p",
            r#"question q Bash t {"a":1} null {} @p"#,
            END,
            r#"result t Bash "ok" @p"#,
            "record control_cancel_request/-",
        ],
    );
}

#[test]
fn a_question_of_the_next_turn_outlives_the_turn_before_it() {
    let late = result("one").replacen('{', r#"{"begun_message_ids":["a"],"#, 1);
    check(
        &records![
            one(system("init", "")),
            spoken("a", "one"),
            [system("init", ""), message("b"), tool(0, "t", "{}"), stop(0), question("q", "t")],
            [late, cancel("q"), tool_result("t", "ok"), over(), result("x")],
        ],
        &[
            "record system/init",
            r#"text a "one""#,
            "record system/init",
            "start t Bash {}",
            r#"question q Bash t {"a":1} null {}"#,
            r#"ok "one" began ["a"]"#,
            "withdrawn q",
            r#"result t Bash "ok""#,
            r#"ok "x" turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn a_question_whose_call_has_its_result_was_answered() {
    check(
        &records![
            called("a", "t"),
            [question("q", "t"), tool_result("t", "ok"), cancel("q"), result("x")],
        ],
        &[
            r#"start t Bash {"a":1}"#,
            r#"question q Bash t {"a":1} null {}"#,
            r#"result t Bash "ok""#,
            "record control_cancel_request/-",
            END,
        ],
    );
}

#[test]
pub(crate) fn a_request_that_comes_again_is_no_second_question() {
    let pending = response("i", "{}")
        .replace(r#""response":{}"#, r#""response":{},"pending_permission_requests":[QUESTION,7]"#)
        .replace("QUESTION", &question("q", "t"));
    check(
        &[pending, question("q", "t"), cancel("q"), question("q", "t"), result("x")],
        &[
            "control i - - {}",
            r#"question q Bash t {"a":1} null {}"#,
            "record control_request/can_use_tool",
            "withdrawn q",
            "record control_request/can_use_tool",
            END,
        ],
    );
}

#[test]
pub(crate) fn other_requests_of_the_cli_have_events_with_their_fields() {
    let hook = r#","callback_id":"PreToolUse","tool_use_id":"t","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/p"}"#;
    check(
        &[
            request("h", "hook_callback", hook),
            request("m", "mcp_message", r#","server_name":"s","message":{"method":"tools/list"}"#),
            request("e", "elicitation", r#","mcp_server_name":"s","message":"Name?""#),
            request("d", "request_user_dialog", r#","dialog_kind":"k","payload":{"a":1}"#),
            // 2.1.329 repeats the host's answer.
            response("h", "{}"),
            cancel("e"),
            request("i", "interrupt", ""),
            request("z", "holo", ""),
            request("", "hook_callback", ""),
            result("x"),
        ],
        &[
            r#"request h hook_callback {"callback_id":"PreToolUse","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t"}"#,
            r#"request m mcp_message {"server_name":"s","method":"tools/list"}"#,
            r#"request e elicitation {"mcp_server_name":"s","message":"Name?"}"#,
            r#"request d request_user_dialog {"dialog_kind":"k","payload":{"a":1}}"#,
            "record control_response/success",
            "record control_cancel_request/-",
            &format!("unknown control_request {}", request("i", "interrupt", "")),
            &format!("unknown control_request {}", request("z", "holo", "")),
            "diagnostic bad-record 9",
            END,
        ],
    );
}

#[test]
pub(crate) fn answers_of_the_cli_show_their_fields() {
    let error = r#"{"type":"control_response","response":{"subtype":"error","request_id":"r2","error":"Unsupported control request subtype: holo"}}"#;
    let holo = r#"{"type":"control_response","response":{"subtype":"holo","request_id":"r3"}}"#;
    check(
        &[
            response("r1", r#"{"still_queued":["u1"],"pid":7}"#),
            error.into(),
            holo.into(),
            response("", "{}"),
            result("x"),
        ],
        &[
            r#"control r1 - - {"still_queued":["u1"]}"#,
            "control r2 - Unsupported control request subtype: holo {}",
            &format!("unknown control_response {holo}"),
            "diagnostic bad-record 4",
            END,
        ],
    );
}

#[test]
pub(crate) fn a_repeated_message_of_the_host_is_heard_and_folded_in_mid_turn() {
    let replayed = |content: &str, more: &str| {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":{content}}},"uuid":"u","isReplay":true{more}}}"#
        )
    };
    let blocks = format!("[{},{}]", text_block("M2"), text_block("M3"));
    check(
        &records![
            [replayed(r#""M1""#, "")],
            called("a", "t"),
            [tool_result("t", "ok"), replayed(&blocks, "")],
            one(result("x")),
            // 2.1.148 repeats the message that began a turn when its answer is under way.
            [snapshot("b", &text_block("y"))],
            [replayed(r#""M4""#, ""), result("y")],
            // What the CLI has made itself.
            one(replayed(r#""<local-command-stdout>x</local-command-stdout>""#, "")),
            one(replayed(r#""x""#, r#","isSynthetic":true"#)),
            one(replayed(r#""x""#, r#","origin":{"kind":"task-notification"}"#)),
            one(replayed(r#""x""#, r#","parent_tool_use_id":"p""#)),
        ],
        &[
            r#"heard u "M1""#,
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "ok""#,
            r#"heard u "M2\nM3" folded"#,
            r#"ok "x" answers ["u"]"#,
            r#"text b "y""#,
            r#"heard u "M4""#,
            r#"ok "y" turn 2 answers ["u"]"#,
            "record user/-",
            "record user/-",
            "record user/-",
            "record user/-",
        ],
    );
}
