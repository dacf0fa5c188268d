//! Blocks in the shapes that the CLI prints: redacted reasoning, empty blocks, server tools, and
//! the results of calls.

use super::*;

/// A streamed text block with the index 1, its snapshot, and the end of its message.
fn text_in_block_1() -> [String; 5] {
    let shown = snapshot("a", &text_block("x"));
    [block(1, &text_block("")), text(1, "x"), shown, stop(1), over()]
}

#[test]
pub(crate) fn r1_redacted_reasoning_in_its_real_shape_is_silent() {
    let redacted = r#"{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"}"#;
    check(
        &records![
            [message("a"), block(0, redacted), snapshot("a", redacted), stop(0)],
            text_in_block_1(),
            [snapshot("b", redacted), result("x")],
        ],
        &[r#"text a "x""#, END],
    );
}

#[test]
pub(crate) fn r1_a_block_with_a_signature_only_is_silent() {
    let bare = |sign: &str| format!(r#"{{"type":"thinking","thinking":"","signature":"{sign}"}}"#);
    check(
        &[
            message("a"),
            block(0, &bare("")),
            delta(0, "signature_delta", "signature", "EqRk"),
            snapshot("a", &bare("EqRk")),
            stop(0),
            over(),
            snapshot("b", &bare("EqRk")),
            result("x"),
        ],
        &[END],
    );
}

#[test]
pub(crate) fn r1_counts_of_withheld_reasoning_are_silent_and_part_nothing() {
    // thinking_tokens comes before each delta, 2.1.200 and later.
    let count = || system("thinking_tokens", r#","estimated_tokens":9"#);
    let withheld = event(
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"","estimated_tokens":9}}"#,
    );
    check(
        &[message("a"), count(), think(0, "on"), withheld, count(), think(0, "ce"), result("x")],
        &[
            "record system/thinking_tokens",
            r#"think a#0 "on""#,
            "record system/thinking_tokens",
            r#"think a#0 "ce""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn r1_reasoning_of_a_subagent_has_a_lane_of_its_own() {
    let thought = |text: &str| format!(r#"{{"type":"thinking","thinking":"{text}"}}"#);
    check(
        &[
            message("a"),
            think(0, "ma"),
            under("p", &snapshot("s", &thought("sub"))),
            think(0, "in"),
            under("p", &snapshot("s", &thought("more"))),
            under("p", &snapshot("s", &text_block("done"))),
            result("x"),
        ],
        &[
            r#"think a#0 "ma""#,
            r#"think s#0 "sub" @p"#,
            r#"think a#0 "in""#,
            r#"think s#1 "\n\nmore" @p"#,
            r#"text s "done" @p"#,
            END,
        ],
    );
}

#[test]
pub(crate) fn messages_without_blocks_say_nothing() {
    check(
        &[message("a"), over(), snapshot("b", ""), message("c"), over(), over(), result("")],
        &[r#"ok """#],
    );
}

#[test]
pub(crate) fn an_empty_text_block_has_no_snapshot() {
    check(
        &records![
            [message("a"), block(0, &text_block("")), stop(0)],
            text_in_block_1(),
            one(result("x")),
        ],
        &[r#"text a "x""#, END],
    );
}

#[test]
pub(crate) fn u1_input_of_a_server_tool_is_a_string_in_old_snapshots() {
    // 1.0.128 and 2.0.70 stream it like any other tool.
    let used = |input: &str| {
        format!(r#"{{"type":"server_tool_use","id":"s","name":"web_search","input":{input}}}"#)
    };
    check(
        &[
            message("a"),
            block(0, &used("{}")),
            json(0, r#"{"query": "#),
            json(0, r#""tides"}"#),
            snapshot("a", &used(r#""{\"query\": \"tides\"}""#)),
            stop(0),
            block(1, r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#),
            snapshot("a", r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#),
            stop(1),
            result("x"),
        ],
        &[r#"start s web_search server_tool_use{"query":"tides"}"#, "result s web_search []", END],
    );
}

#[test]
pub(crate) fn u3_parallel_results_come_in_the_order_they_are_done() {
    check(
        &[
            message("a"),
            tool(0, "t", "{}"),
            snapshot("a", &call("t", "{}")),
            stop(0),
            tool(1, "u", "{}"),
            snapshot("a", &call("u", "{}")),
            stop(1),
            tool_result("u", "second"),
            event(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#),
            tool_result("t", "first"),
            over(),
            result("x"),
        ],
        &[
            "start t Bash {}",
            "start u Bash {}",
            r#"result u Bash "second""#,
            r#"result t Bash "first""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u3_what_the_cli_keeps_of_a_result_for_itself_is_not_the_result() {
    for kept in [r#""Error: no""#, r#"{"stdout":"no","type":"text"}"#, "null", "[]"] {
        let failed =
            tool_result("t", "yes").replacen('{', &format!(r#"{{"tool_use_result":{kept},"#), 1);
        check(
            &[snapshot("a", &call("t", "{}")), failed, result("x")],
            &["start t Bash {}", r#"result t Bash "yes""#, END],
        );
    }
}

#[test]
pub(crate) fn u3_a_call_that_was_denied_fails_and_the_run_goes_on() {
    let denied = r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"denied"}"#;
    check(
        &records![
            called("a", "t"),
            [
                system(
                    "permission_denied",
                    r#","tool_name":"Bash","tool_use_id":"t","message":"no rule""#
                ),
                user(denied),
            ],
            spoken("b", "I may not."),
            one(result("I may not.").replacen(
                '{',
                r#"{"permission_denials":[{"tool_name":"Bash"}],"#,
                1
            )),
        ],
        &[
            r#"start t Bash {"a":1}"#,
            r#"notice system/permission_denied {"tool_name":"Bash","tool_use_id":"t","message":"no rule"}"#,
            r#"result t Bash error "denied""#,
            r#"text b "I may not.""#,
            r#"ok "I may not.""#,
        ],
    );
}
