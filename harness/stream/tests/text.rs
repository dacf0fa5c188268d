//! Text: separators, final text, lanes, snapshots, reasoning sections, API errors (T1 to T6).

use super::*;

#[test]
fn t1_blank_line_between_messages() {
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
fn r115890_blank_line_where_a_tool_split_a_message() {
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
fn t1_text_blocks_of_one_message_are_joined_as_they_are() {
    check(
        &[message("a"), text(0, "A"), stop(0), text(1, "B"), stop(1), over(), result("AB")],
        &[r#"text a "A""#, r#"text a "B""#, r#"ok "AB""#],
    );
}

#[test]
fn r106760_text_before_a_tool_stays_in_the_final_text() {
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
    for (said, expect) in [
        ("Answer.", r#"ok "Let me look.\n\nAnswer.""#),
        ("Other.", r#"ok "Other.""#),
        ("", r#"ok "Let me look.\n\nAnswer.""#),
    ] {
        check(&records![turn.clone(), one(result(said))], &[&streamed[..], &[expect]].concat());
    }
}

#[test]
fn t2_a_message_boundary_without_a_tool_starts_the_final_text_anew() {
    check(
        &records![spoken("a", "Draft."), spoken("b", "Answer."), one(result("Answer."))],
        &[r#"text a "Draft.""#, r#"text b "\n\nAnswer.""#, r#"ok "Answer.""#],
    );
}

#[test]
fn r90450_an_empty_result_means_the_streamed_text() {
    check(
        &records![spoken("a", "streamed"), one(result("")), spoken("b", "more"), one(result(""))],
        &[r#"text a "streamed""#, r#"text b "\n\nmore""#, r#"ok "streamed\nmore""#],
    );
}

#[test]
fn t2_several_results_join_and_an_immediate_repeat_is_dropped() {
    check(
        &[result("one"), result("one"), result("two"), result("one")],
        &[r#"ok "one\ntwo\none""#],
    );
}

#[test]
fn t2_results_held_back_until_several_turns_are_over_find_their_text() {
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
            r#"ok "I'll ask.\n\nIt is at work.\nFour lines.""#,
        ],
    );
}

#[test]
fn t2_an_error_replaces_what_came_before_and_a_success_the_error() {
    let error = r#"{"type":"result","is_error":true,"result":"no"}"#;
    check(&[result("one"), error.into()], &[r#"error "" other"#]);
    check(&[result("one"), error.into(), result("two")], &[r#"ok "two""#]);
}

#[test]
fn t3_a_subagent_has_a_lane_of_its_own() {
    check(
        &[
            message("a"),
            text(0, "ma"),
            under("p", &message("s")),
            under("p", &text(0, "sub")),
            text(0, "in"),
            under("p", &snapshot("s", &says("sub"))),
            under("p", &snapshot("s2", &says("more"))),
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
fn r86050_snapshots_alone_give_the_text() {
    check(
        &[
            snapshot("a", &says("Hel")),
            snapshot("a", &says("Hello")),
            snapshot("a", &call("t", "{}")),
            snapshot("a", &says("Hello")),
            tool_result("t", "x"),
            snapshot("b", &says("Bye")),
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
fn t4_a_snapshot_tells_only_what_the_stream_missed() {
    check(
        &[
            message("a"),
            text(0, "one "),
            snapshot("a", &says("one two")),
            stop(0),
            text(1, "three"),
            snapshot("a", &says("three")),
            snapshot("a", &format!("{},{}", says("one two"), says("three"))),
            stop(1),
            text(2, "four"),
            snapshot("a", &says("five")),
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
fn t4_what_old_clis_put_into_message_start_is_no_text() {
    let start =
        r#"{"type":"message_start","message":{"id":"a","content":[{"type":"text","text":"Hi"}]}}"#;
    check(
        &[event(start), block(0, &says("")), text(0, "Hi"), snapshot("a", &says("Hi")), stop(0)],
        &[r#"text a "Hi""#, r#"incomplete "Hi" no_result"#],
    );
}

#[test]
fn t4_a_snapshot_names_the_message_that_began_without_an_id() {
    let nameless = event(r#"{"type":"message_start","message":{}}"#);
    check(
        &[
            nameless,
            text(0, "one"),
            snapshot("a", &says("one")),
            text(1, "two"),
            snapshot("a", &says("two")),
            result(""),
        ],
        &[r#"text  "one""#, r#"text a "two""#, r#"ok "onetwo""#],
    );
}

#[test]
fn t4_text_in_the_start_block_is_told_once() {
    check(
        &[
            message("a"),
            block(0, &says("Hi")),
            snapshot("a", &says("Hi there")),
            stop(0),
            result(""),
        ],
        &[r#"text a "Hi""#, r#"text a " there""#, r#"ok "Hi there""#],
    );
}

#[test]
fn t4_the_mark_of_an_empty_block_is_no_text() {
    check(
        &[message("a"), block(0, &says("")), snapshot("a", &says("(no content)")), result("")],
        &[r#"ok """#],
    );
}

#[test]
fn t6_an_error_record_makes_a_failure_without_words_the_api_s() {
    let error = r#"{"type":"error","error":{"message":"Overloaded"}}"#.to_owned();
    let status = r#"{"type":"system","subtype":"status","status":"requesting"}"#.to_owned();
    let failed =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#.to_owned();
    let notice = r#"notice error/- {"message":"Overloaded"}"#;
    let passed = "record system/status";
    check(&[error, status.clone(), failed.clone()], &[notice, passed, r#"error "" api"#]);
    check(&[status, failed], &[passed, r#"error "" execution"#]);
}

#[test]
fn t5_a_run_without_a_result_yields_what_was_streamed() {
    check(
        &[message("a"), text(0, "half")],
        &[r#"text a "half""#, r#"incomplete "half" no_result"#],
    );
    check(
        &records![spoken("a", "one"), one(result("one")), [message("b"), text(0, "tw")]],
        &[r#"text a "one""#, r#"text b "\n\ntw""#, r#"incomplete "one\ntw" no_result"#],
    );
    check(&[], &[r#"incomplete "" no_output"#]);
    check(&["".into(), " ".into()], &[r#"incomplete "" no_output"#]);
}

#[test]
fn t6_a_leading_section_is_reasoning_streamed_or_not() {
    check(
        &[
            message("a"),
            text(0, " <thi"),
            text(0, "nk>why</th"),
            text(0, r"ink>\n\nBecause"),
            snapshot("a", &says(r" <think>why</think>\n\nBecause")),
            stop(0),
            over(),
            snapshot("b", &says(r"<thinking>so</thinking>Done")),
            result(r"<thinking>so</thinking>\nDone"),
        ],
        &[
            r#"think a#0 "why""#,
            r#"text a "Because""#,
            r#"think b#0 "\n\nso""#,
            r#"text b "\n\nDone""#,
            r#"ok "Done""#,
        ],
    );
}

#[test]
fn t6_white_space_before_a_section_may_be_a_block_of_its_own() {
    check(
        &[message("a"), text(0, " "), stop(0), text(1, "<think>why</think>so"), result("so")],
        &[r#"text a " ""#, r#"think a#1 "why""#, r#"text a "so""#, r#"ok "so""#],
    );
}

#[test]
fn t6_an_unclosed_section_is_shown_as_it_is() {
    check(
        &[message("a"), text(0, "<think>open"), stop(0), text(1, "<b>"), result("")],
        &[r#"text a "<think>open""#, r#"text a "<b>""#, r#"ok "<think>open<b>""#],
    );
}

#[test]
fn t6_api_error_text_is_no_answer() {
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 529"}"#;
    let marked = r#"{"type":"assistant","error":"overloaded","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}"#;
    let notice = r#"notice assistant/api_error {"text":"API Error: 529","error":"overloaded"}"#;
    check(&[marked.into(), failed.into()], &[notice, r#"error "" overloaded"#]);
    check(&[marked.into()], &[notice, r#"incomplete "" no_result"#]);
    check(&[marked.into(), result("API Error: 529")], &[notice, r#"ok "API Error: 529""#]);
    let old = marked.replace(r#""error":"overloaded","#, "");
    let notice = r#"notice assistant/api_error {"text":"API Error: 529"}"#;
    check(&[old, failed.into()], &[notice, r#"error "" overloaded"#]);
}

#[test]
fn t6_a_marked_record_of_the_model_itself_is_not_left_out() {
    let mark = |record: String| record.replacen('{', r#"{"error":"max_output_tokens","#, 1);
    check(
        &[
            mark(snapshot("a", &format!("{},{}", says("Hi"), call("t", "{}")))),
            tool_result("t", "ok"),
            message("b"),
            text(0, "o"),
            mark(snapshot("b", &says("one"))),
            result(""),
        ],
        &[
            r#"text a "Hi""#,
            "start t Bash {}",
            r#"result t Bash "ok""#,
            r#"text b "\n\no""#,
            r#"text b "ne""#,
            r#"ok "Hi\n\none""#,
        ],
    );
}

#[test]
fn t6_unmarked_api_error_text_is_an_answer_only_if_the_run_goes_on() {
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 529"}"#;
    let unmarked = snapshot("e", &says("API Error: 529"));
    check(&[unmarked.clone(), failed.into()], &[r#"error "" overloaded"#]);
    check(
        &[unmarked, snapshot("f", &says("means overloaded")), result("means overloaded")],
        &[
            r#"text e "API Error: 529""#,
            r#"text f "\n\nmeans overloaded""#,
            r#"ok "means overloaded""#,
        ],
    );
}

#[test]
fn t6_a_made_up_no_response_is_a_failure() {
    let nothing = r#"{"type":"assistant","message":{"id":"n","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}"#;
    check(&[nothing.into(), result("")], &[r#"error "" other"#]);
    check(&[nothing.into(), result("x")], &[r#"ok "x""#]);
    // A call in the same turn is something, one in the turn before is not.
    let call = [snapshot("a", &call("t", "{}")), tool_result("t", "ok")];
    let told = ["start t Bash {}", r#"result t Bash "ok""#];
    check(
        &records![call.clone(), [nothing.into(), result("")]],
        &[&told[..], &[r#"ok """#]].concat(),
    );
    check(
        &records![call, [result("x"), nothing.into(), result("")]],
        &[&told[..], &[r#"error "" other"#]].concat(),
    );
}

#[test]
fn r136498_a_stopped_turn_without_text_is_a_failure() {
    let stopped =
        r#"{"type":"result","subtype":"success","result":"","terminal_reason":"hook_stopped"}"#;
    check(&[stopped.into()], &[r#"error "" stopped"#]);
    check(&records![spoken("a", "text"), one(stopped)], &[r#"text a "text""#, r#"ok "text""#]);
}
