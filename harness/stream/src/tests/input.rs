//! Tool input while it streams (U2), and snapshots that contradict the stream (U1).

use super::*;

#[test]
pub(crate) fn u2_fields_are_emitted_as_they_come_and_the_start_has_them_all() {
    check(
        &records![
            opened(""),
            [
                json(0, r#"{"file_path": "/etc/ho"#),
                json(0, r#"sts", "limit": 1"#),
                json(0, r#"0, "pages": "#),
                json(0, "[]}"),
                snapshot("a", &call("t", r#"{"file_path":"/etc/hosts","limit":10,"pages":[]}"#)),
                stop(0),
                over(),
                tool_result("t", "ok"),
                result("x"),
            ]
        ],
        &[
            r#"input t Bash {"file_path":"/etc/ho"}"#,
            r#"input t Bash {"file_path":"/etc/hosts"}"#,
            r#"input t Bash {"limit":10}"#,
            r#"start t Bash {"file_path":"/etc/hosts","limit":10,"pages":[]}"#,
            r#"result t Bash "ok""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u2_input_of_a_subagent_bears_the_parent() {
    check(
        &[
            under("p", &message("s")),
            under("p", &tool(0, "t", "{}")),
            under("p", &json(0, r#"{"a":"bc"#)),
            result("x"),
        ],
        &[
            r#"input t Bash {"a":"bc"} @p"#,
            r#"start t Bash cut "{\"a\":\"bc" @p"#,
            "result t Bash incompletenull @p",
            END,
        ],
    );
}

#[test]
pub(crate) fn u2_input_that_never_becomes_json_keeps_what_was_emitted() {
    check(
        &records![
            opened(r#"{"a":"one","b":"tw"#),
            [json(0, "\u{1}"), stop(0), over(), result("x"),]
        ],
        &[
            r#"input t Bash {"a":"one","b":"tw"}"#,
            r#"start t Bash cut "{\"a\":\"one\",\"b\":\"tw\u{1}""#,
            "result t Bash incompletenull",
            END,
        ],
    );
}

#[test]
pub(crate) fn u1_the_snapshot_wins_and_the_difference_is_reported() {
    let streamed = opened(r#"{"a":1,"b":2}"#);
    let snapshot = snapshot("a", &call("t", r#"{"b":3,"a":1,"c":false}"#));
    let end = [tool_result("t", "ok"), result("x")];
    check(
        &records![streamed.clone(), [snapshot.clone(), stop(0), over()], end.clone()],
        &[
            "diagnostic input-differs 4",
            r#"start t Bash {"b":3,"a":1,"c":false}"#,
            r#"result t Bash "ok""#,
            END,
        ],
    );
    // The start was emitted before the snapshot comes, so the difference is emitted after it.
    check(
        &records![streamed, [stop(0), snapshot.clone(), over(), snapshot], end],
        &[
            r#"start t Bash {"a":1,"b":2}"#,
            "diagnostic input-differs 5",
            r#"input t Bash {"b":3,"c":false}"#,
            r#"result t Bash "ok""#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u1_other_order_and_blanks_are_no_difference() {
    check(
        &records![
            opened("{\"b\": [1, 2],\n\"a\": \"x  y\"}"),
            [
                snapshot("a", &call("t", r#"{"a":"x  y","b":[1,2]}"#)),
                stop(0),
                tool_result("t", "ok"),
                result("x"),
            ]
        ],
        &[r#"start t Bash {"a":"x  y","b":[1,2]}"#, r#"result t Bash "ok""#, END],
    );
}
