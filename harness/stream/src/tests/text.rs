//! Text: separators, final text, conversations, snapshots (T1 to T5).

use super::*;

#[test]
pub(crate) fn t1_blank_line_between_messages() {
    check(
        &records![spoken("a", "one"), spoken("b", r"two\n"), spoken("c", r"\nthree")],
        &[
            r#"text a "one""#,
            r#"text b "\n\ntwo\n""#,
            r#"text c "\nthree""#,
            r#"incomplete "one\n\ntwo\n\nthree" no_result"#,
        ],
    );
}

#[test]
pub(crate) fn r115890_blank_line_where_a_tool_split_a_message() {
    check(
        &[
            message("a"),
            text(0, "before"),
            stop(0),
            tool(1, "t", "{}"),
            stop(1),
            text(2, "aft"),
            text(2, "er"),
            stop(2),
            over(),
            tool_result("t", "ok"),
            result("after"),
        ],
        &[
            r#"text a "before""#,
            "start t Bash {}",
            r#"text a "\n\naft""#,
            r#"text a "er""#,
            r#"result t Bash "ok""#,
            r#"ok "before\n\nafter""#,
        ],
    );
}

#[test]
pub(crate) fn t1_text_blocks_of_one_message_are_joined_as_they_are() {
    check(
        &[message("a"), text(0, "A"), stop(0), text(1, "B"), stop(1), over(), result("AB")],
        &[r#"text a "A""#, r#"text a "B""#, r#"ok "AB""#],
    );
}

#[test]
pub(crate) fn r106760_text_before_a_tool_stays_in_the_final_text() {
    let turn = records![
        spoken("a", "Let me look."),
        called("b", "t"),
        one(tool_result("t", "x")),
        spoken("c", "Answer."),
    ];
    let streamed = [
        r#"text a "Let me look.""#,
        r#"start t Bash {"a":1}"#,
        r#"result t Bash "x""#,
        r#"text c "\n\nAnswer.""#,
    ];
    for (text, expect) in [
        ("Answer.", r#"ok "Let me look.\n\nAnswer.""#),
        ("Other.", r#"ok "Other.""#),
        ("", r#"ok "Let me look.\n\nAnswer.""#),
    ] {
        check(&records![turn.clone(), one(result(text))], &[&streamed[..], &[expect]].concat());
    }
}

#[test]
pub(crate) fn t2_a_result_with_the_last_block_of_a_message_means_all_its_blocks() {
    let blocks = || [message("c"), text(0, "A "), stop(0), text(1, "B"), stop(1), over()];
    check(
        &records![blocks(), one(result("B"))],
        &[r#"text c "A ""#, r#"text c "B""#, r#"ok "A B""#],
    );
    check(
        &records![
            spoken("a", "Let me look."),
            called("b", "t"),
            one(tool_result("t", "x")),
            blocks(),
            one(result("B")),
        ],
        &[
            r#"text a "Let me look.""#,
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "x""#,
            r#"text c "\n\nA ""#,
            r#"text c "B""#,
            r#"ok "Let me look.\n\nA B""#,
        ],
    );
    // A result that only ends like the message is another text.
    check(
        &records![blocks(), one(result(" B B"))],
        &[r#"text c "A ""#, r#"text c "B""#, r#"ok "B B""#],
    );
}

#[test]
pub(crate) fn t2_a_message_boundary_without_a_tool_starts_the_final_text_anew() {
    check(
        &records![spoken("a", "Draft."), spoken("b", "Answer."), one(result("Answer."))],
        &[r#"text a "Draft.""#, r#"text b "\n\nAnswer.""#, r#"ok "Answer.""#],
    );
}

#[test]
pub(crate) fn r90450_an_empty_result_means_the_streamed_text() {
    check(
        &records![spoken("a", "streamed"), one(result("")), spoken("b", "more"), one(result(""))],
        &[r#"text a "streamed""#, r#"ok "streamed""#, r#"text b "more""#, r#"ok "more" turn 2"#],
    );
}

#[test]
pub(crate) fn t2_results_held_back_until_several_turns_are_over_find_their_text() {
    check(
        &records![
            spoken("a", "I'll ask."),
            called("b", "t"),
            one(tool_result("t", "launched")),
            spoken("c", "It is at work."),
            spoken("d", "Four lines."),
            one(result("It is at work.")),
            one(result("Four lines.")),
        ],
        &[
            r#"text a "I'll ask.""#,
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "launched""#,
            r#"text c "\n\nIt is at work.""#,
            r#"text d "\n\nFour lines.""#,
            r#"ok "I'll ask.\n\nIt is at work.""#,
            r#"ok "Four lines." turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn t3_a_subagent_has_a_lane_of_its_own() {
    check(
        &[
            message("a"),
            text(0, "ma"),
            under("p", &message("s")),
            under("p", &text(0, "sub")),
            text(0, "in"),
            under("p", &snapshot("s", &text_block("sub"))),
            under("p", &snapshot("s2", &text_block("more"))),
            under("p", &tool(1, "t", "{}")),
            stop(0),
            over(),
            result("main"),
        ],
        &[
            r#"text a "ma""#,
            r#"text s "sub" @p"#,
            r#"text a "in""#,
            r#"text s2 "\n\nmore" @p"#,
            r#"start t Bash cut "" @p"#,
            "result t Bash incompletenull @p",
            r#"ok "main""#,
        ],
    );
}

#[test]
pub(crate) fn r86050_snapshots_alone_give_the_text() {
    check(
        &[
            snapshot("a", &text_block("Hel")),
            snapshot("a", &text_block("Hello")),
            snapshot("a", &call("t", "{}")),
            snapshot("a", &text_block("Hello")),
            tool_result("t", "x"),
            snapshot("b", &text_block("Bye")),
            result("Bye"),
        ],
        &[
            r#"text a "Hel""#,
            r#"text a "lo""#,
            "start t Bash {}",
            r#"text a "\n\nHello""#,
            r#"result t Bash "x""#,
            r#"text b "\n\nBye""#,
            r#"ok "Bye""#,
        ],
    );
}

#[test]
pub(crate) fn t4_a_snapshot_adds_only_what_the_stream_missed() {
    check(
        &[
            message("a"),
            text(0, "one "),
            snapshot("a", &text_block("one two")),
            stop(0),
            text(1, "three"),
            snapshot("a", &text_block("three")),
            snapshot("a", &format!("{},{}", text_block("one two"), text_block("three"))),
            stop(1),
            text(2, "four"),
            snapshot("a", &text_block("five")),
            result("x"),
        ],
        &[
            r#"text a "one ""#,
            r#"text a "two""#,
            r#"text a "three""#,
            r#"text a "four""#,
            "diagnostic text-mismatch 10",
            r#"ok "x""#,
        ],
    );
}

#[test]
pub(crate) fn t4_what_old_clis_put_into_message_start_is_no_text() {
    let start =
        r#"{"type":"message_start","message":{"id":"a","content":[{"type":"text","text":"Hi"}]}}"#;
    check(
        &[
            event(start),
            block(0, &text_block("")),
            text(0, "Hi"),
            snapshot("a", &text_block("Hi")),
            stop(0),
        ],
        &[r#"text a "Hi""#, r#"incomplete "Hi" no_result"#],
    );
}

#[test]
pub(crate) fn t4_a_snapshot_names_the_message_that_began_without_an_id() {
    let nameless = event(r#"{"type":"message_start","message":{}}"#);
    check(
        &[
            nameless,
            text(0, "one"),
            snapshot("a", &text_block("one")),
            text(1, "two"),
            snapshot("a", &text_block("two")),
            result(""),
        ],
        &[r#"text  "one""#, r#"text a "two""#, r#"ok "onetwo""#],
    );
}

#[test]
pub(crate) fn t4_text_in_the_start_block_is_emitted_once() {
    check(
        &[
            message("a"),
            block(0, &text_block("Hi")),
            snapshot("a", &text_block("Hi there")),
            stop(0),
            result(""),
        ],
        &[r#"text a "Hi""#, r#"text a " there""#, r#"ok "Hi there""#],
    );
}

#[test]
pub(crate) fn t4_the_mark_of_an_empty_block_is_no_text() {
    check(&[snapshot("a", &text_block("(no content)")), result("")], &[r#"ok """#]);
    check(
        &[
            message("a"),
            block(0, &text_block("")),
            snapshot("a", &text_block("(no content)")),
            result(""),
        ],
        &[r#"ok """#],
    );
    check(&[result("(no content)")], &[r#"ok """#]);
    let records = [text(0, "(no content)"), result("(no content)")];
    check(&records, &[r#"text  "(no content)""#, r#"ok "(no content)""#]);
}

#[test]
pub(crate) fn t5_a_run_without_a_result_yields_what_was_streamed() {
    check(
        &[message("a"), text(0, "half")],
        &[r#"text a "half""#, r#"incomplete "half" no_result"#],
    );
    check(
        &records![spoken("a", "one"), one(result("one")), [message("b"), text(0, "tw")]],
        &[
            r#"text a "one""#,
            r#"ok "one""#,
            r#"text b "tw""#,
            r#"incomplete "tw" no_result turn 2"#,
        ],
    );
    let more = snapshot("b", &text_block("tw"));
    check(&[result("one"), under("p", &more)], &[r#"ok "one""#, r#"text b "tw" @p"#]);
    check(
        &[result("one"), more],
        &[r#"ok "one""#, r#"text b "tw""#, r#"incomplete "tw" no_result turn 2"#],
    );
    check(&[], &[r#"incomplete "" no_output"#]);
    check(&["".into(), " ".into()], &[r#"incomplete "" no_output"#]);
}

#[test]
pub(crate) fn r136498_a_stopped_turn_without_text_is_a_failure() {
    let stopped =
        r#"{"type":"result","subtype":"success","result":"","terminal_reason":"hook_stopped"}"#;
    check(&[stopped.into()], &[r#"error "" stopped"#]);
    check(&records![spoken("a", "text"), one(stopped)], &[r#"text a "text""#, r#"ok "text""#]);
}

#[test]
fn only_the_next_message_continues_a_sentence_that_was_cut() {
    let cut = event(r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#);
    check(
        &records![
            [message("a"), text(0, "sent"), stop(0), cut, over()],
            spoken("b", "ence."),
            spoken("c", "New."),
            one(result("New.")),
        ],
        &[r#"text a "sent""#, r#"text b "ence.""#, r#"text c "\n\nNew.""#, r#"ok "New.""#],
    );
}

#[test]
fn a_failure_gives_up_all_text_that_was_held_back() {
    let two = |id: &str, first: &str, second: &str| {
        let tool = snapshot(id, &call(id, "{}"));
        records![
            [snapshot(id, &text_block(first)), tool, snapshot(id, &text_block(second))],
            [tool_result(id, "ok"), result(first)],
        ]
    };
    let error = r#"{"type":"result","is_error":true,"result":""}"#;
    let records = records![two("a", "A", "B"), two("c", "C", "D"), [error.into(), result("")]];
    let bytes = records.join("\n");
    let (seen, _) = run_all(bytes.as_bytes());
    assert_eq!(seen.last().map(String::as_str), Some(r#"ok "" turn 4"#), "{seen:?}");
}
