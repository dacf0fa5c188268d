//! Tool calls: one start, one result (U1, U3, U4, U5).

use super::*;

#[test]
pub(crate) fn u1_snapshot_before_stop() {
    check(
        &records![
            opened(""),
            [
                json(0, r#"{"a":"#),
                json(0, " 1}"),
                snapshot("a", &call("t", r#"{"a":1}"#)),
                stop(0),
                over(),
                tool_result("t", "ok"),
                result("x"),
            ]
        ],
        &[r#"start t Bash {"a":1}"#, r#"result t Bash "ok""#, END],
    );
}

#[test]
pub(crate) fn u1_deltas_alone_and_a_start_never_stopped() {
    check(
        &records![called("a", "t"), one(tool_result("t", "ok")), one(result("x"))],
        &[r#"start t Bash {"a":1}"#, r#"result t Bash "ok""#, END],
    );
    let total = r#"{"type":"result","result":"x","usage":{}}"#;
    check(
        &records![opened(r#"{"a":1}"#), [total.into()]],
        &[
            r#"start t Bash {"a":1}"#,
            "usage 0 0 0 0 final",
            "result t Bash incompletenull",
            r#"ok "x" of 0"#,
        ],
    );
}

#[test]
pub(crate) fn r120737_input_on_the_start_block_counts() {
    let server = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}"#;
    check(
        &[message("a"), block(0, server), stop(0), result("x")],
        &[r#"start s web_search server_tool_use{"q":1}"#, "result s web_search ambiguousnull", END],
    );
    let old = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":"{\"q\":1}"}"#;
    check(
        &[snapshot("a", old), result("x")],
        &[r#"start s web_search server_tool_use{"q":1}"#, "result s web_search ambiguousnull", END],
    );
}

#[test]
pub(crate) fn r113631_an_empty_snapshot_does_not_beat_the_input_of_the_start_block() {
    check(
        &[
            message("a"),
            block(0, r#"{"type":"server_tool_use","id":"t","name":"search","input":{"q":1}}"#),
            snapshot("a", r#"{"type":"server_tool_use","id":"t","name":"search","input":{}}"#),
            stop(0),
            result("x"),
        ],
        &[r#"start t search server_tool_use{"q":1}"#, "result t search ambiguousnull", END],
    );
}

#[test]
pub(crate) fn u1_invalid_deltas_wait_for_the_snapshot() {
    let cut = [message("a"), tool(0, "t", "{}"), json(0, r#"{"a":"#), stop(0)];
    let end = ["result t Bash incompletenull", END];
    let late = snapshot("a", &call("t", r#"{"a":2}"#));
    check(
        &records![cut.clone(), [late, over(), result("x")]],
        &[&[r#"start t Bash {"a":2}"#], &end[..]].concat(),
    );
    let expected = [&[r#"start t Bash cut "{\"a\":""#], &end[..]].concat();
    check(&records![cut.clone(), [over(), result("x")]], &expected);
    check(&records![cut.clone(), [message("b"), result("x")]], &expected);
    check(&records![cut.clone(), [snapshot("a", &call("t", "{}")), result("x")]], &expected);
    check(
        &records![cut, [tool_result("t", "bad"), text(1, "y"), over(), result("x")]],
        &[r#"start t Bash cut "{\"a\":""#, r#"result t Bash "bad""#, r#"text a "y""#, END],
    );
}

#[test]
pub(crate) fn u1_an_empty_snapshot_is_no_arguments() {
    let open = opened(r#"{"a":"#);
    let empty = snapshot("a", &call("t", "{}"));
    let end = "result t Bash incompletenull";
    check(
        &records![open.clone(), [empty.clone(), stop(0), text(1, "y"), result("x")]],
        &[r#"start t Bash cut "{\"a\":""#, r#"text a "y""#, end, END],
    );
    check(
        &records![open.clone(), [empty, json(0, "1}"), stop(0), result("x")]],
        &[r#"start t Bash {"a":1}"#, end, END],
    );
    // Without input in the stream, the snapshot has all of it.
    check(
        &[
            message("a"),
            tool(0, "t", "{}"),
            snapshot("a", &call("t", "{}")),
            text(1, "y"),
            result("x"),
        ],
        &["start t Bash {}", r#"text a "y""#, end, END],
    );
    let wrapped = call("t", r#"{"__unparsedToolInput":{"raw":"{\"a","len":3}}"#);
    check(
        &records![open, [snapshot("a", &wrapped), stop(0), result("x")]],
        &[r#"start t Bash cut "{\"a""#, end, END],
    );
}

#[test]
pub(crate) fn u1_an_index_used_again_loses_no_call() {
    check(
        &records![
            opened(r#"{"a":"#),
            [
                tool(0, "u", "{}"),
                json(0, r#"{"b":1}"#),
                stop(0),
                message("b"),
                tool(0, "v", "{}"),
                stop(0),
                result("x"),
            ]
        ],
        &[
            r#"start t Bash cut "{\"a\":""#,
            r#"start u Bash {"b":1}"#,
            "start v Bash {}",
            "result t Bash incompletenull",
            "result u Bash incompletenull",
            "result v Bash incompletenull",
            END,
        ],
    );
}

#[test]
pub(crate) fn u1_parallel_calls_interleave() {
    check(
        &[
            message("a"),
            tool(0, "t", "{}"),
            tool(1, "u", "{}"),
            json(0, r#"{"a":"#),
            json(1, r#"{"b":"#),
            json(0, "1}"),
            json(1, "2}"),
            stop(1),
            stop(0),
            over(),
            tool_result("u", "U"),
            tool_result("t", "T"),
            result("x"),
        ],
        &[
            r#"start u Bash {"b":2}"#,
            r#"start t Bash {"a":1}"#,
            r#"result u Bash "U""#,
            r#"result t Bash "T""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u3_assistant_side_results_come_twice_and_are_emitted_once() {
    let used = r#"{"type":"mcp_tool_use","id":"m","name":"look","input":{"q":1}}"#;
    let found = r#"{"type":"mcp_tool_result","tool_use_id":"m","is_error":true,"content":[1]}"#;
    let failed =
        r#"{"type":"web_fetch_tool_result","tool_use_id":"w","content":{"type":"x_error"}}"#;
    let fetch = r#"{"type":"server_tool_use","id":"w","name":"fetch","input":{}}"#;
    check(
        &[
            message("a"),
            block(0, used),
            snapshot("a", used),
            stop(0),
            block(1, found),
            snapshot("a", found),
            stop(1),
            snapshot("b", fetch),
            snapshot("b", failed),
            result("x"),
        ],
        &[
            r#"start m look mcp_tool_use{"q":1}"#,
            "result m look error [1]",
            "start w fetch server_tool_use{}",
            r#"result w fetch error {"type":"x_error"}"#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u3_one_result_a_call() {
    check(
        &[
            tool_result("t", "early"),
            snapshot("a", &call("t", "{}")),
            tool_result("t", "late"),
            tool_result("lost", "never"),
            result("x"),
        ],
        &[
            "start t Bash {}",
            r#"result t Bash "early""#,
            "diagnostic duplicate-result 3",
            r#"unknown user/tool_result {"type":"tool_result","tool_use_id":"lost","content":"never"}"#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u3_only_true_is_an_error() {
    for (flag, expect) in [("true", "error "), ("\"true\"", ""), ("1", "")] {
        let failed = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":{flag}}}]}}}}"#
        );
        check(
            &[snapshot("a", &call("t", "{}")), failed, result("x")],
            &["start t Bash {}", &format!("result t Bash {expect}null"), END],
        );
    }
}

#[test]
pub(crate) fn u4_an_id_used_again_is_a_new_call() {
    check(
        &records![
            called("a", "t"),
            one(tool_result("t", "one")),
            called("b", "t"),
            one(tool_result("t", "two")),
            called("c", "t"),
            called("d", "t"),
            one(result("x")),
        ],
        &[
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "one""#,
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "two""#,
            r#"start t Bash {"a":1}"#,
            "result t Bash incompletenull",
            r#"start t Bash {"a":1}"#,
            "result t Bash incompletenull",
            END,
        ],
    );
}

#[test]
pub(crate) fn u4_snapshots_alone_may_use_an_id_again() {
    check(
        &[
            snapshot("a", &call("t", r#"{"n":1}"#)),
            snapshot("a", &call("t", r#"{"n":1}"#)),
            tool_result("t", "one"),
            snapshot("a", &call("t", r#"{"n":2}"#)),
            tool_result("t", "two"),
            result("x"),
        ],
        &[
            r#"start t Bash {"n":1}"#,
            r#"result t Bash "one""#,
            r#"start t Bash {"n":2}"#,
            r#"result t Bash "two""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u4_ids_are_trimmed_and_empty_ones_are_diagnostics() {
    check(
        &[
            snapshot("a", &call(r" t\n", "{}")),
            tool_result(" t", "ok"),
            snapshot("a", &call(" ", "{}")),
            tool_result("", "ok"),
            message("b"),
            tool(0, "", "{}"),
            json(0, "{}"),
            snapshot("b", &call("", "{}")),
            stop(0),
            result("x"),
        ],
        &[
            "start t Bash {}",
            r#"result t Bash "ok""#,
            "diagnostic bad-tool-id 3",
            "diagnostic bad-tool-id 4",
            "diagnostic bad-tool-id 6",
            END,
        ],
    );
}

#[test]
pub(crate) fn u5_calls_of_a_subagent_bear_the_parent() {
    check(
        &[
            message("a"),
            tool(0, "p", "{}"),
            stop(0),
            over(),
            under("p", &snapshot("s", &call("t", r#"{"a":1}"#))),
            tool_result("t", "sub"),
            tool_result("p", "done"),
            result("x"),
        ],
        &[
            "start p Bash {}",
            r#"start t Bash {"a":1} @p"#,
            r#"result t Bash "sub" @p"#,
            r#"result p Bash "done""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u1_300_levels_of_arguments() {
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let records =
        [message("a"), tool(0, "t", "{}"), json(0, &format!(r#"{{"d":{deep}}}"#)), stop(0)];
    let bytes = records.map(|record| record + "\n").concat();
    let (seen, stats) = run(bytes.as_bytes(), || usize::MAX);
    assert!(seen[0].starts_with(r#"start t Bash {"d":[[["#), "{seen:?}");
    assert_eq!((seen.len(), stats.diagnostics), (3, 0));
}

#[test]
pub(crate) fn u4_an_id_used_twice_in_one_message_is_reported() {
    let end = [r#"start t Bash {"a":1}"#, "result t Bash incompletenull", END];
    let second = [tool(1, "t", "{}"), json(1, r#"{"a":2}"#), stop(1), result("x")];
    let first = opened(r#"{"a":1}"#);
    check(
        &records![first.clone(), one(stop(0)), second.clone()],
        &[end[0], "diagnostic bad-tool-id 5", end[1], end[2]],
    );
    check(&records![first, second], &["diagnostic bad-tool-id 4", end[0], end[1], end[2]]);
}
