//! Conversations: records of other conversations between two records of a block leave the block
//! alone.

use super::*;

#[test]
pub(crate) fn t3_records_of_a_subagent_between_two_deltas_touch_no_block_of_the_main_thread() {
    let other = |record: String| under("p", &record);
    check(
        &[
            message("a"),
            text(0, "ma"),
            other(message("s")),
            other(text(0, "su")),
            text(0, "in"),
            other(tool(1, "u", "{}")),
            tool(1, "t", "{}"),
            json(1, r#"{"a":"#),
            other(json(1, r#"{"b":"#)),
            other(stop(0)),
            json(1, "1}"),
            other(json(1, "2}")),
            other(stop(1)),
            stop(1),
            other(over()),
            over(),
            result("x"),
        ],
        &[
            r#"text a "ma""#,
            r#"text s "su" @p"#,
            r#"text a "in""#,
            r#"start u Bash {"b":2} @p"#,
            r#"start t Bash {"a":1}"#,
            "result u Bash incompletenull @p",
            "result t Bash incompletenull",
            END,
        ],
    );
}

#[test]
pub(crate) fn u5_two_subagents_use_the_same_index_and_the_same_message_id() {
    check(
        &[
            under("p", &message("s")),
            under("q", &message("s")),
            under("p", &tool(0, "t", "{}")),
            under("q", &tool(0, "u", "{}")),
            under("p", &json(0, r#"{"n":1}"#)),
            under("q", &stop(0)),
            under("p", &stop(0)),
            tool_result("u", "U"),
            tool_result("t", "T"),
            result("x"),
        ],
        &[
            "start u Bash {} @q",
            r#"start t Bash {"n":1} @p"#,
            r#"result u Bash "U" @q"#,
            r#"result t Bash "T" @p"#,
            END,
        ],
    );
}

#[test]
pub(crate) fn u3_a_result_may_come_inside_an_unfinished_message() {
    check(
        &records![
            opened(r#"{"a":1}"#),
            [stop(0), tool_result("t", "ok"), text(1, "and"), stop(1), over(), result("x"),]
        ],
        &[r#"start t Bash {"a":1}"#, r#"result t Bash "ok""#, r#"text a "and""#, END],
    );
}

#[test]
pub(crate) fn u3_a_result_before_the_stop_of_its_block_waits_for_the_start() {
    check(
        &records![
            opened(r#"{"a":"#),
            [tool_result("t", "ok"), json(0, "1}"), stop(0), result("x"),]
        ],
        &[r#"start t Bash {"a":1}"#, r#"result t Bash "ok""#, END],
    );
}

#[test]
pub(crate) fn a_stop_without_a_start_and_a_second_one_mean_nothing() {
    check(
        &[
            message("a"),
            stop(0),
            text(1, "hi"),
            stop(1),
            stop(1),
            stop(7),
            over(),
            over(),
            result("x"),
        ],
        &[r#"text a "hi""#, END],
    );
}

#[test]
pub(crate) fn input_without_a_start_is_reported_and_changes_no_other_block() {
    check(
        &[
            message("a"),
            tool(0, "t", "{}"),
            json(1, r#"{"a":1}"#),
            json(0, r#"{"b":2}"#),
            stop(0),
            result("x"),
        ],
        &[
            "diagnostic bad-record 3",
            r#"start t Bash {"b":2}"#,
            "result t Bash incompletenull",
            END,
        ],
    );
}

#[test]
pub(crate) fn a_late_snapshot_adds_nothing_however_many_messages_came_since() {
    for others in [60, 90] {
        let thought = r#"{"type":"thinking","thinking":"why"}"#;
        let late = snapshot("a", &format!("{thought},{}", text_block("one")));
        let records = records![
            [message("a"), think(0, "why"), stop(0), text(1, "one"), stop(1), over()],
            (0..others).flat_map(|n| spoken(&format!("m{n}"), ".")),
            [late, result("x")],
        ];
        let bytes: String = records.iter().map(|record| format!("{record}\n")).collect();
        let (seen, stats) = run(bytes.as_bytes(), || usize::MAX);
        assert_eq!((seen.len(), stats.unknown + stats.diagnostics), (others + 3, 0), "{others}");
    }
}
